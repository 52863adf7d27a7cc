//! Runs that are interrupted: politely by a signal, or killed at any moment. What was acknowledged is stored.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use becket_agent::store::EntryContent;
use becket_events::{Message, MessageBody};
use serde_json::{Value, json};
use testkit::{
    Ending, Finished, ModelServer, OpenAiStream, Response, Room, Running, Signal, is_running, wait_until_gone,
};

use crate::room;

/// An interrupted run may take this long to end; there is a grace period for tools.
const SOON: Duration = Duration::from_secs(30);

fn interrupt(run: Running, signal: Signal) -> Finished {
    let asked = Instant::now();
    run.signal(signal);
    let run = run.finish();
    assert!(asked.elapsed() < SOON, "it took {:?}", asked.elapsed());
    run.ended_with(130)
}

/// Everything that began has ended, and says that it was cancelled.
fn assert_ended_as_cancelled(run: &Finished) {
    for (started, ended) in [
        ("turn_start", "turn_end"),
        ("agent_start", "agent_end"),
        ("session_start", "session_end"),
    ] {
        assert_eq!(
            run.events_named(started).len(),
            run.events_named(ended).len(),
            "{started}"
        );
        let reason = run.events_named(ended).pop().map(|event| event["reason"].clone());
        assert_eq!(reason, Some(json!("cancelled")), "{ended}");
    }
}

fn assert_gone(room: &Room, files: &[&str]) {
    for file in files {
        let process = room.read(file);
        assert!(!process.trim().is_empty(), "{file} was written");
        wait_until_gone(&process);
    }
}

fn wait_for_file(room: &Room, file: &str) {
    let deadline = Instant::now() + SOON;
    while room.read(file).is_empty() {
        assert!(Instant::now() < deadline, "{file} was never written");
        std::thread::sleep(Duration::from_millis(5));
    }
}

const SLOW_TOOL: &str = "echo begun; sleep 300 & echo $! > child; setsid sleep 301 & echo $! > escaped; \
                         (trap '' INT TERM; exec sleep 302) & echo $! > stubborn; echo $$ > shell; wait";

#[test]
fn a_signal_during_a_tool_ends_the_tool_and_everything_that_it_started() {
    for signal in [Signal::INT, Signal::TERM] {
        let room = room();
        let call = json!({"name": "shell", "arguments": {"command": SLOW_TOOL}, "id": "slow-call"});
        let model =
            room.model(&json!([{"text": "I will wait.", "tool_calls": [call]}, {"text": "never said"}]));
        let run = room.start(["--yes", "--json", "--model", &model, "go"]);
        wait_for_file(&room, "shell");
        let run = interrupt(run, signal).complained("cancelled");
        assert_ended_as_cancelled(&run);
        assert_gone(&room, &["child", "escaped", "stubborn", "shell"]);
        assert!(!run.stdout.contains("never said"));
        let next =
            room.model(&json!([{"expect": ["I will wait.", "slow-call", "go on"], "text": "resumed"}]));
        room.run(["--model", &next, "go on"])
            .ended_with(0)
            .said("resumed");
    }
}

#[test]
fn a_signal_during_a_slow_answer_keeps_what_had_arrived() {
    for signal in [Signal::INT, Signal::TERM] {
        let room = room();
        let text = "These words arrive one by one and very slowly, so that nobody ever sees the end.";
        let model = room.model(&json!([{"text": text, "chunk_size": 12, "chunk_delay_ms": 2000}]));
        let run = room.start(["--json", "--model", &model, "go"]);
        run.wait_for_output("These words ");
        let run = interrupt(run, signal);
        assert_ended_as_cancelled(&run);
        let kept = run.events_named("turn_end")[0]["message"].clone();
        assert_eq!(kept["stop_reason"], "cancelled");
        let kept = kept["content"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_string();
        assert!(
            kept.starts_with("These words ") && kept.len() < text.len(),
            "{kept}"
        );
        let next = room.model(&json!([{"expect": [kept, "go on"], "text": "resumed"}]));
        room.run(["--model", &next, "go on"])
            .ended_with(0)
            .said("resumed");
    }
}

#[test]
fn a_signal_before_the_answer_begins_ends_the_waiting() {
    let room = room();
    let model = room.model(&json!([{"text": "late", "delay_ms": 300_000}]));
    let run = room.start(["--json", "--model", &model, "go"]);
    run.wait_for_output("\"event\":\"pre_request\"");
    assert_ended_as_cancelled(&interrupt(run, Signal::INT));
}

#[test]
fn a_signal_ends_a_request_that_hangs() {
    let half = OpenAiStream::new("m").text("half of it").unfinished();
    let done = Response::events(OpenAiStream::new("m").text("resumed").finish("stop").done());
    let server = ModelServer::start([Response::events(half).ending(Ending::Hang), done]);
    let room = room()
        .with("OPENAI_API_KEY", "sk-test")
        .with("OPENAI_BASE_URL", &server.url());
    let run = room.start(["--json", "first"]);
    run.wait_for_output("half of it");
    interrupt(run, Signal::INT);
    room.run(["second"]).ended_with(0).said("resumed");
    assert!(server.requests()[1].text().contains("half of it"));
}

#[test]
fn a_signal_ends_the_wait_before_another_try() {
    let busy = Response::json(503, &json!({"error": {"message": "busy"}})).header("retry-after", "60");
    let server = ModelServer::start([busy]);
    let room = room()
        .with("OPENAI_API_KEY", "sk-test")
        .with("OPENAI_BASE_URL", &server.url());
    let run = room.start(["--json", "first"]);
    run.wait_for_error("trying again in 1 min");
    assert_ended_as_cancelled(&interrupt(run, Signal::INT));
}

#[test]
fn a_signal_ends_a_guard_that_thinks_and_the_call_does_not_run() {
    let room = room();
    let hooks = room
        .hooks("[[hook]]\nevent = \"pre_tool\"\ncommand = \"echo $$ > hook; sleep 300\"\ntimeout = 500\n");
    let run = room.start(["--yes", "--json", "--hooks", &hooks, "Run: touch ran"]);
    wait_for_file(&room, "hook");
    let run = interrupt(run, Signal::INT);
    assert!(!room.has("ran"));
    assert_ended_as_cancelled(&run);
    assert_gone(&room, &["hook"]);
}

#[test]
fn a_chat_goes_on_after_a_cancelled_turn() {
    use std::io::Write;
    let room = room();
    let late = json!({"text": "late words", "chunk_size": 4, "chunk_delay_ms": 300_000});
    let model = room.model(&json!([late, {"text": "second answer"}]));
    let mut command = room.command(["--json", "--model", &model, "chat"]);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("the binary can be started");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    let run = Running::of(child);
    stdin.write_all(b"first\n").expect("the chat reads");
    // A cancel before the model has begun would leave its first turn to the next prompt.
    run.wait_for_output("\"event\":\"response_start\"");
    run.signal(Signal::INT);
    run.wait_for_error("cancelled");
    stdin.write_all(b"second\n").expect("the chat reads");
    run.wait_for_output("second answer");
    drop(stdin);
    run.finish().ended_with(0);
}

#[test]
fn a_signal_ends_a_chat_that_waits_for_the_next_line() {
    use std::io::Write;
    for signal in [Signal::INT, Signal::TERM] {
        let room = room();
        let mut command = room.command(["--json", "chat"]);
        let mut child = command
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("the binary can be started");
        let mut stdin = child.stdin.take().expect("standard input is a pipe");
        let run = Running::of(child);
        stdin.write_all(b"hello\n").expect("the chat reads");
        run.wait_for_output("\"reason\":\"idle\"");
        // The chat turns to the pipe again a moment after it has said that it is ready. A signal that comes before is
        // meant for the turn that has just ended, and the chat goes on.
        std::thread::sleep(Duration::from_millis(200));
        let process = run.id().to_string();
        let deadline = Instant::now() + 4 * SOON;
        while is_running(&process) {
            assert!(Instant::now() < deadline, "it does not end");
            run.signal(signal);
            let heard = Instant::now() + SOON;
            while is_running(&process) && Instant::now() < heard {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        let run = run.finish().ended_with(130);
        assert_eq!(run.events_named("session_end").len(), 1);
    }
}

const KILLS: u64 = 200;
const CONTEXTS: u64 = 4;

/// A model with several rounds of tools, some of them two at once.
fn working_model(room: &Room) -> String {
    let call = |command: &str| json!({"name": "shell", "arguments": {"command": command}});
    room.model(&json!([
        {"text": "one", "tool_calls": [call("echo a")]},
        {"text": "two", "tool_calls": [call("echo b"), call("echo c")]},
        {"text": "three", "tool_calls": [{"name": "list", "arguments": {"path": "."}}]},
        {"text": "four", "tool_calls": [call("echo d")]},
        {"text": "done"},
    ]))
}

/// The messages that a killed run had acknowledged: `loop_start` comes after the prompt was stored, and `turn_end`
/// after everything of its turn was.
fn acknowledged(stdout: &str) -> Vec<String> {
    let id = |message: &Value| message["id"].as_str().map(str::to_string);
    let mut acknowledged = Vec::new();
    let mut prompt = None;
    // The last line may be cut off; what cannot be read was not acknowledged.
    for event in stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
    {
        match event["event"].as_str() {
            Some("message_end") if event["message"]["role"] == "user" => prompt = id(&event["message"]),
            Some("loop_start") => acknowledged.extend(prompt.take()),
            Some("turn_end") => {
                acknowledged.extend(id(&event["message"]));
                acknowledged.extend(
                    event["tool_results"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(id),
                );
            }
            _ => {}
        }
    }
    acknowledged
}

/// Starts a run and kills it after a while, together with what it started.
fn kill_one(room: &Room, model: &str, context: &str, after: Duration) -> Finished {
    let run = room.start(["--yes", "--json", "-c", context, "--model", model, "go"]);
    std::thread::sleep(after);
    run.signal_group(Signal::KILL);
    run.finish()
}

/// A number between 0 and `limit`, spread evenly over the rounds but in no order.
fn scattered(round: u64, limit: u64) -> u64 {
    round.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) % limit
}

#[test]
fn what_was_acknowledged_survives_being_killed_at_any_moment() {
    let room = room();
    let model = working_model(&room);
    let whole = Instant::now();
    room.run(["--yes", "--json", "-c", "measure", "--model", &model, "go"])
        .ended_with(0);
    let mut usual = whole.elapsed().as_micros() as u64;
    let mut promised: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut killed = 0;
    let mut round = 0;
    while killed < KILLS {
        round += 1;
        assert!(
            round < 10 * KILLS,
            "only {killed} of {round} runs were still alive when they were killed"
        );
        let context = format!("context-{}", round % CONTEXTS);
        let run = kill_one(
            &room,
            &model,
            &context,
            Duration::from_micros(scattered(round, usual)),
        );
        // A run takes longer while the machine is busy: the moments are spread over what it takes now.
        let (share, hit) = if run.code == 137 { (102, 1) } else { (95, 0) };
        usual = (usual * share / 100).max(20_000);
        killed += hit;
        promised
            .entry(context)
            .or_default()
            .extend(acknowledged(&run.stdout));
    }
    room.run(["doctor"]).ended_with(0);
    let mut kept = 0;
    for (context, promised) in &promised {
        kept += promised.len();
        assert_whole(&room, context, promised);
        room.run(["--yes", "-c", context, "--model", &model, "go"])
            .ended_with(0)
            .said("done");
        assert_whole(&room, context, promised);
    }
    assert!(kept > 100, "only {kept} messages were acknowledged");
    room.run(["doctor"]).ended_with(0);
}

/// Everything promised is there exactly once, and every call has exactly one result.
fn assert_whole(room: &Room, context: &str, promised: &[String]) {
    let store = becket_store::SqliteStore::open(room.store_file()).expect("the store opens");
    let stored: Vec<Message> = store
        .tree(context)
        .expect("the context is there")
        .into_iter()
        .filter_map(|entry| match entry.content {
            EntryContent::Message { message } => Some(message),
            _ => None,
        })
        .collect();
    let ids: BTreeSet<&str> = stored.iter().map(Message::id).collect();
    assert_eq!(ids.len(), stored.len(), "{context}: nothing is stored twice");
    for id in promised {
        assert!(
            ids.contains(id.as_str()),
            "{context}: {id} was acknowledged and is lost"
        );
    }
    let conversation: Vec<Message> = store
        .entries(context)
        .expect("the context is there")
        .into_iter()
        .filter_map(|entry| match entry.content {
            EntryContent::Message { message } => Some(message),
            _ => None,
        })
        .collect();
    assert_eq!(
        conversation.len(),
        stored.len(),
        "{context}: the conversation has no side branches"
    );
    assert_calls_answered_once(context, &conversation);
}

/// After each answer that asks for tools comes one result for each call; only the last answer may still wait.
fn assert_calls_answered_once(context: &str, conversation: &[Message]) {
    for (place, message) in conversation.iter().enumerate() {
        let calls: Vec<&str> = message.tool_calls().iter().map(|call| call.id.as_str()).collect();
        let results: Vec<&str> = conversation[place + 1..]
            .iter()
            .map_while(|next| match next.body() {
                MessageBody::Tool { tool_call_id, .. } => Some(tool_call_id.as_str()),
                _ => None,
            })
            .collect();
        let is_tool_result = matches!(message.body(), MessageBody::Tool { .. });
        if !is_tool_result && place + 1 < conversation.len() {
            assert_eq!(calls, results, "{context}: message {place}");
        }
    }
}
