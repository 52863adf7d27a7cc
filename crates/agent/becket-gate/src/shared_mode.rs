//! The permission mode of a run, which the user can change while it goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use becket_events::PermissionMode;

/// The permission mode of a run and of all its sub-agents. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct SharedMode(Arc<AtomicU8>);

impl SharedMode {
    /// The current mode.
    pub fn get(&self) -> PermissionMode {
        let place = usize::from(self.0.load(Ordering::Relaxed));
        PermissionMode::ALL.get(place).copied().unwrap_or_default()
    }

    /// Changes the mode. What was decided stays; the next call is judged in the new one.
    pub fn set(&self, mode: PermissionMode) {
        self.0.store(mode as u8, Ordering::Relaxed);
    }

    /// Changes the mode as a hook wants it. Only the user can agree to everything at once.
    pub(crate) fn take_from_hook(&self, mode: Option<PermissionMode>) {
        if let Some(mode) = mode.filter(|mode| *mode != PermissionMode::Yes) {
            self.set(mode);
        }
    }

    /// Whether every question is answered with yes.
    pub fn answers_yes(&self) -> bool {
        self.get() == PermissionMode::Yes
    }
}

impl From<PermissionMode> for SharedMode {
    fn from(mode: PermissionMode) -> Self {
        let shared = Self::default();
        shared.set(mode);
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_can_be_chosen_and_is_shared() {
        let mode = SharedMode::default();
        let other = mode.clone();
        for wanted in PermissionMode::ALL {
            assert_eq!(
                mode.get(),
                *wanted,
                "the first is the default, and `next` goes through all"
            );
            mode.set(mode.get().next());
        }
        assert_eq!(
            (mode.get(), other.get()),
            (PermissionMode::Ask, PermissionMode::Ask)
        );
        other.set(PermissionMode::Yes);
        assert!(mode.answers_yes());
    }
}
