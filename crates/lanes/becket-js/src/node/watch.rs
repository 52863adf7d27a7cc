//! Watching files and folders: a look every tenth of a second, the same on every system.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::{Answer, Need, Node, system_error};
use crate::host::HostError;

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// The most files that a watcher knows; a folder with more is watched as far as that.
const MOST: usize = 20_000;

pub(super) type Watchers = Mutex<HashMap<u64, Arc<Watcher>>>;

pub(super) struct Watcher {
    path: PathBuf,
    recursive: bool,
    seen: Mutex<Seen>,
}

/// Names under the watched path, and by what a change of them is known.
type Seen = BTreeMap<String, (u64, i64, i64, u64)>;

pub(super) fn call(node: &Node, function: &str, arguments: &Value) -> Answer {
    let mut watchers = node
        .watchers
        .lock()
        .expect("no panic happens while watchers are held");
    match function {
        "watchStart" => {
            let shown = arguments["path"].as_str().unwrap_or_default();
            node.permit(Need::Files, "fs.watch", shown)?;
            let path = node.path(shown);
            if let Err(error) = std::fs::symlink_metadata(&path) {
                return Err(system_error(&error, "watch", Some(shown), None));
            }
            let recursive = arguments["recursive"] == true;
            let seen = Mutex::new(look(&path, recursive));
            let number = node.number();
            let watcher = Watcher {
                path,
                recursive,
                seen,
            };
            watchers.insert(number, Arc::new(watcher));
            Ok(json!(number))
        }
        "watchStop" => {
            watchers.remove(&arguments["id"].as_u64().unwrap_or_default());
            Ok(Value::Null)
        }
        _ => Err(HostError::new(format!("there is no function fs.{function}"))),
    }
}

/// The next changes: a list of kind and name; nothing when the watcher was stopped.
pub(super) fn next(node: &Arc<Node>, arguments: &Value) -> BoxFuture<'static, Answer> {
    let id = arguments["id"].as_u64().unwrap_or_default();
    let node = Arc::downgrade(node);
    async move {
        loop {
            tokio::time::sleep(PAUSE).await;
            let Some(node) = node.upgrade() else {
                return Ok(Value::Null);
            };
            let watcher = node
                .watchers
                .lock()
                .expect("no panic happens while watchers are held")
                .get(&id)
                .cloned();
            let Some(watcher) = watcher else {
                return Ok(Value::Null);
            };
            let changes = tokio::task::spawn_blocking(move || watcher.changes())
                .await
                .unwrap_or_default();
            if !changes.is_empty() {
                return Ok(Value::from(changes));
            }
        }
    }
    .boxed()
}

impl Watcher {
    fn changes(&self) -> Vec<Value> {
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
