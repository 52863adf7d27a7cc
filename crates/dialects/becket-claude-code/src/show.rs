//! What a hook reads, event by event.

use std::path::Path;

use becket_dialect_kit::called::Called;
use becket_events::{
    AttentionPayload, AttentionReason, CompactReason, ConfigChangePayload, EndReason, ErrorRaisedPayload,
    InputSource, InstructionsLoadedPayload, ModelChangePayload, OperationKind, PermissionRequestPayload,
    PostCompactPayload, PreCompactPayload, PreModelChangePayload, PreToolOutputPayload, PreToolPayload,
    PromptExpansionPayload, ProviderErrorKind, Scope, SessionEndPayload, SessionStartPayload, SetupPayload,
    SetupReason, StartReason, SteeringPayload, StopPayload, ToolBatchPayload, UserPromptPayload, text_of,
};
use becket_hook_files::{Input, normalised};
use serde_json::{Map, Value, json};

use crate::calls::{self, PROFILE};
use crate::response;

/// Why a session starts.
pub fn start_source(reason: StartReason) -> &'static str {
    match reason {
        StartReason::Resume => "resume",
        StartReason::New | StartReason::Clear => "clear",
        StartReason::Fork => "fork",
        StartReason::Startup | StartReason::Reload | StartReason::Subagent => "startup",
    }
}

/// Why a session ends.
pub fn end_reason(end: &SessionEndPayload) -> &'static str {
    match (end.next, end.reason) {
        (Some(StartReason::New | StartReason::Clear), _) => "clear",
        (Some(StartReason::Resume), _) => "resume",
        (None, EndReason::Left) => "prompt_input_exit",
        _ => "other",
    }
}

/// Who wants a summary.
pub fn trigger(reason: CompactReason) -> &'static str {
    match reason {
        CompactReason::Manual => "manual",
        CompactReason::Threshold | CompactReason::Overflow | CompactReason::ToolOverflow => "auto",
    }
}

/// The kind of a notification.
pub fn notification_type(reason: AttentionReason) -> &'static str {
    match reason {
        AttentionReason::Approval => "permission_prompt",
        AttentionReason::Question => "elicitation_dialog",
        AttentionReason::Idle | AttentionReason::Limit => "idle_prompt",
    }
}

/// The kind of an error.
pub fn error_word(error: &ErrorRaisedPayload) -> &'static str {
    use ProviderErrorKind::{Broken, ContextTooLong, Key, RateLimited, Rejected, Silent, Transient};
    match error.provider_error {
        Some(RateLimited) => "rate_limit",
        Some(Key) => "authentication_failed",
        Some(ContextTooLong | Rejected) => "invalid_request",
        Some(Transient | Silent | Broken) => "server_error",
        None => "unknown",
    }
}

pub fn session_start(input: Input, scope: &Scope, start: &SessionStartPayload) -> Input {
    input
        .with("source", start_source(start.reason))
        .with("model", scope.model.as_str())
}

/// The session goes on with a summary in place of its conversation.
pub fn session_goes_on(input: Input, scope: &Scope, _: &PostCompactPayload) -> Input {
    input
        .with("source", "compact")
        .with("model", scope.model.as_str())
}

/// What the user wants of the project.
pub fn setup_trigger(reason: SetupReason) -> &'static str {
    match reason {
        SetupReason::Init => "init",
        SetupReason::Maintenance => "maintenance",
    }
}

pub fn setup(input: Input, _: &Scope, setup: &SetupPayload) -> Input {
    input.with("trigger", setup_trigger(setup.reason))
}

pub fn instructions_loaded(input: Input, scope: &Scope, loaded: &InstructionsLoadedPayload) -> Input {
    input
        .with("file_path", absolute(scope, &loaded.path))
        .with("memory_type", "Project")
        .with("load_reason", "session_start")
}

pub fn prompt_expansion(input: Input, _: &Scope, expansion: &PromptExpansionPayload) -> Input {
    input
        .with("expansion_type", "slash_command")
        .with("command_name", expansion.name.as_str())
        .with("command_args", expansion.arguments.as_str())
        .with("prompt", expansion.prompt.as_str())
}

/// Whose file has changed, by its name.
pub fn config_source(scope: &Scope, path: &str) -> &'static str {
    let path = Path::new(path);
    let is_local = path.file_name().is_some_and(|name| name == "settings.local.json");
    match path.starts_with(&scope.cwd) {
        _ if is_local => "local_settings",
        true => "project_settings",
        false if path.starts_with("/etc") => "policy_settings",
        false => "user_settings",
    }
}

pub fn config_change(input: Input, scope: &Scope, change: &ConfigChangePayload) -> Input {
    input
        .with("source", config_source(scope, &change.path))
        .with("file_path", change.path.as_str())
}

pub fn pre_model_change(input: Input, _: &Scope, change: &PreModelChangePayload) -> Input {
    input
        .with("from_model", change.current_model.as_str())
        .with("to_model", change.new_model.as_str())
        .with("requested_model", change.new_model.as_str())
        .with("source", "command")
}

pub fn subagent_start(input: Input, _: &Scope, _: &SessionStartPayload) -> Input {
    input
}

pub fn session_end(input: Input, _: &Scope, end: &SessionEndPayload) -> Input {
    input.with("reason", end_reason(end))
}

pub fn user_prompt(input: Input, _: &Scope, prompt: &UserPromptPayload) -> Input {
    input
        .with("prompt", prompt.prompt.as_str())
        .with("source", prompt_source(prompt.source))
}

/// Where a prompt comes from.
fn prompt_source(source: InputSource) -> &'static str {
    match source {
        InputSource::Interactive | InputSource::Steering | InputSource::FollowUp => "user",
        InputSource::Rpc => "sdk",
        InputSource::Hook | InputSource::Agent => "system",
    }
}

pub fn steering(input: Input, _: &Scope, steering: &SteeringPayload) -> Input {
    input
        .with("prompt", steering.messages.join("\n\n"))
        .with("source", "user")
}

/// A path without links followed, from the session's directory.
fn absolute(scope: &Scope, path: &str) -> String {
    normalised(&Path::new(&scope.cwd).join(path))
        .display()
        .to_string()
}

/// The arguments of a call. Claude Code's tools have absolute paths; a hook that writes one back means the same file.
pub fn shown_arguments(scope: &Scope, call: &Called<'_>) -> Map<String, Value> {
    let mut arguments = calls::arguments(call);
    if let Some(Value::String(path)) = arguments.get_mut("file_path")
        && !path.starts_with("vfs://")
    {
        *path = absolute(scope, path);
    }
    arguments
}

fn called(input: Input, scope: &Scope, call: &Called<'_>, source: &str) -> Input {
    let arguments = shown_arguments(scope, call);
    // A command of Claude Code runs in the session's directory; one of becket may name another.
    let input = match arguments.get("cwd").and_then(Value::as_str) {
        Some(directory) => input.with("cwd", absolute(scope, directory)),
        None => input,
    };
    input
        .with("tool_name", calls::name(call, source).as_ref())
        .with("tool_input", arguments)
}

/// The server that a tool comes from.
fn server(source: &str) -> Option<Value> {
    let name = source.strip_prefix("mcp:")?;
    Some(json!({"name": name}))
}

pub fn pre_tool(input: Input, scope: &Scope, call: &PreToolPayload) -> Input {
    called(input, scope, &calls::pre_tool(call), &call.tool_source)
        .with("tool_use_id", call.tool_call_id.as_str())
        .with_some("mcp_server", server(&call.tool_source))
}

pub fn permission_request(input: Input, scope: &Scope, call: &PermissionRequestPayload) -> Input {
    let asked = calls::permission_request(call);
    called(input, scope, &asked, &call.tool_source)
        .with("tool_use_id", call.tool_call_id.as_str())
        .with_some("permission_suggestions", suggestions(&asked, &call.tool_source))
        .with_some("mcp_server", server(&call.tool_source))
}

/// Changes of permissions that spare the user the same question, for a hook that gives them back. They are those that
/// becket can make: a rule for the session, about a command or a server's tool.
fn suggestions(call: &Called<'_>, source: &str) -> Option<Value> {
    let name = calls::name(call, source);
    let command = calls::arguments(call).remove("command");
    let rule = match command.filter(|_| call.operation == Some(OperationKind::Shell)) {
        Some(command) => json!({"toolName": name, "ruleContent": command}),
        None if server(source).is_some() => json!({"toolName": name}),
        None => return None,
    };
    Some(json!([{"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}]))
}

pub fn post_tool(input: Input, scope: &Scope, output: &PreToolOutputPayload) -> Input {
    let path = output.arguments.get("path").and_then(Value::as_str);
    let path = path.map(|path| absolute(scope, path));
    called(input, scope, &calls::tool_output(output), &output.tool_source)
        .with("tool_response", response::of(output, path.as_deref()))
        .with("tool_use_id", output.tool_call_id.as_str())
        .with("duration_ms", output.duration_ms)
}

pub fn post_tool_failure(input: Input, scope: &Scope, output: &PreToolOutputPayload) -> Input {
    called(input, scope, &calls::tool_output(output), &output.tool_source)
        .with("tool_use_id", output.tool_call_id.as_str())
        .with("error", text_of(&output.content))
        .with("is_interrupt", false)
        .with("duration_ms", output.duration_ms)
}

pub fn tool_batch(input: Input, scope: &Scope, batch: &ToolBatchPayload) -> Input {
    let calls = batch.tool_calls.iter().map(|record| {
        let call = Called {
            profile: &PROFILE,
            id: &record.tool_call_id,
            own_name: &record.tool_name,
            called_as: &record.called_as,
            operation: record.operation,
            arguments: &record.arguments,
        };
        json!({
            "tool_name": calls::name(&call, &record.tool_source),
            "tool_input": shown_arguments(scope, &call),
            "tool_use_id": record.tool_call_id,
            "tool_response": text_of(&record.content),
        })
    });
    input.with("tool_calls", calls.collect::<Vec<Value>>())
}

pub fn stop(input: Input, _: &Scope, stop: &StopPayload) -> Input {
    input
        .with("stop_hook_active", stop.continuations > 0)
        .with("last_assistant_message", stop.response.as_str())
        .with("background_tasks", json!([]))
        .with("session_crons", json!([]))
}

pub fn subagent_stop(input: Input, scope: &Scope, stopped: &StopPayload) -> Input {
    stop(input, scope, stopped)
}

pub fn pre_compact(input: Input, _: &Scope, compaction: &PreCompactPayload) -> Input {
    input.with("trigger", trigger(compaction.reason)).with(
        "custom_instructions",
        compaction.instructions.clone().unwrap_or_default(),
    )
}

pub fn post_compact(input: Input, _: &Scope, compaction: &PostCompactPayload) -> Input {
    input
        .with("trigger", trigger(compaction.reason))
        .with("compact_summary", compaction.summary.as_str())
}

pub fn model_change(input: Input, _: &Scope, change: &ModelChangePayload) -> Input {
    input
        .with("from_model", change.previous_model.clone().unwrap_or_default())
        .with("to_model", change.new_model.as_str())
        .with("requested_model", change.new_model.as_str())
        .with("source", "command")
}

pub fn attention(input: Input, _: &Scope, attention: &AttentionPayload) -> Input {
    input
        .with("message", attention.message.as_str())
        .with("notification_type", notification_type(attention.reason))
}

pub fn error(input: Input, _: &Scope, error: &ErrorRaisedPayload) -> Input {
    input
        .with("error", error_word(error))
        .with("error_details", error.message.as_str())
}
