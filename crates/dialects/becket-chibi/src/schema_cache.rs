//! Remembers what plugins said of themselves, so that a warm start runs none of them.
//!
//! An answer counts as long as the program is the same: path, size, time of change and contents, and what lies beside
//! it in a folder of its own. What a plugin reads besides is out of sight, so an answer that is no longer fresh is
//! asked for again while the run goes on. Failures are never remembered: a plugin that gave no answer is asked at
//! every start.

use std::fs::Metadata;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use becket_dialect_kit::Remembered;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::discovery::Candidate;
use super::traits::Traits;

/// The form of the file. Another number is another form, and is ignored.
const VERSION: u32 = 4;

/// For so many seconds an answer of an unchanged plugin is not asked for again.
const FRESH_SECONDS: u64 = 600;

/// Files beside a program that are looked into are at most so large, and so many.
const SCRIPT_BYTES: u64 = 256 * 1024;
const MOST_SCRIPTS: usize = 64;

/// What was known at the end of earlier runs.
#[derive(Debug)]
pub(super) struct Cache(Remembered<Entry>);

/// What the plugin at one place has said of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The state in which it said so.
    print: Fingerprint,
    pub(super) traits: Traits,
    pub(super) schema: Value,
    /// When it said so, in seconds since 1970.
    asked: u64,
}

impl Entry {
    /// What a plugin says now.
    pub(super) fn new(print: Fingerprint, traits: Traits, schema: Value) -> Self {
        Self {
            print,
            traits,
            schema,
            asked: now(),
        }
    }

    /// Whether it was said a short while ago. A clock that was set back makes nothing fresh.
    pub(super) fn is_fresh(&self) -> bool {
        now()
            .checked_sub(self.asked)
            .is_some_and(|age| age < FRESH_SECONDS)
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// What tells one state of a program from another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fingerprint {
    program: String,
    size: u64,
    modified_ns: u64,
    hash: String,
    /// What lies beside the program, with sizes and the times of changes.
    beside: Vec<(String, u64, u64)>,
}

impl Fingerprint {
    /// Reads a program, and tells it from what it may be later.
    pub(super) fn take(candidate: &Candidate) -> Result<(Self, Vec<u8>), String> {
        let unreadable =
            |error: std::io::Error| format!("{} cannot be read: {error}", candidate.path.display());
        let metadata = std::fs::metadata(&candidate.path).map_err(unreadable)?;
        let program = std::fs::read(&candidate.path).map_err(unreadable)?;
        let print = Self {
            program: candidate.path.to_string_lossy().into_owned(),
            size: metadata.len(),
            modified_ns: modified_ns(&metadata),
            hash: blake3::hash(&program).to_hex().to_string(),
            beside: candidate.folder.as_deref().map(neighbours).unwrap_or_default(),
        };
        Ok((print, program))
    }
}

/// A program in a folder of its own may be only the door to the scripts beside it, or make its list of tools from the
/// folders there.
fn neighbours(folder: &Path) -> Vec<(String, u64, u64)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut neighbours: Vec<(String, u64, u64)> = entries
        .filter_map(|entry| {
            let name = entry.file_name().to_str()?.to_owned();
            let metadata = std::fs::metadata(entry.path()).ok()?;
            let size = if metadata.is_file() { metadata.len() } else { 0 };
            // Python writes there whenever it runs.
            let counts = !name.starts_with('.') && name != "__pycache__";
            counts.then(|| (name, size, modified_ns(&metadata)))
        })
        .collect();
    neighbours.sort();
    neighbours
}

/// The scripts beside a program, as far as they are small.
pub(super) fn scripts_beside(candidate: &Candidate) -> Vec<u8> {
    let folder = candidate.folder.as_deref();
    let files = folder
        .and_then(|folder| std::fs::read_dir(folder).ok())
        .into_iter()
        .flatten()
        .flatten();
    let small = files.filter(|file| {
        file.metadata()
            .is_ok_and(|metadata| metadata.is_file() && metadata.len() < SCRIPT_BYTES)
    });
    let texts = small
        .take(MOST_SCRIPTS)
        .filter_map(|file| std::fs::read(file.path()).ok());
    texts.collect::<Vec<_>>().join(&b'\n')
}

fn modified_ns(metadata: &Metadata) -> u64 {
    let since = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_nanos() as u64)
}

impl Cache {
    /// What the file holds.
    pub(super) fn read(file: Option<&Path>) -> Self {
        Self(Remembered::read(file, VERSION))
    }

    /// What the plugin at a place has said of itself in this very state.
    pub(super) fn known(&self, place: &Path, print: &Fingerprint) -> Option<&Entry> {
        self.0.at(place).filter(|entry| entry.print == *print)
    }

    /// Whether what lies at a place has been a plugin, in whatever state.
    pub(super) fn has_been_plugin(&self, place: &Path) -> bool {
        self.0.at(place).is_some()
    }

    /// Remembers what the plugin at a place has said.
    pub(super) fn remember(&mut self, place: &Path, entry: Entry) {
        self.0.remember(place, entry);
    }

    /// Forgets the plugins that were taken away.
    pub(super) fn forget_gone(&mut self) {
        self.0.forget_gone();
    }

    /// Writes what was learnt.
    pub(super) fn write(self) -> std::io::Result<()> {
        self.0.write()
    }
}
