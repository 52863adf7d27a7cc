//! Reads an answer of the messages interface, streamed or whole.

use std::collections::{BTreeSet, VecDeque};

use becket_agent::provider::AnswerPart;
use becket_events::{Delta, StopReason, Usage};
use serde_json::Value;

use crate::answer::{AnswerReader, Progress, Unreadable, json_of, push_text, push_thinking, text_at};
use crate::conversation::fresh_call_id;
use crate::signature::Seal;

/// Marks a signature that is really the encrypted text of a thought that the provider does not show.
pub(crate) const REDACTED: &str = "redacted:";

/// The state of a message while it is read.
pub(crate) struct Reader {
    model: String,
    seal: Seal,
    /// The tool calls; the position of each is its index.
    calls: Vec<Call>,
    /// The numbers of all blocks that have begun.
    begun: BTreeSet<u64>,
    stop_reason: Option<String>,
    stopped: bool,
    tokens: Tokens,
}

/// A tool call while it arrives.
struct Call {
    /// The number of the call's block.
    block: u64,
    id: String,
    /// Arguments that came at the beginning of the call.
    input: Option<String>,
    has_arguments: bool,
    is_over: bool,
}

/// Token counts as the provider divides them, where cached ones are not part of the input.
#[derive(Default)]
struct Tokens {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    thoughts: u64,
}

impl Reader {
    pub fn new(model: &str, seal: Seal) -> Self {
        Self {
            model: model.to_owned(),
            seal,
            calls: Vec::new(),
            begun: BTreeSet::new(),
            stop_reason: None,
            stopped: false,
            tokens: Tokens::default(),
        }
    }

    fn message(&mut self, message: &Value) {
        if let Some(model) = message
            .get("model")
            .and_then(Value::as_str)
            .filter(|model| !model.is_empty())
        {
            self.model = model.to_owned();
        }
        self.usage(message.get("usage"));
        self.reason(message.get("stop_reason"));
    }

    fn reason(&mut self, reason: Option<&Value>) {
        if let Some(reason) = reason.and_then(Value::as_str) {
            self.stop_reason = Some(reason.to_owned());
        }
    }

    fn usage(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else { return };
        let mut take = |target: fn(&mut Tokens) -> &mut u64, pointer: &str| {
            if let Some(tokens) = usage.pointer(pointer).and_then(Value::as_u64) {
                *target(&mut self.tokens) = tokens;
            }
        };
        take(|tokens| &mut tokens.input, "/input_tokens");
        take(|tokens| &mut tokens.output, "/output_tokens");
        take(|tokens| &mut tokens.cache_read, "/cache_read_input_tokens");
        take(|tokens| &mut tokens.cache_write, "/cache_creation_input_tokens");
        take(
            |tokens| &mut tokens.thoughts,
            "/output_tokens_details/thinking_tokens",
        );
    }

    /// The mark of a thought's signature, if it has one.
    fn marked(&self, signature: &str) -> Option<String> {
        (!signature.is_empty()).then(|| self.seal.mark(self.calls.len(), signature))
    }

    /// The last call in a block of that number.
    fn call_in(&self, block: u64) -> Option<usize> {
        self.calls.iter().rposition(|call| call.block == block)
    }

    /// Begins a call. One that begins again before it is over, or with the id of another one, has come twice.
    fn call(
        &mut self,
        number: u64,
        block: &Value,
        parts: &mut VecDeque<AnswerPart>,
    ) -> Result<(), Unreadable> {
        let id = text_at(block, "id").to_owned();
        let is_open = self
            .call_in(number)
            .is_some_and(|index| !self.calls[index].is_over);
        if is_open || self.calls.iter().any(|call| !id.is_empty() && call.id == id) {
            return Err(Unreadable::Nonsense("one of its calls came twice".into()));
        }
        let input = block
            .get("input")
            .filter(|input| input.as_object().is_some_and(|map| !map.is_empty()));
        let index = self.calls.len();
        self.calls.push(Call {
            block: number,
            id: id.clone(),
            input: input.map(Value::to_string),
            has_arguments: false,
            is_over: false,
        });
        let id = if id.is_empty() { fresh_call_id() } else { id };
        let name = text_at(block, "name").to_owned();
        parts.push_back(AnswerPart::Delta(Delta::ToolCall { index, id, name }));
        Ok(())
    }

    fn block_start(
        &mut self,
        number: u64,
        block: &Value,
        parts: &mut VecDeque<AnswerPart>,
    ) -> Result<(), Unreadable> {
        self.begun.insert(number);
        let field = |name: &str| text_at(block, name);
        match block.get("type").and_then(Value::as_str) {
            Some("text") => push_text(parts, field("text")),
            Some("thinking") => push_thinking(parts, field("thinking"), self.marked(field("signature"))),
            Some("redacted_thinking") => {
                push_thinking(parts, "", self.marked(&format!("{REDACTED}{}", field("data"))));
            }
            Some("tool_use") => self.call(number, block, parts)?,
            // Blocks of tools that run at the provider, and of kinds that becket does not know.
            _ => {}
        }
        Ok(())
    }

    fn block_delta(
        &mut self,
        number: u64,
        delta: &Value,
        parts: &mut VecDeque<AnswerPart>,
    ) -> Result<(), Unreadable> {
        let field = |name: &str| text_at(delta, name);
        match delta.get("type").and_then(Value::as_str) {
            Some("text_delta") => push_text(parts, field("text")),
            Some("thinking_delta") => push_thinking(parts, field("thinking"), None),
            Some("signature_delta") => push_thinking(parts, "", self.marked(field("signature"))),
            Some("input_json_delta") => {
                if !self.begun.contains(&number) {
                    let why = "a piece of a call came before its beginning";
                    return Err(Unreadable::Nonsense(why.into()));
                }
                let text = field("partial_json").to_owned();
                let Some(index) = self.call_in(number).filter(|_| !text.is_empty()) else {
                    return Ok(());
                };
                let call = &mut self.calls[index];
                if call.is_over {
                    let why = "a piece of a call came after its end";
                    return Err(Unreadable::Nonsense(why.into()));
                }
                call.has_arguments |= !text.trim().is_empty();
                parts.push_back(AnswerPart::Delta(Delta::Arguments { index, text }));
            }
            _ => {}
        }
        Ok(())
    }

    /// The end of a block.
    fn block_stop(&mut self, number: u64, parts: &mut VecDeque<AnswerPart>) {
        if let Some(index) = self.call_in(number) {
            self.finish(index, parts);
        }
    }

    /// Completes a call whose arguments came at its beginning, or that has none.
    fn finish(&mut self, index: usize, parts: &mut VecDeque<AnswerPart>) {
        let call = &mut self.calls[index];
        call.is_over = true;
        if std::mem::replace(&mut call.has_arguments, true) {
            return;
        }
        let text = call.input.take().unwrap_or_else(|| "{}".to_owned());
        parts.push_back(AnswerPart::Delta(Delta::Arguments { index, text }));
    }

    /// Reads an answer that was not streamed.
    fn whole(&mut self, message: &Value, parts: &mut VecDeque<AnswerPart>) -> Result<(), Unreadable> {
        self.message(message);
        let blocks = message
            .get("content")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        for (number, block) in (0..).zip(blocks) {
            self.block_start(number, block, parts)?;
            self.block_stop(number, parts);
        }
        self.stopped = self.stop_reason.is_some();
        Ok(())
    }

    fn stop(&self) -> StopReason {
        match self.stop_reason.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => StopReason::Length,
            Some("refusal") => StopReason::Refused,
            // Any other stop reason does not mean that the calls are complete.
            None | Some("tool_use" | "end_turn" | "stop_sequence") if !self.calls.is_empty() => {
                StopReason::ToolCalls
            }
            _ if !self.calls.is_empty() => StopReason::Refused,
            _ => StopReason::Stop,
        }
    }
}

impl AnswerReader for Reader {
    fn event(&mut self, data: &str, parts: &mut VecDeque<AnswerPart>) -> Result<Progress, Unreadable> {
        let event = json_of(data)?;
        let number = event.get("index").and_then(Value::as_u64).unwrap_or_default();
        match event.get("type").and_then(Value::as_str) {
            Some("message_start") => self.message(event.get("message").unwrap_or(&Value::Null)),
            Some("content_block_start") => {
                self.block_start(number, event.get("content_block").unwrap_or(&Value::Null), parts)?;
            }
            Some("content_block_delta") => {
                self.block_delta(number, event.get("delta").unwrap_or(&Value::Null), parts)?;
            }
            Some("content_block_stop") => self.block_stop(number, parts),
            Some("message_delta") => {
                self.reason(event.pointer("/delta/stop_reason"));
                self.usage(event.get("usage"));
            }
            Some("message_stop") => self.stopped = true,
            Some("message") => self.whole(&event, parts)?,
            Some("error") => return Err(Unreadable::Reported(event)),
            None if event.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(Unreadable::Reported(event));
            }
            _ => {}
        }
        Ok(if self.stopped {
            Progress::Finished
        } else {
            Progress::Open
        })
    }

    fn complete(&mut self, parts: &mut VecDeque<AnswerPart>) -> Option<AnswerPart> {
        if !self.stopped {
            return None;
        }
        (0..self.calls.len()).for_each(|index| self.finish(index, parts));
        let cached = self.tokens.cache_read.saturating_add(self.tokens.cache_write);
        Some(AnswerPart::Completed {
            stop_reason: self.stop(),
            usage: Usage {
                input_tokens: self.tokens.input.saturating_add(cached),
                output_tokens: self.tokens.output,
                cache_read_tokens: self.tokens.cache_read,
                cache_write_tokens: self.tokens.cache_write,
                reasoning_tokens: self.tokens.thoughts,
                cost: None,
            },
            model: self.model.clone(),
        })
    }
}
