//! docker-agent's hooks, with real shell commands, in runs of real agent files: what a hook reads at each event, what
//! its answer does, who approves a call, and whose hooks count for whom.

use serde_json::{Map, Value, json};
use testkit::{Finished, Room};

use crate::room;

mod approval;
mod budgets;
mod endings;
mod events;
mod example;
mod front_door;
mod owners;
mod unchanged;

/// The events whose hooks stand below a matcher.
const MATCHED: &[&str] = &[
    "tool_input_transform",
    "tool_guard",
    "pre_tool_use",
    "permission_request",
    "tool_response_transform",
    "post_tool_use",
];

/// What a hook reads at every event.
const COMMON: &[&str] = &["session_id", "cwd", "hook_event_name", "agent_name"];

/// The value of a `hooks:` key: for each event a command that writes down what it reads and then does something.
fn hooks(commands: &[(&str, &str)]) -> Value {
    let mut hooks = Map::new();
    for (event, then) in commands {
        let command = noting(event, then);
        let hook = json!({"type": "command", "command": command});
        let entry = match MATCHED.contains(event) {
            true => json!({"matcher": "*", "hooks": [hook]}),
            false => hook,
        };
        let entries = hooks.entry(*event).or_insert_with(|| json!([]));
        entries.as_array_mut().expect("it is a list").push(entry);
    }
    Value::Object(hooks)
}

/// A command that adds what it reads to a file beside the working directory, and then does something; `$IN` is what
/// it has read.
fn noting(file: &str, then: &str) -> String {
    format!("IN=$(cat); {}; {then}", note(file))
}

/// The part of a command that adds `$IN` to a file beside the working directory.
fn note(file: &str) -> String {
    format!("printf '%s\\n' \"$IN\" >> ../{file}.jsonl")
}

/// A command that answers.
fn answers(answer: &Value) -> String {
    format!("printf '%s' '{answer}'")
}

/// A command that answers with one field of `hook_specific_output`.
fn specific(field: &str, value: impl Into<Value>) -> String {
    answers(&json!({"hook_specific_output": {field: value.into()}}))
}

/// A room with an agent file. YAML can be written as JSON.
fn stage(file: &Value) -> Room {
    let room = room();
    room.write("agent.yaml", file.to_string());
    room.write("a.txt", "words of a file");
    room
}

/// A room with an agent that has a shell, files and hooks.
fn with_hooks(commands: &[(&str, &str)]) -> Room {
    with_agent(commands, &json!({}))
}

/// A room with an agent that has a shell, files, hooks and more keys.
fn with_agent(commands: &[(&str, &str)], more: &Value) -> Room {
    stage(&json!({"agents": {"root": agent(commands, more)}}))
}

/// An agent with a shell, files, hooks and more keys.
fn agent(commands: &[(&str, &str)], more: &Value) -> Value {
    let mut agent = json!({
        "instruction": "You are kind.",
        "toolsets": [{"type": "shell"}, {"type": "filesystem"}],
        "hooks": hooks(commands),
    });
    for (key, value) in more.as_object().expect("keys of an agent") {
        agent[key] = value.clone();
    }
    agent
}

/// Sends `go` to the agent, with a script in the place of every model.
fn play(room: &Room, turns: &Value, more: &[&str]) -> Finished {
    let model = room.model(turns);
    let arguments = ["run", "agent.yaml", "go", "--model", &model];
    room.run(arguments.iter().chain(more))
}

fn call(name: &str, arguments: &Value) -> Value {
    json!({"tool_calls": [{"id": "call-1", "name": name, "arguments": arguments}]})
}

fn shell(command: &str) -> Value {
    call("shell", &json!({"cmd": command}))
}

/// An answer to a request that holds these words.
fn says(text: &str, expect: &[&str]) -> Value {
    json!({"text": text, "expect": expect})
}

/// What the hooks of an event have read.
fn heard(room: &Room, event: &str) -> Vec<Value> {
    let text = room.read(&format!("../{event}.jsonl"));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// One member of all that the hooks of an event have read.
fn members(room: &Room, event: &str, name: &str) -> Vec<Value> {
    heard(room, event)
        .into_iter()
        .map(|mut read| read[name].take())
        .collect()
}

/// Hooks of an event have read exactly this, one after another, besides what every event tells. `"*"` stands for
/// anything.
#[track_caller]
fn assert_heard(room: &Room, event: &str, wanted: &[Value]) {
    let heard = heard(room, event);
    assert_eq!(heard.len(), wanted.len(), "how often {event} fired: {heard:#?}");
    let directory = room.work().canonicalize().expect("the room is there");
    for (read, wanted) in heard.iter().zip(wanted) {
        assert_eq!(read["hook_event_name"], event);
        assert_eq!(read["cwd"], directory.display().to_string(), "{event}");
        for name in ["session_id", "agent_name"] {
            assert!(
                read[name].as_str().is_some_and(|id| !id.is_empty()),
                "{event}: {read:#}"
            );
        }
        let mut rest = read.as_object().expect("an object").clone();
        rest.retain(|name, _| !COMMON.contains(&name.as_str()));
        for (name, value) in &mut rest {
            if wanted[name] == "*" {
                *value = json!("*");
            }
        }
        assert_eq!(&Value::Object(rest), wanted, "what {event} tells");
    }
}

/// What is told about the call of [`shell`].
fn about_shell(command: &str, more: &Value) -> Value {
    let mut told = json!({
        "tool_name": "shell",
        "tool_use_id": "call-1",
        "tool_input": {"cmd": command},
        "tool_category": "shell",
    });
    for (name, value) in more.as_object().expect("members") {
        told[name] = value.clone();
    }
    told
}
