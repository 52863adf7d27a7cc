//! Every event of the systems that keep their hooks in JSON files, heard by a real script in Bash, Python or Node.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Room, Signal, needs};

use crate::hook_ends::{CLAUDE_CODE, CODEX, COPILOT, CURSOR, GEMINI, System};
use crate::hook_files::{call, says, shell};
use crate::limit::with_person;
use crate::mcp::with_server;

/// Scripts that note the event they are started for and the JSON object that they read, which may be an argument.
const SCRIPTS: [(&str, &str, &str); 3] = [
    (
        "bash",
        "note.sh",
        "set -euo pipefail\n\
         given() { if [ $# -gt 1 ]; then printf '%s' \"$2\"; else cat; fi; }\n\
         read=$(given \"$@\" | jq -c 'if type == \"object\" then . else error end')\n\
         printf '%s\\t%s\\n' \"$1\" \"$read\" >> \"$(dirname \"$0\")/../../heard\"\n",
    ),
    (
        "python3",
        "note.py",
        "import json, os, sys\n\
         read = json.loads(sys.argv[2]) if len(sys.argv) > 2 else json.load(sys.stdin)\n\
         assert isinstance(read, dict)\n\
         heard = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../heard')\n\
         with open(heard, 'a') as file:\n    file.write(sys.argv[1] + '\\t' + json.dumps(read) + '\\n')\n",
    ),
    (
        "node",
        "note.js",
        "const fs = require('fs'), path = require('path');\n\
         const [, , event, given] = process.argv;\n\
         const read = JSON.parse(given ?? fs.readFileSync(0, 'utf8'));\n\
         if (typeof read !== 'object' || Array.isArray(read)) process.exit(2);\n\
         fs.appendFileSync(path.join(__dirname, '../../heard'), `${event}\\t${JSON.stringify(read)}\\n`);\n",
    ),
];

/// The names of the system's events that happen in becket.
fn events(room: &Room, system: &System) -> BTreeSet<String> {
    let list = room.run(["hooks", "events", "--json", "--dialect", system.name]);
    let lines = list.ended_with(0).stdout;
    let lines = lines.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let name = line["known_as"].as_str().expect("a name").to_owned();
        line["absent"].is_null().then_some(name)
    });
    lines.flatten().collect()
}

/// Hooks without a timeout of their own: a busy machine may be slow.
fn patient(hooks: &mut Value) {
    match hooks {
        Value::Object(members) => {
            members.remove("timeout");
            members.remove("timeoutSec");
            members.values_mut().for_each(patient);
        }
        Value::Array(elements) => elements.iter_mut().for_each(patient),
        _ => {}
    }
}

/// A room whose project has a hook for each of these events.
fn with_all(system: &System, names: &dyn Fn(&Room) -> BTreeSet<String>) -> Option<Room> {
    if SCRIPTS.iter().any(|(program, ..)| !needs(program)) {
        return None;
    }
    let room = with_server("well", "")?.with("SHELL", "/bin/bash");
    for (_, name, text) in SCRIPTS {
        room.write(&format!("hooks/{name}"), text);
    }
    let mut file = json!({});
    for (at, event) in names(&room).iter().enumerate() {
        let (program, name, _) = SCRIPTS[at % SCRIPTS.len()];
        if event == "notify" {
            let script = room.work().join("hooks").join(name).display().to_string();
            room.write(
                "../home/.codex/config.toml",
                format!("notify = [{program:?}, {script:?}, \"notify\"]\n"),
            );
            continue;
        }
        let one = (system.hooks)(event, &format!("{program} hooks/{name} {event}"));
        match file["hooks"].as_object_mut() {
            None => file = one,
            Some(hooks) => {
                hooks.insert(event.clone(), one["hooks"][event].clone());
            }
        }
    }
    patient(&mut file);
    room.write(system.file, file.to_string());
    room.write("AGENTS.md", "Be brief.\n");
    room.write("a.txt", "words of a file");
    room.write("review.md", "---\ndescription: reviews\n---\nReview $1.\n");
    room.write(
        "chooses.ts",
        "export default (pi: any) => {\n\
         pi.on(\"session_start\", () => pi.setModel({ provider: \"scripted\", id: \"other.json\" }));\n};\n",
    );
    Some(room)
}

/// Everything that a run can meet, in some runs.
fn play_all(room: &Room, system: &System) {
    let child = room.write("../child.json", json!([says("counted", &[])]).to_string());
    let child = json!({
        "system_prompt": "help", "input": "count", "model": format!("scripted/{}", child.display()),
    });
    let mut thinks = shell("true");
    thinks["thinking"] = "let me see".into();
    let turns = json!([
        thinks,
        shell("exit 3"),
        shell(&format!("echo ' ' >> {}", system.file)),
        call("write", &json!({"path": "b.txt", "content": "x"})),
        call(
            "edit",
            &json!({"path": "a.txt", "edits": [{"old_text": "words", "new_text": "lines"}]})
        ),
        call("read", &json!({"path": "a.txt"})),
        call("one_echo", &json!({"text": "x"})),
        call("spawn_agent", &child),
        says("done", &[]),
        says("again", &[]),
    ]);
    room.write("other.json", turns.to_string());
    let never = room.model(&json!([says("never", &[])]));
    let first = [
        "--trust",
        "--yes",
        "--init",
        "-e",
        "chooses.ts",
        "--model",
        &never,
    ];
    let more = ["--prompt-template", "review.md", "-p", "/review a.rs", "more"];
    room.run(first.iter().chain(&more)).ended_with(0);
    let model = room.model(&json!([shell("touch made"), says("done", &[])]));
    if let Some(run) = with_person(room, &["--trust", "--model", &model, "go"]) {
        run.ended_with(0);
    }
    let model = room.model(&json!([{"error": {"kind": "rejected", "message": "broken"}}]));
    room.run(["--trust", "--model", &model, "go"]).ended_with(3);
    let model = room.model(&json!([says("done", &[])]));
    room.run_with_input(["--trust", "--model", &model, "chat"], "hello\n")
        .ended_with(0);
    let model = room.model(&json!([says("a summary", &[])]));
    room.run(["--trust", "--model", &model, "compact"]).ended_with(0);
    let model = room.model(&json!([shell("echo x > begun; sleep 300")]));
    let run = room.start(["--trust", "--yes", "--model", &model, "go"]);
    let deadline = Instant::now() + Duration::from_secs(120);
    while !room.has("begun") {
        assert!(Instant::now() < deadline, "the command never began");
        std::thread::sleep(Duration::from_millis(10));
    }
    run.signal(Signal::INT);
    run.finish().ended_with(130);
}

/// Plays everything, and expects that each event of a system was heard by its script, in the system's own words.
fn each_event_reaches_its_script(system: &System) {
    let names = |room: &Room| events(room, system);
    let Some(room) = with_all(system, &names) else {
        return;
    };
    play_all(&room, system);
    let text = room.read("../heard");
    let mut heard = BTreeSet::new();
    for line in text.lines() {
        let (event, read) = line.split_once('\t').unwrap_or_else(|| panic!("{line}"));
        let read: Value = serde_json::from_str(read).unwrap_or_else(|error| panic!("{error}: {line}"));
        if let Some(name) = read.get("hook_event_name") {
            assert_eq!(name, event, "{read:#}");
        }
        heard.insert(event.to_owned());
    }
    assert_eq!(heard, names(&room));
}

#[test]
fn each_event_of_claude_code_reaches_a_script() {
    each_event_reaches_its_script(&CLAUDE_CODE);
}

#[test]
fn each_event_of_codex_reaches_a_script() {
    each_event_reaches_its_script(&CODEX);
}

#[test]
fn each_event_of_gemini_reaches_a_script() {
    each_event_reaches_its_script(&GEMINI);
}

#[test]
fn each_event_of_cursor_reaches_a_script() {
    each_event_reaches_its_script(&CURSOR);
}

#[test]
fn each_event_of_copilot_reaches_a_script() {
    each_event_reaches_its_script(&COPILOT);
}
