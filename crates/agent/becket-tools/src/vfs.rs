//! Operations on the virtual file system besides reading and writing files, and the list of cached outputs.

use std::io;
use std::time::{Duration, SystemTime};

use becket_agent::cache::{CachedOutput, outputs_in};
use becket_agent::gate::Target;
use becket_agent::tool::ToolOutput;
use becket_agent::vfs::{Kind, VfsPlace};
use becket_events::Operation;

use crate::judged_path::{reason, size};

/// The most entries that are shown.
const MOST_ENTRIES: usize = 1_000;

/// Carries out the operation; `None` if it is not one of these, or not on the virtual file system.
pub(crate) fn run(operation: &Operation, target: &Target) -> Option<ToolOutput> {
    let done = match (operation, target) {
        (Operation::VfsList(_), Target::Vfs(place)) => list(place),
        (Operation::VfsInfo(_), Target::Vfs(place)) => info(place),
        (Operation::VfsMkdir(_) | Operation::Mkdir(_), Target::Vfs(place)) => make_folder(place),
        (Operation::Rmdir(_), Target::Vfs(place)) => match place.info() {
            Ok(info) if info.kind != Kind::Folder => {
                ToolOutput::error(format!("Cannot remove {}: it is no folder.", place.address()))
            }
            _ => told("remove", place, place.remove(), || {
                format!("Removed {}.", place.address())
            }),
        },
        (Operation::VfsDelete(arguments), Target::Vfs(place)) => {
            let removed = match arguments.recursive {
                Some(true) => place.remove_all(),
                _ => place.remove(),
            };
            told("delete", place, removed, || {
                format!("Deleted {}.", place.address())
            })
        }
        (Operation::VfsCopy(_), Target::VfsPair(place, other)) => {
            told("copy", place, copied(place, other), || {
                format!("Copied {} to {}.", place.address(), other.address())
            })
        }
        (Operation::VfsMove(_), Target::VfsPair(place, other)) => {
            told("move", place, place.move_to(other), || {
                format!("Moved {} to {}.", place.address(), other.address())
            })
        }
        (Operation::CacheList(_), Target::Vfs(folder)) => cached_outputs(folder),
        _ => return None,
    };
    Some(done)
}

/// The output of an operation, or why it failed.
fn told(verb: &str, place: &VfsPlace, result: io::Result<()>, words: impl Fn() -> String) -> ToolOutput {
    match result {
        Ok(()) => ToolOutput::text(words()),
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => ToolOutput::error(format!(
            "Cannot {verb} {}: the folder is not empty. With `recursive` it goes with everything in it.",
            place.address()
        )),
        Err(error) => ToolOutput::error(format!("Cannot {verb} {}: {}.", place.address(), reason(&error))),
    }
}

/// Lists a folder. One that does not exist yet counts as empty, and names that begin with a dot are hidden.
fn list(place: &VfsPlace) -> ToolOutput {
    let entries = match place.entries() {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return told("list", place, Err(error), String::new),
    };
    let shown = entries.iter().filter(|entry| !entry.name.starts_with('.'));
    let mut lines: Vec<String> = shown
        .map(|entry| format!("{} ({})", entry.name, entry.kind.name()))
        .collect();
    if lines.is_empty() {
        lines.push("No entries found.".into());
    }
    let left_out = lines.len().saturating_sub(MOST_ENTRIES);
    if left_out > 0 {
        lines.truncate(MOST_ENTRIES);
        lines.push(format!("[… {left_out} more entries …]"));
    }
    ToolOutput::text(lines.join("\n"))
}

fn info(place: &VfsPlace) -> ToolOutput {
    let info = match place.info() {
        Ok(info) => info,
        Err(error) => return told("look at", place, Err(error), String::new),
    };
    let kind = match info.kind {
        Kind::File => "file",
        Kind::Folder => "directory",
    };
    let mut lines = vec![format!("kind: {kind}"), format!("size: {} bytes", info.size)];
    let times = [("created", info.created), ("modified", Some(info.modified))];
    for (word, time) in times {
        lines.extend(time.map(|time| format!("{word}: {}", httpdate::fmt_http_date(time))));
    }
    ToolOutput::text(lines.join("\n"))
}

fn make_folder(place: &VfsPlace) -> ToolOutput {
    match place.make_folder() {
        Ok(true) => ToolOutput::text(format!("Created {}.", place.address())),
        Ok(false) => ToolOutput::text(format!("{} is there already.", place.address())),
        Err(error) => told("make", place, Err(error), String::new),
    }
}

fn copied(place: &VfsPlace, other: &VfsPlace) -> io::Result<()> {
    match place.info()?.kind {
        Kind::File => place.copy_to(other),
        Kind::Folder => Err(io::Error::other("it is a folder; copy its files one by one")),
    }
}

fn cached_outputs(folder: &VfsPlace) -> ToolOutput {
    let outputs = match outputs_in(folder) {
        Ok(outputs) => outputs,
        Err(error) => return told("list", folder, Err(error), String::new),
    };
    if outputs.is_empty() {
        return ToolOutput::text("No cached outputs.");
    }
    let lines: Vec<String> = outputs.iter().map(cached_line).collect();
    ToolOutput::text(lines.join("\n"))
}

fn cached_line(output: &CachedOutput) -> String {
    let stored = SystemTime::UNIX_EPOCH + Duration::from_millis(output.stored_ms);
    let minutes = stored.elapsed().unwrap_or_default().as_secs() / 60;
    let age = match minutes {
        0..60 => format!("{minutes} min old"),
        60..2_880 => format!("{} h old", minutes / 60),
        _ => format!("{} days old", minutes / 1_440),
    };
    format!(
        "{} ({}, {}, {age})",
        output.address,
        output.tool_name,
        size(output.size)
    )
}
