//! Keys as canaries: in hooks, tools, output, errors, exports, the store, and at servers that they are not for.

use std::path::Path;

use serde_json::json;
use testkit::{Ending, ModelServer, Response, Room, Wire};

use crate::round::{Campaign, Round, ensure};

pub const CAMPAIGN: Campaign = Campaign {
    name: "secrets",
    promise: "A provider's key goes into the header of its own requests and nowhere else.",
    round,
};

/// Keys of the providers that becket knows; all are set, one is used.
const KEYS: &[(&str, &str)] = &[
    ("OPENAI_API_KEY", "sk-canary-openai-0123456789abcdef"),
    ("ANTHROPIC_API_KEY", "sk-ant-canary-anthropic-0123456789"),
    ("GEMINI_API_KEY", "canary-gemini-0123456789abcdef"),
];

/// The part of every key that gives it away.
const CANARY: &str = "canary-";

/// Commands that print what was kept.
const PRINTS: &[&[&str]] = &[
    &["trace"],
    &["trace", "--json"],
    &["trace", "--export", "jsonl"],
    &["trace", "--export", "otlp"],
    &["trace", "--export", "chrome"],
    &["trace", "--export", "markdown"],
    &["context", "export"],
    &["sessions", "export"],
    &["audit", "export"],
    &["audit"],
    &["hooks", "report"],
    &["config"],
    &["config", "schema"],
    &["doctor"],
    &["models"],
    &["cache", "list"],
];

/// Events whose hooks look around.
const EVENTS: &[&str] = &[
    "session_start",
    "user_prompt",
    "model_context",
    "pre_request",
    "response_start",
    "pre_tool",
    "post_tool",
    "notification",
    "error",
    "session_end",
];

/// Tools' commands that look around.
const LOOKS: &[&str] = &[
    "env",
    "set",
    "export -p",
    "cat /proc/self/environ",
    "python3 -c 'import os; print(os.environ)' || env",
    "ps -efww; ps eww -p $$",
];

fn round(round: &mut Round<'_>) -> Result<(), String> {
    let wire = *round.random.choose(&Wire::ALL);
    let (service, model) = match wire {
        Wire::Chat => ("OPENAI", "openai/gpt-4.1"),
        Wire::Messages => ("ANTHROPIC", "anthropic/claude-sonnet-4-5"),
        Wire::Responses => ("OPENAI", "openai/gpt-5.1-codex"),
        Wire::Gemini => ("GEMINI", "gemini/gemini-3.5-flash"),
    };
    let key = KEYS
        .iter()
        .find(|(name, _)| name.starts_with(service))
        .map_or("", |(_, key)| *key);
    let other = ModelServer::start([]);
    let look = round.random.choose(LOOKS);
    let arguments = json!({"command": look}).to_string();
    let call = wire.thought_and_call("seal", ("call-1", "shell", &arguments));
    let server = ModelServer::start([Response::events(call), answer(round, wire, key, &other)]);
    let room = KEYS
        .iter()
        .fold(round.room(), |room, (name, key)| room.with(name, key));
    let room = room.with(&format!("{service}_BASE_URL"), &server.url());
    let hooks = EVENTS.iter().map(|event| {
        let spy = "cat >> ../seen; env >> ../seen; ps -efww >> ../seen || true";
        format!("[[hook]]\nevent = \"{event}\"\ncommand = \"{spy}\"\n")
    });
    room.config(&format!("agent.max_retries = 1\n{}", hooks.collect::<String>()));
    let mut words = vec!["--yes", "--model", model, "hello"];
    words.extend(round.random.once_in(2).then_some("--json"));
    let run = room.run(words);
    round.count("runs", 1);
    let used = server
        .requests()
        .iter()
        .any(|request| request.headers.iter().any(|(_, value)| value.contains(key)));
    ensure!(used, "the key was never used: {run:#?}");
    let bodies = server
        .requests()
        .iter()
        .any(|request| request.text().contains(CANARY));
    ensure!(!bodies, "a key is in the body of a request");
    let told = other
        .requests()
        .iter()
        .any(|request| format!("{request:?}").contains(CANARY));
    ensure!(!told, "a key went to another server");
    for text in [&run.stdout, &run.stderr] {
        ensure!(!text.contains(CANARY), "a key was printed: {run:#?}");
    }
    ensure!(
        room.read("../seen").contains("PATH="),
        "the hooks have seen nothing: {run:#?}"
    );
    prints(round, &room)?;
    let home = room.home();
    let folder = home.parent().unwrap_or(&home);
    let (mut files, mut leaks) = (0, Vec::new());
    search(folder, &mut files, &mut leaks);
    round.count("files searched", files);
    ensure!(leaks.is_empty(), "a key is in {leaks:?}");
    Ok(())
}

/// What the server answers last: an error that repeats the key, a broken answer, or a way to another server.
fn answer(round: &mut Round<'_>, wire: Wire, key: &str, other: &ModelServer) -> Response {
    let repeats = json!({"error": {"message": format!("Incorrect API key provided: {key}."), "code": key}});
    match round.random.below(6) {
        0 => Response::json(401, &repeats),
        1 => Response::json(400, &repeats),
        2 => Response::new(500, "text/plain", format!("internal error, Bearer {key}")).header("x-key", key),
        3 => Response::events(wire.half_text("half"))
            .ending(Ending::Cut)
            .header("x-key", key),
        4 => Response::json(307, &json!({})).header("location", &format!("{}/v1/elsewhere", other.url())),
        _ => Response::events(wire.text("all done")).header("x-echo", key),
    }
}

fn prints(round: &mut Round<'_>, room: &Room) -> Result<(), String> {
    for _ in 0..3 {
        let words = *round.random.choose(PRINTS);
        let run = room.run(words);
        round.count("commands that print what was kept", 1);
        let text = format!("{}{}", run.stdout, run.stderr);
        ensure!(
            !text.contains(CANARY),
            "becket {} prints a key: {run:#?}",
            words.join(" ")
        );
    }
    Ok(())
}

/// Searches all files of a folder for keys.
fn search(folder: &Path, files: &mut usize, leaks: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            search(&path, files, leaks);
        } else if let Ok(bytes) = std::fs::read(&path) {
            *files += 1;
            if bytes
                .windows(CANARY.len())
                .any(|window| window == CANARY.as_bytes())
            {
                leaks.push(path.display().to_string());
            }
        }
    }
}
