//! Brings the index up to date: files are read on all cores, and one thread writes.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use becket_agent::judged_path::read_whole;
use rusqlite::{Connection, OptionalExtension, params};

use crate::database::{IndexFile, IndexProblem, WriteLock};
use crate::extract::extract;
use crate::language::grammar_of;
use crate::survey::{Changed, Limits, Skipped, Survey, SurveyProblem, is_own, survey};
use crate::symbol::Extract;

/// Changes become durable after so many files.
const FILES_PER_COMMIT: usize = 500;

/// A file is binary if one of so many bytes is zero.
const BINARY_PROBE: usize = 8 * 1024;

/// More cores than this do not make the one writer faster.
const MOST_THREADS: usize = 8;

/// How to update.
pub struct UpdateWish<'a> {
    /// Whether everything is read again.
    pub force: bool,
    /// What is left out.
    pub limits: Limits,
    /// Names the plugin that reads a language.
    pub plugin_for: &'a dyn Fn(&str) -> Option<String>,
    /// Tells whether somebody wants it to end.
    pub is_cancelled: &'a (dyn Fn() -> bool + Sync),
}

/// A file that was read into the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Indexed {
    /// The file, relative to the root.
    pub path: String,
    /// Its language.
    pub language: &'static str,
    /// How many definitions it has.
    pub symbols: usize,
    /// How many references it has.
    pub references: usize,
}

/// A file that a plugin is to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// The file, relative to the root.
    pub path: String,
    /// Its language.
    pub language: &'static str,
    /// Its text.
    pub content: String,
    changed: Changed,
    hash: [u8; 32],
}

/// What an update did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Files of languages that can be read.
    pub scanned: usize,
    /// Files that were read.
    pub indexed: usize,
    /// Files that are as they were.
    pub unchanged: usize,
    /// Files that are no longer in the index.
    pub removed: usize,
    /// Definitions in the files that were read.
    pub symbols: usize,
    /// References in the files that were read.
    pub references: usize,
    /// Files that were left out.
    pub skipped: Vec<Skipped>,
}

/// An update that is going on. Nobody else can write the index until it is dropped.
pub struct Update {
    index: IndexFile,
    connection: Connection,
    limits: Limits,
    survey: Survey,
    summary: Summary,
    written: usize,
    /// The numbers of names that came up so far.
    names: HashMap<String, i64>,
    /// Kept until the end.
    _lock: WriteLock,
}

impl Update {
    /// Finds out what has changed. Nothing is read yet.
    pub fn begin(index: &IndexFile, wish: &UpdateWish<'_>) -> Result<Self, IndexProblem> {
        let (connection, lock) = index.open_to_write(wish.force)?;
        let surveyed = survey(
            &connection,
            &index.root,
            wish.limits,
            wish.plugin_for,
            wish.is_cancelled,
        );
        let survey = surveyed.map_err(|problem| match problem {
            SurveyProblem::Index(problem) => problem,
            SurveyProblem::Database(error) => index.problem(error),
        })?;
        let summary = Summary {
            scanned: survey.scanned,
            unchanged: survey.unchanged,
            skipped: survey.skipped.clone(),
            ..Summary::default()
        };
        Ok(Self {
            index: index.clone(),
            connection,
            limits: wish.limits,
            survey,
            summary,
            written: 0,
            names: HashMap::new(),
            _lock: lock,
        })
    }

    /// The files that are about to be read, absolute.
    pub fn changed(&self) -> Vec<PathBuf> {
        let changed = self.survey.changed.iter();
        changed.map(|file| self.index.root.join(&file.path)).collect()
    }

    /// Leaves files out that must not be read, as `changed` named them. What was known about them goes, too.
    pub fn leave_out(&mut self, files: &[PathBuf]) {
        let files: HashSet<&Path> = files.iter().map(PathBuf::as_path).collect();
        let root = &self.index.root;
        let (out, kept): (Vec<Changed>, Vec<Changed>) = std::mem::take(&mut self.survey.changed)
            .into_iter()
            .partition(|file| files.contains(root.join(&file.path).as_path()));
        self.survey.changed = kept;
        self.summary.skipped.extend(out.iter().map(|file| Skipped {
            path: file.path.clone(),
            reason: "it may not be read".into(),
        }));
        self.survey.gone.extend(out.into_iter().map(|file| file.path));
    }

    /// Reads all files for which there is a grammar. `observe` hears of each, once it is written.
    pub fn read_own(
        &mut self,
        is_cancelled: &(dyn Fn() -> bool + Sync),
        observe: &mut dyn FnMut(Indexed),
    ) -> Result<(), IndexProblem> {
        let (files, foreign): (Vec<Changed>, Vec<Changed>) = std::mem::take(&mut self.survey.changed)
            .into_iter()
            .partition(is_own);
        // They are taken from the end.
        self.survey.changed = foreign.into_iter().rev().collect();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = cores.min(MOST_THREADS).min(files.len());
        let next = AtomicUsize::new(0);
        let (sender, read_files) = sync_channel(64);
        let root = self.index.root.clone();
        let limits = self.limits;
        self.execute("BEGIN IMMEDIATE")?;
        let result = std::thread::scope(|scope| {
            for _ in 0..threads {
                let (sender, next, files, root) = (sender.clone(), &next, &files, &root);
                scope.spawn(move || read_some(files, next, root, limits, is_cancelled, &sender));
            }
            drop(sender);
            let mut written = Ok(());
            for (place, read) in read_files {
                if written.is_ok() {
                    written = self.take_in(&files[place], read, observe);
                }
                if written.is_err() {
                    // No more files are begun; what is under way is thrown away.
                    next.store(files.len(), Ordering::Relaxed);
                }
            }
            written
        });
        result?;
        self.execute("COMMIT")?;
        if is_cancelled() {
            return Err(IndexProblem::Cancelled);
        }
        Ok(())
    }

    fn take_in(
        &mut self,
        file: &Changed,
        read: Read,
        observe: &mut dyn FnMut(Indexed),
    ) -> Result<(), IndexProblem> {
        match read {
            Read::Same => self.touch(file),
            Read::Found(hash, found) => self.write(file, hash, &found).map(&mut *observe),
            Read::Unread(reason) => self.forget(file, reason),
        }?;
        self.written += 1;
        if self.written.is_multiple_of(FILES_PER_COMMIT) {
            self.execute("COMMIT; BEGIN IMMEDIATE")?;
        }
        Ok(())
    }

    /// The next file that a plugin is to read.
    pub fn next_foreign(&mut self) -> Result<Option<Pending>, IndexProblem> {
        while let Some(changed) = self.survey.changed.pop() {
            let path = self.index.root.join(&changed.path);
            match read_text(&path, self.limits) {
                Err(reason) => self.forget(&changed, reason)?,
                Ok(bytes) => {
                    let hash = *blake3::hash(&bytes).as_bytes();
                    if changed.known_hash == Some(hash) {
                        self.touch(&changed)?;
                        continue;
                    }
                    return Ok(Some(Pending {
                        path: changed.path.clone(),
                        language: changed.language,
                        content: String::from_utf8_lossy(&bytes).into_owned(),
                        changed,
                        hash,
                    }));
                }
            }
        }
        Ok(None)
    }

    /// Writes what a plugin said about a file, or remembers why it said nothing.
    pub fn write_foreign(
        &mut self,
        pending: &Pending,
        said: Result<Extract, String>,
    ) -> Result<Option<Indexed>, IndexProblem> {
        match said {
            Err(reason) => self.forget(&pending.changed, reason).map(|()| None),
            Ok(mut found) => {
                found.symbols.retain(|symbol| !symbol.name.is_empty());
                found.refs.retain(|reference| !reference.to_name.is_empty());
                self.execute("BEGIN IMMEDIATE")?;
                let indexed = self.write(&pending.changed, pending.hash, &found)?;
                self.execute("COMMIT")?;
                Ok(Some(indexed))
            }
        }
    }

    /// Removes what is gone.
    pub fn finish(mut self) -> Result<Summary, IndexProblem> {
        self.execute("BEGIN IMMEDIATE")?;
        for path in std::mem::take(&mut self.survey.gone) {
            self.summary.removed += self.delete(&path)?;
        }
        self.execute("COMMIT; PRAGMA optimize")?;
        Ok(self.summary)
    }

    fn touch(&mut self, file: &Changed) -> Result<(), IndexProblem> {
        self.summary.unchanged += 1;
        let touched = self.connection.execute(
            "UPDATE files SET modified_ns = ?2 WHERE path = ?1",
            params![file.path, file.modified_ns],
        );
        touched.map(drop).map_err(|error| self.index.problem(error))
    }

    /// A file that could not be read; what an earlier update found in it is no longer true.
    fn forget(&mut self, file: &Changed, reason: String) -> Result<(), IndexProblem> {
        self.summary.skipped.push(Skipped {
            path: file.path.clone(),
            reason,
        });
        self.summary.removed += self.delete(&file.path)?;
        Ok(())
    }

    fn delete(&self, path: &str) -> Result<usize, IndexProblem> {
        let deleted = self
            .connection
            .execute("DELETE FROM files WHERE path = ?1", [path]);
        deleted.map_err(|error| self.index.problem(error))
    }

    fn write(&mut self, file: &Changed, hash: [u8; 32], found: &Extract) -> Result<Indexed, IndexProblem> {
        let written = write_file(&self.connection, &mut self.names, file, hash, found);
        written.map_err(|error| self.index.problem(error))?;
        self.summary.indexed += 1;
        self.summary.symbols += found.symbols.len();
        self.summary.references += found.refs.len();
        Ok(Indexed {
            path: file.path.clone(),
            language: file.language,
            symbols: found.symbols.len(),
            references: found.refs.len(),
        })
    }

    fn execute(&self, sql: &str) -> Result<(), IndexProblem> {
        let done = self.connection.execute_batch(sql);
        done.map_err(|error| self.index.problem(error))
    }
}

/// What came of reading a file.
enum Read {
    /// Its content is what it was.
    Same,
    Found([u8; 32], Extract),
    Unread(String),
}

/// Reads files until there are none left.
fn read_some(
    files: &[Changed],
    next: &AtomicUsize,
    root: &Path,
    limits: Limits,
    is_cancelled: &(dyn Fn() -> bool + Sync),
    sender: &SyncSender<(usize, Read)>,
) {
    loop {
        let place = next.fetch_add(1, Ordering::Relaxed);
        let Some(file) = files.get(place) else { return };
        if is_cancelled() {
            return;
        }
        let path = root.join(&file.path);
        let read = match read_text(&path, limits) {
            Err(reason) => Read::Unread(reason),
            Ok(bytes) => {
                let hash = *blake3::hash(&bytes).as_bytes();
                match grammar_of(&path) {
                    _ if file.known_hash == Some(hash) => Read::Same,
                    None => Read::Unread("there is no grammar for it".into()),
                    Some(grammar) => match extract(grammar, &bytes, &|| is_cancelled()) {
                        Ok(found) => Read::Found(hash, found),
                        // It was not the file's fault.
                        Err(_) if is_cancelled() => return,
                        Err(reason) => Read::Unread(reason),
                    },
                }
            }
        };
        if sender.send((place, read)).is_err() {
            return;
        }
    }
}

/// The bytes of a text file; links are not followed, in no part of the path.
fn read_text(path: &Path, limits: Limits) -> Result<Vec<u8>, String> {
    let bytes = read_whole(path, limits.file_bytes).map_err(|error| error.to_string())?;
    let beginning = &bytes[..bytes.len().min(BINARY_PROBE)];
    if beginning.contains(&0) {
        return Err("it is binary".into());
    }
    Ok(bytes)
}

fn write_file(
    connection: &Connection,
    names: &mut HashMap<String, i64>,
    file: &Changed,
    hash: [u8; 32],
    found: &Extract,
) -> rusqlite::Result<()> {
    let mut execute = connection.prepare_cached("DELETE FROM files WHERE path = ?1")?;
    execute.execute([&file.path])?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO files (path, language, reader, modified_ns, size, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    insert.execute(params![
        file.path,
        file.language,
        file.reader,
        file.modified_ns,
        file.size as i64,
        hash.as_slice()
    ])?;
    let file_id = connection.last_insert_rowid();
    let mut insert = connection.prepare_cached(
        "INSERT INTO symbols (file_id, name_id, kind, parent, line_start, line_end, signature, visibility)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    for symbol in &found.symbols {
        let name_id = name_id(connection, names, &symbol.name)?;
        let (first, last) = (symbol.line_start, symbol.line_end.max(symbol.line_start));
        let (kind, parent) = (&symbol.kind, &symbol.parent);
        let (signature, visibility) = (&symbol.signature, &symbol.visibility);
        insert.execute(params![
            file_id, name_id, kind, parent, first, last, signature, visibility
        ])?;
    }
    let mut insert = connection
        .prepare_cached("INSERT INTO refs (file_id, name_id, line, kind) VALUES (?1, ?2, ?3, ?4)")?;
    for reference in &found.refs {
        let name_id = name_id(connection, names, &reference.to_name)?;
        insert.execute(params![file_id, name_id, reference.from_line, reference.kind])?;
    }
    Ok(())
}

/// The number of a name, which gets one if it is new.
fn name_id(connection: &Connection, names: &mut HashMap<String, i64>, name: &str) -> rusqlite::Result<i64> {
    if let Some(id) = names.get(name) {
        return Ok(*id);
    }
    let mut select = connection.prepare_cached("SELECT id FROM names WHERE name = ?1")?;
    let id = match select.query_row([name], |row| row.get(0)).optional()? {
        Some(id) => id,
        None => add_name(connection, name)?,
    };
    names.insert(name.to_owned(), id);
    Ok(id)
}

fn add_name(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    let mut insert = connection.prepare_cached("INSERT INTO names (name) VALUES (?1)")?;
    insert.execute([name])?;
    let id = connection.last_insert_rowid();
    let mut insert = connection.prepare_cached("INSERT INTO name_pieces (rowid, name) VALUES (?1, ?2)")?;
    insert.execute(params![id, name])?;
    Ok(id)
}
