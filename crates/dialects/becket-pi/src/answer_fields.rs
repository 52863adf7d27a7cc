//! The fields of an answer that `read.rs` uses, event by event, for checking a handler without calling it.

use super::rows::rows;

/// The fields of answers by event. An event that is not in this list takes no answer.
const FIELDS: &[(&str, &[&str])] = &[
    ("resources_discover", &["skillPaths", "promptPaths", "themePaths"]),
    ("input", &["action", "text", "images"]),
    ("before_agent_start", &["systemPrompt", "message"]),
    ("context", &["messages"]),
    ("context_with_system", &["messages"]),
    ("before_provider_headers", &[]),
    ("message_end", &["message"]),
    ("tool_call", &["block", "reason"]),
    ("tool_result", &["content", "details", "isError"]),
    ("agent_before_settle", &["entries", "continue"]),
    ("turn_end", &["entries", "continue"]),
    ("session_before_compact", &["cancel", "compaction"]),
    ("session_before_switch", &["cancel"]),
    ("session_before_fork", &["cancel", "skipConversationRestore"]),
    (
        "session_before_tree",
        &[
            "cancel",
            "summary",
            "customInstructions",
            "replaceInstructions",
            "label",
        ],
    ),
    ("user_bash", &["result", "operations"]),
];

/// The events whose whole return value counts.
const ANYTHING: &[&str] = &["before_provider_request"];

/// The fields that have a meaning in an answer to an event; `None` if any value has, or if there is no such event.
pub fn answer_fields(event: &str) -> Option<&'static [&'static str]> {
    let is_known = rows().iter().any(|row| row.name() == event);
    if !is_known || ANYTHING.contains(&event) {
        return None;
    }
    let found = FIELDS.iter().find(|(name, _)| *name == event);
    Some(found.map_or(&[][..], |(_, fields)| *fields))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use becket_events::Class;

    use super::*;

    #[test]
    fn every_event_that_reads_an_answer_is_here_and_no_other() {
        let rows = rows();
        let reading = rows.iter().filter(|row| row.class() != Class::Observe);
        let reading: BTreeSet<&str> = reading.map(|row| row.name()).collect();
        let here: BTreeSet<&str> = FIELDS
            .iter()
            .map(|(name, _)| *name)
            .chain(ANYTHING.iter().copied())
            .collect();
        assert_eq!(here, reading);
    }

    #[test]
    fn every_field_is_read_somewhere() {
        let reader = include_str!("read.rs");
        for field in FIELDS.iter().flat_map(|(_, fields)| *fields) {
            assert!(reader.contains(&format!("(\"{field}\")")), "{field}");
        }
        assert_eq!(answer_fields("turn_start"), Some(&[][..]));
        assert_eq!(answer_fields("nowhere"), None);
    }
}
