//! The conversation of a context as lines: as text in `log`, as JSON in `export`.
//!
//! A line says who said what to whom. An entry of the store is one line, except that each tool call of an answer has
//! its own.

use becket_agent::store::{EntryContent, StoredEntry};
use becket_events::{Message, MessageBody, Part, ToolCall};
use becket_store::ContextName;
use becket_system::counted;
use becket_system::moments::moment_in_words;
use becket_system::{CliError, harmless_indented, harmless_name};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::place::ContextCommands;
use crate::commands::trace::LOST_ANSWER;
use crate::printing::print;

/// The name of the user in a transcript.
const PERSON: &str = "user";

/// The name of becket itself in a transcript.
const SYSTEM: &str = "system";

/// One line of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// Identifies the line.
    id: String,
    /// When the line was written, in seconds since 1970.
    timestamp: u64,
    from: String,
    to: String,
    content: String,
    /// The kind of line: `message`, `tool_call`, `tool_result`, `compaction`, `archival` or `custom`.
    entry_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
    session_id: String,
}

/// How many entries are shown, and from which end.
#[derive(Debug, Clone, Copy)]
pub struct LogPart {
    /// How many.
    pub count: usize,
    /// Whether they are the first ones, and not the last.
    pub first: bool,
}

/// Prints the last lines of the conversation.
pub fn log(place: &ContextCommands<'_>, name: &ContextName, part: LogPart) -> Result<(), CliError> {
    let entries = place.store.entries(name.as_str())?;
    let lines = lines(name.as_str(), &entries);
    if lines.is_empty() {
        place.surroundings.remark(&format!("the context {name} is empty"));
    }
    let shown = match part.first {
        true => &lines[..lines.len().min(part.count)],
        false => &lines[lines.len().saturating_sub(part.count)..],
    };
    for line in shown {
        if place.options.run.json {
            print_json(line)?;
        } else {
            print(&format!("{}\n", in_words(line)))?;
        }
    }
    match entries.last() {
        Some(last) if place.store.record().lost_answer(&last.session_id)? => {
            place.surroundings.remark(LOST_ANSWER)
        }
        _ => {}
    }
    Ok(())
}

/// Prints every line of the conversation.
pub fn export(place: &ContextCommands<'_>, name: &ContextName) -> Result<(), CliError> {
    let entries = place.store.entries(name.as_str())?;
    lines(name.as_str(), &entries).iter().try_for_each(print_json)
}

/// Prints every line of the archived conversations, each with the moment at which it was archived.
pub fn export_archived(place: &ContextCommands<'_>, name: &ContextName) -> Result<(), CliError> {
    for archive in place.store.archived(name.as_str())? {
        lines(name.as_str(), &archive.entries)
            .iter()
            .try_for_each(print_json)?;
        let Some(last) = archive.entries.last() else {
            continue;
        };
        let said = format!("archived after {}", counted(archive.message_count, "message"));
        print_json(&Line {
            id: format!("{}:archival", last.id),
            timestamp: archive.time_ms / 1000,
            entry_type: "archival",
            role: Some(SYSTEM),
            ..between(SYSTEM, name.as_str(), said, last)
        })?;
    }
    Ok(())
}

fn print_json(line: &Line) -> Result<(), CliError> {
    let text = serde_json::to_string(line)
        .map_err(|error| CliError::failed(format!("cannot write an entry as JSON: {error}")))?;
    print(&format!("{text}\n"))
}

fn in_words(line: &Line) -> String {
    let Line { from, to, .. } = line;
    let who = match line.entry_type {
        "tool_call" => format!("{from} calls {to}"),
        "tool_result" => format!("{from} returns"),
        "message" => from.clone(),
        other => format!("{from} ({other})"),
    };
    let moment = moment_in_words(line.timestamp * 1000);
    format!(
        "[{moment}] {}: {}",
        harmless_name(&who),
        harmless_indented(line.content.trim_end(), "    ")
    )
}

/// The entries of a context as lines.
fn lines(context: &str, entries: &[StoredEntry]) -> Vec<Line> {
    entries
        .iter()
        .flat_map(|entry| lines_of(context, entry))
        .collect()
}

fn lines_of(context: &str, entry: &StoredEntry) -> Vec<Line> {
    match &entry.content {
        EntryContent::Message { message } => lines_of_message(context, entry, message),
        EntryContent::Compaction {
            summary,
            first_kept_id,
            ..
        } => vec![Line {
            entry_type: "compaction",
            role: Some(SYSTEM),
            metadata: object(json!({"summary": summary, "first_kept_id": first_kept_id})),
            ..between(SYSTEM, context, summary.clone(), entry)
        }],
        EntryContent::BranchSummary { from_id, summary, .. } => vec![Line {
            entry_type: "branch_summary",
            role: Some(SYSTEM),
            metadata: object(json!({"from_id": from_id})),
            ..between(SYSTEM, context, summary.clone(), entry)
        }],
        EntryContent::Shell(run) => vec![Line {
            entry_type: "shell",
            role: Some(PERSON),
            metadata: object(json!(run)),
            ..between(PERSON, context, run.words(), entry)
        }],
        EntryContent::Model { model } => vec![Line {
            entry_type: "model",
            role: Some(SYSTEM),
            metadata: object(json!({"model": model})),
            ..between(SYSTEM, context, format!("The model is {model}."), entry)
        }],
        EntryContent::Thinking { level } => vec![Line {
            entry_type: "thinking",
            role: Some(SYSTEM),
            metadata: object(json!({"level": level})),
            ..between(SYSTEM, context, String::new(), entry)
        }],
        EntryContent::Speaker { agent_name } => vec![Line {
            entry_type: "speaker",
            role: Some(SYSTEM),
            metadata: object(json!({"agent_name": agent_name})),
            ..between(SYSTEM, context, format!("{agent_name} goes on."), entry)
        }],
        EntryContent::Name { name } => vec![Line {
            entry_type: "name",
            role: Some(SYSTEM),
            metadata: object(json!({"name": name})),
            ..between(SYSTEM, context, format!("The name is {name}."), entry)
        }],
        EntryContent::Label { target_id, label } => vec![Line {
            entry_type: "label",
            role: Some(SYSTEM),
            metadata: object(json!({"target_id": target_id, "label": label})),
            ..between(SYSTEM, context, String::new(), entry)
        }],
        EntryContent::Custom { kind, data } => vec![Line {
            entry_type: "custom",
            role: Some(SYSTEM),
            metadata: object(json!({"kind": kind, "data": data})),
            ..between(kind, context, String::new(), entry)
        }],
    }
}

fn lines_of_message(context: &str, entry: &StoredEntry, message: &Message) -> Vec<Line> {
    let text = message.text();
    let said = |from: &str, to: &str, role: &'static str, content: &[Part], more: Value| Line {
        role: Some(role),
        metadata: metadata(content, more),
        ..between(from, to, text.clone(), entry)
    };
    match message.body() {
        MessageBody::User { content } => vec![said(PERSON, context, "user", content, json!({}))],
        MessageBody::Note {
            kind,
            content,
            details,
            ..
        } => {
            let more = match details {
                Some(details) => json!({"kind": kind, "details": details}),
                None => json!({"kind": kind}),
            };
            vec![said(kind, context, SYSTEM, content, more)]
        }
        MessageBody::Assistant {
            content,
            tool_calls,
            model,
            stop_reason,
            usage,
            ..
        } => {
            let more = json!({"model": model, "stop_reason": stop_reason, "usage": usage});
            let mut lines = vec![said(context, PERSON, "agent", content, more)];
            lines.extend(tool_calls.iter().map(|call| line_of_call(context, entry, call)));
            lines
        }
        MessageBody::Tool {
            tool_call_id,
            tool_name,
            content,
            is_error,
            ..
        } => vec![Line {
            entry_type: "tool_result",
            tool_call_id: Some(tool_call_id.clone()),
            ..said(
                tool_name,
                context,
                "agent",
                content,
                json!({"is_error": is_error}),
            )
        }],
    }
}

fn line_of_call(context: &str, entry: &StoredEntry, call: &ToolCall) -> Line {
    Line {
        id: format!("{}:{}", entry.id, call.id),
        entry_type: "tool_call",
        role: Some("agent"),
        tool_call_id: Some(call.id.clone()),
        ..between(context, &call.name, call.arguments.clone(), entry)
    }
}

/// A line without a role or further data.
fn between(from: &str, to: &str, content: String, entry: &StoredEntry) -> Line {
    Line {
        id: entry.id.clone(),
        timestamp: entry.time_ms / 1000,
        from: from.into(),
        to: to.into(),
        content,
        entry_type: "message",
        role: None,
        tool_call_id: None,
        metadata: Map::new(),
        session_id: entry.session_id.clone(),
    }
}

/// Data beside the text: images and thoughts are included, so that nothing is lost.
fn metadata(content: &[Part], more: Value) -> Map<String, Value> {
    let mut metadata = object(more);
    let silent: Vec<&Part> = content
        .iter()
        .filter(|part| !matches!(part, Part::Text { .. }))
        .collect();
    if !silent.is_empty() {
        metadata.insert("parts".into(), json!(silent));
    }
    metadata
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
