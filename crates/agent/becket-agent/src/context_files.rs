//! The files that belong to a context: its system prompt, its settings, its todos, its goals. They are plain text that
//! the user and their programs may read and write as well.
//!
//! So a file of such a name may have been written by others. What becket wrote last is remembered in the folder by its
//! hash, and only a file that still holds just that is removed or replaced unasked.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The file in the folder that remembers the hashes of what becket wrote, so that it moves along with the folder.
const WRITTEN: &str = ".becket";

/// The folder of one context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFiles {
    folder: PathBuf,
}

/// A file of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextFile {
    /// The system prompt, instead of the usual one.
    SystemPrompt,
    /// Free text about what is to be done.
    Todos,
    /// The todos as a list of items that tools work on.
    TodoList,
    /// The goals of the context.
    Goals,
    /// The summary of what was compacted, for programs that read it here.
    Summary,
    /// Settings of this context only.
    Settings,
    /// The conversation in another program's format, for programs that asked for its path.
    Session,
}

impl ContextFile {
    /// All kinds of files.
    const ALL: [Self; 7] = [
        Self::SystemPrompt,
        Self::Todos,
        Self::TodoList,
        Self::Goals,
        Self::Summary,
        Self::Settings,
        Self::Session,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::SystemPrompt => "system_prompt.md",
            Self::Todos => "todos.md",
            Self::TodoList => "todos.json",
            Self::Goals => "goals.md",
            Self::Summary => "summary.md",
            Self::Settings => "settings.toml",
            Self::Session => "session.jsonl",
        }
    }
}

impl ContextFiles {
    /// The files of a context, below the folder that holds all contexts.
    pub fn new(contexts: &Path, context_name: &str) -> Self {
        Self {
            folder: contexts.join(context_name),
        }
    }

    /// The folder of the context's files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of a file of the context.
    pub fn path(&self, file: ContextFile) -> PathBuf {
        self.folder.join(file.name())
    }

    /// The text of a file; `None` if it is missing, blank or unreadable.
    pub fn read(&self, file: ContextFile) -> Option<String> {
        self.try_read(file).ok().flatten()
    }

    /// The text of a file; `None` if it is missing or blank, an error if it cannot be read.
    pub fn try_read(&self, file: ContextFile) -> io::Result<Option<String>> {
        match std::fs::read_to_string(self.path(file)) {
            Ok(text) => Ok((!text.trim().is_empty()).then_some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes a file because the user wants it, whoever wrote it. Says whether it was there.
    pub fn remove(&self, file: ContextFile) -> io::Result<bool> {
        absent_or(std::fs::remove_file(self.path(file)))
    }

    /// Checks that the folder may be removed: a link may lead to the files of another context, or of none.
    pub fn check_removable(&self) -> io::Result<()> {
        match std::fs::symlink_metadata(&self.folder) {
            Ok(folder) if folder.is_dir() => Ok(()),
            Ok(folder) if folder.is_symlink() => Err(io::Error::other("it is a symbolic link")),
            Ok(_) => Err(io::Error::other("it is not a folder")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Removes a file unless someone else wrote it.
    pub fn remove_own(&self, file: ContextFile) -> io::Result<Whose> {
        let whose = self.whose(file)?;
        if whose == Whose::Own {
            self.remove(file)?;
        }
        Ok(whose)
    }

    /// Removes all files of the context, and the folder if nothing else is in it. Returns the files that stay because
    /// others wrote them.
    pub fn remove_all(&self) -> io::Result<Vec<PathBuf>> {
        self.check_removable()?;
        let mut foreign = Vec::new();
        for file in ContextFile::ALL {
            if self.remove_own(file)? == Whose::Foreign {
                foreign.push(self.path(file));
            }
        }
        absent_or(std::fs::remove_file(self.folder.join(WRITTEN)))?;
        match absent_or(std::fs::remove_dir(&self.folder)) {
            Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => Err(error),
            _ => Ok(foreign),
        }
    }

    /// Writes a file atomically: a reader never sees half of it.
    pub fn write(&self, file: ContextFile, text: &str) -> io::Result<()> {
        write_whole(&self.path(file), text)?;
        // If this fails, the file counts as written by others, and nothing is lost.
        write_whole(&self.folder.join(WRITTEN), &self.written_with(file, text))
    }

    /// Writes a file unless someone else wrote the one that is there.
    pub fn write_own(&self, file: ContextFile, text: &str) -> io::Result<Whose> {
        let whose = self.whose(file)?;
        if whose == Whose::Own {
            self.write(file, text)?;
        }
        Ok(whose)
    }

    /// Who wrote a file: becket if it holds what becket wrote last, or if there is none. The settings are in a form
    /// that is becket's alone, also where the user has edited them.
    fn whose(&self, file: ContextFile) -> io::Result<Whose> {
        let path = self.path(file);
        let is_own = match std::fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => return Err(error),
            Ok(_) if file == ContextFile::Settings => true,
            Ok(found) if !found.is_file() => false,
            Ok(_) => {
                let line = line_of(file, &std::fs::read(&path)?);
                self.written().lines().any(|written| written == line)
            }
        };
        Ok(if is_own { Whose::Own } else { Whose::Foreign })
    }

    /// The remembered lines, one for each file that becket wrote.
    fn written(&self) -> String {
        std::fs::read_to_string(self.folder.join(WRITTEN)).unwrap_or_default()
    }

    /// The remembered lines with a new line for this file.
    fn written_with(&self, file: ContextFile, text: &str) -> String {
        let written = self.written();
        let others = written.lines().filter(|line| !line.ends_with(file.name()));
        let lines = others
            .map(ToString::to_string)
            .chain([line_of(file, text.as_bytes())]);
        lines.map(|line| line + "\n").collect()
    }
}

/// Who wrote a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Becket wrote the file, or there is none.
    Own,
    /// Another program or the user wrote the file, or has changed it since.
    Foreign,
}

/// The line that remembers a file: the hash of its content, and its name.
fn line_of(file: ContextFile, content: &[u8]) -> String {
    format!("{} {}", blake3::hash(content).to_hex(), file.name())
}

/// The text of a file of notes; `None` if it is missing or blank.
pub fn read_notes(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    (!text.trim().is_empty()).then_some(text)
}

/// Writes a file atomically, and makes its folder if needed.
pub fn write_whole(file: &Path, text: &str) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut fresh = NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut fresh, text.as_bytes())?;
    fresh.persist(file)?;
    Ok(())
}

/// Whether a file was removed; a file that was not there is no error.
fn absent_or(removed: io::Result<()>) -> io::Result<bool> {
    match removed {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_other_programs_keep_beside_a_contexts_files_stays() {
        let folder = tempfile::tempdir().unwrap();
        let files = ContextFiles::new(folder.path(), "work");
        assert!(files.remove_all().unwrap().is_empty());
        files.write(ContextFile::Todos, "buy milk").unwrap();
        assert!(files.remove_all().unwrap().is_empty());
        assert!(!files.folder().exists());
        files.write(ContextFile::Goals, "be good").unwrap();
        std::fs::write(files.folder().join("transcript.jsonl"), "{}").unwrap();
        assert!(files.remove_all().unwrap().is_empty());
        let left = std::fs::read_dir(files.folder()).unwrap();
        let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["transcript.jsonl"]);
    }

    #[test]
    fn a_file_is_beckets_while_it_holds_what_becket_wrote_last() {
        let folder = tempfile::tempdir().unwrap();
        let files = ContextFiles::new(folder.path(), "work");
        let by_hand = |file, text: &str| std::fs::write(files.path(file), text).unwrap();
        assert_eq!(files.write_own(ContextFile::Summary, "one").unwrap(), Whose::Own);
        assert_eq!(files.write_own(ContextFile::Summary, "two").unwrap(), Whose::Own);
        by_hand(ContextFile::Summary, "one");
        assert_eq!(
            files.write_own(ContextFile::Summary, "three").unwrap(),
            Whose::Foreign,
            "what was written before the last time does not count"
        );
        assert_eq!(files.remove_own(ContextFile::Summary).unwrap(), Whose::Foreign);
        by_hand(ContextFile::Summary, "two");
        by_hand(ContextFile::Todos, "two");
        by_hand(ContextFile::Settings, "fuel = 3");
        assert_eq!(files.remove_all().unwrap(), [files.path(ContextFile::Todos)]);
        assert_eq!(files.read(ContextFile::Todos).as_deref(), Some("two"));
        assert!(!files.path(ContextFile::Summary).exists() && !files.path(ContextFile::Settings).exists());
    }

    #[test]
    fn what_is_no_regular_file_is_never_beckets() {
        let folder = tempfile::tempdir().unwrap();
        let files = ContextFiles::new(folder.path(), "work");
        files.write(ContextFile::Summary, "mine").unwrap();
        let elsewhere = folder.path().join("elsewhere");
        std::fs::rename(files.path(ContextFile::Summary), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, files.path(ContextFile::Summary)).unwrap();
        assert_eq!(files.remove_own(ContextFile::Summary).unwrap(), Whose::Foreign);
    }
}
