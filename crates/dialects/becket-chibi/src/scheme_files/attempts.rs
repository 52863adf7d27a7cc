//! Files that failed, so that they are not executed again before they have changed.
//!
//! A note is a small file for each file in Scheme, under the hash of its path. It is written before the code runs and
//! emptied when all went well: code that takes the whole process with it leaves its note behind, and the next run, in
//! whatever context, passes the file over.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The notes of a home.
#[derive(Debug, Clone)]
pub struct Attempts {
    folder: PathBuf,
}

/// Whether the failure of a file is its own, so that it would fail in the same way again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    File,
    Circumstances,
}

impl Attempts {
    /// The notes in that folder, which is made with the first.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Runs the code of a file, unless just that failed before. What would be executed, with all that it depends on, is
    /// the `subject`.
    pub fn run<T>(
        &self,
        file: &Path,
        subject: &str,
        run: impl FnOnce() -> Result<T, (String, Blame)>,
    ) -> Result<T, String> {
        // Where nothing can be noted, or another process loads the same file right now, the file runs all the same.
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

    /// The note of a file, held as long as it is open.
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

/// How it failed, if it did.
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

/// Replaces the text of a note. One that cannot be written is none, which costs another attempt.
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
            // Another process, as far as the lock knows.
            assert_eq!(attempts.run(file, "slow", || Ok(1)), Ok(1));
            // What would be left of this one if it ended here.
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
