//! Tool calls under Cursor's names.

use std::borrow::Cow;
use std::path::Path;
use std::sync::LazyLock;

use becket_dialect_kit::called::{Called, server_tool};
use becket_events::{OperationKind, PreToolOutputPayload, PreToolPayload, Profile, Scope};
use becket_hook_files::normalised;
use becket_hooks::{Cause, Failure};
use serde_json::{Map, Value, json};

use crate::content;
use crate::tools::profile;

pub static PROFILE: LazyLock<Profile> = LazyLock::new(profile);

becket_dialect_kit::called::calls! {
    PROFILE;
    pre_tool(PreToolPayload),
    tool_output(PreToolOutputPayload),
}

/// The server of a tool, if it is one of a server.
pub fn server(source: &str) -> Option<&str> {
    source.strip_prefix("mcp:")
}

/// The name of a call's tool: that of the operation, of a tool that both systems have, of the shell if it would do the
/// same, or of a server's tool. An edit is a `Write` too.
pub fn name<'a>(call: &Called<'a>, source: &str) -> Cow<'a, str> {
    if let (Some(_), Some(shell)) = (call.as_command(), call.shell_name()) {
        return shell.into();
    }
    match (call.operation, call.face(), server(source)) {
        (Some(OperationKind::Edit), ..) => "Write".into(),
        (_, Some(face), _) => face.name.into(),
        (_, None, Some(server)) => format!("MCP:{}", server_tool(server, call.own_name).1).into(),
        (_, None, None) if call.own_name == "spawn_agent" => "Task".into(),
        (_, None, None) => call.own_name.into(),
    }
}

/// Arguments of a sub-agent's call, by becket's names and Cursor's.
const AGENT: &[(&str, &str)] = &[("input", "prompt"), ("preset", "subagent_type")];

/// The arguments of a call. Paths of files are absolute, and an edit has the whole new text of its file.
pub fn arguments(call: &Called<'_>, scope: &Scope) -> Map<String, Value> {
    if let Some(command) = call.as_command() {
        return as_shell(command);
    }
    let mut arguments = call.foreign_arguments();
    if call.own_name == "spawn_agent" {
        for (own, name) in AGENT {
            if let Some(value) = arguments.remove(*own) {
                arguments.insert((*name).to_owned(), value);
            }
        }
    }
    if let Some(Value::String(path)) = arguments.get_mut("file_path")
        && !path.starts_with("vfs://")
    {
        *path = normalised(&Path::new(&scope.cwd).join(&*path))
            .display()
            .to_string();
    }
    if call.operation == Some(OperationKind::Edit) {
        let path = arguments.get("file_path").cloned().unwrap_or_default();
        let old = path.as_str().and_then(|path| content::text_of(Path::new(path)));
        let new = old.and_then(|old| content::edited(&old, call.arguments));
        let new = new.unwrap_or_else(|| content::brought(call.arguments));
        return [("file_path".to_owned(), path), ("content".to_owned(), new.into())]
            .into_iter()
            .collect();
    }
    arguments
}

/// The arguments of the shell for a command.
fn as_shell(command: String) -> Map<String, Value> {
    Map::from_iter([("command".to_owned(), command.into())])
}

/// Arguments that a hook wrote for a call, where becket has other ones: those of a sub-agent, and the whole new text of
/// a file that is edited.
pub fn written(call: &Called<'_>, mut written: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
    if call.as_command().map(as_shell).as_ref() == Some(&written) {
        return Ok(call.arguments.clone());
    }
    if call.own_name == "spawn_agent" {
        for (own, name) in AGENT {
            if let Some(value) = written.remove(*name) {
                written.insert((*own).to_owned(), value);
            }
        }
    }
    let content = written.get("content").and_then(Value::as_str);
    let (Some(OperationKind::Edit), Some(new)) = (call.operation, content) else {
        return Ok(written);
    };
    let path = written.get("file_path").or(written.get("path"));
    let path = path.and_then(Value::as_str).unwrap_or_default();
    let file = Some(Path::new(path)).filter(|file| file.is_absolute());
    let old = file.and_then(content::text_of).filter(|old| !old.is_empty());
    let Some(old) = old else {
        let why = "the content that it wrote cannot be compared with the file";
        return Err(Failure::new(Cause::WrongShape, why));
    };
    let is_same = content::edited(&old, call.arguments).as_deref() == Some(new);
    let edits = match (is_same, call.arguments.get("edits")) {
        (true, Some(edits)) => edits.clone(),
        _ => json!([{"old_text": old, "new_text": new}]),
    };
    Ok(
        [("file_path".to_owned(), path.into()), ("edits".to_owned(), edits)]
            .into_iter()
            .collect(),
    )
}

pub fn pre_tool_name<'a>(_: &'a Scope, payload: &'a PreToolPayload) -> Cow<'a, str> {
    name(&pre_tool(payload), &payload.tool_source)
}

pub fn output_name<'a>(_: &'a Scope, payload: &'a PreToolOutputPayload) -> Cow<'a, str> {
    name(&tool_output(payload), &payload.tool_source)
}
