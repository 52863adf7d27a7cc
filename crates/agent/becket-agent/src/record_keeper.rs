//! Keeps the traces of hooks, and shows their failures.

use std::sync::Arc;

use becket_events::{Class, EventId};
use becket_hooks::{DispatchTrace, ReportedFailure, Witness};

use crate::front::{Front, FrontUpdate};
use crate::store::Store;

/// Passes the engine's traces to the store and its failures to the user.
pub struct RecordKeeper {
    /// Stores the traces.
    pub store: Arc<dyn Store>,
    /// Shows the failures.
    pub front: Arc<dyn Front>,
}

impl Witness for RecordKeeper {
    fn dispatched(&self, trace: DispatchTrace) {
        let session_id = trace.session_id.clone();
        self.store.trace(&session_id, trace);
    }

    fn failed(&self, failure: &ReportedFailure) {
        self.front.show(FrontUpdate::HookFailed(failure));
    }

    /// Keeps everything that guards can be asked about, so that one which is written later can be tried on it. Events
    /// that hold the conversation are left out: each turn would cost all turns before it.
    fn keeps(&self, event: EventId) -> bool {
        let holds_conversation = [EventId::ModelContext, EventId::PreRequest, EventId::PreCompact];
        event.info().class == Class::Guard && !holds_conversation.contains(&event)
    }
}
