//! Watching files and folders by polling every tenth of a second, the same on every system.

#![allow(
    clippy::disallowed_methods,
    reason = "these are the files of extensions, which look at them themselves"
)]

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::errors::system_error;
use super::state::{Need, Node, NodeResult};
use super::watcher::Watcher;
use crate::host::HostError;

/// The pause between two polls.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) fn call(node: &Node, function: &str, arguments: &Value) -> NodeResult {
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
            let watcher = Watcher::new(path, recursive);
            let number = node.number();
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

/// The next changes: a list of kind and name; `null` when the watcher was stopped.
pub(super) fn next(node: &Arc<Node>, arguments: &Value) -> BoxFuture<'static, NodeResult> {
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
