//! Results of tools in docker-agent's formats, for tools whose results programs read.

use becket_events::{Answered, Entry, EntryKind, Finding, Operation};
use serde_json::{Map, Value, json};

/// A directory, one line for each entry.
pub fn list(_: &Operation, finding: &Finding) -> String {
    match finding {
        Finding::List {
            root,
            entries,
            notice,
            ..
        } => {
            if entries.is_empty() {
                return format!("Directory is empty: {root}\n");
            }
            let lines = entries.iter().map(|entry| match entry.kind {
                EntryKind::Directory => format!("DIR  {}\n", entry.name),
                _ => format!("FILE {}\n", entry.name),
            });
            let notice = notice.iter().map(|notice| format!("{notice}\n"));
            lines.chain(notice).collect()
        }
        other => failure(other),
    }
}

/// A directory with everything below it, as JSON.
pub fn tree(_: &Operation, finding: &Finding) -> String {
    match finding {
        Finding::List {
            root,
            entries,
            notice,
            ..
        } => {
            let name = root.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let mut node = json!({"name": name, "type": "directory", "children": nodes(entries)});
            if let Some(notice) = notice {
                node["notice"] = notice.clone().into();
            }
            node.to_string()
        }
        other => failure(other),
    }
}

fn nodes(entries: &[Entry]) -> Vec<Value> {
    let node = |entry: &Entry| match entry.kind {
        EntryKind::Directory => {
            json!({"name": entry.name, "type": "directory", "children": nodes(&entry.entries)})
        }
        _ => json!({"name": entry.name, "type": "file"}),
    };
    entries.iter().map(node).collect()
}

fn failure(finding: &Finding) -> String {
    match finding {
        Finding::Done(words) | Finding::Failure { words, .. } => words.clone(),
        other => format!("{other:?}"),
    }
}

/// Several files, each under its name, or as JSON.
pub fn files_together(arguments: &Map<String, Value>, answered: &[Answered]) -> String {
    let path = |answer: &Answered| text(&answer.arguments, "path");
    if arguments.get("json") == Some(&Value::Bool(true)) {
        let files = answered
            .iter()
            .map(|answer| json!({"path": path(answer), "content": answer.output}));
        return Value::Array(files.collect()).to_string();
    }
    let files = answered
        .iter()
        .map(|answer| format!("=== {} ===\n{}\n\n", path(answer), answer.output));
    files.collect()
}

/// Several pages as JSON.
pub fn pages_together(_: &Map<String, Value>, answered: &[Answered]) -> String {
    let pages = answered.iter().map(|answer| {
        let url = text(&answer.arguments, "url");
        match answer.is_error {
            true => json!({"url": url, "error": answer.output}),
            false => json!({"url": url, "contentLength": answer.output.len(), "body": answer.output}),
        }
    });
    Value::Array(pages.collect()).to_string()
}

/// The outputs of several calls, one line for each.
pub fn lines_together(_: &Map<String, Value>, answered: &[Answered]) -> String {
    let lines: Vec<&str> = answered.iter().map(|answer| answer.output.as_str()).collect();
    lines.join("\n")
}

fn text(arguments: &Map<String, Value>, name: &str) -> String {
    let value = arguments.get(name).and_then(Value::as_str);
    value.unwrap_or_default().to_owned()
}
