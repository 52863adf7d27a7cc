//! The page of the dialects: which foreign word stands for what.

use becket_dialects::{PROFILE_NAMES, profile_named};
use becket_events::{Face, OperationKind, Profile};

const INTRODUCTION: &str = "\
# Dialects

Generated from the profiles in `crates/becket-dialects` by `cargo xtask generate`. Do not edit.

A dialect is a foreign hook format. So far becket knows the **tools** of each system: `--tools PROFILE` gives the model
the names and arguments that it knows from there, and one implementation stands behind all of them. Hooks, rules and
the transcript see becket's own words. The table of **events**, with each system's name for every one of them, is added
together with the dialect that runs its hooks.

## One operation, many names

";

/// The page.
pub fn page() -> String {
    let profiles: Vec<Profile> = PROFILE_NAMES
        .iter()
        .filter_map(|name| profile_named(name))
        .collect();
    let mut page = String::from(INTRODUCTION);
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
                arguments(face)
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

/// The names under which a profile offers an operation.
fn faces_of(profile: &Profile, operation: OperationKind) -> String {
    let faces = profile.faces.iter().filter(|face| face.operation == operation);
    let names: Vec<String> = faces.map(|face| format!("`{}`", face.name)).collect();
    match names.as_slice() {
        [] if profile.absent.contains(&operation) => "absent".into(),
        names => names.join(", "),
    }
}

/// The arguments of a tool; those that may be left out stand in brackets.
fn arguments(face: &Face) -> String {
    let required = face.parameters["required"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let names = face.parameters["properties"]
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
