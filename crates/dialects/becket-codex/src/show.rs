//! What a hook reads, event by event.

use becket_dialect_kit::called::Called;
use becket_events::{
    AgentEndPayload, CompactReason, Message, MessageBody, PermissionRequestPayload, PostCompactPayload,
    PreCompactPayload, PreToolOutputPayload, PreToolPayload, Scope, SessionEndPayload, SessionStartPayload,
    StartReason, SteeringPayload, StopPayload, UserPromptPayload,
};
use becket_hook_files::Input;
use serde_json::Value;

use crate::{calls, response};

/// Why a session starts.
pub fn start_source(reason: StartReason) -> &'static str {
    match reason {
        StartReason::Resume => "resume",
        StartReason::New | StartReason::Clear => "clear",
        StartReason::Fork => "fork",
        StartReason::Startup | StartReason::Reload | StartReason::Subagent => "startup",
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

/// The session goes on with a summary in place of its conversation.
pub fn session_goes_on(input: Input, _: &Scope, _: &PostCompactPayload) -> Input {
    input.with("source", "compact")
}

pub fn subagent_start(input: Input, _: &Scope, _: &SessionStartPayload) -> Input {
    input
}

pub fn session_end(input: Input, _: &Scope, _: &SessionEndPayload) -> Input {
    input.with("reason", "other")
}

pub fn user_prompt(input: Input, _: &Scope, prompt: &UserPromptPayload) -> Input {
    input.with("prompt", prompt.prompt.as_str())
}

pub fn steering(input: Input, _: &Scope, steering: &SteeringPayload) -> Input {
    input.with("prompt", steering.messages.join("\n\n"))
}

fn called(input: Input, call: &Called<'_>, source: &str) -> Input {
    input
        .with("tool_name", calls::name(call, source).as_ref())
        .with("tool_input", calls::arguments(call))
}

pub fn pre_tool(input: Input, _: &Scope, call: &PreToolPayload) -> Input {
    called(input, &calls::pre_tool(call), &call.tool_source).with("tool_use_id", call.tool_call_id.as_str())
}

pub fn permission_request(input: Input, _: &Scope, call: &PermissionRequestPayload) -> Input {
    called(input, &calls::permission_request(call), &call.tool_source)
}

pub fn post_tool(input: Input, _: &Scope, output: &PreToolOutputPayload) -> Input {
    called(input, &calls::tool_output(output), &output.tool_source)
        .with("tool_response", response::of(output))
        .with("tool_use_id", output.tool_call_id.as_str())
}

pub fn stop(input: Input, _: &Scope, stop: &StopPayload) -> Input {
    let said = match stop.response.as_str() {
        "" => Value::Null,
        said => said.into(),
    };
    input
        .with("stop_hook_active", stop.continuations > 0)
        .with("last_assistant_message", said)
}

pub fn pre_compact(input: Input, _: &Scope, compaction: &PreCompactPayload) -> Input {
    input.with("trigger", trigger(compaction.reason))
}

pub fn post_compact(input: Input, _: &Scope, compaction: &PostCompactPayload) -> Input {
    input.with("trigger", trigger(compaction.reason))
}

pub fn interrupt(input: Input, _: &Scope, _: &AgentEndPayload) -> Input {
    input
}

/// The end of a turn, as programs of the setting `notify` are told of it.
pub fn notify(input: Input, _: &Scope, end: &AgentEndPayload) -> Input {
    let texts = |wanted: fn(&MessageBody) -> bool| {
        let messages = end.messages.iter().filter(move |message| wanted(message.body()));
        messages.map(Message::text).filter(|text| !text.is_empty())
    };
    let asked: Vec<String> = texts(|body| matches!(body, MessageBody::User { .. })).collect();
    let said = texts(|body| matches!(body, MessageBody::Assistant { .. })).next_back();
    input
        .with("input-messages", asked)
        .with("last-assistant-message", said.map_or(Value::Null, Value::String))
}
