//! Copilot's names for becket's operations. It has no tools that make or remove a directory, and no virtual file
//! system. `view` also lists a directory; a profile has one operation for a name, so listing has none here, and hooks
//! see it as `view` all the same.
//!
//! Arguments that say nothing about what is done, such as a command's description, are left out.

use becket_dialect_kit::edits;
use becket_dialect_kit::words::{self, Renames, schema};
use becket_events::{Face, JOB_EXTRAS, Manner, OperationKind, Profile, Wording};
use serde_json::{Map, Value, json};

const WRITE: Renames = &[("file_text", "content")];
const EDIT: Renames = &[("old_str", "old_text"), ("new_str", "new_text")];
const GREP: Renames = &[
    ("-i", "ignore_case"),
    ("-A", "after"),
    ("-B", "before"),
    ("-C", "context"),
    ("head_limit", "limit"),
];

/// Copilot's tool profile.
pub fn profile() -> Profile {
    let others = [
        OperationKind::List,
        OperationKind::Mkdir,
        OperationKind::Rmdir,
        OperationKind::Remove,
    ];
    let mut faces = vec![shell(), view(), create(), edit()];
    faces.extend(searches());
    Profile {
        name: "copilot",
        faces,
        absent: [&others, OperationKind::VFS].concat(),
        extras: [JOB_EXTRAS, &["update_todos", "spawn_agent"]].concat(),
        wording: Wording::default(),
        manner: Manner {
            shell: "/bin/bash",
            ..Manner::default()
        },
        plurals: Vec::new(),
    }
}

fn shell() -> Face {
    Face {
        name: "bash",
        description: "Run a command with the shell and return its output.",
        parameters: schema(
            &[
                ("command", "string", "The command line."),
                ("description", "string", "What the command does, in a few words."),
                (
                    "mode",
                    "string",
                    "`sync`, or `async` for a job in the background; `sync` when absent.",
                ),
            ],
            &["command"],
        ),
        operation: OperationKind::Shell,
        to_own: |mut arguments| {
            for key in ["description", "sessionId"] {
                arguments.remove(key);
            }
            match arguments.get("mode").and_then(Value::as_str) {
                Some("sync") => drop(arguments.remove("mode")),
                Some("async") if !arguments.contains_key("background") => {
                    arguments.remove("mode");
                    arguments.insert("background".into(), true.into());
                }
                _ => {}
            }
            Ok(arguments)
        },
        to_foreign: |arguments| {
            let mut foreign = arguments.clone();
            if foreign.get("background") == Some(&Value::Bool(true)) {
                foreign.remove("background");
                foreign.insert("mode".into(), "async".into());
            }
            foreign
        },
        output: None,
    }
}

fn view() -> Face {
    let mut parameters = schema(&[("path", "string", "The file.")], &["path"]);
    parameters["properties"]["view_range"] = json!({
        "type": "array",
        "items": {"type": "integer"},
        "description": "The first and the last line to read, counted from 1; -1 for the end of the file.",
    });
    Face {
        name: "view",
        description: "Read a text file, whole or some lines of it.",
        parameters,
        operation: OperationKind::Read,
        to_own: view_to_own,
        to_foreign: view_to_foreign,
        output: None,
    }
}

fn view_to_own(mut arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    arguments.remove("forceReadLargeFiles");
    let Some(range) = arguments.remove("view_range").filter(|range| !range.is_null()) else {
        return Ok(arguments);
    };
    let numbers: Option<Vec<i64>> = range
        .as_array()
        .and_then(|range| range.iter().map(Value::as_i64).collect());
    let wrong = || format!("`view_range` must be the first and the last line, not {range}");
    if arguments.contains_key("offset") || arguments.contains_key("limit") {
        return Err("`view_range` and other arguments both say which lines are read".into());
    }
    let (first, last) = match numbers.as_deref() {
        Some([first, last]) if *first > 0 && (*last >= *first || *last == -1) => (*first, *last),
        _ => return Err(wrong()),
    };
    arguments.insert("offset".into(), first.into());
    if last != -1 {
        arguments.insert("limit".into(), (last - first + 1).into());
    }
    Ok(arguments)
}

fn view_to_foreign(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut foreign = arguments.clone();
    let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
    let Some(first) = number("offset").filter(|first| *first > 0) else {
        return foreign;
    };
    let range = match (arguments.contains_key("limit"), number("limit")) {
        (false, _) => json!([first, -1]),
        (true, Some(limit)) if limit > 0 && limit < u64::from(u32::MAX) => json!([first, first + limit - 1]),
        (true, _) => return foreign,
    };
    foreign.remove("offset");
    foreign.remove("limit");
    foreign.insert("view_range".into(), range);
    foreign
}

fn create() -> Face {
    Face {
        name: "create",
        description: "Write a file, replacing what was there.",
        parameters: schema(
            &[
                ("path", "string", "The file."),
                ("file_text", "string", "The new content of the file."),
            ],
            &["path", "file_text"],
        ),
        operation: OperationKind::Write,
        to_own: |arguments| Ok(words::to_own(arguments, WRITE)),
        to_foreign: |arguments| words::to_foreign(arguments, WRITE),
        output: None,
    }
}

fn edit() -> Face {
    Face {
        name: "edit",
        description: "Replace an exact piece of text in a file.",
        parameters: schema(
            &[
                ("path", "string", "The file."),
                (
                    "old_str",
                    "string",
                    "The text to find; it must occur exactly once.",
                ),
                ("new_str", "string", "The text to put in its place."),
            ],
            &["path", "old_str", "new_str"],
        ),
        operation: OperationKind::Edit,
        to_own: |arguments| edits::to_own(arguments, EDIT),
        to_foreign: |arguments| edits::to_foreign(arguments, EDIT),
        output: None,
    }
}

// tidy: a table
fn searches() -> Vec<Face> {
    let pattern = |about| ("pattern", "string", about);
    vec![
        Face {
            name: "glob",
            description: "Find files by a glob pattern such as `**/*.rs`.",
            parameters: schema(
                &[
                    pattern("The glob pattern."),
                    (
                        "path",
                        "string",
                        "Where to look; the working directory when absent.",
                    ),
                ],
                &["pattern"],
            ),
            operation: OperationKind::Find,
            to_own: Ok,
            to_foreign: Map::clone,
            output: None,
        },
        Face {
            name: "grep",
            description: "Search the contents of files with a regular expression.",
            parameters: schema(
                &[
                    pattern("The regular expression."),
                    (
                        "path",
                        "string",
                        "A file or directory to search; the working directory when absent.",
                    ),
                    ("glob", "string", "Only files that match this glob."),
                    ("-i", "boolean", "Whether upper and lower case count as the same."),
                    ("-A", "integer", "Lines to show after each match."),
                    ("-B", "integer", "Lines to show before each match."),
                    ("-C", "integer", "Lines to show around each match."),
                    ("head_limit", "integer", "How many matches to return at most."),
                ],
                &["pattern"],
            ),
            operation: OperationKind::Grep,
            to_own: |mut arguments| {
                for key in ["output_mode", "-n"] {
                    arguments.remove(key);
                }
                Ok(words::to_own(arguments, GREP))
            },
            to_foreign: |arguments| words::to_foreign(arguments, GREP),
            output: None,
        },
        Face {
            name: "web_fetch",
            description: "Fetch a web page or a file over HTTP and return it as text.",
            parameters: schema(&[("url", "string", "The address.")], &["url"]),
            operation: OperationKind::Fetch,
            to_own: |mut arguments| {
                for key in ["raw", "max_length", "start_index"] {
                    arguments.remove(key);
                }
                Ok(arguments)
            },
            to_foreign: Map::clone,
            output: None,
        },
    ]
}
