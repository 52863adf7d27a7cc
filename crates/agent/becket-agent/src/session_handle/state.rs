//! What a session shows and what waits for it, under one lock, so that what is seen together was true together.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::choices::{Base, Choices};
use crate::automation::Automation;
use crate::context_files::ContextFiles;
use crate::destination::{Destination, Moved};
use crate::endings::CompactEnd;
use crate::entries::{NewEntry, ShellRun, StoredEntry};
use crate::queue::Queues;
use crate::session_judge::SessionJudge;
use crate::store::Origin;
use crate::tree::Tree;

/// Why a request at the session handle failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandleError {
    /// The session has not begun yet.
    #[error("the session has not begun yet; `session_start` tells when it has")]
    NotBegun,
    /// The session is over.
    #[error("the session is over")]
    Over,
    /// The request was tried and failed.
    #[error("{0}")]
    Failed(String),
}

/// Where a session runs.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionLocation {
    /// Identifies the session.
    pub session_id: String,
    /// The context that the session runs in.
    pub context_name: String,
    /// The directory in which the agent works.
    pub cwd: String,
    /// The files of the session's context.
    pub files: ContextFiles,
    /// Where the conversation comes from, if it did not begin in this context.
    pub origin: Option<Origin>,
}

/// What all parts of a handle share.
#[derive(Default)]
pub(super) struct Shared {
    state: Mutex<SessionState>,
    pub(super) queues: Queues,
    pub(super) automation: Automation,
}

#[derive(Default)]
pub(super) struct SessionState {
    pub(super) seen: Option<Seen>,
    pub(super) over: bool,
    pub(super) choices: Choices,
    /// Counts the choices; `heeded` is the count up to which the session has taken them up.
    pub(super) revision: u64,
    pub(super) heeded: u64,
    /// Entries that are visible already and wait to be stored.
    pub(super) unstored: Vec<NewEntry>,
    pub(super) compactions: VecDeque<CompactRequest>,
    pub(super) shell_runs: Vec<ShellRunRequest>,
    pub(super) moves: VecDeque<MoveRequest>,
    /// Whether one of the moves is being carried out.
    pub(super) is_moving: bool,
    /// Ends the run in progress.
    pub(super) cancel: Option<CancellationToken>,
    /// Whether the run was ended through the handle, and not by the user.
    pub(super) aborted: bool,
    pub(super) shutdown: bool,
}

/// The state of a session that its handle shows.
pub(super) struct Seen {
    pub(super) place: SessionLocation,
    pub(super) tree: Tree,
    pub(super) judge: Option<SessionJudge>,
    pub(super) system_prompt: String,
    pub(super) tokens: u64,
    pub(super) base: Base,
}

/// A request to summarise the conversation, whose sender waits for the answer.
pub(crate) struct CompactRequest {
    pub(crate) instructions: Option<String>,
    pub(crate) answer: oneshot::Sender<Result<CompactEnd, HandleError>>,
}

/// A request to keep a command that the user ran, whose sender may wait for the answer.
pub(crate) struct ShellRunRequest {
    pub(crate) run: ShellRun,
    pub(crate) kept: oneshot::Sender<Result<(), HandleError>>,
}

/// A request to continue elsewhere, whose sender waits for the answer.
pub struct MoveRequest {
    /// Where to continue.
    pub to: Destination,
    /// Whether the request ends what the session is doing.
    pub(super) interrupts: bool,
    pub(super) shared: Arc<Shared>,
    pub(super) answer: oneshot::Sender<Result<Moved, HandleError>>,
}

impl Shared {
    pub(super) fn see<T>(&self, look: impl FnOnce(&Seen) -> T) -> Result<T, HandleError> {
        self.state().seen.as_ref().map(look).ok_or(HandleError::NotBegun)
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut Seen)) {
        if let Some(seen) = &mut self.state().seen {
            change(seen);
        }
    }

    /// The state of a session that has begun and is not over.
    pub(super) fn open(&self) -> Result<MutexGuard<'_, SessionState>, HandleError> {
        let state = self.state();
        match (&state.seen, state.over) {
            (None, _) => Err(HandleError::NotBegun),
            (_, true) => Err(HandleError::Over),
            _ => Ok(state),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, SessionState> {
        let held = self.state.lock();
        held.expect("no panic happens while the session handle is held")
    }
}

impl Seen {
    /// Adds an entry behind the last one.
    pub(super) fn show(&mut self, entry: &NewEntry) {
        let NewEntry { id, time_ms, content } = entry.clone();
        self.tree.push(StoredEntry {
            id,
            parent_id: self.tree.leaf_id().map(ToOwned::to_owned),
            session_id: self.place.session_id.clone(),
            time_ms,
            content,
            source: None,
        });
    }
}

impl MoveRequest {
    /// Tells the sender how the request ended, or why nothing happened.
    pub fn answer(self, end: Result<Moved, String>) {
        self.shared.state().is_moving = false;
        // The sender may have stopped waiting.
        let _ = self.answer.send(end.map_err(HandleError::Failed));
    }
}
