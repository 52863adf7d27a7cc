//! What a session does by itself, and its settings say so: it tries again when a provider fails, and summarises a
//! conversation that has become too long. Who steers it may want that otherwise while it runs.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::desk::Desk;

/// What was wanted otherwise.
#[derive(Debug, Default)]
pub(crate) struct Manners {
    wanted: Mutex<Wanted>,
    /// Nobody wants to wait any more until a request is tried again.
    given_up: Notify,
}

#[derive(Debug, Clone, Copy, Default)]
struct Wanted {
    compacts: Option<bool>,
    retries: Option<bool>,
}

impl Manners {
    fn wanted(&self) -> MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the session does by itself.
impl Desk {
    /// Whether a conversation that has become too long is summarised; as its settings say where nobody said so.
    pub fn compacts_by_itself(&self) -> Option<bool> {
        self.manners().wanted().compacts
    }

    /// Decides that, from the next request on.
    pub fn set_compacts_by_itself(&self, does: bool) {
        self.manners().wanted().compacts = Some(does);
    }

    /// Whether a request is tried again when the provider fails; as the settings say where nobody said so.
    pub fn retries(&self) -> Option<bool> {
        self.manners().wanted().retries
    }

    /// Decides that, from the next failure on.
    pub fn set_retries(&self, does: bool) {
        self.manners().wanted().retries = Some(does);
    }

    /// A request that waits to be tried again has failed for good. Nothing happens where none waits.
    pub fn give_up_retry(&self) {
        self.manners().given_up.notify_waiters();
    }

    /// Waits until nobody wants to wait for another try.
    pub(crate) async fn retry_given_up(&self) {
        self.manners().given_up.notified().await;
    }
}
