//! chibi's names for becket's operations.
//!
//! Reading has two faces: `file_lines` for a range, `file_head` for the beginning or the whole. `file_edit` is
//! offered with `replace_string` only: its line operations do not say which text they replace, so nobody could judge
//! them before the file is read.

use becket_events::{Face, OperationKind, Profile};
use serde_json::{Map, Value, json};

use crate::words::{self, Renames, schema};

const SHELL: Renames = &[("timeout_secs", "timeout_seconds")];
const HEAD: Renames = &[("lines", "limit")];
const GLOB: Renames = &[("max_results", "limit")];
const GREP: Renames = &[
    ("file_pattern", "glob"),
    ("context_lines", "context"),
    ("max_results", "limit"),
];
const FETCH: Renames = &[("timeout_secs", "timeout_seconds")];

/// chibi's tool profile.
pub fn profile() -> Profile {
    let mut faces = reading();
    faces.extend(changing());
    faces.extend(searching());
    faces.push(fetching());
    Profile {
        name: "chibi",
        faces,
        absent: Vec::new(),
    }
}

fn reading() -> Vec<Face> {
    vec![
        Face {
            name: "file_lines",
            description: "Read a range of lines from a file. Lines are counted from 1.",
            parameters: schema(
                &[
                    ("path", "string", "The file."),
                    ("start", "integer", "The first line, counted from 1."),
                    ("end", "integer", "The last line, included."),
                ],
                &["path", "start"],
            ),
            operation: OperationKind::Read,
            to_own: lines_to_own,
            to_foreign: lines_to_foreign,
        },
        Face {
            name: "file_head",
            description: "Read a file from its beginning: all of it, or the first lines.",
            parameters: schema(
                &[
                    ("path", "string", "The file."),
                    (
                        "lines",
                        "integer",
                        "How many lines to read; as many as fit when absent.",
                    ),
                ],
                &["path"],
            ),
            operation: OperationKind::Read,
            to_own: |arguments| Ok(words::to_own(arguments, HEAD)),
            to_foreign: |arguments| words::to_foreign(arguments, HEAD),
        },
        Face {
            name: "dir_list",
            description: "List a directory with the sizes of its files.",
            parameters: schema(&[("path", "string", "The directory.")], &[]),
            operation: OperationKind::List,
            to_own: Ok,
            to_foreign: Map::clone,
        },
    ]
}

fn changing() -> Vec<Face> {
    vec![
        Face {
            name: "shell_exec",
            description: "Run a command with `sh -c` and return its output.",
            parameters: schema(
                &[
                    ("command", "string", "The command line."),
                    (
                        "timeout_secs",
                        "integer",
                        "Seconds after which the command is ended.",
                    ),
                ],
                &["command"],
            ),
            operation: OperationKind::Shell,
            to_own: |arguments| Ok(words::to_own(arguments, SHELL)),
            to_foreign: |arguments| words::to_foreign(arguments, SHELL),
        },
        Face {
            name: "write_file",
            description: "Write a file. It is made if it does not exist and replaced if it does.",
            parameters: schema(
                &[
                    ("path", "string", "The file."),
                    ("content", "string", "Its new content."),
                ],
                &["path", "content"],
            ),
            operation: OperationKind::Write,
            to_own: Ok,
            to_foreign: Map::clone,
        },
        Face {
            name: "file_edit",
            description: "Replace a piece of text in a file. The text must occur exactly once.",
            parameters: schema(
                &[
                    ("path", "string", "The file."),
                    ("operation", "string", "Always `replace_string`."),
                    ("find", "string", "The exact text to find."),
                    ("replace", "string", "The text to put in its place."),
                ],
                &["path", "operation", "find", "replace"],
            ),
            operation: OperationKind::Edit,
            to_own: edit_to_own,
            to_foreign: edit_to_foreign,
        },
    ]
}

fn searching() -> Vec<Face> {
    vec![
        Face {
            name: "glob_files",
            description: "Find files by a glob pattern, leaving out what .gitignore names.",
            parameters: schema(
                &[
                    ("pattern", "string", "The glob pattern, such as `**/*.rs`."),
                    ("path", "string", "The directory to look in."),
                    ("max_results", "integer", "How many paths to return at most."),
                ],
                &["pattern"],
            ),
            operation: OperationKind::Find,
            to_own: |arguments| Ok(words::to_own(arguments, GLOB)),
            to_foreign: |arguments| words::to_foreign(arguments, GLOB),
        },
        Face {
            name: "grep_files",
            description: "Search files for a regular expression, leaving out what .gitignore names.",
            parameters: schema(
                &[
                    ("pattern", "string", "The regular expression."),
                    ("path", "string", "The directory to search."),
                    (
                        "file_pattern",
                        "string",
                        "Only files that match this glob, such as `*.rs`.",
                    ),
                    (
                        "context_lines",
                        "integer",
                        "Lines to show before and after each match.",
                    ),
                    ("max_results", "integer", "How many matches to return at most."),
                ],
                &["pattern"],
            ),
            operation: OperationKind::Grep,
            to_own: |arguments| Ok(words::to_own(arguments, GREP)),
            to_foreign: |arguments| words::to_foreign(arguments, GREP),
        },
        Face {
            name: "file_grep",
            description: "Search one file for a regular expression.",
            parameters: schema(
                &[
                    ("path", "string", "The file."),
                    ("pattern", "string", "The regular expression."),
                    ("context_before", "integer", "Lines to show before each match."),
                    ("context_after", "integer", "Lines to show after each match."),
                ],
                &["path", "pattern"],
            ),
            operation: OperationKind::Grep,
            to_own: file_grep_to_own,
            to_foreign: file_grep_to_foreign,
        },
    ]
}

fn fetching() -> Face {
    Face {
        name: "fetch_url",
        description: "Fetch a URL with HTTP GET and return what it holds as text.",
        parameters: schema(
            &[
                ("url", "string", "The address; http or https."),
                ("timeout_secs", "integer", "Seconds after which the attempt ends."),
            ],
            &["url"],
        ),
        operation: OperationKind::Fetch,
        to_own: |arguments| Ok(words::to_own(arguments, FETCH)),
        to_foreign: |arguments| words::to_foreign(arguments, FETCH),
    }
}

fn lines_to_own(mut arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let start = words::number(&arguments, "start")?;
    let end = words::number(&arguments, "end")?;
    arguments.retain(|name, _| name != "start" && name != "end");
    if start == Some(0) {
        return Err("argument `start` must be at least 1: lines are counted from 1".to_owned());
    }
    if let Some(end) = end {
        let first = start.unwrap_or(1);
        let limit = end
            .checked_add(1)
            .and_then(|after| after.checked_sub(first))
            .filter(|limit| *limit > 0)
            .ok_or_else(|| format!("argument `end` ({end}) must not come before `start` ({first})"))?;
        arguments.insert("limit".to_owned(), limit.into());
    }
    if let Some(start) = start {
        arguments.insert("offset".to_owned(), start.into());
    }
    Ok(arguments)
}

fn lines_to_foreign(arguments: &Map<String, Value>) -> Map<String, Value> {
    let start = arguments.get("offset").and_then(Value::as_u64).unwrap_or(1);
    let limit = arguments.get("limit").and_then(Value::as_u64);
    let mut foreign = arguments.clone();
    foreign.retain(|name, _| name != "offset" && name != "limit");
    foreign.insert("start".to_owned(), start.into());
    if let Some(limit) = limit {
        foreign.insert(
            "end".to_owned(),
            start.saturating_add(limit).saturating_sub(1).into(),
        );
    }
    foreign
}

fn edit_to_own(mut arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    match arguments.remove("operation") {
        None => {}
        Some(Value::String(operation)) if operation == "replace_string" => {}
        Some(other) => {
            return Err(format!(
                "operation {other} is not offered: use \"replace_string\" with `find` and `replace`"
            ));
        }
    }
    match (arguments.remove("find"), arguments.remove("replace")) {
        (None, None) => {}
        (Some(find), Some(replace)) if !arguments.contains_key("edits") => {
            let edits = json!([{"old_text": find, "new_text": replace}]);
            arguments.insert("edits".to_owned(), edits);
        }
        (Some(_), Some(_)) => {
            return Err("the edit is told twice: give either `find` and `replace` or `edits`".to_owned());
        }
        (Some(_), None) => return Err("argument `replace` is missing".to_owned()),
        (None, Some(_)) => return Err("argument `find` is missing".to_owned()),
    }
    Ok(arguments)
}

fn edit_to_foreign(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut foreign = arguments.clone();
    foreign.insert("operation".to_owned(), "replace_string".into());
    if let Some([only]) = arguments
        .get("edits")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
    {
        foreign.remove("edits");
        foreign.insert("find".to_owned(), only["old_text"].clone());
        foreign.insert("replace".to_owned(), only["new_text"].clone());
    }
    foreign
}

fn file_grep_to_own(mut arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let before = words::number(&arguments, "context_before")?;
    let after = words::number(&arguments, "context_after")?;
    arguments.retain(|name, _| name != "context_before" && name != "context_after");
    if let Some(context) = before.max(after) {
        arguments.insert("context".to_owned(), context.into());
    }
    Ok(arguments)
}

fn file_grep_to_foreign(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut foreign = arguments.clone();
    if let Some(context) = foreign.remove("context") {
        foreign.insert("context_before".to_owned(), context.clone());
        foreign.insert("context_after".to_owned(), context);
    }
    foreign
}

use super::plugin::Generation;

/// The tool profile that plugins of a generation know.
pub fn profile_of(_generation: Generation) -> Profile {
    profile()
}

/// What kind of tool it is.
pub fn tool_type(_generation: Generation, _name: &str, _source: &str) -> &'static str {
    "plugin"
}
