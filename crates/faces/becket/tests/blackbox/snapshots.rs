//! Checkpoints of the working directory: undo, redo, list, diff, restore, in the hands of a user.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::{Finished, Room, needs};

use crate::room;

/// A room in which every turn leaves a checkpoint.
fn kept() -> Option<Room> {
    if !needs("git") {
        return None;
    }
    let room = room();
    room.config("[snapshots]\nenabled = true\n");
    Some(room)
}

/// Lets the model run commands, each in a turn of its own.
fn work(room: &Room, commands: &[&str]) -> Finished {
    let mut turns: Vec<Value> = commands
        .iter()
        .map(|command| json!({"tool_calls": [{"name": "shell", "arguments": {"command": command}}]}))
        .collect();
    turns.push(json!({"text": "done"}));
    let model = room.model(&json!(turns));
    room.run(["--yes", "--model", &model, "go"]).ended_with(0)
}

fn checkpoints(room: &Room) -> Vec<Value> {
    room.run(["snapshots", "--json"]).ended_with(0).events()
}

#[test]
fn undo_brings_back_what_a_turn_changed_deleted_created_and_made_executable() {
    let Some(room) = kept() else { return };
    room.write("changed.txt", "before\n");
    room.write("deleted.txt", b"\x00\xff bytes\r\n");
    let program = room.write("program", "#!/bin/sh\n");
    room.write("folder/stays.txt", "stays\n");
    work(
        &room,
        &["echo after > changed.txt; rm deleted.txt; mkdir new; echo x > new/file; chmod +x program"],
    );
    let is_program = || program.metadata().unwrap().permissions().mode() & 0o111 != 0;
    assert!(is_program());
    let run = room.run(["undo"]).ended_with(0);
    for line in [
        "changed  changed.txt",
        "created  deleted.txt",
        "deleted  new/file",
        "changed  program",
    ] {
        assert!(run.stdout.contains(line), "{}", run.stdout);
    }
    assert_eq!(room.read("changed.txt"), "before\n");
    assert_eq!(
        std::fs::read(room.work().join("deleted.txt")).unwrap(),
        b"\x00\xff bytes\r\n"
    );
    assert!(!room.has("new") && !is_program() && room.has("folder/stays.txt"));

    let told: Value = room.run(["redo", "--json"]).ended_with(0).events().remove(0);
    assert_eq!(told["changes"].as_array().unwrap().len(), 4, "{told}");
    assert_eq!(room.read("changed.txt"), "after\n");
    assert!(room.has("new/file") && !room.has("deleted.txt") && is_program());
    room.run(["redo"]).ended_with(1).complained("nothing to redo");
    assert!(
        !room.has(".git"),
        "the folder is no repository and does not become one"
    );
}

#[test]
fn turns_and_calls_are_undone_one_after_the_other() {
    let Some(room) = kept() else { return };
    room.write("file", "0\n");
    work(&room, &["echo 1 > file", "cat file", "echo 2 > file"]);
    let steps: Vec<Value> = checkpoints(&room)
        .into_iter()
        .filter(|checkpoint| checkpoint.get("since").is_some())
        .collect();
    let kinds: Vec<&str> = steps.iter().map(|step| step["kind"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["call", "turn", "call", "turn"],
        "what changed nothing leaves no step"
    );
    assert_eq!(steps[2]["label"], "shell: echo 2 > file");
    room.run(["undo", "--call"]).ended_with(0);
    assert_eq!(room.read("file"), "1\n");
    room.run(["redo"]).ended_with(0);
    assert_eq!(room.read("file"), "2\n");
    room.run(["undo"]).ended_with(0);
    assert_eq!(room.read("file"), "1\n");
    room.run(["undo"]).ended_with(0);
    assert_eq!(room.read("file"), "0\n");
    room.run(["undo"]).ended_with(1).complained("nothing to undo");
}

#[test]
fn what_the_person_changed_since_is_told_and_not_overwritten_without_force() {
    let Some(room) = kept() else { return };
    room.write("mine", "0\n");
    room.write("other", "0\n");
    work(&room, &["echo 1 > mine; echo 1 > other"]);
    room.write("mine", "by the user\n");
    room.write("unrelated", "by the user\n");
    let run = room
        .run(["undo"])
        .ended_with(1)
        .complained("\"mine\"")
        .complained("--force");
    assert!(!run.stderr.contains("\"other\""), "{}", run.stderr);
    assert_eq!(
        (room.read("mine"), room.read("other")),
        ("by the user\n".into(), "1\n".into())
    );
    room.run(["undo", "--force"]).ended_with(0);
    assert_eq!(
        (room.read("mine"), room.read("other")),
        ("0\n".into(), "0\n".into())
    );
    assert_eq!(room.read("unrelated"), "by the user\n");
    room.run(["redo"]).ended_with(0);
    assert_eq!(
        room.read("mine"),
        "by the user\n",
        "what was there before the undo is back"
    );
}

#[test]
fn checkpoints_are_listed_compared_and_restored() {
    let Some(room) = kept() else { return };
    room.run(["snapshots"]).ended_with(0).complained("no checkpoints");
    room.write("file", "0\n");
    work(&room, &["echo 1 > file"]);
    work(&room, &["echo 2 > file; echo x > added"]);
    let all = checkpoints(&room);
    let first = all[0]["id"].to_string();
    let last = all.last().unwrap()["id"].to_string();
    let list = room.run(["snapshots", "list"]).ended_with(0);
    assert_eq!(list.stdout.lines().count(), all.len());
    assert!(
        list.stderr.contains(&format!("{} checkpoints of", all.len())),
        "{}",
        list.stderr
    );
    let diff = room.run(["snapshots", "diff", &first]).ended_with(0);
    assert!(
        diff.stdout.contains("-0\n+2\n") && diff.stdout.contains("+++ b/added"),
        "{}",
        diff.stdout
    );
    let between = room
        .run(["snapshots", "diff", &last, &first, "--json"])
        .ended_with(0)
        .events();
    let paths: Vec<&str> = between
        .iter()
        .map(|change| change["path"].as_str().unwrap())
        .collect();
    assert!(paths.contains(&"added") && paths.contains(&"file"), "{paths:?}");
    room.run(["snapshots", "restore", &first]).ended_with(0);
    assert!(room.read("file") == "0\n" && !room.has("added"));
    room.run(["undo"]).ended_with(0);
    assert!(room.read("file") == "2\n" && room.has("added"));
    room.run(["snapshots", "restore", "999"])
        .ended_with(1)
        .complained("no checkpoint 999");
    room.run(["snapshots", "clean"])
        .ended_with(0)
        .complained("0 checkpoints expired");
    room.run(["-c", "other", "undo"]).ended_with(2);
}

#[test]
fn a_repository_of_the_persons_stays_as_it_is() {
    let Some(room) = kept() else { return };
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "user.name=A", "-c", "user.email=a@example.com"])
            .args(arguments)
            .current_dir(room.work())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    room.write("tracked", "0\n");
    room.write(".gitignore", "ignored\n");
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "first"]);
    room.write("untracked", "0\n");
    room.write("ignored", "0\n");
    let index = || std::fs::read(room.work().join(".git/index")).unwrap();
    let (before, refs) = (index(), git(&["for-each-ref"]));
    work(&room, &["echo 1 > tracked; rm untracked; echo 1 > ignored"]);
    room.run(["undo"]).ended_with(0);
    assert_eq!(
        (room.read("tracked"), room.read("untracked")),
        ("0\n".into(), "0\n".into())
    );
    assert_eq!(room.read("ignored"), "1\n", "ignored files are left alone");
    assert!(index() == before && git(&["for-each-ref"]) == refs);
}

#[test]
fn without_the_setting_nothing_is_kept_and_without_git_the_work_goes_on() {
    let room = room();
    room.write("file", "0\n");
    work(&room, &["echo 1 > file"]);
    if needs("git") {
        room.run(["undo"]).ended_with(1).complained("snapshots.enabled");
    }
    room.config("[snapshots]\nenabled = true\n");
    let shell = room.work().join("bin");
    std::fs::create_dir(&shell).unwrap();
    for name in ["sh", "echo"] {
        std::os::unix::fs::symlink(format!("/bin/{name}"), shell.join(name)).unwrap();
    }
    let room = room.with("PATH", shell.to_str().unwrap());
    let run = work(&room, &["echo 2 > file", "echo 3 > file"]);
    assert_eq!(room.read("file"), "3\n");
    assert_eq!(
        run.stderr.matches("snapshots need the program `git`").count(),
        1,
        "{}",
        run.stderr
    );
}

#[test]
fn settings_that_make_no_sense_are_errors_with_their_line() {
    let room = room();
    room.config("[snapshots]\nenabled = true\ntimeout = 0\n");
    room.run(["snapshots"])
        .ended_with(2)
        .complained("snapshots.timeout")
        .complained("3");
    room.config("[snapshots]\nenable = true\n");
    room.run(["snapshots"]).ended_with(2).complained("enable");
}

#[test]
fn the_chat_knows_undo_redo_and_snapshots() {
    let Some(room) = kept() else { return };
    room.write("file", "0\n");
    let call = json!({"tool_calls": [{"name": "shell", "arguments": {"command": "echo 1 > file"}}]});
    let model = room.model(&json!([call, {"text": "done"}]));
    let words = "go\n/undo\n/redo\n/undo --nonsense\n/undo\n/undo\n/snapshots\n/quit\n";
    let run = room
        .run_with_input(["--yes", "--model", &model, "chat"], words)
        .ended_with(2);
    assert_eq!(room.read("file"), "0\n");
    for said in [
        "undid",
        "redid",
        "does not know `--nonsense`",
        "nothing to undo",
        "checkpoints of",
    ] {
        assert!(run.stderr.contains(said), "{said}: {}", run.stderr);
    }
}
