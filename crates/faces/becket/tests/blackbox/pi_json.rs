//! `--mode json` and pi's other options: a program runs becket once, as it would pi.

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::pi_examples::example;
use crate::room;

fn lines(run: &Finished) -> Vec<Value> {
    let lines = run.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("every line is JSON"))
        .collect()
}

fn types(run: &Finished) -> Vec<String> {
    let lines = lines(run);
    lines
        .iter()
        .map(|line| line["type"].as_str().expect("a type").to_owned())
        .collect()
}

fn run(room: &Room, turns: &Value, arguments: &[&str]) -> Finished {
    let model = room.model(turns);
    room.run(["--model", &model].into_iter().chain(arguments.iter().copied()))
}

#[test]
fn every_event_is_a_line_behind_the_header() {
    let room = room();
    let turns =
        json!([{"tool_calls": [{"name": "shell", "arguments": {"command": "echo hi"}}]}, {"text": "done"}]);
    let run = run(&room, &turns, &["--mode", "json", "--yes", "Say hi"]).ended_with(0);
    let mut types = types(&run);
    types.dedup();
    let without = |types: &[String]| {
        types
            .iter()
            .filter(|name| *name != "tool_execution_update")
            .cloned()
            .collect::<Vec<_>>()
    };
    let expected = "session agent_start turn_start message_start message_end message_start message_update \
                    message_end tool_execution_start tool_execution_end message_start message_end turn_end \
                    turn_start message_start message_update message_end turn_end agent_end agent_settled";
    assert_eq!(without(&types), expected.split_whitespace().collect::<Vec<_>>());
    let lines = lines(&run);
    assert_eq!(lines[0]["version"], 3);
    assert_eq!(lines[0]["cwd"], room.work().display().to_string());
    let call = lines
        .iter()
        .find(|line| line["type"] == "tool_execution_start")
        .expect("a call");
    assert_eq!(
        (&call["toolName"], &call["args"]["command"]),
        (&json!("bash"), &json!("echo hi"))
    );
    let last = lines
        .iter()
        .rev()
        .find(|line| line["type"] == "message_update")
        .expect("an update");
    assert_eq!(last["assistantMessageEvent"]["type"], "text_end");
    assert_eq!(last["assistantMessageEvent"]["content"], "done");
}

#[test]
fn several_prompts_are_asked_one_after_the_other() {
    let room = room();
    let turns = json!([{"text": "one"}, {"text": "two"}]);
    let run = run(&room, &turns, &["-p", "first", "second"]).ended_with(0);
    assert_eq!(run.stdout, "one\ntwo\n");
}

#[test]
fn failures_end_with_one_as_in_pi() {
    let room = room();
    let turns = json!([{"error": {"kind": "rejected", "message": "no such thing"}}]);
    let run = run(&room, &turns, &["--mode", "json", "x"]).ended_with(1);
    let lines = lines(&run);
    let end = lines
        .iter()
        .rev()
        .find(|line| line["type"] == "message_end")
        .expect("an end");
    assert_eq!(end["message"]["stopReason"], "error", "{end}");
}

#[test]
fn what_is_not_to_be_kept_is_gone() {
    let room = room();
    run(
        &room,
        &json!([{"text": "one"}]),
        &["--mode", "json", "--no-session", "x"],
    )
    .ended_with(0);
    let contexts = room.run(["contexts", "--json"]).ended_with(0);
    assert!(!contexts.stdout.contains("unkept"), "{}", contexts.stdout);
    run(&room, &json!([{"text": "one"}]), &["--mode", "json", "x"]).ended_with(0);
    let sessions = room.run(["sessions", "--json"]).ended_with(0);
    assert_eq!(sessions.stdout.lines().count(), 1, "{}", sessions.stdout);
}

#[test]
fn instructions_tools_and_thoughts_can_be_given() {
    let room = room();
    room.write("more.md", "Be brief.");
    let options = [
        "--mode",
        "json",
        "--tools",
        "read,bash",
        "--system-prompt",
        "You are A.",
        "--append-system-prompt",
        "more.md",
    ];
    let hooks = room.hooks("[[hook]]\nevent = \"pre_request\"\ncommand = \"cat > request.json\"\n");
    let mut arguments = options.to_vec();
    arguments.extend(["--hooks", &hooks, "x"]);
    run(&room, &json!([{"text": "one"}]), &arguments).ended_with(0);
    let request = room.read("request.json");
    assert!(
        request.contains("You are A.") && request.contains("Be brief."),
        "{request}"
    );
    assert!(
        request.contains("bash") && !request.contains("oldText"),
        "{request}"
    );
    run(&room, &json!([{"text": "one"}]), &["--tools", "nothing", "x"])
        .ended_with(2)
        .complained("there is no tool and no tool profile `nothing`");
}

#[test]
pub fn pi_s_subagent_runs_becket() {
    let Some(file) = example("subagent") else { return };
    let room = room();
    let child = room.write("../child.json", json!([{"text": "forty-two"}]).to_string());
    let agent = format!(
        "---\nname: scout\ndescription: Looks.\ntools: read, ls\nmodel: scripted/{}\n---\nYou look around.\n",
        child.display()
    );
    room.write("../home/.pi/agent/agents/scout.md", &agent);
    let call = json!({"name": "subagent", "arguments": {"agent": "scout", "task": "Count"}});
    let turns = json!([{"tool_calls": [call]}, {"text": "done"}]);
    let run = run(
        &room,
        &turns,
        &["--mode", "json", "--yes", "-e", &file, "Delegate"],
    )
    .ended_with(0);
    let lines = lines(&run);
    let end = lines
        .iter()
        .find(|line| line["type"] == "tool_execution_end")
        .expect("an end");
    assert_eq!(end["isError"], false, "{end}");
    assert!(end["result"].to_string().contains("forty-two"), "{end}");
}
