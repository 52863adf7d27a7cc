//! The ignore files of a project: `.ignore`, `.gitignore` and `.git/info/exclude`.
//!
//! These files are as foreign as the rest of a project. One that is a link, a pipe, a device or too large is ignored,
//! and reading it never blocks.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use becket_gate::judged_path;
use becket_hooks::check_glob;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The largest ignore file that is read, in bytes.
const MOST: u64 = 1024 * 1024;

/// The ignore files of a folder, of those below it, and of no other one. Paths are resolved ones.
#[derive(Debug)]
pub struct IgnoreFiles {
    top: PathBuf,
    read: Mutex<HashMap<PathBuf, Arc<OfFolder>>>,
}

/// The ignore files of one folder.
#[derive(Debug)]
struct OfFolder {
    ignore: Gitignore,
    gitignore: Gitignore,
    exclude: Gitignore,
    /// Whether a repository begins here: git's ignore files above do not count for it.
    is_repository: bool,
}

impl IgnoreFiles {
    /// The ignore files of a project.
    pub fn of_project(root: &Path) -> Self {
        Self {
            top: root.into(),
            read: Mutex::default(),
        }
    }

    /// The ignore files that count for a search in a folder: from its repository on, and without one from all folders
    /// above.
    pub fn around(folder: &Path) -> Self {
        let repository = folder.ancestors().find(|folder| is_repository(folder));
        let top = repository.or_else(|| folder.ancestors().last());
        Self::of_project(top.unwrap_or(folder))
    }

    /// Whether a file or folder is ignored. The folders above it must not be.
    pub fn leave_out(&self, path: &Path, is_folder: bool) -> bool {
        let above = path.ancestors().skip(1);
        let above = above.take_while(|folder| folder.starts_with(&self.top));
        let folders: Vec<Arc<OfFolder>> = above.map(|folder| self.of(folder)).collect();
        let repository = folders.iter().position(|folder| folder.is_repository);
        let gits = &folders[..repository.map_or(folders.len(), |at| at + 1)];
        // The kinds in the order in which they count; of each, the folder that is nearest.
        let ignore = folders.iter().map(|folder| &folder.ignore);
        let gitignore = gits.iter().map(|folder| &folder.gitignore);
        let exclude = gits.iter().map(|folder| &folder.exclude);
        let all = ignore.chain(gitignore).chain(exclude);
        let mut spoken = all.map(|rules| rules.matched(path, is_folder));
        matches!(spoken.find(|verdict| !verdict.is_none()), Some(Match::Ignore(_)))
    }

    fn of(&self, folder: &Path) -> Arc<OfFolder> {
        let mut read = self
            .read
            .lock()
            .expect("no panic happens while ignore files are read");
        if let Some(known) = read.get(folder) {
            return Arc::clone(known);
        }
        let found = Arc::new(OfFolder {
            ignore: rules_of(folder, ".ignore"),
            gitignore: rules_of(folder, ".gitignore"),
            exclude: rules_of(folder, ".git/info/exclude"),
            is_repository: is_repository(folder),
        });
        read.insert(folder.into(), Arc::clone(&found));
        found
    }
}

fn is_repository(folder: &Path) -> bool {
    folder.join(".git").symlink_metadata().is_ok()
}

/// The rules in a file, as far as they can be parsed; none if the file may not be read.
fn rules_of(folder: &Path, name: &str) -> Gitignore {
    let file = folder.join(name);
    let Ok(bytes) = judged_path::read_whole(&file, MOST) else {
        return Gitignore::empty();
    };
    let text = String::from_utf8_lossy(&bytes);
    let mut rules = GitignoreBuilder::new(folder);
    let lines = text.trim_start_matches('\u{feff}').lines();
    // A line that is no glob is skipped, as git does.
    for line in lines.filter(|line| check_glob(line).is_ok()) {
        let _ = rules.add_line(Some(file.clone()), line);
    }
    rules.build().unwrap_or_else(|_| Gitignore::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for (name, text) in files {
            let file = root.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        (folder, root)
    }

    #[test]
    fn the_nearest_folder_counts_and_a_repository_for_itself() {
        let (_folder, root) = folder_with(&[
            (".gitignore", "*.log\n/out/\n[\n"),
            (".ignore", "secret\n"),
            ("sub/.gitignore", "!keep.log\n"),
            ("own/.git/info/exclude", "/here\n"),
        ]);
        let files = IgnoreFiles::of_project(&root);
        for (path, is_folder, expected) in [
            ("a.log", false, true),
            ("sub/a.log", false, true),
            ("sub/keep.log", false, false),
            ("out", true, true),
            ("out", false, false),
            ("sub/out", true, false),
            ("sub/secret", false, true),
            ("own/a.log", false, false),
            ("own/secret", false, true),
            ("own/here", false, true),
            ("own/sub/here", false, false),
        ] {
            assert_eq!(files.leave_out(&root.join(path), is_folder), expected, "{path}");
        }
        let inside = IgnoreFiles::around(&root.join("own/sub"));
        assert!(!inside.leave_out(&root.join("own/sub/secret"), false));
        let without = IgnoreFiles::around(&root.join("sub"));
        assert!(without.leave_out(&root.join("sub/a.log"), false));
    }

    #[test]
    fn what_is_no_file_of_bearable_size_does_not_count() {
        let large = format!("*\n{}", "#\n".repeat(1024 * 1024));
        let (_folder, root) = folder_with(&[("large/.gitignore", &large), ("elsewhere", "*\n"), ("x/y", "")]);
        for name in [".ignore", ".git"] {
            std::os::unix::fs::symlink("/dev/zero", root.join(name)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("elsewhere"), root.join("x/.gitignore")).unwrap();
        let pipe = root.join(".gitignore");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
        let files = IgnoreFiles::of_project(&root);
        for path in ["a", "x/y", "large/a"] {
            assert!(!files.leave_out(&root.join(path), false), "{path}");
        }
    }
}
