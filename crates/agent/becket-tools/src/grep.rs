//! Searching the contents of files.

use std::io::Read;
use std::path::{Path, PathBuf};

use becket_agent::tool::{ToolOutput, ToolRun};
use becket_events::{Finding, GrepArguments, Part, Passage, PassageLine};
use regex::bytes::{Regex, RegexBuilder};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

use crate::answer::OperationAnswer;
use crate::judged_path::{open_file, reason};
use crate::place::{FileSource, broken_lines};
use crate::settings::ToolSettings;
use crate::walk::{self, Bounds, FileGlob, FileKind, Stopped};

/// How many matches are returned, by default and at most.
const USUAL_LIMIT: u64 = 100;
const MOST_MATCHES: u64 = 10_000;

/// The most bytes that one call returns.
const MOST_BYTES: usize = 50 * 1024;

/// The most characters of a line that are shown.
const MOST_LINE: usize = 500;

/// The largest file that is searched.
const MOST_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The most lines around a match.
const MOST_CONTEXT: u64 = 50;

/// Searches the file or directory at `path`, which is the judged form of what the arguments name. Each file of which
/// something would be shown is judged by itself.
pub(crate) async fn run<F: Future<Output = bool> + Send>(
    arguments: &GrepArguments,
    path: &Path,
    files: FileSource,
    may_show: impl Fn(PathBuf) -> F + Send,
    settings: &ToolSettings,
    run: ToolRun,
) -> OperationAnswer {
    let (arguments, path) = (arguments.clone(), path.to_owned());
    let bounds = Bounds::new(settings, &run, files);
    let (questions, mut asked) = mpsc::channel::<Question>(1);
    let mut search =
        tokio::task::spawn_blocking(move || grep(&arguments, &path, &bounds, &Judges(questions)));
    loop {
        tokio::select! {
            Some((file, answer)) = asked.recv() => {
                // A search that has ended meanwhile needs no answer.
                let _ = answer.send(may_show(file).await);
            }
            output = &mut search => {
                let broke_off = "The search broke off. Try it with a simpler pattern.";
                return output.unwrap_or_else(|_| ToolOutput::error(broke_off).into());
            }
        }
    }
}

/// A file that must be judged, and the channel for the answer.
type Question = (PathBuf, oneshot::Sender<bool>);

/// Asks whether a file may be shown, and waits for the answer.
struct Judges(mpsc::Sender<Question>);

impl Judges {
    fn allow(&self, file: &Path) -> bool {
        let (answer, answered) = oneshot::channel();
        self.0.blocking_send((file.to_owned(), answer)).is_ok() && answered.blocking_recv().unwrap_or(false)
    }
}

fn grep(arguments: &GrepArguments, path: &Path, bounds: &Bounds, judges: &Judges) -> OperationAnswer {
    let place = arguments.path.as_deref();
    let search = match Search::new(arguments, path, bounds.files) {
        Ok(search) => search,
        Err(problem) => return ToolOutput::error(format!("Cannot search: {problem}.")).into(),
    };
    let is_folder = match open_file(path).and_then(|file| file.metadata()) {
        Ok(metadata) => metadata.is_dir(),
        Err(error) => {
            let words = format!("Cannot search {}: {}.", place.unwrap_or("."), reason(&error));
            return OperationAnswer::refused_by_system(words, &error, path);
        }
    };
    let mut found = Found::default();
    let end = if is_folder {
        walk::files(path, bounds, |below, kind| {
            let wanted = search.wants(below);
            if wanted && kind == FileKind::Regular {
                let passage = Passage {
                    file: walk::shown(place, below),
                    below: below.display().to_string(),
                    lines: Vec::new(),
                };
                search.file(&path.join(below), &passage, &mut found, judges);
            }
            !found.more
        })
    } else {
        let name = path.file_name().unwrap_or_default();
        let passage = Passage {
            file: place.unwrap_or_default().to_owned(),
            below: name.to_string_lossy().into_owned(),
            lines: Vec::new(),
        };
        search.file(path, &passage, &mut found, judges);
        Ok(())
    };
    report(arguments, &search, found, end)
}

/// What to search for, and where.
struct Search {
    files: FileSource,
    regex: Regex,
    glob: Option<FileGlob>,
    exclude: Vec<FileGlob>,
    before: usize,
    after: usize,
    limit: u64,
}

/// The matches so far.
#[derive(Default)]
struct Found {
    passages: Vec<Passage>,
    /// How many bytes of lines are kept.
    bytes: usize,
    matches: u64,
    files: u64,
    too_large: u64,
    /// Whether there was more than what is kept.
    more: bool,
}

impl Search {
    fn new(arguments: &GrepArguments, root: &Path, files: FileSource) -> Result<Self, String> {
        let pattern = match arguments.literal {
            Some(true) => regex::escape(&arguments.pattern),
            _ => arguments.pattern.clone(),
        };
        let regex = RegexBuilder::new(&pattern)
            .case_insensitive(arguments.ignore_case == Some(true))
            .build()
            .map_err(|error| {
                format!(
                    "the regular expression is not valid: {error}. For plain text, say that it is literal"
                )
            })?;
        let glob = arguments
            .glob
            .as_deref()
            .map(|glob| FileGlob::new(glob, root, arguments.path.as_deref()))
            .transpose()?;
        let exclude = arguments.exclude.iter();
        let exclude =
            exclude.map(|glob| FileGlob::new(glob.trim_end_matches('/'), root, arguments.path.as_deref()));
        let exclude = exclude.collect::<Result<_, _>>()?;
        let around = |side: Option<u64>| side.or(arguments.context).unwrap_or(0).min(MOST_CONTEXT) as usize;
        Ok(Self {
            files,
            regex,
            glob,
            exclude,
            before: around(arguments.before),
            after: around(arguments.after),
            limit: arguments.limit.unwrap_or(USUAL_LIMIT).clamp(1, MOST_MATCHES),
        })
    }

    /// Whether a file below the searched directory is searched. A glob that excludes a folder excludes everything in
    /// it.
    fn wants(&self, below: &Path) -> bool {
        let is_excluded = |path: &Path| self.exclude.iter().any(|glob| glob.matches(path));
        let mut around = below.ancestors().filter(|path| !path.as_os_str().is_empty());
        self.glob.as_ref().is_none_or(|glob| glob.matches(below)) && !around.any(is_excluded)
    }

    /// Searches one file; `passage` is an empty passage with its names. A file that cannot be read or is no text is
    /// skipped.
    fn file(&self, path: &Path, passage: &Passage, found: &mut Found, judges: &Judges) {
        let Ok(file) = open_file(path) else { return };
        match file.metadata() {
            Ok(metadata) if !metadata.is_file() => return,
            Ok(metadata) if metadata.len() > MOST_FILE_BYTES => {
                found.too_large += 1;
                return;
            }
            Ok(_) => {}
            Err(_) => return,
        }
        let mut bytes = Vec::new();
        if file.take(MOST_FILE_BYTES).read_to_end(&mut bytes).is_err() {
            return;
        }
        match self.files {
            FileSource::Cache => bytes = broken_lines(&bytes),
            _ if is_binary(&bytes) => return,
            _ => {}
        }
        let lines: Vec<&[u8]> = lines_of(&bytes);
        let matching: Vec<usize> = (0..lines.len())
            .filter(|index| self.regex.is_match(lines[*index]))
            .collect();
        // Nothing tells that a file was left out: that it matches would be a piece of its contents.
        if !matching.is_empty() && judges.allow(path) {
            found.files += 1;
            self.show(&lines, &matching, passage, found);
        }
    }

    /// Adds the matches of one file with the lines around them; those that touch stand together.
    fn show(&self, lines: &[&[u8]], matching: &[usize], empty: &Passage, found: &mut Found) {
        let mut next = 0;
        for (count, index) in matching.iter().copied().enumerate() {
            if found.matches >= self.limit || found.bytes >= MOST_BYTES {
                found.more = true;
                return;
            }
            found.matches += 1;
            let start = index.saturating_sub(self.before).max(next);
            if count == 0 || start > next {
                found.passages.push(empty.clone());
            }
            // The lines after a match end where the next match begins; it shows the rest itself.
            let follower = matching.get(count + 1).copied().unwrap_or(lines.len());
            let end = (index + 1 + self.after).min(follower).min(lines.len());
            for (number, line) in lines.iter().enumerate().take(end).skip(start) {
                let line = PassageLine {
                    number: number as u64 + 1,
                    matches: number == index,
                    text: readable(line),
                };
                found.bytes += empty.file.len() + line.text.len();
                found
                    .passages
                    .last_mut()
                    .expect("a match begins a passage")
                    .lines
                    .push(line);
            }
            next = end;
        }
    }
}

fn report(
    arguments: &GrepArguments,
    search: &Search,
    found: Found,
    end: Result<(), Stopped>,
) -> OperationAnswer {
    let mut notices = Vec::new();
    if found.more {
        let limit = if found.matches >= search.limit {
            "as many as asked for"
        } else {
            "as many as fit"
        };
        notices.push(format!(
            "[Only the first {} matches are shown, {limit}.]",
            found.matches
        ));
    }
    if found.too_large > 0 {
        notices.push(format!(
            "[{} files were too large to be searched.]",
            found.too_large
        ));
    }
    if let Err(stopped) = end {
        notices.push(format!("[{}]", stopped.words()));
    }
    let mut text = own_words(search, &found.passages);
    if found.matches == 0 && end.is_ok() {
        text.push_str(&format!("[Nothing matches {}.]\n", arguments.pattern));
    }
    text.push_str(&notices.join("\n"));
    OperationAnswer {
        output: ToolOutput {
            content: vec![Part::text(text.trim_end_matches('\n'))],
            is_error: false,
            details: Some(json!({
                "matches": found.matches,
                "files": found.files,
                "complete": !found.more && end.is_ok(),
            })),
            ends_run: false,
        },
        finding: Some(Finding::Grep {
            passages: found.passages,
            notice: (!notices.is_empty()).then(|| notices.join("\n")),
        }),
    }
}

fn own_words(search: &Search, passages: &[Passage]) -> String {
    let between = if search.before + search.after > 0 {
        "--\n"
    } else {
        ""
    };
    let passages: Vec<String> = passages
        .iter()
        .map(|Passage { file, lines, .. }| {
            let line = |line: &PassageLine| {
                let mark = if line.matches { ':' } else { '-' };
                format!("{file}{mark}{}{mark} {}\n", line.number, line.text)
            };
            lines.iter().map(line).collect()
        })
        .collect();
    passages.join(between)
}

fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8 * 1024).any(|byte| *byte == 0)
}

/// The lines without their ends.
fn lines_of(bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = bytes
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .collect();
    if lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines
}

fn readable(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    match text.char_indices().nth(MOST_LINE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;
    use tokio_util::sync::CancellationToken;

    struct Room {
        _folder: tempfile::TempDir,
        path: PathBuf,
    }

    fn room(files: &[(&str, &str)]) -> Room {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        for (file, content) in files {
            std::fs::create_dir_all(path.join(file).parent().unwrap()).unwrap();
            std::fs::write(path.join(file), content).unwrap();
        }
        Room {
            _folder: folder,
            path,
        }
    }

    fn pattern(pattern: &str) -> GrepArguments {
        GrepArguments {
            pattern: pattern.to_owned(),
            path: None,
            glob: None,
            exclude: Vec::new(),
            ignore_case: None,
            literal: None,
            context: None,
            before: None,
            after: None,
            limit: None,
        }
    }

    impl Room {
        async fn call(&self, arguments: GrepArguments) -> (String, bool) {
            let path = match &arguments.path {
                None => self.path.clone(),
                Some(place) => self.path.join(place),
            };
            let tool_run = ToolRun {
                progress: mpsc::unbounded_channel().0,
                cancel: CancellationToken::new(),
                parent: None,
            };
            let output = run(
                &arguments,
                &path,
                FileSource::System,
                |_| async { true },
                &ToolSettings::default(),
                tool_run,
            )
            .await
            .output;
            match output.content.as_slice() {
                [Part::Text { text }] => (text.clone(), output.is_error),
                other => panic!("one text expected: {other:?}"),
            }
        }

        async fn grep(&self, arguments: GrepArguments) -> String {
            let (text, is_error) = self.call(arguments).await;
            assert!(!is_error, "{text}");
            text
        }
    }

    #[tokio::test]
    async fn matches_stand_with_file_and_line() {
        let room = room(&[
            ("b.txt", "x\nfoo\r\n"),
            ("a/c.txt", "foo bar\nfoo"),
            ("d.txt", "bar"),
        ]);
        assert_eq!(
            room.grep(pattern("^fo+")).await,
            "a/c.txt:1: foo bar\na/c.txt:2: foo\nb.txt:2: foo"
        );
        assert_eq!(room.grep(pattern("foo$")).await, "a/c.txt:2: foo\nb.txt:2: foo");
    }

    #[tokio::test]
    async fn one_file_can_be_searched_even_an_ignored_one() {
        let room = room(&[("a.log", "foo\n"), (".gitignore", "*.log\n")]);
        assert_eq!(room.grep(pattern("foo")).await, "[Nothing matches foo.]");
        let arguments = GrepArguments {
            path: Some("a.log".into()),
            ..pattern("foo")
        };
        assert_eq!(room.grep(arguments).await, "a.log:1: foo");
    }

    #[tokio::test]
    async fn case_plain_text_and_glob_are_options() {
        let room = room(&[("a.rs", "A.b\naxb\n"), ("b.txt", "a.b\n")]);
        let arguments = GrepArguments {
            literal: Some(true),
            ..pattern("a.b")
        };
        assert_eq!(room.grep(arguments.clone()).await, "b.txt:1: a.b");
        let arguments = GrepArguments {
            ignore_case: Some(true),
            ..arguments
        };
        assert_eq!(room.grep(arguments.clone()).await, "a.rs:1: A.b\nb.txt:1: a.b");
        let arguments = GrepArguments {
            glob: Some("*.rs".into()),
            ..arguments
        };
        assert_eq!(room.grep(arguments).await, "a.rs:1: A.b");
    }

    #[tokio::test]
    async fn context_is_merged_where_it_touches() {
        let room = room(&[("f", "1\nx\n3\nx\n5\n6\n7\n8\nx\n10\n")]);
        let arguments = GrepArguments {
            context: Some(1),
            ..pattern("x")
        };
        let expected = "f-1- 1\nf:2: x\nf-3- 3\nf:4: x\nf-5- 5\n--\nf-8- 8\nf:9: x\nf-10- 10";
        assert_eq!(room.grep(arguments).await, expected);
    }

    #[tokio::test]
    async fn files_with_context_are_kept_apart() {
        let room = room(&[("a", "x\n"), ("b", "x\n")]);
        let arguments = GrepArguments {
            context: Some(2),
            ..pattern("x")
        };
        assert_eq!(room.grep(arguments).await, "a:1: x\n--\nb:1: x");
    }

    #[tokio::test]
    async fn the_number_of_matches_is_limited_and_told() {
        let room = room(&[("a", "x\nx\nx\n")]);
        let arguments = GrepArguments {
            limit: Some(2),
            ..pattern("x")
        };
        assert_eq!(
            room.grep(arguments).await,
            "a:1: x\na:2: x\n[Only the first 2 matches are shown, as many as asked for.]"
        );
        let arguments = GrepArguments {
            limit: Some(3),
            ..pattern("x")
        };
        assert_eq!(room.grep(arguments).await, "a:1: x\na:2: x\na:3: x");
    }

    #[tokio::test]
    async fn a_flood_of_long_lines_is_bounded() {
        let line = format!("{}\n", "x".repeat(100_000));
        let room = room(&[("a", &line.repeat(300))]);
        let arguments = GrepArguments {
            limit: Some(5000),
            ..pattern("x")
        };
        let text = room.grep(arguments).await;
        assert!(
            text.len() < 60_000 && text.contains("as many as fit"),
            "{}",
            text.len()
        );
        assert!(text.lines().all(|line| line.chars().count() < 600));
    }

    #[tokio::test]
    async fn binary_files_and_links_are_passed_over() {
        let room = room(&[("a", "foo\0"), ("real/b", "foo\n")]);
        symlink(room.path.join("real/b"), room.path.join("link")).unwrap();
        assert_eq!(room.grep(pattern("foo")).await, "real/b:1: foo");
    }

    #[tokio::test]
    async fn other_encodings_are_searched_and_made_readable() {
        let room = room(&[]);
        std::fs::write(room.path.join("latin"), b"caf\xE9 foo\n").unwrap();
        std::fs::write(room.path.join("utf8"), "\u{1F980} foo\n").unwrap();
        assert_eq!(
            room.grep(pattern("foo")).await,
            "latin:1: caf\u{FFFD} foo\nutf8:1: \u{1F980} foo"
        );
    }

    #[tokio::test]
    async fn what_cannot_be_searched_says_why() {
        let room = room(&[]);
        let (text, is_error) = room.call(pattern("a(")).await;
        assert!(
            is_error && text.contains("regular expression is not valid"),
            "{text}"
        );
        let arguments = GrepArguments {
            path: Some("gone".into()),
            ..pattern("x")
        };
        assert_eq!(
            room.call(arguments).await,
            ("Cannot search gone: it does not exist.".to_owned(), true)
        );
        let arguments = GrepArguments {
            glob: Some("{".into()),
            ..pattern("x")
        };
        assert!(
            room.call(arguments)
                .await
                .0
                .contains("glob pattern `{` is not valid")
        );
    }

    #[tokio::test]
    async fn the_lines_before_and_after_are_told_apart() {
        let room = room(&[("f", "1\n2\nx\n4\n5\n")]);
        let arguments = GrepArguments {
            context: Some(2),
            before: Some(1),
            after: None,
            ..pattern("x")
        };
        assert_eq!(room.grep(arguments).await, "f-2- 2\nf:3: x\nf-4- 4\nf-5- 5");
        let arguments = GrepArguments {
            before: Some(0),
            after: Some(1),
            ..pattern("x")
        };
        assert_eq!(room.grep(arguments).await, "f:3: x\nf-4- 4");
    }
}
