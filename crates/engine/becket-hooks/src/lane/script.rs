//! Handlers inside of a script engine: functions that are called with fields and answer with JSON.
//!
//! An engine keeps its own deadline. It knows when the user is answering a dialog of the handler, and stops the clock
//! meanwhile.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::Failure;

/// A function in a script.
pub trait ScriptHandler: Send + Sync {
    /// Calls the function with an event's fields. Ends soon after its deadline, whatever the function does.
    fn call<'a>(&'a self, fields: Vec<Field>) -> BoxFuture<'a, Result<Answered, Failure>>;
}

/// One field of an event, as a script sees it.
#[derive(Debug, Clone)]
pub struct Field {
    /// The field's name.
    pub name: &'static str,
    /// The field's value as JSON. A large one is parsed when the script looks at it.
    pub json: Arc<str>,
    /// Whether changes that the script makes inside of the field count.
    pub mutable: bool,
}

/// The answer of a function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answered {
    /// What the function returned, as JSON; `None` for nothing (`undefined`).
    pub returned: Option<String>,
    /// Mutable fields that the function has changed in place, with their new values as JSON.
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

/// Replaces a handler that could not be loaded: every call fails, and so a guard refuses.
#[derive(Debug, Clone)]
pub struct Unanswerable(pub Failure);

impl ScriptHandler for Unanswerable {
    fn call<'a>(&'a self, _: Vec<Field>) -> BoxFuture<'a, Result<Answered, Failure>> {
        Box::pin(std::future::ready(Err(self.0.clone())))
    }
}
