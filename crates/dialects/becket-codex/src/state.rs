//! What the user has told Codex about single hooks: which of them are off, and which text of a hook was trusted.
//!
//! Codex keeps this in the user's `config.toml`, by a key that names the hook's file and its place there. It runs no
//! hook whose text has changed since then. Hooks of a project are judged by becket's own trust, which also covers the
//! scripts that they run.

use std::path::Path;

use becket_hook_files::{HookEntry, Owner, Reading};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// What files have said about single hooks, in what was read.
const KNOWN: &str = "state";

/// Remembers what the user's settings say about single hooks.
pub fn remember(state: &Value, reading: &mut Reading) {
    reading.known.insert(KNOWN.into(), state.clone());
}

/// Drops the hooks that Codex would not run because of what the user has said. May be called after each file.
pub fn settle(reading: &mut Reading, guards: impl Fn(&str) -> bool) {
    let Some(state) = reading.known.get(KNOWN).cloned() else {
        return;
    };
    let (mut kept, mut changed) = (Vec::new(), Vec::new());
    for entry in std::mem::take(&mut reading.entries) {
        match (entry.source.owner, trusted_hash(&state, &entry)) {
            (Owner::Machine, _) => kept.push(entry),
            _ if is_off(&state, &entry) => {}
            (Owner::User, Some(trusted)) if trusted != hash(&entry.written) => changed.push(entry),
            _ => kept.push(entry),
        }
    }
    reading.entries = kept;
    for entry in changed {
        let reason = "its text is not the one that you have trusted in Codex; trust it there again";
        reading.drop_entry(&entry.source, &entry.pointer, reason, guards(entry.event));
    }
}

/// Whether the user has switched a hook off.
pub fn is_off(state: &Value, entry: &HookEntry) -> bool {
    let enabled = state.get(key(entry)).and_then(|said| said.get("enabled"));
    enabled.and_then(Value::as_bool) == Some(false)
}

/// Whether the user has trusted a hook with the text that it has.
pub fn is_trusted(state: &Value, entry: &HookEntry) -> bool {
    trusted_hash(state, entry) == Some(&hash(&entry.written))
}

fn trusted_hash<'a>(state: &'a Value, entry: &HookEntry) -> Option<&'a str> {
    state.get(key(entry))?.get("trusted_hash")?.as_str()
}

/// The key of a hook: its file, or its plugin and its file there, the event, and its place among the event's hooks.
pub fn key(entry: &HookEntry) -> String {
    let file = match &entry.source.plugin {
        Some(root) => plugin_file(root, &entry.source.file),
        None => entry.source.file.display().to_string(),
    };
    let numbers = entry
        .pointer
        .split('/')
        .filter(|part| part.parse::<usize>().is_ok());
    let numbers: Vec<&str> = numbers.collect();
    format!("{file}:{}:{}", label(entry.event), numbers.join(":"))
}

/// A plugin's file by the plugin's name and its marketplace's, which name the folders above that of the version.
fn plugin_file(root: &Path, file: &Path) -> String {
    let name = |path: Option<&Path>| {
        let name = path.and_then(Path::file_name).unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let plugin = root.parent();
    let marketplace = plugin.and_then(Path::parent);
    let within = file.strip_prefix(root).unwrap_or(file).display();
    format!("{}@{}:{within}", name(plugin), name(marketplace))
}

/// An event's name in keys, such as `pre_tool_use`.
pub fn label(event: &str) -> String {
    let mut label = String::new();
    for character in event.chars() {
        if character.is_ascii_uppercase() && !label.is_empty() {
            label.push('_');
        }
        label.push(character.to_ascii_lowercase());
    }
    label
}

/// The hash of a hook's identity, as Codex writes it.
pub fn hash(identity: &str) -> String {
    let bytes = Sha256::digest(identity.as_bytes());
    let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
    format!("sha256:{}", digits.collect::<String>())
}
