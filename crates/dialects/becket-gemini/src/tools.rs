//! Gemini CLI's names for becket's operations. It has no tools that make or remove a directory, and no virtual file
//! system. Its lines are counted from the first to the last one, and the address of a page stands in a prompt.
//!
//! Arguments that say nothing about what is done, such as a command's description, are left out.

use becket_dialect_kit::edits;
use becket_dialect_kit::words::{self, Renames, schema};
use becket_events::{Face, JOB_EXTRAS, Manner, OperationKind, Profile, Wording};
use serde_json::{Map, Value, json};

const SHELL: Renames = &[("dir_path", "cwd"), ("is_background", "background")];
const FILE: Renames = &[("file_path", "path")];
const LINES: Renames = &[("file_path", "path"), ("start_line", "offset")];
const FOLDER: Renames = &[("dir_path", "path")];
const GREP: Renames = &[
    ("dir_path", "path"),
    ("include_pattern", "glob"),
    ("fixed_strings", "literal"),
    ("total_max_matches", "limit"),
];
const EDIT: Renames = &[
    ("old_string", "old_text"),
    ("new_string", "new_text"),
    ("allow_multiple", "all"),
];

/// Gemini CLI's tool profile.
pub fn profile() -> Profile {
    let mut faces = vec![shell(), read(), write(), edit()];
    faces.extend(searches());
    Profile {
        name: "gemini",
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

/// Arguments without those that say nothing about what is done.
fn without(mut arguments: Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    arguments.retain(|name, _| !names.contains(&name.as_str()));
    arguments
}

fn shell() -> Face {
    Face {
        name: "run_shell_command",
        description: "Run a command with bash and return its output.",
        parameters: schema(
            &[
                ("command", "string", "The command line."),
                ("description", "string", "What the command does, in a few words."),
                (
                    "dir_path",
                    "string",
                    "The directory to run in; the working directory when absent.",
                ),
                (
                    "is_background",
                    "boolean",
                    "Whether the command runs as a job in the background.",
                ),
            ],
            &["command"],
        ),
        operation: OperationKind::Shell,
        to_own: |arguments| Ok(words::to_own(without(arguments, &["description"]), SHELL)),
        to_foreign: |arguments| words::to_foreign(arguments, SHELL),
        output: None,
    }
}

fn read() -> Face {
    Face {
        name: "read_file",
        description: "Read a text file, whole or some lines of it.",
        parameters: schema(
            &[
                ("file_path", "string", "The file."),
                ("start_line", "integer", "The first line to read, counted from 1."),
                ("end_line", "integer", "The last line to read, counted from 1."),
            ],
            &["file_path"],
        ),
        operation: OperationKind::Read,
        to_own: lines_to_own,
        to_foreign: lines_to_foreign,
        output: None,
    }
}

fn lines_to_own(arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let mut own = words::to_own(arguments, LINES);
    if let (Some(end), false) = (words::number(&own, "end_line")?, own.contains_key("limit")) {
        let first = words::number(&own, "offset")?.unwrap_or(1).max(1);
        let limit = end.saturating_add(1).checked_sub(first);
        let limit = limit.ok_or_else(|| format!("`end_line` {end} stands before `start_line` {first}"))?;
        own.remove("end_line");
        own.insert("limit".into(), limit.into());
    }
    Ok(own)
}

fn lines_to_foreign(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut foreign = words::to_foreign(arguments, LINES);
    let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
    let first = number("offset").unwrap_or(1).max(1);
    if let Some(end) = number("limit").and_then(|limit| first.checked_add(limit)) {
        foreign.remove("limit");
        foreign.insert("end_line".into(), (end - 1).into());
    }
    foreign
}

fn write() -> Face {
    Face {
        name: "write_file",
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
        name: "replace",
        description: "Replace an exact piece of text in a file.",
        parameters: schema(
            &[
                ("file_path", "string", "The file."),
                ("instruction", "string", "What the change is for."),
                (
                    "old_string",
                    "string",
                    "The text to find; it must occur exactly once, unless every place is meant.",
                ),
                ("new_string", "string", "The text to put in its place."),
                ("allow_multiple", "boolean", "Whether every place is meant."),
            ],
            &["file_path", "old_string", "new_string"],
        ),
        operation: OperationKind::Edit,
        to_own: |arguments| {
            let arguments = without(arguments, &["instruction"]);
            edits::to_own(words::to_own(arguments, FILE), EDIT)
        },
        to_foreign: |arguments| words::to_foreign(&edits::to_foreign(arguments, EDIT), FILE),
        output: None,
    }
}

// tidy: a table
fn searches() -> Vec<Face> {
    vec![
        Face {
            name: "list_directory",
            description: "List a directory.",
            parameters: schema(&[("dir_path", "string", "The directory.")], &["dir_path"]),
            operation: OperationKind::List,
            to_own: |arguments| {
                let arguments = without(arguments, &["ignore", "file_filtering_options"]);
                Ok(words::to_own(arguments, FOLDER))
            },
            to_foreign: |arguments| {
                let mut foreign = words::to_foreign(arguments, FOLDER);
                foreign.entry("dir_path").or_insert_with(|| ".".into());
                foreign
            },
            output: None,
        },
        Face {
            name: "glob",
            description: "Find files by a glob pattern such as `**/*.rs`.",
            parameters: schema(
                &[
                    ("pattern", "string", "The glob pattern."),
                    (
                        "dir_path",
                        "string",
                        "Where to look; the working directory when absent.",
                    ),
                ],
                &["pattern"],
            ),
            operation: OperationKind::Find,
            to_own: |arguments| {
                let said = ["case_sensitive", "respect_git_ignore", "respect_gemini_ignore"];
                Ok(words::to_own(without(arguments, &said), FOLDER))
            },
            to_foreign: |arguments| words::to_foreign(arguments, FOLDER),
            output: None,
        },
        Face {
            name: "grep_search",
            description: "Search the contents of files with a regular expression.",
            parameters: schema(
                &[
                    ("pattern", "string", "The regular expression."),
                    (
                        "dir_path",
                        "string",
                        "A file or directory to search; the working directory when absent.",
                    ),
                    ("include_pattern", "string", "Only files that match this glob."),
                    ("exclude_pattern", "string", "No files that match this glob."),
                    (
                        "case_sensitive",
                        "boolean",
                        "Whether upper and lower case count as different.",
                    ),
                    ("fixed_strings", "boolean", "Whether the pattern is plain text."),
                    ("context", "integer", "Lines to show around each match."),
                    ("before", "integer", "Lines to show before each match."),
                    ("after", "integer", "Lines to show after each match."),
                    (
                        "total_max_matches",
                        "integer",
                        "How many matches to return at most.",
                    ),
                ],
                &["pattern"],
            ),
            operation: OperationKind::Grep,
            to_own: grep_to_own,
            to_foreign: grep_to_foreign,
            output: None,
        },
        Face {
            name: "web_fetch",
            description: "Fetch a web page or a file over HTTP and return it as text.",
            parameters: schema(
                &[(
                    "prompt",
                    "string",
                    "The address, and what you want to know of the page.",
                )],
                &["prompt"],
            ),
            operation: OperationKind::Fetch,
            to_own: fetch_to_own,
            to_foreign: |arguments| words::to_foreign(arguments, &[("prompt", "url")]),
            output: None,
        },
    ]
}

fn grep_to_own(arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let said = ["names_only", "no_ignore", "max_matches_per_file"];
    let mut own = words::to_own(without(arguments, &said), GREP);
    if let (Some(Value::Bool(matters)), false) = (own.get("case_sensitive"), own.contains_key("ignore_case"))
    {
        let ignores = !*matters;
        own.remove("case_sensitive");
        own.insert("ignore_case".into(), ignores.into());
    }
    if let (Some(Value::String(glob)), false) = (own.get("exclude_pattern"), own.contains_key("exclude")) {
        let globs = json!([glob]);
        own.remove("exclude_pattern");
        own.insert("exclude".into(), globs);
    }
    Ok(own)
}

fn grep_to_foreign(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut foreign = words::to_foreign(arguments, GREP);
    if let Some(Value::Bool(ignores)) = arguments.get("ignore_case") {
        foreign.remove("ignore_case");
        foreign.insert("case_sensitive".into(), (!ignores).into());
    }
    if let Some([Value::String(glob)]) = arguments
        .get("exclude")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
    {
        foreign.remove("exclude");
        foreign.insert("exclude_pattern".into(), glob.as_str().into());
    }
    foreign
}

/// A prompt means the one address in it. A prompt without any is not an address, so that the gate refuses it.
fn fetch_to_own(mut arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let addresses: Vec<&str> = match arguments.get("prompt") {
        Some(Value::String(prompt)) => addresses(prompt).collect(),
        _ => Vec::new(),
    };
    let address = match addresses.as_slice() {
        [] => None,
        [first, others @ ..] if others.iter().all(|other| other == first) => Some((*first).to_owned()),
        _ => return Err("`prompt` names several addresses; fetch one at a time".into()),
    };
    if let Some(address) = address {
        arguments.insert("prompt".into(), address.into());
    }
    Ok(words::to_own(arguments, &[("prompt", "url")]))
}

/// The addresses in a text.
fn addresses(text: &str) -> impl Iterator<Item = &str> {
    const BEFORE: [char; 7] = ['"', '\'', '`', '<', '(', '[', '{'];
    const BEHIND: [char; 13] = ['"', '\'', '`', '>', ')', ']', '}', ',', ';', '.', '!', '?', ':'];
    let words = text.split_whitespace().map(move |word| match text == word {
        // An address alone is taken as it is.
        true => word,
        false => word.trim_start_matches(BEFORE).trim_end_matches(BEHIND),
    });
    // Whatever might be an address is judged as one; what is none is refused then.
    words.filter(|word| word.contains("://"))
}
