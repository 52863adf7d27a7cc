//! What hooks and rules in shadow would have done, as the audit log tells it.

use std::ops::ControlFlow;

use becket_store::{AuditEntry, AuditQuery, SqliteStore};
use becket_system::CliError;
use serde::Serialize;
use serde_json::Value;

/// A consequence that did not happen, because a hook or the rules are in shadow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shadowed {
    /// Milliseconds since 1970.
    pub time_ms: u64,
    /// The session.
    pub session_id: String,
    /// The agent whose session it is: its context bears another agent's name.
    pub context: String,
    /// The event that hooks were asked about; `rules` for rules.
    pub event: String,
    /// The hook and where it is written; empty for rules.
    pub hook: String,
    /// `deny`, `ask`, `allow`, `halt`, `rewrite` or `answer`.
    pub would: String,
    /// What it is about: a command, a file, a prompt.
    pub subject: String,
    /// The words of the hook or the rule, or what the hook would have written.
    pub reason: String,
}

/// Everything that did not happen since a moment, oldest first.
pub fn shadowed_since(store: &SqliteStore, since_ms: u64) -> Result<Vec<Shadowed>, CliError> {
    let mut found = Vec::new();
    let query = AuditQuery {
        session_id: None,
        since_ms,
    };
    store.audit_log().each(query, |entry| {
        // Most records tell of no shadow, and need not be parsed.
        if entry.record.contains("shadow") {
            found.extend(shadowed(&entry));
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

fn shadowed(entry: &AuditEntry) -> Vec<Shadowed> {
    let record: Value = serde_json::from_str(&entry.record).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let base = Shadowed {
        time_ms: entry.time_ms,
        session_id: entry.session_id.clone(),
        context: String::new(),
        event: text(&record["event"]),
        hook: String::new(),
        would: String::new(),
        subject: String::new(),
        reason: String::new(),
    };
    if let Some(would) = record["shadow"].as_str() {
        return vec![Shadowed {
            context: text(&record["context_name"]),
            event: "rules".into(),
            would: would.into(),
            subject: subject(&record, &record["original"]),
            reason: text(&record["reason"]),
            ..base
        }];
    }
    let event = &record["original"];
    let runs = record["runs"].as_array().into_iter().flatten();
    let in_shadow = runs.filter(|run| run["effect"]["kind"] == "shadow");
    let shadowed = in_shadow.map(|run| Shadowed {
        context: text(&event["context_name"]),
        hook: format!("{} ({})", text(&run["handler"]), text(&run["source"])),
        would: text(&run["effect"]["would"]),
        subject: subject(event, &event["arguments"]),
        reason: match run["effect"]["reason"].as_str() {
            Some(reason) => reason.into(),
            None => run["reply"].to_string(),
        },
        ..base.clone()
    });
    shadowed.collect()
}

/// What an event or a call is about, in a few words.
fn subject(event: &Value, arguments: &Value) -> String {
    const LONGEST: usize = 200;
    let first = |value: &Value, names: &[&str]| -> Option<String> {
        let mut texts = names.iter().filter_map(|name| value[*name].as_str());
        texts.next().map(str::to_owned)
    };
    let of_event = ["command", "path", "url", "prompt", "response"];
    let subject = match first(event, &["called_as", "tool_name"]) {
        Some(tool) => {
            let argument = first(arguments, &["command", "file_path", "path", "url"]);
            let argument = argument.or_else(|| first(event, &of_event));
            format!("{tool} {}", argument.unwrap_or_default())
        }
        None => first(event, &of_event).unwrap_or_default(),
    };
    subject.trim().chars().take(LONGEST).collect()
}
