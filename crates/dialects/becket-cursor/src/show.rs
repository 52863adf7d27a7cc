//! What a hook reads, event by event.

use std::path::Path;

use becket_dialect_kit::called::{Called, server_tool};
use becket_events::{
    AgentEndPayload, CompactReason, EndReason, Message, MessageEndPayload, OperationKind, Part,
    PreCompactPayload, PreFileReadPayload, PreShellPayload, PreSubagentPayload, PreToolOutputPayload,
    PreToolPayload, ResponsePayload, Scope, SessionEndPayload, SessionStartPayload, SteeringPayload,
    StopPayload, UserPromptPayload, text_of,
};
use becket_hook_files::{Input, normalised};
use serde_json::{Value, json};

use crate::{calls, content, response};

/// The type of a sub-agent without a name.
const USUAL_AGENT: &str = "generalPurpose";

/// The status of a run that is over.
pub fn status(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Done | EndReason::Switched | EndReason::Left => "completed",
        EndReason::Cancelled | EndReason::Blocked => "aborted",
        EndReason::Failed | EndReason::Limit => "error",
    }
}

/// The type of a sub-agent.
pub fn subagent_type(name: Option<&str>) -> &str {
    name.filter(|name| !name.is_empty()).unwrap_or(USUAL_AGENT)
}

pub fn session_start(input: Input, _: &Scope, _: &SessionStartPayload) -> Input {
    input
        .with("is_background_agent", false)
        .with("composer_mode", "agent")
}

pub fn session_end(input: Input, _: &Scope, end: &SessionEndPayload) -> Input {
    let status = status(end.reason);
    input
        .with("reason", status)
        .with("final_status", status)
        .with("is_background_agent", false)
}

pub fn user_prompt(input: Input, _: &Scope, prompt: &UserPromptPayload) -> Input {
    input
        .with("prompt", prompt.prompt.as_str())
        .with("attachments", json!([]))
}

pub fn steering(input: Input, _: &Scope, steering: &SteeringPayload) -> Input {
    input
        .with("prompt", steering.messages.join("\n\n"))
        .with("attachments", json!([]))
}

fn called(input: Input, scope: &Scope, call: &Called<'_>, source: &str) -> Input {
    input
        .with("tool_name", calls::name(call, source).as_ref())
        .with("tool_input", calls::arguments(call, scope))
        .with("tool_use_id", call.id)
        .with("cwd", scope.cwd.as_str())
}

pub fn pre_tool(input: Input, scope: &Scope, call: &PreToolPayload) -> Input {
    called(input, scope, &calls::pre_tool(call), &call.tool_source)
}

/// What is told about a call of a server's tool.
fn server_call(input: Input, call: &Called<'_>, source: &str) -> Input {
    let server = calls::server(source).unwrap_or_default();
    let arguments = Value::Object(call.foreign_arguments());
    input
        .with("tool_name", server_tool(server, call.own_name).1)
        .with("tool_input", arguments.to_string())
        .with("mcp_server_name", server)
}

pub fn pre_server_call(input: Input, _: &Scope, call: &PreToolPayload) -> Input {
    server_call(input, &calls::pre_tool(call), &call.tool_source)
}

pub fn post_server_call(input: Input, _: &Scope, output: &PreToolOutputPayload) -> Input {
    server_call(input, &calls::tool_output(output), &output.tool_source)
        .with("result_json", response::of_server(output))
        .with("duration", output.duration_ms)
}

pub fn pre_shell(input: Input, _: &Scope, shell: &PreShellPayload) -> Input {
    input
        .with("command", shell.command.as_str())
        .with("cwd", shell.directory.as_str())
        .with("sandbox", false)
}

/// A change of files that is a command in Cursor.
pub fn pre_change(input: Input, scope: &Scope, call: &PreToolPayload) -> Input {
    let command = calls::pre_tool(call).as_command();
    input
        .with("command", command.unwrap_or_default())
        .with("cwd", scope.cwd.as_str())
        .with("sandbox", false)
}

pub fn post_shell(input: Input, _: &Scope, output: &PreToolOutputPayload) -> Input {
    let command = output.arguments.get("command").cloned();
    input
        .with("command", command.unwrap_or_default())
        .with("output", text_of(&output.content))
        .with("duration", output.duration_ms)
        .with("sandbox", false)
}

/// The content of a file that cannot be read is empty.
pub fn pre_file_read(input: Input, _: &Scope, read: &PreFileReadPayload) -> Input {
    let content = content::text_of(Path::new(&read.path));
    input
        .with("file_path", read.path.as_str())
        .with("content", content.unwrap_or_default())
        .with("attachments", json!([]))
}

pub fn file_edit(input: Input, scope: &Scope, output: &PreToolOutputPayload) -> Input {
    let text = |key: &str| {
        output
            .arguments
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let path = normalised(&Path::new(&scope.cwd).join(text("path")));
    let list = |key: &str| {
        output
            .arguments
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let edits =
        list("edits").map(|edit| json!({"old_string": edit["old_text"], "new_string": edit["new_text"]}));
    let lines = list("lines").map(|line| {
        let old = line.get("expected").cloned().unwrap_or_else(|| "".into());
        json!({"old_string": old, "new_string": line["text"]})
    });
    let edits: Vec<Value> = match output.operation {
        Some(OperationKind::Write) => vec![json!({"old_string": "", "new_string": text("content")})],
        _ => edits.chain(lines).collect(),
    };
    input
        .with("file_path", path.display().to_string())
        .with("edits", edits)
}

pub fn post_tool(input: Input, scope: &Scope, output: &PreToolOutputPayload) -> Input {
    called(input, scope, &calls::tool_output(output), &output.tool_source)
        .with("tool_output", response::of(output))
        .with("duration", output.duration_ms)
}

pub fn post_tool_failure(input: Input, scope: &Scope, output: &PreToolOutputPayload) -> Input {
    called(input, scope, &calls::tool_output(output), &output.tool_source)
        .with("error_message", text_of(&output.content))
        .with(
            "failure_type",
            if output.ran { "error" } else { "permission_denied" },
        )
        .with("duration", output.duration_ms)
        .with("is_interrupt", false)
}

pub fn subagent_start(input: Input, scope: &Scope, subagent: &PreSubagentPayload) -> Input {
    input
        .with("subagent_id", "")
        .with("subagent_type", subagent_type(subagent.subagent_name.as_deref()))
        .with("task", subagent.input.as_str())
        .with("parent_conversation_id", scope.session_id.as_str())
        .with("tool_call_id", "")
        .with("subagent_model", subagent.subagent_model.as_str())
        .with("is_parallel_worker", false)
}

pub fn subagent_stop(input: Input, scope: &Scope, stop: &StopPayload) -> Input {
    input
        .with("subagent_id", scope.session_id.as_str())
        .with("subagent_type", subagent_type(Some(&scope.agent_name)))
        .with("status", "completed")
        .with("summary", stop.response.as_str())
        .with("task", stop.prompt.as_str())
        .with("modified_files", json!([]))
        .with("loop_count", stop.continuations)
}

pub fn stop(input: Input, _: &Scope, stop: &StopPayload) -> Input {
    input
        .with("status", "completed")
        .with("loop_count", stop.continuations)
}

/// A run that ends without being complete.
pub fn broken_off(input: Input, _: &Scope, end: &AgentEndPayload) -> Input {
    input
        .with("status", status(end.reason))
        .with("loop_count", 0)
        .with("input_tokens", end.usage.input_tokens)
        .with("output_tokens", end.usage.output_tokens)
}

pub fn pre_compact(input: Input, _: &Scope, compaction: &PreCompactPayload) -> Input {
    let trigger = match compaction.reason {
        CompactReason::Manual => "manual",
        CompactReason::Threshold | CompactReason::Overflow | CompactReason::ToolOverflow => "auto",
    };
    let limit = compaction.context_limit.filter(|limit| *limit > 0);
    let percent = limit.map(|limit| compaction.input_tokens.saturating_mul(100) / limit);
    input
        .with("trigger", trigger)
        .with_some("context_usage_percent", percent)
        .with("context_tokens", compaction.input_tokens)
        .with_some("context_window_size", compaction.context_limit)
        .with("message_count", compaction.message_count)
        .with("messages_to_compact", compaction.messages.len())
        .with("is_first_compaction", compaction.summary.is_none())
}

pub fn response(input: Input, _: &Scope, response: &ResponsePayload) -> Input {
    input.with("text", response.text.as_str())
}

/// What the model thought before a message.
pub fn thoughts(message: &Message) -> String {
    let parts = message.content().iter().filter_map(|part| match part {
        Part::Thinking { text, .. } => Some(text.as_str()),
        _ => None,
    });
    parts.collect::<Vec<_>>().join("\n")
}

pub fn thought(input: Input, _: &Scope, end: &MessageEndPayload) -> Input {
    input.with("text", thoughts(&end.message))
}
