//! Remembers what plugins said of themselves, so that a warm start runs none of them.
//!
//! An answer counts as long as the program is the same: path, size, time of change and contents. That it gave none
//! counts as well, or a plugin that hangs would cost every start its deadline. What a plugin reads besides its program
//! is out of sight, but for what lies beside it in a folder of its own. The file holds nothing that cannot be made
//! again: one that cannot be read is ignored, and of two writers the last one wins.
//!
//! The last answer stays with the place where the plugin lies until nothing lies there any more: a guard that cannot be
//! run has not been taken away.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::discovery::Candidate;
use super::traits::Traits;

/// The form of the file. Another number is another form, and is ignored.
const VERSION: u32 = 3;

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

/// What is known of the plugin at one place.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    /// The state in which it was asked last.
    print: Fingerprint,
    traits: Traits,
    /// The last schema that it gave, in whatever state.
    schema: Option<Value>,
    /// Why it gave none when it was asked last.
    failure: Option<String>,
}

/// What a program answered: its schema, or why there is none.
pub(super) type Answer = Result<Value, String>;

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

/// Why a program did not say what it is when it was asked last, if it still is the same program.
pub fn remembered_failure(file: &Path, program: &Path) -> Option<String> {
    let program = std::fs::canonicalize(program).ok()?;
    let hash = blake3::hash(&std::fs::read(&program).ok()?).to_hex().to_string();
    let mut entries = Cache::read(Some(file)).plugins.into_values();
    let is_same = |entry: &Entry| Path::new(&entry.print.program) == program && entry.print.hash == hash;
    entries.find(is_same)?.failure
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

    /// What the program at a place has answered in this very state.
    pub(super) fn known(&self, place: &Path, print: &Fingerprint) -> Option<(Traits, Answer)> {
        let entry = self.plugins.get(place.to_str()?)?;
        let answer = match (&entry.failure, &entry.schema) {
            (Some(failure), _) => Err(failure.clone()),
            (None, schema) => Ok(schema.clone()?),
        };
        (entry.print == *print).then_some((entry.traits, answer))
    }

    /// The last schema that a program at this place gave, whatever state it was in.
    pub(super) fn last_known(&self, place: &Path) -> Option<(Traits, Value)> {
        let entry = self.plugins.get(place.to_str()?)?;
        Some((entry.traits, entry.schema.clone()?))
    }

    /// The names of the plugins that are known in a folder.
    pub(super) fn names_in(&self, folder: &Path) -> Vec<String> {
        let places = self.plugins.keys().map(Path::new);
        let names = places.filter_map(|place| (place.parent()? == folder).then(|| place.file_name())?);
        names.map(|name| name.to_string_lossy().into_owned()).collect()
    }

    /// Remembers what the program at a place has answered. A failure leaves what it said before.
    pub(super) fn remember(&mut self, place: &Path, print: Fingerprint, traits: Traits, answer: &Answer) {
        let Some(key) = place.to_str() else {
            return;
        };
        let (schema, failure) = match answer {
            Ok(schema) => (Some(schema.clone()), None),
            Err(failure) => {
                let before = self.plugins.remove(key).and_then(|entry| entry.schema);
                (before, Some(failure.clone()))
            }
        };
        let entry = Entry {
            print,
            traits,
            schema,
            failure,
        };
        self.plugins.insert(key.to_owned(), entry);
        self.changed = true;
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
