//! Reads an answer of `generateContent`, streamed or whole.
//!
//! Every event has the form of a whole answer with a part of the content. A call comes in one piece, and a message is
//! complete when an event names a reason for its end.

use std::collections::{HashSet, VecDeque};

use becket_agent::provider::AnswerPart;
use becket_events::{Delta, StopReason, Usage};
use serde_json::{Value, json};

use super::carrier::Carrier;
use crate::answer::{AnswerReader, Progress, Unreadable, json_of, push_text, push_thinking, text_at};
use crate::conversation::fresh_call_id;
use crate::signature::Seal;

/// The state of an answer while it is read.
pub(crate) struct ChunkReader {
    model: String,
    seal: Seal,
    calls: usize,
    /// The ids of the calls, as far as the server names them.
    ids: HashSet<String>,
    /// Whether a call came without the name of its tool.
    is_nameless: bool,
    finish_reason: Option<String>,
    usage: Usage,
}

impl ChunkReader {
    pub fn new(model: &str, seal: Seal) -> Self {
        Self {
            model: model.to_owned(),
            seal,
            calls: 0,
            ids: HashSet::new(),
            is_nameless: false,
            finish_reason: None,
            usage: Usage::default(),
        }
    }

    /// Reads an event, or a whole answer.
    fn chunk(&mut self, chunk: &Value, parts: &mut VecDeque<AnswerPart>) -> Result<(), Unreadable> {
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(Unreadable::Reported(chunk.clone()));
        }
        let model = text_at(chunk, "modelVersion");
        if !model.is_empty() {
            self.model = model.to_owned();
        }
        self.usage(chunk.get("usageMetadata").unwrap_or(&Value::Null));
        let candidates = chunk.get("candidates").and_then(Value::as_array);
        let is_first = |candidate: &&Value| candidate.get("index").is_none_or(|index| *index == 0);
        let candidate = candidates.into_iter().flatten().find(is_first);
        let blocked = chunk
            .pointer("/promptFeedback/blockReason")
            .and_then(Value::as_str);
        match (candidate, blocked) {
            (Some(candidate), _) => self.candidate(candidate, parts),
            (None, Some(reason)) => {
                let message = format!("the prompt was blocked ({reason})");
                // The same prompt would be blocked again.
                Err(Unreadable::Reported(
                    json!({"error": {"code": 400, "message": message}}),
                ))
            }
            (None, None) => Ok(()),
        }
    }

    fn candidate(&mut self, candidate: &Value, parts: &mut VecDeque<AnswerPart>) -> Result<(), Unreadable> {
        let content = candidate.pointer("/content/parts").and_then(Value::as_array);
        for part in content.into_iter().flatten() {
            self.part(part, parts)?;
        }
        match text_at(candidate, "finishReason") {
            "" | "FINISH_REASON_UNSPECIFIED" => Ok(()),
            // The model tried to call a tool and failed. Another try may succeed.
            reason @ ("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS") => {
                let why = text_at(candidate, "finishMessage");
                Err(Unreadable::Nonsense(
                    format!("it stopped with {reason} {why}").trim().to_owned(),
                ))
            }
            reason => {
                self.finish_reason = Some(reason.to_owned());
                Ok(())
            }
        }
    }

    fn part(&mut self, part: &Value, parts: &mut VecDeque<AnswerPart>) -> Result<(), Unreadable> {
        let signature = Some(text_at(part, "thoughtSignature")).filter(|text| !text.is_empty());
        let marked = |carrier: Carrier| signature.map(|text| self.seal.mark(self.calls, carrier.mark(text)));
        if part.get("thought") == Some(&Value::Bool(true)) {
            push_thinking(parts, text_at(part, "text"), marked(Carrier::Thought));
        } else if let Some(call) = part.get("functionCall") {
            push_thinking(parts, "", marked(Carrier::Call));
            self.call(call, parts)?;
        } else {
            // The signature stands before the part that carries it, so that this part stays apart from the text so far.
            push_thinking(parts, "", marked(Carrier::Text));
            push_text(parts, text_at(part, "text"));
        }
        Ok(())
    }

    /// Reads a call. One that comes a second time must not run a second time.
    fn call(&mut self, call: &Value, parts: &mut VecDeque<AnswerPart>) -> Result<(), Unreadable> {
        let index = self.calls;
        self.calls += 1;
        let id = match text_at(call, "id") {
            "" => fresh_call_id(),
            id => id.to_owned(),
        };
        if !self.ids.insert(id.clone()) {
            return Err(Unreadable::Nonsense("one of its calls came twice".into()));
        }
        let name = text_at(call, "name").to_owned();
        self.is_nameless |= name.is_empty();
        parts.push_back(AnswerPart::Delta(Delta::ToolCall { index, id, name }));
        let text = match call.get("args") {
            None | Some(Value::Null) => "{}".to_owned(),
            Some(arguments) => arguments.to_string(),
        };
        parts.push_back(AnswerPart::Delta(Delta::Arguments { index, text }));
        Ok(())
    }

    /// Reads the counts of tokens, each of which is the sum so far.
    fn usage(&mut self, usage: &Value) {
        let count = |field: &str| usage.get(field).and_then(Value::as_u64);
        let sum = |one: &str, two: &str| match (count(one), count(two)) {
            (None, None) => None,
            (one, two) => Some(one.unwrap_or(0).saturating_add(two.unwrap_or(0))),
        };
        let mut set = |target: fn(&mut Usage) -> &mut u64, tokens: Option<u64>| {
            if let Some(tokens) = tokens {
                *target(&mut self.usage) = tokens;
            }
        };
        set(
            |usage| &mut usage.input_tokens,
            sum("promptTokenCount", "toolUsePromptTokenCount"),
        );
        set(
            |usage| &mut usage.output_tokens,
            sum("candidatesTokenCount", "thoughtsTokenCount"),
        );
        set(
            |usage| &mut usage.cache_read_tokens,
            count("cachedContentTokenCount"),
        );
        set(|usage| &mut usage.reasoning_tokens, count("thoughtsTokenCount"));
    }
}

impl AnswerReader for ChunkReader {
    fn event(&mut self, data: &str, parts: &mut VecDeque<AnswerPart>) -> Result<Progress, Unreadable> {
        let value = json_of(data)?;
        match &value {
            // Without server-sent events the chunks come as one list.
            Value::Array(chunks) => chunks.iter().try_for_each(|chunk| self.chunk(chunk, parts))?,
            chunk => self.chunk(chunk, parts)?,
        }
        Ok(match self.finish_reason {
            Some(_) => Progress::Settling,
            None => Progress::Open,
        })
    }

    fn complete(&mut self, _parts: &mut VecDeque<AnswerPart>) -> Option<AnswerPart> {
        let reason = self.finish_reason.as_deref().filter(|_| !self.is_nameless);
        let stop_reason = match reason? {
            "MAX_TOKENS" => StopReason::Length,
            "STOP" if self.calls > 0 => StopReason::ToolCalls,
            "STOP" => StopReason::Stop,
            // Every other reason names a filter or a fault.
            _ => StopReason::Refused,
        };
        Some(AnswerPart::Completed {
            stop_reason,
            usage: self.usage,
            model: self.model.clone(),
        })
    }
}
