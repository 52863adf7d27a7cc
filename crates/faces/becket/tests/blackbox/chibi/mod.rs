//! chibi's plugins in the real program: a test for each hook, with a real plugin and a model behind a real wire.
//!
//! What counts is what the model, the file system or the next plugin saw. `Chibi` is the room for it: it writes plugins
//! into a chibi home, runs becket, and reads what the plugins were told.
//!
//! Not here: `post_index_file`, which is tested with the index.

mod both_kinds;
mod disguises;
mod examples;
mod filters;
mod guards;
mod lifecycle;
mod messages;
mod permissions;
mod plugins;
mod prompts;
mod subagents;
mod tools;
mod unchanged;
mod urls;
mod words;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, OpenAiStream, Response, Room};

use crate::room;

/// The two ways in which plugins are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Generation {
    /// Data on standard input.
    Newer,
    /// Data in variables.
    Older,
}
use Generation::{Newer, Older};

/// A sealed room with a chibi home in it, and a model that remembers what it was shown.
struct Chibi {
    room: Room,
    server: ModelServer,
}

/// One call of a plugin, as the plugin saw it.
#[derive(Debug, Clone)]
struct Seen {
    plugin: String,
    /// The hook; `tool` for a call of the plugin's own tool.
    hook: String,
    data: Value,
    /// The variables whose names begin with `CHIBI_`.
    variables: BTreeMap<String, String>,
}

/// A run that is over, with the requests that it made.
#[derive(Debug)]
struct Told {
    run: Finished,
    requests: Vec<Value>,
}

/// A plugin in bash that writes down what it is told, and then does what its author wants.
const BASH: &str = r#"#!/bin/bash
if [[ $1 == --schema ]]; then
  echo '@SCHEMA@'
  exit
fi
data=@DATA@
{ printf '%s\n' "$data"; env | grep ^CHIBI_; } > "@SEEN@/$EPOCHREALTIME:@NAME@:${CHIBI_HOOK:-tool}:$$"
@BODY@
"#;

/// A plugin in Python that writes down what it is told; its author finds `hook` and `data` and fills `answer`.
const PYTHON: &str = r#"#!/usr/bin/env python3
import json, os, sys, time
if sys.argv[1:] == ["--schema"]:
    print('@SCHEMA@')
    sys.exit()
hook = os.environ.get("CHIBI_HOOK", "tool")
data = json.loads(@DATA@)
with open(f"@SEEN@/{time.time():.6f}:@NAME@:{hook}:{os.getpid()}", "w") as seen:
    variables = [f"{name}={value}" for name, value in os.environ.items() if name.startswith("CHIBI_")]
    seen.write("\n".join([json.dumps(data), *variables]))
answer = {}
@BODY@
print(json.dumps(answer))
"#;

impl Chibi {
    /// A room whose `~/.chibi` has no plugins yet.
    fn new() -> Self {
        Self::with(&[])
    }

    /// A room without plugins, with more variables in becket's own environment.
    fn with(variables: &[(&str, &str)]) -> Self {
        let server = ModelServer::start([]);
        let room = room()
            .with("OPENAI_API_KEY", "sk-test")
            .with("OPENAI_BASE_URL", &server.url());
        let room = variables
            .iter()
            .fold(room, |room, (name, value)| room.with(name, value));
        let chibi = Self { room, server };
        for folder in [chibi.home().join("plugins"), chibi.seen_folder()] {
            std::fs::create_dir_all(folder).expect("the room is writable");
        }
        chibi
    }

    /// chibi's home.
    fn home(&self) -> PathBuf {
        self.room.home().join(".chibi")
    }

    fn seen_folder(&self) -> PathBuf {
        self.room.home().join("seen")
    }

    /// Writes a plugin as it stands.
    fn install(&self, name: &str, text: &str) {
        self.room.script(&format!("../home/.chibi/plugins/{name}"), text);
    }

    /// Writes a plugin in bash that writes down what it is told. `body` sees the hook in `CHIBI_HOOK` and the event in
    /// `data`; what it prints is the answer.
    fn plugin(&self, generation: Generation, name: &str, hooks: &[&str], body: &str) {
        let data = match generation {
            Newer => "$(cat)",
            Older => "${CHIBI_HOOK_DATA:-$CHIBI_TOOL_ARGS}",
        };
        self.install(name, &self.filled(BASH, data, name, hooks, body));
    }

    /// Writes a plugin in Python that writes down what it is told. `body` sees `hook` and `data` and fills `answer`.
    fn python(&self, generation: Generation, name: &str, hooks: &[&str], body: &str) {
        let data = match generation {
            Newer => "sys.stdin.read()",
            Older => r#"os.environ.get("CHIBI_HOOK_DATA") or os.environ["CHIBI_TOOL_ARGS"]"#,
        };
        self.install(name, &self.filled(PYTHON, data, name, hooks, body));
    }

    fn filled(&self, template: &str, data: &str, name: &str, hooks: &[&str], body: &str) -> String {
        let schema = json!({
            "name": name,
            "description": "A plugin of a test.",
            "parameters": {"type": "object", "properties": {}},
            "hooks": hooks,
        });
        template
            .replace("@SCHEMA@", &schema.to_string())
            .replace("@DATA@", data)
            .replace("@SEEN@", &self.seen_folder().display().to_string())
            .replace("@NAME@", name)
            .replace("@BODY@", body)
    }

    /// Runs becket with a model that answers with these turns.
    fn ask(&self, arguments: &[&str], turns: &[Value]) -> Told {
        let before = self.server.requests().len();
        for (number, turn) in turns.iter().enumerate() {
            self.server.push(response(before + number, turn));
        }
        let run = self.room.run(arguments);
        let requests = self.server.requests();
        Told {
            run,
            requests: requests[before..].iter().map(|request| request.json()).collect(),
        }
    }

    /// Everything that plugins were told, in order.
    fn seen(&self) -> Vec<Seen> {
        let folder = std::fs::read_dir(self.seen_folder()).expect("the folder is there");
        let mut files: Vec<PathBuf> = folder.map(|file| file.expect("readable").path()).collect();
        files.sort();
        files.into_iter().map(|file| Seen::read(&file)).collect()
    }

    /// What plugins were told about one hook.
    fn seen_of(&self, hook: &str) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.hook == hook).collect()
    }

    /// What one plugin was told about one hook. Where nothing can be rewritten, plugins are asked at the same time, so
    /// that only the order within one of them is certain.
    fn told(&self, plugin: &str, hook: &str) -> Vec<Value> {
        let seen = self.seen_of(hook).into_iter();
        seen.filter(|seen| seen.plugin == plugin)
            .map(|seen| seen.data)
            .collect()
    }

    /// The only thing that plugins were told about a hook.
    #[track_caller]
    fn only(&self, hook: &str) -> Value {
        let mut seen = self.seen_of(hook);
        assert_eq!(seen.len(), 1, "{hook} was told once: {seen:#?}");
        seen.remove(0).data
    }

    /// The hooks in the order in which they fired.
    fn order(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.hook).collect()
    }

    /// Forgets what plugins were told so far.
    fn forget(&self) {
        for file in std::fs::read_dir(self.seen_folder()).expect("the folder is there") {
            std::fs::remove_file(file.expect("readable").path()).expect("writable");
        }
    }
}

impl Seen {
    fn read(file: &std::path::Path) -> Self {
        let name = file
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a plain name");
        let parts: Vec<&str> = name.split(':').collect();
        let text = std::fs::read_to_string(file).expect("readable");
        let mut lines = text.lines();
        let data = lines.next().unwrap_or_default();
        Self {
            plugin: parts[1].to_owned(),
            hook: parts[2].to_owned(),
            data: serde_json::from_str(data).unwrap_or_else(|_| Value::String(data.to_owned())),
            variables: lines
                .filter_map(|line| line.split_once('='))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        }
    }
}

impl Told {
    /// Checks that the run ended well.
    #[track_caller]
    fn went_well(self) -> Self {
        assert_eq!(self.run.code, 0, "{self:#?}");
        self
    }

    /// Checks that this many requests were made.
    #[track_caller]
    fn asked(self, times: usize) -> Self {
        assert_eq!(self.requests.len(), times, "{self:#?}");
        self
    }

    /// The texts of all messages of a role in a request.
    fn texts(&self, request: usize, role: &str) -> Vec<String> {
        let messages = self.requests[request]["messages"].as_array();
        let of_role = messages
            .into_iter()
            .flatten()
            .filter(|message| message["role"] == role);
        of_role.map(|message| text_of(&message["content"])).collect()
    }

    /// The system prompt of a request.
    fn system(&self, request: usize) -> String {
        self.texts(request, "system").join("\n")
    }

    /// What the user said last, in a request.
    fn prompt(&self, request: usize) -> String {
        self.texts(request, "user").pop().unwrap_or_default()
    }

    /// The results of tools that the last request holds.
    fn results(&self) -> Vec<String> {
        self.texts(self.requests.len() - 1, "tool")
    }

    /// The names of the tools that a request offers.
    fn tools(&self, request: usize) -> Vec<String> {
        let tools = self.requests[request]["tools"].as_array();
        let names = tools.into_iter().flatten();
        names
            .map(|tool| {
                tool["function"]["name"]
                    .as_str()
                    .expect("a tool has a name")
                    .to_owned()
            })
            .collect()
    }
}

/// A turn in which the model only speaks.
fn says(text: &str) -> Value {
    json!({"text": text})
}

/// A turn in which the model asks for one tool.
fn calls(name: &str, arguments: Value) -> Value {
    json!({"tool_calls": [{"name": name, "arguments": arguments}]})
}

/// A turn in which the model asks for a shell command.
fn runs(command: &str) -> Value {
    calls("shell", json!({"command": command}))
}

/// One turn as the provider would stream it.
fn response(number: usize, turn: &Value) -> Response {
    let mut stream = OpenAiStream::new("m");
    if let Some(text) = turn["text"].as_str() {
        stream = stream.text(text);
    }
    let calls = turn["tool_calls"].as_array().cloned().unwrap_or_default();
    for (index, call) in calls.iter().enumerate() {
        let (id, name) = (format!("call-{number}-{index}"), call["name"].as_str());
        let arguments = call["arguments"].to_string();
        stream = stream.tool_call(index, &id, name.expect("a call names its tool"), &[&arguments]);
    }
    stream = stream.finish(if calls.is_empty() { "stop" } else { "tool_calls" });
    if let Some(tokens) = turn["input_tokens"].as_u64() {
        stream = stream.usage(tokens, 1);
    }
    Response::events(stream.done())
}

/// The text of a message, which providers write as a text or as a list of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .map(|part| part["text"].as_str().unwrap_or_default())
            .collect(),
        _ => String::new(),
    }
}

/// Whether an event has all of these fields; more are allowed.
#[track_caller]
fn has_fields(data: &Value, names: &[&str]) {
    for name in names {
        assert!(data.get(name).is_some(), "no field {name:?} in {data:#}");
    }
}
