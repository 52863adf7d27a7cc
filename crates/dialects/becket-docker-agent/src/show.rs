//! The input of hooks, event by event. Zero values are left out, as docker-agent leaves them out.

use becket_dialect_kit::called::calls;
use becket_events::{
    AgentSwitchPayload, ApprovalDecidedPayload, ApprovalDecision, ApprovalSource, AttentionPayload,
    CompactReason, EndReason, ErrorRaisedPayload, IterationLimitPayload, Level, LimitRaisedPayload,
    ModelContextPayload, NotificationPayload, PermissionRequestPayload, PostCompactPayload,
    PostSubagentPayload, PostToolPayload, PreCompactPayload, PreToolOutputPayload, PreToolPayload,
    ResponsePayload, Scope, SessionEndPayload, SessionStartPayload, StartReason, SteeringPayload,
    StopPayload, SwitchKind, TurnEnd, TurnEndedPayload, TurnStartPayload, UserPromptPayload, text_of,
};
use serde_json::Value;

use super::input::Input;
use super::messages::{self, usage};
use super::words::{PROFILE, safety_label};

/// All keys of inputs, for templates.
pub(super) const KEYS: &[&str] = &[
    "session_id",
    "cwd",
    "hook_event_name",
    "agent_name",
    "model_id",
    "iteration",
    "last_user_message",
    "tool_category",
    "tool_name",
    "tool_use_id",
    "tool_input",
    "tool_response",
    "tool_error",
    "messages",
    "source",
    "reason",
    "stop_response",
    "prompt",
    "steering_messages",
    "parent_session_id",
    "notification_level",
    "notification_message",
    "from_agent",
    "to_agent",
    "agent_switch_kind",
    "from_agent_models",
    "previous_max_iterations",
    "new_max_iterations",
    "approval_decision",
    "approval_source",
    "safety_policy",
    "safety_label",
    "usage",
    "cost",
    "input_tokens",
    "output_tokens",
    "context_limit",
    "compaction_reason",
    "summary",
];

calls! {
    PROFILE;
    pre_tool_call(PreToolPayload),
    post_tool_call(PostToolPayload),
    output_call(PreToolOutputPayload),
    request_call(PermissionRequestPayload),
    decided_call(ApprovalDecidedPayload),
}

/// The input of `turn_start`: only the fields that every event has.
pub(super) fn turn_start(input: Input, _: &Scope, _: &TurnStartPayload) -> Input {
    input
}

pub(super) fn on_user_input(input: Input, _: &Scope, _: &AttentionPayload) -> Input {
    input
}

pub(super) fn pre_tool_use(input: Input, _: &Scope, call: &PreToolPayload) -> Input {
    input.call(&pre_tool_call(call)).with_policy()
}

pub(super) fn permission_request(input: Input, _: &Scope, call: &PermissionRequestPayload) -> Input {
    input.call(&request_call(call))
}

pub(super) fn post_tool_use(input: Input, _: &Scope, call: &PostToolPayload) -> Input {
    input
        .call(&post_tool_call(call))
        .exactly("tool_response", call.result.as_str())
        .with("tool_error", call.is_error)
}

pub(super) fn tool_response_transform(input: Input, _: &Scope, call: &PreToolOutputPayload) -> Input {
    input
        .call(&output_call(call))
        .exactly("tool_response", text_of(&call.content))
        .with("tool_error", call.is_error)
}

pub(super) fn on_tool_approval_decision(input: Input, _: &Scope, decided: &ApprovalDecidedPayload) -> Input {
    let decision = match decided.decision {
        ApprovalDecision::Allow => "allow",
        ApprovalDecision::Deny => "deny",
        ApprovalDecision::Cancelled => "canceled",
    };
    input
        .call(&decided_call(decided))
        .with("approval_decision", decision)
        .with("approval_source", approval_source(decided))
        .with("safety_label", safety_label(&decided_call(decided)))
}

fn approval_source(decided: &ApprovalDecidedPayload) -> &'static str {
    use ApprovalSource as By;
    let allowed = decided.decision == ApprovalDecision::Allow;
    match decided.source {
        By::AllowRule | By::Installed => "team_permissions_allow",
        By::DenyRule | By::Unresolved => "team_permissions_deny",
        By::UrlPolicy if allowed => "team_permissions_allow",
        By::UrlPolicy => "team_permissions_deny",
        By::Hook if allowed => "pre_tool_use_hook_allow",
        By::Hook => "pre_tool_use_hook_deny",
        By::RequestHook if allowed => "permission_request_hook_allow",
        By::RequestHook => "permission_request_hook_deny",
        By::ReadOnly | By::Zone => "readonly_hint",
        By::Person if allowed => "user_approved",
        By::Person | By::Plan => "user_rejected",
        By::PersonForSession | By::AcceptEdits => "user_approved_session",
        By::Yes => "yolo",
        By::Headless => "non_interactive_deny",
        By::Cancellation => "context_canceled",
    }
}

pub(super) fn session_start(input: Input, _: &Scope, start: &SessionStartPayload) -> Input {
    let source = match start.reason {
        StartReason::Startup | StartReason::New | StartReason::Reload | StartReason::Subagent => "startup",
        StartReason::Resume | StartReason::Fork => "resume",
        StartReason::Clear => "clear",
    };
    input.with("source", source)
}

pub(super) fn session_end(input: Input, _: &Scope, end: &SessionEndPayload) -> Input {
    let reason = match end.reason {
        EndReason::Done | EndReason::Left => "stream_ended",
        EndReason::Failed => "error",
        EndReason::Cancelled => "canceled",
        EndReason::Limit => "max_iterations",
        EndReason::Blocked => "hook_blocked",
        EndReason::Switched => "other",
    };
    input.with("reason", reason)
}

pub(super) fn user_prompt_submit(input: Input, _: &Scope, prompt: &UserPromptPayload) -> Input {
    input.with("prompt", prompt.prompt.as_str())
}

pub(super) fn user_steering_messages_submit(input: Input, _: &Scope, steering: &SteeringPayload) -> Input {
    input.with("steering_messages", steering.messages.clone())
}

/// The input of `turn_end`. becket checks a limit before the next turn begins, so the turn before it ended with
/// `continue`.
pub(super) fn turn_end(input: Input, _: &Scope, end: &TurnEndedPayload) -> Input {
    let reason = match end.reason {
        TurnEnd::Normal => "normal",
        TurnEnd::Continue | TurnEnd::Limit => "continue",
        TurnEnd::Steered => "steered",
        TurnEnd::Error => "error",
        TurnEnd::Cancelled => "canceled",
        TurnEnd::HookBlocked => "hook_blocked",
        TurnEnd::LoopDetected => "loop_detected",
    };
    input.with("reason", reason)
}

pub(super) fn before_llm_call(input: Input, scope: &Scope, request: &ModelContextPayload) -> Input {
    let system = Some(&request.system_prompt).filter(|prompt| !prompt.is_empty());
    let system = system.map(|prompt| messages::system(prompt));
    let shown: Vec<Value> = system
        .into_iter()
        .chain(request.messages.iter().map(messages::shown))
        .collect();
    input
        .with("model_id", scope.model.as_str())
        .with("iteration", request.iteration)
        .with("messages", shown)
}

pub(super) fn after_llm_call(input: Input, scope: &Scope, response: &ResponsePayload) -> Input {
    let input = input
        .with("model_id", scope.model.as_str())
        .with("iteration", response.iteration)
        .with("stop_response", response.text.as_str())
        .with("last_user_message", response.prompt.as_str())
        .with("usage", usage(&response.usage));
    match response.usage.cost {
        // A price of zero is shown; only an unknown one is left out.
        Some(cost) => input.exactly("cost", cost),
        None => input,
    }
}

pub(super) fn pre_compact(input: Input, _: &Scope, compaction: &PreCompactPayload) -> Input {
    let source = match compaction.reason {
        CompactReason::Manual => "manual",
        CompactReason::Threshold => "auto",
        CompactReason::Overflow => "overflow",
        CompactReason::ToolOverflow => "tool_overflow",
    };
    input.with("source", source)
}

pub(super) fn before_compaction(input: Input, _: &Scope, compaction: &PreCompactPayload) -> Input {
    input
        .with("input_tokens", compaction.input_tokens)
        .with("output_tokens", compaction.output_tokens)
        .with("context_limit", compaction.context_limit.unwrap_or(0))
        .with("compaction_reason", compaction_reason(compaction.reason))
}

pub(super) fn after_compaction(input: Input, _: &Scope, compaction: &PostCompactPayload) -> Input {
    input
        .with("input_tokens", compaction.input_tokens)
        .with("output_tokens", compaction.output_tokens)
        .with("context_limit", compaction.context_limit.unwrap_or(0))
        .with("compaction_reason", compaction_reason(compaction.reason))
        .with("summary", compaction.summary.as_str())
}

fn compaction_reason(reason: CompactReason) -> &'static str {
    match reason {
        CompactReason::Manual => "manual",
        CompactReason::Overflow => "overflow",
        CompactReason::Threshold | CompactReason::ToolOverflow => "threshold",
    }
}

/// The input of `subagent_stop`. The session and the agent are the child's.
pub(super) fn subagent_stop(input: Input, scope: &Scope, child: &PostSubagentPayload) -> Input {
    let id = child.subagent_session_id.as_deref().unwrap_or_default();
    input
        .exactly("session_id", id)
        .exactly("agent_name", child.subagent_name.as_deref().unwrap_or_default())
        .with("parent_session_id", scope.session_id.as_str())
        .with("stop_response", child.response.as_str())
}

pub(super) fn stop(input: Input, _: &Scope, stop: &StopPayload) -> Input {
    input
        .with("stop_response", stop.response.as_str())
        .with("last_user_message", stop.prompt.as_str())
}

pub(super) fn notification(input: Input, _: &Scope, notification: &NotificationPayload) -> Input {
    let level = match notification.level {
        Level::Info => "info",
        Level::Warning => "warning",
        Level::Error => "error",
    };
    told(input, level, &notification.message)
}

pub(super) fn on_error(input: Input, _: &Scope, error: &ErrorRaisedPayload) -> Input {
    told(input, "error", &error.message)
}

pub(super) fn on_max_iterations(input: Input, _: &Scope, limit: &IterationLimitPayload) -> Input {
    told(input, "warning", &limit.message)
}

fn told(input: Input, level: &str, message: &str) -> Input {
    input
        .with("notification_level", level)
        .with("notification_message", message)
}

pub(super) fn on_agent_switch(input: Input, _: &Scope, switch: &AgentSwitchPayload) -> Input {
    let kind = match switch.kind {
        SwitchKind::Transfer => "transfer_task",
        SwitchKind::Return => "transfer_task_return",
        SwitchKind::Handoff => "handoff",
    };
    let models = switch.from_models.iter().map(|model| {
        Input::default()
            .with("provider", model.provider.as_str())
            .with("model", model.model.as_str())
            .with("base_url", model.base_url.as_deref().unwrap_or_default())
            .into_value()
    });
    let models: Vec<Value> = models.collect();
    input
        .with("from_agent", switch.from_agent.as_str())
        .with("to_agent", switch.to_agent.as_str())
        .with("agent_switch_kind", kind)
        .with("from_agent_models", models)
}

pub(super) fn on_session_resume(input: Input, _: &Scope, raised: &LimitRaisedPayload) -> Input {
    input
        .with("previous_max_iterations", raised.previous_limit)
        .with("new_max_iterations", raised.new_limit)
}
