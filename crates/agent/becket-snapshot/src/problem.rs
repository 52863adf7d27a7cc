//! Failures as messages for the user: what happened, where, and what to try.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many paths a message names before it only counts.
const NAMED: usize = 10;

/// Why something could not be done. Whatever it is, no file was lost.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// git is not installed.
    #[error(
        "snapshots need the program `git`, and there is none on the PATH. Install git, or do without snapshots"
    )]
    NoGit,
    /// The folder cannot have snapshots.
    #[error("cannot take snapshots of {}: {why}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with the folder.
        why: String,
    },
    /// The operating system refused something.
    #[error("cannot {doing} {}: {error}. Check who owns it and how much room is left", path.display())]
    System {
        /// The failed action; completes "cannot …".
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// git refused something.
    #[error("cannot {doing}: git says: {message}")]
    Git {
        /// The failed action; completes "cannot …".
        doing: &'static str,
        /// git's message.
        message: String,
    },
    /// git took too long and was ended.
    #[error(
        "cannot {doing}: git was not ready after {} s and was ended. Ignore large folders in .gitignore, or allow \
         more time",
        after.as_secs_f32()
    )]
    Deadline {
        /// The failed action; completes "cannot …".
        doing: &'static str,
        /// How long git had.
        after: Duration,
    },
    /// Another process works on the snapshots.
    #[error("another process has been working on the snapshots of {} for {} s. Try again when it has finished",
        folder.display(), after.as_secs_f32())]
    Busy {
        /// The folder.
        folder: PathBuf,
        /// How long the other process was waited for.
        after: Duration,
    },
    /// The journal has an invalid line.
    #[error("line {line} of the journal {} is damaged ({error}). Remove the line, or the file to start over",
        path.display())]
    Journal {
        /// The journal's file.
        path: PathBuf,
        /// The number of the line, counted from 1.
        line: usize,
        /// What is wrong with the line.
        error: String,
    },
    /// There is no such checkpoint.
    #[error(
        "there is no checkpoint {0} of this folder. It may have expired; list them to see which there are"
    )]
    Unknown(u64),
    /// There is nothing to undo or to redo.
    #[error("there is nothing to {0}")]
    Nothing(&'static str),
    /// Files are neither as the step left them nor as it found them.
    #[error("{} changed since, and nothing was touched: {}. Force it to bring them back all the same; what is there \
        now stays in a checkpoint", count(paths.len()), named(paths))]
    Changed {
        /// The files that have changed.
        paths: Vec<PathBuf>,
    },
    /// Files that no checkpoint holds are in the way of files to restore.
    #[error("what no checkpoint holds is in the way, and nothing was touched: {}. Move it away and try again",
        told(.0))]
    InTheWay(Vec<InTheWay>),
    /// The folder is not as it was restored.
    #[error(
        "the folder changed while it was restored. What was there before is checkpoint {before}; try again"
    )]
    Disturbed {
        /// The checkpoint of the state before.
        before: u64,
    },
}

/// A file or folder that is in the way of another and must not be touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InTheWay {
    /// The path that is in the way.
    pub path: PathBuf,
    /// A description of what is in the way.
    pub what: &'static str,
}

/// Converts an error of the operating system.
pub(crate) fn system(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Problem {
    let path = path.to_owned();
    move |error| Problem::System { doing, path, error }
}

fn count(files: usize) -> String {
    match files {
        1 => "1 file".into(),
        several => format!("{several} files"),
    }
}

fn named(paths: &[PathBuf]) -> String {
    listed(paths.iter().map(|path| format!("{path:?}")), paths.len())
}

fn told(ways: &[InTheWay]) -> String {
    listed(
        ways.iter().map(|way| format!("{:?} ({})", way.path, way.what)),
        ways.len(),
    )
}

fn listed(texts: impl Iterator<Item = String>, whole: usize) -> String {
    let mut list = texts.take(NAMED).collect::<Vec<_>>().join(", ");
    if whole > NAMED {
        let _ = write!(list, " and {} more", whole - NAMED);
    }
    list
}
