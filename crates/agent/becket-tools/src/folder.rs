//! Making and removing directories.

use std::io;
use std::path::Path;

use becket_agent::tool::ToolOutput;
use becket_events::{MkdirArguments, RmdirArguments};

use crate::judged_path::{self, make_folder, open_folder, reason};

/// Makes the directory at `path`, which is the judged form of what the arguments name.
pub(crate) fn make(arguments: &MkdirArguments, path: &Path) -> ToolOutput {
    let shown = &arguments.path;
    match make_folder(path) {
        Ok(true) => ToolOutput::text(format!("Made the directory {shown}.")),
        Ok(false) => ToolOutput::text(format!("The directory {shown} was there before.")),
        Err(error) => ToolOutput::error(format!("Cannot make the directory {shown}: {}.", reason(&error))),
    }
}

/// Removes the directory at `path`, which is the judged form of what the arguments name, if nothing is in it.
pub(crate) fn remove(arguments: &RmdirArguments, path: &Path) -> ToolOutput {
    let shown = &arguments.path;
    match open_folder(path).and_then(|_| judged_path::remove(path)) {
        Ok(()) => ToolOutput::text(format!("Removed the directory {shown}.")),
        Err(error) => {
            let why = match error.kind() {
                io::ErrorKind::NotADirectory => "it is no directory".to_owned(),
                io::ErrorKind::DirectoryNotEmpty => "it is not empty".to_owned(),
                _ => reason(&error),
            };
            ToolOutput::error(format!("Cannot remove the directory {shown}: {why}."))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use becket_events::text_of;

    #[test]
    fn only_empty_directories_go() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let make = |path: &str| make(&MkdirArguments { path: path.into() }, &root.join(path));
        let remove = |path: &str| remove(&RmdirArguments { path: path.into() }, &root.join(path));
        let told = |output: ToolOutput| (text_of(&output.content), output.is_error);
        assert_eq!(told(make("a/b")), ("Made the directory a/b.".to_owned(), false));
        assert_eq!(
            told(make("a")),
            ("The directory a was there before.".to_owned(), false)
        );
        assert_eq!(
            told(remove("a")),
            ("Cannot remove the directory a: it is not empty.".to_owned(), true)
        );
        std::fs::write(root.join("file"), "").unwrap();
        assert_eq!(
            told(remove("file")),
            (
                "Cannot remove the directory file: it is no directory.".to_owned(),
                true
            )
        );
        assert!(root.join("file").exists());
        assert!(!remove("a/b").is_error && !root.join("a/b").exists());
        assert_eq!(
            told(remove("a/b")),
            (
                "Cannot remove the directory a/b: it does not exist.".to_owned(),
                true
            )
        );
    }
}
