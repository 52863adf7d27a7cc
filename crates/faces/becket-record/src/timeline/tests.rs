//! Trees of records that were written by this version and by older ones, with and without spans of time.

use becket_agent::store::StoredEntry;
use becket_store::RawTrace;
use becket_web::view::{Bar, Decision, Kind};
use serde_json::{Value, json};

use super::asked::{Asked, Stretch};
use super::tree::{Branch, BranchStart};

/// An entry with a message, at a millisecond.
fn entry(id: &str, time_ms: u64, message: Value) -> StoredEntry {
    let mut message = message;
    message["id"] = id.into();
    message["time_ms"] = time_ms.into();
    StoredEntry {
        id: id.into(),
        parent_id: None,
        session_id: "s".into(),
        time_ms,
        content: serde_json::from_value(json!({"type": "message", "message": message})).unwrap(),
        source: None,
    }
}

fn words(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

fn person(id: &str, time_ms: u64, text: &str) -> StoredEntry {
    entry(id, time_ms, json!({"role": "user", "content": words(text)}))
}

/// An answer that asks for these calls.
fn answer(id: &str, time_ms: u64, calls: &[&str]) -> StoredEntry {
    let call = |id: &&str| json!({"id": id, "name": "shell", "arguments": "{}"});
    let calls: Vec<Value> = calls.iter().map(call).collect();
    let body = json!({
        "role": "assistant", "content": [], "tool_calls": calls, "model": "m", "stop_reason": "stop",
        "usage": {"input_tokens": 5, "output_tokens": 1},
    });
    entry(id, time_ms, body)
}

fn result(id: &str, time_ms: u64, call: &str, is_error: bool) -> StoredEntry {
    let body = json!({
        "role": "tool", "tool_call_id": call, "tool_name": "shell", "content": words("done"), "is_error": is_error,
    });
    entry(id, time_ms, body)
}

/// A dispatch with one hook, as older records have it.
fn asked(event: &str, time_ms: u64, effect: &str) -> Value {
    let run = json!({"handler": event, "source": "x", "lane": "command", "effect": {"kind": effect}, "duration_us": 500});
    json!({"event": event, "turn": 1, "time_ms": time_ms, "duration_us": 600, "runs": [run]})
}

fn with(mut value: Value, name: &str, more: impl Into<Value>) -> Value {
    value[name] = more.into();
    value
}

/// Builds a tree, and draws it indented by depth.
fn grow(entries: Vec<StoredEntry>, traces: &[Value]) -> (Vec<Bar>, Vec<String>) {
    let raw = traces.iter().zip(1..).map(|(trace, seq)| RawTrace {
        seq,
        session_id: "s".into(),
        dispatch: trace.to_string(),
    });
    let raw: Vec<RawTrace> = raw.collect();
    let place = BranchStart {
        lane: 0,
        turn: 1,
        after_ms: 90,
    };
    let asked = raw.iter().filter_map(Asked::read).collect();
    let stretches = raw.iter().filter_map(Stretch::read).collect();
    let mut bars = Vec::new();
    Branch::grow(place, entries, asked, stretches).flatten(&mut bars);
    let drawn = bars
        .iter()
        .map(|bar| format!("{}{}", "  ".repeat(bar.depth.into()), bar.label))
        .collect();
    (bars, drawn)
}

fn of_kind(bars: &[Bar], kind: Kind) -> Vec<&Bar> {
    bars.iter().filter(|bar| bar.kind == kind).collect()
}

#[test]
fn hooks_stand_where_they_were_asked() {
    let entries = vec![
        person("p", 100, "hello"),
        answer("a", 200, &["one"]),
        result("r", 300, "one", false),
        answer("b", 400, &[]),
    ];
    let traces = [
        with(asked("session_start", 95, "none"), "turn", 0),
        asked("turn_start", 98, "none"),
        asked("pre_request", 110, "rewrote"),
        asked("pre_tool", 210, "none"),
        asked("turn_end", 301, "none"),
        // In the same moment as the answer, and yet no part of the request.
        with(asked("turn_end", 400, "failed"), "turn", 2),
        with(asked("agent_end", 403, "none"), "turn", 2),
    ];
    let (bars, drawn) = grow(entries, &traces);
    let wanted = [
        "session_start",
        "turn 1",
        "  turn_start",
        "  prompt",
        "  m",
        "    pre_request",
        "  shell",
        "    pre_tool",
        "  turn_end",
        "turn 2",
        "  m",
        "  turn_end",
        "agent_end",
    ];
    assert_eq!(drawn, wanted);
    let request = of_kind(&bars, Kind::Request)[0];
    assert_eq!((request.start_ms, request.duration_ms), (100.0, 100.0));
    assert_eq!(request.decision, Some(Decision::Rewritten));
    assert_eq!(of_kind(&bars, Kind::Request)[1].decision, None);
}

#[test]
fn of_calls_beside_each_other_a_hook_belongs_to_the_one_it_names() {
    let entries = || {
        vec![
            answer("a", 200, &["one", "two"]),
            result("r", 300, "one", true),
            result("q", 300, "two", false),
        ]
    };
    let first = with(asked("pre_tool", 210, "denied"), "tool_call_id", "one");
    let second = with(asked("pre_tool", 220, "none"), "tool_call_id", "two");
    let (bars, drawn) = grow(entries(), &[first, second]);
    assert_eq!(
        drawn,
        [
            "turn 1",
            "  m",
            "  shell",
            "    pre_tool",
            "  shell",
            "    pre_tool"
        ]
    );
    let decisions: Vec<_> = of_kind(&bars, Kind::Tool)
        .iter()
        .map(|bar| bar.decision)
        .collect();
    assert_eq!(decisions, [Some(Decision::Denied), Some(Decision::Allowed)]);

    // The call may stand in the event alone.
    let original = json!({"event": "pre_tool", "tool_call_id": "two"});
    let (bars, _) = grow(
        entries(),
        &[with(asked("pre_tool", 220, "denied"), "original", original)],
    );
    let place = bars.iter().position(|bar| bar.kind == Kind::Hook).unwrap();
    assert!(bars[place - 1].id.ends_with(":1"), "{}", bars[place - 1].id);
}

#[test]
fn stretches_of_time_are_exact_and_know_who_refused() {
    let stretch = |kind: &str, name: &str, from: u64, to: u64, facts: Value| json!({"kind": kind, "name": name, "turn": 1, "time_us": from, "duration_us": to - from, "facts": facts});
    let refused = json!({"refused": "a deny rule says no"});
    let traces = [
        stretch(
            "request",
            "m",
            120_500,
            150_000,
            json!({"ended": {"error": "overloaded"}}),
        ),
        stretch(
            "request",
            "m",
            160_250,
            199_500,
            json!({"ended": {"stop_reason": "tool_calls"}}),
        ),
        with(
            stretch("tool_call", "shell", 201_000, 290_000, refused),
            "tool_call_id",
            "one",
        ),
        // The words are stored a while after the turn has begun.
        stretch("turn", "", 93_000, 310_000, json!({})),
    ];
    let entries = vec![
        person("p", 100, "hello"),
        answer("a", 200, &["one"]),
        result("r", 300, "one", true),
    ];
    let (bars, drawn) = grow(entries, &traces);
    assert_eq!(drawn, ["turn 1", "  prompt", "  m", "  m", "  shell"]);
    let requests = of_kind(&bars, Kind::Request);
    assert_eq!(requests[0].decision, Some(Decision::Failed));
    assert_eq!(
        (requests[0].start_ms, requests[0].words.as_str()),
        (120.5, "overloaded")
    );
    assert_eq!(requests[1].start_ms, 160.25);
    let tool = of_kind(&bars, Kind::Tool)[0];
    assert_eq!((tool.start_ms, tool.decision), (201.0, Some(Decision::Denied)));
    let turn = of_kind(&bars, Kind::Turn)[0];
    assert_eq!((turn.start_ms, turn.start_ms + turn.duration_ms), (93.0, 310.0));
}

#[test]
fn what_cannot_be_read_is_left_out_and_the_rest_is_shown() {
    let traces = [
        json!(7),
        json!({"event": 3}),
        json!({}),
        asked("pre_tool", 100, "from the future"),
    ];
    let (bars, _) = grow(Vec::new(), &traces);
    assert_eq!(bars.len(), 1);
    assert_eq!(bars[0].decision, Some(Decision::Allowed));
}

#[test]
fn hooks_beside_each_other_begin_together_and_others_one_after_another() {
    let run = |took: u64| json!({"handler": "h", "effect": {"kind": "none"}, "duration_us": took});
    let dispatch = |took: u64| json!({"event": "stop", "time_ms": 10, "duration_us": took, "runs": [run(1_000), run(2_000), run(500)]});
    let starts = |took: u64| {
        let (bars, _) = grow(Vec::new(), &[dispatch(took)]);
        bars.iter().map(|bar| bar.start_ms).collect::<Vec<_>>()
    };
    assert_eq!(starts(3_600), [10.0, 11.0, 13.0]);
    assert_eq!(starts(2_100), [10.0, 10.0, 10.0]);
}
