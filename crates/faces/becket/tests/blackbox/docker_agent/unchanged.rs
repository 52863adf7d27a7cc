//! Details in which hooks would otherwise see or do something else than under docker-agent.

use serde_json::{Value, json};
use testkit::{ModelServer, OpenAiStream, Response, Wire, needs};

use super::{answers, call, heard, members, note, play, says, shell, stage, with_agent, with_hooks};

#[test]
fn the_system_message_is_shown_and_stays_a_system_message() {
    let room = with_hooks(&[(
        "before_llm_call",
        r#"printf '%s' "$IN" | jq -c '{hook_specific_output: {updated_messages: ([.messages[] | if .role == "system" then
            .content += " Be brief." else . end] + [{role: "system", content: "Also this."}])}}'"#,
    )]);
    let run = play(&room, &json!([says("done", &[])]), &["--json"]).ended_with(0);
    let shown = heard(&room, "before_llm_call").remove(0)["messages"].clone();
    assert_eq!(shown[0]["role"], "system");
    let prompt = shown[0]["content"].as_str().unwrap();
    assert!(prompt.starts_with("You are kind."), "{prompt}");
    assert_eq!(shown[1]["role"], "user");
    let sent = run.events_named("pre_request").remove(0)["body"]["messages"].clone();
    assert_eq!(sent[0]["role"], "system");
    assert_eq!(sent[0]["content"], format!("{prompt} Be brief.\n\nAlso this."));
    assert_eq!(sent.as_array().unwrap().len(), 2, "{sent}");
}

#[test]
fn messages_without_a_system_message_leave_the_instruction_alone() {
    let updated = json!([{"role": "user", "content": "something else"}]);
    let room = with_hooks(&[(
        "before_llm_call",
        &answers(&json!({"hook_specific_output": {"updated_messages": updated}})),
    )]);
    play(
        &room,
        &json!([says("done", &["You are kind.", "something else"])]),
        &[],
    )
    .ended_with(0);
}

#[test]
fn a_hook_in_two_groups_is_asked_once_about_a_call() {
    let hook = json!({"type": "command", "command": format!("IN=$(cat); {}", note("asked"))});
    let hooks = json!({"pre_tool_use": [
        {"matcher": "shell", "hooks": [hook]},
        {"matcher": "*", "hooks": [hook]},
        {"matcher": "shell|read_file", "hooks": [hook]},
    ]});
    let room = with_agent(&[], &json!({"hooks": hooks}));
    let turns = json!([
        shell("echo x"),
        call("read_file", &json!({"path": "a.txt"})),
        says("done", &[])
    ]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    assert_eq!(members(&room, "asked", "tool_name"), ["shell", "read_file"]);
}

#[test]
fn a_guard_that_says_allow_as_its_decision_has_not_refused() {
    for decision in ["allow", "approve"] {
        let room = with_hooks(&[("pre_tool_use", &answers(&json!({"decision": decision})))]);
        let turns = json!([shell("touch made"), says("done", &[])]);
        play(&room, &turns, &[]).ended_with(0);
        assert!(!room.has("made"), "it has not said yes in the user's place");
        play(&room, &turns, &["--yes"]).ended_with(0);
        assert!(room.has("made"), "{decision}");
    }
    let room = with_hooks(&[("pre_tool_use", &answers(&json!({"decision": "deny"})))]);
    play(
        &room,
        &json!([shell("touch made"), says("done", &[])]),
        &["--yes"],
    )
    .ended_with(0);
    assert!(!room.has("made"), "an unknown word refuses");
}

#[test]
fn builtins_have_the_folder_and_the_variables_of_their_hook() {
    if !needs("git") {
        return;
    }
    let builtin = |command: &str, more: &Value| {
        let mut hook = json!({"type": "builtin", "command": command});
        more.as_object()
            .unwrap()
            .iter()
            .for_each(|(key, value)| hook[key] = value.clone());
        hook
    };
    let hooks = json!({"turn_start": [
        builtin("add_directory_listing", &json!({"working_dir": "~/elsewhere"})),
        builtin("add_user_info", &json!({"env": {"USER": "ada-of-the-hook"}})),
        builtin("add_prompt_files", &json!({"args": ["NOTES.md"], "working_dir": "sub"})),
    ]});
    let room = with_agent(&[], &json!({"hooks": hooks}));
    room.write("../home/elsewhere/found-there", "x");
    room.write("sub/NOTES.md", "notes of the folder");
    let notes = room.work().canonicalize().expect("a folder").join("sub/NOTES.md");
    // As it stands in the request's JSON.
    let notes = format!(r"Instructions from: {}\nnotes of the folder", notes.display());
    let wanted = ["found-there", &notes];
    play(&room, &json!([says("done", &wanted)]), &[]).ended_with(0);
}

#[test]
fn a_provider_of_the_file_speaks_the_interface_that_it_names() {
    for (interface, wire, path) in [
        ("openai_responses", Wire::Responses, "/v1/responses"),
        ("openai_chatcompletions", Wire::Chat, "/v1/chat/completions"),
    ] {
        let server = ModelServer::answering(move |_| Response::events(wire.text("hello")));
        let house = json!({"api_type": interface, "base_url": "${HOUSE_URL}/v1"});
        let room = stage(&json!({"agents": {"root": {"model": "house/m"}}, "providers": {"house": house}}));
        let room = room.with("HOUSE_URL", &server.url());
        let run = room.run(["run", "agent.yaml", "Hi"]).ended_with(0).said("hello");
        assert!(!run.stderr.contains("is not served"), "{run:#?}");
        assert_eq!(server.only_request().path, path);
    }
}

#[test]
fn templates_have_conditions_loops_and_formats() {
    let text =
        r#"{{ if eq .HookEventName "turn_start" }}{{ printf "%s-%d" .AgentName (len .Cwd | len) }}{{ end }}"#;
    let wrong = json!({"agents": {"root": {"hooks": {"turn_start": [
        {"type": "builtin", "command": "add_context", "args": [text]}
    ]}}}});
    play(&stage(&wrong), &json!([says("never", &[])]), &[]).ended_with(0);
    let text = r#"{{ with .AgentName }}{{ . }}{{ end }}{{ range .Messages }}x{{ else }}{{ printf "=%03d" (len "four") }}{{ end }}"#;
    let right = json!({"agents": {"root": {"hooks": {"turn_start": [
        {"type": "builtin", "command": "add_context", "args": [text]}
    ]}}}});
    play(&stage(&right), &json!([says("done", &["root=004"])]), &[]).ended_with(0);
}

#[test]
fn calls_are_told_with_the_policy_and_the_label_of_their_safety() {
    let room = with_hooks(&[("pre_tool_use", ""), ("on_tool_approval_decision", "")]);
    let turns = json!([
        shell("rm -rf x"),
        call("read_file", &json!({"path": "a.txt"})),
        says("done", &[])
    ]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    assert_eq!(
        members(&room, "pre_tool_use", "safety_policy"),
        ["autonomous", "autonomous"]
    );
    let labels = members(&room, "on_tool_approval_decision", "safety_label");
    assert_eq!(labels, ["destructive", "safe"]);
    let room = with_hooks(&[("pre_tool_use", "")]);
    play(&room, &turns, &[]).ended_with(0);
    assert_eq!(
        members(&room, "pre_tool_use", "safety_policy"),
        ["balanced", "balanced"]
    );
}

#[test]
fn instruction_context_reaches_the_model() {
    let parts =
        json!([{"key": "a", "content": "the first part"}, {"key": "b", "content": "gone", "removed": true}]);
    let answer = json!({"hook_specific_output": {"instruction_context": parts}});
    let room = with_hooks(&[("turn_start", &answers(&answer))]);
    let run = play(&room, &json!([says("done", &["the first part"])]), &["--json"]).ended_with(0);
    assert!(
        !run.events_named("pre_request")[0].to_string().contains("gone"),
        "{run:?}"
    );
}

#[test]
fn a_model_that_is_left_is_unloaded() {
    let server = ModelServer::answering(|request| {
        let stream = OpenAiStream::new("m");
        match request.path.as_str() {
            "/unload" => Response::json(200, &json!({})),
            _ if request.text().contains("I help.") => {
                Response::events(stream.text("done").finish("stop").done())
            }
            _ => Response::events(
                stream
                    .tool_call(0, "c", "handoff", &["{\"agent\": \"helper\"}"])
                    .finish("tool_calls")
                    .done(),
            ),
        }
    });
    let file = json!({
        "agents": {
            "root": {
                "model": "here/big", "handoffs": ["helper"],
                "hooks": {"on_agent_switch": [{"type": "builtin", "command": "unload"}]},
            },
            "helper": {"model": "here/small", "instruction": "I help."},
        },
        "providers": {"here": {"base_url": format!("{}/v1", server.url()), "unload_api": "/unload"}},
    });
    stage(&file)
        .run(["run", "agent.yaml", "go"])
        .ended_with(0)
        .said("done");
    let unloaded = server
        .requests()
        .into_iter()
        .find(|request| request.path == "/unload");
    assert_eq!(
        unloaded.map(|request| request.json()),
        Some(json!({"model": "big"}))
    );
}

#[test]
fn the_tokens_of_a_summary_are_not_counted_before_it() {
    let room = with_hooks(&[("before_compaction", ""), ("after_compaction", "")]);
    room.config("[compaction]\ncontext_window = 1000\n");
    let said = |text: &str, tokens: u64| {
        let usage = json!({"input_tokens": tokens, "output_tokens": 7});
        json!({"text": text, "usage": usage})
    };
    let turns = json!([
        said("a", 10),
        said("b", 20),
        said("c", 900),
        said("THE SUMMARY", 5),
        said("done", 30)
    ]);
    let model = room.model(&turns);
    room.run_with_input(
        ["run", "agent.yaml", "--model", &model],
        "one\ntwo\nthree\nfour\n",
    )
    .ended_with(0);
    let before = members(&room, "before_compaction", "output_tokens");
    assert_eq!(before, [21]);
    assert_eq!(before, members(&room, "after_compaction", "output_tokens"));
}
