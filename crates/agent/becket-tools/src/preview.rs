//! What a write or an edit would change in a file, for the user who is asked about it. Nothing is changed.
//!
//! An edit is tried out by the code that makes it, so that what is shown is what happens. Where the difference cannot
//! be made (the file is missing, huge, binary, not readable; the edit does not fit), the call's own texts are shown,
//! with the reason: a question is never silent about what is asked.

use std::io;
use std::path::Path;
use std::time::Duration;

use becket_agent::front::{LineKind, Preview, PreviewLine};
use becket_events::{EditArguments, Manner, Operation, WriteArguments};
use similar::{ChangeTag, TextDiff};

use crate::buffers::BufferText;
use crate::edit;
use crate::judged_path::{read_whole, reason, size};

/// The largest file, and the largest new content, of which a difference is made.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// How long the search for a small difference may take; after that a coarser one does.
const DIFF_TIME: Duration = Duration::from_millis(500);

/// How many lines that stay are shown around a change.
const AROUND: usize = 3;

/// What an operation would change in the file at `path`, or in the buffer of an editor that stands before it; `None` if
/// it changes no content of files.
pub(crate) fn of(operation: &Operation, path: &Path, manner: Manner, buffer: BufferText) -> Option<Preview> {
    let content = || match buffer {
        Ok(Some(text)) if text.len() as u64 <= MOST_BYTES => Ok(text.into_bytes()),
        Ok(_) => read_whole(path, MOST_BYTES),
        // What is on the disk may be older than what the editor has, so only that there is nothing counts.
        Err(why) => read_whole(path, MOST_BYTES).and_then(|_| Err(io::Error::other(why))),
    };
    match operation {
        Operation::Write(arguments) => Some(of_write(arguments, content)),
        Operation::Edit(arguments) => Some(of_edit(arguments, content(), manner)),
        _ => None,
    }
}

fn of_write(arguments: &WriteArguments, read: impl FnOnce() -> io::Result<Vec<u8>>) -> Preview {
    let content = &arguments.content;
    if content.len() as u64 > MOST_BYTES {
        let remark = format!(
            "the new content is large ({}); no difference is made",
            size(content.len() as u64)
        );
        return only_new(content, None, remark);
    }
    let bytes = match read() {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut preview = difference("", content);
            preview.remarks.push("a new file".into());
            return preview;
        }
        Err(error) => {
            let remark = format!("what is there now is not shown: {}", reason(&error));
            return only_new(content, None, remark);
        }
    };
    let before = hash(&bytes);
    match text_of(&bytes) {
        Some(text) => Preview {
            before: Some(before),
            ..difference(text, content)
        },
        None => {
            let remark = format!(
                "what is there now is binary ({}) and would be lost",
                size(bytes.len() as u64)
            );
            only_new(content, Some(before), remark)
        }
    }
}

fn of_edit(arguments: &EditArguments, content: io::Result<Vec<u8>>, manner: Manner) -> Preview {
    let bytes = match content {
        Ok(bytes) => bytes,
        Err(error) => {
            return pieces(
                arguments,
                None,
                format!("the file is not shown: {}", reason(&error)),
            );
        }
    };
    let before = Some(hash(&bytes));
    let Some(text) = text_of(&bytes) else {
        return pieces(arguments, before, "the file is not shown: it is binary".into());
    };
    match edit::outcome(text, arguments, manner) {
        Ok((old, new)) => Preview {
            before,
            ..difference(&old, &new)
        },
        Err(words) => pieces(arguments, before, format!("the edit will fail: {words}")),
    }
}

fn hash(bytes: &[u8]) -> [u8; 32] {
    *blake3::hash(bytes).as_bytes()
}

/// The text of a file, unless it is binary.
fn text_of(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'))
}

fn line(kind: LineKind, text: &str) -> PreviewLine {
    let text = text.strip_suffix('\n').unwrap_or(text).to_owned();
    PreviewLine { kind, text }
}

/// The new content alone.
fn only_new(content: &str, before: Option<[u8; 32]>, remark: String) -> Preview {
    let lines: Vec<PreviewLine> = content.lines().map(|text| line(LineKind::Added, text)).collect();
    Preview {
        added: lines.len(),
        removed: None,
        lines,
        remarks: vec![remark],
        before,
    }
}

/// The texts of an edit as they were given, without the file.
fn pieces(arguments: &EditArguments, before: Option<[u8; 32]>, remark: String) -> Preview {
    let mut lines = Vec::new();
    let mut add = |kind, text: &str| lines.extend(text.lines().map(|text| line(kind, text)));
    for (index, edit) in arguments.edits.iter().enumerate() {
        let every = if edit.all { ", every place" } else { "" };
        add(LineKind::Place, &format!("replacement {}{every}", index + 1));
        add(LineKind::Removed, &edit.old_text);
        add(LineKind::Added, &edit.new_text);
    }
    for edit in &arguments.lines {
        let place = match edit.insert {
            Some(_) => format!("at line {}", edit.start),
            None => format!("in place of lines {} to {}", edit.start, edit.end),
        };
        add(LineKind::Place, &place);
        add(LineKind::Removed, edit.expected.as_deref().unwrap_or_default());
        add(LineKind::Added, &edit.text);
    }
    let count = |kind| lines.iter().filter(|line| line.kind == kind).count();
    Preview {
        added: count(LineKind::Added),
        removed: Some(count(LineKind::Removed)),
        remarks: vec![remark],
        before,
        lines,
    }
}

/// The difference between two texts.
fn difference(before: &str, after: &str) -> Preview {
    // A carriage return alone ends no line, as in git.
    let before: Vec<&str> = before.split_inclusive('\n').collect();
    let after: Vec<&str> = after.split_inclusive('\n').collect();
    let mut preview = Preview {
        removed: Some(0),
        ..Preview::default()
    };
    let diff = TextDiff::configure()
        .timeout(DIFF_TIME)
        .newline_terminated(true)
        .diff_slices(&before, &after);
    for hunk in diff.unified_diff().context_radius(AROUND).iter_hunks() {
        preview
            .lines
            .push(line(LineKind::Place, &hunk.header().to_string()));
        for change in hunk.iter_changes() {
            let kind = match change.tag() {
                ChangeTag::Equal => LineKind::Kept,
                ChangeTag::Delete => LineKind::Removed,
                ChangeTag::Insert => LineKind::Added,
            };
            preview.lines.push(line(kind, change.value()));
            if change.missing_newline() {
                preview.lines.push(line(LineKind::Place, "(no line end here)"));
            }
        }
    }
    let count = |kind| preview.lines.iter().filter(|line| line.kind == kind).count();
    (preview.added, preview.removed) = (count(LineKind::Added), Some(count(LineKind::Removed)));
    if preview.lines.is_empty() {
        preview.remarks.push("nothing would change".into());
    }
    preview
}

#[cfg(test)]
mod tests {
    use becket_events::Replacement;
    use std::os::unix::fs::symlink;

    use super::*;

    fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        (folder, path)
    }

    fn write(path: &Path, content: &str) -> Preview {
        let arguments = WriteArguments {
            path: "file".into(),
            content: content.into(),
        };
        of(&Operation::Write(arguments), path, Manner::default(), Ok(None)).unwrap()
    }

    fn edit(path: &Path, old: &str, new: &str) -> Preview {
        let arguments = EditArguments {
            path: "file".into(),
            edits: vec![Replacement {
                old_text: old.into(),
                new_text: new.into(),
                first: false,
                all: false,
            }],
            lines: Vec::new(),
        };
        of(&Operation::Edit(arguments), path, Manner::default(), Ok(None)).unwrap()
    }

    fn shown(preview: &Preview) -> Vec<String> {
        let sign = |kind| match kind {
            LineKind::Added => '+',
            LineKind::Removed => '-',
            LineKind::Kept => ' ',
            LineKind::Place => '@',
        };
        let lines = preview.lines.iter();
        lines
            .map(|line| format!("{}{}", sign(line.kind), line.text))
            .collect()
    }

    #[test]
    fn an_edit_shows_its_lines_with_those_around_and_changes_nothing() {
        let (_guard, path) = folder();
        let file = path.join("file");
        std::fs::write(&file, "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n").unwrap();
        let preview = edit(&file, "5\n", "five\nfive and a half\n");
        assert_eq!((preview.added, preview.removed), (2, Some(1)));
        let wanted = [
            "@@@ -2,5 +2,6 @@",
            " 2",
            " 3",
            " 4",
            "-5",
            "+five",
            "+five and a half",
            " 6",
        ];
        assert_eq!(shown(&preview), wanted);
        assert!(std::fs::read(&file).unwrap().ends_with(b"5\r\n6\r\n"));
    }

    #[test]
    fn a_write_shows_what_it_replaces() {
        let (_guard, path) = folder();
        let file = path.join("file");
        let new = write(&file, "one\ntwo");
        assert_eq!((new.added, new.removed, new.before), (2, Some(0), None));
        assert_eq!(new.remarks, ["a new file"]);
        std::fs::write(&file, "one\ntwo\n").unwrap();
        let other = write(&file, "one\ntwo");
        assert_eq!(
            shown(&other),
            ["@@@ -1,2 +1,2 @@", " one", "-two", "+two", "@(no line end here)"]
        );
        let same = write(&file, "one\ntwo\n");
        assert_eq!(
            (same.added, same.remarks),
            (0, vec!["nothing would change".to_owned()])
        );
        assert_eq!(same.before, other.before);
        std::fs::write(&file, "other\n").unwrap();
        assert_ne!(write(&file, "one\n").before, other.before);
    }

    #[test]
    fn what_cannot_be_compared_shows_the_call_itself_with_the_reason() {
        let (_guard, path) = folder();
        let file = path.join("file");
        let missing = edit(&file, "a\nb", "c");
        assert_eq!(missing.remarks, ["the file is not shown: it does not exist"]);
        assert_eq!(shown(&missing), ["@replacement 1", "-a", "-b", "+c"]);
        std::fs::write(&file, "text\n").unwrap();
        assert!(edit(&file, "absent", "x").remarks[0].contains("does not occur"));
        for binary in [&b"\xff\xfe"[..], b"a\0b"] {
            std::fs::write(&file, binary).unwrap();
            let over = write(&file, "text\n");
            assert_eq!((over.added, over.removed), (1, None));
            assert!(over.remarks[0].contains("is binary"), "{:?}", over.remarks);
            assert!(edit(&file, "a", "b").remarks[0].contains("is binary"));
        }
        std::fs::write(&file, vec![b'a'; MOST_BYTES as usize + 1]).unwrap();
        assert!(write(&file, "x").remarks[0].contains("it is larger than 4.0 MiB"));
        assert!(edit(&file, "a", "b").remarks[0].contains("it is larger than"));
        assert!(write(&path, "x").remarks[0].contains("it is a directory"));
        let large = "line\n".repeat(MOST_BYTES as usize / 5 + 1);
        assert!(write(&path.join("new"), &large).remarks[0].contains("is large"));
        symlink("file", path.join("link")).unwrap();
        assert!(write(&path.join("link"), "x").remarks[0].contains("a link replaced it"));
    }
}
