//! Reading and writing places of the virtual file system. Nothing here judges, and nothing follows a link: the place
//! was resolved before it was judged.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{FileType, Stat};

use super::VfsPath;
use crate::judged_path;

/// The largest file that is read, copied or written as a whole.
pub const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// The most files that a folder may hold to be moved or removed at once.
const MOST_FILES: usize = 1_000;

/// The deepest folder that is looked into.
const DEEPEST: usize = 64;

/// A place in the virtual file system, whether anything is there or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VfsPlace {
    address: VfsPath,
    file: PathBuf,
}

/// The kind of thing at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A folder.
    Folder,
}

impl Kind {
    /// The name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Folder => "dir",
        }
    }
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name of the file or folder.
    pub name: String,
    /// Whether the name is that of a file or of a folder.
    pub kind: Kind,
}

/// Facts about a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info {
    /// Whether it is a file or a folder.
    pub kind: Kind,
    /// The size in bytes; 0 for a folder.
    pub size: u64,
    /// When the file or folder was last changed.
    pub modified: SystemTime,
    /// When the file or folder was made, if the system knows.
    pub created: Option<SystemTime>,
}

impl VfsPlace {
    pub(super) fn new(address: VfsPath, file: PathBuf) -> Self {
        Self { address, file }
    }

    /// The place's address, with links followed.
    pub fn address(&self) -> &VfsPath {
        &self.address
    }

    /// The file behind the place. Its path is internal: models, hooks and users are told the address.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The address of a file below this place.
    pub fn address_of(&self, file: &Path) -> Option<VfsPath> {
        match file.strip_prefix(&self.file).ok()?.to_str()? {
            "" => Some(self.address.clone()),
            below => self.address.join(below).ok(),
        }
    }

    /// Facts about the file or folder at the place; an error if there is none.
    pub fn info(&self) -> io::Result<Info> {
        let metadata = judged_path::open_file(&self.file)?.metadata()?;
        let kind = match metadata.file_type() {
            kind if kind.is_file() => Kind::File,
            kind if kind.is_dir() => Kind::Folder,
            _ => return Err(io::Error::other("it is neither a file nor a folder")),
        };
        Ok(Info {
            kind,
            size: match kind {
                Kind::File => metadata.len(),
                Kind::Folder => 0,
            },
            modified: metadata.modified()?,
            created: metadata.created().ok(),
        })
    }

    /// The entries of a folder, sorted. What is neither file nor folder, or has a name that no address can hold, is
    /// left out.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let folder = judged_path::open_folder(&self.file)?;
        let mut entries = Vec::new();
        for name in judged_path::names_in(&folder)? {
            let Some(name) = name.to_str().filter(|name| self.address.join(name).is_ok()) else {
                continue;
            };
            // An entry that was removed meanwhile is not listed.
            let stat = rustix::fs::statat(&folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
            if let Some(kind) = stat.ok().as_ref().and_then(kind_of) {
                let name = name.to_owned();
                entries.push(Entry { name, kind });
            }
        }
        Ok(entries)
    }

    /// A place in this folder.
    pub fn child(&self, name: &str) -> Result<Self, String> {
        let address = self.address.join(name)?;
        let file = self.file.join(name);
        Ok(Self { address, file })
    }

    /// Everything below a folder, in order; nothing for a file, or if nothing is there. More than can be judged one by
    /// one is an error.
    pub fn all_below(&self) -> io::Result<Vec<VfsPath>> {
        let (found, end) = self.listed_below();
        end.map(|()| found)
    }

    /// Everything below a folder as far as it could be listed, and the error that stopped it, if any.
    pub fn listed_below(&self) -> (Vec<VfsPath>, io::Result<()>) {
        let mut found = Vec::new();
        let end = match self.info() {
            Ok(info) if info.kind == Kind::Folder => self.collect_below(&mut found, 0),
            _ => Ok(()),
        };
        (found, end)
    }

    fn collect_below(&self, found: &mut Vec<VfsPath>, depth: usize) -> io::Result<()> {
        if depth > DEEPEST {
            return Err(io::Error::other("its folders are nested too deeply"));
        }
        for entry in self.entries()? {
            let child = self.child(&entry.name).map_err(io::Error::other)?;
            if found.len() >= MOST_FILES {
                let words = format!("it holds more than {MOST_FILES} files; handle its folders one by one");
                return Err(io::Error::other(words));
            }
            found.push(child.address.clone());
            if entry.kind == Kind::Folder {
                child.collect_below(found, depth + 1)?;
            }
        }
        Ok(())
    }

    /// The bytes of a file.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        judged_path::read_whole(&self.file, MOST_BYTES)
    }

    /// Writes a file atomically; folders are made as needed.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        judged_path::replace_file(&self.file, bytes, None).map(|_| ())
    }

    /// Makes a folder. Returns whether it is new.
    pub fn make_folder(&self) -> io::Result<bool> {
        judged_path::make_folder(&self.file)
    }

    /// Copies a file.
    pub fn copy_to(&self, other: &Self) -> io::Result<()> {
        if self.file == other.file {
            return Err(io::Error::other("both addresses are the same file"));
        }
        other.write(&self.read()?)
    }

    /// Moves a file or folder.
    pub fn move_to(&self, other: &Self) -> io::Result<()> {
        if self.file == other.file {
            return Err(io::Error::other("both addresses are the same"));
        }
        if other.address.is_in(&self.address) {
            return Err(io::Error::other("a folder cannot be moved into itself"));
        }
        judged_path::rename(&self.file, &other.file)
    }

    /// Removes a file or an empty folder.
    pub fn remove(&self) -> io::Result<()> {
        judged_path::remove(&self.file)
    }

    /// Removes a file, or a folder with everything in it.
    pub fn remove_all(&self) -> io::Result<()> {
        judged_path::remove_all(&self.file)
    }
}

fn kind_of(stat: &Stat) -> Option<Kind> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Some(Kind::File),
        FileType::Directory => Some(Kind::Folder),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::Vfs;
    use super::*;

    struct Room {
        folder: tempfile::TempDir,
        vfs: Vfs,
    }

    fn room() -> Room {
        let folder = tempfile::tempdir().unwrap();
        let vfs = Vfs::new(&folder.path().join("vfs"));
        Room { folder, vfs }
    }

    impl Room {
        fn at(&self, path: &str) -> VfsPlace {
            self.vfs.place(&VfsPath::from_path(path).unwrap()).unwrap()
        }
    }

    #[test]
    fn files_are_written_listed_copied_moved_and_removed() {
        let room = room();
        room.at("/shared/deep/a").write(b"\0\xff").unwrap();
        room.at("/shared/deep/a").copy_to(&room.at("/shared/b")).unwrap();
        assert_eq!(room.at("/shared/b").read().unwrap(), b"\0\xff");
        let names = |path: &str| -> Vec<String> {
            let entries = room.at(path).entries().unwrap().into_iter();
            entries
                .map(|entry| format!("{} {}", entry.name, entry.kind.name()))
                .collect()
        };
        assert_eq!(names("/shared"), ["b file", "deep dir"]);
        room.at("/shared/deep").move_to(&room.at("/site/deep")).unwrap();
        assert_eq!(names("/site"), ["deep dir"]);
        assert_eq!(room.at("/site/deep/a").info().unwrap().size, 2);
        assert!(room.at("/site/deep").remove().is_err(), "it is not empty");
        room.at("/site/deep").remove_all().unwrap();
        assert!(room.at("/site/deep").info().is_err());
        assert!(room.at("/site/new").make_folder().unwrap());
        assert!(!room.at("/site/new").make_folder().unwrap());
    }

    #[test]
    fn a_folder_is_not_moved_into_itself_nor_over_another() {
        let room = room();
        room.at("/shared/a/x").write(b"x").unwrap();
        room.at("/shared/b").make_folder().unwrap();
        assert!(room.at("/shared/a").move_to(&room.at("/shared/a/b")).is_err());
        assert!(room.at("/shared/a").move_to(&room.at("/shared/b")).is_err());
        assert!(room.at("/shared/a/x").copy_to(&room.at("/shared/a/x")).is_err());
        assert_eq!(room.at("/shared/a/x").read().unwrap(), b"x");
    }

    #[test]
    fn a_link_that_takes_the_place_after_judging_is_not_followed() {
        let room = room();
        let outside = room.folder.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("file"), "keep").unwrap();
        let (file, below) = (room.at("/shared/file"), room.at("/shared/folder/file"));
        let source = room.at("/shared/source");
        source.write(b"new").unwrap();
        symlink(outside.join("file"), file.file()).unwrap();
        symlink(&outside, below.file().parent().unwrap()).unwrap();
        assert!(file.write(b"new").is_err() && below.write(b"new").is_err());
        assert!(file.read().is_err() && below.read().is_err());
        assert!(source.copy_to(&below).is_err() && source.move_to(&below).is_err());
        assert!(below.remove().is_err() && below.remove_all().is_err());
        room.at("/shared").remove_all().unwrap();
        assert_eq!(std::fs::read(outside.join("file")).unwrap(), b"keep");
    }

    #[test]
    fn a_folder_with_more_than_can_be_judged_says_so() {
        let room = room();
        for number in 0..=MOST_FILES {
            room.at(&format!("/shared/{number}")).write(b"").unwrap();
        }
        let error = room.at("/shared").all_below().unwrap_err();
        assert!(error.to_string().contains("one by one"), "{error}");
        assert!(room.at("/shared/1").all_below().unwrap().is_empty());
    }
}
