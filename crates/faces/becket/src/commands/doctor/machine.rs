//! What the machine offers: git, Node, room on the disk.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use becket_hooks::{Program, guest_environment};
use becket_host::Report;
use becket_system::Surroundings;

/// How long a program may take to tell its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// Below this many bytes, a long session may fill the disk.
const LITTLE_ROOM: u64 = 1 << 30;

/// Below this many bytes, even a short session may fail.
const NO_ROOM: u64 = 32 << 20;

/// Looks for the programs that some features need.
pub async fn programs(surroundings: &Surroundings) -> Vec<Report> {
    let git = program(&["git"], "undo and snapshots need it", surroundings).await;
    let need = "needed only for extensions that use Node; set `js.node` to its path";
    vec![git, program(&["node", "bun"], need, surroundings).await]
}

/// Looks for the first of some programs on the PATH, and asks it for its version.
async fn program(names: &[&str], need: &str, surroundings: &Surroundings) -> Report {
    let variables = Arc::new(guest_environment(surroundings.variables.clone()));
    let on_path = |name: &&str| {
        let program = Program::exec([*name]).environment(Arc::clone(&variables));
        program.resolve(Path::new("/")).ok()
    };
    let Some(path) = names.iter().find_map(on_path) else {
        let what = names.join(" or ");
        return Report::note(what, format!("not found on the PATH; {need}"));
    };
    let mut command = tokio::process::Command::new(&path);
    command
        .arg("--version")
        .env_clear()
        .envs(variables.iter())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(VERSION_TIMEOUT, command.output()).await;
    let version = match &output {
        Ok(Ok(output)) if output.status.success() => String::from_utf8_lossy(&output.stdout),
        _ => {
            return Report::new(
                path.display().to_string(),
                Some("does not report its version".into()),
            );
        }
    };
    let version = version.lines().next().unwrap_or_default().trim();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = version
        .rsplit(' ')
        .find(|word| word.contains('.'))
        .unwrap_or(version);
    Report::new(format!("{name} {number} ({})", path.display()), None)
}

/// Says how much room is left where data are kept.
pub fn disk(data: &Path) -> Report {
    // The folder need not exist before the first run.
    let existing = data.ancestors().find(|folder| folder.exists());
    let found = existing.and_then(|folder| rustix::fs::statvfs(folder).ok());
    let Some(found) = found else {
        return Report::note(
            format!("disk of {}", data.display()),
            "cannot tell how much is free".into(),
        );
    };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let what = format!("disk: {} free at {}", in_words(free), data.display());
    match free {
        0..NO_ROOM => Report::new(what, Some("sessions cannot be stored; make room".into())),
        NO_ROOM..LITTLE_ROOM => Report::note(what, "long sessions may need more".into()),
        _ => Report::new(what, None),
    }
}

fn in_words(bytes: u64) -> String {
    match bytes {
        0..0x4000_0000 => format!("{} MB", bytes >> 20),
        _ => format!("{:.1} GB", bytes as f64 / f64::from(1 << 30)),
    }
}
