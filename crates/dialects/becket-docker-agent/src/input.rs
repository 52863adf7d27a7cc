//! The input of a hook under construction. Zero values are left out, as docker-agent leaves them out.

use becket_dialect_kit::called::Called;
use becket_events::Scope;
use serde_json::{Map, Value};

use super::words::{category, otherwise};

/// The input of a hook under construction.
#[derive(Default)]
pub(super) struct Input {
    members: Map<String, Value>,
    /// Whether a call is shown under its alternative name.
    otherwise: bool,
    /// How much is asked before tools run.
    policy: &'static str,
}

impl Input {
    /// The fields that every event has.
    pub(super) fn of(event: &'static str, scope: &Scope) -> Self {
        Self::default()
            .exactly("session_id", scope.session_id.as_str())
            .exactly("cwd", scope.cwd.as_str())
            .exactly("hook_event_name", event)
            .with("agent_name", scope.agent_name.as_str())
    }

    /// The input in a run that asks as much as this says.
    pub(super) fn under(self, policy: &'static str) -> Self {
        Self { policy, ..self }
    }

    /// The input with how much is asked before tools run.
    pub(super) fn with_policy(self) -> Self {
        let policy = self.policy;
        self.with("safety_policy", policy)
    }

    /// The input for a hook that knows the call only under its alternative name.
    pub(super) fn otherwise(self, otherwise: bool) -> Self {
        Self { otherwise, ..self }
    }

    /// The input with one more member, unless it is empty.
    pub(super) fn with(self, key: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        let empty = match &value {
            Value::Null | Value::Bool(false) => true,
            Value::Bool(true) => false,
            Value::Number(number) => number.as_f64() == Some(0.0),
            Value::String(text) => text.is_empty(),
            Value::Array(values) => values.is_empty(),
            Value::Object(members) => members.is_empty(),
        };
        if empty { self } else { self.exactly(key, value) }
    }

    /// The input with one more member, even an empty one.
    pub(super) fn exactly(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.members.insert(key.to_owned(), value.into());
        self
    }

    pub(super) fn into_value(self) -> Value {
        Value::Object(self.members)
    }

    /// The input with a tool call.
    pub(super) fn call(self, call: &Called<'_>) -> Self {
        let call = if self.otherwise { otherwise(*call) } else { *call };
        self.with("tool_name", call.name())
            .with("tool_use_id", call.id)
            .with("tool_input", call.foreign_arguments())
            .with("tool_category", category(&call))
    }
}
