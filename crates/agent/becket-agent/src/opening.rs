//! Begins and ends sessions.
//!
//! A prompt is stored before its answer is asked for, and a turn is recorded when it is over. So a session that has not
//! ended, has no process, and whose last message waits for an answer was killed while one came. `trace` and `context
//! log` say so, and the next run of the context tells it once, to the user and, as a note, to the model.

use std::sync::Arc;

use becket_events::{
    EndReason, InstructionsLoaded, InstructionsLoadedPayload, LOST_ANSWER_NOTE, Message, Scope, SessionEnd,
    SessionEndPayload, SessionStart, SessionStartPayload, Setup, SetupPayload, StartReason,
};
use becket_gate::Hooks;
use becket_gate::audit::{AuditRecord, Audited};
use becket_gate::cache::OutputCache;
use becket_gate::vfs::Vfs;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, SessionAgents};
use crate::at_work::AtWork;
use crate::current_agent::{apply_choices, attach_guests, detach_guests, take_up};
use crate::entries::Conversation;
use crate::front::{FrontUpdate, user_at};
use crate::guests::Brought;
use crate::inbox::Inbox;
use crate::message::{note, tool_result};
use crate::progress::SessionProgress;
use crate::session::{Beginning, Lineage, Session, file_of};
use crate::session_handle::SessionLocation;
use crate::skills::load_library;
use crate::speaker::Speaker;
use crate::store::{NewSession, OpenedSession, Origin, StoreError};
use crate::storing::{keep_waiting, show_usage, store_messages, take_title};
use crate::transcript::Transcript;

/// Begins a session and tells hooks. What a killed process left open in the conversation is closed first.
pub(crate) async fn open_session(
    agent: Arc<Agent>,
    context_name: &str,
    beginning: Beginning,
) -> Result<Session, StoreError> {
    let mut session = unannounced(SessionAgents::of(agent), context_name, beginning).await?;
    answer_interrupted_calls(&mut session).await?;
    mark_lost_answer(&mut session).await?;
    apply_choices(&mut session).await;
    announce_session(&mut session).await;
    Ok(session)
}

/// Begins a session for direct tool calls, beside one that another process may have in the same context: nothing of
/// it becomes part of the conversation.
pub(crate) async fn open_beside(agent: Arc<Agent>, context_name: &str) -> Result<Session, StoreError> {
    let agents = SessionAgents::of(agent);
    let mut session = unannounced(agents, context_name, Beginning::default()).await?;
    session.beside = true;
    apply_choices(&mut session).await;
    announce_session(&mut session).await;
    Ok(session)
}

/// Begins a session without telling hooks. A sub-agent's session shares its parent's gate, and so the user's
/// answers.
async fn unannounced(
    agents: SessionAgents,
    context_name: &str,
    beginning: Beginning,
) -> Result<Session, StoreError> {
    let SessionAgents {
        given,
        at_work: agent,
    } = agents;
    let Beginning {
        lineage,
        gate,
        seed,
        replaces,
        session_id,
    } = beginning;
    let mut scope = agent.scope(
        context_name,
        (lineage.parent_session_id.as_deref(), &lineage.agents_above),
    );
    scope.session_id = session_id.unwrap_or(scope.session_id);
    let new = new_session(&scope);
    let opened = match seed {
        Some(seed) => agent.store.plant(new, seed).await?,
        None => agent.store.begin_session(new).await?,
    };
    let gate = gate.unwrap_or_else(|| agent.new_gate());
    let cancel = CancellationToken::new();
    let user = user_at(Arc::clone(&agent.front));
    let hooks = Hooks::new(Arc::clone(&agent.engine), user, cancel, scope)
        .in_mode(agent.settings.approval.mode.clone());
    let inbox = Inbox::new(agent.handle.clone());
    let OpenedSession {
        resumed,
        entries,
        noted,
        origin,
        lost_answer,
    } = opened;
    let mut session = Session {
        hooks,
        gate,
        speaker: Speaker {
            agent,
            given,
            unoffered: Arc::default(),
            active_tools: None,
            chosen_model: None,
            brought: Brought::default(),
        },
        transcript: Transcript::default(),
        inbox,
        progress: SessionProgress {
            lost_answer,
            ..SessionProgress::default()
        },
        context: Vec::new(),
        beside: false,
        lineage,
        resumed,
        replaces,
    };
    take_up(&mut session, Conversation::after(noted, &entries));
    show_beginning(&mut session, origin).await?;
    Ok(session)
}

fn new_session(scope: &Scope) -> NewSession {
    NewSession {
        session_id: scope.session_id.clone(),
        parent_session_id: scope.parent_session_id.clone(),
        context_name: scope.context_name.clone(),
        model: scope.model.clone(),
        cwd: scope.cwd.clone(),
    }
}

/// Keeps a hook's prompt for before the user's first one. A sub-agent has a prompt of its own, and nobody else.
fn keep_first_prompt(session: &mut Session, prompt: Option<String>) {
    let Some(prompt) = prompt.filter(|prompt| !prompt.trim().is_empty()) else {
        return;
    };
    match session.is_subagent() {
        true => session.speaker.agent.front.show(FrontUpdate::Warning(
            "a hook wanted to start with a prompt, which a sub-agent cannot do",
        )),
        false => session.progress.first_prompt = Some(prompt),
    }
}

async fn announce_session(session: &mut Session) {
    attach_guests(session);
    let reason = match (&session.replaces, session.resumed) {
        (Some(replaced), _) => replaced.reason,
        _ if session.is_subagent() => StartReason::Subagent,
        (None, true) => StartReason::Resume,
        (None, false) => StartReason::Startup,
    };
    let mut context = set_up(session, reason).await;
    let settings = &session.speaker.agent.settings;
    let payload = || SessionStartPayload {
        reason,
        home: settings.home.display().to_string(),
        project_root: settings.project_root.display().to_string(),
        tool_count: session.speaker.agent.tools.len() as u32,
        tools: session.speaker.agent.tool_names(),
        message_count: session.transcript.messages.len() as u32,
        previous_session_id: session
            .replaces
            .as_ref()
            .map(|replaced| replaced.session_id.clone()),
        previous_session_file: session.replaces.as_ref().map(|replaced| replaced.file.clone()),
    };
    let reply = session.hooks.ask::<SessionStart>(payload).await;
    session.progress.announced = true;
    context.extend(reply.context.0);
    session.context = context;
    set_variables(session, &reply.environment.0);
    keep_first_prompt(session, reply.first_prompt.get());
    if let Some(title) = reply.title.get().filter(|_| !session.resumed && !session.beside) {
        take_title(session, &title).await;
    }
    tell_instructions(session).await;
    // A session beside another one gets no prompt that could use skills.
    if !session.is_subagent() && !session.beside {
        load_library(session, reason).await;
    }
}

/// Lets hooks set up or maintain the project, if the user wants that. Returns text for the model.
async fn set_up(session: &mut Session, reason: StartReason) -> Vec<String> {
    let is_first = matches!(reason, StartReason::Startup | StartReason::Resume);
    let wanted = session.speaker.agent.settings.setup;
    let Some(reason) = wanted.filter(|_| is_first && !session.beside) else {
        return Vec::new();
    };
    let payload = || SetupPayload { reason };
    let reply = session.hooks.ask::<Setup>(payload).await;
    set_variables(session, &reply.environment.0);
    reply.context.0
}

/// Sets variables for the commands of the session and its sub-agents. Numbers and truths count as they are written.
fn set_variables(session: &mut Session, variables: &Map<String, Value>) {
    if variables.is_empty() {
        return;
    }
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    // Names and values that no system takes would keep every command from starting.
    let is_variable = |(name, value): &(String, String)| {
        !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
    };
    let set = variables.iter().map(|(name, value)| (name.clone(), text(value)));
    let set = set.filter(is_variable);
    Arc::make_mut(&mut session.lineage.environment).extend(set);
}

/// Tells hooks which files instruct the model. Sub-agents have none.
async fn tell_instructions(session: &Session) {
    if session.is_subagent() || session.beside {
        return;
    }
    for (path, text) in &session.speaker.agent.settings.prompt_files {
        let payload = || InstructionsLoadedPayload {
            path: path.clone(),
            text: text.clone(),
        };
        session.hooks.tell::<InstructionsLoaded>(payload).await;
    }
}

/// Shows the conversation at the session handle before the first prompt.
async fn show_beginning(session: &mut Session, origin: Option<Origin>) -> Result<(), StoreError> {
    let Some(handle) = &session.inbox.handle else {
        return Ok(());
    };
    let tree = session.speaker.agent.store.tree(session.id()).await?;
    let scope = session.hooks.scope();
    let place = SessionLocation {
        session_id: scope.session_id.clone(),
        context_name: scope.context_name.clone(),
        cwd: scope.cwd.clone(),
        files: session.files(),
        origin,
    };
    let instructions = &session.speaker.agent.settings.instructions;
    let of_session = (instructions.as_str(), session.judge());
    handle.begin(place, tree, session.speaker.base(), of_session);
    show_usage(session);
    Ok(())
}

/// Adds results for calls that a killed process left without any, so that the conversation is valid again.
async fn answer_interrupted_calls(session: &mut Session) -> Result<(), StoreError> {
    let Some(asking) = session
        .transcript
        .messages
        .iter()
        .rposition(|message| !message.tool_calls().is_empty())
    else {
        return Ok(());
    };
    let answered: Vec<&str> = session.transcript.messages[asking + 1..]
        .iter()
        .filter_map(answered_call)
        .collect();
    let open = session.transcript.messages[asking]
        .tool_calls()
        .iter()
        .filter(|call| !answered.contains(&call.id.as_str()));
    let words = "no result: becket ended before this call did, or runs it elsewhere; \
                 it may or may not have had its effect";
    let results: Vec<Message> = open
        .map(|call| tool_result(&call.id, &call.name, vec![becket_events::Part::text(words)], true))
        .collect();
    store_messages(session, results).await
}

/// Marks an answer that becket was writing when it was killed: it may have been seen, and is not stored. The
/// conversation and hooks are told so once.
async fn mark_lost_answer(session: &mut Session) -> Result<(), StoreError> {
    if !std::mem::take(&mut session.progress.lost_answer) {
        return Ok(());
    }
    session.speaker.agent.front.show(FrontUpdate::Warning(
        "the last answer is not stored: becket was killed while it arrived. The conversation continues without it",
    ));
    let words =
        "The answer to this is not stored: becket was killed while it came. Some of it may have been seen.";
    store_messages(session, vec![note(LOST_ANSWER_NOTE, words)]).await
}

/// Ends the session.
pub(crate) async fn end_session(session: Session, reason: EndReason) -> Result<(), StoreError> {
    let handle = session.inbox.handle.clone();
    let ended = end_for(session, reason, None).await;
    if let Some(handle) = handle {
        handle.end();
    }
    ended
}

/// Ends the session, perhaps for another one in its place. What waits at the session handle stays there.
pub(crate) async fn end_for(
    mut session: Session,
    reason: EndReason,
    successor: Option<Successor<'_>>,
) -> Result<(), StoreError> {
    apply_choices(&mut session).await;
    let settings = &session.speaker.agent.settings;
    // Whoever hears of the end finds nothing of the session still at work, whichever member has started it.
    let members = session.speaker.agent.team.iter().flat_map(|team| team.members());
    let tools = members
        .flat_map(|member| &member.tools)
        .chain(&session.speaker.agent.tools);
    for tool in tools {
        tool.end_session(session.id()).await;
    }
    let payload = || SessionEndPayload {
        reason,
        home: settings.home.display().to_string(),
        project_root: settings.project_root.display().to_string(),
        tool_count: session.speaker.agent.tools.len() as u32,
        usage: session.progress.usage,
        next: successor.as_ref().map(|next| next.reason),
        next_session_file: successor.map(|next| file_of(&settings.contexts, next.context_name)),
    };
    session.hooks.tell::<SessionEnd>(payload).await;
    detach_guests(&session);
    let cache = OutputCache::new(Vfs::new(&settings.vfs));
    // The session at the top cleans up once for all of its sub-agents.
    if !session.is_subagent()
        && let Err(error) = cache.clean_up(settings.cache_max_age)
    {
        let message = format!("old tool outputs could not be removed: {error}");
        session.speaker.agent.front.show(FrontUpdate::Warning(&message));
    }
    // Hooks of the session's end may have left entries to store.
    let kept = keep_waiting(&mut session).await;
    let ledger = Audited::Ledger(session.hooks.ledger().counts());
    session
        .speaker
        .agent
        .store
        .audit(AuditRecord::now(session.hooks.scope(), ledger));
    // What is stored says whether everything was answered.
    let stored = match reason {
        EndReason::Left => EndReason::Done,
        reason => reason,
    };
    let word = serde_json::to_value(stored).ok();
    let word = word.as_ref().and_then(|word| word.as_str()).unwrap_or("ended");
    let ended = session.speaker.agent.store.end_session(session.id(), word).await;
    kept.and(ended)
}

/// Begins the session of a sub-agent.
pub(crate) async fn open_below(parent: &AtWork, agents: SessionAgents) -> Result<Session, StoreError> {
    let scope = parent.hooks.scope();
    let lineage = Lineage {
        parent_session_id: Some(scope.session_id.clone()),
        agents_above: [
            scope.agents_above.as_slice(),
            std::slice::from_ref(&scope.agent_name),
        ]
        .concat(),
        depth: parent.depth + 1,
        family: Arc::clone(&parent.family),
        fuel: Some(parent.fuel.lent()),
        environment: Arc::clone(&parent.environment),
    };
    let gate = Arc::clone(&parent.gate);
    let beginning = Beginning {
        lineage,
        gate: Some(gate),
        ..Beginning::default()
    };
    let mut child = unannounced(agents, &scope.context_name, beginning).await?;
    child.hooks.set_cancel(parent.hooks.cancel().child_token());
    announce_session(&mut child).await;
    Ok(child)
}

/// The session that replaces another one.
pub(crate) struct Successor<'a> {
    pub(crate) reason: StartReason,
    pub(crate) context_name: &'a str,
}

/// The call that a message answers.
fn answered_call(message: &Message) -> Option<&str> {
    match message.body() {
        becket_events::MessageBody::Tool { tool_call_id, .. } => Some(tool_call_id),
        _ => None,
    }
}
