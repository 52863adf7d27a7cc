//! An operation on the snapshots: it holds the lock, so that no other process touches them, and git is ready.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::git::{ATTRIBUTES, CONFIGURATION, Git, Program, View, lines, parts, path};
use crate::lock::Lock;
use crate::place::{Repository, SnapshotFolder};
use crate::problem::{Problem, system};
use crate::settings::Settings;

/// An operation that holds the lock.
pub(crate) struct Work<'a> {
    pub place: &'a SnapshotFolder,
    pub settings: &'a Settings,
    /// The user's repository, if the folder belongs to one.
    pub around: Option<Repository>,
    program: &'a Program,
    lock: Lock,
}

impl<'a> Work<'a> {
    pub(crate) fn begin(
        place: &'a SnapshotFolder,
        settings: &'a Settings,
        program: &'a Program,
    ) -> Result<Self, Problem> {
        let mut work = Self {
            place,
            settings,
            around: None,
            program,
            lock: Lock::take(place, settings.lock_timeout)?,
        };
        work.remove_stale_locks()?;
        work.prepare()?;
        work.around = Repository::around(&place.folder).filter(|around| is_text(place, around));
        if work.is_ignored_around()? {
            work.around = None;
        }
        Ok(work)
    }

    /// git, looking at the folder with the shadow repository.
    pub(crate) fn git(&self) -> Git<'_> {
        let mut git = git_at(self.place, &self.lock, self.program, self.settings.deadline);
        git.view.top = self.top().to_owned();
        git.view.index = Some(self.place.index(self.top()));
        git
    }

    /// The folder from which ignore rules count.
    pub(crate) fn top(&self) -> &Path {
        let around = self.around.as_ref();
        around.map_or(&self.place.folder, |repository| &repository.top)
    }

    /// The folder as seen from the top: empty, or with a slash at its end.
    pub(crate) fn prefix(&self) -> String {
        let inside = self
            .place
            .folder
            .strip_prefix(self.top())
            .unwrap_or(Path::new(""));
        match inside.to_str() {
            None | Some("") => String::new(),
            Some(inside) => format!("{inside}/"),
        }
    }

    /// Replaces a file of this crate beside the repository atomically.
    pub(crate) fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), Problem> {
        let fresh = path.with_extension("new");
        let write = || -> io::Result<()> {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            let mut file = options.open(&fresh)?;
            file.write_all(bytes)?;
            file.sync_data()?;
            std::fs::rename(&fresh, path)
        };
        write().map_err(system("write", path))
    }

    /// Removes lock files that a killed git left behind. Whoever holds our lock is alone.
    fn remove_stale_locks(&self) -> Result<(), Problem> {
        let shadow = &self.place.shadow;
        let repository = self.place.repository();
        for folder in [shadow, &repository, &repository.join("refs/becket")] {
            let Ok(entries) = folder.read_dir() else { continue };
            let stale = entries.flatten().map(|entry| entry.path());
            for path in stale.filter(|path| path.extension().is_some_and(|end| end == "lock")) {
                std::fs::remove_file(&path).map_err(system("remove", &path))?;
            }
        }
        Ok(())
    }

    /// Makes the shadow repository, or the missing parts of it.
    fn prepare(&self) -> Result<(), Problem> {
        let repository = self.place.repository();
        let configuration = repository.join("config");
        let is_ready = std::fs::read(&configuration).is_ok_and(|bytes| bytes == CONFIGURATION.as_bytes());
        if is_ready {
            return Ok(());
        }
        let mut git = self.git();
        git.view.folder = self.place.shadow.clone();
        let arguments = ["init", "--quiet", "--template=", "--initial-branch=none"];
        git.run("make the shadow repository", &arguments, b"")?;
        let information = repository.join("info");
        std::fs::create_dir_all(&information).map_err(system("make the folder", &information))?;
        self.replace(&information.join("attributes"), ATTRIBUTES.as_bytes())?;
        let named = self.place.folder.as_os_str().as_encoded_bytes();
        self.replace(&self.place.shadow.join("folder"), named)?;
        // Written last: with this file the repository counts as complete.
        self.replace(&configuration, CONFIGURATION.as_bytes())
    }

    /// Whether the repository around ignores the folder, such as one of dotfiles in the home does. Then it does not
    /// count for this folder.
    fn is_ignored_around(&self) -> Result<bool, Problem> {
        let Some(around) = self
            .around
            .as_ref()
            .filter(|around| around.top != self.place.folder)
        else {
            return Ok(false);
        };
        let mut git = self.git();
        git.view.folder = around.top.clone();
        let inside = self
            .place
            .folder
            .strip_prefix(&around.top)
            .unwrap_or(Path::new(""));
        Ok(!ignored(&git, [&inside.to_owned()])?.is_empty())
    }
}

/// git, looking at the folder with the shadow repository, for as long as this lock is held.
pub(crate) fn git_at<'g>(
    place: &SnapshotFolder,
    lock: &'g Lock,
    program: &'g Program,
    deadline: Duration,
) -> Git<'g> {
    Git {
        program,
        lock,
        deadline,
        view: View {
            repository: place.repository(),
            index: Some(place.index(&place.folder)),
            folder: place.folder.clone(),
            top: place.folder.clone(),
        },
    }
}

/// The paths that ignore rules leave out, whether they are in the index or not.
pub(crate) fn ignored<'a>(
    git: &Git<'_>,
    paths: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<Vec<PathBuf>, Problem> {
    let doing = "read the ignore rules";
    // The dot before them keeps names that begin with a colon from having a meaning.
    let paths: Vec<PathBuf> = paths.into_iter().map(|path| Path::new(".").join(path)).collect();
    let answer = git.ask(
        doing,
        &["check-ignore", "--no-index", "-z", "--stdin"],
        &lines(&paths),
    )?;
    // 1 says that there are none.
    if answer.status.code().is_none_or(|code| code > 1) {
        let message = String::from_utf8_lossy(&answer.errors).into_owned();
        return Err(Problem::Git { doing, message });
    }
    let names = parts(&answer.output).map(|name| name.strip_prefix(b"./").unwrap_or(name));
    Ok(names.map(path).collect())
}

/// Whether the folder's path inside of a repository can be passed as an argument of git.
fn is_text(place: &SnapshotFolder, around: &Repository) -> bool {
    let inside = place.folder.strip_prefix(&around.top);
    inside.is_ok_and(|inside| inside.to_str().is_some())
}
