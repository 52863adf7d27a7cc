//! The lists of extensions that see keys before the focused component, and of those that complete the text that the
//! user types.

use std::sync::{Mutex, MutexGuard, OnceLock};

use becket_host::Completes;
use becket_screen::Key;
use tokio::sync::mpsc::UnboundedSender;

/// The extensions that see keys, and those that complete.
#[derive(Default)]
pub struct InputListeners {
    state: Mutex<Listening>,
    /// The completions of the program.
    pub(super) completes: OnceLock<Completes>,
}

#[derive(Default)]
pub(super) struct Listening {
    /// Extensions that see keys.
    pub(super) hear: Vec<String>,
    /// Extensions that complete, in the order of their registration.
    pub(super) complete: Vec<String>,
    /// The queue of keys.
    pub(super) keys: Option<UnboundedSender<Key>>,
}

impl InputListeners {
    pub(super) fn state(&self) -> MutexGuard<'_, Listening> {
        self.state
            .lock()
            .expect("no panic happens while input_listeners are held")
    }

    /// Sets the program's own completions, once.
    pub fn set_completes(&self, completes: Completes) {
        let _ = self.completes.set(completes);
    }

    /// Whether an extension completes.
    pub fn complete(&self) -> bool {
        !self.state().complete.is_empty()
    }
}
