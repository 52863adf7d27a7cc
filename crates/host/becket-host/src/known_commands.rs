//! Commands that hooks of several systems run: the same hook in the files of two systems runs once.

use std::sync::{Mutex, PoisonError};

use becket_events::{Class, EventId};

/// A hook that runs a command.
#[derive(Debug, Clone)]
pub struct KnownCommand {
    /// becket's event.
    pub event: EventId,
    /// The command after variables were replaced, and the directory in which it runs.
    pub command: String,
    /// What a broken hook means.
    pub class: Class,
    /// Whether the hook is asked at every occasion of the event.
    pub is_always_asked: bool,
    /// Whether the hook may refuse where one of another system goes on.
    pub is_stricter: bool,
    /// The system.
    pub dialect: &'static str,
    /// Where the hook is defined.
    pub place: String,
}

/// The commands of all hooks that were registered so far.
#[derive(Debug, Default)]
pub struct KnownCommands(Mutex<Vec<KnownCommand>>);

impl KnownCommands {
    /// Where a hook of another system is defined that does all that this one would do. `None` if this one must be
    /// registered: in doubt both run.
    pub fn place_of_same(&self, hook: KnownCommand) -> Option<String> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = known.iter().find(|other| {
            other.event == hook.event
                && other.dialect != hook.dialect
                && other.command == hook.command
                && other.is_always_asked
                && other.class >= hook.class
                && !hook.is_stricter
        });
        let place = same.map(|other| other.place.clone());
        if place.is_none() {
            known.push(hook);
        }
        place
    }
}
