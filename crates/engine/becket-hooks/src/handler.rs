//! Handlers: what answers an event, and the place that each has in the order.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use becket_events::{Class, Event, EventId, Scope};
use futures_util::future::BoxFuture;
use serde::{Serialize, Serializer};

use crate::occasion::Occasion;
use crate::{Failure, LaneKind};

/// Everything that a listing says about a handler.
#[derive(Debug, Clone, Serialize)]
pub struct HandlerInfo {
    /// Its name, for messages.
    pub name: String,
    /// Where it is configured: a file and a line, or the part of the program that brought it.
    pub source: String,
    /// The format it is written for.
    pub dialect: Dialect,
    /// The name by which its format knows the event, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_as: Option<&'static str>,
    /// How it is run.
    pub lane: LaneKind,
    /// What it means when it breaks; at most as strong as the event's.
    pub class: Class,
    /// Higher ones are asked first.
    pub priority: i32,
    /// How long one run may take.
    #[serde(serialize_with = "seconds")]
    pub timeout: Duration,
    /// Which occasions of the event it wants, in its format's words; all of them when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
}

impl HandlerInfo {
    /// A command that answers whatever happens, with the usual time.
    pub fn command(name: &str, source: &str, dialect: Dialect, class: Class) -> Self {
        Self {
            name: name.to_owned(),
            source: source.to_owned(),
            dialect,
            known_as: None,
            lane: LaneKind::Command,
            class,
            priority: 0,
            timeout: USUAL_TIMEOUT,
            matcher: None,
        }
    }

    /// Whether the next handler may run beside this one. What one format knows by two names happens there one after
    /// the other, and a refusal of the first keeps the second from being asked. Functions of scripts are written for a
    /// system that calls one after the other, and may count on what the one before has done.
    pub(crate) fn same_moment(&self, next: &Self) -> bool {
        let is_script = |info: &Self| matches!(info.lane, LaneKind::Javascript | LaneKind::Scheme);
        let scripts = is_script(self) && is_script(next);
        !scripts && (self.dialect != next.dialect || self.known_as == next.known_as)
    }

    /// Whether it is a guard that its own file lets fail open.
    pub fn is_loosened(&self, event: EventId) -> bool {
        is_loosened(event, self.class, self.dialect, self.lane)
    }

    /// Whether it can refuse: a guard, also one of becket's own that may fail open. In other formats a hook that is no
    /// guard changes something or looks on, and cannot say no.
    pub(crate) fn judges(&self) -> bool {
        self.class == Class::Guard || (self.class == Class::Transform && self.dialect == Dialect::BECKET)
    }
}

/// Whether a handler of that class and lane is a guard that may fail open: only hook files of becket's own, which are
/// programs, can make something less of a guard.
pub(crate) fn is_loosened(event: EventId, class: Class, dialect: Dialect, lane: LaneKind) -> bool {
    let is_own = dialect == Dialect::BECKET && matches!(lane, LaneKind::Command | LaneKind::Worker);
    is_own && class == Class::Transform && event.info().class >= Class::Filter
}

/// How long a handler may take where nothing is said.
pub const USUAL_TIMEOUT: Duration = Duration::from_secs(60);

/// The system that a handler is written for. The crate of each dialect declares its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dialect {
    /// The place among the dialects: handlers of a smaller one are asked first.
    pub order: u8,
    /// The name in listings and records.
    pub name: &'static str,
}

impl Dialect {
    /// becket's own hooks, and handlers of the program itself.
    pub const BECKET: Self = Self {
        order: 0,
        name: "becket",
    };
}

impl Serialize for Dialect {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

/// A handler's place in the order, known before anything runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    priority: Reverse<i32>,
    dialect: Dialect,
    within_dialect: Vec<String>,
    registration: u64,
}

impl Rank {
    pub(crate) fn new(info: &HandlerInfo, within_dialect: Vec<String>, registration: u64) -> Self {
        Self {
            priority: Reverse(info.priority),
            dialect: info.dialect,
            within_dialect,
            registration,
        }
    }
}

/// A handler that is not a plain Rust function.
pub trait Handler<E: Event>: Send + Sync {
    /// Answers the event.
    fn call<'a>(&'a self, occasion: &'a Occasion<'a, E>) -> BoxFuture<'a, Result<E::Reply, Failure>>;
}

/// What the engine calls: a function that answers at once, or something that takes its time.
pub enum Action<E: Event> {
    /// A Rust function. Nothing is allocated to call it.
    Native(NativeHandler<E>),
    /// Anything else.
    Other(Arc<dyn Handler<E>>),
}

/// A Rust function that answers an event.
pub type NativeHandler<E> =
    Arc<dyn Fn(&Occasion<'_, E>) -> Result<<E as Event>::Reply, Failure> + Send + Sync>;

/// Says whether a handler wants to hear about an occasion.
pub type Condition<E> = Arc<dyn Fn(&Scope, &<E as Event>::Payload) -> bool + Send + Sync>;

fn seconds<S: Serializer>(timeout: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(timeout.as_secs_f64())
}
