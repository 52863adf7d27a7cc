//! The permission modes: what each allows and refuses, that guards and rules stand in all of them, and what hooks are
//! told.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::hook_files::{heard, says, shell};
use crate::{room, room_with_all_tools};

fn write(path: &str) -> Value {
    json!({"name": "write", "arguments": {"path": path, "content": "new words"}})
}

fn edit(path: &str) -> Value {
    let edits = json!([{"old_text": "old", "new_text": "new"}]);
    json!({"name": "edit", "arguments": {"path": path, "edits": edits}})
}

fn call(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// Makes calls in a mode while nobody is there to ask.
fn run(room: &Room, mode: &str, more: &[&str], calls: &[Value]) -> Finished {
    let turns = calls.iter().map(|call| json!({"tool_calls": [call]}));
    let turns: Vec<Value> = turns.chain([json!({"text": "done"})]).collect();
    let model = room.model(&json!(turns));
    let arguments = [
        &["--json", "--model", &model, "--permission-mode", mode],
        more,
        &["go"],
    ]
    .concat();
    room.run(arguments).ended_with(0)
}

/// Who decided about each call, with a mark for those that were refused.
fn decided(run: &Finished) -> Vec<String> {
    let decided = run.events_named("approval_decided");
    let word = |event: &Value| {
        let mark = if event["decision"] == "allow" { "" } else { "!" };
        format!("{mark}{}", event["source"].as_str().unwrap_or_default())
    };
    decided.iter().map(word).collect()
}

#[test]
fn accept_edits_covers_files_of_the_project_and_nothing_else() {
    let room = room_with_all_tools();
    room.write("a.txt", "old words");
    room.write("../outside.txt", "old words");
    room.write("linked.txt", "old words");
    std::fs::hard_link(room.work().join("linked.txt"), room.work().join("../other_name")).unwrap();
    symlink("../outside.txt", room.work().join("out.txt")).unwrap();
    symlink(".git", room.work().join("repository")).unwrap();
    room.write(".git/config", "old words");
    let covered = [write("new/b.txt"), edit("a.txt"), write("./new/../c.txt")];
    let ran = run(&room, "accept-edits", &[], &covered);
    assert_eq!(decided(&ran), ["accept_edits"; 3]);
    assert_eq!(
        (room.read("a.txt"), room.read("c.txt")),
        ("new words".into(), "new words".into())
    );
    let others = [
        write("../d.txt"),
        edit("out.txt"),
        edit("linked.txt"),
        edit(".git/config"),
        write("repository/hooks/pre-commit"),
        write("sub/.GIT/config"),
        write("becket.toml"),
        write(".becket/becket.toml"),
        write(".claude/settings.json"),
        write(".codex/hooks.json"),
        write(".gemini/settings.json"),
        write(".cursor/hooks.json"),
        write(".github/hooks/x.json"),
        write(".pi/extensions/x.ts"),
        write(".vscode/tasks.json"),
        call("shell", json!({"command": "touch made"})),
        call("mkdir", json!({"path": "folder"})),
        call("read", json!({"path": "../outside.txt"})),
    ];
    let refused = run(&room, "accept-edits", &[], &others);
    assert_eq!(decided(&refused), ["!headless"; 18]);
    assert_eq!(room.read(".git/config"), "old words");
    assert_eq!(room.read("../outside.txt"), "old words");
}

#[test]
fn a_file_of_a_hook_is_protected_wherever_it_is() {
    let room = room();
    room.write(
        "tools/own.toml",
        "[[hook]]\nevent = \"pre_tool\"\ncommand = \"true\"\n",
    );
    let hooks = ["--hooks", "tools/own.toml"];
    let ran = run(
        &room,
        "accept-edits",
        &hooks,
        &[write("tools/own.toml"), write("tools/other.toml")],
    );
    assert_eq!(decided(&ran), ["!headless", "accept_edits"]);
    // Also the programs that the hooks of a project run.
    room.write(
        "becket.toml",
        "[[hook]]\nevent = \"pre_tool\"\ncommand = \"tools/guard.sh\"\n",
    );
    room.script("tools/guard.sh", "#!/bin/sh\n. \"$(dirname \"$0\")/part.sh\"\n");
    room.write("tools/part.sh", "true\n");
    let calls = [
        write("tools/guard.sh"),
        write("tools/part.sh"),
        write("tools/other.sh"),
    ];
    let ran = run(&room, "accept-edits", &["--trust"], &calls);
    assert_eq!(decided(&ran), ["!headless", "!headless", "accept_edits"]);
}

#[test]
fn a_home_is_no_project_whose_edits_are_accepted() {
    let room = room();
    let model = room.model(&json!([{"tool_calls": [write("notes.txt")]}, {"text": "done"}]));
    let arguments = [
        "--json",
        "--model",
        &model,
        "--permission-mode",
        "accept-edits",
        "go",
    ];
    let run = room.command(arguments).env("HOME", room.work()).output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(
        said.contains("\"source\":\"headless\"") && !room.has("notes.txt"),
        "{said}"
    );
}

#[test]
fn plan_refuses_what_writes_runs_or_sends_and_says_why() {
    let room = room_with_all_tools();
    room.write("a.txt", "old words");
    room.config("[permissions]\nallow = [\"shell:command=touch *\", \"write\"]\n");
    let allows =
        room.hooks("[[hook]]\nevent = \"pre_tool\"\ncommand = [\"echo\", '{\"verdict\":\"allow\"}']\n");
    for more in [&[][..], &["--hooks", &allows]] {
        let calls = [
            call("shell", json!({"command": "touch made"})),
            call("shell", json!({"command": "touch made", "background": true})),
            write("made"),
            edit("a.txt"),
            call("mkdir", json!({"path": "made"})),
            call("send_message", json!({"to": "other", "content": "words"})),
            call("vfs_mkdir", json!({"path": "vfs:///shared/made"})),
            write("vfs:///shared/made"),
        ];
        let refused = run(&room, "plan", more, &calls);
        assert_eq!(decided(&refused), ["!plan"; 8], "{more:?}");
        let reason = refused.events_named("approval_decided").remove(0)["reason"].to_string();
        assert!(
            reason.contains("plan mode") && reason.contains("tell the user what you would do"),
            "{reason}"
        );
        assert!(!room.has("made") && room.read("a.txt") == "old words");
        let told = refused.events_named("tool_end").remove(0).to_string();
        assert!(told.contains("plan mode"), "the model reads why: {told}");
    }
    let reading = [
        call("read", json!({"path": "a.txt"})),
        call("grep", json!({"pattern": "old"})),
        call("update_todos", json!({"content": "- plan"})),
    ];
    assert_eq!(decided(&run(&room, "plan", &[], &reading)), ["read_only"; 3]);
}

#[test]
fn guards_and_rules_that_deny_stand_in_every_mode() {
    let room = room();
    for (verdict, source) in [
        (r#"{"deny":"no"}"#, "!hook"),
        (r#"{"insist":"sure?"}"#, "!headless"),
    ] {
        let hooks = room.hooks(&format!(
            "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"echo\", '{{\"verdict\":{verdict}}}']\n"
        ));
        for mode in ["ask", "accept-edits", "yes"] {
            let ran = run(&room, mode, &["--hooks", &hooks], &[write("made")]);
            assert_eq!(decided(&ran), [source], "{mode} {verdict}");
        }
    }
    room.config("[permissions]\ndeny = [\"write:path=*made\"]\nask = [\"write:path=*asked\"]\n");
    for mode in ["ask", "accept-edits", "plan", "yes"] {
        assert_eq!(
            decided(&run(&room, mode, &[], &[write("made")])),
            ["!deny_rule"],
            "{mode}"
        );
    }
    assert_eq!(
        decided(&run(&room, "accept-edits", &[], &[write("asked")])),
        ["!headless"]
    );
    assert!(!room.has("made") && !room.has("asked"));
    assert_eq!(decided(&run(&room, "yes", &[], &[write("asked")])), ["yes"]);
}

#[test]
fn a_mode_is_one_of_four_and_no_second_one_beside_yes() {
    let room = room();
    let wrong = room.run(["--permission-mode", "never", "go"]).ended_with(2);
    for word in ["ask", "accept-edits", "plan", "yes"] {
        assert!(wrong.stderr.contains(word), "{}", wrong.stderr);
    }
    room.run(["--yes", "--permission-mode", "plan", "go"])
        .ended_with(2);
}

#[test]
fn hooks_are_told_the_mode_in_their_own_words() {
    for (mode, own, foreign) in [
        ("ask", "ask", "default"),
        ("accept-edits", "accept_edits", "acceptEdits"),
        ("plan", "plan", "plan"),
        ("yes", "yes", "bypassPermissions"),
    ] {
        let room = room();
        for folder in [".claude", ".codex"] {
            let note = format!("IN=$(cat); printf '%s\\n' \"$IN\" >> ../{folder}.PreToolUse.jsonl");
            let hook = json!([{"hooks": [{"type": "command", "command": note}]}]);
            let file = if folder == ".claude" {
                "settings.json"
            } else {
                "hooks.json"
            };
            let hooks = json!({"hooks": {"PreToolUse": hook}});
            room.write(&format!("{folder}/{file}"), hooks.to_string());
        }
        let model = room.model(&json!([shell("true"), says("done", &[])]));
        let run = room.run([
            "--trust",
            "--json",
            "--model",
            &model,
            "--permission-mode",
            mode,
            "go",
        ]);
        let run = run.ended_with(0);
        for event in ["session_start", "pre_tool", "approval_decided"] {
            let told = run.events_named(event).remove(0);
            assert_eq!(told["permission_mode"], own, "{event}");
        }
        for folder in [".claude", ".codex"] {
            let told = heard(&room, &format!("{folder}.PreToolUse")).remove(0);
            assert_eq!(told["permission_mode"], foreign, "{folder}");
        }
    }
}

#[test]
fn a_sub_agent_is_in_the_same_mode() {
    let room = room();
    let child = json!([{"tool_calls": [write("made")]}, {"text": "I may not"}]);
    room.write("child.json", child.to_string());
    let task = json!({"system_prompt": "You help.", "input": "write it", "model": "scripted/child.json", "tools": ["write"]});
    let run = run(&room, "plan", &[], &[call("spawn_agent", task)]);
    assert!(decided(&run).contains(&"!plan".to_owned()), "{:?}", decided(&run));
    assert!(!room.has("made"));
}
