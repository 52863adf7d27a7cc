//! Remembers what plugins said of themselves, so that a warm start runs none of them.
//!
//! An answer counts as long as the program is the same: path, size, time of change and contents. What a plugin reads
//! besides its program is out of sight, but for what lies beside it in a folder of its own. The file holds nothing that cannot be
//! made again: one that cannot be read is ignored, and of two writers the last one wins.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::discovery::Candidate;
use super::traits::Traits;

/// The form of the file. Another number is another form, and is ignored.
const VERSION: u32 = 2;

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

/// What is known of one program.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    print: Fingerprint,
    traits: Traits,
    schema: Value,
}

/// What tells one state of a program from another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fingerprint {
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

    /// What a program in this very state has said.
    pub(super) fn known(&self, path: &Path, print: &Fingerprint) -> Option<(Traits, Value)> {
        let entry = self.plugins.get(path.to_str()?)?;
        (entry.print == *print).then(|| (entry.traits, entry.schema.clone()))
    }

    /// What a program at this place has said, whatever state it was in.
    pub(super) fn last_known(&self, path: &Path) -> Option<Value> {
        Some(self.plugins.get(path.to_str()?)?.schema.clone())
    }

    /// Remembers what a program has said.
    pub(super) fn remember(&mut self, path: &Path, print: Fingerprint, traits: Traits, schema: Value) {
        if let Some(path) = path.to_str() {
            let entry = Entry {
                print,
                traits,
                schema,
            };
            self.plugins.insert(path.to_owned(), entry);
            self.changed = true;
        }
    }

    /// Writes what was learnt. Nothing depends on it, so a folder that cannot be written to costs time and no more.
    pub(super) fn write(self) -> std::io::Result<()> {
        let Some(file) = self.file.filter(|_| self.changed) else {
            return Ok(());
        };
        let mut plugins = self.plugins;
        plugins.retain(|path, _| Path::new(path).exists());
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
