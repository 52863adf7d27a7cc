//! Opens files for extensions: without waiting for the other end of a pipe, and never those that hold becket's keys.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// Files about a process in which its keys can be read, or by which they can be found.
#[cfg(target_os = "linux")]
const SECRETS: [&str; 3] = ["environ", "mem", "maps"];

/// Opens a file without blocking, whatever it is. A pipe without a reader cannot be opened for writing then (`ENXIO`).
pub(crate) fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = options.custom_flags(flags.bits() as i32).open(path)?;
    match is_secret(&file) {
        true => Err(Errno::ACCESS.into()),
        false => Ok(file),
    }
}

/// The text of a regular file of limited size: a module, or a `package.json`.
pub(crate) fn text(path: &Path, most: usize) -> io::Result<String> {
    becket_fs::will_read(path);
    let file = open(OpenOptions::new().read(true), path)?;
    let data = file.metadata()?;
    if data.is_dir() {
        return Err(Errno::ISDIR.into());
    }
    if !data.is_file() {
        return Err(io::Error::other("it is no plain file"));
    }
    let mut text = String::new();
    let size = file.take(most as u64 + 1).read_to_string(&mut text)?;
    match size > most {
        true => Err(io::Error::other(format!("it has more than {} MB", most >> 20))),
        false => Ok(text),
    }
}

/// Whether a file shows the memory or the environment of a process. Checked once the file is open, so that no link
/// leads around it. Other processes than becket count as well: its parent has the same keys.
#[cfg(target_os = "linux")]
#[allow(
    clippy::disallowed_methods,
    reason = "the place of an open file is asked of the system"
)]
fn is_secret(file: &File) -> bool {
    use std::os::fd::AsRawFd;

    let is_about_processes =
        rustix::fs::fstatfs(file).is_ok_and(|system| system.f_type == rustix::fs::PROC_SUPER_MAGIC);
    let place = || std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let is_secret = |place: &Path| SECRETS.iter().any(|secret| place.ends_with(secret));
    is_about_processes && place().map_or(true, |place| is_secret(&place))
}

#[cfg(not(target_os = "linux"))]
fn is_secret(_: &File) -> bool {
    false
}
