//! Records of files that failed, so that they are not executed again before they have changed.
//!
//! A record is a small file for each Scheme file, named by the hash of its path. It is written before the code runs and
//! emptied when all went well: code that kills the whole process leaves its record behind, and the next run, in
//! whatever context, skips the file.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The records of a home.
#[derive(Debug, Clone)]
pub struct Attempts {
    folder: PathBuf,
}

/// Whether a failure is the file's own fault, so that it would fail in the same way again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    File,
    Circumstances,
}

impl Attempts {
    /// The records in that folder, which is created with the first record.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Runs the code of a file, unless exactly that failed before. `subject` is the code, with everything that it
    /// depends on.
    pub fn run<T>(
        &self,
        file: &Path,
        subject: &str,
        run: impl FnOnce() -> Result<T, (String, Blame)>,
    ) -> Result<T, String> {
        // If no record can be written, or another process loads the same file right now, the file runs anyway.
        let Some(mut note) = self.open(file) else {
            return run().map_err(|(words, _)| words);
        };
        let subject = hash(subject.as_bytes());
        if let Some(words) = failed_before(&mut note, &subject) {
            return Err(words);
        }
        write(&mut note, &format!("{subject}\n"));
        let result = run();
        match &result {
            Err((words, Blame::File)) => write(&mut note, &format!("{subject}\n{words}")),
            _ => write(&mut note, ""),
        }
        result.map_err(|(words, _)| words)
    }

    /// The record of a file, locked as long as it is open.
    fn open(&self, file: &Path) -> Option<File> {
        let note = self.folder.join(hash(file.as_os_str().as_encoded_bytes()));
        std::fs::create_dir_all(&self.folder).ok()?;
        let open = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(note);
        let note = open.ok()?;
        match note.try_lock() {
            Ok(()) => Some(note),
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => None,
        }
    }
}

/// The error of the earlier attempt, if it failed.
fn failed_before(note: &mut File, subject: &str) -> Option<String> {
    let mut text = String::new();
    note.read_to_string(&mut text).ok()?;
    let (known, words) = text.split_once('\n')?;
    let words = match words {
        "" => "becket ended while it was loaded",
        words => words,
    };
    (known == subject)
        .then(|| format!("{words} (so the last time: it is executed again when it has changed)"))
}

/// Replaces the text of a record. An error is ignored: it only costs another attempt.
fn write(note: &mut File, text: &str) {
    let _ = note
        .set_len(0)
        .and_then(|()| note.rewind())
        .and_then(|()| note.write_all(text.as_bytes()));
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_not_run_again_before_it_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let attempts = Attempts::new(folder.path().join("attempts"));
        let file = Path::new("/vfs/tools/shared/a.scm");
        let fails = |blame| move || Err::<(), _>(("no".to_owned(), blame));
        let never = || -> Result<(), (String, Blame)> { panic!("this was executed again") };
        assert_eq!(attempts.run(file, "good", || Ok(1)), Ok(1));
        assert_eq!(attempts.run(file, "good", || Ok(2)), Ok(2));
        attempts
            .run(file, "late", fails(Blame::Circumstances))
            .unwrap_err();
        assert_eq!(attempts.run(file, "late", || Ok(3)), Ok(3));
        attempts.run(file, "bad", fails(Blame::File)).unwrap_err();
        let words = attempts.run(file, "bad", never).unwrap_err();
        assert!(words.starts_with("no (so the last time"), "{words}");
        assert_eq!(attempts.run(Path::new("/other"), "bad", || Ok(4)), Ok(4));
        assert_eq!(attempts.run(file, "mended", || Ok(5)), Ok(5));
    }

    #[test]
    fn who_is_killed_in_the_middle_has_failed_and_who_is_still_at_it_has_not() {
        let folder = tempfile::tempdir().unwrap();
        let attempts = Attempts::new(folder.path().to_owned());
        let file = Path::new("/vfs/tools/shared/a.scm");
        let beside = || {
            // For the lock, this is another process.
            assert_eq!(attempts.run(file, "slow", || Ok(1)), Ok(1));
            // A copy of the record as it would be if the process were killed here.
            std::fs::copy(note_in(folder.path()), folder.path().join("left")).unwrap();
            Ok(2)
        };
        assert_eq!(attempts.run(file, "slow", beside), Ok(2));
        std::fs::rename(folder.path().join("left"), note_in(folder.path())).unwrap();
        let words = attempts.run(file, "slow", || Ok(3)).unwrap_err();
        assert!(words.starts_with("becket ended while it was loaded"), "{words}");
    }

    fn note_in(folder: &Path) -> PathBuf {
        folder.join(hash(b"/vfs/tools/shared/a.scm"))
    }
}
