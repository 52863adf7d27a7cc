//! The running tasks of a machine.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use tokio::task::AbortHandle;

/// The running tasks of a machine: timers and host calls.
#[derive(Default)]
pub(crate) struct Tasks {
    timers: Mutex<HashMap<u64, AbortHandle>>,
    pub(crate) last_call: AtomicU64,
    pub(crate) calls: AtomicUsize,
}

impl Tasks {
    /// Whether any task is running.
    pub(crate) fn are_under_way(&self) -> bool {
        self.calls.load(Ordering::Relaxed) > 0 || !self.timers().is_empty()
    }

    pub(crate) fn timers(&self) -> MutexGuard<'_, HashMap<u64, AbortHandle>> {
        self.timers
            .lock()
            .expect("no panic happens while timers are held")
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.timers().drain().for_each(|(_, timer)| timer.abort());
    }
}
