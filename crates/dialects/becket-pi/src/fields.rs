//! The fields of an event on their way to a script.

use std::sync::Arc;

use becket_hooks::Field;
use serde::Serialize;

/// The fields of an event under construction. Missing ones are left out, which scripts see as `undefined`.
pub(super) struct Fields(Vec<Field>);

impl Fields {
    /// The fields of the event with this name.
    pub(super) fn of(event: &'static str) -> Self {
        Self(Vec::with_capacity(8)).with("type", event)
    }

    /// The fields with one more.
    pub(super) fn with(self, name: &'static str, value: impl Serialize) -> Self {
        self.raw(name, json(&value))
    }

    /// The fields with one more, if there is a value.
    pub(super) fn maybe(self, name: &'static str, value: Option<impl Serialize>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The fields with one more that is JSON already.
    pub(super) fn raw(mut self, name: &'static str, json: impl Into<Arc<str>>) -> Self {
        self.0.push(Field::new(name, json));
        self
    }

    /// The fields with one more that a handler may change.
    pub(super) fn mutable(mut self, name: &'static str, json: impl Into<Arc<str>>) -> Self {
        self.0.push(Field::mutable(name, json));
        self
    }

    /// The fields with one more that a handler may change, if there is a value.
    pub(super) fn maybe_mutable(self, name: &'static str, value: Option<impl Serialize>) -> Self {
        match value {
            Some(value) => self.mutable(name, json(&value)),
            None => self,
        }
    }

    pub(super) fn done(self) -> Vec<Field> {
        self.0
    }
}

pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("what is shown is plain data")
}
