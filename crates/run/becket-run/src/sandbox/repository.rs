//! What decides in a git repository which programs git runs: settings with the files that they include, hooks, and the
//! words about where the repository is. All other parts of it have to be writable for a commit.
//!
//! What is missing is reserved, or a command would create it. Settings of the user that name a folder of hooks count
//! too.

use std::path::{Path, PathBuf};

use becket_sandbox::Placeholder;

/// Files and folders of a repository that are protected, if they are there.
const PARTS: &[&str] = &[
    "hooks",
    "config",
    "config.worktree",
    "commondir",
    "gitdir",
    "info",
    "modules",
    "worktrees",
];

/// How many files of settings are read, as they include each other.
const MOST_SETTINGS: usize = 50;

/// What is protected of repositories.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// What is there and stays as it is.
    pub(super) paths: Vec<PathBuf>,
    /// What is not there and must not come to be.
    pub(super) missing: Vec<Placeholder>,
    /// Repositories inside of protected folders, which a commit writes.
    pub(super) repositories: Vec<PathBuf>,
}

impl Kept {
    /// Adds the repository of a project, or that there is none and none can be made.
    pub(super) fn add_project(&mut self, project: &Path, homes: &[PathBuf]) {
        if self.add_checkout(project, homes) {
            return;
        }
        if is_repository(project) {
            self.add_repository(project, project, homes);
            return;
        }
        self.missing.push(Placeholder::Folder(project.join(".git")));
        // Without any of these the project itself is no repository to git.
        self.missing.push(if !becket_fs::is_file(project.join("HEAD")) {
            Placeholder::Folder(project.join("HEAD"))
        } else if !becket_fs::is_dir(project.join("objects")) {
            Placeholder::File(project.join("objects"), "")
        } else {
            Placeholder::File(project.join("refs"), "")
        });
    }

    /// Adds the repository of the files in a folder. Returns whether there is one.
    pub(super) fn add_checkout(&mut self, top: &Path, homes: &[PathBuf]) -> bool {
        let git = top.join(".git");
        if becket_fs::is_symlink(&git) || becket_fs::is_file(&git) {
            // Whoever replaces it sends git to another repository. Where it leads is written by commits.
            self.paths.push(git.clone());
        }
        let folder = match becket_fs::is_file(&git) {
            true => becket_fs::read_to_string(&git)
                .ok()
                .and_then(|text| Some(top.join(text.strip_prefix("gitdir:")?.trim()))),
            false => Some(git.clone()),
        };
        let folder = folder.and_then(|folder| becket_fs::canonicalize(folder).ok());
        let is_head = |folder: &PathBuf| becket_fs::is_file(folder.join("HEAD"));
        let has_head = folder.as_ref().is_some_and(is_head);
        // A command can take the `HEAD` out of a repository, and the next one give it another.
        let is_own = becket_fs::is_dir(&git) && !becket_fs::is_symlink(&git);
        match folder.filter(|_| has_head || is_own) {
            Some(folder) => {
                self.add_repository(&folder, top, homes);
                has_head
            }
            None => becket_fs::is_file(git),
        }
    }

    fn add_repository(&mut self, folder: &Path, top: &Path, homes: &[PathBuf]) {
        let common = becket_fs::read_to_string(folder.join("commondir")).ok();
        let common = common.and_then(|text| becket_fs::canonicalize(folder.join(text.trim())).ok());
        let common = common.unwrap_or_else(|| folder.to_path_buf());
        if folder != top && folder != top.join(".git") {
            self.repositories.push(folder.to_path_buf());
        }
        for place in [folder, &common] {
            for path in PARTS.iter().map(|name| place.join(name)) {
                self.keep(&path);
            }
            self.missing.extend([
                Placeholder::File(place.join("config.worktree"), ""),
                // It names the folder in which it stands.
                Placeholder::File(place.join("commondir"), ".\n"),
            ]);
        }
        self.missing.extend([
            Placeholder::Folder(common.join("hooks")),
            Placeholder::Folder(common.join("info")),
            Placeholder::File(common.join("config"), ""),
        ]);
        let of_user = homes
            .iter()
            .flat_map(|home| [home.join(".gitconfig"), home.join(".config/git/config")]);
        let settings = [common.join("config"), folder.join("config.worktree")];
        self.add_named(settings.into_iter().chain(of_user).collect(), (top, homes));
    }

    /// Adds what is at a path, and the links by which it is reached. Returns whether something is there.
    fn keep(&mut self, path: &Path) -> bool {
        for link in path.ancestors().filter(|folder| becket_fs::is_symlink(folder)) {
            let parent = link
                .parent()
                .and_then(|parent| becket_fs::canonicalize(parent).ok());
            let link = parent
                .zip(link.file_name())
                .map(|(parent, name)| parent.join(name));
            self.paths.extend(link);
        }
        self.paths.extend(becket_fs::canonicalize(path));
        becket_fs::symlink_metadata(path).is_ok()
    }

    /// Adds what settings name: other settings, and folders of hooks.
    fn add_named(&mut self, mut files: Vec<PathBuf>, (top, homes): (&Path, &[PathBuf])) {
        let mut next = 0;
        while let Some(file) = files.get(next).filter(|_| next < MOST_SETTINGS).cloned() {
            next += 1;
            let Ok(text) = becket_fs::read_to_string(&file) else {
                continue;
            };
            for (section, key, value) in settings(&text) {
                let base = match (&*section, &*key) {
                    ("include" | "includeif", "path") => file.parent().unwrap_or(top),
                    ("core", "hookspath") => top,
                    _ => continue,
                };
                let named = from_home(&value, homes).unwrap_or_else(|| base.join(&value));
                let path = plain(&named);
                // Where everything is hooks, nothing could be written.
                if top.starts_with(&path) {
                    continue;
                }
                if !self.keep(&named) {
                    self.missing.push(match &*key {
                        "hookspath" => Placeholder::Folder(path.clone()),
                        _ => Placeholder::File(path.clone(), ""),
                    });
                }
                if section.starts_with("include") && !files.contains(&path) {
                    files.push(path);
                }
            }
        }
    }
}

/// Whether git takes a folder for a repository.
fn is_repository(folder: &Path) -> bool {
    let has_folder = |name| becket_fs::is_dir(folder.join(name));
    becket_fs::is_file(folder.join("HEAD")) && has_folder("objects") && has_folder("refs")
}

/// A path that begins with the user's home.
fn from_home(value: &str, homes: &[PathBuf]) -> Option<PathBuf> {
    Some(homes.first()?.join(value.strip_prefix("~/")?))
}

/// A path without `.` and `..`, as far as it is there also without links.
fn plain(path: &Path) -> PathBuf {
    if let Ok(real) = becket_fs::canonicalize(path) {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => plain(parent).join(name),
        (Some(parent), None) => plain(parent).parent().unwrap_or(parent).to_path_buf(),
        _ => path.to_path_buf(),
    }
}

/// The settings in a file of git: section and key in lower case, and the value.
fn settings(text: &str) -> Vec<(String, String, String)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let end = rest.rfind(']').unwrap_or(rest.len());
            let name = rest[..end]
                .split([' ', '\t', '"', '.'])
                .next()
                .unwrap_or_default();
            section = name.to_ascii_lowercase();
            line = rest.get(end + 1..).unwrap_or_default().trim();
        }
        if let Some((key, value)) = line.split_once('=') {
            found.push((section.clone(), key.trim().to_ascii_lowercase(), unquoted(value)));
        }
    }
    found
}

/// A value without quotes and without the comment behind it.
fn unquoted(value: &str) -> String {
    let (mut text, mut quoted, mut escaped) = (String::new(), false, false);
    for letter in value.trim().chars() {
        match letter {
            _ if escaped => {
                text.push(letter);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => break,
            _ => text.push(letter),
        }
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room() -> (tempfile::TempDir, PathBuf) {
        let room = tempfile::tempdir().expect("a folder");
        let path = room.path().canonicalize().expect("it is there");
        (room, path)
    }

    fn write(file: &Path, text: &str) {
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("it can be made");
        std::fs::write(file, text).expect("it can be written");
    }

    fn repository(folder: &Path, config: &str) {
        write(&folder.join("HEAD"), "ref: refs/heads/main\n");
        write(&folder.join("config"), config);
        for name in ["objects", "refs"] {
            std::fs::create_dir(folder.join(name)).expect("it can be made");
        }
    }

    fn kept(project: &Path) -> Kept {
        let mut kept = Kept::default();
        kept.add_project(project, &[]);
        kept
    }

    #[test]
    fn settings_are_read_as_git_reads_them() {
        let text = "[Core] hooksPath = \"a b\" ; c\n\
                    [includeIf \"gitdir:x = y]\"]\n\tpath = ../c#d\n[core \"x\"]\nbare\n";
        let found = settings(text);
        let expected = [("core", "hookspath", "a b"), ("includeif", "path", "../c")];
        assert_eq!(
            found,
            expected.map(|(one, two, three)| (one.to_owned(), two.to_owned(), three.to_owned()))
        );
    }

    #[test]
    fn a_folder_without_a_repository_can_become_none() {
        let (_room, path) = room();
        let found = kept(&path);
        assert_eq!(
            found.missing,
            [".git", "HEAD"].map(|name| Placeholder::Folder(path.join(name)))
        );
        write(&path.join("HEAD"), "text");
        assert!(
            kept(&path)
                .missing
                .contains(&Placeholder::File(path.join("objects"), ""))
        );
        std::fs::create_dir(path.join("objects")).expect("it can be made");
        assert!(
            kept(&path)
                .missing
                .contains(&Placeholder::File(path.join("refs"), ""))
        );
        std::fs::create_dir(path.join("refs")).expect("it can be made");
        write(&path.join("config"), "");
        assert!(
            kept(&path).paths.contains(&path.join("config")),
            "it is one itself"
        );
    }

    #[test]
    fn a_repository_that_has_lost_its_head_keeps_its_settings() {
        let (_room, path) = room();
        repository(&path.join(".git"), "");
        std::fs::remove_file(path.join(".git/HEAD")).expect("it is there");
        let found = kept(&path);
        assert!(found.paths.contains(&path.join(".git/config")));
        assert!(found.missing.contains(&Placeholder::Folder(path.join("HEAD"))));
    }

    #[test]
    fn a_linked_repository_is_protected_where_it_is() {
        let (_room, path) = room();
        repository(&path.join("main/.git"), "");
        let own = path.join("main/.git/worktrees/tree");
        write(&own.join("HEAD"), "ref: refs/heads/tree\n");
        write(&own.join("commondir"), "../..\n");
        write(&path.join("tree/.git"), &format!("gitdir: {}\n", own.display()));
        let found = kept(&path.join("tree"));
        for place in ["tree/.git", "main/.git/config", "main/.git/worktrees"] {
            assert!(found.paths.contains(&path.join(place)), "{place}");
        }
        assert!(found.paths.contains(&own.join("commondir")));
        assert_eq!(found.repositories, [own]);
        // A link to a repository is one thing, and what it leads to another.
        std::os::unix::fs::symlink(path.join("main/.git"), path.join(".git")).expect("it can be made");
        let found = kept(&path);
        assert!(
            found.paths.contains(&path.join(".git")) && found.paths.contains(&path.join("main/.git/config"))
        );
    }

    #[test]
    fn what_settings_name_is_protected() {
        let (_room, path) = room();
        let config = "[core]\nhooksPath = hooks\n[include]\npath = ../shared\npath = ../none\n";
        repository(&path.join(".git"), config);
        write(&path.join("real/shared"), "[core]\nhooksPath = other/./hooks\n");
        std::os::unix::fs::symlink("real/shared", path.join("shared")).expect("it can be made");
        write(&path.join("other/hooks/pre-commit"), "");
        let found = kept(&path);
        assert!(found.paths.contains(&path.join("shared")), "the link");
        assert!(
            found.paths.contains(&path.join("real/shared")),
            "what it leads to"
        );
        assert!(found.paths.contains(&path.join("other/hooks")));
        assert!(found.missing.contains(&Placeholder::Folder(path.join("hooks"))));
        assert!(found.missing.contains(&Placeholder::File(path.join("none"), "")));
    }
}
