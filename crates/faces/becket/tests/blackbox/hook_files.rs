//! What the tests of hooks in JSON files share: calls and answers of a scripted model, hooks that note what they read.

use serde_json::{Value, json};
use testkit::Room;

use crate::room;

/// A command that adds what it reads to a file beside the working directory, and then does something.
pub(crate) fn noting(event: &str, then: &str) -> String {
    format!("IN=$(cat); printf '%s\\n' \"$IN\" >> ../{event}.jsonl; {then}")
}

/// A command that answers.
pub(crate) fn answers(answer: &Value) -> String {
    format!("printf '%s' '{answer}'")
}

pub(crate) fn call(name: &str, arguments: &Value) -> Value {
    json!({"tool_calls": [{"id": "call-1", "name": name, "arguments": arguments}]})
}

pub(crate) fn shell(command: &str) -> Value {
    call("shell", &json!({"command": command}))
}

/// An answer to a request that holds these words.
pub(crate) fn says(text: &str, expect: &[&str]) -> Value {
    json!({"text": text, "expect": expect})
}

/// What the hooks of an event have read.
pub(crate) fn heard(room: &Room, event: &str) -> Vec<Value> {
    let text = room.read(&format!("../{event}.jsonl"));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// One member of all that the hooks of an event have read.
pub(crate) fn members(room: &Room, event: &str, name: &str) -> Vec<Value> {
    let heard = heard(room, event).into_iter();
    heard.map(|mut read| read[name].take()).collect()
}

/// A project whose files for three systems have the same command, which leaves a line each time it runs.
fn with_the_same(claude: &Value, command: &str) -> Room {
    let room = room();
    let hook = json!({"type": "command", "command": command});
    let mut group = claude.clone();
    group["hooks"] = json!([hook]);
    room.write(
        ".claude/settings.json",
        json!({"hooks": {"PreToolUse": [group]}}).to_string(),
    );
    let group = json!({"hooks": [hook]});
    room.write(
        ".codex/hooks.json",
        json!({"hooks": {"PreToolUse": [group]}}).to_string(),
    );
    let of_copilot = json!({"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": command}]}});
    room.write(".github/hooks/hooks.json", of_copilot.to_string());
    room
}

#[test]
fn the_same_hook_in_the_files_of_two_systems_runs_once() {
    let command = "cat > /dev/null; echo ran >> ../runs";
    let play = |room: &Room| {
        let model = room.model(&json!([shell("true"), {"text": "done"}]));
        room.run(["--trust", "--yes", "--model", &model, "go"])
            .ended_with(0);
        room.read("../runs").lines().count()
    };
    let room = with_the_same(&json!({}), command);
    // Copilot refuses with every error code, so its guard runs too.
    assert_eq!(play(&room), 2);
    let list = room.run(["--trust", "hooks", "list"]).ended_with(0).stdout;
    let codex = list
        .lines()
        .find(|line| line.contains(".codex/hooks.json"))
        .expect("a line");
    assert!(
        codex.contains("runs once, as ") && codex.contains(".claude/settings.json"),
        "{list}"
    );
    // A narrower hook stands for a wider one where it is asked.
    let room = with_the_same(&json!({"matcher": "Bash"}), command);
    assert_eq!(play(&room), 2);
    let list = room.run(["--trust", "hooks", "list"]).ended_with(0).stdout;
    let mut codex = list.lines().filter(|line| line.contains("codex"));
    assert!(
        codex.any(|line| line.contains("is not asked") && line.contains(".claude/settings.json")),
        "{list}"
    );
    let room = with_the_same(&json!({"matcher": "Edit"}), command);
    assert_eq!(play(&room), 2);
}

#[test]
fn the_same_hook_runs_once_where_both_systems_know_the_tool_by_the_same_name() {
    let command = "cat > /dev/null; echo ran >> ../runs";
    let hook = json!({"type": "command", "command": command});
    let room = room();
    let file = |matcher: &str| json!({"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [hook]}]}});
    room.write(".claude/settings.json", file("Bash|Write").to_string());
    room.write(".codex/hooks.json", file("^Bash$").to_string());
    let of_cursor =
        json!({"version": 1, "hooks": {"preToolUse": [{"command": command, "matcher": "Shell|Read"}]}});
    room.write(".cursor/hooks.json", of_cursor.to_string());
    room.write("a.txt", "words");
    let play = |turns: Value| {
        let model = room.model(&turns);
        room.run(["--trust", "--yes", "--model", &model, "go"])
            .ended_with(0);
        let runs = room.read("../runs").lines().count();
        room.write("../runs", "");
        runs
    };
    // Two of them know the tool as `Bash`, and the third one by another name.
    assert_eq!(play(json!([shell("true"), {"text": "done"}])), 2);
    // Codex shows reading as a command, so that its hook cannot stand for one that is shown a file.
    assert_eq!(
        play(json!([call("read", &json!({"path": "a.txt"})), {"text": "done"}])),
        2
    );
}

#[test]
fn a_plugins_file_is_read_by_the_system_that_it_is_of() {
    let room = room();
    let group = |command: &str| json!([{"hooks": [{"type": "command", "command": command}]}]);
    let write = |plugin: &str, manifest: &str, hooks: Value| {
        if !manifest.is_empty() {
            room.write(
                &format!("{plugin}/{manifest}"),
                json!({"name": plugin}).to_string(),
            );
        }
        let file = format!("{plugin}/hooks/hooks.json");
        room.write(&file, json!({"version": 1, "hooks": hooks}).to_string());
        let run = room.run(["hooks", "check", "--json", &file]);
        run.stdout + &run.stderr
    };
    // The same words mean different things: no other system has `Interrupt`, and none but one `PostToolBatch`.
    let both = || json!({"PreToolUse": group("true"), "Interrupt": group("true")});
    let text = write("one", ".codex-plugin/plugin.json", both());
    assert!(!text.contains("Interrupt"), "{text}");
    let text = write("two", ".claude-plugin/plugin.json", both());
    assert!(text.contains("Interrupt"), "{text}");
    let text = write(
        "three",
        "",
        json!({"PreToolUse": group("true"), "PostToolBatch": group("true")}),
    );
    assert!(!text.contains("PostToolBatch"), "{text}");
    let shell = json!({"beforeShellExecution": [{"command": "true"}]});
    for manifest in [".cursor-plugin/plugin.json", ""] {
        let text = write("four", manifest, shell.clone());
        // Nothing is wrong with it; that the guard goes on after an error code is a remark.
        assert!(!text.contains("\"wrong\""), "{manifest}: {text}");
    }
    // A plugin's own variable is set for it.
    let rooted = json!({"PreToolUse": group("\"${CLAUDE_PLUGIN_ROOT}\"/run.sh")});
    let text = write("five", ".claude-plugin/plugin.json", rooted);
    assert!(!text.contains("is set for hooks of plugins only"), "{text}");
}

#[test]
fn a_guard_that_says_no_in_another_systems_words_refuses() {
    for (file, event, nested) in [
        (".claude/settings.json", "PreToolUse", true),
        (".gemini/settings.json", "BeforeTool", true),
        (".cursor/hooks.json", "preToolUse", false),
        (".github/hooks/any.json", "preToolUse", false),
    ] {
        for answer in [
            json!({"permission": "deny"}),
            json!({"hookSpecificOutput": {"permissionDecision": "deny"}}),
            json!({"behavior": "deny"}),
            json!({"allow": false}),
        ] {
            let room = room();
            let command = answers(&answer);
            let entry = match nested {
                true => json!({"hooks": [{"type": "command", "command": command}]}),
                false => json!({"type": "command", "command": command}),
            };
            room.write(file, json!({"version": 1, "hooks": {event: [entry]}}).to_string());
            let model = room.model(&json!([shell("touch made"), {"text": "done"}]));
            let run = room
                .run(["--trust", "--yes", "--model", &model, "go"])
                .ended_with(0);
            assert!(!room.has("made"), "{file} {answer}: {run:#?}");
        }
    }
}

#[test]
fn a_guard_that_says_yes_in_another_systems_words_approves_and_refuses_nothing() {
    for (file, event, said) in [
        (
            ".claude/settings.json",
            "PreToolUse",
            json!({"decision": "allow"}),
        ),
        (
            ".claude/settings.json",
            "PreToolUse",
            json!({"permissionDecision": "allow"}),
        ),
        (
            ".claude/settings.json",
            "PreToolUse",
            json!({"permission": "allow", "block": false}),
        ),
        (
            ".claude/settings.json",
            "UserPromptSubmit",
            json!({"decision": "allow"}),
        ),
        (".codex/hooks.json", "PreToolUse", json!({"decision": "allow"})),
        (
            ".codex/hooks.json",
            "UserPromptSubmit",
            json!({"decision": "approve"}),
        ),
    ] {
        for (more, runs) in [(&["--yes"][..], true), (&[], false)] {
            let room = room();
            let hook = json!({"type": "command", "command": answers(&said)});
            room.write(file, json!({"hooks": {event: [{"hooks": [hook]}]}}).to_string());
            let model = room.model(&json!([shell("touch made"), says("done", &[])]));
            let arguments = ["--trust", "--model", &model, "go"];
            room.run(arguments.iter().chain(more)).ended_with(0);
            assert_eq!(room.has("made"), runs, "{file} {event} {said}");
        }
    }
}

#[test]
fn hooks_that_are_not_trusted_are_listed_too() {
    let room = with_the_same(&json!({}), "true");
    let run = room.run(["hooks", "list"]).ended_with(0);
    for (name, file) in [
        ("PreToolUse 1", ".claude/settings.json"),
        ("PreToolUse 1", ".codex/hooks.json"),
        ("preToolUse 1", ".github/hooks/hooks.json"),
    ] {
        let is_line =
            |line: &str| line.contains(name) && line.contains(file) && line.ends_with("not trusted");
        assert!(run.stdout.lines().any(is_line), "{file}: {run:#?}");
    }
}

#[test]
fn events_that_never_happen_are_listed_with_the_reason() {
    let room = room();
    let list = |dialect: &str| {
        room.run(["hooks", "events", "--dialect", dialect])
            .ended_with(0)
            .stdout
    };
    let line = |name: &str, text: String| {
        let mut lines = text.lines();
        lines
            .find(|line| line.starts_with(name))
            .map(ToOwned::to_owned)
            .unwrap_or_default()
    };
    let watched = line("FileChanged", list("claude-code"));
    assert!(
        watched.ends_with("absent    becket does not watch files"),
        "{watched}"
    );
    assert!(line("beforeTabFileRead", list("cursor")).contains("absent"));
    // All 33 of Claude Code's are there.
    let text = list("claude-code");
    let names = text.lines().filter_map(|line| line.split_whitespace().next());
    assert_eq!(
        names.collect::<std::collections::BTreeSet<_>>().len(),
        33,
        "{text}"
    );
}

#[test]
fn a_guard_under_another_systems_name_stops_the_run() {
    for (file, event) in [
        (".claude/settings.json", "BeforeTool"),
        (".codex/hooks.json", "beforeShellExecution"),
        (".gemini/settings.json", "PreToolUse"),
        (".github/hooks/any.json", "BeforeTool"),
        (".cursor/hooks.json", "PreToolUse"),
    ] {
        let room = room();
        let hook = json!({"type": "command", "command": "exit 2"});
        let entry = match file {
            ".cursor/hooks.json" => hook,
            _ => json!({"hooks": [hook]}),
        };
        let mut text = json!({"hooks": {event: [entry]}});
        if [".cursor/hooks.json", ".github/hooks/any.json"].contains(&file) {
            text["version"] = 1.into();
        }
        room.write(file, text.to_string());
        let model = room.model(&json!([shell("touch made"), {"text": "done"}]));
        let run = room
            .run(["--trust", "--yes", "--model", &model, "go"])
            .ended_with(4);
        assert!(
            run.stderr.contains(event) && !room.has("made"),
            "{file}: {run:#?}"
        );
    }
}

/// What a check finds in a file of the project, with its exit code.
fn checked(file: &str, event: &str, group: &Value) -> (i32, String) {
    let room = room();
    let mut text = json!({"version": 1, "hooks": {event: [group]}});
    if file.starts_with(".codex") {
        text.as_object_mut().expect("an object").remove("version");
    }
    room.write(file, text.to_string());
    let run = room.run(["--trust", "hooks", "check"]);
    (run.code, run.stdout)
}

// tidy: a table
#[test]
fn matchers_that_fit_no_tool_are_found() {
    let nested =
        |matcher: &str| json!({"matcher": matcher, "hooks": [{"type": "command", "command": "true"}]});
    let flat = |matcher: &str| json!({"matcher": matcher, "type": "command", "command": "true"});
    for (file, event, group, meant) in [
        (
            ".claude/settings.json",
            "PreToolUse",
            nested("bash"),
            Some("`Bash`"),
        ),
        (
            ".claude/settings.json",
            "PreToolUse",
            nested("Edit|Wriet"),
            Some("`Write`"),
        ),
        (
            ".claude/settings.json",
            "PostToolUse",
            nested("run_shell_command"),
            Some("`Bash`"),
        ),
        (
            ".claude/settings.json",
            "PreToolUse",
            nested("Skill(plan-and-analyze.*)"),
            Some("`Skill`"),
        ),
        (
            ".claude/settings.json",
            "PreToolUse",
            nested("mcp__brave-search"),
            Some("`mcp__brave-search__.*`"),
        ),
        (
            ".codex/hooks.json",
            "PreToolUse",
            nested("mcp__brave-search"),
            None,
        ),
        (
            ".claude/settings.json",
            "PreToolUse",
            nested("mcp__search"),
            Some("`mcp__search__.*`"),
        ),
        (
            ".claude/settings.json",
            "PreToolUse",
            nested("mcp__search__.*"),
            None,
        ),
        (
            ".claude/settings.json",
            "PreToolUse",
            nested("Bash|TodoWrite, Task"),
            None,
        ),
        (
            ".claude/settings.json",
            "PreToolUse",
            nested("^(Edit|Write)$"),
            None,
        ),
        (".claude/settings.json", "SessionStart", nested("startup"), None),
        (".codex/hooks.json", "PreToolUse", nested("shell"), Some("`Bash`")),
        (
            ".codex/hooks.json",
            "PreToolUse",
            nested("Edit|apply_patch"),
            None,
        ),
        (
            ".gemini/settings.json",
            "BeforeTool",
            nested("Bash"),
            Some("`run_shell_command`"),
        ),
        (
            ".gemini/settings.json",
            "BeforeTool",
            nested("write_.*|replace"),
            None,
        ),
        (".cursor/hooks.json", "preToolUse", flat("Bash"), Some("`Shell`")),
        (".cursor/hooks.json", "beforeShellExecution", flat("rm"), None),
        (
            ".github/hooks/any.json",
            "preToolUse",
            flat("Bash"),
            Some("`bash`"),
        ),
        (".github/hooks/any.json", "PreToolUse", flat("Bash"), None),
    ] {
        let (code, found) = checked(file, event, &group);
        match meant {
            Some(meant) => {
                assert!(
                    found.contains(&format!("did you mean {meant}?")),
                    "{file} {group}: {found}"
                );
                assert_eq!(code, 1, "{file} {group}: {found}");
            }
            None => assert!(!found.contains("has a name like"), "{file} {group}: {found}"),
        }
    }
}

/// Matchers at events that are not about tools, and conditions.
#[test]
fn matchers_and_conditions_that_fit_nothing_are_found() {
    let matching =
        |matcher: &str| json!({"matcher": matcher, "hooks": [{"type": "command", "command": ":"}]});
    let only = |condition: &str| json!({"hooks": [{"type": "command", "command": ":", "if": condition}]});
    for (file, event, group, told) in [
        ("claude", "SessionStart", matching("startup|resume"), None),
        ("claude", "SessionStart", matching("start.*"), None),
        ("claude", "SessionStart", matching("start_up"), Some("`startup`?")),
        (
            "claude",
            "SessionStart",
            matching("Bash"),
            Some("matches none of them"),
        ),
        ("claude", "PreCompact", matching("auto"), None),
        (
            "claude",
            "PreCompact",
            matching("automatic"),
            Some("matches none of them"),
        ),
        (
            "claude",
            "SessionEnd",
            matching("exit"),
            Some("matches none of them"),
        ),
        ("claude", "PreToolUse", only("Bash(git *)"), None),
        ("claude", "PreToolUse", only("Edit(*.ts)"), None),
        ("claude", "PreToolUse", only("mcp__x__y"), None),
        (
            "claude",
            "PreToolUse",
            only("Shell(git *)"),
            Some("did you mean `Bash`?"),
        ),
        ("gemini", "SessionEnd", matching("exit"), None),
        ("gemini", "PreCompress", matching("manuel"), Some("`manual`?")),
    ] {
        let (_, found) = checked(&format!(".{file}/settings.json"), event, &group);
        match told {
            Some(told) => assert!(found.contains(told), "{event} {group}: {found}"),
            None => {
                let is_silent = !found.contains("matches none") && !found.contains("has a name like");
                assert!(is_silent, "{event} {group}: {found}");
            }
        }
    }
}

#[test]
fn answers_that_are_none_are_found() {
    let deny = json!({"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no"});
    let mut foreign = deny.clone();
    foreign["sessionTitle"] = "x".into();
    let group = |answer: Value| json!({"hooks": [{"type": "command", "command": answers(&answer)}]});
    for (file, event, answer, wrong) in [
        (
            ".codex/hooks.json",
            "PreToolUse",
            json!({"hookSpecificOutput": foreign}),
            true,
        ),
        (
            ".codex/hooks.json",
            "PreToolUse",
            json!({"hookSpecificOutput": deny}),
            false,
        ),
        (
            ".claude/settings.json",
            "PreToolUse",
            json!({"hookSpecificOutput": foreign}),
            false,
        ),
        (
            ".claude/settings.json",
            "PreToolUse",
            json!({"decision": "blok"}),
            true,
        ),
        (
            ".gemini/settings.json",
            "BeforeTool",
            json!({"hookSpecificOutput": deny}),
            true,
        ),
        (
            ".gemini/settings.json",
            "BeforeTool",
            json!({"decision": "deny", "reason": "no"}),
            false,
        ),
    ] {
        let (code, found) = checked(file, event, &group(answer.clone()));
        assert_eq!(code, i32::from(wrong), "{file} {answer}: {found}");
    }
}

#[test]
fn what_answers_want_and_becket_does_not_do_is_remarked() {
    for (file, event, answer, words) in [
        (
            ".claude/settings.json",
            "SessionStart",
            json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "watchPaths": ["/x"]}}),
            "`watchPaths`, which becket does not have",
        ),
        (
            ".claude/settings.json",
            "Stop",
            json!({"terminalSequence": "words"}),
            "`terminalSequence` that is not sent",
        ),
        (
            ".gemini/settings.json",
            "AfterTool",
            json!({"hookSpecificOutput": {"tailToolCallRequest": {"name": "read_file", "args": {}}}}),
            "to run another tool",
        ),
        (
            ".claude/settings.json",
            "Stop",
            json!({"terminalSequence": "\u{7}"}),
            "",
        ),
    ] {
        let group = json!({"hooks": [{"type": "command", "command": answers(&answer), "timeout": 1000}]});
        let (code, found) = checked(file, event, &group);
        assert_eq!(code, 0, "{file} {answer}: {found}");
        let is_told = found.contains("its answer wants");
        assert_eq!(
            (is_told, found.contains(words)),
            (!words.is_empty(), true),
            "{answer}: {found}"
        );
    }
}

#[test]
fn scripts_in_the_home_are_checked() {
    for (command, words) in [
        ("~/.claude/hooks/there.sh", ""),
        ("\"$HOME/.claude/hooks/there.sh\" --flag", ""),
        ("sh ~/.claude/hooks/plain.sh", ""),
        ("~/.claude/hooks/plain.sh", "may not be executed"),
        ("$HOME/.claude/hooks/plain.sh", "may not be executed"),
        ("~/.claude/hooks/gone.sh", "does not exist"),
        ("\"${HOME}\"/.claude/hooks/gone.sh", "does not exist"),
        (
            "sh ~/.claude/hooks/gone.sh",
            "the script `~/.claude/hooks/gone.sh` is not in",
        ),
    ] {
        let room = room();
        room.script("../home/.claude/hooks/there.sh", "#!/bin/sh\nexit 2\n");
        room.write("../home/.claude/hooks/plain.sh", "#!/bin/sh\nexit 2\n");
        let group = json!({"hooks": [{"type": "command", "command": command}]});
        let settings = json!({"hooks": {"PreToolUse": [group]}});
        room.write("../home/.claude/settings.json", settings.to_string());
        let run = room.run(["hooks", "check"]);
        assert_eq!(run.code, i32::from(!words.is_empty()), "{command}: {run:#?}");
        assert!(run.stdout.contains(words), "{command}: {run:#?}");
    }
}

#[test]
fn a_relative_script_that_cannot_be_started_is_found() {
    for (text, is_executable, words) in [
        ("#!/bin/sh\n", true, ""),
        (
            "#!/usr/bin/env no-such-interpreter\n",
            true,
            "no-such-interpreter",
        ),
        ("#!/bin/sh\n", false, "may not be executed"),
    ] {
        let room = room();
        let script = ".gemini/hooks/guard.sh";
        match is_executable {
            true => drop(room.script(script, text)),
            false => drop(room.write(script, text)),
        }
        let group = json!({"hooks": [{"type": "command", "command": script}]});
        let settings = json!({"hooks": {"BeforeTool": [group]}});
        room.write(".gemini/settings.json", settings.to_string());
        let run = room.run(["--trust", "hooks", "check"]);
        assert_eq!(run.code, i32::from(!words.is_empty()), "{text:?}: {run:#?}");
        assert!(run.stdout.contains(words), "{text:?}: {run:#?}");
    }
}

#[test]
fn guards_that_go_on_after_an_error_code_are_listed() {
    let group = |more: &Value| {
        let mut hook = json!({"type": "command", "command": "true"});
        let members = more.as_object().expect("an object").clone();
        hook.as_object_mut().expect("an object").extend(members);
        json!({"hooks": [hook]})
    };
    let words = "continues if one of these guards exits with an error code";
    for (file, event, more, listed) in [
        (".claude/settings.json", "PreToolUse", json!({}), true),
        (
            ".claude/settings.json",
            "PreToolUse",
            json!({"onFailure": "block"}),
            false,
        ),
        (".claude/settings.json", "Stop", json!({}), false),
        (".codex/hooks.json", "PreToolUse", json!({}), true),
        (".gemini/settings.json", "BeforeTool", json!({}), true),
    ] {
        let (code, found) = checked(file, event, &group(&more));
        assert_eq!(
            (code, found.contains(words)),
            (0, listed),
            "{file} {more}: {found}"
        );
    }
    let entry = json!({"type": "command", "command": "true"});
    assert!(
        !checked(".github/hooks/any.json", "preToolUse", &entry)
            .1
            .contains(words)
    );
}

/// Runs in the folder `sub` of a room's project.
fn play_below(room: &Room) -> String {
    let model = room.model(&json!([shell("touch made"), says("done", &[])]));
    let mut run = room.command(["--trust", "--yes", "--model", &model, "go"]);
    let ended = run.current_dir(room.work().join("sub")).output();
    String::from_utf8_lossy(&ended.expect("it runs").stderr).into_owned()
}

#[test]
fn the_same_text_in_another_folder_is_another_hook() {
    for (folder, file, event, variable) in [
        (".claude", "settings.json", "PreToolUse", "CLAUDE_PROJECT_DIR"),
        (".gemini", "settings.json", "BeforeTool", "GEMINI_PROJECT_DIR"),
    ] {
        let room = room();
        room.write(".git/HEAD", "ref: refs/heads/main\n");
        let command = format!("sh \"${variable}\"/{folder}/guard.sh");
        let hook = json!({"type": "command", "command": command});
        let hooks = json!({"hooks": {event: [{"hooks": [hook]}]}}).to_string();
        for (place, script) in [("", "exit 0"), ("sub/", "echo 'not below' >&2; exit 2")] {
            room.write(&format!("{place}{folder}/{file}"), &hooks);
            room.write(&format!("{place}{folder}/guard.sh"), script);
        }
        let told = play_below(&room);
        assert!(
            !room.has("sub/made") && told.contains("not below"),
            "{folder}: {told}"
        );
    }
    // The same script of the user's, whatever folder names it, is one hook.
    let room = room();
    let hook = json!({"type": "command", "command": "echo ran >> \"$CLAUDE_PROJECT_DIR\"/runs"});
    let hooks = json!({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}).to_string();
    room.write(".claude/settings.json", &hooks);
    room.write("../home/.claude/settings.json", &hooks);
    let model = room.model(&json!([shell("touch made"), says("done", &[])]));
    room.run(["--trust", "--yes", "--model", &model, "go"])
        .ended_with(0);
    assert_eq!(room.read("runs").lines().count(), 1);
}

#[test]
fn a_file_that_a_plugin_names_and_that_is_not_there_stops_the_run() {
    let codex = "../home/.codex/plugins/cache/market/tool/1.0.0/.codex-plugin/plugin.json";
    let cursor = "../home/.cursor/plugins/local/tool/.cursor-plugin/plugin.json";
    let settings = "[plugins.\"tool@market\"]\nenabled = true\n";
    for (manifest, hooks, words) in [
        (codex, json!("./gone.json"), "there is no file"),
        (codex, json!(["gone.json"]), "there is no file"),
        (cursor, json!("./gone.json"), "there is no file"),
        (cursor, json!(["gone.json"]), "there is no file"),
        (cursor, json!([{"preToolUse": []}]), "no object with events"),
    ] {
        let room = room();
        room.write(manifest, json!({"name": "tool", "hooks": hooks}).to_string());
        room.write("../home/.codex/config.toml", settings);
        let model = room.model(&json!([says("done", &[])]));
        room.run(["--model", &model, "go"])
            .ended_with(4)
            .complained(words);
    }
    let room = room();
    room.write("../home/.codex/config.toml", settings);
    let model = room.model(&json!([says("done", &[])]));
    let run = room.run(["--model", &model, "go"]);
    run.ended_with(0)
        .complained("enabled and not installed, so its hooks do not run");
    room.write(codex, "{");
    let run = room.run(["--model", &model, "go"]);
    run.ended_with(2).complained("plugin.json");
}

#[test]
fn a_folder_of_hooks_that_cannot_be_read_stops_the_run() {
    let room = room();
    std::fs::create_dir(room.work().join(".github")).expect("it is new");
    std::os::unix::fs::symlink("hooks", room.work().join(".github/hooks")).expect("it is new");
    let model = room.model(&json!([says("done", &[])]));
    let run = room.run(["--model", &model, "go"]);
    run.ended_with(2).complained(".github/hooks");
}
