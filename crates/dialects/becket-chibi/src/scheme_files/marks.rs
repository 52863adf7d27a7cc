//! Marks of files that models have written. Their tools are offered behind the gate; their hooks count once the user
//! trusts them.
//!
//! A mark is a small file for each file that a call has changed, named by the hash of its path. Before the change it
//! says which content is the user's, and that nothing else is; afterwards it says which content the call wrote, and
//! that everything else is the user's. So a kill in between leaves nothing trusted that the user has not seen, and an
//! edit by hand makes the file the user's again.
//!
//! Marks of trusted files would not work: they would have to notice every file that is copied by hand.

#![allow(clippy::disallowed_methods, reason = "becket writes these files itself")]

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The marks of a home.
#[derive(Debug, Clone)]
pub struct Marks {
    folder: PathBuf,
}

/// The author of a file's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The user has written the file, or trusts it.
    Persons,
    /// A model has written the file.
    Models,
}

/// The extension of the file that lists the guards of a marked file.
const GUARDS: &str = "guards";

const ONLY: &str = "only ";
const ALL_BUT: &str = "all-but ";

impl Marks {
    /// The marks in that folder, which is created with the first mark.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The author of this content of a file.
    pub fn trust(&self, file: &Path, content: &[u8]) -> Trust {
        trusted(self.text(file).as_deref(), content)
    }

    /// The mark of a file, for noticing that it has changed.
    pub fn text(&self, file: &Path) -> Option<String> {
        match std::fs::read_to_string(self.mark(file)) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            // A mark that cannot be read: nothing is trusted.
            Err(_) => Some(ONLY.into()),
        }
    }

    /// Records that a call is about to change a file, which has this content now.
    pub fn before(&self, file: &Path, content: Option<&[u8]>) -> Result<(), String> {
        let kept = content.filter(|content| self.trust(file, content) == Trust::Persons);
        self.write(file, &format!("{ONLY}{}", kept.map(hash).unwrap_or_default()))
    }

    /// Records that a call has changed a file, which has this content now.
    pub fn after(&self, file: &Path, content: Option<&[u8]>) -> Result<(), String> {
        match content {
            Some(content) => self.write(file, &format!("{ALL_BUT}{}", hash(content))),
            None => self.forget(file),
        }
    }

    /// Removes the mark: the user trusts the file as it is.
    pub fn forget(&self, file: &Path) -> Result<(), String> {
        match std::fs::remove_file(self.mark(file)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(format!("the mark cannot be removed: {error}"))
            }
            _ => Ok(()),
        }
    }

    /// Records the guards of a user's file, so that they are missed when it can no longer be loaded.
    pub fn note_guards(&self, file: &Path, guards: &[&str]) -> Result<(), String> {
        if self.guards(file) == guards {
            return Ok(());
        }
        self.write_to(&self.mark(file).with_extension(GUARDS), &guards.join("\n"))
    }

    /// The guards that a user's file had when it was loaded last.
    pub fn guards(&self, file: &Path) -> Vec<String> {
        let noted = std::fs::read_to_string(self.mark(file).with_extension(GUARDS));
        let noted = noted.unwrap_or_default();
        noted.lines().map(ToOwned::to_owned).collect()
    }

    fn mark(&self, file: &Path) -> PathBuf {
        self.folder.join(hash(file.as_os_str().as_encoded_bytes()))
    }

    fn write(&self, file: &Path, text: &str) -> Result<(), String> {
        self.write_to(&self.mark(file), text)
    }

    fn write_to(&self, mark: &Path, text: &str) -> Result<(), String> {
        let draft = mark.with_extension(format!("{}", std::process::id()));
        let written = std::fs::create_dir_all(&self.folder)
            .and_then(|()| std::fs::write(&draft, text))
            .and_then(|()| std::fs::rename(&draft, mark));
        written.map_err(|error| format!("it cannot be noted who wrote the file: {error}"))
    }
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn trusted(mark: Option<&str>, content: &[u8]) -> Trust {
    let is_persons = match mark {
        None => true,
        Some(mark) => match (mark.strip_prefix(ALL_BUT), mark.strip_prefix(ONLY)) {
            (Some(written), _) => written != hash(content),
            (_, Some(kept)) => kept == hash(content),
            (None, None) => false,
        },
    };
    match is_persons {
        true => Trust::Persons,
        false => Trust::Models,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_call_writes_is_the_models_until_the_person_says_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let marks = Marks::new(folder.path().join("marks"));
        let file = Path::new("/vfs/tools/shared/a.scm");
        let whose = |content: &str| marks.trust(file, content.as_bytes());
        assert_eq!(whose("mine"), Trust::Persons);
        marks.before(file, Some(b"mine")).unwrap();
        // A call that is killed here leaves half of a file.
        assert_eq!((whose("mine"), whose("half")), (Trust::Persons, Trust::Models));
        marks.after(file, Some(b"theirs")).unwrap();
        assert_eq!(
            (whose("theirs"), whose("edited by hand")),
            (Trust::Models, Trust::Persons)
        );
        // A second call does not make the first one's content the user's.
        marks.before(file, Some(b"theirs")).unwrap();
        assert_eq!(whose("theirs"), Trust::Models);
        marks.after(file, Some(b"theirs")).unwrap();
        marks.forget(file).unwrap();
        assert_eq!(whose("theirs"), Trust::Persons);
        marks.before(file, None).unwrap();
        assert_eq!(whose("new"), Trust::Models);
        marks.after(file, None).unwrap();
        assert_eq!(whose("new"), Trust::Persons);
        assert_eq!(marks.trust(Path::new("/other"), b"theirs"), Trust::Persons);
    }
}
