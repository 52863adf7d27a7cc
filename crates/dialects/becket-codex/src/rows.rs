//! The table of Codex's events: for each becket's event behind it, what a hook reads (`show.rs`) and what its answer
//! means.

use becket_dialect_kit::called::Called;
use becket_events::{
    AgentEnd, Append, Class, EndReason, InputSource, Part, PermissionRequest, PostCompact, PreCompact,
    PreTool, PreToolOutput, PreToolOutputReply, Rewrite, SessionEnd, SessionStart, StartReason, Steering,
    Stop, UserPrompt,
};
use becket_hook_files::{
    Block, HookAnswer, HookRow, before_call, compaction, nothing, permission, prompt, row, session_start,
    steering, stop,
};
use becket_hooks::Failure;
use serde_json::Value;

use crate::{calls, show};

/// The setting that names a program for every end of a turn. Files of hooks have no such event.
pub const NOTIFY: &str = "notify";

/// How often hooks may make the model go on, one time after another. Codex has no limit.
const STOP_CAP: u32 = 8;

/// Why a session starts, in the words of matchers.
const STARTS: &[&str] = &["startup", "resume", "clear", "compact", "fork"];

/// Who wants a summary.
const TRIGGERS: &[&str] = &["manual", "auto"];

/// All events that happen in becket, in the order in which they occur in a run.
// tidy: a table
pub fn rows() -> Vec<Box<dyn HookRow>> {
    use Class::{Guard, Observe, Transform};
    vec![
        row::<SessionStart>("SessionStart", Transform, show::session_start, |_, answer| {
            Ok(session_start(answer))
        })
        .only(|scope, start| {
            scope.parent_session_id.is_none() && !matches!(start.reason, StartReason::Reload)
        })
        .matching_one(STARTS, |_, start| show::start_source(start.reason).into())
        .plain_context()
        .done(),
        row::<PostCompact>("SessionStart", Transform, show::session_goes_on, |_, answer| {
            Ok(becket_events::PostCompactReply {
                context: answer.context.clone().into(),
                ..Default::default()
            })
        })
        .only(|scope, _| scope.parent_session_id.is_none())
        .matching_one(STARTS, |_, _| "compact".into())
        .plain_context()
        .done(),
        row::<SessionStart>("SubagentStart", Transform, show::subagent_start, |_, answer| {
            Ok(session_start(answer))
        })
        .only(|scope, _| scope.parent_session_id.is_some())
        .matching(|scope, _| scope.agent_name.as_str().into())
        .plain_context()
        .done(),
        row::<UserPrompt>("UserPromptSubmit", Guard, show::user_prompt, |_, answer| {
            Ok(prompt(answer))
        })
        .only(|scope, prompt| {
            scope.parent_session_id.is_none()
                && prompt.source != InputSource::Agent
                && prompt.continuation == 0
        })
        .blocks(Block::Refuses)
        .plain_context()
        .done(),
        row::<Steering>("UserPromptSubmit", Guard, show::steering, |_, answer| {
            Ok(steering(answer))
        })
        .only(|scope, _| scope.parent_session_id.is_none())
        .blocks(Block::Refuses)
        .plain_context()
        .done(),
        row::<PreTool>("PreToolUse", Guard, show::pre_tool, |payload, answer| {
            let call = calls::pre_tool(payload);
            before_call(&call, &in_own_words(&call, answer)?)
        })
        .calling(calls::pre_tool)
        .matching(calls::pre_tool_name)
        .blocks(Block::Refuses)
        .done(),
        row::<PermissionRequest>(
            "PermissionRequest",
            Guard,
            show::permission_request,
            |payload, answer| permission(&calls::permission_request(payload), answer),
        )
        .calling(calls::permission_request)
        .matching(calls::permission_name)
        .blocks(Block::Refuses)
        .done(),
        row::<PreToolOutput>("PostToolUse", Transform, show::post_tool, |_, answer| {
            Ok(after_call(answer))
        })
        .only(|_, output| output.ran && !output.is_error)
        .calling(calls::tool_output)
        .matching(calls::output_name)
        .blocks(Block::Feedback)
        .done(),
        row::<Stop>("Stop", Transform, show::stop, |payload, answer| {
            Ok(stop(payload, answer, STOP_CAP))
        })
        .only(|scope, _| scope.parent_session_id.is_none())
        .blocks(Block::GoesOn)
        .done(),
        row::<Stop>("SubagentStop", Transform, show::stop, |payload, answer| {
            Ok(stop(payload, answer, STOP_CAP))
        })
        .only(|scope, _| scope.parent_session_id.is_some())
        .matching(|scope, _| scope.agent_name.as_str().into())
        .blocks(Block::GoesOn)
        .done(),
        row::<PreCompact>("PreCompact", Guard, show::pre_compact, |_, answer| {
            Ok(compaction(answer))
        })
        .matching_one(TRIGGERS, |_, compaction| show::trigger(compaction.reason).into())
        .done(),
        row::<PostCompact>(
            "PostCompact",
            Transform,
            show::post_compact,
            nothing::<PostCompact>,
        )
        .matching_one(TRIGGERS, |_, compaction| show::trigger(compaction.reason).into())
        .done(),
        row::<AgentEnd>("Interrupt", Observe, show::interrupt, nothing::<AgentEnd>)
            .only(|_, end| end.reason == EndReason::Cancelled)
            .done(),
        // The setting `notify`, which is older than hooks.
        row::<AgentEnd>(NOTIFY, Observe, show::notify, nothing::<AgentEnd>)
            .only(|scope, end| scope.parent_session_id.is_none() && end.reason == EndReason::Done)
            .done(),
        row::<SessionEnd>("SessionEnd", Observe, show::session_end, nothing::<SessionEnd>)
            .only(|scope, _| scope.parent_session_id.is_none())
            .matching_one(&["other"], |_, _| "other".into())
            .done(),
    ]
}

/// An answer whose arguments say all that the call needs, also what the hook was not shown.
fn in_own_words(call: &Called<'_>, answer: &HookAnswer) -> Result<HookAnswer, Failure> {
    let arguments = match (&answer.arguments, &answer.refusal().0) {
        (Some(written), None) => calls::written(call, written.clone())?,
        _ => None,
    };
    Ok(HookAnswer {
        arguments,
        ..answer.clone()
    })
}

/// The reply about a call that has run. The reason of a block takes the place of the result, as an error; other words
/// take its place as they are.
fn after_call(answer: &HookAnswer) -> PreToolOutputReply {
    let said = answer.output.as_ref().and_then(Value::as_str);
    let text = answer.block.as_deref().or(said);
    PreToolOutputReply {
        content: Rewrite(text.map(|text| vec![Part::text(text)])),
        is_error: Rewrite(answer.block.is_some().then_some(true)),
        context: Append(answer.context.clone()),
        ..Default::default()
    }
}

/// Codex's events that never happen in becket, and why.
pub const ABSENT_EVENTS: &[(&str, &str)] = &[
    (
        "PreModelRequest",
        "Codex has no hooks in files for it, only tools of servers",
    ),
    (
        "PostModelRequest",
        "Codex has no hooks in files for it, only tools of servers",
    ),
];
