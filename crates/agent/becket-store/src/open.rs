//! Opening the file: made for its owner only, set up to survive a crash, brought to today's version.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use becket_agent::store::StoreError;
use rusqlite::{Connection, OpenFlags};

use crate::problem::Problem;
use crate::schema;

/// How long SQLite itself waits for a lock. Longer waits are up to `until`, which knows the whole deadline.
const SHORT_WAIT: Duration = Duration::from_millis(100);

/// Opens the file at an absolute path, making it and its folder if they are missing.
pub(crate) fn open(file: &Path, lock_timeout: Duration) -> Result<Connection, StoreError> {
    create_for_owner(file)?;
    let deadline = Instant::now() + lock_timeout;
    until(deadline, || connect(file)).map_err(|problem| problem.told(file, "open it"))
}

/// Tries again while another process holds the lock, until the deadline. Some of SQLite's answers (a file that is
/// just being recovered or switched to WAL) never wait for its own busy timeout, which is why this loop exists.
pub(crate) fn until<T>(
    deadline: Instant,
    mut attempt: impl FnMut() -> Result<T, Problem>,
) -> Result<T, Problem> {
    loop {
        match attempt() {
            Err(problem) if problem.is_busy() && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(1));
            }
            result => return result,
        }
    }
}

fn connect(file: &Path) -> Result<Connection, Problem> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(SHORT_WAIT)?;
    // This comes before anything that writes: a file that is not becket's stays as it is.
    schema::checked_version(&connection, schema::MIGRATIONS)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if !mode.eq_ignore_ascii_case("wal") {
        return Err(Problem::Refused(format!(
            "its file system does not support SQLite's write-ahead log (the mode stays {mode:?}). \
             Use a home on a local disk"
        )));
    }
    schema::prepare(&mut connection)?;
    Ok(connection)
}

/// Makes the file readable for its owner only. SQLite gives its log the same permissions.
fn create_for_owner(file: &Path) -> Result<(), StoreError> {
    // Closing a descriptor drops all locks that this process holds on the file. So no other thread may get from here
    // to SQLite while this one still has the new file open.
    static CREATING: Mutex<()> = Mutex::new(());
    let _creating = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
    let told = |what: &str, error: std::io::Error| {
        StoreError::new(format!(
            "cannot make {what} {}: {error}. Check the permissions of the folders above it, or use another home",
            file.display()
        ))
    };
    let folder = file.parent().unwrap_or(Path::new("/"));
    match OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
    {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.map_err(|error| told("the folder of the store", error))?;
            let again = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(file);
            finish_creation(folder, again).map_err(|error| told("the store", error))
        }
        created => finish_creation(folder, created).map_err(|error| told("the store", error)),
    }
}

fn finish_creation(folder: &Path, created: std::io::Result<File>) -> std::io::Result<()> {
    match created {
        Ok(_) => {
            // The name of a new file is on disk once its folder is synced. Not every file system can do that, and an
            // error would not help.
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}
