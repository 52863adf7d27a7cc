//! The user's side of a session in an editor, as the agent knows it.

use std::sync::Arc;

use becket_agent::front::{Front, FrontUpdate, Question, UserAnswer};
use futures_util::future::BoxFuture;

use super::permission::Asker;
use super::updates::Updates;

/// The user's side of a session in an editor.
pub struct Shown {
    pub updates: Arc<Updates>,
    pub asker: Arc<Asker>,
}

impl Front for Shown {
    fn show(&self, update: FrontUpdate<'_>) {
        self.updates.show_of(None, &update);
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, UserAnswer> {
        Box::pin(self.asker.ask(question))
    }

    fn wants_previews(&self) -> bool {
        true
    }
}
