//! Listing a directory.

use std::io;
use std::path::Path;

use becket_agent::tool::ToolOutput;
use becket_events::{ListArguments, Part};
use rustix::fs::{AtFlags, Dir, FileType};
use serde_json::json;

use crate::judged_path::{open_folder, reason, size};

/// The most entries that are shown.
const MOST_ENTRIES: usize = 500;

/// Lists the directory at `path`, which is the judged form of what the arguments name.
pub(crate) fn run(arguments: &ListArguments, path: &Path) -> ToolOutput {
    let shown = arguments.path.as_deref().unwrap_or(".");
    match entries(path) {
        Ok(entries) => listing(&entries),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory && path.is_file() => {
            ToolOutput::error(format!("Cannot list {shown}: it is a file. Read it instead."))
        }
        Err(error) => ToolOutput::error(format!("Cannot list {shown}: {}.", reason(&error))),
    }
}

/// The entries as lines, sorted by name.
fn entries(path: &Path) -> io::Result<Vec<String>> {
    let folder = open_folder(path)?;
    let mut names: Vec<Vec<u8>> = Vec::new();
    for entry in Dir::read_from(&folder)? {
        let name = entry?.file_name().to_bytes().to_owned();
        if name != b"." && name != b".." {
            names.push(name);
        }
    }
    names.sort();
    Ok(names.iter().map(|name| line(&folder, name)).collect())
}

fn line(folder: &impl std::os::fd::AsFd, name: &[u8]) -> String {
    let shown = String::from_utf8_lossy(name);
    let Ok(stat) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
        return format!("{shown} (gone)");
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => format!("{shown}/"),
        FileType::RegularFile => format!("{shown} ({})", size(stat.st_size as u64)),
        FileType::Symlink => match rustix::fs::readlinkat(folder, name, Vec::new()) {
            Ok(target) => format!("{shown} -> {}", target.to_string_lossy()),
            Err(_) => format!("{shown} (a link)"),
        },
        _ => format!("{shown} (special)"),
    }
}

fn listing(entries: &[String]) -> ToolOutput {
    let left_out = entries.len().saturating_sub(MOST_ENTRIES);
    let mut text = entries[..entries.len() - left_out].join("\n");
    if entries.is_empty() {
        text.push_str("[The directory is empty.]");
    }
    if left_out > 0 {
        text.push_str(&format!("\n[… {left_out} more entries …]"));
    }
    ToolOutput {
        content: vec![Part::text(text)],
        is_error: false,
        details: Some(json!({"entries": entries.len(), "left_out": left_out})),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn list(path: &Path) -> (String, bool) {
        let output = run(
            &ListArguments {
                path: Some("here".to_owned()),
            },
            path,
        );
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
    fn entries_are_sorted_and_marked() {
        let (_guard, path) = folder();
        std::fs::create_dir(path.join("src")).unwrap();
        std::fs::write(path.join("b.txt"), "12345").unwrap();
        std::fs::write(path.join(".hidden"), "").unwrap();
        std::fs::write(path.join("ä"), vec![0; 2048]).unwrap();
        symlink("b.txt", path.join("a")).unwrap();
        let expected = ".hidden (0 bytes)\na -> b.txt\nb.txt (5 bytes)\nsrc/\nä (2.0 KiB)";
        assert_eq!(list(&path), (expected.to_owned(), false));
    }

    #[test]
    fn an_empty_directory_says_so() {
        let (_guard, path) = folder();
        assert_eq!(list(&path).0, "[The directory is empty.]");
    }

    #[test]
    fn a_large_directory_is_cut() {
        let (_guard, path) = folder();
        for number in 0..503 {
            std::fs::write(path.join(format!("{number:03}")), "").unwrap();
        }
        let (text, _) = list(&path);
        assert!(text.ends_with("499 (0 bytes)\n[… 3 more entries …]"), "{text}");
    }

    #[test]
    fn what_cannot_be_listed_says_why() {
        let (_guard, path) = folder();
        std::fs::write(path.join("file"), "").unwrap();
        symlink(&path, path.join("link")).unwrap();
        let say = |name: &str| list(&path.join(name));
        assert_eq!(
            say("file"),
            (
                "Cannot list here: it is a file. Read it instead.".to_owned(),
                true
            )
        );
        assert_eq!(
            say("gone"),
            ("Cannot list here: it does not exist.".to_owned(), true)
        );
        assert!(say("link").0.contains("a link took its place"));
    }
}
