//! The record of a dispatch: who was asked, what they said, what it did, and how long it took.

use becket_events::{Class, EventId, HookFailedPayload, Json, Verdict};
use serde::Serialize;

use crate::clock::now_us;
use crate::handler::{Dialect, HandlerInfo, is_loosened};
use crate::rehearsal::Exchange;
use crate::{Failure, LaneKind};

/// One event that had handlers.
#[derive(Debug, Clone, Serialize)]
pub struct DispatchTrace {
    /// The event.
    #[serde(serialize_with = "event_name")]
    pub event: EventId,
    /// The session in which it happened.
    pub session_id: String,
    /// The turn within the session.
    pub turn: u32,
    /// When it began, in milliseconds since 1970.
    pub time_ms: u64,
    /// The same in microseconds.
    pub time_us: u64,
    /// The call that it is about, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// How long all of it took.
    pub duration_us: u64,
    /// Every handler that matched, in the order in which they count.
    pub runs: Vec<HandlerRun>,
    /// The event before the first rewrite. Without one, the event as programs and scripts were told it, unless it is
    /// long; always, where the witness keeps such events.
    pub original: Option<Json>,
    /// The event after the last rewrite, if there was one.
    pub effective: Option<Json>,
    /// The verdict in the end, where the event has one.
    pub verdict: Option<Verdict>,
}

/// One handler's part in a dispatch.
#[derive(Debug, Clone, Serialize)]
pub struct HandlerRun {
    /// The handler's name.
    pub handler: String,
    /// Where it is configured.
    pub source: String,
    /// The format it is written for.
    pub dialect: Dialect,
    /// The name by which its format knows the event, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_as: Option<&'static str>,
    /// How it is run.
    pub lane: LaneKind,
    /// What it means when it breaks.
    pub class: Class,
    /// A hash of the text that it was given; `None` for a handler that needs no text.
    pub input_hash: Option<String>,
    /// What it answered, as JSON; `None` when it failed or was not asked.
    pub reply: Option<serde_json::Value>,
    /// What came of it.
    pub effect: Effect,
    /// How long it took.
    pub duration_us: u64,
    /// What went to and fro; only in a rehearsal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<Exchange>,
}

impl HandlerRun {
    /// Whether it is a guard that its own file lets fail open.
    pub fn is_loosened(&self, event: EventId) -> bool {
        is_loosened(event, self.class, self.dialect, self.lane)
    }
}

/// What came of a handler's run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Effect {
    /// It answered nothing that mattered.
    None,
    /// It changed what later handlers and the agent see.
    Rewrote,
    /// It gave an answer.
    Replied,
    /// It refused.
    Denied,
    /// It broke.
    Failed {
        /// How.
        failure: Failure,
        /// Whether the action was refused because of it.
        refused: bool,
    },
    /// An earlier handler had settled the matter.
    NotAsked,
}

/// A failure that the person should hear about.
#[derive(Debug, Clone, Serialize)]
pub struct ReportedFailure {
    /// The event whose handler broke.
    #[serde(serialize_with = "event_name")]
    pub event: EventId,
    /// The handler.
    pub handler: HandlerInfo,
    /// How it broke.
    pub failure: Failure,
    /// Whether the action was refused because of it.
    pub refused: bool,
}

impl DispatchTrace {
    /// The record of something that happened on the occasion of an event, outside of its dispatch.
    pub fn noted(event: EventId, run: HandlerRun) -> Self {
        let now_us = now_us();
        let time_us = now_us.saturating_sub(run.duration_us);
        Self {
            event,
            session_id: String::new(),
            turn: 0,
            time_ms: time_us / 1000,
            time_us,
            tool_call_id: None,
            duration_us: run.duration_us,
            runs: vec![run],
            original: None,
            effective: None,
            verdict: None,
        }
    }
}

impl HandlerRun {
    /// A run that has only looked on so far.
    pub fn noted(handler: String, source: String, dialect: Dialect, lane: LaneKind) -> Self {
        Self {
            handler,
            source,
            dialect,
            known_as: None,
            lane,
            class: Class::Observe,
            input_hash: None,
            reply: None,
            effect: Effect::None,
            duration_us: 0,
            exchanges: Vec::new(),
        }
    }
}

impl ReportedFailure {
    /// The failure as the event `hook_failed`.
    pub(crate) fn payload(&self) -> HookFailedPayload {
        HookFailedPayload {
            failed_event: self.event.info().name.into(),
            handler: self.handler.name.clone(),
            source: self.handler.source.clone(),
            cause: self.failure.cause.describe().into(),
            detail: self.failure.detail.clone(),
            stderr: self.failure.stderr.clone(),
            refused: self.refused,
        }
    }
}

impl std::fmt::Display for ReportedFailure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let HandlerInfo { name, source, .. } = &self.handler;
        write!(formatter, "hook {name}")?;
        // A hook without a name of its own is named after its place.
        if name != source {
            write!(formatter, " ({source})")?;
        }
        let event = self.handler.known_as.unwrap_or(self.event.info().name);
        write!(formatter, " on {event}: {}", self.failure)
    }
}

/// Takes what the engine has to tell.
pub trait Witness: Send + Sync {
    /// A dispatch is over.
    fn dispatched(&self, trace: DispatchTrace);

    /// A handler broke. Told once for every run that broke.
    fn failed(&self, failure: &ReportedFailure);

    /// Whether it keeps an event also where nobody listens to it, so that it can be replayed: it hears of a dispatch
    /// without runs then. Such an event costs its payload and its text, each time.
    fn keeps(&self, _event: EventId) -> bool {
        false
    }
}

fn event_name<S: serde::Serializer>(event: &EventId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(event.info().name)
}
