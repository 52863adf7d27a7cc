//! Whose hooks count: an agent's own, the guards of the agents above it, and the user's for all.

use serde_json::{Value, json};
use testkit::Room;

use super::{agent, call, heard, hooks, members, note, noting, play, says, shell, stage};

/// A chain of agents, each with its own hooks.
fn chain(hooks_of: [&[(&str, &str)]; 3]) -> Room {
    let [root, helper, last] = hooks_of;
    stage(&json!({"agents": {
        "root": agent(root, &json!({"sub_agents": ["helper"]})),
        "helper": agent(helper, &json!({"sub_agents": ["last"]})),
        "last": agent(last, &json!({})),
    }}))
}

fn transfer(to: &str) -> Value {
    call(
        "transfer_task",
        &json!({"agent": to, "task": "do it", "expected_output": "words"}),
    )
}

/// Each agent runs a command; the tasks go down to the last.
fn all_work() -> Value {
    json!([
        shell("touch by-root"),
        transfer("helper"),
        shell("touch by-helper"),
        transfer("last"),
        shell("touch by-last"),
        says("last done", &[]),
        says("helper done", &[]),
        says("root done", &[]),
    ])
}

/// The agents whose shell calls were heard of, by the note that was taken.
fn callers(room: &Room, note: &str) -> Vec<Value> {
    let calls = heard(room, note)
        .into_iter()
        .filter(|call| call["tool_name"] == "shell");
    calls.map(|mut call| call["agent_name"].take()).collect()
}

#[test]
fn guards_count_for_the_agents_below_and_no_other_hooks() {
    for (event, guards) in [
        ("tool_guard", true),
        ("pre_tool_use", true),
        ("permission_request", true),
        ("tool_input_transform", false),
        ("tool_response_transform", false),
        ("post_tool_use", false),
        ("on_tool_approval_decision", false),
    ] {
        let notes = ["root", "helper", "last"].map(note);
        let room = chain([
            &[(event, &notes[0])],
            &[(event, &notes[1])],
            &[(event, &notes[2])],
        ]);
        play(&room, &all_work(), &["--yes"]).ended_with(0);
        let below: [&[&str]; 3] = match guards {
            true => [&["root", "helper", "last"], &["helper", "last"], &["last"]],
            false => [&["root"], &["helper"], &["last"]],
        };
        for (name, wanted) in ["root", "helper", "last"].iter().zip(below) {
            assert_eq!(callers(&room, name), wanted, "{event} of {name}");
        }
    }
}

#[test]
fn a_guard_above_refuses_what_the_agents_below_do() {
    let guard = "case $IN in *by-helper*|*by-last*) echo 'only by me' >&2; exit 2;; esac";
    let room = chain([&[("pre_tool_use", guard)], &[], &[]]);
    play(&room, &all_work(), &["--yes"]).ended_with(0);
    assert!(room.has("by-root") && !room.has("by-helper") && !room.has("by-last"));
}

#[test]
fn a_sub_agents_own_hooks_do_not_hear_its_parent() {
    let room = chain([
        &[],
        &[
            ("pre_tool_use", "echo never >&2; exit 2"),
            ("turn_start", ""),
            ("stop", ""),
        ],
        &[],
    ]);
    let turns = json!([
        shell("touch by-root"),
        transfer("helper"),
        shell("touch by-helper"),
        says("helper done", &["never"]),
        says("root done", &[]),
    ]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    assert!(room.has("by-root") && !room.has("by-helper"));
    for event in ["turn_start", "stop", "pre_tool_use"] {
        let agents = members(&room, event, "agent_name");
        assert!(
            !agents.is_empty() && agents.iter().all(|name| name == "helper"),
            "{event}: {agents:?}"
        );
    }
}

#[test]
fn the_persons_hooks_count_for_every_agent() {
    for place in [
        "../home/.config/cagent/hooks.d/a.yaml",
        "../home/.config/becket/hooks.d/a.yaml",
    ] {
        let room = chain([&[], &[], &[]]);
        room.write(
            place,
            hooks(&[("pre_tool_use", ""), ("turn_start", ""), ("session_end", "")]).to_string(),
        );
        play(&room, &all_work(), &["--yes"]).ended_with(0);
        assert_all_heard(&room);
    }
    let room = chain([&[], &[], &[]]);
    let [pre, turn, end] = ["pre_tool_use", "turn_start", "session_end"].map(|event| noting(event, ""));
    let flags = [
        "--yes",
        "--hook-pre-tool-use",
        &pre,
        "--hook-turn-start",
        &turn,
        "--hook-session-end",
        &end,
    ];
    play(&room, &all_work(), &flags).ended_with(0);
    assert_all_heard(&room);
}

fn assert_all_heard(room: &Room) {
    assert_eq!(callers(room, "pre_tool_use"), ["root", "helper", "last"]);
    assert_eq!(
        members(room, "session_end", "agent_name"),
        ["last", "helper", "root"]
    );
    let turns = members(room, "turn_start", "agent_name");
    for name in ["root", "helper", "last"] {
        assert!(turns.contains(&json!(name)), "{turns:?}");
    }
}

#[test]
fn a_guard_of_a_flag_refuses_in_a_sub_agent() {
    let room = chain([&[], &[], &[]]);
    let guard = "grep -q by-last && { echo 'not by the last' >&2; exit 2; }; exit 0";
    play(&room, &all_work(), &["--yes", "--hook-tool-guard", guard]).ended_with(0);
    assert!(room.has("by-root") && room.has("by-helper") && !room.has("by-last"));
}
