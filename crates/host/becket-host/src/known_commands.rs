//! Commands that hooks of several systems run: the same hook in the files of two systems runs once.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use becket_events::{Class, Event, EventId, Scope};

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

/// The name of what a hook is asked about at an event, such as a tool; `None` if the hook is not asked.
pub type AskedAbout<E> = Arc<dyn Fn(&Scope, &<E as Event>::Payload) -> Option<String> + Send + Sync>;

/// A hook of another system that does all that a hook would do, wherever it is asked.
pub struct SameCommand<E: Event> {
    /// Where the other hook is defined.
    pub place: String,
    /// What the other hook is asked about; `None` if it is asked at every occasion.
    pub asked: Option<AskedAbout<E>>,
}

/// The commands of all hooks that were registered so far, each with what its hook is asked about.
#[derive(Default)]
pub struct KnownCommands(Mutex<Vec<(KnownCommand, Arc<dyn Any + Send + Sync>)>>);

impl KnownCommands {
    /// The hooks of other systems that do all that this one would do. Where none of them is asked about the same name,
    /// this one must be asked: in doubt both run.
    pub fn same<E: Event>(&self, hook: &KnownCommand) -> Vec<SameCommand<E>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = known.iter().filter(|(other, _)| {
            other.event == hook.event
                && other.dialect != hook.dialect
                && other.command == hook.command
                && other.class >= hook.class
                && !hook.is_stricter
        });
        let same = same.filter_map(|(other, asked)| {
            let asked = match other.is_always_asked {
                true => None,
                false => Some(Arc::clone(asked.downcast_ref::<AskedAbout<E>>()?)),
            };
            Some(SameCommand {
                place: other.place.clone(),
                asked,
            })
        });
        same.collect()
    }

    /// Adds a hook, with what it is asked about.
    pub fn add<E: Event>(&self, hook: KnownCommand, asked: AskedAbout<E>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.push((hook, Arc::new(asked)));
    }
}
