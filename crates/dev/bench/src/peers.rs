//! `--peers`: the same session through becket and through the other agents that this machine has, with a model on this
//! machine that speaks their formats. In each turn the model calls the shell with `true`.
//!
//! A turn is the time of a long session less that of a short one, by the number of turns that are more; so the start of
//! a program does not count. The programs take turns.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{AnthropicStream, ModelServer, OpenAiStream, Recorded, Response};

use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};
use crate::samples::{Samples, ratio};

/// The turns of a long and of a short session, and how often each is played.
const LONG: usize = 21;
const SHORT: usize = 1;
const ROUNDS: usize = 5;

/// How long one session may take.
const SESSION_TIMEOUT: Duration = Duration::from_secs(120);

/// An agent on this machine.
struct Peer {
    program: &'static str,
    /// The arguments of a session, where the model is at this address.
    arguments: fn(&str) -> Vec<String>,
    /// A file in the home that the agent needs to find the model, if it needs one, and what it says.
    file: &'static str,
    text: fn(&str) -> Value,
}

const PEERS: &[Peer] = &[
    Peer {
        program: "claude",
        arguments: |_| words(&["-p", "go", "--allowedTools", "Bash"]),
        file: "",
        text: |_| Value::Null,
    },
    Peer {
        program: "codex",
        arguments: |url| {
            let provider = format!(
                "model_providers.local={{name=\"local\",base_url=\"{url}/v1\",wire_api=\"responses\",env_key=\"KEY\"}}"
            );
            let settings = ["-c", &provider, "-c", "model_provider=local", "-m", "gpt-5", "go"];
            let own = ["exec", "--skip-git-repo-check", "-s", "danger-full-access"];
            words(&[&own[..], &settings].concat())
        },
        file: "",
        text: |_| Value::Null,
    },
    Peer {
        program: "pi",
        arguments: |_| words(&["-p", "--provider", "local", "--model", "local", "go"]),
        file: ".pi/agent/models.json",
        text: |url| {
            json!({"providers": {"local": {"baseUrl": format!("{url}/v1"), "api": "openai-completions",
                "apiKey": "key", "models": [{"id": "local", "name": "local", "reasoning": false, "input": ["text"],
                "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
                "contextWindow": 100_000, "maxTokens": 1_000}]}}})
        },
    },
];

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

pub fn run(programs: &Programs, report: &mut Report) -> Result<(), Problem> {
    let becket = Peer {
        program: "becket",
        arguments: |_| words(&["--yes", "--model", "anthropic/claude-sonnet-4-5", "go"]),
        file: "",
        text: |_| Value::Null,
    };
    let mut agents = vec![(&becket, programs.becket.clone())];
    for peer in PEERS {
        match found(peer.program) {
            Some(file) => agents.push((peer, file)),
            None => report.skipped(&format!("turn, {}", peer.program), peer.program),
        }
    }
    let mut times: Vec<(Samples, Samples)> = vec![Default::default(); agents.len()];
    for round in 0..=ROUNDS {
        for ((peer, program), (long, short)) in agents.iter().zip(&mut times) {
            for (turns, samples) in [(LONG, long), (SHORT, short)] {
                let taken = session(peer, program, turns)?;
                // The first round warms the caches.
                if round > 0 {
                    samples.add(taken);
                }
            }
        }
    }
    let more = u32::try_from(LONG - SHORT)?;
    let turn = |(long, short): &(Samples, Samples)| long.median().saturating_sub(short.median()) / more;
    let own = turn(&times[0]);
    for ((peer, _), samples) in agents.iter().zip(&times) {
        let line = Line::new(format!("turn, {}", peer.program), Figure::Time(turn(samples)));
        let whole = Figure::Time(samples.1.median());
        let remark = format!("over becket's; a whole session of one turn takes {whole}");
        report.add(line.ratio(ratio(turn(samples), own)).remark(remark));
    }
    Ok(())
}

fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let files = std::env::split_paths(&path).map(|folder| folder.join(program));
    files.into_iter().find(|file| file.is_file())
}

/// Plays a session of so many turns in an empty home.
fn session(peer: &Peer, program: &Path, turns: usize) -> Result<Duration, Problem> {
    let server = ModelServer::answering(move |request| answer(request, turns));
    let url = server.url();
    let folder = tempfile::tempdir()?;
    let (home, work) = (folder.path().join("home"), folder.path().join("work"));
    std::fs::create_dir_all(&work)?;
    std::fs::create_dir_all(&home)?;
    if !peer.file.is_empty() {
        let file = home.join(peer.file);
        std::fs::create_dir_all(file.parent().unwrap_or(&home))?;
        std::fs::write(file, (peer.text)(&url).to_string())?;
    }
    let mut agent = Command::new(program);
    agent
        .args((peer.arguments)(&url))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", &home)
        .envs([
            ("ANTHROPIC_BASE_URL", url.as_str()),
            ("ANTHROPIC_API_KEY", "key"),
            ("KEY", "key"),
        ])
        .envs([
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("PI_OFFLINE", "1"),
        ])
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .current_dir(&work)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let started = Instant::now();
    let mut child = agent.spawn()?;
    while child.try_wait()?.is_none() {
        if started.elapsed() > SESSION_TIMEOUT {
            child.kill()?;
            child.wait()?;
            return Err(format!("{} did not come to an end", peer.program).into());
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    let taken = started.elapsed();
    let most = server
        .requests()
        .iter()
        .map(|request| results(&request.text()))
        .max();
    match most {
        Some(most) if most == turns => Ok(taken),
        most => Err(format!("{} made {most:?} of {turns} calls", peer.program).into()),
    }
}

/// How many results of calls a request has.
fn results(body: &str) -> usize {
    ["\"tool_use_id\"", "\"function_call_output\"", "\"role\":\"tool\""]
        .iter()
        .map(|mark| body.matches(mark).count())
        .sum()
}

/// The model's answer: a call of the shell until there are enough results, then a text.
fn answer(request: &Recorded, turns: usize) -> Response {
    let (path, text) = (request.path.as_str(), request.text());
    let body: Value = serde_json::from_str(&text).unwrap_or_default();
    let done = results(&text);
    // Agents also ask for titles and the like, without tools.
    let offered = |names: &[&str]| -> Option<String> {
        let tools = body["tools"].to_string();
        let offers = |name: &&&str| tools.contains(&format!("\"name\":\"{name}\""));
        names.iter().find(offers).map(|name| (*name).to_owned())
    };
    let tool = offered(&["Bash", "exec_command", "shell_command", "bash", "shell"]).filter(|_| done < turns);
    let command = format!("true # {done}");
    let (id, key) = (
        format!("call_{done}"),
        if tool.as_deref() == Some("exec_command") {
            "cmd"
        } else {
            "command"
        },
    );
    let arguments = json!({key: command, "description": "x"}).to_string();
    if path.contains("count_tokens") {
        Response::json(200, &json!({"input_tokens": 1}))
    } else if path.contains("/messages") {
        let stream = AnthropicStream::new("claude-sonnet-4-5", 1);
        Response::events(match tool {
            Some(name) => stream.tool_call(&id, &name, &[&arguments]).stop("tool_use", 1),
            None => stream.text(&["done"]).stop("end_turn", 1),
        })
    } else if path.contains("/chat/completions") {
        let stream = OpenAiStream::new("local");
        Response::events(match tool {
            Some(name) => stream
                .tool_call(0, &id, &name, &[&arguments])
                .finish("tool_calls")
                .usage(1, 1)
                .done(),
            None => stream.text("done").finish("stop").usage(1, 1).done(),
        })
    } else if path.contains("/responses") {
        let item = match tool {
            Some(name) => {
                json!({"type": "function_call", "id": format!("fc_{done}"), "call_id": id, "name": name,
                "arguments": arguments})
            }
            None => json!({"type": "message", "id": "msg", "role": "assistant",
                "content": [{"type": "output_text", "text": "done"}]}),
        };
        responses(&item)
    } else {
        Response::json(200, &json!({}))
    }
}

/// An answer in the format of OpenAI's Responses.
fn responses(item: &Value) -> Response {
    let usage = json!({"input_tokens": 1, "input_tokens_details": null, "output_tokens": 1,
        "output_tokens_details": null, "total_tokens": 2});
    let events = [
        json!({"type": "response.created", "response": {"id": "r"}}),
        json!({"type": "response.output_item.done", "item": item}),
        json!({"type": "response.completed", "response": {"id": "r", "usage": usage}}),
    ];
    let lines = events.iter().map(|event| {
        let kind = event["type"].as_str().unwrap_or_default();
        format!("event: {kind}\ndata: {event}\n\n")
    });
    Response::events(lines.collect::<String>())
}
