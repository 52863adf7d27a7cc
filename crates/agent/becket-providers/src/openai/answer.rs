//! Reads a chat completion, streamed or whole.
//!
//! Servers that speak this interface differ in details, so every field is optional here, and tool calls are put
//! together by whatever of index, id and name a server sends.

use std::collections::VecDeque;

use becket_agent::provider::AnswerPart;
use becket_events::{Delta, StopReason, Usage};
use serde_json::Value;

use crate::answer::{AnswerReader, Progress, Unreadable, json_of};
use crate::conversation::fresh_call_id;

/// The state of a completion while it is read.
pub(crate) struct Reader {
    model: String,
    calls: Vec<Call>,
    finish_reason: Option<String>,
    done: bool,
    content: bool,
    refused: bool,
    usage: Usage,
}

/// A tool call while it arrives.
struct Call {
    /// The server's index, if it has one.
    index: Option<u64>,
    /// The server's id, as soon as it has come.
    id: String,
    name: String,
    announced: bool,
    /// Arguments that came before the name.
    waiting: String,
    has_arguments: bool,
}

impl Reader {
    pub fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            calls: Vec::new(),
            finish_reason: None,
            done: false,
            content: false,
            refused: false,
            usage: Usage::default(),
        }
    }

    fn choice(&mut self, choice: &Value, parts: &mut VecDeque<AnswerPart>) -> Result<(), Unreadable> {
        let delta = choice
            .get("delta")
            .filter(|delta| delta.is_object())
            .or_else(|| choice.get("message"));
        if let Some(delta) = delta {
            self.delta(delta, parts);
        }
        if let Some(reason) = choice
            .get("finish_reason")
            .and_then(Value::as_str)
            .filter(|reason| !reason.is_empty())
        {
            if reason == "error" {
                let native = choice.get("native_finish_reason").and_then(Value::as_str);
                let native = native.filter(|native| *native != reason);
                let words = native.map_or_else(String::new, |native| format!(" ({native})"));
                let why = format!("the server names no cause{words}");
                return Err(Unreadable::Reported(Value::String(why)));
            }
            self.finish_reason = Some(reason.to_owned());
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value, parts: &mut VecDeque<AnswerPart>) {
        let thought = ["reasoning_content", "reasoning"]
            .iter()
            .find_map(|field| delta.get(field)?.as_str());
        if let Some(text) = thought.filter(|text| !text.is_empty()) {
            self.content = true;
            parts.push_back(AnswerPart::Delta(Delta::Thinking {
                text: text.to_owned(),
                signature: None,
            }));
        }
        self.text(words(delta.get("content")), parts);
        let refusal = words(delta.get("refusal"));
        self.refused |= !refusal.is_empty();
        self.text(refusal, parts);
        for call in delta
            .get("tool_calls")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            self.call(call, parts);
        }
    }

    fn text(&mut self, text: String, parts: &mut VecDeque<AnswerPart>) {
        if !text.is_empty() {
            self.content = true;
            parts.push_back(AnswerPart::Delta(Delta::Text { text }));
        }
    }

    fn call(&mut self, piece: &Value, parts: &mut VecDeque<AnswerPart>) {
        self.content = true;
        let function = piece.get("function").unwrap_or(piece);
        let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
        let id = piece.get("id").and_then(Value::as_str).unwrap_or_default();
        let index = piece.get("index").and_then(Value::as_u64);
        let position = self.position(index, id, name);
        let (before, rest) = self.calls.split_at_mut(position);
        let Some(call) = rest.first_mut() else { return };
        if call.id.is_empty() {
            call.id.push_str(id);
        }
        if call.name.is_empty() {
            call.name.push_str(name);
        }
        call.waiting.push_str(&arguments(function.get("arguments")));
        // The results of two calls with one id could not be told apart.
        let is_taken = before.iter().any(|other| other.id == call.id);
        call.pass_on(position, is_taken, parts);
    }

    /// The position of the call that a piece belongs to; a new one if the piece begins a call.
    fn position(&mut self, index: Option<u64>, id: &str, name: &str) -> usize {
        let same_id = |call: &Call| id.is_empty() || call.id.is_empty() || call.id == id;
        let known = match index {
            // Some servers give every call the index 0 and tell them apart by id.
            Some(_) => self
                .calls
                .iter()
                .rposition(|call| call.index == index && same_id(call)),
            None if !id.is_empty() => self.calls.iter().position(|call| call.id == id),
            // Without index and id, a piece with a name begins a call, and one without a name continues the last.
            None if name.is_empty() => self.calls.len().checked_sub(1),
            None => None,
        };
        known.unwrap_or_else(|| {
            self.calls.push(Call {
                index,
                id: String::new(),
                name: String::new(),
                announced: false,
                waiting: String::new(),
                has_arguments: false,
            });
            self.calls.len() - 1
        })
    }

    fn usage(&mut self, usage: &Value) {
        let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
        let mut take = |target: fn(&mut Usage) -> &mut u64, pointer: &str| {
            if let Some(tokens) = count(pointer) {
                *target(&mut self.usage) = tokens;
            }
        };
        take(|usage| &mut usage.input_tokens, "/prompt_tokens");
        take(|usage| &mut usage.output_tokens, "/completion_tokens");
        take(
            |usage| &mut usage.cache_read_tokens,
            "/prompt_tokens_details/cached_tokens",
        );
        take(
            |usage| &mut usage.cache_write_tokens,
            "/prompt_tokens_details/cache_write_tokens",
        );
        take(
            |usage| &mut usage.reasoning_tokens,
            "/completion_tokens_details/reasoning_tokens",
        );
        self.usage.cost = usage.get("cost").and_then(Value::as_f64).or(self.usage.cost);
    }

    fn stop_reason(&self) -> StopReason {
        match self.finish_reason.as_deref() {
            Some("length" | "max_tokens") => StopReason::Length,
            Some("content_filter") => StopReason::Refused,
            _ if self.refused => StopReason::Refused,
            // Some servers say "stop" although they ask for tools, and some say nothing.
            reason if !self.calls.is_empty() => match reason.is_none_or(is_whole) {
                true => StopReason::ToolCalls,
                false => StopReason::Refused,
            },
            _ => StopReason::Stop,
        }
    }
}

/// Whether a stop reason means that the answer is complete. Servers have many names for failures, so any unknown one
/// counts as such.
fn is_whole(reason: &str) -> bool {
    const WHOLE: &[&str] = &[
        "",
        "stop",
        "tool_calls",
        "tool_call",
        "function_call",
        "tool_use",
        "end_turn",
        "stop_sequence",
        "eos",
        "complete",
        "completed",
    ];
    WHOLE.contains(&reason.to_lowercase().as_str())
}

impl AnswerReader for Reader {
    fn event(&mut self, data: &str, parts: &mut VecDeque<AnswerPart>) -> Result<Progress, Unreadable> {
        let data = data.trim();
        if data == "[DONE]" {
            self.done = true;
            return Ok(Progress::Finished);
        }
        let chunk = json_of(data)?;
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(Unreadable::Reported(chunk));
        }
        if let Some(model) = chunk
            .get("model")
            .and_then(Value::as_str)
            .filter(|model| !model.is_empty())
        {
            self.model = model.to_owned();
        }
        if let Some(usage) = chunk.get("usage") {
            self.usage(usage);
        }
        let choices = chunk.get("choices").and_then(Value::as_array);
        let first = |choice: &&Value| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
        if let Some(choice) = choices.into_iter().flatten().find(first) {
            if let Some(error) = choice.get("error").filter(|error| !error.is_null()) {
                return Err(Unreadable::Reported(error.clone()));
            }
            self.choice(choice, parts)?;
        }
        Ok(match self.finish_reason {
            Some(_) => Progress::Settling,
            None => Progress::Open,
        })
    }

    fn complete(&mut self, parts: &mut VecDeque<AnswerPart>) -> Option<AnswerPart> {
        if self.finish_reason.is_none() && !(self.done && self.content) {
            return None;
        }
        if self.calls.iter().any(|call| call.name.is_empty()) {
            return None;
        }
        for (position, call) in self
            .calls
            .iter_mut()
            .enumerate()
            .filter(|(_, call)| !call.has_arguments)
        {
            let text = "{}".to_owned();
            parts.push_back(AnswerPart::Delta(Delta::Arguments {
                index: position,
                text,
            }));
            call.has_arguments = true;
        }
        Some(AnswerPart::Completed {
            stop_reason: self.stop_reason(),
            usage: self.usage,
            model: self.model.clone(),
        })
    }
}

impl Call {
    /// Passes on what has arrived, once the call's name is known. A call whose id is missing or taken gets another one.
    fn pass_on(&mut self, position: usize, is_taken: bool, parts: &mut VecDeque<AnswerPart>) {
        if self.name.is_empty() {
            return;
        }
        if !self.announced {
            self.announced = true;
            let id = match self.id.is_empty() || is_taken {
                true => fresh_call_id(),
                false => self.id.clone(),
            };
            let name = self.name.clone();
            parts.push_back(AnswerPart::Delta(Delta::ToolCall {
                index: position,
                id,
                name,
            }));
        }
        if !self.waiting.is_empty() {
            self.has_arguments |= !self.waiting.trim().is_empty();
            let text = std::mem::take(&mut self.waiting);
            parts.push_back(AnswerPart::Delta(Delta::Arguments {
                index: position,
                text,
            }));
        }
    }
}

/// The text of a content field: text, or a list of parts with text in them.
fn words(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.get("text")?.as_str())
            .collect::<Vec<_>>()
            .concat(),
        _ => String::new(),
    }
}

/// Arguments as text; some servers send the object itself.
fn arguments(arguments: Option<&Value>) -> String {
    match arguments {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        Some(other) => other.to_string(),
    }
}
