//! Tool calls and models under pi's names.

use std::sync::LazyLock;

use becket_dialect_kit::called::calls;
use becket_events::{
    Face, OperationKind, PreToolOutputPayload, PreToolPayload, Profile, Scope, ToolUpdatePayload,
};
use serde_json::{Map, Value, json};

use super::tools::profile;

pub(super) static PROFILE: LazyLock<Profile> = LazyLock::new(profile);
static OWN: LazyLock<Profile> = LazyLock::new(Profile::own);

calls! {
    PROFILE;
    call_of(PreToolPayload),
    output_of(PreToolOutputPayload),
    update_of(ToolUpdatePayload),
}

/// pi's name for the tool of an operation; tools without an operation, or with one that pi does not have, keep their
/// own.
pub(super) fn tool_name(operation: Option<OperationKind>, own_name: &str) -> &str {
    operation
        .and_then(|operation| PROFILE.faces.iter().find(|face| face.operation == operation))
        .map_or(own_name, |face| face.name)
}

/// A call that a model wrote, under pi's names if the tool is one of becket's own: the tool's name and its arguments.
pub fn written_call(name: &str, arguments: Map<String, Value>) -> (&str, Map<String, Value>) {
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

/// A tool as a model should know it: becket's own in pi's form; others unchanged.
pub fn shown_tool(name: &str, description: &str, parameters: &Value) -> Value {
    // A replacement for one of becket's own tools describes its parameters itself.
    let own = OWN
        .face_named(name)
        .filter(|own| *own.parameters == *parameters && own.description == description);
    let face = own.and_then(|own| PROFILE.faces.iter().find(|face| face.operation == own.operation));
    match face {
        Some(face) => {
            json!({"name": face.name, "description": face.description, "parameters": face.parameters})
        }
        None => json!({"name": called_tool(name), "description": description, "parameters": parameters}),
    }
}

/// becket's own tool for the operation of one of pi's tools.
pub fn own_tool(name: &str) -> Option<&'static str> {
    let operation = PROFILE.face_named(name)?.operation;
    let own = OWN.faces.iter().find(|face| face.operation == operation);
    own.map(|face| face.name)
}

/// A call that a hook has changed, as the model would have written it: the reverse of `written_call`.
pub fn own_arguments(name: &str, shown_as: &str, arguments: Map<String, Value>) -> Map<String, Value> {
    let is_own = OWN.face_named(name).is_some();
    let face = PROFILE.face_named(shown_as).filter(|_| is_own);
    match face.map(|face| face.read(arguments.clone())) {
        Some(Ok(operation)) => operation.arguments(),
        _ => arguments,
    }
}

/// The name by which a model called a tool, as pi's name if it is one of becket's own.
pub(super) fn called_tool(name: &str) -> &str {
    let operation = OWN.face_named(name).map(|face| face.operation);
    tool_name(operation, name)
}

/// A model as pi names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelName<'a> {
    /// The model's provider.
    pub provider: &'a str,
    /// The provider's name for the model.
    pub id: &'a str,
}

impl<'a> ModelName<'a> {
    /// Parses becket's `provider/name`.
    pub fn of(model: &'a str) -> Self {
        let (provider, id) = model.split_once('/').unwrap_or(("", model));
        Self { provider, id }
    }

    /// The model of a session.
    pub(super) fn in_use(scope: &'a Scope) -> Self {
        Self::of(&scope.model)
    }

    /// The interface of the model's provider.
    pub fn api(&self) -> &'static str {
        match self.provider {
            "anthropic" => "anthropic-messages",
            "gemini" | "google" => "google-generative-ai",
            _ => "openai-completions",
        }
    }
}

/// Keys that pi keeps for itself: an extension cannot bind them.
pub const RESERVED_KEYS: &[&str] = &[
    "escape",
    "ctrl+c",
    "ctrl+d",
    "ctrl+z",
    "shift+tab",
    "ctrl+p",
    "ctrl+shift+p",
    "ctrl+l",
    "ctrl+o",
    "ctrl+t",
    "ctrl+g",
    "alt+enter",
    "enter",
    "ctrl+k",
];

/// The marker of the cursor's position in a component's lines.
pub const CURSOR_MARKER: &str = "\x1b_pi:c\x07";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_of_pis_is_shown_for_one_of_beckets_own() {
        for face in &PROFILE.faces {
            let own = own_tool(face.name).and_then(|name| OWN.face_named(name)).unwrap();
            let shown = shown_tool(own.name, own.description, &own.parameters);
            let theirs =
                json!({"name": face.name, "description": face.description, "parameters": face.parameters});
            assert_eq!(shown, theirs);
            let other = json!({"type": "object"});
            let standing_in = shown_tool(own.name, "of an extension", &other);
            assert_eq!(
                standing_in,
                json!({"name": face.name, "description": "of an extension", "parameters": other})
            );
        }
        let kept = shown_tool("todo", "d", &json!({}));
        assert_eq!(
            kept,
            json!({"name": "todo", "description": "d", "parameters": {}})
        );
        assert_eq!(own_tool("todo"), None);
    }
}
