//! What a hook reads, event by event. Each function writes the members for both kinds of events.

use becket_dialect_kit::called::Called;
use becket_events::{
    AttentionPayload, AttentionReason, CompactReason, EndReason, ErrorKind, ErrorRaisedPayload,
    PermissionRequestPayload, PreCompactPayload, PreToolOutputPayload, PreToolPayload, Scope,
    SessionEndPayload, SessionStartPayload, StartReason, StopPayload, UserPromptPayload, text_of,
};
use becket_hook_files::Input;
use serde_json::{Value, json};

use crate::naming::put;
use crate::{calls, response};

/// Why a session starts.
pub fn start_source(reason: StartReason) -> &'static str {
    match reason {
        StartReason::Resume => "resume",
        StartReason::New | StartReason::Clear | StartReason::Fork => "new",
        StartReason::Startup | StartReason::Reload | StartReason::Subagent => "startup",
    }
}

/// Why a session ends.
pub fn end_reason(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Done => "complete",
        EndReason::Failed | EndReason::Blocked => "error",
        EndReason::Cancelled => "abort",
        EndReason::Limit => "timeout",
        EndReason::Switched | EndReason::Left => "user_exit",
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
        AttentionReason::Idle | AttentionReason::Limit => "agent_idle",
    }
}

pub fn session_start<const PASCAL: bool>(input: Input, _: &Scope, start: &SessionStartPayload) -> Input {
    put::<PASCAL>(input, "source", start_source(start.reason))
}

pub fn session_end<const PASCAL: bool>(input: Input, _: &Scope, end: &SessionEndPayload) -> Input {
    put::<PASCAL>(input, "reason", end_reason(end.reason))
}

pub fn user_prompt<const PASCAL: bool>(input: Input, _: &Scope, prompt: &UserPromptPayload) -> Input {
    put::<PASCAL>(input, "prompt", prompt.prompt.as_str())
}

/// The prompt in the form in which the model gets it. becket changes nothing of it by itself.
pub fn prompt_transformed(input: Input, _: &Scope, prompt: &UserPromptPayload) -> Input {
    input
        .with("prompt", prompt.prompt.as_str())
        .with("transformedPrompt", prompt.prompt.as_str())
}

/// A call, with its arguments under both names that scripts read. Copilot writes `toolArgs` as a text that holds JSON,
/// and scripts parse it.
fn called<const PASCAL: bool>(input: Input, call: &Called<'_>, source: &str) -> Input {
    let input = put::<PASCAL>(input, "toolName", calls::name::<PASCAL>(call, source).as_ref());
    let arguments = Value::Object(calls::arguments(call));
    let written = match PASCAL {
        true => arguments.clone(),
        false => arguments.to_string().into(),
    };
    let input = put::<PASCAL>(input, "toolArgs", written);
    put::<PASCAL>(input, "toolInput", arguments)
}

pub fn pre_tool<const PASCAL: bool>(input: Input, _: &Scope, call: &PreToolPayload) -> Input {
    called::<PASCAL>(input, &calls::pre_tool(call), &call.tool_source)
}

pub fn permission_request<const PASCAL: bool>(
    input: Input,
    _: &Scope,
    call: &PermissionRequestPayload,
) -> Input {
    called::<PASCAL>(input, &calls::permission_request(call), &call.tool_source)
}

pub fn post_tool<const PASCAL: bool>(input: Input, _: &Scope, output: &PreToolOutputPayload) -> Input {
    let input = called::<PASCAL>(input, &calls::tool_output(output), &output.tool_source);
    put::<PASCAL>(input, "toolResult", response::of(output, PASCAL))
}

pub fn post_tool_failure<const PASCAL: bool>(
    input: Input,
    _: &Scope,
    output: &PreToolOutputPayload,
) -> Input {
    let input = called::<PASCAL>(input, &calls::tool_output(output), &output.tool_source);
    put::<PASCAL>(input, "error", text_of(&output.content))
}

pub fn stop<const PASCAL: bool>(input: Input, _: &Scope, stop: &StopPayload) -> Input {
    put::<PASCAL>(input, "stopReason", "end_turn").with("stop_hook_active", stop.continuations > 0)
}

pub fn subagent_start(input: Input, scope: &Scope, _: &SessionStartPayload) -> Input {
    input
        .with("agentName", scope.agent_name.as_str())
        .with("agentDisplayName", scope.agent_name.as_str())
}

pub fn subagent_stop<const PASCAL: bool>(input: Input, scope: &Scope, stopped: &StopPayload) -> Input {
    let mut input = put::<PASCAL>(input, "agentId", scope.session_id.as_str());
    for name in ["agentType", "agentName", "agentDisplayName"] {
        input = put::<PASCAL>(input, name, scope.agent_name.as_str());
    }
    let said = if PASCAL {
        "last_assistant_message"
    } else {
        "response"
    };
    stop::<PASCAL>(input, scope, stopped).with(said, stopped.response.as_str())
}

pub fn pre_compact<const PASCAL: bool>(input: Input, _: &Scope, compaction: &PreCompactPayload) -> Input {
    let input = put::<PASCAL>(input, "trigger", trigger(compaction.reason));
    put::<PASCAL>(
        input,
        "customInstructions",
        compaction.instructions.clone().unwrap_or_default(),
    )
}

pub fn error<const PASCAL: bool>(input: Input, _: &Scope, error: &ErrorRaisedPayload) -> Input {
    let (name, place) = match error.kind {
        ErrorKind::Provider => ("ProviderError", "model_call"),
        ErrorKind::LoopDetected | ErrorKind::HookBlocked | ErrorKind::Store => ("Error", "system"),
    };
    let told = json!({"message": error.message, "name": name});
    let input = put::<PASCAL>(input, "error", told);
    let input = put::<PASCAL>(input, "errorContext", place);
    put::<PASCAL>(input, "recoverable", false)
}

pub fn attention(input: Input, _: &Scope, attention: &AttentionPayload) -> Input {
    input
        .with("message", attention.message.as_str())
        .with("notification_type", notification_type(attention.reason))
}
