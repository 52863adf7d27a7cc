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

/// How often to try again if the file is removed while it is being claimed.
const MOST_TRIES: u32 = 1000;

/// The exclusive use of a context by this process, until the value is dropped.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    _file: File,
}

/// The claims on the contexts of a store: a folder with a file for each.
pub(crate) struct Claims {
    folder: PathBuf,
}

impl Claims {
    pub(crate) fn beside(store: &Path) -> Self {
        let folder = store.parent().unwrap_or(Path::new("/"));
        Self {
            folder: folder.join("claims"),
        }
    }

    /// Claims a context for this process. `None` if another one has it; never waits.
    pub(crate) fn take(&self, context: &ContextName) -> Result<Option<Claim>, StoreError> {
        let path = self.file(context);
        Claim::take(&path).map_err(|error| {
            StoreError::new(format!(
                "cannot claim the context {context} with the file {}: {error}. Check who owns its folder, or use \
                 another home",
                path.display()
            ))
        })
    }

    /// The process that has claimed a context, if one has and can be identified.
    pub(crate) fn holder(&self, context: &ContextName) -> Option<u32> {
        let mut text = String::new();
        let file = File::open(self.file(context)).ok()?;
        file.take(32).read_to_string(&mut text).ok()?;
        text.trim().parse().ok()
    }

    /// Whether a running process has claimed a context. Checking never interferes with a claim.
    pub(crate) fn is_taken(&self, context: &str) -> bool {
        let name = ContextName::parse(context).ok();
        let process = name.and_then(|name| self.holder(&name));
        let process = process.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        // A process of another user is there, although it may not be sent a signal.
        process.is_some_and(|process| test_kill_process(process) != Err(Errno::SRCH))
    }

    fn file(&self, context: &ContextName) -> PathBuf {
        self.folder.join(context.as_str())
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
            // The previous owner may have removed the file in the meantime: then this lock is on a deleted file.
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
        // Removed before the lock ends: afterwards the file may be another process's.
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
