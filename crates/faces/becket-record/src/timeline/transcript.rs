//! What was said in a session: its messages in their order, each with its bar in the timeline.

use std::collections::HashMap;

use becket_agent::store::{EntryContent, StoredEntry};
use becket_events::MessageBody;
use becket_web::view::{TranscriptCall, TranscriptLine};

use super::details::cut;

/// The messages among the entries of a session.
pub fn lines(entries: &[StoredEntry]) -> Vec<TranscriptLine> {
    let mut calls: HashMap<String, String> = HashMap::new();
    entries
        .iter()
        .filter_map(|entry| line(entry, &mut calls))
        .collect()
}

/// A message; `bars` has the bars of the calls so far.
fn line(entry: &StoredEntry, bars: &mut HashMap<String, String>) -> Option<TranscriptLine> {
    let mut line = TranscriptLine {
        bar: Some(format!("m:{}", entry.id)),
        time_ms: entry.time_ms,
        role: String::new(),
        text: String::new(),
        is_error: false,
        calls: Vec::new(),
    };
    let message = match &entry.content {
        EntryContent::Message { message } => message,
        EntryContent::Compaction { summary, .. } => {
            return Some(TranscriptLine {
                bar: None,
                role: "summary".into(),
                text: cut(summary),
                ..line
            });
        }
        _ => return None,
    };
    line.text = cut(&message.text());
    line.role = match message.body() {
        MessageBody::User { .. } => "user".into(),
        MessageBody::Note { kind, .. } => format!("note {kind}"),
        MessageBody::Assistant { tool_calls, .. } => {
            line.bar = Some(format!("r:{}", entry.id));
            for (index, call) in tool_calls.iter().enumerate() {
                let bar = format!("c:{}:{index}", entry.id);
                bars.insert(call.id.clone(), bar.clone());
                line.calls.push(TranscriptCall {
                    bar,
                    name: call.name.clone(),
                    arguments: cut(&call.arguments),
                });
            }
            "model".into()
        }
        MessageBody::Tool {
            tool_call_id,
            tool_name,
            is_error,
            ..
        } => {
            line.bar = bars.get(tool_call_id).cloned();
            line.is_error = *is_error;
            format!("tool {tool_name}")
        }
    };
    Some(line)
}
