//! Traces that wait in memory until the writer takes them along.

use std::sync::{Mutex, PoisonError};

use becket_agent::audit::AuditRecord;
use becket_agent::store::Span;
use becket_hooks::DispatchTrace;

use crate::audit::decides;

/// The most dispatches that wait in memory while the disk cannot take them.
const MOST_TRACES: usize = 10_000;

/// Dispatches that wait to be written. Adding one never waits for the disk.
#[derive(Default)]
pub(crate) struct TraceBuffer(Mutex<Vec<WaitingTrace>>);

/// A trace that waits to be written.
pub(crate) struct WaitingTrace {
    pub(crate) session_id: String,
    pub(crate) traced: Traced,
}

/// The kinds of traces.
pub(crate) enum Traced {
    Dispatch(Box<DispatchTrace>),
    Span(Box<Span>),
    Audit(Box<AuditRecord>),
}

impl Traced {
    /// Whether the trace may be dropped while the disk cannot take it: decisions may not.
    fn is_dispensable(&self) -> bool {
        match self {
            Self::Dispatch(trace) => !decides(trace),
            Self::Span(_) => true,
            Self::Audit(_) => false,
        }
    }
}

impl TraceBuffer {
    /// Adds a dispatch and says how many wait now.
    pub(crate) fn add(&self, trace: WaitingTrace) -> usize {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < MOST_TRACES || !trace.traced.is_dispensable() {
            waiting.push(trace);
        }
        waiting.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Whether a span of time is among the waiting traces.
    pub(crate) fn has_spans(&self) -> bool {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting
            .iter()
            .any(|waiting| matches!(waiting.traced, Traced::Span(_)))
    }

    /// Takes all that wait.
    pub(crate) fn take(&self) -> Vec<WaitingTrace> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts traces back that could not be written, before those that came since.
    pub(crate) fn put_back(&self, mut traces: Vec<WaitingTrace>) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        traces.append(&mut waiting);
        let mut kept = 0;
        traces.retain(|trace| {
            kept += 1;
            kept <= MOST_TRACES || !trace.traced.is_dispensable()
        });
        *waiting = traces;
    }
}
