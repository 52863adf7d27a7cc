//! The parts of a request that the rehearsal needs, read from the body's text.
//!
//! The body is what the last hook returned, so it is read as foreign data: fields may be missing, and only the end of
//! the conversation, from the last instruction on, is taken apart.

use becket_agent::provider::{ProviderError, ProviderErrorKind};
use becket_events::{Json, OperationKind};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Kinds of notes that carry the user's messages.
const NOTES_FROM_THE_PERSON: &[&str] = &["steering", "follow_up"];

/// The part of a request that matters.
pub(crate) struct Request {
    /// The user's last message.
    pub instruction: String,
    /// The tool calls made since then, with their results.
    pub calls: Vec<PastCall>,
    /// The tools that are offered.
    pub tools: Vec<OfferedTool>,
    /// How many messages the conversation has.
    pub messages: usize,
}

/// A call that was made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PastCall {
    /// The call's id.
    pub id: String,
    /// The result, if there is one.
    pub result: Option<PastResult>,
}

/// The result of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PastResult {
    /// The text of the result.
    pub text: String,
    /// Whether the tool failed or was refused.
    pub is_error: bool,
}

/// A tool that is offered.
#[derive(Deserialize)]
pub(crate) struct OfferedTool {
    /// The tool's name and parameters.
    pub function: Function,
    /// The operation, if the tool is one of becket's operations.
    #[serde(default)]
    pub operation: Option<OperationKind>,
}

/// A tool's name and parameters.
#[derive(Deserialize)]
pub(crate) struct Function {
    /// The tool's name.
    pub name: String,
    /// The JSON Schema of the tool's arguments.
    #[serde(default)]
    pub parameters: Value,
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    #[serde(default)]
    tools: Vec<Value>,
}

#[derive(Deserialize)]
struct WireMessage {
    role: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    tool_calls: Option<Vec<WireCall>>,
    #[serde(default)]
    tool_call_id: Option<String>,
    #[serde(default)]
    is_error: bool,
}

#[derive(Deserialize)]
struct WireCall {
    #[serde(default)]
    id: String,
}

impl WireMessage {
    fn is_instruction(&self) -> bool {
        let note = self
            .name
            .as_deref()
            .filter(|name| !NOTES_FROM_THE_PERSON.contains(name));
        self.role == "user" && note.is_none() && !self.text().trim().is_empty()
    }

    fn text(&self) -> String {
        match &self.content {
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                let words = parts.iter().filter_map(|part| part.get("text")?.as_str());
                words.collect::<Vec<_>>().join("\n")
            }
            _ => String::new(),
        }
    }
}

impl Request {
    /// Parses the body.
    pub fn read(body: &Json) -> Result<Self, ProviderError> {
        let body: Body<'_> = serde_json::from_str(body.text()).map_err(|error| unreadable(&error))?;
        let mut instruction = String::new();
        let mut recent = Vec::new();
        for raw in body.messages.iter().rev() {
            let message: WireMessage = serde_json::from_str(raw.get()).map_err(|error| unreadable(&error))?;
            if message.is_instruction() {
                instruction = message.text();
                break;
            }
            recent.push(message);
        }
        recent.reverse();
        Ok(Self {
            instruction,
            calls: past_calls(&recent),
            // A tool that a hook wrote in another form is of no use to the rehearsal.
            tools: body
                .tools
                .into_iter()
                .filter_map(|tool| serde_json::from_value(tool).ok())
                .collect(),
            messages: body.messages.len(),
        })
    }
}

fn past_calls(messages: &[WireMessage]) -> Vec<PastCall> {
    let ids = messages
        .iter()
        .flat_map(|message| message.tool_calls.iter().flatten())
        .map(|call| &call.id);
    let result = |id: &str| {
        let message = messages
            .iter()
            .find(|message| message.tool_call_id.as_deref() == Some(id))?;
        Some(PastResult {
            text: message.text(),
            is_error: message.is_error,
        })
    };
    ids.map(|id| PastCall {
        id: id.clone(),
        result: result(id),
    })
    .collect()
}

fn unreadable(error: &serde_json::Error) -> ProviderError {
    let message = format!(
        "The rehearsal cannot read the request ({error}). It expects `messages` and `tools` as in chat completions; \
         check what hooks changed in it"
    );
    ProviderError::new(ProviderErrorKind::Rejected, message)
}
