//! The generated parts of the README: a session with the real program, and a first hook from its file.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use super::parts::replace;
use crate::problem::Problem;
use crate::workspace::Workspace;

/// The README with freshly generated parts.
pub fn page(workspace: &Workspace) -> Result<String, Problem> {
    let hook = workspace.read("examples/first-hook.toml")?;
    let readme = workspace.read("README.md")?;
    let readme = replace(
        &readme,
        "session",
        &format!("```console\n{}```", session(workspace)?),
    )?;
    replace(&readme, "first-hook", &format!("```toml\n{}```", hook))
}

/// Runs the commands of `examples/session.sh`, one per line, and returns what they print.
fn session(workspace: &Workspace) -> Result<String, Problem> {
    let script = workspace.read("examples/session.sh")?;
    let room = tempfile::tempdir().map_err(|error| format!("cannot make a temporary folder: {error}"))?;
    prepare(workspace, room.path()).map_err(|error| format!("cannot prepare the session: {error}"))?;
    let mut session = String::new();
    for command in script
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        session.push_str(&format!("$ {command}\n"));
        session.push_str(&output_of(command, room.path())?);
    }
    Ok(session)
}

/// A home, a working directory with the examples in it, and the program under its own name.
fn prepare(workspace: &Workspace, room: &Path) -> std::io::Result<()> {
    for folder in ["bin", "home", "work"] {
        std::fs::create_dir(room.join(folder))?;
    }
    symlink(std::env::current_exe()?, room.join("bin/becket"))?;
    symlink(workspace.root().join("examples"), room.join("work/examples"))
}

/// The output of a command in a bare environment, so that no key and no setting of the user can change it.
fn output_of(command: &str, room: &Path) -> Result<String, Problem> {
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("/bin/sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(room.join("work"))
        .env_clear()
        .env("PATH", format!("{}:{path}", room.join("bin").display()))
        .env("HOME", room.join("home"))
        .env("LANG", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run `{command}`: {error}"))?;
    if !output.status.success() {
        return Err(format!("`{command}` ended with {}", output.status));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect())
}
