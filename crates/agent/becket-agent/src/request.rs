//! Builds what a request shows to the model: the conversation, what hooks add to it, and the tools.
//!
//! Texts that last for one prompt or one turn stand at the end of the messages. Everything before them stays the same
//! from request to request, so that providers can cache it. What `session_start` adds lasts as long as the session and
//! goes into the system prompt.

use std::borrow::Cow;
use std::sync::Arc;

use becket_events::{
    Fallback, Message, MessageBody, ModelContext, ModelContextPayload, RequestPurpose, ToolOffer,
    ToolsOffered, ToolsOfferedPayload,
};

use crate::message::note;
use crate::model_call::{CallFailure, ModelCall, Prepared};
use crate::progress::Run;
use crate::provider::{ModelRequest, ToolFace};
use crate::session::Session;
use crate::settings::EndingTool;
use crate::speaker::Speaker;
use crate::store::StoreError;
use crate::storing::write_entries;
use crate::tool::{Tool, ToolSpec};
use crate::transcript::Transcript;

/// The tools of one request.
#[derive(Default)]
pub(crate) struct OfferedTools {
    /// The tools that the model may call.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// The tools that its calls may use: also those that are only left out because nobody has asked for them.
    pub(crate) callable: Vec<Arc<dyn Tool>>,
}

/// The tools of this request, after hooks have taken some away.
async fn offered_tools(session: &Session, run: &Run) -> OfferedTools {
    let speaker = &session.speaker;
    let possible = speaker
        .agent
        .tools
        .iter()
        .filter(|tool| is_tool_of_use(speaker, tool.spec(), run) && may_ask_agents(session, &***tool));
    let (tools, others): (Vec<&Arc<dyn Tool>>, Vec<_>) =
        possible.partition(|tool| speaker.offers(tool.spec()));
    let payload = || ToolsOfferedPayload {
        tools: tools.iter().map(|tool| offer(tool.spec())).collect(),
        fuel_remaining: run.fuel.remaining(),
        fuel_total: run.fuel.total,
        continuation: run.continuation,
    };
    let reply = session.hooks.ask::<ToolsOffered>(payload).await;
    let (include, exclude) = (reply.include.get(), reply.exclude.0);
    let is_kept = |tool: &&Arc<dyn Tool>| {
        let name = &tool.spec().face.name;
        include.as_ref().is_none_or(|include| include.contains(name)) && !exclude.contains(name)
    };
    let tools: Vec<Arc<dyn Tool>> = tools.into_iter().filter(is_kept).cloned().collect();
    // What somebody has chosen is all there is.
    let others = others.into_iter().filter(|_| speaker.active_tools.is_none());
    let callable = tools.iter().chain(others.filter(is_kept)).cloned().collect();
    OfferedTools { tools, callable }
}

/// Whether the tool is allowed here: one that asks sub-agents is not offered where they would be too deep.
fn may_ask_agents(session: &Session, tool: &dyn Tool) -> bool {
    session.lineage.depth < session.speaker.agent.settings.subagents.max_depth || !tool.asks_agents()
}

/// Whether the tool is of use: one that ends the turn is not, if the model's answer ends it anyhow.
fn is_tool_of_use(speaker: &Speaker, spec: &ToolSpec, run: &Run) -> bool {
    !spec.only_ends_turn()
        || speaker.agent.settings.ending_tool == EndingTool::Always
        || run.fallback == Fallback::CallAgent
        || run.continuation > 0
}

/// Asks the model for its next answer, and returns it with the tools that the model had. Answers that broke off and
/// were asked for again leave a mark in the conversation.
pub(crate) async fn ask_model(
    session: &Session,
    run: &Run,
    turn_context: Vec<String>,
) -> Result<Result<(Message, OfferedTools), CallFailure>, StoreError> {
    let call = ModelCall {
        prompt: &run.prompt,
        iteration: run.iteration,
        fuel: run.fuel.clone(),
        continuation: run.continuation,
        ..ModelCall::of(session, RequestPurpose::Answer)
    };
    let messages = visible_messages(&session.transcript, run, turn_context);
    let answer = answer_of(&call, (session, run), messages).await;
    let replaced = call.take_replaced();
    if !replaced.is_empty() {
        let _ = write_entries(session, replaced, Vec::new()).await?;
    }
    Ok(answer)
}

async fn answer_of(
    call: &ModelCall<'_>,
    (session, run): (&Session, &Run),
    messages: Cow<'_, [Message]>,
) -> Result<(Message, OfferedTools), CallFailure> {
    let shown = Shown {
        system_prompt: with_session_context(&session.context, &run.system_prompt),
        messages,
    };
    let shown = through_context_hooks(session, shown, call.iteration, RequestPurpose::Answer).await?;
    let Shown {
        system_prompt,
        messages,
    } = match shown {
        Prepared::Send(shown) => shown,
        // Such an answer calls no tool.
        Prepared::Answered(text) => return Ok((call.answered(&text).await?, OfferedTools::default())),
    };
    let tools = offered_tools(session, run).await;
    let faces: Vec<ToolFace> = tools.tools.iter().map(|tool| tool.spec().face.clone()).collect();
    let request = ModelRequest {
        system_prompt: &system_prompt,
        messages: &messages,
        tools: &faces,
        options: &session.speaker.agent.settings.options,
    };
    Ok((call.ask(&request).await?, tools))
}

/// What the model sees.
pub(crate) struct Shown<'m> {
    /// The system prompt.
    pub(crate) system_prompt: Cow<'m, str>,
    /// The conversation.
    pub(crate) messages: Cow<'m, [Message]>,
}

/// Lets hooks rewrite what the model sees, whatever the request is for.
pub(crate) async fn through_context_hooks<'m>(
    session: &Session,
    shown: Shown<'m>,
    iteration: u32,
    purpose: RequestPurpose,
) -> Result<Prepared<Shown<'m>>, CallFailure> {
    let Shown {
        system_prompt,
        messages,
    } = shown;
    let payload = || ModelContextPayload {
        system_prompt: system_prompt.to_string(),
        messages: messages.to_vec(),
        summary: session.transcript.standing.clone(),
        iteration,
        purpose,
    };
    let (reply, handlers) = session.hooks.ask_whom::<ModelContext>(payload).await;
    let consent = session
        .gate
        .consent(&session.hooks, "this request", reply.verdict, handlers)
        .await;
    if session.hooks.cancel().is_cancelled() {
        return Err(CallFailure::Cancelled(None));
    }
    consent.map_err(CallFailure::Blocked)?;
    Ok(match reply.response.get() {
        Some(text) => Prepared::Answered(text),
        None => Prepared::Send(Shown {
            system_prompt: reply.system_prompt.get().map_or(system_prompt, Cow::Owned),
            messages: reply.messages.get().map_or(messages, Cow::Owned),
        }),
    })
}

/// The conversation, with the texts that last only for this prompt or this turn at its end.
fn visible_messages<'s>(
    transcript: &'s Transcript,
    run: &Run,
    turn_context: Vec<String>,
) -> Cow<'s, [Message]> {
    let passing: Vec<&str> = run
        .context
        .iter()
        .chain(&turn_context)
        .map(String::as_str)
        .collect();
    let passing = (!passing.is_empty()).then(|| note("hook", &passing.join("\n\n")));
    // Providers want the user to speak first, and the summary may stand for the user's message.
    let opens_with_model = transcript
        .messages
        .first()
        .is_some_and(|message| matches!(message.body(), MessageBody::Assistant { .. }));
    let opening = opens_with_model.then(|| note("summary", SUMMARISED));
    let tasks = run.tasks.as_deref().map(|table| note("tasks", table));
    if passing.is_none() && opening.is_none() && tasks.is_none() {
        return Cow::Borrowed(&transcript.messages);
    }
    // Put before the user's last message, which stays what the model answers.
    let is_user = |message: &Message| matches!(message.body(), MessageBody::User { .. });
    let place = transcript.messages.iter().rposition(is_user).unwrap_or(0);
    let (before, after) = transcript.messages.split_at(place);
    let before = opening.into_iter().chain(before.iter().cloned());
    Cow::Owned(
        before
            .chain(tasks)
            .chain(after.iter().cloned())
            .chain(passing)
            .collect(),
    )
}

/// A system prompt with the texts that `session_start` hooks have added.
pub(crate) fn with_session_context<'a>(context: &[String], system_prompt: &'a str) -> Cow<'a, str> {
    if context.is_empty() {
        return Cow::Borrowed(system_prompt);
    }
    Cow::Owned(format!("{system_prompt}\n\n{}", context.join("\n\n")))
}

const SUMMARISED: &str = "The conversation up to here is summarised in the system prompt. Go on from there.";

fn offer(spec: &ToolSpec) -> ToolOffer {
    ToolOffer {
        name: spec.face.name.clone(),
        operation: spec.operation,
        source: spec.source.clone(),
    }
}
