//! What is known of a watched file or folder, and how it has changed.

#![allow(
    clippy::disallowed_methods,
    reason = "these are the files of extensions, which look at them themselves"
)]

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::{Value, json};

/// The largest number of files that a watcher knows; the rest of a larger folder is not watched.
const MOST: usize = 20_000;

/// A watched file or folder.
pub(super) struct Watcher {
    path: PathBuf,
    recursive: bool,
    seen: Mutex<Seen>,
}

/// Names under the watched path, with the data that reveals a change.
type Seen = BTreeMap<String, (u64, i64, i64, u64)>;

impl Watcher {
    pub(super) fn new(path: PathBuf, recursive: bool) -> Self {
        let seen = Mutex::new(look(&path, recursive));
        Self {
            path,
            recursive,
            seen,
        }
    }

    /// The changes since the last call: the kind and the name of each.
    pub(super) fn changes(&self) -> Vec<Value> {
        let now = look(&self.path, self.recursive);
        let mut seen = self.seen.lock().expect("no panic happens while this is held");
        let mut changes = Vec::new();
        for (name, state) in &now {
            match seen.get(name) {
                None => changes.push(json!(["rename", name])),
                Some(before) if before != state => changes.push(json!(["change", name])),
                Some(_) => {}
            }
        }
        let gone = seen.keys().filter(|name| !now.contains_key(*name));
        changes.extend(gone.map(|name| json!(["rename", name])));
        *seen = now;
        changes
    }
}

fn look(path: &Path, recursive: bool) -> Seen {
    let mut seen = Seen::new();
    if path.is_dir() {
        look_into(path, "", recursive, &mut seen);
    } else if let Some(name) = path.file_name() {
        note(path, name.to_string_lossy().into_owned(), &mut seen);
    }
    seen
}

fn look_into(folder: &Path, prefix: &str, recursive: bool, seen: &mut Seen) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if seen.len() >= MOST {
            return;
        }
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if recursive && is_folder {
            look_into(&entry.path(), &format!("{name}/"), recursive, seen);
        }
        note(&entry.path(), name, seen);
    }
}

fn note(path: &Path, name: String, seen: &mut Seen) {
    if let Ok(data) = std::fs::symlink_metadata(path) {
        seen.insert(name, (data.ino(), data.mtime(), data.mtime_nsec(), data.size()));
    }
}
