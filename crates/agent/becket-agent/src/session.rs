//! A session: one run of a context, from its start to its end, with everything that lasts between prompts.

use std::path::Path;
use std::sync::Arc;

use becket_events::{ErrorKind, StartReason, Strictest, Usage};
use becket_gate::Hooks;
use becket_gate::gate::Gate;

use crate::context_files::{ContextFile, ContextFiles};
use crate::endings::Ending;
use crate::family::Family;
use crate::front::FrontUpdate;
use crate::fuel::Fuel;
use crate::inbox::Inbox;
use crate::notices::{raise, warn};
use crate::progress::SessionProgress;
use crate::provider::ProviderError;
use crate::queue::Queues;
use crate::session_judge::SessionJudge;
use crate::speaker::Speaker;
use crate::store::Seed;
use crate::tool::SessionVariables;
use crate::transcript::Transcript;

/// One run of a context, from its start to its end.
pub struct Session {
    /// Asks hooks in the session's name.
    pub(crate) hooks: Hooks,
    /// Judges the calls of the session and of its sub-agents.
    pub(crate) gate: Arc<Gate>,
    /// Who speaks for the session.
    pub(crate) speaker: Speaker,
    /// The conversation, as the model sees it.
    pub(crate) transcript: Transcript,
    /// What reaches the session from outside.
    pub(crate) inbox: Inbox,
    /// How far the session has come.
    pub(crate) progress: SessionProgress,
    /// Texts of `session_start` hooks that the model sees in every turn.
    pub(crate) context: Vec<String>,
    /// Whether the session stands beside another one, so that it adds nothing to the conversation.
    pub(crate) beside: bool,
    /// The session's place among those of other agents.
    pub(crate) lineage: Lineage,
    /// Whether the context existed before the session.
    pub(crate) resumed: bool,
    /// The session that this one replaces.
    pub(crate) replaces: Option<Replaced>,
}

/// A session that another one has replaced.
#[derive(Debug, Clone)]
pub(crate) struct Replaced {
    pub(crate) session_id: String,
    pub(crate) file: String,
    /// Why the session was replaced.
    pub(crate) reason: StartReason,
}

/// How a session begins.
#[derive(Default)]
pub(crate) struct Beginning {
    pub(crate) lineage: Lineage,
    /// The gate of the parent session, or of the one that this session replaces.
    pub(crate) gate: Option<Arc<Gate>>,
    /// The conversation that the new context begins with.
    pub(crate) seed: Option<Seed>,
    /// The session that this one replaces.
    pub(crate) replaces: Option<Replaced>,
    /// The session's id, if it is already known elsewhere.
    pub(crate) session_id: Option<String>,
}

/// A session's place among those of other agents. By default it has no parent.
#[derive(Debug, Default)]
pub(crate) struct Lineage {
    /// The session that started this one as a sub-agent.
    pub(crate) parent_session_id: Option<String>,
    /// The agents of the sessions above this one, outermost first.
    pub(crate) agents_above: Vec<String>,
    /// How many sessions are above this one.
    pub(crate) depth: u32,
    /// The state that the session shares with its sub-agents and with the sessions above it.
    pub(crate) family: Arc<Family>,
    /// The fuel of the parent session.
    pub(crate) fuel: Option<Fuel>,
    /// Variables that hooks of `session_start` have set for commands, here and in the sessions above.
    pub(crate) environment: Arc<SessionVariables>,
}

impl Session {
    /// Identifies the session.
    pub fn id(&self) -> &str {
        &self.hooks.scope().session_id
    }

    /// Takes the prompt that a hook of `session_start` wants to run before the user's first one.
    pub fn take_first_prompt(&mut self) -> Option<String> {
        self.progress.first_prompt.take()
    }

    /// The current agent, which may be a member of a team.
    pub fn agent_name(&self) -> &str {
        &self.speaker.agent.settings.agent_name
    }

    /// The file with the conversation of the session's context, once it was asked for.
    pub(crate) fn file(&self) -> String {
        file_of(
            &self.speaker.agent.settings.contexts,
            &self.hooks.scope().context_name,
        )
    }

    /// The files of the session's context.
    pub(crate) fn files(&self) -> ContextFiles {
        ContextFiles::new(
            &self.speaker.agent.settings.contexts,
            &self.hooks.scope().context_name,
        )
    }

    /// The summary that replaces the older part of the conversation.
    pub(crate) fn summary(&self) -> Option<&str> {
        self.transcript.summary()
    }

    /// Whether the context existed before the session.
    pub fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// The queues for messages that arrive while the agent is at work.
    pub fn queues(&self) -> Queues {
        self.inbox.queues.clone()
    }

    /// How many messages the conversation has, as the model sees it.
    pub fn message_count(&self) -> usize {
        self.transcript.messages.len()
    }

    /// The tokens of all requests of the session.
    pub fn usage(&self) -> Usage {
        self.progress.usage
    }

    /// Shows a warning to the user, and tells hooks.
    pub(crate) async fn warn(&self, message: &str) {
        warn(&*self.speaker.agent.front, &self.hooks, message).await;
    }

    /// Tells hooks that the run failed.
    pub(crate) async fn raise(&self, kind: ErrorKind, message: &str) {
        raise(&self.hooks, kind, None, message).await;
    }

    /// Tells hooks and the user that the provider failed.
    pub(crate) async fn raise_of_provider(&self, error: &ProviderError) {
        raise(&self.hooks, ErrorKind::Provider, Some(error.kind), &error.message).await;
    }

    /// Whether hooks agreed to words of the user; otherwise how the run ends.
    pub(crate) async fn agreed(
        &self,
        subject: &str,
        verdict: Strictest,
        handlers: Vec<String>,
    ) -> Result<(), Ending> {
        let consent = self.gate.consent(&self.hooks, subject, verdict, handlers).await;
        if self.hooks.cancel().is_cancelled() {
            return Err(Ending::Cancelled);
        }
        if let Err(reason) = consent {
            self.raise(ErrorKind::HookBlocked, &reason).await;
            return Err(Ending::Blocked(reason));
        }
        Ok(())
    }

    /// A judge that asks hooks in the session's name.
    pub fn judge(&self) -> SessionJudge {
        SessionJudge {
            hooks: self.hooks.clone(),
            gate: Arc::clone(&self.gate),
            contexts: self.speaker.agent.settings.contexts.clone(),
        }
    }

    /// Shows why a hook wanted to end a run, where there is none: the next one may begin.
    pub(crate) fn tell_halt(&self, reason: Option<String>) {
        if let Some(reason) = reason {
            self.speaker.agent.front.show(FrontUpdate::Notice(&reason));
        }
    }

    /// Whether this session is that of a sub-agent.
    pub(crate) fn is_subagent(&self) -> bool {
        self.lineage.depth > 0
    }
}

/// The file with the conversation of a context, once it was asked for.
pub(crate) fn file_of(contexts: &Path, context_name: &str) -> String {
    let files = ContextFiles::new(contexts, context_name);
    files.path(ContextFile::Session).display().to_string()
}
