//! The record of a dispatch: which handlers were asked, what they answered, the effect, and how long it took.

use becket_events::{Class, EventId, HookFailedPayload, Json, Verdict};
use serde::Serialize;

use crate::clock::now_us;
use crate::handler_info::{Dialect, HandlerInfo, is_loosened};
use crate::rehearsal::Exchange;
use crate::{Failure, LaneKind};

/// The record of one event that had handlers.
#[derive(Debug, Clone, Serialize)]
pub struct DispatchTrace {
    /// The event.
    #[serde(serialize_with = "event_name")]
    pub event: EventId,
    /// The session in which the event happened.
    pub session_id: String,
    /// The turn within the session.
    pub turn: u32,
    /// When the dispatch began, in milliseconds since 1970.
    pub time_ms: u64,
    /// When the dispatch began, in microseconds since 1970.
    pub time_us: u64,
    /// The tool call that the event is about, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// How long the whole dispatch took.
    pub duration_us: u64,
    /// Every handler that matched, in the order in which they count.
    pub runs: Vec<HandlerRun>,
    /// The event before the first rewrite. Without a rewrite, the event as programs and scripts were told it, unless it
    /// is long; always present if the witness keeps such events.
    pub original: Option<Json>,
    /// The event after the last rewrite, if there was one.
    pub effective: Option<Json>,
    /// The final verdict, if the event has one.
    pub verdict: Option<Verdict>,
}

/// One handler's part in a dispatch.
#[derive(Debug, Clone, Serialize)]
pub struct HandlerRun {
    /// The handler's name.
    pub handler: String,
    /// Where the handler is configured.
    pub source: String,
    /// The format that the handler is written for.
    pub dialect: Dialect,
    /// The event's name in the handler's format, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_as: Option<&'static str>,
    /// How the handler is run.
    pub lane: LaneKind,
    /// What happens when the handler fails.
    pub class: Class,
    /// A hash of the text that the handler was given; `None` for a handler that needs no text.
    pub input_hash: Option<String>,
    /// The handler's answer as JSON; `None` when it failed or was not asked.
    pub reply: Option<serde_json::Value>,
    /// The effect of the handler.
    pub effect: Effect,
    /// How long the handler took.
    pub duration_us: u64,
    /// What the handler read and answered; only in a rehearsal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<Exchange>,
}

impl HandlerRun {
    /// Whether the handler is a guard that its own file lets fail open.
    pub fn is_loosened(&self, event: EventId) -> bool {
        is_loosened(event, self.class, self.dialect, self.lane)
    }
}

/// The effect of a handler's run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Effect {
    /// The handler answered nothing that mattered.
    None,
    /// The handler changed what later handlers and the agent see.
    Rewrote,
    /// The handler gave an answer.
    Replied,
    /// The handler refused.
    Denied,
    /// The handler failed.
    Failed {
        /// How the handler failed.
        failure: Failure,
        /// Whether the action was refused because of the failure.
        refused: bool,
    },
    /// The handler is in shadow, and its answer would have counted for more than it did.
    Shadow {
        /// The consequence that did not happen.
        would: Consequence,
        /// The handler's reason, if it gave one.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The handler was not asked, because an earlier one had settled the matter.
    NotAsked,
}

/// What a handler in shadow would have done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Consequence {
    /// Refuse, because it said so or because it failed.
    Deny,
    /// Have the user asked.
    Ask,
    /// Allow without a question.
    Allow,
    /// End the run.
    Halt,
    /// Change what later handlers and the agent see.
    Rewrite,
    /// Answer, or set something, in another way.
    Answer,
}

impl std::fmt::Display for Consequence {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
            Self::Halt => "halt",
            Self::Rewrite => "rewrite",
            Self::Answer => "answer",
        })
    }
}

/// A failure that the user should be told about.
#[derive(Debug, Clone, Serialize)]
pub struct ReportedFailure {
    /// The event whose handler failed.
    #[serde(serialize_with = "event_name")]
    pub event: EventId,
    /// The handler that failed.
    pub handler: HandlerInfo,
    /// How the handler failed.
    pub failure: Failure,
    /// Whether the action was refused because of the failure.
    pub refused: bool,
}

impl DispatchTrace {
    /// The record of something that happened because of an event, outside of its dispatch.
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
    /// A run without an effect so far.
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
        // A hook without a name is named after its place.
        if name != source {
            write!(formatter, " ({source})")?;
        }
        let event = self.handler.known_as.unwrap_or(self.event.info().name);
        write!(formatter, " on {event}: {}", self.failure)
    }
}

/// Receives what the engine reports.
pub trait Witness: Send + Sync {
    /// Called when a dispatch is over.
    fn dispatched(&self, trace: DispatchTrace);

    /// Called once for every run that failed.
    fn failed(&self, failure: &ReportedFailure);

    /// Whether the witness keeps an event even without handlers, so that it can be replayed: it then gets a trace
    /// without runs. Such an event costs its payload and its text, each time.
    fn keeps(&self, _event: EventId) -> bool {
        false
    }
}

fn event_name<S: serde::Serializer>(event: &EventId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(event.info().name)
}

/// What a handler in shadow would have done, in a few words.
pub fn shadow_words(would: &str, reason: Option<&str>) -> String {
    let reason = reason.map(|reason| format!(": {reason}"));
    format!("in shadow, would {would}{}", reason.unwrap_or_default())
}
