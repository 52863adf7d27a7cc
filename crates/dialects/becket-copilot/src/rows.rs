//! The table of Copilot's events: for each becket's event behind it, what a hook reads (`show.rs`) and what its answer
//! means. Events with two names have two rows.

use becket_dialect_kit::called::Called;
use becket_events::{
    Attention, AttentionReason, Class, ErrorRaised, InputSource, Last, PermissionRequest, PreCompact,
    PreTool, PreToolOutput, Rewrite, SessionEnd, SessionStart, StartReason, Stop, StopPayload, StopReply,
    UserPrompt, UserPromptReply,
};
use becket_hook_files::{
    Block, HookAnswer, HookRow, before_call, nothing, permission, prompt, row, session_start, stop,
};
use serde_json::Value;

use crate::{calls, response, show};

/// How often hooks may make the model go on, one time after another.
const STOP_CAP: u32 = 8;

/// The sub-agent whose start Copilot does not tell.
const UNTOLD_AGENT: &str = "general-purpose";

/// All events that happen in becket.
pub fn rows() -> Vec<Box<dyn HookRow>> {
    let mut rows = of_both_kinds::<false>();
    rows.extend(of_both_kinds::<true>());
    rows.extend(of_one_kind());
    rows
}

/// The name of an event of one of both kinds.
const fn either<const PASCAL: bool>(first: &'static str, second: &'static str) -> &'static str {
    if PASCAL { second } else { first }
}

/// The events that have two names, under one kind of names, in the order in which they occur in a run.
// tidy: a table
fn of_both_kinds<const PASCAL: bool>() -> Vec<Box<dyn HookRow>> {
    use Class::{Guard, Observe, Transform};
    vec![
        row::<SessionStart>(
            either::<PASCAL>("sessionStart", "SessionStart"),
            Transform,
            show::session_start::<PASCAL>,
            |_, answer| Ok(session_start(answer)),
        )
        .only(|scope, start| {
            scope.parent_session_id.is_none() && !matches!(start.reason, StartReason::Reload)
        })
        .done(),
        row::<UserPrompt>(
            either::<PASCAL>("userPromptSubmitted", "UserPromptSubmit"),
            Transform,
            show::user_prompt::<PASCAL>,
            |_, answer| Ok(prompt(answer)),
        )
        .only(|scope, prompt| {
            scope.parent_session_id.is_none()
                && prompt.source != InputSource::Agent
                && prompt.continuation == 0
        })
        .done(),
        row::<PreTool>(
            either::<PASCAL>("preToolUse", "PreToolUse"),
            Guard,
            show::pre_tool::<PASCAL>,
            |payload, answer| {
                let call = calls::pre_tool(payload);
                before_call(&call, &in_own_words(&call, answer))
            },
        )
        .calling(calls::pre_tool)
        .matching(calls::pre_tool_name::<PASCAL>)
        .blocks(Block::Refuses)
        .done(),
        row::<PermissionRequest>(
            either::<PASCAL>("permissionRequest", "PermissionRequest"),
            Guard,
            show::permission_request::<PASCAL>,
            |payload, answer| permission(&calls::permission_request(payload), answer),
        )
        .calling(calls::permission_request)
        .matching(calls::permission_name::<PASCAL>)
        .blocks(Block::Refuses)
        .done(),
        row::<PreToolOutput>(
            either::<PASCAL>("postToolUse", "PostToolUse"),
            Transform,
            show::post_tool::<PASCAL>,
            |payload, answer| Ok(response::reply(payload, answer)),
        )
        .only(|_, output| output.ran && !output.is_error)
        .calling(calls::tool_output)
        .matching(calls::output_name::<PASCAL>)
        .done(),
        row::<PreToolOutput>(
            either::<PASCAL>("postToolUseFailure", "PostToolUseFailure"),
            Transform,
            show::post_tool_failure::<PASCAL>,
            |payload, answer| Ok(response::reply(payload, answer)),
        )
        .only(|_, output| output.ran && output.is_error)
        .done(),
        row::<Stop>(
            either::<PASCAL>("agentStop", "Stop"),
            Transform,
            show::stop::<PASCAL>,
            |payload, answer| Ok(stop(payload, answer, STOP_CAP)),
        )
        .only(|scope, _| scope.parent_session_id.is_none())
        .blocks(Block::GoesOn)
        .done(),
        row::<Stop>(
            either::<PASCAL>("subagentStop", "SubagentStop"),
            Transform,
            show::subagent_stop::<PASCAL>,
            |payload, answer| Ok(subagent_stop(payload, answer)),
        )
        .only(|scope, _| scope.parent_session_id.is_some())
        .blocks(Block::GoesOn)
        .done(),
        row::<PreCompact>(
            either::<PASCAL>("preCompact", "PreCompact"),
            Observe,
            show::pre_compact::<PASCAL>,
            nothing::<PreCompact>,
        )
        .matching_one(&["manual", "auto"], |_, compaction| {
            show::trigger(compaction.reason).into()
        })
        .done(),
        row::<ErrorRaised>(
            either::<PASCAL>("errorOccurred", "ErrorOccurred"),
            Observe,
            show::error::<PASCAL>,
            nothing::<ErrorRaised>,
        )
        .done(),
        row::<Attention>(
            either::<PASCAL>("notification", "Notification"),
            Observe,
            show::attention,
            nothing::<Attention>,
        )
        .only(|_, attention| attention.reason != AttentionReason::Limit)
        .only_waiting(|attention| attention.reason == AttentionReason::Idle)
        .context_later()
        .matching(|_, attention| show::notification_type(attention.reason).into())
        .done(),
        row::<SessionEnd>(
            either::<PASCAL>("sessionEnd", "SessionEnd"),
            Observe,
            show::session_end::<PASCAL>,
            nothing::<SessionEnd>,
        )
        .only(|scope, _| scope.parent_session_id.is_none())
        .done(),
    ]
}

/// The reply about a sub-agent that has answered: it goes on, or its answer becomes another one.
fn subagent_stop(payload: &StopPayload, answer: &HookAnswer) -> StopReply {
    let written = answer.output.as_ref().and_then(Value::as_str);
    StopReply {
        response: Last(written.map(ToOwned::to_owned)),
        ..stop(payload, answer, STOP_CAP)
    }
}

/// The events that have one name.
fn of_one_kind() -> Vec<Box<dyn HookRow>> {
    vec![
        row::<UserPrompt>(
            "userPromptTransformed",
            Class::Transform,
            show::prompt_transformed,
            |_, answer| {
                let written = answer.output.as_ref().and_then(Value::as_str);
                Ok(UserPromptReply {
                    prompt: Rewrite(written.map(ToOwned::to_owned)),
                    ..Default::default()
                })
            },
        )
        .only(|scope, _| scope.parent_session_id.is_none())
        .done(),
        row::<SessionStart>(
            "subagentStart",
            Class::Transform,
            show::subagent_start,
            |_, answer| Ok(session_start(answer)),
        )
        .only(|scope, _| scope.parent_session_id.is_some() && scope.agent_name != UNTOLD_AGENT)
        .matching(|scope, _| scope.agent_name.as_str().into())
        .done(),
    ]
}

/// An answer whose arguments have becket's names, where Copilot has other ones for a tool without an operation.
fn in_own_words(call: &Called<'_>, answer: &HookAnswer) -> HookAnswer {
    let arguments = answer.arguments.clone();
    HookAnswer {
        arguments: arguments.map(|written| calls::written(call, written)),
        ..answer.clone()
    }
}

/// Copilot's events that never happen in becket, and why.
pub const ABSENT_EVENTS: &[(&str, &str)] = &[(
    "preMcpToolCall",
    "Copilot has no hooks in files for it, only those of its SDK",
)];
