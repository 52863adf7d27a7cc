//! Data that grow while a script listens: a model's answer, and the output of a running tool.
//!
//! becket sends only the additions, so that the cost of a long answer is proportional to its length. pi sends the whole
//! state each time, so each handler that listens keeps it. pi also marks where each block of an answer begins and ends.

use std::collections::VecDeque;

use becket_events::{Delta, MessageUpdatePayload, Part, ToolCall, ToolUpdatePayload, Usage};
use serde_json::{Value, json};

use super::messages::{part, parts, shown_call, shown_usage};
use super::words::ModelName;

/// How many calls can run at the same time before the oldest is forgotten.
const MOST_CALLS: usize = 32;

/// The state that one handler has seen so far.
#[derive(Default)]
pub(super) struct Growing {
    answer: GrowingAnswer,
    outputs: VecDeque<(String, String)>,
}

/// An answer while it arrives, in blocks in the order in which they began.
#[derive(Default)]
struct GrowingAnswer {
    message_id: String,
    blocks: Vec<Block>,
    time_ms: u64,
}

enum Block {
    Said(Part),
    Call { index: usize, call: ToolCall },
}

impl Growing {
    /// pi's events for one of becket's, each with the message as it is then.
    pub(super) fn answer(
        &mut self,
        update: &MessageUpdatePayload,
        model: ModelName<'_>,
        now_ms: u64,
    ) -> Vec<(Value, Value)> {
        if self.answer.message_id != update.message_id {
            self.answer = GrowingAnswer {
                message_id: update.message_id.clone(),
                blocks: Vec::new(),
                time_ms: now_ms,
            };
        }
        let answer = &mut self.answer;
        let mut events = Vec::new();
        let mut tell = |answer: &GrowingAnswer, mut event: Value| {
            let message = answer.message(model);
            event["partial"] = message.clone();
            events.push((message, event));
        };
        if update.delta == Delta::End {
            if let Some(last) = answer.blocks.len().checked_sub(1) {
                let ended = answer.ended(last);
                tell(answer, ended);
            }
            return events;
        }
        let place = match answer.place_of(&update.delta) {
            Some(place) => place,
            None => {
                if let Some(last) = answer.blocks.len().checked_sub(1) {
                    let ended = answer.ended(last);
                    tell(answer, ended);
                }
                answer.blocks.push(Block::beginning(&update.delta));
                let place = answer.blocks.len() - 1;
                let kind = answer.blocks[place].kind();
                tell(
                    answer,
                    json!({"type": format!("{kind}_start"), "contentIndex": place}),
                );
                place
            }
        };
        if let Some(added) = answer.blocks[place].add(&update.delta) {
            let kind = answer.blocks[place].kind();
            let event = json!({"type": format!("{kind}_delta"), "contentIndex": place, "delta": added});
            tell(answer, event);
        }
        events
    }

    /// The result of a call as far as it is known.
    pub(super) fn partial_result(&mut self, update: &ToolUpdatePayload) -> Value {
        let known = self.outputs.iter().position(|(id, _)| *id == update.tool_call_id);
        if let Some(partial) = &update.partial {
            known.map(|known| self.outputs.remove(known));
            return json!({"content": parts(&partial.content), "details": partial.details});
        }
        let place = known.unwrap_or_else(|| {
            if self.outputs.len() == MOST_CALLS {
                self.outputs.pop_front();
            }
            self.outputs
                .push_back((update.tool_call_id.clone(), String::new()));
            self.outputs.len() - 1
        });
        let text = &mut self.outputs[place].1;
        text.push_str(&update.output);
        json!({"content": [{"type": "text", "text": text}]})
    }
}

impl GrowingAnswer {
    /// The block to which a piece belongs; `None` if it begins a new one.
    fn place_of(&self, delta: &Delta) -> Option<usize> {
        let last = self.blocks.len().checked_sub(1)?;
        match (delta, &self.blocks[last]) {
            (Delta::Text { .. }, Block::Said(Part::Text { .. }))
            | (Delta::Thinking { .. }, Block::Said(Part::Thinking { signature: None, .. })) => Some(last),
            (Delta::Arguments { index, .. }, _) => self
                .blocks
                .iter()
                .rposition(|block| matches!(block, Block::Call { index: own, .. } if own == index)),
            _ => None,
        }
    }

    /// The event for the end of a block.
    fn ended(&self, place: usize) -> Value {
        let block = &self.blocks[place];
        let mut event = json!({"type": format!("{}_end", block.kind()), "contentIndex": place});
        match block {
            Block::Said(Part::Text { text } | Part::Thinking { text, .. }) => {
                event["content"] = text.as_str().into();
            }
            Block::Said(Part::Image { .. }) => {}
            Block::Call { call, .. } => event["toolCall"] = shown_call(call),
        }
        event
    }

    fn message(&self, model: ModelName<'_>) -> Value {
        let content = self.blocks.iter().map(|block| match block {
            Block::Said(said) => part(said),
            Block::Call { call, .. } => shown_call(call),
        });
        let content: Vec<Value> = content.collect();
        json!({
            "role": "assistant",
            "content": content,
            "api": model.api(),
            "provider": model.provider,
            "model": model.id,
            "usage": shown_usage(&Usage::default()),
            "stopReason": "stop",
            "timestamp": self.time_ms,
        })
    }
}

impl Block {
    /// An empty block for a piece.
    fn beginning(delta: &Delta) -> Self {
        let call = |index: usize, id: &str, name: &str| Self::Call {
            index,
            call: ToolCall {
                id: id.into(),
                name: name.into(),
                arguments: String::new(),
            },
        };
        match delta {
            Delta::Text { .. } => Self::Said(Part::text("")),
            Delta::Thinking { .. } => Self::Said(Part::Thinking {
                text: String::new(),
                signature: None,
            }),
            Delta::ToolCall { index, id, name } => call(*index, id, name),
            // The handler began to listen in the middle of an answer.
            Delta::Arguments { index, .. } => call(*index, "", ""),
            Delta::End => Self::Said(Part::text("")),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Said(Part::Thinking { .. }) => "thinking",
            Self::Said(_) => "text",
            Self::Call { .. } => "toolcall",
        }
    }

    /// Adds a piece; returns the added text, if it is to be sent.
    fn add<'d>(&mut self, delta: &'d Delta) -> Option<&'d str> {
        match (self, delta) {
            (Self::Said(Part::Text { text: so_far }), Delta::Text { text }) => {
                so_far.push_str(text);
                Some(text)
            }
            (
                Self::Said(Part::Thinking {
                    text: so_far,
                    signature: seal,
                }),
                Delta::Thinking { text, signature },
            ) => {
                so_far.push_str(text);
                seal.clone_from(signature);
                Some(text).filter(|text| !text.is_empty()).map(String::as_str)
            }
            (Self::Call { call, .. }, Delta::Arguments { text, .. }) => {
                call.arguments.push_str(text);
                Some(text)
            }
            _ => None,
        }
    }
}
