//! Sessions of thousands of turns: what only shows them takes as much longer as they are longer, and shows a page.

use std::time::{Duration, Instant};

use becket_agent::audit::{AuditRecord, Audited};
use becket_agent::store::{NewEntry, NewSession, Span, SpanKind, Store};
use becket_events::{EventId, Json, OperationKind, PreTool, PreToolPayload, Scope, envelope};
use becket_hooks::{Dialect, DispatchTrace, HandlerRun, LaneKind};
use becket_store::SqliteStore;
use serde_json::{Value, json};
use testkit::Room;

use crate::room;
use crate::web::Served;

/// The turns of the shorter session; the longer one has four times as many.
const TURNS: u64 = 500;

/// What happens in each turn, with a hook that is asked.
const EVENTS: [&str; 7] = [
    "turn_start",
    "tools_offered",
    "pre_request",
    "response",
    "pre_tool",
    "pre_tool_output",
    "turn_end",
];

/// A room with the record of one session, as a run of so many turns leaves it.
fn with_session(turns: u64) -> Room {
    let room = room();
    let store = SqliteStore::open(room.store_file()).expect("the store opens");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime starts").block_on(async {
        let session = NewSession {
            session_id: "long".into(),
            parent_session_id: None,
            context_name: room.context(),
            model: "scripted/model".into(),
            cwd: room.work().display().to_string(),
        };
        store.begin_session(session).await.expect("the session begins");
        for turn in 1..=turns {
            record_turn(&store, turn);
            // Waits for the disk, so that no trace is left out.
            store
                .append("long", entries(turn))
                .await
                .expect("the turn is stored");
        }
        store.end_session("long", "done").await.expect("the session ends");
        store.close().await.expect("everything is written");
    });
    room
}

fn start_us(turn: u64) -> u64 {
    1_700_000_000_000_000 + turn * 1_000_000
}

fn record_turn(store: &SqliteStore, turn: u64) {
    let number = u32::try_from(turn).expect("a number of a turn");
    let call = format!("call-{turn}");
    let about_call = |name: &str| name.starts_with("pre_tool").then(|| call.clone());
    for (place, name) in EVENTS.iter().enumerate() {
        let event = EventId::named(name).unwrap_or_else(|| panic!("{name} is an event"));
        let run = HandlerRun::noted(
            "guard".into(),
            "becket.toml:3".into(),
            Dialect::BECKET,
            LaneKind::Command,
        );
        let time_us = start_us(turn) + place as u64 * 100_000 + 10_000;
        store.trace(
            "long",
            DispatchTrace {
                session_id: "long".into(),
                turn: number,
                time_ms: time_us / 1000,
                time_us,
                duration_us: 20,
                tool_call_id: about_call(name),
                original: (event == EventId::PreTool).then(|| pre_tool(&call)),
                ..DispatchTrace::noted(event, run)
            },
        );
    }
    let span = |kind, name: &str, after_us: u64, duration_us| Span {
        kind,
        name: name.into(),
        turn: number,
        time_us: start_us(turn) + after_us,
        duration_us,
        tool_call_id: (kind == SpanKind::ToolCall).then(|| call.clone()),
        parent_tool_call_id: None,
        facts: json!({"reason": "tool_calls", "allowed_by": "yes", "arguments": {"command": "true"}}),
    };
    store.span("long", span(SpanKind::Request, "model", 100_000, 250_000));
    store.span("long", span(SpanKind::ToolCall, "shell", 400_000, 150_000));
    store.span("long", span(SpanKind::Turn, "", 0, 700_000));
    let operation = Audited::Operation {
        tool_call_id: call,
        tool_name: "shell".into(),
        is_error: false,
        duration_us: 5,
    };
    let scope = Scope {
        session_id: "long".into(),
        ..Scope::default()
    };
    store.audit(AuditRecord::now(&scope, operation));
}

fn pre_tool(call: &str) -> Json {
    let payload = PreToolPayload {
        tool_call_id: call.into(),
        tool_name: "shell".into(),
        called_as: "shell".into(),
        operation: Some(OperationKind::Shell),
        arguments: [("command".to_owned(), "true".into())].into_iter().collect(),
        parent_tool_call_id: None,
    };
    Json::parse(envelope::<PreTool>(&Scope::default(), &payload)).expect("an event is JSON")
}

/// An answer with a call, and its result.
fn entries(turn: u64) -> Vec<NewEntry> {
    let words = json!([{"type": "text", "text": format!("words of turn {turn}")}]);
    let call = json!({"id": format!("call-{turn}"), "name": "shell", "arguments": "{\"command\":\"true\"}"});
    let answer = json!({
        "role": "assistant", "content": words, "tool_calls": [call], "model": "m", "stop_reason": "tool_calls",
        "usage": {"input_tokens": 5, "output_tokens": 1},
    });
    let result = json!({
        "role": "tool", "tool_call_id": format!("call-{turn}"), "tool_name": "shell", "content": words,
        "is_error": false,
    });
    let entry = |name: &str, after_ms: u64, mut message: Value| {
        let (id, time_ms) = (format!("{name}-{turn}"), start_us(turn) / 1000 + after_ms);
        message["id"] = id.clone().into();
        message["time_ms"] = time_ms.into();
        let content = json!({"type": "message", "message": message});
        NewEntry {
            id,
            time_ms,
            content: serde_json::from_value(content).expect("it is an entry"),
        }
    };
    vec![entry("answer", 350, answer), entry("result", 550, result)]
}

/// Commands that only show, or go through everything once, and what they must have said at the end of a long session.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["trace", "--turns", "0"], "turn 2000  "),
    (&["trace"], "turns 1901 to 2000 of 2000"),
    (&["--json", "trace"], "\"turn\":2000"),
    (&["trace", "--export", "chrome"], "traceEvents"),
    (&["trace", "--export", "otlp"], "resourceSpans"),
    (&["sessions"], "4000 entries"),
    (&["sessions", "tree"], "answer-2000"),
    (&["contexts"], "4000 messages"),
    (&["context", "show"], "4000"),
    (&["context", "log"], "words of turn 2000"),
    (&["context", "export"], "words of turn 2000"),
    (&["audit"], "2000 operations"),
    (&["audit", "export"], "call-2000"),
    (&["audit", "verify"], "2000 records"),
    (&["replay"], "2000 events of 1 session replayed"),
];

#[test]
fn four_times_the_turns_take_about_four_times_as_long_in_every_command_that_shows() {
    let (short, long) = (with_session(TURNS), with_session(4 * TURNS));
    let timed = |room: &Room, words: &[&str]| {
        let started = Instant::now();
        let run = room.run(words);
        (started.elapsed(), run)
    };
    for (words, expected) in COMMANDS {
        let (taken_short, _) = timed(&short, words);
        let (taken_long, run) = timed(&long, words);
        assert!(run.stdout.contains(expected), "{words:?}: {run:#?}");
        held_up(&format!("{words:?}"), taken_short, taken_long);
    }
    let first_view = |room: &Room| {
        let served = Served::start(room);
        let started = Instant::now();
        let session = served.newest();
        let bars = served.bars(&session).len() as u64;
        (started.elapsed(), bars)
    };
    let ((taken_short, _), (taken_long, bars)) = (first_view(&short), first_view(&long));
    assert!(bars > 4 * TURNS * 5, "{bars} bars");
    held_up("the page", taken_short, taken_long);
}

/// Twice what is proportional, and seconds that a busy machine may need for anything.
fn held_up(what: &str, short: Duration, long: Duration) {
    let most = 8 * short + Duration::from_secs(10);
    assert!(
        long < most,
        "{what}: {short:?}, and four times as much in {long:?}"
    );
}

#[test]
fn a_trace_is_shown_by_pages_and_says_how_to_see_the_one_before() {
    let room = with_session(250);
    let shown = |words: &[&str]| room.run(words).ended_with(0).stdout;
    let turns = |text: &str| text.matches("─ turn ").count();
    let last = shown(&["trace"]);
    assert!(
        last.contains("turns 151 to 250 of 250; those before: becket trace long --before 151\n"),
        "{last}"
    );
    assert_eq!(turns(&last), 100);
    assert!(
        last.contains("turn 151 ") && !last.contains("turn 150 "),
        "{last}"
    );
    assert!(
        last.contains("pre_tool") && last.contains("request to model"),
        "{last}"
    );

    let first = shown(&["trace", "long", "--before", "51"]);
    assert!(first.contains("turns 1 to 50 of 250\n"), "{first}");
    assert_eq!(turns(&first), 50);
    let middle = shown(&["trace", "--before", "11", "--turns", "3"]);
    assert!(middle.contains("turns 8 to 10 of 250"), "{middle}");
    assert_eq!(turns(&middle), 3);
    let whole = shown(&["trace", "--turns", "0"]);
    assert_eq!(turns(&whole), 250);
    assert!(!whole.contains("those before"), "{whole}");
    assert_eq!(
        shown(&["--json", "trace"]).lines().count(),
        2500,
        "programs get all of it"
    );
    assert_eq!(shown(&["--json", "trace", "--turns", "2"]).lines().count(), 20);
}
