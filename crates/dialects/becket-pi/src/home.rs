//! pi's folder, and paths that begin with the user's home.

use std::path::{Path, PathBuf};

/// The variable that names pi's folder.
pub const HOME_VARIABLE: &str = "PI_CODING_AGENT_DIR";

/// pi's folder: the one that is named, else the default one if it exists.
pub fn home(named: Option<PathBuf>, persons_home: Option<&Path>) -> Option<PathBuf> {
    let usual = || Some(persons_home?.join(".pi/agent")).filter(|folder| becket_fs::is_dir(folder));
    named.map(|named| from_home(&named, persons_home)).or_else(usual)
}

/// A path with `~` replaced by the user's home.
pub(super) fn from_home(path: &Path, persons_home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), persons_home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_path_buf(),
    }
}
