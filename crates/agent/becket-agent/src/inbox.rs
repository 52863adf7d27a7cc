//! What reaches a session from outside: messages that wait for the model, and requests at the session handle.

use crate::queue::Queues;
use crate::session_handle::SessionHandle;

/// What reaches a session from outside.
pub(crate) struct Inbox {
    /// The messages that wait for the model.
    pub(crate) queues: Queues,
    /// The handle by which the session is seen and steered from outside. Sub-agents have none.
    pub(crate) handle: Option<SessionHandle>,
}

impl Inbox {
    /// The inbox of a session with this handle.
    pub(crate) fn new(handle: Option<SessionHandle>) -> Self {
        Self {
            queues: handle.as_ref().map(SessionHandle::queues).unwrap_or_default(),
            handle,
        }
    }

    /// The work is over: from now on, requests at the handle wait for `attend`.
    pub(crate) fn end_work(&self) {
        self.queues.rest();
        self.forget_cancel();
    }

    /// From now on the handle can end nothing.
    pub(crate) fn forget_cancel(&self) {
        if let Some(handle) = &self.handle {
            handle.set_cancel(None);
        }
    }
}
