//! `becket snapshots`: the checkpoints of the working directory. No hook is asked, since the user runs it.

use becket_face_kit::progress;
use becket_run::setup::Setup;
use becket_run::snapshots::snapshot_settings;
use becket_snapshot::{Change, Checkpoint, Conflicts, Kind, Point, Problem, Restored, Snapshots};
use becket_system::moments::ago;
use becket_system::{CliError, Exit, Surroundings, harmless};
use serde_json::{Value, json};

use crate::args::SnapshotsCommand;
use crate::options::Options;
use crate::printing::{print, print_bytes};

/// Lists or compares checkpoints, or restores one.
pub fn run(
    options: &Options,
    command: Option<SnapshotsCommand>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let snapshots = open(options, surroundings)?;
    match command.unwrap_or(SnapshotsCommand::List) {
        SnapshotsCommand::List => list(&snapshots, options, surroundings),
        SnapshotsCommand::Diff { from, to } => {
            let to = to.map_or(Point::Now, Point::Checkpoint);
            diff(&snapshots, from, to, options, surroundings)
        }
        SnapshotsCommand::Restore { id } => {
            let restored = snapshots.restore(id).map_err(problem)?;
            tell("restored", &restored, options, surroundings)
        }
        SnapshotsCommand::Clean => {
            let mut progress = progress("folders of the store", options, surroundings);
            let cleaned = snapshots.clean_with(&mut |done, total| match done {
                // What comes before the first folder may take longest.
                0 => progress.step(done, total),
                _ => progress.at(done, total),
            });
            progress.clear();
            let cleaned = cleaned.map_err(problem)?;
            surroundings.remark(&format!(
                "{} checkpoints expired; {} before, {} now",
                cleaned.expired,
                size(cleaned.before),
                size(cleaned.after)
            ));
            Ok(Exit::Answered)
        }
    }
}

/// The checkpoints of the working directory.
pub fn open(options: &Options, surroundings: &Surroundings) -> Result<Snapshots, CliError> {
    let setup = Setup::read(&options.run, surroundings)?;
    let settings = snapshot_settings(&setup, surroundings);
    Snapshots::open(&setup.folders.data, &surroundings.cwd, settings).map_err(problem)
}

/// What to do about files that have changed since: `--force` overwrites them.
pub fn conflicts(force: bool) -> Conflicts {
    match force {
        true => Conflicts::Overwrite,
        false => Conflicts::Refuse,
    }
}

/// A problem as an error for the user.
pub fn problem(problem: Problem) -> CliError {
    let error = CliError::failed(problem.to_string());
    match problem {
        Problem::Changed { .. } => error.hint("the option is --force"),
        Problem::Unknown(_) => error.hint("becket snapshots"),
        Problem::Nothing("undo") => {
            error.hint("`becket config set snapshots.enabled true` turns checkpoints on")
        }
        _ => error,
    }
}

/// Shows what became of the files.
pub fn tell(
    done: &str,
    restored: &Restored,
    options: &Options,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    if options.run.json {
        let kept: Vec<_> = restored.kept.iter().map(|path| path.to_string_lossy()).collect();
        let changes: Vec<Value> = restored.changes.iter().map(told).collect();
        let line = json!({"step": restored.step, "of": restored.of, "changes": changes, "kept": kept});
        print(&format!("{line}\n"))?;
        return Ok(Exit::Answered);
    }
    for change in &restored.changes {
        print(&format!("{}\n", shown(&change_line(change), surroundings)))?;
    }
    for path in &restored.kept {
        surroundings.remark(&format!("{} stays, because it was ignored then", path.display()));
    }
    let of = &restored.of;
    let files = count(restored.changes.len());
    surroundings.remark(&format!("{done} {}: {}; {files} changed", of.id, of.label));
    Ok(Exit::Answered)
}

fn list(snapshots: &Snapshots, options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let checkpoints = snapshots.list().map_err(problem)?;
    for checkpoint in &checkpoints {
        let line = match options.run.json {
            true => json!(checkpoint).to_string(),
            false => shown(&line(checkpoint), surroundings),
        };
        print(&format!("{line}\n"))?;
    }
    if options.run.json {
        return Ok(Exit::Answered);
    }
    if let Some(last) = checkpoints.last() {
        for left_out in &last.left_out {
            let path = left_out.path.display();
            let reason = json!(left_out.reason);
            let reason = reason.as_str().unwrap_or_default().replace('_', " ");
            surroundings.remark(&format!("{path} is in no checkpoint: {reason}"));
        }
    }
    let (number, room) = (checkpoints.len(), size(snapshots.size()));
    let folder = snapshots.folder().display();
    surroundings.remark(&match number {
        0 => format!("there are no checkpoints of {folder} yet"),
        1 => format!("1 checkpoint of {folder}, {room}"),
        _ => format!("{number} checkpoints of {folder}, {room}"),
    });
    Ok(Exit::Answered)
}

fn diff(
    snapshots: &Snapshots,
    from: u64,
    to: Point,
    options: &Options,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    if options.run.json {
        for change in snapshots.changes(from, to).map_err(problem)? {
            print(&format!("{}\n", told(&change)))?;
        }
        return Ok(Exit::Answered);
    }
    let patch = snapshots.patch(from, to).map_err(problem)?;
    match surroundings.stdout_is_terminal {
        true => print(&harmless(&String::from_utf8_lossy(&patch)))?,
        false => print_bytes(&patch)?,
    }
    Ok(Exit::Answered)
}

/// A checkpoint in one line.
fn line(checkpoint: &Checkpoint) -> String {
    let kind = match checkpoint.kind {
        Kind::Turn => "turn",
        Kind::Call => "call",
        Kind::Before => "before",
        Kind::Undo => "undo",
        Kind::Redo => "redo",
        Kind::Restore => "restore",
    };
    let what = match checkpoint.since {
        Some(since) => format!("since {since}: {}", count(checkpoint.changed)),
        None => "begins".to_owned(),
    };
    let (id, when, label) = (checkpoint.id, ago(checkpoint.at), &checkpoint.label);
    format!("{id}  {when}  {kind}  {what}  {label}")
}

fn change_line(change: &Change) -> String {
    let what = match (&change.before, &change.after) {
        (None, _) => "created",
        (_, None) => "deleted",
        _ => "changed",
    };
    format!("{what}  {}", change.path.display())
}

fn told(change: &Change) -> Value {
    let version = |version: &Option<becket_snapshot::Version>| {
        let version = version.as_ref();
        version.map(|version| json!({"mode": format!("{:o}", version.mode), "object": version.object}))
    };
    json!({
        "path": change.path.to_string_lossy(),
        "before": version(&change.before),
        "after": version(&change.after),
    })
}

/// Text such as a file name, without control characters on a terminal.
fn shown(text: &str, surroundings: &Surroundings) -> String {
    match surroundings.stdout_is_terminal {
        true => harmless(text),
        false => text.to_owned(),
    }
}

fn count(files: usize) -> String {
    match files {
        1 => "1 file".to_owned(),
        _ => format!("{files} files"),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{} KiB", bytes.div_ceil(1024)),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}
