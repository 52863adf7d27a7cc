//! Tool calls under Copilot's names.

use std::borrow::Cow;
use std::sync::LazyLock;

use becket_dialect_kit::called::{Called, server_tool};
use becket_events::{
    OperationKind, PermissionRequestPayload, PreToolOutputPayload, PreToolPayload, Profile, Scope,
};
use serde_json::{Map, Value};

use crate::naming::second_name;
use crate::tools::profile;

pub static PROFILE: LazyLock<Profile> = LazyLock::new(profile);

becket_dialect_kit::called::calls! {
    PROFILE;
    pre_tool(PreToolPayload),
    permission_request(PermissionRequestPayload),
    tool_output(PreToolOutputPayload),
}

/// becket's tools without an operation that Copilot has too.
const OTHERS: &[(&str, &str)] = &[("spawn_agent", "task"), ("update_todos", "update_todo")];

/// Arguments of a sub-agent's call, by becket's names and Copilot's.
const AGENT: &[(&str, &str)] = &[("input", "prompt"), ("preset", "agent_type")];

/// The name of a call's tool: that of the operation, of a tool that both systems have, or of a server's tool.
fn first_name<'a>(call: &Called<'a>, source: &'a str) -> Cow<'a, str> {
    if call.operation == Some(OperationKind::List) {
        // The same tool reads a file and lists a directory.
        return "view".into();
    }
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
        Some(server) => format!("{server}-{}", server_tool(server, call.own_name).1).into(),
        None => call.own_name.into(),
    }
}

/// The name of a call's tool for hooks of this kind of event.
pub fn name<'a, const PASCAL: bool>(call: &Called<'a>, source: &'a str) -> Cow<'a, str> {
    let name = first_name(call, source);
    match PASCAL {
        true => second_name(&name).to_owned().into(),
        false => name,
    }
}

/// The arguments of a call.
pub fn arguments(call: &Called<'_>) -> Map<String, Value> {
    if let Some(command) = call.as_command() {
        return Map::from_iter([("command".to_owned(), command.into())]);
    }
    let mut arguments = call.foreign_arguments();
    if call.operation == Some(OperationKind::List) {
        arguments.entry("path").or_insert_with(|| ".".into());
    }
    if call.own_name == "spawn_agent" {
        arguments = renamed(arguments, |(own, name)| (own, name));
    }
    arguments
}

/// Arguments that a hook wrote for a call, with those of a sub-agent under becket's names.
pub fn written(call: &Called<'_>, written: Map<String, Value>) -> Map<String, Value> {
    if call.as_command().is_some() && written == arguments(call) {
        return call.arguments.clone();
    }
    match call.own_name {
        "spawn_agent" => renamed(written, |(own, name)| (name, own)),
        _ => written,
    }
}

type Names = (&'static str, &'static str);

/// A sub-agent's arguments under other names.
fn renamed(mut arguments: Map<String, Value>, from_to: fn(Names) -> Names) -> Map<String, Value> {
    for (from, to) in AGENT.iter().copied().map(from_to) {
        if let Some(value) = arguments.remove(from) {
            arguments.insert(to.to_owned(), value);
        }
    }
    arguments
}

pub fn pre_tool_name<'a, const PASCAL: bool>(_: &'a Scope, payload: &'a PreToolPayload) -> Cow<'a, str> {
    name::<PASCAL>(&pre_tool(payload), &payload.tool_source)
}

pub fn permission_name<'a, const PASCAL: bool>(
    _: &'a Scope,
    payload: &'a PermissionRequestPayload,
) -> Cow<'a, str> {
    name::<PASCAL>(&permission_request(payload), &payload.tool_source)
}

pub fn output_name<'a, const PASCAL: bool>(_: &'a Scope, payload: &'a PreToolOutputPayload) -> Cow<'a, str> {
    name::<PASCAL>(&tool_output(payload), &payload.tool_source)
}
