//! The loop as a user sees it: whose turn it is, what fuel does, and the notes that a context keeps.

use serde_json::{Value, json};
use testkit::{ModelServer, OpenAiStream, Response, Room};

use crate::room_with_all_tools as room;

fn call(name: &str, arguments: &Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

fn ending(message: &str) -> Value {
    json!({"tool_calls": [call("call_user", &json!({"message": message}))]})
}

/// A room in which the model goes on until it ends its turn.
fn tireless() -> Room {
    let room = room();
    room.config("[agent]\nfallback = \"call_agent\"\n");
    room
}

#[test]
fn a_model_that_ends_its_turn_by_a_tool_has_answered() {
    let room = tireless();
    let model = room.model(&json!([ending("Everything is **done**.")]));
    let run = room.run(["--model", &model, "go"]).ended_with(0);
    assert_eq!(run.stdout, "Everything is **done**.\n");

    let run = room
        .run(["--json", "-c", "json", "--model", &model, "go"])
        .ended_with(0);
    assert_eq!(run.events_named("stop")[0]["response"], "Everything is **done**.");
    let messages = run.events_named("message_end");
    let last = &messages.last().unwrap()["message"];
    assert_eq!(last["role"], "assistant");
    assert_eq!(last["content"][0]["text"], "Everything is **done**.");
    let decided = &run.events_named("approval_decided")[0];
    assert_eq!(
        (&decided["tool_name"], &decided["source"]),
        (&json!("call_user"), &json!("read_only"))
    );
}

#[test]
fn the_words_that_ended_a_turn_are_part_of_the_conversation() {
    let stream = OpenAiStream::new("m").tool_call(0, "c1", "call_user", &[r#"{"message":"It is blue."}"#]);
    let server = ModelServer::start([
        Response::events(stream.finish("tool_calls").done()),
        Response::events(OpenAiStream::new("m").text("As I said.").finish("stop").done()),
    ]);
    let room = room()
        .with("OPENAI_API_KEY", "sk-test")
        .with("OPENAI_BASE_URL", &server.url());
    room.config("[agent]\ncall_user = true\n");
    room.run(["Which colour?"]).ended_with(0).said("It is blue.");
    room.run(["Are you sure?"]).ended_with(0).said("As I said.");
    let body = server.requests()[1].json();
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        ["system", "user", "assistant", "tool", "assistant", "user"]
    );
    assert_eq!(messages[4]["content"], "It is blue.");
}

#[test]
fn a_model_is_asked_again_until_it_ends_its_turn_or_the_fuel_is_used_up() {
    let room = tireless();
    let again = json!({"text": "One more.", "expect": ["It is your turn again (by call_agent", "fuel 2/3"]});
    let model = room.model(&json!([{"text": "Thinking."}, again, ending("There.")]));
    let run = room
        .run(["--json", "--fuel", "3", "--model", &model, "go"])
        .ended_with(0);
    let counted: Vec<Value> = run
        .events_named("user_prompt")
        .iter()
        .map(|event| event["continuation"].clone())
        .collect();
    assert_eq!(counted, [json!(0), json!(1), json!(2)]);

    let talk: Vec<Value> = (0..3)
        .map(|number| json!({"text": format!("Word {number}.")}))
        .collect();
    let model = room.model(&json!(talk));
    let run = room.run(["--json", "-c", "dry", "--fuel", "2", "--model", &model, "go"]);
    let run = run
        .ended_with(5)
        .complained("the fuel for this prompt is used up");
    assert_eq!(run.events_named("response").len(), 2);
}

#[test]
fn no_fuel_means_no_limit_also_against_the_configuration() {
    let room = room();
    room.config("[agent]\nfuel = 1\n");
    let shell = |command: &str| json!({"tool_calls": [call("shell", &json!({"command": command}))]});
    let model = room.model(&json!([shell("true"), shell("echo x"), {"text": "done"}]));
    let run = room
        .run(["--yes", "--json", "--model", &model, "go"])
        .ended_with(5);
    assert_eq!(run.events_named("loop_start")[0]["fuel_total"], 1);
    let run = room
        .run([
            "--yes", "--json", "--fuel", "0", "-c", "free", "--model", &model, "go",
        ])
        .ended_with(0);
    assert_eq!(run.events_named("loop_start")[0]["fuel_total"], json!(null));
}

#[test]
fn a_guardrail_gives_the_word_back_after_dangerous_tools() {
    let room = tireless();
    let hooks = room.hooks(
        "[[hook]]\nevent = \"tool_batch\"\ncommand = '''\n\
         grep -q '\"tool_name\":\"shell\"' && echo '{\"fallback\":\"call_user\",\"fuel\":{\"add\":-5}}' || true\n'''\n",
    );
    let shell = json!({"tool_calls": [call("shell", &json!({"command": "echo x"}))]});
    let model = room.model(&json!([shell, {"text": "I ran it."}, {"text": "never asked"}]));
    let arguments = [
        "--yes", "--json", "--fuel", "20", "--hooks", &hooks, "--model", &model, "go",
    ];
    let run = room.run(arguments).ended_with(0);
    assert_eq!(
        run.events_named("response").len(),
        2,
        "the next words end the turn"
    );
    assert_eq!(run.events_named("pre_request")[1]["fuel_remaining"], 20 - 5 - 1);
}

#[test]
fn empty_answers_end_in_a_clear_failure() {
    let room = room();
    let model = room.model(&json!([{"text": ""}, {"text": "", "thinking": "hm"}, {"text": " "}]));
    room.run(["--model", &model, "go"])
        .ended_with(3)
        .complained("the model answered with nothing 3 times in a row");
}

#[test]
fn a_context_keeps_its_own_notes_and_the_agent_one_of_its_own() {
    let room = room();
    let notes = json!({"tool_calls": [
        call("update_todos", &json!({"content": "- caulk the boat"})),
        call("update_goals", &json!({"content": "sail to Rona"})),
        call("update_reflection", &json!({"content": "I am too brief."})),
        call("update_todos", &json!({"content": 7})),
    ]});
    let model = room.model(&json!([notes, {"text": "noted", "expect": ["must be a text"]}]));
    let run = room
        .run(["--json", "-c", "boat", "--model", &model, "go"])
        .ended_with(0);
    assert!(
        run.events_named("permission_request").is_empty(),
        "nobody is asked about notes"
    );
    assert_eq!(run.events_named("pre_tool").len(), 3);
    let data = "../home/.local/share/becket";
    assert_eq!(
        room.read(&format!("{data}/contexts/boat/todos.md")),
        "- caulk the boat"
    );
    assert_eq!(
        room.read(&format!("{data}/contexts/boat/goals.md")),
        "sail to Rona"
    );
    assert_eq!(room.read(&format!("{data}/reflection.md")), "I am too brief.");

    let sees = json!(["caulk the boat", "sail to Rona", "I am too brief."]);
    let model = room.model(&json!([{"text": "ok", "expect": sees}]));
    let run = room
        .run(["--json", "-c", "boat", "--model", &model, "go on"])
        .ended_with(0);
    for event in ["pre_system_prompt", "post_system_prompt"] {
        let event = &run.events_named(event)[0];
        assert_eq!(
            (&event["todos"], &event["goals"]),
            (&json!("- caulk the boat"), &json!("sail to Rona"))
        );
    }
    let model = room.model(&json!([{"text": "ok", "expect": ["I am too brief."]}]));
    let run = room
        .run(["--json", "-c", "other", "--model", &model, "hello"])
        .ended_with(0);
    let event = &run.events_named("pre_system_prompt")[0];
    assert_eq!((&event["todos"], &event["goals"]), (&json!(null), &json!(null)));
}

#[test]
fn rules_may_deny_notes_and_reflection_may_be_switched_off() {
    let room = room();
    room.config("[agent]\nreflection = false\n[permissions]\ndeny = [\"update_todos\"]\n");
    let notes = json!({"tool_calls": [
        call("update_todos", &json!({"content": "x"})),
        call("update_reflection", &json!({"content": "x"})),
    ]});
    let expect = json!([
        "the rule `update_todos` denies it",
        "there is no tool `update_reflection`"
    ]);
    let model = room.model(&json!([notes, {"text": "ok", "expect": expect}]));
    let run = room.run(["--model", &model, "go"]).ended_with(0);
    assert!(
        !run.stderr.contains("does not exist"),
        "the rule names a real tool: {}",
        run.stderr
    );
    assert!(!room.has(&format!(
        "../home/.local/share/becket/contexts/{}/todos.md",
        room.context()
    )));
    assert!(!room.has("../home/.local/share/becket/reflection.md"));
}

#[test]
fn which_tools_of_beckets_own_a_profile_has() {
    let notes = ["update_todos", "update_goals", "update_reflection"];
    let between = ["send_message", "flock_join", "flock_leave", "flock_list"];
    let index = ["index_update", "index_query", "index_status", "index_map"];
    let agents = ["spawn_agent", "summarize_content"];
    let others = [&between[..], &index[..], &agents[..], &["scheme_eval"]].concat();
    let jobs = [
        "list_background_jobs",
        "view_background_job",
        "stop_background_job",
    ];
    let toolset = |name| becket_docker_agent::toolset_tools(name).expect("a toolset");
    let of_toolsets = [
        &["read_multiple_files"][..],
        &jobs[..],
        toolset("todo"),
        toolset("think"),
        toolset("memory"),
    ];
    for (profile, wanted) in [
        ("becket", [&jobs[..], &notes[..], &others[..]].concat()),
        (
            "chibi",
            [
                &notes[..],
                &["call_user"],
                &others[..],
                &["read_context", "model_info"],
            ]
            .concat(),
        ),
        ("pi", vec![]),
        ("docker-agent", of_toolsets.concat()),
    ] {
        let room = room();
        let model = room.model(&json!([{"text": "ok"}]));
        let run = room
            .run(["--json", "--tools", profile, "--model", &model, "go"])
            .ended_with(0);
        let offered = run.events_named("tools_offered")[0]["tools"].clone();
        let own = offered
            .as_array()
            .unwrap()
            .iter()
            .filter(|tool| tool["operation"].is_null());
        let own: Vec<&str> = own.map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(own, wanted, "{profile}");
    }
}

#[test]
fn settings_of_the_loop_that_make_no_sense_are_named() {
    for (config, complaint) in [
        ("[agent]\nfallback = \"call_nobody\"\n", "config.toml:2"),
        (
            "[compaction]\nat_percent = 0\n",
            "0 is no percentage from 1 to 100",
        ),
        ("[compaction]\n\ndrop_percent = 101\n", "config.toml:3"),
        ("[compaction]\ncontext_window = 0\n", "config.toml:2"),
    ] {
        let room = room();
        room.config(config);
        room.run(["hello"]).ended_with(2).complained(complaint);
    }
}
