//! How a dialect introduces itself.

use becket_events::{Class, EventId, Profile};
use becket_hooks::{Dialect, Fault};

/// What a dialect's crate declares about itself. Whatever goes over all dialects (listings, checks, the reference
/// pages) asks here.
pub struct DialectInfo {
    /// Its name and its place in the order of hooks.
    pub dialect: Dialect,
    /// The names and schemas by which its models know tools.
    pub profile: fn() -> Profile,
    /// Words by which its hooks decide.
    pub deciding: &'static [&'static str],
    /// Its events.
    pub rows: fn() -> Vec<RowInfo>,
    /// Why an action would happen in the foreign system in spite of a guard that breaks like this; `None` where it
    /// would not. In becket such a guard refuses.
    pub lets_through: fn(Fault) -> Option<&'static str>,
}

/// One event as one dialect knows it, for listings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowInfo {
    /// The dialect.
    pub dialect: &'static str,
    /// The dialect's name for it.
    pub name: &'static str,
    /// The event.
    pub event: EventId,
    /// What a broken handler means.
    pub class: Class,
}
