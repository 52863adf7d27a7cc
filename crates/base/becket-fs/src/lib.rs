//! Reading files, with a record of what was looked at.
//!
//! The functions are those of `std::fs` and `Path` with the same names. A program that answers for long from what it
//! has read turns the record on with [`record`]; then [`has_changed`] says whether anything would look different now:
//! a file with other contents, one that was missing and is there, a folder with another entry. Where nobody records,
//! a call costs one load of a flag more.
//!
//! Everything that decides which hooks there are is read through this crate; Clippy's list of disallowed methods
//! keeps it so. What becket itself writes while it works, such as a cache, is not.

mod record;

use std::fs::{File, Metadata, ReadDir};
use std::io;
use std::path::{Path, PathBuf};

use self::record::{Look, note};
pub use self::record::{generation, has_changed, is_recording, record};

/// The contents of a file.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    std::fs::read(noted(&path, Look::Contents))
}

/// The contents of a file as text.
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    std::fs::read_to_string(noted(&path, Look::Contents))
}

/// The entries of a folder.
pub fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    std::fs::read_dir(noted(&path, Look::Contents))
}

/// Opens a file for reading.
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    File::open(noted(&path, Look::Contents))
}

/// Notes that the contents of a file are about to be read by other means, or by another program.
pub fn will_read(path: impl AsRef<Path>) {
    noted(&path, Look::Contents);
}

/// Notes that something is about to be read by another program, which does not tell what else it reads: whoever keeps
/// what comes of it has to read again every time.
pub fn will_be_read_elsewhere(path: impl AsRef<Path>) {
    noted(&path, Look::Elsewhere);
}

/// What is known about a file. Of a folder it is only noted that it is there.
pub fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    std::fs::metadata(noted(&path, Look::State))
}

/// What is known about a file or a link.
pub fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    std::fs::symlink_metadata(noted(&path, Look::State))
}

/// The path without links.
pub fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    std::fs::canonicalize(noted(&path, Look::RealPath))
}

/// The target of a link.
pub fn read_link(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    std::fs::read_link(noted(&path, Look::State))
}

/// Whether something is at the end of the path.
pub fn exists(path: impl AsRef<Path>) -> bool {
    noted(&path, Look::Kind).exists()
}

/// Whether a file is at the end of the path.
pub fn is_file(path: impl AsRef<Path>) -> bool {
    noted(&path, Look::Kind).is_file()
}

/// Whether a folder is at the end of the path.
pub fn is_dir(path: impl AsRef<Path>) -> bool {
    noted(&path, Look::Kind).is_dir()
}

/// Whether the path is a link.
pub fn is_symlink(path: impl AsRef<Path>) -> bool {
    noted(&path, Look::Kind).is_symlink()
}

/// The path, once the look at it is noted. First the note, then the look: a change in between shows later.
fn noted(path: &impl AsRef<Path>, look: Look) -> &Path {
    let path = path.as_ref();
    note(path, look);
    path
}
