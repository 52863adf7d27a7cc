//! Cursor's names for becket's operations. It has no tools that find files by a glob, make or remove a directory, and
//! no virtual file system. `StrReplace` is a former tool for edits, which models still know; hooks see an edit as a
//! `Write` with the whole new text.

use becket_dialect_kit::words::{self, Renames, schema};
use becket_events::{Face, JOB_EXTRAS, Manner, OperationKind, Profile, Schema, Wording};
use serde_json::{Map, Value, json};

const FILE: Renames = &[("file_path", "path")];
const EDIT: Renames = &[
    ("old_string", "old_text"),
    ("new_string", "new_text"),
    ("replace_all", "all"),
];

/// Cursor's tool profile.
pub fn profile() -> Profile {
    let absent = [OperationKind::Find, OperationKind::Mkdir, OperationKind::Rmdir];
    Profile {
        name: "cursor",
        faces: vec![
            shell(),
            read(),
            write(),
            edit(),
            delete(),
            list(),
            grep(),
            fetch(),
        ],
        absent: [&absent, OperationKind::VFS].concat(),
        extras: [JOB_EXTRAS, &["update_todos", "spawn_agent"]].concat(),
        wording: Wording::default(),
        manner: Manner {
            shell: "/bin/bash",
            ..Manner::default()
        },
        plurals: Vec::new(),
    }
}

/// A tool whose arguments differ in names alone.
fn renamed(
    name: &'static str,
    description: &'static str,
    operation: OperationKind,
    parameters: Schema,
) -> Face {
    Face {
        name,
        description,
        parameters,
        operation,
        to_own: |arguments| Ok(words::to_own(arguments, FILE)),
        to_foreign: |arguments| words::to_foreign(arguments, FILE),
        output: None,
    }
}

fn shell() -> Face {
    Face {
        name: "Shell",
        description: "Run a command with the shell and return its output.",
        parameters: schema(
            &[
                ("command", "string", "The command line."),
                (
                    "cwd",
                    "string",
                    "The directory to run in; the working directory when absent.",
                ),
                (
                    "timeout",
                    "integer",
                    "Milliseconds after which the command is ended.",
                ),
            ],
            &["command"],
        ),
        operation: OperationKind::Shell,
        to_own: |mut arguments| {
            if let Some(timeout) = words::number(&arguments, "timeout")? {
                arguments.remove("timeout");
                arguments.insert("timeout_seconds".into(), timeout.div_ceil(1000).into());
            }
            Ok(arguments)
        },
        to_foreign: |arguments| {
            let mut foreign = arguments.clone();
            if let Some(seconds) = foreign.remove("timeout_seconds").and_then(|value| value.as_u64()) {
                foreign.insert("timeout".into(), seconds.saturating_mul(1000).into());
            }
            foreign
        },
        output: None,
    }
}

fn read() -> Face {
    let parameters = schema(
        &[
            ("file_path", "string", "The file."),
            ("offset", "integer", "The first line to read, counted from 1."),
            ("limit", "integer", "How many lines to read."),
        ],
        &["file_path"],
    );
    let description = "Read a text file, whole or some lines of it.";
    renamed("Read", description, OperationKind::Read, parameters)
}

fn delete() -> Face {
    let parameters = schema(&[("file_path", "string", "The file.")], &["file_path"]);
    renamed("Delete", "Remove a file.", OperationKind::Remove, parameters)
}

fn write() -> Face {
    let parameters = schema(
        &[
            ("file_path", "string", "The file."),
            ("content", "string", "The new content of the file."),
        ],
        &["file_path", "content"],
    );
    let description = "Write a file, replacing what was there.";
    renamed("Write", description, OperationKind::Write, parameters)
}

fn list() -> Face {
    Face {
        to_own: |mut arguments| {
            arguments.remove("ignore");
            Ok(words::to_own(arguments, FILE))
        },
        to_foreign: |arguments| {
            let mut foreign = words::to_foreign(arguments, FILE);
            foreign.entry("file_path").or_insert_with(|| ".".into());
            foreign
        },
        ..renamed(
            "List",
            "List a directory.",
            OperationKind::List,
            schema(&[("file_path", "string", "The directory.")], &["file_path"]),
        )
    }
}

fn grep() -> Face {
    let parameters = schema(
        &[
            ("pattern", "string", "The regular expression."),
            (
                "file_path",
                "string",
                "A file or directory to search; the working directory when absent.",
            ),
            ("glob", "string", "Only files that match this glob."),
        ],
        &["pattern"],
    );
    Face {
        to_own: |mut arguments| {
            arguments.remove("output_mode");
            Ok(words::to_own(arguments, FILE))
        },
        ..renamed(
            "Grep",
            "Search the contents of files with a regular expression.",
            OperationKind::Grep,
            parameters,
        )
    }
}

fn fetch() -> Face {
    let description = "Fetch a web page or a file over HTTP and return it as text.";
    let parameters = schema(&[("url", "string", "The address.")], &["url"]);
    Face {
        to_own: Ok,
        to_foreign: Map::clone,
        ..renamed("Fetch", description, OperationKind::Fetch, parameters)
    }
}

fn edit() -> Face {
    Face {
        name: "StrReplace",
        description: "Replace an exact piece of text in a file.",
        parameters: schema(
            &[
                ("file_path", "string", "The file."),
                (
                    "old_string",
                    "string",
                    "The text to find; it must occur exactly once, unless every place is meant.",
                ),
                ("new_string", "string", "The text to put in its place."),
                ("replace_all", "boolean", "Whether every place is meant."),
            ],
            &["file_path", "old_string", "new_string"],
        ),
        operation: OperationKind::Edit,
        to_own: edit_to_own,
        to_foreign: edit_to_foreign,
        output: None,
    }
}

/// Members of an edit without a false one, which says nothing.
fn without_false(mut members: Map<String, Value>) -> Map<String, Value> {
    for key in ["all", "replace_all"] {
        if members.get(key) == Some(&Value::Bool(false)) {
            members.remove(key);
        }
    }
    members
}

/// The members of a single edit.
const OF_AN_EDIT: &[&str] = &["old_text", "new_text", "all", "first"];

fn edit_to_own(arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let own = words::to_own(arguments, FILE);
    if own.contains_key("edits") || !(own.contains_key("old_string") || own.contains_key("old_text")) {
        return Ok(own);
    }
    let mut own = without_false(words::to_own(own, EDIT));
    let mut edit = Map::new();
    for key in OF_AN_EDIT {
        if let Some(value) = own.remove(*key) {
            edit.insert((*key).to_owned(), value);
        }
    }
    own.insert("edits".into(), json!([edit]));
    Ok(own)
}

/// A single edit stands beside the file, several in a list.
fn edit_to_foreign(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut foreign = words::to_foreign(arguments, FILE);
    let single = match foreign.get("edits").and_then(Value::as_array).map(Vec::as_slice) {
        Some([Value::Object(edit)]) => edit.clone(),
        _ => return foreign,
    };
    foreign.remove("edits");
    foreign.extend(without_false(words::to_foreign(&single, EDIT)));
    foreign
}
