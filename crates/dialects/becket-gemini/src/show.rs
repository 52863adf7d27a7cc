//! What a hook reads, event by event.

use std::path::Path;

use becket_dialect_kit::called::Called;
use becket_events::{
    AttentionPayload, CompactReason, Message, ModelContextPayload, PostResponsePayload, PreCompactPayload,
    PreToolOutputPayload, PreToolPayload, Scope, SessionEndPayload, SessionStartPayload, StartReason,
    SteeringPayload, StopPayload, ToolsOfferedPayload, UserPromptPayload,
};
use becket_hook_files::{Input, normalised};
use serde_json::{Map, Value, json};

use crate::{calls, model, response};

/// Why a session starts.
pub fn start_source(reason: StartReason) -> &'static str {
    match reason {
        StartReason::Resume | StartReason::Fork => "resume",
        StartReason::New | StartReason::Clear => "clear",
        StartReason::Startup | StartReason::Reload | StartReason::Subagent => "startup",
    }
}

/// Why a session ends, by what comes next.
pub fn end_reason(next: Option<StartReason>) -> &'static str {
    match next {
        Some(StartReason::New | StartReason::Clear) => "clear",
        Some(_) => "other",
        None => "exit",
    }
}

/// Who wants a summary.
pub fn trigger(reason: CompactReason) -> &'static str {
    match reason {
        CompactReason::Manual => "manual",
        CompactReason::Threshold | CompactReason::Overflow | CompactReason::ToolOverflow => "auto",
    }
}

pub fn session_start(input: Input, _: &Scope, start: &SessionStartPayload) -> Input {
    input.with("source", start_source(start.reason))
}

pub fn session_end(input: Input, _: &Scope, end: &SessionEndPayload) -> Input {
    input.with("reason", end_reason(end.next))
}

pub fn user_prompt(input: Input, _: &Scope, prompt: &UserPromptPayload) -> Input {
    input.with("prompt", prompt.prompt.as_str())
}

pub fn steering(input: Input, _: &Scope, steering: &SteeringPayload) -> Input {
    input.with("prompt", steering.messages.join("\n\n"))
}

pub fn stop(input: Input, _: &Scope, stop: &StopPayload) -> Input {
    let response = match stop.response.as_str() {
        "" => "[no response text]",
        response => response,
    };
    input
        .with("prompt", stop.prompt.as_str())
        .with("prompt_response", response)
        .with("stop_hook_active", stop.continuations > 0)
}

/// The model's name without that of its provider.
fn model_name(scope: &Scope) -> &str {
    scope
        .model
        .split_once('/')
        .map_or(&*scope.model, |(_, name)| name)
}

/// The request that shows the model these messages.
pub fn request(scope: &Scope, messages: &[Message]) -> Value {
    model::request(model_name(scope), messages)
}

pub fn before_model(input: Input, scope: &Scope, context: &ModelContextPayload) -> Input {
    input.with("llm_request", request(scope, &context.messages))
}

pub fn before_tool_selection(input: Input, _: &Scope, offered: &ToolsOfferedPayload) -> Input {
    input.with_inner("llm_request", "toolConfig", model::tool_config(&offered.tools))
}

pub fn after_model(input: Input, _: &Scope, end: &PostResponsePayload) -> Input {
    input.with("llm_response", model::response(&end.message))
}

/// The arguments of a call, with absolute paths: a hook that writes one back means the same file.
pub fn shown_arguments(scope: &Scope, call: &Called<'_>) -> Map<String, Value> {
    let mut arguments = calls::arguments(call);
    if let Some(Value::String(path)) = arguments.get_mut("file_path")
        && !path.starts_with("vfs://")
    {
        *path = normalised(&Path::new(&scope.cwd).join(&*path))
            .display()
            .to_string();
    }
    arguments
}

fn called(input: Input, scope: &Scope, call: &Called<'_>, source: &str) -> Input {
    input
        .with("tool_name", calls::name(call, source).as_ref())
        .with("tool_input", shown_arguments(scope, call))
        .with_some("mcp_context", calls::server_context(call, source))
}

pub fn pre_tool(input: Input, scope: &Scope, call: &PreToolPayload) -> Input {
    called(input, scope, &calls::pre_tool(call), &call.tool_source)
}

pub fn post_tool(input: Input, scope: &Scope, output: &PreToolOutputPayload) -> Input {
    called(input, scope, &calls::tool_output(output), &output.tool_source)
        .with("tool_response", response::of(output))
}

pub fn pre_compact(input: Input, _: &Scope, compaction: &PreCompactPayload) -> Input {
    input.with("trigger", trigger(compaction.reason))
}

pub fn attention(input: Input, _: &Scope, attention: &AttentionPayload) -> Input {
    input
        .with("notification_type", "ToolPermission")
        .with("message", attention.message.as_str())
        .with("details", json!({}))
}
