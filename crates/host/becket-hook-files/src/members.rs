//! The members of an answer, each of the type that it must have.

use becket_hooks::{Cause, Failure};
use serde_json::{Map, Value};

/// The members of an object in an answer. A member that is `null` is not there.
pub struct Members<'a> {
    /// The object.
    pub map: &'a Map<String, Value>,
    /// Where the object stands, as in `hookSpecificOutput.`; empty for the answer itself.
    pub within: &'static str,
}

impl<'a> Members<'a> {
    /// A failure because of a member.
    pub fn wrong(&self, key: &str, wanted: &str) -> Failure {
        let within = self.within;
        Failure::new(Cause::WrongShape, format!("`{within}{key}` must be {wanted}"))
    }

    /// A member that is a text.
    pub fn text(&self, key: &str) -> Result<Option<String>, Failure> {
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.wrong(key, "a text")),
        }
    }

    /// A member that is true or false.
    pub fn truth(&self, key: &str) -> Result<Option<bool>, Failure> {
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(truth)) => Ok(Some(*truth)),
            Some(_) => Err(self.wrong(key, "true or false")),
        }
    }

    /// A member that is an object.
    pub fn object(&self, key: &str) -> Result<Option<&'a Map<String, Value>>, Failure> {
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(map)) => Ok(Some(map)),
            Some(_) => Err(self.wrong(key, "an object")),
        }
    }
}
