//! Listing a directory.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use becket_agent::IgnoreFiles;
use becket_agent::tool::ToolOutput;
use becket_agent::vfs::VfsPath;
use becket_events::{Entry, EntryKind, Finding, ListArguments, Part};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use serde_json::json;

use crate::answer::OperationAnswer;
use crate::judged_path::{open_folder, reason, size};

/// How many entries are shown by default.
const USUAL_ENTRIES: u64 = 500;

/// The most entries that are shown.
const MOST_ENTRIES: u64 = 20_000;

/// The most levels that are shown.
const MOST_LEVELS: u64 = 32;

/// Lists the directory at `path`, which is the judged form of what the arguments name.
pub(crate) fn run(arguments: &ListArguments, path: &Path) -> OperationAnswer {
    let shown = arguments.path.as_deref().unwrap_or(".");
    let address = VfsPath::is_meant_by(shown);
    let mut reader = Reader {
        tells_links: !address,
        hidden: arguments.hidden.unwrap_or(true),
        ignored: (arguments.skip_ignored == Some(true) && !address).then(|| IgnoreFiles::around(path)),
        most: arguments.limit.unwrap_or(USUAL_ENTRIES).clamp(1, MOST_ENTRIES) as usize,
        shown: 0,
        left_out: 0,
        unopened: 0,
    };
    let depth = arguments.depth.unwrap_or(1).clamp(1, MOST_LEVELS);
    match open_folder(path).and_then(|folder| reader.entries(&folder, path, depth)) {
        Ok(entries) if address => listing(shown.to_owned(), entries, &reader),
        Ok(entries) => listing(path.display().to_string(), entries, &reader),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory && path.is_file() => {
            let words = format!("Cannot list {shown}: it is a file. Read it instead.");
            OperationAnswer::refused_by_system(words, &error, path)
        }
        Err(error) => {
            let words = format!("Cannot list {shown}: {}.", reason(&error));
            OperationAnswer::refused_by_system(words, &error, path)
        }
    }
}

/// Reads directories until enough is shown.
struct Reader {
    /// Whether links are shown with their targets. In the virtual file system, links must not reveal the folders behind
    /// it.
    tells_links: bool,
    hidden: bool,
    /// The ignore files, which decide what is left out.
    ignored: Option<IgnoreFiles>,
    /// How many entries are shown at most.
    most: usize,
    shown: usize,
    left_out: usize,
    /// How many directories were not read, because enough was shown.
    unopened: usize,
}

impl Reader {
    fn notice(&self) -> Option<String> {
        match (self.left_out, self.unopened) {
            (0, 0) => None,
            (more, 0) => Some(format!("[… {more} more entries …]")),
            (more, unopened) => Some(format!(
                "[… {more} more entries, and {unopened} directories that were not looked into …]"
            )),
        }
    }
}

impl Reader {
    /// The entries by name, each directory with its own down to `depth`. Links are not followed.
    fn entries(&mut self, folder: &OwnedFd, path: &Path, depth: u64) -> io::Result<Vec<Entry>> {
        let mut names: Vec<Vec<u8>> = Vec::new();
        for entry in Dir::read_from(folder)? {
            let name = entry?.file_name().to_bytes().to_owned();
            let wanted = self.hidden || !name.starts_with(b".");
            if wanted && name != b"." && name != b".." && !self.leaves_out(folder, path, &name) {
                names.push(name);
            }
        }
        names.sort();
        // The entries of this directory come before those of its subdirectories, so that large ones do not hide them.
        let room = self.most - self.shown;
        self.left_out += names.len().saturating_sub(room);
        names.truncate(room);
        self.shown += names.len();
        Ok(names
            .iter()
            .map(|name| self.entry(folder, path, name, depth))
            .collect())
    }

    /// Whether the project's ignore files leave an entry out.
    fn leaves_out(&self, folder: &OwnedFd, path: &Path, name: &[u8]) -> bool {
        self.ignored.as_ref().is_some_and(|ignored| {
            let is_folder = || kind_of(folder, name) == EntryKind::Directory;
            name == b".git" || ignored.leave_out(&path.join(OsStr::from_bytes(name)), is_folder())
        })
    }

    fn entry(&mut self, folder: &OwnedFd, path: &Path, name: &[u8], depth: u64) -> Entry {
        let kind = match kind_of(folder, name) {
            EntryKind::Link(_) if !self.tells_links => EntryKind::Link(None),
            kind => kind,
        };
        let entries = match kind {
            EntryKind::Directory if depth > 1 && self.shown >= self.most => {
                self.unopened += 1;
                Vec::new()
            }
            EntryKind::Directory if depth > 1 => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                // A directory that may not be read or is gone by now is shown without its entries.
                rustix::fs::openat(folder, name, flags, Mode::empty())
                    .map_err(io::Error::from)
                    .and_then(|folder| self.entries(&folder, &path.join(OsStr::from_bytes(name)), depth - 1))
                    .unwrap_or_default()
            }
            _ => Vec::new(),
        };
        Entry {
            name: String::from_utf8_lossy(name).into_owned(),
            kind,
            entries,
        }
    }
}

fn kind_of(folder: &OwnedFd, name: &[u8]) -> EntryKind {
    let Ok(stat) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
        return EntryKind::Gone;
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => EntryKind::Directory,
        FileType::RegularFile => EntryKind::File(stat.st_size as u64),
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(folder, name, Vec::new());
            EntryKind::Link(target.ok().map(|target| target.to_string_lossy().into_owned()))
        }
        _ => EntryKind::Special,
    }
}

fn listing(root: String, entries: Vec<Entry>, reader: &Reader) -> OperationAnswer {
    let mut lines = Vec::new();
    own_words(&entries, "", &mut lines);
    let notice = reader.notice();
    if entries.is_empty() {
        lines.push("[The directory is empty.]".to_owned());
    }
    lines.extend(notice.clone());
    let count = reader.shown + reader.left_out;
    OperationAnswer {
        output: ToolOutput {
            content: vec![Part::text(lines.join("\n"))],
            is_error: false,
            details: Some(json!({"entries": count, "left_out": reader.left_out})),
            ends_run: false,
        },
        finding: Some(Finding::List {
            root,
            entries,
            notice,
        }),
    }
}

fn own_words(entries: &[Entry], indent: &str, lines: &mut Vec<String>) {
    for Entry { name, kind, entries } in entries {
        let told = match kind {
            EntryKind::Directory => format!("{name}/"),
            EntryKind::File(bytes) => format!("{name} ({})", size(*bytes)),
            EntryKind::Link(Some(target)) => format!("{name} -> {target}"),
            EntryKind::Link(None) => format!("{name} (a link)"),
            EntryKind::Special => format!("{name} (special)"),
            EntryKind::Gone => format!("{name} (gone)"),
        };
        lines.push(format!("{indent}{told}"));
        own_words(entries, &format!("{indent}  "), lines);
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
                depth: None,
                hidden: None,
                skip_ignored: None,
                limit: None,
            },
            path,
        )
        .output;
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
        assert!(say("link").0.contains("a link replaced it"));
    }

    #[test]
    fn levels_are_shown_down_to_the_depth_and_links_are_not_followed() {
        let (_guard, path) = folder();
        std::fs::create_dir_all(path.join("a/b/c")).unwrap();
        std::fs::write(path.join("a/.dot"), "").unwrap();
        std::fs::write(path.join("a/b/deep"), "").unwrap();
        symlink(path.join("a"), path.join("link")).unwrap();
        let show = |depth, hidden| {
            let arguments = ListArguments {
                path: None,
                depth: Some(depth),
                hidden,
                skip_ignored: None,
                limit: None,
            };
            becket_events::text_of(&run(&arguments, &path).output.content)
        };
        let link = format!("link -> {}/a", path.display());
        assert_eq!(show(0, None), format!("a/\n{link}"));
        assert_eq!(show(2, None), format!("a/\n  .dot (0 bytes)\n  b/\n{link}"));
        assert_eq!(
            show(3, Some(false)),
            format!("a/\n  b/\n    c/\n    deep (0 bytes)\n{link}")
        );
    }

    #[test]
    fn many_entries_in_depth_are_bounded() {
        let (_guard, path) = folder();
        for outer in 0..20 {
            for inner in 0..40 {
                std::fs::create_dir_all(path.join(format!("{outer:02}/{inner:02}"))).unwrap();
            }
        }
        let arguments = ListArguments {
            path: None,
            depth: Some(u64::MAX),
            hidden: None,
            skip_ignored: None,
            limit: None,
        };
        let answer = run(&arguments, &path);
        let text = becket_events::text_of(&answer.output.content);
        assert_eq!(text.lines().count(), USUAL_ENTRIES as usize + 1);
        assert!(
            text.ends_with("8 directories that were not looked into …]"),
            "{text}"
        );
        let wanted = ListArguments {
            limit: Some(USUAL_ENTRIES * 2),
            ..arguments
        };
        let text = becket_events::text_of(&run(&wanted, &path).output.content);
        assert_eq!(text.lines().count(), 20 + 20 * 40, "whoever wants more gets it");
    }
}
