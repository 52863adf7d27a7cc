//! What the command line says about guests, by the names of its options.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// Options with their values, in the order in which they were given. An option without a value has none.
#[derive(Debug, Clone, Default)]
pub struct GuestOptions(BTreeMap<String, Vec<OsString>>);

impl GuestOptions {
    /// An option was given without a value.
    pub fn set(&mut self, name: &str) {
        self.0.entry(name.to_owned()).or_default();
    }

    /// An option was given with a value; several times if it may be.
    pub fn add(&mut self, name: &str, value: impl Into<OsString>) {
        self.0.entry(name.to_owned()).or_default().push(value.into());
    }

    /// Whether an option was given.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The values of an option as paths.
    pub fn paths(&self, name: &str) -> Vec<PathBuf> {
        self.values(name).map(PathBuf::from).collect()
    }

    /// The last value of an option as a path.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.values(name).last().map(PathBuf::from)
    }

    /// The values of an option as texts.
    pub fn texts(&self, name: &str) -> Vec<String> {
        let values = self.values(name);
        values.map(|value| value.to_string_lossy().into_owned()).collect()
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &OsString> {
        self.0.get(name).into_iter().flatten()
    }
}
