//! What hooks and rules say about a call that another agent is about to make.
//!
//! Such a call gets no permit, because nothing here runs it. Where nobody has spoken, the other agent does what it does
//! without becket.

use becket_events::{ApprovalDecision, ApprovalSource, Verdict};
use serde_json::{Map, Value};

use super::call::FinalCall;
use super::decision::{Decision, RULE_ASKS};

/// What hooks and rules say about a call of another agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Advice {
    /// The strictest verdict; `None` if nobody has spoken.
    pub verdict: Option<Verdict>,
    /// The hooks whose verdict it is.
    pub handlers: Vec<String>,
    /// The arguments in becket's terms, if a hook has written others.
    pub arguments: Option<Map<String, Value>>,
}

impl Advice {
    pub(super) fn of(decision: Decision, call: FinalCall) -> Self {
        Self {
            handlers: decision.handlers.clone(),
            verdict: verdict(decision),
            arguments: call.is_rewritten.then_some(call.arguments),
        }
    }
}

fn verdict(decision: Decision) -> Option<Verdict> {
    let reason = decision.reason.unwrap_or_default();
    match (decision.left, decision.verdict, decision.source) {
        // Without becket the other agent would decide as well.
        (Some(question), ..) if question.spared => None,
        (Some(question), ..) => {
            let reason = question.reason.unwrap_or_else(|| RULE_ASKS.into());
            Some(if question.insists {
                Verdict::Insist(reason)
            } else {
                Verdict::Ask(reason)
            })
        }
        (None, ApprovalDecision::Allow, ApprovalSource::Hook | ApprovalSource::AllowRule) => {
            Some(Verdict::Allow)
        }
        // What becket's own tools may do without a question says nothing about another agent's.
        (None, ApprovalDecision::Allow, _) => None,
        (None, ApprovalDecision::Deny | ApprovalDecision::Cancelled, _) => Some(Verdict::Deny(reason)),
    }
}
