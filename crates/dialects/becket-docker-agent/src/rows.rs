//! The table of docker-agent's events: for each its contract, becket's event behind it, the input of a hook (`show.rs`)
//! and the meaning of its answer (`read.rs`).

use becket_events::{
    AgentSwitch, ApprovalDecided, Attention, Class, ErrorRaised, Event, InputSource, IterationLimit,
    LimitRaised, ModelContext, Notification, PermissionRequest, PostCompact, PostSubagent, PostTool,
    PreCompact, PreTool, PreToolOutput, RequestPurpose, Response, SessionEnd, SessionStart, Steering, Stop,
    SwitchKind, TurnEnded, TurnStart, UserPrompt,
};
use becket_hooks::Engine;

use super::contract::{Block, Contract, Plain, WORKTREE_CREATE};
use super::hook::{Builtin, HookEntry, HookKind, Owner};
use super::read;
use super::row::{RowOf, row};
use super::run::{self, HookHost};
use super::show;

/// One of docker-agent's events.
pub(super) trait HookRow: Send + Sync {
    /// The event's contract.
    fn contract(&self) -> Contract;

    /// Registers a hook for the event, with the matchers under which the same hook was registered before. Returns
    /// remarks about the hook.
    fn register(
        &self,
        engine: &Engine,
        hook: (&HookEntry, &[String]),
        owner: &Owner,
        host: &HookHost,
    ) -> Vec<String>;
}

/// All events, in the order in which they occur in a run.
// tidy: a table
pub(super) fn rows() -> Vec<Box<dyn HookRow>> {
    use Class::{Guard, Observe, Transform};
    vec![
        row::<SessionStart>(
            "session_start",
            Transform,
            show::session_start,
            read::session_context,
        )
        .context(Plain::Context)
        .done(),
        row::<UserPrompt>(
            "user_prompt_submit",
            Transform,
            show::user_prompt_submit,
            read::prompt,
        )
        .only(|_, _, prompt| {
            let own = !matches!(prompt.source, InputSource::Agent | InputSource::FollowUp);
            own && prompt.continuation == 0
        })
        .blocks(Block::Refuses)
        .context(Plain::Context)
        .done(),
        row::<UserPrompt>(
            "user_followup_submit",
            Transform,
            show::user_prompt_submit,
            read::prompt,
        )
        .only(|_, _, prompt| prompt.source == InputSource::FollowUp && prompt.continuation == 0)
        .blocks(Block::Refuses)
        .context(Plain::Context)
        .done(),
        row::<Steering>(
            "user_steering_messages_submit",
            Transform,
            show::user_steering_messages_submit,
            read::steering,
        )
        .blocks(Block::EndsRun)
        .context(Plain::Context)
        .done(),
        row::<TurnStart>("turn_start", Transform, show::turn_start, read::turn_context)
            .context(Plain::Context)
            .done(),
        row::<ModelContext>("before_llm_call", Transform, show::before_llm_call, read::request)
            // Secrets that are hidden from answers are hidden from summaries too.
            .only(|entry, _, request| {
                request.purpose == RequestPurpose::Answer
                    || entry.kind == HookKind::Builtin(Builtin::RedactSecrets)
            })
            .blocks(Block::EndsRun)
            .fields(&["updated_messages"])
            .done(),
        row::<Response>(
            "after_llm_call",
            Observe,
            show::after_llm_call,
            read::nothing::<Response>,
        )
        .only(|_, _, response| response.purpose == RequestPurpose::Answer)
        .done(),
        row::<PreTool>(
            "tool_input_transform",
            Transform,
            show::pre_tool_use,
            read::call_input,
        )
        .calls(show::pre_tool_call)
        .blocks(Block::Refuses)
        .fields(&["updated_input"])
        .done(),
        row::<PreTool>("tool_guard", Guard, show::pre_tool_use, read::call)
            .phase(1)
            .insists()
            .calls(show::pre_tool_call)
            .blocks(Block::Refuses)
            .judges()
            .done(),
        row::<PreTool>("pre_tool_use", Guard, show::pre_tool_use, read::call)
            .phase(3)
            .calls(show::pre_tool_call)
            .blocks(Block::Refuses)
            .judges()
            .fields(&["updated_input"])
            .done(),
        row::<PermissionRequest>(
            "permission_request",
            Guard,
            show::permission_request,
            read::permission,
        )
        .calls(show::request_call)
        .blocks(Block::Refuses)
        .judges()
        .fields(&["metadata"])
        .done(),
        row::<ApprovalDecided>(
            "on_tool_approval_decision",
            Observe,
            show::on_tool_approval_decision,
            read::nothing::<ApprovalDecided>,
        )
        .done(),
        row::<PreToolOutput>(
            "tool_response_transform",
            Transform,
            show::tool_response_transform,
            read::tool_output,
        )
        .calls(show::output_call)
        .fields(&["updated_tool_response"])
        .done(),
        row::<PostTool>("post_tool_use", Transform, show::post_tool_use, read::after_call)
            .only(|_, _, call| call.ran)
            .calls(show::post_tool_call)
            .blocks(Block::EndsRun)
            .context(Plain::Shown)
            .done(),
        row::<Stop>("stop", Transform, show::stop, read::going_on)
            .blocks(Block::GoesOn)
            .plain(Plain::Shown)
            .done(),
        row::<TurnEnded>("turn_end", Observe, show::turn_end, read::nothing::<TurnEnded>).done(),
        row::<SessionEnd>(
            "session_end",
            Observe,
            show::session_end,
            read::nothing::<SessionEnd>,
        )
        .done(),
        row::<PreCompact>(
            "pre_compact",
            Transform,
            show::pre_compact,
            read::compaction_advice,
        )
        .blocks(Block::Refuses)
        .context(Plain::Context)
        .done(),
        row::<PreCompact>(
            "before_compaction",
            Transform,
            show::before_compaction,
            read::compaction,
        )
        .phase(1)
        .blocks(Block::Refuses)
        .fields(&["summary"])
        .done(),
        row::<PostCompact>(
            "after_compaction",
            Observe,
            show::after_compaction,
            read::nothing::<PostCompact>,
        )
        .done(),
        row::<PostSubagent>(
            "subagent_stop",
            Observe,
            show::subagent_stop,
            read::nothing::<PostSubagent>,
        )
        .done(),
        // The agent that hands over or gets back the conversation is asked, not the one that receives it.
        row::<AgentSwitch>(
            "on_agent_switch",
            Observe,
            show::on_agent_switch,
            read::nothing::<AgentSwitch>,
        )
        .of(|_, switch| match switch.kind {
            SwitchKind::Return => &switch.to_agent,
            SwitchKind::Transfer | SwitchKind::Handoff => &switch.from_agent,
        })
        .done(),
        row::<Attention>(
            "on_user_input",
            Observe,
            show::on_user_input,
            read::nothing::<Attention>,
        )
        .done(),
        row::<Notification>(
            "notification",
            Observe,
            show::notification,
            read::nothing::<Notification>,
        )
        .done(),
        row::<ErrorRaised>("on_error", Observe, show::on_error, read::nothing::<ErrorRaised>).done(),
        row::<IterationLimit>(
            "on_max_iterations",
            Observe,
            show::on_max_iterations,
            read::nothing::<IterationLimit>,
        )
        .done(),
        row::<LimitRaised>(
            "on_session_resume",
            Observe,
            show::on_session_resume,
            read::nothing::<LimitRaised>,
        )
        .done(),
    ]
}

/// The contracts of all events.
pub fn contracts() -> Vec<Contract> {
    rows().iter().map(|row| row.contract()).collect()
}

/// The contracts of all events, and of the one that happens before a session.
pub fn all_contracts() -> Vec<Contract> {
    let mut contracts = contracts();
    contracts.push(WORKTREE_CREATE);
    contracts
}

/// Registers hooks for their events. Of identical hooks only one is asked about a call, whatever matchers they stand
/// under. Returns remarks about them.
pub fn register(engine: &Engine, entries: &[HookEntry], owner: &Owner, host: &HookHost) -> Vec<String> {
    register_beside(&[], engine, entries, owner, host)
}

/// Registers hooks beside others that are asked about the same calls: of identical ones only one is asked.
pub fn register_beside(
    others: &[HookEntry],
    engine: &Engine,
    entries: &[HookEntry],
    owner: &Owner,
    host: &HookHost,
) -> Vec<String> {
    let rows = rows();
    let mut remarks = Vec::new();
    let without_place = |entry: &HookEntry| HookEntry {
        source: String::new(),
        matcher: None,
        ..entry.clone()
    };
    let others = others
        .iter()
        .map(|entry| (without_place(entry), entry.matcher.clone()));
    let mut seen: Vec<(HookEntry, Option<String>)> = others.collect();
    for entry in entries.iter().filter(|entry| entry.event != WORKTREE_CREATE.name) {
        let known = without_place(entry);
        let same = seen.iter().filter(|(seen, _)| *seen == known);
        let before: Vec<Option<String>> = same.map(|(_, matcher)| matcher.clone()).collect();
        let is_for_all = |matcher: &Option<String>| matches!(matcher.as_deref(), None | Some("" | "*"));
        if before
            .iter()
            .any(|matcher| is_for_all(matcher) || *matcher == entry.matcher)
        {
            continue;
        }
        seen.push((known, entry.matcher.clone()));
        let before: Vec<String> = before.into_iter().flatten().collect();
        match rows.iter().find(|row| row.contract().name == entry.event) {
            Some(row) => remarks.extend(row.register(engine, (entry, &before), owner, host)),
            None => remarks.push(format!("{}: there is no event `{}`", entry.source, entry.event)),
        }
    }
    remarks
}

impl<E: Event> RowOf<E> {
    fn done(self) -> Box<dyn HookRow> {
        Box::new(self)
    }
}

impl<E: Event> HookRow for RowOf<E> {
    fn contract(&self) -> Contract {
        self.contract
    }

    fn register(
        &self,
        engine: &Engine,
        hook: (&HookEntry, &[String]),
        owner: &Owner,
        host: &HookHost,
    ) -> Vec<String> {
        run::register(self, engine, hook, owner, host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_at_most_as_strong_as_its_event() {
        for contract in contracts() {
            assert!(contract.class <= contract.event.info().class, "{}", contract.name);
        }
    }

    #[test]
    fn three_rows_guard_and_no_name_stands_twice() {
        let rows = contracts();
        let mut guards: Vec<_> = rows
            .iter()
            .filter(|contract| contract.class == Class::Guard)
            .map(|contract| contract.name)
            .collect();
        guards.sort_unstable();
        assert_eq!(guards, ["permission_request", "pre_tool_use", "tool_guard"]);
        let names: std::collections::BTreeSet<_> = rows.iter().map(|contract| contract.name).collect();
        assert_eq!(names.len(), rows.len());
    }
}
