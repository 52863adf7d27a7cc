//! Entries of a stored conversation as pi's session manager shows them.

use becket_events::{Message, MessageBody};
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::messages::{CommandRun, add, command_run, shown, words_or_parts};
use super::words::ModelName;

/// An entry of a conversation.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Identifies it.
    pub id: &'a str,
    /// The entry before it.
    pub parent_id: Option<&'a str>,
    /// When it was stored, in milliseconds since 1970.
    pub time_ms: u64,
    /// What it is.
    pub kind: EntryKind<'a>,
}

/// What an entry can be.
#[derive(Debug, Clone, Copy)]
pub enum EntryKind<'a> {
    /// A message; one that a hook has made is an entry of its own kind there.
    Message(&'a Message),
    /// Data of an extension, which the model never sees.
    Custom {
        /// A name of the extension's own choice.
        kind: &'a str,
        /// The data.
        data: &'a Value,
    },
    /// A summary stands for what was before.
    Compaction {
        /// The summary.
        summary: &'a str,
        /// The first entry that is kept.
        first_kept_id: Option<&'a str>,
        /// How many tokens there were before.
        tokens_before: u64,
        /// Data of the extension that wrote it.
        details: Option<&'a Value>,
        /// Whether an extension wrote it.
        by_hook: bool,
    },
    /// A summary of a branch that was left.
    BranchSummary {
        /// Where the conversation went on instead: the entry before this one, or `root`.
        from_id: &'a str,
        /// The summary.
        summary: &'a str,
        /// Data of the extension that wrote it.
        details: Option<&'a Value>,
        /// Whether an extension wrote it.
        by_hook: bool,
    },
    /// An entry has a label now, or none any more.
    Label {
        /// The entry.
        target_id: &'a str,
        /// Its label.
        label: Option<&'a str>,
    },
    /// The session has a name now.
    SessionInfo {
        /// The name.
        name: Option<&'a str>,
    },
    /// Another model is in use.
    ModelChange(ModelName<'a>),
    /// The model thinks more or less from here on.
    ThinkingLevelChange(&'a str),
    /// A command that the person ran.
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
                // Where nothing was kept, what is kept begins with the summary itself.
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

/// Entries of messages that follow one another.
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

/// A time as pi writes it.
pub(super) fn iso(time_ms: u64) -> String {
    let time = i64::try_from(time_ms)
        .ok()
        .and_then(DateTime::<Utc>::from_timestamp_millis);
    time.unwrap_or_default()
        .to_rfc3339_opts(SecondsFormat::Millis, true)
}
