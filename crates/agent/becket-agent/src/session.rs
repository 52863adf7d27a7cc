//! A session: one run of a context, from its start to its end, with everything that lasts between prompts.

use std::path::Path;
use std::sync::Arc;

use becket_events::{
    Class, EndReason, ErrorKind, ErrorRaised, ErrorRaisedPayload, EventId, LOST_ANSWER_NOTE, Level, Message,
    MessageEnd, MessageEndPayload, MessageStart, MessageStartPayload, Notification, NotificationPayload,
    Scope, SessionEnd, SessionEndPayload, SessionStart, SessionStartPayload, StandingSummary, StartReason,
    Usage,
};
use becket_hooks::{DispatchTrace, Engine, ReportedFailure, Witness};
use tokio_util::sync::CancellationToken;

use crate::audit::{AuditRecord, Audited};
use crate::cache::OutputCache;
use crate::context_files::{ContextFile, ContextFiles};
use crate::desk::{Base, Desk, Place};
use crate::family::Family;
use crate::front::{Front, Sight};
use crate::fuel::Fuel;
use crate::gate::Gate;
use crate::guests::{Brought, Guests};
use crate::hooks::Hooks;
use crate::mail::MailSource;
use crate::message::{new_id, note, tool_result};
use crate::provider::Provider;
use crate::queue::Queues;
use crate::settings::AgentSettings;
use crate::store::{
    Conversation, NewEntry, NewSession, Noted, OpenedSession, Origin, Seed, Store, StoreError,
};
use crate::team::Team;
use crate::tool::Tool;
use crate::vfs::Vfs;

/// Everything that an agent works with.
pub struct Agent {
    /// Asks the hooks.
    pub engine: Arc<Engine>,
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// What the model may ask for.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Remembers.
    pub store: Arc<dyn Store>,
    /// Where the person is.
    pub front: Arc<dyn Front>,
    /// Where letters come from besides the store.
    pub mail: Option<Arc<dyn MailSource>>,
    /// The agents that work together here. The prompt, model, tools and limits of the one that has the word stand in
    /// the place of those of this agent.
    pub team: Option<Arc<Team>>,
    /// Where code outside of the loop sees and steers the session, if there is any.
    pub desk: Option<Desk>,
    /// Who brings tools while a session runs, if anybody does.
    pub guests: Option<Arc<dyn Guests>>,
    /// What the agent was told at its start.
    pub settings: AgentSettings,
}

impl Agent {
    /// A gate for a session that shares none.
    fn new_gate(&self) -> Arc<Gate> {
        let (approval, vfs) = (self.settings.approval.clone(), Vfs::new(&self.settings.vfs));
        let gate = Gate::new(approval, &self.settings.cwd, vfs, Arc::clone(&self.front));
        Arc::new(gate.recording(Arc::clone(&self.store)))
    }

    /// In whose name and where the events of a new session happen.
    fn scope(&self, context_name: &str, lineage: &Lineage) -> Scope {
        let settings = &self.settings;
        Scope {
            session_id: new_id(),
            parent_session_id: lineage.parent_session_id.clone(),
            context_name: context_name.into(),
            agent_name: settings.agent_name.clone(),
            agents_above: lineage.agents_above.clone(),
            model: model_name(&*self.provider),
            cwd: settings.cwd.display().to_string(),
            turn: 0,
        }
    }
}

/// One run of a context.
pub struct Session {
    /// The agent at work.
    pub(crate) agent: Arc<Agent>,
    /// The agent as the session was given it, before a member of its team took its place.
    pub(crate) given: Arc<Agent>,
    pub(crate) hooks: Hooks,
    pub(crate) gate: Arc<Gate>,
    pub(crate) queues: Queues,
    /// Where the session is seen and steered from outside. Sub-agents have none.
    pub(crate) desk: Option<Desk>,
    /// The tools that the model is offered, where somebody has chosen.
    pub(crate) active_tools: Option<Vec<String>>,
    /// The tools that guests have brought.
    pub(crate) brought: Brought,
    /// Whether hooks were told that it has begun.
    pub(crate) announced: bool,
    /// Whether something has run since hooks were told that nothing is left to do.
    pub(crate) unsettled: bool,
    /// How many requests hooks have caused by what they said since the person last spoke.
    pub(crate) unasked: u32,
    /// Whether an answer was lost because becket was killed, and nobody was told yet.
    pub(crate) lost_answer: bool,
    /// Whether nothing of the session becomes part of the conversation.
    pub(crate) beside: bool,
    /// The conversation from the last compaction on.
    pub(crate) messages: Vec<Message>,
    /// What stands for everything before.
    pub(crate) standing: Option<StandingSummary>,
    /// How many messages were kept at the last compaction. What their requests cost says nothing about the next one.
    pub(crate) unmeasured: usize,
    /// How long the conversation is, as far as it was looked at.
    pub(crate) measured: Measured,
    /// The model, and how much it thinks, as entries of the conversation last said it.
    pub(crate) noted: Noted,
    /// What hooks of `session_start` want the model to see in every turn.
    pub(crate) context: Vec<String>,
    pub(crate) usage: Usage,
    pub(crate) turn: u32,
    /// Where the session stands among those of other agents.
    pub(crate) lineage: Lineage,
    /// Whether the context existed before the session.
    resumed: bool,
    /// The session that this one replaces.
    replaces: Option<Replaced>,
}

/// A session that another one has replaced.
#[derive(Debug, Clone)]
pub(crate) struct Replaced {
    pub(crate) session_id: String,
    pub(crate) file: String,
    /// Why it was.
    pub(crate) reason: StartReason,
}

/// How a session begins.
#[derive(Default)]
pub(crate) struct Beginning {
    pub(crate) lineage: Lineage,
    /// The gate of the session above it, or of the one that it replaces.
    pub(crate) gate: Option<Arc<Gate>>,
    /// The conversation that its new context begins with.
    pub(crate) seed: Option<Seed>,
    /// The session that this one replaces.
    pub(crate) replaces: Option<Replaced>,
    /// The id that somebody knows it by already.
    pub(crate) session_id: Option<String>,
}

/// An agent as a session is given it, and the one that is at work in its place: a member of its team, if it has one.
pub(crate) struct Seats {
    pub(crate) given: Arc<Agent>,
    pub(crate) at_work: Arc<Agent>,
}

impl Seats {
    /// The first member of a team has the word.
    fn of(given: Arc<Agent>) -> Self {
        let first = given.team.as_ref().and_then(|team| team.members().first());
        let at_work = first.map_or_else(|| Arc::clone(&given), |first| Arc::new(given.seating(first)));
        Self { given, at_work }
    }
}

/// When a message becomes part of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joins {
    /// In a run.
    InRun,
    /// While nothing runs; it is only kept.
    AtRest,
}

/// Where a session stands among those of other agents. By default nobody stands above it.
#[derive(Debug, Default)]
pub(crate) struct Lineage {
    /// The session that asks this one as its sub-agent.
    pub(crate) parent_session_id: Option<String>,
    /// The agents of the sessions above it, outermost first.
    pub(crate) agents_above: Vec<String>,
    /// How many sessions stand above it.
    pub(crate) depth: u32,
    /// What it shares with its sub-agents, and with those above it.
    pub(crate) family: Arc<Family>,
    /// The fuel of the one above it.
    pub(crate) fuel: Option<Fuel>,
}

/// The length of a conversation: how many of its messages were looked at, and how many tokens they are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Measured {
    pub(crate) messages: usize,
    pub(crate) tokens: u64,
}

impl Session {
    /// Begins a session in a context, which is made if it is new. No other process works on the context meanwhile.
    pub async fn open(agent: Arc<Agent>, context_name: &str) -> Result<Self, StoreError> {
        Self::open_as(agent, context_name, Beginning::default()).await
    }

    pub(crate) async fn open_as(
        agent: Arc<Agent>,
        context_name: &str,
        beginning: Beginning,
    ) -> Result<Self, StoreError> {
        let mut session = Self::unannounced(Seats::of(agent), context_name, beginning).await?;
        session.answer_interrupted_calls().await?;
        session.mark_lost_answer().await?;
        session.heed().await;
        session.announce().await;
        Ok(session)
    }

    /// Begins a session for calls of tools, beside one that another process may have in the same context: nothing of it
    /// becomes part of the conversation.
    pub async fn open_beside(agent: Arc<Agent>, context_name: &str) -> Result<Self, StoreError> {
        let seats = Seats::of(agent);
        let mut session = Self::unannounced(seats, context_name, Beginning::default()).await?;
        session.beside = true;
        session.heed().await;
        session.announce().await;
        Ok(session)
    }

    /// Begins a session without telling hooks. One below another shares its gate, and so what the person has said.
    pub(crate) async fn unannounced(
        seats: Seats,
        context_name: &str,
        beginning: Beginning,
    ) -> Result<Self, StoreError> {
        let Seats {
            given,
            at_work: agent,
        } = seats;
        let Beginning {
            lineage,
            gate,
            seed,
            replaces,
            session_id,
        } = beginning;
        let mut scope = agent.scope(context_name, &lineage);
        scope.session_id = session_id.unwrap_or(scope.session_id);
        let new = NewSession {
            session_id: scope.session_id.clone(),
            parent_session_id: scope.parent_session_id.clone(),
            context_name: scope.context_name.clone(),
            model: scope.model.clone(),
            cwd: scope.cwd.clone(),
        };
        let opened = match seed {
            Some(seed) => agent.store.plant(new, seed).await?,
            None => agent.store.begin_session(new).await?,
        };
        let gate = gate.unwrap_or_else(|| agent.new_gate());
        let cancel = CancellationToken::new();
        let hooks = Hooks::new(Arc::clone(&agent.engine), Arc::clone(&agent.front), cancel, scope);
        let desk = agent.desk.clone();
        let OpenedSession {
            resumed,
            entries,
            origin,
            lost_answer,
        } = opened;
        let mut session = Self {
            agent,
            given,
            hooks,
            gate,
            queues: desk.as_ref().map(Desk::queues).unwrap_or_default(),
            desk,
            active_tools: None,
            brought: Brought::default(),
            announced: false,
            unsettled: false,
            unasked: 0,
            lost_answer,
            beside: false,
            messages: Vec::new(),
            standing: None,
            unmeasured: 0,
            measured: Measured::default(),
            noted: Noted::default(),
            context: Vec::new(),
            usage: Usage::default(),
            turn: 0,
            lineage,
            resumed,
            replaces,
        };
        session.take_up(Conversation::of(&entries));
        session.show_beginning(origin).await?;
        Ok(session)
    }

    /// Goes on with a conversation as its entries tell it.
    pub(crate) fn take_up(&mut self, conversation: Conversation) {
        let Conversation {
            messages,
            unmeasured,
            speaker,
            standing,
            noted,
        } = conversation;
        self.messages = messages;
        self.unmeasured = unmeasured;
        self.measured = Measured::default();
        self.standing = standing;
        self.noted = noted;
        if let Some(speaker) = speaker {
            self.seat(&speaker);
        }
    }

    /// Shows at the desk what there is before the first prompt.
    async fn show_beginning(&mut self, origin: Option<Origin>) -> Result<(), StoreError> {
        let Some(desk) = &self.desk else {
            return Ok(());
        };
        let tree = self.agent.store.tree(self.id()).await?;
        let scope = self.hooks.scope();
        let place = Place {
            session_id: scope.session_id.clone(),
            context_name: scope.context_name.clone(),
            cwd: scope.cwd.clone(),
            files: self.files(),
            origin,
        };
        let instructions = &self.agent.settings.instructions;
        let of_session = (instructions.as_str(), self.judge());
        desk.begin(place, tree, Base::of(&self.agent), of_session);
        self.show_usage();
        Ok(())
    }

    /// Identifies the session.
    pub fn id(&self) -> &str {
        &self.hooks.scope().session_id
    }

    /// The agent that has the word.
    pub fn agent_name(&self) -> &str {
        &self.agent.settings.agent_name
    }

    /// Where the conversation of the session's context can be read, once somebody has asked for that.
    pub(crate) fn file(&self) -> String {
        file_of(&self.agent.settings.contexts, &self.hooks.scope().context_name)
    }

    /// The files of the session's context.
    pub(crate) fn files(&self) -> ContextFiles {
        ContextFiles::new(&self.agent.settings.contexts, &self.hooks.scope().context_name)
    }

    /// What stands for the conversation before its messages.
    pub(crate) fn summary(&self) -> Option<&str> {
        self.standing.as_ref().map(|standing| standing.text.as_str())
    }

    /// Whether the context existed before the session.
    pub fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// The queues for words that come in while the agent is at work.
    pub fn queues(&self) -> Queues {
        self.queues.clone()
    }

    /// How many messages the conversation has, as the model sees it.
    pub fn message_count(&self) -> usize {
        self.messages.len()
    }

    /// What all requests of the session cost.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Ends the session.
    pub async fn end(self, reason: EndReason) -> Result<(), StoreError> {
        let desk = self.desk.clone();
        let ended = self.end_for(reason, None).await;
        if let Some(desk) = desk {
            desk.end();
        }
        ended
    }

    /// Ends the session, for another one to begin in its place if one does. What is at the desk stays there.
    pub(crate) async fn end_for(
        mut self,
        reason: EndReason,
        successor: Option<Successor<'_>>,
    ) -> Result<(), StoreError> {
        self.heed().await;
        let settings = &self.agent.settings;
        // Whoever hears of the end finds nothing of the session still at work, whichever member has started it.
        let members = self.agent.team.iter().flat_map(|team| team.members());
        let tools = members.flat_map(|member| &member.tools).chain(&self.agent.tools);
        for tool in tools {
            tool.end_session(self.id()).await;
        }
        let payload = || SessionEndPayload {
            reason,
            home: settings.home.display().to_string(),
            project_root: settings.project_root.display().to_string(),
            tool_count: self.agent.tools.len() as u32,
            usage: self.usage,
            next: successor.as_ref().map(|next| next.reason),
            next_session_file: successor.map(|next| file_of(&settings.contexts, next.context_name)),
        };
        self.hooks.tell::<SessionEnd>(payload).await;
        self.dismiss_guests();
        let cache = OutputCache::new(Vfs::new(&settings.vfs));
        // Once for all of the family is enough.
        if !self.is_subagent()
            && let Err(error) = cache.clean_up(settings.cache_max_age)
        {
            let message = format!("old tool outputs could not be removed: {error}");
            self.agent.front.show(Sight::Warning(&message));
        }
        // Whoever heard of the end may have had something to remember.
        let kept = self.keep().await;
        let ledger = Audited::Ledger(self.hooks.ledger().counts());
        self.agent
            .store
            .audit(AuditRecord::now(self.hooks.scope(), ledger));
        let word = serde_json::to_value(reason).ok();
        let word = word.as_ref().and_then(|word| word.as_str()).unwrap_or("ended");
        let ended = self.agent.store.end_session(self.id(), word).await;
        kept.and(ended)
    }

    pub(crate) async fn announce(&mut self) {
        self.seat_guests();
        let reason = match (&self.replaces, self.resumed) {
            (Some(replaced), _) => replaced.reason,
            _ if self.is_subagent() => StartReason::Subagent,
            (None, true) => StartReason::Resume,
            (None, false) => StartReason::Startup,
        };
        let settings = &self.agent.settings;
        let payload = || SessionStartPayload {
            reason,
            home: settings.home.display().to_string(),
            project_root: settings.project_root.display().to_string(),
            tool_count: self.agent.tools.len() as u32,
            message_count: self.messages.len() as u32,
            previous_session_id: self.replaces.as_ref().map(|replaced| replaced.session_id.clone()),
            previous_session_file: self.replaces.as_ref().map(|replaced| replaced.file.clone()),
        };
        let reply = self.hooks.ask::<SessionStart>(payload).await;
        self.announced = true;
        self.context = reply.context.0;
        // Beside another session there is no prompt that could want something of it.
        if !self.is_subagent() && !self.beside {
            self.fill_shelf(reason).await;
        }
    }

    /// Calls that a killed process left without results get one, so that the conversation is whole again.
    async fn answer_interrupted_calls(&mut self) -> Result<(), StoreError> {
        let Some(asking) = self
            .messages
            .iter()
            .rposition(|message| !message.tool_calls().is_empty())
        else {
            return Ok(());
        };
        let answered: Vec<&str> = self.messages[asking + 1..]
            .iter()
            .filter_map(answered_call)
            .collect();
        let open = self.messages[asking]
            .tool_calls()
            .iter()
            .filter(|call| !answered.contains(&call.id.as_str()));
        let words = "no result: becket ended before this call did, or runs it elsewhere; \
                     it may or may not have had its effect";
        let results: Vec<Message> = open
            .map(|call| tool_result(&call.id, &call.name, vec![becket_events::Part::text(words)], true))
            .collect();
        self.store_messages(results).await
    }

    /// An answer that was coming when becket was killed may have been seen, and is not stored: the conversation and
    /// whoever goes on with it are told so, once.
    async fn mark_lost_answer(&mut self) -> Result<(), StoreError> {
        if !std::mem::take(&mut self.lost_answer) {
            return Ok(());
        }
        self.agent.front.show(Sight::Warning(
            "the last answer is not stored: becket was killed while it came. The conversation goes on without it",
        ));
        let words = "The answer to this is not stored: becket was killed while it came. Some of it may have been seen.";
        self.store_messages(vec![note(LOST_ANSWER_NOTE, words)]).await
    }

    /// Brings messages through their hooks, stores them, and adds them to the conversation.
    pub(crate) async fn add(&mut self, messages: Vec<Message>) -> Result<(), StoreError> {
        let finished = self.finished(messages, Joins::InRun).await;
        self.store_messages(finished).await
    }

    /// Messages as their hooks leave them.
    pub(crate) async fn finished(&self, messages: Vec<Message>, joins: Joins) -> Vec<Message> {
        let mut finished = Vec::with_capacity(messages.len());
        for message in messages {
            self.hooks
                .tell::<MessageStart>(|| MessageStartPayload {
                    message: message.clone(),
                    at_rest: joins == Joins::AtRest,
                })
                .await;
            finished.push(self.completed(message, joins).await);
        }
        finished
    }

    /// A message is complete: hooks may replace it by one of the same role.
    pub(crate) async fn completed(&self, message: Message, joins: Joins) -> Message {
        let reply = self
            .hooks
            .tell::<MessageEnd>(|| MessageEndPayload {
                message: message.clone(),
                at_rest: joins == Joins::AtRest,
            })
            .await;
        let message = match reply.message.get() {
            Some(other) if same_role(&other, &message) => other,
            Some(_) => {
                self.agent.front.show(Sight::Warning(
                    "a hook of message_end changed a message's role; it was ignored",
                ));
                message
            }
            None => message,
        };
        self.agent.front.show(Sight::Message(&message));
        message
    }

    pub(crate) async fn store_messages(&mut self, messages: Vec<Message>) -> Result<(), StoreError> {
        if messages.is_empty() {
            return Ok(());
        }
        let entries = messages.iter().map(NewEntry::from).collect();
        let _ = self.write(entries, Vec::new()).await?;
        self.messages.extend(messages);
        self.show_usage();
        Ok(())
    }

    /// Tells the person and the hooks.
    pub(crate) async fn notify(&self, level: Level, message: &str) {
        self.agent.front.show(Sight::Warning(message));
        self.hooks
            .tell::<Notification>(|| NotificationPayload {
                level,
                message: message.into(),
            })
            .await;
    }

    /// Tells that the run failed.
    pub(crate) async fn raise(&self, kind: ErrorKind, message: &str) {
        raise(&self.hooks, kind, message).await;
    }
}

/// Tells hooks that something went wrong.
pub(crate) async fn raise(hooks: &Hooks, kind: ErrorKind, message: &str) {
    let payload = || NotificationPayload {
        level: Level::Error,
        message: message.into(),
    };
    hooks.tell::<Notification>(payload).await;
    let payload = || ErrorRaisedPayload {
        kind,
        message: message.into(),
    };
    hooks.tell::<ErrorRaised>(payload).await;
}

/// The session that takes the place of another one.
pub(crate) struct Successor<'a> {
    pub(crate) reason: StartReason,
    pub(crate) context_name: &'a str,
}

/// Where the conversation of a context can be read, once somebody has asked for that.
pub(crate) fn file_of(contexts: &Path, context_name: &str) -> String {
    let files = ContextFiles::new(contexts, context_name);
    files.path(ContextFile::Session).display().to_string()
}

/// The call that a message answers.
fn answered_call(message: &Message) -> Option<&str> {
    match message.body() {
        becket_events::MessageBody::Tool { tool_call_id, .. } => Some(tool_call_id),
        _ => None,
    }
}

fn same_role(one: &Message, other: &Message) -> bool {
    std::mem::discriminant(one.body()) == std::mem::discriminant(other.body())
}

/// A model as events name it.
pub(crate) fn model_name(provider: &dyn Provider) -> String {
    format!("{}/{}", provider.name(), provider.model())
}

/// Hands what the engine has to tell to the store and to the person.
pub struct RecordKeeper {
    /// Gets the traces.
    pub store: Arc<dyn Store>,
    /// Shows the failures.
    pub front: Arc<dyn Front>,
}

impl Witness for RecordKeeper {
    fn dispatched(&self, trace: DispatchTrace) {
        let session_id = trace.session_id.clone();
        self.store.trace(&session_id, trace);
    }

    fn failed(&self, failure: &ReportedFailure) {
        self.front.show(Sight::HookFailed(failure));
    }

    /// Everything that guards can be asked about, so that one which is written later can be tried on it. Events that
    /// hold the conversation are left out: each turn would cost all turns before it.
    fn keeps(&self, event: EventId) -> bool {
        let holds_conversation = [EventId::ModelContext, EventId::PreRequest, EventId::PreCompact];
        event.info().class == Class::Guard && !holds_conversation.contains(&event)
    }
}
