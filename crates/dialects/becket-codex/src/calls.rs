//! Tool calls under Codex's names.

use std::borrow::Cow;
use std::sync::LazyLock;

use becket_dialect_kit::called::{Called, server_tool};
use becket_events::{
    OperationKind, PermissionRequestPayload, PreToolOutputPayload, PreToolPayload, Profile, Scope,
};
use becket_hooks::{Cause, Failure};
use serde_json::{Map, Value};

use crate::commands;
use crate::tools::{COMMAND, PATCH, profile};

pub static PROFILE: LazyLock<Profile> = LazyLock::new(profile);

becket_dialect_kit::called::calls! {
    PROFILE;
    pre_tool(PreToolPayload),
    permission_request(PermissionRequestPayload),
    tool_output(PreToolOutputPayload),
}

/// Arguments of a sub-agent's call, by becket's names and Codex's.
const AGENT: &[(&str, &str)] = &[("input", "message"), ("preset", "agent_type")];

/// How a hook sees a call.
enum Shown {
    /// As a command of the shell.
    Command,
    /// As a patch.
    Patch,
    /// As a command in place of a tool that Codex does not have.
    InPlaceOf(String),
    /// Under becket's own names.
    Own,
}

fn shown(call: &Called<'_>) -> Shown {
    match (call.operation, call.face()) {
        (Some(OperationKind::Shell), Some(_)) => Shown::Command,
        (Some(OperationKind::Write | OperationKind::Edit), Some(_)) => Shown::Patch,
        (Some(operation), _) => match commands::line(operation, call.arguments) {
            Some(line) => Shown::InPlaceOf(line),
            None => Shown::Own,
        },
        (None, _) => Shown::Own,
    }
}

/// The name of a call's tool: that of the operation, of a server's tool, or becket's own.
pub fn name<'a>(call: &Called<'a>, source: &'a str) -> Cow<'a, str> {
    match (shown(call), source.strip_prefix("mcp:")) {
        (Shown::Command | Shown::InPlaceOf(_), _) => "Bash".into(),
        (Shown::Patch, _) => PATCH.into(),
        (Shown::Own, Some(server)) => tool_of_server(server, call.own_name).into(),
        (Shown::Own, None) => call.own_name.into(),
    }
}

/// The name of a server's tool.
fn tool_of_server(server: &str, own_name: &str) -> String {
    let (server, tool) = server_tool(server, own_name);
    format!("mcp__{server}__{tool}")
}

/// The arguments of a call. Of a command and of a patch hooks see the text alone.
pub fn arguments(call: &Called<'_>) -> Map<String, Value> {
    let only = |text: Value| Map::from_iter([(COMMAND.to_owned(), text)]);
    match shown(call) {
        Shown::Command | Shown::Patch => only(call.foreign_arguments().remove(COMMAND).unwrap_or_default()),
        Shown::InPlaceOf(line) => only(line.into()),
        Shown::Own if call.own_name == "spawn_agent" => {
            renamed(call.arguments.clone(), |(own, name)| (own, name))
        }
        Shown::Own => call.foreign_arguments(),
    }
}

/// Arguments that a hook wrote for a call, with all that it was not shown; `None` if it changes nothing.
pub fn written(
    call: &Called<'_>,
    written: Map<String, Value>,
) -> Result<Option<Map<String, Value>>, Failure> {
    let wrong = |what: &str| Err(Failure::new(Cause::WrongShape, format!("`updatedInput`: {what}")));
    let before = arguments(call);
    if written == before {
        return Ok(None);
    }
    let shown = shown(call);
    let text = written.get(COMMAND).filter(|text| text.is_string()).cloned();
    match (shown, text) {
        (Shown::Own, _) if call.own_name == "spawn_agent" => {
            Ok(Some(renamed(written, |(own, name)| (name, own))))
        }
        (Shown::Own, _) => Ok(Some(written)),
        (_, None) => wrong("`command` must be a text"),
        (_, Some(text)) if before.get(COMMAND) == Some(&text) => Ok(None),
        (Shown::Command, Some(text)) => {
            let mut all = call.foreign_arguments();
            all.insert(COMMAND.to_owned(), text);
            Ok(Some(all))
        }
        (Shown::Patch, Some(text)) => Ok(Some(Map::from_iter([(COMMAND.to_owned(), text)]))),
        (Shown::InPlaceOf(_), Some(_)) => {
            let own = call.own_name;
            wrong(&format!(
                "the command stands for becket's tool `{own}`, and no other can run in its place"
            ))
        }
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

pub fn pre_tool_name<'a>(_: &'a Scope, payload: &'a PreToolPayload) -> Cow<'a, str> {
    name(&pre_tool(payload), &payload.tool_source)
}

pub fn permission_name<'a>(_: &'a Scope, payload: &'a PermissionRequestPayload) -> Cow<'a, str> {
    name(&permission_request(payload), &payload.tool_source)
}

pub fn output_name<'a>(_: &'a Scope, payload: &'a PreToolOutputPayload) -> Cow<'a, str> {
    name(&tool_output(payload), &payload.tool_source)
}
