//! A folder to take snapshots of, a place for them, and a full listing of what is in the folder.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use becket_snapshot::{Checkpoint, Mark, Settings, Snapshots, Span};

/// What is at a path: permissions and contents, or the target of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum There {
    File(u32, Vec<u8>),
    Link(PathBuf),
}

pub type Listing = BTreeMap<PathBuf, There>;

pub struct Room {
    room: tempfile::TempDir,
    pub folder: PathBuf,
    pub settings: Settings,
}

impl Room {
    pub fn new() -> Self {
        let room = tempfile::tempdir().unwrap();
        let folder = room.path().join("work folder");
        std::fs::create_dir(&folder).unwrap();
        let settings = Settings {
            search_path: std::env::var_os("PATH").unwrap(),
            ..Settings::default()
        };
        Self {
            room,
            folder,
            settings,
        }
    }

    /// A folder with a repository of the user in it.
    pub fn with_repository() -> Self {
        let room = Self::new();
        room.git(".", &["init", "-q", "-b", "main"]);
        room
    }

    pub fn data(&self) -> PathBuf {
        self.room.path().join("data")
    }

    pub fn path(&self) -> &Path {
        self.room.path()
    }

    pub fn snapshots(&self) -> Snapshots {
        Snapshots::open(&self.data(), &self.folder, self.settings.clone()).unwrap()
    }

    pub fn at(&self, path: impl AsRef<OsStr>) -> PathBuf {
        self.folder.join(Path::new(path.as_ref()))
    }

    pub fn write(&self, path: impl AsRef<OsStr>, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.at(path)).unwrap()
    }

    pub fn remove(&self, path: impl AsRef<OsStr>) {
        let path = self.at(path);
        match path.symlink_metadata().unwrap().is_dir() {
            true => std::fs::remove_dir_all(path).unwrap(),
            false => std::fs::remove_file(path).unwrap(),
        }
    }

    pub fn link(&self, path: impl AsRef<OsStr>, target: &str) {
        std::os::unix::fs::symlink(target, self.at(path)).unwrap();
    }

    pub fn mode(&self, path: impl AsRef<OsStr>, mode: u32) {
        std::fs::set_permissions(self.at(path), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    /// git as the user runs it.
    pub fn git(&self, folder: &str, arguments: &[&str]) {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(arguments)
            .current_dir(self.at(folder))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// Files and links of the folder, without what is in `.git`.
    pub fn listing(&self) -> Listing {
        let mut listing = Listing::new();
        list(&self.folder, &self.folder, &mut listing);
        listing.retain(|path, _| !path.iter().any(|part| part == ".git"));
        listing
    }

    /// Every file of a folder, with its bytes.
    pub fn all_of(&self, folder: &str) -> Listing {
        let mut listing = Listing::new();
        list(&self.at(folder), &self.at(folder), &mut listing);
        listing
    }

    /// The folder in which everything about this one is kept.
    pub fn shadow(&self) -> PathBuf {
        let snapshots = self.data().join("snapshots");
        let mut entries = snapshots.read_dir().unwrap();
        entries.next().unwrap().unwrap().path()
    }

    /// Runs this test program again as another process, in which only `test` runs, with its task in the environment.
    pub fn other_process(&self, test: &str, search_path: Option<&OsStr>, task: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let path = search_path.unwrap_or(&self.settings.search_path);
        command
            .args(["--exact", test, "--nocapture"])
            .env("SNAPSHOT_TASK", task)
            .env("SNAPSHOT_DATA", self.data())
            .env("SNAPSHOT_FOLDER", &self.folder)
            .env("SNAPSHOT_PATH", path)
            .stdout(std::process::Stdio::null());
        command
    }
}

/// In the other process: the snapshots and the task.
pub fn task() -> Option<(Snapshots, String)> {
    let task = std::env::var("SNAPSHOT_TASK").ok()?;
    let var = |name| std::env::var_os(name).unwrap();
    let settings = Settings {
        search_path: var("SNAPSHOT_PATH"),
        ..Settings::default()
    };
    let (data, folder): (OsString, OsString) = (var("SNAPSHOT_DATA"), var("SNAPSHOT_FOLDER"));
    Some((
        Snapshots::open(data.as_ref(), folder.as_ref(), settings).unwrap(),
        task,
    ))
}

pub fn turn(snapshots: &Snapshots) -> Checkpoint {
    begin(snapshots, Span::Turn, "one")
}

pub fn begin(snapshots: &Snapshots, span: Span, session: &str) -> Checkpoint {
    let mark = Mark {
        span,
        label: "some work",
        session,
    };
    snapshots.checkpoint(&mark).unwrap()
}

/// A turn in which something happens.
pub fn turn_with(snapshots: &Snapshots, act: impl FnOnce()) -> Checkpoint {
    let before = turn(snapshots);
    act();
    snapshots.finish(before.id).unwrap().expect("a change")
}

pub fn bytes(name: &[u8]) -> &OsStr {
    OsStr::from_bytes(name)
}

fn list(root: &Path, folder: &Path, listing: &mut Listing) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let about = path.symlink_metadata().unwrap();
        let there = if about.is_dir() {
            list(root, &path, listing);
            continue;
        } else if about.is_symlink() {
            There::Link(std::fs::read_link(&path).unwrap())
        } else if about.is_file() {
            There::File(about.permissions().mode() & 0o7777, std::fs::read(&path).unwrap())
        } else {
            continue;
        };
        listing.insert(path.strip_prefix(root).unwrap().to_owned(), there);
    }
}
