//! The steps on the way to a decision, for a listener that explains how a call is judged.

use std::sync::Arc;

use becket_events::{ApprovalDecision, ApprovalSource};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::url_policy::{JudgedUrl, UrlClass, UrlVerdict};

/// Is told the steps on the way to a decision.
pub type StepListener = Arc<dyn Fn(Step) + Send + Sync>;

/// A step of the gate on its way to a decision, between asking hooks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// The final arguments are read, and what they touch is known.
    Resolved {
        /// The file, folder or address; `None` if there is nothing that can be named.
        target: Option<String>,
        /// The arguments that are judged from here on.
        arguments: Map<String, Value>,
    },
    /// The rules have been consulted.
    Rules {
        /// `deny`, `allow`, `ask` or `silent`.
        verdict: &'static str,
        /// The rule that matched, as it was written.
        rule: Option<String>,
    },
    /// The URL policy has been consulted.
    UrlPolicy {
        /// `deny`, `allow` or `ask`.
        verdict: &'static str,
        /// The rule that matched with its list, `default`, or `no policy`.
        rule: String,
        /// The class of the address, if it is not on the open internet.
        class: Option<&'static str>,
    },
    /// No rule or hook has decided: the user must be asked.
    Question {
        /// Why the user must be asked.
        reason: Option<String>,
        /// The hooks that ask for the user's answer.
        handlers: Vec<String>,
        /// Whether only the user can answer, and neither hooks nor `--yes`.
        insists: bool,
    },
    /// The call is decided.
    Decided {
        /// The decision.
        decision: ApprovalDecision,
        /// Who or what decided.
        source: ApprovalSource,
        /// The hooks that decided, if hooks did.
        handlers: Vec<String>,
        /// Why the call was refused, if it was.
        reason: Option<String>,
    },
}

pub(super) fn url_step(judged: &JudgedUrl) -> Step {
    let ruling = judged.ruling();
    Step::UrlPolicy {
        verdict: match ruling.verdict {
            UrlVerdict::Allow => "allow",
            UrlVerdict::Ask => "ask",
            UrlVerdict::Deny => "deny",
        },
        rule: ruling.rule.clone(),
        class: judged.class().map(UrlClass::name),
    }
}
