//! The audit log's records: who asked for what, what was decided and by whom, and how long that took. And the ledger:
//! what was permitted, beside what was done.
//!
//! The store chains the records (`becket-store`); this file defines them.
//!
//! Records are made where decisions are: the gate writes down what it judged, the batch what was done, and the store
//! makes records of the dispatches in which hooks decided. One buffer, one writer and one transaction give the chain
//! its order, whoever writes.
//!
//! Permits, uses and operations are counted at three places that do not know each other (gate, permit, batch), and the
//! log is counted once more when somebody looks. A count that everybody shares would prove nothing.

use std::sync::atomic::{AtomicU64, Ordering};

use becket_events::{ApprovalDecision, ApprovalSource, OperationKind, Scope};
use becket_hooks::Consequence;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::clock::now_us;

/// Takes the records of the audit log.
pub trait AuditLog: Send + Sync {
    /// Adds a record to the log. Never blocks.
    fn audit(&self, record: AuditRecord);
}

/// One entry of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditRecord {
    /// When the record was written, in microseconds since 1970.
    pub time_us: u64,
    /// The session, agent and model that asked.
    #[serde(flatten)]
    pub asker: Asker,
    /// The decision or event that is recorded.
    #[serde(flatten)]
    pub what: Audited,
}

impl AuditRecord {
    /// A record with the current time.
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
    /// The session that asked.
    pub session_id: String,
    /// The parent session, if the asking session is a sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
    /// The context in which the session runs.
    pub context_name: String,
    /// The agent that asked.
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

/// The subject of a record. What hooks said on the way to a decision is a record of its own, made of the trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Audited {
    /// A call was judged.
    Call(Box<AuditedCall>),
    /// Something that is no call was allowed or refused, after hooks had spoken about it.
    Consent {
        /// What was allowed or refused.
        subject: String,
        /// How the request was decided, and by whom.
        #[serde(flatten)]
        ruling: Ruling,
    },
    /// A call that was permitted has been made.
    Operation {
        /// The id of the call.
        tool_call_id: String,
        /// Becket's own name for the tool.
        tool_name: String,
        /// Whether the call failed.
        is_error: bool,
        /// How long the call took, from the first hook to the result.
        duration_us: u64,
    },
    /// A session has ended: what was permitted in it, and what was done.
    Ledger(LedgerCounts),
    /// A guest was asked, and the system that it is written for wants a record of its own.
    Guest {
        /// The name of the system.
        dialect: &'static str,
        /// The record, in the system's own format.
        record: Value,
    },
}

impl Audited {
    /// The name of this kind of record in the log.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Call(_) => "call",
            Self::Consent { .. } => "consent",
            Self::Operation { .. } => "operation",
            Self::Ledger(_) => "ledger",
            Self::Guest { .. } => "guest",
        }
    }
}

/// A call that was judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditedCall {
    /// Identifies the call.
    pub tool_call_id: String,
    /// The call from within which this call was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    /// Becket's own name for the tool.
    pub tool_name: String,
    /// The tool's name as the model called it.
    pub called_as: String,
    /// The operation, if the tool is one of becket's operations.
    pub operation: Option<OperationKind>,
    /// The arguments that the model asked for.
    pub original: Map<String, Value>,
    /// The arguments that were judged in the end.
    pub effective: Map<String, Value>,
    /// What the call touches, resolved; `None` if that cannot be named.
    pub target: Option<String>,
    /// How the call was decided, and by whom.
    #[serde(flatten)]
    pub ruling: Ruling,
}

/// How something was decided, and by whom.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ruling {
    /// The decision.
    pub decision: ApprovalDecision,
    /// Who or what decided.
    pub source: ApprovalSource,
    /// The hooks that decided, if hooks did.
    pub handlers: Vec<String>,
    /// The reason of a refusal.
    pub reason: Option<String>,
    /// How long the decision took.
    pub duration_us: u64,
    /// The consequence that the decision did not have, because rules are in shadow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<Consequence>,
}

/// Counts what is permitted in a session and what is done. The gate counts permits when it makes them, each permit
/// counts itself when a tool takes it or when it is dropped, and whoever records results counts operations.
#[derive(Debug, Default)]
pub struct Ledger {
    pub(crate) refused: Count,
    pub(crate) permits: Count,
    pub(crate) used: Count,
    pub(crate) unused: Count,
    /// Operations that were performed.
    pub operations: Count,
}

/// A number that several tasks add to.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds one.
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// The number so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Ledger {
    /// The counts so far.
    pub fn counts(&self) -> LedgerCounts {
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
    /// Permits that were dropped unused, because the user wanted everything to stop.
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
