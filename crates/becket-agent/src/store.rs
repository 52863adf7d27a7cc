//! What the agent needs of a place that remembers.
//!
//! Everything that a method has returned for is on disk. A transcript is a tree: every entry names its parent, and a
//! context points at the entry where the conversation stands.

use becket_events::Message;
use becket_hooks::DispatchTrace;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

/// A place that remembers.
pub trait Store: Send + Sync {
    /// Opens a context, making it if it is new, and begins a session in it.
    fn begin_session<'a>(&'a self, session: NewSession) -> BoxFuture<'a, Result<OpenedSession, StoreError>>;

    /// Adds entries after the one at which the session stands, all or none.
    fn append<'a>(
        &'a self,
        session_id: &'a str,
        entries: Vec<NewEntry>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Notes how a session ended.
    fn end_session<'a>(
        &'a self,
        session_id: &'a str,
        reason: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Archives the conversation of the session's context: its entries stay readable, and the next message is the
    /// first of a new conversation.
    fn clear<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Chooses the context in which runs go on that choose none themselves.
    fn make_current<'a>(&'a self, context_name: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Keeps bytes under their content hash, which it returns.
    fn put_blob<'a>(&'a self, bytes: Vec<u8>) -> BoxFuture<'a, Result<String, StoreError>>;

    /// The bytes with that hash.
    fn blob<'a>(&'a self, hash: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>>;

    /// Records a dispatch. May be written a little later, together with others; `append` writes what is pending.
    fn trace(&self, session_id: &str, trace: DispatchTrace);
}

/// A session that is about to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSession {
    /// Identifies the session.
    pub session_id: String,
    /// The session that started this one as a sub-agent.
    pub parent_session_id: Option<String>,
    /// The context it runs in.
    pub context_name: String,
    /// The model in use, as `provider/name`.
    pub model: String,
    /// The directory in which the agent works.
    pub cwd: String,
}

/// A session that has begun.
#[derive(Debug, Clone)]
pub struct OpenedSession {
    /// Whether the context existed before.
    pub resumed: bool,
    /// The entries from the root to where the conversation stands.
    pub entries: Vec<StoredEntry>,
}

/// Something to remember.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEntry {
    /// Identifies the entry; a message's own id.
    pub id: String,
    /// What it is.
    pub content: EntryContent,
}

/// An entry as it was stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEntry {
    /// Identifies the entry.
    pub id: String,
    /// The entry before it.
    pub parent_id: Option<String>,
    /// The session that wrote it.
    pub session_id: String,
    /// When it was stored, in milliseconds since 1970.
    pub time_ms: u64,
    /// What it is.
    pub content: EntryContent,
}

/// What an entry can be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EntryContent {
    /// A message of the conversation.
    Message {
        /// The message.
        message: Message,
    },
    /// From here on the summary stands for everything before `first_kept_id`.
    Compaction {
        /// The summary.
        summary: String,
        /// The first message that is kept; `None` when none is.
        first_kept_id: Option<String>,
    },
    /// Data of a hook, never seen by the model.
    Custom {
        /// A name of the hook's own choice.
        kind: String,
        /// The data.
        data: serde_json::Value,
    },
}

/// Why something could not be remembered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    /// What happened, where, and what to try.
    pub message: String,
}

impl StoreError {
    /// A failure with that message.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}
