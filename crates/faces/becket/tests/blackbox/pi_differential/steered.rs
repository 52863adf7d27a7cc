//! Sessions that a program steers: queues, an end in the middle, models, commands of the user's, and what extensions
//! see of all that.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::Room;

use super::{BOTH, Who, assert_same, command, pi, seen, stage, trace};
use crate::pi_client::Client;
use crate::repository_file;

/// The first level of thinking that a scene chooses.
const FIRST_LEVEL: &str = "low";

/// What came of a scene.
struct Played {
    /// What the scene itself gives.
    told: Vec<Value>,
    /// What an extension noted.
    noted: Vec<Value>,
    /// What the model saw, request by request.
    seen: Vec<Value>,
    /// What a reader of events heard.
    events: Vec<Value>,
}

/// Plays a scene with pi and with becket, in this order. Both tell the same, and an extension notes the same.
fn both(turns: &Value, scene: impl Fn(&mut Client, &Room) -> Vec<Value>) -> Option<[Played; 2]> {
    let program = pi()?;
    let played = BOTH.map(|who| {
        let room = stage(turns);
        write_witness(&room);
        let mut client = start(who, &room, program);
        let told = scene(&mut client, &room);
        let (code, heard) = client.leave();
        assert_eq!(code, 0, "{who:?}");
        Played {
            told,
            noted: noted(&room),
            seen: said(seen(&room)),
            events: events(heard),
        }
    });
    let [pi, becket] = &played;
    assert_same("what the scene tells", &pi.told, &becket.told);
    assert_same("what an extension noted", &pi.noted, &becket.noted);
    Some(played)
}

/// Plays a scene with pi and with becket: the model and a reader of events must see the same, too.
fn both_in_all(turns: &Value, scene: impl Fn(&mut Client, &Room) -> Vec<Value>) {
    if let Some([pi, becket]) = both(turns, scene) {
        assert_same("what the model saw", &pi.seen, &becket.seen);
        assert_same("events", &pi.events, &becket.events);
    }
}

fn write_witness(room: &Room) {
    let witness = repository_file("crates/faces/becket/tests/blackbox/pi_differential/witness.ts");
    room.write("witness.ts", std::fs::read(witness).expect("it is there"));
}

fn start(who: Who, room: &Room, program: &Path) -> Client {
    Client::of(command(
        who,
        room,
        program,
        &["-e", "witness.ts", "--mode", "rpc"],
    ))
}

/// What the extension noted. pi tells of the beginning of a session twice, if a program wants it.
fn noted(room: &Room) -> Vec<Value> {
    let lines = room.read("noted.jsonl");
    let mut noted: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    noted.dedup_by(|one, other| one == other && one[0] == "session_start");
    for change in noted
        .iter_mut()
        .filter(|noted| noted[0] == "thinking_level_select")
    {
        // Where nobody has said how much a model thinks, pi lets it think some, and becket does not.
        if change[1] == FIRST_LEVEL {
            change[2] = Value::Null;
        }
    }
    // pi asks nobody about words that are only queued; becket's hooks hear whatever the model will hear.
    noted.retain(|noted| noted[0] != "input" || !["left", "later"].iter().any(|words| noted[1] == *words));
    noted
}

/// An answer that did not come is a message for pi's model, and none for becket's.
fn said(seen: Vec<Value>) -> Vec<Value> {
    let is_said = |message: &Value| message != &json!(["assistant", []]);
    let requests = seen.into_iter().map(|request| match request {
        Value::Array(messages) => messages.into_iter().filter(is_said).collect(),
        other => other,
    });
    requests.collect()
}

/// What a reader of events hears, without the answers to its own commands, and without the pieces of which the other
/// scenes look after.
fn events(heard: Vec<Value>) -> Vec<Value> {
    let others = ["response", "extension_ui_request", "message_update"];
    let events = heard
        .into_iter()
        .filter(|line| !others.iter().any(|name| line["type"] == *name));
    let mut events = trace(events);
    events.iter_mut().for_each(forget_lost_usage);
    events
}

/// What an answer has cost that was ended in the middle is known to pi, if its provider says so in time. becket counts
/// what is paid for: answers that have come.
fn forget_lost_usage(value: &mut Value) {
    if value["stopReason"] == "aborted" {
        value["usage"] = Value::Null;
    }
    match value {
        Value::Object(members) => members.values_mut().for_each(forget_lost_usage),
        Value::Array(values) => values.iter_mut().for_each(forget_lost_usage),
        _ => {}
    }
}

/// How many words wait for the model.
fn pending(client: &mut Client) -> Value {
    client.data(json!({"type": "get_state"}))["pendingMessageCount"].clone()
}

/// Waits until something is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Runs a command of the witness, which notes its own name at its end.
fn run_command(client: &mut Client, room: &Room, name: &str) {
    client.prompt(&format!("/{name}"));
    let end = format!("[\"{name}\"");
    until("the end of the command", || {
        room.read("noted.jsonl").contains(&end)
    });
}

#[test]
fn what_waits_when_a_run_is_ended_follows_the_next_prompt() {
    let turns = json!([{"say": "One", "hang": true}, {"say": "Two."}, {"say": "Three."}]);
    both_in_all(&turns, |client, _| {
        client.prompt("First");
        client.next("the answer", |line| {
            line["assistantMessageEvent"]["type"] == "text_delta"
        });
        client.data(json!({"type": "follow_up", "message": "later"}));
        client.data(json!({"type": "abort"}));
        let mut told = vec![pending(client)];
        client.prompt_and_wait("Next");
        told.push(pending(client));
        told
    });
}

#[test]
fn words_that_are_queued_while_nothing_runs_wait_for_a_prompt() {
    let turns = json!([{"say": "One."}, {"say": "Two."}]);
    both_in_all(&turns, |client, _| {
        client.data(json!({"type": "steer", "message": "left"}));
        client.data(json!({"type": "follow_up", "message": "later"}));
        let told = vec![pending(client)];
        client.prompt_and_wait("First");
        told
    });
}

#[test]
fn models_are_gone_through_and_none_gets_lost() {
    both(&json!([{"say": "One."}]), |client, _| {
        let mut told = Vec::new();
        for _ in 0..3 {
            let cycled = client.data(json!({"type": "cycle_model"}));
            let models = client.data(json!({"type": "get_available_models"}));
            let models = models["models"].as_array().expect("a list").iter();
            let ids: Vec<&Value> = models.map(|model| &model["id"]).collect();
            told.push(json!([cycled["model"]["id"], ids]));
        }
        told
    });
}

#[test]
fn extensions_hear_how_much_a_model_thinks() {
    both(&json!([{"say": "One."}]), |client, room| {
        for level in [FIRST_LEVEL, "high"] {
            client.data(json!({"type": "set_thinking_level", "level": level}));
            let change = format!("[\"thinking_level_select\",\"{level}\"");
            until("the change", || room.read("noted.jsonl").contains(&change));
        }
        Vec::new()
    });
}

#[test]
fn errors_of_extensions_are_told_by_their_messages() {
    both(&json!([{"say": "One."}]), |client, _| {
        client.send(&json!({"type": "cycle_model"}));
        let mut errors = vec![client.event("extension_error")];
        client.send(&json!({"type": "prompt", "message": "/broken"}));
        errors.push(client.event("extension_error"));
        let told = errors.iter().map(|error| json!([error["event"], error["error"]]));
        told.collect()
    });
}

#[test]
fn summaries_are_the_entries_that_are_kept() {
    let turns =
        json!([{"say": "One."}, {"say": "Two."}, {"say": "A summary."}, {"say": "Four."}, {"say": "All."}]);
    both(&turns, |client, room| {
        client.prompt_and_wait("First");
        client.prompt_and_wait("Second");
        run_command(client, room, "back");
        client.prompt_and_wait("Third");
        let compacted = client.data(json!({"type": "compact"}));
        vec![
            compacted["summary"].clone(),
            json!(compacted["firstKeptEntryId"].is_string()),
        ]
    });
}

#[test]
fn a_session_that_is_set_up_knows_its_place() {
    both(&json!([{"say": "One."}]), |client, room| {
        run_command(client, room, "fresh");
        let messages = client.data(json!({"type": "get_messages"}));
        vec![messages["messages"][0]["content"].clone()]
    });
}

/// A command, and how long its whole output is if only the end of it is told.
const COMMANDS: [(&str, Option<u64>); 9] = [
    ("true", None),
    ("echo hi; exit 3", None),
    ("seq 1 1999", None),
    ("seq 1 2000", Some(8_893)),
    ("seq 1 30000", Some(168_894)),
    ("head -c 51200 /dev/zero | tr '\\0' x", None),
    ("head -c 51201 /dev/zero | tr '\\0' x", Some(51_201)),
    (
        "for i in 1 2 3; do head -c 30000 /dev/zero | tr '\\0' x; echo; done",
        Some(90_003),
    ),
    ("printf 'a\\r\\nb\\033[31mred\\033[0m\\n'", None),
];

#[test]
fn commands_give_their_end_and_where_all_of_it_is() {
    both(&json!([{"say": "One."}]), |client, _| {
        let results = COMMANDS.map(|(command, whole)| {
            let mut result = client.data(json!({"type": "bash", "command": command}));
            let file = result["fullOutputPath"].take();
            assert_eq!(file.is_string(), whole.is_some(), "{command}");
            if let (Some(file), Some(whole)) = (file.as_str(), whole) {
                // pi writes it after it has answered.
                until("the whole output", || {
                    std::fs::metadata(file).is_ok_and(|file| file.len() == whole)
                });
                std::fs::remove_file(file).expect("it is there");
            }
            result
        });
        results.into()
    });
}
