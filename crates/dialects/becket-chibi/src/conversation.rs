//! Conversations in chibi's format: JSON objects, one per line, each a message, a tool call, a result or a mark.
//!
//! What was called at once stands in consecutive lines, the results after it. Lines without a role are of older
//! versions, which told speakers apart by name.

use std::collections::HashSet;

use becket_agent::store::{EntryContent, NewEntry, Origin, Seed, SeedEntry, fresh_id};
use becket_events::{Message, MessageBody, MessageRecord, Part, StopReason, ToolCall, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

/// The speaker of messages that the user has written, if nobody else is named.
pub(crate) const USER: &str = "user";

/// The speaker of messages that are nobody's.
pub(crate) const SYSTEM: &str = "system";

/// One line of a conversation.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Line {
    id: String,
    timestamp: u64,
    from: String,
    to: String,
    content: String,
    entry_type: String,
    metadata: Option<Metadata>,
    tool_call_id: Option<String>,
    role: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    summary: Option<String>,
}

/// A conversation that was read.
#[derive(Debug)]
pub struct ReadConversation {
    /// The messages, and before them what was summarised.
    pub seed: Seed,
    /// How many messages there are.
    pub messages: usize,
    /// Lines that are left out, in words for the user.
    pub problems: Vec<String>,
}

/// Reads a conversation of the context with this name. A summary stands for everything before it; without one, that of
/// the last mark in the text counts.
pub fn read(text: &str, context: &str, summary: Option<&str>) -> ReadConversation {
    let mut problems = Vec::new();
    let mut lines: Vec<Line> = Vec::new();
    let mut marked = None;
    for (number, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        match serde_json::from_str::<Line>(line) {
            // Everything before a mark is summarised, archived, or before the beginning.
            Ok(line) if is_mark(&line.entry_type) => {
                lines.clear();
                marked = line.metadata.and_then(|metadata| metadata.summary);
            }
            Ok(line) => lines.push(line),
            Err(error) => problems.push(format!("line {} is left out: {error}", number + 1)),
        }
    }
    let summary = summary.map(ToOwned::to_owned).or(marked);
    let mut reader = Reader {
        context,
        entries: Vec::new(),
        ids: HashSet::new(),
        problems,
    };
    if let Some(summary) = summary.filter(|summary| !summary.trim().is_empty()) {
        let first = lines.first();
        let time = first.map_or(0, |line| line.timestamp);
        reader.push(String::new(), time, |_, _| EntryContent::Compaction {
            summary,
            first_kept_id: None,
            tokens_before: 0,
            by_hook: false,
            details: None,
        });
    }
    let before = reader.entries.len();
    reader.read_all(&lines);
    ReadConversation {
        messages: reader.entries.len() - before,
        problems: reader.problems,
        seed: Seed {
            leaf_id: reader.entries.last().map(|last| last.entry.id.clone()),
            entries: reader.entries,
            origin: Origin::Import {
                header: json!({"system": "chibi", "context": context}),
            },
        },
    }
}

/// The conversation of an old `context.json` as lines.
pub fn lines_of_old_file(text: &str) -> Result<String, String> {
    let old: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let messages = old["messages"].as_array().ok_or("it has no list `messages`")?;
    let line = |message: &Value| {
        let role = match message["role"].as_str() {
            Some("assistant") => "agent",
            Some(SYSTEM) => SYSTEM,
            _ => USER,
        };
        let content = message["content"].as_str().unwrap_or_default();
        json!({
            "id": message["id"].as_str().unwrap_or_default(),
            "timestamp": old["updated_at"].as_u64().unwrap_or_default(),
            "content": content,
            "entry_type": "message",
            "role": role,
        })
    };
    Ok(messages
        .iter()
        .map(|message| format!("{}\n", line(message)))
        .collect())
}

/// Whether a line marks the beginning of what is still known.
fn is_mark(entry_type: &str) -> bool {
    matches!(entry_type, "context_created" | "compaction" | "archival")
}

/// Turns lines into entries.
struct Reader<'a> {
    context: &'a str,
    entries: Vec<SeedEntry>,
    ids: HashSet<String>,
    problems: Vec<String>,
}

impl Reader<'_> {
    fn read_all(&mut self, lines: &[Line]) {
        let mut rest = lines;
        while let Some(line) = rest.first() {
            let number = match line.entry_type.as_str() {
                "message" | "" => self.read_message(line),
                "tool_call" => self.read_calls(rest),
                // Who speaks next, and changes of the prompt, are nothing that was said.
                "control_transfer" | "system_prompt_changed" => 1,
                other => {
                    let what = match other {
                        "tool_result" => "a result whose call is not there".to_owned(),
                        other => format!("an entry of the kind {other:?}"),
                    };
                    self.problems.push(format!("{what} is left out"));
                    1
                }
            };
            rest = &rest[number..];
        }
    }

    fn read_message(&mut self, line: &Line) -> usize {
        let content = vec![Part::text(&line.content)];
        let is_models = line.to == USER || line.from == self.context;
        let body = match line.role.as_deref() {
            Some("agent" | "assistant") => assistant(content, Vec::new()),
            Some(SYSTEM) => MessageBody::Note {
                kind: SYSTEM.to_owned(),
                content,
                display: true,
                details: None,
            },
            None if is_models => assistant(content, Vec::new()),
            _ => MessageBody::User { content },
        };
        self.push_message(&line.id, line.timestamp, body);
        1
    }

    /// Reads what was called at once, with the results. Returns how many lines that were.
    fn read_calls(&mut self, lines: &[Line]) -> usize {
        let is = |kind: &'static str| move |line: &&Line| line.entry_type == kind;
        let calls: Vec<&Line> = lines.iter().take_while(is("tool_call")).collect();
        let results = lines[calls.len()..].iter().take_while(is("tool_result"));
        let results: Vec<&Line> = results.take(calls.len()).collect();
        let id_of = |call: &Line| {
            call.tool_call_id
                .clone()
                .unwrap_or_else(|| format!("call_{}", call.id))
        };
        let tool_calls = calls.iter().map(|call| ToolCall {
            id: id_of(call),
            name: call.to.clone(),
            arguments: call.content.clone(),
        });
        let body = assistant(Vec::new(), tool_calls.collect());
        self.push_message(&calls[0].id, calls[0].timestamp, body);
        for (place, call) in calls.iter().enumerate() {
            let id = id_of(call);
            let of_call = |result: &&&Line| result.tool_call_id.as_ref() == Some(&id);
            let in_its_place = || results.get(place).filter(|result| result.tool_call_id.is_none());
            let result = results.iter().find(of_call).or_else(in_its_place);
            let (line_id, time) =
                result.map_or(("", call.timestamp), |result| (&result.id, result.timestamp));
            let text = result.map_or("(the result is not known)", |result| result.content.as_str());
            let body = MessageBody::Tool {
                tool_call_id: id,
                tool_name: call.to.clone(),
                content: vec![Part::text(text)],
                is_error: result.is_none(),
                details: None,
            };
            self.push_message(line_id, time, body);
        }
        calls.len() + results.len()
    }

    fn push_message(&mut self, id: &str, timestamp: u64, body: MessageBody) {
        self.push(id.to_owned(), timestamp, |id, time_ms| EntryContent::Message {
            message: Message::new(MessageRecord { id, time_ms, body }),
        });
    }

    /// Adds an entry after the last one; an id that is missing or taken is replaced.
    fn push(&mut self, id: String, timestamp: u64, content: impl FnOnce(String, u64) -> EntryContent) {
        let id = if id.is_empty() || self.ids.contains(&id) {
            fresh_id()
        } else {
            id
        };
        self.ids.insert(id.clone());
        let time_ms = timestamp.saturating_mul(1000);
        let parent_id = self.entries.last().map(|last| last.entry.id.clone());
        self.entries.push(SeedEntry {
            parent_id,
            entry: NewEntry {
                content: content(id.clone(), time_ms),
                id,
                time_ms,
            },
            source: None,
        });
    }
}

fn assistant(content: Vec<Part>, tool_calls: Vec<ToolCall>) -> MessageBody {
    MessageBody::Assistant {
        content,
        stop_reason: match tool_calls.is_empty() {
            true => StopReason::Stop,
            false => StopReason::ToolCalls,
        },
        tool_calls,
        model: "unknown".into(),
        usage: Usage::default(),
        error: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(read: &ReadConversation) -> Vec<(&'static str, String)> {
        let entries = read.seed.entries.iter().map(|entry| match &entry.entry.content {
            EntryContent::Compaction { summary, .. } => ("summary", summary.clone()),
            EntryContent::Message { message } => match message.body() {
                MessageBody::User { .. } => ("user", message.text()),
                MessageBody::Assistant { tool_calls, .. } if !tool_calls.is_empty() => (
                    "calls",
                    tool_calls.iter().map(|call| call.name.as_str()).collect(),
                ),
                MessageBody::Assistant { .. } => ("assistant", message.text()),
                MessageBody::Tool { .. } => ("result", message.text()),
                MessageBody::Note { .. } => ("note", message.text()),
            },
            _ => ("other", String::new()),
        });
        entries.collect()
    }

    #[test]
    fn a_conversation_of_chibi_is_read_from_its_last_mark_on() {
        let text = [
            r#"{"id":"0","timestamp":1,"from":"me","to":"work","content":"forgotten","entry_type":"message"}"#,
            r#"{"id":"1","timestamp":2,"from":"system","to":"work","content":"","entry_type":"compaction",
                "metadata":{"summary":"what was before"}}"#
                .replace('\n', "")
                .as_str(),
            r#"{"id":"2","timestamp":3,"from":"me","content":"hello","entry_type":"message","role":"user"}"#,
            r#"{"id":"3","timestamp":3,"from":"me","to":"work","content":"","entry_type":"control_transfer"}"#,
            r#"{"id":"4","timestamp":4,"from":"work","to":"one","content":"{}","entry_type":"tool_call"}"#,
            r#"{"id":"5","timestamp":4,"from":"work","to":"two","content":"{}","entry_type":"tool_call"}"#,
            r#"{"id":"6","timestamp":5,"from":"one","to":"work","content":"1","entry_type":"tool_result"}"#,
            "half a li",
            r#"{"id":"7","timestamp":6,"from":"work","to":"me","content":"done","entry_type":"message"}"#,
            r#"{"id":"7","timestamp":7,"from":"work","to":"user","content":"again","entry_type":"message"}"#,
        ]
        .join("\n");
        let read = read(&text, "work", None);
        let expected = [
            ("summary", "what was before"),
            ("user", "hello"),
            ("calls", "onetwo"),
            ("result", "1"),
            ("result", "(the result is not known)"),
            ("assistant", "done"),
            ("assistant", "again"),
        ];
        let bodies = bodies(&read);
        let shown: Vec<(&str, &str)> = bodies.iter().map(|(kind, text)| (*kind, text.as_str())).collect();
        assert_eq!(shown, expected);
        assert_eq!((read.messages, read.problems.len()), (6, 1));
        let ids: HashSet<&str> = read
            .seed
            .entries
            .iter()
            .map(|entry| entry.entry.id.as_str())
            .collect();
        assert_eq!(ids.len(), expected.len(), "no id twice");
    }

    #[test]
    fn the_summary_of_its_own_file_counts_before_that_of_a_mark() {
        let text = r#"{"id":"1","entry_type":"compaction","metadata":{"summary":"older"}}"#;
        assert_eq!(
            bodies(&read(text, "work", Some("newer"))),
            [("summary", "newer".to_owned())]
        );
        assert!(read("", "work", Some(" \n")).seed.entries.is_empty());
    }

    #[test]
    fn files_before_lines_are_read_too() {
        let old = r#"{"name":"work","updated_at":9,"messages":[{"role":"user","content":"a"},
                      {"id":"x","role":"assistant","content":"b"}]}"#;
        let read = read(&lines_of_old_file(old).unwrap(), "work", None);
        let expected = [("user", "a".to_owned()), ("assistant", "b".to_owned())];
        assert_eq!(bodies(&read), expected);
        assert!(lines_of_old_file("{}").is_err());
    }
}
