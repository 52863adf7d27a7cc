//! The table of Cursor's events: for each becket's event behind it, what a hook reads (`show.rs`) and what its answer
//! means.

use std::path::Path;

use becket_events::{
    AgentEnd, Class, EndReason, InputSource, MessageEnd, OperationKind, PreCompact, PreFileRead,
    PreFileReadReply, PreShell, PreShellReply, PreSubagent, PreSubagentPayload, PreSubagentReply, PreTool,
    PreToolOutput, PreToolReply, RequestPurpose, Response, Rewrite, SessionEnd, SessionStart, StartReason,
    Steering, Stop, Strictest, UserPrompt, Verdict,
};
use becket_hook_files::{
    self as replies, Block, HookAnswer, HookRow, before_call, nothing, prompt, row, session_start, steering,
    stop,
};

use crate::{calls, content, response, show};

/// How often hooks may make the model go on, one time after another, if their entry does not say it.
pub const STOP_CAP: u32 = 5;

/// All events that happen in becket, in the order in which they occur in a run.
pub fn rows() -> Vec<Box<dyn HookRow>> {
    let mut rows = of_prompts();
    rows.extend(of_calls());
    rows.extend(of_outputs());
    rows.extend(of_answers());
    rows
}

fn of_prompts() -> Vec<Box<dyn HookRow>> {
    use Class::{Guard, Transform};
    vec![
        row::<SessionStart>("sessionStart", Transform, show::session_start, |_, answer| {
            Ok(session_start(answer))
        })
        .only(|scope, start| {
            scope.parent_session_id.is_none() && !matches!(start.reason, StartReason::Reload)
        })
        .blocks(Block::EndsRun)
        .done(),
        row::<UserPrompt>("beforeSubmitPrompt", Guard, show::user_prompt, |_, answer| {
            Ok(prompt(answer))
        })
        .only(|scope, prompt| {
            scope.parent_session_id.is_none()
                && prompt.source != InputSource::Agent
                && prompt.continuation == 0
        })
        .matching(|_, _| "UserPromptSubmit".into())
        .blocks(Block::Refuses)
        .done(),
        // Cursor submits such messages as a prompt of their own.
        row::<Steering>("beforeSubmitPrompt", Guard, show::steering, |_, answer| {
            Ok(steering(answer))
        })
        .only(|scope, _| scope.parent_session_id.is_none())
        .matching(|_, _| "UserPromptSubmit".into())
        .blocks(Block::Refuses)
        .done(),
    ]
}

fn of_calls() -> Vec<Box<dyn HookRow>> {
    use Class::Guard;
    vec![
        row::<PreTool>("preToolUse", Guard, show::pre_tool, |payload, answer| {
            let call = calls::pre_tool(payload);
            let refuses = answer.refusal().0.is_some();
            let arguments = answer.arguments.clone().filter(|_| !refuses);
            let arguments = arguments.map(|written| calls::written(&call, written));
            let answer = HookAnswer {
                arguments: arguments.transpose()?,
                ..answer.clone()
            };
            before_call(&call, &answer)
        })
        .calling(calls::pre_tool)
        .matching(calls::pre_tool_name)
        .blocks(Block::Refuses)
        .done(),
        row::<PreTool>(
            "beforeMCPExecution",
            Guard,
            show::pre_server_call,
            |payload, answer| before_call(&calls::pre_tool(payload), answer),
        )
        .only(|_, call| calls::server(&call.tool_source).is_some())
        .calling(calls::pre_tool)
        .matching(calls::pre_tool_name)
        .blocks(Block::Refuses)
        .done(),
        row::<PreShell>("beforeShellExecution", Guard, show::pre_shell, |_, answer| {
            Ok(PreShellReply {
                verdict: answer.verdict(),
                ..Default::default()
            })
        })
        .matching(|_, shell| shell.command.as_str().into())
        .blocks(Block::Refuses)
        .done(),
        // A change of files for which Cursor has no tool is a command there.
        row::<PreTool>("beforeShellExecution", Guard, show::pre_change, |_, answer| {
            Ok(PreToolReply {
                verdict: answer.verdict(),
                ..Default::default()
            })
        })
        .only(|_, call| calls::pre_tool(call).as_command().is_some())
        .matching(|_, call| calls::pre_tool(call).as_command().unwrap_or_default().into())
        .blocks(Block::Refuses)
        .done(),
        row::<PreFileRead>("beforeReadFile", Guard, show::pre_file_read, |_, answer| {
            Ok(PreFileReadReply {
                verdict: answer.verdict(),
                ..Default::default()
            })
        })
        .only(|_, read| !is_folder(&read.path))
        .unless_hidden(|read| content::hidden(Path::new(&read.path)))
        .matching(|_, _| "Read".into())
        .blocks(Block::Refuses)
        .done(),
        row::<PreSubagent>("subagentStart", Guard, show::subagent_start, |payload, answer| {
            Ok(before_subagent(payload, answer))
        })
        .matching(|_, subagent| show::subagent_type(subagent.subagent_name.as_deref()).into())
        .blocks(Block::Refuses)
        .done(),
    ]
}

fn of_outputs() -> Vec<Box<dyn HookRow>> {
    use Class::{Observe, Transform};
    vec![
        row::<PreToolOutput>(
            "afterShellExecution",
            Observe,
            show::post_shell,
            nothing::<PreToolOutput>,
        )
        .only(|_, output| output.ran && output.operation == Some(OperationKind::Shell))
        .matching(|_, output| {
            let command = output.arguments.get("command");
            command
                .and_then(|command| command.as_str())
                .unwrap_or_default()
                .into()
        })
        .done(),
        row::<PreToolOutput>(
            "afterMCPExecution",
            Transform,
            show::post_server_call,
            |payload, answer| Ok(replies::after_call(payload, answer, response::text_of)),
        )
        .only(|_, output| output.ran && calls::server(&output.tool_source).is_some())
        .calling(calls::tool_output)
        .matching(calls::output_name)
        .done(),
        row::<PreToolOutput>(
            "afterFileEdit",
            Observe,
            show::file_edit,
            nothing::<PreToolOutput>,
        )
        .only(|_, output| {
            let kinds = [Some(OperationKind::Write), Some(OperationKind::Edit)];
            output.ran && !output.is_error && kinds.contains(&output.operation)
        })
        .matching(|_, _| "Write".into())
        .done(),
        row::<PreToolOutput>("postToolUse", Transform, show::post_tool, |payload, answer| {
            let is_of_server = calls::server(&payload.tool_source).is_some();
            let answer = HookAnswer {
                output: answer.output.clone().filter(|_| is_of_server),
                ..answer.clone()
            };
            Ok(replies::after_call(payload, &answer, response::text_of))
        })
        .only(|_, output| output.ran && !output.is_error)
        .calling(calls::tool_output)
        .matching(calls::output_name)
        .blocks(Block::Feedback)
        .done(),
        row::<PreToolOutput>(
            "postToolUseFailure",
            Transform,
            show::post_tool_failure,
            |payload, answer| Ok(replies::after_call(payload, answer, response::text_of)),
        )
        .only(|_, output| output.is_error)
        .calling(calls::tool_output)
        .matching(calls::output_name)
        .blocks(Block::Feedback)
        .done(),
    ]
}

fn of_answers() -> Vec<Box<dyn HookRow>> {
    use Class::{Observe, Transform};
    vec![
        row::<Response>("afterAgentResponse", Observe, show::response, nothing::<Response>)
            .only(|_, response| response.purpose == RequestPurpose::Answer && !response.text.is_empty())
            .matching(|_, _| "AgentResponse".into())
            .done(),
        row::<MessageEnd>("afterAgentThought", Observe, show::thought, nothing::<MessageEnd>)
            .only(|_, end| !end.replaced && !show::thoughts(&end.message).is_empty())
            .matching(|_, _| "AgentThought".into())
            .done(),
        row::<Stop>("stop", Transform, show::stop, |payload, answer| {
            Ok(stop(payload, answer, STOP_CAP))
        })
        .only(|scope, _| scope.parent_session_id.is_none())
        .matching(|_, _| "Stop".into())
        .blocks(Block::GoesOn)
        .done(),
        row::<AgentEnd>("stop", Observe, show::broken_off, nothing::<AgentEnd>)
            .only(|scope, end| {
                let is_complete = matches!(end.reason, EndReason::Done | EndReason::Switched);
                scope.parent_session_id.is_none() && !is_complete
            })
            .matching(|_, _| "Stop".into())
            .done(),
        row::<Stop>(
            "subagentStop",
            Transform,
            show::subagent_stop,
            |payload, answer| Ok(stop(payload, answer, STOP_CAP)),
        )
        .only(|scope, _| scope.parent_session_id.is_some())
        .matching(|scope, _| show::subagent_type(Some(&scope.agent_name)).into())
        .blocks(Block::GoesOn)
        .done(),
        row::<PreCompact>("preCompact", Observe, show::pre_compact, nothing::<PreCompact>).done(),
        row::<SessionEnd>("sessionEnd", Observe, show::session_end, nothing::<SessionEnd>)
            .only(|scope, _| scope.parent_session_id.is_none())
            .done(),
    ]
}

/// The reply about a sub-agent that is to be asked. There is no question to the user about it, so an ask denies.
fn before_subagent(payload: &PreSubagentPayload, answer: &HookAnswer) -> PreSubagentReply {
    let verdict = match answer.verdict().0 {
        Some(Verdict::Ask(reason) | Verdict::Insist(reason)) => Some(Verdict::Deny(reason)),
        verdict => verdict,
    };
    let context = (!answer.context.is_empty()).then(|| {
        let context = answer.context.join("\n\n");
        format!("{}\n\n{context}", payload.input)
    });
    PreSubagentReply {
        verdict: Strictest(verdict),
        input: Rewrite(context),
        ..Default::default()
    }
}

/// Cursor's events that never happen in becket, and why.
pub const ABSENT_EVENTS: &[(&str, &str)] = &[
    ("beforeTabFileRead", "becket completes no text while it is typed"),
    ("afterTabFileEdit", "becket completes no text while it is typed"),
    (
        "workspaceOpen",
        "becket opens no workspaces, and loads no plugins for hooks",
    ),
];

#[allow(clippy::disallowed_methods, reason = "it looks at what a call names")]
fn is_folder(path: &str) -> bool {
    Path::new(path).is_dir()
}
