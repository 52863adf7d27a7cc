//! The person's side of extensions: what they show, what they ask, and what stands in the editor.
//!
//! The agent shows a run by its [`Front`]. Extensions want more of the person than that, and each way to run becket has
//! its own answer: a pipe shows words and has nobody to ask, another program is asked by a protocol, a chat has a
//! screen.

use std::sync::Arc;
use std::time::Duration;

use becket_agent::front::{Front, Sight};
use futures_util::future::BoxFuture;

use crate::shown::{Delivery, Dialog, DialogAnswer, EditorNews, Level, Shown};

/// How extensions reach the person.
pub trait Ui: Send + Sync {
    /// Shows something of an extension's. Never waits; what cannot be shown is left out.
    fn show(&self, extension: &str, shown: Shown);

    /// Asks the person. The caller holds to the time and drops the future when nobody wants the answer any more: then
    /// the dialog closes. The time is told so that it can be shown.
    fn ask<'a>(
        &'a self,
        extension: &'a str,
        dialog: Dialog,
        timeout: Option<Duration>,
    ) -> BoxFuture<'a, DialogAnswer>;

    /// An extension has failed where nobody waits for it.
    fn failed(&self, failed: Failed<'_>);

    /// An extension has said something that the model hears later.
    fn queued(&self, _text: &str, _delivery: Delivery) {}

    /// What the person has typed so far.
    fn editor_text(&self) -> String {
        String::new()
    }

    /// Whether the person sees the whole output of tools.
    fn tools_expanded(&self) -> bool {
        false
    }

    /// The lines of state that are shown, by their names.
    fn statuses(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Something has happened in an editor of an extension's.
    fn editor(&self, news: EditorNews) {
        let _ = news;
    }
}

/// An extension that has failed where nobody waits for it.
#[derive(Debug, Clone, Copy)]
pub struct Failed<'a> {
    /// Its name.
    pub extension: &'a str,
    /// Its file.
    pub path: &'a str,
    /// What was going on, in a word; none where nobody knows.
    pub event: Option<&'a str>,
    /// What the error says.
    pub error: &'a str,
}

impl Failed<'_> {
    /// The same in a line for the person.
    pub fn words(&self) -> String {
        let Self { extension, error, .. } = self;
        match self.event {
            Some(event) => format!("the extension {extension} failed ({event}): {error}"),
            None => format!("the extension {extension} failed: {error}"),
        }
    }
}

/// Everything that is known of the place where the person is.
#[derive(Clone)]
pub struct Person {
    /// How a run is shown.
    pub front: Arc<dyn Front>,
    /// How extensions reach the person.
    pub ui: Arc<dyn Ui>,
}

impl Person {
    /// Somebody who reads, and cannot be asked by extensions.
    pub fn reading(front: Arc<dyn Front>) -> Self {
        let ui = Arc::new(Headless(Arc::clone(&front)));
        Self { front, ui }
    }
}

/// Nobody can be asked; words and lines of state are shown like becket's own. What pi's headless modes answer.
struct Headless(Arc<dyn Front>);

impl Ui for Headless {
    fn show(&self, extension: &str, shown: Shown) {
        match shown {
            Shown::Notify { message, level } => {
                let words = format!("{extension}: {message}");
                self.0.show(match level {
                    Level::Info => Sight::Notice(&words),
                    Level::Warning | Level::Error => Sight::Warning(&words),
                });
            }
            Shown::Status {
                key,
                text: Some(text),
            } if !text.trim().is_empty() => {
                // Most extensions have one line, under their own name.
                let words = match key == extension {
                    true => format!("{extension}: {text}"),
                    false => format!("{extension}: {key}: {text}"),
                };
                self.0.show(Sight::Notice(&words));
            }
            _ => {}
        }
    }

    fn ask<'a>(&'a self, _: &'a str, dialog: Dialog, _: Option<Duration>) -> BoxFuture<'a, DialogAnswer> {
        Box::pin(std::future::ready(dialog.unanswered()))
    }

    fn failed(&self, failed: Failed<'_>) {
        self.0.show(Sight::Warning(&failed.words()));
    }
}
