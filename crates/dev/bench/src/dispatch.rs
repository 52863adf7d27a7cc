//! The cost of an event in the agent's own process: without handlers, with one and with ten Rust functions.

use std::hint::black_box;
use std::time::{Duration, Instant};

use becket_events::{OperationKind, PreTool, PreToolPayload, PreToolReply, Scope};
use becket_hooks::Engine;
use serde_json::{Map, Value};

use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};
use crate::samples::{Samples, runtime};

const ROUNDS: usize = 21;

/// How long an event without handlers may take, in nanoseconds.
const SILENT_BAR: f64 = 100.0;

pub fn run(_: &Programs, report: &mut Report) -> Result<(), Problem> {
    let runtime = runtime()?;
    let silent = runtime.block_on(each(0, 200_000));
    let line = Line::new("dispatch, no handler", Figure::Nanoseconds(silent));
    report.add(line.bar(Figure::Nanoseconds(SILENT_BAR)));
    for handlers in [1, 10] {
        let name = match handlers {
            1 => "dispatch, 1 native handler".to_owned(),
            several => format!("dispatch, {several} native handlers"),
        };
        let taken = runtime.block_on(each(handlers, 5_000));
        report.add(Line::new(name, Figure::Nanoseconds(taken)).remark("with the payload"));
    }
    Ok(())
}

/// Nanoseconds for one event with that many handlers.
async fn each(handlers: usize, events: u32) -> f64 {
    let engine = Engine::new(None);
    for number in 0..handlers {
        engine.on::<PreTool>(&format!("handler {number}"), |occasion| {
            black_box(&occasion.payload.tool_name);
            Ok(PreToolReply::default())
        });
    }
    let scope = Scope::default();
    let arguments: Map<String, Value> = [("command".to_owned(), "ls -l".into())].into_iter().collect();
    let mut rounds = Samples::default();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        for _ in 0..events {
            let payload = || payload(&arguments);
            black_box(black_box(&engine).dispatch::<PreTool>(&scope, payload).await);
        }
        rounds.add(started.elapsed());
    }
    nanoseconds(rounds.median(), events)
}

fn payload(arguments: &Map<String, Value>) -> PreToolPayload {
    PreToolPayload {
        tool_source: "builtin".into(),
        tool_call_id: "call-1".into(),
        tool_name: "shell".into(),
        called_as: "shell".into(),
        operation: Some(OperationKind::Shell),
        arguments: arguments.clone(),
        parent_tool_call_id: None,
    }
}

fn nanoseconds(whole: Duration, events: u32) -> f64 {
    whole.as_nanos() as f64 / f64::from(events)
}
