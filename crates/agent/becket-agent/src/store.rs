//! The interface of the store, which keeps conversations, letters and records.
//!
//! When a method has returned, its data is on disk. A transcript is a tree (`tree.rs`): every entry names its parent,
//! and a context points at its current entry.

use std::sync::Arc;

use becket_gate::audit::{AuditLog, AuditRecord};
use becket_gate::clock::now_us;
use becket_hooks::DispatchTrace;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::message::new_id;

pub use crate::entries::{EntryContent, NewEntry, Noted, ShellRun, StoredEntry, seen_message};
pub use crate::tree::Tree;

/// Keeps conversations, letters and records.
pub trait Store: Send + Sync {
    /// Opens a context, making it if it is new, and begins a session in it. The session of a sub-agent begins empty,
    /// and what it adds is no part of the context's conversation.
    fn begin_session<'a>(&'a self, session: NewSession) -> BoxFuture<'a, Result<OpenedSession, StoreError>>;

    /// Begins a session in a context that must be new, with a conversation that comes from elsewhere.
    fn plant<'a>(
        &'a self,
        session: NewSession,
        seed: Seed,
    ) -> BoxFuture<'a, Result<OpenedSession, StoreError>>;

    /// The conversation of the session's context with all its branches, and the session's current entry. Archived
    /// entries and those of sub-agents are no part of it.
    fn tree<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, Result<Tree, StoreError>>;

    /// Moves the session and its context to another entry, or before the first, and adds entries there: all of it or
    /// nothing.
    fn move_to<'a>(
        &'a self,
        session_id: &'a str,
        leaf_id: Option<String>,
        entries: Vec<NewEntry>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Adds entries after the session's current one, all or none.
    fn append<'a>(
        &'a self,
        session_id: &'a str,
        entries: Vec<NewEntry>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Puts letters into the inboxes of contexts, which need not exist yet: all or none. A letter whose origin is
    /// already known was delivered before, and is skipped.
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

    /// Records how a session ended.
    fn end_session<'a>(
        &'a self,
        session_id: &'a str,
        reason: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Archives the conversation of the session's context: its entries stay readable, and the next message is the
    /// first of a new conversation.
    fn clear<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Chooses the context for runs that choose none themselves.
    fn make_current<'a>(&'a self, context_name: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Keeps bytes under their content hash, which it returns.
    fn put_blob<'a>(&'a self, bytes: Vec<u8>) -> BoxFuture<'a, Result<String, StoreError>>;

    /// The bytes with that hash.
    fn blob<'a>(&'a self, hash: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>>;

    /// Records a dispatch. It may be written a little later, together with others; `append` writes what is pending.
    fn trace(&self, session_id: &str, trace: DispatchTrace);

    /// Adds a record to the audit log. It may be written a little later, but soon: what was permitted is on its way to
    /// the disk when it begins to run. A store without a log may ignore it.
    fn audit(&self, _record: AuditRecord) {}

    /// Records a span of time; it may be written a little later. A store without traces may ignore it.
    fn span(&self, _session_id: &str, _span: Span) {}
}

/// A span of a session's time, recorded when it is over.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Span {
    /// What the time was spent on.
    pub kind: SpanKind,
    /// The tool or the model; empty for a turn.
    pub name: String,
    /// The turn in which the span began.
    pub turn: u32,
    /// When the span began, in microseconds since 1970.
    pub time_us: u64,
    /// How long the span lasted.
    pub duration_us: u64,
    /// The tool call, if the span is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The call from within which this call was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    /// Further facts: how it ended, who decided, what it cost.
    pub facts: serde_json::Value,
}

/// What a span of time was spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// One request and the tools that it calls.
    Turn,
    /// One request to the model, with what hooks do to it.
    Request,
    /// One call of a tool, from the first hook to the result.
    ToolCall,
}

impl SpanKind {
    /// All kinds.
    pub const ALL: &[Self] = &[Self::Turn, Self::Request, Self::ToolCall];

    /// The kind's name in the record.
    pub fn name(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Request => "request",
            Self::ToolCall => "tool_call",
        }
    }
}

impl Span {
    /// A span that began at `began` and is over now.
    pub(crate) fn over(kind: SpanKind, name: &str, turn: u32, began: std::time::Instant) -> Self {
        let duration_us = began.elapsed().as_micros() as u64;
        Self {
            kind,
            name: name.into(),
            turn,
            time_us: now_us().saturating_sub(duration_us),
            duration_us,
            tool_call_id: None,
            parent_tool_call_id: None,
            facts: serde_json::Value::Null,
        }
    }

    /// The span with further facts.
    pub(crate) fn with(self, facts: serde_json::Value) -> Self {
        Self { facts, ..self }
    }
}

/// A session that is about to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSession {
    /// Identifies the session.
    pub session_id: String,
    /// The session that started this one as a sub-agent.
    pub parent_session_id: Option<String>,
    /// The context that the session runs in.
    pub context_name: String,
    /// The model in use, as `provider/name`.
    pub model: String,
    /// The directory in which the agent works.
    pub cwd: String,
}

/// A new id for a session.
pub fn fresh_id() -> String {
    new_id()
}

/// A session that has begun.
#[derive(Debug, Clone)]
pub struct OpenedSession {
    /// Whether the context existed before the session.
    pub resumed: bool,
    /// The entries to the current one: from the root, or from the first that the last compaction kept.
    pub entries: Vec<StoredEntry>,
    /// What the entries before these have noted.
    pub noted: Noted,
    /// Where the conversation comes from, if it did not begin in this context.
    pub origin: Option<Origin>,
    /// Whether the last session was killed before it had stored an answer, some of which may have been seen.
    pub lost_answer: bool,
}

/// A conversation that a new context begins with.
#[derive(Debug, Clone, PartialEq)]
pub struct Seed {
    /// The entries with all branches. A parent comes before its children.
    pub entries: Vec<SeedEntry>,
    /// The current entry.
    pub leaf_id: Option<String>,
    /// Where the conversation comes from.
    pub origin: Origin,
}

/// An entry of a conversation that comes from elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct SeedEntry {
    /// The parent of the entry.
    pub parent_id: Option<String>,
    /// The entry, with its original id.
    pub entry: NewEntry,
    /// The entry in the imported file, if it holds more than becket can represent.
    pub source: Option<serde_json::Value>,
}

/// Where a conversation comes from, if it did not begin in its context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Origin {
    /// From another context.
    Fork {
        /// The context that was forked.
        context_name: String,
        /// The session in which the context was forked.
        session_id: String,
        /// The entry at which the context was forked.
        entry_id: String,
    },
    /// From another program's file.
    Import {
        /// The file's header.
        header: serde_json::Value,
    },
    /// From code that has set up the conversation.
    SetUp {
        /// The file of the conversation that this one follows, if it follows one.
        parent_file: Option<String>,
    },
}

/// A message from one context to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// The context that receives the letter.
    pub to: String,
    /// The writer's name.
    pub from: String,
    /// The text of the letter.
    pub content: String,
    /// Identifies letters that are brought in from elsewhere and may be brought twice.
    pub origin: Option<String>,
}

/// A letter that waits in an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingLetter {
    /// Identifies the letter; later ones have larger ids.
    pub id: i64,
    /// The writer's name.
    pub from: String,
    /// The text of the letter.
    pub content: String,
    /// When the letter was delivered, in milliseconds since 1970.
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

/// Why something could not be stored.
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

/// The audit log that a store keeps.
pub fn log_of(store: Arc<dyn Store>) -> Arc<dyn AuditLog> {
    Arc::new(LogOf(store))
}

struct LogOf(Arc<dyn Store>);

impl AuditLog for LogOf {
    fn audit(&self, record: AuditRecord) {
        self.0.audit(record);
    }
}
