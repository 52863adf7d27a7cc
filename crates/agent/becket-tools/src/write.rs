//! Writing a file.

use std::path::Path;

use becket_agent::tool::ToolOutput;
use becket_events::{Part, WriteArguments};
use serde_json::json;

use crate::answer::OperationAnswer;
use crate::judged_path::{LinkedFile, Written, reason, replace_file};

/// Writes the file at `path`, which is the judged form of what the arguments name; `judged` says which hard links it
/// had.
pub(crate) fn run(arguments: &WriteArguments, path: &Path, judged: Option<LinkedFile>) -> OperationAnswer {
    match replace_file(path, arguments.content.as_bytes(), judged) {
        Ok(written) => told(arguments, written),
        Err(error) => {
            let words = format!("Cannot write {}: {}.", arguments.path, reason(&error));
            OperationAnswer::refused_by_system(words, &error, path)
        }
    }
}

/// The answer about a file that was written.
pub(crate) fn told(arguments: &WriteArguments, written: Written) -> OperationAnswer {
    let verb = match written {
        Written::Created => "Created",
        Written::Replaced => "Replaced",
    };
    let (lines, bytes) = (arguments.content.lines().count(), arguments.content.len());
    ToolOutput {
        content: vec![Part::text(format!(
            "{verb} {} ({}, {}).",
            arguments.path,
            counted(lines, "line"),
            counted(bytes, "byte")
        ))],
        is_error: false,
        details: Some(json!({"bytes": bytes, "created": written == Written::Created})),
        ends_run: false,
    }
    .into()
}

fn counted(number: usize, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn write(folder: &Path, name: &str, content: &str) -> (String, bool) {
        let arguments = WriteArguments {
            path: name.to_owned(),
            content: content.to_owned(),
        };
        let output = run(&arguments, &folder.join(name), None).output;
        match output.content.as_slice() {
            [Part::Text { text }] => (text.clone(), output.is_error),
            other => panic!("one text expected: {other:?}"),
        }
    }

    fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        (folder, path)
    }

    #[test]
    fn content_arrives_byte_for_byte() {
        let (_guard, path) = folder();
        for content in ["", "no end", "crlf\r\nlf\n", "\u{FEFF}bom", "ä\u{1F980}\0"] {
            assert!(!write(&path, "file", content).1);
            assert_eq!(std::fs::read(path.join("file")).unwrap(), content.as_bytes());
        }
    }

    #[test]
    fn it_says_whether_the_file_is_new() {
        let (_guard, path) = folder();
        assert_eq!(
            write(&path, "a/b.txt", "x\ny\n").0,
            "Created a/b.txt (2 lines, 4 bytes)."
        );
        assert_eq!(
            write(&path, "a/b.txt", "z").0,
            "Replaced a/b.txt (1 line, 1 byte)."
        );
    }

    #[test]
    fn what_cannot_be_written_says_why() {
        let (_guard, path) = folder();
        std::fs::create_dir(path.join("folder")).unwrap();
        assert_eq!(
            write(&path, "folder", "x"),
            ("Cannot write folder: it is a directory.".to_owned(), true)
        );
        symlink("elsewhere", path.join("link")).unwrap();
        let (text, is_error) = write(&path, "link", "x");
        assert!(is_error && text.contains("a link replaced it"), "{text}");
        assert!(!path.join("elsewhere").exists());
    }
}
