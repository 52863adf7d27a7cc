//! Which folders belong to one project.

use std::path::{Path, PathBuf};

/// Names that mark a folder as the root of a project.
const ROOT_MARKS: &[&str] = &[".git", ".hg", ".jj", ".svn", ".pijul"];

/// The names of a project's settings files, in each of its folders.
pub const SETTINGS: &[&str] = &["becket.toml", ".becket/becket.toml"];

/// The root of the project around a folder; the folder itself if there is none.
pub fn project_root(cwd: &Path) -> PathBuf {
    let mut folders = cwd.ancestors();
    let root = folders.find(|folder| ROOT_MARKS.iter().any(|mark| becket_fs::exists(folder.join(mark))));
    root.unwrap_or(cwd).to_path_buf()
}

/// The project that a conversation belongs to: the nearest folder with a mark of a root or with its own settings, else
/// the folder itself. Links are resolved first, so that a folder is the same however it is entered.
///
/// Not [`project_root`]: settings of folders above must count below them, and conversations must not. So the user's
/// home and `/` are never the project of what lies in them.
pub fn nearest_project(cwd: &Path, persons_home: Option<&Path>) -> PathBuf {
    let real = |path: &Path| becket_fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let (cwd, home) = (real(cwd), persons_home.map(real));
    let is_common = |folder: &Path| folder.parent().is_none() || Some(folder) == home.as_deref();
    let is_root = |folder: &&Path| {
        let mut marks = ROOT_MARKS.iter().chain(SETTINGS);
        marks.any(|mark| becket_fs::symlink_metadata(folder.join(mark)).is_ok())
    };
    let mut folders = cwd.ancestors().take_while(|folder| !is_common(folder));
    folders.find(is_root).unwrap_or(&cwd).to_path_buf()
}
