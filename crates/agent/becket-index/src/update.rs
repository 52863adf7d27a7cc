//! Brings the index up to date: files are read on all cores, and one thread writes.
//!
//! What grammars read is one transaction, and a new index gets its database indices at the end of it. Hooks hear of a
//! file after that, when it can be found.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use becket_agent::judged_path::read_whole;
use rusqlite::{Connection, OptionalExtension, params};

use crate::database::{IndexFile, IndexProblem, Writer};
use crate::extract::Extractor;
use crate::language::grammar_of;
use crate::survey::{Changed, Limits, Skipped, Survey, SurveyProblem, is_own, survey};
use crate::symbol::Extract;

/// Up to this many names, searching all of them is as fast as looking up their parts, and indexing the parts takes a
/// while.
const NAMES_WITHOUT_PIECES: i64 = 30_000;

/// A file is binary if one of this many first bytes is zero.
const BINARY_PROBE: usize = 8 * 1024;

/// More threads than this do not make the single writer faster.
const MOST_THREADS: usize = 8;

/// The parameters of an update.
pub struct UpdateOptions<'a> {
    /// Whether all files are read again.
    pub force: bool,
    /// The limits beyond which files are left out.
    pub limits: Limits,
    /// Names the plugin that reads a language.
    pub plugin_for: &'a dyn Fn(&str) -> Option<String>,
    /// Whether the update was cancelled.
    pub is_cancelled: &'a (dyn Fn() -> bool + Sync),
}

/// A file that was read into the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Indexed {
    /// The file, relative to the root.
    pub path: String,
    /// The file's language.
    pub language: &'static str,
    /// How many definitions the file has.
    pub symbols: usize,
    /// How many references the file has.
    pub references: usize,
}

/// A file that a plugin is to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// The file, relative to the root.
    pub path: String,
    /// The file's language.
    pub language: &'static str,
    /// The file's text.
    pub content: String,
    changed: Changed,
    hash: [u8; 32],
}

/// The result of an update.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many files have a language that can be read.
    pub scanned: usize,
    /// How many files were read.
    pub indexed: usize,
    /// How many files were unchanged.
    pub unchanged: usize,
    /// How many files were removed from the index.
    pub removed: usize,
    /// Definitions in the files that were read.
    pub symbols: usize,
    /// References in the files that were read.
    pub references: usize,
    /// Files that were left out.
    pub skipped: Vec<Skipped>,
}

/// An update in progress. No one else can write the index until it is dropped.
pub struct Update {
    index: IndexFile,
    writer: Writer,
    limits: Limits,
    survey: Survey,
    summary: Summary,
    /// The numbers of the names that came up so far.
    names: HashMap<String, i64>,
    /// The files that were written and not reported yet.
    indexed: Vec<Indexed>,
}

impl Update {
    /// Finds the files that have changed. Nothing is read yet.
    pub fn begin(index: &IndexFile, options: &UpdateOptions<'_>) -> Result<Self, IndexProblem> {
        let writer = index.open_to_write(options.force)?;
        let surveyed = survey(
            &writer.connection,
            &index.root,
            options.limits,
            options.plugin_for,
            options.is_cancelled,
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
            writer,
            limits: options.limits,
            survey,
            summary,
            names: HashMap::new(),
            indexed: Vec::new(),
        })
    }

    /// The absolute paths of the files that are about to be read.
    pub fn changed(&self) -> Vec<PathBuf> {
        let changed = self.survey.changed.iter();
        changed.map(|file| self.index.root.join(&file.path)).collect()
    }

    /// Leaves out files that must not be read, as `changed` named them. What the index knew about them is removed, too.
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

    /// Reads all files for which there is a grammar. `progress` is called after each; the results take effect together,
    /// at the end.
    pub fn read_own(
        &mut self,
        is_cancelled: &(dyn Fn() -> bool + Sync),
        progress: &mut dyn FnMut(),
    ) -> Result<(), IndexProblem> {
        let (files, foreign): (Vec<Changed>, Vec<Changed>) = std::mem::take(&mut self.survey.changed)
            .into_iter()
            .partition(is_own);
        // The files are taken from the end.
        self.survey.changed = foreign.into_iter().rev().collect();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = cores.min(MOST_THREADS).min(files.len());
        let next = AtomicUsize::new(0);
        let (sender, read_files) = sync_channel(64);
        let root = self.index.root.clone();
        let limits = self.limits;
        let result = std::thread::scope(|scope| {
            for _ in 0..threads {
                let (sender, next, files, root) = (sender.clone(), &next, &files, &root);
                scope.spawn(move || read_some(files, next, root, limits, is_cancelled, &sender));
            }
            drop(sender);
            let mut written = Ok(());
            for (place, read) in read_files {
                if written.is_ok() {
                    written = self.take_in(&files[place], read);
                    progress();
                }
                if written.is_err() {
                    // No more files are begun; those in progress are discarded.
                    next.store(files.len(), Ordering::Relaxed);
                }
            }
            written
        });
        result?;
        if is_cancelled() {
            return Err(self.cancelled()?);
        }
        self.keep()
    }

    /// Ends early. What was read is kept, but it does not replace a complete index.
    fn cancelled(&mut self) -> Result<IndexProblem, IndexProblem> {
        if self.writer.replaces {
            self.indexed.clear();
        } else {
            self.keep()?;
        }
        Ok(IndexProblem::Cancelled)
    }

    /// Commits what was written so far. If the process is killed, only what came after that is lost.
    pub fn keep(&mut self) -> Result<(), IndexProblem> {
        self.writer.keep().map_err(|error| self.index.problem(error))
    }

    /// Takes the files that were written since the last call, sorted by path, since the order in which threads finish
    /// is random.
    pub fn take_indexed(&mut self) -> Vec<Indexed> {
        let mut indexed = std::mem::take(&mut self.indexed);
        indexed.sort_by(|one, other| one.path.cmp(&other.path));
        indexed
    }

    fn take_in(&mut self, file: &Changed, read: Read) -> Result<(), IndexProblem> {
        match read {
            Read::Same => self.touch(file),
            Read::Found(hash, found) => self.write(file, hash, &found),
            Read::Unread(reason) => self.forget(file, reason),
        }
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

    /// Writes a plugin's result for a file, or remembers why there is none.
    pub fn write_foreign(
        &mut self,
        pending: &Pending,
        said: Result<Extract, String>,
    ) -> Result<(), IndexProblem> {
        match said {
            Err(reason) => self.forget(&pending.changed, reason),
            Ok(mut found) => {
                found.symbols.retain(|symbol| !symbol.name.is_empty());
                found.refs.retain(|reference| !reference.to_name.is_empty());
                self.write(&pending.changed, pending.hash, &found)
            }
        }
    }

    /// Removes the files that are gone, and returns the summary.
    pub fn finish(mut self) -> Result<Summary, IndexProblem> {
        for path in std::mem::take(&mut self.survey.gone) {
            self.summary.removed += self.delete(&path)?;
        }
        add_pieces(&self.writer.connection).map_err(|error| self.index.problem(error))?;
        self.keep()?;
        Ok(self.summary)
    }

    fn touch(&mut self, file: &Changed) -> Result<(), IndexProblem> {
        self.summary.unchanged += 1;
        let sql = "UPDATE files SET modified_ns = ?2 WHERE path = ?1";
        let update = self.writer.connection.prepare_cached(sql);
        let touched = update.and_then(|mut update| update.execute(params![file.path, file.modified_ns]));
        touched.map(drop).map_err(|error| self.index.problem(error))
    }

    /// Drops a file that could not be read; what an earlier update found in it is no longer true.
    fn forget(&mut self, file: &Changed, reason: String) -> Result<(), IndexProblem> {
        self.summary.skipped.push(Skipped {
            path: file.path.clone(),
            reason,
        });
        self.summary.removed += self.delete(&file.path)?;
        Ok(())
    }

    fn delete(&self, path: &str) -> Result<usize, IndexProblem> {
        let deleted = delete_file(&self.writer.connection, path);
        deleted.map_err(|error| self.index.problem(error))
    }

    fn write(&mut self, file: &Changed, hash: [u8; 32], found: &Extract) -> Result<(), IndexProblem> {
        let mut names = Names {
            connection: &self.writer.connection,
            known: &mut self.names,
            are_all_known: self.writer.is_new,
        };
        let written = write_file(&mut names, file, hash, found);
        written.map_err(|error| self.index.problem(error))?;
        self.summary.indexed += 1;
        self.summary.symbols += found.symbols.len();
        self.summary.references += found.refs.len();
        self.indexed.push(Indexed {
            path: file.path.clone(),
            language: file.language,
            symbols: found.symbols.len(),
            references: found.refs.len(),
        });
        Ok(())
    }
}

/// The result of reading a file.
enum Read {
    /// The content is unchanged.
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
    let mut extractor = Extractor::default();
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
                    Some(grammar) => match extractor.extract(grammar, &bytes, &|| is_cancelled()) {
                        Ok(found) => Read::Found(hash, found),
                        // The read was cancelled, so the file is not to blame.
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

/// The bytes of a text file; links are not followed, in any part of the path.
fn read_text(path: &Path, limits: Limits) -> Result<Vec<u8>, String> {
    let bytes = read_whole(path, limits.file_bytes).map_err(|error| error.to_string())?;
    let beginning = &bytes[..bytes.len().min(BINARY_PROBE)];
    if beginning.contains(&0) {
        return Err("it is binary".into());
    }
    Ok(bytes)
}

/// Assigns numbers to names.
struct Names<'a> {
    connection: &'a Connection,
    known: &'a mut HashMap<String, i64>,
    /// Whether all names of the index are loaded, so that an unknown one is new.
    are_all_known: bool,
}

impl Names<'_> {
    fn number(&mut self, name: &str) -> rusqlite::Result<i64> {
        if let Some(number) = self.known.get(name) {
            return Ok(*number);
        }
        let stored = match self.are_all_known {
            true => None,
            false => {
                let sql = "SELECT id FROM names WHERE name = ?1 COLLATE NOCASE AND name = ?1";
                let mut select = self.connection.prepare_cached(sql)?;
                select.query_row([name], |row| row.get(0)).optional()?
            }
        };
        let number = match stored {
            Some(number) => number,
            None => {
                let mut insert = self
                    .connection
                    .prepare_cached("INSERT INTO names (name) VALUES (?1)")?;
                insert.insert([name])?
            }
        };
        self.known.insert(name.to_owned(), number);
        Ok(number)
    }
}

fn write_file(
    names: &mut Names<'_>,
    file: &Changed,
    hash: [u8; 32],
    found: &Extract,
) -> rusqlite::Result<()> {
    let connection = names.connection;
    delete_file(connection, &file.path)?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO files (path, language, reader, modified_ns, size, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let file_id = insert.insert(params![
        file.path,
        file.language,
        file.reader,
        file.modified_ns,
        file.size as i64,
        hash.as_slice()
    ])?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO symbols (file_id, name_id, kind, parent, line_start, line_end, signature, visibility)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    for symbol in &found.symbols {
        let name_id = names.number(&symbol.name)?;
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
        let name_id = names.number(&reference.to_name)?;
        insert.execute(params![file_id, name_id, reference.from_line, reference.kind])?;
    }
    Ok(())
}

fn delete_file(connection: &Connection, path: &str) -> rusqlite::Result<usize> {
    let mut delete = connection.prepare_cached("DELETE FROM files WHERE path = ?1")?;
    delete.execute([path])
}

/// Indexes the parts of names, once there are many that are not.
fn add_pieces(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "SELECT up_to, (SELECT coalesce(max(id), 0) FROM names) FROM pieces";
    let (up_to, last): (i64, i64) = connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if last - up_to > NAMES_WITHOUT_PIECES {
        let sql = "INSERT INTO name_pieces (rowid, name) SELECT id, name FROM names WHERE id > ?1";
        connection.execute(sql, [up_to])?;
        connection.execute("UPDATE pieces SET up_to = ?1", [last])?;
    }
    Ok(())
}
