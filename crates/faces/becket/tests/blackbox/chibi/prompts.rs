//! Hooks of the way to the model: the prompt, the system prompt, the tools, the request, the loop.

use serde_json::{Value, json};
use testkit::needs;

use super::{Chibi, Newer, Older, calls, has_fields, runs, says};

#[test]
fn pre_message_chains_and_the_model_gets_the_last_word() {
    if !needs("python3") {
        return;
    }
    let chibi = Chibi::new();
    let body = |suffix: &str| format!("answer = {{\"prompt\": data[\"prompt\"] + \" {suffix}\"}}");
    chibi.python(Newer, "a", &["pre_message"], &body("and a"));
    chibi.python(Older, "b", &["pre_message"], &body("and b"));
    chibi.plugin(Newer, "c", &["pre_message", "post_message"], "");
    let told = chibi.ask(&["me"], &[says("hi")]).went_well();
    assert!(told.prompt(0).ends_with("me and a and b"), "{told:#?}");
    let prompts: Vec<Value> = chibi
        .seen_of("pre_message")
        .iter()
        .map(|seen| seen.data["prompt"].clone())
        .collect();
    assert_eq!(prompts, ["me", "me and a", "me and a and b"]);
    for seen in chibi.seen_of("pre_message") {
        assert_eq!(seen.data["context_name"], chibi.room.context());
        assert_eq!(seen.data["summary"], "");
    }
}

#[test]
fn post_message_tells_prompt_and_response() {
    let chibi = Chibi::new();
    for (generation, name) in [(Newer, "newer"), (Older, "older")] {
        chibi.plugin(
            generation,
            name,
            &["post_message"],
            "echo '{\"response\":\"no effect\"}'",
        );
    }
    let told = chibi.ask(&["--yes", "go"], &[runs("true"), says("the answer")]);
    assert_eq!(told.went_well().run.stdout, "the answer\n");
    let seen = chibi.seen_of("post_message");
    assert_eq!(
        seen.len(),
        2,
        "once for each plugin, and not for each turn: {seen:#?}"
    );
    for seen in seen {
        assert_eq!(seen.data["prompt"], "go");
        assert_eq!(seen.data["response"], "the answer");
        assert_eq!(seen.data["context_name"], chibi.room.context());
    }
}

#[test]
fn injected_text_frames_the_system_prompt() {
    let chibi = Chibi::new();
    let body = |name: &str| format!("echo \"{{\\\"inject\\\":\\\"${{CHIBI_HOOK%%_*}} {name}\\\"}}\"");
    let hooks = ["pre_system_prompt", "post_system_prompt"];
    chibi.plugin(Newer, "a", &hooks, &body("from a"));
    chibi.plugin(Older, "b", &hooks, &body("from b"));
    chibi.room.write("AGENTS.md", "words of the project");
    let told = chibi.ask(&["hello"], &[says("hi")]).went_well();
    let system = told.system(0);
    assert!(system.starts_with("pre from b\n\npre from a\n\n"), "{system}");
    assert!(
        system.trim_end().ends_with("\n\npost from a\n\npost from b"),
        "{system}"
    );
    assert!(system.contains("words of the project"), "{system}");
    for seen in chibi.seen() {
        has_fields(
            &seen.data,
            &["context_name", "summary", "flock_goals", "todos", "goals"],
        );
        assert_eq!(seen.data["context_name"], chibi.room.context());
    }
}

#[test]
fn an_empty_inject_changes_nothing() {
    let chibi = Chibi::new();
    let system = |context: &str| {
        let told = chibi.ask(&["-C", context, "hello"], &[says("hi")]);
        told.went_well().system(0).replace(context, "CONTEXT")
    };
    let plain = system("one");
    let hooks = ["pre_system_prompt", "post_system_prompt"];
    chibi.plugin(Newer, "a", &hooks, "echo '{\"inject\":\"\"}'");
    assert_eq!(system("two"), plain);
}

/// The type of a tool in what a plugin was told.
fn type_of(data: &Value, name: &str) -> Value {
    let tools = data["tools"].as_array().expect("a list of tools");
    let tool = tools.iter().find(|tool| tool["name"] == name);
    tool.unwrap_or_else(|| panic!("no {name} in {data:#}"))["type"].clone()
}

#[test]
fn pre_api_tools_shows_each_generation_its_own_names_and_types() {
    for profile in ["becket", "chibi"] {
        let chibi = Chibi::new();
        chibi.plugin(Newer, "newer", &["pre_api_tools"], "");
        chibi.plugin(Older, "older", &["pre_api_tools"], "");
        chibi
            .ask(&["--tools", profile, "hello"], &[says("hi")])
            .went_well();
        let told = |plugin| chibi.told(plugin, "pre_api_tools").remove(0);
        let (newer, older) = (&told("newer"), &told("older"));
        for (name, kind) in [
            ("shell_exec", "shell"),
            ("file_head", "fs_read"),
            ("file_tail", "fs_read"),
            ("file_lines", "fs_read"),
            ("file_grep", "fs_read"),
            ("write_file", "fs_write"),
            ("file_edit", "fs_write"),
            ("fetch_url", "network"),
            ("update_goals", "memory"),
            ("vfs_list", "vfs"),
            ("newer", "plugin"),
        ] {
            assert_eq!(type_of(newer, name), kind, "{name} of {profile}");
        }
        for (name, kind) in [
            ("update_todos", "builtin"),
            ("update_goals", "builtin"),
            ("update_reflection", "builtin"),
            ("file_head", "file"),
            ("file_grep", "file"),
            ("cache_list", "file"),
            ("older", "plugin"),
            ("newer", "plugin"),
        ] {
            assert_eq!(type_of(older, name), kind, "{name} of {profile}");
        }
        assert!(type_of(older, "run_command").is_string(), "{older:#}");
        for data in [newer, older] {
            assert_eq!(data["context_name"], chibi.room.context());
            assert_eq!(data["recursion_depth"], 0);
            assert!(
                data.get("fuel_total").is_none(),
                "no fuel without a limit: {data:#}"
            );
        }
    }
}

/// The tools that the model is offered when two plugins answer so.
fn offered(profile: &str, first: &str, second: &str) -> Vec<String> {
    let chibi = Chibi::new();
    chibi.plugin(Newer, "a", &["pre_api_tools"], &format!("echo '{first}'"));
    chibi.plugin(Older, "b", &["pre_api_tools"], &format!("echo '{second}'"));
    let told = chibi
        .ask(&["--tools", profile, "hello"], &[says("hi")])
        .went_well();
    told.tools(0)
}

#[test]
fn tools_are_excluded_by_either_and_included_by_both() {
    let all = offered("chibi", "{}", "{}");
    let has = |tools: &[String], name: &str| tools.iter().any(|tool| tool == name);
    assert!(
        has(&all, "shell_exec") && has(&all, "write_file") && has(&all, "a"),
        "{all:?}"
    );

    let left = offered(
        "chibi",
        r#"{"exclude":["shell_exec"]}"#,
        r#"{"exclude":["write_file","nothing"]}"#,
    );
    assert!(
        !has(&left, "shell_exec") && !has(&left, "write_file") && has(&left, "a"),
        "{left:?}"
    );
    assert_eq!(left.len(), all.len() - 2);

    let first = r#"{"include":["write_file","fetch_url","a"]}"#;
    let second = r#"{"include":["a","fetch_url","update_todos"]}"#;
    let mut left = offered("chibi", first, second);
    left.sort();
    assert_eq!(left, ["a", "fetch_url"]);

    let left = offered("chibi", first, r#"{"exclude":["a"]}"#);
    assert!(has(&left, "write_file") && !has(&left, "a"), "{left:?}");
    assert_eq!(left.len(), 2);

    assert_eq!(offered("chibi", r#"{"include":[]}"#, "{}"), Vec::<String>::new());
    let own = offered(
        "becket",
        r#"{"exclude":["shell_exec"]}"#,
        r#"{"exclude":["run_command"]}"#,
    );
    assert!(!has(&own, "shell") && has(&own, "write"), "{own:?}");
}

#[test]
fn an_operation_stays_while_one_of_its_names_stays() {
    let has = |tools: &[String], name: &str| tools.iter().any(|tool| tool == name);
    let left = offered("becket", r#"{"exclude":["file_head","file_tail"]}"#, "{}");
    assert!(has(&left, "read"), "{left:?}");
    let left = offered(
        "becket",
        r#"{"exclude":["file_head","file_tail","file_lines","file_grep"]}"#,
        "{}",
    );
    assert!(!has(&left, "read") && has(&left, "grep"), "{left:?}");
}

#[test]
fn a_tool_that_was_taken_away_cannot_be_called() {
    let chibi = Chibi::new();
    chibi.plugin(
        Newer,
        "a",
        &["pre_api_tools"],
        "echo '{\"exclude\":[\"shell_exec\"]}'",
    );
    let told = chibi
        .ask(&["--yes", "go"], &[runs("touch ran"), says("done")])
        .went_well();
    assert!(!told.tools(0).contains(&"shell".to_owned()), "{told:#?}");
    assert!(!chibi.room.has("ran"));
}

#[test]
fn pre_api_request_is_merged_into_the_body_with_messages_and_tools() {
    if !needs("python3") {
        return;
    }
    let chibi = Chibi::new();
    chibi.python(
        Newer,
        "a",
        &["pre_api_request"],
        r#"
body = data["request_body"]
messages = body["messages"] + [{"role": "user", "content": "from a"}]
answer = {"request_body": {"temperature": 0.1, "top_p": 0.5, "messages": messages, "tools": body["tools"][:1]}}
"#,
    );
    chibi.python(
        Older,
        "b",
        &["pre_api_request"],
        r#"
assert data["request_body"]["messages"][-1]["content"] == "from a", data
answer = {"request_body": {"temperature": 1.2, "seed": 7}}
"#,
    );
    let told = chibi.ask(&["hello"], &[says("hi")]).went_well().asked(1);
    let body = &told.requests[0];
    assert_eq!(body["temperature"], 1.2);
    assert_eq!(body["top_p"], 0.5);
    assert_eq!(body["seed"], 7);
    assert_eq!(body["stream"], true);
    assert_eq!(told.prompt(0), "from a");
    assert_eq!(told.tools(0).len(), 1);
    for seen in chibi.seen_of("pre_api_request") {
        assert_eq!(seen.data["context_name"], chibi.room.context());
        assert_eq!(seen.data["recursion_depth"], 0);
        has_fields(&seen.data["request_body"], &["model", "messages", "tools"]);
    }
}

#[test]
fn a_changed_request_is_changed_in_every_round() {
    let chibi = Chibi::new();
    chibi.plugin(
        Newer,
        "a",
        &["pre_api_request"],
        "echo '{\"request_body\":{\"temperature\":0.1}}'",
    );
    let told = chibi
        .ask(&["--yes", "go"], &[runs("true"), says("done")])
        .went_well()
        .asked(2);
    assert!(
        told.requests.iter().all(|body| body["temperature"] == 0.1),
        "{told:#?}"
    );
}

#[test]
fn pre_agentic_loop_decides_who_goes_on_and_how_far() {
    let chibi = Chibi::new();
    chibi.room.config("[agent]\nfuel = 9\n");
    let hooks = [
        "pre_message",
        "pre_api_tools",
        "pre_api_request",
        "pre_agentic_loop",
    ];
    chibi.plugin(
        Newer,
        "loop",
        &hooks,
        "[[ $CHIBI_HOOK == pre_agentic_loop ]] && echo '{\"fallback\":\"call_agent\",\"fuel\":2}'; true",
    );
    chibi.plugin(Older, "older", &hooks, "");
    let told = chibi.ask(&["go on"], &[says("first"), says("second"), says("third")]);
    assert!(told.requests.len() >= 2, "the model goes on by itself: {told:#?}");
    let first = &chibi.told("older", "pre_agentic_loop")[0];
    assert_eq!(first["context_name"], chibi.room.context());
    assert_eq!(first["current_fallback"], "call_user");
    assert_eq!(first["message"], "go on");
    assert_eq!(
        (&first["fuel_remaining"], &first["fuel_total"]),
        (&json!(9), &json!(9))
    );
    let depths = |hook: &str| -> Vec<Value> {
        let told = chibi.told("older", hook).into_iter();
        told.map(|data| data["recursion_depth"].clone()).collect()
    };
    assert_eq!(depths("pre_api_tools")[..2], [json!(0), json!(1)]);
    assert_eq!(depths("pre_api_request")[..2], [json!(0), json!(1)]);
    let again = &chibi.told("older", "pre_message")[1];
    assert!(
        again["prompt"].as_str().expect("a prompt").contains("call_user"),
        "{again:#}"
    );
}

#[test]
fn fuel_that_a_hook_sets_limits_the_rounds() {
    let chibi = Chibi::new();
    chibi.room.config("[agent]\nfuel = 9\n");
    chibi.plugin(Newer, "loop", &["pre_agentic_loop"], "echo '{\"fuel\":2}'");
    let round = |number: usize| runs(&format!("touch ran{number}"));
    let told = chibi.ask(&["--yes", "go"], &[round(1), round(2), round(3), round(4)]);
    assert!(chibi.room.has("ran1") && chibi.room.has("ran2"), "{told:#?}");
    assert!(!chibi.room.has("ran3") && !chibi.room.has("ran4"), "{told:#?}");
}

#[test]
fn post_tool_batch_counts_and_takes_fuel() {
    let chibi = Chibi::new();
    chibi.room.config("[agent]\nfuel = 9\n");
    chibi.plugin(Newer, "a", &["post_tool_batch"], "echo '{\"fuel_delta\":-5}'");
    chibi.plugin(Older, "b", &["post_tool_batch"], "echo '{\"fuel_delta\":1}'");
    let round = |number: usize| runs(&format!("touch ran{number}"));
    let told = chibi.ask(&["--yes", "go"], &[round(1), round(2), round(3), round(4)]);
    assert!(chibi.room.has("ran1") && chibi.room.has("ran2"), "{told:#?}");
    assert!(!chibi.room.has("ran3"), "{told:#?}");
    let (newer, older) = (
        &chibi.told("a", "post_tool_batch")[0],
        &chibi.told("b", "post_tool_batch")[0],
    );
    assert_eq!(newer["context_name"], chibi.room.context());
    assert_eq!(newer["current_fallback"], "call_user");
    assert_eq!(newer["fuel_total"], 9);
    assert!(newer["fuel_remaining"].as_u64() >= Some(8), "{newer:#}");
    let call = |name: &str| json!([{"name": name, "arguments": {"command": "touch ran1"}}]);
    assert_eq!(newer["tool_calls"], call("shell_exec"));
    assert_eq!(older["tool_calls"], call("run_command"));
}

#[test]
fn post_tool_batch_beats_pre_agentic_loop() {
    let chibi = Chibi::new();
    chibi.room.config("[agent]\nfuel = 9\n");
    chibi.plugin(
        Newer,
        "a",
        &["pre_agentic_loop"],
        "echo '{\"fallback\":\"call_agent\"}'",
    );
    chibi.plugin(
        Newer,
        "b",
        &["post_tool_batch"],
        "echo '{\"fallback\":\"call_user\"}'",
    );
    chibi
        .ask(
            &["--yes", "go"],
            &[runs("true"), says("done"), says("never asked for")],
        )
        .went_well()
        .asked(2);
    let told = chibi.only("post_tool_batch");
    assert_eq!(told["current_fallback"], "call_agent", "{told:#}");
}

#[test]
fn call_user_ends_the_turn_and_is_told_as_the_response() {
    let chibi = Chibi::new();
    chibi
        .room
        .config("[agent]\nfuel = 9\nfallback = \"call_agent\"\n");
    let hooks = ["pre_tool", "post_tool_batch", "post_message"];
    chibi.plugin(Newer, "watch", &hooks, "");
    let told = chibi
        .ask(
            &["go"],
            &[calls("call_user", json!({"message": "your turn"})), says("never")],
        )
        .went_well()
        .asked(1);
    assert!(told.run.stdout.contains("your turn"), "{told:#?}");
    assert_eq!(chibi.only("pre_tool")["tool_name"], "call_user");
    assert_eq!(
        chibi.only("post_tool_batch")["tool_calls"][0]["name"],
        "call_user"
    );
    assert_eq!(chibi.only("post_message")["response"], "your turn");
}

/// Hooks that are no guards, and an answer to each that would be felt.
const FELT: &[(&str, &str)] = &[
    ("on_start", "{}"),
    ("pre_message", r#"{"prompt":"CHANGED"}"#),
    ("pre_system_prompt", r#"{"inject":"CHANGED"}"#),
    ("post_system_prompt", r#"{"inject":"CHANGED"}"#),
    ("pre_api_tools", r#"{"include":[]}"#),
    ("pre_api_request", r#"{"request_body":{"stop":"CHANGED"}}"#),
    ("pre_agentic_loop", r#"{"fallback":"call_agent","fuel":1}"#),
    ("pre_tool_output", r#"{"output":"CHANGED"}"#),
    ("post_tool_output", "{}"),
    ("post_tool", "{}"),
    ("post_tool_batch", r#"{"fuel_delta":-100}"#),
    ("post_message", "{}"),
    ("on_end", "{}"),
];

/// The hooks of `FELT` that do not stand between data and the model.
fn without_filters() -> Vec<&'static str> {
    let filters = [
        "pre_message",
        "pre_api_tools",
        "pre_api_request",
        "pre_tool_output",
    ];
    let names = FELT.iter().map(|(hook, _)| *hook);
    names.filter(|hook| !filters.contains(hook)).collect()
}

#[test]
fn a_hook_that_fails_is_skipped_with_a_warning_also_when_it_answers() {
    let chibi = Chibi::new();
    let hooks = without_filters();
    let answers: String = FELT
        .iter()
        .map(|(hook, answer)| format!("{hook}) echo '{answer}' ;;\n"))
        .collect();
    let body = format!("case $CHIBI_HOOK in\n{answers}esac\necho \"clumsy at $CHIBI_HOOK\" >&2\nexit 1");
    chibi.plugin(Newer, "clumsy", &hooks, &body);
    let told = chibi
        .ask(&["--yes", "go"], &[runs("echo as it was"), says("done")])
        .went_well()
        .asked(2);
    assert_eq!(told.run.stdout, "done\n");
    assert!(told.results()[0].contains("as it was"), "{told:#?}");
    assert!(!told.requests[1].to_string().contains("CHANGED"), "{told:#?}");
    assert!(!told.tools(0).is_empty());
    for hook in hooks {
        assert!(
            told.run.stderr.contains(&format!("clumsy at {hook}")),
            "{hook}: {told:#?}"
        );
        let by_its_own_name = format!(" on {hook}: exited with an error");
        assert!(told.run.stderr.contains(&by_its_own_name), "{hook}: {told:#?}");
    }
}

#[test]
fn words_that_are_no_answer_have_no_effect() {
    for words in [
        "thank you",
        "[1,2]",
        "5",
        "null",
        "\"CHANGED\"",
        r#"{"prompt":5,"inject":[],"unknown":1}"#,
    ] {
        let chibi = Chibi::new();
        let hooks = without_filters();
        chibi.plugin(Newer, "chatty", &hooks, &format!("echo '{words}'"));
        let told = chibi
            .ask(&["--yes", "go"], &[runs("echo as it was"), says("done")])
            .went_well()
            .asked(2);
        assert_eq!(told.run.stdout, "done\n", "{words}");
        let (mut fired, mut wanted) = (chibi.order(), hooks);
        fired.sort();
        fired.dedup();
        wanted.sort();
        assert_eq!(fired, wanted);
        assert!(told.prompt(0).ends_with("go"), "{words}: {told:#?}");
        assert!(
            !told.requests[1].to_string().contains("CHANGED"),
            "{words}: {told:#?}"
        );
    }
}
