//! What a session does with its context as a whole: choosing it, clearing it, and leaving it for another one: a fork, a
//! new one, or an earlier one.

use std::sync::Arc;

use becket_events::{
    EndReason, ErrorKind, PostClear, PostClearPayload, PostSessionFork, PostSessionForkPayload,
    PostSessionSwitch, PostSessionSwitchPayload, PreClear, PreClearPayload, PreSessionFork,
    PreSessionForkPayload, PreSessionSwitch, PreSessionSwitchPayload, StartReason, Strictest, SwitchReason,
};
use tokio_util::sync::CancellationToken;

use crate::context_files::{ContextFile, Whose};
use crate::current_agent::apply_choices;
use crate::destination::Position;
use crate::entries::{EntryContent, NewEntry, StoredEntry};
use crate::front::FrontUpdate;
use crate::navigation::place_of;
use crate::opening::{Successor, end_for, open_session};
use crate::session::{Beginning, Replaced, Session, file_of};
use crate::session_judge::SessionJudge;
use crate::store::{Origin, Seed, SeedEntry, StoreError};
use crate::storing::{keep_waiting, show_usage, stored_tree};
use crate::tree::Tree;

/// A choice of context, as the user made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// The context that was current before.
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
    /// The entry at which the fork begins.
    pub entry_id: String,
    /// Whether the fork includes that entry.
    pub position: Position,
    /// The context of the fork, which must be new.
    pub to_context: String,
}

/// How a fork ended. If nothing was forked, the session goes on.
pub enum Forked {
    /// The session of the new context has replaced the one before.
    Forked {
        /// The new session.
        session: Box<Session>,
        /// The user's text at the entry, to be edited and sent again.
        text: Option<String>,
    },
    /// The conversation has no such entry; the session goes on.
    NoEntry(Box<Session>),
}

/// Another conversation that is to replace this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// The context to switch to, which is made if it is new.
    pub to_context: String,
    /// Whether the conversation is a new or an earlier one.
    pub reason: SwitchReason,
    /// The session that is resumed, if it is known.
    pub target_session_id: Option<String>,
    /// The id of the new session.
    pub session_id: String,
    /// How long the choice of that context lasts.
    pub lasting: Lasting,
}

/// Proof that hooks have agreed to continue elsewhere; only the session judge can make one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Consent {
    /// Whether a fork is to begin without messages.
    without_messages: bool,
}

/// The reason of a hook that refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub String);

/// Makes the session's context the current one, unless a hook refuses. Called right after the session began.
pub(crate) async fn switch_context(
    session: &mut Session,
    switch: Switch,
) -> Result<Result<(), Refused>, StoreError> {
    let Switch {
        from_context,
        lasting,
    } = switch;
    let transient = lasting == Lasting::ThisRun;
    let to_context = session.hooks.scope().context_name.clone();
    let reason = SwitchReason::Context;
    let payload = || PreSessionSwitchPayload {
        reason,
        from_context: from_context.clone(),
        to_context: to_context.clone(),
        target_session_id: None,
        target_session_file: Some(session.file()),
        transient,
    };
    let (reply, handlers) = session.hooks.ask_whom::<PreSessionSwitch>(payload).await;
    if let Err(refused) = consented(session, "this switch", reply.verdict, handlers).await {
        return Ok(Err(refused));
    }
    if !transient {
        session.speaker.agent.store.make_current(&to_context).await?;
    }
    let payload = || PostSessionSwitchPayload {
        reason,
        from_context,
        to_context,
        previous_session_id: None,
        previous_session_file: None,
        transient,
    };
    session.hooks.tell::<PostSessionSwitch>(payload).await;
    Ok(Ok(()))
}

/// Whether hooks agreed; a refusal is told to those who hear of errors.
async fn consented(
    session: &Session,
    subject: &str,
    verdict: Strictest,
    handlers: Vec<String>,
) -> Result<(), Refused> {
    let consent = session
        .gate
        .consent(&session.hooks, subject, verdict, handlers)
        .await;
    if let Err(reason) = &consent {
        session.raise(ErrorKind::HookBlocked, reason).await;
    }
    consent.map_err(Refused)
}

/// Archives the conversation, unless a hook refuses: the next prompt is the first of a new one. A cancel refuses.
pub(crate) async fn clear_conversation(
    session: &mut Session,
    cancel: CancellationToken,
) -> Result<Result<(), Refused>, StoreError> {
    session.hooks.set_cancel(cancel);
    let message_count = session.transcript.messages.len() as u32;
    let summary = session.summary().map(ToOwned::to_owned);
    let payload = || PreClearPayload {
        message_count,
        summary: summary.clone(),
    };
    let (reply, handlers) = session.hooks.ask_whom::<PreClear>(payload).await;
    if let Err(refused) = consented(session, "this clearing", reply.verdict, handlers).await {
        return Ok(Err(refused));
    }
    session.speaker.agent.store.clear(session.id()).await?;
    session.transcript.clear();
    if let Some(handle) = &session.inbox.handle {
        handle.conversation().clear();
    }
    show_usage(session);
    let files = session.files();
    let whose = files.remove_own(ContextFile::Summary).map_err(|error| {
        StoreError::new(format!(
            "the context was cleared, but its summary in {} cannot be removed: {error}",
            files.folder().display()
        ))
    })?;
    if whose == Whose::Foreign {
        let file = files.path(ContextFile::Summary);
        let words = format!("{} stays: becket did not write it", file.display());
        session.speaker.agent.front.show(FrontUpdate::Notice(&words));
    }
    let payload = || PostClearPayload {
        message_count,
        summary,
    };
    session.hooks.tell::<PostClear>(payload).await;
    Ok(Ok(()))
}

/// Continues in a fork of the conversation, which hooks have agreed to: a new context with the conversation up to
/// an entry. `meanwhile` runs when this session has ended and the other one has not begun.
pub(crate) async fn fork_conversation(
    mut session: Session,
    fork: Fork,
    consent: Consent,
    cancel: CancellationToken,
    meanwhile: impl AsyncFnOnce(),
) -> Result<Forked, StoreError> {
    session.hooks.set_cancel(cancel);
    apply_choices(&mut session).await;
    keep_waiting(&mut session).await?;
    let tree = stored_tree(&session).await?;
    let Some(entry) = tree.entry(&fork.entry_id).cloned() else {
        return Ok(Forked::NoEntry(Box::new(session)));
    };
    let (leaf_id, text) = match fork.position {
        Position::Before => (entry.parent_id.clone(), place_of(&entry).1),
        Position::At => (Some(entry.id.clone()), None),
    };
    let leaf_id = leaf_id.filter(|_| !consent.without_messages);
    let origin = Origin::Fork {
        context_name: session.hooks.scope().context_name.clone(),
        session_id: session.id().into(),
        entry_id: entry.id.clone(),
    };
    let seed = seed_of(&tree, leaf_id.as_deref(), origin);
    let (from_context, previous) = (
        session.hooks.scope().context_name.clone(),
        as_replaced(&session, StartReason::Fork),
    );
    let seeded = async || {
        meanwhile().await;
        Some(seed)
    };
    let session = succeeded_by(session, &fork.to_context, None, StartReason::Fork, seeded).await?;
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

/// Continues with another conversation, which hooks have agreed to. `meanwhile` runs when this session has ended
/// and the other one has not begun, and returns what a new conversation begins with, if anything.
pub(crate) async fn leave_session_for(
    mut session: Session,
    replacement: Replacement,
    _: Consent,
    cancel: CancellationToken,
    meanwhile: impl AsyncFnOnce() -> Option<Seed>,
) -> Result<Session, StoreError> {
    let Replacement {
        to_context,
        reason,
        session_id,
        lasting,
        ..
    } = replacement;
    session.hooks.set_cancel(cancel);
    apply_choices(&mut session).await;
    let from_context = session.hooks.scope().context_name.clone();
    let transient = lasting == Lasting::ThisRun;
    let is_new = reason == SwitchReason::New;
    let start = if is_new {
        StartReason::New
    } else {
        StartReason::Resume
    };
    let previous = as_replaced(&session, start);
    let session = succeeded_by(session, &to_context, Some(session_id), start, meanwhile).await?;
    if !transient {
        session.speaker.agent.store.make_current(&to_context).await?;
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

/// This session, as its successor knows it.
fn as_replaced(session: &Session, reason: StartReason) -> Replaced {
    Replaced {
        session_id: session.id().into(),
        file: session.file(),
        reason,
    }
}

/// Ends this session and begins another one of the same agent, with the same session handle. Messages to this
/// session that were not delivered are dropped.
async fn succeeded_by(
    session: Session,
    context_name: &str,
    session_id: Option<String>,
    reason: StartReason,
    meanwhile: impl AsyncFnOnce() -> Option<Seed>,
) -> Result<Session, StoreError> {
    let agent = Arc::clone(&session.speaker.given);
    let (replaces, queues) = (Some(as_replaced(&session, reason)), session.inbox.queues.clone());
    let successor = Successor { reason, context_name };
    end_for(session, EndReason::Switched, Some(successor)).await?;
    queues.forget();
    let seed = meanwhile().await;
    let beginning = Beginning {
        seed,
        replaces,
        session_id,
        ..Beginning::default()
    };
    open_session(agent, context_name, beginning).await
}

impl SessionJudge {
    /// Asks hooks whether another conversation may replace this one. A cancel refuses.
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

    /// Asks hooks whether the conversation may be forked. A cancel refuses.
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

/// The conversation up to an entry, for another context. Entries keep their ids, so that references to them stay valid.
/// The current labels come at the end, wherever they were given.
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
