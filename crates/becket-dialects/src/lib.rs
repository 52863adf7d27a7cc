//! The foreign systems that becket speaks with: the only place where their names appear.
//!
//! One folder per system. `tools.rs` in each is its tool profile: how that system calls becket's operations.
//! `words.rs` holds what the folders share for turning one set of argument names into another.
//!
//! This crate decides nothing and touches no file: it translates.

pub mod chibi;
pub mod docker_agent;
pub mod pi;
mod words;

use becket_events::Profile;

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

#[cfg(test)]
mod laws;
