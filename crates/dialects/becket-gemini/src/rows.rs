//! The table of Gemini CLI's events: for each becket's event behind it, what a hook reads (`show.rs`) and what its
//! answer means.

use becket_events::{
    Append, Attention, AttentionReason, Class, InputSource, ModelContext, PostResponse, PreCompact, PreTool,
    PreToolOutput, PreToolOutputReply, RequestPurpose, SessionEnd, SessionStart, StartReason, Steering, Stop,
    ToolsOffered, UserPrompt,
};
use becket_hook_files::{
    Block, HookAnswer, HookRow, before_call, nothing, prompt, row, session_start, steering, stop,
};

use crate::{calls, model, show};

/// How often hooks may make the model go on, one time after another. Gemini CLI has only its limit of turns.
const STOP_CAP: u32 = 8;

/// Why a session starts, in the words of matchers.
const STARTS: &[&str] = &["startup", "resume", "clear"];

/// Why a session ends.
const ENDS: &[&str] = &["exit", "clear", "logout", "prompt_input_exit", "other"];

/// Who wants a summary.
const TRIGGERS: &[&str] = &["manual", "auto"];

/// All events that happen in becket, in the order in which they occur in a run.
// tidy: a table
pub fn rows() -> Vec<Box<dyn HookRow>> {
    use Class::{Filter, Guard, Observe, Transform};
    vec![
        row::<SessionStart>("SessionStart", Transform, show::session_start, |_, answer| {
            Ok(session_start(answer))
        })
        .only(|scope, start| {
            scope.parent_session_id.is_none() && !matches!(start.reason, StartReason::Reload)
        })
        .matching_one(STARTS, |_, start| show::start_source(start.reason).into())
        .done(),
        row::<UserPrompt>("BeforeAgent", Guard, show::user_prompt, |_, answer| {
            Ok(prompt(answer))
        })
        .only(|scope, prompt| scope.parent_session_id.is_none() && prompt.source != InputSource::Agent)
        .blocks(Block::Refuses)
        .done(),
        // Gemini CLI gives such messages to the model as a prompt of its own.
        row::<Steering>("BeforeAgent", Guard, show::steering, |_, answer| {
            Ok(steering(answer))
        })
        .only(|scope, _| scope.parent_session_id.is_none())
        .blocks(Block::Refuses)
        .done(),
        row::<ToolsOffered>(
            "BeforeToolSelection",
            Filter,
            show::before_tool_selection,
            model::before_tool_selection,
        )
        .done(),
        row::<ModelContext>("BeforeModel", Guard, show::before_model, model::before_model)
            .blocks(Block::Refuses)
            .done(),
        row::<PostResponse>("AfterModel", Guard, show::after_model, model::after_model)
            .only(|_, response| response.purpose == RequestPurpose::Answer)
            .blocks(Block::Refuses)
            .done(),
        row::<PreTool>("BeforeTool", Guard, show::pre_tool, |payload, answer| {
            let call = calls::pre_tool(payload);
            let arguments = answer.arguments.clone();
            let answer = HookAnswer {
                arguments: arguments.map(|written| calls::written(&call, written)),
                ..answer.clone()
            };
            before_call(&call, &answer)
        })
        .calling(calls::pre_tool)
        .matching(calls::pre_tool_name)
        .blocks(Block::Refuses)
        .done(),
        row::<PreToolOutput>("AfterTool", Filter, show::post_tool, |_, answer| {
            Ok(PreToolOutputReply {
                withheld: becket_events::Answer(answer.block.clone()),
                context: Append(answer.context.clone()),
                ..Default::default()
            })
        })
        .only(|_, output| output.ran)
        .calling(calls::tool_output)
        .matching(calls::output_name)
        .blocks(Block::Feedback)
        .done(),
        row::<Stop>("AfterAgent", Transform, show::stop, |payload, answer| {
            Ok(stop(payload, answer, STOP_CAP))
        })
        .only(|scope, _| scope.parent_session_id.is_none())
        .blocks(Block::GoesOn)
        .done(),
        row::<PreCompact>("PreCompress", Observe, show::pre_compact, nothing::<PreCompact>)
            .matching_one(TRIGGERS, |_, compaction| show::trigger(compaction.reason).into())
            .done(),
        row::<Attention>("Notification", Observe, show::attention, nothing::<Attention>)
            .only(|_, attention| attention.reason == AttentionReason::Approval)
            .done(),
        row::<SessionEnd>("SessionEnd", Observe, show::session_end, nothing::<SessionEnd>)
            .only(|scope, _| scope.parent_session_id.is_none())
            .matching_one(ENDS, |_, end| show::end_reason(end.next).into())
            .done(),
    ]
}

/// Gemini CLI's events that never happen in becket: there are none.
pub const ABSENT_EVENTS: &[(&str, &str)] = &[];
