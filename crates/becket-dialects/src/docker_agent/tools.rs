//! docker-agent's names for becket's operations. It has no tool that finds files by name, and no virtual
//! file system.

use becket_events::{Face, OperationKind, Profile};
use serde_json::{Map, Value, json};

use crate::words::{self, Renames, schema};

const SHELL: Renames = &[("cmd", "command"), ("timeout", "timeout_seconds")];
const SEARCH: Renames = &[("query", "pattern")];

/// docker-agent's tool profile.
pub fn profile() -> Profile {
    let mut faces = vec![shell(), fetch()];
    faces.extend(filesystem());
    Profile {
        name: "docker-agent",
        faces,
        absent: [&[OperationKind::Find], OperationKind::VFS].concat(),
        extras: vec!["transfer_task", "handoff"],
    }
}

fn shell() -> Face {
    Face {
        name: "shell",
        description: "Run a command with the shell and return its output.",
        parameters: schema(
            &[
                ("cmd", "string", "The command line."),
                (
                    "cwd",
                    "string",
                    "The directory to run in; the working directory when absent.",
                ),
                ("timeout", "integer", "Seconds after which the command is ended."),
            ],
            &["cmd"],
        ),
        operation: OperationKind::Shell,
        to_own: |arguments| Ok(words::to_own(arguments, SHELL)),
        to_foreign: |arguments| words::to_foreign(arguments, SHELL),
        output: None,
    }
}

fn fetch() -> Face {
    Face {
        name: "fetch",
        description: "Fetch a page over HTTP and return it as text. One address a call.",
        parameters: json!({
            "type": "object",
            "properties": {
                "urls": {
                    "type": "array",
                    "items": {"type": "string"},
                    "minItems": 1,
                    "maxItems": 1,
                    "description": "The address, as a list of one.",
                },
                "timeout": {"type": "integer", "description": "Seconds after which the attempt ends."},
            },
            "required": ["urls"],
            "additionalProperties": false,
        }),
        operation: OperationKind::Fetch,
        to_own: fetch_to_own,
        to_foreign: fetch_to_foreign,
        output: None,
    }
}

// tidy: a table
fn filesystem() -> Vec<Face> {
    vec![
        Face {
            name: "read_file",
            description: "Read a text file, whole or some lines of it.",
            parameters: schema(
                &[
                    ("path", "string", "The file."),
                    ("offset", "integer", "The first line to read, counted from 1."),
                    ("limit", "integer", "How many lines to read."),
                ],
                &["path"],
            ),
            operation: OperationKind::Read,
            to_own: Ok,
            to_foreign: Map::clone,
            output: None,
        },
        Face {
            name: "write_file",
            description: "Write a file, replacing what was there.",
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
            output: None,
        },
        Face {
            name: "edit_file",
            description: "Replace exact pieces of text in a file. Each old text must occur exactly once.",
            parameters: edit_schema(),
            operation: OperationKind::Edit,
            to_own: |arguments| words::edits_to_own(arguments),
            to_foreign: |arguments| words::edits_to_foreign(arguments),
            output: None,
        },
        Face {
            name: "list_directory",
            description: "List a directory.",
            parameters: schema(&[("path", "string", "The directory.")], &["path"]),
            operation: OperationKind::List,
            to_own: Ok,
            to_foreign: with_path,
            output: None,
        },
        Face {
            name: "search_files_content",
            description: "Search the contents of files for text or for a regular expression.",
            parameters: schema(
                &[
                    ("path", "string", "The directory to start from."),
                    ("query", "string", "The text or the regular expression."),
                    (
                        "is_regex",
                        "boolean",
                        "Whether the query is a regular expression; plain text when absent.",
                    ),
                ],
                &["path", "query"],
            ),
            operation: OperationKind::Grep,
            to_own: search_to_own,
            to_foreign: search_to_foreign,
            output: None,
        },
    ]
}

fn edit_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file."},
            "edits": {
                "type": "array",
                "description": "The replacements, all found in the file as it is now.",
                "items": schema(
                    &[
                        ("oldText", "string", "The text to find; it must occur exactly once."),
                        ("newText", "string", "The text to put in its place."),
                    ],
                    &["oldText", "newText"],
                ),
            },
        },
        "required": ["path", "edits"],
        "additionalProperties": false,
    })
}

fn fetch_to_own(mut arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    if let Some(urls) = arguments.remove("urls") {
        let url = match urls {
            Value::Array(mut urls) if urls.len() == 1 => urls.remove(0),
            Value::String(url) => Value::String(url),
            other => {
                return Err(format!(
                    "argument `urls` must hold exactly one address, one call for each: {other}"
                ));
            }
        };
        if arguments.insert("url".to_owned(), url).is_some() {
            return Err("the address is told twice: give `urls` only".to_owned());
        }
    }
    // The operation has one form of result, readable text, whatever was asked for.
    arguments.remove("format");
    Ok(words::to_own(arguments, &[("timeout", "timeout_seconds")]))
}

fn fetch_to_foreign(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut foreign = words::to_foreign(arguments, &[("timeout", "timeout_seconds")]);
    if let Some(url) = foreign.remove("url") {
        foreign.insert("urls".to_owned(), json!([url]));
    }
    foreign
}

/// Here a directory is always named, so the working directory becomes `.`.
fn with_path(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut foreign = arguments.clone();
    foreign.entry("path").or_insert_with(|| ".".into());
    foreign
}

/// Here a query is plain text unless it says otherwise; becket's pattern is a regular expression unless it says
/// otherwise. An explicit `literal: false` is kept beside `is_regex`, so that the call comes back as it was.
fn search_to_own(arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let mut own = words::to_own(arguments, SEARCH);
    let is_regex = match own.remove("is_regex") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(is_regex)) => is_regex,
        Some(other) => return Err(format!("argument `is_regex` must be true or false, not {other}")),
    };
    match (own.get("literal"), is_regex) {
        (Some(Value::Bool(literal)), _) if *literal == is_regex => {
            return Err("`is_regex` and `literal` contradict each other: give `is_regex` only".to_owned());
        }
        (None, false) => {
            own.insert("literal".to_owned(), true.into());
        }
        _ => {}
    }
    Ok(own)
}

fn search_to_foreign(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut foreign = with_path(&words::to_foreign(arguments, SEARCH));
    let literal = foreign.get("literal").and_then(Value::as_bool);
    if literal == Some(true) {
        foreign.remove("literal");
    }
    foreign.insert("is_regex".to_owned(), (literal != Some(true)).into());
    foreign
}
