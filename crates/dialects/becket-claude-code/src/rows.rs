//! The table of Claude Code's events: for each becket's event behind it, what a hook reads (`show.rs`) and what its
//! answer means.

use becket_events::{
    Attention, AttentionReason, Class, ConfigChange, ErrorRaised, InputSource, InstructionsLoaded,
    ModelChange, PermissionRequest, PostCompact, PreCompact, PreModelChange, PreTool, PreToolOutput,
    PromptExpansion, SessionEnd, SessionStart, Setup, StartReason, Steering, Stop, ToolBatch, UserPrompt,
};
use becket_hook_files::{
    self as replies, Block, HookAnswer, HookRow, after_calls, before_call, compaction, nothing, permission,
    prompt, row, session_start, steering, stop,
};

use crate::{calls, response, show};

/// The events at which `if` counts.
pub const TOOL_EVENTS: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "PermissionDenied",
];

/// How often hooks may make the model go on, one time after another.
const STOP_CAP: u32 = 8;

/// Why a session starts, in the words of matchers.
const STARTS: &[&str] = &["startup", "resume", "clear", "compact", "fork"];

/// Why a session ends.
const ENDS: &[&str] = &[
    "clear",
    "resume",
    "logout",
    "prompt_input_exit",
    "bypass_permissions_disabled",
    "other",
];

/// Who wants a summary.
const TRIGGERS: &[&str] = &["manual", "auto"];

/// What `Setup` is run for.
const SETUPS: &[&str] = &["init", "maintenance"];

/// Whose settings have changed.
const SETTINGS: &[&str] = &[
    "user_settings",
    "project_settings",
    "local_settings",
    "policy_settings",
    "skills",
];

/// All events that happen in becket, in the order in which they occur in a run.
// tidy: a table
pub fn rows() -> Vec<Box<dyn HookRow>> {
    use Class::{Guard, Observe, Transform};
    vec![
        row::<Setup>("Setup", Transform, show::setup, |_, answer| {
            Ok(replies::setup(answer))
        })
        .matching_one(SETUPS, |_, setup| show::setup_trigger(setup.reason).into())
        .done(),
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
            let asked = answer.first_prompt.iter();
            let told =
                asked.map(|_| "a hook wanted `initialUserMessage`, which begins no session here".to_owned());
            Ok(becket_events::PostCompactReply {
                context: answer.context.clone().into(),
                notice: told.collect::<Vec<_>>().into(),
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
        .done(),
        row::<InstructionsLoaded>(
            "InstructionsLoaded",
            Observe,
            show::instructions_loaded,
            nothing::<InstructionsLoaded>,
        )
        .matching(|_, _| "session_start".into())
        .done(),
        row::<PromptExpansion>(
            "UserPromptExpansion",
            Guard,
            show::prompt_expansion,
            |_, answer| Ok(replies::expansion(answer)),
        )
        .matching(|_, expansion| expansion.name.as_str().into())
        .blocks(Block::Refuses)
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
            before_call(&call, &in_own_words(&call, answer))
        })
        .calling(calls::pre_tool)
        .matching(calls::pre_tool_name)
        .blocks(Block::Refuses)
        .done(),
        row::<PermissionRequest>(
            "PermissionRequest",
            Guard,
            show::permission_request,
            |payload, answer| {
                let call = calls::permission_request(payload);
                permission(&call, &in_own_words(&call, answer))
            },
        )
        .calling(calls::permission_request)
        .matching(calls::permission_name)
        .blocks(Block::Refuses)
        .done(),
        row::<PreToolOutput>("PostToolUse", Transform, show::post_tool, |payload, answer| {
            Ok(replies::after_call(payload, answer, response::text_of))
        })
        .only(|_, output| output.ran && !output.is_error)
        .calling(calls::tool_output)
        .matching(calls::output_name)
        .blocks(Block::Feedback)
        .done(),
        row::<PreToolOutput>(
            "PostToolUseFailure",
            Transform,
            show::post_tool_failure,
            |payload, answer| Ok(replies::after_call(payload, answer, response::text_of)),
        )
        .only(|_, output| output.ran && output.is_error)
        .calling(calls::tool_output)
        .matching(calls::output_name)
        .blocks(Block::Feedback)
        .done(),
        row::<ToolBatch>("PostToolBatch", Transform, show::tool_batch, |_, answer| {
            Ok(after_calls(answer))
        })
        .blocks(Block::EndsRun)
        .done(),
        row::<Stop>("Stop", Transform, show::stop, |payload, answer| {
            Ok(stop(payload, answer, STOP_CAP))
        })
        .only(|scope, _| scope.parent_session_id.is_none())
        .blocks(Block::GoesOn)
        .done(),
        row::<Stop>(
            "SubagentStop",
            Transform,
            show::subagent_stop,
            |payload, answer| Ok(stop(payload, answer, STOP_CAP)),
        )
        .only(|scope, _| scope.parent_session_id.is_some())
        .matching(|scope, _| scope.agent_name.as_str().into())
        .blocks(Block::GoesOn)
        .done(),
        row::<PreCompact>("PreCompact", Guard, show::pre_compact, |_, answer| {
            Ok(compaction(answer))
        })
        .matching_one(TRIGGERS, |_, compaction| show::trigger(compaction.reason).into())
        .blocks(Block::Refuses)
        .plain_context()
        .done(),
        row::<PostCompact>("PostCompact", Observe, show::post_compact, nothing::<PostCompact>)
            .matching_one(TRIGGERS, |_, compaction| show::trigger(compaction.reason).into())
            .plain_shown()
            .done(),
        row::<PreModelChange>("PreModelSwitch", Guard, show::pre_model_change, |_, answer| {
            Ok(replies::model_choice(answer))
        })
        .matching(|_, change| change.new_model.as_str().into())
        .blocks(Block::Refuses)
        .done(),
        row::<ConfigChange>(
            "ConfigChange",
            Observe,
            show::config_change,
            nothing::<ConfigChange>,
        )
        .matching_one(SETTINGS, |scope, change| {
            show::config_source(scope, &change.path).into()
        })
        .done(),
        row::<ModelChange>(
            "PostModelSwitch",
            Observe,
            show::model_change,
            nothing::<ModelChange>,
        )
        .matching(|_, change| change.new_model.as_str().into())
        .plain_context()
        .context_later()
        .done(),
        row::<Attention>("Notification", Observe, show::attention, nothing::<Attention>)
            .only(|_, attention| attention.reason != AttentionReason::Limit)
            .only_waiting(|attention| attention.reason == AttentionReason::Idle)
            .matching(|_, attention| show::notification_type(attention.reason).into())
            .context_later()
            .done(),
        row::<ErrorRaised>("StopFailure", Observe, show::error, nothing::<ErrorRaised>)
            .matching(|_, error| show::error_word(error).into())
            .done(),
        row::<SessionEnd>("SessionEnd", Observe, show::session_end, nothing::<SessionEnd>)
            .only(|scope, _| scope.parent_session_id.is_none())
            .matching_one(ENDS, |_, end| show::end_reason(end).into())
            .done(),
    ]
}

/// An answer whose arguments have becket's names, where Claude Code has other ones for a tool without an operation.
fn in_own_words(call: &becket_dialect_kit::called::Called<'_>, answer: &HookAnswer) -> HookAnswer {
    let arguments = answer.arguments.clone();
    HookAnswer {
        arguments: arguments.map(|written| calls::written(call, written)),
        ..answer.clone()
    }
}

/// Claude Code's events that never happen in becket, and why.
pub const ABSENT_EVENTS: &[(&str, &str)] = &[
    (
        "PermissionDenied",
        "becket has no mode in which a model decides about permissions",
    ),
    ("CwdChanged", "becket works in one directory"),
    ("FileChanged", "becket does not watch files"),
    ("DirectoryAdded", "becket works in one directory"),
    (
        "WorktreeCreate",
        "becket makes a worktree only for an agent file that is told to run in one, and runs hooks of that file alone",
    ),
    ("WorktreeRemove", "becket leaves every worktree where it is"),
    (
        "TaskCreated",
        "becket fires no event of its own when a tool makes a task",
    ),
    (
        "TaskCompleted",
        "becket fires no event of its own when a tool ends a task",
    ),
    ("TeammateIdle", "becket has no teammates"),
    ("Elicitation", "becket does not let servers ask the user"),
    ("ElicitationResult", "becket does not let servers ask the user"),
    ("MessageDisplay", "becket's screen shows what the model wrote"),
];
