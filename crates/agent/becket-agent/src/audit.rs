//! What is written down of decisions, so that they can be proven later: who asked, what for, what was made of it, who
//! said what, and how long that took. And the ledger: what was permitted, beside what was done.
//!
//! The store chains the records (`becket-store`); this file says what they are.

use std::sync::atomic::{AtomicU64, Ordering};

use becket_events::{ApprovalDecision, ApprovalSource, OperationKind, Scope};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::message::now_us;

/// One entry of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditRecord {
    /// When it was written down, in microseconds since 1970.
    pub time_us: u64,
    /// Who asked.
    #[serde(flatten)]
    pub asker: Asker,
    /// What happened.
    #[serde(flatten)]
    pub what: Audited,
}

impl AuditRecord {
    /// A record of this moment.
    pub fn now(scope: &Scope, what: Audited) -> Self {
        Self {
            time_us: now_us(),
            asker: Asker::of(scope),
            what,
        }
    }
}

/// In whose name something was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Asker {
    /// The session.
    pub session_id: String,
    /// The session that asked this one as its sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
    /// The context in which it runs.
    pub context_name: String,
    /// The agent at work.
    pub agent_name: String,
    /// The model, as `provider/name`.
    pub model: String,
    /// The turn within the session.
    pub turn: u32,
}

impl Asker {
    fn of(scope: &Scope) -> Self {
        Self {
            session_id: scope.session_id.clone(),
            parent_session_id: scope.parent_session_id.clone(),
            context_name: scope.context_name.clone(),
            agent_name: scope.agent_name.clone(),
            model: scope.model.clone(),
            turn: scope.turn,
        }
    }
}

/// What a record is about. What hooks said in between is a record of its own, made of the trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Audited {
    /// A call was judged.
    Call(Box<AuditedCall>),
    /// Something that is no call was allowed or refused, after hooks had spoken about it.
    Consent {
        /// What it was.
        subject: String,
        /// How it ended.
        #[serde(flatten)]
        ruling: Ruling,
    },
    /// A call that was permitted has been made.
    Operation {
        /// The call.
        tool_call_id: String,
        /// The tool, in becket's own words.
        tool_name: String,
        /// Whether it failed.
        is_error: bool,
        /// How long it took, from the first hook to the result.
        duration_us: u64,
    },
    /// A session has ended: what was permitted in it, and what was done.
    Ledger(LedgerCounts),
}

impl Audited {
    /// The name under which the log keeps it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Call(_) => "call",
            Self::Consent { .. } => "consent",
            Self::Operation { .. } => "operation",
            Self::Ledger(_) => "ledger",
        }
    }
}

/// A call that was judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditedCall {
    /// Identifies the call.
    pub tool_call_id: String,
    /// The call from within which it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    /// The tool, in becket's own words.
    pub tool_name: String,
    /// The tool's name as the model called it.
    pub called_as: String,
    /// What it does, where it is one of becket's operations.
    pub operation: Option<OperationKind>,
    /// The arguments as they were asked for.
    pub original: Map<String, Value>,
    /// The arguments that were judged in the end.
    pub effective: Map<String, Value>,
    /// What it touches, resolved; nothing where that cannot be named.
    pub target: Option<String>,
    /// How it ended.
    #[serde(flatten)]
    pub ruling: Ruling,
}

/// How something was decided, and by whom.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ruling {
    /// How.
    pub decision: ApprovalDecision,
    /// By whom or what.
    pub source: ApprovalSource,
    /// The hooks that decided, where hooks did.
    pub handlers: Vec<String>,
    /// Why, for a refusal.
    pub reason: Option<String>,
    /// How long it took to decide.
    pub duration_us: u64,
}

/// Counts what is permitted in a session and what is done. The gate counts permits when it makes them, each permit
/// counts itself when a tool takes it or when it is dropped, and whoever records results counts operations.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) refused: Count,
    pub(crate) permits: Count,
    pub(crate) used: Count,
    pub(crate) unused: Count,
    pub(crate) operations: Count,
}

/// A number that several tasks add to.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Ledger {
    /// How it stands.
    pub(crate) fn counts(&self) -> LedgerCounts {
        LedgerCounts {
            refused: self.refused.get(),
            permits: self.permits.get(),
            used: self.used.get(),
            unused: self.unused.get(),
            operations: self.operations.get(),
        }
    }
}

/// What was permitted in a session, and what was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerCounts {
    /// Calls that the gate refused.
    pub refused: u64,
    /// Permits that the gate made.
    pub permits: u64,
    /// Permits that a tool has taken.
    pub used: u64,
    /// Permits that were dropped without that, because the person wanted everything to stop.
    pub unused: u64,
    /// Operations that were performed.
    pub operations: u64,
}

impl LedgerCounts {
    /// How many operations too many or too few there were: zero, unless something is wrong with becket.
    pub fn difference(&self) -> i64 {
        let difference = i128::from(self.operations) - i128::from(self.used);
        i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
    }

    /// Whether every operation had its permit, and every permit is accounted for.
    pub fn is_balanced(&self) -> bool {
        self.difference() == 0 && self.used.checked_add(self.unused) == Some(self.permits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_with_numbers_that_nobody_counted_is_not_balanced() {
        let ledger = LedgerCounts {
            operations: u64::MAX,
            used: u64::MAX,
            unused: 2,
            permits: 1,
            ..LedgerCounts::default()
        };
        assert!(!ledger.is_balanced());
        let more = LedgerCounts { used: 0, ..ledger };
        assert_eq!(more.difference(), i64::MAX);
        let less = LedgerCounts {
            operations: 0,
            ..ledger
        };
        assert_eq!(less.difference(), i64::MIN);
    }
}
