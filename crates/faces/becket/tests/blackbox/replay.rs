//! `becket replay`: recorded sessions against the hooks as they are now.

use serde_json::{Value, json};
use testkit::{Finished, Room, needs};

use crate::room;

fn lines(run: &Finished) -> Vec<Value> {
    let lines = run.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect()
}

fn summary(run: &Finished) -> Value {
    lines(run).pop().expect("there is a summary")
}

/// A guard that refuses commands with a word in them.
fn guard(name: &str, word: &str) -> String {
    format!(
        "[[hook]]\nname = \"{name}\"\nevent = \"pre_shell\"\n\
         command = '''if grep -q '{word}'; then echo '{word} is out' >&2; exit 2; fi'''\n"
    )
}

/// A hook that puts another command in the place of one.
fn rewriter(from: &str, to: &str) -> String {
    format!(
        "[[hook]]\nname = \"rewriter\"\nevent = \"pre_tool\"\n\
         command = '''grep -q '\"command\":\"{from}\"' && \
         echo '{{\"arguments\":{{\"command\":\"{to}\"}}}}' || true'''\n"
    )
}

/// Runs a session with these commands under these hooks.
fn session(room: &Room, hooks: &str, commands: &[&str]) {
    let hooks = room.hooks(hooks);
    let call = |command: &&str| json!({"tool_calls": [{"name": "shell", "arguments": {"command": command}}]});
    let mut turns: Vec<Value> = commands.iter().map(call).collect();
    turns.push(json!({"text": "done"}));
    let model = room.model(&turns.into());
    room.run(["--yes", "--hooks", &hooks, "--model", &model, "go"])
        .ended_with(0);
}

#[test]
fn a_new_guard_is_tried_on_what_nobody_guarded_then() {
    let room = room();
    session(&room, "", &["touch one", "touch two"]);
    std::fs::remove_file(room.work().join("one")).expect("it was made");
    let hooks = room.hooks(&guard("no-one", "touch one"));
    let run = room
        .run(["replay", "--hooks", &hooks])
        .ended_with(6)
        .said("pre_shell  shell touch one")
        .said("was  no decision")
        .said("is   deny: touch one is out  by no-one (")
        .said("hooks.toml:1")
        .said("the call was made then; what follows is as it was recorded");
    assert!(!run.stdout.contains("touch two"), "{run:#?}");
    assert!(!room.has("one"), "nothing is done");
    let run = room.run(["replay", "--hooks", &hooks, "--json"]).ended_with(6);
    let difference = &lines(&run)[0];
    assert_eq!(difference["differs"], json!(["decision"]));
    assert_eq!(difference["is"]["verdict"], json!({"deny": "touch one is out"}));
    assert_eq!(difference["ran"], true);
    assert_eq!(summary(&run)["by_hook"][0]["hook"], "no-one");
}

#[test]
fn rewrites_that_differ_are_shown_and_hooks_that_are_gone_too() {
    let room = room();
    let then = format!("{}{}", guard("no-rm", "rm "), rewriter("one", "echo two"));
    session(&room, &then, &["one", "rm x"]);
    let now = room.hooks(&rewriter("one", "echo three"));
    let run = room.run(["replay", "--hooks", &now, "--json"]).ended_with(6);
    let told = lines(&run);
    let of = |event: &str, what: &str| {
        let found = told
            .iter()
            .find(|line| line["event"] == event && line["differs"] == json!([what]));
        found.unwrap_or_else(|| panic!("no {what} of {event} in {told:#?}"))
    };
    let rewrite = of("pre_tool", "rewrite");
    assert_eq!(
        rewrite["was"]["rewritten"]["arguments"],
        json!({"command": "echo two"})
    );
    assert_eq!(
        rewrite["is"]["rewritten"]["arguments"],
        json!({"command": "echo three"})
    );
    let refusal = of("pre_shell", "decision");
    assert_eq!(refusal["was"]["hooks"][0]["hook"], "no-rm");
    assert_eq!(refusal["is"]["verdict"], Value::Null);
    assert_eq!(summary(&run)["let_through"], 1);
    assert_eq!(summary(&run)["differing"], 2);
}

#[test]
fn with_unchanged_hooks_nothing_differs_and_every_replay_is_the_same() {
    let room = room();
    let hooks = format!("{}{}", guard("no-rm", "rm "), rewriter("one", "echo two"));
    session(&room, &hooks, &["one", "rm x"]);
    let file = room.hooks(&hooks);
    let first = room.run(["replay", "--hooks", &file, "--json"]).ended_with(0);
    assert_eq!(summary(&first)["differing"], 0);
    let replayed = summary(&first)["replayed"].as_u64();
    assert!(replayed.is_some_and(|count| count >= 4), "{first:#?}");
    for _ in 0..25 {
        let runs: Vec<_> = (0..4)
            .map(|_| room.start(["replay", "--hooks", &file, "--json"]))
            .collect();
        for run in runs {
            assert_eq!(run.finish().ended_with(0).stdout, first.stdout);
        }
    }
}

#[test]
fn many_sessions_are_summed_up_by_hook() {
    let room = room();
    session(&room, "", &["echo one", "curl x"]);
    session(&room, "", &["curl y"]);
    let hooks = room.hooks(&format!(
        "{}{}",
        guard("no-curl", "curl"),
        guard("no-git", "git push")
    ));
    room.run(["replay", "--all", "--since", "7d", "--hooks", &hooks])
        .ended_with(6)
        .said("would have stopped 2:\n  pre_shell shell curl x\n  pre_shell shell curl y")
        .said("of 2 sessions replayed: 2 differ");
    let run = room
        .run([
            "replay",
            "--all",
            "--since",
            "2099-01-01",
            "--hooks",
            &hooks,
            "--json",
        ])
        .ended_with(0);
    assert_eq!(summary(&run)["sessions"], 0);
    room.run(["replay", "--since", "7d"]).ended_with(2);
    room.run(["replay", "nothing-like-that"])
        .ended_with(2)
        .complained("there is no session");
}

#[test]
fn a_broken_guard_refuses_in_a_replay_and_sessions_without_a_folder_are_left_out() {
    let room = room();
    session(&room, "", &["echo one"]);
    let hooks = room.hooks("[[hook]]\nname = \"broken\"\nevent = \"pre_tool\"\ncommand = \"exit 7\"\n");
    room.run(["replay", "--hooks", &hooks])
        .ended_with(6)
        .said("could not decide")
        .said("by broken (");
    let elsewhere = room.work().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("the room is writable");
    std::fs::write(elsewhere.join("x"), "").expect("the room is writable");
    let model = room.model(&json!([{"text": "done"}]));
    let mut command = room.command(["--model", &model, "go"]);
    let status = command
        .current_dir(&elsewhere)
        .status()
        .expect("it can be started");
    assert!(status.success());
    std::fs::remove_dir_all(&elsewhere).expect("it is there");
    room.run(["replay", "--all"])
        .ended_with(0)
        .complained("1 session left out")
        .said("of 1 session replayed: nothing differs");
}

/// Changes the store behind becket's back.
fn tamper(room: &Room, sql: &str) {
    let program = "import sqlite3, sys\n\
         db = sqlite3.connect(sys.argv[1])\n\
         db.executescript(sys.argv[2])\n\
         db.commit()\n";
    let mut python = std::process::Command::new("python3");
    let status = python
        .args(["-c", program])
        .arg(room.store_file())
        .arg(sql)
        .status();
    assert!(status.expect("python3 can be started").success());
}

#[test]
fn what_an_older_becket_did_not_record_is_said() {
    if !needs("python3") {
        return;
    }
    let room = room();
    session(&room, "", &["curl x"]);
    tamper(
        &room,
        "UPDATE sessions SET record = 0; DELETE FROM trace WHERE heard = 0;",
    );
    let hooks = room.hooks(&guard("no-curl", "curl"));
    room.run(["replay", "--hooks", &hooks])
        .ended_with(0)
        .complained("1 session from before becket recorded events without hooks");
}

#[test]
fn a_record_that_is_gone_is_no_record_in_which_nothing_differs() {
    if !needs("python3") {
        return;
    }
    let room = room();
    session(&room, "", &["curl x"]);
    tamper(&room, "DELETE FROM trace;");
    room.run(["replay"])
        .ended_with(1)
        .complained("the record has no event of 1 session");
    session(&room, "", &["curl y"]);
    room.run(["replay", "--all"])
        .ended_with(0)
        .complained("the record has no event of 1 session")
        .said("of 2 sessions replayed: nothing differs");
}
