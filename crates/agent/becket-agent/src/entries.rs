//! The entries of a conversation, as they are stored, and the conversation that they make up.

use std::collections::BTreeSet;

use becket_events::{
    BRANCH_NOTE, Message, MessageBody, MessageRecord, Part, SHELL_NOTE, ShellResult, StandingSummary,
};
use becket_gate::clock::now_ms;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::message::new_id;
use crate::provider::ThinkingLevel;

/// An entry that is to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEntry {
    /// Identifies the entry; for a message, its own id.
    pub id: String,
    /// When the entry was made, in milliseconds since 1970.
    pub time_ms: u64,
    /// The content of the entry.
    pub content: EntryContent,
}

impl NewEntry {
    /// An entry with a new id and the current time.
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
    /// The parent of the entry.
    pub parent_id: Option<String>,
    /// The session that wrote the entry.
    pub session_id: String,
    /// When the entry was made, in milliseconds since 1970.
    pub time_ms: u64,
    /// The content of the entry.
    pub content: EntryContent,
    /// The entry in the imported file, if it holds more than becket can represent.
    pub source: Option<serde_json::Value>,
}

/// A command that the user ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShellRun {
    /// The command line.
    pub command: String,
    /// The result of the command.
    #[serde(flatten)]
    pub result: ShellResult,
    /// Whether the run is hidden from the model.
    #[serde(default)]
    pub hidden: bool,
}

impl ShellRun {
    /// The text that the model reads about the command.
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

/// The content of an entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EntryContent {
    /// A message of the conversation.
    Message {
        /// The message.
        message: Message,
    },
    /// From here on a summary replaces everything before `first_kept_id`.
    Compaction {
        /// The summary.
        summary: String,
        /// The first message that is kept; `None` if none is.
        first_kept_id: Option<String>,
        /// How many tokens the conversation had before the compaction.
        #[serde(default)]
        tokens_before: u64,
        /// Whether a hook wrote the summary.
        #[serde(default)]
        by_hook: bool,
        /// Data of the hook that wrote the summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<serde_json::Value>,
    },
    /// The conversation came here from another branch, which the summary describes.
    BranchSummary {
        /// The entry after which the conversation continues instead; `None` before the first.
        from_id: Option<String>,
        /// The summary.
        summary: String,
        /// Whether a hook wrote the summary.
        #[serde(default)]
        by_hook: bool,
        /// Data of the hook that wrote the summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<serde_json::Value>,
    },
    /// A command that the user ran.
    Shell(ShellRun),
    /// From here on another model answers.
    Model {
        /// The model, as `provider/name`.
        model: String,
    },
    /// From here on the model thinks more or less before it answers.
    Thinking {
        /// The new thinking level.
        level: ThinkingLevel,
    },
    /// From here on this member of a team is the current agent.
    Speaker {
        /// The member's name.
        agent_name: String,
    },
    /// From here on the conversation has this name.
    Name {
        /// The name.
        name: String,
    },
    /// From here on an entry has this label.
    Label {
        /// The entry that gets the label.
        target_id: String,
        /// The label; `None` removes it.
        label: Option<String>,
    },
    /// Data of a hook, never seen by the model.
    Custom {
        /// A name that the hook chose.
        kind: String,
        /// The data.
        data: serde_json::Value,
    },
}

/// A conversation, read from the entries on the path from the root to the current one.
#[derive(Default)]
pub(crate) struct Conversation {
    /// The messages since the last compaction, and those that it kept.
    pub(crate) messages: Vec<Message>,
    /// How many messages the last compaction kept.
    pub(crate) unmeasured: usize,
    /// The summary that replaces everything before the messages.
    pub(crate) standing: Option<StandingSummary>,
    /// What entries note, also before the last compaction.
    pub(crate) noted: Noted,
}

/// What entries note about a conversation besides its messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Noted {
    /// The model that was last named.
    pub model: Option<String>,
    /// The thinking level that was last named.
    pub thinking: Option<ThinkingLevel>,
    /// The member of a team that was the current agent last, if there was a handoff.
    pub speaker: Option<String>,
    /// The tools that were called.
    pub called: BTreeSet<String>,
}

impl Noted {
    /// Adds what an entry notes.
    pub fn note(&mut self, content: &EntryContent) {
        match content {
            EntryContent::Speaker { agent_name } => self.speaker = Some(agent_name.clone()),
            EntryContent::Model { model } => self.model = Some(model.clone()),
            EntryContent::Thinking { level } => self.thinking = Some(*level),
            EntryContent::Message { message } => {
                let calls = message.tool_calls().iter();
                self.called.extend(calls.map(|call| call.name.clone()));
            }
            _ => {}
        }
    }
}

impl Conversation {
    /// Reads the entries from the root on.
    pub(crate) fn of<'a>(path: impl IntoIterator<Item = &'a StoredEntry>) -> Self {
        Self::after(Noted::default(), path)
    }

    /// Reads the entries from the first that the last compaction kept on, or from an earlier one on; `noted` is what
    /// the entries before have noted.
    pub(crate) fn after<'a>(noted: Noted, path: impl IntoIterator<Item = &'a StoredEntry>) -> Self {
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
            noted,
            ..Self::default()
        };
        for (at, entry) in path.iter().enumerate() {
            read.noted.note(&entry.content);
            let seen = (at >= first).then(|| seen_message(entry)).flatten();
            read.unmeasured += usize::from(at < compacted && seen.is_some());
            read.messages.extend(seen);
        }
        read
    }
}

/// The message that the model sees of an entry; some entries are shown as notes.
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

/// The summary that replaces the beginning of a conversation: that of its last compaction.
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
