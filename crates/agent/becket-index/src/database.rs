//! The file of the index. Everything in it can be made again, so a file of another version is simply emptied.
//!
//! It is named after a hash of the project's root and lies in a folder that the caller names, so a project keeps no
//! trace of it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use becket_lock::lock_within;
use rusqlite::{Connection, OpenFlags};

/// The version of the tables, incremented with every change.
const VERSION: i64 = 2;

/// How long a reader waits for a writer.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an update waits for another one.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

const TABLES: &str = "
    DROP TABLE IF EXISTS refs;
    DROP TABLE IF EXISTS symbols;
    DROP TABLE IF EXISTS name_pieces;
    DROP TABLE IF EXISTS pieces;
    DROP TABLE IF EXISTS names;
    DROP TABLE IF EXISTS files;
    CREATE TABLE files (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        language TEXT NOT NULL,
        reader TEXT NOT NULL,
        modified_ns INTEGER NOT NULL,
        size INTEGER NOT NULL,
        hash BLOB NOT NULL
    );
    CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE VIRTUAL TABLE name_pieces USING fts5 (name, content = 'names', content_rowid = 'id', tokenize = 'trigram');
    -- Names up to this number have their pieces there; the few after it are looked through.
    CREATE TABLE pieces (up_to INTEGER NOT NULL);
    INSERT INTO pieces VALUES (0);
    CREATE TABLE symbols (
        id INTEGER PRIMARY KEY,
        file_id INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
        name_id INTEGER NOT NULL,
        kind TEXT NOT NULL,
        parent TEXT,
        line_start INTEGER NOT NULL,
        line_end INTEGER NOT NULL,
        signature TEXT,
        visibility TEXT
    );
    CREATE TABLE refs (
        id INTEGER PRIMARY KEY,
        file_id INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
        name_id INTEGER NOT NULL,
        line INTEGER NOT NULL,
        kind TEXT
    );
";

/// The SQL indices, made after the first files are in: sorting everything once is much faster than keeping it sorted.
const INDICES: &str = "
    CREATE INDEX names_in_any_case ON names (name COLLATE NOCASE);
    CREATE INDEX symbols_of_file ON symbols (file_id);
    CREATE INDEX symbols_of_name ON symbols (name_id);
    CREATE INDEX symbols_of_kind ON symbols (kind);
    CREATE INDEX refs_of_file ON refs (file_id);
    CREATE INDEX refs_of_name ON refs (name_id);
";

/// Why the index could not be used.
#[derive(Debug, thiserror::Error)]
pub enum IndexProblem {
    /// There is no index yet.
    #[error("there is no index of {0} yet. Make it with index_update, or with `becket index update`")]
    Missing(PathBuf),
    /// Another process writes the index.
    #[error("another update of the index of {0} is running. Wait for it to end, then try again")]
    Busy(PathBuf),
    /// The file cannot be used.
    #[error("the index {file} cannot be used: {error}. It can be deleted and made again")]
    Database {
        /// The index file.
        file: PathBuf,
        /// SQLite's error.
        error: rusqlite::Error,
    },
    /// A folder or a file cannot be made or read.
    #[error("{what} {path}: {error}")]
    Files {
        /// The failed action.
        what: &'static str,
        /// The folder or file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// The operation was cancelled.
    #[error("cancelled; what was indexed until then is kept")]
    Cancelled,
}

/// The index of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexFile {
    /// The root of the project, absolute and without links.
    pub root: PathBuf,
    /// The index file.
    pub file: PathBuf,
}

/// A connection that writes. Everything since the last `keep` is lost when it is dropped or its process is killed.
pub(crate) struct Writer {
    pub(crate) connection: Connection,
    /// Whether the index holds nothing but what this writer has written, and has no SQL indices yet.
    pub(crate) is_new: bool,
    /// Whether the index replaces one that is still valid.
    pub(crate) replaces: bool,
    /// Held until the writer is dropped.
    _lock: WriteLock,
}

/// Held while an update runs; the operating system releases it when the process ends.
pub(crate) struct WriteLock {
    _file: File,
}

impl IndexFile {
    /// The index of the project at `root`, among all those in `folder`.
    pub fn of_project(root: &Path, folder: &Path) -> Self {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
        let digest = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
        let file = folder.join(format!("{}.db", &digest[..32]));
        Self { root, file }
    }

    pub(crate) fn problem(&self, error: rusqlite::Error) -> IndexProblem {
        IndexProblem::Database {
            file: self.file.clone(),
            error,
        }
    }

    /// Opens the index to look things up.
    pub(crate) fn open_to_read(&self) -> Result<Connection, IndexProblem> {
        if !self.file.exists() {
            return Err(IndexProblem::Missing(self.root.clone()));
        }
        let open = || -> rusqlite::Result<Option<Connection>> {
            // Not read-only: a log that a killed writer left must be applied before anything can be read.
            let connection = Connection::open_with_flags(&self.file, flags())?;
            connection.busy_timeout(READ_TIMEOUT)?;
            Ok((version(&connection)? == VERSION).then_some(connection))
        };
        open()
            .map_err(|error| self.problem(error))?
            .ok_or_else(|| IndexProblem::Missing(self.root.clone()))
    }

    /// Opens the index to write; it is made if it is missing, and emptied if it is of another version or `anew`.
    pub(crate) fn open_to_write(&self, anew: bool) -> Result<Writer, IndexProblem> {
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        let files = |what, path: &Path| {
            let path = path.to_path_buf();
            move |error| IndexProblem::Files { what, path, error }
        };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(files("cannot make the folder of the index", folder))?;
        let lock = self.lock()?;
        let created = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.file);
        // Closed before SQLite opens it: closing a file later would drop SQLite's locks.
        drop(created.map_err(files("cannot make the index", &self.file))?);
        let connected = match self.connect(anew) {
            Err(error) if is_no_database(&error) => {
                std::fs::write(&self.file, "").map_err(files("cannot empty the index", &self.file))?;
                self.connect(anew)
            }
            connected => connected,
        };
        let (connection, had) = connected.map_err(|error| self.problem(error))?;
        let is_good = had == VERSION;
        Ok(Writer {
            connection,
            is_new: anew || !is_good,
            replaces: anew && is_good,
            _lock: lock,
        })
    }

    /// A connection in which a transaction has begun, and the version of the existing file.
    fn connect(&self, anew: bool) -> rusqlite::Result<(Connection, i64)> {
        let connection = Connection::open_with_flags(&self.file, flags())?;
        connection.busy_timeout(READ_TIMEOUT)?;
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "cache_size", -65_536)?;
        let had = version(&connection)?;
        let is_new = anew || had != VERSION;
        // In a new index nothing is replaced, so nothing needs to be deleted together with a file.
        connection.pragma_update(None, "foreign_keys", !is_new)?;
        connection.execute_batch("BEGIN IMMEDIATE")?;
        if is_new {
            connection.execute_batch(TABLES)?;
        }
        Ok((connection, had))
    }

    /// Waits until no other process writes.
    fn lock(&self) -> Result<WriteLock, IndexProblem> {
        let path = self.file.with_extension("lock");
        let opened = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path);
        let told = |error| IndexProblem::Files {
            what: "cannot lock the index with",
            path: path.clone(),
            error,
        };
        let file = opened.map_err(told)?;
        match lock_within(&file, LOCK_TIMEOUT) {
            Ok(true) => Ok(WriteLock { _file: file }),
            Ok(false) => Err(IndexProblem::Busy(self.root.clone())),
            Err(error) => Err(told(error)),
        }
    }
}

impl Writer {
    /// Commits what was written so far, and begins a new transaction.
    pub(crate) fn keep(&mut self) -> rusqlite::Result<()> {
        self.replaces = false;
        if std::mem::take(&mut self.is_new) {
            self.connection.execute_batch(INDICES)?;
            self.connection.pragma_update(None, "user_version", VERSION)?;
        }
        self.connection.execute_batch("COMMIT; BEGIN IMMEDIATE")
    }
}

fn flags() -> OpenFlags {
    OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn is_no_database(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
}
