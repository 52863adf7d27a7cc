//! What the agent needs of a place that remembers.
//!
//! Everything that a method has returned for is on disk. A transcript is a tree (`tree.rs`): every entry names its
//! parent, and a context points at the entry where the conversation stands.

use becket_events::{
    BRANCH_NOTE, Message, MessageBody, MessageRecord, Part, SHELL_NOTE, ShellResult, StandingSummary,
};
use becket_hooks::DispatchTrace;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::audit::AuditRecord;
use crate::message::{new_id, now_ms, now_us};
use crate::provider::ThinkingLevel;
pub use crate::tree::Tree;

/// A place that remembers.
pub trait Store: Send + Sync {
    /// Opens a context, making it if it is new, and begins a session in it. One below another session begins with
    /// nothing, and what it adds is no part of the context's conversation.
    fn begin_session<'a>(&'a self, session: NewSession) -> BoxFuture<'a, Result<OpenedSession, StoreError>>;

    /// Begins a session in a context that must be new, with a conversation that comes from elsewhere.
    fn plant<'a>(
        &'a self,
        session: NewSession,
        seed: Seed,
    ) -> BoxFuture<'a, Result<OpenedSession, StoreError>>;

    /// The conversation of the session's context with all its branches, and where the session stands in it. What was
    /// archived and what sub-agents wrote is no part of it.
    fn tree<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, Result<Tree, StoreError>>;

    /// Lets the session and its context stand at another entry, or before the first, and adds entries there: all of it
    /// or nothing.
    fn move_to<'a>(
        &'a self,
        session_id: &'a str,
        leaf_id: Option<String>,
        entries: Vec<NewEntry>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

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

    /// Adds a record to the audit log, in the same way, but soon: what was permitted is on its way to the disk when it
    /// begins to run. Whoever keeps no log need not keep it.
    fn audit(&self, _record: AuditRecord) {}

    /// Records a stretch of time, in the same way. Whoever keeps no trace need not keep it.
    fn span(&self, _session_id: &str, _span: Span) {}
}

/// A stretch of a session's time, recorded when it is over.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Span {
    /// What was done.
    pub kind: SpanKind,
    /// The tool or the model; empty for a turn.
    pub name: String,
    /// The turn in which it was done.
    pub turn: u32,
    /// When it began, in microseconds since 1970.
    pub time_us: u64,
    /// How long it took.
    pub duration_us: u64,
    /// The call, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The call from within which it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    /// What else there is to know: how it ended, who decided, what it cost.
    pub facts: serde_json::Value,
}

/// What a stretch of time was spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// One request and the tools it asks for.
    Turn,
    /// One request to the model, with what hooks do to it.
    Request,
    /// One call of a tool, from the first hook to the result.
    ToolCall,
}

impl SpanKind {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Turn, Self::Request, Self::ToolCall];

    /// Its name in the record.
    pub fn name(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Request => "request",
            Self::ToolCall => "tool_call",
        }
    }
}

impl Span {
    /// One that is over now.
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

    /// The same with what else there is to know.
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
    /// The context it runs in.
    pub context_name: String,
    /// The model in use, as `provider/name`.
    pub model: String,
    /// The directory in which the agent works.
    pub cwd: String,
}

/// An id that no session has.
pub fn fresh_id() -> String {
    new_id()
}

/// A session that has begun.
#[derive(Debug, Clone)]
pub struct OpenedSession {
    /// Whether the context existed before.
    pub resumed: bool,
    /// The entries from the root to where the conversation stands.
    pub entries: Vec<StoredEntry>,
    /// Where the conversation comes from, if it did not begin here.
    pub origin: Option<Origin>,
    /// Whether the session that wrote last was killed before it had stored an answer, some of which may have been seen.
    pub lost_answer: bool,
}

/// A conversation for a new context.
#[derive(Debug, Clone, PartialEq)]
pub struct Seed {
    /// Its entries with all branches. A parent stands before its children.
    pub entries: Vec<SeedEntry>,
    /// Where it stands.
    pub leaf_id: Option<String>,
    /// Where it comes from.
    pub origin: Origin,
}

/// An entry of a conversation that comes from elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct SeedEntry {
    /// The entry before it.
    pub parent_id: Option<String>,
    /// The entry, with the id that it had.
    pub entry: NewEntry,
    /// What stood in the file from which it was read, where that is more than becket has words for.
    pub source: Option<serde_json::Value>,
}

/// Where a conversation comes from that did not begin in its context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Origin {
    /// From another context.
    Fork {
        /// That context.
        context_name: String,
        /// The session in which it was forked.
        session_id: String,
        /// The entry at which it was.
        entry_id: String,
    },
    /// From a file of another program's.
    Import {
        /// What the file says of itself.
        header: serde_json::Value,
    },
    /// From whoever has set it up.
    SetUp {
        /// The file of the conversation that it follows, if it does.
        parent_file: Option<String>,
    },
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
    /// What stood in the file from which it was read, where that is more than becket has words for.
    pub source: Option<serde_json::Value>,
}

/// A command that the person ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShellRun {
    /// The command line.
    pub command: String,
    /// What came of it.
    #[serde(flatten)]
    pub result: ShellResult,
    /// Whether the model never sees it.
    #[serde(default)]
    pub hidden: bool,
}

impl ShellRun {
    /// What the model reads of it.
    pub fn words(&self) -> String {
        let (command, result) = (&self.command, &self.result);
        let mut words = match result.output.as_str() {
            "" => format!("Ran `{command}`\n(no output)"),
            output => format!("Ran `{command}`\n```\n{output}\n```"),
        };
        match result.exit_code {
            _ if result.cancelled => words.push_str("\n\n(command cancelled)"),
            None | Some(0) => {}
            Some(code) => words.push_str(&format!("\n\nCommand exited with code {code}")),
        }
        if let Some(file) = result.full_output_path.as_ref().filter(|_| result.truncated) {
            words.push_str(&format!("\n\n[Output truncated. Full output: {file}]"));
        }
        words
    }
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
    /// The conversation came here from another branch, which the summary tells of.
    BranchSummary {
        /// The entry behind which the conversation goes on instead; none before the first.
        from_id: Option<String>,
        /// The summary.
        summary: String,
        /// Whether a hook wrote the summary.
        #[serde(default)]
        by_hook: bool,
        /// Data of the hook that wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<serde_json::Value>,
    },
    /// A command that the person ran.
    Shell(ShellRun),
    /// From here on another model answers.
    Model {
        /// The model, as `provider/name`.
        model: String,
    },
    /// From here on the model thinks so much before it answers.
    Thinking {
        /// How much.
        level: ThinkingLevel,
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

/// A conversation as the entries on the way to where it stands tell it.
#[derive(Default)]
pub(crate) struct Conversation {
    /// The messages since the last compaction, and those that it kept.
    pub(crate) messages: Vec<Message>,
    /// How many messages the last compaction kept.
    pub(crate) unmeasured: usize,
    /// The member of a team that had the word last, if one was given it.
    pub(crate) speaker: Option<String>,
    /// What stands for everything before the messages.
    pub(crate) standing: Option<StandingSummary>,
    /// The model, and how much it thinks, as the entries last said it.
    pub(crate) noted: Noted,
}

/// What entries say about the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) model: Option<String>,
    pub(crate) thinking: Option<ThinkingLevel>,
}

impl Conversation {
    /// Reads the entries from the root on.
    pub(crate) fn of<'a>(path: impl IntoIterator<Item = &'a StoredEntry>) -> Self {
        let path: Vec<&StoredEntry> = path.into_iter().collect();
        let kept = path.iter().enumerate().rev().find_map(|(at, entry)| {
            let EntryContent::Compaction { first_kept_id, .. } = &entry.content else {
                return None;
            };
            let is_first = |entry: &&StoredEntry| Some(entry.id.as_str()) == first_kept_id.as_deref();
            Some((path[..at].iter().position(is_first).unwrap_or(at), at))
        });
        let (first, compacted) = kept.unwrap_or((0, 0));
        let mut read = Self {
            standing: standing_summary(&path),
            ..Self::default()
        };
        for (at, entry) in path.iter().enumerate() {
            match &entry.content {
                EntryContent::Speaker { agent_name } => read.speaker = Some(agent_name.clone()),
                EntryContent::Model { model } => read.noted.model = Some(model.clone()),
                EntryContent::Thinking { level } => read.noted.thinking = Some(*level),
                _ => {}
            }
            let seen = (at >= first).then(|| seen_message(entry)).flatten();
            read.unmeasured += usize::from(at < compacted && seen.is_some());
            read.messages.extend(seen);
        }
        read
    }
}

/// What the model sees of an entry; most are messages, and some are told as notes.
pub fn seen_message(entry: &StoredEntry) -> Option<Message> {
    let (kind, words, details) = match &entry.content {
        EntryContent::Message { message } => return Some(message.clone()),
        EntryContent::BranchSummary { from_id, summary, .. } if !summary.is_empty() => (
            BRANCH_NOTE,
            format!("The conversation came back here from another branch, of which this tells:\n\n{summary}"),
            json!({"from_id": from_id, "summary": summary}),
        ),
        EntryContent::Shell(run) if !run.hidden => (SHELL_NOTE, run.words(), json!(run)),
        _ => return None,
    };
    let body = MessageBody::Note {
        kind: kind.into(),
        content: vec![Part::text(words)],
        display: true,
        details: Some(details),
    };
    Some(Message::new(MessageRecord {
        id: entry.id.clone(),
        time_ms: entry.time_ms,
        body,
    }))
}

/// The summary that stands for the beginning of a conversation: that of its last compaction.
fn standing_summary(entries: &[&StoredEntry]) -> Option<StandingSummary> {
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
