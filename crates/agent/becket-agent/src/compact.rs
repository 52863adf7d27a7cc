//! Compaction: a summary takes the place of what is old in a conversation.
//!
//! When the user asks for it, everything is summarised; when the conversation has become too long, only its older part
//! is. Nothing changes before the summary is there and stored: whatever fails or is cancelled on the way leaves the
//! conversation as it was.
//!
//! The request for a summary holds the old messages as text and not as messages, after hooks of `model_context` have
//! seen them: so calls need no results, and what hooks hide stays hidden. It offers no tools, and its answer is not
//! shown.

use std::borrow::Cow;

use becket_events::{
    CompactReason, CompactScope, Message, MessageBody, PostCompact, PostCompactPayload, PreCompact,
    PreCompactPayload, RequestPurpose, StandingSummary, StopReason, Summary,
};
use tokio_util::sync::CancellationToken;

use crate::context_files::{ContextFile, Whose};
use crate::current_agent::{apply_choices, begin_work};
use crate::endings::CompactEnd;
use crate::entries::{EntryContent, NewEntry};
use crate::front::FrontUpdate;
use crate::message::user;
use crate::model_call::{CallFailure, ModelCall, Prepared};
use crate::progress::Run;
use crate::progress::SessionProgress;
use crate::provider::{ModelRequest, ProviderErrorKind, RequestOptions};
use crate::request::{Shown, through_context_hooks};
use crate::session::Session;
use crate::session_handle::{CompactRequest, HandleError};
use crate::speaker::Speaker;
use crate::store::StoreError;
use crate::storing::{context_tokens, count_answer, show_usage, stored_tree, write_entries};
use crate::summary_form;
use crate::transcript;
use crate::transcript::Transcript;

/// The fewest messages that are summarised automatically: with less, little would be won.
const FEWEST_MESSAGES: usize = 5;

/// Tells the user how many messages were summarised.
pub(crate) fn summarised_words(summarised: usize, which: &str) -> String {
    match summarised {
        1 => format!("1 {which}message was summarised"),
        number => format!("{number} {which}messages were summarised"),
    }
}

/// What is to be summarised, and why.
struct Plan {
    reason: CompactReason,
    scope: CompactScope,
    /// The first message that is kept.
    cut: usize,
    instructions: Option<String>,
}

/// A summary that is to stand for the older messages.
struct Written {
    text: String,
    by_hook: bool,
    details: Option<serde_json::Value>,
    /// How many tokens the model had written before it wrote the summary.
    output_tokens: u64,
}

/// What the model is to sum up.
pub(crate) struct Summing<'a> {
    pub(crate) messages: &'a [Message],
    /// The summary so far, which the new one replaces.
    pub(crate) before: Option<&'a str>,
    /// What the summary should pay attention to.
    pub(crate) instructions: &'a [&'a str],
    /// The model's instructions for writing the summary.
    pub(crate) system_prompt: &'a str,
}

/// Summarises the whole conversation because the user asked for it.
pub(crate) async fn compact_on_request(
    session: &mut Session,
    instructions: Option<String>,
    cancel: CancellationToken,
) -> Result<CompactEnd, StoreError> {
    begin_work(session, cancel);
    apply_choices(session).await;
    session.inbox.queues.compact();
    let is_halted = session.hooks.halt().is_some();
    let end = compact_all(session, instructions).await;
    session.inbox.end_work();
    if !is_halted {
        let is_told = matches!(end, Ok(CompactEnd::Refused(_)));
        let reason = session.hooks.take_halt().filter(|_| !is_told);
        session.tell_halt(reason);
    }
    end
}

/// Summarises the whole conversation in the middle of other work.
async fn compact_all(session: &mut Session, instructions: Option<String>) -> Result<CompactEnd, StoreError> {
    if session.transcript.messages.is_empty() {
        return Ok(CompactEnd::Nothing);
    }
    let plan = Plan {
        reason: CompactReason::Manual,
        scope: CompactScope::Full,
        cut: session.transcript.messages.len(),
        instructions,
    };
    carry_out(session, plan, None).await
}

/// Summarises what stands before the prompt of a run, or as much of the run as can be if there is nothing.
async fn compact_before(
    session: &mut Session,
    run: &mut Run,
    instructions: Option<String>,
) -> Result<CompactEnd, StoreError> {
    let most = session.transcript.messages.len();
    let Some(cut) = transcript::place_to_cut(&session.transcript.messages, most, run.first_message) else {
        return Ok(CompactEnd::Nothing);
    };
    let plan = Plan {
        reason: CompactReason::Manual,
        scope: CompactScope::Rolling,
        cut,
        instructions,
    };
    carry_out(session, plan, Some(run)).await
}

/// Summarises the older part of the conversation if the model's window is almost full. Says whether it did.
pub(crate) async fn make_room(session: &mut Session, run: &mut Run) -> Result<bool, StoreError> {
    let settings = &session.speaker.agent.settings.compaction;
    let window = session.speaker.agent.window();
    let limit = window.tokens / 100 * u64::from(settings.at_percent);
    // Before the first turn the prompt is not among the messages yet.
    let coming = if run.iteration == 0 {
        transcript::tokens_in(run.prompt.len())
    } else {
        0
    };
    if session.transcript.messages.len() < FEWEST_MESSAGES || context_tokens(session) + coming < limit {
        return Ok(false);
    }
    let reason = match run.iteration > 0 && session.transcript.ends_with_results() {
        true => CompactReason::ToolOverflow,
        false => CompactReason::Threshold,
    };
    roll_up(session, reason, run).await
}

/// Summarises the older part of the conversation because the provider says that it is too long. Says whether it
/// did.
pub(crate) async fn shorten(session: &mut Session, run: &mut Run) -> Result<bool, StoreError> {
    roll_up(session, CompactReason::Overflow, run).await
}

/// Summarises the older part of the conversation. A failure never ends the run: the conversation goes on as it is.
async fn roll_up(session: &mut Session, reason: CompactReason, run: &mut Run) -> Result<bool, StoreError> {
    let settings = &session.speaker.agent.settings.compaction;
    let wanted = session
        .inbox
        .handle
        .as_ref()
        .and_then(|handle| handle.automation().compacts());
    if !wanted.unwrap_or(settings.auto) || run.summary_failed {
        return Ok(false);
    }
    let mut wanted = session.transcript.messages.len() * usize::from(settings.drop_percent) / 100;
    if reason == CompactReason::Overflow {
        wanted = wanted.max(too_many(session));
    }
    let Some(cut) = transcript::place_to_cut(&session.transcript.messages, wanted, run.first_message) else {
        return Ok(false);
    };
    let plan = Plan {
        reason,
        scope: CompactScope::Rolling,
        cut,
        instructions: None,
    };
    let why_not = match carry_out(session, plan, Some(run)).await? {
        CompactEnd::Compacted { summarised, .. } => {
            let words = format!("{} to make room", summarised_words(summarised, "older "));
            session.speaker.agent.front.show(FrontUpdate::Notice(&words));
            return Ok(true);
        }
        CompactEnd::Nothing | CompactEnd::Cancelled => return Ok(false),
        CompactEnd::Refused(reason) => reason,
        CompactEnd::Provider(error) => error.message,
        CompactEnd::NoSummary(words) => words.into(),
    };
    run.summary_failed = true;
    let words =
        format!("the conversation is long and could not be summarised; it continues unchanged: {why_not}");
    session.warn(&words).await;
    Ok(false)
}

/// How many of the messages, the oldest first, have to go so that the others take at most half of a known window.
fn too_many(session: &Session) -> usize {
    let (messages, window) = (&session.transcript.messages, session.speaker.agent.window());
    if !window.is_known {
        return 0;
    }
    let mut left = window.tokens / 2;
    let kept = messages.iter().rev().take_while(|message| {
        let tokens = transcript::tokens_of(message);
        let fits = tokens <= left;
        left = left.saturating_sub(tokens);
        fits
    });
    messages.len() - kept.count()
}

/// Whether there is anything in the conversation that a summary could stand for.
pub(crate) fn has_older_part(session: &Session, run: &Run) -> bool {
    let messages = &session.transcript.messages;
    transcript::place_to_cut(messages, messages.len(), run.first_message).is_some()
}

async fn carry_out(
    session: &mut Session,
    plan: Plan,
    run: Option<&mut Run>,
) -> Result<CompactEnd, StoreError> {
    let (reason, tokens_before) = (plan.reason, context_tokens(session));
    session
        .speaker
        .agent
        .front
        .show(FrontUpdate::CompactionBegins { reason });
    let end = summarise_plan(session, plan, run).await?;
    session.speaker.agent.front.show(FrontUpdate::CompactionEnds {
        reason,
        end: &end,
        first_kept_id: session.transcript.messages.first().map(Message::id),
        tokens_before,
    });
    Ok(end)
}

async fn summarise_plan(
    session: &mut Session,
    plan: Plan,
    run: Option<&mut Run>,
) -> Result<CompactEnd, StoreError> {
    let input_tokens = context_tokens(session);
    let output_tokens = tokens_written(&session.progress, run.as_deref());
    let payload = || pre_compact_payload(session, &plan, input_tokens, output_tokens);
    let (reply, handlers) = session.hooks.ask_whom::<PreCompact>(payload).await;
    let consent = session
        .gate
        .consent(
            &session.hooks,
            "compacting the conversation",
            reply.verdict,
            handlers,
        )
        .await;
    if session.hooks.cancel().is_cancelled() {
        return Ok(CompactEnd::Cancelled);
    }
    if let Err(reason) = consent {
        return Ok(CompactEnd::Refused(reason));
    }
    let brought = reply
        .summary
        .get()
        .filter(|summary| !summary.text.trim().is_empty());
    if let Some(brought) = brought {
        let cut = cut_of(&session.speaker, &session.transcript, &brought, plan.cut);
        let written = Written {
            text: brought.text,
            by_hook: true,
            details: brought.details,
            output_tokens,
        };
        return replace_by_summary(session, Plan { cut, ..plan }, written, run).await;
    }
    let instructions = plan.instructions.iter().chain(&reply.context.0);
    let instructions: Vec<&str> = instructions.map(String::as_str).collect();
    let written = Written {
        text: match ask_for_summary(session, &plan, &instructions, run.as_deref()).await {
            Ok(text) => text,
            Err(end) => return Ok(end),
        },
        by_hook: false,
        details: None,
        output_tokens,
    };
    replace_by_summary(session, plan, written, run).await
}

/// How many tokens the model has written in this session, including those for the current prompt.
fn tokens_written(progress: &SessionProgress, run: Option<&Run>) -> u64 {
    progress.usage.output_tokens + run.map_or(0, |run| run.usage.output_tokens)
}

fn pre_compact_payload(
    session: &Session,
    plan: &Plan,
    input_tokens: u64,
    output_tokens: u64,
) -> PreCompactPayload {
    PreCompactPayload {
        reason: plan.reason,
        scope: plan.scope,
        message_count: session.transcript.messages.len() as u32,
        messages: session.transcript.messages[..plan.cut].to_vec(),
        first_kept_id: session
            .transcript
            .messages
            .get(plan.cut)
            .map(|kept| kept.id().into()),
        kept: session.transcript.messages[plan.cut..].to_vec(),
        summary: session.summary().map(ToOwned::to_owned),
        instructions: plan.instructions.clone(),
        input_tokens,
        output_tokens,
        context_limit: Some(session.speaker.agent.window().tokens),
    }
}

/// Where a summary that a hook brings ends: at the place that the hook names, if calls stay with their results
/// there.
fn cut_of(speaker: &Speaker, transcript: &Transcript, summary: &Summary, usual: usize) -> usize {
    let Some(id) = &summary.first_kept_id else {
        return usual;
    };
    let cut = transcript.messages.iter().position(|message| message.id() == id);
    match cut.filter(|cut| transcript::may_cut(&transcript.messages, *cut)) {
        Some(cut) => cut,
        None => {
            speaker.agent.front.show(FrontUpdate::Warning(
                "a hook of pre_compact named a first message to keep where nothing can be cut; it was ignored",
            ));
            usual
        }
    }
}

/// The model writes the summary. Everything about it passes the same hooks as any other request.
async fn ask_for_summary(
    session: &mut Session,
    plan: &Plan,
    instructions: &[&str],
    run: Option<&Run>,
) -> Result<String, CompactEnd> {
    let summing = Summing {
        messages: &session.transcript.messages[..plan.cut],
        before: session.summary(),
        instructions,
        system_prompt: &session.speaker.agent.settings.compaction.prompt,
    };
    let answer = request_summary(session, summing, run).await;
    read_summary(session, answer)
}

/// The summary in the model's answer, or why there is none.
pub(crate) fn read_summary(
    session: &mut Session,
    answer: Result<Message, CallFailure>,
) -> Result<String, CompactEnd> {
    let answer = answer.map_err(|failure| match failure {
        CallFailure::Blocked(reason) | CallFailure::Limit(reason) => CompactEnd::Refused(reason),
        CallFailure::Cancelled(_) => CompactEnd::Cancelled,
        CallFailure::Provider(error, _) => CompactEnd::Provider(error),
    })?;
    let MessageBody::Assistant {
        stop_reason, usage, ..
    } = answer.body()
    else {
        unreachable!("a model answers as the assistant");
    };
    session.progress.usage = session.progress.usage.plus(*usage);
    count_answer(session, &answer);
    let text = summary_form::read(&answer);
    if *stop_reason == StopReason::Length {
        return Err(CompactEnd::NoSummary(
            "the summary was cut off at its length limit (agent.max_tokens)",
        ));
    }
    match text.is_empty() {
        true => Err(CompactEnd::NoSummary("the model wrote no summary")),
        false => Ok(text),
    }
}

/// Asks the model for a summary, through the same hooks as any other request.
pub(crate) async fn request_summary(
    session: &Session,
    summing: Summing<'_>,
    run: Option<&Run>,
) -> Result<Message, CallFailure> {
    let Summing {
        messages,
        before,
        instructions,
        system_prompt,
    } = summing;
    let purpose = RequestPurpose::Summary;
    let iteration = run.map_or(0, |run| run.iteration);
    let shown = Shown {
        system_prompt: Cow::Borrowed(""),
        messages: Cow::Borrowed(messages),
    };
    let old = match through_context_hooks(session, shown, iteration, purpose).await? {
        Prepared::Send(shown) => shown.messages,
        Prepared::Answered(text) => return ModelCall::of(session, purpose).answered(&text).await,
    };
    // The form of the agent's answers is not that of a summary.
    let plain = RequestOptions {
        answer_schema: None,
        ..session.speaker.agent.settings.options.clone()
    };
    let has_form = session.speaker.agent.provider.has_structured_answers(&plain);
    let in_form = RequestOptions {
        answer_schema: has_form.then(summary_form::schema),
        ..plain.clone()
    };
    let window = session.speaker.agent.window().tokens;
    let task = transcript::task(before, &old, instructions, window);
    let call = ModelCall {
        prompt: &task,
        iteration,
        continuation: run.map_or(0, |run| run.continuation),
        ..ModelCall::of(session, purpose)
    };
    let call = match run {
        Some(run) => ModelCall {
            fuel: run.fuel.clone(),
            ..call
        },
        None => call,
    };
    let messages = [user(&task, Vec::new())];
    let request = |options| ModelRequest {
        system_prompt,
        messages: &messages,
        tools: &[],
        options,
    };
    match call.ask(&request(&in_form)).await {
        // The server may not know the schema.
        Err(CallFailure::Provider(error, _)) if has_form && error.kind == ProviderErrorKind::Rejected => {
            call.ask(&request(&plain)).await
        }
        answered => answered,
    }
}

/// Stores the summary; from then on it stands for everything before the cut.
async fn replace_by_summary(
    session: &mut Session,
    plan: Plan,
    written: Written,
    run: Option<&mut Run>,
) -> Result<CompactEnd, StoreError> {
    let Written {
        text: summary,
        by_hook,
        details,
        output_tokens,
    } = written;
    let (before, input_tokens) = (session.transcript.messages.len(), context_tokens(session));
    let summary = match &run {
        Some(run) if plan.cut > run.first_message && run.iteration > 0 => with_prompt(summary, &run.prompt),
        _ => summary,
    };
    let first_kept_id: Option<String> = session
        .transcript
        .messages
        .get(plan.cut)
        .map(|kept| kept.id().into());
    let entry = NewEntry::new(EntryContent::Compaction {
        summary: summary.clone(),
        first_kept_id: first_kept_id.clone(),
        tokens_before: input_tokens,
        by_hook,
        details: details.clone(),
    });
    let (entry_id, time_ms) = (entry.id.clone(), entry.time_ms);
    let _ = write_entries(session, vec![entry], Vec::new()).await?;
    let tree = stored_tree(session).await?;
    let parent_id = tree.entry(&entry_id).and_then(|entry| entry.parent_id.clone());
    let standing = StandingSummary {
        text: summary.clone(),
        input_tokens,
        time_ms,
    };
    let gone = session.transcript.replace_before(plan.cut, standing);
    if let Some(run) = run {
        let own = gone.get(run.first_message..).unwrap_or_default();
        run.summarised.extend_from_slice(own);
        run.first_message = run.first_message.saturating_sub(plan.cut);
    }
    show_usage(session);
    write_summary_file(session, &summary);
    let payload = || PostCompactPayload {
        reason: plan.reason,
        scope: plan.scope,
        message_count_before: before as u32,
        message_count: session.transcript.messages.len() as u32,
        summary: summary.clone(),
        entry_id: entry_id.clone(),
        parent_id,
        first_kept_id,
        details,
        by_hook,
        input_tokens,
        output_tokens,
        context_limit: Some(session.speaker.agent.window().tokens),
    };
    let added = session.hooks.tell::<PostCompact>(payload).await.context;
    session.context.extend(added);
    Ok(CompactEnd::Compacted {
        summarised: gone.len(),
        kept: session.transcript.messages.len(),
        summary,
        entry_id,
    })
}

/// Writes the summary into a file of the context. It is stored already, so a failure here is no error.
pub(crate) fn write_summary_file(session: &Session, summary: &str) {
    let (files, front) = (session.files(), &session.speaker.agent.front);
    match files.write_own(ContextFile::Summary, summary) {
        Ok(Whose::Own) => {}
        Ok(Whose::Foreign) => {
            let file = files.path(ContextFile::Summary);
            let words = format!(
                "the summary is stored, but {} stays as it is: becket did not write it",
                file.display()
            );
            front.show(FrontUpdate::Notice(&words));
        }
        Err(error) => {
            let words = format!("the summary is stored, but its file could not be written: {error}");
            front.show(FrontUpdate::Warning(&words));
        }
    }
}

/// Writes the summaries that were asked for while nothing runs.
pub(crate) async fn grant_all(session: &mut Session) -> Result<(), StoreError> {
    while let Some(request) = session
        .inbox
        .handle
        .as_ref()
        .and_then(|handle| handle.requests().take_compaction())
    {
        grant_compaction(session, request, None).await?;
    }
    Ok(())
}

/// Writes the summaries that were asked for, before a model request of a run. Says whether there was any.
pub(crate) async fn grant_compactions(session: &mut Session, run: &mut Run) -> Result<bool, StoreError> {
    let mut shorter = false;
    while let Some(request) = session
        .inbox
        .handle
        .as_ref()
        .and_then(|handle| handle.requests().take_compaction())
    {
        shorter |= grant_compaction(session, request, Some(run)).await?;
    }
    Ok(shorter)
}

async fn grant_compaction(
    session: &mut Session,
    request: CompactRequest,
    run: Option<&mut Run>,
) -> Result<bool, StoreError> {
    let CompactRequest { instructions, answer } = request;
    let end = match run {
        Some(run) => compact_before(session, run, instructions).await,
        None => {
            session.inbox.queues.compact();
            let end = compact_all(session, instructions).await;
            session.inbox.queues.begin_work();
            end
        }
    };
    let told = end.clone().map_err(|error| HandleError::Failed(error.message));
    // The sender may have stopped waiting.
    let _ = answer.send(told);
    let end = end?;
    if let CompactEnd::Compacted { summarised, .. } = &end {
        let words = format!(
            "{}, because a hook asked for it",
            summarised_words(*summarised, "")
        );
        session.speaker.agent.front.show(FrontUpdate::Notice(&words));
    }
    Ok(matches!(end, CompactEnd::Compacted { .. }))
}

/// A summary with the current prompt in the user's own words, for when the summary stands for that prompt too.
fn with_prompt(summary: String, prompt: &str) -> String {
    format!("{summary}\n\nWhat you are asked to do now, word for word:\n\n{prompt}")
}
