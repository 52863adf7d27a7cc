//! Entries of a stored conversation as pi's session manager shows them.
//!
//! `fromId` of a branch summary is the entry from which the conversation continues, as pi's own code writes it. pi's
//! documentation says that it is the branch that was left.

use becket_events::{Message, MessageBody};
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::messages::{CommandRun, add, command_run, shown, words_or_parts};
use super::words::ModelName;

/// An entry of a conversation.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The entry's id.
    pub id: &'a str,
    /// The id of the entry before it.
    pub parent_id: Option<&'a str>,
    /// When the entry was stored, in milliseconds since 1970.
    pub time_ms: u64,
    /// The entry's kind and content.
    pub kind: EntryKind<'a>,
}

/// The kinds of entries.
#[derive(Debug, Clone, Copy)]
pub enum EntryKind<'a> {
    /// A message; a message that a hook has made has its own kind of entry in pi.
    Message(&'a Message),
    /// Data of an extension, which the model never sees.
    Custom {
        /// A name that the extension chose.
        kind: &'a str,
        /// The data.
        data: &'a Value,
    },
    /// A summary that replaces the messages before it.
    Compaction {
        /// The summary.
        summary: &'a str,
        /// The first entry that is kept.
        first_kept_id: Option<&'a str>,
        /// How many tokens the conversation had before.
        tokens_before: u64,
        /// Data of the extension that wrote the summary.
        details: Option<&'a Value>,
        /// Whether an extension wrote the summary.
        by_hook: bool,
    },
    /// A summary of a branch that was left.
    BranchSummary {
        /// The entry from which the conversation continues instead: the one before this, or `root`.
        from_id: &'a str,
        /// The summary.
        summary: &'a str,
        /// Data of the extension that wrote the summary.
        details: Option<&'a Value>,
        /// Whether an extension wrote the summary.
        by_hook: bool,
    },
    /// A label that was added to an entry, or removed.
    Label {
        /// The id of the labelled entry.
        target_id: &'a str,
        /// The new label; `None` removes it.
        label: Option<&'a str>,
    },
    /// A new name of the session.
    SessionInfo {
        /// The name.
        name: Option<&'a str>,
    },
    /// A change of the model.
    ModelChange(ModelName<'a>),
    /// A change of the thinking level.
    ThinkingLevelChange(&'a str),
    /// A command that the user ran.
    Command(&'a CommandRun),
}

impl Entry<'_> {
    /// The entry as an extension reads it. `model` names the provider of messages.
    pub fn shown(&self, model: ModelName<'_>) -> Value {
        let mut entry = json!({
            "type": self.type_word(),
            "id": self.id,
            "parentId": self.parent_id,
            "timestamp": iso(self.time_ms),
        });
        match self.kind {
            EntryKind::Message(message) => add_message(&mut entry, message, model),
            EntryKind::Custom { kind, data } => {
                entry["customType"] = kind.into();
                add(
                    &mut entry,
                    "data",
                    Some(data.clone()).filter(|data| !data.is_null()),
                );
            }
            EntryKind::Compaction {
                summary,
                first_kept_id,
                tokens_before,
                details,
                by_hook,
            } => {
                entry["summary"] = summary.into();
                // If no entry was kept, the kept part begins with the summary itself.
                entry["firstKeptEntryId"] = first_kept_id.unwrap_or(self.id).into();
                entry["tokensBefore"] = tokens_before.into();
                add(&mut entry, "details", details.cloned());
                entry["fromHook"] = by_hook.into();
            }
            EntryKind::BranchSummary {
                from_id,
                summary,
                details,
                by_hook,
            } => {
                entry["fromId"] = from_id.into();
                entry["summary"] = summary.into();
                add(&mut entry, "details", details.cloned());
                entry["fromHook"] = by_hook.into();
            }
            EntryKind::Label { target_id, label } => {
                entry["targetId"] = target_id.into();
                add(&mut entry, "label", label.map(Value::from));
            }
            EntryKind::SessionInfo { name } => add(&mut entry, "name", name.map(Value::from)),
            EntryKind::ModelChange(model) => {
                entry["provider"] = model.provider.into();
                entry["modelId"] = model.id.into();
            }
            EntryKind::ThinkingLevelChange(level) => entry["thinkingLevel"] = level.into(),
            EntryKind::Command(run) => entry["message"] = command_run(run, self.time_ms),
        }
        entry
    }

    fn type_word(&self) -> &'static str {
        match self.kind {
            EntryKind::Message(message) if matches!(message.body(), MessageBody::Note { .. }) => {
                "custom_message"
            }
            EntryKind::Message(_) | EntryKind::Command(_) => "message",
            EntryKind::Custom { .. } => "custom",
            EntryKind::Compaction { .. } => "compaction",
            EntryKind::BranchSummary { .. } => "branch_summary",
            EntryKind::Label { .. } => "label",
            EntryKind::SessionInfo { .. } => "session_info",
            EntryKind::ModelChange(_) => "model_change",
            EntryKind::ThinkingLevelChange(_) => "thinking_level_change",
        }
    }
}

/// Entries for messages that follow one another.
pub(super) fn entries<'a>(
    messages: impl IntoIterator<Item = &'a Message>,
    model: ModelName<'_>,
) -> Vec<Value> {
    let mut parent_id = None;
    let entry = |message: &'a Message| {
        let entry = Entry {
            id: message.id(),
            parent_id: parent_id.replace(message.id()),
            time_ms: message.record().time_ms,
            kind: EntryKind::Message(message),
        };
        entry.shown(model)
    };
    messages.into_iter().map(entry).collect()
}

fn add_message(entry: &mut Value, message: &Message, model: ModelName<'_>) {
    match message.body() {
        MessageBody::Note {
            kind,
            content,
            display,
            details,
        } => {
            entry["customType"] = kind.as_str().into();
            entry["content"] = words_or_parts(content);
            entry["display"] = (*display).into();
            add(entry, "details", details.clone());
        }
        _ => entry["message"] = shown(message, model),
    }
}

/// A time in pi's format.
pub(super) fn iso(time_ms: u64) -> String {
    let time = i64::try_from(time_ms)
        .ok()
        .and_then(DateTime::<Utc>::from_timestamp_millis);
    time.unwrap_or_default()
        .to_rfc3339_opts(SecondsFormat::Millis, true)
}
