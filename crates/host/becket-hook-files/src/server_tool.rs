//! Calls a tool of an MCP server in place of a program, and hears the text of its result as that of the program.

use becket_hooks::{Cause, Failure, Finished};
use becket_host::ServerCall;
use regex::{Captures, Regex};
use serde_json::{Map, Value};

use crate::entry::{Action, HookEntry};
use crate::system::Running;

/// Calls the tool of a hook.
pub async fn call_hook(entry: &HookEntry, running: &Running, input: &str) -> Result<Finished, Failure> {
    let Action::ServerTool {
        server,
        tool,
        input: written,
    } = &entry.action
    else {
        return Err(Failure::new(Cause::SpawnFailed, "it has no server"));
    };
    let raised = |why: String| Failure::new(Cause::Raised, why);
    let event: Value = serde_json::from_str(input).map_err(|error| raised(error.to_string()))?;
    let call = ServerCall {
        server,
        tool,
        arguments: filled(written, &event),
        limit: entry.timeout,
    };
    let text = running.servers.call(call).await.map_err(raised)?;
    Ok(Finished {
        stdout: text.into_bytes(),
        stderr: String::new(),
        code: 0,
        complete: true,
    })
}

/// Arguments in whose texts `${path}` is replaced by members of the event.
fn filled(written: &Map<String, Value>, event: &Value) -> Map<String, Value> {
    let members = written.iter();
    members
        .map(|(name, value)| (name.clone(), filled_value(value, event)))
        .collect()
}

fn filled_value(value: &Value, event: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(filled_text(text, event)),
        Value::Array(values) => values.iter().map(|value| filled_value(value, event)).collect(),
        Value::Object(members) => Value::Object(filled(members, event)),
        other => other.clone(),
    }
}

/// A text with `${a.b.0}` replaced. A member that is no text is written as JSON; one that is not there is empty.
fn filled_text(text: &str, event: &Value) -> String {
    let Ok(place) = Regex::new(r"\$\{([A-Za-z0-9_.-]+)\}") else {
        return text.to_owned();
    };
    let member = |path: &str| {
        let mut keys = path.split('.');
        keys.try_fold(event, |value, key| match value {
            Value::Array(values) => values.get(key.parse::<usize>().ok()?),
            value => value.get(key),
        })
    };
    let replaced = place.replace_all(text, |found: &Captures<'_>| match member(&found[1]) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    });
    replaced.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_of_arguments_hold_members_of_the_event() {
        let event = json!({"cwd": "/w", "tool_input": {"path": "a ${cwd}", "lines": [1, 2]}});
        let written = json!({
            "all": "${tool_input.path} in ${cwd}",
            "deep": [{"first": "${tool_input.lines.0}", "none": "<${tool_input.nothing.at}>"}],
            "data": "${tool_input.lines}",
            "number": 3,
            "plain": "$cwd ${} {cwd}",
        });
        let wanted = json!({
            "all": "a ${cwd} in /w",
            "deep": [{"first": "1", "none": "<>"}],
            "data": "[1,2]",
            "number": 3,
            "plain": "$cwd ${} {cwd}",
        });
        assert_eq!(filled_value(&written, &event), wanted);
    }
}
