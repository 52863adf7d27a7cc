//! The paths of a folder, of what is kept about it, and of the user's repository around or inside of it.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::problem::{Problem, system};

/// The largest file of a repository that is read here.
const SMALL: u64 = 1024 * 1024;

/// A folder and the place in the data folder where its snapshots are.
#[derive(Debug, Clone)]
pub(crate) struct SnapshotFolder {
    /// The folder, without links in its path.
    pub folder: PathBuf,
    /// The folder with everything that is kept about it, for its owner only.
    pub shadow: PathBuf,
    /// The data folder, which must never be part of a checkpoint, although it may be in the folder.
    pub data: PathBuf,
}

impl SnapshotFolder {
    pub(crate) fn open(data: &Path, folder: &Path) -> Result<Self, Problem> {
        let refuse = |why: String| Problem::Folder {
            folder: folder.to_owned(),
            why,
        };
        let folder = folder.canonicalize().map_err(|error| refuse(error.to_string()))?;
        if !folder.is_dir() {
            return Err(refuse("it is no folder".into()));
        }
        private_folder(data)?;
        let data = data.canonicalize().map_err(system("find", data))?;
        if folder.starts_with(&data) {
            return Err(refuse(format!(
                "it lies in becket's own data, {}",
                data.display()
            )));
        }
        let name = blake3::hash(folder.as_os_str().as_bytes()).to_hex();
        let shadow = data.join("snapshots").join(&name[..32]);
        private_folder(&shadow)?;
        let open_to_others = shadow.metadata().map_err(system("look at", &shadow))?.mode() & 0o077 != 0;
        if open_to_others {
            let owner_only = std::fs::Permissions::from_mode(0o700);
            std::fs::set_permissions(&shadow, owner_only).map_err(system("close", &shadow))?;
        }
        Ok(Self { folder, shadow, data })
    }

    pub(crate) fn repository(&self) -> PathBuf {
        self.shadow.join("repository")
    }

    /// The index file for a top. The index has paths from the top, so each top has its own.
    pub(crate) fn index(&self, top: &Path) -> PathBuf {
        let prefix = self.folder.strip_prefix(top).unwrap_or(Path::new(""));
        if prefix.as_os_str().is_empty() {
            return self.shadow.join("index");
        }
        let name = blake3::hash(prefix.as_os_str().as_bytes()).to_hex();
        self.shadow.join(format!("index-{}", &name[..16]))
    }
}

/// Makes a folder that only its owner can look into, unless it exists.
fn private_folder(path: &Path) -> Result<(), Problem> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(system("make the folder", path))
}

/// A repository of the user. It is only read.
#[derive(Debug, Clone)]
pub(crate) struct Repository {
    /// The folder that holds the repository's `.git`.
    pub top: PathBuf,
    /// The folder with the repository's index.
    pub git: PathBuf,
    /// The folder with what the repository's worktrees share.
    common: PathBuf,
}

impl Repository {
    /// The repository to which a folder belongs.
    pub(crate) fn around(folder: &Path) -> Option<Self> {
        folder.ancestors().find_map(Self::at)
    }

    /// The repository in this folder: a `.git` folder, or a file that points to one.
    pub(crate) fn at(folder: &Path) -> Option<Self> {
        let own = folder.join(".git");
        let about = own.symlink_metadata().ok()?;
        let git = match about.is_file() {
            true => folder.join(pointer(&small_file(&own)?, b"gitdir: ")?),
            false => own,
        };
        if git.join("HEAD").symlink_metadata().is_err() {
            return None;
        }
        let shared = small_file(&git.join("commondir"));
        let common = shared.and_then(|bytes| Some(git.join(pointer(&bytes, b"")?)));
        Some(Self {
            top: folder.to_owned(),
            common: common.unwrap_or_else(|| git.clone()),
            git,
        })
    }

    /// The ignore rules in `info/exclude`, which are not part of the repository's files.
    pub(crate) fn exclude(&self) -> Vec<u8> {
        small_file(&self.common.join("info/exclude")).unwrap_or_default()
    }

    /// A text that changes when what the repository tracks may have changed.
    pub(crate) fn stamp(&self) -> String {
        match self.git.join("index").metadata() {
            Ok(about) => format!(
                "{} {} {}.{} {}",
                self.git.display(),
                about.size(),
                about.mtime(),
                about.mtime_nsec(),
                about.ino()
            ),
            Err(_) => format!("{} without an index", self.git.display()),
        }
    }
}

/// The content of a small regular file of the user's repository. Anything else is skipped and never blocks.
fn small_file(path: &Path) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let about = file.metadata().ok()?;
    let mut bytes = Vec::new();
    let is_small = about.is_file() && about.len() <= SMALL;
    is_small.then(|| file.take(SMALL).read_to_end(&mut bytes).ok())??;
    Some(bytes)
}

/// The path in a file that holds nothing else.
fn pointer(bytes: &[u8], before: &[u8]) -> Option<PathBuf> {
    let path = bytes.strip_prefix(before)?.trim_ascii_end();
    (!path.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_read_as_git_writes_them() {
        let read = |text: &str| pointer(text.as_bytes(), b"gitdir: ");
        assert_eq!(
            read("gitdir: ../.git/modules/a b\n"),
            Some("../.git/modules/a b".into())
        );
        assert_eq!(read("gitdir: \n"), None);
        assert_eq!(read("something else"), None);
    }
}
