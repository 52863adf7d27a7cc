//! Finds the plugins of a home: executable files, and folders that hold a program of their own name.
//!
//! Entries that cannot be run are found as well, because a missing guard looks like one that agrees.

use std::fmt;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::home::plugins_folder;

/// The end of the names of disabled entries.
const DISABLED: &str = ".disabled";

/// An entry of a plugins folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The name of the entry's file or folder.
    pub name: String,
    /// The path of the entry, which is the key of its cached schema.
    pub place: PathBuf,
    /// The program, with links followed as far as they lead.
    pub path: PathBuf,
    /// The folder of the program, if it has its own.
    pub folder: Option<PathBuf>,
    /// Why the entry cannot be run.
    pub trouble: Option<String>,
}

/// A remark for the user about a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The plugin.
    pub plugin: String,
    /// The problem, and a suggestion.
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

/// The entries of a home's plugins folder, sorted by name. The error says why the folder cannot be read.
pub fn discover(home: &Path) -> Result<Vec<Candidate>, String> {
    let folder = plugins_folder(home);
    let entries = match becket_fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound && !becket_fs::is_symlink(&folder) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(format!("the folder {} cannot be read: {error}", folder.display())),
    };
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    let shown = names
        .iter()
        .map(|name| (name, name.to_string_lossy().into_owned()));
    // Hidden files belong to editors and to git.
    let wanted = shown.filter(|(_, shown)| !shown.starts_with('.') && !shown.ends_with(DISABLED));
    let candidates = wanted.map(|(name, shown)| examine(place_of(home, name), shown));
    Ok(candidates.collect())
}

/// The path of a plugin of a home, independent of how the home is written.
pub fn place_of(home: &Path, name: impl AsRef<Path>) -> PathBuf {
    let home = becket_fs::canonicalize(home).unwrap_or_else(|_| home.to_path_buf());
    plugins_folder(&home).join(name)
}

/// The entry at a path, with the reason if it cannot be run.
pub fn examine(place: PathBuf, name: String) -> Candidate {
    let folder = becket_fs::is_dir(&place).then(|| place.clone());
    let program = folder
        .as_ref()
        .map_or_else(|| place.clone(), |folder| folder.join(&name));
    let (path, trouble) = match find_program(&place, &program, &name) {
        Ok(path) => (path, None),
        Err(trouble) => (program, Some(trouble)),
    };
    Candidate {
        name,
        place,
        path,
        folder,
        trouble,
    }
}

/// The program of an entry, or why there is none.
fn find_program(place: &Path, program: &Path, name: &str) -> Result<PathBuf, String> {
    let metadata = becket_fs::metadata(place).map_err(|error| match becket_fs::read_link(place) {
        Ok(target) => format!("the link leads to {}: {error}", target.display()),
        Err(_) => format!("it cannot be looked at: {error}"),
    })?;
    let is_missing = |error: std::io::Error| match metadata.is_dir() {
        true => format!("the folder holds no program `{name}`, which it must be named after ({error})"),
        false => error.to_string(),
    };
    let path = becket_fs::canonicalize(program).map_err(is_missing)?;
    let metadata = becket_fs::metadata(&path).map_err(is_missing)?;
    if !metadata.is_file() {
        return Err(format!("{} is no regular file", path.display()));
    }
    if metadata.permissions().mode() & 0o111 == 0 {
        let shown = program.display();
        return Err(format!(
            "it may not be executed; try `chmod +x {shown}`, or add {DISABLED} to its name to leave it out"
        ));
    }
    Ok(path)
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
        let all = discover(&home).unwrap();
        let (found, broken): (Vec<_>, Vec<_>) = all.iter().partition(|found| found.trouble.is_none());
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
        assert_eq!(broken.len(), table.len(), "{broken:?}");
        for ((plugin, words), candidate) in table.iter().zip(&broken) {
            assert_eq!(candidate.name, *plugin);
            let trouble = candidate.trouble.as_deref().unwrap();
            assert!(trouble.contains(words), "{trouble}");
        }
    }

    #[test]
    fn a_home_without_plugins_is_no_trouble_and_one_that_cannot_be_read_is() {
        let room = tempfile::tempdir().unwrap();
        assert_eq!(discover(room.path()), Ok(Vec::new()));
        let plugins = room.path().join("plugins");
        symlink("nowhere", &plugins).unwrap();
        assert!(discover(room.path()).unwrap_err().contains("cannot be read"));
        std::fs::remove_file(&plugins).unwrap();
        std::fs::write(&plugins, "").unwrap();
        assert!(discover(room.path()).unwrap_err().contains("cannot be read"));
    }
}
