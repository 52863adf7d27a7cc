//! Makes messages: ids, times, and the few shapes that the agent writes itself.

use becket_events::{Message, MessageBody, MessageRecord, NoteDraft, Part, StopReason, Usage};
use becket_gate::clock::now_ms;
use serde_json::Value;

/// An id that sorts by time.
pub(crate) fn new_id() -> String {
    becket_hooks::clock::new_uuid().to_string()
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

/// A message that the model chose to send with a tool call of `asking`.
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

/// A note by becket itself.
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

/// A tool result without details.
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

/// Whether two messages are of the same role.
pub(crate) fn same_role(one: &Message, other: &Message) -> bool {
    std::mem::discriminant(one.body()) == std::mem::discriminant(other.body())
}

/// The answer that hooks want instead of one, if it is an answer too.
pub(crate) fn instead(message: Message, other: Option<Message>) -> Message {
    let other = other.filter(|other| same_role(other, &message));
    other.unwrap_or(message)
}

/// A message with another text in place of its own; thoughts stay.
pub(crate) fn with_text(message: &Message, text: String) -> Message {
    let mut record = message.record().clone();
    if let MessageBody::Assistant { content, .. } = &mut record.body {
        content.retain(|part| !matches!(part, Part::Text { .. }));
        content.push(Part::text(text));
    }
    Message::new(record)
}
