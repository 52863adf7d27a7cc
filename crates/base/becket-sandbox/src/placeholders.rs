//! Stand-ins at protected places where nothing is: only what exists can be mounted over, and a program must not create
//! the settings of others.
//!
//! They are there while programs may run, and go with the last of those that want them. The file that lists them is
//! locked, shared, by everyone who needs them. After a kill they stay until the next one has finished.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What stands at a protected place where nothing was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placeholder {
    /// An empty folder, which version control does not see.
    Folder(PathBuf),
    /// A file with a content that means the same as no file.
    File(PathBuf, &'static str),
}

impl Placeholder {
    /// Where it stands.
    pub fn path(&self) -> &Path {
        match self {
            Self::Folder(path) | Self::File(path, _) => path,
        }
    }

    fn make(&self) -> io::Result<()> {
        match self {
            Self::Folder(path) => fs::create_dir(path),
            Self::File(path, content) => File::create_new(path)?.write_all(content.as_bytes()),
        }
    }

    /// Removes what was made, if nobody has put something in its place.
    fn remove(line: &str) {
        let path = line.split('\t').next().unwrap_or(line);
        match line.split_once('\t') {
            None => drop(fs::remove_dir(path)),
            Some((_, content)) if fs::read_to_string(path).is_ok_and(|found| found.trim_end() == content) => {
                drop(fs::remove_file(path));
            }
            Some(_) => {}
        }
    }

    /// The line that lists it: its path, and the content of a file.
    fn line(&self) -> io::Result<String> {
        let path = self.path().to_str().filter(|text| !text.contains(['\n', '\t']));
        let path = path.ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                "the name of the project is not one line of text",
            )
        })?;
        Ok(match self {
            Self::Folder(_) => format!("{path}\n"),
            Self::File(_, content) => format!("{path}\t{}\n", content.trim_end()),
        })
    }
}

/// Placeholders that are kept for the time in which a program may run.
#[derive(Debug)]
pub struct Placeholders {
    list: File,
}

impl Placeholders {
    /// Makes those that are missing and whose folders exist.
    pub(crate) fn make(list: &Path, wanted: &[Placeholder]) -> io::Result<Self> {
        if let Some(parent) = list.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(list)?;
        file.lock_shared()?;
        for placeholder in wanted {
            let line = placeholder.line()?;
            match placeholder.make() {
                // Noted after it is made: what stood there before must not be taken for a placeholder.
                Ok(()) => file.write_all(line.as_bytes())?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                // What cannot be made here cannot be made by the program either.
                Err(error) if cannot_be_made(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self { list: file })
    }

    fn clear(&mut self) -> io::Result<()> {
        // Whoever else needs them holds the lock, and clears them later.
        self.list
            .try_lock()
            .map_err(|error| io::Error::other(error.to_string()))?;
        let mut text = String::new();
        self.list.seek(SeekFrom::Start(0))?;
        self.list.read_to_string(&mut text)?;
        text.lines().rev().for_each(Placeholder::remove);
        self.list.set_len(0)
    }
}

fn cannot_be_made(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
    )
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        let _ = self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_go_with_the_last_who_needs_them() {
        let room = tempfile::tempdir().expect("a folder");
        let (list, there) = (room.path().join("list"), room.path().join("there"));
        fs::create_dir(&there).expect("a folder");
        let missing = room.path().join("missing");
        let wanted = [
            Placeholder::Folder(there.clone()),
            Placeholder::Folder(missing.clone()),
            Placeholder::Folder(room.path().join("none/below")),
            Placeholder::File(missing.join("file"), ".\n"),
        ];
        let first = Placeholders::make(&list, &wanted).expect("made");
        let second = Placeholders::make(&list, &wanted).expect("made");
        drop(first);
        assert!(missing.join("file").is_file(), "the second still needs it");
        drop(second);
        assert!(!missing.exists() && !room.path().join("none").exists() && there.is_dir());
    }

    #[test]
    fn what_others_have_put_there_stays() {
        let room = tempfile::tempdir().expect("a folder");
        let (folder, file) = (room.path().join("folder"), room.path().join("file"));
        let wanted = [
            Placeholder::Folder(folder.clone()),
            Placeholder::File(file.clone(), ".\n"),
        ];
        let made = Placeholders::make(&room.path().join("list"), &wanted).expect("made");
        fs::write(folder.join("file"), "content").expect("written");
        fs::write(&file, "other content").expect("written");
        drop(made);
        assert!(folder.join("file").is_file() && file.is_file());
    }
}
