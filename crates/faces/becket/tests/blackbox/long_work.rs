//! Work that takes long says how far it is, to a user at a terminal and to nobody else; and checkpoints hinder nobody.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use testkit::{ModelServer, OpenAiStream, Response, Room, needs, write_program};

use crate::limit::with_person;
use crate::room;

const TESTS: &str = r#"
hooks = ["guard.toml"]

[[test]]
name = "one"
event = "pre_tool"
payload = { tool_name = "shell", arguments = { command = "one" } }

[[test]]
name = "two"
event = "pre_tool"
payload = { tool_name = "shell", arguments = { command = "two" } }
"#;

#[test]
fn hook_tests_show_how_many_are_done() {
    let room = room();
    room.write(
        "guard.toml",
        "[[hook]]\nevent = \"pre_tool\"\ncommand = \"true\"\n",
    );
    room.write("all.hooktest.toml", TESTS);
    let arguments = ["hooks", "test", "all.hooktest.toml"];
    let silent = room.run(arguments).ended_with(0);
    assert!(!silent.stderr.contains(" of 2 tests"), "{}", silent.stderr);
    let Some(run) = with_person(&room, &arguments) else {
        return;
    };
    run.ended_with(0)
        .said("ok")
        .complained("0 of 2 tests")
        .complained("1 of 2 tests");
}

#[test]
fn a_replay_of_all_sessions_shows_how_many_are_done() {
    let room = room();
    for name in ["one", "two"] {
        room.run(["--yes", "-C", name, "Run: true"]).ended_with(0);
    }
    let hooks = room.hooks("[[hook]]\nevent = \"pre_tool\"\ncommand = \"sleep 0.5\"\n");
    let arguments = ["replay", "--all", "--hooks", &hooks];
    let silent = room.run(arguments).ended_with(0);
    assert!(!silent.stderr.contains(" of 2 sessions"), "{}", silent.stderr);
    let Some(run) = with_person(&room, &arguments) else {
        return;
    };
    run.ended_with(0).complained("1 of 2 sessions");
}

#[test]
fn the_check_of_the_audit_log_shows_how_much_is_done() {
    let room = room();
    room.run(["--yes", "Run: true"]).ended_with(0);
    let silent = room.run(["audit", "verify"]).ended_with(0);
    assert!(!silent.stderr.contains(" records"), "{}", silent.stderr);
    let Some(run) = with_person(&room, &["audit", "verify"]) else {
        return;
    };
    run.ended_with(0).said("none was changed").complained(" records");
}

/// A room with checkpoints, whose git takes its time for every call.
fn with_slow_git() -> Option<Room> {
    if !needs("git") {
        return None;
    }
    let room = room();
    room.config("[snapshots]\nenabled = true\ntimeout = 120\n");
    let path = std::env::var("PATH").unwrap_or_default();
    let git = std::env::split_paths(&path).map(|folder| folder.join("git"));
    let git = { git }.find(|file| file.exists()).expect("git is there");
    let folder = room.home().join("slow");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let script = format!("#!/bin/sh\nsleep 0.5\nexec '{}' \"$@\"\n", git.display());
    write_program(&folder.join("git"), &script);
    let path = format!("{}:{path}", folder.display());
    Some(room.with("PATH", &path))
}

/// The journal of checkpoints, as soon as there is one.
fn journal(room: &Room) -> Option<String> {
    let folders = room.store_file().parent()?.join("snapshots").read_dir().ok()?;
    let files = folders
        .flatten()
        .map(|folder| folder.path().join("journal.jsonl"));
    let files: Vec<PathBuf> = files.collect();
    files.iter().find_map(|file| std::fs::read_to_string(file).ok())
}

#[test]
fn a_checkpoint_does_not_delay_the_first_request_and_is_there_before_the_first_change() {
    let Some(room) = with_slow_git() else { return };
    let command = json!({"command": "echo after > file"}).to_string();
    let calls = OpenAiStream::new("m").tool_call(0, "call-1", "shell", &[&command]);
    let done = OpenAiStream::new("m").text("done").finish("stop").done();
    let server = ModelServer::start([
        // The model thinks for a while, so that the test can look.
        Response::events(calls.finish("tool_calls").done()).after(Duration::from_millis(300)),
        Response::events(done),
    ]);
    let room = room
        .with("OPENAI_API_KEY", "sk-0123456789")
        .with("OPENAI_BASE_URL", &server.url());
    room.write("file", "before\n");
    let running = room.start(["--yes", "go"]);
    assert_eq!(server.wait_for(1, Duration::from_secs(60)).len(), 1);
    let early = journal(&room).unwrap_or_default();
    assert!(
        !early.contains("tree"),
        "the request waited for the checkpoint: {early}"
    );
    running.finish().ended_with(0).said("done");
    assert_eq!(room.read("file"), "after\n");
    room.run(["undo"]).ended_with(0);
    assert_eq!(room.read("file"), "before\n");
}

#[test]
fn a_turn_that_changes_nothing_waits_for_no_checkpoint_and_leaves_none() {
    let Some(room) = with_slow_git() else { return };
    room.write("file", "before\n");
    let model = room.model(&json!([{"text": "an answer"}]));
    room.run(["--model", &model, "hello"])
        .ended_with(0)
        .said("an answer");
    room.write("file", "mine\n");
    room.run(["undo"]).ended_with(1).complained("nothing to undo");
    assert_eq!(room.read("file"), "mine\n");
}

#[test]
fn the_first_checkpoint_shows_how_many_files_it_has_while_a_call_waits_for_it() {
    let Some(room) = with_slow_git() else { return };
    for number in 0..20 {
        room.write(&format!("files/{number}"), "x");
    }
    let calls = json!([{"name": "shell", "arguments": {"command": "echo x > new"}}]);
    let model = room.model(&json!([{"tool_calls": calls}, {"text": "done"}]));
    let Some(run) = with_person(&room, &["--yes", "--model", &model, "go"]) else {
        return;
    };
    let run = run.ended_with(0).said("done");
    assert!(run.stderr.contains("files of the checkpoint"), "{}", run.stderr);
}
