//! docker-agent's hooks from flags, the user's docker-agent settings and `hooks.d`, and commands for events.

use serde_json::{Value, json};
use testkit::Room;

use crate::room;

fn touching(room: &Room) -> String {
    room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "touch ran"}}]},
        {"text": "went on"},
    ]))
}

/// A `hooks:` value whose guard refuses every call with this reason.
fn guard(reason: &str) -> String {
    format!(
        "pre_tool_use:\n  - matcher: shell\n    hooks:\n      - type: command\n        command: \"echo '{reason}' >&2; exit 2\"\n"
    )
}

fn indented(text: &str, by: usize) -> String {
    let pad = " ".repeat(by);
    text.lines().map(|line| format!("{pad}{line}\n")).collect()
}

#[test]
fn a_guard_of_a_flag_refuses_in_every_front_end() {
    let room = room();
    let model = touching(&room);
    let flag = "--hook-pre-tool-use";
    let command = "grep -q '\"cmd\":\"touch ran\"' && { echo 'the flag says no' >&2; exit 2; }";
    let run = room.run(["--yes", flag, command, "--model", &model, "go"]);
    run.ended_with(0).complained("the flag says no").said("went on");
    let call = room.run([
        "--yes",
        "tool",
        "shell",
        r#"{"command": "touch ran"}"#,
        flag,
        command,
    ]);
    assert!(call.stderr.contains("the flag says no"), "{call:#?}");
    let chat = room.run_with_input(
        ["--yes", "--json", flag, command, "--model", &model, "chat"],
        "go\n",
    );
    assert!(chat.stdout.contains("the flag says no"), "{chat:#?}");
    assert!(!room.has("ran"));
}

#[test]
fn settings_and_drop_ins_guard_too_in_their_order() {
    let settings = |room: &Room| {
        let hooks = indented(&guard("settings"), 4);
        room.write(
            "../home/.config/cagent/config.yaml",
            format!("settings:\n  theme: x\n  hooks:\n{hooks}"),
        );
    };
    let foreign = |room: &Room| {
        room.write("../home/.config/cagent/hooks.d/b.yaml", guard("second"));
        room.write(
            "../home/.config/cagent/hooks.d/a.yml",
            format!("hooks:\n{}", indented(&guard("first"), 2)),
        );
        room.write("../home/.config/cagent/hooks.d/notes.txt", "not: [yaml");
    };
    let own = |room: &Room| {
        room.write("../home/.config/becket/hooks.d/x.yaml", guard("own"));
    };
    type Step<'a> = &'a dyn Fn(&Room);
    let table: [(&[Step<'_>], &str); 4] = [
        (&[&settings, &foreign, &own], "settings"),
        (&[&foreign, &own], "first"),
        (&[&own], "own"),
        (&[], ""),
    ];
    for (sources, first) in table {
        let room = room();
        sources.iter().for_each(|source| source(&room));
        let model = touching(&room);
        let run = room.run(["--yes", "--model", &model, "go"]).ended_with(0);
        assert_eq!(room.has("ran"), first.is_empty(), "{run:#?}");
        assert!(run.stderr.contains(first), "{first}: {run:#?}");
    }
}

#[test]
fn the_folder_can_be_named_and_switched_off() {
    let room = room();
    room.write("../elsewhere/hooks.d/a.yaml", guard("elsewhere"));
    let folder = room.work().join("../elsewhere").display().to_string();
    let room = room.with("DOCKER_AGENT_CONFIG_DIR", &folder);
    let model = touching(&room);
    room.run(["--yes", "--model", &model, "go"])
        .ended_with(0)
        .complained("elsewhere");
    assert!(!room.has("ran"));
    room.config("[docker_agent]\nenabled = false\n");
    room.run(["--yes", "--model", &model, "go"]).ended_with(0);
    assert!(room.has("ran"));
    let room = crate::room().with("CAGENT_CONFIG_DIR", "/nowhere/at/all");
    room.run(["--model", "rehearsal", "go"])
        .ended_with(2)
        .complained("is not a folder");
}

#[test]
fn a_file_that_may_have_held_a_guard_ends_the_run() {
    let table = [
        (
            "stopp:\n  - type: command\n    command: x\n",
            "a.yaml:1: ",
            "stop",
        ),
        (
            "stop:\n  - type: command\n    comand: x\n",
            "a.yaml:3: ",
            "command",
        ),
        (
            "pre_tool_use:\n  - matcher: '('\n    hooks:\n      - type: command\n        command: x\n",
            "a.yaml:2: ",
            "matcher",
        ),
        ("stop: [", "a.yaml:1: ", ""),
    ];
    for (text, place, word) in table {
        let room = room();
        room.write("../home/.config/cagent/hooks.d/a.yaml", text);
        room.run(["--model", "rehearsal", "Run: touch ran"])
            .ended_with(2)
            .complained(place)
            .complained(word);
    }
}

#[test]
fn rules_of_the_settings_count_under_every_profile() {
    let settings = |rules: &str| {
        let room = room();
        let text = format!("settings:\n  theme: x\n  permissions:\n{rules}");
        room.write("../home/.config/cagent/config.yaml", text);
        room
    };
    for profile in ["becket", "docker-agent", "chibi", "pi"] {
        let room = settings("    deny: [\"write_file:path=secret*\"]\n    allow: [\"shell:cmd=touch *\"]\n");
        let prompt = "Write secret.txt: x then Write open.txt: y then Run: touch ran";
        let run = room.run(["--yes", "--tools", profile, "--model", "rehearsal", prompt]);
        let run = run.ended_with(0).complained("write_file:path=secret*");
        let there = ["secret.txt", "open.txt", "ran"].map(|file| room.has(file));
        assert_eq!(there, [false, true, true], "{profile}: {run:#?}");
        let run = room.run(["--tools", profile, "--model", "rehearsal", "Run: touch allowed"]);
        run.ended_with(0);
        // docker-agent has two tools for commands, so that an allow for one of them is not carried to another name.
        let same_name = ["becket", "docker-agent"].contains(&profile);
        assert_eq!(room.has("allowed"), same_name, "{profile}");
    }
    let room = settings("    deny:\n      - shell\n      - \"shell:comand=x\"\n");
    room.run(["--model", "rehearsal", "hi"])
        .ended_with(2)
        .complained("config.yaml:6: the rule `shell:comand=x`");
    let room = settings("    deni: [shell]\n");
    room.run(["--model", "rehearsal", "hi"])
        .ended_with(2)
        .complained("config.yaml:4: unknown key `deni`; did you mean `deny`?");
}

#[test]
fn commands_hear_of_events_and_are_waited_for() {
    let room = room();
    let model = touching(&room);
    let run = room.run([
        "--yes",
        "--on-event",
        "tool_call=cat > call.json",
        "--on-event",
        "*=sleep 0.2; cat > /dev/null; echo x >> all",
        "--on-event",
        "stream_stopped=echo noise; cat > end.json",
        "--model",
        &model,
        "go",
    ]);
    let run = run.ended_with(0);
    assert!(
        !run.stdout.contains("noise") && !run.stderr.contains("noise"),
        "{run:#?}"
    );
    let read = |name: &str| serde_json::from_str::<Value>(&room.read(name)).unwrap();
    let call = read("call.json");
    assert_eq!(call["type"], "tool_call");
    assert_eq!(
        call["tool_call"]["function"]["arguments"],
        r#"{"cmd":"touch ran"}"#
    );
    assert!(call["timestamp"].is_string() && call["session_id"].is_string());
    assert_eq!(read("end.json")["reason"], "normal");
    let count = room.read("all").lines().count();
    assert!(count >= 5, "{count} events");
    room.run(["--on-event", "tool_cal=x", "--model", "rehearsal", "hi"])
        .ended_with(2)
        .complained("did you mean `tool_call`?");
}
