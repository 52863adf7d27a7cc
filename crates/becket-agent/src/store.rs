//! What the agent needs of a place that remembers.
//!
//! Everything that a method has returned for is on disk. A transcript is a tree: every entry names its parent, and a
//! context points at the entry where the conversation stands.

use becket_events::{Message, StandingSummary};
use becket_hooks::DispatchTrace;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::message::{new_id, now_ms};

/// A place that remembers.
pub trait Store: Send + Sync {
    /// Opens a context, making it if it is new, and begins a session in it. One below another session begins with
    /// nothing, and what it adds is no part of the context's conversation.
    fn begin_session<'a>(&'a self, session: NewSession) -> BoxFuture<'a, Result<OpenedSession, StoreError>>;

    /// Adds entries after the one at which the session stands, all or none.
    fn append<'a>(
        &'a self,
        session_id: &'a str,
        entries: Vec<NewEntry>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Puts letters into the inboxes of contexts, which need not exist yet: all or none. A letter whose origin is
    /// known already was delivered before, and is left out.
    fn deliver<'a>(&'a self, letters: Vec<Letter>) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The letters that wait for a context, in the order in which they came.
    fn inbox<'a>(&'a self, context_name: &'a str) -> BoxFuture<'a, Result<Vec<WaitingLetter>, StoreError>>;

    /// Adds entries as `append` does, and takes letters out of the inbox of the session's context, all of it or
    /// nothing: so each letter is shown exactly once.
    fn append_consuming<'a>(
        &'a self,
        session_id: &'a str,
        entries: Vec<NewEntry>,
        letters: Vec<i64>,
    ) -> BoxFuture<'a, Result<Consumed, StoreError>>;

    /// The names of all contexts.
    fn context_names<'a>(&'a self) -> BoxFuture<'a, Result<Vec<String>, StoreError>>;

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

/// A message from one context to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// The context it is for.
    pub to: String,
    /// Who wrote it.
    pub from: String,
    /// What it says.
    pub content: String,
    /// Tells letters apart that are brought in from elsewhere and may be brought twice.
    pub origin: Option<String>,
}

/// A letter that waits in an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingLetter {
    /// Identifies the letter; later ones have larger ids.
    pub id: i64,
    /// Who wrote it.
    pub from: String,
    /// What it says.
    pub content: String,
    /// When it was delivered, in milliseconds since 1970.
    pub time_ms: u64,
}

/// Whether letters could be consumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Consumed {
    /// All of them were waiting; they are consumed and the entries are stored.
    All,
    /// At least one was no longer waiting, so nothing was consumed and nothing stored.
    TakenByAnother,
}

/// Something to remember.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEntry {
    /// Identifies the entry; a message's own id.
    pub id: String,
    /// When it came to be, in milliseconds since 1970.
    pub time_ms: u64,
    /// What it is.
    pub content: EntryContent,
}

impl NewEntry {
    /// An entry of this moment.
    pub fn new(content: EntryContent) -> Self {
        Self {
            id: new_id(),
            time_ms: now_ms(),
            content,
        }
    }
}

impl From<&Message> for NewEntry {
    fn from(message: &Message) -> Self {
        Self {
            id: message.id().into(),
            time_ms: now_ms(),
            content: EntryContent::Message {
                message: message.clone(),
            },
        }
    }
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
    /// When it came to be, in milliseconds since 1970.
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
        /// How many tokens the conversation had before.
        #[serde(default)]
        tokens_before: u64,
        /// Whether a hook wrote the summary.
        #[serde(default)]
        by_hook: bool,
        /// Data of the hook that wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<serde_json::Value>,
    },
    /// From here on this member of a team has the word.
    Speaker {
        /// The member.
        agent_name: String,
    },
    /// From here on the conversation has this name.
    Name {
        /// The name.
        name: String,
    },
    /// From here on an entry has this label.
    Label {
        /// The entry.
        target_id: String,
        /// The label; `None` takes it away.
        label: Option<String>,
    },
    /// Data of a hook, never seen by the model.
    Custom {
        /// A name of the hook's own choice.
        kind: String,
        /// The data.
        data: serde_json::Value,
    },
}

/// A conversation as its entries tell it.
#[derive(Default)]
pub(crate) struct Conversation {
    /// The messages since the last compaction, and those that it kept.
    pub(crate) messages: Vec<Message>,
    /// How many messages the last compaction kept.
    pub(crate) unmeasured: usize,
    /// The member of a team that had the word last, if one was given it.
    pub(crate) speaker: Option<String>,
}

impl Conversation {
    /// Reads the entries from the root on.
    pub(crate) fn of<'a>(entries: impl IntoIterator<Item = &'a EntryContent>) -> Self {
        let mut read = Self::default();
        for content in entries {
            match content {
                EntryContent::Message { message } => read.messages.push(message.clone()),
                EntryContent::Compaction { first_kept_id, .. } => {
                    let kept = read
                        .messages
                        .iter()
                        .position(|message| Some(message.id()) == first_kept_id.as_deref());
                    read.messages.drain(..kept.unwrap_or(read.messages.len()));
                    read.unmeasured = read.messages.len();
                }
                EntryContent::Speaker { agent_name } => read.speaker = Some(agent_name.clone()),
                EntryContent::Name { .. } | EntryContent::Label { .. } | EntryContent::Custom { .. } => {}
            }
        }
        read
    }
}

/// The summary that stands for the beginning of a conversation: that of its last compaction.
pub(crate) fn standing_summary(entries: &[StoredEntry]) -> Option<StandingSummary> {
    entries.iter().rev().find_map(|entry| match &entry.content {
        EntryContent::Compaction {
            summary,
            tokens_before,
            ..
        } => Some(StandingSummary {
            text: summary.clone(),
            input_tokens: *tokens_before,
            time_ms: entry.time_ms,
        }),
        _ => None,
    })
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
