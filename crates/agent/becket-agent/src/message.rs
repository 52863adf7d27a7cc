//! Makes messages: ids, times, and the few shapes that the agent writes itself.

use std::time::SystemTime;

use becket_events::{Message, MessageBody, MessageRecord, NoteDraft, Part, StopReason, Usage};
use serde_json::Value;

/// An id that sorts by time.
pub(crate) fn new_id() -> String {
    becket_hooks::clock::new_uuid().to_string()
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    now_us() / 1000
}

/// Microseconds since 1970.
pub(crate) fn now_us() -> u64 {
    SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |age| age.as_micros() as u64)
}

pub(crate) fn record(id: String, body: MessageBody) -> MessageRecord {
    MessageRecord {
        id,
        time_ms: now_ms(),
        body,
    }
}

pub(crate) fn user(text: &str, images: Vec<Part>) -> Message {
    let content = std::iter::once(Part::text(text)).chain(images).collect();
    Message::new(record(new_id(), MessageBody::User { content }))
}

/// Words that the model chose to say by a tool of `asking`.
pub(crate) fn assistant(text: &str, asking: &Message) -> Message {
    let model = match asking.body() {
        MessageBody::Assistant { model, .. } => model.clone(),
        _ => String::new(),
    };
    let body = MessageBody::Assistant {
        content: vec![Part::text(text)],
        tool_calls: Vec::new(),
        model,
        stop_reason: StopReason::Stop,
        usage: Usage::default(),
        error: None,
    };
    Message::new(record(new_id(), body))
}

/// A note of becket's own.
pub(crate) fn note(kind: &str, text: &str) -> Message {
    from_draft(NoteDraft {
        kind: kind.into(),
        content: vec![Part::text(text)],
        display: false,
        details: None,
    })
}

pub(crate) fn from_draft(draft: NoteDraft) -> Message {
    let NoteDraft {
        kind,
        content,
        display,
        details,
    } = draft;
    Message::new(record(
        new_id(),
        MessageBody::Note {
            kind,
            content,
            display,
            details,
        },
    ))
}

/// A result in words alone.
pub(crate) fn tool_result(call_id: &str, tool_name: &str, content: Vec<Part>, is_error: bool) -> Message {
    detailed_result(call_id, tool_name, content, is_error, None)
}

pub(crate) fn detailed_result(
    call_id: &str,
    tool_name: &str,
    content: Vec<Part>,
    is_error: bool,
    details: Option<Value>,
) -> Message {
    let body = MessageBody::Tool {
        tool_call_id: call_id.into(),
        tool_name: tool_name.into(),
        content,
        is_error,
        details,
    };
    Message::new(record(new_id(), body))
}
