//! Sub-agents as a user sees them: what they are given, what they may do, what stops them, and what they leave behind.

use serde_json::{Value, json};
use testkit::{Finished, Room, Signal};

use crate::room_with_all_tools as room;

fn call(name: &str, arguments: &Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// A turn in which a sub-agent is asked.
fn spawn(more: &Value) -> Value {
    json!({"tool_calls": [task(more)]})
}

/// The call of such a turn.
fn task(more: &Value) -> Value {
    let mut arguments = json!({"system_prompt": "You help.", "input": "the task"});
    for (name, value) in more.as_object().expect("arguments are an object") {
        arguments[name] = value.clone();
    }
    call("spawn_agent", &arguments)
}

fn shell(command: &str) -> Value {
    json!({"tool_calls": [call("shell", &json!({"command": command}))]})
}

fn says(text: &str) -> Value {
    json!({"text": text})
}

/// A script of its own for a sub-agent, as its argument `model`.
fn script(room: &Room, name: &str, turns: &Value) -> String {
    room.write(name, turns.to_string());
    format!("scripted/{name}")
}

/// Runs a script with all events, and a yes to every question.
fn play(room: &Room, turns: &Value) -> Finished {
    let model = room.model(turns);
    room.run(["--json", "--yes", "--model", &model, "go"])
}

/// The results of the tools that the parent called.
fn results(run: &Finished) -> Vec<String> {
    let messages = run.events_named("message_end").into_iter();
    let own = messages.filter(|event| event["parent_session_id"].is_null());
    let results = own.map(|event| event["message"].clone());
    results
        .filter(|message| message["role"] == "tool")
        .map(|message| {
            message["content"][0]["text"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        })
        .collect()
}

/// The only result.
#[track_caller]
fn result(run: &Finished) -> String {
    let mut results = results(run);
    assert_eq!(results.len(), 1, "{results:?}: {}", run.stderr);
    results.remove(0)
}

/// The events of sub-agents.
fn of_children(run: &Finished, name: &str) -> Vec<Value> {
    let events = run.events_named(name).into_iter();
    events
        .filter(|event| !event["parent_session_id"].is_null())
        .collect()
}

/// All sessions of the store, as `becket sessions` tells programs.
fn sessions(room: &Room) -> Vec<Value> {
    room.run(["--json", "sessions"]).ended_with(0).events()
}

#[test]
fn a_sub_agent_answers_from_what_it_is_told_and_nothing_else() {
    let room = room();
    room.write("AGENTS.md", "SECRET of the project");
    let child = script(
        &room,
        "child.json",
        &json!([{"text": "its answer", "expect": ["You help.", "the task"]}]),
    );
    let turns = json!([
        spawn(&json!({"model": child, "temperature": 0.25, "max_tokens": 9})),
        says("done")
    ]);
    let run = play(&room, &turns).ended_with(0);
    assert_eq!(result(&run), "its answer");
    let request = &of_children(&run, "pre_request")[0]["body"];
    assert_eq!(
        (&request["temperature"], &request["max_tokens"]),
        (&json!(0.25), &json!(9))
    );
    assert_eq!(request["messages"].as_array().unwrap().len(), 2, "{request}");
    assert_eq!(request["messages"][0]["content"], "You help.");
    assert!(request["tools"].as_array().is_none_or(Vec::is_empty), "{request}");
    assert!(!request.to_string().contains("SECRET"));
}

#[test]
fn its_session_stands_below_its_parents_and_outside_of_the_conversation() {
    let room = room();
    let child = script(&room, "child.json", &json!([says("from below")]));
    let turns = json!([spawn(&json!({"model": child, "name": "helper"})), says("done")]);
    let run = play(&room, &turns).ended_with(0);
    let parent = run.events_named("session_start")[0]["session_id"].clone();
    let started = of_children(&run, "session_start").remove(0);
    assert_eq!(
        (
            &started["parent_session_id"],
            &started["agent_name"],
            &started["reason"]
        ),
        (&parent, &json!("helper"), &json!("subagent"))
    );
    let names = [
        "user_prompt",
        "pre_system_prompt",
        "agent_start",
        "turn_start",
        "pre_request",
        "response",
        "turn_end",
        "agent_end",
        "session_end",
    ];
    for name in names {
        let events = of_children(&run, name);
        assert_eq!(events.len(), 1, "{name}");
        assert_eq!(events[0]["session_id"], started["session_id"], "{name}");
    }
    for name in ["user_input", "attention"] {
        assert_eq!(of_children(&run, name).len(), 0, "{name} is the user's");
    }
    let ended = &run.events_named("post_subagent")[0];
    assert_eq!(
        (&ended["subagent_session_id"], &ended["response"], &ended["error"]),
        (&started["session_id"], &json!("from below"), &Value::Null)
    );
    let stored = sessions(&room);
    assert_eq!(stored.len(), 2, "{stored:?}");
    assert_eq!(
        (&stored[0]["id"], &stored[0]["parent_id"]),
        (&parent, &Value::Null)
    );
    assert_eq!(
        (
            &stored[1]["parent_id"],
            &stored[1]["reason"],
            &stored[1]["entry_count"]
        ),
        (&parent, &json!("done"), &json!(2))
    );
    let listing = room.run(["sessions"]).ended_with(0).stdout;
    assert!(listing.lines().nth(1).unwrap().starts_with("  "), "{listing}");
    room.run(["context", "log"]).ended_with(0).said("done");
    let log = room.run(["context", "log"]).stdout;
    assert_eq!(
        log.matches("the task").count(),
        1,
        "only in the call itself: {log}"
    );
    room.run(["doctor"]).ended_with(0);
    let next = room.model(&json!([{"text": "yes", "expect": ["go", "done"]}]));
    room.run(["--model", &next, "still there?"])
        .ended_with(0)
        .said("yes");
}

#[test]
fn what_it_costs_is_counted_to_its_parent() {
    let room = room();
    let usage = |input: u64, output: u64| json!({"input_tokens": input, "output_tokens": output});
    let child = script(
        &room,
        "child.json",
        &json!([{"text": "x", "usage": usage(1000, 100)}]),
    );
    let mut first = spawn(&json!({"model": child}));
    first["usage"] = usage(10, 1);
    let run = play(&room, &json!([first, {"text": "done", "usage": usage(20, 2)}])).ended_with(0);
    let ends = run.events_named("agent_end");
    let own: Vec<&Value> = ends
        .iter()
        .filter(|end| end["parent_session_id"].is_null())
        .collect();
    assert_eq!(own[0]["usage"]["input_tokens"], 1030);
    assert_eq!(own[0]["usage"]["output_tokens"], 103);
    assert_eq!(
        run.events_named("post_subagent")[0]["usage"]["input_tokens"],
        1000
    );
}

// ---- tools

#[test]
fn its_tools_are_those_that_it_is_given_in_its_parents_directory() {
    let room = room();
    let child = script(
        &room,
        "child.json",
        &json!([shell("pwd > ran"), says("wrote it")]),
    );
    let turns = json!([
        spawn(&json!({"model": child, "tools": ["shell", "read"]})),
        says("done")
    ]);
    let run = play(&room, &turns).ended_with(0);
    assert_eq!(result(&run), "wrote it");
    let work = room.work().canonicalize().unwrap();
    assert_eq!(room.read("ran").trim(), work.display().to_string());
    let offered: Vec<String> = of_children(&run, "tools_offered")[0]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(offered, ["shell", "read"]);
    assert_eq!(
        run.events_named("pre_subagent")[0]["tools"],
        json!(["shell", "read"])
    );
    let decided = of_children(&run, "approval_decided");
    assert_eq!(
        (&decided[0]["tool_name"], &decided[0]["source"]),
        (&json!("shell"), &json!("yes"))
    );
}

#[test]
fn true_gives_it_all_tools_except_those_that_give_the_word_to_somebody() {
    let room = room();
    room.config("[agent]\ncall_user = true\n\n[subagents]\nmax_depth = 1\n");
    let child = script(&room, "child.json", &json!([says("x")]));
    let run = play(
        &room,
        &json!([spawn(&json!({"model": child, "tools": true})), says("done")]),
    )
    .ended_with(0);
    let names = |event: &Value| -> Vec<String> {
        let tools = event["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let mut expected = names(&run.events_named("tools_offered")[0]);
    expected.retain(|name| !["call_user", "spawn_agent", "summarize_content"].contains(&name.as_str()));
    assert_eq!(names(&of_children(&run, "tools_offered")[0]), expected);
    assert!(expected.contains(&"shell".to_owned()));
}

/// Everything that keeps a parent from a call keeps its sub-agents from it.
#[test]
fn what_binds_the_parent_binds_its_sub_agents() {
    let hook = |event: &str, answer: &str| {
        format!("[[hook]]\nevent = \"{event}\"\nname = \"keeper\"\ncommand = [\"echo\", '{answer}']\n")
    };
    let deny = r#"{"verdict":{"deny":"not here"}}"#;
    let table = [
        (
            "[permissions]\ndeny = [\"shell\"]",
            String::new(),
            "--yes",
            "the rule `shell` denies it",
        ),
        ("", hook("pre_shell", deny), "--yes", "not here"),
        ("", String::new(), "--no-color", "there is no terminal to ask at"),
    ];
    for (config, hooks, flag, reason) in table {
        let room = room();
        room.config(config);
        let hooks = room.hooks(&hooks);
        let flag = if flag == "--yes" { vec!["--yes"] } else { vec![] };
        let child = script(
            &room,
            "child.json",
            &json!([shell("touch ran"), says("could not")]),
        );
        let model = room.model(&json!([
            spawn(&json!({"model": child, "tools": ["shell"]})),
            says("done")
        ]));
        let fixed = ["--json", "--hooks", &hooks, "--model", &model, "go"];
        let run = room.run(flag.into_iter().chain(fixed)).ended_with(0);
        assert!(!room.has("ran"), "{reason}");
        assert_eq!(result(&run), "could not");
        let told = &of_children(&run, "tool_end")[0]["content"][0]["text"];
        assert!(told.as_str().unwrap().contains(reason), "{told}");
    }
}

#[test]
fn a_tool_that_was_taken_from_the_parent_cannot_be_given() {
    let room = room();
    let hooks = room.hooks(
        "[[hook]]\nevent = \"tools_offered\"\ncommand = \"echo '{\\\"exclude\\\":[\\\"shell\\\"]}'\"\n",
    );
    let turns = json!([
        spawn(&json!({"tools": ["shell"]})),
        spawn(&json!({"tools": ["shel"]})),
        says("done")
    ]);
    let model = room.model(&turns);
    let run = room
        .run(["--json", "--yes", "--hooks", &hooks, "--model", &model, "go"])
        .ended_with(0);
    for result in results(&run) {
        assert!(
            result.contains("refused: a sub-agent cannot have the tool `shel"),
            "{result}"
        );
        assert!(result.contains("there are read, write"), "{result}");
    }
    assert_eq!(sessions(&room).len(), 1, "nobody was asked");
}

// ---- limits

#[test]
fn sub_agents_have_sub_agents_down_to_the_limit() {
    let room = room();
    let deepest = script(
        &room,
        "deepest.json",
        &json!([spawn(&json!({"input": "too deep"})), says("alone")]),
    );
    let middle = json!([
        spawn(&json!({"model": deepest, "tools": true, "name": "deepest"})),
        says("middle")
    ]);
    let middle = script(&room, "middle.json", &middle);
    let turns = json!([
        spawn(&json!({"model": middle, "tools": true, "name": "middle"})),
        says("done")
    ]);
    let run = play(&room, &turns).ended_with(0);
    assert_eq!(result(&run), "middle");
    let ended = of_children(&run, "tool_end");
    let texts: Vec<&str> = ended
        .iter()
        .map(|event| event["content"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].contains("there is no tool `spawn_agent`"), "{texts:?}");
    assert_eq!(texts[1], "alone");
    let depths: Vec<Value> = run
        .events_named("pre_subagent")
        .iter()
        .map(|event| event["depth"].clone())
        .collect();
    assert_eq!(depths, [1, 2]);
    let listing = room.run(["sessions"]).ended_with(0).stdout;
    let indents: Vec<usize> = listing
        .lines()
        .map(|line| line.len() - line.trim_start().len())
        .collect();
    assert_eq!(indents, [0, 2, 4], "{listing}");
}

#[test]
fn without_depth_there_are_none_and_the_model_is_told() {
    let room = room();
    room.config("[subagents]\nmax_depth = 0\n");
    let run = play(&room, &json!([spawn(&json!({})), says("done")])).ended_with(0);
    assert!(
        result(&run).contains("there are no sub-agents here (`subagents.max_depth`)"),
        "{}",
        result(&run)
    );
    let offered = run.events_named("tools_offered")[0].to_string();
    assert!(
        !offered.contains("spawn_agent") && !offered.contains("summarize_content"),
        "{offered}"
    );
    assert_eq!(run.events_named("pre_subagent").len(), 0);
}

#[test]
fn requests_and_tokens_are_limited() {
    let usage = json!({"input_tokens": 900, "output_tokens": 100});
    let busy = |number: usize| {
        let mut turn = shell(&format!("echo {number} >> ran"));
        turn["usage"] = usage.clone();
        turn["text"] = json!(format!("step {number}"));
        turn
    };
    for (config, rounds, reason) in [
        (
            "max_turns = 2",
            2,
            "the limit of 2 requests for one prompt is reached",
        ),
        (
            "token_budget = 2500",
            3,
            "the 2500 tokens that sub-agents may use for one prompt are used up",
        ),
    ] {
        let room = room();
        room.config(&format!("[subagents]\n{config}\n"));
        let child = script(
            &room,
            "child.json",
            &json!([busy(1), busy(2), busy(3), busy(4), says("never said")]),
        );
        let turns = json!([spawn(&json!({"model": child, "tools": ["shell"]})), says("done")]);
        let run = play(&room, &turns).ended_with(0);
        let told = result(&run);
        assert!(told.contains(reason), "{told}");
        assert!(
            told.ends_with(&format!("Its last words were: step {rounds}")),
            "{told}"
        );
        assert_eq!(room.read("ran").lines().count(), rounds);
        assert_eq!(sessions(&room)[1]["reason"], "limit");
        let ended = &run.events_named("post_subagent")[0];
        assert!(ended["error"].as_str().unwrap().contains(reason), "{ended}");
    }
}

#[test]
fn what_it_burns_is_its_parents_fuel() {
    let room = room();
    let child = json!([shell("echo 1"), shell("echo 2"), says("two rounds")]);
    let child = script(&room, "child.json", &child);
    let model = room.model(&json!([
        spawn(&json!({"model": child, "tools": ["shell"]})),
        says("done")
    ]));
    let run = room
        .run(["--json", "--yes", "--fuel", "6", "--model", &model, "go"])
        .ended_with(0);
    let left = |events: Vec<Value>| -> Vec<Value> {
        events
            .iter()
            .map(|event| event["fuel_remaining"].clone())
            .collect()
    };
    assert_eq!(left(of_children(&run, "tools_offered")), [6, 5, 4]);
    let own = run.events_named("tools_offered").into_iter();
    let own = own.filter(|event| event["parent_session_id"].is_null()).collect();
    assert_eq!(left(own), [6, 3]);

    let child = json!([shell("echo 1"), shell("echo 2"), says("never said")]);
    let child = script(&room, "child.json", &child);
    let model = room.model(&json!([
        spawn(&json!({"model": child, "tools": ["shell"]})),
        says("never said")
    ]));
    let run = room.run([
        "--json", "--yes", "--fuel", "2", "--model", &model, "-C", "poor", "go",
    ]);
    assert!(
        run.ended_with(5)
            .complained("fuel")
            .stdout
            .contains("did not finish")
    );
}

#[test]
fn all_sub_agents_of_an_answer_burn_from_one_tank() {
    let room = room();
    room.config("[subagents]\nmax_parallel = 1\n");
    let worker = |name: &str| {
        let turns = json!([shell("echo 1"), shell("echo 2"), says("two rounds")]);
        let model = script(&room, name, &turns);
        task(&json!({"model": model, "tools": ["shell"]}))
    };
    let model = room.model(&json!([
        {"tool_calls": [worker("1.json"), worker("2.json"), worker("3.json")]},
        says("never said")
    ]));
    let run = room
        .run(["--json", "--yes", "--fuel", "4", "--model", &model, "go"])
        .ended_with(5)
        .complained("fuel");
    let results = results(&run);
    assert_eq!(results[0], "two rounds");
    assert!(results[1].contains("did not finish"), "{results:?}");
    assert_eq!(results[2], "refused: the fuel for this prompt is used up");
    assert_eq!(of_children(&run, "tool_batch").len(), 4);
}

// ---- beside each other

/// A hook that holds each worker back until so many have come.
fn meeting(room: &Room, count: usize) -> String {
    let wait = format!(
        "mkdir -p ../here; touch ../here/$$; until [ $(ls ../here | wc -l) -ge {count} ]; do sleep 0.02; done"
    );
    room.hooks(&format!(
        "[[hook]]\nevent = \"pre_request\"\nmatch = {{ agent_name = {{ glob = \"worker-*\" }} }}\n\
         command = {wait:?}\ntimeout = 60\n"
    ))
}

fn workers(room: &Room, count: usize) -> Value {
    let worker = |number: usize| {
        let model = script(
            room,
            &format!("w{number}.json"),
            &json!([says(&format!("answer {number}"))]),
        );
        task(&json!({"model": model, "name": format!("worker-{number}")}))
    };
    json!({"tool_calls": (1..=count).map(worker).collect::<Vec<_>>()})
}

#[test]
fn several_of_one_turn_work_beside_each_other_and_answer_in_order() {
    let room = room();
    let hooks = meeting(&room, 5);
    let model = room.model(&json!([workers(&room, 5), says("done")]));
    let run = room
        .run(["--json", "--hooks", &hooks, "--model", &model, "go"])
        .ended_with(0);
    let expected: Vec<String> = (1..=5).map(|number| format!("answer {number}")).collect();
    assert_eq!(results(&run), expected);
}

#[test]
fn no_more_work_beside_each_other_than_is_set() {
    let room = room();
    room.config("[subagents]\nmax_parallel = 2\n");
    let hooks = meeting(&room, 2);
    let model = room.model(&json!([workers(&room, 6), says("done")]));
    let run = room
        .run(["--json", "--hooks", &hooks, "--model", &model, "go"])
        .ended_with(0);
    assert_eq!(results(&run).len(), 6);
    let (mut live, mut most) = (0_i32, 0);
    for event in run
        .events()
        .iter()
        .filter(|event| !event["parent_session_id"].is_null())
    {
        match event["event"].as_str().unwrap() {
            "session_start" => live += 1,
            "session_end" => live -= 1,
            _ => {}
        }
        most = most.max(live);
    }
    assert_eq!((live, most), (0, 2));
}

#[test]
fn their_calls_that_change_something_take_turns() {
    let room = room();
    let step = "test -e busy && echo together >> ran; touch busy; sleep 0.1; rm busy; echo one >> ran";
    let worker = |number: usize| {
        let turns = json!([shell(&format!("{step} # {number}")), says("x")]);
        let model = script(&room, &format!("w{number}.json"), &turns);
        task(&json!({"model": model, "tools": ["shell"]}))
    };
    let calls: Vec<Value> = (1..=4).map(worker).collect();
    play(&room, &json!([{"tool_calls": calls}, says("done")])).ended_with(0);
    assert_eq!(room.read("ran"), "one\n".repeat(4));
}

#[test]
fn the_failure_of_one_is_a_result_and_nothing_else() {
    let room = room();
    let broken = script(
        &room,
        "broken.json",
        &json!([{"error": {"kind": "rejected", "message": "no such model"}}]),
    );
    let whole = script(&room, "whole.json", &json!([says("fine")]));
    let missing = "scripted/missing.json";
    let calls = [&broken, &whole, missing].map(|model| task(&json!({"model": model})));
    let run = play(&room, &json!([{"tool_calls": calls}, says("done")])).ended_with(0);
    let results = results(&run);
    assert_eq!(results[0], "the sub-agent's model failed: no such model");
    assert_eq!(results[1], "fine");
    assert!(results[2].contains("missing.json cannot be read"), "{results:?}");
    let errors: Vec<Value> = run
        .events_named("post_tool")
        .iter()
        .map(|event| event["is_error"].clone())
        .collect();
    assert_eq!(errors, [true, false, true]);
    let mut reasons: Vec<String> = sessions(&room)
        .iter()
        .map(|session| session["reason"].to_string())
        .collect();
    reasons.sort();
    assert_eq!(reasons, ["\"done\"", "\"done\"", "\"failed\""]);
}

// ---- cancelling

#[test]
fn cancelling_the_parent_cancels_all_and_leaves_whole_sessions() {
    let room = room();
    let waiting = |name: &str| script(&room, name, &json!([{"text": "never said", "delay_ms": 600_000}]));
    let deepest = waiting("deepest.json");
    let busy = script(
        &room,
        "busy.json",
        &json!([shell("touch begun; sleep 600"), says("never said")]),
    );
    let middle = script(
        &room,
        "middle.json",
        &json!([spawn(&json!({"model": deepest})), says("never said")]),
    );
    let calls = [
        task(&json!({"model": waiting("a.json")})),
        task(&json!({"model": middle, "tools": ["spawn_agent"]})),
        task(&json!({"model": busy, "tools": ["shell"]})),
    ];
    let model = room.model(&json!([{"tool_calls": calls}, says("never said")]));
    let run = room.start(["--json", "--yes", "--model", &model, "go"]);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while sessions(&room).len() < 5 || !room.has("begun") {
        assert!(std::time::Instant::now() < deadline, "{:?}", sessions(&room));
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    run.signal(Signal::INT);
    let run = run.finish().ended_with(130);
    assert!(!run.stdout.contains("never said"));
    assert_eq!(
        run.events_named("session_start").len(),
        run.events_named("session_end").len()
    );
    assert_eq!(
        run.events_named("turn_start").len(),
        run.events_named("turn_end").len()
    );
    let stored = sessions(&room);
    assert_eq!(stored.len(), 5);
    for session in &stored {
        assert_eq!(session["reason"], "cancelled", "{session}");
    }
    room.run(["doctor"]).ended_with(0);
    let next = room.model(&json!([{"text": "resumed", "expect": ["cancelled"]}]));
    room.run(["--model", &next, "go on"])
        .ended_with(0)
        .said("resumed");
}

// ---- hooks

/// One hook of `pre_subagent` that answers this.
fn judged(room: &Room, answer: &str, flags: &[&str]) -> Finished {
    let hooks = room.hooks(&format!(
        "[[hook]]\nevent = \"pre_subagent\"\nname = \"judge\"\ncommand = [\"echo\", '{answer}']\n"
    ));
    let child = script(room, "child.json", &json!([says("asked")]));
    let model = room.model(&json!([
        spawn(&json!({"model": child, "tools": ["shell", "read"]})),
        says("done")
    ]));
    let fixed = ["--json", "--hooks", &hooks, "--model", &model, "go"];
    room.run(flags.iter().copied().chain(fixed)).ended_with(0)
}

#[test]
fn a_hook_refuses_answers_or_changes_what_it_is_given() {
    let table: [(&str, &[&str], &str); 7] = [
        (
            r#"{"verdict":{"deny":"too dear"}}"#,
            &["--yes"],
            "refused: too dear",
        ),
        (r#"{"response":"I know it"}"#, &[], "I know it"),
        (
            r#"{"verdict":{"ask":"sure?"}}"#,
            &[],
            "refused: sure?; it needs approval",
        ),
        (r#"{"verdict":{"ask":"sure?"}}"#, &["--yes"], "asked"),
        (
            r#"{"verdict":{"insist":"sure?"}}"#,
            &["--yes"],
            "refused: sure?; it needs your approval",
        ),
        (
            r#"{"tools":["fetch","nothing"]}"#,
            &[],
            "refused: a sub-agent cannot have the tool `nothing`",
        ),
        (
            r#"{"input":" "}"#,
            &[],
            "refused: a hook left the sub-agent no `input`",
        ),
    ];
    for (answer, flags, expected) in table {
        let room = room();
        let run = judged(&room, answer, flags);
        assert!(result(&run).starts_with(expected), "{answer}: {}", result(&run));
        let asked = expected == "asked";
        assert_eq!(sessions(&room).len(), if asked { 2 } else { 1 }, "{answer}");
        assert_eq!(
            run.events_named("post_subagent").len(),
            usize::from(asked),
            "{answer}"
        );
    }
    let room = room();
    let answer = r#"{"system_prompt":"You are kind.","input":"another task","tools":["read"]}"#;
    let run = judged(&room, answer, &[]);
    assert_eq!(result(&run), "asked");
    let request = &of_children(&run, "pre_request")[0]["body"];
    assert!(
        request["messages"][0]["content"]
            .as_str()
            .unwrap()
            .starts_with("You are kind."),
        "{request}"
    );
    assert_eq!(request["messages"][1]["content"], "another task");
    assert_eq!(request["tools"].as_array().unwrap().len(), 1);
    let told = &run.events_named("post_subagent")[0];
    assert_eq!(
        (&told["system_prompt"], &told["input"]),
        (&json!("You are kind."), &json!("another task"))
    );
}

#[test]
fn what_is_asked_is_what_was_judged() {
    let room = room();
    let hooks = room.hooks(
        "[[hook]]\nevent = \"pre_subagent\"\npriority = 2\n\
         command = \"jq -e '.input == \\\"the secret\\\"' >/dev/null && echo '{\\\"verdict\\\":{\\\"deny\\\":\\\"secret\\\"}}'; true\"\n\
         [[hook]]\nevent = \"pre_subagent\"\npriority = 1\ncommand = [\"echo\", '{\"input\":\"the secret\"}']\n",
    );
    if !testkit::needs("jq") {
        return;
    }
    let model = room.model(&json!([spawn(&json!({})), says("done")]));
    let run = room
        .run(["--json", "--hooks", &hooks, "--model", &model, "go"])
        .ended_with(0);
    assert_eq!(result(&run), "refused: secret");
    assert_eq!(sessions(&room).len(), 1);
}

// ---- presets

#[test]
fn a_preset_says_what_is_not_said_beside_it() {
    let room = room();
    let fast = script(&room, "fast.json", &json!([says("fast"), says("fast again")]));
    let other = script(&room, "other.json", &json!([says("other")]));
    room.config(&format!(
        "[presets.fast]\nmodel = {fast:?}\ntemperature = 0.1\nmax_tokens = 5\n\n[presets.bold]\ntemperature = 2\n"
    ));
    let turns = json!([
        spawn(&json!({"preset": "fast"})),
        spawn(&json!({"preset": "fast", "temperature": 0.9})),
        spawn(&json!({"preset": "fast", "model": other, "max_tokens": 7})),
        spawn(&json!({"preset": "slow"})),
        says("done"),
    ]);
    let run = play(&room, &turns).ended_with(0);
    let results = results(&run);
    assert_eq!(results[..3], ["fast", "fast again", "other"]);
    assert!(
        results[3].contains("there is no preset `slow`; there are bold, fast"),
        "{results:?}"
    );
    let parameters: Vec<Value> = run
        .events_named("pre_subagent")
        .iter()
        .map(|event| json!([event["subagent_model"], event["temperature"], event["max_tokens"]]))
        .collect();
    assert_eq!(
        parameters,
        [
            json!(["scripted/fast", 0.1, 5]),
            json!(["scripted/fast", 0.9, 5]),
            json!(["scripted/other", 0.1, 7]),
        ]
    );
    let config = room.run(["config"]).ended_with(0);
    config
        .said("presets          bold, fast")
        .said("sub-agents       2 deep, 8 at once, 50 requests each");
    for (text, words) in [
        (
            "[presets.x]\ntemperature = -1\n",
            "`presets.x.temperature` is a number from 0 on",
        ),
        ("[presets.x]\ntop = 1\n", "top"),
        ("[subagents]\nmax_parallel = 0\n", "a whole number, 1 or more"),
    ] {
        room.config(text);
        room.run(["config"]).ended_with(2).complained(words);
    }
}

#[test]
fn a_model_cannot_read_files_as_scripts() {
    let room = room();
    let secret = room.write("../secret", "password = \"hunter2\"");
    for provider in ["scripted", " scripted"] {
        let model = format!("{provider}/{}", secret.display());
        let arguments = json!({"system_prompt": "s", "input": "i", "model": model}).to_string();
        let run = room.run(["--model", "rehearsal", "tool", "spawn_agent", &arguments]);
        assert!(
            run.stdout.contains("chosen by a preset") && !run.stdout.contains("hunter2"),
            "{run:#?}"
        );
    }
}

// ---- reading

#[test]
fn a_text_is_read_for_the_model() {
    let room = room();
    room.write("long.txt", "a line of the text\n".repeat(3000));
    let vfs = call(
        "write",
        &json!({"path": "vfs:///shared/n.txt", "content": "a note"}),
    );
    let expect =
        |words: &str| json!({"text": "short", "expect": [words, "What to do with the text: Summarise it."]});
    let long = script(
        &room,
        "long.json",
        &json!([expect(&"a line of the text\\n".repeat(3000))]),
    );
    let note = script(
        &room,
        "note.json",
        &json!([expect("The text, from vfs:///shared/n.txt:\\n\\na note")]),
    );
    let read = |source: &str, model: &str| json!({"tool_calls": [call("summarize_content", &json!({"source": source, "model": model}))]});
    let turns = json!([
        {"tool_calls": [vfs]},
        read("long.txt", &long),
        read("vfs:///shared/n.txt", &note),
        says("done"),
    ]);
    let run = play(&room, &turns).ended_with(0);
    assert_eq!(results(&run)[1..], ["short", "short"]);
    let within: Vec<Value> = run
        .events_named("pre_tool")
        .iter()
        .filter(|event| !event["parent_tool_call_id"].is_null())
        .map(|event| event["tool_name"].clone())
        .collect();
    assert_eq!(within, ["read", "read"]);
    let guarded = run.events_named("pre_file_read");
    assert_eq!(guarded.len(), 1, "{guarded:?}");
    assert_eq!(
        (&guarded[0]["tool_name"], &guarded[0]["inside"]),
        (&json!("read"), &json!(true))
    );
}

#[test]
fn a_web_page_is_fetched_for_the_model_by_a_call_that_is_judged() {
    let page = || testkit::Response::new(200, "text/plain", "the page's words");
    let web = testkit::ModelServer::start([page(), page()]);
    let room = room();
    let child = script(
        &room,
        "child.json",
        &json!([{"text": "short", "expect": ["the page's words"]}]),
    );
    let arguments = json!({"source": web.url(), "model": child, "instructions": "Shorter."});
    let turns = json!([{"tool_calls": [call("summarize_content", &arguments)]}, says("done")]);
    let model = room.model(&turns);
    let run = room.run(["--json", "--model", &model, "go"]).ended_with(0);
    assert!(
        result(&run).contains("there is no terminal to ask at"),
        "{}",
        result(&run)
    );
    assert_eq!(web.requests().len(), 0);
    let run = play(&room, &turns).ended_with(0);
    assert_eq!(results(&run).pop().as_deref(), Some("short"));
    let guarded = run.events_named("pre_fetch");
    assert!(guarded[0]["sensitive"].is_string(), "{guarded:?}");
}

#[test]
fn no_text_is_read_past_a_guard() {
    let room = room();
    room.write("private.txt", "the secret");
    room.write("link.txt", "");
    std::fs::remove_file(room.work().join("link.txt")).unwrap();
    std::os::unix::fs::symlink("private.txt", room.work().join("link.txt")).unwrap();
    room.write("binary", b"a\0b");
    room.write("empty", "\n");
    room.write("huge", "x".repeat(1024 * 1024 + 1));
    room.config("[permissions]\ndeny = [\"read:path=private.txt\"]\n");
    let child = script(&room, "child.json", &json!([says("never asked")]));
    for (source, words) in [
        (
            "private.txt",
            "refused: the rule `read:path=private.txt` denies it",
        ),
        ("link.txt", "refused: the rule `read:path=private.txt` denies it"),
        ("missing.txt", "Cannot read missing.txt"),
        ("binary", "it is no text"),
        ("empty", "empty is empty."),
        ("huge", "it is larger than"),
        (".", "Cannot read ."),
        ("file:///etc/hosts", "Cannot read"),
    ] {
        let arguments = json!({"source": source, "model": child});
        let turns = json!([{"tool_calls": [call("summarize_content", &arguments)]}, says("done")]);
        let run = play(&room, &turns).ended_with(0);
        let told = results(&run).pop().unwrap_or_default();
        assert!(told.contains(words), "{source}: {told}");
        assert_eq!(run.events_named("pre_subagent").len(), 0, "{source}");
    }
}

#[test]
fn rules_in_the_words_of_the_profile_bind_what_is_read_for_the_model() {
    let room = room();
    room.write("notes.txt", "the notes");
    let child = script(&room, "child.json", &json!([says("never asked")]));
    for (rule, source) in [
        ("file_head", "notes.txt"),
        ("file_tail", "notes.txt"),
        ("file_l*", "notes.txt"),
        ("file_*", "notes.txt"),
        ("read", "notes.txt"),
        ("fetch_url", "http://127.0.0.1:1/"),
    ] {
        room.config(&format!("[permissions]\ndeny = [\"{rule}\"]\n"));
        let arguments = json!({"source": source, "model": child});
        let turns = json!([{"tool_calls": [call("summarize_content", &arguments)]}, says("done")]);
        let model = room.model(&turns);
        let run = room
            .run(["--json", "--yes", "--tools", "chibi", "--model", &model, "go"])
            .ended_with(0);
        let told = results(&run).pop().unwrap_or_default();
        assert_eq!(told, format!("refused: the rule `{rule}` denies it"), "{source}");
        assert_eq!(run.events_named("pre_subagent").len(), 0, "{rule}");
    }
    room.config("[permissions]\nask = [\"file_tail\"]\n");
    let arguments = json!({"source": "notes.txt", "model": child});
    let turns = json!([{"tool_calls": [call("summarize_content", &arguments)]}, says("done")]);
    let model = room.model(&turns);
    let run = room.run(["--json", "--tools", "chibi", "--model", &model, "go"]);
    assert_eq!(
        run.events_named("pre_subagent").len(),
        0,
        "there is no terminal to ask at"
    );
}

#[test]
fn hooks_that_change_outputs_and_offers_count_for_what_is_read() {
    let room = room();
    room.write("notes.txt", "the secret");
    let arguments = |model: &str| json!({"source": "notes.txt", "model": model});
    let child = script(
        &room,
        "child.json",
        &json!([{"text": "short", "expect": ["MASKED"]}]),
    );
    let hooks = room.hooks(
        "[[hook]]\nevent = \"pre_tool_output\"\nmatch = { tool_name = \"read\" }\n\
         command = [\"echo\", '{\"content\":[{\"type\":\"text\",\"text\":\"MASKED\"}]}']\n",
    );
    let model =
        room.model(&json!([{"tool_calls": [call("summarize_content", &arguments(&child))]}, says("done")]));
    let run = room
        .run(["--json", "--hooks", &hooks, "--model", &model, "go"])
        .ended_with(0);
    assert_eq!(result(&run), "short");
    assert!(
        !of_children(&run, "pre_request")[0]
            .to_string()
            .contains("the secret")
    );

    let hooks =
        room.hooks("[[hook]]\nevent = \"tools_offered\"\ncommand = [\"echo\", '{\"exclude\":[\"read\"]}']\n");
    let run = room
        .run([
            "--json", "-C", "other", "--hooks", &hooks, "--model", &model, "go",
        ])
        .ended_with(0);
    assert!(
        result(&run).contains("you have no tool that reads files"),
        "{}",
        result(&run)
    );
}

// ---- the user

#[test]
fn a_sub_agents_calls_are_shown_as_its_own_and_its_words_are_no_answer() {
    let room = room();
    let child = script(&room, "child.json", &json!([shell("echo 7"), says("its words")]));
    let model = room.model(&json!([
        spawn(&json!({"model": child, "name": "helper", "tools": ["shell"]})),
        says("done")
    ]));
    let run = room.run(["--yes", "--model", &model, "go"]).ended_with(0);
    assert_eq!(run.stdout, "done\n");
    run.complained("→ spawn_agent helper: the task")
        .complained("[helper] → shell echo 7");
}

#[test]
fn the_person_is_told_which_sub_agent_asks_and_a_cancel_there_stops_everything() {
    let room = room();
    let child = |name: &str| {
        let turns = json!([shell(&format!("touch {name}")), says("went on")]);
        let model = script(&room, &format!("{name}.json"), &turns);
        task(&json!({"model": model, "name": name, "tools": ["shell"]}))
    };
    let calls = [child("first"), child("second")];
    let model = room.model(&json!([{"tool_calls": calls}, says("never said")]));
    let Some(terminal) = crate::terminal::Terminal::start(room, &["--model", &model, "go"]) else {
        return;
    };
    terminal.wait_for("[c]ancel:");
    let text = terminal.text();
    let first = if text.contains("requested by the sub-agent \"first\"") {
        "first"
    } else {
        "second"
    };
    let other = if first == "first" { "second" } else { "first" };
    assert!(
        text.contains(&format!("requested by the sub-agent {first:?}")),
        "{text}"
    );
    assert!(
        !text.contains(&format!("requested by the sub-agent {other:?}")),
        "one question at a time:\n{text}"
    );
    terminal.enter("y");
    terminal.wait_for(&format!("requested by the sub-agent {other:?}"));
    terminal.wait_for_answers(2);
    terminal.enter("c");
    assert_eq!(terminal.wait_for_end(), 130, "{}", terminal.text());
    assert!(terminal.room.has(first) && !terminal.room.has(other));
    assert!(!terminal.text().contains("never said"));
}

#[test]
fn a_yes_to_the_same_call_counts_for_all_of_them() {
    let room = room();
    let same = || shell("echo ran >> log");
    let child = |name: &str| {
        let turns = json!([same(), says("went on")]);
        let model = script(&room, &format!("{name}.json"), &turns);
        task(&json!({"model": model, "name": name, "tools": ["shell"]}))
    };
    let calls = [child("first"), child("second"), child("third")];
    let model = room.model(&json!([{"tool_calls": calls}, same(), says("all done")]));
    let Some(terminal) = crate::terminal::Terminal::start(room, &["--model", &model, "go"]) else {
        return;
    };
    terminal.wait_for("[c]ancel:");
    terminal.enter("s");
    assert_eq!(terminal.wait_for_end(), 0, "{}", terminal.text());
    assert_eq!(terminal.room.read("log"), "ran\n".repeat(4));
}

#[test]
fn the_person_asks_one_by_hand() {
    let room = room();
    let child = room.model(&json!([says("by hand")]));
    let arguments = json!({"system_prompt": "s", "input": "i"}).to_string();
    let run = room
        .run(["--model", &child, "tool", "spawn_agent", &arguments])
        .ended_with(0);
    assert_eq!(run.stdout.trim_end(), "by hand");
    assert_eq!(sessions(&room).len(), 2);
}

#[test]
fn messages_for_the_context_wait_for_its_own_agent() {
    let room = room();
    let letter = call(
        "send_message",
        &json!({"to": room.context(), "content": "a letter"}),
    );
    let child = script(&room, "child.json", &json!([says("x")]));
    let turns = json!([{"tool_calls": [letter]}, spawn(&json!({"model": child})), says("done")]);
    let run = play(&room, &turns).ended_with(0);
    assert!(
        !of_children(&run, "pre_request")[0]
            .to_string()
            .contains("a letter")
    );
    let next = room.model(&json!([{"text": "read", "expect": ["> a letter"]}]));
    room.run(["--model", &next, "go on"]).ended_with(0).said("read");
}
