//! pi's names for becket's operations. pi has no tool that fetches, and no virtual file system.
//!
//! Older versions of `edit` take one replacement as `oldText` and `newText`, newer ones a list. Hooks for either
//! version find their fields: a single replacement is shown in both forms, and both are read.

use becket_dialect_kit::words::{self, Renames, schema};
use becket_events::{Face, Manner, OperationKind, Profile, Schema, TailLimit, Telling, Wording};
use serde_json::{Map, Value, json};

use super::{arguments, results};

const BASH: Renames = &[("timeout", "timeout_seconds")];
const GREP: Renames = &[("ignoreCase", "ignore_case")];

/// pi's tool profile.
pub fn profile() -> Profile {
    let mut faces = files();
    faces.extend(searching());
    Profile {
        name: "pi",
        faces,
        absent: [
            &[
                OperationKind::Fetch,
                OperationKind::Mkdir,
                OperationKind::Rmdir,
                OperationKind::Remove,
            ],
            OperationKind::VFS,
        ]
        .concat(),
        extras: Vec::new(),
        wording: Wording {
            refused: str::to_owned,
            unknown_tool: |name, _| format!("Tool {name} not found"),
            tail: Some(TailLimit {
                lines: 2000,
                bytes: 50 * 1024,
                told: results::tail,
            }),
            settle: Some(settle),
        },
        manner: Manner {
            shell: "/bin/bash",
            forgives_typography: true,
            ..Manner::default()
        },
        plurals: Vec::new(),
    }
}

/// Arguments as pi's tools take them: a value of another type with a clear meaning is converted to the schema's type,
/// an `@` before a path is removed, and so are unknown names.
fn settle(tool: &str, schema: &Value, mut written: Map<String, Value>) -> Result<Map<String, Value>, String> {
    if tool == "edit" {
        fold_single_edit(&mut written);
    }
    written.retain(|name, _| schema["properties"].get(name).is_some());
    let Value::Object(mut settled) = arguments::validate(tool, schema, &Value::Object(written))? else {
        return Ok(Map::new());
    };
    if let Some(Value::String(path)) = settled.get_mut("path")
        && path.len() > 1
        && path.starts_with('@')
    {
        path.remove(0);
    }
    Ok(settled)
}

/// Adds the single replacement of older versions to the list, and parses a list that was written as text.
fn fold_single_edit(written: &mut Map<String, Value>) {
    let listed = match written.get("edits") {
        Some(Value::String(text)) => serde_json::from_str::<Value>(text).ok(),
        listed => listed.cloned(),
    };
    let Some(mut edits) = listed.map_or_else(|| Some(Vec::new()), |listed| listed.as_array().cloned()) else {
        return;
    };
    if let (Some(Value::String(old)), Some(Value::String(new))) =
        (written.get("oldText"), written.get("newText"))
    {
        let single = json!({"oldText": old, "newText": new});
        // Hooks see a single replacement in both forms, and so do models in their own calls.
        if !edits.contains(&single) {
            edits.push(single);
        }
        written.remove("oldText");
        written.remove("newText");
    }
    if !edits.is_empty() {
        written.insert("edits".to_owned(), edits.into());
    }
}

fn files() -> Vec<Face> {
    vec![
        Face {
            name: "read",
            description: "Read a text file, or a picture (jpg, png, gif, webp). At most 2000 lines or 50KB \
                          come back at once, whichever is less; go on with offset until you have all that \
                          you need.",
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
            output: Some(Telling::new(results::read)),
        },
        Face {
            name: "bash",
            description: "Run a command with the shell in the working directory. What it prints comes back, \
                          errors included: the last 2000 lines or 50KB, whichever is less. If there was \
                          more, the end says where all of it is.",
            parameters: schema(
                &[
                    ("command", "string", "The command line."),
                    ("timeout", "integer", "Seconds after which the command is ended."),
                ],
                &["command"],
            ),
            operation: OperationKind::Shell,
            to_own: |arguments| Ok(words::to_own(arguments, BASH)),
            to_foreign: |arguments| words::to_foreign(arguments, BASH),
            output: Some(Telling::new(results::bash)),
        },
        Face {
            name: "edit",
            description: "Replace exact pieces of text in a file. Each old text must occur exactly once.",
            parameters: edit_schema(),
            operation: OperationKind::Edit,
            to_own: edit_to_own,
            to_foreign: edit_to_foreign,
            output: Some(Telling::new(results::edit)),
        },
        Face {
            name: "write",
            description: "Write a file, replacing what was there. Folders are made as needed.",
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
            output: Some(Telling::new(results::write)),
        },
    ]
}

// tidy: a table
fn searching() -> Vec<Face> {
    vec![
        Face {
            name: "grep",
            description: "Search the contents of files, leaving out what .gitignore names. Gives lines with \
                          their files and numbers: at most 100 matches or 50KB, and of long lines the first \
                          500 characters.",
            parameters: schema(
                &[
                    (
                        "pattern",
                        "string",
                        "The regular expression, or plain text with `literal`.",
                    ),
                    (
                        "path",
                        "string",
                        "A file or directory to search; the working directory when absent.",
                    ),
                    ("glob", "string", "Only files that match this glob."),
                    (
                        "ignoreCase",
                        "boolean",
                        "Whether upper and lower case count as the same.",
                    ),
                    ("literal", "boolean", "Whether the pattern is plain text."),
                    ("context", "integer", "Lines to show around each match."),
                    ("limit", "integer", "How many matches to return at most."),
                ],
                &["pattern"],
            ),
            operation: OperationKind::Grep,
            to_own: |arguments| Ok(words::to_own(arguments, GREP)),
            to_foreign: |arguments| words::to_foreign(arguments, GREP),
            output: Some(Telling::new(results::grep)),
        },
        Face {
            name: "find",
            description: "Find files by a glob pattern, leaving out what .gitignore names. Gives paths from \
                          where it looks: at most 1000 or 50KB.",
            parameters: schema(
                &[
                    ("pattern", "string", "The glob pattern, such as `**/*.ts`."),
                    (
                        "path",
                        "string",
                        "Where to look; the working directory when absent.",
                    ),
                    ("limit", "integer", "How many files to return at most."),
                ],
                &["pattern"],
            ),
            operation: OperationKind::Find,
            to_own: Ok,
            to_foreign: Map::clone,
            output: Some(Telling::new(results::find)),
        },
        Face {
            name: "ls",
            description: "List a directory, hidden files included, by the alphabet; a `/` follows the names \
                          of directories. At most 500 entries or 50KB.",
            parameters: schema(
                &[
                    (
                        "path",
                        "string",
                        "The directory; the working directory when absent.",
                    ),
                    ("limit", "integer", "How many entries to return at most."),
                ],
                &[],
            ),
            operation: OperationKind::List,
            to_own: Ok,
            to_foreign: Map::clone,
            output: Some(Telling::new(results::ls)),
        },
    ]
}

fn edit_schema() -> Schema {
    let written = json!({
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
    });
    written.into()
}

fn edit_to_own(mut arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let single = match (arguments.remove("oldText"), arguments.remove("newText")) {
        (None, None) => None,
        (Some(old), Some(new)) => Some(json!([{"oldText": old, "newText": new}])),
        (Some(_), None) => return Err("argument `newText` is missing".to_owned()),
        (None, Some(_)) => return Err("argument `oldText` is missing".to_owned()),
    };
    match (single, arguments.get("edits")) {
        (Some(single), Some(edits)) if single != *edits => {
            return Err(
                "`edits` and `oldText`/`newText` say different things: give only one of them".to_owned(),
            );
        }
        (Some(single), None) => {
            arguments.insert("edits".to_owned(), single);
        }
        _ => {}
    }
    words::edits_to_own(arguments)
}

fn edit_to_foreign(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut foreign = words::edits_to_foreign(arguments);
    if let Some([only]) = foreign.get("edits").and_then(Value::as_array).map(Vec::as_slice)
        && only.as_object().is_some_and(|edit| edit.len() == 2)
    {
        let (old, new) = (only["oldText"].clone(), only["newText"].clone());
        foreign.insert("oldText".to_owned(), old);
        foreign.insert("newText".to_owned(), new);
    }
    foreign
}
