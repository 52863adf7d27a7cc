//! What the user trusts: a small file for each thing, by the project's folder and the thing's identity, and the bytes
//! that were reviewed, so that the next question can show what has changed.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::item::{FileState, Item, Kind};

/// The largest file that is kept for comparisons.
const LARGEST_KEPT: usize = 1 << 20;

/// The user's records about one project.
#[derive(Debug, Clone)]
pub struct Store {
    /// The folder for everything about trust.
    base: PathBuf,
    /// The folder for the records of this project.
    records: PathBuf,
    project: String,
}

/// A trusted thing.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    pub project: String,
    pub identity: String,
    pub kind: Kind,
    pub name: String,
    pub source: String,
    #[serde(default)]
    pub guards: bool,
    pub time_ms: u64,
    pub entry: String,
    #[serde(default)]
    pub files: BTreeMap<String, RecordedFile>,
}

impl Record {
    /// Reads a record from its file; `None` if it cannot be read, because then the user is asked again.
    pub fn read(text: &str) -> Option<Self> {
        becket_hooks::parse_toml(text).ok()
    }
}

/// A file as it was when it was trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedFile {
    pub hash: String,
    pub place: String,
    pub state: FileState,
}

impl Store {
    /// The records about the project at `root`, in the user's folder `base`.
    pub fn new(base: PathBuf, root: &Path) -> Self {
        let hash = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
        Self {
            records: base.join("projects").join(&hash.as_str()[..32]),
            base,
            project: root.display().to_string(),
        }
    }

    /// The folder for copies.
    pub fn copies(&self) -> PathBuf {
        self.base.join("copies")
    }

    pub fn is_trusted(&self, identity: &str) -> bool {
        self.record(&self.file(identity))
            .is_some_and(|record| record.identity == identity && record.project == self.project)
    }

    /// Everything that is trusted in this project, the newest last.
    pub fn records(&self) -> Vec<Record> {
        let entries = becket_fs::read_dir(&self.records).into_iter().flatten().flatten();
        let mut records: Vec<Record> = entries.filter_map(|entry| self.record(&entry.path())).collect();
        records.sort_by_key(|record| record.time_ms);
        records
    }

    fn record(&self, file: &Path) -> Option<Record> {
        let text = becket_fs::read_to_string(file).ok()?;
        Record::read(&text)
    }

    /// Records that the user trusts a thing as it is.
    pub fn trust(&self, item: &Item) -> io::Result<()> {
        let blobs = self.base.join("bytes");
        for folder in [&self.base, &self.records, &blobs] {
            std::fs::create_dir_all(folder)?;
            std::fs::set_permissions(folder, PermissionsExt::from_mode(0o700))?;
        }
        for file in item
            .files
            .values()
            .filter(|file| file.bytes.len() <= LARGEST_KEPT)
        {
            let blob = blobs.join(&file.hash);
            if file.state != FileState::Missing && !becket_fs::exists(&blob) {
                put(&blob, &file.bytes)?;
            }
        }
        let now = SystemTime::UNIX_EPOCH
            .elapsed()
            .map_or(0, |age| age.as_millis() as u64);
        let record = Record {
            project: self.project.clone(),
            identity: item.identity(),
            kind: item.kind,
            name: item.name.clone(),
            source: item.source.clone(),
            guards: item.guards,
            time_ms: now,
            entry: item.entry.clone(),
            files: recorded(item),
        };
        let text = toml::to_string(&record).map_err(io::Error::other)?;
        put(&self.file(&record.identity), text.as_bytes())
    }

    /// Records that the user no longer trusts a thing.
    pub fn revoke(&self, record: &Record) -> io::Result<()> {
        std::fs::remove_file(self.file(&record.identity))?;
        // A copy that is not trusted never runs; it only takes space.
        let _ = std::fs::remove_dir_all(self.copies().join(&record.identity));
        Ok(())
    }

    /// The newest trusted version of a thing.
    pub fn before(&self, item: &Item) -> Option<Record> {
        let is_same = |record: &Record| {
            (record.kind, &record.source, &record.name) == (item.kind, &item.source, &item.name)
        };
        self.records().into_iter().rfind(is_same)
    }

    /// The bytes of a file as it was trusted, if they were kept and are intact.
    pub fn bytes(&self, hash: &str) -> Option<Vec<u8>> {
        let bytes = becket_fs::read(self.base.join("bytes").join(hash)).ok()?;
        (blake3::hash(&bytes).to_hex().as_str() == hash).then_some(bytes)
    }

    fn file(&self, identity: &str) -> PathBuf {
        self.records.join(format!("{identity}.toml"))
    }
}

/// What is recorded about the files of a thing.
pub fn recorded(item: &Item) -> BTreeMap<String, RecordedFile> {
    let files = item.files.iter().map(|(name, file)| {
        let recorded = RecordedFile {
            hash: file.hash.clone(),
            place: file.place.clone(),
            state: file.state,
        };
        (name.clone(), recorded)
    });
    files.collect()
}

/// Writes a file atomically, so that no reader sees half of it.
pub fn put(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = file.with_extension(format!("{}.new", std::process::id()));
    std::fs::write(&draft, bytes)?;
    std::fs::rename(&draft, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_nested_without_end_is_none() {
        assert!(Record::read(&format!("project = {}", "[".repeat(300_000))).is_none());
    }
}
