//! Where a session may continue: in another conversation, or at another place of the same one.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::context_files::ContextFiles;
use crate::store::Seed;

/// Where to continue.
#[derive(Clone)]
pub enum Destination {
    /// In a new conversation.
    New {
        /// The file of the conversation that the new one follows, if that is known.
        parent_file: Option<String>,
        /// Sets up the new conversation, if anything does.
        setup: Option<ConversationSetup>,
    },
    /// In an earlier conversation: a context, the beginning of a session's id, or a file.
    Earlier(String),
    /// In a copy of this conversation up to an entry.
    Fork {
        /// The entry at which the copy ends.
        entry_id: String,
        /// Whether the copy includes that entry.
        position: Position,
    },
    /// At another entry of this conversation.
    Entry {
        /// The entry to go to.
        entry_id: String,
        /// What to do on the way there.
        how: GoTo,
    },
    /// In this conversation, with extensions and resources reloaded from their files.
    Reloaded,
}

impl Destination {
    /// Whether the destination is another conversation.
    pub(crate) fn is_elsewhere(&self) -> bool {
        match self {
            Self::New { .. } | Self::Earlier(_) | Self::Fork { .. } => true,
            Self::Entry { .. } | Self::Reloaded => false,
        }
    }
}

/// Sets up a new conversation when the one before it has ended.
pub type ConversationSetup = Arc<dyn Fn(NewConversation) -> BoxFuture<'static, SetupResult> + Send + Sync>;

/// A new conversation that is about to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewConversation {
    /// The id of the new conversation's session.
    pub session_id: String,
    /// The files of the new conversation's context.
    pub files: ContextFiles,
    /// The file of the conversation that the new one follows, if that is known.
    pub parent_file: Option<String>,
}

/// What a new conversation begins with, or why it was not set up; then it begins empty.
pub type SetupResult = Result<Seed, String>;

/// How a request to continue elsewhere ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// The session continues at the destination.
    Went {
        /// The user's text at the chosen place, to be edited and sent again.
        text: Option<String>,
    },
    /// A hook or the user refused: the session continues as before.
    Refused(String),
}

/// How to move to another entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GoTo {
    /// Whether to write a summary of the branch that is left.
    pub summarize: bool,
    /// What the summary should pay attention to.
    pub instructions: Option<String>,
    /// Whether `instructions` replace the usual instructions for summaries instead of extending them.
    pub replace_instructions: bool,
    /// A label for the new place: for the summary if there is one, else for the entry.
    pub label: Option<String>,
}

/// Where a fork begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Before the entry.
    Before,
    /// With the entry.
    At,
}
