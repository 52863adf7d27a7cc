//! The half-second rule: how long a hook survives its deadline that ignores SIGTERM and has put a child into a session
//! of its own.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use becket_hooks::{CommandLane, Invocation, Lane, Program, inherited_environment};

use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};
use crate::samples::{Samples, runtime};

const ROUNDS: usize = 7;
const DEADLINE: Duration = Duration::from_millis(300);
const BAR: Duration = Duration::from_millis(500);

/// How long to wait for a process that survived.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

const STUBBORN: &str = "trap '' TERM
setsid /bin/sh -c 'trap \"\" TERM; echo $$ > child; while :; do sleep 1; done' &
echo $$ > main
while :; do sleep 1; done";

pub fn run(_: &Programs, report: &mut Report) -> Result<(), Problem> {
    if !testkit::needs("setsid") {
        report.skipped("hook gone after its deadline", "setsid");
        return Ok(());
    }
    let (mut answered, mut gone) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        let (answer, end) = outlive()?;
        answered.add(answer);
        gone.add(end);
    }
    let line = Line::new(
        "agent goes on after the deadline",
        Figure::Time(answered.longest()),
    );
    report.add(line.bar(Figure::Time(BAR)).remark("the longest"));
    let line = Line::new("hook gone after the deadline", Figure::Time(gone.longest()));
    report.add(
        line.bar(Figure::Time(BAR))
            .remark("the longest; with its setsid child"),
    );
    Ok(())
}

/// Runs the hook into its deadline. Returns how long after that the lane answers, and how long after that all processes
/// are gone.
fn outlive() -> Result<(Duration, Duration), Problem> {
    let folder = tempfile::tempdir()?;
    let environment = inherited_environment(std::env::vars_os(), &[""; 0]);
    let lane = CommandLane::new(Program::shell(STUBBORN).environment(Arc::new(environment)));
    let invocation = Invocation {
        input: "{}".into(),
        environment: Vec::new(),
        directory: folder.path().to_owned(),
        timeout: DEADLINE,
    };
    let started = Instant::now();
    let outcome = runtime()?.block_on(lane.run(invocation));
    let answered = started.elapsed();
    if outcome.is_ok() {
        return Err("the hook ended by itself".into());
    }
    for name in ["main", "child"] {
        let number = std::fs::read_to_string(folder.path().join(name))?;
        let process = Path::new("/proc").join(number.trim());
        while process.exists() {
            if started.elapsed() > EXIT_TIMEOUT {
                return Err(format!("the {name} process of the hook lives on").into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok((
        answered.saturating_sub(DEADLINE),
        started.elapsed().saturating_sub(DEADLINE),
    ))
}
