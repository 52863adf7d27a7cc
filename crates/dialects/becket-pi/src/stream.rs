//! A session as a stream of pi's events for other programs (`--mode json`, `--mode rpc`): one line of JSON per event.
//!
//! Events that extensions get as well are sent by handlers of the same rows (`rows.rs`), after all others: so a reader
//! sees the result of hooks. Events that only a front end knows (queues, retries, summaries) are sent by the program
//! itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use becket_events::CompactReason;
use becket_hooks::{Answered, Engine, Failure, Field, LaneKind, ScriptHandler};
use becket_host::LineWriter;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::{Value, json};

use super::host_call::Delivery;
use super::rows::{ExtensionOwner, front_rows};
use super::show::compact_reason;

/// How long a reader may block an event.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// The sink for lines.
pub trait Lines: Send + Sync {
    /// Writes a line, given without its end. Never waits.
    fn push(&self, line: String);

    /// Waits while the reader is far behind.
    fn room(&self) -> BoxFuture<'_, ()>;
}

impl Lines for LineWriter {
    fn push(&self, line: String) {
        self.push(line);
    }

    fn room(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.room())
    }
}

/// The event stream of a session.
pub struct Stream {
    lines: Arc<dyn Lines>,
    state: Mutex<StreamState>,
}

#[derive(Default)]
struct StreamState {
    /// Messages that are queued for the model, as far as the reader was told.
    steering: Vec<String>,
    follow_ups: Vec<String>,
    /// The block of an answer that has begun and not ended: its kind and its index.
    open: Option<(String, usize)>,
    /// How often a request was retried.
    retries: u32,
    /// Whether the beginning of a run was sent, and not its end.
    runs: bool,
}

impl Stream {
    /// A stream that has sent nothing yet.
    pub fn new(lines: Arc<dyn Lines>) -> Arc<Self> {
        Arc::new(Self {
            lines,
            state: Mutex::default(),
        })
    }

    /// Sends every event from now on.
    pub fn listen(self: &Arc<Self>, engine: &Engine) {
        let owner = ExtensionOwner {
            name: "the reader of events".into(),
            source: "--mode".into(),
            order: Vec::new(),
            timeout: LONGEST,
            lane: LaneKind::Native,
            priority: i32::MIN,
        };
        for (row, fields) in front_rows() {
            let teller = Teller {
                stream: Arc::clone(self),
                event: row.name(),
                fields,
            };
            row.register(engine, Arc::new(teller), &owner);
        }
    }

    /// Sends an event of the program itself.
    pub fn say(&self, value: &impl Serialize) {
        self.lines
            .push(serde_json::to_string(value).expect("what is told is plain data"));
    }

    /// Adds a message to a queue, and sends the queues.
    pub fn queued(&self, text: &str, delivery: Delivery) {
        let mut state = self.state();
        match delivery {
            Delivery::Steer => state.steering.push(text.to_owned()),
            Delivery::FollowUp => state.follow_ups.push(text.to_owned()),
            Delivery::NextTurn => return,
        }
        let queues = state.queues();
        drop(state);
        self.say(&queues);
    }

    /// Whether a run is in progress, as far as the reader was told: a reader that has seen the end of a run may send a
    /// prompt.
    pub fn runs(&self) -> bool {
        self.state().runs
    }

    /// How many messages are queued for the model.
    pub fn waiting(&self) -> usize {
        let state = self.state();
        state.steering.len() + state.follow_ups.len()
    }

    /// Empties the queues, whatever hooks have made of the messages.
    pub fn settled(&self) {
        let mut state = self.state();
        if state.steering.is_empty() && state.follow_ups.is_empty() {
            return;
        }
        state.steering.clear();
        state.follow_ups.clear();
        let queues = state.queues();
        drop(state);
        self.say(&queues);
    }

    /// Sends that a request is retried after a delay.
    pub fn retries(&self, most: u32, delay_ms: u64, error: &str) {
        let mut state = self.state();
        state.retries += 1;
        let attempt = state.retries;
        drop(state);
        self.say(&json!({
            "type": "auto_retry_start",
            "attempt": attempt,
            "maxAttempts": most,
            "delayMs": delay_ms,
            "errorMessage": error,
        }));
    }

    /// Sends that a summary is about to be written.
    pub fn compacts(&self, reason: CompactReason) {
        self.say(&json!({"type": "compaction_start", "reason": compact_reason(reason)}));
    }

    /// Sends that the summary was written, or that there is none.
    pub fn compacted(&self, reason: CompactReason, end: Compacted<'_>) {
        let mut told = json!({
            "type": "compaction_end",
            "reason": compact_reason(reason),
            "aborted": matches!(end, Compacted::Aborted),
            "willRetry": matches!(end, Compacted::Done { .. }) && reason == CompactReason::Overflow,
        });
        match end {
            Compacted::Done {
                summary,
                first_kept_id,
                tokens_before,
            } => told["result"] = compaction_result(summary, first_kept_id, tokens_before),
            Compacted::Failed(why) => told["errorMessage"] = format!("Compaction failed: {why}").into(),
            Compacted::Aborted => {}
        }
        self.say(&told);
    }

    /// Sends that another thinking level was chosen.
    pub fn thinks(&self, level: &str) {
        self.say(&json!({"type": "thinking_level_changed", "level": level}));
    }

    /// Sends that the session has another name.
    pub fn named(&self, name: &str) {
        self.say(&json!({"type": "session_info_changed", "name": name}));
    }

    /// Sends that an extension has failed.
    pub fn failed(&self, path: &str, event: &str, error: &str) {
        self.say(&json!({
            "type": "extension_error",
            "extensionPath": path,
            "event": event,
            "error": error,
        }));
    }

    /// Sends the events that must come before an event or belong to it, and updates the state.
    fn prepare(&self, event: &str, fields: &[Field]) {
        match event {
            "agent_start" => self.state().runs = true,
            "agent_end" => self.state().runs = false,
            "message_start" => self.heard(&parsed(fields, "message")),
            "message_update" => self.note_block(&parsed(fields, "assistantMessageEvent")),
            "message_end" => {
                let message = parsed(fields, "message");
                self.end_block(&message);
                self.end_retries(&message);
            }
            _ => {}
        }
    }

    /// Removes a message from its queue, since it has reached the model.
    fn heard(&self, message: &Value) {
        let Some(text) = user_text(message) else { return };
        let mut state = self.state();
        if state.forget(&text) {
            let queues = state.queues();
            drop(state);
            self.say(&queues);
        }
    }

    fn note_block(&self, update: &Value) {
        let kind = update["type"].as_str().and_then(|kind| kind.split_once('_'));
        let place = update["contentIndex"].as_u64().unwrap_or_default() as usize;
        self.state().open = match kind {
            Some((_, "end")) | None => None,
            Some((kind, _)) => Some((kind.to_owned(), place)),
        };
    }

    /// Ends the last block of an answer, since the answer is complete.
    fn end_block(&self, message: &Value) {
        let Some((kind, place)) = self.state().open.take().filter(|_| is_answer(message)) else {
            return;
        };
        let block = &message["content"][place];
        let mut update = json!({"type": format!("{kind}_end"), "contentIndex": place, "partial": message});
        match kind.as_str() {
            "toolcall" => update["toolCall"] = block.clone(),
            kind => update["content"] = block[kind].clone(),
        }
        self.say(&json!({"type": "message_update", "message": message, "assistantMessageEvent": update}));
    }

    /// Ends the retries, since an answer or its failure has arrived.
    fn end_retries(&self, message: &Value) {
        if !is_answer(message) {
            return;
        }
        let attempt = std::mem::take(&mut self.state().retries);
        if attempt == 0 {
            return;
        }
        let success = message["stopReason"] != "error" && message["stopReason"] != "aborted";
        let mut told = json!({"type": "auto_retry_end", "success": success, "attempt": attempt});
        if !success {
            told["finalError"] = message["errorMessage"].clone();
        }
        self.say(&told);
    }

    fn state(&self) -> MutexGuard<'_, StreamState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StreamState {
    /// Removes a message from its queue; returns whether it was queued.
    fn forget(&mut self, text: &str) -> bool {
        for queue in [&mut self.steering, &mut self.follow_ups] {
            if let Some(place) = queue.iter().position(|waiting| waiting == text) {
                queue.remove(place);
                return true;
            }
        }
        false
    }

    fn queues(&self) -> Value {
        json!({"type": "queue_update", "steering": self.steering, "followUp": self.follow_ups})
    }
}

/// The end of a compaction.
#[derive(Debug, Clone, Copy)]
pub enum Compacted<'a> {
    /// The summary replaces the messages before it.
    Done {
        /// The text of the summary.
        summary: &'a str,
        /// The first entry that was kept; that of the summary if none was.
        first_kept_id: &'a str,
        /// How many tokens the conversation had.
        tokens_before: u64,
    },
    /// The compaction was cancelled.
    Aborted,
    /// The compaction failed.
    Failed(&'a str),
}

/// A summary in pi's form.
pub fn compaction_result(summary: &str, first_kept_id: &str, tokens_before: u64) -> Value {
    json!({
        "summary": summary,
        "firstKeptEntryId": first_kept_id,
        "tokensBefore": tokens_before,
    })
}

/// Sends one kind of event.
struct Teller {
    stream: Arc<Stream>,
    event: &'static str,
    /// The fields that readers know, in their order.
    fields: &'static [&'static str],
}

impl ScriptHandler for Teller {
    fn call<'a>(&'a self, fields: Vec<Field>) -> BoxFuture<'a, Result<Answered, Failure>> {
        Box::pin(async move {
            self.stream.lines.room().await;
            self.stream.prepare(self.event, &fields);
            self.stream.lines.push(line(self.event, self.fields, &fields));
            Ok(Answered::default())
        })
    }
}

/// The line of an event: its name, and the wanted fields.
fn line(event: &str, wanted: &[&str], fields: &[Field]) -> String {
    let mut line = format!("{{\"type\":\"{event}\"");
    for name in wanted {
        if let Some(field) = fields.iter().find(|field| field.name == *name) {
            line.push_str(&format!(",\"{name}\":{}", field.json));
        }
    }
    line.push('}');
    line
}

fn parsed(fields: &[Field], name: &str) -> Value {
    let field = fields.iter().find(|field| field.name == name);
    field
        .and_then(|field| serde_json::from_str(&field.json).ok())
        .unwrap_or_default()
}

fn is_answer(message: &Value) -> bool {
    message["role"] == "assistant"
}

/// The text of a user message.
fn user_text(message: &Value) -> Option<String> {
    if message["role"] != "user" {
        return None;
    }
    match &message["content"] {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            Some(texts.collect())
        }
        _ => None,
    }
}
