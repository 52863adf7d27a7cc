//! Handlers inside of an engine for scripts: functions that are called with fields and answer with JSON.
//!
//! An engine keeps its own deadline. It knows when a person is answering a dialog of the handler's, and the clock
//! stands still meanwhile.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::Failure;

/// A function in a script.
pub trait ScriptHandler: Send + Sync {
    /// Calls it with an event's fields. Ends soon after its deadline, whatever the function does.
    fn call<'a>(&'a self, fields: Vec<Field>) -> BoxFuture<'a, Result<Answered, Failure>>;
}

/// One field of an event, as a script sees it.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its value as JSON. A large one is read when the script looks at it.
    pub json: Arc<str>,
    /// Whether what the script changes inside of it counts.
    pub mutable: bool,
}

/// What a function answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answered {
    /// What it returned, as JSON; `None` for nothing (`undefined`).
    pub returned: Option<String>,
    /// Mutable fields that it has changed in place, with their new values as JSON.
    pub changed: Vec<(&'static str, String)>,
}

impl Field {
    /// A field that the script only reads.
    pub fn new(name: &'static str, json: impl Into<Arc<str>>) -> Self {
        Self {
            name,
            json: json.into(),
            mutable: false,
        }
    }

    /// A field whose changes count.
    pub fn mutable(name: &'static str, json: impl Into<Arc<str>>) -> Self {
        Self {
            mutable: true,
            ..Self::new(name, json)
        }
    }
}

/// Stands in the place of a handler that could not be loaded: it cannot judge, and so a guard refuses.
#[derive(Debug, Clone)]
pub struct Unanswerable(pub Failure);

impl ScriptHandler for Unanswerable {
    fn call<'a>(&'a self, _: Vec<Field>) -> BoxFuture<'a, Result<Answered, Failure>> {
        Box::pin(std::future::ready(Err(self.0.clone())))
    }
}
