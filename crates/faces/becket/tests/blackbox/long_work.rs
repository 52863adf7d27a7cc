//! Work that takes long says how far it is, to a user at a terminal and to nobody else; and checkpoints hinder nobody.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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

/// A room with checkpoints and a turn to undo, whose store may hold what nobody needs. Its git, once it has begun to
/// look for that, waits until the file `go` is there.
fn with_stuck_maintenance() -> Option<Room> {
    let room = with_slow_git()?;
    let slow = room.home().join("slow/git");
    let script = std::fs::read_to_string(&slow).expect("it is written");
    let (work, exec) = (
        room.work(),
        script.lines().last().expect("it calls git").to_owned(),
    );
    let wait = format!(
        "case \"$*\" in *rev-list*) : > '{0}/begun'; until test -e '{0}/go'; do sleep 0.05; done;; esac",
        work.display()
    );
    room.write("file", "before\n");
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "echo after > file"}}]},
        {"text": "done"},
    ]));
    write_program(&slow, &format!("#!/bin/sh\n{exec}\n"));
    room.run(["--yes", "--model", &model, "go"]).ended_with(0);
    write_program(&slow, &format!("#!/bin/sh\n{wait}\n{exec}\n"));
    let mut stores = store_of_snapshots(&room)
        .read_dir()
        .expect("there are checkpoints");
    let store = stores
        .next()
        .expect("of one folder")
        .expect("it can be read")
        .path();
    std::fs::write(store.join("unswept"), "").expect("it can be written");
    Some(room)
}

fn store_of_snapshots(room: &Room) -> PathBuf {
    let data = room.store_file();
    data.parent().expect("it is in a folder").join("snapshots")
}

#[test]
fn undo_does_not_wait_for_maintenance() {
    let Some(room) = with_stuck_maintenance() else {
        return;
    };
    let cleaning = room.start(["snapshots", "clean"]);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !room.has("begun") {
        assert!(Instant::now() < deadline, "the maintenance does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    room.run(["undo"]).ended_with(0);
    assert_eq!(room.read("file"), "before\n");
    room.write("go", "");
    cleaning.finish().ended_with(0);
}

#[test]
fn the_end_of_a_run_does_not_wait_for_maintenance() {
    let Some(room) = with_stuck_maintenance() else {
        return;
    };
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "echo more > file"}}]},
        {"text": "done"},
    ]));
    // Nothing ever writes the file `go`: only the three seconds end it, and not the timeout of 120.
    let begun = Instant::now();
    room.run(["--yes", "--model", &model, "go"])
        .ended_with(0)
        .said("done");
    assert!(room.has("begun"), "the maintenance has begun");
    assert!(
        begun.elapsed() < Duration::from_secs(100),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn the_store_of_checkpoints_does_not_grow_to_twice_the_folder() {
    fn size(path: &Path) -> u64 {
        let own = path.symlink_metadata().map_or(0, |about| about.len());
        let inside = path.read_dir().into_iter().flatten().flatten();
        own + inside.map(|entry| size(&entry.path())).sum::<u64>()
    }
    if !needs("git") {
        return;
    }
    let room = room();
    room.config("[snapshots]\nenabled = true\n");
    let mut state = 1_u64;
    for number in 0..8 {
        // Bytes that no program makes smaller.
        let bytes: Vec<u8> = std::iter::repeat_with(|| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .take(500_000)
        .collect();
        room.write(&format!("data/{number}"), bytes);
    }
    let folder = size(&room.work());
    let turns: Vec<_> = (0..4)
        .map(|number| {
            let command = format!("echo {number} > small");
            json!({"tool_calls": [{"name": "shell", "arguments": {"command": command}}]})
        })
        .chain([json!({"text": "done"})])
        .collect();
    let model = room.model(&json!(turns));
    let running = room.start(["--yes", "--model", &model, "go"]);
    let mut largest = 0;
    let store = store_of_snapshots(&room);
    while Path::new(&format!("/proc/{}/exe", running.id())).exists() {
        largest = largest.max(size(&store));
        std::thread::sleep(Duration::from_millis(20));
    }
    running.finish().ended_with(0);
    room.run(["snapshots", "clean"]).ended_with(0);
    largest = largest.max(size(&store));
    assert!(
        largest > folder / 2 && largest < folder * 3 / 2,
        "{largest} bytes for a folder of {folder}"
    );
}

#[test]
fn cleaning_the_store_shows_how_far_it_is() {
    let Some(room) = with_stuck_maintenance() else {
        return;
    };
    room.write("go", "");
    let Some(run) = with_person(&room, &["snapshots", "clean"]) else {
        return;
    };
    run.ended_with(0).complained("0 of 256 folders of the store");
    let silent = room.run(["snapshots", "clean"]).ended_with(0);
    assert!(!silent.stderr.contains("of 256"), "{}", silent.stderr);
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
