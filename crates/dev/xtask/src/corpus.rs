//! Reads hook files of other agents in a folder with checkouts of public repositories, and says what becket makes of
//! each: how many hooks it has, how many load, which are reported and why. None may be lost. If schemas that a system
//! has published are among the files, becket is compared with them (`corpus/schemas.rs`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_dialects::FILE_SYSTEMS;
use becket_hook_files::{Owner, Reading, Source, System};
use serde_json::Value;

use crate::problem::Problem;

mod schemas;

/// How deep folders are searched.
const DEEPEST: usize = 24;

/// The members by which an object is a hook.
const HOOK_MEMBERS: &[&str] = &["command", "bash", "powershell", "prompt", "url", "tool"];

/// What was found in all files of a system.
#[derive(Default)]
struct Sum {
    files: usize,
    hooks: usize,
    loaded: usize,
    joined: usize,
    reported: usize,
    lost: usize,
}

/// Reads all hook files below a folder.
pub fn run(folder: &str) -> Result<(), Problem> {
    let mut files = Vec::new();
    walk(Path::new(folder), 0, &mut files);
    files.sort();
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for file in &files {
        for system in FILE_SYSTEMS.iter().filter(|system| (system.is_file)(file)) {
            let sum = sums.entry(system.dialect.name).or_default();
            look(file, system, sum);
        }
    }
    println!();
    let mut lost = 0;
    for (name, sum) in &sums {
        let Sum {
            files,
            hooks,
            loaded,
            joined,
            reported,
            lost: gone,
        } = sum;
        println!(
            "{name}: {files} files, {hooks} hooks: {loaded} loaded, {joined} joined with the same one, \
             {reported} reported, {gone} lost"
        );
        lost += gone;
    }
    let compared = schemas::check(&files);
    match lost {
        0 => compared,
        _ => Err(format!("{lost} hooks were lost without a word")),
    }
}

fn walk(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth < DEEPEST && entry.file_name() != ".git" {
            walk(&path, depth + 1, files);
        } else if kind.is_file()
            && path
                .extension()
                .is_some_and(|ending| ending == "json" || ending == "toml")
        {
            files.push(path);
        }
    }
}

/// Reads a file, and says what became of each hook in it.
fn look(file: &Path, system: &System, sum: &mut Sum) {
    let name = system.dialect.name;
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let value: Value = match becket_hook_files::value_of(file, &text, system.json) {
        Ok(value) => value,
        Err(error) => {
            println!(
                "{} ({name}): not read, so no run starts beside it: line {}: {}",
                file.display(),
                error.line,
                error.message
            );
            return;
        }
    };
    let mut written = Vec::new();
    hooks_in(
        value.get("hooks").unwrap_or(&Value::Null),
        "/hooks".into(),
        &mut written,
    );
    if written.is_empty() {
        return;
    }
    let source = Arc::new(Source {
        file: file.to_path_buf(),
        owner: Owner::Project,
        plugin: None,
    });
    let mut reading = Reading::default();
    (system.read)(&value, &source, &mut reading);
    let is_below = |pointer: &str, place: &str| {
        pointer == place || pointer.starts_with(&format!("{place}/")) || place.is_empty()
    };
    let (mut loaded, mut joined, mut reported, mut lost) = (0, 0, 0, Vec::new());
    for pointer in &written {
        if reading
            .entries
            .iter()
            .any(|entry| is_below(pointer, &entry.pointer))
        {
            loaded += 1;
        } else if reading.joined.iter().any(|place| is_below(pointer, place)) {
            joined += 1;
        } else if reading
            .dropped
            .iter()
            .any(|dropped| is_below(pointer, &dropped.pointer))
        {
            reported += 1;
        } else {
            lost.push(pointer);
        }
    }
    let (file, hooks) = (file.display(), written.len());
    println!("{file} ({name}): {hooks} hooks, {loaded} loaded, {joined} joined, {reported} reported");
    for dropped in &reading.dropped {
        let guards = if dropped.guards { " (may be a guard)" } else { "" };
        println!("    {}: {}{guards}", dropped.pointer, dropped.reason);
    }
    for pointer in &lost {
        println!("    {pointer}: LOST");
    }
    sum.files += 1;
    sum.hooks += hooks;
    sum.loaded += loaded;
    sum.joined += joined;
    sum.reported += reported;
    sum.lost += lost.len();
}

/// Where a value holds hooks, whatever shape is around them.
fn hooks_in(value: &Value, pointer: String, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            let is_hook = HOOK_MEMBERS
                .iter()
                .any(|name| members.get(*name).is_some_and(Value::is_string));
            if is_hook && !members.contains_key("hooks") {
                found.push(pointer);
                return;
            }
            for (name, member) in members {
                hooks_in(
                    member,
                    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1")),
                    found,
                );
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                hooks_in(item, format!("{pointer}/{number}"), found);
            }
        }
        _ => {}
    }
}
