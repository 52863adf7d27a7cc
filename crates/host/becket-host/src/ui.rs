//! The user's side of extensions: what they show, what they ask, and what is in the editor.
//!
//! The agent shows a run by its [`Front`]. Extensions need more than that, and each way to run becket has its own
//! answer: a pipe shows text and has no user to ask, another program is asked by a protocol, a chat has a screen.

use std::sync::Arc;
use std::time::Duration;

use becket_agent::front::{Front, FrontUpdate};
use futures_util::future::BoxFuture;

use crate::shown::{Delivery, Dialog, DialogAnswer, EditorNews, Level, Shown};

/// How extensions reach the user.
pub trait Ui: Send + Sync {
    /// Shows something for an extension. Never waits; what cannot be shown is left out.
    fn show(&self, extension: &str, shown: Shown);

    /// Asks the user. The caller enforces the timeout, and drops the future when the answer is no longer needed: then
    /// the dialog closes. The timeout is passed so that it can be shown.
    fn ask<'a>(
        &'a self,
        extension: &'a str,
        dialog: Dialog,
        timeout: Option<Duration>,
    ) -> BoxFuture<'a, DialogAnswer>;

    /// Reports a failure of an extension that no caller waits for.
    fn failed(&self, failed: Failed<'_>);

    /// Reports a message of an extension that the model gets later.
    fn queued(&self, _text: &str, _delivery: Delivery) {}

    /// The text that the user has typed so far.
    fn editor_text(&self) -> String {
        String::new()
    }

    /// Whether the user sees the whole output of tools.
    fn tools_expanded(&self) -> bool {
        false
    }

    /// The status lines that are shown, by their keys.
    fn statuses(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Reports an event of an extension's own editor.
    fn editor(&self, news: EditorNews) {
        let _ = news;
    }
}

/// A failure of an extension that no caller waits for.
#[derive(Debug, Clone, Copy)]
pub struct Failed<'a> {
    /// The extension's name.
    pub extension: &'a str,
    /// The extension's file.
    pub path: &'a str,
    /// The event that was handled, if it is known.
    pub event: Option<&'a str>,
    /// The text of the error.
    pub error: &'a str,
}

impl Failed<'_> {
    /// The failure as a line for the user.
    pub fn words(&self) -> String {
        let Self { extension, error, .. } = self;
        match self.event {
            Some(event) => format!("the extension {extension} failed ({event}): {error}"),
            None => format!("the extension {extension} failed: {error}"),
        }
    }
}

/// The ways in which a run and its extensions reach the user.
#[derive(Clone)]
pub struct Person {
    /// How a run is shown.
    pub front: Arc<dyn Front>,
    /// How extensions reach the user.
    pub ui: Arc<dyn Ui>,
}

impl Person {
    /// A user who reads the output, and whom extensions cannot ask.
    pub fn reading(front: Arc<dyn Front>) -> Self {
        let ui = Arc::new(Headless(Arc::clone(&front)));
        Self { front, ui }
    }
}

/// The user's side without a screen: questions stay unanswered, as in pi's headless modes, and notifications and status
/// lines are shown like becket's own.
struct Headless(Arc<dyn Front>);

impl Ui for Headless {
    fn show(&self, extension: &str, shown: Shown) {
        match shown {
            Shown::Notify { message, level } => {
                let words = format!("{extension}: {message}");
                self.0.show(match level {
                    Level::Info => FrontUpdate::Notice(&words),
                    Level::Warning | Level::Error => FrontUpdate::Warning(&words),
                });
            }
            Shown::Status {
                key,
                text: Some(text),
            } if !text.trim().is_empty() => {
                // Most extensions have one status line, under their own name.
                let words = match key == extension {
                    true => format!("{extension}: {text}"),
                    false => format!("{extension}: {key}: {text}"),
                };
                self.0.show(FrontUpdate::Notice(&words));
            }
            _ => {}
        }
    }

    fn ask<'a>(&'a self, _: &'a str, dialog: Dialog, _: Option<Duration>) -> BoxFuture<'a, DialogAnswer> {
        Box::pin(std::future::ready(dialog.unanswered()))
    }

    fn failed(&self, failed: Failed<'_>) {
        self.0.show(FrontUpdate::Warning(&failed.words()));
    }
}
