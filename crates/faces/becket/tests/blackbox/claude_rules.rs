//! Ways around the permission rules and conditions of Claude Code's settings, all of which are shut.

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::hook_files::shell;
use crate::room;

/// A room whose user has these settings for Claude Code.
fn with_user(settings: &Value) -> Room {
    let room = room();
    room.write("../home/.claude/settings.json", settings.to_string());
    room
}

fn with_rules(lists: &Value) -> Room {
    with_user(&json!({"permissions": lists}))
}

/// Lets the model make one call, and say that it is done.
fn play(room: &Room, call: &Value, more: &[&str]) -> Finished {
    let model = room.model(&json!([call, {"text": "done"}]));
    let arguments = ["--model", &model, "go"];
    room.run(arguments.iter().chain(more)).ended_with(0)
}

fn call(name: &str, arguments: &Value) -> Value {
    json!({"tool_calls": [{"name": name, "arguments": arguments}]})
}

fn told(room: &Room) -> String {
    room.run(["context", "export"]).ended_with(0).stdout
}

#[test]
fn a_denied_path_is_denied_at_every_depth_and_below() {
    for (rule, path) in [
        ("Read(**/.env)", ".env"),
        ("Read(**/secrets/**)", "secrets/key"),
        ("Read(./secrets)", "secrets/key"),
        ("Read(secrets/)", "secrets/key"),
        ("Read(secrets)", "secrets/key"),
        ("Read(config/**/key.pem)", "config/key.pem"),
        ("read(.env)", ".env"),
    ] {
        let room = with_rules(&json!({"deny": [rule]}));
        room.write(path, "the secret words");
        play(&room, &call("read", &json!({"path": path})), &["--yes"]);
        assert!(!told(&room).contains("the secret words"), "{rule}: {path}");
    }
    for rule in ["Edit(**/a.txt)", "Write(**/a.txt)", "MultiEdit(a.txt)"] {
        let room = with_rules(&json!({"deny": [rule]}));
        let write = call("write", &json!({"path": "a.txt", "content": "x"}));
        play(&room, &write, &["--yes"]);
        assert!(!room.has("a.txt"), "{rule}");
    }
}

#[test]
fn a_denied_path_is_denied_to_commands_that_name_it() {
    for (rule, line) in [
        ("Read(./.env)", "cat .env"),
        ("Read(.env)", "true; cd sub && head -n 1 ../.env"),
        ("Read(./secrets/**)", "cat < secrets/key"),
        ("Read(./secrets/**)", "cat secrets/k*"),
        ("Read(./secrets/**)", "cd secrets && cat key"),
        ("Read(./secrets/**)", "cat link/key"),
        ("Read(~/.ssh/**)", "cat ~/.ssh/id"),
        ("Read(~/.ssh/**)", "bash -c 'cat \"$HOME\"/.ssh/id'"),
        ("Read(**/.env)", "dd if=.env"),
        ("Read(./.env)", "F=.env; cat \"$F\""),
        ("Read(**/.env)", "sudo -n true; x=$(cat .env); echo \"$x\""),
    ] {
        let room = with_rules(&json!({"deny": [rule]}));
        for path in [".env", "secrets/key", "sub/x", "../home/.ssh/id"] {
            room.write(path, "the secret words");
        }
        std::os::unix::fs::symlink("secrets", room.work().join("link")).expect("it is new");
        play(&room, &shell(line), &["--yes"]);
        assert!(!told(&room).contains("the secret words"), "{rule}: {line}");
        // What is about no such file runs, and so does what only removes it.
        play(&room, &shell("cat sub/x; rm -f .env; touch made"), &["--yes"]);
        assert!(room.has("made"), "{rule}");
    }
    for line in [
        "echo x > a.txt",
        "echo x | tee -a a.txt",
        "touch a.txt",
        "cp b a.txt",
        "sed -i s/x/y/ ./a.txt",
    ] {
        let room = with_rules(&json!({"deny": ["Edit(./a.txt)"], "ask": ["Edit(b)"]}));
        room.write("b", "x");
        play(&room, &shell(line), &["--yes"]);
        assert!(!room.has("a.txt"), "{line}");
        play(&room, &shell("cat b > c"), &["--yes"]);
        assert!(room.has("c"), "{line}");
    }
}

#[test]
fn an_allowed_path_stays_in_the_project() {
    for (rule, path, written) in [
        ("Edit(**)", "../out/n.txt", false),
        ("Edit(*)", "../out/n.txt", false),
        ("Edit(*.txt)", "../out/n.txt", false),
        ("Edit(*.txt)", "n.txt", true),
        ("Edit(**)", "a/n.txt", true),
    ] {
        let room = with_rules(&json!({"allow": [rule]}));
        room.write("../out/here", "");
        play(&room, &call("write", &json!({"path": path, "content": "x"})), &[]);
        assert_eq!(room.has(path), written, "{rule}: {path}");
    }
    let room = with_rules(&json!({"allow": ["Bash(touch:*)"]}));
    room.script("touchx", "#!/bin/sh\ntouch ran\n");
    let path = format!("{}:/usr/bin:/bin", room.work().display());
    let room = room.with("PATH", &path);
    play(&room, &shell("touchx ran"), &[]);
    assert!(!room.has("ran"));
}

#[test]
fn a_denied_command_is_denied_however_it_is_written() {
    for (rule, line) in [
        ("Bash(touch made:*)", "touch  made"),
        ("Bash(touch made:*)", "touch \"made\""),
        ("Bash(touch *)", "/usr/bin/touch made"),
        ("Bash(touch *)", "\"touch\" made"),
        ("Bash(touch *)", "t\"\"ouch made"),
        ("Bash(touch *)", "\\touch made"),
        ("Bash(touch made)", "touch \\\nmade"),
        ("bash(touch *)", "true && touch made"),
        ("Bash(touch $MADE:*)", "MADE=made; touch \"$MADE\""),
        ("Bash(touch $MADE:*)", "MADE=made; touch  ${MADE}"),
        ("Bash(touch ma*)", "true; touch  ma[d]e"),
    ] {
        let room = with_rules(&json!({"deny": [rule]}));
        play(&room, &shell(line), &["--yes"]);
        assert!(!room.has("made") && !room.has("ma[d]e"), "{rule}: {line}");
    }
    // becket's own rules look as closely.
    let room = room();
    room.config("[permissions]\ndeny = [\"shell:command=touch made*\"]\n");
    play(&room, &shell("true; \"touch\"  made"), &["--yes"]);
    assert!(!room.has("made"));
}

#[test]
fn no_hook_allows_what_a_rule_asks_about() {
    let allows =
        json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}});
    let hook = json!({"type": "command", "command": format!("echo '{allows}'")});
    let hooks = json!({"PreToolUse": [{"hooks": [hook]}]});
    for (lists, ran) in [(json!({"ask": ["Bash(touch *)"]}), false), (json!({}), true)] {
        let room = with_user(&json!({"permissions": lists, "hooks": hooks}));
        play(&room, &shell("touch made"), &[]);
        assert_eq!(room.has("made"), ran, "{lists}");
    }
}

#[test]
fn a_condition_that_is_not_understood_keeps_no_guard_from_being_asked() {
    for (condition, line) in [
        ("Bash(touch made *)", "p=made; touch $p x"),
        ("Bash(touch made *)", "touch $(echo made) x"),
        ("Bash(touch made *)", "touch {made,x}"),
        ("Bash(rm *)|Bash(touch *)", "touch made"),
        ("Bash(rm *) Bash(git *)", "touch made"),
    ] {
        let hook = json!({"type": "command", "command": "echo no >&2; exit 2", "if": condition});
        let room = with_user(&json!({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}));
        play(&room, &shell(line), &["--yes"]);
        assert!(!room.has("made"), "{condition}: {line}");
    }
}

/// Other profiles have tools for what Claude Code, Gemini CLI and Copilot do in the shell.
#[test]
fn guards_of_commands_see_what_removes_a_file() {
    let patch = "*** Begin Patch\n*** Delete File: f\n*** End Patch";
    let removes = call("apply_patch", &json!({"command": patch}));
    let refuse = |event: &str, matcher: &str, more: &Value| {
        let mut hook =
            json!({"type": "command", "command": "grep -q 'rm f' && { echo no >&2; exit 2; }; exit 0"});
        for (name, value) in more.as_object().into_iter().flatten() {
            hook[name] = value.clone();
        }
        json!({"hooks": {event: [{"matcher": matcher, "hooks": [hook]}]}})
    };
    let conditional = refuse("PreToolUse", "", &json!({"if": "Bash(rm *)"}));
    for (file, settings) in [
        (".claude", refuse("PreToolUse", "Bash", &json!({}))),
        (".claude", conditional),
        (".claude", json!({"permissions": {"deny": ["Bash(rm:*)"]}})),
        (".gemini", refuse("BeforeTool", "run_shell_command", &json!({}))),
    ] {
        let room = room();
        room.write(&format!("../home/{file}/settings.json"), settings.to_string());
        room.write("f", "precious");
        play(&room, &removes, &["--yes", "--tools", "codex"]);
        assert!(room.has("f"), "{settings}");
    }
    // Without a guard the patch does remove the file.
    let room = room();
    room.write("f", "precious");
    play(&room, &removes, &["--yes", "--tools", "codex"]);
    assert!(!room.has("f"));
}

#[test]
fn lists_that_cannot_be_read_are_not_lost() {
    for lists in [
        json!({"deny": "Bash(rm *)"}),
        json!([]),
        json!({"Deny": ["Bash(rm *)"]}),
        json!({"deny": [1]}),
    ] {
        let room = with_rules(&lists);
        let file = room.home().join(".claude/settings.json");
        room.run(["--model", "rehearsal", "hello"])
            .ended_with(2)
            .complained("permissions");
        room.run(["hooks", "check", &file.display().to_string()])
            .ended_with(1)
            .said("permissions");
    }
    let room = with_rules(&json!({"deny": ["Bsh(rm *)", "WebSearch", "mcp__x"]}));
    let run = room.run(["--model", "rehearsal", "hello"]).ended_with(0);
    assert_eq!(run.stderr.matches("has no effect").count(), 1, "{run:#?}");
    assert!(run.stderr.contains("`Bsh(rm *)`"), "{run:#?}");
}

#[test]
fn the_same_command_with_other_variables_is_another_hook() {
    let room = room();
    let guard = room.script(
        "guard.sh",
        "#!/bin/sh\n[ -n \"$SKIP\" ] && exit 0\necho no >&2; exit 2\n",
    );
    let hook = json!({"type": "command", "command": guard.display().to_string()});
    let hooks = json!({"hooks": {"PreToolUse": [{"hooks": [hook]}]}});
    room.write("../home/.codex/hooks.json", hooks.to_string());
    let mut with_skip = hooks.clone();
    with_skip["env"] = json!({"SKIP": "1"});
    room.write("../home/.claude/settings.json", with_skip.to_string());
    play(&room, &shell("touch made"), &["--yes"]);
    assert!(!room.has("made"));
}
