//! Tool calls under Gemini CLI's names.

use std::borrow::Cow;
use std::sync::LazyLock;

use becket_dialect_kit::called::{Called, server_tool};
use becket_events::{PreToolOutputPayload, PreToolPayload, Profile, Scope};
use serde_json::{Map, Value, json};

use crate::tools::profile;

pub static PROFILE: LazyLock<Profile> = LazyLock::new(profile);

becket_dialect_kit::called::calls! {
    PROFILE;
    pre_tool(PreToolPayload),
    tool_output(PreToolOutputPayload),
}

/// becket's tools without an operation that Gemini CLI has too.
pub const OTHERS: &[(&str, &str)] = &[("spawn_agent", "invoke_agent"), ("update_todos", "write_todos")];

/// Arguments of a sub-agent's call, by becket's names and Gemini CLI's.
const AGENT: &[(&str, &str)] = &[("input", "prompt"), ("preset", "agent_name")];

/// The name of a call's tool: that of the operation, of the shell if it would do the same, of a tool that both systems
/// have, or of a server's tool.
pub fn name<'a>(call: &Called<'a>, source: &str) -> Cow<'a, str> {
    match (call.face(), call.as_command(), call.shell_name()) {
        (Some(face), ..) => face.name.into(),
        (None, Some(_), Some(shell)) => shell.into(),
        _ => other_name(call.own_name, source),
    }
}

/// The name of a tool without an operation.
pub fn other_name<'a>(own_name: &'a str, source: &str) -> Cow<'a, str> {
    if let Some((_, name)) = OTHERS.iter().find(|(own, _)| *own == own_name) {
        return (*name).into();
    }
    match source.strip_prefix("mcp:") {
        Some(server) => {
            let (server, tool) = server_tool(server, own_name);
            format!("mcp_{server}_{tool}").into()
        }
        None => own_name.into(),
    }
}

/// What is told about the server of a tool.
pub fn server_context(call: &Called<'_>, source: &str) -> Option<Value> {
    let server = source.strip_prefix("mcp:")?;
    let (_, tool) = server_tool(server, call.own_name);
    Some(json!({"server_name": server, "tool_name": tool}))
}

/// The arguments of a call.
pub fn arguments(call: &Called<'_>) -> Map<String, Value> {
    if let Some(command) = call.as_command() {
        return Map::from_iter([("command".to_owned(), command.into())]);
    }
    let mut arguments = call.foreign_arguments();
    if call.own_name == "spawn_agent" {
        for (own, name) in AGENT {
            if let Some(value) = arguments.remove(*own) {
                arguments.insert((*name).to_owned(), value);
            }
        }
    }
    arguments
}

/// Arguments that a hook wrote for a call, with those of a sub-agent under becket's names.
pub fn written(call: &Called<'_>, mut written: Map<String, Value>) -> Map<String, Value> {
    if call.as_command().is_some() && written == arguments(call) {
        return call.arguments.clone();
    }
    if call.own_name == "spawn_agent" {
        for (own, name) in AGENT {
            if let Some(value) = written.remove(*name) {
                written.insert((*own).to_owned(), value);
            }
        }
    }
    written
}

pub fn pre_tool_name<'a>(_: &'a Scope, payload: &'a PreToolPayload) -> Cow<'a, str> {
    name(&pre_tool(payload), &payload.tool_source)
}

pub fn output_name<'a>(_: &'a Scope, payload: &'a PreToolOutputPayload) -> Cow<'a, str> {
    name(&tool_output(payload), &payload.tool_source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_tool_is_named_after_both() {
        let named = |server: &str, own: &str| other_name(own, &format!("mcp:{server}")).into_owned();
        assert_eq!(named("github", "github_create_issue"), "mcp_github_create_issue");
        assert_eq!(named("my server", "my_server_ask"), "mcp_my_server_ask");
        assert_eq!(named("x", "y"), "mcp_x_y");
        assert_eq!(other_name("spawn_agent", "builtin"), "invoke_agent");
        assert_eq!(other_name("greet", "plugin"), "greet");
    }
}
