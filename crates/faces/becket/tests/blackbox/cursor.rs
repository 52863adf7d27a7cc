//! Cursor's hooks, with real shell commands in its `hooks.json` files: what a hook reads at each event, and what its
//! answer does.

use serde_json::{Map, Value, json};
use testkit::{Finished, Room};

use crate::hook_files::{answers, call, heard, noting, says, shell};
use crate::mcp::with_server;
use crate::room;

/// A file with a hook for each event, which notes what it reads and then does something.
fn file(commands: &[(&str, &str)]) -> Value {
    let mut hooks = Map::new();
    for (event, then) in commands {
        let entries = hooks.entry(*event).or_insert_with(|| json!([]));
        let entry = json!({"command": noting(event, then)});
        entries.as_array_mut().unwrap().push(entry);
    }
    json!({"version": 1, "hooks": hooks})
}

/// A room with a project that has such a file.
fn with_hooks(commands: &[(&str, &str)]) -> Room {
    with_file(&file(commands))
}

fn with_file(file: &Value) -> Room {
    let room = room().with("SHELL", "/bin/bash");
    room.write(".cursor/hooks.json", file.to_string());
    room.write("a.txt", "words of a file");
    room
}

/// A room with one hook, which has more members than its command.
fn with_entry(event: &str, then: &str, more: &Value) -> Room {
    let mut entry = json!({"command": noting(event, then)});
    for (name, value) in more.as_object().unwrap() {
        entry[name] = value.clone();
    }
    with_file(&json!({"version": 1, "hooks": {event: [entry]}}))
}

fn play(room: &Room, turns: &Value, more: &[&str]) -> Finished {
    let model = room.model(turns);
    let arguments = ["--trust", "--model", &model, "go"];
    room.run(arguments.iter().chain(more))
}

/// Whether a call of the shell has run beside a hook.
fn ran(room: &Room) -> bool {
    play(room, &json!([shell("touch made"), says("done", &[])]), &["--yes"]).ended_with(0);
    room.has("made")
}

#[test]
fn every_event_is_told() {
    let all = [
        "sessionStart",
        "beforeSubmitPrompt",
        "preToolUse",
        "beforeShellExecution",
        "afterShellExecution",
        "beforeReadFile",
        "afterFileEdit",
        "postToolUse",
        "postToolUseFailure",
        "afterAgentResponse",
        "stop",
        "sessionEnd",
    ];
    let commands: Vec<(&str, &str)> = all.iter().map(|event| (*event, "")).collect();
    let room = with_hooks(&commands);
    let edit = json!({"path": "a.txt", "edits": [{"old_text": "words", "new_text": "lines"}]});
    let turns = json!([
        shell("echo x"),
        call("read", &json!({"path": "a.txt"})),
        call("edit", &edit),
        call("read", &json!({"path": "none.txt"})),
        says("done", &[]),
    ]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    let work = room.work().canonicalize().unwrap();
    for event in all {
        let first = heard(&room, event).into_iter().next();
        let first = first.unwrap_or_else(|| panic!("{event} did not run"));
        assert_eq!(first["hook_event_name"], event);
        assert_eq!(first["workspace_roots"], json!([work]), "{event}");
        for name in ["conversation_id", "generation_id", "model", "cursor_version"] {
            assert!(first[name].is_string(), "{event} {name}: {first:#}");
        }
    }
    let first = |event: &str| heard(&room, event).remove(0);
    assert_eq!(first("beforeSubmitPrompt")["prompt"], "go");
    let names: Vec<Value> = heard(&room, "preToolUse")
        .iter()
        .map(|told| told["tool_name"].clone())
        .collect();
    assert_eq!(names, ["Shell", "Read", "Write", "Read"]);
    assert_eq!(
        heard(&room, "preToolUse")[2]["tool_input"]["content"],
        "lines of a file"
    );
    assert_eq!(first("beforeShellExecution")["command"], "echo x");
    assert!(
        first("afterShellExecution")["output"]
            .as_str()
            .unwrap()
            .contains('x')
    );
    assert_eq!(first("beforeReadFile")["content"], "words of a file");
    let edits = json!([{"old_string": "words", "new_string": "lines"}]);
    assert_eq!(first("afterFileEdit")["edits"], edits);
    assert_eq!(first("postToolUseFailure")["failure_type"], "error");
    assert_eq!(first("afterAgentResponse")["text"], "done");
    let stop = first("stop");
    assert_eq!(
        (&stop["status"], &stop["loop_count"]),
        (&json!("completed"), &json!(0))
    );
    assert_eq!(first("sessionEnd")["final_status"], "completed");
}

#[test]
fn a_denied_call_does_not_run() {
    let deny =
        answers(&json!({"permission": "deny", "agent_message": "not with me", "user_message": "told"}));
    for event in ["preToolUse", "beforeShellExecution"] {
        for refusal in [&deny, "echo 'not with me' >&2; exit 2"] {
            let room = with_hooks(&[(event, refusal), ("postToolUse", "")]);
            let turns = json!([shell("touch made"), says("done", &["not with me"])]);
            play(&room, &turns, &["--yes"]).ended_with(0);
            assert!(
                !room.has("made") && heard(&room, "postToolUse").is_empty(),
                "{event} {refusal}"
            );
        }
    }
    let room = with_hooks(&[("beforeReadFile", &deny)]);
    let turns = json!([
        call("read", &json!({"path": "a.txt"})),
        says("done", &["not with me"])
    ]);
    play(&room, &turns, &["--yes"]).ended_with(0);
}

/// A guard that searches the content sees it, however it is encoded and however long it is.
#[test]
fn a_guard_of_content_sees_all_of_it() {
    let guard = r#"if grep -q AWS_SECRET; then printf '{"permission": "deny"}'; else printf '{}'; fi"#;
    let latin = b"caf\xe9 AWS_SECRET=abc".to_vec();
    let mut long = vec![b'x'; 2 * 1024 * 1024];
    long.extend_from_slice(b"\nAWS_SECRET=abc");
    let mut huge = vec![b'x'; 17 * 1024 * 1024];
    huge.extend_from_slice(b"\nAWS_SECRET=abc");
    for content in [latin, long, huge] {
        let hooks = json!({"beforeReadFile": [{"command": guard}]});
        let room = with_file(&json!({"version": 1, "hooks": hooks}));
        room.write("key.txt", content);
        let turns = json!([call("read", &json!({"path": "key.txt", "tail": 1})), {"text": "done"}]);
        play(&room, &turns, &["--yes"]).ended_with(0);
        let told = room.run(["context", "export"]).ended_with(0).stdout;
        assert!(!told.contains("SECRET=abc"), "{told}");
    }
}

#[test]
fn a_broken_guard_refuses_and_an_error_code_does_not() {
    for (broken, goes_on) in [
        ("kill -9 $$", false),
        ("no_such_program_at_all", false),
        ("echo all is well", false),
        ("printf '{\"permission\": '", false),
        ("exit 1", true),
        ("", true),
    ] {
        assert_eq!(
            ran(&with_hooks(&[("beforeShellExecution", broken)])),
            goes_on,
            "{broken}"
        );
    }
    let gone = json!({"command": "node ./gone.mjs"});
    assert!(!ran(&with_entry("beforeShellExecution", "", &gone)), "{gone}");
    let closed = json!({"failClosed": true});
    for broken in ["exit 1", ""] {
        assert!(
            !ran(&with_entry("beforeShellExecution", broken, &closed)),
            "{broken}"
        );
    }
    let allow = answers(&json!({"permission": "allow"}));
    assert!(ran(&with_entry("beforeShellExecution", &allow, &closed)));
    let slow = with_entry("beforeShellExecution", "sleep 20", &json!({"timeout": 0.2}));
    assert!(!ran(&slow), "a timeout refuses");
}

#[test]
fn a_matcher_of_a_shell_event_looks_at_the_command() {
    let deny = answers(&json!({"permission": "deny"}));
    let matcher = |text: &str| json!({"matcher": text});
    assert!(!ran(&with_entry(
        "beforeShellExecution",
        &deny,
        &matcher("touch|rm")
    )));
    assert!(ran(&with_entry("beforeShellExecution", &deny, &matcher("^rm"))));
    assert!(!ran(&with_entry("preToolUse", &deny, &matcher("Shell"))));
    assert!(ran(&with_entry("preToolUse", &deny, &matcher("Write|Read"))));
}

#[test]
fn a_folder_is_made_by_a_command_as_in_cursor() {
    let deny = answers(&json!({"permission": "deny", "agent_message": "no folders"}));
    for (event, matcher) in [
        ("beforeShellExecution", "^mkdir "),
        ("preToolUse", "Shell"),
        ("beforeShellExecution", "^rmdir "),
    ] {
        let room = with_entry(event, &deny, &json!({"matcher": matcher}));
        let make = call("create_directory", &json!({"paths": ["made"]}));
        let turns = json!([make, says("done", &[])]);
        let run = play(&room, &turns, &["--yes", "--tools", "docker-agent"]).ended_with(0);
        assert_eq!(room.has("made"), matcher.contains("rmdir"), "{event}: {run:#?}");
    }
}

#[test]
fn a_hook_that_asks_needs_a_user_and_an_allow_is_no_yes() {
    for word in ["ask", "allow"] {
        let room = with_hooks(&[("beforeShellExecution", &answers(&json!({"permission": word})))]);
        play(&room, &json!([shell("touch made"), says("done", &[])]), &[]).ended_with(0);
        assert!(!room.has("made"), "{word}");
        assert_eq!(heard(&room, "beforeShellExecution").len(), 1);
    }
}

#[test]
fn arguments_are_replaced() {
    let other = answers(&json!({"updated_input": {"command": "touch other"}}));
    let room = with_hooks(&[("preToolUse", &other)]);
    assert!(!ran(&room) && room.has("other"));

    let path = "$(printf '%s' \"$IN\" | sed 's/.*\"file_path\":\"\\([^\"]*\\)\".*/\\1/')";
    let other = format!(
        "printf '{{\"updated_input\": {{\"file_path\": \"%s\", \"content\": \"all new\"}}}}' \"{path}\""
    );
    let room = with_hooks(&[("preToolUse", &other)]);
    let edit = json!({"path": "a.txt", "edits": [{"old_text": "words", "new_text": "lines"}]});
    play(
        &room,
        &json!([call("edit", &edit), says("done", &[])]),
        &["--yes"],
    )
    .ended_with(0);
    assert_eq!(room.read("a.txt"), "all new");
}

#[test]
fn context_reaches_the_model() {
    let context = answers(&json!({"additional_context": "a hint"}));
    for event in ["sessionStart", "beforeSubmitPrompt"] {
        let room = with_hooks(&[(event, &context)]);
        play(&room, &json!([says("done", &["a hint"])]), &[]).ended_with(0);
    }
    for event in ["preToolUse", "postToolUse"] {
        let room = with_hooks(&[(event, &context)]);
        let turns = json!([shell("echo x"), says("done", &["a hint"])]);
        play(&room, &turns, &["--yes"]).ended_with(0);
    }
}

#[test]
fn a_prompt_and_a_session_are_refused() {
    let no = answers(&json!({"continue": false, "user_message": "not this"}));
    for event in ["beforeSubmitPrompt", "sessionStart"] {
        let room = with_hooks(&[(event, &no), ("afterAgentResponse", "")]);
        play(&room, &json!([says("never", &[])]), &[]).complained("not this");
        assert!(heard(&room, "afterAgentResponse").is_empty(), "{event}");
    }
    let room = with_entry("sessionStart", "exit 1", &json!({"failClosed": true}));
    let run = play(&room, &json!([says("never", &[])]), &[]);
    assert!(!run.stdout.contains("never"), "{run:#?}");
}

#[test]
fn an_answer_goes_on_as_often_as_its_entry_says() {
    let more = answers(&json!({"followup_message": "again"}));
    let turns: Vec<Value> = (0..20).map(|_| says("done", &[])).collect();
    for (limit, asked) in [(json!({}), 6), (json!({"loop_limit": 2}), 3)] {
        let room = with_entry("stop", &more, &limit);
        play(&room, &json!(turns), &[]);
        let told = heard(&room, "stop");
        assert_eq!(told.len(), asked, "{limit}");
        assert_eq!(told[1]["loop_count"], 1);
    }
}

#[test]
fn variables_of_a_session_reach_later_hooks() {
    let set = answers(&json!({"env": {"TOKEN": "abc"}}));
    let note = "printf '%s' \"$TOKEN $CURSOR_PROJECT_DIR $PWD $BASH\" > ../env";
    let room = with_hooks(&[("sessionStart", &set), ("stop", note)]);
    play(&room, &json!([says("done", &[])]), &[]).ended_with(0);
    let work = room.work().canonicalize().unwrap().display().to_string();
    assert_eq!(room.read("../env"), format!("abc {work} {work} /bin/bash"));
}

#[test]
fn a_hook_of_the_user_runs_in_the_users_folder() {
    let room = room().with("SHELL", "/bin/bash");
    let hooks = json!({"version": 1, "hooks": {"stop": [{"command": "pwd > where"}]}});
    room.write("../home/.cursor/hooks.json", format!("// mine\n{hooks}"));
    play(&room, &json!([says("done", &[])]), &[]).ended_with(0);
    assert!(
        room.read("../home/.cursor/where")
            .trim()
            .ends_with("/home/.cursor")
    );
}

#[test]
fn a_sub_agent_is_guarded() {
    let task = json!({"system_prompt": "You help.", "input": "the task"});
    let deny = answers(&json!({"permission": "deny", "user_message": "no helpers"}));
    let room = with_hooks(&[("subagentStart", &deny)]);
    let turns = json!([call("spawn_agent", &task), says("done", &["no helpers"])]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    assert_eq!(heard(&room, "subagentStart")[0]["task"], "the task");
}

#[test]
fn one_mistake_makes_a_file_none_and_its_guards_stop_the_run() {
    let mut hooks = file(&[("beforeShellExecution", "exit 2"), ("stop", "")]);
    hooks["hooks"]["whenever"] = json!([{"command": "x"}]);
    let room = with_file(&hooks);
    let run = play(&room, &json!([says("never", &[])]), &[]).complained("/hooks/beforeShellExecution/0");
    assert_ne!(run.code, 0);
    let mut hooks = file(&[("stop", "")]);
    hooks["hooks"]["whenever"] = json!([{"command": "x"}]);
    let room = with_file(&hooks);
    play(&room, &json!([says("done", &[])]), &[])
        .ended_with(0)
        .complained("/hooks/whenever");
    assert!(heard(&room, "stop").is_empty());
}

#[test]
fn a_compaction_and_a_thought_are_told() {
    let room = with_hooks(&[("preCompact", "echo no >&2; exit 2"), ("afterAgentThought", "")]);
    room.config("[compaction]\ncontext_window = 1000\n");
    for tokens in [10, 20, 900] {
        let usage = json!({"input_tokens": tokens, "output_tokens": 1});
        let turn = json!({"text": "an answer", "thinking": "let me see", "usage": usage});
        play(&room, &json!([turn]), &[]).ended_with(0);
    }
    let turns = json!([says("THE SUMMARY", &[]), says("done", &["THE SUMMARY"])]);
    play(&room, &turns, &[]).ended_with(0);
    let told = heard(&room, "preCompact").remove(0);
    assert_eq!(
        (&told["trigger"], &told["context_window_size"]),
        (&json!("auto"), &json!(1000))
    );
    assert_eq!(heard(&room, "afterAgentThought")[0]["text"], "let me see");
}

#[test]
fn a_sub_agent_goes_on_when_a_hook_says_so() {
    let more = answers(&json!({"followup_message": "look again"}));
    let once = format!("[ $(wc -l < ../subagentStop.jsonl) -gt 1 ] || {more}");
    let room = with_hooks(&[("subagentStop", &once), ("stop", "")]);
    let turns = json!([says("first", &[]), says("second", &["look again"])]);
    room.write("helper.json", turns.to_string());
    let task = json!({"system_prompt": "You help.", "input": "the task", "model": "scripted/helper.json"});
    let turns = json!([call("spawn_agent", &task), says("done", &["second"])]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    let told = heard(&room, "subagentStop");
    assert_eq!((told.len(), &told[0]["summary"]), (2, &json!("first")));
    assert_eq!(
        heard(&room, "stop").len(),
        1,
        "the sub-agent's stops are not the user's"
    );
}

#[test]
fn the_tools_of_servers_are_guarded() {
    let deny = answers(&json!({"permission": "deny", "agent_message": "not today"}));
    let other = answers(&json!({"updated_mcp_tool_output": "other words"}));
    for (commands, told) in [
        (vec![("beforeMCPExecution", deny.as_str())], "not today"),
        (
            vec![
                ("beforeMCPExecution", ""),
                ("afterMCPExecution", ""),
                ("postToolUse", &other),
            ],
            "other words",
        ),
    ] {
        let Some(room) = with_server("well", "") else {
            return;
        };
        room.write(".cursor/hooks.json", file(&commands).to_string());
        let turns = json!([call("one_echo", &json!({"text": "x"})), says("done", &[told])]);
        play(&room, &turns, &["--yes"]).ended_with(0);
        let before = heard(&room, "beforeMCPExecution").remove(0);
        assert_eq!(
            (&before["tool_name"], &before["tool_input"]),
            (&json!("echo"), &json!("{\"text\":\"x\"}"))
        );
        assert_eq!(
            heard(&room, "afterMCPExecution").len(),
            commands.len().saturating_sub(2)
        );
    }
}

#[test]
fn a_plugins_manifest_says_where_its_hooks_are() {
    let deny = file(&[(
        "beforeShellExecution",
        &answers(&json!({"permission": "deny", "agent_message": "no"})),
    )]);
    let plugin = |name: &str| format!("../home/.cursor/plugins/local/p/{name}");
    for (manifest, name) in [
        (
            json!({"hooks": "./hooks/hooks-cursor.json"}),
            "hooks/hooks-cursor.json",
        ),
        (json!({"hooks": ["first.json", "second.json"]}), "second.json"),
        (json!({"hooks": deny.clone()}), "other.json"),
        (
            json!({"version": "1.2.0", "hooks": deny["hooks"].clone()}),
            "other.json",
        ),
        (json!({"name": "p"}), "hooks/hooks.json"),
    ] {
        let room = room();
        room.write(&plugin(".cursor-plugin/plugin.json"), manifest.to_string());
        room.write(&plugin("first.json"), file(&[]).to_string());
        room.write(&plugin(name), deny.to_string());
        play(
            &room,
            &json!([shell("touch made"), says("done", &[])]),
            &["--yes"],
        )
        .ended_with(0);
        assert!(!room.has("made"), "{manifest}");
    }
    let room = room();
    room.write(&plugin(".cursor-plugin/plugin.json"), "{");
    play(&room, &json!([says("done", &[])]), &[])
        .ended_with(2)
        .complained("plugin.json");
}

#[test]
fn what_the_permissions_of_cursor_deny_is_denied() {
    let deny = |rule: &str| json!({"permissions": {"allow": ["Shell(touch)"], "deny": [rule]}}).to_string();
    for file in [
        ".cursor/cli.json",
        "../home/.cursor/cli-config.json",
        "../own/cli-config.json",
        "../of-all/cursor/cli-config.json",
    ] {
        for (rule, turn) in [
            ("Shell(touch)", shell("touch made")),
            ("Shell(touch)", shell("true && touch made")),
            (
                "Write(made)",
                call("write", &json!({"path": "made", "content": "x"})),
            ),
            ("Write(**)", shell("echo x > made")),
        ] {
            let room = room().with("CURSOR_CONFIG_DIR", "../own");
            let room = room.with("XDG_CONFIG_HOME", "../of-all");
            room.write(file, deny(rule));
            let model = room.model(&json!([turn, {"text": "done"}]));
            // What restricts needs no trust, and `--yes` is no answer to it.
            let run = room.run(["--yes", "--model", &model, "go"]).ended_with(0);
            assert!(!room.has("made"), "{file} {rule}: {run:#?}");
            let why = format!("the rule `{rule}` denies it");
            assert!(run.stderr.contains(&why), "{file} {rule}: {run:#?}");
        }
    }
    let room = room();
    room.write(".cursor/cli.json", deny("Shell(rm)"));
    let model = room.model(&json!([shell("touch made"), {"text": "done"}]));
    let run = room.run(["--model", &model, "go"]).ended_with(0);
    assert!(!room.has("made"), "an allow of Cursor's is not read: {run:#?}");
    room.run(["--yes", "--model", &model, "go"]).ended_with(0);
    assert!(room.has("made"));
    room.write("key.txt", "words-of-a-key");
    room.write(".cursor/cli.json", deny("Read(key.txt)"));
    let turns = json!([call("read", &json!({"path": "key.txt"})), shell("cat key.txt"), {"text": "done"}]);
    let model = room.model(&turns);
    let run = room
        .run(["--yes", "--json", "--model", &model, "go"])
        .ended_with(0);
    assert!(!run.stdout.contains("words-of-a-key"), "{run:#?}");
}

#[test]
fn permissions_of_cursor_that_cannot_be_read_stop_the_run() {
    for (text, why) in [
        ("{", "cli.json"),
        (
            r#"{"permissions": {"deny": "Shell(rm)"}}"#,
            "`permissions.deny` must be a list of texts",
        ),
        (r#"{"permissions": {"deny": ["Shell(rm"]}}"#, "no closing bracket"),
    ] {
        let room = room();
        room.write(".cursor/cli.json", text);
        let model = room.model(&json!([shell("touch made"), {"text": "done"}]));
        let run = room.run(["--yes", "--model", &model, "go"]).ended_with(2);
        assert!(run.stderr.contains(why), "{text}: {run:#?}");
        let check = room.run(["hooks", "check"]);
        assert!(
            check.code != 0 && check.stdout.contains(why) || check.stderr.contains(why),
            "{check:#?}"
        );
        room.config("[dialects]\ncursor = \"off\"\n");
        room.run(["--yes", "--model", &model, "go"]).ended_with(0);
        assert!(room.has("made"), "{text}");
    }
    let room = room();
    room.write(
        ".cursor/cli.json",
        r#"{"permissions": {"deny": ["Commands(rm)"]}}"#,
    );
    let model = room.model(&json!([{"text": "done"}]));
    let run = room.run(["--model", &model, "go"]).ended_with(0);
    assert!(
        run.stderr.contains("the rule `Commands(rm)` has no effect"),
        "{run:#?}"
    );
}
