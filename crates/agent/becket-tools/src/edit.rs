//! Replacing exact pieces of text, or lines by their numbers, in a file.
//!
//! All edits are looked up in the file as it is, so their order does not matter. A file whose lines end in CRLF is
//! edited as if they ended in LF, because that is how models see and write text, and gets its CRLF back.
//!
//! A text that is not there, or a line that is not there or does not hold what was expected, refuses the whole edit:
//! half of an edit is worse than none.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use becket_agent::tool::ToolOutput;
use becket_events::{Beside, EditArguments, EditFault, LineEdit, Manner, Part, Replacement, Why};
use serde_json::json;
use similar::TextDiff;

use crate::answer::OperationAnswer;
use crate::judged_path::{LinkedFile, read_whole, reason, replace_file};
use crate::occurrences::occurrences;
use crate::typography;

/// The largest file that is edited.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The most lines of the diff that are shown.
const MOST_DIFF_LINES: usize = 120;

/// How many lines around a change the model sees.
const AROUND: usize = 3;

/// How many lines around a change the data of the result has, for hooks and extensions.
const AROUND_IN_DETAILS: usize = 4;

/// How long the search for a small diff may take; after that a coarser one does.
const DIFF_TIME: Duration = Duration::from_millis(500);

const BOM: char = '\u{FEFF}';

/// Edits the file at `path`, which is the judged form of what the arguments name; `judged` says which hard links it
/// had.
pub(crate) fn run(
    arguments: &EditArguments,
    (path, judged): (&Path, Option<LinkedFile>),
    manner: Manner,
) -> OperationAnswer {
    let made = planned_on_disk(path, arguments, manner).and_then(|(text, output)| {
        replace_file(path, text.as_bytes(), judged)?;
        Ok(output)
    });
    match made {
        Ok(output) => output.into(),
        Err(problem) => refused(arguments, path, problem),
    }
}

/// The answer that an edit was not made.
pub(crate) fn refused(arguments: &EditArguments, path: &Path, problem: Problem) -> OperationAnswer {
    let cannot = |words: &str| format!("Cannot edit {}: {words}", arguments.path);
    match problem {
        Problem::System(error) => {
            OperationAnswer::refused_by_system(cannot(&format!("{}.", reason(&error))), &error, path)
        }
        Problem::Told(words, why) => OperationAnswer::failed(cannot(&words), why),
    }
}

/// Why nothing was changed.
#[derive(Debug)]
pub(crate) enum Problem {
    System(io::Error),
    Told(String, Why),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl From<&str> for Problem {
    fn from(words: &str) -> Self {
        Self::Told(words.to_owned(), Why::Other)
    }
}

/// The new text of the file at `path`, and the answer if it gets that.
pub(crate) fn planned_on_disk(
    path: &Path,
    arguments: &EditArguments,
    manner: Manner,
) -> Result<(String, ToolOutput), Problem> {
    let bytes = read_whole(path, MOST_BYTES)?;
    let content = String::from_utf8(bytes)
        .map_err(|_| "it is not UTF-8 text. Change it with a command that understands its encoding.")?;
    planned(&content, arguments, manner)
}

/// The new text of a file that holds `content`, and the answer if it gets that.
pub(crate) fn planned(
    content: &str,
    arguments: &EditArguments,
    manner: Manner,
) -> Result<(String, ToolOutput), Problem> {
    let (style, before, after) = made(content, arguments, manner)?;
    let diff = short_diff(&before, &after, AROUND);
    let replacements = arguments.edits.len() + arguments.lines.len();
    let count = match (replacements, arguments.lines.len()) {
        (1, 0) => "1 replacement".to_owned(),
        (1, _) => "1 change of lines".to_owned(),
        (count, 0) => format!("{count} replacements"),
        (count, _) => format!("{count} changes"),
    };
    let output = ToolOutput {
        content: vec![Part::text(format!(
            "Edited {} ({count}).\n{diff}",
            arguments.path
        ))],
        is_error: false,
        details: Some(json!({
            "replacements": replacements,
            "diff": short_diff(&before, &after, AROUND_IN_DETAILS),
            "lines_before": before.lines().count(),
            "lines_after": after.lines().count(),
            "first_changed_line": first_change(&before, &after),
        })),
        ends_run: false,
    };
    Ok((style.dressed(&after), output))
}

/// The text of a file before and after all edits, with the line ends that models see, and how the file encodes it.
fn made(
    content: &str,
    arguments: &EditArguments,
    manner: Manner,
) -> Result<(Style, String, String), Problem> {
    let style = Style::of(content);
    let before = style.plain(content);
    let after = changed(&before, arguments, style, manner)?;
    Ok((style, before, after))
}

/// The text of a file before and after all edits, or why they cannot be made.
pub(crate) fn outcome(
    content: &str,
    arguments: &EditArguments,
    manner: Manner,
) -> Result<(String, String), String> {
    match made(content, arguments, manner) {
        Ok((_, before, after)) => Ok((before, after)),
        Err(Problem::Told(words, _)) => Err(words),
        Err(Problem::System(error)) => Err(reason(&error)),
    }
}

/// The content of a file with pieces replaced; the error says why they cannot be.
pub(crate) fn edited(bytes: Vec<u8>, edits: Vec<Replacement>, manner: Manner) -> Result<String, String> {
    let content = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text.")?;
    if edits.is_empty() {
        return Ok(content);
    }
    let arguments = EditArguments {
        path: String::new(),
        edits,
        lines: Vec::new(),
    };
    match made(&content, &arguments, manner) {
        Ok((style, _, after)) => Ok(style.dressed(&after)),
        Err(Problem::System(error)) => Err(reason(&error)),
        Err(Problem::Told(words, _)) => Err(words),
    }
}

/// The largest file that can be moved with changes.
pub(crate) const MOST_MOVED_BYTES: u64 = MOST_BYTES;

/// How a file encodes its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Style {
    bom: bool,
    /// Whether all lines end in CRLF. In a file with both kinds of line ends, each is taken as it is.
    crlf: bool,
}

impl Style {
    fn of(content: &str) -> Self {
        let ends = content.matches('\n').count();
        Self {
            bom: content.starts_with(BOM),
            crlf: ends > 0 && content.matches("\r\n").count() == ends,
        }
    }

    fn plain(self, content: &str) -> String {
        let content = content.strip_prefix(BOM).unwrap_or(content);
        self.plain_lines(content)
    }

    fn plain_lines(self, text: &str) -> String {
        if self.crlf {
            text.replace("\r\n", "\n")
        } else {
            text.to_owned()
        }
    }

    fn dressed(self, text: &str) -> String {
        let text = if self.crlf {
            text.replace('\n', "\r\n")
        } else {
            text.to_owned()
        };
        if self.bom { format!("{BOM}{text}") } else { text }
    }
}

/// A range of the text, the index of the edit that changes it, and the new text.
type Change = (Range<usize>, usize, String);

/// The text with all edits made.
fn changed(text: &str, arguments: &EditArguments, style: Style, manner: Manner) -> Result<String, Problem> {
    let (edits, lines) = (&arguments.edits, &arguments.lines);
    if edits.is_empty() && lines.is_empty() {
        return Err("no edits are given.".into());
    }
    // A model that counts lines sees the last one end like the others.
    let open_end = !lines.is_empty() && !text.is_empty() && !text.ends_with('\n');
    let text = if open_end {
        format!("{text}\n")
    } else {
        text.to_owned()
    };
    let starts = line_starts(&text);
    let of = edits.len() + lines.len();
    let why = |index, fault| Why::Edit { index, of, fault };
    let by_text = edits
        .iter()
        .map(|edit| replacements(&text, edit, style, manner).map_err(|(words, fault)| (words, Some(fault))));
    let by_line = lines
        .iter()
        .map(|edit| line_change(&text, &starts, edit, style).map_err(|words| (words, None)))
        .map(|change| change.map(|change| vec![change]));
    let mut changes: Vec<Change> = Vec::new();
    for (index, change) in by_text.chain(by_line).enumerate() {
        let made = change.map_err(|(words, fault)| {
            let words = format!("edit {} of {of}: {words} Nothing was changed.", index + 1);
            Problem::Told(words, fault.map_or(Why::Other, |fault| why(index, fault)))
        })?;
        changes.extend(made.into_iter().map(|(place, new)| (place, index, new)));
    }
    changes.sort_by_key(|(place, ..)| (place.start, place.end));
    for pair in changes.windows(2) {
        let [(one, first, _), (other, second, _)] = pair else {
            continue;
        };
        if one.end > other.start {
            let words = format!(
                "edits {} and {} overlap in line {}. Make one edit of them. Nothing was changed.",
                first.min(second) + 1,
                first.max(second) + 1,
                line_number(&text, other.start)
            );
            return Err(Problem::Told(words, why(*first, EditFault::Overlaps(*second))));
        }
    }
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for (place, _, new) in changes {
        result.push_str(&text[done..place.start]);
        result.push_str(&new);
        done = place.end;
    }
    result.push_str(&text[done..]);
    Ok(result)
}

/// What is wrong with an edit, as text and as data.
type Wrong = (String, EditFault);

/// The places that an edit replaces, each with the new text.
fn replacements(
    text: &str,
    edit: &Replacement,
    style: Style,
    manner: Manner,
) -> Result<Vec<(Range<usize>, String)>, Wrong> {
    let (old, new) = (
        style.plain_lines(&edit.old_text),
        style.plain_lines(&edit.new_text),
    );
    if old == new && !old.is_empty() && !manner.allows_same_text {
        let words = "the old and the new text are the same.".to_owned();
        return Err((words, EditFault::Same));
    }
    let place = place_of(text, &old, edit.first || edit.all).or_else(|wrong| {
        let forgives = manner.forgives_typography && wrong.1 == EditFault::Absent;
        match typography::places(text, &old).as_slice() {
            [only] if forgives => Ok(only.clone()),
            _ => Err(wrong),
        }
    })?;
    let every = edit.all.then(|| text.match_indices(&old)).into_iter().flatten();
    let every: Vec<_> = every
        .map(|(start, _)| (start..start + old.len(), new.clone()))
        .collect();
    Ok(match every.is_empty() {
        true => vec![(place, new)],
        false => every,
    })
}

/// The offset of each line, and of the end of the text.
fn line_starts(text: &str) -> Vec<usize> {
    let mut starts = vec![0];
    starts.extend(text.match_indices('\n').map(|(end, _)| end + 1));
    if starts.last() != Some(&text.len()) {
        starts.push(text.len());
    }
    starts
}

fn line_change(
    text: &str,
    starts: &[usize],
    edit: &LineEdit,
    style: Style,
) -> Result<(Range<usize>, String), String> {
    let LineEdit { start, end, .. } = *edit;
    let total = starts.len() as u64 - 1;
    if start == 0 || end < start {
        return Err(format!(
            "lines {start} to {end} are no range; lines are counted from 1, the last one is included."
        ));
    }
    if end > total {
        return Err(format!("there is no line {end}: the file has {total}."));
    }
    if edit.insert.is_some() && end != start {
        return Err("text is inserted beside one line: `end` must be the same as `start`.".to_owned());
    }
    let place = starts[start as usize - 1]..starts[end as usize];
    if let Some(expected) = &edit.expected {
        let there = text[place.clone()].trim_end_matches('\n');
        if style.plain_lines(expected).trim_end_matches('\n') != there {
            return Err(format!(
                "the lines are not what was expected. There stands:\n{there}\n"
            ));
        }
    }
    let mut new = style.plain_lines(&edit.text);
    if !new.is_empty() && !new.ends_with('\n') {
        new.push('\n');
    }
    match edit.insert {
        None => Ok((place, new)),
        Some(_) if new.is_empty() => Err("there is no text to insert.".to_owned()),
        Some(Beside::Before) => Ok((place.start..place.start, new)),
        Some(Beside::After) => Ok((place.end..place.end, new)),
    }
}

/// The only place of the old text.
fn place_of(text: &str, old: &str, first: bool) -> Result<Range<usize>, Wrong> {
    if old.is_empty() {
        let words = "the old text is empty. Name the text to replace, or write the whole file.";
        return Err((words.to_owned(), EditFault::Empty));
    }
    let starts = occurrences(text, old);
    match starts.as_slice() {
        [start] => Ok(*start..start + old.len()),
        [start, ..] if first => Ok(*start..start + old.len()),
        [] => {
            let words = format!("the old text does not occur.{}", hint(text, old));
            Err((words, EditFault::Absent))
        }
        several => {
            let lines: Vec<String> = several
                .iter()
                .take(10)
                .map(|start| line_number(text, *start).to_string())
                .collect();
            let more = if several.len() > 10 { " and more" } else { "" };
            let words = format!(
                "the old text occurs {} times (lines {}{more}). Add lines around it until it is unique.",
                several.len(),
                lines.join(", ")
            );
            Err((words, EditFault::Several(several.len())))
        }
    }
}

/// A hint at where the old text almost occurs, so that the next attempt can find it.
fn hint(text: &str, old: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<String> = old.trim().lines().map(without_space).collect();
    let Some(first) = wanted.first().filter(|line| !line.is_empty()) else {
        return String::new();
    };
    let bare: Vec<String> = lines.iter().map(|line| without_space(line)).collect();
    if let Some(start) = bare.windows(wanted.len()).position(|window| window == wanted) {
        let there = lines[start..start + wanted.len()].join("\n");
        let number = start + 1;
        return format!(" With other white space it stands in line {number}:\n{there}\nCopy it exactly.");
    }
    let near = bare.iter().position(|line| line == first);
    near.or_else(|| bare.iter().position(|line| line.contains(first.as_str())))
        .map(|index| {
            format!(
                " Its first line is like line {}: {}.",
                index + 1,
                lines[index].trim()
            )
        })
        .unwrap_or_else(|| " Read the file again: it may have changed.".to_owned())
}

fn without_space(line: &str) -> String {
    line.chars()
        .filter(|character| !character.is_whitespace())
        .collect()
}

fn line_number(text: &str, position: usize) -> usize {
    text[..position].matches('\n').count() + 1
}

/// The first line of the new text that differs.
fn first_change(before: &str, after: &str) -> usize {
    let same = before
        .lines()
        .zip(after.lines())
        .take_while(|(old, new)| old == new);
    same.count() + 1
}

/// The change as a unified diff with so many lines around each place, cut after some lines.
fn short_diff(before: &str, after: &str, around: usize) -> String {
    let diff = TextDiff::configure().timeout(DIFF_TIME).diff_lines(before, after);
    let whole = diff.unified_diff().context_radius(around).to_string();
    let lines = whole.lines().count();
    if lines <= MOST_DIFF_LINES {
        return whole;
    }
    let mut shown: String = whole
        .lines()
        .take(MOST_DIFF_LINES)
        .map(|line| format!("{line}\n"))
        .collect();
    shown.push_str(&format!(
        "[… {} more lines of the diff …]\n",
        lines - MOST_DIFF_LINES
    ));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Edits a file with that content; returns the new content, the words, and whether it failed.
    fn edit_file(content: impl AsRef<[u8]>, edits: &[(&str, &str)]) -> (Vec<u8>, String, bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("file");
        std::fs::write(&path, content).unwrap();
        let arguments = EditArguments {
            path: "file".to_owned(),
            edits: edits
                .iter()
                .map(|(old, new)| Replacement {
                    old_text: (*old).to_owned(),
                    new_text: (*new).to_owned(),
                    first: false,
                    all: false,
                })
                .collect(),
            lines: Vec::new(),
        };
        let output = run(&arguments, (&path, None), Manner::default()).output;
        let [Part::Text { text }] = output.content.as_slice() else {
            panic!("one text expected")
        };
        (std::fs::read(&path).unwrap(), text.clone(), output.is_error)
    }

    fn edited(content: &str, edits: &[(&str, &str)]) -> String {
        let (bytes, words, is_error) = edit_file(content, edits);
        assert!(!is_error, "{words}");
        String::from_utf8(bytes).unwrap()
    }

    fn refused(content: &str, edits: &[(&str, &str)]) -> String {
        let (bytes, words, is_error) = edit_file(content, edits);
        assert!(is_error, "{words}");
        assert_eq!(bytes, content.as_bytes(), "a refused edit changes nothing");
        words
    }

    #[test]
    fn all_edits_are_found_in_the_original() {
        assert_eq!(
            edited("one two three\n", &[("three", "one"), ("one", "3")]),
            "3 two one\n"
        );
        assert_eq!(edited("ab", &[("b", "y"), ("a", "x")]), "xy");
        assert_eq!(edited("ä\u{1F980}ö", &[("\u{1F980}", "")]), "äö");
        assert_eq!(edited("no end", &[("end", "end\n")]), "no end\n");
    }

    #[test]
    fn line_ends_and_bom_stay() {
        assert_eq!(
            edited("a\r\nb\r\nc\r\n", &[("a\nb", "x\ny\nz")]),
            "x\r\ny\r\nz\r\nc\r\n"
        );
        assert_eq!(edited("a\r\nb\r\n", &[("a\r\nb", "x\r\ny")]), "x\r\ny\r\n");
        assert_eq!(edited("\u{FEFF}a\nb\n", &[("a\n", "x\n")]), "\u{FEFF}x\nb\n");
        assert_eq!(edited("\u{FEFF}a\r\nb", &[("b", "c\nd")]), "\u{FEFF}a\r\nc\r\nd");
        assert_eq!(edited("a\nb\r\nc\n", &[("b\r\n", "x\n")]), "a\nx\nc\n");
    }

    #[test]
    fn the_change_is_shown_as_a_diff() {
        let (_, words, _) = edit_file("a\nb\nc\n", &[("b", "x")]);
        assert_eq!(
            words,
            "Edited file (1 replacement).\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"
        );
    }

    #[test]
    fn a_long_diff_is_cut() {
        let content: String = (0..500).map(|line| format!("line {line}\n")).collect();
        let new = content.replace("line", "row");
        let (_, words, is_error) = edit_file(&content, &[(&content, &new)]);
        assert!(!is_error);
        assert!(
            words.lines().count() < 130 && words.contains("more lines of the diff"),
            "{words}"
        );
    }

    #[test]
    fn a_text_that_occurs_more_than_once_is_refused_with_its_lines() {
        let words = refused("x\ny\nx\n", &[("y", "z"), ("x", "w")]);
        assert!(
            words.contains("edit 2 of 2: the old text occurs 2 times (lines 1, 3)"),
            "{words}"
        );
        let words = refused("aaa", &[("aa", "b")]);
        assert!(words.contains("occurs 2 times"), "{words}");
    }

    #[test]
    fn other_white_space_is_pointed_out() {
        let words = refused(
            "fn main() {\n\trun( 1 );\n}\n",
            &[("fn main() {\n    run(1);", "x")],
        );
        assert!(
            words.contains("With other white space it stands in line 1:\nfn main() {\n\trun( 1 );"),
            "{words}"
        );
        let words = refused("let a = 1;\nlet b = 2;\n", &[("let b = 2;\nlet c = 3;", "x")]);
        assert!(words.contains("like line 2: let b = 2;"), "{words}");
        let words = refused("something\n", &[("else", "x")]);
        assert!(words.contains("Read the file again"), "{words}");
    }

    #[test]
    fn overlapping_and_empty_edits_are_refused() {
        let words = refused("abcdef\n", &[("cde", "x"), ("abc", "y")]);
        assert!(words.contains("edits 1 and 2 overlap in line 1"), "{words}");
        assert!(refused("a\n", &[("", "x")]).contains("the old text is empty"));
        assert!(refused("a\n", &[("a", "a")]).contains("are the same"));
        assert!(refused("a\n", &[]).contains("no edits are given"));
        assert!(refused("", &[("a", "b")]).contains("does not occur"));
    }

    #[test]
    fn edits_side_by_side_do_not_overlap() {
        assert_eq!(edited("abcd", &[("ab", "1"), ("cd", "2")]), "12");
    }

    #[test]
    fn what_is_not_text_is_refused() {
        let (bytes, words, is_error) = edit_file(b"caf\xE9", &[("caf", "x")]);
        assert!(is_error && words.contains("not UTF-8"), "{words}");
        assert_eq!(bytes, b"caf\xE9");
    }

    #[test]
    fn a_missing_file_and_a_folder_say_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let arguments = |name: &str| EditArguments {
            path: name.to_owned(),
            edits: vec![Replacement {
                old_text: "a".into(),
                new_text: "b".into(),
                first: false,
                all: false,
            }],
            lines: Vec::new(),
        };
        let words = |output: ToolOutput| match output.content.into_iter().next() {
            Some(Part::Text { text }) => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            words(run(&arguments("gone"), (&path.join("gone"), None), Manner::default()).output),
            "Cannot edit gone: it does not exist."
        );
        assert_eq!(
            words(run(&arguments("."), (&path, None), Manner::default()).output),
            "Cannot edit .: it is a directory."
        );
    }

    proptest! {
        #[test]
        fn replacing_there_and_back_gives_the_same_file(
            head in "[a-c\r\n]{0,20}", tail in "[a-c\r\n]{0,20}", bom in any::<bool>(),
        ) {
            let content = format!("{}{head}<unique>{tail}", if bom { "\u{FEFF}" } else { "" });
            let there = edited(&content, &[("<unique>", "{other}")]);
            prop_assert_eq!(edited(&there, &[("{other}", "<unique>")]), content);
        }
    }

    fn line(start: u64, end: u64, text: &str) -> LineEdit {
        LineEdit {
            start,
            end,
            text: text.to_owned(),
            insert: None,
            expected: None,
        }
    }

    fn beside(side: Beside, start: u64, text: &str) -> LineEdit {
        LineEdit {
            insert: Some(side),
            ..line(start, start, text)
        }
    }

    fn with_lines(content: &str, lines: Vec<LineEdit>) -> Result<String, String> {
        let arguments = EditArguments {
            path: "file".to_owned(),
            edits: Vec::new(),
            lines,
        };
        let changed = changed(content, &arguments, Style::of(content), Manner::default());
        changed.map_err(|problem| match problem {
            Problem::System(error) => error.to_string(),
            Problem::Told(words, _) => words,
        })
    }

    #[test]
    fn lines_are_replaced_deleted_and_added_by_their_numbers() {
        use Beside::{After, Before};
        let cases = [
            ("1\n2\n3\n", vec![line(2, 2, "two")], "1\ntwo\n3\n"),
            ("1\n2\n3\n", vec![line(1, 2, "a\nb\nc\n")], "a\nb\nc\n3\n"),
            ("1\n2\n3\n", vec![line(2, 3, "")], "1\n"),
            ("1\n2\n3\n", vec![line(2, 2, "\n")], "1\n\n3\n"),
            ("1\n2", vec![line(2, 2, "x")], "1\nx\n"),
            ("1\n2", vec![beside(After, 2, "3")], "1\n2\n3\n"),
            ("1\n", vec![beside(Before, 1, "0")], "0\n1\n"),
            (
                "1\n2\n",
                vec![beside(After, 1, "x"), beside(Before, 2, "y")],
                "1\nx\ny\n2\n",
            ),
            (
                "1\n2\n",
                vec![line(1, 1, "a"), beside(Before, 1, "0"), line(2, 2, "b")],
                "0\na\nb\n",
            ),
        ];
        for (content, lines, expected) in cases {
            assert_eq!(
                with_lines(content, lines.clone()).as_deref(),
                Ok(expected),
                "{lines:?}"
            );
        }
    }

    #[test]
    fn lines_that_are_not_there_change_nothing() {
        let cases = [
            (vec![line(3, 3, "x")], "there is no line 3: the file has 2."),
            (vec![line(1, 9, "x")], "there is no line 9"),
            (vec![line(0, 1, "x")], "no range"),
            (vec![line(2, 1, "x")], "no range"),
            (vec![beside(Beside::After, 3, "x")], "there is no line 3"),
            (vec![beside(Beside::After, 1, "")], "no text to insert"),
            (
                vec![line(1, 2, "x"), beside(Beside::Before, 2, "y")],
                "edits 1 and 2 overlap in line 2",
            ),
            (
                vec![LineEdit {
                    expected: Some("one".to_owned()),
                    ..line(1, 1, "x")
                }],
                "There stands:\n1\n",
            ),
        ];
        for (lines, expected) in cases {
            let problem = with_lines("1\n2\n", lines.clone()).unwrap_err();
            assert!(problem.contains(expected), "{lines:?}: {problem}");
        }
        assert!(
            with_lines("", vec![line(1, 1, "x")])
                .unwrap_err()
                .contains("the file has 0")
        );
        let fits = LineEdit {
            expected: Some("1".to_owned()),
            ..line(1, 1, "x")
        };
        assert_eq!(
            with_lines("1\r\n2\r\n".replace('\r', "").as_str(), vec![fits]).unwrap(),
            "x\n2\n"
        );
    }

    #[test]
    fn the_first_of_several_places_or_every_place_can_be_meant() {
        let replaced = |text, edit: &Replacement| {
            let places = replacements(text, edit, Style::of(""), Manner::default())?;
            Ok::<_, Wrong>(
                places
                    .into_iter()
                    .map(|(place, _)| place.start)
                    .collect::<Vec<_>>(),
            )
        };
        let edit = |first, all| Replacement {
            old_text: "a".to_owned(),
            new_text: "b".to_owned(),
            first,
            all,
        };
        assert_eq!(replaced("x a a", &edit(true, false)).unwrap(), [2]);
        assert_eq!(replaced("x a a", &edit(false, true)).unwrap(), [2, 4]);
        let several = replaced("x a a", &edit(false, false)).unwrap_err();
        assert!(several.0.contains("2 times"));
        for edit in [edit(true, false), edit(false, true)] {
            let absent = replaced("x", &edit).unwrap_err();
            assert!(absent.0.contains("does not occur"));
        }
    }
}
