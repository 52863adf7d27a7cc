//! Results of tools in pi's formats. Models that were trained with pi, and extensions that look for its phrases, find
//! them.
//!
//! becket caches outputs that are too long, whichever tool they come from, instead of writing them to a temporary file
//! as pi does. The address of a cached output can be read and searched like any file, and the file is removed when it
//! is old.

use becket_events::{
    EditFault, EntryKind, Finding, GrepArguments, Operation, OperationKind, Passage, ReadArguments,
    ReadLines, ReadStop, Tail, TailCut, Why,
};
use serde_json::{Value, json};

/// The largest number of bytes of a text, for messages.
const MOST_BYTES: u64 = 50 * 1024;

/// How many entries `ls` shows by default.
const USUAL_ENTRIES: u64 = 500;

/// How many files `find` shows by default.
const USUAL_FILES: u64 = 1000;

/// How many matches `grep` shows by default.
const USUAL_MATCHES: u64 = 100;

/// How many characters of a line `grep` shows.
const LONGEST_LINE: usize = 500;

/// The result of a command: both outputs, and its exit status if it failed.
pub fn bash(operation: &Operation, finding: &Finding) -> String {
    let Finding::Shell {
        stdout,
        exit_code,
        timed_out,
        ..
    } = finding
    else {
        return other(finding);
    };
    let (output, signal) = without_signal(stdout);
    let exit_code = exit_code.or(signal.map(|signal| 128 + signal));
    let status = match (timed_out, exit_code, operation) {
        (true, _, Operation::Shell(arguments)) if arguments.timeout_seconds.is_some() => {
            let seconds = arguments.timeout_seconds.unwrap_or_default();
            Some(format!("Command timed out after {seconds} seconds"))
        }
        (true, ..) => Some("Command timed out".to_owned()),
        (_, Some(0), _) => None,
        (_, Some(code), _) => Some(format!("Command exited with code {code}")),
        (_, None, _) => Some("Command aborted".to_owned()),
    };
    match (output, status) {
        ("", None) => "(no output)".to_owned(),
        (output, None) => output.to_owned(),
        ("", Some(status)) if exit_code.is_some() => format!("(no output)\n\n{status}"),
        ("", Some(status)) => status,
        (output, Some(status)) => format!("{output}\n\n{status}"),
    }
}

/// The output of a command without becket's note that a signal ended it, and the signal.
fn without_signal(output: &str) -> (&str, Option<i32>) {
    let note = output
        .strip_suffix(']')
        .and_then(|rest| rest.rsplit_once("[killed by signal "));
    match note.and_then(|(before, signal)| Some((before, signal.parse().ok()?))) {
        Some((before, signal)) => (before, Some(signal)),
        None => (output, None),
    }
}

/// The end of a long output, and the address of the whole.
pub fn tail(tail: &Tail<'_>) -> String {
    let Tail {
        text,
        first_line,
        lines,
        cut,
        address,
    } = tail;
    let shown = match cut {
        TailCut::Lines => format!("lines {first_line}-{lines} of {lines}"),
        TailCut::Bytes => format!(
            "lines {first_line}-{lines} of {lines} ({} limit)",
            size(MOST_BYTES)
        ),
        TailCut::Line => format!("last {} of line {lines}", size(text.len() as u64)),
    };
    format!(
        "{}\n\n[Showing {shown}. Full output: {address}]",
        text.trim_end_matches('\n')
    )
}

/// The result of reading: lines of a file, and where to continue.
pub fn read(operation: &Operation, finding: &Finding) -> String {
    let (Finding::Read { text, lines, notice }, Operation::Read(arguments)) = (finding, operation) else {
        return read_failure(operation, finding).unwrap_or_else(|| other(finding));
    };
    let hint = continuation_hint(lines, arguments);
    let text = text.strip_suffix('\n').filter(|_| hint.is_some()).unwrap_or(text);
    match (hint, notice) {
        (Some(words), _) if lines.stopped == Some(ReadStop::LongLine) => words,
        (Some(words), _) => format!("{text}\n\n{words}"),
        (None, Some(notice)) => format!("{text}\n\n{notice}"),
        (None, None) => text.to_owned(),
    }
}

fn read_failure(operation: &Operation, finding: &Finding) -> Option<String> {
    let Operation::Read(arguments) = operation else {
        return None;
    };
    match why(finding)? {
        Why::PastEnd(lines) => {
            let offset = arguments.offset.unwrap_or(1);
            Some(format!(
                "Offset {offset} is beyond end of file ({lines} lines total)"
            ))
        }
        Why::System { code: "EISDIR", .. } => Some(system("EISDIR", "read", None)),
        Why::System { code, path } => Some(system(code, "access", Some(path))),
        _ => None,
    }
}

/// Node's message for a failure of the system.
fn system(code: &str, call: &str, path: Option<&str>) -> String {
    let what = match code {
        "ENOENT" => "no such file or directory",
        "EACCES" => "permission denied",
        "EPERM" => "operation not permitted",
        "EISDIR" => "illegal operation on a directory",
        "ENOTDIR" => "not a directory",
        "EROFS" => "read-only file system",
        "ENAMETOOLONG" => "name too long",
        _ => "no space left on device",
    };
    let path = path.map(|path| format!(" '{path}'")).unwrap_or_default();
    format!("{code}: {what}, {call}{path}")
}

fn why(finding: &Finding) -> Option<&Why> {
    match finding {
        Finding::Failure { why, .. } => Some(why),
        _ => None,
    }
}

/// The failure of a search whose directory does not exist.
fn not_found(finding: &Finding) -> Option<String> {
    match why(finding)? {
        Why::System { code: "ENOENT", path } => Some(format!("Path not found: {path}")),
        Why::System {
            code: "ENOTDIR",
            path,
        } => Some(format!("Not a directory: {path}")),
        _ => None,
    }
}

/// The hint where to continue in a file that has more lines. For pi an end of the last line begins one more, which is
/// empty.
fn continuation_hint(lines: &ReadLines, arguments: &ReadArguments) -> Option<String> {
    let path = &arguments.path;
    let ReadLines { first, count, .. } = *lines;
    let is_ended = lines.is_last_ended == Some(true);
    let total = lines.total.map(|total| total + u64::from(is_ended));
    let only_empty_is_left = is_ended && count > 0 && arguments.limit == Some(count);
    let stopped = lines.stopped.or(only_empty_is_left.then_some(ReadStop::Asked));
    let (first, stopped) = (first?, stopped?);
    let (last, next) = (first + count.saturating_sub(1), first + count);
    let of = total.map_or_else(String::new, |total| format!(" of {total}"));
    Some(match (stopped, total) {
        (ReadStop::Asked, Some(total)) => {
            let remaining = total.saturating_sub(last);
            format!("[{remaining} more lines in file. Use offset={next} to continue.]")
        }
        (ReadStop::Asked | ReadStop::Lines, _) => {
            format!("[Showing lines {first}-{last}{of}. Use offset={next} to continue.]")
        }
        (ReadStop::Bytes, _) => {
            let limit = size(MOST_BYTES);
            format!("[Showing lines {first}-{last}{of} ({limit} limit). Use offset={next} to continue.]")
        }
        (ReadStop::LongLine, _) => format!(
            "[Line {first} exceeds {} limit. Use bash: sed -n '{first}p' {path} | head -c {MOST_BYTES}]",
            size(MOST_BYTES)
        ),
    })
}

/// The result of writing a file.
pub fn write(operation: &Operation, finding: &Finding) -> String {
    match (operation, finding) {
        (Operation::Write(arguments), Finding::Done(_)) => {
            let length = arguments.content.encode_utf16().count();
            format!("Successfully wrote {length} bytes to {}", arguments.path)
        }
        _ => match why(finding) {
            Some(Why::System { code, path }) => system(code, "open", Some(path)),
            _ => other(finding),
        },
    }
}

/// The result of editing a file.
pub fn edit(operation: &Operation, finding: &Finding) -> String {
    match (operation, finding) {
        (Operation::Edit(arguments), Finding::Done(_)) => {
            let blocks = arguments.edits.len() + arguments.lines.len();
            format!("Successfully replaced {blocks} block(s) in {}.", arguments.path)
        }
        (Operation::Edit(arguments), Finding::Failure { why, words }) => {
            edit_failure(&arguments.path, why).unwrap_or_else(|| words.clone())
        }
        _ => other(finding),
    }
}

fn edit_failure(path: &str, why: &Why) -> Option<String> {
    let (index, fault, only) = match why {
        Why::System { code, .. } => return Some(format!("Could not edit file: {path}. Error code: {code}.")),
        Why::Edit { index, of, fault } => (index, fault, *of == 1),
        _ => return None,
    };
    Some(match (fault, only) {
        (EditFault::Absent, true) => format!(
            "Could not find the exact text in {path}. The old text must match exactly including all \
             whitespace and newlines."
        ),
        (EditFault::Absent, false) => format!(
            "Could not find edits[{index}] in {path}. The oldText must match exactly including all whitespace \
             and newlines."
        ),
        (EditFault::Several(count), true) => format!(
            "Found {count} occurrences of the text in {path}. The text must be unique. Please provide more \
             context to make it unique."
        ),
        (EditFault::Several(count), false) => format!(
            "Found {count} occurrences of edits[{index}] in {path}. Each oldText must be unique. Please provide \
             more context to make it unique."
        ),
        (EditFault::Empty, true) => format!("oldText must not be empty in {path}."),
        (EditFault::Empty, false) => format!("edits[{index}].oldText must not be empty in {path}."),
        (EditFault::Same, true) => format!(
            "No changes made to {path}. The replacement produced identical content. This might indicate an issue \
             with special characters or the text not existing as expected."
        ),
        (EditFault::Same, false) => {
            format!("No changes made to {path}. The replacements produced identical content.")
        }
        (EditFault::Overlaps(other), _) => format!(
            "edits[{index}] and edits[{other}] overlap in {path}. Merge them into one edit or target disjoint \
             regions."
        ),
    })
}

/// The data of a result that extensions read besides its text. becket's own data becomes pi's; a failure has at least
/// an empty object.
pub fn details(operation: Option<OperationKind>, details: Option<&Value>, failed: bool) -> Option<Value> {
    let details = details.filter(|details| !details.is_null());
    let shown = match (operation, details) {
        (Some(operation), Some(own)) if is_own(operation, own) => of_operation(operation, own),
        (_, details) => details.cloned(),
    };
    // Only pi 1.5 takes the end by a signal for a failure, and there it has no data.
    let by_signal = details.is_some_and(|own| own["exit_code"].as_i64() > Some(128));
    shown.or_else(|| (failed && !by_signal).then(|| json!({})))
}

/// Whether becket wrote the data of a result, and not an extension whose tool is in that one's place.
fn is_own(operation: OperationKind, details: &Value) -> bool {
    let names: &[&str] = match operation {
        OperationKind::Shell => &["left_out_bytes"],
        OperationKind::Read => &["cut_by", "media_type"],
        OperationKind::Write => &["created"],
        OperationKind::Edit => &["first_changed_line"],
        OperationKind::Grep | OperationKind::Find => &["complete"],
        OperationKind::List => &["left_out"],
        _ => &[],
    };
    names.iter().any(|name| details.get(name).is_some())
}

/// The data of one of becket's own results, as pi has it.
fn of_operation(operation: OperationKind, own: &Value) -> Option<Value> {
    match operation {
        OperationKind::Edit => own["diff"].as_str().map(|diff| {
            json!({
                "diff": numbered(diff, own),
                "firstChangedLine": own["first_changed_line"],
            })
        }),
        OperationKind::Read => own["cut_by"].as_str().map(|limit| {
            json!({"truncation": {
                "truncated": true,
                "truncatedBy": limit,
                "totalLines": own["total_lines"],
                "outputLines": own["lines"],
                "maxLines": 2000,
                "maxBytes": MOST_BYTES,
            }})
        }),
        OperationKind::Grep if own["complete"] == false => Some(json!({"matchLimitReached": own["matches"]})),
        OperationKind::Find if own["complete"] == false => Some(json!({"resultLimitReached": own["files"]})),
        OperationKind::List if own["left_out"].as_u64() > Some(0) => {
            Some(json!({"entryLimitReached": own["entries"]}))
        }
        _ => None,
    }
}

/// The unified diff of a result with line numbers in place of its headings, all as wide as the last of the file.
fn numbered(diff: &str, own: &Value) -> String {
    let beginnings = |heading: &str| -> Option<(usize, usize)> {
        let mut ranges = heading.strip_prefix("@@ -")?.split(" +");
        let mut first = || ranges.next()?.split([',', ' ']).next()?.parse().ok();
        Some((first()?, first()?))
    };
    let count = |name: &str| own[name].as_u64().unwrap_or(0) as usize;
    let (before, after) = (count("lines_before"), count("lines_after"));
    let width = (before.max(after) + 1).to_string().len();
    let (mut old, mut new) = (1, 1);
    let mut lines = Vec::new();
    for line in diff.lines() {
        if let Some(begin) = beginnings(line) {
            if begin.0 > old {
                lines.push(format!(" {:width$} ...", ""));
            }
            (old, new) = begin;
            continue;
        }
        let (mark, text) = line.split_at_checked(1).unwrap_or((" ", line));
        match mark {
            "+" => lines.push(format!("+{new:>width$} {text}")),
            "-" => lines.push(format!("-{old:>width$} {text}")),
            " " => lines.push(format!(" {old:>width$} {text}")),
            // That a last line has no end, pi does not say.
            "\\" => continue,
            _ => lines.push(line.to_owned()),
        }
        old += usize::from(mark != "+");
        new += usize::from(mark != "-");
    }
    if old <= before {
        lines.push(format!(" {:width$} ...", ""));
    }
    lines.join("\n")
}

/// The result of `grep`: matches are `file:line: text`, context lines `file-line- text`.
pub fn grep(operation: &Operation, finding: &Finding) -> String {
    let (Finding::Grep { passages, notice }, Operation::Grep(arguments)) = (finding, operation) else {
        return not_found(finding).unwrap_or_else(|| other(finding));
    };
    if passages.is_empty() && notice.is_none() {
        return "No matches found".to_owned();
    }
    let mut shortened = false;
    let lines: Vec<String> = passages
        .iter()
        .flat_map(|passage| matches_in(passage, &mut shortened))
        .collect();
    let mut notices: Vec<String> = limit_notice(arguments, passages).into_iter().collect();
    if notices.is_empty() {
        notices.extend(notice.as_deref().map(unbracketed));
    }
    if shortened {
        let words = format!("Some lines truncated to {LONGEST_LINE} chars. Use read tool to see full lines");
        notices.push(words);
    }
    with_notices(lines.join("\n"), &notices)
}

fn matches_in(passage: &Passage, shortened: &mut bool) -> Vec<String> {
    let lines = passage.lines.iter().map(|line| {
        let text = match line.text.char_indices().nth(LONGEST_LINE) {
            Some((end, _)) => {
                *shortened = true;
                format!("{}... [truncated]", &line.text[..end])
            }
            None => line.text.clone(),
        };
        let (file, number) = (&passage.below, line.number);
        match line.matches {
            true => format!("{file}:{number}: {text}"),
            false => format!("{file}-{number}- {text}"),
        }
    });
    lines.collect()
}

fn limit_notice(arguments: &GrepArguments, passages: &[Passage]) -> Option<String> {
    let limit = arguments.limit.unwrap_or(USUAL_MATCHES);
    let lines = passages.iter().flat_map(|passage| &passage.lines);
    let matches = lines.filter(|line| line.matches).count() as u64;
    (matches >= limit).then(|| reached(limit, "matches", ", or refine pattern"))
}

/// The result of `find`: paths relative to the searched directory.
pub fn find(operation: &Operation, finding: &Finding) -> String {
    let (Finding::Find { files, notice }, Operation::Find(arguments)) = (finding, operation) else {
        return not_found(finding).unwrap_or_else(|| other(finding));
    };
    if files.is_empty() && notice.is_none() {
        return "No files found matching pattern".to_owned();
    }
    let limit = arguments.limit.unwrap_or(USUAL_FILES);
    let notices = match files.len() as u64 >= limit {
        true => vec![reached(limit, "results", ", or refine pattern")],
        false => notice.iter().map(|notice| unbracketed(notice)).collect(),
    };
    with_notices(files.join("\n"), &notices)
}

/// The result of `ls`: names, those of directories with a slash.
pub fn ls(operation: &Operation, finding: &Finding) -> String {
    let (Finding::List { entries, notice, .. }, Operation::List(arguments)) = (finding, operation) else {
        return not_found(finding).unwrap_or_else(|| other(finding));
    };
    if entries.is_empty() {
        return "(empty directory)".to_owned();
    }
    let mut names: Vec<(String, &str)> = entries
        .iter()
        .map(|entry| {
            let mark = if entry.kind == EntryKind::Directory {
                "/"
            } else {
                ""
            };
            (format!("{}{mark}", entry.name), entry.name.as_str())
        })
        .collect();
    names.sort_by_cached_key(|(_, name)| name.to_lowercase());
    let names: Vec<String> = names.into_iter().map(|(shown, _)| shown).collect();
    let limit = arguments.limit.unwrap_or(USUAL_ENTRIES);
    let notices: Vec<String> = notice.iter().map(|_| reached(limit, "entries", "")).collect();
    with_notices(names.join("\n"), &notices)
}

fn reached(limit: u64, what: &str, advice: &str) -> String {
    format!(
        "{limit} {what} limit reached. Use limit={} for more{advice}",
        limit * 2
    )
}

fn with_notices(mut text: String, notices: &[String]) -> String {
    if !notices.is_empty() {
        text.push_str(&format!("\n\n[{}]", notices.join(". ")));
    }
    text.trim_start_matches('\n').to_owned()
}

fn unbracketed(notice: &str) -> String {
    notice.trim_matches(['[', ']']).trim_end_matches('.').to_owned()
}

/// A result without a format of its own: becket's text.
fn other(finding: &Finding) -> String {
    match finding {
        Finding::Done(words) | Finding::Failure { words, .. } => words.clone(),
        other => format!("{other:?}"),
    }
}

/// A number of bytes in a short form.
fn size(bytes: u64) -> String {
    format!("{:.1}KB", bytes as f64 / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use becket_events::PassageLine;

    fn failure(words: &str, why: Why) -> Finding {
        let words = words.to_owned();
        Finding::Failure { words, why }
    }

    fn operation(kind: OperationKind, arguments: Value) -> Operation {
        kind.read(arguments.as_object().unwrap().clone()).unwrap()
    }

    fn shell(stdout: &str, exit_code: Option<i32>, timed_out: bool) -> Finding {
        Finding::Shell {
            stdout: stdout.into(),
            stderr: String::new(),
            exit_code,
            timed_out,
        }
    }

    #[test]
    fn how_a_command_ended() {
        let call = operation(
            OperationKind::Shell,
            json!({"command": "x", "timeout_seconds": 3}),
        );
        let table = [
            (shell("", Some(0), false), "(no output)"),
            (shell("a\nb\n", Some(0), false), "a\nb\n"),
            (shell("a\n", Some(2), false), "a\n\n\nCommand exited with code 2"),
            (
                shell("", Some(2), false),
                "(no output)\n\nCommand exited with code 2",
            ),
            (shell("a", None, true), "a\n\nCommand timed out after 3 seconds"),
            (shell("", None, false), "Command aborted"),
            (
                shell("[killed by signal 9]", None, false),
                "(no output)\n\nCommand exited with code 137",
            ),
            (
                shell("a\n[killed by signal 15]", None, false),
                "a\n\n\nCommand exited with code 143",
            ),
            (failure("no shell", Why::Other), "no shell"),
        ];
        for (finding, words) in table {
            assert_eq!(bash(&call, &finding), words);
        }
    }

    #[test]
    fn where_to_go_on_in_a_file() {
        let call = operation(OperationKind::Read, json!({"path": "a.txt", "limit": 10}));
        let of_file = |count, (total, is_last_ended), stopped| {
            let lines = ReadLines {
                first: Some(11),
                count,
                total,
                is_last_ended,
                stopped,
            };
            let text = "x\n".into();
            read(
                &call,
                &Finding::Read {
                    text,
                    notice: None,
                    lines,
                },
            )
        };
        let told = |count, total, stopped| of_file(count, (total, Some(false)), stopped);
        assert_eq!(told(1, Some(11), None), "x\n");
        assert_eq!(told(10, Some(20), None), "x\n");
        assert_eq!(
            of_file(10, (Some(20), Some(true)), None),
            "x\n\n[1 more lines in file. Use offset=21 to continue.]"
        );
        assert_eq!(
            of_file(10, (Some(100), Some(true)), Some(ReadStop::Asked)),
            "x\n\n[81 more lines in file. Use offset=21 to continue.]"
        );
        assert_eq!(
            told(10, Some(100), Some(ReadStop::Asked)),
            "x\n\n[80 more lines in file. Use offset=21 to continue.]"
        );
        assert_eq!(
            told(2000, Some(5000), Some(ReadStop::Lines)),
            "x\n\n[Showing lines 11-2010 of 5000. Use offset=2011 to continue.]"
        );
        assert_eq!(
            told(5, None, Some(ReadStop::Bytes)),
            "x\n\n[Showing lines 11-15 (50.0KB limit). Use offset=16 to continue.]"
        );
        assert_eq!(
            told(1, Some(20), Some(ReadStop::LongLine)),
            "[Line 11 exceeds 50.0KB limit. Use bash: sed -n '11p' a.txt | head -c 51200]"
        );
    }

    #[test]
    fn what_was_written_and_changed() {
        let done = Finding::Done("in becket's words".into());
        let call = operation(OperationKind::Write, json!({"path": "a", "content": "héé"}));
        assert_eq!(write(&call, &done), "Successfully wrote 3 bytes to a");
        let edits = json!([{"old_text": "a", "new_text": "b"}, {"old_text": "c", "new_text": "d"}]);
        let call = operation(OperationKind::Edit, json!({"path": "a", "edits": edits}));
        assert_eq!(edit(&call, &done), "Successfully replaced 2 block(s) in a.");
        assert_eq!(edit(&call, &failure("not found", Why::Other)), "not found");
    }

    #[test]
    fn what_failed() {
        let missing = |code| Why::System {
            code,
            path: "/w/a".into(),
        };
        let of_edits = |index, of, fault| Why::Edit { index, of, fault };
        let call = |kind, arguments| operation(kind, arguments);
        let read_call = call(OperationKind::Read, json!({"path": "a", "offset": 9}));
        let told = |why| read(&read_call, &failure("x", why));
        assert_eq!(
            told(missing("ENOENT")),
            "ENOENT: no such file or directory, access '/w/a'"
        );
        assert_eq!(
            told(missing("EISDIR")),
            "EISDIR: illegal operation on a directory, read"
        );
        assert_eq!(
            told(Why::PastEnd(4)),
            "Offset 9 is beyond end of file (4 lines total)"
        );
        assert_eq!(told(Why::Other), "x");
        let edits = json!([{"old_text": "a", "new_text": "b"}]);
        let edit_call = call(OperationKind::Edit, json!({"path": "a", "edits": edits}));
        let told = |why| edit(&edit_call, &failure("x", why));
        assert_eq!(
            told(missing("ENOENT")),
            "Could not edit file: a. Error code: ENOENT."
        );
        assert!(told(of_edits(0, 1, EditFault::Absent)).starts_with("Could not find the exact text in a."));
        assert!(
            told(of_edits(1, 2, EditFault::Several(3))).starts_with("Found 3 occurrences of edits[1] in a.")
        );
        assert!(
            told(of_edits(0, 2, EditFault::Overlaps(1))).starts_with("edits[0] and edits[1] overlap in a.")
        );
        let list_call = call(OperationKind::List, json!({}));
        assert_eq!(
            ls(&list_call, &failure("x", missing("ENOENT"))),
            "Path not found: /w/a"
        );
        assert_eq!(
            ls(&list_call, &failure("x", missing("ENOTDIR"))),
            "Not a directory: /w/a"
        );
    }

    #[test]
    fn a_diff_has_numbers() {
        let diff = "@@ -1,2 +1,3 @@\n one\n-two\n+2\n+2b\n@@ -9,1 +10,1 @@\n-nine\n+9\n";
        let own = json!({"diff": diff, "lines_before": 20, "lines_after": 21, "first_changed_line": 2});
        let shown = details(Some(OperationKind::Edit), Some(&own), false).unwrap();
        let lines = [
            "  1 one", "- 2 two", "+ 2 2", "+ 3 2b", "    ...", "- 9 nine", "+10 9", "    ...",
        ];
        assert_eq!(shown["diff"], lines.join("\n"));
        assert_eq!(shown["firstChangedLine"], 2);
    }

    #[test]
    fn details_are_those_of_pi() {
        let shell = json!({"exit_code": 0, "timed_out": false, "left_out_bytes": 0});
        let killed = json!({"exit_code": 137, "left_out_bytes": 0});
        let theirs = json!({"diff": "theirs"});
        let table = [
            (OperationKind::Shell, Some(&shell), false, None),
            (OperationKind::Shell, Some(&shell), true, Some(json!({}))),
            (OperationKind::Shell, Some(&killed), true, None),
            (OperationKind::Read, None, true, Some(json!({}))),
            (OperationKind::Read, None, false, None),
            // An extension's tool in the place of one of becket's own says what it likes.
            (OperationKind::Edit, Some(&theirs), false, Some(theirs.clone())),
            (OperationKind::Edit, Some(&theirs), true, Some(theirs.clone())),
        ];
        for (operation, own, failed, shown) in table {
            assert_eq!(
                details(Some(operation), own, failed),
                shown,
                "{operation:?} {own:?}"
            );
        }
    }

    #[test]
    fn what_was_found() {
        let line = |number, matches, text: &str| PassageLine {
            number,
            matches,
            text: text.into(),
        };
        let long = "x".repeat(600);
        let passages = vec![Passage {
            file: "src/a.rs".into(),
            below: "a.rs".into(),
            lines: vec![line(1, false, "one"), line(2, true, "two"), line(3, false, &long)],
        }];
        let call = operation(OperationKind::Grep, json!({"pattern": "two", "limit": 1}));
        let told = grep(
            &call,
            &Finding::Grep {
                passages,
                notice: None,
            },
        );
        assert!(
            told.starts_with("a.rs-1- one\na.rs:2: two\na.rs-3- xxx"),
            "{told}"
        );
        assert!(told.contains("x... [truncated]\n\n[1 matches limit reached. Use limit=2 for more, or refine pattern. Some lines truncated to 500 chars."), "{told}");
        let nothing = Finding::Grep {
            passages: Vec::new(),
            notice: None,
        };
        assert_eq!(grep(&call, &nothing), "No matches found");
        let call = operation(OperationKind::Find, json!({"pattern": "*.rs", "limit": 2}));
        let files = |files: &[&str]| Finding::Find {
            files: files.iter().map(ToString::to_string).collect(),
            notice: None,
        };
        assert_eq!(find(&call, &files(&[])), "No files found matching pattern");
        assert_eq!(find(&call, &files(&["a"])), "a");
        let told = find(&call, &files(&["a", "b"]));
        assert_eq!(
            told,
            "a\nb\n\n[2 results limit reached. Use limit=4 for more, or refine pattern]"
        );
    }

    #[test]
    fn what_is_in_a_directory() {
        let call = operation(OperationKind::List, json!({"limit": 2}));
        let entry = |name: &str, kind| becket_events::Entry {
            name: name.into(),
            kind,
            entries: Vec::new(),
        };
        let listed = |entries, notice: Option<&str>| {
            let (root, notice) = ("/".into(), notice.map(ToString::to_string));
            ls(
                &call,
                &Finding::List {
                    root,
                    entries,
                    notice,
                },
            )
        };
        assert_eq!(listed(Vec::new(), None), "(empty directory)");
        let entries = vec![
            entry("Zoo", EntryKind::File(1)),
            entry("src", EntryKind::Directory),
        ];
        assert_eq!(listed(entries.clone(), None), "src/\nZoo");
        assert_eq!(
            listed(entries, Some("[… 1 more entries …]")),
            "src/\nZoo\n\n[2 entries limit reached. Use limit=4 for more]"
        );
    }
}
