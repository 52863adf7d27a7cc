//! Reads files that may be untrusted: only regular ones, and never more than a limit.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// The system returned an error; also when the file does not exist.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A folder, a pipe, a device: reading it could wait for ever.
    #[error("it is not a regular file")]
    NotRegular,
    /// The file is larger than the limit, which is given in bytes.
    #[error("it is larger than {} KiB", .0 / 1024)]
    TooLarge(u64),
    /// The file is not text.
    #[error("it is not UTF-8 text: byte {0} is not part of a character")]
    NotText(usize),
}

impl Unread {
    /// Whether the file does not exist.
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == std::io::ErrorKind::NotFound)
    }
}

/// Reads a regular file as text. Never blocks: a pipe without a writer is opened and refused at once.
pub fn read_regular(file: &Path, limit: u64) -> Result<String, Unread> {
    let bytes = regular_bytes(file, limit)?;
    String::from_utf8(bytes).map_err(|error| Unread::NotText(error.utf8_error().valid_up_to()))
}

/// Reads a regular file; bytes that are no text become replacement characters.
pub fn read_regular_lossy(file: &Path, limit: u64) -> Result<String, Unread> {
    Ok(String::from_utf8_lossy(&regular_bytes(file, limit)?).into_owned())
}

fn regular_bytes(file: &Path, limit: u64) -> Result<Vec<u8>, Unread> {
    becket_fs::will_read(file);
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(file)?;
    if !opened.metadata()?.is_file() {
        return Err(Unread::NotRegular);
    }
    let mut bytes = Vec::new();
    opened.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(Unread::TooLarge(limit));
    }
    Ok(bytes)
}
