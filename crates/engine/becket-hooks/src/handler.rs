//! Handlers: what answers an event.

use std::sync::Arc;

use becket_events::{Event, Scope};
use futures_util::future::BoxFuture;

use crate::Failure;
use crate::occasion::Occasion;

/// A handler that is not a plain Rust function.
pub trait Handler<E: Event>: Send + Sync {
    /// Answers the event.
    fn call<'a>(&'a self, occasion: &'a Occasion<'a, E>) -> BoxFuture<'a, Result<E::Reply, Failure>>;

    /// Why the condition under which the handler is registered does not match an event; `None` if it cannot tell.
    fn why_not(&self, _scope: &Scope, _payload: &E::Payload) -> Option<String> {
        None
    }

    /// Whether the handler wants no further events. It is asked before each event and not within one: a guard that has
    /// just finished still judges what others rewrite.
    fn is_done(&self, scope: &Scope) -> bool {
        let _ = scope;
        false
    }
}

/// What the engine calls: a function that answers at once, or an asynchronous handler.
pub enum Action<E: Event> {
    /// A Rust function. Calling it allocates nothing.
    Native(NativeHandler<E>),
    /// Any other handler.
    Other(Arc<dyn Handler<E>>),
}

/// A Rust function that answers an event.
pub type NativeHandler<E> =
    Arc<dyn Fn(&Occasion<'_, E>) -> Result<<E as Event>::Reply, Failure> + Send + Sync>;

/// Whether a handler wants an event with this scope and payload.
pub type Condition<E> = Arc<dyn Fn(&Scope, &<E as Event>::Payload) -> bool + Send + Sync>;
