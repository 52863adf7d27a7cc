//! Places in the file system, as the layers see them.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::problem::Problem;

/// Devices that every program may use. None of them belongs to anybody.
pub const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Opens a path without following links, as a place and not for reading. `None` if nothing is there.
pub fn place(path: &Path) -> Result<Option<OwnedFd>, Problem> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(place) => Ok(Some(place)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(Problem::at(format!("cannot open {}", path.display()), error)),
    }
}
