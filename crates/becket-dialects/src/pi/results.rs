//! How results read in pi. Models that were taught by it, and extensions that look for its words, find them.
//!
//! What is too long for an answer is put aside by becket, whichever tool it comes from; pi's own way, a file among the
//! temporary ones, is not followed.

use becket_events::{EntryKind, Finding, GrepArguments, Operation, Passage, ReadLines, ReadStop};

/// The most bytes of a text, as they are told.
const MOST_BYTES: u64 = 50 * 1024;

/// Entries that `ls` shows where nothing else is said.
const USUAL_ENTRIES: u64 = 500;

/// Files that `find` shows where nothing else is said.
const USUAL_FILES: u64 = 1000;

/// Matches that `grep` shows where nothing else is said.
const USUAL_MATCHES: u64 = 100;

/// The most characters of a line that `grep` shows.
const LONGEST_LINE: usize = 500;

/// A command: both outputs, and how it ended if not well.
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
    let output = stdout.trim_end_matches('\n');
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

/// Lines of a file, and where to go on.
pub fn read(operation: &Operation, finding: &Finding) -> String {
    let (Finding::Read { text, lines, notice }, Operation::Read(arguments)) = (finding, operation) else {
        return other(finding);
    };
    let text = text
        .strip_suffix('\n')
        .filter(|_| lines.stopped.is_some())
        .unwrap_or(text);
    match (goes_on(lines, &arguments.path), notice) {
        (Some(words), _) if lines.stopped == Some(ReadStop::LongLine) => words,
        (Some(words), _) => format!("{text}\n\n{words}"),
        (None, Some(notice)) => format!("{text}\n\n{notice}"),
        (None, None) => text.to_owned(),
    }
}

/// Where to go on in a file that has more lines.
fn goes_on(lines: &ReadLines, path: &str) -> Option<String> {
    let ReadLines {
        first, count, total, ..
    } = *lines;
    let (first, stopped) = (first?, lines.stopped?);
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

/// A file was written.
pub fn write(operation: &Operation, finding: &Finding) -> String {
    match (operation, finding) {
        (Operation::Write(arguments), Finding::Done(_)) => {
            let length = arguments.content.encode_utf16().count();
            format!("Successfully wrote {length} bytes to {}", arguments.path)
        }
        _ => other(finding),
    }
}

/// A file was changed.
pub fn edit(operation: &Operation, finding: &Finding) -> String {
    match (operation, finding) {
        (Operation::Edit(arguments), Finding::Done(_)) => {
            let blocks = arguments.edits.len() + arguments.lines.len();
            format!("Successfully replaced {blocks} block(s) in {}.", arguments.path)
        }
        _ => other(finding),
    }
}

/// Matches: `file:line: text`, and `file-line- text` for the lines beside them.
pub fn grep(operation: &Operation, finding: &Finding) -> String {
    let (Finding::Grep { passages, notice }, Operation::Grep(arguments)) = (finding, operation) else {
        return other(finding);
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

/// Paths from the searched directory.
pub fn find(operation: &Operation, finding: &Finding) -> String {
    let (Finding::Find { files, notice }, Operation::Find(arguments)) = (finding, operation) else {
        return other(finding);
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

/// Names, those of directories with a slash.
pub fn ls(operation: &Operation, finding: &Finding) -> String {
    let (Finding::List { entries, notice, .. }, Operation::List(arguments)) = (finding, operation) else {
        return other(finding);
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

/// What has no words of its own here: becket's.
fn other(finding: &Finding) -> String {
    match finding {
        Finding::Done(words) | Finding::Failure(words) => words.clone(),
        other => format!("{other:?}"),
    }
}

/// A number of bytes in a few characters.
fn size(bytes: u64) -> String {
    format!("{:.1}KB", bytes as f64 / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use becket_events::{OperationKind, PassageLine};
    use serde_json::{Value, json};

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
            (shell("a\nb\n", Some(0), false), "a\nb"),
            (shell("a\n", Some(2), false), "a\n\nCommand exited with code 2"),
            (
                shell("", Some(2), false),
                "(no output)\n\nCommand exited with code 2",
            ),
            (shell("a", None, true), "a\n\nCommand timed out after 3 seconds"),
            (shell("", None, false), "Command aborted"),
            (Finding::Failure("no shell".into()), "no shell"),
        ];
        for (finding, words) in table {
            assert_eq!(bash(&call, &finding), words);
        }
    }

    #[test]
    fn where_to_go_on_in_a_file() {
        let call = operation(OperationKind::Read, json!({"path": "a.txt"}));
        let told = |count, total, stopped| {
            let lines = ReadLines {
                first: Some(11),
                count,
                total,
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
        assert_eq!(told(1, Some(11), None), "x\n");
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
        assert_eq!(edit(&call, &Finding::Failure("not found".into())), "not found");
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
