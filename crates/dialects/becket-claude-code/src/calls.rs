//! Tool calls under Claude Code's names.

use std::borrow::Cow;
use std::sync::LazyLock;

use becket_dialect_kit::called::Called;
use becket_events::{PermissionRequestPayload, PreToolOutputPayload, PreToolPayload, Profile, Scope};
use serde_json::{Map, Value};

use crate::tools::profile;

pub static PROFILE: LazyLock<Profile> = LazyLock::new(profile);

becket_dialect_kit::called::calls! {
    PROFILE;
    pre_tool(PreToolPayload),
    permission_request(PermissionRequestPayload),
    tool_output(PreToolOutputPayload),
}

/// becket's tools without an operation that Claude Code has too.
pub const OTHERS: &[(&str, &str)] = &[("spawn_agent", "Agent"), ("update_todos", "TodoWrite")];

/// The name of a call's tool: that of the operation, of a tool that both systems have, or of a server's tool.
pub fn name<'a>(call: &Called<'a>, source: &'a str) -> Cow<'a, str> {
    if let Some(face) = call.face() {
        return face.name.into();
    }
    if let Some((_, name)) = OTHERS.iter().find(|(own, _)| *own == call.own_name) {
        return (*name).into();
    }
    match source.strip_prefix("mcp:") {
        Some(server) => server_tool(server, call.own_name).into(),
        None => call.own_name.into(),
    }
}

/// The name of a server's tool. becket's own name for it begins with the server's.
fn server_tool(server: &str, own_name: &str) -> String {
    let plain = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => character,
        _ => '_',
    };
    let server: String = server.chars().map(plain).collect();
    let tool = own_name.strip_prefix(&format!("{server}_")).unwrap_or(own_name);
    format!("mcp__{server}__{tool}")
}

/// The arguments of a call.
pub fn arguments(call: &Called<'_>) -> Map<String, Value> {
    if call.face().is_some() || call.own_name != "spawn_agent" {
        return call.foreign_arguments();
    }
    let mut arguments = call.arguments.clone();
    for (own, name) in AGENT {
        if let Some(value) = arguments.remove(*own) {
            arguments.insert((*name).to_owned(), value);
        }
    }
    arguments
}

/// Arguments of a sub-agent's call, by becket's names and Claude Code's.
const AGENT: &[(&str, &str)] = &[("input", "prompt"), ("preset", "subagent_type")];

/// Arguments that a hook wrote for a call, with those of a sub-agent under becket's names.
pub fn written(call: &Called<'_>, mut written: Map<String, Value>) -> Map<String, Value> {
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

pub fn permission_name<'a>(_: &'a Scope, payload: &'a PermissionRequestPayload) -> Cow<'a, str> {
    name(&permission_request(payload), &payload.tool_source)
}

pub fn output_name<'a>(_: &'a Scope, payload: &'a PreToolOutputPayload) -> Cow<'a, str> {
    name(&tool_output(payload), &payload.tool_source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_tool_is_named_after_both() {
        assert_eq!(
            server_tool("github", "github_create_issue"),
            "mcp__github__create_issue"
        );
        assert_eq!(server_tool("my server", "my_server_ask"), "mcp__my_server__ask");
        assert_eq!(server_tool("x", "y"), "mcp__x__y");
    }
}
