//! Claude Code's hooks beyond the files of a project: addresses that are asked, settings of whoever manages the
//! machine, the file with the conversation, and what the user sees of hooks.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, Response, Room, needs, run_with_input, skipped};

use crate::hook_files::{answers, says, shell};
use crate::limit::with_person;
use crate::room;
use crate::terminal::Terminal;

fn touching() -> Value {
    json!([shell("touch made"), {"text": "done"}])
}

fn hooks(event: &str, hook: &Value) -> Value {
    json!({"hooks": {event: [{"hooks": [hook]}]}})
}

fn refusing(words: &str) -> Value {
    json!({"type": "command", "command": format!("echo {words} >&2; exit 2")})
}

/// A room whose user has these settings.
fn with_user(settings: &Value) -> Room {
    let room = room();
    room.write("../home/.claude/settings.json", settings.to_string());
    room
}

fn play(room: &Room, turns: &Value, more: &[&str]) -> Finished {
    let model = room.model(turns);
    let arguments = ["--yes", "--json", "--model", &model, "go"];
    room.run(arguments.iter().chain(more))
}

/// Lets a hook ask this server about a call.
fn asked(server: &ModelServer, path: &str, settings: &Value) -> (Room, Finished) {
    let url = format!("{}{path}", server.url());
    let hook = json!({
        "type": "http", "url": url, "headers": {"X-Secret": "$SECRET ${OTHER}"}, "allowedEnvVars": ["SECRET"],
    });
    let mut all = hooks("PreToolUse", &hook);
    for (name, value) in settings.as_object().expect("an object") {
        all[name] = value.clone();
    }
    let room = with_user(&all).with("SECRET", "known").with("OTHER", "hidden");
    room.config("[url_policy]\nallow = [\"http://127.0.0.1:*/*\"]\n");
    let run = play(&room, &touching(), &[]).ended_with(0);
    (room, run)
}

#[test]
fn an_address_judges_a_call_and_refuses_when_it_fails() {
    let deny = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "the address says no",
    }});
    let redirect = Response::new(302, "text/plain", "").header("location", "/elsewhere");
    for (answer, ran, words) in [
        (Response::json(200, &json!({})), true, ""),
        (Response::json(200, &deny), false, "the address says no"),
        (Response::json(500, &json!({})), false, "could not decide"),
        (redirect, false, "could not decide"),
        (
            Response::new(200, "text/plain", "fine"),
            false,
            "is not a JSON object",
        ),
    ] {
        let server = ModelServer::start([answer, Response::json(200, &json!({}))]);
        let (room, run) = asked(&server, "/hook", &json!({}));
        assert_eq!(room.has("made"), ran, "{words}: {run:#?}");
        assert!(
            run.stdout.contains(words) || run.stderr.contains(words),
            "{run:#?}"
        );
        let request = server.only_request();
        assert_eq!(request.path, "/hook");
        assert_eq!(request.header("x-secret").map(str::trim), Some("known"));
        let input = request.json();
        assert_eq!(input["tool_input"]["command"], "touch made");
        let transcript = input["transcript_path"].as_str().expect("a path");
        assert!(Path::new(transcript).is_file(), "{input:#}");
    }
}

#[test]
fn an_address_that_is_not_allowed_is_not_asked() {
    for settings in [
        json!({"allowedHttpHookUrls": ["https://hooks.example.com/*"]}),
        json!({"allowedHttpHookUrls": []}),
    ] {
        let server = ModelServer::start([]);
        let (room, run) = asked(&server, "/hook", &settings);
        assert!(!room.has("made"), "{run:#?}");
        assert!(server.requests().is_empty());
    }
    let server = ModelServer::start([Response::json(200, &json!({}))]);
    let settings = json!({"httpHookAllowedEnvVars": ["OTHER"]});
    let (room, _) = asked(&server, "/hook", &settings);
    assert!(room.has("made"));
    assert_eq!(
        server
            .only_request()
            .header("x-secret")
            .unwrap_or_default()
            .trim(),
        ""
    );
}

/// Runs becket on a machine with managed settings: a folder of the room stands in the place of `/etc`.
fn managed(room: &Room, settings: &Value) -> Option<Finished> {
    let tried = Command::new("unshare").args(["-rm", "true"]).status();
    if !needs("unshare") || !tried.is_ok_and(|status| status.success()) {
        skipped("namespaces of users");
        return None;
    }
    let file = room.write("../etc/claude-code/managed-settings.json", settings.to_string());
    let etc = file.parent().and_then(Path::parent).expect("the folder is there");
    let model = room.model(&touching());
    let becket = room.command(["--yes", "--json", "--model", &model, "go"]);
    let line = "mount --bind \"$0\" /etc && exec \"$@\"";
    let words = ["-rm", "sh", "-c", line].map(std::ffi::OsStr::new).into_iter();
    let words = words
        .chain([etc.as_os_str(), becket.get_program()])
        .chain(becket.get_args());
    Some(run_with_input(room.command_of(Path::new("unshare"), words), "").ended_with(0))
}

#[test]
fn hooks_of_the_machine_cannot_be_switched_off() {
    let room = with_user(&json!({"disableAllHooks": true}));
    let settings = hooks("PreToolUse", &refusing("the machine says no"));
    let Some(run) = managed(&room, &settings) else {
        return;
    };
    assert!(
        !room.has("made") && run.stderr.contains("the machine says no"),
        "{run:#?}"
    );
    // Nor do others count where it wants its own alone.
    let room = with_user(&hooks("PreToolUse", &refusing("the user says no")));
    let run = managed(&room, &json!({"allowManagedHooksOnly": true}));
    assert!(room.has("made"), "{run:#?}");
}

#[test]
fn plugins_that_the_machine_enables_count() {
    let plugin = |room: &Room| {
        let hooks = hooks("PreToolUse", &refusing("the plugin says no"));
        room.write("../home/plugin/hooks/hooks.json", hooks.to_string());
        let root = room.home().join("plugin").display().to_string();
        let list = json!({"version": 2, "plugins": {"p@m": [{"scope": "managed", "installPath": root}]}});
        room.write("../home/.claude/plugins/installed_plugins.json", list.to_string());
    };
    for (of_user, of_machine, refuses) in [
        (json!({}), json!({"enabledPlugins": {"p@m": true}}), true),
        (
            json!({"disableAllHooks": true, "enabledPlugins": {"p@m": false}}),
            json!({"allowManagedHooksOnly": true, "enabledPlugins": {"p@m": true}}),
            true,
        ),
        (
            json!({"enabledPlugins": {"p@m": true}}),
            json!({"enabledPlugins": {"p@m": false}}),
            false,
        ),
    ] {
        let room = with_user(&of_user);
        plugin(&room);
        let Some(run) = managed(&room, &of_machine) else {
            return;
        };
        assert_eq!(!room.has("made"), refuses, "{of_machine}: {run:#?}");
    }
}

#[test]
fn the_conversation_is_whole_again_after_its_file_was_lost() {
    let lines = "T=$(jq -r .transcript_path)";
    let loses = format!("{lines}; rm -f \"$T\"; mkdir \"$T\"");
    let gives_back = format!("{lines}; rmdir \"$T\"");
    let copies = format!("{lines}; cp \"$T\" ../transcript.jsonl");
    if !needs("jq") {
        return;
    }
    let command = |command: &str| json!([{"hooks": [{"type": "command", "command": command}]}]);
    let settings = json!({"hooks": {
        "PreToolUse": command(&loses), "PostToolUse": command(&gives_back), "Stop": command(&copies),
    }});
    let room = with_user(&settings);
    let turns = json!([shell("echo one"), shell("echo two"), {"text": "done"}]);
    play(&room, &turns, &[]).ended_with(0);
    let transcript = room.read("../transcript.jsonl");
    for words in ["\"go\"", "echo one", "echo two", "done"] {
        assert!(transcript.contains(words), "{words}: {transcript}");
    }
}

#[test]
fn a_failure_after_a_call_reaches_the_model_if_its_file_says_so() {
    for (on_failure, expected) in [("block", json!(["lint broke"])), ("continue", json!([]))] {
        let hook =
            json!({"type": "command", "command": "echo lint broke >&2; exit 1", "onFailure": on_failure});
        let room = with_user(&hooks("PostToolUse", &hook));
        let turns = json!([shell("touch made"), {"text": "done", "expect": expected}]);
        let run = play(&room, &turns, &[]).ended_with(0);
        let body = run.events_named("pre_request")[1]["body"].to_string();
        assert_eq!(body.contains("lint broke"), on_failure == "block", "{run:#?}");
    }
}

#[test]
fn a_failure_of_the_provider_has_a_name() {
    for (kind, word) in [("key", "authentication_failed"), ("rejected", "invalid_request")] {
        let noting = |matcher: &str, file: &str| {
            let hook = json!({"type": "command", "command": format!("cat > {file}")});
            json!({"matcher": matcher, "hooks": [hook]})
        };
        let groups = json!([noting(word, "named.json"), noting("rate_limit", "other.json")]);
        let settings = json!({"hooks": {"StopFailure": groups}});
        let room = with_user(&settings);
        play(&room, &json!([{"error": {"kind": kind, "message": "no"}}]), &[]);
        let told: Value = serde_json::from_str(&room.read("named.json")).expect("it is JSON");
        assert_eq!(told["error"], word);
        assert!(!room.has("other.json"));
    }
}

#[test]
fn the_user_sees_what_a_hook_does_and_what_one_in_the_background_says() {
    let status = json!({
        "type": "command", "command": "sleep 0.2", "statusMessage": "Checking the rules of the house",
    });
    let room = with_user(&hooks("PreToolUse", &status));
    let model = room.model(&touching());
    if let Some(run) = with_person(&room, &["--yes", "--model", &model, "go"]) {
        run.ended_with(0).complained("Checking the rules of the house");
    }

    let late = json!({"type": "command", "command": "echo the tests fail >&2; exit 2", "asyncRewake": true});
    let breaks = json!({"type": "command", "command": "echo no linter >&2; exit 1", "async": true});
    let tells =
        json!({"type": "command", "command": "echo '{\"systemMessage\": \"told late\"}'", "async": true});
    for (hook, words) in [
        (late, "the tests fail"),
        (breaks, "no linter"),
        (tells, "told late"),
    ] {
        let room = with_user(&hooks("Stop", &hook));
        let run = play(&room, &json!([says("done", &[])]), &[]).ended_with(0);
        assert!(run.stderr.contains(words), "{words}: {run:#?}");
    }
}

#[test]
fn a_hook_sets_the_title_of_the_window_and_nothing_that_is_not_allowed() {
    let says = |sequence: &str| json!({"type": "command", "command": answers(&json!({"terminalSequence": sequence}))});
    let titled = |sequence: &str| {
        let room = with_user(&hooks("UserPromptSubmit", &says(sequence)));
        let model = room.model(&json!([{"text": "all done"}]));
        let terminal =
            Terminal::start_sized(room, &["--model", &model, "chat"], (80, 24), "screen-256color")?;
        terminal.wait_for_mark();
        terminal.enter("go");
        terminal.wait_for("all done");
        Some(terminal)
    };
    let Some(terminal) = titled("\u{1b}]0;the lighthouse\u{7}\u{7}") else {
        return;
    };
    terminal.wait_until("the title", |_| terminal.title().contains("the lighthouse"));
    let terminal = titled("\u{1b}]0;the lighthouse\u{1b}[2J\u{7}").expect("tmux is there");
    terminal.wait_for("a `terminalSequence` that is not sent");
    assert!(!terminal.title().contains("lighthouse"));
}

#[test]
fn the_environment_says_how_often_hooks_may_go_on_and_how_long_they_take_at_the_end() {
    let settings = json!({"hooks": {
        "Stop": [{"hooks": [refusing("go on")]}],
        "SessionEnd": [{"hooks": [{"type": "command", "command": "sleep 2; touch ended"}]}],
    }});
    let turns: Vec<Value> = (0..12)
        .map(|number| json!({"text": number.to_string()}))
        .collect();
    for (cap, timeout, answers) in [("2", "60000", 3), ("0", "60000", 1), ("many", "100", 9)] {
        let room = with_user(&settings)
            .with("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", cap)
            .with("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS", timeout);
        let run = play(&room, &turns.clone().into(), &[]).ended_with(0);
        assert_eq!(run.events_named("pre_request").len(), answers, "{run:#?}");
        assert_eq!(room.has("ended"), timeout == "60000", "{run:#?}");
    }
}
