//! Where files with hooks are looked for.

use std::path::{Path, PathBuf};

use becket_host::GuestSearch;

/// The folder with this name in each folder from the project's root down to the working directory.
pub fn project_folders(place: &GuestSearch<'_>, name: &str) -> Vec<PathBuf> {
    let cwd = becket_fs::canonicalize(&place.surroundings.cwd);
    let cwd = cwd.unwrap_or_else(|_| place.surroundings.cwd.clone());
    let root = place.trust.root();
    let within = cwd.ancestors().take_while(|folder| folder.starts_with(root));
    let mut folders: Vec<PathBuf> = within.map(|folder| folder.join(name)).collect();
    folders.reverse();
    folders
}

/// The JSON files of a folder, by name; none if it cannot be read.
pub fn json_files(folder: &Path) -> Vec<PathBuf> {
    let entries = becket_fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files
        .filter(|file| file.extension().is_some_and(|ending| ending == "json"))
        .collect();
    files.sort();
    files
}
