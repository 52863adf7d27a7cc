//! Finds the files of a project that have changed since they were indexed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use becket_agent::IgnoreFiles;
use ignore::{DirEntry, WalkBuilder};
use rusqlite::Connection;

use crate::database::IndexProblem;
use crate::language::{grammar_of, language_of};

/// A file that was changed more recently than this could change again without a new time stamp.
const UNSETTLED: Duration = Duration::from_secs(2);

/// The reader of files with a grammar. The number is incremented when the same file would be read differently.
const OWN_READER: &str = "becket 1";

/// The limits beyond which files are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest file that is read.
    pub file_bytes: u64,
    /// The most files that are looked at.
    pub files: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 1024 * 1024,
            files: 200_000,
        }
    }
}

/// A file that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The file, relative to the root.
    pub path: String,
    /// Why the file was left out.
    pub reason: String,
}

/// A file that is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) path: String,
    pub(crate) language: &'static str,
    /// The reader of the file: a grammar, or the plugin with this name.
    pub(crate) reader: String,
    pub(crate) modified_ns: i64,
    pub(crate) size: u64,
    /// The hash of the indexed content, if the file is in the index.
    pub(crate) known_hash: Option<[u8; 32]>,
}

/// A file of the index.
struct Known {
    reader: String,
    modified_ns: i64,
    size: u64,
    hash: Option<[u8; 32]>,
}

/// The differences between the project and its index.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// How many files have a language that can be read.
    pub(crate) scanned: usize,
    pub(crate) unchanged: usize,
    pub(crate) changed: Vec<Changed>,
    /// Files of the index that are no longer there, or no longer to be read.
    pub(crate) gone: Vec<String>,
    pub(crate) skipped: Vec<Skipped>,
}

/// Compares the project with its index. `plugin_for` names the plugin that reads a language.
pub(crate) fn survey(
    connection: &Connection,
    root: &Path,
    limits: Limits,
    plugin_for: &dyn Fn(&str) -> Option<String>,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<Survey, SurveyProblem> {
    let mut known = known_files(connection)?;
    let mut survey = Survey::default();
    let now = SystemTime::now();
    for entry in entries(root) {
        if is_cancelled() {
            return Err(SurveyProblem::Index(IndexProblem::Cancelled));
        }
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                survey.skipped.push(unread(root, &error));
                continue;
            }
        };
        if entry.file_type().is_none_or(|kind| !kind.is_file()) {
            continue;
        }
        let Some((language, reader)) = reader_of(entry.path(), plugin_for) else {
            continue;
        };
        survey.scanned += 1;
        if survey.scanned > limits.files {
            let reason = format!("the project has more than {} source files", limits.files);
            let path = below(root, &entry).display().to_string();
            survey.skipped.push(Skipped { path, reason });
            break;
        }
        let (path, metadata) = match examined(root, &entry, limits) {
            Ok(examined) => examined,
            Err(skipped) => {
                survey.skipped.push(skipped);
                continue;
            }
        };
        let old = known.remove(&path).filter(|old| old.reader == reader);
        let file = Changed {
            path,
            language,
            reader,
            modified_ns: settled_time(metadata.modified().ok(), now),
            size: metadata.len(),
            known_hash: old.as_ref().and_then(|old| old.hash),
        };
        let is_same = |old: Known| old.modified_ns == file.modified_ns && old.size == file.size;
        if file.modified_ns != 0 && old.is_some_and(is_same) {
            survey.unchanged += 1;
        } else {
            survey.changed.push(file);
        }
    }
    let mut gone: Vec<String> = known.into_keys().collect();
    gone.sort();
    survey.gone = gone;
    Ok(survey)
}

/// Everything in the project. Links are not followed, so nothing outside of the root is reached. Names that begin with
/// a dot are left out, and whatever the project's own ignore files name.
fn entries(root: &Path) -> ignore::Walk {
    let ignored = IgnoreFiles::of_project(root);
    WalkBuilder::new(root)
        .standard_filters(false)
        .hidden(true)
        .follow_links(false)
        .sort_by_file_path(Path::cmp)
        .filter_entry(move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            !ignored.leave_out(entry.path(), is_folder)
        })
        .build()
}

/// Why a survey ended early.
pub(crate) enum SurveyProblem {
    Index(IndexProblem),
    Database(rusqlite::Error),
}

impl From<rusqlite::Error> for SurveyProblem {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

/// A file's language and its reader; `None` if there is no reader.
fn reader_of(file: &Path, plugin_for: &dyn Fn(&str) -> Option<String>) -> Option<(&'static str, String)> {
    let language = language_of(file)?;
    let reader = match plugin_for(language) {
        Some(plugin) => plugin,
        None => grammar_of(file).map(|_| OWN_READER.to_owned())?,
    };
    Some((language, reader))
}

/// A file's path below the root and its metadata; or why it is not read.
fn examined(root: &Path, entry: &DirEntry, limits: Limits) -> Result<(String, std::fs::Metadata), Skipped> {
    let below = below(root, entry);
    let examine = || -> Result<std::fs::Metadata, String> {
        if below.to_str().is_none() {
            return Err("its name is no text".into());
        }
        let metadata = entry.metadata().map_err(|error| error.to_string())?;
        if metadata.len() > limits.file_bytes {
            return Err(format!("it is larger than {} KiB", limits.file_bytes / 1024));
        }
        Ok(metadata)
    };
    let path = below.display().to_string();
    match examine() {
        Ok(metadata) => Ok((path, metadata)),
        Err(reason) => Err(Skipped { path, reason }),
    }
}

fn below<'a>(root: &Path, entry: &'a DirEntry) -> &'a Path {
    entry.path().strip_prefix(root).unwrap_or(entry.path())
}

/// Whether a grammar reads the file, and not a plugin.
pub(crate) fn is_own(changed: &Changed) -> bool {
    changed.reader == OWN_READER
}

fn known_files(connection: &Connection) -> rusqlite::Result<HashMap<String, Known>> {
    let mut statement = connection.prepare("SELECT path, reader, modified_ns, size, hash FROM files")?;
    let rows = statement.query_map([], |row| {
        let known = Known {
            reader: row.get(1)?,
            modified_ns: row.get(2)?,
            size: row.get::<_, i64>(3)?.unsigned_abs(),
            hash: row.get::<_, Vec<u8>>(4)?.try_into().ok(),
        };
        Ok((row.get(0)?, known))
    })?;
    rows.collect()
}

/// A file's time stamp; 0 if it was changed just now, so that the next survey looks at its content.
fn settled_time(modified: Option<SystemTime>, now: SystemTime) -> i64 {
    let Some(modified) = modified.filter(|modified| *modified + UNSETTLED < now) else {
        return 0;
    };
    let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(0)
}

fn unread(root: &Path, error: &ignore::Error) -> Skipped {
    let place = place_of(error).unwrap_or_else(|| root.to_path_buf());
    let below = place.strip_prefix(root).unwrap_or(&place);
    let reason = match error.io_error() {
        Some(error) => error.to_string(),
        None => error.to_string(),
    };
    Skipped {
        path: below.display().to_string(),
        reason,
    }
}

fn place_of(error: &ignore::Error) -> Option<PathBuf> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path.clone()),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => place_of(err),
        _ => None,
    }
}
