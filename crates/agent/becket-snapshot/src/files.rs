//! Changes files of the folder without ever following a link: every step of a path is opened from the one before.
//!
//! A file is replaced by a rename, so it is always the old or the new one.
//!
//! git's checkout does not write the files, so that no link is followed and permissions stay that git does not know.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawMode};
use rustix::io::Errno;

/// The prefix of the names of temporary files; the process and a number follow.
const LEFTOVER: &str = ".becket-restore-";

/// Whether a path is that of a file which a killed restore left behind.
pub(crate) fn is_leftover(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
    let numbers = name.strip_prefix(LEFTOVER.as_bytes());
    numbers.is_some_and(|rest| {
        rest.contains(&b'-') && rest.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-')
    })
}

/// The folder whose files are changed.
pub(crate) struct Files {
    root: OwnedFd,
    written: u64,
}

/// The kind of file to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Link,
    /// An executable file; those who may read it may execute it.
    Program,
    Plain,
}

/// What is found at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum There {
    Nothing,
    /// A part of the path before its end is no folder.
    Blocked,
    Folder,
    Link,
    File(RawMode),
    Other,
}

impl Files {
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(root, flags, Mode::empty())?;
        Ok(Self { root, written: 0 })
    }

    pub(crate) fn look(&self, path: &Path) -> io::Result<There> {
        let (folder, name) = match self.parent(path, Missing::Fails) {
            Ok(found) => found,
            Err(error) => return absent(error),
        };
        let about = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) => about,
            Err(error) => return absent(error.into()),
        };
        Ok(match FileType::from_raw_mode(about.st_mode) {
            FileType::Directory => There::Folder,
            FileType::Symlink => There::Link,
            FileType::RegularFile => There::File(about.st_mode & 0o777),
            _ => There::Other,
        })
    }

    /// Whether a file or link is there with exactly this content.
    pub(crate) fn holds(&self, path: &Path, shape: Shape, content: &[u8]) -> io::Result<bool> {
        let there = self.look(path)?;
        let (folder, name) = match (there, shape) {
            (There::Link, Shape::Link) | (There::File(_), Shape::Program | Shape::Plain) => {
                self.parent(path, Missing::Fails)?
            }
            _ => return Ok(false),
        };
        if shape == Shape::Link {
            let target = rustix::fs::readlinkat(&folder, name, Vec::new())?;
            return Ok(target.as_bytes() == content);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut bytes = Vec::new();
        let file = File::from(rustix::fs::openat(&folder, name, flags, Mode::empty())?);
        // One byte more than expected is enough to know.
        file.take(content.len() as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes == content)
    }

    /// Writes a file or link, and makes the folders to it.
    ///
    /// The permissions of a replaced file stay, except for executing. A new file gets the system's default permissions,
    /// or only those that its owner needs if it is private.
    pub(crate) fn write(
        &mut self,
        path: &Path,
        shape: Shape,
        content: &[u8],
        private: Privacy,
    ) -> io::Result<()> {
        let there = self.look(path)?;
        let (folder, name) = self.parent(path, Missing::IsMade)?;
        self.written += 1;
        let fresh = OsString::from(format!("{LEFTOVER}{}-{}", std::process::id(), self.written));
        let _ = rustix::fs::unlinkat(&folder, &fresh, AtFlags::empty());
        if shape == Shape::Link {
            rustix::fs::symlinkat(OsStr::from_bytes(content), &folder, &fresh)?;
        } else {
            let mode = match (there, private) {
                (There::File(_), _) | (_, Privacy::OwnerOnly) => 0o700,
                (_, Privacy::AsUsual) => 0o777,
            };
            let executable = if shape == Shape::Program { 0o777 } else { 0o666 };
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mode = Mode::from_raw_mode(mode & executable);
            let mut file = File::from(rustix::fs::openat(&folder, &fresh, flags, mode)?);
            file.write_all(content)?;
            if let There::File(old) = there {
                rustix::fs::fchmod(&file, Mode::from_raw_mode(kept_mode(old, shape)))?;
            }
        }
        let moved = rustix::fs::renameat(&folder, &fresh, &folder, name);
        if moved.is_err() {
            let _ = rustix::fs::unlinkat(&folder, &fresh, AtFlags::empty());
        }
        Ok(moved?)
    }

    /// Removes a file or link, if one is there. Folders stay.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        match self.look(path)? {
            There::Nothing | There::Blocked | There::Folder => return Ok(()),
            There::Link | There::File(_) | There::Other => {}
        }
        let (folder, name) = self.parent(path, Missing::Fails)?;
        Ok(rustix::fs::unlinkat(&folder, name, AtFlags::empty())?)
    }

    /// Removes a folder if it is empty, and says whether it is gone.
    pub(crate) fn remove_empty(&self, path: &Path) -> io::Result<bool> {
        if self.look(path)? != There::Folder {
            return Ok(false);
        }
        let (folder, name) = self.parent(path, Missing::Fails)?;
        match rustix::fs::unlinkat(&folder, name, AtFlags::REMOVEDIR) {
            Ok(()) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::BUSY) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The open folder of a path, and the last part of it.
    fn parent<'a>(&self, path: &'a Path, missing: Missing) -> io::Result<(OwnedFd, &'a OsStr)> {
        let mut parts = Vec::new();
        for part in path.components() {
            let Component::Normal(part) = part else {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "a path that leads elsewhere",
                ));
            };
            parts.push(part);
        }
        let name = parts.pop().ok_or(io::ErrorKind::InvalidInput)?;
        let mut folder = self.root.try_clone()?;
        for part in parts {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let opened = match rustix::fs::openat(&folder, part, flags, Mode::empty()) {
                Err(Errno::NOENT) if missing == Missing::IsMade => {
                    rustix::fs::mkdirat(&folder, part, Mode::from_raw_mode(0o777))?;
                    rustix::fs::openat(&folder, part, flags, Mode::empty())
                }
                opened => opened,
            };
            folder = opened?;
        }
        Ok((folder, name))
    }
}

/// Who may open a newly made file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Privacy {
    OwnerOnly,
    AsUsual,
}

/// What happens if a folder on the path is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Fails,
    IsMade,
}

/// The permissions of a file that replaces another.
fn kept_mode(old: RawMode, shape: Shape) -> RawMode {
    let readable = old & 0o444;
    let others = old & 0o666;
    match shape {
        Shape::Program => others | readable >> 2,
        Shape::Plain | Shape::Link => others,
    }
}

fn absent(error: io::Error) -> io::Result<There> {
    match Errno::from_io_error(&error) {
        Some(Errno::NOENT) => Ok(There::Nothing),
        Some(Errno::NOTDIR | Errno::LOOP) => Ok(There::Blocked),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_stay_but_for_executing() {
        let rows = [
            (0o600, Shape::Program, 0o700),
            (0o644, Shape::Program, 0o755),
            (0o755, Shape::Plain, 0o644),
            (0o640, Shape::Program, 0o750),
            (0o664, Shape::Plain, 0o664),
        ];
        for (old, shape, new) in rows {
            assert_eq!(kept_mode(old, shape), new, "{old:o} {shape:?}");
        }
    }

    #[test]
    fn only_what_a_restore_wrote_is_a_leftover() {
        assert!(is_leftover(Path::new("a/.becket-restore-12-3")));
        for name in [
            ".becket-restore-",
            ".becket-restore-12",
            ".becket-restore-a-b",
            "becket-restore-1-2",
        ] {
            assert!(!is_leftover(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn no_link_is_followed_on_the_way() {
        let room = tempfile::tempdir().unwrap();
        let (inside, outside) = (room.path().join("in"), room.path().join("out"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(outside.join("file"), "mine").unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
        let mut files = Files::open(&inside).unwrap();
        let path = Path::new("link/file");
        assert_eq!(files.look(path).unwrap(), There::Blocked);
        assert!(
            files
                .write(path, Shape::Plain, b"theirs", Privacy::AsUsual)
                .is_err()
        );
        files.remove(path).unwrap();
        assert!(
            files
                .write(
                    Path::new("../out/file"),
                    Shape::Plain,
                    b"theirs",
                    Privacy::AsUsual
                )
                .is_err()
        );
        assert_eq!(std::fs::read(outside.join("file")).unwrap(), b"mine");
    }
}
