//! A folder for a test and a home for its hooks, apart from the user's own. Both are removed when it is dropped.
//!
//! A test that depends on the user's own hooks proves little, so tests that name their hooks run with an empty home.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use becket_system::{CliError, Surroundings};

/// A temporary folder for one test, removed on drop.
pub struct TestRoom(PathBuf);

impl TestRoom {
    /// Makes a new folder inside `folder`.
    pub fn new(folder: &Path) -> Result<Self, CliError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("becket-test-{}-{number}", std::process::id());
        // Links on the way would make hooks see another path than the test.
        let folder = folder.canonicalize().unwrap_or(folder.to_path_buf()).join(name);
        std::fs::create_dir(&folder).map_err(|error| no_room(&folder, &error))?;
        Ok(Self(folder))
    }

    /// Makes a folder in the room, with files.
    pub fn folder(&self, name: &str, files: &BTreeMap<PathBuf, String>) -> Result<PathBuf, CliError> {
        let folder = self.0.join(name);
        std::fs::create_dir_all(&folder).map_err(|error| no_room(&folder, &error))?;
        for (name, text) in files {
            let file = folder.join(inside(name)?);
            let above = file.parent().unwrap_or(&folder);
            std::fs::create_dir_all(above)
                .and_then(|()| std::fs::write(&file, text))
                .map_err(|error| no_room(&file, &error))?;
        }
        Ok(folder)
    }

    /// Surroundings that keep only the programs on the path from the user's own.
    pub fn surroundings(&self, own: &Surroundings) -> Result<Surroundings, CliError> {
        let home = self.folder("home", &BTreeMap::new())?;
        let mut sealed = own.clone();
        sealed.variables.retain(|name, _| {
            let name = name.to_string_lossy();
            let tells_homes =
                name.starts_with("XDG_") || name.starts_with("BECKET_") || name.ends_with("_HOME");
            !tells_homes
        });
        sealed.variables.insert("HOME".into(), home.into());
        sealed.cwd = self.folder("work", &BTreeMap::new())?;
        Ok(sealed)
    }
}

impl Drop for TestRoom {
    fn drop(&mut self) {
        // What cannot be removed is in a folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Checks that a path does not lead out of its folder.
fn inside(name: &Path) -> Result<&Path, CliError> {
    match name.components().all(|part| matches!(part, Component::Normal(_))) {
        true => Ok(name),
        false => Err(CliError::usage(format!(
            "the file {} of a test is not in its folder",
            name.display()
        ))),
    }
}

fn no_room(file: &Path, error: &std::io::Error) -> CliError {
    CliError::failed(format!("cannot make {} for a test: {error}", file.display()))
}
