//! What a session does automatically, according to its settings: it retries when a provider fails, and summarises a
//! conversation that has become too long. Both can be switched on and off through the session handle while it runs.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The automatic behaviour that was set through the session handle.
#[derive(Debug, Default)]
pub struct Automation {
    wanted: Mutex<Wanted>,
    /// Notified when a request that waits to be retried is given up.
    given_up: Notify,
}

#[derive(Debug, Clone, Copy, Default)]
struct Wanted {
    compacts: Option<bool>,
    retries: Option<bool>,
}

impl Automation {
    /// Whether a conversation that has become too long is summarised; `None` if the settings decide.
    pub fn compacts(&self) -> Option<bool> {
        self.wanted().compacts
    }

    /// Sets whether a conversation that has become too long is summarised, from the next model request on.
    pub fn set_compacts(&self, does: bool) {
        self.wanted().compacts = Some(does);
    }

    /// Whether a request is retried when the provider fails; `None` if the settings decide.
    pub fn retries(&self) -> Option<bool> {
        self.wanted().retries
    }

    /// Sets whether a request is retried when the provider fails, from the next failure on.
    pub fn set_retries(&self, does: bool) {
        self.wanted().retries = Some(does);
    }

    /// Fails a request that waits to be retried. Does nothing if none waits.
    pub fn give_up_retry(&self) {
        self.given_up.notify_waiters();
    }

    /// Waits until a retry is given up.
    pub(crate) async fn retry_given_up(&self) {
        self.given_up.notified().await;
    }

    fn wanted(&self) -> MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
