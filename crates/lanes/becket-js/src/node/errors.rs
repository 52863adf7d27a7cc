//! Errors as Node shows them: those of the system with Node's codes and words.

use std::io;

use rustix::io::Errno;

use super::held::Full;
use crate::host::HostError;

/// Codes of system errors with Node's messages.
const ERRORS: &[(Errno, &str, &str)] = &[
    (Errno::NOENT, "ENOENT", "no such file or directory"),
    (Errno::EXIST, "EEXIST", "file already exists"),
    (Errno::ACCESS, "EACCES", "permission denied"),
    (Errno::PERM, "EPERM", "operation not permitted"),
    (Errno::NOTDIR, "ENOTDIR", "not a directory"),
    (Errno::ISDIR, "EISDIR", "illegal operation on a directory"),
    (Errno::NOTEMPTY, "ENOTEMPTY", "directory not empty"),
    (Errno::BADF, "EBADF", "bad file descriptor"),
    (Errno::INVAL, "EINVAL", "invalid argument"),
    (Errno::LOOP, "ELOOP", "too many symbolic links encountered"),
    (Errno::XDEV, "EXDEV", "cross-device link not permitted"),
    (Errno::MFILE, "EMFILE", "too many open files"),
    (Errno::NFILE, "ENFILE", "file table overflow"),
    (Errno::NOSPC, "ENOSPC", "no space left on device"),
    (Errno::ROFS, "EROFS", "read-only file system"),
    (Errno::NAMETOOLONG, "ENAMETOOLONG", "name too long"),
    (Errno::BUSY, "EBUSY", "resource busy or locked"),
    (Errno::TXTBSY, "ETXTBSY", "text file is busy"),
    (Errno::PIPE, "EPIPE", "broken pipe"),
    (Errno::SRCH, "ESRCH", "no such process"),
    (Errno::NOEXEC, "ENOEXEC", "exec format error"),
    (Errno::TOOBIG, "E2BIG", "argument list too long"),
    (Errno::FBIG, "EFBIG", "file too large"),
    (Errno::MLINK, "EMLINK", "too many links"),
    (Errno::IO, "EIO", "i/o error"),
    (Errno::NOSYS, "ENOSYS", "function not implemented"),
    (Errno::TIMEDOUT, "ETIMEDOUT", "connection timed out"),
];

/// Why a function failed.
pub(super) enum Problem {
    System(io::Error),
    /// The failure of another system call than the requested one, with its name and path.
    Part(io::Error, &'static str, String),
    Said(HostError),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl From<Errno> for Problem {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

impl From<HostError> for Problem {
    fn from(error: HostError) -> Self {
        Self::Said(error)
    }
}

impl From<Full> for Problem {
    fn from(full: Full) -> Self {
        Self::Said(full.into())
    }
}

/// The code and the message of an error.
pub(super) fn error_name(error: &io::Error) -> (&'static str, String) {
    let known = error.raw_os_error().map(Errno::from_raw_os_error);
    match ERRORS.iter().find(|(number, ..)| Some(*number) == known) {
        Some((_, code, words)) => (code, (*words).into()),
        None => ("UNKNOWN", error.to_string()),
    }
}

/// An error of the system as Node shows it.
pub(super) fn system_error(
    error: &io::Error,
    syscall: &str,
    path: Option<&str>,
    dest: Option<&str>,
) -> HostError {
    let (code, words) = error_name(error);
    let mut message = format!("{code}: {words}, {syscall}");
    if let Some(path) = path {
        message += &format!(" '{path}'");
    }
    if let Some(dest) = dest {
        message += &format!(" -> '{dest}'");
    }
    let mut shown = HostError::new(message)
        .with("code", code)
        .with("syscall", syscall);
    if let Some(number) = error.raw_os_error() {
        shown = shown.with("errno", -number);
    }
    if let Some(path) = path {
        shown = shown.with("path", path);
    }
    if let Some(dest) = dest {
        shown = shown.with("dest", dest);
    }
    shown
}

/// The error of work that the end of the extension has cut short.
pub(super) fn ended() -> HostError {
    HostError::new("it was ended before it was done")
}
