//! Guests that were found and could not be understood. Nobody knows whether such a guest is a guard, so it counts as
//! one until the user leaves it out by name.

use std::fmt;
use std::path::Path;

/// A guest that was found and could not be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unloaded {
    /// What it is called in its own system: a plugin, an extension, a Scheme file.
    pub kind: &'static str,
    /// The name by which the user leaves it out.
    pub name: String,
    /// Where it lies.
    pub source: String,
    /// What went wrong.
    pub why: String,
}

impl Unloaded {
    /// A guest of that kind and name, where it lies, and what went wrong.
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
