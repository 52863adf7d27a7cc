//! The copy that runs: the bytes that were hashed, in a folder of the person's, in the same arrangement as in the
//! project.
//!
//! A copy is made of the bytes in memory of which the identity was made, never of a second look at the project. So
//! whoever changes a file of the project afterwards changes nothing that runs. The copy is looked through before every
//! start of something in it: what is not as it must be is made anew, and what does not belong there is removed. A look
//! at inodes, sizes and times is enough where nothing has happened since the last time.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use becket_hooks::Preparation;

use super::item::{File, Item, State};

/// Times that are younger than this may belong to something that has changed since.
const SETTLED: Duration = Duration::from_secs(1);

/// A copy that must be true before each start.
#[derive(Debug)]
pub struct Kept {
    item: Item,
    copies: PathBuf,
    /// How the copy looked when it was found true.
    seen: Mutex<Option<Look>>,
}

/// What the system tells about every file of a copy without reading it.
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
        let data = path.symlink_metadata()?;
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
            for entry in std::fs::read_dir(path)? {
                self.add(&entry?.path())?;
            }
        }
        Ok(())
    }

    /// Whether whatever happens from now on has another time.
    fn is_settled(&self) -> bool {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        now > self.newest + SETTLED
    }
}

/// What stands at a path of the copy.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    File { bytes: Vec<u8>, mode: u32 },
    Link(PathBuf),
}

/// Sees to it that there is a true copy, and gives its folder.
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
    if folder.exists() {
        let away = draft.with_extension("old");
        std::fs::rename(&folder, &away)?;
        let _ = std::fs::remove_dir_all(&away);
    }
    match std::fs::rename(&draft, &folder) {
        // Somebody else was faster with the same.
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
    for (name, file) in item.files.iter().filter(|(_, file)| file.state != State::Missing) {
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
            State::Runnable => 0o500,
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

/// Whether everything is there as it must be. What does not belong there, such as what an interpreter has kept for the
/// next time, is removed.
fn is_true(folder: &Path, wanted: &BTreeMap<PathBuf, Piece>) -> bool {
    let is_there = |(name, piece): (&PathBuf, &Piece)| found(&folder.join(name)).as_ref() == Some(piece);
    is_folder(folder) && wanted.iter().all(is_there) && is_tidy(folder, folder, wanted)
}

fn found(path: &Path) -> Option<Piece> {
    let data = path.symlink_metadata().ok()?;
    if data.is_symlink() {
        return std::fs::read_link(path).ok().map(Piece::Link);
    }
    Some(Piece::File {
        bytes: std::fs::read(path).ok()?,
        mode: data.permissions().mode() & 0o777,
    })
}

/// Whether it is a folder itself, and no link to one.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|data| data.is_dir())
}

fn is_tidy(root: &Path, folder: &Path, wanted: &BTreeMap<PathBuf, Piece>) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).all(|path| {
        let name = path.strip_prefix(root).unwrap_or(&path);
        let belongs = wanted.keys().any(|wanted| wanted.starts_with(name));
        match (belongs, is_folder(&path)) {
            (true, true) => is_tidy(root, &path, wanted),
            // A link in the place of a folder would lead elsewhere.
            (true, false) => wanted.contains_key(name),
            (false, true) => std::fs::remove_dir_all(&path).is_ok(),
            (false, false) => std::fs::remove_file(&path).is_ok(),
        }
    })
}
