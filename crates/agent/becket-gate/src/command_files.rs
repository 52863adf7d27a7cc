//! The files that a command of the shell names, for rules of systems in which a rule about files is about commands as
//! well.

use std::path::{Path, PathBuf};

use becket_hooks::Pattern;
use becket_shell::{NamedFile, Purpose, named_files};

use crate::resolve::resolve_path;

/// In a rule about the shell, stands for the files that a command reads.
pub const FILES_READ: &str = "files_read";

/// In a rule about the shell, stands for the files that a command makes, changes or removes.
pub const FILES_CHANGED: &str = "files_changed";

/// The most files that the patterns of a command are looked for among.
const MOST_FILES: usize = 10_000;

/// The paths of the files that a command names, which starts in a folder: as written, absolute, and behind links.
/// `None` if the name is not one of those that stand for such files.
pub fn files_of(name: &str, command: &str, (start, home): (&Path, Option<&Path>)) -> Option<Vec<String>> {
    let purpose = match name {
        FILES_READ => Purpose::Read,
        FILES_CHANGED => Purpose::Change,
        _ => return None,
    };
    let named = named_files(command);
    let mut folders = vec![start.to_path_buf()];
    for folder in &named.folders {
        // Each may be below the one before it.
        for place in 0..folders.len() {
            let next = at(&folders[place], folder, home);
            if folders.len() < MOST_FOLDERS && !folders.contains(&next) {
                folders.push(next);
            }
        }
    }
    let files = named.files.iter().filter(|file| file.purpose == purpose);
    let paths = files.flat_map(|file| {
        folders
            .iter()
            .flat_map(move |folder| paths_of(file, folder, home))
    });
    Some(paths.collect())
}

/// The most folders that a relative path is looked for in.
const MOST_FOLDERS: usize = 64;

/// A path from a folder, or from the home.
fn at(folder: &Path, path: &str, home: Option<&Path>) -> PathBuf {
    let below_home = path
        .strip_prefix('~')
        .filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match (below_home, home) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ => folder.join(path),
    }
}

/// The paths that a name in a folder stands for.
fn paths_of(file: &NamedFile, folder: &Path, home: Option<&Path>) -> Vec<String> {
    let path = at(folder, &file.path, home);
    let found = match file.is_pattern {
        true => fitting(&path),
        false => Vec::new(),
    };
    let all = found.into_iter().chain([path]);
    let ways = all.flat_map(|path| {
        let text = path.display().to_string();
        let resolved = resolve_path(folder, &text).ok();
        [Some(text), resolved.map(|path| path.display().to_string())]
    });
    ways.flatten().collect()
}

/// The files that a pattern stands for.
fn fitting(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    let mut left = MOST_FILES;
    for part in pattern {
        let text = part.to_string_lossy();
        if !text.contains(['*', '?', '[', '{']) {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        }
        let Ok(fits) = Pattern::glob(&text) else {
            return Vec::new();
        };
        let is_meant = |name: &str| fits.matches(name) && (text.starts_with('.') || !name.starts_with('.'));
        let mut next = Vec::new();
        for entry in found
            .iter()
            .filter_map(|folder| folder.read_dir().ok())
            .flatten()
            .flatten()
        {
            left = left.saturating_sub(1);
            if left > 0 && is_meant(&entry.file_name().to_string_lossy()) {
                next.push(entry.path());
            }
        }
        found = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, directory: &Path, command: &str) -> Vec<String> {
        files_of(name, command, (directory, Some(Path::new("/home/me")))).unwrap()
    }

    #[test]
    fn a_file_is_found_wherever_a_command_says_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("inner")).unwrap();
        for name in [".env", "inner/key", "a.txt"] {
            std::fs::write(root.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("inner", root.join("link")).unwrap();
        let whole = |name: &str| root.join(name).display().to_string();
        for (command, path) in [
            ("cat .env", whole(".env")),
            ("cat inner/../.env", whole(".env")),
            ("cat .e*", whole(".env")),
            ("cat .{env,x}", whole(".env")),
            ("cat */key", whole("inner/key")),
            ("cat link/key", whole("inner/key")),
            ("cd inner && cat key", whole("inner/key")),
            ("cd inner; cd ..; cat .env", whole(".env")),
            ("cat ~/.ssh/id", "/home/me/.ssh/id".to_owned()),
            ("cat \"$HOME\"/.ssh/id", "/home/me/.ssh/id".to_owned()),
        ] {
            let found = named(FILES_READ, &root, command);
            assert!(found.contains(&path), "{command}: {found:?}");
            assert!(named(FILES_CHANGED, &root, command).is_empty(), "{command}");
        }
        assert!(!named(FILES_READ, &root, "cat *").contains(&whole(".env")));
        assert_eq!(named(FILES_CHANGED, &root, "echo x > a.txt")[0], whole("a.txt"));
    }
}
