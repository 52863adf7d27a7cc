//! The sandbox: what commands can touch, whatever they try.

mod escapes;
mod network;
mod profiles;

use std::path::PathBuf;

use testkit::{Room, skipped};

use crate::room;

/// Whether this machine can hold a sandbox with namespaces. Without them the test prints that it is skipped.
fn can_confine(room: &Room) -> bool {
    let shown = room.run(["--json", "--sandbox", "workspace", "sandbox", "explain"]);
    let holds = shown.code == 0 && shown.events().iter().any(|shown| shown["namespaces"] == true);
    if !holds {
        skipped(&format!(
            "a kernel with Landlock and user namespaces: {}",
            shown.stderr
        ));
    }
    holds
}

/// A folder that no profile lets a command write: neither in the project nor among temporary files.
fn outside() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the folder for tests is writable")
}

/// A project with a repository, settings of agents, and secrets.
fn project() -> Room {
    let room = room();
    room.write(".git/HEAD", "ref: refs/heads/main\n");
    room.write(".git/config", GIT_SETTINGS);
    room.write("shared-hooks/pre-commit", "#!/bin/sh\n");
    room.write("shared-config", "[core]\n");
    room.write("sub/clone/.git/HEAD", "ref: refs/heads/main\n");
    room.write("sub/clone/.git/config", "[core]\n");
    room.write(".git/hooks/pre-commit", "#!/bin/sh\n");
    room.write("becket.toml", "# settings\n");
    room.write(".claude/settings.json", "{}\n");
    room.write(".env", SECRET);
    room.write("sub/.env", SECRET);
    room.write("sub/a/b/c/d/e/.env.local", SECRET);
    room.write("keys/cloud.json", SECRET);
    room.write("codex-settings/hooks.json", "{}\n");
    std::os::unix::fs::symlink("codex-settings", room.work().join(".codex")).expect("the room is writable");
    room.write("../home/.ssh/id_ed25519", SECRET);
    room.write("../home/.aws/credentials", SECRET);
    room.write("../home/.config/becket/config.toml", format!("# {SECRET}\n"));
    room
}

/// The settings of the project's repository.
const GIT_SETTINGS: &str =
    "[core]\n\thooksPath = shared-hooks\n[include]\n\tpath = ../shared-config\n\tpath = ../later/config\n";

/// What nothing in the sandbox may read.
const SECRET: &str = "s3cret-canary";

fn file(folder: &tempfile::TempDir, name: &str) -> PathBuf {
    folder.path().join(name)
}
