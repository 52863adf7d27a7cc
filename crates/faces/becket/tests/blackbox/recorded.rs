//! Questions that real agents put to their hooks, recorded from Claude Code 2.1.197, Codex 0.169.0 and Gemini CLI
//! 0.61.0 in a session with one command. The bridge understands every one of them, and becket's own hooks of these
//! systems read the same members in the same session.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use testkit::Room;

use crate::hook_files::{says, shell};
use crate::room;

/// A recorded question.
struct Recorded {
    system: String,
    event: String,
    payload: Value,
}

fn recorded() -> Vec<Recorded> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/blackbox/recorded");
    let mut all: Vec<Recorded> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let file = entry.unwrap().path();
            let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
            let (system, event) = name.split_once('.').unwrap();
            Recorded {
                system: system.into(),
                event: event.into(),
                payload: serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap(),
            }
        })
        .collect();
    all.sort_by(|a, b| (&a.system, &a.event).cmp(&(&b.system, &b.event)));
    assert!(all.len() > 20);
    all
}

#[test]
fn the_bridge_understands_what_real_agents_ask() {
    let room = room();
    for Recorded {
        system,
        event,
        mut payload,
    } in recorded()
    {
        // Calls that were made together are no question of the bridge.
        if event == "PostToolBatch" {
            continue;
        }
        payload["cwd"] = room.work().to_str().into();
        let run = room
            .run_with_input(["bridge", &system, &event], payload.to_string())
            .ended_with(0);
        assert!(
            ["", "{}"].contains(&run.stdout.trim()),
            "{system} {event}: {}",
            run.stdout
        );
    }
}

/// Members that becket's hooks do not read, and why.
const ABSENT: &[(&str, &str)] = &[
    (
        "claude-code effort",
        "becket tells the model how much to think by other words",
    ),
    (
        "claude-code tool_response.isImage",
        "about Claude Code's own screen",
    ),
    (
        "claude-code tool_response.noOutputExpected",
        "about Claude Code's own screen",
    ),
    (
        "claude-code tool_input.description",
        "an argument that the recorded model wrote",
    ),
    (
        "claude-code tool_calls.0.tool_input.description",
        "an argument that the recorded model wrote",
    ),
    (
        "gemini tool_input.description",
        "an argument that the recorded model wrote",
    ),
];

/// Where each system keeps the user's hooks, and one that notes what it reads.
fn noting(room: &Room, system: &str, events: &[&str]) {
    let mut hooks = json!({});
    for event in events {
        let command = format!("cat > ../heard.{system}.{event}.json");
        hooks[event] = json!([{"hooks": [{"type": "command", "command": command}]}]);
    }
    let file = match system {
        "claude-code" => "../home/.claude/settings.json",
        "codex" => "../home/.codex/hooks.json",
        _ => "../home/.gemini/settings.json",
    };
    room.write(file, json!({"hooks": hooks}).to_string());
}

/// All members of a value with their kinds, by their paths.
fn members(value: &Value, path: &str, found: &mut BTreeMap<String, &'static str>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    };
    if !path.is_empty() {
        found.insert(path.to_owned(), kind);
    }
    let below = |name: &str| {
        if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        }
    };
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(name, value)| members(value, &below(name), found)),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .for_each(|(number, value)| members(value, &below(&number.to_string()), found)),
        _ => {}
    }
}

#[test]
fn hooks_read_what_they_read_in_their_own_agent() {
    let recorded = recorded();
    let systems = ["claude-code", "codex", "gemini"];
    let mut heard: BTreeMap<(String, String), Value> = BTreeMap::new();
    for command in ["echo hello", "ls no-such-file"] {
        let room = room();
        for system in systems {
            let events: Vec<&str> = recorded
                .iter()
                .filter(|one| one.system == system)
                .map(|one| one.event.as_str())
                .collect();
            noting(&room, system, &events);
        }
        let model = room.model(&json!([shell(command), says("all done", &[])]));
        room.run(["--yes", "--model", &model, "say hello"]).ended_with(0);
        for Recorded { system, event, .. } in &recorded {
            let file = format!("../heard.{system}.{event}.json");
            if room.has(&file) {
                let payload = serde_json::from_str(&room.read(&file)).unwrap();
                heard.entry((system.clone(), event.clone())).or_insert(payload);
            }
        }
    }
    let mut wrong = Vec::new();
    for Recorded {
        system,
        event,
        payload,
    } in &recorded
    {
        // Nothing was summarised here.
        if event == "PreCompress" {
            continue;
        }
        let Some(own) = heard.get(&(system.clone(), event.clone())) else {
            wrong.push(format!("{system} {event} was not heard"));
            continue;
        };
        let (mut real, mut ours) = (BTreeMap::new(), BTreeMap::new());
        members(payload, "", &mut real);
        members(own, "", &mut ours);
        for (path, kind) in real {
            let is_absent = ABSENT.iter().any(|(absent, _)| {
                let known = format!("{system} {path}");
                known == *absent || known.starts_with(&format!("{absent}."))
            });
            match ours.get(&path) {
                Some(own) if *own == kind => {}
                _ if is_absent => {}
                other => wrong.push(format!("{system} {event}: `{path}` is {kind}, here {other:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
