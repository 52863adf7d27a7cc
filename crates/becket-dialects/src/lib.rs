//! The foreign systems that becket speaks with: the only place where their names appear.
//!
//! One folder per system. `tools.rs` in each is its tool profile: how that system calls becket's operations; `hooks.rs`
//! is the table of its hooks, and what finds them on disk stands beside it. `words.rs` holds what the folders share for
//! turning one set of argument names into another.
//!
//! This crate decides nothing: it finds and translates. What it must know of the machine, it is told.

mod alignment;
mod called;
pub mod chibi;
pub mod docker_agent;
mod faults;
pub mod pi;
mod unloaded;
mod words;
pub mod yaml;

use becket_events::{Class, EventId, Profile};

pub use faults::lets_through;
pub use unloaded::Unloaded;

/// The names that `profile_named` knows.
pub const PROFILE_NAMES: &[&str] = &["becket", "chibi", "docker-agent", "pi"];

/// The tool profile with this name: becket's own or one of a foreign system.
pub fn profile_named(name: &str) -> Option<Profile> {
    match name {
        "becket" => Some(Profile::own()),
        "chibi" => Some(chibi::profile()),
        "docker-agent" => Some(docker_agent::profile()),
        "pi" => Some(pi::profile()),
        _ => None,
    }
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

/// The dialects whose hooks becket runs.
pub const DIALECT_NAMES: &[&str] = &["chibi", "docker-agent", "pi"];

/// All rows of all dialects.
pub fn rows() -> Vec<RowInfo> {
    let chibi = chibi::hooks().into_iter().map(|hook| RowInfo {
        dialect: "chibi",
        name: hook.name(),
        event: hook.event(),
        class: hook.class(),
    });
    let docker_agent = docker_agent::contracts().into_iter().map(|contract| RowInfo {
        dialect: "docker-agent",
        name: contract.name,
        event: contract.event,
        class: contract.class,
    });
    let pi = pi::rows().into_iter().map(|row| RowInfo {
        dialect: "pi",
        name: row.name(),
        event: row.event(),
        class: row.class(),
    });
    chibi.chain(docker_agent).chain(pi).collect()
}

#[cfg(test)]
mod laws;
