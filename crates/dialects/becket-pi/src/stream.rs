//! A session as programs hear it that read pi's events (`--mode json`, `--mode rpc`): one line of JSON for each.
//!
//! What extensions hear too comes by handlers of the same rows (`rows.rs`), behind all others: so a reader sees what
//! hooks have made of it. What only a front end knows of (queues, retries, summaries) the program tells by itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use becket_events::CompactReason;
use becket_hooks::{Answered, Engine, Failure, Field, LaneKind, ScriptHandler};
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::{Value, json};

use super::host_call::Delivery;
use super::rows::{ExtensionOwner, front_rows};
use super::show::compact_reason;

/// How long a reader may hold up an event.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Where lines go.
pub trait Lines: Send + Sync {
    /// Takes a line, without its end. Never waits.
    fn push(&self, line: String);

    /// Waits while the reader is far behind.
    fn room(&self) -> BoxFuture<'_, ()>;
}

/// A session on its way to a reader.
pub struct Stream {
    lines: Arc<dyn Lines>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Words that wait for the model, as far as the reader was told of them.
    steering: Vec<String>,
    follow_ups: Vec<String>,
    /// The block of an answer that has begun and not ended: its kind and its place.
    open: Option<(String, usize)>,
    /// How often a request was tried again.
    retries: u32,
    /// Whether a run was told to have begun, and not to have ended.
    runs: bool,
}

impl Stream {
    /// A stream of which nothing was told yet.
    pub fn new(lines: Arc<dyn Lines>) -> Arc<Self> {
        Arc::new(Self {
            lines,
            state: Mutex::default(),
        })
    }

    /// Tells every event from now on.
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

    /// Tells something in the program's own words.
    pub fn say(&self, value: &impl Serialize) {
        self.lines
            .push(serde_json::to_string(value).expect("what is told is plain data"));
    }

    /// Words wait for the model.
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

    /// Whether something runs, as far as the reader was told: who has read of the end of a run may speak.
    pub fn runs(&self) -> bool {
        self.state().runs
    }

    /// How many words wait for the model.
    pub fn waiting(&self) -> usize {
        let state = self.state();
        state.steering.len() + state.follow_ups.len()
    }

    /// Nothing waits any more, whatever hooks have made of the words.
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

    /// A request is tried again, after a while.
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

    /// A summary is about to be written.
    pub fn compacts(&self, reason: CompactReason) {
        self.say(&json!({"type": "compaction_start", "reason": compact_reason(reason)}));
    }

    /// The summary is there, or there is none.
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

    /// Another level of thinking was chosen.
    pub fn thinks(&self, level: &str) {
        self.say(&json!({"type": "thinking_level_changed", "level": level}));
    }

    /// The session has another name.
    pub fn named(&self, name: &str) {
        self.say(&json!({"type": "session_info_changed", "name": name}));
    }

    /// An extension has failed.
    pub fn failed(&self, path: &str, event: &str, error: &str) {
        self.say(&json!({
            "type": "extension_error",
            "extensionPath": path,
            "event": event,
            "error": error,
        }));
    }

    /// What has to be told before an event, or belongs to it.
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

    /// A message has reached the model: if it had waited, it does not any more.
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

    /// The last block of an answer is complete when the answer is.
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

    /// An answer ends what was tried again: it is there, or will not come.
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Words do not wait any more; whether they did.
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

/// How a summary ended.
#[derive(Debug, Clone, Copy)]
pub enum Compacted<'a> {
    /// It stands in the place of what was before.
    Done {
        /// What it says.
        summary: &'a str,
        /// The first entry that was kept; that of the summary if none was.
        first_kept_id: &'a str,
        /// How many tokens the conversation had.
        tokens_before: u64,
    },
    /// Somebody did not want it.
    Aborted,
    /// It could not be had.
    Failed(&'a str),
}

/// A summary in pi's shape.
pub fn compaction_result(summary: &str, first_kept_id: &str, tokens_before: u64) -> Value {
    json!({
        "summary": summary,
        "firstKeptEntryId": first_kept_id,
        "tokensBefore": tokens_before,
    })
}

/// Tells one kind of event.
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

/// The line of an event: its name, and those fields.
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

/// The words of a message of the person's.
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
