//! `becket hooks fire`: one event through the real dispatcher, and nothing else.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{Signal, wait_until_gone};

use super::{Guarded, guards};
use crate::room;

/// How long anything may take.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Fires the moment before a shell command runs.
fn fire(guarded: &Guarded, command: &str) -> serde_json::Value {
    let set = format!("arguments.command={command}");
    let words = [
        "hooks",
        "fire",
        "pre_tool",
        "--set",
        "tool_name=shell",
        "--set",
        &set,
    ];
    guarded.json(&words, 0)
}

#[test]
fn a_guard_of_every_dialect_is_asked_in_its_own_words() {
    for guarded in guards() {
        let dialect = guarded.dialect;
        let fired = fire(&guarded, "rm -rf build");
        let run = &fired["handlers"][0];
        assert_eq!(run["dialect"], dialect, "{fired:#}");
        assert_eq!(run["effect"]["kind"], "denied", "{dialect}: {fired:#}");
        let exchange = &run["exchanges"][0];
        let read = exchange["input"].as_str().expect("a text").replace(": ", ":");
        assert!(read.contains(guarded.reads), "{dialect}: {read}");
        assert!(read.contains("rm -rf build"), "{dialect}: {read}");
        let said = format!("{}{}", exchange["output"], exchange["stderr"]);
        assert!(said.contains("rm is out"), "{dialect}: {said}");
        let verdict = fired["outcome"]["verdict"].to_string();
        assert!(
            verdict.contains("deny") && verdict.contains("rm is out"),
            "{dialect}: {verdict}"
        );
        assert!(
            run["duration_us"].as_u64().is_some_and(|time| time > 0),
            "{dialect}"
        );
        let fired = fire(&guarded, "ls");
        assert_eq!(fired["outcome"]["verdict"], json!(null), "{dialect}: {fired:#}");
        assert_eq!(
            fired["handlers"][0]["effect"]["kind"], "none",
            "{dialect}: {fired:#}"
        );
    }
}

#[test]
fn an_event_may_have_the_name_that_a_dialect_gives_it() {
    for guarded in guards() {
        let words = [
            "hooks",
            "fire",
            guarded.event,
            "--dialect",
            guarded.dialect,
            "--set",
            "tool_name=shell",
            "--set",
            "arguments.command=rm -rf x",
        ];
        let fired = guarded.json(&words, 0);
        assert_eq!(fired["event"], "pre_tool");
        assert_eq!(fired["handlers"][0]["effect"]["kind"], "denied", "{fired:#}");
    }
}

#[test]
fn the_hooks_of_an_agent_file_count_where_it_is_named() {
    let room = room();
    room.write(
        "agent.yaml",
        "agents:\n  root:\n    model: openai/x\n    \
         toolsets: [{type: shell}]\n    hooks:\n      pre_tool_use:\n        \
         - matcher: shell\n          hooks:\n            - type: command\n              name: no-rm\n              \
         command: \"echo 'rm is out' >&2; exit 2\"\n",
    );
    let words = ["--agent-file", "agent.yaml", "--json"];
    let fire = ["hooks", "fire", "pre_tool", "--set", "tool_name=shell"];
    let run = room.run(fire.iter().chain(&words)).ended_with(0);
    assert!(run.stdout.contains("rm is out"), "{run:#?}");
    let explain = ["hooks", "explain", "shell", r#"{"cmd": "ls"}"#];
    let run = room.run(explain.iter().chain(&words)).ended_with(0);
    let told: serde_json::Value = serde_json::from_str(&run.stdout).expect("one object");
    assert_eq!(told["decision"]["handlers"], json!(["no-rm"]), "{told:#}");
}

#[test]
fn only_the_hooks_of_the_dialect_that_was_named_are_asked() {
    let guarded = guards().remove(0);
    let words = [
        "hooks",
        "fire",
        "pre_tool",
        "--dialect",
        "chibi",
        "--set",
        "tool_name=shell",
    ];
    let fired = guarded.json(&words, 0);
    assert_eq!(fired["handlers"], json!(null), "{fired:#}");
}

#[test]
fn nothing_else_happens() {
    let room = room();
    let hooks = room.hooks(
        "[[hook]]\nevent = \"pre_tool\"\ncommand = \"exit 1\"\n\
         [[hook]]\nevent = \"session_start\"\ncommand = \"touch started\"\n\
         [[hook]]\nevent = \"hook_failed\"\ncommand = \"touch failed\"\n",
    );
    let run = room
        .run(["hooks", "fire", "pre_tool", "--hooks", &hooks])
        .ended_with(1);
    assert!(run.stdout.contains("failed, which refuses"), "{run:#?}");
    assert!(!room.has("started") && !room.has("failed"));
    let listed = room.run(["sessions", "--json"]).ended_with(0);
    assert_eq!(listed.stdout, "");
}

#[test]
fn people_see_what_was_read_answered_and_made_of_it() {
    let room = room();
    let hooks = room.hooks(
        "[[hook]]\nname = \"safer\"\nevent = \"pre_tool\"\n\
         command = '''echo '{\"arguments\":{\"command\":\"ls -l\"}}' '''\n\
         [[hook]]\nname = \"elsewhere\"\nevent = \"pre_tool\"\nmatch = { tool = \"write\" }\ncommand = \"true\"\n",
    );
    let set = "arguments.command=ls";
    let run = room.run([
        "hooks",
        "fire",
        "pre_tool",
        "--set",
        "tool_name=shell",
        "--set",
        set,
        "--hooks",
        &hooks,
    ]);
    let run = run.ended_with(0);
    for words in [
        "1. safer (becket, command, guard, ",
        "reads    {\"event\":\"pre_tool\"",
        "with     BECKET_EVENT=pre_tool",
        "answers  {\"arguments\":{\"command\":\"ls -l\"}}  (exit code 0)",
        "effect   rewrote",
        "not asked: elsewhere",
        "outcome: no decision",
        "arguments: {\"command\":\"ls\"} → {\"command\":\"ls -l\"}",
    ] {
        assert!(run.stdout.contains(words), "{words}: {run:#?}");
    }
}

#[test]
fn a_hook_that_is_not_asked_says_which_condition_does_not_match_and_how_to_write_it() {
    let room = room();
    let hook = |name: &str, pattern: &str| {
        format!(
            "[[hook]]\nname = \"{name}\"\nevent = \"pre_tool\"\ncommand = \"exit 2\"\n\
             match = {{ tool = \"shell\", arguments = {{ {pattern} }} }}\n"
        )
    };
    let hooks = [
        hook("exact", "command = \"git push\""),
        hook("glob", "command = { glob = \"git pu*h\" }"),
        hook("regex", "command = { regex = \"git +push\" }"),
        hook("missing", "cwd = \"/\""),
        hook("other", "command = { glob = \"*svn*\" }"),
    ];
    let hooks = room.hooks(&hooks.concat());
    let reasons = [
        "exact (becket, ",
        "expected arguments.command = git push, got \"git push origin\"; a pattern must match the whole \
         text: `{ glob = \"*git push*\" }` matches it",
        "`{ glob = \"*git pu*h*\" }` matches it",
        "`{ regex = \".*git +push.*\" }` matches it",
        "expected arguments.cwd = /, but there is no arguments.cwd",
        "expected arguments.command like *svn*, got \"git push origin\"\n",
    ];
    let fired = room.run([
        "hooks",
        "fire",
        "pre_tool",
        "--set=tool_name=shell",
        "--set=arguments.command=git push origin",
        "--hooks",
        &hooks,
    ]);
    let call = r#"{"command":"git push origin"}"#;
    let explained = room.run(["hooks", "explain", "shell", call, "--hooks", &hooks]);
    for run in [
        fired.ended_with(0).said("no hook matched"),
        explained.ended_with(0),
    ] {
        for reason in reasons {
            assert!(run.stdout.contains(reason), "{reason}: {run:#?}");
        }
    }
    let case = "[[test]]\nname = \"push\"\nevent = \"pre_tool\"\nexpect = { outcome = \"deny\" }\n\
                payload = { tool_name = \"shell\", arguments = { command = \"git push origin\" } }\n";
    room.write("push.hooktest.toml", format!("hooks = [{hooks:?}]\n{case}"));
    let tested = room.run(["hooks", "test", "push.hooktest.toml"]).ended_with(1);
    for reason in reasons {
        assert!(tested.stdout.contains(reason), "{reason}: {tested:#?}");
    }
}

#[test]
fn a_hook_of_another_agent_says_what_its_matcher_or_its_condition_did_not_match() {
    let room = room();
    let file = ".claude/settings.json";
    room.write(
        file,
        r#"{"hooks": {"PreToolUse": [
            {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "exit 2"}]},
            {"matcher": "Bash", "hooks": [{"type": "command", "if": "Bash(git push)", "command": "exit 2"}]}]}}"#,
    );
    let set = "--set=arguments.command=git push origin";
    let fire = |options: &[&str]| {
        let words = ["hooks", "fire", "pre_tool", "--set=tool_name=shell", set];
        room.run(words.iter().chain(options)).ended_with(0)
    };
    fire(&["--trust"])
        .said("its matcher `Edit|Write` does not match \"Bash\"")
        .said(
            "its condition `Bash(git push)` does not match \"git push origin\"; `Bash(git push *)` matches it",
        );
    let checked = room.run(["hooks", "check", file]).ended_with(0);
    checked.said("the hook runs only if the whole command is `git push`");
}

#[test]
fn hooks_of_other_events_and_untrusted_ones_are_named() {
    let room = room();
    let hooks = room.hooks("[[hook]]\nname = \"elsewhere\"\nevent = \"pre_shell\"\ncommand = \"exit 2\"\n");
    let fire = ["hooks", "fire", "pre_tool", "--set=tool_name=shell"];
    let fired = room.run(fire.iter().chain(&["--hooks", &hooks])).ended_with(0);
    fired
        .said("no hook matched")
        .said("hooks of other events: elsewhere (pre_shell, ");
    let file = "becket.toml";
    room.write(
        file,
        "[[hook]]\nname = \"strange\"\nevent = \"pre_tool\"\ncommand = \"exit 2\"\n",
    );
    let fired = room.run(fire);
    fired
        .said("not asked: strange (becket, ")
        .said("it is not trusted; `becket hooks trust` asks you about it");
}

#[test]
fn a_payload_comes_from_a_file_or_a_pipe_and_mistakes_are_named() {
    let room = room();
    let hooks = room.hooks("[[hook]]\nevent = \"user_prompt\"\ncommand = \"cat >&2\"\n");
    room.write(
        "payload.json",
        r#"{"event": "user_prompt", "prompt": "from a file"}"#,
    );
    let fired = room.run([
        "hooks",
        "fire",
        "user_prompt",
        "--payload",
        "payload.json",
        "--hooks",
        &hooks,
    ]);
    fired.ended_with(0).said("from a file");
    let words = [
        "hooks",
        "fire",
        "user_prompt",
        "--payload",
        "-",
        "--hooks",
        &hooks,
    ];
    let piped = room.run_with_input(words, r#"{"prompt": "from a pipe"}"#);
    piped.ended_with(0).said("from a pipe");
    let table: &[(&[&str], &str)] = &[
        (&["user_promt"], "did you mean `user_prompt`?"),
        (&["user_prompt", "--dialect", "chibbi"], "did you mean `chibi`?"),
        (&["user_prompt", "--set", "promt=x"], "did you mean `prompt`?"),
        (&["user_prompt", "--set", "prompt"], "not of the form field=value"),
        (
            &["turn_start", "--payload", "payload.json"],
            "is of the event \"user_prompt\", and not of turn_start",
        ),
        (
            &["tool_call", "--dialect", "docker-agent"],
            "that is pi's name for `pre_tool`",
        ),
        (
            &["user_prompt", "--payload", "absent.json"],
            "cannot read the payload absent.json",
        ),
        (
            &["turn_start", "--set", "turn_index=many"],
            "turn_start has no such fields",
        ),
    ];
    for (words, complaint) in table {
        let all = ["hooks", "fire"].iter().chain(*words);
        room.run(all).ended_with(2).complained(complaint);
    }
}

#[test]
fn a_signal_ends_a_hook_that_hangs_in_every_command_that_asks_it() {
    for words in [
        &["hooks", "fire", "pre_tool", "--hooks", "hangs.toml"] as &[&str],
        &["hooks", "bench", "pre_tool", "--hooks", "hangs.toml"],
        &[
            "hooks",
            "explain",
            "shell",
            "{\"command\":\"ls\"}",
            "--hooks",
            "hangs.toml",
        ],
        &["hooks", "test", "hangs.hooktest.toml"],
    ] {
        let room = room();
        let mark = room.work().join("mark");
        let hangs = format!("echo $$ > '{}'; exec sleep 300", mark.display());
        room.write(
            "hangs.toml",
            format!("[[hook]]\nevent = \"pre_tool\"\ntimeout = 300\ncommand = \"\"\"{hangs}\"\"\"\n"),
        );
        room.write(
            "hangs.hooktest.toml",
            "hooks = [\"hangs.toml\"]\n[[test]]\nname = \"one\"\nevent = \"pre_tool\"\n",
        );
        let run = room.start(words);
        let deadline = Instant::now() + TEST_TIMEOUT;
        let hook = loop {
            let hook = std::fs::read_to_string(&mark).unwrap_or_default();
            if hook.ends_with('\n') {
                break hook.trim().to_owned();
            }
            assert!(Instant::now() < deadline, "the hook is not asked: {words:?}");
            std::thread::sleep(Duration::from_millis(20));
        };
        run.signal(Signal::INT);
        run.finish().ended_with(130).complained("cancelled");
        wait_until_gone(&hook);
    }
}
