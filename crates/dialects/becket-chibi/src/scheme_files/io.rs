//! Files for Scheme files with the right to use them: addresses of the virtual file system, and paths of this machine.
//! No hook is asked: it is the author's own code that reads and writes, and hooks themselves keep their notes this way.

#![allow(
    clippy::disallowed_methods,
    reason = "these are the files of Scheme code, which looks at them itself"
)]

use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use becket_agent::vfs::{Caller, Vfs, VfsPath, VfsPlace};

/// The largest file that is read.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The places where files are found.
#[derive(Debug, Clone)]
pub struct Io {
    pub vfs: Vfs,
    /// The directory for relative paths.
    pub cwd: PathBuf,
}

/// The place that a path leads to.
enum FilePlace {
    Virtual(VfsPlace),
    Real(PathBuf),
}

impl Io {
    /// The text of a file; `None` if it does not exist.
    pub fn read(&self, path: &str) -> Result<Option<String>, String> {
        let place = self.place(path)?;
        let bytes = match &place {
            FilePlace::Virtual(place) => match place.info() {
                Ok(info) if info.size > MOST_BYTES => return Err(too_large(path)),
                Ok(_) => place.read(),
                Err(error) => Err(error),
            },
            FilePlace::Real(file) => match std::fs::metadata(file) {
                Ok(info) if !info.is_file() => return Err(format!("{path} is no file")),
                Ok(info) if info.len() > MOST_BYTES => return Err(too_large(path)),
                Ok(_) => std::fs::read(file),
                Err(error) => Err(error),
            },
        };
        match bytes {
            Ok(bytes) => String::from_utf8(bytes)
                .map(Some)
                .map_err(|_| format!("{path} is not UTF-8 text")),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", path, &error)),
        }
    }

    pub fn write(&self, path: &str, text: &str) -> Result<(), String> {
        let written = match self.writable(path)? {
            FilePlace::Virtual(place) => place.write(text.as_bytes()),
            FilePlace::Real(file) => std::fs::write(file, text),
        };
        written.map_err(|error| failed("write", path, &error))
    }

    pub fn append(&self, path: &str, text: &str) -> Result<(), String> {
        let written = match self.writable(path)? {
            FilePlace::Virtual(place) => {
                let before = self.read(path)?.unwrap_or_default();
                place.write(format!("{before}{text}").as_bytes())
            }
            FilePlace::Real(file) => {
                let opened = std::fs::OpenOptions::new().append(true).create(true).open(file);
                opened.and_then(|mut file| file.write_all(text.as_bytes()))
            }
        };
        written.map_err(|error| failed("write", path, &error))
    }

    /// The names in a folder, sorted; none if there is no such folder.
    pub fn list(&self, path: &str) -> Result<Vec<String>, String> {
        let mut names: Vec<String> = match self.place(path)? {
            FilePlace::Virtual(place) => {
                let entries = place.entries().unwrap_or_default();
                entries.into_iter().map(|entry| entry.name).collect()
            }
            FilePlace::Real(folder) => {
                let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
                entries
                    .filter_map(|entry| entry.file_name().into_string().ok())
                    .collect()
            }
        };
        names.sort_unstable();
        Ok(names)
    }

    pub fn exists(&self, path: &str) -> Result<bool, String> {
        Ok(match self.place(path)? {
            FilePlace::Virtual(place) => place.info().is_ok(),
            FilePlace::Real(file) => file.exists(),
        })
    }

    /// Removes a file; returns whether there was one.
    pub fn delete(&self, path: &str) -> Result<bool, String> {
        let removed = match self.writable(path)? {
            FilePlace::Virtual(place) => place.remove(),
            FilePlace::Real(file) => std::fs::remove_file(file),
        };
        match removed {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed("remove", path, &error)),
        }
    }

    fn place(&self, path: &str) -> Result<FilePlace, String> {
        match VfsPath::is_meant_by(path) {
            true => Ok(FilePlace::Virtual(self.vfs.place(&VfsPath::parse(path)?)?)),
            false => Ok(FilePlace::Real(self.cwd.join(path))),
        }
    }

    fn writable(&self, path: &str) -> Result<FilePlace, String> {
        let place = self.place(path)?;
        if let FilePlace::Virtual(place) = &place {
            place.address().check_write(Caller::System)?;
            self.vfs.prepare()?;
        }
        Ok(place)
    }
}

fn too_large(path: &str) -> String {
    format!("{path} has more than 64 MiB")
}

fn failed(what: &str, path: &str, error: &std::io::Error) -> String {
    format!("cannot {what} {path}: {error}")
}
