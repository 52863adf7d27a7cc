//! The real pi and becket run the same extension with the same scripted provider, and say the same to the program that
//! runs them. Where they differ, the difference stands in `ONLY_BECKET` or in `unlike`, with its reason.
//!
//! pi comes from the npm registry, once for each run of the tests, and is no part of this repository.

mod steered;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};
use testkit::{Finished, Room, finish, needs, skipped};

use crate::pi_client::Client;
use crate::{repository_file, room};

/// The pi that is compared with.
const PACKAGE: &str = "@mariozechner/pi-coding-agent@0.73.1";

/// Events that this pi does not have: `agent_settled` came with 0.80.4, and programs written for it wait for it.
const ONLY_BECKET: &[&str] = &["agent_settled"];

/// pi's program, if node and the registry are there.
fn pi() -> Option<&'static Path> {
    static FETCHED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    if !needs("node") || !needs("npm") {
        return None;
    }
    match FETCHED.get_or_init(fetch) {
        Ok(program) => Some(program),
        Err(why) => {
            skipped(&format!("the npm registry: {why}"));
            None
        }
    }
}

fn fetch() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pi-program");
    let program = folder.join("node_modules/@mariozechner/pi-coding-agent/dist/cli.js");
    if folder.join("whole").exists() {
        return Ok(program);
    }
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let script = format!(
        "npm install --silent --no-audit --no-fund --ignore-scripts --fetch-timeout=60000 '{PACKAGE}' && touch whole"
    );
    let fetched = Command::new("sh")
        .args(["-c", &script])
        .current_dir(&folder)
        .output();
    let fetched = fetched.map_err(|error| error.to_string())?;
    match fetched.status.success() {
        true => Ok(program),
        false => Err(String::from_utf8_lossy(&fetched.stderr).into_owned()),
    }
}

/// Who is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Pi,
    Becket,
}

const BOTH: [Who; 2] = [Who::Pi, Who::Becket];

/// A room with a script.
fn stage(turns: &Value) -> Room {
    let room = room();
    let provider = repository_file("crates/faces/becket/tests/blackbox/pi_differential/provider.ts");
    room.write("provider.ts", std::fs::read(provider).expect("it is there"));
    room.write("script.json", turns.to_string());
    room
}

/// One of the two with the extension, the provider and these arguments.
fn command(who: Who, room: &Room, program: &Path, arguments: &[&str]) -> Command {
    let common = [
        "-ne",
        "-e",
        "provider.ts",
        "--provider",
        "lab",
        "--model",
        "one",
        "--no-session",
    ];
    let mut command = match who {
        Who::Becket => room.command(["--yes"]),
        Who::Pi => {
            let mut command = room.command([""; 0]);
            let sealed: Vec<_> = command
                .get_envs()
                .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
                .collect();
            command = Command::new("node");
            command
                .arg(program)
                .current_dir(room.work())
                .env_clear()
                .envs(sealed)
                .stdin(std::process::Stdio::null())
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped());
            command
        }
    };
    command
        .args(common)
        .args(arguments)
        .env("PI_CODING_AGENT_DIR", room.home().join("agent"))
        .env("PI_OFFLINE", "1")
        .env("PI_TELEMETRY", "0");
    command
}

fn run(who: Who, room: &Room, program: &Path, arguments: &[&str]) -> Finished {
    finish(
        command(who, room, program, arguments)
            .spawn()
            .expect("it can be started"),
    )
}

/// What both must say alike. Times and ids are each one's own, and so is how a number is written. A message of becket's
/// does not keep by which interface (`api`) the model was asked. That a tool is not there, each says in its own words.
/// While an answer arrives pi shows one object that goes on growing, so that lines of it may hold what came later;
/// becket's hold what there was. What was added is compared.
fn unlike(mut line: Value) -> Value {
    fn without_times(value: &mut Value) {
        match value {
            Value::String(text) if text == "there is no tool `fly`" => *text = "Tool fly not found".into(),
            Value::Object(fields) => {
                // Where a tool gives no data, pi sometimes gives an empty object.
                fields.retain(|name, value| name != "details" || *value != json!({}));
                for name in ["timestamp", "responseId", "partial", "api"] {
                    fields.remove(name);
                }
                fields.values_mut().for_each(without_times);
            }
            Value::Array(values) => values.iter_mut().for_each(without_times),
            Value::Number(number) => *value = json!(number.as_f64()),
            _ => {}
        }
    }
    without_times(&mut line);
    let is_answer = line["message"]["role"] == "assistant";
    match line["type"].as_str() {
        Some("session") => line["id"] = Value::Null,
        Some("message_update") => line["message"] = Value::Null,
        Some("message_start") if is_answer => line["message"] = json!({"role": "assistant"}),
        Some("extension_ui_request") => line["id"] = Value::Null,
        _ => {}
    }
    line
}

fn trace(lines: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let lines = lines.into_iter();
    let known = lines.filter(|line| !ONLY_BECKET.iter().any(|name| line["type"] == *name));
    let mut lines: Vec<Value> = known.map(unlike).collect();
    // Calls that run beside each other tell of themselves as they like; each by itself keeps its order.
    let of_call = |line: &Value| {
        matches!(
            line["type"].as_str(),
            Some("tool_execution_update" | "tool_execution_end")
        )
    };
    for calls in lines.chunk_by_mut(|one, other| of_call(one) && of_call(other)) {
        calls.sort_by_key(|line| line["toolCallId"].as_str().map(ToOwned::to_owned));
    }
    lines
}

fn lines(run: &Finished) -> Vec<Value> {
    let lines = run.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("every line is JSON"))
        .collect()
}

/// What the model saw, request by request.
fn seen(room: &Room) -> Vec<Value> {
    let text = room.read("seen.jsonl");
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    lines.map(unlike).collect()
}

/// Compares line by line, so that the first difference is told and not all that follows from it.
fn assert_same(what: &str, pi: &[Value], becket: &[Value]) {
    for (at, (pi, becket)) in pi.iter().zip(becket).enumerate() {
        assert_eq!(becket, pi, "{what}: line {at}");
    }
    assert_eq!(
        becket.len(),
        pi.len(),
        "{what}: pi {:#?}\nbecket {:#?}",
        pi.last(),
        becket.last()
    );
}

fn shouting() -> Value {
    json!([
        {"say": "Let me shout.", "calls": [{"id": "c1", "name": "shout", "arguments": {"text": "hello"}}]},
        {"say": "I have shouted."},
    ])
}

#[test]
fn events_of_a_run_are_the_same() {
    let Some(program) = pi() else { return };
    let cases = [
        ("an answer", json!([{"say": "Hello, world."}]), 0),
        ("a call", shouting(), 0),
        (
            "calls beside each other",
            json!([
                {"calls": [
                    {"id": "c1", "name": "shout", "arguments": {"text": "a"}},
                    {"id": "c2", "name": "shout", "arguments": {"text": "b"}},
                ]},
                {"say": "Both."},
            ]),
            0,
        ),
        (
            "a tool that is not there",
            json!([{"calls": [{"id": "c1", "name": "fly", "arguments": {}}]}, {"say": "No wings."}]),
            0,
        ),
    ];
    for (what, turns, code) in cases {
        let runs = BOTH.map(|who| {
            let room = stage(&turns);
            let run = run(who, &room, program, &["--mode", "json", "-p", "Do it"]);
            assert_eq!(run.code, code, "{what} {who:?}: {}", run.stderr);
            let mut trace = trace(lines(&run));
            trace[0]["cwd"] = Value::Null;
            (trace, seen(&room))
        });
        let [(pi, pi_seen), (becket, becket_seen)] = runs;
        assert_same(what, &pi, &becket);
        assert_same(what, &pi_seen, &becket_seen);
    }
}

#[test]
fn an_answer_in_text_is_the_same() {
    let Some(program) = pi() else { return };
    let cases = [
        (shouting(), vec!["-p", "Do it"], 0),
        (shouting(), vec!["--mode", "text", "-p", "Do it"], 0),
        (
            json!([{"error": "no such thing"}]),
            vec!["--mode", "text", "-p", "Do it"],
            1,
        ),
    ];
    for (turns, arguments, code) in cases {
        let said = BOTH.map(|who| {
            let room = stage(&turns);
            let run = run(who, &room, program, &arguments);
            assert_eq!(run.code, code, "{arguments:?} {who:?}: {}", run.stderr);
            // pi's print mode gives the words of the last answer; becket all that the model says to the user.
            run.stdout.lines().last().unwrap_or_default().to_owned()
        });
        assert_eq!(said[1], said[0], "{arguments:?}");
    }
}

#[test]
fn a_session_over_rpc_is_the_same() {
    let Some(program) = pi() else { return };
    let wait = json!({"id": "c1", "name": "shout", "arguments": {"text": "wait"}});
    let turns = json!([{"say": "One.", "calls": [wait]}, {"say": "Two."}, {"say": "Three."}]);
    let runs = BOTH.map(|who| {
        let room = stage(&turns);
        let mut client = Client::of(command(who, &room, program, &["--mode", "rpc"]));
        let mut answers = vec![client.ask(json!({"type": "get_last_assistant_text"}))];
        client.prompt("First");
        client.event("tool_execution_update");
        for command in [
            json!({"type": "steer", "message": "left"}),
            json!({"type": "prompt", "message": "no"}),
            json!({"type": "fly"}),
        ] {
            answers.push(match command["type"] == "fly" {
                false => client.ask(command),
                // pi gives no id back with the answer to what it does not know.
                true => {
                    client.send(&command);
                    client.next("the answer", |line| line["command"] == "fly")
                }
            });
        }
        room.write("go", "");
        client.event("agent_end");
        for command in [
            json!({"type": "get_last_assistant_text"}),
            json!({"type": "get_messages"}),
            json!({"type": "set_session_name", "name": ""}),
            json!({"type": "cycle_thinking_level"}),
            json!({"type": "get_available_models"}),
        ] {
            answers.push(client.ask(command));
        }
        let (code, heard) = client.leave();
        assert_eq!(code, 0, "{who:?}");
        let others = ["response", "thinking_level_changed", "extension_ui_request"];
        let events = heard
            .into_iter()
            .filter(|line| !others.iter().any(|name| line["type"] == *name));
        (trace(events), trace(answers), seen(&room))
    });
    let [(pi, pi_answers, pi_seen), (becket, becket_answers, becket_seen)] = runs;
    assert_same("what the model saw", &pi_seen, &becket_seen);
    for (pi, becket) in pi_answers.iter().zip(&becket_answers) {
        assert_eq!(becket["success"], pi["success"], "{pi} {becket}");
        assert_eq!(becket["command"], pi["command"]);
    }
    assert_same("events", &pi, &becket);
}
