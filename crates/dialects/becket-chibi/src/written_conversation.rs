//! becket's conversations in chibi's format.

use becket_agent::store::{EntryContent, Seed, SeedEntry, StoredEntry, Tree};
use becket_events::MessageBody;
use serde_json::{Value, json};

use crate::conversation::{SYSTEM, USER};

/// A conversation as chibi would have stored it, up to its current entry.
pub fn written(tree: &Tree, context: &str) -> Vec<Value> {
    tree.path()
        .iter()
        .flat_map(|entry| lines_of(entry, context))
        .collect()
}

/// A conversation that becket has not stored yet, as chibi would have stored it.
pub fn written_seed(seed: &Seed, context: &str) -> Vec<Value> {
    let entries = seed.entries.iter().map(|SeedEntry { entry, .. }| StoredEntry {
        id: entry.id.clone(),
        parent_id: None,
        session_id: String::new(),
        time_ms: entry.time_ms,
        content: entry.content.clone(),
        source: None,
    });
    entries.flat_map(|entry| lines_of(&entry, context)).collect()
}

fn lines_of(entry: &StoredEntry, context: &str) -> Vec<Value> {
    let line = |from: &str, to: &str, kind: &str, content: &str| {
        json!({
            "id": entry.id,
            "timestamp": entry.time_ms / 1000,
            "from": from,
            "to": to,
            "content": content,
            "entry_type": kind,
        })
    };
    let with = |mut line: Value, name: &str, value: Value| {
        line[name] = value;
        line
    };
    let message = match &entry.content {
        EntryContent::Message { message } => message,
        EntryContent::Compaction { summary, .. } => {
            let mark = line(SYSTEM, context, "compaction", "Context compacted");
            return vec![with(mark, "metadata", json!({"summary": summary}))];
        }
        _ => return Vec::new(),
    };
    let text = message.text();
    match message.body() {
        MessageBody::User { .. } => vec![with(line(USER, context, "message", &text), "role", USER.into())],
        MessageBody::Note { .. } => vec![with(
            line(SYSTEM, context, "message", &text),
            "role",
            SYSTEM.into(),
        )],
        MessageBody::Tool {
            tool_call_id,
            tool_name,
            ..
        } => {
            let result = line(tool_name, context, "tool_result", &text);
            vec![with(result, "tool_call_id", tool_call_id.as_str().into())]
        }
        MessageBody::Assistant { tool_calls, .. } => {
            let said = with(line(context, USER, "message", &text), "role", "agent".into());
            let said = (!text.is_empty()).then_some(said);
            let calls = tool_calls.iter().map(|call| {
                let called = line(context, &call.name, "tool_call", &call.arguments);
                with(called, "tool_call_id", call.id.as_str().into())
            });
            said.into_iter().chain(calls).collect()
        }
    }
}
