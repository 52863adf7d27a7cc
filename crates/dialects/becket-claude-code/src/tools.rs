//! Claude Code's names for becket's operations. It has no tools that make or remove a directory, and no virtual file
//! system. `LS` is a tool of its earlier versions that hooks still name. Several edits, and edits of lines, are shown
//! as one `Edit` with all their texts, so that a hook that looks into `new_string` misses none.
//!
//! Arguments that say nothing about what is done, such as a command's description, are left out.

use becket_dialect_kit::edits;
use becket_dialect_kit::words::{self, Renames, schema};
use becket_events::{Face, JOB_EXTRAS, Manner, OperationKind, Profile, Wording};
use serde_json::Map;

const SHELL: Renames = &[("run_in_background", "background")];
const FILE: Renames = &[("file_path", "path")];
const GREP: Renames = &[
    ("-i", "ignore_case"),
    ("-A", "after"),
    ("-B", "before"),
    ("-C", "context"),
    ("head_limit", "limit"),
];
const EDIT: Renames = &[
    ("old_string", "old_text"),
    ("new_string", "new_text"),
    ("replace_all", "all"),
];

/// Claude Code's tool profile.
pub fn profile() -> Profile {
    let mut faces = vec![shell(), read(), write(), edit()];
    faces.extend(searches());
    Profile {
        name: "claude-code",
        faces,
        absent: [
            &[OperationKind::Mkdir, OperationKind::Rmdir, OperationKind::Remove],
            OperationKind::VFS,
        ]
        .concat(),
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
        name: "Bash",
        description: "Run a command with the shell and return its output.",
        parameters: schema(
            &[
                ("command", "string", "The command line."),
                (
                    "timeout",
                    "integer",
                    "Milliseconds after which the command is ended.",
                ),
                ("description", "string", "What the command does, in a few words."),
                (
                    "run_in_background",
                    "boolean",
                    "Whether the command runs as a job in the background.",
                ),
            ],
            &["command"],
        ),
        operation: OperationKind::Shell,
        to_own: |mut arguments| {
            arguments.remove("description");
            arguments.remove("dangerouslyDisableSandbox");
            if let Some(timeout) = words::number(&arguments, "timeout")? {
                arguments.remove("timeout");
                arguments.insert("timeout_seconds".into(), timeout.div_ceil(1000).into());
            }
            Ok(words::to_own(arguments, SHELL))
        },
        to_foreign: |arguments| {
            let mut foreign = words::to_foreign(arguments, SHELL);
            if let Some(seconds) = foreign.remove("timeout_seconds").and_then(|value| value.as_u64()) {
                foreign.insert("timeout".into(), seconds.saturating_mul(1000).into());
            }
            foreign
        },
        output: None,
    }
}

fn read() -> Face {
    Face {
        name: "Read",
        description: "Read a text file, whole or some lines of it.",
        parameters: schema(
            &[
                ("file_path", "string", "The file."),
                ("offset", "integer", "The first line to read, counted from 1."),
                ("limit", "integer", "How many lines to read."),
            ],
            &["file_path"],
        ),
        operation: OperationKind::Read,
        to_own: |mut arguments| {
            arguments.remove("pages");
            Ok(words::to_own(arguments, FILE))
        },
        to_foreign: |arguments| words::to_foreign(arguments, FILE),
        output: None,
    }
}

fn write() -> Face {
    Face {
        name: "Write",
        description: "Write a file, replacing what was there.",
        parameters: schema(
            &[
                ("file_path", "string", "The file."),
                ("content", "string", "The new content of the file."),
            ],
            &["file_path", "content"],
        ),
        operation: OperationKind::Write,
        to_own: |arguments| Ok(words::to_own(arguments, FILE)),
        to_foreign: |arguments| words::to_foreign(arguments, FILE),
        output: None,
    }
}

fn edit() -> Face {
    Face {
        name: "Edit",
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
        to_own: |arguments| edits::to_own(words::to_own(arguments, FILE), EDIT),
        to_foreign: |arguments| words::to_foreign(&edits::to_foreign(arguments, EDIT), FILE),
        output: None,
    }
}

// tidy: a table
fn searches() -> Vec<Face> {
    vec![
        Face {
            name: "Glob",
            description: "Find files by a glob pattern such as `**/*.rs`.",
            parameters: schema(
                &[
                    ("pattern", "string", "The glob pattern."),
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
            name: "Grep",
            description: "Search the contents of files with a regular expression.",
            parameters: schema(
                &[
                    ("pattern", "string", "The regular expression."),
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
            name: "LS",
            description: "List a directory.",
            parameters: schema(&[("path", "string", "The directory.")], &["path"]),
            operation: OperationKind::List,
            to_own: Ok,
            to_foreign: |arguments| {
                let mut foreign = arguments.clone();
                foreign.entry("path").or_insert_with(|| ".".into());
                foreign
            },
            output: None,
        },
        Face {
            name: "WebFetch",
            description: "Fetch a web page or a file over HTTP and return it as text.",
            parameters: schema(
                &[
                    ("url", "string", "The address."),
                    ("prompt", "string", "What you want to know of the page."),
                ],
                &["url"],
            ),
            operation: OperationKind::Fetch,
            to_own: |mut arguments| {
                arguments.remove("prompt");
                Ok(arguments)
            },
            to_foreign: Map::clone,
            output: None,
        },
    ]
}

/// Former names of tools, each with the name of today. Several edits at once are shown as one `Edit`.
pub const FORMER: &[(&str, &str)] = &[("Task", "Agent"), ("MultiEdit", "Edit")];

/// Names of tools that becket does not have, or has under other names.
pub const OTHER_TOOLS: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "BashOutput",
    "EnterPlanMode",
    "ExitPlanMode",
    "KillBash",
    "KillShell",
    "LS",
    "LSP",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "ListMcpResourcesTool",
    "ReadMcpResourceTool",
    "Skill",
    "SlashCommand",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TodoWrite",
    "ToolSearch",
    "WebSearch",
];
