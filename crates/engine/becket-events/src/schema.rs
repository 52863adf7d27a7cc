//! The schemas of tools.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value;

/// The JSON Schema of a tool's arguments. Clones share it: every start of the program puts some dozens of tools
/// together, and each is shown in several places.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Schema(Arc<Value>);

impl From<Value> for Schema {
    fn from(schema: Value) -> Self {
        Self(Arc::new(schema))
    }
}

impl Deref for Schema {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl DerefMut for Schema {
    fn deref_mut(&mut self) -> &mut Value {
        Arc::make_mut(&mut self.0)
    }
}
