//! Tool calls and models in pi's words.

use std::sync::LazyLock;

use becket_events::{
    Face, OperationKind, PreToolOutputPayload, PreToolPayload, Profile, Scope, ToolUpdatePayload,
};
use serde_json::{Map, Value};

use super::tools::profile;
use crate::called::{Called, calls};

pub(super) static PROFILE: LazyLock<Profile> = LazyLock::new(profile);
static OWN: LazyLock<Profile> = LazyLock::new(Profile::own);

calls! {
    PROFILE;
    call_of(PreToolPayload),
    output_of(PreToolOutputPayload),
    update_of(ToolUpdatePayload),
}

/// The name of the tool that does this; tools without an operation, and those for what pi has no tool, keep their own.
pub(super) fn tool_name(operation: Option<OperationKind>, own_name: &str) -> &str {
    operation
        .and_then(|operation| PROFILE.faces.iter().find(|face| face.operation == operation))
        .map_or(own_name, |face| face.name)
}

/// What a model wrote, in pi's words where the model has becket's own tools: the tool's name and its arguments.
pub(super) fn written_call(name: &str, arguments: Map<String, Value>) -> (&str, Map<String, Value>) {
    let read = |face: &Face| face.read(arguments.clone()).ok();
    let own = OWN
        .face_named(name)
        .and_then(read)
        .map(|operation| operation.arguments());
    let face = PROFILE.face_named(called_tool(name));
    match (own, face) {
        (Some(own), Some(face)) => (face.name, (face.to_foreign)(&own)),
        _ => (called_tool(name), arguments),
    }
}

/// A call that a hook has changed, as the model would have written it: the other way of `written_call`.
pub(super) fn own_arguments(name: &str, shown_as: &str, arguments: Map<String, Value>) -> Map<String, Value> {
    let is_own = OWN.face_named(name).is_some();
    let face = PROFILE.face_named(shown_as).filter(|_| is_own);
    match face.map(|face| face.read(arguments.clone())) {
        Some(Ok(operation)) => operation.arguments(),
        _ => arguments,
    }
}

/// The name of a tool by which a model called it, in pi's words where it is one of becket's own.
pub(super) fn called_tool(name: &str) -> &str {
    let operation = OWN.face_named(name).map(|face| face.operation);
    tool_name(operation, name)
}

/// A model as pi names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelName<'a> {
    /// Its provider.
    pub provider: &'a str,
    /// Its name there.
    pub id: &'a str,
}

impl<'a> ModelName<'a> {
    /// From becket's `provider/name`.
    pub fn of(model: &'a str) -> Self {
        let (provider, id) = model.split_once('/').unwrap_or(("", model));
        Self { provider, id }
    }

    /// The model of a session.
    pub(super) fn in_use(scope: &'a Scope) -> Self {
        Self::of(&scope.model)
    }

    /// The interface by which it is asked.
    pub fn api(&self) -> &'static str {
        match self.provider {
            "anthropic" => "anthropic-messages",
            _ => "openai-completions",
        }
    }
}
