//! What is known about a handler before it is asked: everything that a listing says, and its place in the order.

use std::cmp::Reverse;
use std::time::Duration;

use becket_events::{Class, EventId};
use serde::{Serialize, Serializer};

use crate::LaneKind;

/// Everything that a listing says about a handler.
#[derive(Debug, Clone, Serialize)]
pub struct HandlerInfo {
    /// The handler's name, for messages.
    pub name: String,
    /// Where the handler is configured: a file and a line, or the part of the program that added it.
    pub source: String,
    /// The format that the handler is written for.
    pub dialect: Dialect,
    /// The event's name in the handler's format, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_as: Option<&'static str>,
    /// How the handler is run.
    pub lane: LaneKind,
    /// What happens when the handler fails; at most as strong as the event's class.
    pub class: Class,
    /// The handler's priority; higher ones are asked first.
    pub priority: i32,
    /// How long one run may take.
    #[serde(serialize_with = "seconds")]
    pub timeout: Duration,
    /// Which events the handler wants, as its format writes it; all of them when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// Whether the handler is asked and recorded, but neither decides nor changes anything.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
    /// Whether the handler may rewrite what it is asked about. One that does not starts together with its neighbours
    /// that do not.
    #[serde(skip_serializing_if = "is_usual")]
    pub rewrites: bool,
}

impl HandlerInfo {
    /// A command that answers every event, with the default timeout.
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
            shadow: false,
            rewrites: true,
        }
    }

    /// Whether the next handler may run at the same time as this one. Two names that one format has for the same event
    /// are moments of their own, and a refusal in the first keeps the second from being asked. Functions of scripts are
    /// written for a system that calls one after the other, and may rely on what the one before has done. So may a
    /// handler of a lower priority.
    pub(crate) fn same_moment(&self, next: &Self) -> bool {
        let is_script = |info: &Self| matches!(info.lane, LaneKind::Javascript | LaneKind::Scheme);
        let scripts = is_script(self) && is_script(next);
        !scripts
            && self.priority == next.priority
            && (self.dialect != next.dialect || self.known_as == next.known_as)
    }

    /// Whether the next handler starts together with this one at an event of that class, because their own system
    /// starts them so, or because both say that neither changes what the other is asked about. Only guards have a
    /// second look that makes up for one who changes something all the same; a filter must not see what the one before
    /// it withholds.
    pub(crate) fn starts_with(&self, next: &Self, class: Class) -> bool {
        let change_nothing = class == Class::Guard && !(self.rewrites || next.rewrites);
        (self.dialect.side_by_side || change_nothing)
            && (self.dialect, self.known_as, self.priority) == (next.dialect, next.known_as, next.priority)
    }

    /// Whether the handler is a guard that its own file lets fail open.
    pub fn is_loosened(&self, event: EventId) -> bool {
        is_loosened(event, self.class, self.dialect, self.lane)
    }

    /// Whether the handler can refuse: a guard, including one of becket's own that may fail open. In other formats a
    /// hook that is not a guard changes something or observes, and cannot refuse.
    pub(crate) fn judges(&self) -> bool {
        self.class == Class::Guard || (self.class == Class::Transform && self.dialect == Dialect::BECKET)
    }
}

/// Whether a handler of this class and lane is a guard that may fail open: only becket's own hook files, which run
/// programs, can lower a guard's class.
pub(crate) fn is_loosened(event: EventId, class: Class, dialect: Dialect, lane: LaneKind) -> bool {
    let is_own = dialect == Dialect::BECKET && matches!(lane, LaneKind::Command | LaneKind::Worker);
    is_own && class == Class::Transform && event.info().class >= Class::Filter
}

/// How long a handler may take by default.
pub const USUAL_TIMEOUT: Duration = Duration::from_secs(60);

/// The system that a handler is written for. The crate of each dialect declares its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dialect {
    /// The dialect's place in the order: handlers of a smaller one are asked first.
    pub order: u8,
    /// The dialect's name in listings and records.
    pub name: &'static str,
    /// Whether the dialect's own system starts all hooks of a moment together, so that none sees what another rewrote.
    pub side_by_side: bool,
}

impl Dialect {
    /// becket's own hooks, and handlers of the program itself.
    pub const BECKET: Self = Self {
        order: 0,
        name: "becket",
        side_by_side: false,
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

fn is_usual(rewrites: &bool) -> bool {
    *rewrites
}

fn seconds<S: Serializer>(timeout: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(timeout.as_secs_f64())
}
