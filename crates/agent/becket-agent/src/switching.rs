//! What a session does with its context as a whole: entering it by choice, clearing it, and leaving it for another one:
//! for a fork of it, for a new one, or for one that there was.

use std::sync::Arc;

use becket_events::{
    EndReason, ErrorKind, PostClear, PostClearPayload, PostSessionFork, PostSessionForkPayload,
    PostSessionSwitch, PostSessionSwitchPayload, PreClear, PreClearPayload, PreSessionFork,
    PreSessionForkPayload, PreSessionSwitch, PreSessionSwitchPayload, StartReason, SwitchReason,
};
use tokio_util::sync::CancellationToken;

use crate::context_files::{ContextFile, Whose};
use crate::front::Sight;
use crate::going::place_of;
use crate::session::{Beginning, Measured, Replaced, Session, Successor, file_of};
use crate::session_judge::SessionJudge;
use crate::store::{EntryContent, NewEntry, Origin, Seed, SeedEntry, StoreError, StoredEntry};
use crate::tree::Tree;

/// A choice of context, as the person made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// The context that was current.
    pub from_context: String,
    /// How long the choice lasts.
    pub lasting: Lasting,
}

/// How long a choice of context lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasting {
    /// Until another one is chosen.
    Always,
    /// For this run; the current context stays what it is.
    ThisRun,
}

/// A fork of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    /// The entry at which it begins.
    pub entry_id: String,
    /// Whether that entry belongs to it.
    pub position: Position,
    /// The context that it will be, which must be new.
    pub to_context: String,
}

/// Where a fork begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Before the entry.
    Before,
    /// With the entry.
    At,
}

/// How a fork ended. Where nothing was forked, the session goes on.
pub enum Forked {
    /// The session of the new context took the place of the one before.
    Forked {
        /// That session.
        session: Box<Session>,
        /// What was said at the entry, to be said again in other words.
        text: Option<String>,
    },
    /// The conversation has no such entry.
    NoEntry(Box<Session>),
}

/// Another conversation that takes the place of this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// Its context, which is made if it is new.
    pub to_context: String,
    /// Whether it is a new one or one that there was.
    pub reason: SwitchReason,
    /// The session that is taken up, if it is known.
    pub target_session_id: Option<String>,
    /// The id that the session will have.
    pub session_id: String,
    /// How long the choice of that context lasts.
    pub lasting: Lasting,
}

/// Hooks have agreed that the conversation goes on elsewhere. Nobody else can say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Consent {
    /// Whether a fork is to begin with nothing.
    without_messages: bool,
}

/// A hook did not let it happen; its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub String);

impl Session {
    /// Makes the session's context the chosen one, if no hook minds. For the moment right after the session began.
    pub async fn switch(&mut self, switch: Switch) -> Result<Result<(), Refused>, StoreError> {
        let Switch {
            from_context,
            lasting,
        } = switch;
        let transient = lasting == Lasting::ThisRun;
        let to_context = self.hooks.scope().context_name.clone();
        let reason = SwitchReason::Context;
        let payload = || PreSessionSwitchPayload {
            reason,
            from_context: from_context.clone(),
            to_context: to_context.clone(),
            target_session_id: None,
            target_session_file: Some(self.file()),
            transient,
        };
        let (reply, handlers) = self.hooks.ask_whom::<PreSessionSwitch>(payload).await;
        let consent = self
            .gate
            .consent(&self.hooks, "this switch", reply.verdict, handlers)
            .await;
        if let Err(reason) = consent {
            self.raise(ErrorKind::HookBlocked, &reason).await;
            return Ok(Err(Refused(reason)));
        }
        if !transient {
            self.agent.store.make_current(&to_context).await?;
        }
        let payload = || PostSessionSwitchPayload {
            reason,
            from_context,
            to_context,
            previous_session_id: None,
            previous_session_file: None,
            transient,
        };
        self.hooks.tell::<PostSessionSwitch>(payload).await;
        Ok(Ok(()))
    }

    /// Archives the conversation, if no hook minds: the next prompt is the first of a new one. A cancel refuses.
    pub async fn clear(&mut self, cancel: CancellationToken) -> Result<Result<(), Refused>, StoreError> {
        self.hooks.set_cancel(cancel);
        let message_count = self.messages.len() as u32;
        let summary = self.summary().map(ToOwned::to_owned);
        let payload = || PreClearPayload {
            message_count,
            summary: summary.clone(),
        };
        let (reply, handlers) = self.hooks.ask_whom::<PreClear>(payload).await;
        let consent = self
            .gate
            .consent(&self.hooks, "this clearing", reply.verdict, handlers)
            .await;
        if let Err(reason) = consent {
            self.raise(ErrorKind::HookBlocked, &reason).await;
            return Ok(Err(Refused(reason)));
        }
        self.agent.store.clear(self.id()).await?;
        self.messages.clear();
        self.unmeasured = 0;
        self.measured = Measured::default();
        self.standing = None;
        if let Some(desk) = &self.desk {
            desk.clear();
        }
        self.show_usage();
        let files = self.files();
        let whose = files.remove_own(ContextFile::Summary).map_err(|error| {
            StoreError::new(format!(
                "the context was cleared, but its summary in {} cannot be removed: {error}",
                files.folder().display()
            ))
        })?;
        if whose == Whose::Foreign {
            let file = files.path(ContextFile::Summary);
            let words = format!("{} stays: becket did not write it", file.display());
            self.agent.front.show(Sight::Notice(&words));
        }
        let payload = || PostClearPayload {
            message_count,
            summary,
        };
        self.hooks.tell::<PostClear>(payload).await;
        Ok(Ok(()))
    }

    /// Goes on in a fork of the conversation, which hooks have agreed to: a new context with what was said until there.
    /// `meanwhile` is done when this session has ended and the other one has not begun.
    pub async fn fork(
        mut self,
        fork: Fork,
        consent: Consent,
        cancel: CancellationToken,
        meanwhile: impl AsyncFnOnce(),
    ) -> Result<Forked, StoreError> {
        self.hooks.set_cancel(cancel);
        self.heed().await;
        self.keep().await?;
        let tree = self.tree().await?;
        let Some(entry) = tree.entry(&fork.entry_id).cloned() else {
            return Ok(Forked::NoEntry(Box::new(self)));
        };
        let (leaf_id, text) = match fork.position {
            Position::Before => (entry.parent_id.clone(), place_of(&entry).1),
            Position::At => (Some(entry.id.clone()), None),
        };
        let leaf_id = leaf_id.filter(|_| !consent.without_messages);
        let origin = Origin::Fork {
            context_name: self.hooks.scope().context_name.clone(),
            session_id: self.id().into(),
            entry_id: entry.id.clone(),
        };
        let seed = seed_of(&tree, leaf_id.as_deref(), origin);
        let (from_context, previous) = (
            self.hooks.scope().context_name.clone(),
            self.replaced(StartReason::Fork),
        );
        let seeded = async || {
            meanwhile().await;
            Some(seed)
        };
        let session = self
            .succeeded_by(&fork.to_context, None, StartReason::Fork, seeded)
            .await?;
        let payload = || PostSessionForkPayload {
            entry_id: fork.entry_id,
            previous_session_id: previous.session_id,
            from_context,
            previous_session_file: Some(previous.file),
        };
        session.hooks.tell::<PostSessionFork>(payload).await;
        let session = Box::new(session);
        Ok(Forked::Forked { session, text })
    }

    /// Goes on with another conversation, which hooks have agreed to. `meanwhile` is done when this session has ended
    /// and the other one has not begun, and gives what a new conversation begins with, if that is something.
    pub async fn leave_for(
        mut self,
        replacement: Replacement,
        _: Consent,
        cancel: CancellationToken,
        meanwhile: impl AsyncFnOnce() -> Option<Seed>,
    ) -> Result<Self, StoreError> {
        let Replacement {
            to_context,
            reason,
            session_id,
            lasting,
            ..
        } = replacement;
        self.hooks.set_cancel(cancel);
        self.heed().await;
        let from_context = self.hooks.scope().context_name.clone();
        let transient = lasting == Lasting::ThisRun;
        let is_new = reason == SwitchReason::New;
        let start = if is_new {
            StartReason::New
        } else {
            StartReason::Resume
        };
        let previous = self.replaced(start);
        let session = self
            .succeeded_by(&to_context, Some(session_id), start, meanwhile)
            .await?;
        if !transient {
            session.agent.store.make_current(&to_context).await?;
        }
        let payload = || PostSessionSwitchPayload {
            reason,
            from_context,
            to_context,
            previous_session_id: Some(previous.session_id),
            previous_session_file: Some(previous.file),
            transient,
        };
        session.hooks.tell::<PostSessionSwitch>(payload).await;
        Ok(session)
    }

    /// This session, as the one that takes its place knows it.
    fn replaced(&self, reason: StartReason) -> Replaced {
        Replaced {
            session_id: self.id().into(),
            file: self.file(),
            reason,
        }
    }

    /// Ends this session and begins another one of the same agent, at the same desk. What was said to this one and
    /// nobody has heard is not for the other.
    async fn succeeded_by(
        self,
        context_name: &str,
        session_id: Option<String>,
        reason: StartReason,
        meanwhile: impl AsyncFnOnce() -> Option<Seed>,
    ) -> Result<Self, StoreError> {
        let agent = Arc::clone(&self.given);
        let (replaces, queues) = (Some(self.replaced(reason)), self.queues.clone());
        let successor = Successor { reason, context_name };
        self.end_for(EndReason::Switched, Some(successor)).await?;
        queues.forget();
        let seed = meanwhile().await;
        let beginning = Beginning {
            seed,
            replaces,
            session_id,
            ..Beginning::default()
        };
        Self::open_as(agent, context_name, beginning).await
    }
}

impl SessionJudge {
    /// Asks whether another conversation may take the place of this one. A cancel refuses.
    pub async fn judge_replacement(
        &self,
        replacement: &Replacement,
        cancel: &CancellationToken,
    ) -> Result<Consent, Refused> {
        let hooks = self.hooks_until(cancel);
        let to_context = &replacement.to_context;
        let is_new = replacement.reason == SwitchReason::New;
        let payload = || PreSessionSwitchPayload {
            reason: replacement.reason,
            from_context: hooks.scope().context_name.clone(),
            to_context: to_context.clone(),
            target_session_id: replacement.target_session_id.clone(),
            target_session_file: (!is_new).then(|| file_of(&self.contexts, to_context)),
            transient: replacement.lasting == Lasting::ThisRun,
        };
        let (reply, handlers) = hooks.ask_whom::<PreSessionSwitch>(payload).await;
        let consent = self
            .gate
            .consent(&hooks, "this switch", reply.verdict, handlers)
            .await;
        let agreed = Self::unless_cancelled(&hooks, consent).await.map_err(Refused);
        agreed.map(|()| Consent {
            without_messages: false,
        })
    }

    /// The same about a fork.
    pub async fn judge_fork(&self, fork: &Fork, cancel: &CancellationToken) -> Result<Consent, Refused> {
        let hooks = self.hooks_until(cancel);
        let payload = || PreSessionForkPayload {
            entry_id: fork.entry_id.clone(),
            including: fork.position == Position::At,
            to_context: fork.to_context.clone(),
        };
        let (reply, handlers) = hooks.ask_whom::<PreSessionFork>(payload).await;
        let consent = self
            .gate
            .consent(&hooks, "this fork", reply.verdict, handlers)
            .await;
        let agreed = Self::unless_cancelled(&hooks, consent).await.map_err(Refused);
        agreed.map(|()| Consent {
            without_messages: reply.without_messages.0 == Some(true),
        })
    }
}

/// The conversation up to an entry, for another context. Entries keep their ids, so whatever names one stays right. The
/// labels that they have now come at the end, wherever they were given.
fn seed_of(tree: &Tree, leaf_id: Option<&str>, origin: Origin) -> Seed {
    let is_label = |entry: &StoredEntry| matches!(entry.content, EntryContent::Label { .. });
    let path = tree.path_to(leaf_id);
    let path: Vec<&StoredEntry> = path
        .iter()
        .map(AsRef::as_ref)
        .filter(|entry| !is_label(entry))
        .collect();
    let labels = path.iter().filter_map(|entry| {
        let label = tree.label(&entry.id)?;
        let content = EntryContent::Label {
            target_id: entry.id.clone(),
            label: Some(label.text.clone()),
        };
        let mut given = NewEntry::new(content);
        given.time_ms = label.time_ms;
        Some((given, None))
    });
    let copied = path.iter().map(|entry| {
        let copy = NewEntry {
            id: entry.id.clone(),
            time_ms: entry.time_ms,
            content: entry.content.clone(),
        };
        (copy, entry.source.clone())
    });
    let mut leaf_id = None;
    let entries = copied.chain(labels).map(|(entry, source)| SeedEntry {
        parent_id: leaf_id.replace(entry.id.clone()),
        entry,
        source,
    });
    let entries = entries.collect();
    Seed {
        entries,
        leaf_id,
        origin,
    }
}
