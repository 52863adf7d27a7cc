//! A decision about a call and whose it is, and the opinion of hooks that leads to it.

use std::time::Instant;

use becket_events::{ApprovalDecision, ApprovalSource, Rule, Strictest, Verdict};
use becket_hooks::Consequence;
use serde_json::{Map, Value};

use super::step::Step;
use crate::audit::Ruling;
use crate::hooks::Hooks;

/// Why the user is asked, where a rule says so.
pub(super) const RULE_ASKS: &str = "a rule asks for approval";

/// A question for the user.
pub(super) struct Wanted {
    pub(super) reason: Option<String>,
    /// Whether only the user can answer, and neither hooks nor `--yes`.
    pub(super) insists: bool,
    /// The hooks that ask for the user's answer.
    pub(super) handlers: Vec<String>,
    /// Whether the user is asked only because nothing else allowed the call; then a yes may count for later calls as
    /// well.
    pub(super) spared: bool,
}

/// How a call was decided, and by whom.
pub(super) struct Decision {
    pub(super) verdict: ApprovalDecision,
    pub(super) source: ApprovalSource,
    pub(super) reason: Option<String>,
    /// The hooks that decided, if hooks did.
    pub(super) handlers: Vec<String>,
    /// The arguments that the call is allowed with, if a hook changed them. They are not judged yet.
    pub(super) rewritten: Option<Map<String, Value>>,
    /// The question that another agent asks its user, if it decides.
    pub(super) left: Option<Wanted>,
}

impl Decision {
    pub(super) fn allow(source: ApprovalSource) -> Self {
        Self {
            verdict: ApprovalDecision::Allow,
            source,
            reason: None,
            handlers: Vec::new(),
            rewritten: None,
            left: None,
        }
    }

    pub(super) fn deny(source: ApprovalSource, reason: impl Into<String>) -> Self {
        Self {
            verdict: ApprovalDecision::Deny,
            reason: Some(reason.into()),
            ..Self::allow(source)
        }
    }

    /// Another agent decides.
    pub(super) fn left(question: Wanted) -> Self {
        Self {
            handlers: question.handlers.clone(),
            left: Some(question),
            ..Self::deny(ApprovalSource::Headless, "another agent decides")
        }
    }

    pub(super) fn cancelled() -> Self {
        let verdict = ApprovalDecision::Cancelled;
        Self {
            verdict,
            ..Self::deny(ApprovalSource::Cancellation, "cancelled")
        }
    }

    /// A yes does not count if the user cancelled everything, or a hook ended the run, while it was being decided.
    pub(super) fn unless_ended(self, hooks: &Hooks) -> Self {
        match (self.verdict, hooks.halt()) {
            (ApprovalDecision::Allow, _) if hooks.cancel().is_cancelled() => Self::cancelled(),
            (ApprovalDecision::Allow, Some(reason)) => Self::deny(ApprovalSource::Hook, reason),
            _ => self,
        }
    }

    /// The decision for the audit log; deciding it began at `began`.
    pub(super) fn ruling(&self, began: Instant) -> Ruling {
        Ruling {
            decision: self.verdict,
            source: self.source,
            handlers: self.handlers.clone(),
            reason: self.reason.clone(),
            duration_us: began.elapsed().as_micros() as u64,
            shadow: None,
        }
    }

    /// The decision for the audit log, if the call would not have been made, or not without a question.
    pub(super) fn shadow_ruling(&self, began: Instant) -> Option<Ruling> {
        let (would, reason) = match &self.left {
            Some(question) if question.spared => return None,
            Some(question) => (Consequence::Ask, question.reason.clone()),
            None if self.verdict == ApprovalDecision::Allow => return None,
            None => (Consequence::Deny, self.reason.clone()),
        };
        Some(Ruling {
            reason: reason.or_else(|| Some(RULE_ASKS.into())),
            shadow: Some(would),
            ..self.ruling(began)
        })
    }

    /// The decision for the step listener.
    pub(super) fn step(&self) -> Step {
        Step::Decided {
            decision: self.verdict,
            source: self.source,
            handlers: self.handlers.clone(),
            reason: self.reason.clone(),
        }
    }

    pub(super) fn by(mut self, handlers: Vec<String>) -> Self {
        self.handlers = handlers;
        self
    }
}

/// The verdict of hooks about a call, and which hooks it came from.
#[derive(Default)]
pub(super) struct Opinion {
    pub(super) verdict: Option<Verdict>,
    pub(super) handlers: Vec<String>,
}

impl Opinion {
    pub(super) fn new(verdict: Strictest, handlers: Vec<String>) -> Self {
        Self {
            verdict: verdict.0,
            handlers,
        }
    }

    /// The stricter of two opinions, with the hooks behind it; equal ones keep the hooks of both.
    pub(super) fn and(self, later: Self) -> Self {
        let strictness = |opinion: &Self| opinion.verdict.as_ref().map_or(0, Verdict::strictness);
        let handlers = match strictness(&self).cmp(&strictness(&later)) {
            std::cmp::Ordering::Greater => self.handlers,
            std::cmp::Ordering::Less => later.handlers,
            std::cmp::Ordering::Equal => [self.handlers, later.handlers].concat(),
        };
        Self {
            verdict: Strictest(self.verdict).then(Strictest(later.verdict)).0,
            handlers,
        }
    }
}
