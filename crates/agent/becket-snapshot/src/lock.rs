//! The lock that keeps the snapshots of a folder for one process at a time.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use becket_lock::lock_within;

use crate::place::SnapshotFolder;
use crate::problem::{Problem, system};

/// The lock between processes.
///
/// git reads its standard input from the lock's file. So a git that outlives a killed becket holds the lock as well,
/// and the next operation waits until no process writes any more.
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock, or says that another process holds it for longer than the timeout.
    pub(crate) fn take(place: &SnapshotFolder, timeout: Duration) -> Result<Self, Problem> {
        let taken = Self::within(place, "lock", timeout)?;
        taken.ok_or_else(|| Problem::Busy {
            folder: place.folder.clone(),
            after: timeout,
        })
    }

    /// Takes a lock of this name, unless another process holds it.
    pub(crate) fn try_take(place: &SnapshotFolder, name: &str) -> Result<Option<Self>, Problem> {
        Self::within(place, name, Duration::ZERO)
    }

    fn within(place: &SnapshotFolder, name: &str, timeout: Duration) -> Result<Option<Self>, Problem> {
        let path = place.shadow.join(name);
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600);
        let file = options.open(&path).map_err(system("open", &path))?;
        let is_taken = lock_within(&file, timeout).map_err(system("lock", &path))?;
        Ok(is_taken.then_some(Self { file, path }))
    }

    /// An input for git, which carries the lock.
    pub(crate) fn as_input(&self, bytes: &[u8]) -> Result<Stdio, Problem> {
        let prepare = || -> io::Result<Stdio> {
            let mut file = &self.file;
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(bytes)?;
            file.rewind()?;
            Ok(self.file.try_clone()?.into())
        };
        prepare().map_err(system("write", &self.path))
    }
}
