//! What extensions show and ask, in an editor: choices become permission questions, and what needs typed text stays
//! unanswered, because the protocol has no stable way to ask for it.

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::v1::{NoticeSeverity, PermissionOptionKind};
use becket_host::{Dialog, DialogAnswer, Failed, Level, Shown, Ui};
use becket_system::harmless_name;
use futures_util::future::BoxFuture;

use super::permission::{Answered, Asker};
use super::tool_calls::fenced;

/// How long the user may take to answer an extension that sets no limit.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// The user, as extensions reach them.
pub struct Dialogs {
    asker: Arc<Asker>,
}

impl Dialogs {
    pub fn new(asker: Arc<Asker>) -> Self {
        Self { asker }
    }

    async fn answer(&self, dialog: &Dialog, timeout: Duration) -> Option<DialogAnswer> {
        let (title, message, options) = match dialog {
            Dialog::Select { title, options } => {
                let options = options.iter();
                let options = options.map(|words| (harmless_name(words), PermissionOptionKind::AllowOnce));
                (title, None, options.collect::<Vec<_>>())
            }
            Dialog::Confirm { title, message } => {
                let options = [
                    ("Yes", PermissionOptionKind::AllowOnce),
                    ("No", PermissionOptionKind::RejectOnce),
                ];
                let options = options.map(|(words, kind)| (words.to_owned(), kind));
                (title, Some(message), options.to_vec())
            }
            Dialog::Input { .. } | Dialog::Editor { .. } => return None,
        };
        let content = message.map(|message| fenced(message)).into_iter().collect();
        let title = harmless_name(title);
        let asked = self.asker.ask_own(&title, content, options, timeout);
        let Answered::Chosen(place) = asked.await else {
            return None;
        };
        match dialog {
            Dialog::Select { options, .. } => Some(DialogAnswer::Words(options.get(place)?.clone())),
            _ => Some(DialogAnswer::Confirmed(place == 0)),
        }
    }
}

impl Ui for Dialogs {
    fn show(&self, extension: &str, shown: Shown) {
        // Status lines, widgets and titles belong to a screen.
        if let Shown::Notify { message, level } = shown {
            let severity = match level {
                Level::Info => NoticeSeverity::Info,
                Level::Warning => NoticeSeverity::Warning,
                Level::Error => NoticeSeverity::Error,
            };
            let words = format!("{extension}: {message}");
            self.asker.updates().notice(severity, &words);
        }
    }

    fn ask<'a>(
        &'a self,
        _: &'a str,
        dialog: Dialog,
        timeout: Option<Duration>,
    ) -> BoxFuture<'a, DialogAnswer> {
        Box::pin(async move {
            let answer = self.answer(&dialog, timeout.unwrap_or(ANSWER_TIMEOUT)).await;
            answer.unwrap_or_else(|| dialog.unanswered())
        })
    }

    fn failed(&self, failed: Failed<'_>) {
        self.asker.updates().warn(&failed.words());
    }
}
