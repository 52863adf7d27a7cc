//! docker-agent's names for becket's operations. It has no tool that finds files by name, and no virtual file system. A
//! call of a tool that takes several paths or addresses at once becomes several calls.
//!
//! If several tools have the same operation, the first represents all of them: a deny, an ask or a matcher that names
//! it applies to all, and a hook that knows only that name is shown that name. An allow is only for the tool that it
//! names.

use std::collections::BTreeSet;

use becket_dialect_kit::words::{self, Renames, schema};
use becket_events::{
    AfterFailure, Face, JOB_EXTRAS, Manner, OperationKind, Plural, Profile, Schema, SingleCall, Telling,
    ToOwn, Wording,
};
use serde_json::{Map, Value, json};

use super::results;

const SHELL: Renames = &[("cmd", "command"), ("timeout", "timeout_seconds")];
const READ: Renames = &[("line", "offset")];
const SEARCH: Renames = &[("query", "pattern"), ("excludePatterns", "exclude")];

/// The tools of an agent in a team.
const TEAM_EXTRAS: &[&str] = &["transfer_task", "handoff"];

/// How many levels a tree shows.
const TREE_LEVELS: u64 = 32;

/// The tools of each type of toolset, by the names that the model knows.
const TOOLSETS: &[(&str, &[&str])] = &[
    (
        "filesystem",
        &[
            "read_file",
            "read_multiple_files",
            "write_file",
            "edit_file",
            "list_directory",
            "directory_tree",
            "search_files_content",
            "create_directory",
            "remove_directory",
        ],
    ),
    (
        "shell",
        &[
            "shell",
            "run_background_job",
            "list_background_jobs",
            "view_background_job",
            "stop_background_job",
        ],
    ),
    (
        "background_jobs",
        &[
            "run_background_job",
            "list_background_jobs",
            "view_background_job",
            "stop_background_job",
        ],
    ),
    ("fetch", &["fetch"]),
    ("think", &["think"]),
    (
        "todo",
        &["create_todo", "create_todos", "update_todos", "list_todos"],
    ),
    (
        "memory",
        &[
            "add_memory",
            "get_memories",
            "delete_memory",
            "search_memories",
            "update_memory",
        ],
    ),
    (
        "tasks",
        &[
            "create_task",
            "get_task",
            "update_task",
            "delete_task",
            "list_tasks",
            "next_task",
            "add_dependency",
            "remove_dependency",
        ],
    ),
    (
        "plan",
        &[
            "write_plan",
            "read_plan",
            "list_plans",
            "delete_plan",
            "set_plan_status",
            "get_plan_status",
        ],
    ),
    (
        "git",
        &["git_status", "git_log", "git_branches", "git_show", "git_blame"],
    ),
    ("user_prompt", &["user_prompt"]),
    (
        "background_agents",
        &[
            "run_background_agent",
            "list_background_agents",
            "view_background_agent",
            "stop_background_agent",
            "wait_background_agents",
        ],
    ),
];

/// Tools that docker-agent does not count among those that change nothing, though becket may need no yes for them.
const CHANGING: &[&str] = &[
    "fetch",
    "stop_background_job",
    "add_memory",
    "delete_memory",
    "update_memory",
    "create_task",
    "update_task",
    "delete_task",
    "add_dependency",
    "remove_dependency",
    "write_plan",
    "set_plan_status",
    "delete_plan",
    "run_background_agent",
    "stop_background_agent",
];

/// Whether docker-agent counts a tool of a toolset among those that may change something.
pub fn may_change(tool: &str) -> bool {
    CHANGING.contains(&tool)
}

/// The tools of a type of toolset; `None` if its tools are defined elsewhere, or if there is no such type.
pub fn toolset_tools(toolset_type: &str) -> Option<&'static [&'static str]> {
    let mut toolsets = TOOLSETS.iter();
    toolsets
        .find(|(name, _)| *name == toolset_type)
        .map(|(_, tools)| *tools)
}

/// The types of toolsets whose tools becket has itself.
pub fn toolset_types() -> impl Iterator<Item = &'static str> {
    TOOLSETS.iter().map(|(name, _)| *name)
}

/// The names of all tools that an agent may have, whatever its toolsets, without those of scripts and servers.
pub fn tool_names() -> BTreeSet<&'static str> {
    let profile = profile();
    let faces = profile.faces.iter().map(|face| face.name);
    let plurals = profile.plurals.iter().map(|plural| plural.name);
    let of_toolsets = TOOLSETS.iter().flat_map(|(_, tools)| tools.iter().copied());
    let others = of_toolsets.chain(profile.extras.iter().copied());
    faces.chain(plurals).chain(others).collect()
}

/// docker-agent's tool profile.
pub fn profile() -> Profile {
    let mut faces = vec![shell(), background_job(), fetch()];
    faces.extend(filesystem());
    faces.extend(directories());
    let notes = ["create_todo", "create_todos", "mark_todos", "list_todos", "think"];
    let memories = toolset_tools("memory").unwrap_or_default();
    Profile {
        name: "docker-agent",
        faces,
        absent: [&[OperationKind::Find, OperationKind::Remove], OperationKind::VFS].concat(),
        extras: [JOB_EXTRAS, &notes, memories, TEAM_EXTRAS].concat(),
        wording: Wording::default(),
        manner: Manner::default(),
        plurals: plurals(),
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
        to_foreign: shell_to_foreign,
        output: None,
    }
}

fn background_job() -> Face {
    let arguments = [
        ("cmd", "string", "The command line."),
        (
            "cwd",
            "string",
            "The directory to run in; the working directory when absent.",
        ),
    ];
    Face {
        name: "run_background_job",
        description: "Start a command in the background and go on at once. It ends with the session at the latest.",
        parameters: schema(&arguments, &["cmd"]),
        operation: OperationKind::Shell,
        to_own: |arguments| {
            let mut own = words::to_own(arguments, SHELL);
            own.entry("background").or_insert(true.into());
            Ok(own)
        },
        to_foreign: shell_to_foreign,
        output: None,
    }
}

/// Arguments of a command without `background`, which docker-agent expresses by the tool's name.
fn shell_to_foreign(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut foreign = words::to_foreign(arguments, SHELL);
    if foreign.get("background") == Some(&Value::Bool(true)) {
        foreign.remove("background");
    }
    foreign
}

fn fetch() -> Face {
    Face {
        name: "fetch",
        description: "Fetch pages over HTTP. Each address is a call of its own.",
        parameters: fetch_schema(),
        operation: OperationKind::Fetch,
        to_own: fetch_to_own,
        to_foreign: fetch_to_foreign,
        output: None,
    }
}

fn fetch_schema() -> Schema {
    let written = json!({
        "type": "object",
        "properties": {
            "urls": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "description": "The addresses.",
            },
            "format": {
                "type": "string",
                "enum": ["text", "markdown", "html"],
                "description": "How a page is told; html is as it was sent.",
            },
            "timeout": {"type": "integer", "description": "Seconds after which an attempt ends."},
        },
        "required": ["urls", "format"],
        "additionalProperties": false,
    });
    written.into()
}

/// The schema of a list of paths.
fn paths_schema(description: &str) -> Schema {
    let written = json!({
        "type": "object",
        "properties": {
            "paths": {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": description},
        },
        "required": ["paths"],
        "additionalProperties": false,
    });
    written.into()
}

const MAKING: &str = "Create directories, with those above them.";
const REMOVING: &str = "Remove empty directories.";

/// Tools for directories. Each call has one path; a call with several is split by `plurals`.
fn directories() -> Vec<Face> {
    let face = |name, description, about: &str, operation| Face {
        name,
        description,
        parameters: paths_schema(about),
        operation,
        to_own: |arguments| one_of_list(arguments, "paths", "path"),
        to_foreign: |arguments| list_of_one(arguments.clone(), "path", "paths"),
        output: None,
    };
    vec![
        face(
            "create_directory",
            MAKING,
            "The directories.",
            OperationKind::Mkdir,
        ),
        face(
            "remove_directory",
            REMOVING,
            "The directories.",
            OperationKind::Rmdir,
        ),
    ]
}

/// Tools that take several paths or addresses at once.
fn plurals() -> Vec<Plural> {
    let mut reading = paths_schema("The files.");
    reading["properties"]["json"] =
        json!({"type": "boolean", "description": "Whether the result is JSON: a list of path and content."});
    vec![
        Plural {
            name: "read_multiple_files",
            description: "Read several text files at once.",
            parameters: reading,
            operation: OperationKind::Read,
            apart: read_apart,
            together: results::files_together,
            after_failure: AfterFailure::GoOn,
        },
        Plural {
            name: "fetch",
            description: "Fetch pages over HTTP. Each address is a call of its own.",
            parameters: fetch_schema(),
            operation: OperationKind::Fetch,
            apart: |arguments| apart(arguments, OperationKind::Fetch, ("urls", fetch_to_own)),
            together: results::pages_together,
            after_failure: AfterFailure::GoOn,
        },
        Plural {
            name: "create_directory",
            description: MAKING,
            parameters: paths_schema("The directories."),
            operation: OperationKind::Mkdir,
            apart: |arguments| apart(arguments, OperationKind::Mkdir, OF_PATHS),
            together: results::lines_together,
            after_failure: AfterFailure::Stop,
        },
        Plural {
            name: "remove_directory",
            description: REMOVING,
            parameters: paths_schema("The directories."),
            operation: OperationKind::Rmdir,
            apart: |arguments| apart(arguments, OperationKind::Rmdir, OF_PATHS),
            together: results::lines_together,
            after_failure: AfterFailure::Stop,
        },
    ]
}

/// A list of paths, and the way of one of them into becket's terms.
const OF_PATHS: (&str, ToOwn) = ("paths", |one| one_of_list(one, "paths", "path"));

/// Splits a call whose argument `list` has several values into one call for each, with the other arguments unchanged.
fn apart(
    arguments: &Map<String, Value>,
    operation: OperationKind,
    (list, to_own): (&str, ToOwn),
) -> Result<Vec<SingleCall>, String> {
    let Some(Value::Array(several)) = arguments.get(list) else {
        return Err(format!("argument `{list}` must be a list of texts"));
    };
    if let Some(other) = several.iter().find(|one| !one.is_string()) {
        return Err(format!(
            "argument `{list}` must be a list of texts, and {other} is none"
        ));
    }
    let one = |value: &Value| {
        let mut arguments = arguments.clone();
        arguments.insert(list.to_owned(), json!([value]));
        Ok(SingleCall::new(operation, to_own(arguments)?))
    };
    several.iter().map(one).collect()
}

fn read_apart(arguments: &Map<String, Value>) -> Result<Vec<SingleCall>, String> {
    let mut arguments = arguments.clone();
    match arguments.remove("json") {
        None | Some(Value::Null | Value::Bool(_)) => {}
        Some(other) => return Err(format!("argument `json` must be true or false, not {other}")),
    }
    if let Some(unknown) = arguments.keys().find(|name| *name != "paths") {
        return Err(format!(
            "there is no argument `{unknown}`; it takes `paths` and `json`"
        ));
    }
    apart(&arguments, OperationKind::Read, OF_PATHS)
}

/// Arguments with `single` in place of a `list` of one.
fn one_of_list(
    mut arguments: Map<String, Value>,
    list: &str,
    single: &str,
) -> Result<Map<String, Value>, String> {
    let Some(value) = arguments.remove(list) else {
        return Ok(arguments);
    };
    let one = match value {
        Value::Array(mut several) if several.len() == 1 => several.remove(0),
        Value::String(one) => Value::String(one),
        other => return Err(format!("argument `{list}` must hold exactly one here: {other}")),
    };
    match arguments.insert(single.to_owned(), one) {
        Some(_) => Err(format!("one thing is given twice: give `{list}` only")),
        None => Ok(arguments),
    }
}

/// Arguments with a `list` of one in place of `single`.
fn list_of_one(mut arguments: Map<String, Value>, single: &str, list: &str) -> Map<String, Value> {
    if let Some(one) = arguments.remove(single) {
        arguments.insert(list.to_owned(), json!([one]));
    }
    arguments
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
                    ("line", "integer", "The first line to read, counted from 1."),
                    ("limit", "integer", "How many lines to read."),
                ],
                &["path"],
            ),
            operation: OperationKind::Read,
            to_own: |arguments| Ok(words::to_own(arguments, READ)),
            to_foreign: |arguments| words::to_foreign(arguments, READ),
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
            to_own: |arguments| words::edits_to_own(with_edits_read(arguments)),
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
            output: Some(Telling::new(results::list)),
        },
        Face {
            name: "directory_tree",
            description: "Show a directory with everything below it as JSON, without what .gitignore names.",
            parameters: schema(&[("path", "string", "The directory.")], &["path"]),
            operation: OperationKind::List,
            to_own: tree_to_own,
            to_foreign: tree_to_foreign,
            output: Some(Telling::new(results::tree)),
        },
        Face {
            name: "search_files_content",
            description: "Search the contents of files for text or for a regular expression.",
            parameters: search_schema(),
            operation: OperationKind::Grep,
            to_own: search_to_own,
            to_foreign: search_to_foreign,
            output: None,
        },
    ]
}

fn search_schema() -> Schema {
    let mut schema = schema(
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
    );
    schema["properties"]["excludePatterns"] = json!({
        "type": "array",
        "items": {"type": "string"},
        "description": "Globs of files and folders that are left out.",
    });
    schema
}

/// Arguments with `edits` as a list: models sometimes write it as a text.
fn with_edits_read(mut arguments: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::String(text)) = arguments.get("edits")
        && let Ok(edits @ Value::Array(_)) = serde_json::from_str(text)
    {
        arguments.insert("edits".to_owned(), edits);
    }
    arguments
}

fn tree_to_own(mut arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    arguments.entry("depth").or_insert(TREE_LEVELS.into());
    arguments.entry("skip_ignored").or_insert(true.into());
    Ok(arguments)
}

fn tree_to_foreign(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut foreign = with_path(arguments);
    for (name, usual) in [("depth", json!(TREE_LEVELS)), ("skip_ignored", json!(true))] {
        if foreign.get(name) == Some(&usual) {
            foreign.remove(name);
        }
    }
    foreign
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

fn fetch_to_own(arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let own = one_of_list(arguments, "urls", "url")?;
    Ok(words::to_own(own, &[("timeout", "timeout_seconds")]))
}

fn fetch_to_foreign(arguments: &Map<String, Value>) -> Map<String, Value> {
    let foreign = words::to_foreign(arguments, &[("timeout", "timeout_seconds")]);
    list_of_one(foreign, "url", "urls")
}

/// Arguments with a path: docker-agent always names a directory, so the working directory becomes `.`.
fn with_path(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut foreign = arguments.clone();
    foreign.entry("path").or_insert_with(|| ".".into());
    foreign
}

/// Arguments of a search under becket's names. docker-agent's query is plain text by default, becket's pattern a
/// regular expression. An explicit `literal: false` is kept beside `is_regex`, so that the call can be converted back.
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
