//! The record: what the audit log adds to a call, and how many recorded events a second are replayed.

use std::time::{Duration, Instant};

use becket::Replay;
use becket_agent::audit::{AuditRecord, Audited, AuditedCall, Ruling};
use becket_agent::store::Store;
use becket_events::{
    ApprovalDecision, ApprovalSource, EventId, Json, OperationKind, PreTool, PreToolPayload, PreToolReply,
    Scope, envelope,
};
use becket_hooks::Engine;
use becket_store::{Recorded, SqliteStore};

use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};
use crate::samples::{Samples, runtime};

const ROUNDS: usize = 11;

/// How many calls are recorded in a round.
const CALLS: u32 = 2_000;

/// How many events are replayed in a round.
const EVENTS: u32 = 10_000;

/// The most time for one replayed event: 5,000 events a second.
const REPLAY_BAR: Duration = Duration::from_micros(200);

pub fn run(_: &Programs, report: &mut Report) -> Result<(), Problem> {
    let (mut adding, mut writing) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        let (added, written) = audited()?;
        adding.add(added / CALLS);
        writing.add(written / CALLS);
    }
    let remark = format!(
        "while it runs; {} until all are on disk",
        Figure::Time(writing.median())
    );
    report.add(
        Line::new(
            "call with audit, what the log adds",
            Figure::Time(adding.median()),
        )
        .remark(remark),
    );
    let replaying: Samples = (0..ROUNDS).map(|_| replayed()).collect::<Result<_, _>>()?;
    let each = replaying.median() / EVENTS;
    let remark = format!("{:.0} events a second", 1.0 / each.as_secs_f64());
    let line = Line::new("replay, an event with a native hook", Figure::Time(each));
    report.add(line.bar(Figure::Time(REPLAY_BAR)).remark(remark));
    Ok(())
}

/// How long it takes to hand over the records of so many calls, and until they are written.
fn audited() -> Result<(Duration, Duration), Problem> {
    let folder = tempfile::tempdir()?;
    let store = SqliteStore::open(folder.path().join("store.db"))?;
    let scope = Scope::default();
    let started = Instant::now();
    for number in 0..CALLS {
        store.audit(AuditRecord::now(&scope, call(number)));
        let operation = Audited::Operation {
            tool_call_id: format!("call-{number}"),
            tool_name: "shell".into(),
            is_error: false,
            duration_us: 7,
        };
        store.audit(AuditRecord::now(&scope, operation));
    }
    let added = started.elapsed();
    runtime()?.block_on(store.close())?;
    Ok((added, started.elapsed()))
}

fn call(number: u32) -> Audited {
    let arguments = payload(number).arguments;
    Audited::Call(Box::new(AuditedCall {
        tool_call_id: format!("call-{number}"),
        parent_tool_call_id: None,
        tool_name: "shell".into(),
        called_as: "shell".into(),
        operation: Some(OperationKind::Shell),
        original: arguments.clone(),
        effective: arguments,
        target: Some("/work".into()),
        ruling: Ruling {
            decision: ApprovalDecision::Allow,
            source: ApprovalSource::Yes,
            handlers: Vec::new(),
            reason: None,
            duration_us: 7,
            shadow: None,
        },
    }))
}

fn payload(number: u32) -> PreToolPayload {
    PreToolPayload {
        tool_source: "builtin".into(),
        tool_call_id: format!("call-{number}"),
        tool_name: "shell".into(),
        called_as: "shell".into(),
        operation: Some(OperationKind::Shell),
        arguments: [("command".to_owned(), format!("echo {number}").into())]
            .into_iter()
            .collect(),
        parent_tool_call_id: None,
    }
}

/// How long it takes to replay the recorded events.
fn replayed() -> Result<Duration, Problem> {
    let engine = Engine::new(None);
    engine.on::<PreTool>("guard", |occasion| {
        std::hint::black_box(&occasion.payload.arguments);
        Ok(PreToolReply::default())
    });
    let record = (0..EVENTS).map(recorded).collect::<Result<Vec<_>, Problem>>()?;
    runtime()?.block_on(async {
        let started = Instant::now();
        let replay = Replay::of(&engine, &record, |_, _| {}).await;
        let taken = started.elapsed();
        match (replay.replayed, replay.differences.len()) {
            (count, 0) if count == u64::from(EVENTS) => Ok(taken),
            other => Err(Problem::from(format!("replayed and differing: {other:?}"))),
        }
    })
}

fn recorded(number: u32) -> Result<Recorded, Problem> {
    let original = envelope::<PreTool>(&Scope::default(), &payload(number));
    let text =
        format!(r#"{{"event":"pre_tool","runs":[],"original":{original},"effective":null,"verdict":null}}"#);
    Ok(Recorded {
        seq: i64::from(number),
        session_id: "s".into(),
        is_span: false,
        name: EventId::PreTool.info().name.into(),
        json: Json::parse(text)?,
    })
}
