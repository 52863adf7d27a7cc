//! chibi's names for becket's operations.
//!
//! Reading has three faces: `file_lines` for a range, `file_tail` for the end, `file_head` for the beginning or the
//! whole. The schemas hold chibi's defaults of arguments. The format of results is in `results.rs`, the translation of
//! `file_edit` in `edit.rs`.

use becket_dialect_kit::words::{self, Renames, defaulting, schema};
use becket_events::{Face, Manner, OWN_EXTRAS, OperationKind, Profile, Telling, Wording};
use serde_json::{Map, Value, json};

use super::{edit, results};

const SHELL: Renames = &[("timeout_secs", "timeout_seconds")];
const HEAD: Renames = &[("lines", "limit")];
const TAIL: Renames = &[("lines", "tail")];
const GLOB: Renames = &[("max_results", "limit")];
const GREP: Renames = &[
    ("file_pattern", "glob"),
    ("context_lines", "context"),
    ("max_results", "limit"),
];
const FILE_GREP: Renames = &[("context_before", "before"), ("context_after", "after")];
const FETCH: Renames = &[("timeout_secs", "timeout_seconds")];

/// How many lines `file_head` and `file_tail` read by default.
const USUAL_LINES: u64 = 50;

const PATH: (&str, &str, &str) = ("path", "string", "The file.");

/// chibi's tool profile.
pub fn profile() -> Profile {
    let mut faces = reading();
    faces.extend(searching());
    faces.extend(changing());
    faces.push(running());
    faces.push(fetching());
    faces.extend(virtual_files());
    Profile {
        name: "chibi",
        faces,
        absent: vec![OperationKind::Mkdir, OperationKind::Rmdir, OperationKind::Remove],
        extras: [OWN_EXTRAS, &["call_user", "read_context", "model_info"]].concat(),
        wording: Wording::default(),
        manner: Manner {
            allows_same_text: true,
            ..Manner::default()
        },
        plurals: Vec::new(),
    }
}

// tidy: a table
fn reading() -> Vec<Face> {
    vec![
        Face {
            name: "file_lines",
            description: "Read a range of lines from a file. Lines are counted from 1.",
            parameters: schema(
                &[
                    PATH,
                    ("start", "integer", "The first line, counted from 1."),
                    ("end", "integer", "The last line, included."),
                ],
                &["path", "start", "end"],
            ),
            operation: OperationKind::Read,
            to_own: lines_to_own,
            to_foreign: lines_to_foreign,
            output: Some(Telling::new(results::read)),
        },
        Face {
            name: "file_tail",
            description: "Read the last lines of a file.",
            parameters: defaulting(
                schema(
                    &[
                        PATH,
                        ("lines", "integer", "How many lines to read; 50 when absent."),
                    ],
                    &["path"],
                ),
                &[("lines", USUAL_LINES.into())],
            ),
            operation: OperationKind::Read,
            to_own: |arguments| Ok(words::to_own(arguments, TAIL)),
            to_foreign: tail_to_foreign,
            output: Some(Telling::new(results::read)),
        },
        Face {
            name: "file_head",
            description: "Read the first lines of a file.",
            parameters: defaulting(
                schema(
                    &[
                        PATH,
                        ("lines", "integer", "How many lines to read; 50 when absent."),
                    ],
                    &["path"],
                ),
                &[("lines", USUAL_LINES.into())],
            ),
            operation: OperationKind::Read,
            to_own: |arguments| Ok(words::to_own(arguments, HEAD)),
            to_foreign: |arguments| words::to_foreign(arguments, HEAD),
            output: Some(Telling::new(results::read)),
        },
        Face {
            name: "dir_list",
            description: "List a directory as a tree with the sizes of its files.",
            parameters: defaulting(
                schema(
                    &[
                        ("path", "string", "The directory."),
                        ("depth", "integer", "How many levels to show; 1 when absent."),
                        (
                            "show_hidden",
                            "string",
                            "Whether names with a dot in front are shown: \"true\" or \"false\", the usual one.",
                        ),
                    ],
                    &["path"],
                ),
                &[("depth", json!(1)), ("show_hidden", json!("false"))],
            ),
            operation: OperationKind::List,
            to_own: list_to_own,
            to_foreign: list_to_foreign,
            output: Some(Telling::new(results::list)),
        },
    ]
}

fn running() -> Face {
    Face {
        name: "shell_exec",
        description: "Run a command with `sh -c`. The result is JSON: stdout, stderr, exit_code, timed_out.",
        parameters: defaulting(
            schema(
                &[
                    ("command", "string", "The command line."),
                    (
                        "timeout_secs",
                        "integer",
                        "Seconds after which the command is ended; 30 when absent.",
                    ),
                ],
                &["command"],
            ),
            &[("timeout_secs", json!(30))],
        ),
        operation: OperationKind::Shell,
        to_own: |arguments| Ok(words::to_own(arguments, SHELL)),
        to_foreign: |arguments| words::to_foreign(arguments, SHELL),
        output: Some(Telling::new(results::shell).apart()),
    }
}

fn changing() -> Vec<Face> {
    vec![
        Face {
            name: "write_file",
            description: "Write a file. It is made if it does not exist and replaced if it does.",
            parameters: schema(
                &[PATH, ("content", "string", "Its new content.")],
                &["path", "content"],
            ),
            operation: OperationKind::Write,
            to_own: Ok,
            to_foreign: Map::clone,
            output: Some(Telling::new(results::other)),
        },
        Face {
            name: "file_edit",
            description: "Change a file by one operation: replace_lines, insert_before, insert_after, delete_lines, or \
                          replace_string, which changes the first place where the text stands. Lines are counted \
                          from 1.",
            parameters: schema(
                &[
                    PATH,
                    (
                        "operation",
                        "string",
                        "replace_lines, insert_before, insert_after, delete_lines or replace_string.",
                    ),
                    (
                        "line_start",
                        "integer",
                        "The first line; for all but replace_string.",
                    ),
                    (
                        "line_end",
                        "integer",
                        "The last line, included; for replace_lines and delete_lines.",
                    ),
                    (
                        "content",
                        "string",
                        "The new lines; for replace_lines and both inserts.",
                    ),
                    ("find", "string", "The exact text to find; for replace_string."),
                    ("replace", "string", "The text in its place; for replace_string."),
                ],
                &["path", "operation"],
            ),
            operation: OperationKind::Edit,
            to_own: edit::to_own,
            to_foreign: edit::to_foreign,
            output: Some(Telling::new(results::other)),
        },
    ]
}

fn searching() -> Vec<Face> {
    vec![
        Face {
            name: "glob_files",
            description: "Find files by a glob pattern, leaving out what .gitignore names. Paths are told from the \
                          searched directory.",
            parameters: defaulting(
                schema(
                    &[
                        ("pattern", "string", "The glob pattern, such as `**/*.rs`."),
                        ("path", "string", "The directory to look in."),
                        (
                            "max_results",
                            "integer",
                            "How many paths to return at most; 100 when absent.",
                        ),
                    ],
                    &["pattern"],
                ),
                &[("max_results", json!(100))],
            ),
            operation: OperationKind::Find,
            to_own: |arguments| Ok(words::to_own(arguments, GLOB)),
            to_foreign: |arguments| words::to_foreign(arguments, GLOB),
            output: Some(Telling::new(results::find)),
        },
        Face {
            name: "grep_files",
            description: "Search files for a regular expression, leaving out what .gitignore names. A match reads \
                          `file:line: text`, a line beside it `file:line-text`.",
            parameters: defaulting(
                schema(
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
                            "Lines to show before and after each match; 2 when absent.",
                        ),
                        (
                            "max_results",
                            "integer",
                            "How many matches to return at most; 50 when absent.",
                        ),
                    ],
                    &["pattern"],
                ),
                &[("context_lines", json!(2)), ("max_results", json!(50))],
            ),
            operation: OperationKind::Grep,
            to_own: |arguments| Ok(words::to_own(arguments, GREP)),
            to_foreign: |arguments| words::to_foreign(arguments, GREP),
            output: Some(Telling::new(results::grep_files)),
        },
        file_grep(),
    ]
}

fn file_grep() -> Face {
    Face {
        name: "file_grep",
        description: "Search one file for a regular expression. A match reads `>line:text`, a line beside it \
                      ` line:text`.",
        parameters: defaulting(
            schema(
                &[
                    PATH,
                    ("pattern", "string", "The regular expression."),
                    (
                        "context_before",
                        "integer",
                        "Lines to show before each match; 2 when absent.",
                    ),
                    (
                        "context_after",
                        "integer",
                        "Lines to show after each match; 2 when absent.",
                    ),
                ],
                &["path", "pattern"],
            ),
            &[("context_before", json!(2)), ("context_after", json!(2))],
        ),
        operation: OperationKind::Grep,
        to_own: file_grep_to_own,
        to_foreign: file_grep_to_foreign,
        output: Some(Telling::new(results::file_grep)),
    }
}

fn fetching() -> Face {
    Face {
        name: "fetch_url",
        description: "Fetch a URL with HTTP GET and return the answer as it was sent. Redirects are followed where \
                      they may be.",
        parameters: defaulting(
            schema(
                &[
                    ("url", "string", "The address; http or https."),
                    (
                        "max_bytes",
                        "integer",
                        "How many bytes to read at most; 1048576 when absent.",
                    ),
                    (
                        "timeout_secs",
                        "integer",
                        "Seconds after which the attempt ends; 30 when absent.",
                    ),
                ],
                &["url"],
            ),
            &[("max_bytes", json!(1_048_576)), ("timeout_secs", json!(30))],
        ),
        operation: OperationKind::Fetch,
        to_own: |arguments| Ok(words::to_own(arguments, FETCH)),
        to_foreign: |arguments| words::to_foreign(arguments, FETCH),
        output: Some(Telling::new(results::fetch)),
    }
}

/// Tools that only chibi has have chibi's names in becket, too.
fn virtual_files() -> Vec<Face> {
    let own = Profile::own().faces.into_iter();
    own.filter(|face| OperationKind::VFS.contains(&face.operation))
        .collect()
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

/// Arguments of `file_tail`. Without `tail` they get the default number of lines, so that the call does not look like
/// one for the whole file.
fn tail_to_foreign(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut told = arguments.clone();
    told.entry("tail").or_insert_with(|| USUAL_LINES.into());
    words::to_foreign(&told, TAIL)
}

/// Arguments of `dir_list` under becket's names; chibi writes the boolean as text.
fn list_to_own(mut arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let hidden = match arguments.remove("show_hidden") {
        None | Some(Value::Null) => return Ok(arguments),
        Some(Value::Bool(hidden)) => hidden,
        Some(Value::String(text)) if text == "true" => true,
        Some(Value::String(text)) if text == "false" => false,
        Some(other) => {
            return Err(format!(
                "argument `show_hidden` must be \"true\" or \"false\", not {other}"
            ));
        }
    };
    if arguments.insert("hidden".to_owned(), hidden.into()).is_some() {
        return Err("`show_hidden` and `hidden` say the same thing: give one of them".to_owned());
    }
    Ok(arguments)
}

fn list_to_foreign(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut foreign = arguments.clone();
    if let Some(hidden) = foreign.remove("hidden") {
        let text = match hidden {
            Value::Bool(hidden) => hidden.to_string().into(),
            other => other,
        };
        foreign.insert("show_hidden".to_owned(), text);
    }
    foreign
}

/// Arguments of `file_grep` under becket's names: equal numbers of lines before and after become one number.
fn file_grep_to_own(arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let mut own = words::to_own(arguments, FILE_GREP);
    let both = own
        .get("before")
        .filter(|before| own.get("after") == Some(before));
    if let Some(both) = both.cloned().filter(|_| !own.contains_key("context")) {
        own.retain(|name, _| name != "before" && name != "after");
        own.insert("context".to_owned(), both);
    }
    Ok(own)
}

/// Arguments of `file_grep` under chibi's names: `context` fills the sides that have no number of their own.
fn file_grep_to_foreign(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut told = arguments.clone();
    if let Some(context) = told.remove("context") {
        for side in ["before", "after"] {
            told.entry(side).or_insert_with(|| context.clone());
        }
    }
    words::to_foreign(&told, FILE_GREP)
}
