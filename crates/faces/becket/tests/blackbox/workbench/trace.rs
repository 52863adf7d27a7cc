//! `becket trace`: what happened in a session, as a tree, as lines and for Perfetto.

use serde_json::{Value, json};
use testkit::Room;

use super::guards;
use crate::room;

/// A session in which one call is rewritten twice and one is refused.
fn eventful(room: &Room) {
    let rewriter = |name: &str, from: &str, to: &str| {
        format!(
            "[[hook]]\nname = \"{name}\"\nevent = \"pre_tool\"\nmatch = {{ tool = \"shell\" }}\n\
             command = '''grep -q '\"command\":\"{from}\"' && \
             echo '{{\"arguments\":{{\"command\":\"{to}\"}}}}' || true'''\n"
        )
    };
    let hooks = room.hooks(&format!(
        "{}{}[[hook]]\nname = \"no-rm\"\nevent = \"pre_shell\"\n\
         command = '''if grep -q 'rm '; then echo 'rm is out' >&2; exit 2; fi'''\n",
        rewriter("first", "one", "echo two"),
        rewriter("second", "echo two", "echo three"),
    ));
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "one"}}]},
        {"tool_calls": [{"name": "shell", "arguments": {"command": "rm x"}}]},
        {"text": "done"},
    ]));
    room.run(["--yes", "--hooks", &hooks, "--model", &model, "go"])
        .ended_with(0);
}

#[test]
fn the_tree_shows_turns_requests_calls_hooks_and_every_rewrite() {
    let room = room();
    eventful(&room);
    let run = room.run(["trace"]).ended_with(0);
    let mut place = 0;
    for words in [
        "session ",
        "├─ turn 1  ",
        "request to scripted/",
        "shell {\"command\":\"one\"}",
        "allowed by yes",
        "ran with {\"command\":\"echo three\"}",
        "pre_tool  ",
        "arguments: {\"command\":\"one\"}",
        "first (",
        "arguments → {\"command\":\"echo two\"}",
        "second (",
        "arguments → {\"command\":\"echo three\"}",
        "arguments at the end: {\"command\":\"echo three\"}",
        "pre_shell",
        "turn 2",
        "rm is out",
        "no-rm (",
        "turn 3",
    ] {
        match run.stdout[place..].find(words) {
            Some(found) => place += found,
            None => panic!("{words} is not where it should be:\n{}", run.stdout),
        }
    }
}

#[test]
fn hooks_of_every_dialect_are_in_the_trace() {
    for guarded in guards() {
        let model = guarded.room.model(&json!([
            {"tool_calls": [{"name": "shell", "arguments": {"command": "rm -rf x"}}]},
            {"text": "done"},
        ]));
        guarded.run(&["--yes", "--model", &model, "go"]).ended_with(0);
        guarded
            .room
            .run(["trace"])
            .ended_with(0)
            .said("no-rm")
            .said("rm is out");
    }
}

#[test]
fn what_a_sub_agent_does_stands_below_the_call_that_asked_it() {
    let room = room();
    room.write(
        "child.json",
        json!([
            {"tool_calls": [{"name": "shell", "arguments": {"command": "echo below"}}]},
            {"text": "helped"},
        ])
        .to_string(),
    );
    let asking = json!({
        "system_prompt": "You help.", "input": "the task", "model": "scripted/child.json", "tools": true,
    });
    let model = room.model(&json!([
        {"tool_calls": [{"name": "spawn_agent", "arguments": asking}]},
        {"text": "done"},
    ]));
    room.run(["--yes", "--model", &model, "go"]).ended_with(0);
    let run = room.run(["trace"]).ended_with(0);
    let depth = |words: &str| {
        let line = run.stdout.lines().find(|line| line.contains(words));
        let line = line.unwrap_or_else(|| panic!("{words} is not in\n{}", run.stdout));
        line.chars()
            .take_while(|letter| "│├└─ ".contains(*letter))
            .count()
    };
    assert!(depth("echo below") > depth("spawn_agent"), "{run:#?}");
    assert_eq!(run.stdout.matches("echo below").count(), 1, "{run:#?}");
}

#[test]
fn a_trace_can_be_exported_as_lines_and_for_perfetto() {
    let room = room();
    eventful(&room);
    let run = room.run(["trace", "--export", "jsonl"]).ended_with(0);
    let lines: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let spans = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).count();
    assert_eq!(
        (spans("turn"), spans("request"), spans("tool_call")),
        (3, 3, 2),
        "{run:#?}"
    );
    assert!(
        lines
            .iter()
            .any(|line| line["type"] == "dispatch" && line["event"] == "pre_tool")
    );
    let run = room.run(["trace", "--export", "chrome"]).ended_with(0);
    let chrome: Value = serde_json::from_str(&run.stdout).expect("one object");
    let events = chrome["traceEvents"].as_array().expect("a list");
    assert!(events.len() > 10, "{chrome:#}");
    for event in events {
        let phase = event["ph"].as_str().expect("a phase");
        assert!(
            event["name"].is_string() && event["pid"].is_number() && event["tid"].is_number(),
            "{event:#}"
        );
        assert!(
            phase == "M" || (event["ts"].is_number() && event["dur"].is_number()),
            "{event:#}"
        );
    }
    assert!(
        events
            .iter()
            .any(|event| event["cat"] == "hook" && event["name"] == "no-rm")
    );
}

#[test]
fn a_session_is_named_by_the_beginning_of_its_id() {
    let room = room();
    room.run(["trace"])
        .ended_with(2)
        .complained("there are no sessions yet");
    eventful(&room);
    let listed = room.run(["sessions", "--json"]).ended_with(0);
    let session: Value = serde_json::from_str(&listed.stdout).expect("one session");
    let id = session["id"].as_str().expect("an id");
    room.run(["trace", &id[..20]]).ended_with(0).said(id);
    room.run(["trace", "zzz"])
        .ended_with(2)
        .complained("there is no session `zzz`");
}

#[test]
fn somebody_who_follows_sees_a_session_while_it_runs_and_its_end() {
    let room = room();
    let waiting = "touch begun; while [ ! -e go ]; do sleep 0.05; done";
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": waiting}}]},
        {"text": "done"},
    ]));
    let running = room.start(["--yes", "--model", &model, "wait"]);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !room.has("begun") {
        assert!(std::time::Instant::now() < deadline, "the call did not begin");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let following = room.start(["trace", "--follow"]);
    following.wait_for_output("request to scripted/");
    room.write("go", "");
    running.finish().ended_with(0);
    following.finish().ended_with(0).said("turn 2");
}
