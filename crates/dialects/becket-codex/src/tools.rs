//! Codex's names for becket's operations: a shell, and patches of files. Everything else it does with commands, and so
//! becket's other operations are shown to its hooks (`commands.rs`).
//!
//! The same tool makes, changes, moves and removes files in Codex, several at once. A patch that changes one file is
//! one edit. Any other is taken apart into calls for single files, all of which are judged before the first is made;
//! hooks see the whole patch and then each of these calls, as `apply_patch`. A profile needs a name for each operation,
//! so `Write`, by which matchers know the tool too, is the name for making a file.
//!
//! A patch is made of whole lines, and becket's edits are not. Where a patch says less than the call, the call's own
//! arguments stand beside it, so that nothing is lost. Hooks are shown the patch alone.

use becket_dialect_kit::patch::{Change, Chunk, Patch, Section, sections};
use becket_dialect_kit::words::schema;
use becket_events::{
    AfterFailure, Answered, Face, JOB_EXTRAS, Manner, OperationKind, Plural, Profile, Replacement,
    SingleCall, Wording,
};
use serde_json::{Map, Value, json};

/// The name under which hooks see every change of a file.
pub const PATCH: &str = "apply_patch";

/// The argument that holds a command or a patch.
pub const COMMAND: &str = "command";

/// Codex's tool profile.
pub fn profile() -> Profile {
    let others = [
        OperationKind::Read,
        OperationKind::List,
        OperationKind::Find,
        OperationKind::Grep,
        OperationKind::Fetch,
        OperationKind::Mkdir,
        OperationKind::Rmdir,
        OperationKind::Remove,
    ];
    Profile {
        name: "codex",
        faces: vec![shell(), edit(), write()],
        absent: [&others, OperationKind::VFS].concat(),
        extras: [JOB_EXTRAS, &["update_todos", "spawn_agent"]].concat(),
        wording: Wording::default(),
        manner: Manner {
            shell: "/bin/bash",
            ..Manner::default()
        },
        plurals: vec![whole_patch()],
    }
}

/// A patch of several files, or of one that is not only changed.
fn whole_patch() -> Plural {
    Plural {
        name: PATCH,
        description: ABOUT_PATCHES,
        parameters: schema(&[(COMMAND, "string", "The patch.")], &[COMMAND]),
        operation: OperationKind::Edit,
        apart,
        together,
        after_failure: AfterFailure::StopBefore,
    }
}

const ABOUT_PATCHES: &str = "Make, change, move and remove files with a patch. Between `*** Begin Patch` and `*** End \
                             Patch` stand sections: `*** Add File: path` with lines that begin with `+`, `*** Update \
                             File: path`, perhaps `*** Move to: path`, with `@@` and lines that begin with ` `, `-` or \
                             `+`, and `*** Delete File: path`.";

/// Splits a patch into calls for single files.
fn apart(arguments: &Map<String, Value>) -> Result<Vec<SingleCall>, String> {
    let patch = match (arguments.get(COMMAND), arguments.len()) {
        (Some(Value::String(patch)), 1) => patch,
        _ => {
            return Err(format!(
                "it takes `{COMMAND}`, the text of a patch, and nothing else"
            ));
        }
    };
    let mut calls = Vec::new();
    for section in sections(patch)? {
        match section {
            Section::Change(patch) => calls.push(match patch.change {
                Change::Write(_) => SingleCall::new(OperationKind::Write, read_write(patch)?),
                Change::Edit(_) => SingleCall::new(OperationKind::Edit, read_edit(patch)?),
            }),
            Section::Move { from, to, chunks } => {
                let edits = chunks
                    .iter()
                    .map(replacement)
                    .collect::<Result<Vec<_>, String>>()?;
                let mut write = SingleCall::new(OperationKind::Write, path_alone(to));
                write.content_of = Some((from.clone(), edits));
                calls.extend([write, SingleCall::new(OperationKind::Remove, path_alone(from))]);
            }
            Section::Remove(path) => {
                calls.push(SingleCall::new(OperationKind::Remove, path_alone(path)));
            }
        }
    }
    Ok(calls)
}

fn path_alone(path: String) -> Map<String, Value> {
    Map::from_iter([("path".to_owned(), path.into())])
}

fn replacement(chunk: &Chunk) -> Result<Replacement, String> {
    let (old_text, new_text) = chunk.texts().ok_or(ONLY_ADDS)?;
    serde_json::from_value(json!({"old_text": old_text, "new_text": new_text}))
        .map_err(|error| error.to_string())
}

/// Why a piece of a patch cannot be placed.
const ONLY_ADDS: &str = "a patch that only adds lines needs a line that stays";

/// Words the outcome of a patch: the files that have changed, or why not all of them have.
fn together(_: &Map<String, Value>, answered: &[Answered]) -> String {
    let line = |answer: &Answered| {
        let path = text(&answer.arguments, "path");
        match (answer.is_error, answer.operation) {
            (true, _) => format!("{path}: {}", answer.output),
            (false, OperationKind::Write) => format!("A {path}"),
            (false, OperationKind::Remove) => format!("D {path}"),
            (false, _) => format!("M {path}"),
        }
    };
    let head = match answered.iter().all(|answer| answer.is_error) {
        _ if !answered.iter().any(|answer| answer.is_error) => "Done. These files have changed:",
        true => "Nothing was changed:",
        false => "The patch was made in part:",
    };
    let lines = std::iter::once(head.to_owned()).chain(answered.iter().map(line));
    lines.collect::<Vec<_>>().join("\n")
}

fn shell() -> Face {
    Face {
        name: "Bash",
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
                    "timeout_seconds",
                    "integer",
                    "Seconds after which the command is ended.",
                ),
                (
                    "background",
                    "boolean",
                    "Whether the command runs as a job in the background.",
                ),
            ],
            &["command"],
        ),
        operation: OperationKind::Shell,
        to_own: Ok,
        to_foreign: Map::clone,
        output: None,
    }
}

fn edit() -> Face {
    Face {
        name: PATCH,
        description: ABOUT_PATCHES,
        parameters: schema(&[(COMMAND, "string", "The patch.")], &[COMMAND]),
        operation: OperationKind::Edit,
        to_own: |arguments| to_own(arguments, edit_patch, read_edit),
        to_foreign: |arguments| to_foreign(arguments, edit_patch, read_edit),
        output: None,
    }
}

fn write() -> Face {
    Face {
        name: "Write",
        description: "Write a file with a patch: `*** Begin Patch`, `*** Add File: path`, lines that begin with `+`, \
                      `*** End Patch`.",
        parameters: schema(&[(COMMAND, "string", "The patch.")], &[COMMAND]),
        operation: OperationKind::Write,
        to_own: |arguments| to_own(arguments, write_patch, read_write),
        to_foreign: |arguments| to_foreign(arguments, write_patch, read_write),
        output: None,
    }
}

/// Makes a patch of arguments in becket's terms.
type Make = fn(&Map<String, Value>) -> Patch;

/// Makes arguments in becket's terms of a patch, or says why it cannot.
type Read = fn(Patch) -> Result<Map<String, Value>, String>;

fn to_foreign(own: &Map<String, Value>, make: Make, read: Read) -> Map<String, Value> {
    let text = make(own).text();
    let says_all = Patch::read(&text).and_then(read).is_ok_and(|back| back == *own);
    let mut foreign = if says_all { Map::new() } else { own.clone() };
    foreign.insert(COMMAND.into(), text.into());
    foreign
}

fn to_own(mut foreign: Map<String, Value>, make: Make, read: Read) -> Result<Map<String, Value>, String> {
    match (foreign.remove(COMMAND), foreign.is_empty()) {
        (None, _) => Ok(foreign),
        (Some(Value::String(text)), true) => read(Patch::read(&text)?),
        (Some(Value::String(text)), false) if make(&foreign).text() == text => Ok(foreign),
        (Some(Value::String(_)), false) => {
            Err("the patch and the other arguments say different things".into())
        }
        (Some(other), _) => Err(format!("`{COMMAND}` must be the text of a patch, not {other}")),
    }
}

fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn lines(text: &str) -> Vec<String> {
    text.split('\n').map(ToOwned::to_owned).collect()
}

fn write_patch(own: &Map<String, Value>) -> Patch {
    Patch {
        path: text(own, "path").to_owned(),
        change: Change::Write(text(own, "content").to_owned()),
    }
}

fn read_write(patch: Patch) -> Result<Map<String, Value>, String> {
    match patch.change {
        Change::Write(content) => Ok(Map::from_iter([
            ("path".to_owned(), patch.path.into()),
            ("content".to_owned(), content.into()),
        ])),
        Change::Edit(_) => {
            Err("the patch changes a file, and the call writes one; use `*** Add File:`".into())
        }
    }
}

fn edit_patch(own: &Map<String, Value>) -> Patch {
    let list = |name: &str| own.get(name).and_then(Value::as_array).into_iter().flatten();
    let member = |edit: &Value, name: &str| edit.get(name).and_then(Value::as_str).map(lines);
    let by_text = list("edits").map(|edit| Chunk {
        place: None,
        old: member(edit, "old_text").unwrap_or_default(),
        new: member(edit, "new_text").unwrap_or_default(),
    });
    let by_number = list("lines").map(|edit| {
        let number = |name: &str| edit.get(name).and_then(Value::as_u64).unwrap_or_default();
        let place = match edit.get("insert").and_then(Value::as_str) {
            Some(side) => format!("{side} line {}", number("start")),
            None => format!("lines {} to {}", number("start"), number("end")),
        };
        Chunk {
            place: Some(place),
            old: member(edit, "expected").unwrap_or_default(),
            new: member(edit, "text").unwrap_or_default(),
        }
    });
    Patch {
        path: text(own, "path").to_owned(),
        change: Change::Edit(by_text.chain(by_number).collect()),
    }
}

fn read_edit(patch: Patch) -> Result<Map<String, Value>, String> {
    let Change::Edit(chunks) = patch.change else {
        return Err("the patch writes a file, and the call changes one; use `*** Update File:`".into());
    };
    let edits = chunks.iter().map(|chunk| {
        let (old, new) = chunk.texts().ok_or(ONLY_ADDS)?;
        Ok(json!({"old_text": old, "new_text": new}))
    });
    let edits = edits.collect::<Result<Vec<Value>, String>>()?;
    if edits.is_empty() {
        return Err("the patch changes nothing".into());
    }
    Ok(Map::from_iter([
        ("path".to_owned(), patch.path.into()),
        ("edits".to_owned(), edits.into()),
    ]))
}
