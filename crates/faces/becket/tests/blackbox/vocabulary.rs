//! The two tests of the vocabulary: every declared event fires, and what is documented is what is sent.
//!
//! Both look at the same scripted runs of the real program. The first event of each name is kept as an example under
//! `docs/events/`, from where it goes into the reference page. `BECKET_UPDATE_GOLDENS=1` writes these files anew.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::OnceLock;

use becket_events::{EVENTS, EventId, payload_schema};
use serde_json::Value;

use crate::limit::{with_person, with_person_typing};
use crate::room;

const TALK: &str = r#"
[[turns]]
text = "Let me see."
usage = { input_tokens = 120, output_tokens = 9 }
tool_calls = [
    { id = "call-1", name = "shell", arguments = { command = "echo hello" } },
    { id = "call-2", name = "write", arguments = { path = "note.txt", content = "hello" } },
    { id = "call-3", name = "read", arguments = { path = "note.txt" } },
    { id = "call-4", name = "fetch", arguments = { url = "http://127.0.0.1:9/" } },
    { id = "call-5", name = "shell", arguments = { command = "seq 1 400" } },
    { id = "call-6", name = "write", arguments = { path = "vfs:///shared/note.txt", content = "hello" } },
]

[[turns]]
text = "Done."
usage = { input_tokens = 300, output_tokens = 2 }
"#;

const ONE_CALL: &str = r#"
[[turns]]
tool_calls = [{ id = "call-1", name = "shell", arguments = { command = "echo hello" } }]
usage = { input_tokens = 120, output_tokens = 9 }

[[turns]]
text = "It was refused."
usage = { input_tokens = 180, output_tokens = 4 }
"#;

const SUBAGENT: &str = r#"
[[turns]]
tool_calls = [{ id = "call-1", name = "spawn_agent", arguments = { system_prompt = "You count.", input = "a b c" } }]
usage = { input_tokens = 150, output_tokens = 20 }

[[turns]]
text = "There are three."
usage = { input_tokens = 12, output_tokens = 4 }

[[turns]]
text = "Three."
usage = { input_tokens = 190, output_tokens = 2 }
"#;

const FAILURE: &str = r#"
[[turns]]
error = { kind = "rejected", message = "the model does not exist" }
"#;

const SUMMARY: &str = r#"
[[turns]]
text = "The user wanted to know what is here; the shell was refused."
usage = { input_tokens = 200, output_tokens = 14 }
"#;

const BROKEN_HOOK: &str = r#"
[[hook]]
event = "turn_start"
name = "broken"
command = "echo something went wrong >&2; exit 3"
"#;

/// A hook whose file changes between two prompts.
const CHANGES: &str = r#"
[[hook]]
event = "stop"
name = "changes itself"
command = "echo '# changed' >> changes.toml"
"#;

/// What is run, one after another, in one room.
const RUNS: &[&[&str]] = &[
    &[
        "--json",
        "--yes",
        "--model",
        "scripted/talk.toml",
        "What is here?",
    ],
    &[
        "--json",
        "--model",
        "scripted/one-call.toml",
        "-c",
        "second",
        "What is here?",
    ],
    &[
        "--json",
        "--model",
        "scripted/failure.toml",
        "-c",
        "third",
        "What is here?",
    ],
    &[
        "--json",
        "--yes",
        "--model",
        "scripted/one-call.toml",
        "-c",
        "fourth",
        "--max-iterations",
        "1",
        "Go on.",
    ],
    &["--json", "--hooks", "broken.toml", "-c", "fifth", "What is here?"],
    &[
        "--json",
        "--model",
        "scripted/summary.toml",
        "compact",
        "second",
        "--instructions",
        "what was refused",
    ],
    &["--json", "context", "clear", "second"],
    &["--json", "send", "fourth", "The tests are red."],
    &["--json", "-c", "sixth", "index", "update"],
    &[
        "--json",
        "--model",
        "scripted/subagent.toml",
        "-c",
        "seventh",
        "How many are there?",
    ],
    &["--json", "-c", "ninth", "run", "team.yaml", "How many are there?"],
    &[
        "--json",
        "--model",
        "scripted/summary.toml",
        "-c",
        "tenth",
        "-e",
        "steers.ts",
        "What is here?",
    ],
    &["--json", "sessions", "label", "@2", "start"],
    &[
        "--json",
        "--model",
        "scripted/summary.toml",
        "sessions",
        "goto",
        "start",
        "--summary",
        "what was refused",
        "--label",
        "again",
    ],
    &["--json", "sessions", "fork", "start", "--to", "eleventh"],
    &[
        "--json",
        "--yes",
        "--model",
        "scripted/priced.toml",
        "-c",
        "fourteenth",
        "--budget",
        "0.001",
        "Go on.",
    ],
];

/// An extension that takes another model, and speaks while that one is at work.
const STEERS: &str = r#"
export default (pi: any) => {
    pi.on("session_start", () => {
        pi.setModel({ provider: "scripted", id: "one-call.toml" });
        pi.setThinkingLevel("low");
        pi.setSessionName("files only");
    });
    pi.on("tool_call", () => pi.sendUserMessage("Files only, please.", { deliverAs: "steer" }));
};
"#;

/// A team whose first agent gives the other one a task.
const TEAM: &str = r#"
agents:
  root:
    model: scripted/task.toml
    instruction: You lead.
    sub_agents: [counter]
  counter:
    model: scripted/count.toml
    description: counts things
    instruction: You count.
"#;

const TASK: &str = r#"
[[turns]]
usage = { input_tokens = 150, output_tokens = 20 }

[[turns.tool_calls]]
id = "call-1"
name = "transfer_task"
arguments = { agent = "counter", task = "Count: a b c", expected_output = "a number" }

[[turns]]
text = "Three."
usage = { input_tokens = 190, output_tokens = 2 }
"#;

const COUNT: &str = r#"
[[turns]]
text = "There are three."
usage = { input_tokens = 12, output_tokens = 4 }
"#;

/// What is run in a project with instructions for the model: it is set up, and a template stands for a prompt.
const WITH_INSTRUCTIONS: &[&str] = &[
    "--json",
    "-c",
    "twelfth",
    "--init",
    "--hooks",
    "changes.toml",
    "--model",
    "rehearsal",
    "--print",
    "--prompt-template",
    "review.md",
    "/review main.rs",
    "And then?",
];

/// What is run at a terminal, where a user lets it go on.
const AT_THE_LIMIT: &[&str] = &[
    "--json",
    "--model",
    "scripted/one-call.toml",
    "-c",
    "eighth",
    "--max-iterations",
    "1",
    "Go on.",
];

/// A chat at a terminal, where a user runs a command.
const IN_A_CHAT: &[&str] = &["--json", "-c", "eleventh", "chat"];

/// What a run prints whose model is behind a server, and whose hooks want to see the answer's data and its parts.
fn with_server(room: &testkit::Room) -> Vec<Value> {
    let answer = testkit::OpenAiStream::new("m")
        .text("hello")
        .finish("stop")
        .done();
    let server = testkit::ModelServer::start([testkit::Response::events(answer)]);
    let hooks = "[[hook]]\nevent = \"response_data\"\ncommand = \"cat > /dev/null\"\n\
                 [[hook]]\nevent = \"response_part\"\ncommand = \"cat > /dev/null\"\n";
    room.write("data.toml", hooks);
    let words = [
        "--json",
        "-c",
        "thirteenth",
        "--model",
        "openai/m",
        "--hooks",
        "data.toml",
        "Hi.",
    ];
    let child = room
        .command(words)
        .env("OPENAI_API_KEY", "k")
        .env("OPENAI_BASE_URL", server.url())
        .spawn();
    let printed = testkit::finish(child.expect("it starts")).events();
    printed
        .into_iter()
        .filter(|event| event["event"] == "response_data" || event["event"] == "response_part")
        .collect()
}

/// Everything that the scripted runs print, in order, with what changes from run to run made the same.
fn events() -> &'static [Value] {
    static EVENTS: OnceLock<Vec<Value>> = OnceLock::new();
    EVENTS.get_or_init(|| {
        let room = room();
        room.config(
            "[tools]\noutput_limit = 1000\n[prices.\"scripted/priced\"]\ninput = 10.0\noutput = 50.0\n",
        );
        room.write("talk.toml", TALK);
        room.write("one-call.toml", ONE_CALL);
        room.write("priced.toml", ONE_CALL);
        room.write("failure.toml", FAILURE);
        room.write("summary.toml", SUMMARY);
        room.write("subagent.toml", SUBAGENT);
        room.write("broken.toml", BROKEN_HOOK);
        room.write("changes.toml", CHANGES);
        room.write("review.md", "---\ndescription: reviews a file\n---\nReview $1.\n");
        room.write("team.yaml", TEAM);
        room.write("steers.ts", STEERS);
        room.write("task.toml", TASK);
        room.write("count.toml", COUNT);
        room.write("main.rs", "fn main() {\n    greet();\n}\n");
        let root = room.work().parent().unwrap().canonicalize().unwrap();
        let mut all = Vec::new();
        for run in RUNS {
            let finished = room.run(run.iter().map(|word| entry_named(&room, word)));
            let printed = finished.events();
            assert!(
                !printed.is_empty(),
                "{run:?} printed nothing: {}",
                finished.stderr
            );
            all.extend(printed);
        }
        all.extend(with_server(&room));
        room.write("AGENTS.md", "Be brief.\n");
        all.extend(room.run(WITH_INSTRUCTIONS).events());
        let limit = with_person(&room, AT_THE_LIMIT);
        all.extend(limit.map(|run| run.events()).unwrap_or_default());
        let chat = with_person_typing(&room, IN_A_CHAT, "!echo hello\n/quit\n");
        all.extend(chat.map(|run| run.events()).unwrap_or_default());
        let places = [
            (room.work().parent().unwrap().display().to_string(), "/room"),
            (root.display().to_string(), "/room"),
            // Its name has a hash of the room's place in it.
            (room.context(), "default"),
        ];
        all.iter_mut().for_each(|event| make_stable(event, "", &places));
        all
    })
}

/// A word of a command line; `@2` is the second entry of the conversation.
fn entry_named(room: &testkit::Room, word: &str) -> String {
    let Some(place) = word
        .strip_prefix('@')
        .and_then(|place| place.parse::<usize>().ok())
    else {
        return word.to_string();
    };
    let entries = room.run(["--json", "sessions", "tree"]).events();
    entries[place - 1]["id"].as_str().expect("an id").to_string()
}

/// Replaces what is different in every run: ids, times, and the room's place.
fn make_stable(value: &mut Value, name: &str, places: &[(String, &str)]) {
    match value {
        Value::Object(members) => members
            .iter_mut()
            .for_each(|(name, value)| make_stable(value, name, places)),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|value| make_stable(value, name, places)),
        Value::Number(_) if matches!(name, "time_ms" | "duration_ms") => *value = 0.into(),
        Value::String(text) => {
            for (place, stand_in) in places {
                *text = text.replace(place.as_str(), stand_in);
            }
            if text.len() == 36 && text.chars().filter(|character| *character == '-').count() == 4 {
                *text = "01890000-0000-7000-8000-000000000000".into();
            }
            *text = with_stable_cache_ids(text);
        }
        _ => {}
    }
}

/// Replaces the time in names of cached outputs, such as `shell_19a8b7c6d5e_0123abcd`.
pub(crate) fn with_stable_cache_ids(text: &str) -> String {
    let mut pieces = text.split("shell_");
    let mut stable = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let digits = piece.find(|character: char| !character.is_ascii_hexdigit());
        let digits = digits.filter(|digits| *digits == 11).unwrap_or(0);
        stable.push_str("shell_");
        stable.push_str(if digits == 11 { "19000000000" } else { "" });
        stable.push_str(&piece[digits..]);
    }
    stable
}

fn first_of_each() -> BTreeMap<String, Value> {
    let mut first = BTreeMap::new();
    for event in events() {
        first
            .entry(event["event"].as_str().unwrap().to_string())
            .or_insert_with(|| event.clone());
    }
    first
}

#[test]
fn every_declared_event_fires() {
    let fired: BTreeSet<String> = first_of_each().into_keys().collect();
    for event in EVENTS {
        let known = fired.contains(event.name);
        // Only a user causes it, and that takes a terminal.
        let known =
            known || (matches!(event.name, "limit_raised" | "user_shell") && !testkit::needs("python3"));
        assert!(known, "{} is declared but never fires", event.name);
    }
}

#[test]
fn what_is_sent_fits_its_schema() {
    let mut validators = BTreeMap::new();
    for event in events() {
        let name = event["event"].as_str().unwrap();
        let id = EventId::named(name).unwrap();
        let validator = validators
            .entry(name)
            .or_insert_with(|| jsonschema::validator_for(payload_schema(id).as_value()).unwrap());
        let errors: Vec<String> = validator
            .iter_errors(event)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:?}\n{event:#}");
    }
}

#[test]
fn what_is_documented_is_what_is_sent() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../docs/events");
    let update = std::env::var_os("BECKET_UPDATE_GOLDENS").is_some();
    let mut stale = Vec::new();
    for (name, event) in first_of_each() {
        let file = folder.join(format!("{name}.json"));
        let sent = format!("{event:#}\n");
        if update {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&file, &sent).unwrap();
        } else if std::fs::read_to_string(&file).unwrap_or_default() != sent {
            stale.push(format!("{name} sends\n{sent}"));
        }
    }
    assert!(
        stale.is_empty(),
        "docs/events differs; BECKET_UPDATE_GOLDENS=1 writes it:\n{}",
        stale.join("\n")
    );
}

#[test]
fn one_prompt_fires_its_events_in_the_documented_order() {
    let names: Vec<&str> = events()
        .iter()
        .take_while(|event| event["context_name"] == "default")
        .map(|event| event["event"].as_str().unwrap())
        .filter(|name| !matches!(*name, "message_update" | "tool_update"))
        .collect();
    let beginning = [
        "session_start",
        "resources",
        "user_input",
        "user_prompt",
        "pre_system_prompt",
        "post_system_prompt",
        "agent_start",
        "loop_start",
        "turn_start",
        "message_start",
        "message_end",
        "model_context",
        "tools_offered",
        "pre_request",
        "response_start",
        "message_start",
        "post_response",
        "response",
        "message_end",
        "tool_start",
        "pre_tool",
        "pre_shell",
        "permission_request",
        "approval_decided",
        "pre_tool_output",
        "post_tool_output",
        "tool_end",
        "tool_start",
        "pre_tool",
        "pre_file_write",
    ];
    assert_eq!(names[..beginning.len()], beginning);
    let end = [
        "post_response",
        "output",
        "response",
        "message_end",
        "stop",
        "turn_end",
        "agent_end",
        "attention",
        "settled",
        "session_end",
    ];
    assert_eq!(names[names.len() - end.len()..], end);
}
