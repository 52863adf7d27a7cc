//! What hooks say to the user while another agent asks them.

use std::sync::{Mutex, PoisonError};

use becket_agent::front::{Front, FrontUpdate, Question as AskedOfUser, UserAnswer};
use futures_util::future::BoxFuture;

/// What hooks say to the user. Nobody can be asked: the other agent asks its user itself.
#[derive(Default)]
pub(crate) struct Said(Mutex<Vec<String>>);

impl Said {
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }
}

impl Front for Said {
    fn show(&self, update: FrontUpdate<'_>) {
        match update {
            FrontUpdate::HookFailed(failure) => self.add(format!("becket: {failure}")),
            FrontUpdate::Notice(text) => self.add(text.to_owned()),
            _ => {}
        }
    }

    fn ask<'a>(&'a self, _: &'a AskedOfUser) -> BoxFuture<'a, UserAnswer> {
        Box::pin(async { UserAnswer::Nobody })
    }
}
