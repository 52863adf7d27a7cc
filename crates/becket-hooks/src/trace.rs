//! The record of a dispatch: who was asked, what they said, what it did, and how long it took.

use becket_events::{EventId, HookFailedPayload, Json, Verdict};
use serde::Serialize;

use crate::handler::HandlerInfo;
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
    /// How long all of it took.
    pub duration_us: u64,
    /// Every handler that matched, in the order in which they count.
    pub runs: Vec<HandlerRun>,
    /// The event before the first rewrite, if there was one.
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
    /// How it is run.
    pub lane: LaneKind,
    /// A hash of the text that it was given; `None` for a handler that needs no text.
    pub input_hash: Option<String>,
    /// What it answered, as JSON; `None` when it failed or was not asked.
    pub reply: Option<serde_json::Value>,
    /// What came of it.
    pub effect: Effect,
    /// How long it took.
    pub duration_us: u64,
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
}

fn event_name<S: serde::Serializer>(event: &EventId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(event.info().name)
}
