//! Guards refuse, rewrite and break. What counts is what happened to the files.

use serde_json::{Value, json};
use testkit::{Finished, Room, needs};

use crate::{repository_file, room};

/// A model that wants `touch ran`, and then says that it is done.
fn touching(room: &Room) -> String {
    room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "touch ran"}}]},
        {"text": "went on"},
    ]))
}

/// Runs `touch ran` under these hooks, with `--yes`.
fn run_guarded(room: &Room, hooks: &str) -> Finished {
    let hooks = room.hooks(hooks);
    let model = touching(room);
    room.run(["--yes", "--hooks", &hooks, "--model", &model, "go"])
}

fn guard(program: &str) -> String {
    format!("[[hook]]\nname = \"my-guard\"\nevent = \"pre_tool\"\n{program}\n")
}

#[test]
fn the_first_command_of_the_readme_is_refused() {
    for yes in [&[][..], &["--yes"]] {
        let room = room();
        room.write("build/precious", "x");
        let example = repository_file("examples/guard.toml");
        let arguments = [yes, &["--hooks", &example, "Run: rm -rf build"]].concat();
        let run = room
            .run(arguments)
            .ended_with(0)
            .complained("✗ refused shell: rm -rf is not allowed here")
            .said("rm -rf is not allowed here");
        assert!(
            !run.stdout.contains('\x1b') && !run.stderr.contains('\x1b'),
            "plain in a pipe: {run:#?}"
        );
        assert_eq!(room.read("build/precious"), "x");
    }
}

#[test]
fn a_guard_that_is_named_before_a_command_is_not_lost_by_one_behind_it() {
    let room = room();
    let refusing = room.hooks(&guard(r#"command = ["echo", '{"verdict":{"deny":"first"}}']"#));
    room.write(
        "other.toml",
        "[[hook]]\nevent = \"session_end\"\ncommand = [\"touch\", \"heard\"]\n",
    );
    let hook = "--hook-pre-tool-use";
    for arguments in [
        [
            "--hooks",
            &refusing,
            "ask",
            "Run: touch ran",
            "--hooks",
            "other.toml",
        ],
        [
            "--hooks",
            "other.toml",
            "ask",
            "Run: touch ran",
            "--hooks",
            &refusing,
        ],
        [hook, "echo no >&2; exit 2", "ask", "Run: touch ran", hook, "true"],
    ] {
        room.run([&["--yes"][..], &arguments].concat()).ended_with(0);
        assert!(!room.has("ran"), "{arguments:?}");
    }
    assert!(room.has("heard"));
}

#[test]
fn a_list_of_tools_that_names_none_is_refused() {
    let room = room();
    room.run(["--tools", ",", "Run: true"])
        .ended_with(2)
        .complained("names no tool");
}

#[test]
fn a_command_that_the_guard_does_not_mind_runs() {
    let room = room();
    let example = repository_file("examples/guard.toml");
    room.run(["--yes", "--hooks", &example, "Run: touch ran"])
        .ended_with(0);
    assert!(room.has("ran"));
}

#[test]
fn colours_are_used_when_asked_for() {
    let example = repository_file("examples/guard.toml");
    let refused = |room: Room, color: &str| {
        let run = room.run(["--color", color, "--hooks", &example, "Run: rm -rf build"]);
        run.ended_with(0).stderr.contains("\x1b[31m✗ refused\x1b[0m")
    };
    assert!(refused(room(), "always"));
    assert!(!refused(room(), "never"));
    assert!(!refused(room(), "auto"));
    assert!(!refused(room().with("NO_COLOR", "1"), "auto"));
}

const PYTHON_GUARD: &str = r#"#!/usr/bin/env python3
import json, sys
event = json.load(sys.stdin)
assert event["event"] == "pre_tool" and event["tool_name"] == "shell", event
print(json.dumps({"verdict": {"deny": "python saw " + event["arguments"]["command"]}}))
"#;

const BASH_GUARD: &str = r#"#!/bin/sh
event=$(cat)
case "$event" in
  *'"command":"touch ran"'*) echo "$BECKET_EVENT: the shell saw it" >&2; exit 2 ;;
esac
"#;

const WORKER_GUARD: &str = r#"#!/usr/bin/env python3
import json, sys
for number, line in enumerate(sys.stdin, 1):
    request = json.loads(line)
    command = request["event"]["arguments"]["command"]
    reply = {"verdict": {"deny": f"worker saw {command} as number {number}"}}
    print(json.dumps({"id": request["id"], "reply": reply}), flush=True)
"#;

#[test]
fn a_shell_script_guards() {
    let room = room();
    let script = room.script("../guard.sh", BASH_GUARD);
    run_guarded(
        &room,
        &guard(&format!("command = [{}]", testkit::quoted(&script))),
    )
    .ended_with(0)
    .complained("pre_tool: the shell saw it")
    .said("went on");
    assert!(!room.has("ran"));
}

#[test]
fn a_python_script_guards() {
    if !needs("python3") {
        return;
    }
    let room = room();
    room.write("../guard.py", PYTHON_GUARD);
    run_guarded(&room, &guard("command = \"python3 ../guard.py\""))
        .ended_with(0)
        .complained("python saw touch ran")
        .said("went on");
    assert!(!room.has("ran"));
}

#[test]
fn one_worker_judges_every_call() {
    if !needs("python3") {
        return;
    }
    let room = room();
    room.write("../guard.py", WORKER_GUARD);
    let hooks = room.hooks(&guard(
        "worker = [\"python3\", \"guard.py\"]\nworking_dir = \".\"",
    ));
    let call = |command: &str| json!({"name": "shell", "arguments": {"command": command}});
    let model = room.model(&json!([
        {"tool_calls": [call("touch a"), call("touch b")]},
        {"tool_calls": [call("touch c")]},
        {"text": "went on"},
    ]));
    room.run(["--yes", "--hooks", &hooks, "--model", &model, "go"])
        .ended_with(0)
        .complained("worker saw touch a as number 1")
        .complained("worker saw touch b as number 2")
        .complained("worker saw touch c as number 3")
        .said("went on");
    assert!(!room.has("a") && !room.has("b") && !room.has("c"));
}

/// A Python hook that appends to the command.
fn appender(room: &Room, suffix: &str) -> String {
    let name = format!("../append_{suffix}.py");
    let program = format!(
        "import json, sys\narguments = json.load(sys.stdin)[\"arguments\"]\narguments[\"command\"] += \"{suffix}\"\n\
         print(json.dumps({{\"arguments\": arguments}}))\n"
    );
    room.write(&name, program);
    format!(
        "[[hook]]\nname = \"append-{suffix}\"\nevent = \"pre_tool\"\ncommand = [\"python3\", \"{name}\"]\n"
    )
}

#[test]
fn what_runs_is_what_the_hook_wrote() {
    if !needs("python3") {
        return;
    }
    let room = room();
    let hooks = appender(&room, "_a");
    run_guarded(&room, &hooks).ended_with(0).said("went on");
    assert!(room.has("ran_a") && !room.has("ran"));
}

#[test]
fn two_rewriters_compose_in_their_order() {
    if !needs("python3") {
        return;
    }
    let room = room();
    let hooks = appender(&room, "_a") + &appender(&room, "_b");
    run_guarded(&room, &hooks).ended_with(0).said("went on");
    assert!(room.has("ran_a_b"));
    assert!(!room.has("ran") && !room.has("ran_a") && !room.has("ran_a_b_a"));
}

#[test]
fn a_guard_judges_what_a_later_hook_wrote() {
    if !needs("python3") {
        return;
    }
    let room = room();
    let judge = "[[hook]]\nname = \"judge\"\nevent = \"pre_tool\"\n\
                 match = { arguments = { command = { glob = \"*_evil\" } } }\n\
                 command = \"echo 'no evil here' >&2; exit 2\"\n";
    let hooks = format!("{judge}{}", appender(&room, "_evil"));
    run_guarded(&room, &hooks)
        .ended_with(0)
        .complained("no evil here")
        .said("went on");
    assert!(!room.has("ran") && !room.has("ran_evil"));
}

#[test]
fn a_hook_that_changes_its_mind_after_others_have_judged_refuses() {
    if !needs("python3") {
        return;
    }
    let room = room();
    let late = "import json, sys\narguments = json.load(sys.stdin)[\"arguments\"]\n\
                if \"_a\" in arguments[\"command\"]:\n    arguments[\"command\"] = \"touch late\"\n    \
                print(json.dumps({\"arguments\": arguments}))\n";
    room.write("../late.py", late);
    let late = "[[hook]]\nname = \"late\"\nevent = \"pre_tool\"\ncommand = [\"python3\", \"../late.py\"]\n";
    let hooks = format!("{late}{}", appender(&room, "_a"));
    run_guarded(&room, &hooks)
        .ended_with(0)
        .complained("hook late wanted to change the call");
    assert!(!room.has("ran_a") && !room.has("late"));
}

/// How a guard can break, and what the message says about it.
const BROKEN: &[(&str, &str)] = &[
    ("command = \"exit 1\"", "exited with an error"),
    ("command = \"exit 127\"", "exited with an error"),
    ("command = \"kill -9 $$\"", "killed by a signal"),
    ("command = \"sleep 60\"\ntimeout = 0.3", "timed out"),
    ("command = \"echo garbage\"", "unreadable output"),
    ("command = \"echo '{\\\"verdict\\\": '\"", "unreadable output"),
    ("command = \"printf '\\\\377\\\\376'\"", "unreadable output"),
    ("command = \"echo '[]'\"", "answer of the wrong shape"),
    (
        "command = \"echo '{\\\"verdict\\\": \\\"yes\\\"}'\"",
        "answer of the wrong shape",
    ),
    (
        "command = \"echo '{\\\"verdct\\\": \\\"allow\\\"}'\"",
        "answer of the wrong shape",
    ),
    ("command = \"head -c 3000000 /dev/zero\"", "output too large"),
    ("command = [\"./there-is-no-such-program\"]", "program not found"),
    ("command = [\"./hooks.toml\"]", "program not executable"),
    ("worker = \"exit 3\"", "exited with an error"),
    ("worker = \"read line; echo garbage; cat\"", "unreadable output"),
    ("worker = \"sleep 60\"\ntimeout = 0.3", "timed out"),
    ("worker = [\"./there-is-no-such-program\"]", "program not found"),
];

#[test]
fn a_guard_that_breaks_refuses_and_the_run_goes_on() {
    for (program, cause) in BROKEN {
        let room = room();
        run_guarded(&room, &guard(program))
            .ended_with(0)
            .complained("my-guard")
            .complained(cause)
            .said("went on");
        assert!(!room.has("ran"), "{program}");
    }
}

#[test]
fn every_kind_of_guard_that_breaks_keeps_its_action_from_happening() {
    let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let table = [
        ("pre_shell", call("shell", json!({"command": "touch ran"}))),
        (
            "pre_file_write",
            call("write", json!({"path": "ran", "content": "x"})),
        ),
        (
            "permission_request",
            call("shell", json!({"command": "touch ran"})),
        ),
    ];
    for (event, call) in table {
        let room = room();
        let hooks = room.hooks(&format!(
            "[[hook]]\nname = \"my-guard\"\nevent = \"{event}\"\ncommand = \"exit 1\"\n"
        ));
        let model = room.model(&json!([{"tool_calls": [call]}, {"text": "went on"}]));
        room.run(["--yes", "--hooks", &hooks, "--model", &model, "go"])
            .ended_with(0)
            .complained("my-guard")
            .said("went on");
        assert!(!room.has("ran"), "{event}");
    }
}

#[test]
fn a_read_guard_that_breaks_keeps_the_text_from_the_model() {
    let room = room();
    room.write("secret.txt", "the secret word");
    let hooks =
        room.hooks("[[hook]]\nname = \"my-guard\"\nevent = \"pre_file_read\"\ncommand = \"exit 1\"\n");
    let run = room
        .run(["--yes", "--hooks", &hooks, "Read secret.txt"])
        .ended_with(0);
    assert!(!run.stdout.contains("the secret word"), "{run:#?}");
    run.complained("my-guard");
}

#[test]
fn a_guard_that_may_fail_open_says_so_at_the_start() {
    for program in [
        "command = \"exit 1\"",
        "command = \"sleep 60\"\ntimeout = 0.3",
        "command = [\"./missing\"]",
    ] {
        let room = room();
        let run = run_guarded(&room, &guard(&format!("{program}\non_failure = \"allow\"")))
            .ended_with(0)
            .said("went on");
        assert!(room.has("ran"), "{program}");
        let first = run.stderr.lines().next().unwrap_or_default();
        assert!(
            first.contains("my-guard") && first.contains("may fail open"),
            "{run:#?}"
        );
    }
}

#[test]
fn a_guard_that_may_fail_open_still_refuses_when_it_can() {
    let room = room();
    run_guarded(
        &room,
        &guard("command = \"echo no >&2; exit 2\"\non_failure = \"allow\""),
    )
    .ended_with(0);
    assert!(!room.has("ran"));
}

#[test]
fn a_guard_in_shadow_refuses_nothing_and_is_reported() {
    for (program, reason) in [
        ("command = \"echo not that >&2; exit 2\"", "not that"),
        ("command = \"exit 1\"", "hook my-guard could not decide"),
    ] {
        let room = room();
        let run = run_guarded(&room, &guard(&format!("{program}\nshadow = true")))
            .ended_with(0)
            .said("went on");
        assert!(room.has("ran"), "{program}");
        let first = run.stderr.lines().next().unwrap_or_default();
        assert!(
            first.contains("my-guard") && first.contains("refuses nothing: `shadow` is true"),
            "{run:#?}"
        );
        let file = room.hooks(&guard(&format!("{program}\nshadow = true")));
        room.run(["hooks", "list", "--hooks", &file])
            .ended_with(0)
            .said("in shadow");
        let report = room
            .run(["hooks", "report", "--since", "1h"])
            .ended_with(0)
            .stdout;
        assert!(report.contains(&format!("1 × deny: {reason}")), "{report}");
        assert!(
            report.contains("by: my-guard (") && report.contains("touch ran"),
            "{report}"
        );
        let json = room.run(["hooks", "report", "--json"]).ended_with(0).stdout;
        let told: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (&told["would"], &told["event"]),
            (&json!("deny"), &json!("pre_tool")),
            "{json}"
        );
    }
}

#[test]
fn hooks_that_only_watch_or_change_may_break() {
    let events = [
        "session_start",
        "user_input",
        "post_system_prompt",
        "agent_start",
        "turn_start",
        "message_end",
        "pre_tool_output",
        "post_tool",
        "tool_end",
        "turn_end",
        "agent_end",
        "session_end",
    ];
    for event in events {
        let room = room();
        let hooks = format!(
            "[[hook]]\nname = \"clumsy\"\nevent = \"{event}\"\ncommand = \"echo oops >&2; exit 1\"\n"
        );
        run_guarded(&room, &hooks)
            .ended_with(0)
            .complained("clumsy")
            .complained("oops")
            .said("went on");
        assert!(room.has("ran"), "{event}");
    }
}

#[test]
fn a_hook_that_breaks_is_told_as_an_event_too() {
    let room = room();
    let hooks = room.hooks(&guard("command = \"exit 1\""));
    let model = touching(&room);
    let run = room
        .run(["--yes", "--json", "--hooks", &hooks, "--model", &model, "go"])
        .ended_with(0);
    let failed = run.events_named("hook_failed");
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].to_string().contains("my-guard"), "{failed:?}");
}
