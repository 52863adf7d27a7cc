//! Gemini CLI's hooks, with real shell commands in its settings files: what a hook reads at each event, and what its
//! answer does.

use serde_json::{Map, Value, json};
use testkit::{Finished, Room};

use crate::hook_files::{answers, call, heard, noting, says, shell};
use crate::limit::with_person;
use crate::room;

/// A command that answers with one field of `hookSpecificOutput`.
fn specific(field: &str, value: impl Into<Value>) -> String {
    answers(&json!({"hookSpecificOutput": {field: value.into()}}))
}

/// Settings with a hook for each event, which notes what it reads and then does something.
fn settings(commands: &[(&str, &str)]) -> Value {
    let mut hooks = Map::new();
    for (event, then) in commands {
        let hook = json!({"type": "command", "command": noting(event, then)});
        let groups = hooks.entry(*event).or_insert_with(|| json!([]));
        groups.as_array_mut().unwrap().push(json!({"hooks": [hook]}));
    }
    json!({"hooks": hooks})
}

/// A room with a project that has such settings.
fn with_hooks(commands: &[(&str, &str)]) -> Room {
    with_settings(&settings(commands))
}

fn with_settings(settings: &Value) -> Room {
    let room = room();
    room.write(".gemini/settings.json", settings.to_string());
    room.write("a.txt", "words of a file");
    room
}

fn play(room: &Room, turns: &Value, more: &[&str]) -> Finished {
    let model = room.model(turns);
    let arguments = ["--trust", "--model", &model, "go"];
    room.run(arguments.iter().chain(more))
}

#[test]
fn every_event_is_told() {
    let all = [
        "SessionStart",
        "BeforeAgent",
        "BeforeToolSelection",
        "BeforeModel",
        "AfterModel",
        "BeforeTool",
        "AfterTool",
        "AfterAgent",
        "SessionEnd",
    ];
    let commands: Vec<(&str, &str)> = all.iter().map(|event| (*event, "")).collect();
    let room = with_hooks(&commands);
    play(&room, &json!([shell("echo x"), says("done", &[])]), &["--yes"]).ended_with(0);
    let work = room.work().canonicalize().unwrap().display().to_string();
    for event in all {
        let first = heard(&room, event).into_iter().next();
        let first = first.unwrap_or_else(|| panic!("{event} did not run"));
        assert_eq!(first["hook_event_name"], event);
        assert_eq!(first["cwd"], work.as_str(), "{event}");
        for name in ["session_id", "transcript_path", "timestamp"] {
            assert!(first[name].is_string(), "{event} {name}: {first:#}");
        }
    }
    let first = |event: &str| heard(&room, event).remove(0);
    assert_eq!(first("SessionStart")["source"], "startup");
    assert_eq!(first("BeforeAgent")["prompt"], "go");
    assert_eq!(
        first("BeforeModel")["llm_request"]["messages"],
        json!([{"role": "user", "content": "go"}])
    );
    let tool = first("BeforeTool");
    assert_eq!(
        (&tool["tool_name"], &tool["tool_input"]),
        (&json!("run_shell_command"), &json!({"command": "echo x"}))
    );
    let after = first("AfterTool");
    assert!(
        after["tool_response"]["llmContent"]
            .as_str()
            .unwrap()
            .contains('x'),
        "{after:#}"
    );
    let names = &first("BeforeToolSelection")["llm_request"]["toolConfig"]["allowedFunctionNames"];
    assert!(names.to_string().contains("run_shell_command"), "{names}");
    let said = heard(&room, "AfterModel").remove(1);
    assert_eq!(
        said["llm_response"]["candidates"][0]["content"]["parts"],
        json!(["done"])
    );
    let stop = first("AfterAgent");
    assert_eq!(
        (
            &stop["prompt"],
            &stop["prompt_response"],
            &stop["stop_hook_active"]
        ),
        (&json!("go"), &json!("done"), &json!(false))
    );
    assert_eq!(first("SessionEnd")["reason"], "exit");
}

#[test]
fn what_comes_after_a_request_shows_the_request() {
    let shown = ["BeforeModel", "BeforeToolSelection", "AfterModel"];
    let room = with_hooks(&shown.map(|event| (event, "")));
    let turns = json!([
        {"text": "let me see", "tool_calls": [{"name": "shell", "arguments": {"command": "echo x"}}]},
        says("done", &[]),
        says("done again", &[]),
    ]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    // The conversation goes on in another run.
    play(&room, &turns, &["--yes"]).ended_with(0);
    let messages = |event: &str| -> Vec<Value> {
        let heard = heard(&room, event).into_iter();
        heard
            .map(|mut told| told["llm_request"]["messages"].take())
            .collect()
    };
    let requests = messages(shown[0]);
    assert_eq!(requests.len(), 4);
    assert_eq!(requests[1].as_array().map(Vec::len), Some(2), "{requests:#?}");
    for event in &shown[1..] {
        assert_eq!(messages(event), requests, "{event}");
    }
}

#[test]
fn a_denied_call_does_not_run() {
    for refusal in [
        answers(&json!({"decision": "deny", "reason": "not with me"})),
        answers(&json!({"decision": "block", "reason": "not with me"})),
        "echo 'not with me' >&2; exit 2".to_owned(),
        "echo 'not with me'; exit 3".to_owned(),
    ] {
        let room = with_hooks(&[("BeforeTool", &refusal), ("AfterTool", "")]);
        let turns = json!([shell("touch made"), says("done", &["not with me"])]);
        play(&room, &turns, &["--yes"]).ended_with(0);
        assert!(
            !room.has("made") && heard(&room, "AfterTool").is_empty(),
            "{refusal}"
        );
    }
}

#[test]
fn a_broken_guard_refuses_and_a_warning_does_not() {
    for (broken, ran) in [
        ("kill -9 $$", false),
        ("no_such_program_at_all", false),
        ("printf '{\"decision\": '", false),
        ("exit 2", false),
        ("exit 1", true),
    ] {
        let room = with_hooks(&[("BeforeTool", broken)]);
        play(
            &room,
            &json!([shell("touch made"), says("done", &[])]),
            &["--yes"],
        )
        .ended_with(0);
        assert_eq!(room.has("made"), ran, "{broken}");
    }
    let hook = json!({"type": "command", "command": "node $GEMINI_PROJECT_DIR/gone.mjs"});
    let room = with_settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}));
    let turns = json!([shell("touch made"), says("done", &[])]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    assert!(!room.has("made"), "a missing script refuses");
    let hook = json!({"type": "command", "command": "sleep 20", "timeout": 200});
    let room = with_settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}));
    play(
        &room,
        &json!([shell("touch made"), says("done", &[])]),
        &["--yes"],
    )
    .ended_with(0);
    assert!(!room.has("made"), "200 are milliseconds, and a timeout refuses");
}

#[test]
fn a_hook_that_asks_needs_a_user() {
    let ask = answers(&json!({"decision": "ask", "reason": "sure?"}));
    let room = with_hooks(&[("BeforeTool", &ask)]);
    let turns = json!([call("read", &json!({"path": "a.txt"})), says("done", &[])]);
    let run = play(&room, &turns, &["--json"]).ended_with(0);
    let request = run.events_named("pre_request").remove(1)["body"].to_string();
    assert!(!request.contains("words of a file"), "nobody is there: {request}");
    assert_eq!(heard(&room, "BeforeTool").len(), 1);
    let room = with_hooks(&[("BeforeTool", &answers(&json!({"decision": "allow"})))]);
    play(&room, &json!([shell("touch made"), says("done", &[])]), &[]).ended_with(0);
    assert!(!room.has("made"), "an allow does not stand for the user's yes");
}

#[test]
fn arguments_are_replaced() {
    let room = with_hooks(&[(
        "BeforeTool",
        &specific("tool_input", json!({"command": "touch other"})),
    )]);
    play(
        &room,
        &json!([shell("touch made"), says("done", &[])]),
        &["--yes"],
    )
    .ended_with(0);
    assert!(room.has("other") && !room.has("made"));
}

#[test]
fn matchers_are_found_anywhere_in_the_name() {
    let hook = |file: &str| json!({"type": "command", "command": noting(file, "")});
    let room = with_settings(&json!({"hooks": {"BeforeTool": [
        {"matcher": "read_", "hooks": [hook("read")]},
        {"matcher": "write_file|replace", "hooks": [hook("write")]},
    ]}}));
    play(
        &room,
        &json!([
            call("read", &json!({"path": "a.txt", "offset": 2, "limit": 3})),
            says("done", &[])
        ]),
        &[],
    )
    .ended_with(0);
    let told = heard(&room, "read").remove(0);
    let input = &told["tool_input"];
    assert_eq!((&input["start_line"], &input["end_line"]), (&json!(2), &json!(4)));
    assert!(input["file_path"].as_str().unwrap().ends_with("/work/a.txt"));
    assert!(heard(&room, "write").is_empty());
}

#[test]
fn a_prompt_gets_context_or_is_refused() {
    let room = with_hooks(&[
        ("BeforeAgent", &specific("additionalContext", "a <hint>")),
        ("SessionStart", &specific("additionalContext", "for all")),
    ]);
    let hint = "<hook_context>a &lt;hint&gt;</hook_context>";
    play(&room, &json!([says("done", &[hint, "for all"])]), &[]).ended_with(0);
    let room = with_hooks(&[(
        "BeforeAgent",
        &answers(&json!({"decision": "deny", "reason": "not this"})),
    )]);
    play(&room, &json!([says("never", &[])]), &[])
        .ended_with(1)
        .complained("not this");
}

#[test]
fn the_model_is_guarded_on_both_sides() {
    let other = json!({"messages": [{"role": "user", "content": "other words"}]});
    let room = with_hooks(&[("BeforeModel", &specific("llm_request", other))]);
    play(&room, &json!([says("done", &["other words"])]), &[]).ended_with(0);

    let room = with_hooks(&[(
        "BeforeModel",
        &answers(&json!({"decision": "deny", "reason": "not now"})),
    )]);
    play(&room, &json!([says("never", &[])]), &[]).complained("not now");

    let own = json!({"candidates": [{"content": {"role": "model", "parts": ["my words"]}}]});
    let room = with_hooks(&[("BeforeModel", &specific("llm_response", own.clone()))]);
    play(&room, &json!([says("never", &[])]), &[])
        .ended_with(0)
        .said("my words");

    let room = with_hooks(&[("AfterModel", &specific("llm_response", own)), ("AfterAgent", "")]);
    let streamed = json!([{"text": "a secret that arrives in pieces", "chunk_delay_ms": 5}]);
    let run = play(&room, &streamed, &["--json"]).ended_with(0);
    assert_eq!(heard(&room, "AfterAgent")[0]["prompt_response"], "my words");
    let shown: String = run
        .events_named("message_update")
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(shown.contains("my words") && !shown.contains("secret"), "{shown}");

    let refuses = answers(&json!({"decision": "deny", "reason": "not these words"}));
    let room = with_hooks(&[("AfterModel", &refuses)]);
    let run = play(&room, &streamed, &[])
        .ended_with(1)
        .complained("not these words");
    assert!(!run.stdout.contains("secret"), "{run:#?}");

    for broken in ["kill -9 $$", "printf '{half'", "echo no >&2; exit 2"] {
        let room = with_hooks(&[("AfterModel", broken)]);
        play(
            &room,
            &json!([shell("touch made"), says("never", &[])]),
            &["--yes"],
        );
        assert!(!room.has("made"), "{broken}");
    }
}

#[test]
fn tools_are_taken_away() {
    let config = json!({"mode": "ANY", "allowedFunctionNames": ["read_file"]});
    let room = with_hooks(&[("BeforeToolSelection", &specific("toolConfig", config))]);
    let run = play(&room, &json!([says("done", &[])]), &["--json"]).ended_with(0);
    let request = run.events_named("pre_request").remove(0)["body"].to_string();
    assert!(
        request.contains("\"read\"") && !request.contains("\"shell\""),
        "{request}"
    );
}

#[test]
fn an_output_is_replaced_or_gets_context() {
    let room = with_hooks(&[(
        "AfterTool",
        &answers(&json!({"decision": "deny", "reason": "hidden"})),
    )]);
    let turns = json!([shell("echo se''cret"), says("done", &["hidden"])]);
    let run = play(&room, &turns, &["--yes", "--json"]).ended_with(0);
    let request = run.events_named("pre_request").remove(1)["body"].to_string();
    assert!(!request.contains("secret\\n"), "{request}");

    let room = with_hooks(&[("AfterTool", &specific("additionalContext", "look closer"))]);
    let turns = json!([shell("echo x"), says("done", &["look closer"])]);
    play(&room, &turns, &["--yes"]).ended_with(0);
}

#[test]
fn an_answer_goes_on_and_a_run_is_stopped() {
    let block = answers(&json!({"decision": "block", "reason": "one more thing"}));
    let once = format!("[ $(wc -l < ../AfterAgent.jsonl) -gt 1 ] || {block}");
    let room = with_hooks(&[("AfterAgent", &once)]);
    let turns = json!([says("first", &[]), says("second", &["one more thing"])]);
    play(&room, &turns, &[]).ended_with(0).said("second");
    assert_eq!(heard(&room, "AfterAgent")[1]["stop_hook_active"], true);

    let stop = answers(&json!({"continue": false, "stopReason": "that is all"}));
    let room = with_hooks(&[("BeforeTool", &stop)]);
    play(
        &room,
        &json!([shell("touch made"), says("never", &[])]),
        &["--yes"],
    )
    .complained("that is all");
    assert!(!room.has("made"));
}

#[test]
fn an_answer_does_not_go_on_for_ever() {
    let block = answers(&json!({"decision": "block", "reason": "again"}));
    let room = with_hooks(&[("AfterAgent", &block)]);
    let turns: Vec<Value> = (0..20).map(|_| says("done", &[])).collect();
    play(&room, &json!(turns), &[]).complained("more than 8 times");
    assert_eq!(heard(&room, "AfterAgent").len(), 9);
}

#[test]
fn variables_and_messages_reach_the_hook_and_the_user() {
    let command = "cat > /dev/null; printf '%s' \"$GEMINI_PROJECT_DIR $GEMINI_CWD $GEMINI_SESSION_ID $A\" > ../env; \
                   [[ -n $BASH_VERSION ]] && echo '{\"systemMessage\": \"for you\"}'";
    let hook = json!({"type": "command", "command": command, "env": {"A": "b"}});
    let room = with_settings(&json!({"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [hook]}]}}));
    play(&room, &json!([says("done", &[])]), &[])
        .ended_with(0)
        .complained("for you");
    let env = room.read("../env");
    let words: Vec<&str> = env.split(' ').collect();
    let work = room.work().canonicalize().unwrap().display().to_string();
    assert!(
        words.len() == 4 && words[0] == work && words[1] == work && words[3] == "b",
        "{env}"
    );
}

#[test]
fn hooks_of_the_user_and_of_extensions_count_and_can_be_switched_off() {
    let stage = |config: Value| {
        let room = room();
        let mut user = settings(&[(
            "BeforeTool",
            &answers(&json!({"decision": "deny", "reason": "user"})),
        )]);
        user["hooksConfig"] = config;
        room.write("../home/.gemini/settings.json", format!("// mine\n{user}"));
        let folder = "../home/.gemini/extensions/guard";
        let hook = json!({"type": "command", "name": "ext", "command": "cat > ../ext.json; sh ${extensionPath}/run.sh"});
        let hooks = json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}});
        room.write(
            &format!("{folder}/gemini-extension.json"),
            "{\"name\": \"guard\"}",
        );
        room.write(&format!("{folder}/hooks/hooks.json"), hooks.to_string());
        room.write(&format!("{folder}/run.sh"), "echo extension >&2; exit 2\n");
        room
    };
    let turns = json!([shell("touch made"), says("done", &[])]);
    for (config, ran, asked) in [
        (json!({}), false, true),
        (json!({"disabled": ["ext"]}), false, false),
        (json!({"enabled": false}), true, false),
    ] {
        let room = stage(config.clone());
        play(&room, &turns, &["--yes"]).ended_with(0);
        assert_eq!(room.has("made"), ran, "{config}");
        assert_eq!(room.has("../ext.json"), asked, "{config}");
    }
    let room = stage(json!({}));
    room.write(
        "../home/.gemini/extensions/extension-enablement.json",
        "{\"guard\": {\"overrides\": [\"!/*\"]}}",
    );
    play(&room, &turns, &["--yes"]).ended_with(0);
    assert!(!room.has("../ext.json"), "it is disabled");
}

#[test]
fn entries_that_would_be_dropped_in_silence_are_reported() {
    let flat = |event: &str| json!({"hooks": {event: [{"type": "command", "command": "exit 2"}]}});
    let room = with_settings(&flat("SessionStart"));
    play(&room, &json!([says("done", &[])]), &[])
        .ended_with(0)
        .complained("/hooks/SessionStart/0");
    let room = with_settings(&flat("BeforeTool"));
    let run = play(&room, &json!([says("never", &[])]), &[]).complained("/hooks/BeforeTool/0");
    assert_ne!(run.code, 0, "it may have been a guard");
}

#[test]
fn a_compaction_and_a_question_are_told() {
    let room = with_hooks(&[("PreCompress", "echo no >&2; exit 2")]);
    room.config("[compaction]\ncontext_window = 1000\n");
    for tokens in [10, 20, 900] {
        let usage = json!({"input_tokens": tokens, "output_tokens": 1});
        play(&room, &json!([{"text": "an answer", "usage": usage}]), &[]).ended_with(0);
    }
    let turns = json!([says("THE SUMMARY", &[]), says("done", &["THE SUMMARY"])]);
    play(&room, &turns, &[]).ended_with(0);
    assert_eq!(heard(&room, "PreCompress")[0]["trigger"], "auto");

    let room = with_hooks(&[("Notification", "")]);
    let model = room.model(&json!([shell("touch made"), says("done", &[])]));
    let Some(run) = with_person(&room, &["--trust", "--model", &model, "go"]) else {
        return;
    };
    run.ended_with(0);
    let told = heard(&room, "Notification").remove(0);
    assert_eq!(told["notification_type"], "ToolPermission");
}

#[test]
fn what_hooks_add_to_a_prompt_stays_in_the_conversation() {
    let says_so = specific("additionalContext", "from the hook");
    let first = format!("case \"$IN\" in *\"first words\"*) {says_so};; esac");
    let room = with_hooks(&[("BeforeAgent", &first)]);
    play(&room, &json!([says("one", &["go"])]), &[]).ended_with(0);
    let model = room.model(&json!([
        says("one", &["first words", "from the hook"]),
        says("two", &["first words", "from the hook", "second words"]),
    ]));
    let run = room.run_with_input(
        ["--trust", "--model", &model, "chat"],
        "first words\nsecond words\n",
    );
    assert!(run.ended_with(0).stdout.contains("two"));
}

#[test]
fn seconds_that_are_given_as_milliseconds_are_found() {
    let hook = |timeout: u32| json!({"type": "command", "command": "true", "timeout": timeout});
    for (timeout, is_wrong) in [(30, true), (99, true), (100, false), (5000, false)] {
        let room = with_settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook(timeout)]}]}}));
        let run = room
            .run(["--trust", "hooks", "check"])
            .ended_with(i32::from(is_wrong));
        assert_eq!(
            run.stdout.contains("milliseconds, not seconds"),
            is_wrong,
            "{run:#?}"
        );
    }
}

#[test]
fn what_the_settings_of_gemini_take_away_is_denied() {
    let touches = || shell("touch made");
    let writes = || call("write", &json!({"path": "made", "content": "x"}));
    let run_with = |file: &str, settings: &Value, turn: Value| {
        let room = room();
        room.write(file, settings.to_string());
        let model = room.model(&json!([turn, {"text": "done"}]));
        // What restricts needs no trust, and `--yes` is no answer to it.
        let run = room.run(["--yes", "--model", &model, "go"]).ended_with(0);
        (room.has("made"), run)
    };
    let of_both = [".gemini/settings.json", "../home/.gemini/settings.json"];
    for (settings, turn, made) in [
        (
            json!({"tools": {"exclude": ["run_shell_command"]}}),
            touches(),
            false,
        ),
        (
            json!({"tools": {"exclude": ["ShellTool(touch)"]}}),
            touches(),
            false,
        ),
        (json!({"excludeTools": ["write_file"]}), writes(), false),
        (json!({"tools": {"exclude": ["write_file"]}}), touches(), true),
        (json!({"tools": {"core": ["read_file"]}}), touches(), false),
        (json!({"tools": {"core": ["read_file"]}}), writes(), false),
        (
            json!({"coreTools": ["run_shell_command(touch)"]}),
            touches(),
            true,
        ),
        (
            json!({"coreTools": ["run_shell_command(touch)"]}),
            shell("touch a; echo > made"),
            false,
        ),
        (
            json!({"tools": {"core": ["run_shell_command(git)"]}}),
            shell("git --version && touch made"),
            false,
        ),
        (
            json!({"tools": {"core": ["run_shell_command(git)"]}}),
            shell("env touch made"),
            false,
        ),
        (
            json!({"tools": {"core": ["ShellTool"]}}),
            shell("rm -f a; touch made"),
            true,
        ),
    ] {
        for file in of_both {
            let (has, run) = run_with(file, &settings, turn.clone());
            assert_eq!(has, made, "{file} {settings}: {run:#?}");
        }
    }
}

#[test]
fn extensions_take_tools_away_and_settings_ask_first() {
    let turns = json!([shell("touch made"), {"text": "done"}]);
    let room = room();
    let extension = "../home/.gemini/extensions/careful/gemini-extension.json";
    let manifest = json!({"name": "careful", "excludeTools": ["run_shell_command(touch)"]});
    room.write(extension, manifest.to_string());
    let run = room
        .run(["--yes", "--model", &room.model(&turns), "go"])
        .ended_with(0);
    assert!(
        !room.has("made")
            && run
                .stderr
                .contains("the rule `run_shell_command(touch)` denies it"),
        "{run:#?}"
    );
    // Where a user wants to be asked, only the user can answer: nobody is there.
    let room = crate::room();
    let settings =
        json!({"tools": {"confirmationRequired": ["run_shell_command"], "allowed": ["run_shell_command"]}});
    room.write(".gemini/settings.json", settings.to_string());
    let model = room.model(&turns);
    room.run(["--model", &model, "go"]).ended_with(0);
    assert!(!room.has("made"));
    room.write(".gemini/settings.json", r#"{"tools": {"core": "read_file"}}"#);
    let run = room.run(["--yes", "--model", &model, "go"]).ended_with(2);
    assert!(
        run.stderr.contains("`tools.core` must be a list of texts"),
        "{run:#?}"
    );
}

#[test]
fn a_hook_clears_the_conversation() {
    let clearing = |mut answer: Value| {
        answer["hookSpecificOutput"] = json!({"clearContext": true});
        let once = format!(
            "[ -e ../cleared ] || {{ touch ../cleared; {}; }}",
            answers(&answer)
        );
        with_hooks(&[("AfterAgent", &once)])
    };
    let room = clearing(json!({"decision": "block", "reason": "the second task"}));
    let turns = json!([
        says("the first answer", &["go"]),
        {"text": "the second answer", "expect": ["the second task"]},
    ]);
    let model = room.model(&turns);
    let run = room
        .run(["--trust", "--json", "--model", &model, "go"])
        .ended_with(0);
    assert!(run.stdout.contains("the second answer"), "{run:#?}");
    let bodies: Vec<String> = run
        .events_named("pre_request")
        .iter()
        .map(|request| request["body"].to_string())
        .collect();
    assert_eq!(bodies.len(), 2, "{run:#?}");
    assert!(
        bodies[1].contains("the second task") && !bodies[1].contains("the first answer"),
        "{}",
        bodies[1]
    );
    let all = run.events_named("agent_end")[0]["messages"].to_string();
    assert!(
        all.contains("the first answer") && all.contains("the second answer"),
        "{all}"
    );
    let left = room.run(["context", "export"]).ended_with(0).stdout;
    assert!(
        !left.contains("the first answer") && left.contains("the second answer"),
        "{left}"
    );
    // An end clears too, and the next prompt is the first of a new conversation.
    let room = clearing(json!({"continue": false, "stopReason": "enough"}));
    play(&room, &json!([says("the first answer", &[])]), &[]).ended_with(0);
    let left = room.run(["context", "export"]);
    assert!(!left.stdout.contains("the first answer"), "{left:#?}");
    let model = room.model(&json!([says("the second answer", &["again"])]));
    let run = room
        .run(["--trust", "--json", "--model", &model, "again"])
        .ended_with(0);
    let body = run.events_named("pre_request")[0]["body"].to_string();
    assert!(!body.contains("the first answer"), "{body}");
    // Without either, Gemini CLI clears nothing; another hook may refuse.
    let room = clearing(json!({}));
    let run = play(&room, &json!([says("the first answer", &[])]), &[]).ended_with(0);
    assert!(
        run.stderr.contains("a hook wanted to clear the conversation"),
        "{run:#?}"
    );
    let room = clearing(json!({"continue": false}));
    room.config("[[hook]]\nevent = \"pre_clear\"\ncommand = \"echo keep it >&2; exit 2\"\n");
    let run = play(&room, &json!([says("the first answer", &[])]), &[]).ended_with(0);
    assert!(run.stderr.contains("another stopped it"), "{run:#?}");
    let left = room.run(["context", "export"]).ended_with(0).stdout;
    assert!(left.contains("the first answer"), "{left}");
}
