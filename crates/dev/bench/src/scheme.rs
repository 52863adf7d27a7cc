//! The cost of files in Scheme: loading them, an event through one callback, and the language itself against the
//! embedded QuickJS.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_agent::vfs::Vfs;
use becket_chibi::scheme::{PAYLOAD, Tier};
use becket_chibi::scheme_files::{Callback, Callers, Io, SchemeFile, World};
use becket_hooks::{Answered, Field, ScriptHandler};
use becket_scheme::{Limits, Machine, RunState};
use futures_util::FutureExt;
use rquickjs::{Context, Runtime};
use serde_json::Value;

use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};
use crate::samples::{Samples, ratio, time};

/// How many files are loaded at once, how often, and how long that may take.
const LOADED: usize = 20;
const LOADS: usize = 15;
const LOAD_BAR: Duration = Duration::from_millis(30);

/// The most that an event may cost, as a multiple of the conversion of its payload.
const EVENT_BAR: f64 = 3.0;
const EVENTS: usize = 2_000;
const ROUNDS: usize = 25;

/// The most that the language may cost, as a multiple of QuickJS.
const FIB_BAR: f64 = 8.0;
const FIBS: usize = 9;

/// How many callbacks must leave the memory as it was, and how much it may move meanwhile.
const CALLBACKS: usize = 1_000_000;
const GROWTH_BAR: u64 = 4_000_000;

const FILE: &str = r#"(import (harness hooks) (harness tools))
(define count 0)
(register-hook 'pre_tool (lambda (payload)
  (set! count (+ count 1))
  (let ((name (assoc "tool_name" payload)))
    (if (equal? (cdr name) "nothing") (list (cons "block" #t)) '()))))
(define-tool probe (description "Probes.") (parameters '()) (execute (lambda (args) count)))
"#;

const FIB: &str = "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))";
const FIB_JS: &str = "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }";

/// The callback of the file.
fn load() -> Result<Callback, Problem> {
    let io = Io {
        vfs: Vfs::new(Path::new("/nowhere")),
        cwd: PathBuf::from("/"),
    };
    let world = World::new(Tier::Sandboxed, Duration::from_secs(30), io);
    let (file, defined) =
        SchemeFile::load("bench.scm", FILE.into(), &world).map_err(|trouble| trouble.words)?;
    let registered = defined
        .callbacks
        .into_iter()
        .next()
        .ok_or("the file has a callback")?;
    Ok(Callback::new(
        file,
        registered.callback,
        Arc::new(Callers::default()),
    ))
}

/// The callback's answer.
fn answer(callback: &Callback, payload: &Arc<str>) -> Result<Answered, Problem> {
    let fields = vec![Field::new(PAYLOAD, Arc::clone(payload))];
    let answered = callback
        .call(fields)
        .now_or_never()
        .ok_or("a callback that waits")?;
    Ok(answered?)
}

pub fn run(_: &Programs, report: &mut Report) -> Result<(), Problem> {
    loading(report)?;
    event(report)?;
    growth(report)?;
    fibonacci(report)
}

fn loading(report: &mut Report) -> Result<(), Problem> {
    let mut samples = Samples::default();
    for _ in 0..LOADS {
        let (files, spent) = time(|| (0..LOADED).map(|_| load()).collect::<Result<Vec<_>, _>>());
        drop(files?);
        samples.add(spent);
    }
    let spent = samples.median();
    report.add(
        Line::new(format!("loading {LOADED} files in Scheme"), Figure::Time(spent))
            .bar(Figure::Time(LOAD_BAR)),
    );
    Ok(())
}

/// A payload of 1 KB.
fn payload() -> String {
    let words = "a line of a file, as long as lines are; ".repeat(22);
    let arguments = serde_json::json!({"path": "notes.txt", "content": words, "list": [1, 2, 3]});
    serde_json::json!({"tool_name": "write_file", "arguments": arguments}).to_string()
}

fn event(report: &mut Report) -> Result<(), Problem> {
    let callback = load()?;
    let payload: Arc<str> = payload().into();
    let mut machine = Machine::new(Limits::default());
    let (mut called, mut converted) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        let (done, spent) = time(|| (0..EVENTS).try_for_each(|_| answer(&callback, &payload).map(drop)));
        done?;
        called.add(spent / EVENTS as u32);
        let (done, spent) = time(|| {
            (0..EVENTS).try_for_each(|_| -> Result<(), Problem> {
                let value: Value = serde_json::from_str(&payload)?;
                std::hint::black_box(machine.heap_mut().from_json(&value));
                Ok(())
            })
        });
        done?;
        machine.collect_garbage().map_err(|limit| limit.to_string())?;
        converted.add(spent / EVENTS as u32);
    }
    let times = ratio(called.median(), converted.median());
    report.add(
        Line::new("an event in Scheme, 1 KB", Figure::Times(times))
            .bar(Figure::Times(EVENT_BAR))
            .remark(format!(
                "{:?}; the conversion alone {:?}",
                called.median(),
                converted.median()
            )),
    );
    Ok(())
}

fn growth(report: &mut Report) -> Result<(), Problem> {
    let callback = load()?;
    let payload: Arc<str> = r#"{"tool_name":"probe","arguments":{"command":"ls"}}"#.into();
    let calls = |count: usize| (0..count).try_for_each(|_| answer(&callback, &payload).map(drop));
    calls(CALLBACKS / 100)?;
    let before = resident()?;
    calls(CALLBACKS)?;
    let grown = resident()?.saturating_sub(before);
    report.add(
        Line::new(format!("growth over {CALLBACKS} callbacks"), Figure::Bytes(grown))
            .bar(Figure::Bytes(GROWTH_BAR)),
    );
    Ok(())
}

/// The bytes of memory that this process holds.
fn resident() -> Result<u64, Problem> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_ascii_whitespace().next());
    let kilobytes: u64 = kilobytes
        .ok_or("this system does not tell how much memory a process holds")?
        .parse()?;
    Ok(kilobytes * 1024)
}

fn fibonacci(report: &mut Report) -> Result<(), Problem> {
    let mut machine = Machine::new(Limits::default());
    let environment = machine
        .environment(&["(scheme base)"])
        .map_err(|failure| failure.to_string())?;
    let mut load = |code: &str| match machine.load(environment, code, "bench.scm") {
        Ok(RunState::Done(_)) => Ok(()),
        Ok(RunState::Suspended(_)) => Err(Problem::from("nothing here waits")),
        Err(failure) => Err(failure.to_string().into()),
    };
    load(FIB)?;
    let runtime = Runtime::new()?;
    let context = Context::full(&runtime)?;
    context.with(|context| context.eval::<(), _>(FIB_JS))?;
    let (mut own, mut other) = (Samples::default(), Samples::default());
    for _ in 0..FIBS {
        let (done, spent) = time(|| load("(fib 24)"));
        done?;
        own.add(spent);
        let (done, spent) = time(|| context.with(|context| context.eval::<i64, _>("fib(24)")));
        done?;
        other.add(spent);
    }
    let times = ratio(own.median(), other.median());
    report.add(
        Line::new("(fib 24) against QuickJS", Figure::Times(times))
            .bar(Figure::Times(FIB_BAR))
            .remark(format!("{:?} against {:?}", own.median(), other.median())),
    );
    Ok(())
}
