//! Decides whether the run goes on and who speaks next: after no answer, an empty one, a complete one, and a round of
//! tools.
//!
//! Hooks are told of an answer that failed or was cancelled like of any other message, with `stop_reason` and `error`.
//! It does not become part of the conversation, because a model need not read what went wrong with it. The exception is
//! a cancelled answer of which words had arrived: the user has seen them, so the conversation has them too.

use std::sync::Arc;

use becket_events::{
    EntryDraft, ErrorKind, Fallback, InputSource, Message, RequestPurpose, Stop, StopPayload, StopReason,
    TurnEnd, TurnEndedReply, text_of,
};

use crate::agent::model_name;
use crate::batch::FinishedCall;
use crate::compact::{has_older_part, shorten};
use crate::current_agent::announce_handoff;
use crate::endings::Ending;
use crate::front::FrontUpdate;
use crate::fuel::REPETITION_COST;
use crate::handoff::{NextSpeaker, continuation_prompt};
use crate::letters::{add_showing, arrivals_of};
use crate::message::{assistant, note, user};
use crate::model_call::{CallFailure, ShownAnswer, Unfinished};
use crate::progress::{Run, TurnOver};
use crate::prompting::{consider_prompt, open_tasks, start_loop, write_system_prompt};
use crate::provider::{ProviderError, ProviderErrorKind};
use crate::session::Session;
use crate::speaker::Speaker;
use crate::store::StoreError;
use crate::storing::{Joins, add_drafts, add_messages, pass_end_hooks, pass_hooks, store_messages};
use crate::switching::{Refused, clear_conversation};

/// How often hooks of `stop` and `turn_end` may make the model go on for one prompt.
const MAX_STOP_CONTINUATIONS: u32 = 10;

/// How many empty answers in a row end a run.
const MAX_EMPTY_ANSWERS: u32 = 3;

/// The prompt when a hook makes the model go on without a text of its own.
const GO_ON: &str = "Go on.";

/// Ends a turn in which the model has not answered, and decides whether the run goes on.
pub(crate) async fn no_answer(
    session: &mut Session,
    run: &mut Run,
    failure: CallFailure,
) -> Result<TurnOver, StoreError> {
    let over = |reason, message, ending| TurnOver {
        reason,
        message,
        tool_results: Vec::new(),
        ending,
    };
    Ok(match failure {
        CallFailure::Blocked(reason) => {
            session.raise(ErrorKind::HookBlocked, &reason).await;
            over(TurnEnd::HookBlocked, None, Some(Ending::Blocked(reason)))
        }
        CallFailure::Limit(reason) => over(TurnEnd::Limit, None, Some(Ending::Limit(reason))),
        CallFailure::Provider(mut error, unfinished) => {
            let message = tell_unfinished(session, unfinished, StopReason::Error, Some(&error.message)).await;
            if shorten_after(session, run, &error).await? {
                return Ok(over(TurnEnd::Continue, Some(message), None));
            }
            keep_words(session, run, &message).await?;
            if error.kind == ProviderErrorKind::ContextTooLong && !has_older_part(session, run) {
                error.message = alone_too_long(session, &error.message);
            }
            session.raise_of_provider(&error).await;
            over(TurnEnd::Error, Some(message), Some(Ending::Provider(error)))
        }
        CallFailure::Cancelled(unfinished) => {
            let message = tell_unfinished(session, unfinished, StopReason::Cancelled, None).await;
            keep_words(session, run, &message).await?;
            over(TurnEnd::Cancelled, Some(message), Some(Ending::Cancelled))
        }
    })
}

/// Stores the part of an answer that had arrived, since it was shown.
async fn keep_words(session: &mut Session, run: &mut Run, message: &Message) -> Result<(), StoreError> {
    if message.content().is_empty() {
        run.unstored = Some(message.clone());
        return Ok(());
    }
    let agent = Arc::clone(&session.speaker.agent);
    let shown = ShownAnswer::of(&*agent.front, message, RequestPurpose::Answer);
    store_messages(session, vec![message.clone()]).await?;
    shown.settle();
    Ok(())
}

/// Tells hooks of an answer that did not come or broke off, like any other message.
pub(crate) async fn tell_unfinished(
    session: &Session,
    unfinished: Option<Unfinished>,
    stop_reason: StopReason,
    error: Option<&str>,
) -> Message {
    let model = session.speaker.agent.provider.model();
    let nothing = || Unfinished::nothing(model, stop_reason, error.map(ToOwned::to_owned));
    let Unfinished { message, begun } = unfinished.unwrap_or_else(nothing);
    if begun {
        return pass_end_hooks(&session.hooks, &session.speaker, message, Joins::InRun).await;
    }
    let mut told = pass_hooks(&session.hooks, &session.speaker, vec![message], Joins::InRun).await;
    told.pop().expect("one message for one message")
}

/// Summarises a conversation that was too long for the model, once per run. Says whether another request makes
/// sense.
async fn shorten_after(
    session: &mut Session,
    run: &mut Run,
    error: &ProviderError,
) -> Result<bool, StoreError> {
    if error.kind != ProviderErrorKind::ContextTooLong || run.overflowed {
        return Ok(false);
    }
    run.overflowed = true;
    if let Some(window) = error.window {
        let agent = &session.speaker.agent;
        agent
            .settings
            .windows
            .learn(&model_name(&*agent.provider), window);
    }
    let shorter = shorten(session, run).await?;
    if shorter {
        write_system_prompt(session, run).await;
    }
    Ok(shorter)
}

/// What the user is told about a request that is too long although there is nothing to summarise.
fn alone_too_long(session: &Session, cause: &str) -> String {
    let window = session.speaker.agent.window();
    let size = match window.is_known {
        true => format!(" of {} tokens", window.tokens),
        false => String::new(),
    };
    format!(
        "this message alone, with the instructions and the tools, does not fit into the model's window{size}: \
         send less at once, or choose a model with a larger window ({cause})"
    )
}

/// Handles an empty answer: the model is asked again, which costs fuel, a limited number of times. Nothing is
/// stored.
pub(crate) async fn empty_answer(session: &Session, run: &mut Run, message: Message) -> TurnOver {
    run.empty_answers += 1;
    let (reason, ending) = if run.empty_answers >= MAX_EMPTY_ANSWERS {
        let words = format!("the model answered with nothing {MAX_EMPTY_ANSWERS} times in a row");
        let error = ProviderError::new(ProviderErrorKind::Broken, words);
        session.raise_of_provider(&error).await;
        (TurnEnd::Error, Some(Ending::Provider(error)))
    } else if run.fuel.burn(session.speaker.agent.settings.empty_answer_cost) {
        session
            .warn("the model's answer was empty; it is asked again")
            .await;
        (TurnEnd::Continue, None)
    } else {
        (TurnEnd::Limit, Some(out_of_fuel(session).await))
    };
    TurnOver {
        reason,
        message: Some(message),
        tool_results: Vec::new(),
        ending,
    }
}

/// The model has answered: does the run end here? If no tool has decided who speaks next, the fallback does.
pub(crate) async fn after_answer(
    session: &mut Session,
    run: &mut Run,
) -> Result<(TurnEnd, Option<Ending>), StoreError> {
    if let Some(goes_on) = sent_on(session, run).await? {
        return Ok((goes_on, None));
    }
    if session.hooks.halt().is_some() {
        return Ok((TurnEnd::Normal, Some(Ending::Answered)));
    }
    if let Some(note) = run.note.take() {
        return reengage(session, run, "a note to yourself", &note).await;
    }
    match run.fallback {
        Fallback::CallUser if let Some(successor) = successor(session) => {
            hand_on(session, run, &successor).await?;
            Ok((TurnEnd::Continue, None))
        }
        Fallback::CallUser => Ok((TurnEnd::Normal, Some(Ending::Answered))),
        Fallback::CallAgent => reengage(session, run, "call_agent", "").await,
    }
}

/// The member of the team that continues when the current one has answered.
fn successor(session: &Session) -> Option<String> {
    let team = session.speaker.given.team.as_deref()?;
    let successor = team.member(session.agent_name())?.successor.clone()?;
    team.member(&successor).map(|member| member.name.clone())
}

/// Hands the conversation over after an answer, and tells the other member, since nobody else speaks between them.
async fn hand_on(session: &mut Session, run: &mut Run, to: &str) -> Result<(), StoreError> {
    announce_handoff(&session.hooks, &session.speaker, to).await;
    let from = session.agent_name();
    let words = format!("The agent `{from}` has done its part. It is your turn, `{to}`: go on with yours.");
    add_messages(session, vec![note("handoff", &words)]).await?;
    run.handed_to = Some(to.to_owned());
    Ok(())
}

/// Hooks of `stop` and messages from the user may make the model go on.
async fn sent_on(session: &mut Session, run: &mut Run) -> Result<Option<TurnEnd>, StoreError> {
    let payload = || StopPayload {
        response: run.answer.clone(),
        prompt: run.prompt.clone(),
        continuations: run.stop_continuations,
        entries: Vec::new(),
        go_on: false,
    };
    let reply = session.hooks.tell::<Stop>(payload).await;
    let drafts = reply.entries.get().unwrap_or_default();
    let repeats = reply.repeats.get() == Some(true);
    if let Some(other) = reply.response.get() {
        answer_otherwise(session, run, other);
    }
    let said = last_words(&drafts);
    add_drafts(session, drafts).await?;
    // A halt wins over everything that would send the model on. The answer stands.
    let clears = reply.clear.get() == Some(true);
    if let Some(reason) = session.hooks.halt() {
        session.speaker.agent.front.show(FrontUpdate::Notice(&reason));
        begin_anew(session, run, clears).await?;
        return Ok(None);
    }
    let goes_on = reply.go_on.get() == Some(true);
    let (reason, is_said) = match reply.continue_with.get() {
        Some(reason) => (Some(reason), false),
        None => (
            goes_on.then(|| said.clone().unwrap_or_else(|| GO_ON.into())),
            said.is_some(),
        ),
    };
    if let Some(reason) = reason
        && may_go_on(&session.speaker, run, &reason, repeats)
    {
        run.stop_continuations += 1;
        run.last_stop_reason = Some(reason.clone());
        // What was said is archived as well.
        if begin_anew(session, run, clears).await? || !is_said {
            add_messages(session, vec![note("stop", &reason)]).await?;
        }
        return Ok(Some(TurnEnd::Continue));
    }
    begin_anew(session, run, clears).await?;
    Ok(session.inbox.queues.has_steering().then_some(TurnEnd::Steered))
}

/// Archives the conversation for a hook, if it wants that and no other hook refuses. Says whether it has begun anew.
async fn begin_anew(session: &mut Session, run: &mut Run, is_wanted: bool) -> Result<bool, StoreError> {
    if !is_wanted {
        return Ok(false);
    }
    let front = Arc::clone(&session.speaker.agent.front);
    if session.is_subagent() {
        front.show(FrontUpdate::Warning(
            "a hook wanted to clear the conversation of a sub-agent; it was ignored",
        ));
        return Ok(false);
    }
    let own = session.transcript.messages[run.first_message..].to_vec();
    let cancel = session.hooks.cancel().clone();
    if let Err(Refused(reason)) = clear_conversation(session, cancel).await? {
        let words = format!("a hook wanted to clear the conversation, and another stopped it: {reason}");
        front.show(FrontUpdate::Warning(&words));
        return Ok(false);
    }
    run.summarised.extend(own);
    run.first_message = 0;
    front.show(FrontUpdate::Notice(
        "a hook has archived the conversation; it starts over",
    ));
    write_system_prompt(session, run).await;
    Ok(true)
}

/// Lets a sub-agent answer something else. Its own conversation stays as it is.
fn answer_otherwise(session: &Session, run: &mut Run, other: String) {
    match session.is_subagent() {
        true => run.answer = other,
        false => session.speaker.agent.front.show(FrontUpdate::Warning(
            "a hook of stop wanted another answer, but the user has read this one",
        )),
    }
}

/// Applies the replies of `turn_end` hooks: their drafts are stored, whatever ended the turn. If the model had
/// answered, it may be asked once more.
pub(crate) async fn after_turn(
    session: &mut Session,
    run: &mut Run,
    reply: TurnEndedReply,
    ending: Option<Ending>,
) -> Result<Option<Ending>, StoreError> {
    let drafts = reply.entries.get().unwrap_or_default();
    let says_something = drafts.iter().any(|draft| matches!(draft, EntryDraft::Note(_)));
    add_drafts(session, drafts).await?;
    if reply.go_on.get() != Some(true) || ending.is_none() {
        return Ok(ending);
    }
    if ending != Some(Ending::Answered) || run.stop_continuations >= MAX_STOP_CONTINUATIONS {
        session.speaker.agent.front.show(FrontUpdate::Warning(
            "a hook of turn_end wanted the model to continue; it was ignored",
        ));
        return Ok(ending);
    }
    run.stop_continuations += 1;
    if !says_something {
        // Providers expect a message after the model's own.
        add_messages(session, vec![note("stop", GO_ON)]).await?;
    }
    Ok(None)
}

/// Whether a hook may make the model go on: a limited number of times, and not twice in a row for the same reason
/// unless it `repeats`.
fn may_go_on(speaker: &Speaker, run: &Run, reason: &str, repeats: bool) -> bool {
    let repeated = !repeats && run.last_stop_reason.as_deref() == Some(reason);
    if repeated || run.stop_continuations >= MAX_STOP_CONTINUATIONS {
        speaker.agent.front.show(FrontUpdate::Warning(
            "a hook of stop wanted the model to continue again; it was ignored",
        ));
        return false;
    }
    true
}

/// Asks the model again without the user, which costs fuel.
async fn reengage(
    session: &mut Session,
    run: &mut Run,
    via: &str,
    prompt: &str,
) -> Result<(TurnEnd, Option<Ending>), StoreError> {
    if !run.fuel.burn(1) {
        return Ok((TurnEnd::Limit, Some(out_of_fuel(session).await)));
    }
    run.continuation += 1;
    let text = continuation_prompt(via, &run.fuel, prompt);
    let considered = consider_prompt(session, text, &[], InputSource::Hook, run.continuation).await;
    let considered = match considered {
        Ok(considered) => considered,
        Err(Ending::Cancelled) => return Ok((TurnEnd::Cancelled, Some(Ending::Cancelled))),
        Err(ending) => return Ok((TurnEnd::HookBlocked, Some(ending))),
    };
    let arrivals = arrivals_of(session).await?;
    (run.prompt, run.context) = (arrivals.before(considered.prompt), considered.context);
    write_system_prompt(session, run).await;
    let prompt = std::iter::once(user(&run.prompt, Vec::new()));
    add_showing(session, prompt.chain(considered.notes).collect(), &arrivals).await?;
    run.tasks = open_tasks(session);
    start_loop(&session.hooks, &session.speaker, run).await;
    Ok((TurnEnd::Continue, None))
}

async fn out_of_fuel(session: &Session) -> Ending {
    let message = "the fuel for this prompt is used up; --fuel N gives it more, and 0 no limit".to_string();
    session.warn(&message).await;
    Ending::Limit(message)
}

/// Tells a model that it repeats a call whose result it has just seen, and charges fuel for it.
pub(crate) async fn warn_of_repetition(
    session: &mut Session,
    run: &mut Run,
    message: &Message,
    calls: &[FinishedCall],
) -> Result<(), StoreError> {
    let answered = message.tool_calls().iter().zip(calls);
    let again = run.repetition.repeated(
        answered
            .map(|(call, finished)| finished.answering(call))
            .collect(),
    );
    if again.is_empty() {
        return Ok(());
    }
    run.fuel.burn(REPETITION_COST);
    let warning = format!(
        "You asked for the same again ({}), with the same arguments, and got the same result. Asking once more \
         will not change it: do something else, or say what hinders you.",
        again.join(", ")
    );
    add_messages(session, vec![note("repetition", &warning)]).await
}

/// Whether the run ends after this round of tools, whatever the model and its tools want.
pub(crate) async fn interruption(
    session: &Session,
    run: &mut Run,
    message: &Message,
    stop: Option<String>,
    cancelled: bool,
) -> Option<(TurnEnd, Ending)> {
    if cancelled {
        return Some((TurnEnd::Cancelled, Ending::Cancelled));
    }
    if let Some(reason) = stop {
        session.raise(ErrorKind::HookBlocked, &reason).await;
        return Some((TurnEnd::HookBlocked, Ending::Blocked(reason)));
    }
    let rounds = run.repetition.count_round(message.tool_calls());
    if rounds >= session.speaker.agent.settings.max_identical_rounds {
        let message = format!("the model repeated the same calls {rounds} times in a row");
        session.raise(ErrorKind::LoopDetected, &message).await;
        return Some((TurnEnd::LoopDetected, Ending::LoopDetected(message)));
    }
    None
}

/// The tools have run: decides who speaks next.
pub(crate) async fn after_tools(
    session: &mut Session,
    run: &mut Run,
    message: &Message,
    word: Option<NextSpeaker>,
) -> Result<(TurnEnd, Option<Ending>), StoreError> {
    if let Some(NextSpeaker::Person(words)) = &word {
        if let Some(words) = words {
            add_messages(session, vec![assistant(words, message)]).await?;
            run.answer.clone_from(words);
        }
        return Ok(match sent_on(session, run).await? {
            Some(goes_on) => (goes_on, None),
            None => (TurnEnd::Normal, Some(Ending::Answered)),
        });
    }
    if !run.fuel.burn(1) {
        return Ok((TurnEnd::Limit, Some(out_of_fuel(session).await)));
    }
    if let Some(NextSpeaker::Model(prompt)) = &word {
        return reengage(session, run, "a tool", prompt).await;
    }
    if let Some(NextSpeaker::ModelLater(note)) = word {
        run.note = Some(note);
    }
    let reason = if session.inbox.queues.has_steering() {
        TurnEnd::Steered
    } else {
        TurnEnd::Continue
    };
    Ok((reason, None))
}

/// The text of the last note among drafts.
fn last_words(drafts: &[EntryDraft]) -> Option<String> {
    drafts.iter().rev().find_map(|draft| match draft {
        EntryDraft::Note(note) => Some(text_of(&note.content)),
        EntryDraft::Record { .. } => None,
    })
}
