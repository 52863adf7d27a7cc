//! A context for one process at a time.
//!
//! A claim is a lock of the operating system on a file beside the store. It ends with its process, however that ends,
//! so nothing that was killed can block a context.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use becket_agent::store::StoreError;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::name::ContextName;
use crate::sqlite::SqliteStore;

/// How often the file may be taken away under a claim before it is made.
const MOST_TRIES: u32 = 1000;

/// A context that is this process's alone until the value is dropped.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    _file: File,
}

impl SqliteStore {
    /// Claims a context, which need not exist yet, for this process. `None` when another one has it; never waits.
    pub fn claim(&self, context: &ContextName) -> Result<Option<Claim>, StoreError> {
        let path = self.claim_file(context);
        Claim::take(&path).map_err(|error| {
            StoreError::new(format!(
                "cannot claim the context {context} with the file {}: {error}. Check who owns its folder, or use \
                 another home",
                path.display()
            ))
        })
    }

    /// The process that has claimed a context, if one has and can be named.
    pub fn claimed_by(&self, context: &ContextName) -> Option<u32> {
        let mut text = String::new();
        let file = File::open(self.claim_file(context)).ok()?;
        file.take(32).read_to_string(&mut text).ok()?;
        text.trim().parse().ok()
    }

    /// Whether a process that runs has claimed a context. Looking never gets into the way of a claim.
    pub(crate) fn is_claimed(&self, context: &str) -> bool {
        let name = ContextName::parse(context).ok();
        let process = name.and_then(|name| self.claimed_by(&name));
        let process = process.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        // A process of another user is there, although it may not be sent a signal.
        process.is_some_and(|process| test_kill_process(process) != Err(Errno::SRCH))
    }

    fn claim_file(&self, context: &ContextName) -> PathBuf {
        let folder = self.path().parent().unwrap_or(Path::new("/"));
        folder.join("claims").join(context.as_str())
    }
}

impl Claim {
    fn take(path: &Path) -> io::Result<Option<Self>> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        for _ in 0..MOST_TRIES {
            let mut options = OpenOptions::new();
            options
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600);
            let mut file = options.open(path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // The one who had it may have removed the file in the meantime: then this lock is on nothing.
            if !is_at(&file, path)? {
                continue;
            }
            file.set_len(0)?;
            file.rewind()?;
            write!(file, "{}", std::process::id())?;
            let path = path.to_path_buf();
            return Ok(Some(Self { path, _file: file }));
        }
        Err(io::Error::other("other processes keep taking the file away"))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Before the lock ends: afterwards the file may be another process's.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether a file is the one that a path leads to.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) => Ok((own.dev(), own.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
