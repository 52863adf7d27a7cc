//! The files that belong to a context: its system prompt, its settings, its todos, its goals. They are plain text that
//! the person and their programs may read and write as well.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The folder of one context.
#[derive(Debug, Clone)]
pub struct ContextFiles {
    folder: PathBuf,
}

/// A file of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextFile {
    /// The system prompt, instead of the usual one.
    SystemPrompt,
    /// What is to be done.
    Todos,
    /// What it is all for.
    Goals,
    /// The summary of what was compacted, for those who read it from here.
    Summary,
    /// Settings of this context alone.
    Settings,
}

impl ContextFile {
    /// All of them.
    const ALL: [Self; 5] = [
        Self::SystemPrompt,
        Self::Todos,
        Self::Goals,
        Self::Summary,
        Self::Settings,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::SystemPrompt => "system_prompt.md",
            Self::Todos => "todos.md",
            Self::Goals => "goals.md",
            Self::Summary => "summary.md",
            Self::Settings => "settings.toml",
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

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where one of them is.
    pub fn path(&self, file: ContextFile) -> PathBuf {
        self.folder.join(file.name())
    }

    /// What a file says; `None` when there is none, or nothing in it.
    pub fn read(&self, file: ContextFile) -> Option<String> {
        self.try_read(file).ok().flatten()
    }

    /// The same for those who want to know that a file is there but cannot be read.
    pub fn try_read(&self, file: ContextFile) -> io::Result<Option<String>> {
        match std::fs::read_to_string(self.path(file)) {
            Ok(text) => Ok((!text.trim().is_empty()).then_some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes a file. Says whether it was there.
    pub fn remove(&self, file: ContextFile) -> io::Result<bool> {
        absent_or(std::fs::remove_file(self.path(file)))
    }

    /// Whether they can be removed: behind a link may be something that belongs to another context, or to none.
    pub fn check_removable(&self) -> io::Result<()> {
        match std::fs::symlink_metadata(&self.folder) {
            Ok(folder) if folder.is_dir() => Ok(()),
            Ok(folder) if folder.is_symlink() => Err(io::Error::other("it is a symbolic link")),
            Ok(_) => Err(io::Error::other("it is not a folder")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Removes all of them, and the folder if nothing else is in it: what other programs keep there is theirs. Says
    /// whether anything was there.
    pub fn remove_all(&self) -> io::Result<bool> {
        self.check_removable()?;
        let mut removed = false;
        for file in ContextFile::ALL {
            removed |= self.remove(file)?;
        }
        match absent_or(std::fs::remove_dir(&self.folder)) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(removed),
            folder => Ok(folder? || removed),
        }
    }

    /// Writes a file as a whole: nobody ever sees half of it.
    pub fn write(&self, file: ContextFile, text: &str) -> io::Result<()> {
        write_whole(&self.path(file), text)
    }
}

/// What a file of notes says; `None` when there is none, or nothing in it.
pub fn read_notes(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    (!text.trim().is_empty()).then_some(text)
}

/// Writes a file as a whole, with the folder around it.
pub fn write_whole(file: &Path, text: &str) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut fresh = NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut fresh, text.as_bytes())?;
    fresh.persist(file)?;
    Ok(())
}

/// What was to be removed and is not there is no error.
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
        assert!(!files.remove_all().unwrap());
        files.write(ContextFile::Todos, "buy milk").unwrap();
        assert!(files.remove_all().unwrap());
        assert!(!files.folder().exists());
        files.write(ContextFile::Goals, "be good").unwrap();
        std::fs::write(files.folder().join("transcript.jsonl"), "{}").unwrap();
        assert!(files.remove_all().unwrap());
        assert!(files.folder().join("transcript.jsonl").exists() && files.read(ContextFile::Goals).is_none());
    }
}
