//! How a dialect describes itself.

use becket_events::{Class, EventId, Profile};
use becket_hooks::{Dialect, Fault};

/// What a dialect's crate declares about itself, for everything that goes over all dialects: listings, checks, the
/// reference pages.
pub struct DialectInfo {
    /// The dialect's name and its place in the order of hooks.
    pub dialect: Dialect,
    /// The names and schemas by which the dialect's models know tools.
    pub profile: fn() -> Profile,
    /// Words by which the dialect's hooks decide.
    pub deciding: &'static [&'static str],
    /// The names of tools that come with the dialect and are no operation.
    pub tools: &'static [&'static str],
    /// The dialect's events.
    pub rows: fn() -> Vec<RowInfo>,
    /// Why an action would happen in the foreign system in spite of a guard that fails like this; `None` if it would
    /// not. In becket such a guard refuses.
    pub lets_through: fn(Fault) -> Option<&'static str>,
    /// Events of the system that never happen in becket, each with the reason.
    pub absent_events: &'static [(&'static str, &'static str)],
}

/// One event as one dialect knows it, for listings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowInfo {
    /// The dialect.
    pub dialect: &'static str,
    /// The dialect's name for the event.
    pub name: &'static str,
    /// The event.
    pub event: EventId,
    /// What happens when a handler fails.
    pub class: Class,
}
