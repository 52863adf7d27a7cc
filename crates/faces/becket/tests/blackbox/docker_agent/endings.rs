//! How turns and runs end: the reasons of `turn_end` and `session_end`, and hooks of `stop` that send the model on.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::Signal;

use super::{answers, assert_heard, heard, members, play, says, shell, with_agent, with_hooks};

const ENDS: [(&str, &str); 2] = [("turn_end", ""), ("session_end", "")];

/// Plays a script to hooks besides those of the ends, and returns the reasons that these read.
fn reasons(hook: (&str, &str), turns: &Value, code: i32) -> (Vec<Value>, Vec<Value>) {
    let [turn, session] = ENDS;
    let room = with_agent(&[turn, session, hook], &json!({"max_consecutive_tool_calls": 2}));
    play(&room, turns, &["--yes"]).ended_with(code);
    for event in ["turn_end", "session_end"] {
        let told: Vec<Value> = members(&room, event, "reason");
        let told: Vec<Value> = told.into_iter().map(|reason| json!({"reason": reason})).collect();
        assert_heard(&room, event, &told);
    }
    (
        members(&room, "turn_end", "reason"),
        members(&room, "session_end", "reason"),
    )
}

#[test]
fn turn_end_and_session_end() {
    let same = shell("echo x");
    let broken = json!({"error": {"kind": "rejected", "message": "no such model"}});
    let blocks = "echo enough >&2; exit 2";
    let table = [
        (
            ("stop", ""),
            json!([shell("echo x"), says("done", &[])]),
            0,
            vec!["continue", "normal"],
            "stream_ended",
        ),
        (("stop", ""), json!([broken]), 3, vec!["error"], "error"),
        (
            ("before_llm_call", blocks),
            json!([says("never", &[])]),
            1,
            vec!["hook_blocked"],
            "hook_blocked",
        ),
        (
            ("post_tool_use", blocks),
            json!([shell("echo x")]),
            1,
            vec!["hook_blocked"],
            "hook_blocked",
        ),
        (
            ("stop", ""),
            json!([same, same]),
            1,
            vec!["continue", "loop_detected"],
            "error",
        ),
    ];
    for (hook, turns, code, turn_ends, session_end) in table {
        let (turn, session) = reasons(hook, &turns, code);
        assert_eq!(turn, turn_ends, "{hook:?} {turns}");
        assert_eq!(session, [session_end], "{hook:?} {turns}");
    }
}

#[test]
fn a_cancelled_turn_ends_too() {
    let room = with_hooks(&[ENDS[0], ENDS[1], ("before_llm_call", "")]);
    let model = room.model(&json!([{"text": "too late", "delay_ms": 600_000}]));
    let run = room.start(["run", "agent.yaml", "go", "--model", &model]);
    let deadline = Instant::now() + Duration::from_secs(60);
    while heard(&room, "before_llm_call").is_empty() {
        assert!(Instant::now() < deadline, "the model was never asked");
        std::thread::sleep(Duration::from_millis(10));
    }
    run.signal(Signal::INT);
    run.finish().ended_with(130);
    assert_heard(&room, "turn_end", &[json!({"reason": "canceled"})]);
    assert_heard(&room, "session_end", &[json!({"reason": "canceled"})]);
}

#[test]
fn a_blocked_run_says_why() {
    let room = with_hooks(&[
        (
            "post_tool_use",
            &answers(&json!({"continue": false, "stop_reason": "seen enough"})),
        ),
        ("on_error", ""),
    ]);
    play(&room, &json!([shell("echo x")]), &["--yes"])
        .ended_with(1)
        .complained("seen enough");
    assert_eq!(
        members(&room, "on_error", "notification_message"),
        ["seen enough"]
    );
}

#[test]
fn stop_sends_the_model_on() {
    let once = "[ $(wc -l < ../stop.jsonl) -gt 1 ] || { echo 'run the tests first' >&2; exit 2; }";
    let room = with_hooks(&[("stop", once), ENDS[0]]);
    let turns = json!([says("first", &[]), says("second", &["run the tests first"])]);
    play(&room, &turns, &[]).ended_with(0).said("second");
    let told = |response: &str| json!({"stop_response": response, "last_user_message": "go"});
    assert_heard(&room, "stop", &[told("first"), told("second")]);
    assert_eq!(members(&room, "turn_end", "reason"), ["continue", "normal"]);
}

#[test]
fn the_same_reason_sends_the_model_on_once() {
    let room = with_hooks(&[("stop", &answers(&json!({"decision": "block", "reason": "again"})))]);
    play(
        &room,
        &json!([says("first", &[]), says("second", &["again"])]),
        &[],
    )
    .ended_with(0)
    .complained("it was ignored");
    assert_eq!(heard(&room, "stop").len(), 2);
}

#[test]
fn other_reasons_send_the_model_on_until_there_were_enough() {
    let room = with_hooks(&[("stop", "echo \"reason $(wc -l < ../stop.jsonl)\" >&2; exit 2")]);
    let turns: Vec<Value> = (0..40).map(|turn| says(&format!("answer {turn}"), &[])).collect();
    play(&room, &json!(turns), &[])
        .ended_with(0)
        .complained("it was ignored");
    assert_eq!(heard(&room, "stop").len(), 11);
}
