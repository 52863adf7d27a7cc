//! Sub-agents as a user sees them: what they are given, what they may do, what stops them, and what they leave behind.

use serde_json::{Value, json};
use testkit::{Finished, Room, Signal};

use crate::room;

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
        assert_eq!(of_children(&run, name).len(), 0, "{name} is the person's");
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
