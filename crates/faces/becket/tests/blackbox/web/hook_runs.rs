//! The record of many hook runs in several sessions. The benchmark `web` uses the same file.

use becket_agent::store::{NewSession, Store};
use becket_events::EventId;
use becket_hooks::{Dialect, DispatchTrace, Effect, HandlerRun, LaneKind};
use becket_store::SqliteStore;
use testkit::Room;

/// The events in turn, each with two hooks.
const EVENTS: [&str; 5] = [
    "turn_start",
    "pre_request",
    "pre_tool",
    "pre_tool_output",
    "turn_end",
];

/// Writes so many sessions with so many hook runs each into the store of a room.
pub fn write(room: &Room, sessions: u64, runs: u64) {
    let store = SqliteStore::open(room.store_file()).expect("the store opens");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime starts").block_on(async {
        for number in 0..sessions {
            let session_id = format!("session-{number}");
            let session = NewSession {
                session_id: session_id.clone(),
                parent_session_id: None,
                context_name: room.context(),
                model: "scripted/model".into(),
                cwd: room.work().display().to_string(),
            };
            store.begin_session(session).await.expect("it begins");
            for place in 0..runs / 2 {
                store.trace(&session_id, dispatch(number, place));
            }
            // Waits for the disk, so that no trace is left out.
            store.flush().await.expect("everything is written");
            store.end_session(&session_id, "done").await.expect("it ends");
        }
        store.close().await.expect("the store closes");
    });
}

/// A dispatch with two hooks, one of which refuses now and then.
fn dispatch(session: u64, place: u64) -> DispatchTrace {
    let name = EVENTS[(place % 5) as usize];
    let event = EventId::named(name).unwrap_or_else(|| panic!("{name} is an event"));
    let run = |hook: &str, duration_us: u64, effect: Effect| HandlerRun {
        effect,
        duration_us,
        ..HandlerRun::noted(
            format!("{hook} of {name}"),
            format!("hooks-{}.toml:3", session % 10),
            Dialect::BECKET,
            LaneKind::Command,
        )
    };
    let refuses = match place % 50 {
        2 => Effect::Denied,
        _ => Effect::None,
    };
    let spread = (session * 7_919 + place * 104_729) % 90_000;
    let time_us = 1_700_000_000_000_000 + (session * 1_000 + place) * 1_000_000;
    let first = run("guard", 900 + spread, refuses);
    DispatchTrace {
        time_ms: time_us / 1000,
        time_us,
        duration_us: 1_000 + 2 * spread,
        runs: vec![first.clone(), run("logger", 100 + spread, Effect::None)],
        ..DispatchTrace::noted(event, first)
    }
}
