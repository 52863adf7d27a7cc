//! Remembers what plugins said of themselves, so that a warm start runs none of them.
//!
//! An answer counts as long as the program is the same: path, size, time of change and contents, and what lies beside
//! it in a folder of its own. What a plugin reads besides is out of sight, so an answer that is no longer fresh is
//! asked for again while the run goes on. Failures are never remembered: a plugin that gave no answer is asked at
//! every start.
//!
//! An entry stays with the place where the plugin lies until nothing lies there any more: a plugin that can no longer
//! be run has not been taken away. A file that cannot be read is ignored, and of two writers the last one wins.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

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
#[derive(Debug, Default)]
pub(super) struct Cache {
    file: Option<PathBuf>,
    plugins: BTreeMap<String, Entry>,
    changed: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct CacheFile {
    version: u32,
    plugins: BTreeMap<String, Entry>,
}

/// What the plugin at one place has said of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
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
    /// What the file holds; nothing, if it is not there or cannot be understood.
    pub(super) fn read(file: Option<&Path>) -> Self {
        let text = file.and_then(|file| std::fs::read(file).ok());
        let read = text.and_then(|text| serde_json::from_slice::<CacheFile>(&text).ok());
        let plugins = read
            .filter(|read| read.version == VERSION)
            .map(|read| read.plugins);
        Self {
            file: file.map(Path::to_path_buf),
            plugins: plugins.unwrap_or_default(),
            changed: false,
        }
    }

    /// What the plugin at a place has said of itself in this very state.
    pub(super) fn known(&self, place: &Path, print: &Fingerprint) -> Option<&Entry> {
        let entry = self.plugins.get(place.to_str()?)?;
        (entry.print == *print).then_some(entry)
    }

    /// Whether what lies at a place has been a plugin, in whatever state.
    pub(super) fn has_been_plugin(&self, place: &Path) -> bool {
        place
            .to_str()
            .is_some_and(|place| self.plugins.contains_key(place))
    }

    /// Remembers what the plugin at a place has said.
    pub(super) fn remember(&mut self, place: &Path, entry: Entry) {
        if let Some(place) = place.to_str() {
            self.plugins.insert(place.to_owned(), entry);
            self.changed = true;
        }
    }

    /// Forgets the plugins that were taken away.
    pub(super) fn forget_gone(&mut self) {
        let before = self.plugins.len();
        self.plugins.retain(|place, _| !is_gone(Path::new(place)));
        self.changed |= self.plugins.len() != before;
    }

    /// Writes what was learnt. Nothing depends on it, so a folder that cannot be written to costs time and no more.
    pub(super) fn write(self) -> std::io::Result<()> {
        let Some(file) = self.file.filter(|_| self.changed) else {
            return Ok(());
        };
        let plugins = self.plugins;
        let folder = file.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let text = serde_json::to_vec(&CacheFile {
            version: VERSION,
            plugins,
        })?;
        let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
        fresh.write_all(&text)?;
        fresh.persist(&file).map_err(|error| error.error)?;
        Ok(())
    }
}

/// Whether nothing lies at a place any more. A link that leads nowhere lies there, and behind a folder that cannot be
/// looked into nobody knows.
fn is_gone(place: &Path) -> bool {
    let folder_is_lost = |folder: &Path| folder.is_symlink() && !folder.exists();
    let is_missing = std::fs::symlink_metadata(place).is_err_and(|error| error.kind() == ErrorKind::NotFound);
    is_missing && !place.parent().is_some_and(folder_is_lost)
}
