//! Tool calls under Claude Code's names.

use std::borrow::Cow;
use std::sync::LazyLock;

use becket_dialect_kit::called::{Called, server_tool};
use becket_events::{PermissionRequestPayload, PreToolOutputPayload, PreToolPayload, Profile, Scope};
use serde_json::{Map, Value, json};

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

/// The name of a call's tool: that of the operation, of a tool that both systems have, of the shell if it would do the
/// same, or of a server's tool.
pub fn name<'a>(call: &Called<'a>, source: &'a str) -> Cow<'a, str> {
    if let Some(face) = call.face() {
        return face.name.into();
    }
    if let (Some(_), Some(shell)) = (call.as_command(), call.shell_name()) {
        return shell.into();
    }
    if let Some((_, name)) = OTHERS.iter().find(|(own, _)| *own == call.own_name) {
        return (*name).into();
    }
    match source.strip_prefix("mcp:") {
        Some(server) => tool_of_server(server, call.own_name).into(),
        None => call.own_name.into(),
    }
}

/// The name of a server's tool.
fn tool_of_server(server: &str, own_name: &str) -> String {
    let (server, tool) = server_tool(server, own_name);
    format!("mcp__{server}__{tool}")
}

/// The arguments of a call.
pub fn arguments(call: &Called<'_>) -> Map<String, Value> {
    if let Some(command) = call.as_command() {
        return Map::from_iter([("command".to_owned(), command.into())]);
    }
    if call.face().is_none() && call.own_name == "update_todos" {
        return todos_of(call.arguments);
    }
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
    if call.as_command().is_some() && written == arguments(call) {
        return call.arguments.clone();
    }
    if let Some(Value::Array(todos)) = written
        .remove("todos")
        .filter(|_| call.own_name == "update_todos")
    {
        written.insert("content".into(), text_of(&todos).into());
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

/// A list of things to do as Claude Code's tool has it. becket's is a text with one of them in each line.
fn todos_of(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut shown = arguments.clone();
    let Some(Value::String(content)) = shown.remove("content") else {
        return arguments.clone();
    };
    let lines = content.lines().map(str::trim).filter(|line| !line.is_empty());
    let todos = lines.map(|line| {
        let line = line.trim_start_matches(['-', '*']).trim_start();
        let (state, text) = STATES
            .iter()
            .find_map(|(mark, state)| Some((*state, line.strip_prefix(mark)?.trim_start())))
            .unwrap_or(("pending", line));
        json!({"content": text, "status": state, "activeForm": text})
    });
    shown.insert("todos".into(), todos.collect::<Vec<_>>().into());
    shown
}

/// Things to do as becket's tool has them.
fn text_of(todos: &[Value]) -> String {
    let lines = todos.iter().map(|todo| {
        let text = todo.get("content").and_then(Value::as_str).unwrap_or_default();
        let state = todo.get("status").and_then(Value::as_str);
        let mark = STATES.iter().find(|(_, name)| Some(*name) == state);
        format!("- {} {text}", mark.map_or(STATES[0].0, |(mark, _)| mark))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// How a line says how far something is, and Claude Code's word for it.
const STATES: &[(&str, &str)] = &[
    ("[ ]", "pending"),
    ("[~]", "in_progress"),
    ("[x]", "completed"),
    ("[X]", "completed"),
];

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
            tool_of_server("github", "github_create_issue"),
            "mcp__github__create_issue"
        );
        assert_eq!(
            tool_of_server("my server", "my_server_ask"),
            "mcp__my_server__ask"
        );
        assert_eq!(tool_of_server("x", "y"), "mcp__x__y");
    }

    #[test]
    fn things_to_do_are_a_list_there_and_a_text_here() {
        let content = "- [ ] bake\n- [x] mix\n- [~] wait";
        let arguments = Map::from_iter([("content".to_owned(), content.into())]);
        let shown = todos_of(&arguments);
        let todo = |text: &str, state: &str| json!({"content": text, "status": state, "activeForm": text});
        let wanted = json!([
            todo("bake", "pending"),
            todo("mix", "completed"),
            todo("wait", "in_progress")
        ]);
        assert_eq!(shown["todos"], wanted);
        assert_eq!(text_of(shown["todos"].as_array().unwrap()), content);
    }
}
