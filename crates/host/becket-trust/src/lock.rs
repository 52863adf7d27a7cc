//! `hooks.lock`: what a project's authors have reviewed, in a file that can be committed.
//!
//! A lock is not trust by itself: anyone who can change a hook can change the lock. Once the user trusts the lock, by
//! its bytes, everything that is exactly as it says is trusted, and differences are reported by name and files.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::item::{FileState, Item, Kind, Known};

/// The name of the lock file, at the project's root.
pub const LOCK_FILE: &str = "hooks.lock";

const HEAD: &str = "# What the hooks of this project are made of, as somebody has looked at it. Written by\n\
                    # `becket hooks trust --lock`; `becket hooks trust hooks.lock` trusts exactly this.\n\n";

/// The largest lock file that is read, in bytes.
pub const MOST_BYTES: u64 = 4 << 20;

/// The content of a lock file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    version: u32,
    #[serde(default)]
    hook: Vec<Locked>,
}

/// One thing in a lock.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locked {
    source: String,
    name: String,
    kind: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    guard: bool,
    hash: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
}

impl Lock {
    /// Reads a lock; the error says what is wrong with it.
    pub fn read(text: &str, file: &Path) -> Result<Self, String> {
        let wrong = |words: String| format!("{}: {words}", file.display());
        let lock: Self = becket_hooks::parse_toml(text).map_err(|error| wrong(error.message().to_owned()))?;
        match lock.version {
            1 => Ok(lock),
            other => Err(wrong(format!("version {other} is not known here, only 1"))),
        }
    }

    /// A lock of these things.
    pub fn of<'a>(items: impl Iterator<Item = &'a Item>) -> Self {
        let mut hook: Vec<Locked> = items.filter(|item| item.kind.is_lockable()).map(locked).collect();
        hook.sort();
        Self { version: 1, hook }
    }

    /// The text of the lock file.
    pub fn text(&self) -> String {
        format!("{HEAD}{}", toml::to_string(self).unwrap_or_default())
    }

    /// Whether a thing is exactly as the lock says.
    pub fn has(&self, item: &Item) -> bool {
        let wanted = locked(item);
        self.hook.contains(&wanted)
    }

    /// How a thing differs from the lock, in words; `None` if it is the same.
    pub fn difference(&self, item: &Item) -> Option<String> {
        if !item.kind.is_lockable() {
            return None;
        }
        let now = locked(item);
        let same = |other: &&Locked| {
            (&other.source, &other.name, &other.kind) == (&now.source, &now.name, &now.kind)
        };
        let Some(before) = self
            .hook
            .iter()
            .find(|other| **other == now)
            .or_else(|| self.hook.iter().find(same))
        else {
            return Some(format!("{LOCK_FILE} does not name it"));
        };
        if *before == now {
            return None;
        }
        let names = before.files.keys().chain(now.files.keys());
        let mut names: Vec<&str> = names
            .filter(|name| before.files.get(*name) != now.files.get(*name))
            .map(String::as_str)
            .collect();
        names.sort_unstable();
        names.dedup();
        Some(match names.as_slice() {
            [] => format!("it is not as {LOCK_FILE} says: its entry has changed"),
            names => format!("it is not as {LOCK_FILE} says: {} changed", names.join(", ")),
        })
    }

    /// The guards that the lock names.
    pub fn guards(&self) -> impl Iterator<Item = Known> {
        let guards = self.hook.iter().filter(|locked| locked.guard);
        guards.filter_map(|locked| {
            Some(Known {
                kind: Kind::named(&locked.kind)?,
                source: locked.source.clone(),
                name: locked.name.clone(),
            })
        })
    }

    /// The things that the lock names and that do not exist.
    pub fn missing(&self, items: &[&Item]) -> Vec<String> {
        let is_there = |locked: &Locked| {
            let same = |item: &&&Item| (&item.source, &item.name) == (&locked.source, &locked.name);
            items.iter().any(|item| same(&item))
        };
        let gone = self.hook.iter().filter(|locked| !is_there(locked));
        gone.map(|locked| format!("{}: {}", locked.source, locked.name))
            .collect()
    }
}

fn locked(item: &Item) -> Locked {
    let hash = |state: FileState, hash: &str| match state {
        FileState::Missing => "missing".to_owned(),
        _ => hash.to_owned(),
    };
    let files = item.files.iter();
    Locked {
        source: item.source.clone(),
        name: item.name.clone(),
        kind: item.kind.name().into(),
        guard: item.guards,
        hash: item.identity(),
        files: files
            .map(|(name, file)| (name.clone(), hash(file.state, &file.hash)))
            .collect(),
    }
}
