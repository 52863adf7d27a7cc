//! Caches the schemas of plugins, so that a warm start runs none of them.
//!
//! A schema is valid as long as the program is the same: path, size, modification time and contents, and the files
//! beside it in its own folder. Other files that a plugin reads are unknown, so a schema that is no longer fresh is
//! asked for again while the run goes on. Failures are never cached: a plugin that gave no answer is asked at every
//! start.

use std::fs::Metadata;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use becket_dialect_kit::Remembered;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::discovery::Candidate;
use super::traits::Traits;

/// The version of the file's format. A file with another version is ignored.
const VERSION: u32 = 5;

/// For how many seconds the schema of an unchanged plugin is fresh.
const FRESH_SECONDS: u64 = 600;

/// The largest size of a script beside a program that is read.
const SCRIPT_BYTES: u64 = 256 * 1024;
/// How many scripts beside a program are read.
const MOST_SCRIPTS: usize = 64;

/// The schemas of earlier runs.
#[derive(Debug)]
pub(super) struct Cache(Remembered<Entry>);

/// The schema of the plugin at one path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The state of the program when it was asked.
    print: Fingerprint,
    pub(super) traits: Traits,
    pub(super) schema: Value,
    /// When the plugin was asked, in seconds since 1970.
    asked: u64,
}

impl Entry {
    /// An entry for a schema that was just read.
    pub(super) fn new(print: Fingerprint, traits: Traits, schema: Value) -> Self {
        Self {
            print,
            traits,
            schema,
            asked: now(),
        }
    }

    /// Whether the schema was read a short while ago. If the clock was set back, nothing is fresh.
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

/// The state of a program, for noticing changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fingerprint {
    program: String,
    size: u64,
    modified_ns: u64,
    hash: String,
    /// The files beside the program, with their sizes and modification times.
    beside: Vec<(String, u64, u64)>,
}

impl Fingerprint {
    /// Reads a program, and takes its fingerprint.
    pub(super) fn take(candidate: &Candidate) -> Result<(Self, Vec<u8>), String> {
        let unreadable =
            |error: std::io::Error| format!("{} cannot be read: {error}", candidate.path.display());
        let metadata = becket_fs::metadata(&candidate.path).map_err(unreadable)?;
        let program = becket_fs::read(&candidate.path).map_err(unreadable)?;
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

/// The files beside a program in its own folder: the program may be only a wrapper for scripts there, or make its list
/// of tools from folders there.
fn neighbours(folder: &Path) -> Vec<(String, u64, u64)> {
    let entries = becket_fs::read_dir(folder).into_iter().flatten().flatten();
    let mut neighbours: Vec<(String, u64, u64)> = entries
        .filter_map(|entry| {
            let name = entry.file_name().to_str()?.to_owned();
            let metadata = becket_fs::metadata(entry.path()).ok()?;
            let size = if metadata.is_file() { metadata.len() } else { 0 };
            // Python writes into this folder whenever it runs.
            let counts = !name.starts_with('.') && name != "__pycache__";
            counts.then(|| (name, size, modified_ns(&metadata)))
        })
        .collect();
    neighbours.sort();
    neighbours
}

/// The contents of the small scripts beside a program.
pub(super) fn scripts_beside(candidate: &Candidate) -> Vec<u8> {
    let folder = candidate.folder.as_deref();
    let files = folder
        .and_then(|folder| becket_fs::read_dir(folder).ok())
        .into_iter()
        .flatten()
        .flatten();
    let small = files.filter(|file| {
        file.metadata()
            .is_ok_and(|metadata| metadata.is_file() && metadata.len() < SCRIPT_BYTES)
    });
    let texts = small
        .take(MOST_SCRIPTS)
        .filter_map(|file| becket_fs::read(file.path()).ok());
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
    /// Reads the cache from its file.
    pub(super) fn read(file: Option<&Path>) -> Self {
        Self(Remembered::read(file, VERSION))
    }

    /// The schema of the plugin at a path, if the program is in exactly this state.
    pub(super) fn known(&self, place: &Path, print: &Fingerprint) -> Option<&Entry> {
        self.0.at(place).filter(|entry| entry.print == *print)
    }

    /// Whether the entry at a path has been a plugin, in any state.
    pub(super) fn has_been_plugin(&self, place: &Path) -> bool {
        self.0.at(place).is_some()
    }

    /// Stores the schema of the plugin at a path.
    pub(super) fn remember(&mut self, place: &Path, entry: Entry) {
        self.0.remember(place, entry);
    }

    /// Removes the plugins that no longer exist.
    pub(super) fn forget_gone(&mut self) {
        self.0.forget_gone();
    }

    /// Writes the cache to its file.
    pub(super) fn write(self) -> std::io::Result<()> {
        self.0.write()
    }
}
