//! A test for each event: what a hook reads there, and what its answer does.

use serde_json::{Value, json};
use testkit::Room;

use super::{
    about_shell, agent, answers, assert_heard, call, heard, members, play, says, shell, specific, stage,
    with_agent, with_hooks,
};
use crate::limit::with_person;

#[test]
fn session_start() {
    let room = with_hooks(&[("session_start", &specific("additional_context", "a word for all"))]);
    let mut first = shell("echo x");
    first["expect"] = json!(["a word for all"]);
    play(
        &room,
        &json!([first, says("done", &["a word for all"])]),
        &["--yes"],
    )
    .ended_with(0);
    assert_heard(&room, "session_start", &[json!({"source": "startup"})]);
    play(&room, &json!([says("done", &["a word for all"])]), &[]).ended_with(0);
    assert_eq!(members(&room, "session_start", "source"), ["startup", "resume"]);
}

#[test]
fn user_prompt_submit() {
    let room = with_hooks(&[("user_prompt_submit", "echo a hint in plain words")]);
    let hint = "a hint in plain words";
    let mut first = shell("echo x");
    first["expect"] = json!([hint]);
    play(&room, &json!([first, says("done", &[hint])]), &["--yes"]).ended_with(0);
    assert_heard(&room, "user_prompt_submit", &[json!({"prompt": "go"})]);
}

#[test]
fn a_prompt_that_is_blocked_reaches_no_model() {
    let block = answers(&json!({"decision": "block", "reason": "not this"}));
    let room = with_hooks(&[
        ("user_prompt_submit", &block),
        ("before_llm_call", ""),
        ("on_error", ""),
        ("session_end", ""),
    ]);
    play(&room, &json!([says("never", &[])]), &[])
        .ended_with(1)
        .complained("not this");
    assert!(heard(&room, "before_llm_call").is_empty());
    let told = json!({"notification_level": "error", "notification_message": "not this"});
    assert_heard(&room, "on_error", &[told]);
    assert_heard(&room, "session_end", &[json!({"reason": "hook_blocked"})]);
}

#[test]
fn turn_start() {
    let room = with_hooks(&[(
        "turn_start",
        "echo \"this is turn $(wc -l < ../turn_start.jsonl | tr -d ' ')\"",
    )]);
    let mut first = shell("echo x");
    first["expect"] = json!(["this is turn 1"]);
    let turns = json!([first, says("done", &["this is turn 2"])]);
    let run = play(&room, &turns, &["--yes", "--json"]).ended_with(0);
    assert_heard(&room, "turn_start", &[json!({}), json!({})]);
    let second = run.events_named("pre_request").remove(1).to_string();
    assert!(
        !second.contains("this is turn 1"),
        "it was for its turn: {second}"
    );
}

#[test]
fn before_llm_call() {
    let room = with_hooks(&[("before_llm_call", "")]);
    play(&room, &json!([shell("echo x"), says("done", &[])]), &["--yes"]).ended_with(0);
    let told = |iteration: u64| json!({"model_id": "*", "iteration": iteration, "messages": "*"});
    assert_heard(&room, "before_llm_call", &[told(1), told(2)]);
    let second = heard(&room, "before_llm_call").remove(1);
    assert!(
        second["model_id"].as_str().unwrap().starts_with("scripted/"),
        "{second:#}"
    );
    let messages = second["messages"].as_array().unwrap();
    let told = |role: &str| messages.iter().find(|message| message["role"] == role).unwrap();
    assert_eq!(told("user")["content"], "go");
    let function = &told("assistant")["tool_calls"][0]["function"];
    assert_eq!(
        function,
        &json!({"name": "shell", "arguments": "{\"cmd\":\"echo x\"}"})
    );
    assert_eq!(told("tool")["tool_call_id"], "call-1");
}

#[test]
fn messages_can_be_rewritten_for_the_model_and_nobody_else() {
    let other = json!([{"role": "user", "content": "other words"}]);
    let room = with_hooks(&[
        ("before_llm_call", &specific("updated_messages", other)),
        ("stop", ""),
    ]);
    let run = play(&room, &json!([says("done", &["other words"])]), &["--json"]).ended_with(0);
    let request = run.events_named("pre_request").remove(0);
    assert!(
        !request["body"]["messages"].to_string().contains("\"go\""),
        "{request}"
    );
    assert_eq!(members(&room, "stop", "last_user_message"), ["go"]);
}

#[test]
fn after_llm_call() {
    let room = with_hooks(&[("after_llm_call", "")]);
    let usage = json!({"input_tokens": 12, "output_tokens": 3, "reasoning_tokens": 2, "cost": 0.5});
    let turns = json!([{"text": "all of it", "usage": usage}]);
    play(&room, &turns, &[]).ended_with(0);
    let told = json!({
        "model_id": "*",
        "iteration": 1,
        "stop_response": "all of it",
        "last_user_message": "go",
        "usage": "*",
        "cost": 0.5,
    });
    assert_heard(&room, "after_llm_call", &[told]);
    let usage = members(&room, "after_llm_call", "usage").remove(0);
    assert_eq!(
        (&usage["input_tokens"], &usage["output_tokens"]),
        (&json!(12), &json!(3))
    );
    assert_eq!(usage["reasoning_tokens"], 2);
}

#[test]
fn no_answer_is_told_as_none() {
    let room = with_hooks(&[("after_llm_call", ""), ("on_error", "")]);
    let broken = json!({"error": {"kind": "rejected", "message": "no such model"}});
    play(&room, &json!([broken]), &[]).ended_with(3);
    assert!(heard(&room, "after_llm_call").is_empty());
    assert_eq!(heard(&room, "on_error").len(), 1);
}

#[test]
fn tool_input_transform() {
    let room = with_hooks(&[
        (
            "tool_input_transform",
            &specific("updated_input", json!({"cmd": "pwd > seen"})),
        ),
        ("tool_guard", ""),
        ("pre_tool_use", ""),
    ]);
    room.write("below/x", "");
    let turns = json!([
        call("shell", &json!({"cmd": "echo x", "cwd": "below"})),
        says("done", &[])
    ]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    let input = members(&room, "tool_input_transform", "tool_input");
    assert_eq!(input[0], json!({"cmd": "echo x", "cwd": "below"}));
    for event in ["tool_guard", "pre_tool_use"] {
        let input = members(&room, event, "tool_input");
        assert_eq!(
            input.last(),
            Some(&json!({"cmd": "pwd > seen", "cwd": "below"})),
            "{event}"
        );
    }
    assert!(room.has("below/seen"), "what was not rewritten is kept");
}

#[test]
fn tool_guard() {
    let room = with_hooks(&[("tool_guard", "echo guarded >&2; exit 2"), ("pre_tool_use", "")]);
    let turns = json!([shell("touch made"), says("done", &["guarded"])]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    let told = about_shell("touch made", &json!({"safety_policy": "*"}));
    assert_heard(&room, "tool_guard", &[told]);
    assert!(!room.has("made") && heard(&room, "pre_tool_use").is_empty());
}

#[test]
fn pre_tool_use() {
    let deny = json!({"permissionDecision": "deny", "permissionDecisionReason": "not with me"});
    for refusal in [
        "echo 'not with me' >&2; exit 2".to_owned(),
        answers(&json!({"decision": "block", "reason": "not with me"})),
        answers(&json!({"continue": false, "stopReason": "not with me"})),
        answers(&json!({"hookSpecificOutput": deny})),
    ] {
        let room = with_hooks(&[("pre_tool_use", &refusal), ("post_tool_use", "")]);
        let turns = json!([shell("touch made"), says("done", &["not with me"])]);
        play(&room, &turns, &["--yes"]).ended_with(0);
        let told = about_shell("touch made", &json!({"safety_policy": "*"}));
        assert_heard(&room, "pre_tool_use", &[told]);
        assert!(
            !room.has("made") && heard(&room, "post_tool_use").is_empty(),
            "{refusal}"
        );
    }
}

#[test]
fn arguments_are_patched() {
    let room = with_hooks(&[(
        "pre_tool_use",
        &specific("updated_input", json!({"cmd": "pwd > seen"})),
    )]);
    room.write("below/x", "");
    let turns = json!([
        call("shell", &json!({"cmd": "echo x", "cwd": "below"})),
        says("done", &[])
    ]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    assert!(room.has("below/seen"));
}

#[test]
fn permission_request() {
    for (verdict, ran) in [("allow", true), ("deny", false)] {
        let room = with_hooks(&[("permission_request", &specific("permission_decision", verdict))]);
        play(&room, &json!([shell("touch made"), says("done", &[])]), &[]).ended_with(0);
        assert_heard(
            &room,
            "permission_request",
            &[about_shell("touch made", &json!({}))],
        );
        assert_eq!(room.has("made"), ran, "{verdict}");
    }
}

#[test]
fn on_tool_approval_decision() {
    let room = with_hooks(&[("on_tool_approval_decision", "")]);
    play(&room, &json!([shell("echo x"), says("done", &[])]), &["--yes"]).ended_with(0);
    let told = json!({"approval_decision": "allow", "approval_source": "yolo", "safety_label": "safe"});
    assert_heard(
        &room,
        "on_tool_approval_decision",
        &[about_shell("echo x", &told)],
    );
}

#[test]
fn tool_response_transform() {
    let room = with_hooks(&[
        (
            "tool_response_transform",
            &specific("updated_tool_response", "other words"),
        ),
        ("post_tool_use", ""),
    ]);
    let turns = json!([shell("echo original"), says("done", &["other words"])]);
    let run = play(&room, &turns, &["--yes", "--json"]).ended_with(0);
    let told = about_shell("echo original", &json!({"tool_response": "*"}));
    assert_heard(&room, "tool_response_transform", &[told]);
    let response = members(&room, "tool_response_transform", "tool_response").remove(0);
    assert!(response.as_str().unwrap().contains("original"), "{response}");
    assert_eq!(members(&room, "post_tool_use", "tool_response"), ["other words"]);
    let messages = run.events_named("pre_request").remove(1)["body"]["messages"].take();
    let answer = messages.as_array().unwrap().last().unwrap().to_string();
    assert!(!answer.contains("original"), "{answer}");
}

#[test]
fn post_tool_use() {
    let room = with_hooks(&[("post_tool_use", &specific("additional_context", "look at it"))]);
    let missing = call("read_file", &json!({"path": "missing.txt"}));
    let turns = json!([shell("echo x"), missing, says("done", &["look at it"])]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    let failed = json!({
        "tool_name": "read_file",
        "tool_use_id": "call-1",
        "tool_input": {"path": "missing.txt"},
        "tool_category": "filesystem",
        "tool_response": "*",
        "tool_error": true,
    });
    let ran = about_shell("echo x", &json!({"tool_response": "*"}));
    assert_heard(&room, "post_tool_use", &[ran, failed]);
}

#[test]
fn notification_and_on_error() {
    let room = with_hooks(&[("notification", ""), ("on_error", "")]);
    let broken = json!({"error": {"kind": "rejected", "message": "no such model"}});
    play(&room, &json!([broken]), &[]).ended_with(3);
    let told = json!({"notification_level": "error", "notification_message": "*"});
    for event in ["notification", "on_error"] {
        assert_heard(&room, event, std::slice::from_ref(&told));
        let message = members(&room, event, "notification_message").remove(0);
        assert!(message.as_str().unwrap().contains("no such model"), "{message}");
    }
}

#[test]
fn on_max_iterations() {
    let room = with_agent(
        &[
            ("on_max_iterations", ""),
            ("notification", ""),
            ("session_end", ""),
        ],
        &json!({"max_iterations": 1}),
    );
    play(&room, &json!([shell("echo x"), says("done", &[])]), &["--yes"]).ended_with(5);
    let told = json!({"notification_level": "warning", "notification_message": "*"});
    for event in ["on_max_iterations", "notification"] {
        assert_heard(&room, event, std::slice::from_ref(&told));
    }
    assert_heard(&room, "session_end", &[json!({"reason": "max_iterations"})]);
}

#[test]
fn on_session_resume_and_on_user_input() {
    let hooks = [
        ("on_session_resume", ""),
        ("on_user_input", ""),
        ("on_tool_approval_decision", ""),
    ];
    let room = with_agent(&hooks, &json!({"max_iterations": 1}));
    let model = room.model(&json!([shell("touch made"), says("done", &[])]));
    let arguments = ["run", "agent.yaml", "go", "--model", &model];
    let Some(run) = with_person(&room, &arguments) else {
        return;
    };
    run.ended_with(0);
    let raised = json!({"previous_max_iterations": 1, "new_max_iterations": 11});
    assert_heard(&room, "on_session_resume", &[raised]);
    // About the call, about the limit, and at the end.
    assert_heard(&room, "on_user_input", &[json!({}), json!({}), json!({})]);
    let source = members(&room, "on_tool_approval_decision", "approval_source");
    assert_eq!((source, room.has("made")), (vec![json!("user_approved")], true));
}

/// A room where three prompts have left a window of 1000 tokens almost full.
fn full(commands: &[(&str, &str)]) -> Room {
    let room = with_hooks(commands);
    room.config("[compaction]\ncontext_window = 1000\n");
    for tokens in [10, 20, 900] {
        let usage = json!({"input_tokens": tokens, "output_tokens": 1});
        play(&room, &json!([{"text": "an answer", "usage": usage}]), &[]).ended_with(0);
    }
    room
}

#[test]
fn pre_compact() {
    let room = full(&[("pre_compact", "echo keep the file names")]);
    let turns = json!([
        says("THE SUMMARY", &["keep the file names"]),
        says("done", &["THE SUMMARY"])
    ]);
    play(&room, &turns, &[]).ended_with(0);
    assert_heard(&room, "pre_compact", &[json!({"source": "auto"})]);
}

#[test]
fn pre_compact_by_hand_and_after_an_overflow() {
    let room = with_hooks(&[("pre_compact", ""), ("before_compaction", "")]);
    let model = room.model(&json!([says("one", &[]), says("THE SUMMARY", &[])]));
    let chat = ["run", "agent.yaml", "--model", &model];
    room.run_with_input(chat, "hello\n/compact\n/quit\n")
        .ended_with(0);
    assert_heard(&room, "pre_compact", &[json!({"source": "manual"})]);
    assert_eq!(
        members(&room, "before_compaction", "compaction_reason"),
        ["manual"]
    );

    let room = full(&[("pre_compact", ""), ("before_compaction", "")]);
    room.config("");
    let long = json!({"error": {"kind": "context_too_long", "message": "too long"}});
    let turns = json!([long, says("THE SUMMARY", &[]), says("done", &["THE SUMMARY"])]);
    play(&room, &turns, &[]).ended_with(0);
    assert_heard(&room, "pre_compact", &[json!({"source": "overflow"})]);
    assert_eq!(
        members(&room, "before_compaction", "compaction_reason"),
        ["overflow"]
    );
}

#[test]
fn a_compaction_can_be_refused() {
    let deny = specific("permission_decision", "deny");
    for (event, refusal) in [
        ("pre_compact", "echo keep it >&2; exit 2"),
        ("before_compaction", "echo keep it >&2; exit 2"),
        ("before_compaction", deny.as_str()),
    ] {
        let room = full(&[(event, refusal), ("after_compaction", "")]);
        play(&room, &json!([says("done", &["an answer"])]), &[]).ended_with(0);
        assert_eq!(heard(&room, event).len(), 1);
        assert!(heard(&room, "after_compaction").is_empty(), "{event}: {refusal}");
    }
}

#[test]
fn before_and_after_compaction() {
    let room = with_hooks(&[
        (
            "before_compaction",
            &answers(&json!({"hookSpecificOutput": {"summary": "BY HOOK"}})),
        ),
        ("after_compaction", ""),
    ]);
    // In one session, so that something was written in it.
    room.config("[compaction]\ncontext_window = 1000\n");
    let said = |tokens: u64| {
        let usage = json!({"input_tokens": tokens, "output_tokens": 7});
        json!({"text": "an answer", "usage": usage})
    };
    let model = room.model(&json!([
        said(10),
        said(20),
        said(900),
        says("done", &["BY HOOK"])
    ]));
    let prompts = "one\ntwo\nthree\nfour\n";
    room.run_with_input(["run", "agent.yaml", "--model", &model], prompts)
        .ended_with(0);
    let mut told = json!({
        "input_tokens": "*",
        "output_tokens": "*",
        "context_limit": 1000,
        "compaction_reason": "threshold",
    });
    assert_heard(&room, "before_compaction", std::slice::from_ref(&told));
    told["summary"] = json!("BY HOOK");
    assert_heard(&room, "after_compaction", &[told]);
    for name in ["input_tokens", "output_tokens"] {
        let before = members(&room, "before_compaction", name);
        assert_eq!(
            before,
            members(&room, "after_compaction", name),
            "{name} before it"
        );
    }
}

/// A root that can give tasks and the conversation to a helper.
fn team(root: &[(&str, &str)], helper: &[(&str, &str)]) -> Room {
    stage(&json!({"agents": {
        "root": agent(root, &json!({"sub_agents": ["helper"], "handoffs": ["helper"]})),
        "helper": agent(helper, &json!({"description": "Helps."})),
    }}))
}

fn transfer() -> Value {
    let task = json!({"agent": "helper", "task": "do it", "expected_output": "words"});
    call("transfer_task", &task)
}

#[test]
fn subagent_stop_and_on_agent_switch() {
    let root = [
        ("session_start", ""),
        ("subagent_stop", ""),
        ("on_agent_switch", ""),
    ];
    let room = team(
        &root,
        &[
            ("session_start", ""),
            ("session_end", ""),
            ("user_prompt_submit", ""),
        ],
    );
    let turns = json!([
        transfer(),
        says("its answer", &["do it"]),
        says("done", &["its answer"])
    ]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    let stopped = json!({"parent_session_id": "*", "stop_response": "its answer"});
    assert_heard(&room, "subagent_stop", &[stopped]);
    let stopped = heard(&room, "subagent_stop").remove(0);
    let starts = heard(&room, "session_start");
    assert_eq!(starts.len(), 2, "{starts:#?}");
    assert_eq!(stopped["agent_name"], "helper");
    assert_eq!(stopped["parent_session_id"], starts[0]["session_id"]);
    assert_eq!(stopped["session_id"], starts[1]["session_id"]);
    let switch = |from: &str, to: &str, kind: &str| json!({"from_agent": from, "to_agent": to, "agent_switch_kind": kind, "from_agent_models": "*"});
    let switches = [
        switch("root", "helper", "transfer_task"),
        switch("helper", "root", "transfer_task_return"),
    ];
    assert_heard(&room, "on_agent_switch", &switches);
    let models = members(&room, "on_agent_switch", "from_agent_models").remove(0);
    assert_eq!(models[0]["provider"], "scripted", "{models}");
    assert!(
        heard(&room, "user_prompt_submit").is_empty(),
        "a task is no prompt"
    );
}

#[test]
fn a_handoff_is_a_switch() {
    let room = team(
        &[("on_agent_switch", "")],
        &[("on_agent_switch", ""), ("stop", "")],
    );
    let turns = json!([
        call("handoff", &json!({"agent": "helper"})),
        says("helper here", &[])
    ]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    let told = json!({
        "from_agent": "root", "to_agent": "helper", "agent_switch_kind": "handoff", "from_agent_models": "*",
    });
    assert_heard(&room, "on_agent_switch", &[told]);
    assert_eq!(members(&room, "stop", "agent_name"), ["helper"]);
}
