//! The JSON that a hook reads.

use serde_json::{Map, Value, json};

/// The members of a hook's input, in the order in which they are added.
#[derive(Debug, Clone, Default)]
pub struct Input(Map<String, Value>);

impl Input {
    /// The input with one more member.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// The input with one more member, if there is a value.
    pub fn with_some(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// The input with one more member in that of this name, which is made if there is none.
    pub fn with_inner(mut self, outer: &str, key: &str, value: Value) -> Self {
        let members = self.0.entry(outer).or_insert_with(|| json!({}));
        members[key] = value;
        self
    }

    /// The input as JSON text, with a line end: some scripts read a line.
    pub fn text(self) -> String {
        format!("{}\n", Value::Object(self.0))
    }
}
