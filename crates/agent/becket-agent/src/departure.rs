//! Wishes to go on elsewhere: in another conversation, or at another place of the same one.
//!
//! A session that is replaced belongs to whoever has it, and what must be there for another one (its context, and that
//! no other process works there) is no business of the loop's. So a wish waits at the desk until its owner takes it.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use crate::context_files::ContextFiles;
use crate::desk::{Desk, DeskError};
use crate::going::GoTo;
use crate::store::Seed;
use crate::switching::Position;

/// Where a conversation goes on.
#[derive(Clone)]
pub enum Destination {
    /// In a new conversation.
    New {
        /// The file of the conversation that it follows, if somebody says so.
        parent_file: Option<String>,
        /// Who sets it up, if anybody does.
        planter: Option<Planter>,
    },
    /// In one that there was: a context, the beginning of a session's id, or a file.
    Earlier(String),
    /// In a copy of this one up to an entry.
    Fork {
        /// The entry at which the copy ends.
        entry_id: String,
        /// Whether that entry belongs to it.
        position: Position,
    },
    /// At another entry of this one.
    Entry {
        /// The entry.
        entry_id: String,
        /// How to go there.
        how: GoTo,
    },
    /// Here, with extensions and resources as their files are now.
    Reloaded,
}

impl Destination {
    /// Whether it is another conversation.
    pub(crate) fn is_elsewhere(&self) -> bool {
        match self {
            Self::New { .. } | Self::Earlier(_) | Self::Fork { .. } => true,
            Self::Entry { .. } | Self::Reloaded => false,
        }
    }
}

/// Sets up a new conversation when the one before it has ended.
pub type Planter = Arc<dyn Fn(Site) -> BoxFuture<'static, Planted> + Send + Sync>;

/// Where a new conversation will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The id of its session.
    pub session_id: String,
    /// The files of its context.
    pub files: ContextFiles,
    /// The file of the conversation that it follows, if somebody says so.
    pub parent_file: Option<String>,
}

/// What a conversation begins with, or why it was not set up; then it begins with nothing.
pub type Planted = Result<Seed, String>;

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// It goes on there.
    Went {
        /// What was said at the chosen place, to be said again in other words.
        text: Option<String>,
    },
    /// A hook does not want it, or the person does not: it goes on as before.
    Refused(String),
}

/// Somebody wants to go on elsewhere, and waits for it.
pub struct Wish {
    /// Where to.
    pub to: Destination,
    /// Whether what the session does is ended for it.
    pub(crate) interrupts: bool,
    desk: Desk,
    answer: oneshot::Sender<Result<Moved, DeskError>>,
}

impl Wish {
    pub(crate) fn new(
        to: Destination,
        interrupts: bool,
        desk: Desk,
        answer: oneshot::Sender<Result<Moved, DeskError>>,
    ) -> Self {
        Self {
            to,
            interrupts,
            desk,
            answer,
        }
    }

    /// Tells whoever waits how it ended, or why nothing happened.
    pub fn answer(self, end: Result<Moved, String>) {
        self.desk.moved();
        // Nobody has to wait for it.
        let _ = self.answer.send(end.map_err(DeskError::Failed));
    }
}
