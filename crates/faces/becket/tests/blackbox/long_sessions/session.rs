//! The record of a session of many turns, written as a run leaves it. The benchmark `long` uses the same file.

use becket_agent::audit::{AuditRecord, Audited, AuditedCall, Ruling};
use becket_agent::store::{NewEntry, NewSession, Span, SpanKind, Store, StoreError};
use becket_events::{
    ApprovalDecision, ApprovalSource, EventId, Json, OperationKind, PreTool, PreToolPayload, Scope, envelope,
};
use becket_hooks::{Dialect, DispatchTrace, HandlerRun, LaneKind};
use becket_store::SqliteStore;
use serde_json::{Map, Value, json};
use testkit::Room;

/// So many turns are written at once: fewer events than may wait for the disk.
const AT_ONCE: u64 = 500;

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

/// Writes a session `long` of so many turns, with ten events each, into the store of a room.
pub async fn write(store: &SqliteStore, room: &Room, turns: u64) -> Result<(), StoreError> {
    let session = NewSession {
        session_id: "long".into(),
        parent_session_id: None,
        context_name: room.context(),
        model: "scripted/model".into(),
        cwd: room.work().display().to_string(),
    };
    store.begin_session(session).await?;
    for first in (1..=turns).step_by(AT_ONCE as usize) {
        let last = turns.min(first + AT_ONCE - 1);
        (first..=last).for_each(|turn| record_turn(store, turn));
        // Waits for the disk, so that no trace is left out.
        store
            .append("long", (first..=last).flat_map(entries).collect())
            .await?;
    }
    store.end_session("long", "done").await?;
    store.close().await
}

fn start_us(turn: u64) -> u64 {
    // Later than the moment at which the session is written.
    4_000_000_000_000_000 + turn * 1_000_000
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
        tool_call_id: call.clone(),
        tool_name: "shell".into(),
        is_error: false,
        duration_us: 5,
    };
    let scope = Scope {
        session_id: "long".into(),
        ..Scope::default()
    };
    store.audit(AuditRecord::now(&scope, permit(call)));
    store.audit(AuditRecord::now(&scope, operation));
}

fn permit(tool_call_id: String) -> Audited {
    let arguments: Map<String, Value> = [("command".to_owned(), "true".into())].into_iter().collect();
    Audited::Call(Box::new(AuditedCall {
        tool_call_id,
        parent_tool_call_id: None,
        tool_name: "shell".into(),
        called_as: "shell".into(),
        operation: Some(OperationKind::Shell),
        original: arguments.clone(),
        effective: arguments,
        target: None,
        ruling: Ruling {
            decision: ApprovalDecision::Allow,
            source: ApprovalSource::Yes,
            handlers: Vec::new(),
            reason: None,
            duration_us: 5,
            shadow: None,
        },
    }))
}

fn pre_tool(call: &str) -> Json {
    let payload = PreToolPayload {
        tool_source: "builtin".into(),
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
