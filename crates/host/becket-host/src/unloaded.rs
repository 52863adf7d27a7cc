//! Guests that were found and could not be understood. Such a guest may be a guard, so it counts as one until the user
//! leaves it out by name.
//!
//! This is decided once for all kinds of guests; which files count as guests is for each kind to say. Failures are
//! never remembered. In the workbench, and when a guest breaks in the middle of a run, all guards of its kind refuse on
//! its behalf.

use std::fmt;
use std::path::Path;

/// A guest that was found and could not be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unloaded {
    /// The word for such a guest in its own system: a plugin, an extension, a Scheme file.
    pub kind: &'static str,
    /// The name by which the user leaves it out.
    pub name: String,
    /// The guest's file.
    pub source: String,
    /// Why the guest could not be loaded.
    pub why: String,
}

impl Unloaded {
    /// A guest of that kind and name, its file, and the reason why it could not be loaded.
    pub fn new(kind: &'static str, name: impl Into<String>, place: &Path, why: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            source: place.display().to_string(),
            why: why.into(),
        }
    }
}

impl fmt::Display for Unloaded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            name,
            source,
            why,
        } = self;
        write!(
            formatter,
            "the {kind} {name} ({source}) could not be loaded: {why}"
        )
    }
}
