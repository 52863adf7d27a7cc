//! The page of the dialects: the foreign name of each event and tool.

use becket_dialects::{dialect_names, profile_named, profile_names, rows};
use becket_events::{EVENTS, EventInfo, OperationKind, Plural, Profile};
use serde_json::Value;

const INTRODUCTION: &str = "\
# Dialects

Generated from the tables in `crates/dialects` by `cargo xtask generate`. Do not edit.

A dialect is the hook format of another agent. becket knows the **events** under each agent's own names, and the
**tools**: `--tools PROFILE` gives the model that agent's tool names and arguments, with one implementation behind
all of them. Whatever names the model was given, a hook sees a call under those of its own agent; becket's own
hooks, rules and the transcript use becket's.

## One event, many names

The word in brackets says what a broken hook does: a guard refuses, a filter withholds what it was asked about, a
transform changes nothing, and an observer is reported.

";

const TOOLS: &str = "
## One operation, many names

";

/// The page of the dialects.
pub fn page() -> String {
    let profiles: Vec<Profile> = profile_names().filter_map(profile_named).collect();
    let mut page = String::from(INTRODUCTION);
    events(&mut page);
    page.push_str(TOOLS);
    let names: Vec<&str> = profiles.iter().map(|profile| profile.name).collect();
    page.push_str(&format!(
        "| {} |\n|{}\n",
        names.join(" | "),
        "---|".repeat(names.len())
    ));
    for operation in OperationKind::ALL {
        let cells: Vec<String> = profiles
            .iter()
            .map(|profile| faces_of(profile, *operation))
            .collect();
        page.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    for profile in &profiles {
        page.push_str(&format!("\n## {}\n\n", profile.name));
        page.push_str("| tool | operation | arguments |\n|---|---|---|\n");
        for face in &profile.faces {
            page.push_str(&format!(
                "| `{}` | {} | {} |\n",
                face.name,
                face.operation.name(),
                arguments(&face.parameters)
            ));
        }
        let alone = |plural: &&Plural| profile.face_named(plural.name).is_none();
        for plural in profile.plurals.iter().filter(alone) {
            page.push_str(&format!(
                "| `{}` | {}, several times | {} |\n",
                plural.name,
                plural.operation.name(),
                arguments(&plural.parameters)
            ));
        }
        if !profile.absent.is_empty() {
            let absent: Vec<&str> = profile.absent.iter().map(|operation| operation.name()).collect();
            page.push_str(&format!(
                "\nThis system has no tool for: {}.\n",
                absent.join(", ")
            ));
        }
    }
    page
}

/// The table of events: becket's name, then each dialect's.
fn events(page: &mut String) {
    let rule = "---|".repeat(dialect_names().count());
    page.push_str(&format!(
        "| becket | {} |\n|---|{rule}\n",
        dialect_names().collect::<Vec<_>>().join(" | ")
    ));
    for event in EVENTS {
        let cells: Vec<String> = dialect_names().map(|dialect| rows_of(dialect, event)).collect();
        page.push_str(&format!("| `{}` | {} |\n", event.name, cells.join(" | ")));
    }
}

/// The names by which a dialect knows an event.
fn rows_of(dialect: &str, event: &EventInfo) -> String {
    let known = rows()
        .into_iter()
        .filter(|row| row.dialect == dialect && row.event == event.id);
    let names: Vec<String> = known
        .map(|row| format!("`{}` ({})", row.name, row.class.name()))
        .collect();
    match names.as_slice() {
        [] => "absent".into(),
        names => names.join(", "),
    }
}

/// The names under which a profile offers an operation.
fn faces_of(profile: &Profile, operation: OperationKind) -> String {
    let faces = profile.faces.iter().filter(|face| face.operation == operation);
    let names: Vec<String> = faces.map(|face| format!("`{}`", face.name)).collect();
    match names.as_slice() {
        [] if profile.absent.contains(&operation) => "absent".into(),
        names => names.join(", "),
    }
}

/// The arguments of a tool; optional ones are in brackets.
fn arguments(parameters: &Value) -> String {
    let required = parameters["required"].as_array().cloned().unwrap_or_default();
    let names = parameters["properties"]
        .as_object()
        .into_iter()
        .flat_map(|properties| properties.keys());
    let written: Vec<String> = names
        .map(|name| {
            let needed = required.iter().any(|entry| entry == name.as_str());
            if needed {
                format!("`{name}`")
            } else {
                format!("[`{name}`]")
            }
        })
        .collect();
    written.join(", ")
}
