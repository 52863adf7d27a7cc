//! Remembers guests from run to run, by their paths. An entry stays until nothing exists at its path: a guest that can
//! no longer be loaded has not been removed.
//!
//! A file that cannot be read is ignored, and of two writers the last one wins.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What was known about guests at the end of earlier runs.
#[derive(Debug)]
pub struct Remembered<T> {
    file: Option<PathBuf>,
    version: u32,
    guests: BTreeMap<String, T>,
    changed: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct MemoryFile<T> {
    version: u32,
    #[serde(alias = "plugins")]
    guests: BTreeMap<String, T>,
}

impl<T: Serialize + DeserializeOwned + PartialEq> Remembered<T> {
    /// The content of the file; empty if it does not exist, cannot be read or has another version.
    pub fn read(file: Option<&Path>, version: u32) -> Self {
        let text = file.and_then(|file| becket_fs::read(file).ok());
        let read = text.and_then(|text| serde_json::from_slice::<MemoryFile<T>>(&text).ok());
        let guests = read
            .filter(|read| read.version == version)
            .map(|read| read.guests);
        Self {
            file: file.map(Path::to_path_buf),
            version,
            guests: guests.unwrap_or_default(),
            changed: false,
        }
    }

    /// What is known about the guest at a path.
    pub fn at(&self, place: &Path) -> Option<&T> {
        self.guests.get(place.to_str()?)
    }

    /// Remembers something about the guest at a path.
    pub fn remember(&mut self, place: &Path, entry: T) {
        if let Some(place) = place.to_str().filter(|_| self.at(place) != Some(&entry)) {
            self.guests.insert(place.to_owned(), entry);
            self.changed = true;
        }
    }

    /// Forgets the guests that were removed.
    pub fn forget_gone(&mut self) {
        let before = self.guests.len();
        self.guests.retain(|place, _| !is_gone(Path::new(place)));
        self.changed |= self.guests.len() != before;
    }

    /// Writes the file if something has changed.
    pub fn write(self) -> std::io::Result<()> {
        let Some(file) = self.file.filter(|_| self.changed) else {
            return Ok(());
        };
        let folder = file.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let text = serde_json::to_vec(&MemoryFile {
            version: self.version,
            guests: self.guests,
        })?;
        let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
        fresh.write_all(&text)?;
        fresh.persist(&file).map_err(|error| error.error)?;
        Ok(())
    }
}

/// Whether nothing exists at a path any more. A dangling link still exists, and a folder that cannot be read proves
/// nothing.
fn is_gone(place: &Path) -> bool {
    let folder_is_lost = |folder: &Path| becket_fs::is_symlink(folder) && !becket_fs::exists(folder);
    let is_missing =
        becket_fs::symlink_metadata(place).is_err_and(|error| error.kind() == ErrorKind::NotFound);
    is_missing && !place.parent().is_some_and(folder_is_lost)
}
