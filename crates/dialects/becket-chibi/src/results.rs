//! Results of tools in chibi's formats, for tools whose results programs read.
//!
//! Results that are only for the model keep becket's wording, failures begin with `Error: `, and notices about
//! omissions come at the end.

use becket_events::{Entry, EntryKind, Finding, Operation, Passage, PassageLine};
use serde_json::json;

/// The result of a command: JSON with both outputs.
pub fn shell(operation: &Operation, finding: &Finding) -> String {
    match finding {
        Finding::Shell {
            stdout,
            stderr,
            exit_code,
            timed_out,
        } => json!({
            "stdout": stdout,
            "stderr": stderr,
            "exit_code": exit_code.unwrap_or(-1),
            "timed_out": timed_out,
        })
        .to_string(),
        _ => other(operation, finding),
    }
}

/// The result of reading: lines without numbers and without the final newline.
pub fn read(operation: &Operation, finding: &Finding) -> String {
    match finding {
        Finding::Read { text, notice, .. } => {
            let lines: Vec<&str> = text.lines().collect();
            with_notice(lines.join("\n"), notice)
        }
        _ => other(operation, finding),
    }
}

/// The result of listing: a tree, directories first.
pub fn list(operation: &Operation, finding: &Finding) -> String {
    match finding {
        Finding::List {
            root,
            entries,
            notice,
        } => {
            let mut tree = format!("{}/\n", root.trim_end_matches('/'));
            branches(entries, "", &mut tree);
            if let Some(notice) = notice {
                tree.push_str(&format!("{notice}\n"));
            }
            tree
        }
        _ => other(operation, finding),
    }
}

/// The result of finding files: paths relative to the searched directory, one per line.
pub fn find(operation: &Operation, finding: &Finding) -> String {
    match (operation, finding) {
        (Operation::Find(arguments), Finding::Find { files, notice }) if files.is_empty() => with_notice(
            format!("No files found matching pattern: {}", arguments.pattern),
            notice,
        ),
        (_, Finding::Find { files, notice }) => with_notice(files.join("\n"), notice),
        _ => other(operation, finding),
    }
}

/// The result of searching many files: matches are `file:line: text`, context lines `file:line-text`, with an empty
/// line between passages.
pub fn grep_files(operation: &Operation, finding: &Finding) -> String {
    grep(operation, finding, "\n\n", |passage, line| {
        let mark = if line.matches { ": " } else { "-" };
        format!("{}:{}{mark}{}", passage.below, line.number, line.text)
    })
}

/// The result of searching one file: matches are `>line:text`, context lines ` line:text`, with `--` between passages.
pub fn file_grep(operation: &Operation, finding: &Finding) -> String {
    grep(operation, finding, "\n--\n", |_, line| {
        let mark = if line.matches { '>' } else { ' ' };
        format!("{mark}{}:{}", line.number, line.text)
    })
}

/// The result of a fetch: the response as it was sent.
pub fn fetch(operation: &Operation, finding: &Finding) -> String {
    match finding {
        Finding::Fetch { text, notice } => with_notice(text.clone(), notice),
        _ => other(operation, finding),
    }
}

/// A result without a format of its own.
pub fn other(_: &Operation, finding: &Finding) -> String {
    match finding {
        Finding::Done(words) => words.clone(),
        Finding::Failure { words, .. } => format!("Error: {words}"),
        _ => "Error: the result is of another kind than this tool's.".to_owned(),
    }
}

fn grep(
    operation: &Operation,
    finding: &Finding,
    between: &str,
    line: impl Fn(&Passage, &PassageLine) -> String,
) -> String {
    match (operation, finding) {
        (Operation::Grep(arguments), Finding::Grep { passages, notice }) if passages.is_empty() => {
            with_notice(
                format!("No matches found for pattern: {}", arguments.pattern),
                notice,
            )
        }
        (_, Finding::Grep { passages, notice }) => {
            let passages: Vec<String> = passages
                .iter()
                .map(|passage| {
                    let lines: Vec<String> = passage.lines.iter().map(|one| line(passage, one)).collect();
                    lines.join("\n")
                })
                .collect();
            with_notice(passages.join(between), notice)
        }
        _ => other(operation, finding),
    }
}

fn with_notice(text: String, notice: &Option<String>) -> String {
    match notice {
        None => text,
        Some(notice) if text.is_empty() => notice.clone(),
        Some(notice) => format!("{text}\n\n{notice}"),
    }
}

fn branches(entries: &[Entry], before: &str, tree: &mut String) {
    let mut entries: Vec<&Entry> = entries.iter().collect();
    entries.sort_by_key(|entry| entry.kind != EntryKind::Directory);
    for (index, entry) in entries.iter().enumerate() {
        let (branch, below) = match index + 1 == entries.len() {
            true => ("└── ", "    "),
            false => ("├── ", "│   "),
        };
        let name = &entry.name;
        let told = match &entry.kind {
            EntryKind::Directory => format!("{name}/"),
            EntryKind::File(bytes) => format!("{name} ({})", size(*bytes)),
            EntryKind::Link(Some(target)) => format!("{name} -> {target}"),
            EntryKind::Link(None) | EntryKind::Special | EntryKind::Gone => name.clone(),
        };
        tree.push_str(&format!("{before}{branch}{told}\n"));
        branches(&entry.entries, &format!("{before}{below}"), tree);
    }
}

fn size(bytes: u64) -> String {
    const KILO: f64 = 1024.0;
    match bytes as f64 {
        amount if amount < KILO => format!("{bytes} B"),
        amount if amount < KILO * KILO => format!("{:.1} KB", amount / KILO),
        amount => format!("{:.1} MB", amount / KILO / KILO),
    }
}
