//! A conversation that was broken off: what was acknowledged must be there once, and every call answered once.

use std::collections::BTreeSet;
use std::path::Path;

use becket_agent::store::EntryContent;
use becket_events::{Message, MessageBody};
use becket_store::SqliteStore;
use serde_json::{Value, json};
use testkit::Room;

use crate::round::ensure;

/// A model with several rounds of tools, some of them two at once.
pub fn model(room: &Room) -> String {
    let call = |command: &str| json!({"name": "shell", "arguments": {"command": command}});
    room.model(&json!([
        {"text": "one", "tool_calls": [call("echo a")]},
        {"text": "two", "tool_calls": [call("echo b"), call("echo c")]},
        {"text": "three", "tool_calls": [{"name": "list", "arguments": {"path": "."}}]},
        {"text": "done"},
    ]))
}

/// The messages that a run had acknowledged: `loop_start` comes after the prompt was stored, and `turn_end` after
/// everything of its turn was.
pub fn acknowledged(stdout: &str) -> Vec<String> {
    let id = |message: &Value| message["id"].as_str().map(str::to_string);
    let mut acknowledged = Vec::new();
    let mut prompt = None;
    // The last line may be cut off; what cannot be read was not acknowledged.
    for event in stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
    {
        match event["event"].as_str() {
            Some("message_end") if event["message"]["role"] == "user" => prompt = id(&event["message"]),
            Some("loop_start") => acknowledged.extend(prompt.take()),
            Some("turn_end") => {
                acknowledged.extend(id(&event["message"]));
                let results = event["tool_results"].as_array().into_iter().flatten();
                acknowledged.extend(results.filter_map(id));
            }
            _ => {}
        }
    }
    acknowledged
}

/// Whether everything promised is there exactly once, and every call but the last has one result. A context that does
/// not exist may only have promised nothing.
pub fn check(store: &Path, context: &str, promised: &[String]) -> Result<(), String> {
    let store = SqliteStore::open(store).map_err(|error| error.to_string())?;
    let entries = match store.tree(context) {
        Ok(entries) => entries,
        Err(error) => {
            ensure!(
                promised.is_empty(),
                "{context} is lost with {} messages: {error}",
                promised.len()
            );
            return Ok(());
        }
    };
    let messages: Vec<Message> = entries
        .into_iter()
        .filter_map(|entry| match entry.content {
            EntryContent::Message { message } => Some(message),
            _ => None,
        })
        .collect();
    let ids: BTreeSet<&str> = messages.iter().map(Message::id).collect();
    ensure!(
        ids.len() == messages.len(),
        "{context}: a message is stored twice"
    );
    for id in promised {
        ensure!(
            ids.contains(id.as_str()),
            "{context}: {id} was acknowledged and is lost"
        );
    }
    for (place, message) in messages.iter().enumerate() {
        let calls: Vec<&str> = message.tool_calls().iter().map(|call| call.id.as_str()).collect();
        let after = messages[place + 1..].iter();
        let results = after.map_while(|next| match next.body() {
            MessageBody::Tool { tool_call_id, .. } => Some(tool_call_id.as_str()),
            _ => None,
        });
        let is_result = matches!(message.body(), MessageBody::Tool { .. });
        if !is_result && place + 1 < messages.len() {
            let results: Vec<&str> = results.collect();
            ensure!(
                calls == results,
                "{context}: message {place} has calls {calls:?}, results {results:?}"
            );
        }
    }
    Ok(())
}

/// Whether becket itself finds nothing wrong with its store, and the audit log is whole.
pub fn check_home(room: &Room) -> Result<(), String> {
    let doctor = room.run(["doctor"]);
    ensure!(
        doctor.stdout.contains("ok    store"),
        "becket doctor: {doctor:#?}"
    );
    let verified = room.run(["audit", "verify"]);
    ensure!(verified.code == 0, "becket audit verify: {verified:#?}");
    Ok(())
}
