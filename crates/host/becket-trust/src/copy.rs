//! The copy that runs: the bytes that were hashed, in one of the user's folders, arranged as in the project.
//!
//! A copy is made of the bytes in memory that were hashed, never of a second look at the project. So changing a file of
//! the project afterwards changes nothing that runs. The copy is verified before every start of something in it: wrong
//! files are written anew, and foreign ones are removed. A look at inodes, sizes and times is enough if nothing has
//! happened since the last time.
//!
//! To look at the file once more before each start would leave a moment between the look and `exec`, and for imports
//! the interpreter chooses that moment. To hand on an open file (`/dev/fd`, a memfd) would take `dirname "$0"`,
//! `__file__` and relative imports away from scripts. A copy in the same arrangement has neither problem. It lies in
//! the user's data folder, where whoever can write could trust anything anyway.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use becket_hooks::Preparation;

use super::item::{File, FileState, Item};

/// How old modification times must be to prove that nothing has changed since.
const SETTLED: Duration = Duration::from_secs(1);

/// A copy that is verified before each start.
#[derive(Debug)]
pub struct Kept {
    item: Item,
    copies: PathBuf,
    /// The metadata of the copy when it was last verified.
    seen: Mutex<Option<Look>>,
}

/// The metadata of every file of a copy.
#[derive(Debug, Default, PartialEq, Eq)]
struct Look {
    files: BTreeMap<PathBuf, [i64; 5]>,
    newest: Duration,
}

impl Kept {
    pub fn new(item: Item, copies: PathBuf) -> Self {
        Self {
            item,
            copies,
            seen: Mutex::default(),
        }
    }
}

impl Preparation for Kept {
    fn prepare(&self) -> Result<(), String> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = self.copies.join(self.item.identity());
        let before = Look::at(&folder).ok();
        if before.is_some() && *seen == before {
            return Ok(());
        }
        copy(&self.item, &self.copies)
            .map_err(|error| format!("{} cannot be copied: {error}", self.item.title()))?;
        let after = Look::at(&folder).ok();
        *seen = after.filter(|after| Some(after) == before.as_ref() && after.is_settled());
        Ok(())
    }
}

impl Look {
    fn at(folder: &Path) -> io::Result<Self> {
        let mut look = Self::default();
        look.add(folder)?;
        Ok(look)
    }

    fn add(&mut self, path: &Path) -> io::Result<()> {
        let data = becket_fs::symlink_metadata(path)?;
        let facts = [
            data.ino().cast_signed(),
            data.size().cast_signed(),
            i64::from(data.mode()),
            data.ctime(),
            data.ctime_nsec(),
        ];
        let changed = Duration::new(data.ctime().unsigned_abs(), data.ctime_nsec() as u32);
        self.newest = self.newest.max(changed);
        self.files.insert(path.to_path_buf(), facts);
        if data.is_dir() {
            for entry in becket_fs::read_dir(path)? {
                self.add(&entry?.path())?;
            }
        }
        Ok(())
    }

    /// Whether any later change would get another time.
    fn is_settled(&self) -> bool {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        now > self.newest + SETTLED
    }
}

/// What a path of the copy must be.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    File { bytes: Vec<u8>, mode: u32 },
    Link(PathBuf),
}

/// Makes a correct copy if there is none, and returns its folder.
pub fn copy(item: &Item, copies: &Path) -> io::Result<PathBuf> {
    let folder = copies.join(item.identity());
    let wanted = pieces(item, &folder);
    if is_true(&folder, &wanted) {
        return Ok(folder);
    }
    std::fs::create_dir_all(copies)?;
    std::fs::set_permissions(copies, PermissionsExt::from_mode(0o700))?;
    let draft = copies.join(format!(".{}-{}", std::process::id(), item.identity()));
    let _ = std::fs::remove_dir_all(&draft);
    for (name, piece) in &wanted {
        write(&draft.join(name), piece)?;
    }
    std::fs::create_dir_all(&draft)?;
    if becket_fs::exists(&folder) {
        let away = draft.with_extension("old");
        std::fs::rename(&folder, &away)?;
        let _ = std::fs::remove_dir_all(&away);
    }
    match std::fs::rename(&draft, &folder) {
        // Another process was faster with the same copy.
        Err(_) if is_true(&folder, &wanted) => drop(std::fs::remove_dir_all(&draft)),
        result => result?,
    }
    match is_true(&folder, &wanted) {
        true => Ok(folder),
        false => Err(io::Error::other("somebody else writes there")),
    }
}

/// Everything that belongs into a copy.
fn pieces(item: &Item, folder: &Path) -> BTreeMap<PathBuf, Piece> {
    let mut pieces = BTreeMap::new();
    for (name, file) in item
        .files
        .iter()
        .filter(|(_, file)| file.state != FileState::Missing)
    {
        let (name, place) = (PathBuf::from(name), PathBuf::from(&file.place));
        if place.is_absolute() || place == name {
            pieces.insert(name, piece(file, folder));
        } else {
            let up: PathBuf = name.components().skip(1).map(|_| "..").collect();
            pieces.insert(name, Piece::Link(up.join(&place)));
            pieces.entry(place).or_insert_with(|| piece(file, folder));
        }
    }
    pieces
}

fn piece(file: &File, folder: &Path) -> Piece {
    Piece::File {
        bytes: file.in_copy(folder),
        mode: match file.state {
            FileState::Runnable => 0o500,
            _ => 0o400,
        },
    }
}

fn write(path: &Path, piece: &Piece) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    match piece {
        Piece::Link(target) => symlink(target, path),
        Piece::File { bytes, mode } => {
            std::fs::write(path, bytes)?;
            std::fs::set_permissions(path, PermissionsExt::from_mode(*mode))
        }
    }
}

/// Whether everything is there as it must be. Foreign files, such as an interpreter's cache, are removed.
fn is_true(folder: &Path, wanted: &BTreeMap<PathBuf, Piece>) -> bool {
    let is_there = |(name, piece): (&PathBuf, &Piece)| found(&folder.join(name)).as_ref() == Some(piece);
    is_folder(folder) && wanted.iter().all(is_there) && is_tidy(folder, folder, wanted)
}

fn found(path: &Path) -> Option<Piece> {
    let data = becket_fs::symlink_metadata(path).ok()?;
    if data.is_symlink() {
        return becket_fs::read_link(path).ok().map(Piece::Link);
    }
    Some(Piece::File {
        bytes: becket_fs::read(path).ok()?,
        mode: data.permissions().mode() & 0o777,
    })
}

/// Whether a path is a folder itself, and not a link to one.
fn is_folder(path: &Path) -> bool {
    becket_fs::symlink_metadata(path).is_ok_and(|data| data.is_dir())
}

fn is_tidy(root: &Path, folder: &Path, wanted: &BTreeMap<PathBuf, Piece>) -> bool {
    let entries = becket_fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).all(|path| {
        let name = path.strip_prefix(root).unwrap_or(&path);
        let belongs = wanted.keys().any(|wanted| wanted.starts_with(name));
        match (belongs, is_folder(&path)) {
            (true, true) => is_tidy(root, &path, wanted),
            // A link in place of a folder would lead elsewhere.
            (true, false) => wanted.contains_key(name),
            (false, true) => std::fs::remove_dir_all(&path).is_ok(),
            (false, false) => std::fs::remove_file(&path).is_ok(),
        }
    })
}
