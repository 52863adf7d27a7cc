//! Earlier entries: in memory, and in a file with one entry per line.
//!
//! The file has the form of reedline's `FileBackedHistory`: an entry's own line ends are written as `<\n>`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

const LINE_END: &str = "<\\n>";

/// Entries, oldest first.
#[derive(Debug, Default)]
pub struct History {
    entries: Vec<String>,
    file: Option<PathBuf>,
}

impl History {
    /// Reads a file of at most this many entries; older ones are dropped from it. A missing file is empty.
    pub fn open(file: PathBuf, capacity: usize) -> io::Result<Self> {
        let text = match fs::read(&file) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let mut entries: Vec<String> = text.lines().map(|line| line.replace(LINE_END, "\n")).collect();
        if entries.len() > capacity {
            entries.drain(..entries.len() - capacity);
            let kept: String = entries.iter().map(|entry| written(entry)).collect();
            let beside = file.with_extension("new");
            private(&beside, false)?.write_all(kept.as_bytes())?;
            fs::rename(&beside, &file)?;
        }
        Ok(Self {
            entries,
            file: Some(file),
        })
    }

    /// Adds an entry, unless it is empty or repeats the last one. It is written to the file immediately, so that
    /// nothing is lost when the program is killed.
    pub fn add(&mut self, entry: &str) -> io::Result<()> {
        if entry.trim().is_empty() || self.entries.last().is_some_and(|last| last == entry) {
            return Ok(());
        }
        self.entries.push(entry.to_string());
        let Some(file) = &self.file else { return Ok(()) };
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        private(file, true)?.write_all(written(entry).as_bytes())
    }

    pub fn entries(&self) -> &[String] {
        &self.entries
    }

    /// The last entry before `end` that contains a text.
    pub fn find(&self, text: &str, end: usize) -> Option<usize> {
        self.entries[..end.min(self.entries.len())]
            .iter()
            .rposition(|entry| entry.contains(text))
    }
}

fn written(entry: &str) -> String {
    format!("{}\n", entry.replace('\n', LINE_END))
}

/// Opens a file that only the user can read: entries are private.
fn private(file: &std::path::Path, append: bool) -> io::Result<fs::File> {
    OpenOptions::new()
        .create(true)
        .append(append)
        .write(true)
        .truncate(!append)
        .mode(0o600)
        .open(file)
}
