//! A session as a Markdown document: what was said, and which hooks refused, failed or changed something.
//!
//! Every text of the session stands in a fenced block, so that none of it is read as markup.

use becket_agent::store::{EntryContent, StoreError, StoredEntry};
use becket_events::MessageBody;
use becket_store::{SessionSummary, SqliteStore};
use becket_system::moments::moment_in_words;
use becket_system::{harmless, harmless_name};

use super::item::Item;
use super::tree::{Family, run_text};

/// The session and its sub-agents, one after another.
pub(crate) fn document(
    store: &SqliteStore,
    session: &SessionSummary,
    family: &Family,
) -> Result<String, StoreError> {
    let mut text = String::new();
    for (number, member) in store.record().family(&session.id)?.iter().enumerate() {
        let title = match number {
            0 => format!("# Session {}\n\n", member.id),
            _ => format!("# Sub-agent {number}: session {}\n\n", member.id),
        };
        text.push_str(&title);
        about(member, &mut text);
        let beginning = store.record().beginning(&member.id, Some(1), 1)?;
        for entry in store.record().written_by(&member.id, &beginning)? {
            said(&entry, &mut text);
        }
        let records = family.sessions().find(|(id, _)| *id == member.id);
        hooks(records.map_or(&[][..], |(_, items)| items), &mut text);
    }
    Ok(harmless(&text))
}

fn about(session: &SessionSummary, text: &mut String) {
    let usage = &session.usage;
    let ended = match (&session.reason, session.ended_ms) {
        (Some(reason), Some(ended_ms)) => format!("{} ({reason})", moment_in_words(ended_ms)),
        _ => "not yet".into(),
    };
    let mut lines = vec![
        ("context", session.context.clone()),
        ("model", session.model.clone()),
        ("folder", session.cwd.clone()),
        ("began", moment_in_words(session.started_ms)),
        ("ended", ended),
        (
            "tokens",
            format!("{} in, {} out", usage.input_tokens, usage.output_tokens),
        ),
    ];
    lines.extend(session.name.clone().map(|name| ("name", name)));
    lines.extend(usage.cost.map(|cost| ("cost", format!("${cost:.4}"))));
    let lines: Vec<String> = lines
        .into_iter()
        .map(|(name, value)| format!("{name}: {}", harmless_name(&value)))
        .collect();
    fenced(&lines.join("\n"), text);
}

fn said(entry: &StoredEntry, text: &mut String) {
    let (who, words) = match &entry.content {
        EntryContent::Message { message } => {
            let who = match message.body() {
                MessageBody::User { .. } => "User".to_owned(),
                MessageBody::Assistant { .. } => "Model".to_owned(),
                MessageBody::Tool { is_error: true, .. } => "Tool result (error)".to_owned(),
                MessageBody::Tool { .. } => "Tool result".to_owned(),
                MessageBody::Note { .. } => "Note".to_owned(),
            };
            (who, message.text())
        }
        EntryContent::Compaction { summary, .. } => ("Summary".to_owned(), summary.clone()),
        _ => return,
    };
    text.push_str(&format!("## {who}, {}\n\n", moment_in_words(entry.time_ms)));
    if !words.trim().is_empty() {
        fenced(&words, text);
    }
    let EntryContent::Message { message } = &entry.content else {
        return;
    };
    if let MessageBody::Assistant { tool_calls, .. } = message.body() {
        for call in tool_calls {
            text.push_str("Call:\n\n");
            fenced(&format!("{} {}", harmless_name(&call.name), call.arguments), text);
        }
    }
}

/// The hooks that did more than to let something pass.
fn hooks(items: &[Item], text: &mut String) {
    let mut lines = String::new();
    for item in items.iter().filter(|item| !item.is_span) {
        for run in item.json["runs"].as_array().into_iter().flatten() {
            let effect = run["effect"]["kind"].as_str().unwrap_or_default();
            if matches!(effect, "denied" | "failed" | "rewrote" | "shadow") {
                lines.push_str(&format!(
                    "{}  {}: {}\n",
                    moment_in_words(item.began() / 1000),
                    item.name,
                    run_text(run, &[])
                ));
            }
        }
    }
    if !lines.is_empty() {
        text.push_str("## Hooks that refused, failed or changed something\n\n");
        fenced(&lines, text);
    }
}

/// Adds a block that no fence within the words can end.
fn fenced(words: &str, text: &mut String) {
    let longest = words.lines().map(|line| {
        let line = line.trim_start();
        line.chars().take_while(|character| *character == '`').count()
    });
    let fence = "`".repeat(longest.max().unwrap_or(0).max(2) + 1);
    text.push_str(&format!("{fence}text\n{}\n{fence}\n\n", words.trim_end()));
}

#[cfg(test)]
mod tests {
    use super::fenced;

    #[test]
    fn no_text_ends_its_block() {
        let mut text = String::new();
        fenced("<b>\n  ````\n# no title", &mut text);
        assert_eq!(text, "`````text\n<b>\n  ````\n# no title\n`````\n\n");
    }
}
