//! Finds the plugins of a home: executable files, and folders that hold a program of their own name.
//!
//! What lies there and is no plugin is remarked on, because a guard that is not found looks like one that agrees.

use std::fmt;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::home::plugins_folder;

/// Entries with this end are switched off.
const DISABLED: &str = ".disabled";

/// A program that lies where plugins lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The name of its file or folder.
    pub name: String,
    /// The program, with links followed.
    pub path: PathBuf,
    /// Its folder, where it has one of its own.
    pub folder: Option<PathBuf>,
}

/// Something about a plugin that the person should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The plugin.
    pub plugin: String,
    /// What is the matter, and what to try.
    pub message: String,
}

impl Remark {
    /// A remark on a plugin.
    pub fn new(plugin: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            plugin: plugin.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "plugin {}: {}", self.plugin, self.message)
    }
}

/// The plugins of a home, sorted by name, and what is wrong with the rest.
pub fn discover(home: &Path) -> (Vec<Candidate>, Vec<Remark>) {
    let folder = plugins_folder(home);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Default::default(),
        Err(error) => {
            let message = format!("the folder {} cannot be read: {error}", folder.display());
            return (Vec::new(), vec![Remark::new("*", message)]);
        }
    };
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    let (mut found, mut remarks) = (Vec::new(), Vec::new());
    for name in names {
        let shown = name.to_string_lossy().into_owned();
        // Hidden files belong to editors and to git.
        if shown.starts_with('.') || shown.ends_with(DISABLED) {
            continue;
        }
        match examine(&folder.join(&name), &shown) {
            Ok(candidate) => found.push(candidate),
            Err(message) => remarks.push(Remark::new(shown, message)),
        }
    }
    (found, remarks)
}

/// The program behind an entry, or why there is none.
fn examine(entry: &Path, name: &str) -> Result<Candidate, String> {
    let metadata = std::fs::metadata(entry).map_err(|error| match std::fs::read_link(entry) {
        Ok(target) => format!("the link leads to {}: {error}", target.display()),
        Err(_) => format!("it cannot be looked at: {error}"),
    })?;
    let (program, folder) = if metadata.is_dir() {
        (entry.join(name), Some(entry.to_path_buf()))
    } else {
        (entry.to_path_buf(), None)
    };
    let is_missing = |error: std::io::Error| match &folder {
        Some(_) => format!("the folder holds no program `{name}`, which it must be named after ({error})"),
        None => error.to_string(),
    };
    let path = program.canonicalize().map_err(is_missing)?;
    let metadata = std::fs::metadata(&path).map_err(is_missing)?;
    if !metadata.is_file() {
        return Err(format!("{} is no regular file", path.display()));
    }
    if metadata.permissions().mode() & 0o111 == 0 {
        let shown = program.display();
        return Err(format!(
            "it may not be executed; try `chmod +x {shown}`, or add {DISABLED} to its name to leave it out"
        ));
    }
    Ok(Candidate {
        name: name.to_owned(),
        path,
        folder,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn program(path: PathBuf) -> PathBuf {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn files_folders_and_links_are_found_in_the_order_of_their_names_and_the_rest_is_remarked_on() {
        let room = tempfile::tempdir().unwrap();
        let root = room.path().canonicalize().unwrap();
        let home = root.join("home");
        let plugins = home.join("plugins");
        let zebra = program(plugins.join("zebra"));
        let folder = program(plugins.join("deep/deep"));
        let outside = program(root.join("elsewhere/tool"));
        symlink(&outside, plugins.join("linked")).unwrap();
        symlink(root.join("elsewhere"), plugins.join("tool")).unwrap();
        symlink("nowhere", plugins.join("broken")).unwrap();
        symlink("circle", plugins.join("circle")).unwrap();
        program(plugins.join("off.disabled"));
        program(plugins.join(".hidden"));
        std::fs::write(plugins.join("plain"), "").unwrap();
        std::fs::create_dir(plugins.join("empty")).unwrap();
        std::fs::create_dir_all(plugins.join("nested/nested")).unwrap();
        let (found, remarks) = discover(&home);
        let found: Vec<_> = found
            .iter()
            .map(|found| (found.name.as_str(), &found.path))
            .collect();
        assert_eq!(
            found,
            [
                ("deep", &folder),
                ("linked", &outside),
                ("tool", &outside),
                ("zebra", &zebra)
            ]
        );
        let table = [
            ("broken", "the link leads to nowhere"),
            ("circle", "the link leads to circle"),
            ("empty", "holds no program `empty`"),
            ("nested", "is no regular file"),
            ("plain", "may not be executed; try `chmod +x"),
        ];
        assert_eq!(remarks.len(), table.len(), "{remarks:?}");
        for ((plugin, words), remark) in table.iter().zip(&remarks) {
            assert_eq!(remark.plugin, *plugin);
            assert!(remark.message.contains(words), "{remark}");
        }
    }

    #[test]
    fn a_home_without_plugins_is_no_trouble_and_one_that_cannot_be_read_is() {
        let room = tempfile::tempdir().unwrap();
        assert_eq!(discover(room.path()), Default::default());
        std::fs::write(room.path().join("plugins"), "").unwrap();
        let (found, remarks) = discover(room.path());
        assert!(
            found.is_empty() && remarks[0].message.contains("cannot be read"),
            "{remarks:?}"
        );
    }
}
