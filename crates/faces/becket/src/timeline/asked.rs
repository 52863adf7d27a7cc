//! Dispatches and stretches of time as the store has them. What is missing in older records is simply not known.

use becket_store::RawTrace;
use becket_web::view::Decision;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// One event that had handlers.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// Its place in the store.
    #[serde(skip)]
    pub seq: u64,
    /// The event's name.
    pub event: String,
    /// The turn within the session.
    pub turn: u32,
    time_ms: u64,
    time_us: u64,
    duration_us: u64,
    /// The tool call that it was about.
    pub tool_call_id: Option<String>,
    /// The hooks, in the order in which they counted.
    pub runs: Vec<Run>,
    /// The event before the first rewrite; without one, the event itself, where it was kept.
    pub original: Option<Box<RawValue>>,
    /// The event after the last one.
    pub effective: Option<Box<RawValue>>,
    /// The verdict in the end.
    pub verdict: Option<Value>,
}

/// One hook's part in it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Run {
    /// The hook's name.
    pub handler: String,
    /// Where it is configured.
    pub source: String,
    /// The event's name in the hook's own format.
    pub known_as: Option<String>,
    /// How it is run.
    pub lane: String,
    /// A hash of what it was given.
    pub input_hash: Option<String>,
    /// What it answered.
    pub reply: Option<Box<RawValue>>,
    effect: Effect,
    /// How long it took.
    pub duration_us: u64,
}

/// How long a turn, a request or a call took.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Stretch {
    /// `turn`, `request` or `tool_call`.
    pub kind: String,
    /// The tool or the model.
    pub name: String,
    /// When it began, in microseconds since 1970.
    pub time_us: u64,
    duration_us: u64,
    /// The call, where it is one.
    pub tool_call_id: Option<String>,
    /// How it ended, and who decided.
    pub facts: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Effect {
    kind: String,
    failure: Option<Failure>,
    refused: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Failure {
    cause: Value,
    detail: String,
    stderr: String,
}

impl Asked {
    /// Reads one dispatch. What is none, or cannot be read by this version, is left out: the rest can still be shown.
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

    /// When it began, in milliseconds since 1970.
    pub fn start_ms(&self) -> f64 {
        match self.time_us {
            0 => self.time_ms as f64,
            time_us => time_us as f64 / 1e3,
        }
    }

    /// How long all of it took, in milliseconds.
    pub fn duration_ms(&self) -> f64 {
        self.duration_us as f64 / 1e3
    }

    /// When it was over, in milliseconds since 1970.
    pub fn end_ms(&self) -> f64 {
        self.start_ms() + self.duration_ms()
    }

    /// When each hook began. What is recorded is how long they took: if that is more than all of it took, they ran
    /// beside each other, otherwise one after another.
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

    /// Why it was refused or asked about.
    pub fn reason(&self) -> Option<String> {
        self.verdict.as_ref().and_then(reason_of)
    }
}

impl Stretch {
    /// Reads one stretch of time, in the same way.
    pub fn read(trace: &RawTrace) -> Option<Self> {
        let stretch: Self = serde_json::from_str(&trace.dispatch).ok()?;
        (!stretch.kind.is_empty()).then_some(stretch)
    }

    /// When it began, in milliseconds since 1970.
    pub fn start_ms(&self) -> f64 {
        self.time_us as f64 / 1e3
    }

    /// When it was over, in milliseconds since 1970.
    pub fn end_ms(&self) -> f64 {
        self.start_ms() + self.duration_us as f64 / 1e3
    }

    /// Why there was no answer, or no result: words of the agent's.
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
    /// What came of it. A guard that broke has failed, even though the action was refused because of it.
    pub fn decision(&self) -> Decision {
        match self.effect.kind.as_str() {
            "rewrote" => Decision::Rewritten,
            "denied" => Decision::Denied,
            "failed" => Decision::Failed,
            "not_asked" => Decision::Skipped,
            _ => Decision::Allowed,
        }
    }

    /// Whether it broke, and something was refused because of that.
    pub fn failed_and_refused(&self) -> bool {
        self.effect.failure.is_some() && self.effect.refused
    }

    /// Why it refused, or how it broke.
    pub fn reason(&self) -> Option<String> {
        if let Some(failure) = &self.effect.failure {
            let cause = failure.cause.as_str().unwrap_or("failed").replace('_', " ");
            return Some(match failure.detail.as_str() {
                "" => cause,
                detail => format!("{cause}: {detail}"),
            });
        }
        if self.decision() != Decision::Denied {
            return None;
        }
        let reply: Value = serde_json::from_str(self.reply.as_ref()?.get()).ok()?;
        reason_of(reply.get("verdict")?)
    }

    /// The end of what it wrote to standard error when it broke.
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
