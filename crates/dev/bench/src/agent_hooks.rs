//! The cost of the open standard AGENT-HOOKS at a point without interceptors, where verdicts are only recorded: with no
//! identity, and with a hash of the context.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use becket_agent_hooks::{Composition, Emitter, Identity, Mode, OnApproval, Setup, register};
use becket_events::{PreTool, PreToolPayload, Scope};
use becket_hooks::Engine;
use serde_json::{Map, Value};

use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};
use crate::samples::{Samples, runtime};

const ROUNDS: usize = 21;

/// How long a point may take without an identity, in nanoseconds.
const POINT_BAR: f64 = 10_000.0;

/// How long an identity may take for each kB of the context, in nanoseconds.
const KILOBYTE_BAR: f64 = 5_000.0;

/// How many kB the arguments of the call have whose context is hashed. They stand in the context twice.
const KILOBYTES: usize = 64;

pub fn run(_: &Programs, report: &mut Report) -> Result<(), Problem> {
    let runtime = runtime()?;
    let bare = runtime.block_on(each(&Identity::None, 1, 5_000));
    let line = Line::new("AGENT-HOOKS, a point", Figure::Nanoseconds(bare));
    report.add(
        line.bar(Figure::Nanoseconds(POINT_BAR))
            .remark("evaluate_only, no interceptor, no identity"),
    );
    let unbound = runtime.block_on(each(&Identity::None, KILOBYTES, 200));
    let bound = runtime.block_on(each(&Identity::JcsSha256, KILOBYTES, 200));
    let kilobyte = (bound - unbound) / (2 * KILOBYTES) as f64;
    let line = Line::new("AGENT-HOOKS, the identity of 1 kB", Figure::Nanoseconds(kilobyte));
    report.add(
        line.bar(Figure::Nanoseconds(KILOBYTE_BAR))
            .remark("of the context, which holds its target twice"),
    );
    Ok(())
}

/// Nanoseconds for one point, with that many kB of arguments.
async fn each(identity: &Identity, kilobytes: usize, events: u32) -> f64 {
    let setup = Setup {
        mode: Mode::EvaluateOnly,
        composition: Composition::FirstDeny {
            on_approval: OnApproval::Stop,
        },
        identity: identity.clone(),
        bindings: Vec::new(),
        approver: None,
        redactor: None,
        approval_timeout: std::time::Duration::from_secs(5),
        declaration: None,
        incremental: false,
    };
    let engine = Engine::new(None);
    let sink = Arc::new(|_: &Scope, record: &_| {
        black_box(record);
    });
    register(&engine, Arc::new(Emitter::new(setup, sink)));
    let scope = Scope {
        session_id: "session".into(),
        ..Scope::default()
    };
    let line = "a line of \"text\" as a model writes it, with some é and a tab\t.\n";
    let text = line.repeat(kilobytes * 1024 / line.len() + 1);
    let arguments: Map<String, Value> = [("content".to_owned(), text.into())].into_iter().collect();
    let mut rounds = Samples::default();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        for _ in 0..events {
            let payload = || payload(&arguments);
            black_box(black_box(&engine).dispatch::<PreTool>(&scope, payload).await);
        }
        rounds.add(started.elapsed());
    }
    rounds.median().as_nanos() as f64 / f64::from(events)
}

fn payload(arguments: &Map<String, Value>) -> PreToolPayload {
    PreToolPayload {
        tool_source: "builtin".into(),
        tool_call_id: "call-1".into(),
        tool_name: "write".into(),
        called_as: "write".into(),
        operation: None,
        arguments: arguments.clone(),
        parent_tool_call_id: None,
    }
}
