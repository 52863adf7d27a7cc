//! Dispatches and spans of time as the store has them. What older records lack is unknown.

use becket_hooks::shadow_words;
use becket_store::RawTrace;
use becket_web::view::Decision;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::tree::failure_words;

/// One event that had handlers.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// The position of the dispatch in the store.
    #[serde(skip)]
    pub seq: u64,
    /// The name of the event.
    pub event: String,
    /// The turn within the session.
    pub turn: u32,
    time_ms: u64,
    time_us: u64,
    duration_us: u64,
    /// The tool call that the event is about.
    pub tool_call_id: Option<String>,
    /// The hooks, in the order in which they counted.
    pub runs: Vec<Run>,
    /// The event before the first rewrite; if there was none, the event itself, if it was kept.
    pub original: Option<Box<RawValue>>,
    /// The event after the last rewrite.
    pub effective: Option<Box<RawValue>>,
    /// The final verdict.
    pub verdict: Option<Value>,
}

/// The run of one hook in a dispatch.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Run {
    /// The hook's name.
    pub handler: String,
    /// Where the hook is configured.
    pub source: String,
    /// The event's name in the hook's own format.
    pub known_as: Option<String>,
    /// The lane that runs the hook.
    pub lane: String,
    /// A hash of the hook's input.
    pub input_hash: Option<String>,
    /// The hook's reply.
    pub reply: Option<Box<RawValue>>,
    effect: Effect,
    /// How long the run took.
    pub duration_us: u64,
}

/// How long a turn, a request or a call took.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Stretch {
    /// The kind: `turn`, `request` or `tool_call`.
    pub kind: String,
    /// The name of the tool or the model.
    pub name: String,
    /// When it began, in microseconds since 1970.
    pub time_us: u64,
    duration_us: u64,
    /// The id of the tool call, if it is one.
    pub tool_call_id: Option<String>,
    /// How it ended, and who decided.
    pub facts: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Effect {
    kind: String,
    failure: Option<Failure>,
    would: String,
    reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Failure {
    cause: Value,
    detail: String,
    stderr: String,
}

impl Asked {
    /// Reads one dispatch; `None` for another kind of record, or one of an unknown version.
    pub fn read(trace: &RawTrace) -> Option<Self> {
        let mut asked: Self = serde_json::from_str(&trace.dispatch).ok()?;
        if asked.event.is_empty() {
            return None;
        }
        asked.seq = trace.seq;
        if asked.tool_call_id.is_none() {
            asked.tool_call_id = asked.original.as_deref().and_then(call_of);
        }
        Some(asked)
    }

    /// When the dispatch began, in milliseconds since 1970.
    pub fn start_ms(&self) -> f64 {
        match self.time_us {
            0 => self.time_ms as f64,
            time_us => time_us as f64 / 1e3,
        }
    }

    /// How long the dispatch took, in milliseconds.
    pub fn duration_ms(&self) -> f64 {
        self.duration_us as f64 / 1e3
    }

    /// When the dispatch ended, in milliseconds since 1970.
    pub fn end_ms(&self) -> f64 {
        self.start_ms() + self.duration_ms()
    }

    /// When each hook began. Only durations are recorded: if their sum is more than the whole took, hooks ran side by
    /// side, otherwise one after another.
    pub fn starts_ms(&self) -> Vec<f64> {
        let all: u64 = self.runs.iter().map(|run| run.duration_us).sum();
        let beside = all > self.duration_us;
        let mut next = self.start_ms();
        let start = |run: &Run| {
            let start = next;
            if !beside {
                next += run.duration_us as f64 / 1e3;
            }
            start
        };
        self.runs.iter().map(start).collect()
    }

    /// The reason of the verdict.
    pub fn reason(&self) -> Option<String> {
        self.verdict.as_ref().and_then(reason_of)
    }
}

impl Stretch {
    /// Reads one span of time; `None` for another kind of record, or one of an unknown version.
    pub fn read(trace: &RawTrace) -> Option<Self> {
        let stretch: Self = serde_json::from_str(&trace.dispatch).ok()?;
        (!stretch.kind.is_empty()).then_some(stretch)
    }

    /// When the span began, in milliseconds since 1970.
    pub fn start_ms(&self) -> f64 {
        self.time_us as f64 / 1e3
    }

    /// When the span ended, in milliseconds since 1970.
    pub fn end_ms(&self) -> f64 {
        self.start_ms() + self.duration_us as f64 / 1e3
    }

    /// Why there was no answer or no result, in the agent's words.
    pub fn trouble(&self) -> Option<String> {
        let ended = &self.facts["ended"];
        let words = [&self.facts["refused"], &ended["error"], &ended["blocked"]];
        words
            .into_iter()
            .find_map(|words| words.as_str())
            .map(ToOwned::to_owned)
    }
}

impl Run {
    /// The decision of the hook. A guard that failed counts as failed, even though the action was refused because of
    /// it.
    pub fn decision(&self) -> Decision {
        match self.effect.kind.as_str() {
            "rewrote" => Decision::Rewritten,
            "denied" => Decision::Denied,
            "failed" => Decision::Failed,
            "not_asked" => Decision::Skipped,
            _ => Decision::Allowed,
        }
    }

    /// Why the hook refused, or how it failed.
    pub fn reason(&self) -> Option<String> {
        if let Some(failure) = &self.effect.failure {
            return Some(failure_words(
                failure.cause.as_str().unwrap_or("failed"),
                &failure.detail,
            ));
        }
        if self.effect.kind == "shadow" {
            return Some(shadow_words(&self.effect.would, self.effect.reason.as_deref()));
        }
        if self.decision() != Decision::Denied {
            return None;
        }
        let reply: Value = serde_json::from_str(self.reply.as_ref()?.get()).ok()?;
        reason_of(reply.get("verdict")?)
    }

    /// The end of what the hook wrote to standard error when it failed.
    pub fn stderr(&self) -> &str {
        self.effect.failure.as_ref().map_or("", |failure| &failure.stderr)
    }
}

/// The call that an event is about, if it is about one.
fn call_of(event: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct About {
        tool_call_id: String,
    }
    let about: About = serde_json::from_str(event.get()).ok()?;
    Some(about.tool_call_id)
}

/// The words of a verdict: `{"deny": "why"}`.
fn reason_of(verdict: &Value) -> Option<String> {
    let words = verdict.as_object()?.values().next()?;
    Some(words.as_str()?.to_owned())
}
