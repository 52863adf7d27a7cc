//! Teams of an agent file: tasks for other agents, and conversations that are handed over.

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::room;

const TEAM: &str = "\
agents:
  root:
    model: scripted/root.json
    instruction: You lead.
    sub_agents: [counter]
    handoffs: [writer]
  counter:
    model: scripted/counter.json
    description: counts things
    instruction: You count.
    toolsets:
      - type: shell
  writer:
    model: scripted/writer.json
    description: writes things
    instruction: You write.
";

fn with_team() -> Room {
    let room = room();
    room.write("agent.yaml", TEAM);
    room
}

fn call(name: &str, arguments: &Value) -> Value {
    json!({"tool_calls": [{"name": name, "arguments": arguments}]})
}

/// Runs the file, each agent with the script of its name.
fn play(room: &Room, scripts: &[(&str, Value)], more: &[&str]) -> Finished {
    for (agent, turns) in scripts {
        room.write(&format!("{agent}.json"), turns.to_string());
    }
    room.run(["run", "agent.yaml", "go", "--json"].iter().chain(more))
}

fn texts(run: &Finished, event: &str, field: &str) -> Vec<String> {
    let events = run.events_named(event);
    let text = |event: &Value| event[field].as_str().unwrap_or_default().to_owned();
    events.iter().map(text).collect()
}

#[test]
fn a_task_is_given_to_another_agent_and_its_answer_comes_back() {
    let room = with_team();
    let task = json!({"agent": "counter", "task": "Count to three.", "expected_output": "a number"});
    let root = json!([call("transfer_task", &task), {"text": "It is three.", "expect": ["three"]}]);
    let counter = json!([
        call("shell", &json!({"cmd": "echo 1 2 3"})),
        {"text": "three", "expect": ["Count to three.", "a number", "1 2 3"]},
    ]);
    let scripts = [
        ("root", root),
        ("counter", counter),
        ("writer", json!([{"text": "Nobody asked me."}])),
    ];
    let run = play(&room, &scripts, &["--yes"]).ended_with(0);
    assert_eq!(texts(&run, "agent_switch", "kind"), ["transfer", "return"]);
    assert_eq!(texts(&run, "agent_switch", "agent_name"), ["root", "root"]);
    assert_eq!(
        texts(&run, "turn_start", "agent_name"),
        ["root", "counter", "counter", "root"]
    );
    assert_eq!(
        texts(&run, "approval_decided", "tool_name"),
        ["transfer_task", "shell"]
    );
    let prompts = run.events_named("pre_request");
    let prompt = |place: usize| prompts[place]["body"]["messages"][0]["content"].to_string();
    assert!(prompt(0).contains("You lead.") && prompt(0).contains("- counter: counts things"));
    assert!(prompt(1).contains("You count.") && !prompt(1).contains("You lead."));
    let done = &run.events_named("post_subagent")[0];
    assert_eq!(
        (&done["subagent_name"], &done["response"]),
        (&json!("counter"), &json!("three"))
    );
}

#[test]
fn a_conversation_that_was_handed_over_stays_with_the_other_agent() {
    let room = with_team();
    let scripts = [
        ("root", json!([call("handoff", &json!({"agent": "writer"}))])),
        ("counter", json!([{"text": "Nobody asked me."}])),
        ("writer", json!([{"text": "I write now."}])),
    ];
    let run = play(&room, &scripts, &[]).ended_with(0);
    assert_eq!(texts(&run, "agent_switch", "kind"), ["handoff"]);
    assert_eq!(texts(&run, "turn_start", "agent_name"), ["root", "writer"]);
    let run = play(&room, &[], &[]).ended_with(0);
    assert_eq!(texts(&run, "session_start", "agent_name"), ["writer"]);
    let run = play(&room, &[("root", json!([{"text": "Fresh."}]))], &["-c", "new"]).ended_with(0);
    assert_eq!(texts(&run, "session_start", "agent_name"), ["root"]);
}

#[test]
fn agents_that_the_file_does_not_name_and_calls_that_rules_deny_do_not_happen() {
    let room = with_team();
    let scripts = |root| {
        [
            ("root", root),
            ("counter", json!([{"text": "Nobody asked me."}])),
            ("writer", json!([{"text": "Nobody asked me."}])),
        ]
    };
    let root = json!([
        call("transfer_task", &json!({"agent": "writer", "task": "Write.", "expected_output": ""})),
        call("handoff", &json!({"agent": "counter"})),
        {"text": "alone", "expect": ["counter", "writer"]},
    ]);
    let run = play(&room, &scripts(root), &[]).ended_with(0);
    assert!(run.events_named("agent_switch").is_empty());
    assert_eq!(texts(&run, "turn_start", "agent_name"), ["root", "root", "root"]);
    let outputs = run.events_named("tool_end");
    assert!(
        outputs.iter().all(|event| event["is_error"] == true),
        "{outputs:?}"
    );

    room.config("[permissions]\ndeny = [\"transfer_task\", \"handoff\"]\n");
    let root = json!([
        call("handoff", &json!({"agent": "writer"})),
        {"text": "alone", "expect": ["refused"]},
    ]);
    let run = play(&room, &scripts(root), &["--yes"]).ended_with(0);
    assert!(run.events_named("agent_switch").is_empty());
}

#[test]
fn the_guards_of_an_agent_stay_when_it_hands_the_word_over() {
    let room = room();
    let guarded = "    hooks:\n      pre_tool_use:\n        - hooks:\n            - type: command\n              \
                   command: if grep -q forbidden; then echo not here >&2; exit 2; fi\n";
    let shell = "    toolsets: [{type: shell}]\n";
    let team = TEAM.replace(
        "    handoffs: [writer]\n",
        &format!("    handoffs: [writer]\n{guarded}"),
    ) + shell;
    room.write("agent.yaml", team);
    let root = json!([call("handoff", &json!({"agent": "writer"}))]);
    let writer = json!([
        call("shell", &json!({"cmd": "touch forbidden"})),
        call("shell", &json!({"cmd": "touch fine"})),
        {"text": "done", "expect": ["not here"]},
    ]);
    let scripts = [
        ("root", root),
        ("counter", json!([{"text": "x"}])),
        ("writer", writer),
    ];
    play(&room, &scripts, &["--yes"]).ended_with(0);
    assert_eq!((room.has("forbidden"), room.has("fine")), (false, true));
    // The next run goes on with the writer, and still has the guard.
    let again =
        json!([call("shell", &json!({"cmd": "touch forbidden"})), {"text": "no", "expect": ["not here"]}]);
    let scripts = [("writer", again)];
    play(&room, &scripts, &["--yes"]).ended_with(0);
    assert!(!room.has("forbidden"));
}

#[test]
fn a_forced_handoff_happens_whatever_the_agent_says() {
    let room = room();
    room.write(
        "agent.yaml",
        "agents:\n  root:\n    model: scripted/root.json\n    force_handoff: writer\n  writer:\n    \
         model: scripted/writer.json\n    instruction: You write.\n",
    );
    let scripts = [
        ("root", json!([{"text": "I say nothing of it."}])),
        (
            "writer",
            json!([{"text": "written", "expect": ["go", "I say nothing of it.", "It is your turn, `writer`"]}]),
        ),
    ];
    let run = play(&room, &scripts, &[]).ended_with(0);
    assert_eq!(texts(&run, "agent_switch", "kind"), ["handoff"]);
    assert_eq!(texts(&run, "turn_start", "agent_name"), ["root", "writer"]);
}
