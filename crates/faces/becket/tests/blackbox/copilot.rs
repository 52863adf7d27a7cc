//! GitHub Copilot's hooks, with real shell commands, in files of their own, settings and plugins: what a hook reads at
//! each event, and what its answer does.

use serde_json::{Map, Value, json};
use testkit::{Finished, Room};

use crate::hook_files::{answers, call, heard, members, noting, says, shell};
use crate::limit::{with_person, with_person_typing};
use crate::room;

/// A file with a hook for each event that notes what it reads and then does something.
fn hooks(commands: &[(&str, &str)]) -> String {
    let mut hooks = Map::new();
    for (event, then) in commands {
        let hook = json!({"type": "command", "bash": noting(event, then), "powershell": "exit 9"});
        let list = hooks.entry(*event).or_insert_with(|| json!([]));
        list.as_array_mut().expect("a list").push(hook);
    }
    json!({"version": 1, "hooks": hooks}).to_string()
}

/// A room whose project has these hooks.
fn with_hooks(commands: &[(&str, &str)]) -> Room {
    let room = room();
    room.write(".github/hooks/all.json", hooks(commands));
    room
}

/// Sends `go` to a model that follows a script, in a trusted project.
fn play(room: &Room, turns: &Value, more: &[&str]) -> Finished {
    let model = room.model(turns);
    let arguments = ["--trust", "--model", &model];
    room.run(arguments.iter().chain(more).chain(&["go"]))
}

// tidy: a table
#[test]
fn every_event_of_a_plain_run_is_told_in_both_ways() {
    let allow = answers(&json!({"behavior": "allow"}));
    let room = with_hooks(&[
        ("sessionStart", ""),
        ("SessionStart", ""),
        ("userPromptSubmitted", ""),
        ("UserPromptSubmit", ""),
        ("userPromptTransformed", ""),
        ("preToolUse", ""),
        ("PreToolUse", ""),
        ("permissionRequest", &allow),
        ("PermissionRequest", ""),
        ("postToolUse", ""),
        ("PostToolUse", ""),
        ("agentStop", ""),
        ("Stop", ""),
        ("sessionEnd", ""),
        ("SessionEnd", ""),
    ]);
    play(&room, &json!([shell("echo out"), says("done", &[])]), &[]).ended_with(0);
    assert_eq!(members(&room, "sessionStart", "source"), ["startup"]);
    assert_eq!(
        members(&room, "SessionStart", "hook_event_name"),
        ["SessionStart"]
    );
    assert_eq!(members(&room, "userPromptSubmitted", "prompt"), ["go"]);
    assert_eq!(members(&room, "UserPromptSubmit", "prompt"), ["go"]);
    assert_eq!(
        members(&room, "userPromptTransformed", "transformedPrompt"),
        ["go"]
    );
    let first = heard(&room, "preToolUse").remove(0);
    assert_eq!(
        (&first["toolName"], &first["toolInput"]),
        (&json!("bash"), &json!({"command": "echo out"}))
    );
    assert_eq!(first["toolArgs"], first["toolInput"].to_string());
    assert!(
        first["timestamp"].is_u64() && first["sessionId"].is_string(),
        "{first}"
    );
    let second = heard(&room, "PreToolUse").remove(0);
    assert_eq!(
        (&second["tool_name"], &second["tool_input"]),
        (&json!("Bash"), &json!({"command": "echo out"}))
    );
    assert!(
        second["timestamp"].is_string() && second["session_id"].is_string(),
        "{second}"
    );
    assert_eq!(members(&room, "permissionRequest", "toolName"), ["bash"]);
    assert_eq!(members(&room, "PermissionRequest", "tool_name"), ["Bash"]);
    let result = members(&room, "postToolUse", "toolResult").remove(0);
    assert_eq!(result["resultType"], "success");
    assert!(
        result["textResultForLlm"]
            .as_str()
            .is_some_and(|text| text.contains("out")),
        "{result}"
    );
    let result = members(&room, "PostToolUse", "tool_result").remove(0);
    assert_eq!(result["result_type"], "success");
    let stop = heard(&room, "agentStop").remove(0);
    assert_eq!(
        (&stop["stopReason"], &stop["stop_hook_active"]),
        (&json!("end_turn"), &json!(false))
    );
    assert_eq!(members(&room, "Stop", "stop_reason"), ["end_turn"]);
    assert_eq!(members(&room, "sessionEnd", "reason"), ["complete"]);
    assert_eq!(members(&room, "SessionEnd", "reason"), ["complete"]);
}

#[test]
fn a_call_is_refused() {
    let deny = json!({"permissionDecision": "deny", "permissionDecisionReason": "not with me"});
    for refusal in [
        "echo 'not with me' >&2; exit 2".to_owned(),
        "echo 'not with me' >&2; exit 1".to_owned(),
        answers(&deny),
        answers(&json!({"hookSpecificOutput": deny})),
        answers(&json!({"continue": false, "stopReason": "not with me"})),
        format!(
            "echo '{{\"type\": \"progress\", \"message\": \"looking\"}}'; {}",
            answers(&deny)
        ),
    ] {
        for event in ["preToolUse", "PreToolUse"] {
            let room = with_hooks(&[(event, &refusal), ("postToolUse", "")]);
            let turns = json!([shell("touch made"), says("done", &["not with me"])]);
            play(&room, &turns, &["--yes"]).ended_with(0);
            assert!(
                !room.has("made") && heard(&room, "postToolUse").is_empty(),
                "{event} {refusal}"
            );
        }
    }
}

#[test]
fn a_guard_that_breaks_refuses() {
    for then in [
        "exit 1",
        "kill -9 $$",
        "no-such-program-anywhere",
        "printf '{\"permissionDecision\": '",
        "printf 'words {\"permissionDecision\": \"deny\"}'",
        "printf '{\"permissionDecision\": 3}'",
    ] {
        let room = with_hooks(&[("preToolUse", then)]);
        play(
            &room,
            &json!([shell("touch made"), says("done", &[])]),
            &["--yes"],
        )
        .ended_with(0);
        assert!(!room.has("made"), "{then}");
    }
    let room = room();
    let file = json!({"hooks": {"preToolUse": [{"bash": "sleep 60", "timeoutSec": 1}]}});
    room.write(".github/hooks/a.json", file.to_string());
    play(
        &room,
        &json!([shell("touch made"), says("done", &[])]),
        &["--yes"],
    )
    .ended_with(0);
    assert!(!room.has("made"), "Copilot goes on after that time");
}

#[test]
fn a_call_is_allowed_asked_about_and_rewritten() {
    let decision =
        |word: &str| answers(&json!({"permissionDecision": word, "permissionDecisionReason": "look"}));
    for (then, yes, runs) in [
        (decision("allow"), false, true),
        (decision("ask"), false, false),
        (String::new(), false, false),
        (String::new(), true, true),
    ] {
        let room = with_hooks(&[("preToolUse", &then)]);
        let flags: &[&str] = if yes { &["--yes"] } else { &[] };
        play(&room, &json!([shell("touch made"), says("done", &[])]), flags).ended_with(0);
        assert_eq!(room.has("made"), runs, "{then}");
    }
    for key in ["modifiedArgs", "updatedInput"] {
        let room = with_hooks(&[("preToolUse", &answers(&json!({key: {"command": "touch other"}})))]);
        play(
            &room,
            &json!([shell("touch made"), says("done", &[])]),
            &["--yes"],
        )
        .ended_with(0);
        assert!(room.has("other") && !room.has("made"), "{key}");
    }
}

#[test]
fn permission_is_granted_and_refused() {
    let deny = answers(&json!({"behavior": "deny", "message": "so be it"}));
    for (then, runs) in [
        (answers(&json!({"behavior": "allow"})).as_str(), true),
        (deny.as_str(), false),
        ("exit 2", false),
    ] {
        let room = with_hooks(&[("permissionRequest", then)]);
        play(&room, &json!([shell("touch made"), says("done", &[])]), &[]).ended_with(0);
        assert_eq!(room.has("made"), runs, "{then}");
    }
}

#[test]
fn files_have_copilots_arguments() {
    let room = with_hooks(&[("preToolUse", "")]);
    room.write("a.txt", "one\ntwo\n");
    let turns = json!([
        call("read", &json!({"path": "a.txt", "offset": 1, "limit": 1})),
        call("list", &json!({"path": "."})),
        call(
            "edit",
            &json!({"path": "a.txt", "edits": [{"old_text": "two", "new_text": "2"}]})
        ),
        call("write", &json!({"path": "b.txt", "content": "x"})),
        says("done", &[]),
    ]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    assert_eq!(
        members(&room, "preToolUse", "toolName"),
        ["view", "view", "edit", "create"]
    );
    assert_eq!(
        members(&room, "preToolUse", "toolInput"),
        [
            json!({"path": "a.txt", "view_range": [1, 1]}),
            json!({"path": "."}),
            json!({"path": "a.txt", "old_str": "two", "new_str": "2"}),
            json!({"path": "b.txt", "file_text": "x"}),
        ]
    );
    assert_eq!(
        (room.read("a.txt"), room.read("b.txt")),
        ("one\n2\n".into(), "x".into())
    );
}

#[test]
fn matchers_stand_for_whole_names() {
    for (event, matcher, runs) in [
        ("preToolUse", "bash", false),
        ("preToolUse", "bas", true),
        ("preToolUse", "ba.*|edit", false),
        ("preToolUse", "Bash", true),
        ("PreToolUse", "Bash", false),
        ("PreToolUse", "bash|Write", false),
        ("PreToolUse", "Write", true),
        ("PreToolUse", "*", false),
    ] {
        let room = room();
        let file = json!({"hooks": {event: [{"bash": "echo no >&2; exit 2", "matcher": matcher}]}});
        room.write(".github/hooks/a.json", file.to_string());
        play(
            &room,
            &json!([shell("touch made"), says("done", &[])]),
            &["--yes"],
        )
        .ended_with(0);
        assert_eq!(room.has("made"), runs, "{event} {matcher}");
    }
}

#[test]
fn the_model_hears_what_hooks_add() {
    let context = answers(&json!({"additionalContext": "a word for you"}));
    for event in ["sessionStart", "userPromptSubmitted"] {
        let room = with_hooks(&[(event, &context)]);
        play(&room, &json!([says("done", &["a word for you"])]), &[]).ended_with(0);
    }
    for event in ["preToolUse", "postToolUse"] {
        let room = with_hooks(&[(event, &context)]);
        let turns = json!([shell("echo x"), says("done", &["a word for you"])]);
        play(&room, &turns, &["--yes"]).ended_with(0);
    }
    let rewrite = answers(&json!({"modifiedTransformedPrompt": "other words"}));
    let room = with_hooks(&[("userPromptTransformed", &rewrite)]);
    play(&room, &json!([says("done", &["other words"])]), &[]).ended_with(0);
}

#[test]
fn a_result_is_rewritten() {
    let result = json!({"resultType": "success", "textResultForLlm": "something else"});
    let room = with_hooks(&[("postToolUse", &answers(&json!({"modifiedResult": result})))]);
    let turns = json!([shell("echo the-result"), says("done", &["something else"])]);
    let run = play(&room, &turns, &["--yes", "--json"]).ended_with(0);
    let request = run.events_named("pre_request").remove(1).to_string();
    // The command itself names the result once.
    assert_eq!(request.matches("the-result").count(), 1, "{request}");
}

#[test]
fn a_failure_is_told_and_explained() {
    let room = with_hooks(&[
        ("postToolUseFailure", "echo try something else; exit 2"),
        ("postToolUse", ""),
    ]);
    let turns = json!([
        call("read", &json!({"path": "not-there.txt"})),
        says("done", &["try something else"]),
    ]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    assert_eq!(members(&room, "postToolUseFailure", "toolName"), ["view"]);
    assert!(members(&room, "postToolUseFailure", "error")[0].is_string());
    assert!(heard(&room, "postToolUse").is_empty());
}

#[test]
fn a_prompt_cannot_be_refused() {
    let room = with_hooks(&[("userPromptSubmitted", "echo no >&2; exit 2")]);
    play(&room, &json!([says("done", &[])]), &[])
        .ended_with(0)
        .said("done");
}

#[test]
fn the_model_goes_on_when_a_hook_wants_it() {
    let always = answers(&json!({"decision": "block", "reason": "one more thing"}));
    for event in ["agentStop", "Stop"] {
        let room = with_hooks(&[(event, &always)]);
        let mut turns = vec![says("first", &[]), says("second", &["one more thing"])];
        turns.extend((0..10).map(|number| says(&format!("answer {number}"), &[])));
        play(&room, &json!(turns), &[]).ended_with(0);
        let active = members(&room, event, "stop_hook_active");
        assert_eq!(active.len(), 9, "the first and eight more");
        assert_eq!(active[..2], [false, true]);
    }
}

#[test]
fn summaries_are_told() {
    let room = with_hooks(&[("preCompact", ""), ("PreCompact", "exit 2")]);
    for prompt in ["one", "two", "three"] {
        let model = room.model(&json!([says("answer", &[])]));
        room.run(["--trust", "--model", &model, prompt]).ended_with(0);
    }
    let model = room.model(&json!([says("THE SUMMARY", &[])]));
    room.run(["--trust", "--model", &model, "compact"]).ended_with(0);
    assert_eq!(members(&room, "preCompact", "trigger"), ["manual"]);
    assert!(members(&room, "PreCompact", "transcript_path")[0].is_string());
}

#[test]
fn sub_agents_are_told_from_beginning_to_end() {
    let context = answers(&json!({"additionalContext": "a word for the helper"}));
    let room = with_hooks(&[
        ("subagentStart", &context),
        ("subagentStop", ""),
        ("SubagentStop", ""),
        ("preToolUse", ""),
        ("agentStop", ""),
    ]);
    room.write(
        "sub.json",
        json!([says("helped", &["a word for the helper"])]).to_string(),
    );
    let task = json!({"system_prompt": "You help.", "input": "the task", "model": "scripted/sub.json"});
    let turns = json!([call("spawn_agent", &task), says("done", &["helped"])]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    let call = heard(&room, "preToolUse").remove(0);
    assert_eq!(
        (&call["toolName"], &call["toolInput"]["prompt"]),
        (&json!("task"), &json!("the task"))
    );
    assert!(members(&room, "subagentStart", "agentName")[0].is_string());
    assert_eq!(members(&room, "subagentStop", "response"), ["helped"]);
    assert_eq!(
        members(&room, "SubagentStop", "last_assistant_message"),
        ["helped"]
    );
    assert_eq!(heard(&room, "agentStop").len(), 1, "that of the user's session");
}

#[test]
fn the_answer_of_a_sub_agent_is_rewritten() {
    let other = |words: &str| answers(&json!({"modifiedResponse": words}));
    let room = with_hooks(&[("subagentStop", &other("other words"))]);
    room.write("sub.json", json!([says("words of a sub-agent", &[])]).to_string());
    let task = json!({"system_prompt": "You help.", "input": "the task", "model": "scripted/sub.json"});
    let turns = json!([call("spawn_agent", &task), says("done", &["other words"])]);
    let run = play(&room, &turns, &["--yes", "--json"]).ended_with(0);
    let result = &run.events_named("tool_end")[0];
    assert!(!result.to_string().contains("words of a sub-agent"), "{result}");
    // What the user has read stays as it is.
    let room = with_hooks(&[("agentStop", &other("other words"))]);
    let run = play(&room, &json!([says("read already", &[])]), &[]).ended_with(0);
    assert!(run.stderr.contains("only those of sub-agents change"), "{run:#?}");
}

#[test]
fn errors_are_told() {
    let room = with_hooks(&[("errorOccurred", ""), ("ErrorOccurred", "")]);
    let broken = json!({"error": {"kind": "rejected", "message": "no such model"}});
    play(&room, &json!([broken]), &[]).ended_with(3);
    let told = heard(&room, "errorOccurred").remove(0);
    assert_eq!(
        (&told["errorContext"], &told["recoverable"]),
        (&json!("model_call"), &json!(false))
    );
    assert!(
        told["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("no such model")),
        "{told}"
    );
    assert_eq!(members(&room, "ErrorOccurred", "error_context"), ["model_call"]);
}

#[test]
fn the_user_is_called_to_a_question_and_at_the_end() {
    let room = with_hooks(&[("notification", ""), ("Notification", "")]);
    let model = room.model(&json!([shell("touch made"), says("done", &[])]));
    if with_person(&room, &["--trust", "--model", &model, "go"]).is_none() {
        return;
    }
    assert!(room.has("made"));
    let types = members(&room, "notification", "notification_type");
    assert_eq!(types, ["permission_prompt"]);
    let names = members(&room, "Notification", "hook_event_name");
    assert_eq!(names, ["Notification"]);
    let model = room.model(&json!([says("done", &[])]));
    room.run_with_input(["--trust", "--model", &model, "chat"], "hello\n")
        .ended_with(0);
    let types = members(&room, "notification", "notification_type");
    assert_eq!(types, ["permission_prompt", "agent_idle"]);
}

#[test]
fn context_of_a_notification_reaches_the_model_with_its_next_turn() {
    let room = with_hooks(&[(
        "notification",
        &answers(&json!({"additionalContext": "the user has been called"})),
    )]);
    let turns = json!([shell("touch made"), says("done", &["the user has been called"])]);
    let model = room.model(&turns);
    let Some(run) = with_person(&room, &["--trust", "--model", &model, "go"]) else {
        return;
    };
    run.ended_with(0);
    assert!(room.has("made"));
}

#[test]
fn a_prompt_is_typed_where_a_chat_begins() {
    let hook = json!({"type": "prompt", "prompt": "look around first"});
    let hooks =
        json!({"hooks": {"sessionStart": [hook], "userPromptSubmitted": [{"bash": noting("prompts", "")}]}});
    let room = room();
    room.write(".github/hooks/any.json", hooks.to_string());
    // Only in a chat at a terminal, and only in one that is new.
    let model = room.model(&json!([says("done", &["go"])]));
    room.run(["--trust", "--model", &model, "go"]).ended_with(0);
    let Some(_) = with_person_typing(&room, &["--trust", "--model", &model, "chat"], "/quit\n") else {
        return;
    };
    assert_eq!(members(&room, "prompts", "prompt"), ["go"]);
    let model = room.model(&json!([
        says("looked", &["look around first"]),
        says("done", &["looked", "next"])
    ]));
    let typed = ["--trust", "--context", "fresh", "--model", &model, "chat"];
    let chat = with_person_typing(&room, &typed, "next\n/quit\n").expect("there was one before");
    assert_eq!(
        members(&room, "prompts", "prompt"),
        ["go", "look around first", "next"],
        "{chat:#?}"
    );
}

#[test]
fn hooks_stand_in_several_places() {
    let refuses = |reason: &str| {
        json!({"hooks": {"preToolUse": [{"command": format!("echo '{reason}' >&2; exit 2")}]}}).to_string()
    };
    for place in [
        ".github/hooks/any.json",
        ".github/copilot/settings.json",
        ".github/copilot/settings.local.json",
        "../home/.copilot/hooks/any.json",
        "../home/.copilot/settings.json",
        "../home/.copilot/installed-plugins/market/tool/hooks.json",
        "../home/.copilot/installed-plugins/market/tool/hooks/hooks.json",
    ] {
        let room = room();
        room.write(place, refuses("not here"));
        let turns = json!([shell("touch made"), says("done", &["not here"])]);
        play(&room, &turns, &["--yes"]).ended_with(0);
        assert!(!room.has("made"), "{place}");
    }
    let room = room();
    room.write("../elsewhere/hooks/a.json", refuses("elsewhere"));
    let folder = room.work().join("../elsewhere").display().to_string();
    let room = room.with("COPILOT_HOME", &folder);
    let turns = json!([shell("touch made"), says("done", &["elsewhere"])]);
    play(&room, &turns, &["--yes"]).ended_with(0);
}

#[test]
fn a_hook_has_its_directory_and_its_variables() {
    let room = room();
    let hook = json!({
        "bash": "printf '%s %s %s %s' \"$A\" \"$B\" \"$COPILOT_CLI\" \"$PWD\" > seen", "cwd": "tools",
        "env": {"A": "plain", "B": "$A-$LANG"},
    });
    room.write(
        ".github/hooks/a.json",
        json!({"hooks": {"agentStop": [hook]}}).to_string(),
    );
    room.write("tools/x", "");
    play(&room, &json!([says("done", &[])]), &[]).ended_with(0);
    let folder = room
        .work()
        .join("tools")
        .canonicalize()
        .expect("the folder is there");
    assert_eq!(
        room.read("tools/seen"),
        format!("plain plain-C.UTF-8 1 {}", folder.display())
    );
}

#[test]
fn hooks_are_switched_off() {
    for (place, text) in [
        (
            "../home/.copilot/settings.json",
            "{\n// all of them\n\"disableAllHooks\": true\n}",
        ),
        (".github/copilot/settings.json", "{\"disableAllHooks\": true}"),
        (
            "../home/.config/becket/config.toml",
            "[dialects]\ncopilot = \"off\"\n",
        ),
    ] {
        let room = with_hooks(&[("preToolUse", "exit 2")]);
        room.write(place, text);
        play(
            &room,
            &json!([shell("touch made"), says("done", &[])]),
            &["--yes"],
        )
        .ended_with(0);
        assert!(room.has("made"), "{place}");
    }
}

#[test]
fn a_local_file_has_the_last_word_about_switching_off() {
    for (shared, local, runs) in [(true, false, false), (false, true, true)] {
        let room = with_hooks(&[("preToolUse", "exit 2")]);
        for (name, is_off) in [("settings.json", shared), ("settings.local.json", local)] {
            let text = json!({"disableAllHooks": is_off}).to_string();
            room.write(&format!(".github/copilot/{name}"), text);
        }
        let turns = json!([shell("touch made"), says("done", &[])]);
        play(&room, &turns, &["--yes"]).ended_with(0);
        assert_eq!(room.has("made"), runs, "{shared} {local}");
    }
}

#[test]
fn a_projects_hooks_need_trust_and_may_hold_no_mistake() {
    let room = with_hooks(&[("preToolUse", "exit 2")]);
    let model = room.model(&json!([shell("touch made"), says("done", &[])]));
    let run = room.run(["--yes", "--model", &model, "go"]);
    assert!(run.stderr.contains("trust"), "{run:#?}");
    assert!(!room.has("made") && heard(&room, "preToolUse").is_empty());
    for wrong in [
        json!({"hooks": {"preToolUse": [{"powershell": "x"}]}}),
        json!({"hooks": {"preToolUze": [{"bash": "x"}]}}),
        json!({"version": 2, "hooks": {"preToolUse": [{"bash": "x"}]}}),
    ] {
        let room = crate::room();
        room.write(".github/hooks/a.json", wrong.to_string());
        let run = play(
            &room,
            &json!([shell("touch made"), says("done", &[])]),
            &["--yes"],
        );
        assert!(!room.has("made"), "{wrong}: {run:#?}");
    }
}

/// Plugins of another system keep their hooks in files of the same name.
#[test]
fn a_trusted_file_is_copilots_alone() {
    let room = room();
    let file = ".github/hooks/hooks.json";
    room.write(file, hooks(&[("preToolUse", "echo no >&2; exit 2")]));
    room.run(["hooks", "trust", "--all"]).ended_with(0);
    let model = room.model(&json!([shell("touch made"), says("done", &[])]));
    room.run(["--yes", "--model", &model, "go"]).ended_with(0);
    assert!(!room.has("made"));
    let check = room.run(["hooks", "check", file]).ended_with(0);
    check.said("1 hook in 1 file: no problems found");
}

#[test]
fn a_guard_that_parses_the_arguments_reads_them() {
    let guard = "printf '%s' \"$IN\" | jq -e '.toolArgs | fromjson | .command | test(\"made\")' > ../seen && \
                 echo '{\"permissionDecision\": \"deny\", \"permissionDecisionReason\": \"not with me\"}'";
    let room = with_hooks(&[("preToolUse", guard)]);
    let turns = json!([shell("touch made"), says("done", &["not with me"])]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    assert!(!room.has("made"));
    assert_eq!(room.read("../seen").trim(), "true");
}
