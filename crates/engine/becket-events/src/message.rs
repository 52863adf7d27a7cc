//! Messages of a conversation, as every event and every provider sees them.
//!
//! A message never changes once it is made; a new one replaces it. So it is shared, and it caches its own JSON text: a
//! long conversation is joined from these texts instead of being serialised anew on every turn.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::request_size::BYTES_PER_TOKEN;

/// The kind of a note about a branch of the conversation that was left; its details are `from_id` and `summary`.
pub const BRANCH_NOTE: &str = "branch_summary";

/// The kind of a note about a command that the user ran; its details are the command and its outcome.
pub const SHELL_NOTE: &str = "user_shell";

/// The kind of a note saying that the answer before it was lost, because the program was killed.
pub const LOST_ANSWER_NOTE: &str = "lost_answer";

/// One message. Cheap to clone.
#[derive(Clone)]
pub struct Message(Arc<Shared>);

struct Shared {
    record: MessageRecord,
    json: OnceLock<Box<RawValue>>,
    /// The message as text of the first wire format that asked for it.
    wire: OnceLock<(Box<str>, Box<str>)>,
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageRecord {
    /// Identifies the message in its transcript.
    pub id: String,
    /// When the message was made, in milliseconds since 1970.
    pub time_ms: u64,
    /// The role of the speaker, with what is said.
    #[serde(flatten)]
    pub body: MessageBody,
}

/// The role of the speaker, with what is said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum MessageBody {
    /// The user, or a program in the user's place.
    User {
        /// What the user said.
        content: Vec<Part>,
    },
    /// The model.
    Assistant {
        /// What the model said.
        content: Vec<Part>,
        /// The tool calls that the model makes.
        tool_calls: Vec<ToolCall>,
        /// The model that answered.
        model: String,
        /// Why the model stopped.
        stop_reason: StopReason,
        /// What the answer cost.
        usage: Usage,
        /// What went wrong, if the provider failed. Such an answer is reported and not stored.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The result of one tool call.
    Tool {
        /// The tool call that this result answers.
        tool_call_id: String,
        /// The tool's name as the model knows it.
        tool_name: String,
        /// What the model sees.
        content: Vec<Part>,
        /// Whether the call failed or was refused.
        is_error: bool,
        /// Data of the tool, never sent to the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<serde_json::Value>,
    },
    /// Text from a hook or from becket itself. The model sees it as a user's message.
    Note {
        /// The note's origin: `hook`, `summary`, `steering`, or a name that a hook chose.
        kind: String,
        /// What the note says.
        content: Vec<Part>,
        /// Whether the user sees the note; the model always does.
        display: bool,
        /// Data of the hook that made the note, never sent to the model.
        details: Option<serde_json::Value>,
    },
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Text.
    Text {
        /// The text itself.
        text: String,
    },
    /// An image.
    Image {
        /// The image's media type, such as `image/png`.
        media_type: String,
        /// The image's bytes in base64.
        data: String,
    },
    /// What the model thought before it answered.
    Thinking {
        /// The thought.
        text: String,
        /// The provider's signature of the thought, which must be sent back unchanged.
        signature: Option<String>,
    },
}

/// The model asks for a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// Identifies the call.
    pub id: String,
    /// The tool's name as the model knows it.
    pub name: String,
    /// The arguments, as the text the model wrote.
    pub arguments: String,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model had said everything.
    Stop,
    /// The model waits for the results of its tool calls.
    ToolCalls,
    /// The answer reached its length limit.
    Length,
    /// The provider refused to go on.
    Refused,
    /// The user cancelled.
    Cancelled,
    /// The provider failed.
    Error,
}

/// Tokens that a request used, and their price.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Usage {
    /// Tokens sent, those from a cache included.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Tokens of the input that were read from a cache.
    pub cache_read_tokens: u64,
    /// Tokens that were written to a cache.
    pub cache_write_tokens: u64,
    /// Tokens of the output that the model thought with, when the provider names them.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
    /// The price in US dollars, when the provider names it.
    pub cost: Option<f64>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// An estimate from the bytes of a request and of its answer, where the provider does not say.
    pub fn estimated(sent: usize, received: usize) -> Self {
        let tokens = |bytes: usize| bytes.div_ceil(BYTES_PER_TOKEN) as u64;
        Self {
            input_tokens: tokens(sent),
            output_tokens: tokens(received),
            ..Self::default()
        }
    }

    /// Whether the provider said how many tokens a request used. None uses nothing at all.
    pub fn names_tokens(&self) -> bool {
        self.input_tokens > 0 || self.output_tokens > 0
    }

    /// What is left of a usage without another one; nothing is less than nothing.
    pub fn without(self, other: &Self) -> Self {
        let cost = self.cost.map(|cost| cost - other.cost.unwrap_or(0.0));
        Self {
            input_tokens: self.input_tokens.saturating_sub(other.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(other.output_tokens),
            cache_read_tokens: self.cache_read_tokens.saturating_sub(other.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_sub(other.cache_write_tokens),
            reasoning_tokens: self.reasoning_tokens.saturating_sub(other.reasoning_tokens),
            cost: cost.filter(|cost| *cost > 1e-9),
        }
    }

    /// The sum of two usages.
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens + other.input_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
            cache_read_tokens: self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens: self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens: self.reasoning_tokens + other.reasoning_tokens,
            cost: match (self.cost, other.cost) {
                (Some(one), Some(two)) => Some(one + two),
                (one, two) => one.or(two),
            },
        }
    }
}

impl Message {
    /// Makes a message.
    pub fn new(record: MessageRecord) -> Self {
        Self(Arc::new(Shared {
            record,
            json: OnceLock::new(),
            wire: OnceLock::new(),
        }))
    }

    /// The role of the speaker, with what is said.
    pub fn body(&self) -> &MessageBody {
        &self.0.record.body
    }

    /// Everything about the message.
    pub fn record(&self) -> &MessageRecord {
        &self.0.record
    }

    /// Identifies the message in its transcript.
    pub fn id(&self) -> &str {
        &self.0.record.id
    }

    /// The parts of the message.
    pub fn content(&self) -> &[Part] {
        match self.body() {
            MessageBody::User { content }
            | MessageBody::Assistant { content, .. }
            | MessageBody::Tool { content, .. }
            | MessageBody::Note { content, .. } => content,
        }
    }

    /// The text of the message, without images and thoughts.
    pub fn text(&self) -> String {
        text_of(self.content())
    }

    /// The tool calls that the message asks for.
    pub fn tool_calls(&self) -> &[ToolCall] {
        match self.body() {
            MessageBody::Assistant { tool_calls, .. } => tool_calls,
            _ => &[],
        }
    }

    /// The message as JSON text, made once.
    pub fn json(&self) -> &RawValue {
        self.0.json.get_or_init(|| {
            serde_json::value::to_raw_value(&self.0.record).expect("a message can be written as JSON")
        })
    }

    /// The message as text of a wire format, cached for the format that asks first.
    pub fn wire(&self, format: &str, make: impl FnOnce(&MessageRecord) -> String) -> Cow<'_, str> {
        let mut make = Some(make);
        let (first, text) = self.0.wire.get_or_init(|| {
            let make = make.take().expect("made at most once");
            (format.into(), make(&self.0.record).into())
        });
        match make {
            Some(make) if **first != *format => Cow::Owned(make(&self.0.record)),
            _ => Cow::Borrowed(text),
        }
    }
}

impl Part {
    /// A piece of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// The text parts among some parts, joined.
pub fn text_of(parts: &[Part]) -> String {
    let words = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    words.collect()
}

/// The text parts of a tool's result, each on a line of its own.
pub fn lines_of(parts: &[Part]) -> String {
    let words = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    words.collect::<Vec<_>>().join("\n")
}

impl std::fmt::Debug for Message {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.record.fmt(formatter)
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.record == other.0.record
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        MessageRecord::deserialize(deserializer).map(Self::new)
    }
}

impl JsonSchema for Message {
    fn schema_name() -> Cow<'static, str> {
        "Message".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        MessageRecord::json_schema(generator)
    }
}

/// A message that a hook wants to add to the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoteDraft {
    /// A name that the hook chooses.
    pub kind: String,
    /// What the model will see.
    pub content: Vec<Part>,
    /// Whether the user sees the note too.
    #[serde(default)]
    pub display: bool,
    /// Data of the hook, never sent to the model.
    #[serde(default)]
    pub details: Option<serde_json::Value>,
}

/// Something that a hook wants to add to the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EntryDraft {
    /// A message, which the model sees.
    Note(NoteDraft),
    /// Data of the hook, which the model never sees.
    Record {
        /// A name that the hook chooses.
        kind: String,
        /// The data to store.
        #[serde(default)]
        data: serde_json::Value,
    },
}

/// A part of an answer while it arrives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Delta {
    /// More text.
    Text {
        /// The text that was added.
        text: String,
    },
    /// More thoughts.
    Thinking {
        /// The text that was added.
        text: String,
        /// The provider's signature, which comes last.
        signature: Option<String>,
    },
    /// A tool call begins.
    ToolCall {
        /// The call's index among the calls of this answer.
        index: usize,
        /// Identifies the call.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// More of a tool call's arguments.
    Arguments {
        /// The call's index among the calls of this answer.
        index: usize,
        /// The text that was added.
        text: String,
    },
    /// The answer is complete; nothing more is added.
    End,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Message {
        Message::new(MessageRecord {
            id: "m1".into(),
            time_ms: 7,
            body: MessageBody::User {
                content: vec![Part::text("hello")],
            },
        })
    }

    #[test]
    fn reads_what_it_writes() {
        let text = serde_json::to_string(&message()).unwrap();
        let read: Message = serde_json::from_str(&text).unwrap();
        assert_eq!(read, message());
        assert_eq!(
            serde_json::to_string(&vec![message()]).unwrap(),
            format!("[{text}]")
        );
    }

    #[test]
    fn a_second_wire_format_does_not_get_the_first_ones_text() {
        let message = message();
        assert_eq!(message.wire("a", |_| "A".into()), "A");
        assert_eq!(message.wire("b", |_| "B".into()), "B");
        assert_eq!(message.wire("a", |_| unreachable!("made once")), "A");
    }
}
