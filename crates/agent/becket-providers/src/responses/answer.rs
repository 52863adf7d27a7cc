//! Reads an answer of the Responses interface, streamed or whole.
//!
//! An answer is a list of items. Servers may send an item piece by piece or only when it is done, so what a piece has
//! not brought is taken from the whole. Nothing is complete before the server says so of the whole response.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use becket_agent::provider::AnswerPart;
use becket_events::{Delta, StopReason, Usage};
use serde_json::Value;

use super::kept::Kept;
use crate::answer::{AnswerReader, Progress, Unreadable, json_of, push_text, push_thinking, text_at};
use crate::conversation::fresh_call_id;
use crate::signature::Seal;

/// The state of a response while it is read.
pub(crate) struct ItemReader {
    model: String,
    seal: Seal,
    /// The items, by their place in the response.
    items: BTreeMap<u64, Item>,
    calls: usize,
    /// The ids of the calls.
    ids: BTreeSet<String>,
    /// Whether a call came without the name of its tool.
    is_nameless: bool,
    refused: bool,
    numbers: Numbers,
    status: Option<Status>,
    usage: Usage,
}

/// The numbers that a server gives its events.
#[derive(Default)]
enum Numbers {
    /// No event had one yet.
    #[default]
    Unseen,
    /// The last event's number, and its text.
    Last(u64, String),
    /// Different events had the same number, so it says nothing.
    Meaningless,
}

impl Numbers {
    /// Whether an event comes after those before it, as far as its server numbers them.
    fn is_in_order(&mut self, event: &Value, data: &str) -> bool {
        let Some(number) = event.get("sequence_number").and_then(Value::as_u64) else {
            return true;
        };
        match self {
            Self::Meaningless => return true,
            Self::Last(last, text) if number == *last && text != data => *self = Self::Meaningless,
            Self::Last(last, _) if number <= *last => return false,
            Self::Unseen | Self::Last(..) => *self = Self::Last(number, data.to_owned()),
        }
        true
    }
}

/// An item while it arrives.
#[derive(Default)]
struct Item {
    /// The position of a call among the calls.
    call: Option<usize>,
    /// Whether the beginning of a message was seen.
    begun: bool,
    /// Whether text, a summary or arguments have arrived.
    has_content: bool,
    /// The arguments of a call, as their pieces have brought them.
    arguments: String,
    done: bool,
}

/// How a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Complete,
    TooLong,
    Filtered,
}

impl ItemReader {
    pub fn new(model: &str, seal: Seal) -> Self {
        Self {
            model: model.to_owned(),
            seal,
            items: BTreeMap::new(),
            calls: 0,
            ids: BTreeSet::new(),
            is_nameless: false,
            refused: false,
            numbers: Numbers::default(),
            status: None,
            usage: Usage::default(),
        }
    }

    fn text(&mut self, place: u64, event: &Value, parts: &mut VecDeque<AnswerPart>) {
        let text = text_at(event, "delta");
        self.items.entry(place).or_default().has_content |= !text.is_empty();
        push_text(parts, text);
    }

    fn thought(&mut self, place: u64, text: &str, parts: &mut VecDeque<AnswerPart>) {
        self.items.entry(place).or_default().has_content |= !text.is_empty();
        push_thinking(parts, text, None);
    }

    /// Reads the beginning of an item, unless it was read before.
    fn begin(
        &mut self,
        place: u64,
        item: &Value,
        parts: &mut VecDeque<AnswerPart>,
    ) -> Result<(), Unreadable> {
        match text_at(item, "type") {
            "function_call" => self.begin_call(place, item, parts)?,
            "message" => {
                let known = self.items.entry(place).or_default();
                let phase = text_at(item, "phase");
                if !std::mem::replace(&mut known.begun, true) && !phase.is_empty() {
                    let kept = Kept::Phase(phase.to_owned());
                    push_thinking(parts, "", Some(self.seal.mark(self.calls, kept.text())));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads the beginning of a call. One that comes a second time must not run a second time.
    fn begin_call(
        &mut self,
        place: u64,
        item: &Value,
        parts: &mut VecDeque<AnswerPart>,
    ) -> Result<(), Unreadable> {
        let known = self.items.entry(place).or_default();
        let name = text_at(item, "name");
        if known.call.is_some() || name.is_empty() {
            return Ok(());
        }
        let index = self.calls;
        known.call = Some(index);
        self.calls += 1;
        let id = match text_at(item, "call_id") {
            "" => fresh_call_id(),
            id => id.to_owned(),
        };
        if !self.ids.insert(id.clone()) {
            return Err(Unreadable::Nonsense("one of its calls came twice".into()));
        }
        let name = name.to_owned();
        parts.push_back(AnswerPart::Delta(Delta::ToolCall { index, id, name }));
        Ok(())
    }

    fn arguments(&mut self, place: u64, text: &str, parts: &mut VecDeque<AnswerPart>) {
        let Some(item) = self.items.get_mut(&place) else {
            return;
        };
        let Some(index) = item.call.filter(|_| !text.is_empty()) else {
            return;
        };
        item.has_content |= !text.trim().is_empty();
        item.arguments.push_str(text);
        let text = text.to_owned();
        parts.push_back(AnswerPart::Delta(Delta::Arguments { index, text }));
    }

    /// Reads an item that is done, as far as its pieces have not brought it. A call whose pieces are not the whole must
    /// not run.
    fn finish(
        &mut self,
        place: u64,
        item: &Value,
        parts: &mut VecDeque<AnswerPart>,
    ) -> Result<(), Unreadable> {
        self.begin(place, item, parts)?;
        let known = self.items.entry(place).or_default();
        let is_new = !known.has_content;
        if known.call.is_some() && !is_new && !is_same(&known.arguments, text_at(item, "arguments")) {
            let why = "the pieces of a call are not what the whole call is";
            return Err(Unreadable::Nonsense(why.into()));
        }
        if std::mem::replace(&mut known.done, true) {
            return Ok(());
        }
        self.is_nameless |= known.call.is_none() && text_at(item, "type") == "function_call";
        match text_at(item, "type") {
            "function_call" if is_new => {
                let whole = match text_at(item, "arguments").trim() {
                    "" => "{}",
                    _ => text_at(item, "arguments"),
                };
                self.arguments(place, whole, parts);
            }
            "message" if is_new => content_of(item).for_each(|part| match text_at(part, "type") {
                "refusal" => {
                    self.refused = true;
                    push_text(parts, text_at(part, "refusal"));
                }
                _ => push_text(parts, text_at(part, "text")),
            }),
            "reasoning" => self.finish_reasoning(item, is_new, parts),
            _ => {}
        }
        Ok(())
    }

    /// Adds the signature of a thought, and its summary if that has not arrived.
    fn finish_reasoning(&self, item: &Value, is_new: bool, parts: &mut VecDeque<AnswerPart>) {
        let summary = item.get("summary").and_then(Value::as_array);
        let texts = summary.into_iter().flatten().map(|part| text_at(part, "text"));
        let summary = texts.filter(|_| is_new).collect::<Vec<_>>().join("\n\n");
        let encrypted = text_at(item, "encrypted_content");
        let signature = (!encrypted.is_empty()).then(|| {
            let kept = Kept::Reasoning {
                id: text_at(item, "id").to_owned(),
                encrypted_content: encrypted.to_owned(),
            };
            self.seal.mark(self.calls, kept.text())
        });
        push_thinking(parts, &summary, signature);
    }

    /// Reads a whole response, as far as its pieces have not brought it.
    fn whole(&mut self, response: &Value, parts: &mut VecDeque<AnswerPart>) -> Result<(), Unreadable> {
        let items = response.get("output").and_then(Value::as_array);
        (0..)
            .zip(items.into_iter().flatten())
            .try_for_each(|(place, item)| self.finish(place, item, parts))
    }

    /// Reads what is said about the response: its model and its tokens.
    fn about(&mut self, response: &Value) {
        let model = text_at(response, "model");
        if !model.is_empty() {
            self.model = model.to_owned();
        }
        let mut take = |target: fn(&mut Usage) -> &mut u64, pointer: &str| {
            if let Some(tokens) = response.pointer(pointer).and_then(Value::as_u64) {
                *target(&mut self.usage) = tokens;
            }
        };
        take(|usage| &mut usage.input_tokens, "/usage/input_tokens");
        take(|usage| &mut usage.output_tokens, "/usage/output_tokens");
        take(
            |usage| &mut usage.cache_read_tokens,
            "/usage/input_tokens_details/cached_tokens",
        );
        take(
            |usage| &mut usage.cache_write_tokens,
            "/usage/input_tokens_details/cache_write_tokens",
        );
        take(
            |usage| &mut usage.reasoning_tokens,
            "/usage/output_tokens_details/reasoning_tokens",
        );
    }

    /// Reads the end of a response. The event says how it ended where the response does not.
    fn end(
        &mut self,
        response: &Value,
        event: &str,
        parts: &mut VecDeque<AnswerPart>,
    ) -> Result<(), Unreadable> {
        self.about(response);
        let reason = response
            .pointer("/incomplete_details/reason")
            .and_then(Value::as_str);
        let status = match text_at(response, "status") {
            "" => event.strip_prefix("response.").unwrap_or_default(),
            status => status,
        };
        self.status = Some(match (status, reason) {
            ("failed" | "cancelled", _) => return Err(Unreadable::Reported(response.clone())),
            ("incomplete", Some("content_filter")) => Status::Filtered,
            ("incomplete", _) => Status::TooLong,
            ("completed", _) => {
                self.whole(response, parts)?;
                Status::Complete
            }
            (other, _) => {
                let what = format!("it ended with the status {other:?}");
                return Err(Unreadable::Nonsense(what));
            }
        });
        Ok(())
    }
}

/// Whether the pieces of a call's arguments make the whole. A server need not repeat the whole.
fn is_same(pieces: &str, whole: &str) -> bool {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    whole.is_empty() || pieces == whole || value(pieces).is_some_and(|pieces| Some(pieces) == value(whole))
}

fn content_of(item: &Value) -> impl Iterator<Item = &Value> {
    item.get("content")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

impl AnswerReader for ItemReader {
    fn event(&mut self, data: &str, parts: &mut VecDeque<AnswerPart>) -> Result<Progress, Unreadable> {
        if data.trim() == "[DONE]" {
            return Ok(Progress::Finished);
        }
        let event = json_of(data)?;
        if !self.numbers.is_in_order(&event, data) {
            let why = "its pieces came twice, or in another order";
            return Err(Unreadable::Nonsense(why.into()));
        }
        let place = event
            .get("output_index")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        let item = event.get("item").unwrap_or(&Value::Null);
        let response = event.get("response").unwrap_or(&Value::Null);
        let kind = text_at(&event, "type");
        match kind {
            "response.created" | "response.in_progress" => self.about(response),
            "response.output_item.added" => self.begin(place, item, parts)?,
            "response.output_text.delta" => self.text(place, &event, parts),
            "response.refusal.delta" => {
                self.refused = true;
                self.text(place, &event, parts);
            }
            // A blank line between the parts of a summary.
            "response.reasoning_summary_part.added"
                if event.get("summary_index").and_then(Value::as_u64) > Some(0) =>
            {
                self.thought(place, "\n\n", parts);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.thought(place, text_at(&event, "delta"), parts);
            }
            "response.function_call_arguments.delta" => {
                self.arguments(place, text_at(&event, "delta"), parts);
            }
            "response.output_item.done" => self.finish(place, item, parts)?,
            "response.completed" | "response.incomplete" => self.end(response, kind, parts)?,
            "response.failed" => return Err(Unreadable::Reported(response.clone())),
            "error" => return Err(Unreadable::Reported(event)),
            "" if event.get("object").is_some_and(|object| object == "response") => {
                self.end(&event, kind, parts)?;
            }
            "" if event.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(Unreadable::Reported(event));
            }
            _ => {}
        }
        Ok(match self.status {
            Some(_) => Progress::Finished,
            None => Progress::Open,
        })
    }

    fn complete(&mut self, _parts: &mut VecDeque<AnswerPart>) -> Option<AnswerPart> {
        let status = self.status.filter(|_| !self.is_nameless);
        let stop_reason = match status? {
            Status::TooLong => StopReason::Length,
            Status::Filtered => StopReason::Refused,
            Status::Complete if self.refused => StopReason::Refused,
            Status::Complete if self.calls > 0 => StopReason::ToolCalls,
            Status::Complete => StopReason::Stop,
        };
        Some(AnswerPart::Completed {
            stop_reason,
            usage: self.usage,
            model: self.model.clone(),
        })
    }
}
