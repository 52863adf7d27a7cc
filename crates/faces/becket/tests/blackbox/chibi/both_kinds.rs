//! Every hook once with a plugin that is a program and once with a file in Scheme that answers the same: both must have
//! been told the same, and the model must have seen the same.
//!
//! One table; the two kinds of plugins are made of its rows.

use serde_json::{Value, json};

use super::{Chibi, Newer, Told, calls, runs, says};

/// How a hook comes about.
#[derive(Debug, Clone, Copy)]
enum Scene {
    /// A command runs.
    Shell,
    /// A file outside of the working directory is read.
    Outside,
    /// A file is written.
    Write,
    /// A file of the virtual file system is written.
    Vfs,
    /// A page of this machine is fetched.
    Fetch,
    /// A sub-agent is asked.
    Agent,
    /// A tool has much to say.
    Flood,
    /// Another context gets a message.
    Message,
    /// The code index is made.
    Index,
    /// The context changes.
    Switch,
    /// The context is cleared.
    Clear,
    /// The conversation is summarised.
    Compact,
    /// The window is almost full.
    Full,
}
use Scene::{Agent, Clear, Compact, Fetch, Flood, Full, Index, Message, Outside, Shell, Switch, Vfs, Write};

// tidy: a table
fn table() -> Vec<(&'static str, Value, Scene)> {
    vec![
        ("on_start", json!({}), Shell),
        ("on_end", json!({}), Shell),
        ("on_context_switch", json!({}), Switch),
        ("pre_message", json!({"prompt": "another prompt"}), Shell),
        ("post_message", json!({}), Shell),
        ("pre_system_prompt", json!({"inject": "words before"}), Shell),
        ("post_system_prompt", json!({"inject": "words after"}), Shell),
        (
            "pre_tool",
            json!({"arguments": {"command": "echo changed"}}),
            Shell,
        ),
        (
            "pre_tool",
            json!({"block": true, "message": "not this one"}),
            Shell,
        ),
        ("pre_tool", json!({"block": "yes"}), Shell),
        ("post_tool", json!({}), Shell),
        ("pre_tool_output", json!({"output": "other words"}), Shell),
        (
            "pre_tool_output",
            json!({"block": true, "message": "withheld"}),
            Shell,
        ),
        ("post_tool_output", json!({}), Shell),
        (
            "pre_api_tools",
            json!({"exclude": ["shell_exec", "write_file"]}),
            Shell,
        ),
        ("pre_api_tools", json!({"include": ["shell_exec"]}), Shell),
        (
            "pre_api_request",
            json!({"request_body": {"temperature": 0.5, "stop": ["a", "b"], "user": {"name": "x"}}}),
            Shell,
        ),
        ("pre_agentic_loop", json!({"fuel": 7}), Shell),
        ("post_tool_batch", json!({"fuel_delta": -1}), Shell),
        (
            "pre_shell_exec",
            json!({"denied": true, "reason": "no commands"}),
            Shell,
        ),
        (
            "pre_file_read",
            json!({"denied": true, "reason": "no reading"}),
            Outside,
        ),
        (
            "pre_file_write",
            json!({"denied": true, "reason": "no writing"}),
            Write,
        ),
        (
            "pre_fetch_url",
            json!({"denied": true, "reason": "no fetching"}),
            Fetch,
        ),
        (
            "pre_spawn_agent",
            json!({"response": "an answer of its own"}),
            Agent,
        ),
        (
            "pre_spawn_agent",
            json!({"block": true, "message": "no agents"}),
            Agent,
        ),
        ("post_spawn_agent", json!({}), Agent),
        ("pre_cache_output", json!({"preview": "in short"}), Flood),
        ("post_cache_output", json!({}), Flood),
        (
            "pre_send_message",
            json!({"delivered": true, "via": "a pigeon"}),
            Message,
        ),
        ("post_send_message", json!({}), Message),
        ("post_index_file", json!({}), Index),
        ("pre_vfs_write", json!({}), Vfs),
        ("post_vfs_write", json!({}), Vfs),
        ("pre_clear", json!({}), Clear),
        ("post_clear", json!({}), Clear),
        ("pre_compact", json!({}), Compact),
        ("post_compact", json!({}), Compact),
        ("pre_rolling_compact", json!({}), Full),
        ("post_rolling_compact", json!({}), Full),
    ]
}

/// A file that writes down what it is told, as the plugins in `mod.rs` do, and answers with JSON.
const SCHEME: &str = r#"(import (scheme base) (scheme write) (harness hooks) (harness io))
(define count 1000)
(register-hook '@HOOK@ (lambda (payload)
  (set! count (+ count 1))
  (io-write (string-append "@SEEN@/" (number->string count) ":@NAME@:@HOOK@:1") (json-stringify payload))
  (json-parse @ANSWER@)))
"#;

impl Chibi {
    /// Writes a file in Scheme that answers a hook, and may write down what it is told.
    fn scheme(&self, name: &str, hook: &str, answer: &Value) {
        let quoted = Value::from(answer.to_string()).to_string();
        let text = SCHEME
            .replace("@SEEN@", &self.seen_folder().display().to_string())
            .replace("@NAME@", name)
            .replace("@HOOK@", hook)
            .replace("@ANSWER@", &quoted);
        self.room
            .write(&format!("../home/.chibi/vfs/tools/shared/{name}.scm"), text);
        self.room.write(
            "../home/.chibi/config.toml",
            "[tools.tiers]\n\"/tools/shared\" = 2\n",
        );
    }

    /// Plays a scene.
    fn play(&self, scene: Scene) -> Told {
        let one = |turn: Value| self.ask(&["--yes", "go"], &[turn, says("done")]);
        match scene {
            Shell => one(runs("echo hi")),
            Outside => {
                let file = self.room.write("../outside/secret", "the secret word");
                one(calls("read", json!({"path": file.canonicalize().unwrap()})))
            }
            Write => one(calls("write", json!({"path": "new.txt", "content": "words"}))),
            Vfs => one(calls(
                "write",
                json!({"path": "vfs:///shared/new.txt", "content": "words"}),
            )),
            Fetch => one(calls("fetch", json!({"url": "http://127.0.0.1:9/page"}))),
            Agent => {
                let task = json!({"system_prompt": "Be short.", "input": "What is it?"});
                self.ask(
                    &["--yes", "go"],
                    &[calls("spawn_agent", task), says("an answer"), says("done")],
                )
            }
            Flood => one(runs("seq 1 30000")),
            Message => one(calls("send_message", json!({"to": "other", "content": "hello"}))),
            Index => {
                self.room.write("main.rs", "fn main() {}\n");
                one(calls("index_update", json!({})))
            }
            Switch => self.ask(&["-c", "elsewhere", "go"], &[says("done")]),
            Clear => {
                let told = self.ask(&["go"], &[says("done")]);
                self.room.run(["context", "clear"]).ended_with(0);
                told
            }
            Compact => {
                self.ask(&["go"], &[says("one")]).went_well();
                self.ask(&["compact"], &[says("a summary")])
            }
            Full => self.fill(),
        }
    }

    fn fill(&self) -> Told {
        self.room.config(
            "[compaction]\nauto = true\nat_percent = 50\ndrop_percent = 50\ncontext_window = 20000\n",
        );
        for word in ["alpha", "beta", "gamma"] {
            self.ask(&[word], &[says("hi")]).went_well();
        }
        let full = json!({"text": "hi", "input_tokens": 15000});
        self.ask(&["delta"], &[full]).went_well();
        self.ask(&["epsilon"], &[says("a summary"), says("the answer")])
    }
}

/// What can be compared of two rooms: not where they are, nor when something happened. In Scheme a list of one is what
/// is in it, and everything that is empty is the same.
fn comparable(value: Value, chibi: &Chibi) -> Value {
    let of_time = |name: &str| {
        ["timestamp", "time", "duration", "id"]
            .iter()
            .any(|word| name.ends_with(word) || name.ends_with("_ms"))
    };
    match value {
        Value::Object(fields) if fields.is_empty() => Value::Null,
        Value::Object(fields) => {
            let field = |(name, value): (String, Value)| match of_time(&name) {
                true => (name, Value::Null),
                false => (name, comparable(value, chibi)),
            };
            Value::Object(fields.into_iter().map(field).collect())
        }
        Value::Array(mut items) => {
            // A program is a tool besides.
            items.retain(|item| item["name"] != "twin" && item["function"]["name"] != "twin");
            match items.len() {
                0 => Value::Null,
                1 => comparable(items.remove(0), chibi),
                _ => items.into_iter().map(|item| comparable(item, chibi)).collect(),
            }
        }
        Value::String(text) => {
            let home = chibi.room.home();
            let place = home
                .parent()
                .expect("a room has more than a home")
                .display()
                .to_string();
            let real = home.parent().and_then(|room| room.canonicalize().ok());
            let real = real.map_or_else(|| place.clone(), |room| room.display().to_string());
            let text = text.replace(&real, "ROOM").replace(&place, "ROOM");
            let text = text.replace(&chibi.room.context(), "CONTEXT");
            crate::vocabulary::with_stable_cache_ids(&text).into()
        }
        other => other,
    }
}

/// What the plugin was told about its hook, and what the model saw of it all.
fn played(chibi: &Chibi, hook: &str, scene: Scene) -> (Vec<Value>, Vec<String>) {
    let told = chibi.play(scene);
    let seen = chibi.seen_of(hook).into_iter().map(|mut seen| {
        // A program is a tool besides.
        if let Some(count) = seen.data.get_mut("tool_count") {
            *count = Value::Null;
        }
        comparable(seen.data, chibi)
    });
    let requests = told.requests.iter().map(|request| {
        let text = comparable(request.clone(), chibi).to_string();
        // How a broken guard is told names the handler.
        match text.contains("could not decide") {
            true => "refused, because a guard is broken".to_owned(),
            false => text,
        }
    });
    (seen.collect(), requests.collect())
}

#[test]
fn a_file_in_scheme_is_told_and_heard_like_a_program() {
    let table = table();
    let hooks: std::collections::BTreeSet<&str> = table.iter().map(|(hook, ..)| *hook).collect();
    assert_eq!(hooks.len(), 34, "every hook has a row");
    for (hook, answer, scene) in table {
        let program = Chibi::new();
        program.plugin(Newer, "twin", &[hook], &format!("echo '{answer}'"));
        let (told, seen) = played(&program, hook, scene);
        assert!(!told.is_empty(), "{hook} was not told in {scene:?}");
        let scheme = Chibi::new();
        scheme.scheme("twin", hook, &answer);
        let (told_scheme, seen_scheme) = played(&scheme, hook, scene);
        assert_eq!(told_scheme, told, "{hook} is told the same");
        assert_eq!(seen_scheme, seen, "{hook} has the same effect with {answer}");
    }
}
