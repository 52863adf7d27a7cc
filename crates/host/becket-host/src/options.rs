//! The command line's options about guests, by their names.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The option with a key for the provider of the model that is named.
pub const API_KEY: &str = "api-key";

/// The option that leaves out instruction files.
pub const NO_CONTEXT_FILES: &str = "no-context-files";

/// An option of the command line that is about guests of one kind.
#[derive(Debug, Clone, Default)]
pub struct HostOption {
    /// The long name, without hyphens. It is the key in [`GuestOptions`].
    pub name: Cow<'static, str>,
    /// The short name.
    pub short: Option<char>,
    /// The kind of the option's value.
    pub value: OptionValue,
    /// What the option does, for the manual.
    pub help: Cow<'static, str>,
    /// The heading under which the manual lists the option.
    pub heading: Option<&'static str>,
    /// Whether only the long help shows the option.
    pub is_rare: bool,
}

/// The kind of value that an option of the command line takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OptionValue {
    /// No value: the option is given or not.
    #[default]
    Nothing,
    /// A file or a folder, under this name in the manual. The option may be given several times.
    Path(&'static str),
    /// One file or folder, under this name in the manual. The option may be given once.
    OnePath(&'static str),
    /// A text, under this name in the manual. The option may be given several times.
    Text(&'static str),
    /// A shell command, which must not be empty. The option may be given several times.
    Command,
}

/// Options with their values, in the order in which they were given. An option without a value has none.
#[derive(Debug, Clone, Default)]
pub struct GuestOptions(BTreeMap<String, Vec<OsString>>);

impl GuestOptions {
    /// Records that an option was given without a value.
    pub fn set(&mut self, name: &str) {
        self.0.entry(name.to_owned()).or_default();
    }

    /// Records that an option was given with a value; one that may be repeated has several.
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

    /// Makes the paths of an option absolute, as seen from a folder.
    pub fn resolve(&mut self, name: &str, folder: &Path) {
        for value in self.0.get_mut(name).into_iter().flatten() {
            *value = folder.join(&*value).into();
        }
    }

    /// Forgets an option.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// The names of all options that were given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Adds other options and their values.
    pub fn extend(&mut self, others: Self) {
        for (name, values) in others.0 {
            self.0.entry(name).or_default().extend(values);
        }
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &OsString> {
        self.0.get(name).into_iter().flatten()
    }
}
