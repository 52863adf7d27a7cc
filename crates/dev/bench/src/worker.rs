//! The cost of an event with a worker: a line to a program that is already running, and a line back.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use becket_hooks::{Invocation, Lane, Program, WorkerLane, inherited_environment};

use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};
use crate::samples::{Samples, runtime};

const EVENTS: usize = 5_000;

/// How long one event may take with a compiled worker.
const BAR: Duration = Duration::from_micros(100);

/// A worker in Python that does the same as `bench-worker`.
const PYTHON_WORKER: &str = "import json, sys
for line in sys.stdin:
    print(json.dumps({'id': json.loads(line)['id'], 'reply': {}}), flush=True)
";

pub fn run(programs: &Programs, report: &mut Report) -> Result<(), Problem> {
    let compiled = round_trip(&[&programs.worker])?;
    report.add(Line::new("worker round trip, compiled", Figure::Time(compiled)).bar(Figure::Time(BAR)));
    if !testkit::needs("python3") {
        report.skipped("worker round trip, python", "python3");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("worker.py");
    std::fs::write(&script, PYTHON_WORKER)?;
    let python = round_trip(&[Path::new("python3"), &script])?;
    report.add(Line::new("worker round trip, python", Figure::Time(python)));
    Ok(())
}

fn round_trip(words: &[impl AsRef<Path>]) -> Result<Duration, Problem> {
    let environment = inherited_environment(std::env::vars_os(), &[""; 0]);
    let words = words.iter().map(|word| word.as_ref().as_os_str());
    let lane = WorkerLane::new(Program::exec(words).environment(Arc::new(environment)));
    let event: Arc<str> = format!("{{\"event\":\"pre_tool\",\"text\":\"{}\"}}", "x".repeat(1000)).into();
    runtime()?.block_on(async {
        let mut samples = Samples::default();
        for number in 0..EVENTS {
            let invocation = Invocation {
                input: Arc::clone(&event),
                environment: Vec::new(),
                directory: PathBuf::from("/"),
                timeout: Duration::from_secs(30),
            };
            let started = Instant::now();
            lane.run(invocation).await?;
            // The first event starts the worker.
            if number > 100 {
                samples.add(started.elapsed());
            }
        }
        lane.shutdown().await;
        Ok(samples.median())
    })
}
