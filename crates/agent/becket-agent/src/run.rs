//! The loop: from the user's prompt to the answer, turn by turn.
//!
//! `run_prompt` → `take_turns` → `take_turn`, and in a turn: the context, the request, the tools. `continuation.rs`
//! decides whether there is another turn. Every turn that began ends with `turn_end`, every run with `agent_end`,
//! whatever happened in between.
//!
//! What was said in between may be refused by hooks; then the run ends. To go on as if nothing had been said is not
//! what the user wanted.

use std::sync::Arc;
use std::time::Instant;

use becket_events::{
    AgentEnd, AgentEndPayload, AgentStart, AgentStartPayload, AttentionReason, CallRecord, EndReason,
    ErrorKind, IterationLimit, IterationLimitPayload, LimitRaised, LimitRaisedPayload, Message, MessageBody,
    RequestPurpose, Steering, SteeringPayload, StopReason, ToolBatch, ToolBatchPayload, TurnEnd, TurnEnded,
    TurnEndedPayload, TurnEndedReply, TurnStart, TurnStartPayload,
};
use becket_gate::Hooks;
use becket_gate::clock::now_ms;
use becket_gate::gate::GoingOn;
use serde_json::json;

use crate::at_work::AtWork;
use crate::batch::{Batch, FinishedBatch, FinishedCall};
use crate::compact::{grant_compactions, make_room};
use crate::continuation::{
    after_answer, after_tools, after_turn, empty_answer, interruption, no_answer, tell_unfinished,
    warn_of_repetition,
};
use crate::current_agent::{announce_handoff, apply_choices, hand_over, tell_unread_thoughts};
use crate::endings::{Ending, RunEnd};
use crate::front::FrontUpdate;
use crate::fuel::Fuel;
use crate::handoff::NextSpeaker;
use crate::input::Input;
use crate::letters::arrivals_of;
use crate::mail::Arrivals;
use crate::message::{from_draft, note};
use crate::model_call::ShownAnswer;
use crate::notices::{call_attention, warn};
use crate::progress::SessionProgress;
use crate::progress::{Run, TurnOver};
use crate::prompting::{
    consider_prompt, expect_prompt, hear_said, hook_notes, messages_of, opening, show_system_prompt,
    start_loop, store_prompt, tell_config_changes, write_system_prompt,
};
use crate::queue::Said;
use crate::request::{OfferedTools, ask_model};
use crate::session::Session;
use crate::store::{Span, SpanKind, StoreError};
use crate::storing::{
    Joins, add_messages, count_answer, keep_waiting, pass_end_hooks, pass_hooks, store_messages,
};

/// The prompt after an empty answer.
const SAY_SOMETHING: &str = "Your last answer was empty. Answer in words, or call a tool.";

/// How many more requests the user grants with a yes at the limit.
const RAISE: u32 = 10;

/// A turn that has begun.
struct BegunTurn {
    index: u32,
    at: Instant,
}

impl BegunTurn {
    fn payload(&self) -> TurnStartPayload {
        TurnStartPayload {
            turn_index: self.index,
            time_ms: now_ms(),
        }
    }
}

/// Answers a message, unless a hook handles it.
pub(crate) async fn run_said(session: &mut Session, said: Said) -> Result<RunEnd, StoreError> {
    // A hook of the session's beginning may want no run at all: then nothing hears the prompt.
    if let Some(ending) = halted(session).await {
        return Ok(RunEnd {
            answer: String::new(),
            ending,
        });
    }
    match hear_said(session, said).await {
        Ok(said) => {
            // Messages that hooks sent while they heard the prompt come before it.
            keep_waiting(session).await?;
            run_prompt(session, said).await
        }
        Err(ending) => Ok(RunEnd {
            answer: String::new(),
            ending,
        }),
    }
}

/// Runs a prompt until it is answered.
pub(crate) async fn run_prompt(session: &mut Session, said: Said) -> Result<RunEnd, StoreError> {
    let unasked_since = (!said.is_of_the_person()).then_some(session.progress.turn);
    session.inbox.queues.run();
    if !session.is_subagent() {
        session.lineage.family = Arc::default();
    }
    let mut run = match begin_run(session, said).await? {
        Ok(run) => Run { unasked_since, ..run },
        Err(ending) => {
            return Ok(RunEnd {
                answer: String::new(),
                ending,
            });
        }
    };
    let result = take_turns(session, &mut run).await;
    count_unasked(&mut session.progress, &mut run);
    // The user has sent the prompt, so it is stored even if no turn has begun.
    let result = match store_prompt(session, &mut run).await {
        Ok(()) => result,
        Err(error) => result.and(Err(error)),
    };
    session.progress.usage = session.progress.usage.plus(run.usage);
    let reason = result.as_ref().map_or(EndReason::Failed, Ending::reason);
    let payload = || AgentEndPayload {
        messages: [
            &run.summarised,
            &session.transcript.messages[run.first_message..],
            run.unstored.as_slice(),
        ]
        .concat(),
        reason,
        usage: run.usage,
    };
    session.hooks.tell::<AgentEnd>(payload).await;
    session.progress.unsettled = true;
    if !session.is_subagent() {
        call_attention(&session.hooks, AttentionReason::Idle, "ready for the next prompt").await;
    }
    // A halt that came after the last step has nothing left to end.
    session.hooks.take_halt();
    result.map(|ending| RunEnd {
        answer: run.answer,
        ending,
    })
}

/// Everything before the first turn: the prompt and the system prompt pass their hooks, the prompt is stored.
async fn begin_run(session: &mut Session, said: Said) -> Result<Result<Run, Ending>, StoreError> {
    tell_config_changes(session).await;
    let (Input { text, images, source }, note) = opening(said);
    let considered = match consider_prompt(session, text, &images, source, 0).await {
        Ok(considered) => considered,
        Err(ending) => return Ok(Err(ending)),
    };
    // Letters come only with messages of the user.
    let arrivals = match &note {
        None => arrivals_of(session).await?,
        Some(_) => Arrivals::default(),
    };
    let prompt = arrivals.before(considered.prompt);
    apply_choices(session).await;
    tell_unread_thoughts(session);
    let settings = &session.speaker.agent.settings;
    let lent = session.lineage.fuel.clone();
    let fuel = lent.unwrap_or_else(|| Fuel::full(settings.fuel));
    let mut run = Run::new(prompt, considered.context, fuel, settings);
    run.first_message = session.transcript.messages.len();
    make_room(session, &mut run).await?;
    write_system_prompt(session, &mut run).await;
    let payload = || AgentStartPayload {
        prompt: run.prompt.clone(),
        images: images.clone(),
        system_prompt: run.system_prompt.clone(),
    };
    // Hooks of `agent_start` may still send what is to run first or next: for them nothing runs yet.
    session.inbox.queues.begin_work();
    let started = session.hooks.ask::<AgentStart>(payload).await;
    keep_waiting(session).await?;
    run.first_message = session.transcript.messages.len();
    session.inbox.queues.run();
    if let Some(system_prompt) = started.system_prompt.get() {
        run.system_prompt = system_prompt;
        run.system_prompt_is_fixed = true;
        show_system_prompt(session, &run);
    }
    let sent = started.messages.into_iter().map(from_draft);
    let notes = considered.notes.into_iter().chain(sent).collect();
    expect_prompt(session, &mut run, (note, images), notes, arrivals).await;
    start_loop(&session.hooks, &session.speaker, &mut run).await;
    Ok(Ok(run))
}

async fn take_turns(session: &mut Session, run: &mut Run) -> Result<Ending, StoreError> {
    loop {
        if run.iteration >= run.limit
            && let Some(ending) = iteration_limit(session, run).await
        {
            return Ok(ending);
        }
        if let Some(ending) = over_budget(session).await {
            return Ok(ending);
        }
        if let Some(ending) = halted(session).await {
            return Ok(ending);
        }
        let mut changed = apply_choices(session).await;
        if changed {
            tell_unread_thoughts(session);
        }
        // Before the first turn, `begin` has made room for the prompt already.
        if run.iteration > 0 {
            changed |= grant_compactions(session, run).await?;
            changed |= make_room(session, run).await?;
        }
        if changed {
            write_system_prompt(session, run).await;
        }
        let ending = take_turn(session, run).await?;
        // Notes that cause no run are stored after the turn, and not between a call and its result.
        keep_waiting(session).await?;
        match ending {
            Some(Ending::Answered) => match follow_up(session, run).await? {
                Some(Ok(())) => {}
                Some(Err(ending)) => return Ok(ending),
                None => return Ok(Ending::Answered),
            },
            Some(ending) => return Ok(ending),
            None => {}
        }
    }
}

/// Takes the next follow-up, which belongs to the same run and passes the hooks of prompts as the first one did.
/// `None` if nothing waits; the inner error says how the run ends because of it.
pub(crate) async fn follow_up(
    session: &mut Session,
    run: &mut Run,
) -> Result<Option<Result<(), Ending>>, StoreError> {
    count_unasked(&mut session.progress, run);
    let said = loop {
        let hooks_may = session.progress.unasked < session.speaker.agent.settings.most_unasked();
        let Some(said) = session.inbox.queues.take_follow_up(hooks_may) else {
            return Ok(None);
        };
        if said.is_of_the_person() {
            session.progress.unasked = 0;
            let settings = &session.speaker.agent.settings;
            run.limit = run.iteration.saturating_add(settings.max_iterations);
        } else {
            run.unasked_since = Some(session.progress.turn);
        }
        match hear_said(session, said).await {
            Ok(said) => break said,
            Err(Ending::Handled(Some(message))) => {
                session.speaker.agent.front.show(FrontUpdate::Notice(&message))
            }
            Err(_) => {}
        }
        count_unasked(&mut session.progress, run);
    };
    keep_waiting(session).await?;
    let (Input { text, images, source }, note) = opening(said);
    let considered = match consider_prompt(session, text, &images, source, 0).await {
        Ok(considered) => considered,
        Err(ending) => return Ok(Some(Err(ending))),
    };
    let arrivals = match &note {
        None => arrivals_of(session).await?,
        Some(_) => Arrivals::default(),
    };
    let lent = session.lineage.fuel.clone();
    let fuel = lent.unwrap_or_else(|| Fuel::full(session.speaker.agent.settings.fuel));
    run.take_up(arrivals.before(considered.prompt), considered.context, fuel);
    write_system_prompt(session, run).await;
    expect_prompt(session, run, (note, images), considered.notes, arrivals).await;
    run.fallback = session.speaker.agent.settings.fallback;
    Ok(Some(Ok(())))
}

/// Counts requests that only hooks have caused since the user's last message.
fn count_unasked(progress: &mut SessionProgress, run: &mut Run) {
    if let Some(since) = run.unasked_since.take() {
        progress.unasked += (progress.turn - since).max(1);
    }
}

/// Ends the run if a hook wants that.
async fn halted(session: &Session) -> Option<Ending> {
    let reason = session.hooks.take_halt()?;
    session.raise(ErrorKind::HookBlocked, &reason).await;
    Some(Ending::Blocked(reason))
}

/// Ends the run if all sub-agents together have used up their tokens.
async fn over_budget(session: &Session) -> Option<Ending> {
    let budget = session.speaker.agent.settings.subagents.token_budget?;
    if !session.is_subagent() || session.lineage.family.tokens() < budget {
        return None;
    }
    let message = format!(
        "the {budget} tokens that sub-agents may use for one prompt are used up (`subagents.token_budget`)"
    );
    session.warn(&message).await;
    Some(Ending::Limit(message))
}

/// Ends the run if the requests for one prompt are used up, unless the user lets it go on.
async fn iteration_limit(session: &Session, run: &mut Run) -> Option<Ending> {
    let limit = run.limit;
    let message = format!("the limit of {limit} requests for one prompt is reached");
    session.warn(&message).await;
    let payload = || IterationLimitPayload {
        limit,
        message: message.clone(),
    };
    session.hooks.tell::<IterationLimit>(payload).await;
    // A sub-agent reports to its parent, which may go on by itself.
    let answer = match session.is_subagent() {
        true => GoingOn::Ends,
        false => {
            call_attention(&session.hooks, AttentionReason::Limit, &message).await;
            session.gate.going_on(&session.hooks, &message).await
        }
    };
    match answer {
        GoingOn::Ends => return Some(Ending::Limit(message)),
        GoingOn::Cancelled => return Some(Ending::Cancelled),
        GoingOn::Agreed => run.limit = run.iteration + RAISE,
    }
    let payload = || LimitRaisedPayload {
        previous_limit: limit,
        new_limit: run.limit,
    };
    session.hooks.tell::<LimitRaised>(payload).await;
    None
}

/// One request and the tools it asks for. Returns how the run ends, if it does.
async fn take_turn(session: &mut Session, run: &mut Run) -> Result<Option<Ending>, StoreError> {
    let said = match steering(session, run).await {
        Ok(said) => said,
        Err(ending) => return Ok(Some(ending)),
    };
    let begun = begin_turn(&mut session.hooks, &mut session.progress, run);
    let started = session.hooks.ask::<TurnStart>(|| begun.payload()).await;
    let result = match hear_prompt(session, run, said).await {
        Ok(()) => turn_body(session, run, started.context.0).await,
        Err(error) => Err(error),
    };
    let ended = end_turn(session, begun, &result).await;
    let over = result?;
    let calls_were_cancelled = over.reason == TurnEnd::Cancelled && !over.tool_results.is_empty();
    let mut ending = after_turn(session, run, ended, over.ending).await?;
    if calls_were_cancelled {
        ending = cancelled_turn(session, run).await?;
    }
    // Whatever ended the turn, the conversation already says that another member takes over.
    if let Some(member) = run.handed_to.take() {
        hand_over(session, run, &member).await?;
        if ending.is_none() {
            write_system_prompt(session, run).await;
        }
    }
    Ok(ending)
}

/// Begins a turn; hooks are not told yet.
fn begin_turn(hooks: &mut Hooks, progress: &mut SessionProgress, run: &mut Run) -> BegunTurn {
    let begun = BegunTurn {
        index: run.iteration,
        at: Instant::now(),
    };
    run.iteration += 1;
    progress.turn += 1;
    hooks.set_turn(progress.turn);
    begun
}

/// Ends the turn, whatever happened in it.
async fn end_turn(
    session: &Session,
    begun: BegunTurn,
    result: &Result<TurnOver, StoreError>,
) -> TurnEndedReply {
    let ended = tell_turn_end(&session.hooks, begun.index, result).await;
    let reason = result.as_ref().map_or(TurnEnd::Error, |over| over.reason);
    let span = Span::over(SpanKind::Turn, "", session.progress.turn, begun.at);
    session.speaker.agent.store.span(
        &session.hooks.scope().session_id,
        span.with(json!({"reason": reason})),
    );
    ended
}

/// After cancelled calls it would be the model's turn. Hooks are told of the answer that does not come, as when a
/// cancel interrupts a request.
async fn cancelled_turn(session: &mut Session, run: &mut Run) -> Result<Option<Ending>, StoreError> {
    let begun = begin_turn(&mut session.hooks, &mut session.progress, run);
    session.hooks.tell::<TurnStart>(|| begun.payload()).await;
    let message = tell_unfinished(session, None, StopReason::Cancelled, None).await;
    run.unstored = Some(message.clone());
    let over = TurnOver {
        reason: TurnEnd::Cancelled,
        message: Some(message),
        tool_results: Vec::new(),
        ending: Some(Ending::Cancelled),
    };
    let ended = end_turn(session, begun, &Ok(over)).await;
    after_turn(session, run, ended, Some(Ending::Cancelled)).await
}

async fn tell_turn_end(
    hooks: &Hooks,
    turn_index: u32,
    result: &Result<TurnOver, StoreError>,
) -> TurnEndedReply {
    let payload = || {
        let (reason, message, tool_results) = match result {
            Ok(over) => (over.reason, over.message.clone(), over.tool_results.clone()),
            Err(_) => (TurnEnd::Error, None, Vec::new()),
        };
        TurnEndedPayload {
            turn_index,
            reason,
            message,
            tool_results,
            entries: Vec::new(),
            go_on: false,
        }
    };
    hooks.tell::<TurnEnded>(payload).await
}

/// Stores the prompt and messages that arrived meanwhile, once the turn has begun.
async fn hear_prompt(session: &mut Session, run: &mut Run, said: Vec<Message>) -> Result<(), StoreError> {
    store_prompt(session, run).await?;
    add_messages(session, said).await
}

/// The messages that arrived while the model was at work, if hooks agree to them; otherwise the run ends.
pub(crate) async fn steering(session: &Session, run: &mut Run) -> Result<Vec<Message>, Ending> {
    let (mut messages, words) = messages_of(session, session.inbox.queues.take_steering()).await;
    if words.is_empty() {
        return Ok(messages);
    }
    let payload = || SteeringPayload { messages: words };
    let (reply, handlers) = session.hooks.ask_whom::<Steering>(payload).await;
    session.agreed("what you said", reply.verdict, handlers).await?;
    run.context.extend(reply.context.0);
    messages.extend(hook_notes(&reply.notes.0));
    Ok(messages)
}

async fn turn_body(
    session: &mut Session,
    run: &mut Run,
    mut turn_context: Vec<String>,
) -> Result<TurnOver, StoreError> {
    if run.empty_answers > 0 {
        turn_context.push(SAY_SOMETHING.into());
    }
    let (message, tools) = match ask_model(session, run, turn_context).await? {
        Ok(answer) => answer,
        Err(failure) => return no_answer(session, run, failure).await,
    };
    run.overflowed = false;
    let agent = Arc::clone(&session.speaker.agent);
    let shown = ShownAnswer::of(&*agent.front, &message, RequestPurpose::Answer);
    let message = pass_end_hooks(&session.hooks, &session.speaker, message, Joins::InRun).await;
    let MessageBody::Assistant {
        usage, stop_reason, ..
    } = message.body()
    else {
        unreachable!("a model answers as the assistant, and hooks cannot change the role");
    };
    run.usage = run.usage.plus(*usage);
    count_answer(session, &message);
    let stop_reason = *stop_reason;
    let skip_reason = reason_not_to_run(stop_reason);
    if says_nothing(&message) && stop_reason != StopReason::Refused {
        shown.settle();
        return Ok(empty_answer(session, run, message).await);
    }
    run.empty_answers = 0;
    run.answer = message.text();
    store_messages(session, vec![message.clone()]).await?;
    shown.settle();
    if message.tool_calls().is_empty() {
        if let Some(words) = cut_short(stop_reason) {
            warn(&*agent.front, &session.hooks, words).await;
        }
        let (reason, ending) = after_answer(session, run).await?;
        return Ok(TurnOver {
            reason,
            message: Some(message),
            tool_results: Vec::new(),
            ending,
        });
    }
    run_tools(session, run, message, &tools, skip_reason).await
}

async fn run_tools(
    session: &mut Session,
    run: &mut Run,
    message: Message,
    tools: &OfferedTools,
    skip_reason: Option<&str>,
) -> Result<TurnOver, StoreError> {
    let parent = AtWork::new(session, &tools.tools, run.fuel.clone()).with_callable(&tools.callable);
    let parent = Arc::new(parent);
    let batch = Batch::of(&parent);
    let FinishedBatch { mut calls, cancelled } = batch.run(message.tool_calls(), skip_reason).await;
    run.usage = run.usage.plus(parent.spent());
    let results = calls.iter().map(|call| call.message.clone()).collect();
    let tool_results = pass_hooks(&session.hooks, &session.speaker, results, Joins::InRun).await;
    store_messages(session, tool_results.clone()).await?;
    let after = batch.after(&calls).await;
    if !after.context.is_empty() {
        add_messages(session, vec![note("hook", &after.context.join("\n\n"))]).await?;
    }
    warn_of_repetition(session, run, &message, &calls).await?;
    // Of several calls that name a next speaker, the last counts. A handoff to a member of the team is separate
    // from that.
    let mut words: Vec<NextSpeaker> = calls
        .iter_mut()
        .filter_map(|call| call.next_speaker.take())
        .collect();
    if let Some(member) = take_member(&mut words) {
        announce_handoff(&session.hooks, &session.speaker, &member).await;
        run.handed_to = Some(member);
    }
    // If every call says that the model need not be asked again, it is the user's turn.
    let ends_run = calls.iter().all(|call| call.ends_run);
    let word = if ends_run {
        Some(NextSpeaker::Person(None))
    } else {
        words.pop()
    };
    let payload = || ToolBatchPayload {
        tool_calls: records(calls, &tool_results),
        fuel_remaining: run.fuel.remaining(),
        fuel_total: run.fuel.total,
        fallback: run.fallback,
    };
    let reply = session.hooks.tell::<ToolBatch>(payload).await;
    run.fallback = reply.fallback.get().unwrap_or(run.fallback);
    run.fuel.adjust(reply.fuel);
    if !reply.context.0.is_empty() {
        add_messages(session, vec![note("hook", &reply.context.0.join("\n\n"))]).await?;
    }
    let stop = after.stop.or_else(|| session.hooks.take_halt());
    let (reason, ending) = match interruption(session, run, &message, stop, cancelled).await {
        Some((reason, ending)) => (reason, Some(ending)),
        None => after_tools(session, run, &message, word).await?,
    };
    Ok(TurnOver {
        reason,
        message: Some(message),
        tool_results,
        ending,
    })
}

/// The calls with their results as the model sees them, after hooks of messages.
fn records(calls: Vec<FinishedCall>, results: &[Message]) -> Vec<CallRecord> {
    let seen = calls.into_iter().zip(results);
    let records = seen.map(|(call, result)| match result.body() {
        MessageBody::Tool {
            content, is_error, ..
        } => CallRecord {
            content: content.clone(),
            is_error: *is_error,
            ..call.record
        },
        _ => call.record,
    });
    records.collect()
}

/// Why the calls of an answer are not run: only a complete answer holds what the model meant.
fn reason_not_to_run(stop_reason: StopReason) -> Option<&'static str> {
    match stop_reason {
        StopReason::Stop | StopReason::ToolCalls => None,
        StopReason::Length => Some("not run: the answer was cut off at its length limit"),
        StopReason::Refused => Some("not run: the provider stopped the answer before it was complete"),
        StopReason::Cancelled | StopReason::Error => Some("not run: the answer is not complete"),
    }
}

/// What the user is told of an answer that looks whole and is not.
fn cut_short(stop_reason: StopReason) -> Option<&'static str> {
    match stop_reason {
        StopReason::Length => {
            Some("the answer was cut off at its length limit (`agent.max_tokens`, or the model's own)")
        }
        StopReason::Refused => Some("the answer ends here: the provider, or the model, refused to say more"),
        StopReason::Stop | StopReason::ToolCalls | StopReason::Cancelled | StopReason::Error => None,
    }
}

/// The member of the team that a call handed over to last.
fn take_member(words: &mut Vec<NextSpeaker>) -> Option<String> {
    let mut last = None;
    words.retain(|word| match word {
        NextSpeaker::Member(member) => {
            last = Some(member.clone());
            false
        }
        _ => true,
    });
    last
}

/// Whether an answer has neither text nor tool calls: thoughts alone are no answer.
fn says_nothing(message: &Message) -> bool {
    message.tool_calls().is_empty() && message.text().trim().is_empty()
}
