//! The cost of the command lane above a bare start of the same program with the standard library. The two take turns.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use becket_hooks::{CommandLane, Invocation, Lane, Program, inherited_environment};

use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};
use crate::samples::{Samples, ratio, runtime, time};

const ROUNDS: usize = 400;

/// The most that the lane may cost, as a multiple of a bare start.
const BAR: f64 = 1.05;

/// Programs as hooks are: a small one, and a script.
const SUBJECTS: [(&str, &[&str]); 2] = [
    ("cat", &["/bin/cat"]),
    ("shell script", &["/bin/sh", "-c", "read -r event; printf '{}'"]),
];

/// A script as a hook's line names it.
const SCRIPT: &str = "#!/bin/bash\nread -r event; printf '{}'\n";

pub fn run(_: &Programs, report: &mut Report) -> Result<(), Problem> {
    let environment = Arc::new(inherited_environment(std::env::vars_os(), &[""; 0]));
    for (name, words) in SUBJECTS {
        compare(report, name, (words, Program::exec(words)), &environment)?;
    }
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("hook.sh");
    testkit::write_program(&script, SCRIPT);
    let script = script.display().to_string();
    let line = Program::shell(format!("'{script}'"));
    compare(report, "line with a script", (&[&script], line), &environment)
}

/// Starts a program by the lane and barely.
fn compare(
    report: &mut Report,
    name: &str,
    (words, program): (&[&str], Program),
    environment: &Arc<BTreeMap<OsString, OsString>>,
) -> Result<(), Problem> {
    let event: Arc<str> = format!("{{\"event\":\"pre_tool\",\"text\":\"{}\"}}\n", "x".repeat(1000)).into();
    let runtime = runtime()?;
    let lane = CommandLane::new(program.environment(Arc::clone(environment)));
    let (mut bare, mut laned) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        let (result, taken) = time(|| start_barely(words, environment, &event));
        result?;
        bare.add(taken);
        let invocation = invocation(&event);
        let (result, taken) = time(|| runtime.block_on(lane.run(invocation)));
        result?;
        laned.add(taken);
    }
    let ratio = ratio(laned.median(), bare.median());
    report.add(Line::new(
        format!("bare start, {name}"),
        Figure::Time(bare.median()),
    ));
    report.add(Line::new(
        format!("command lane, {name}"),
        Figure::Time(laned.median()),
    ));
    let line = Line::new(format!("command lane over bare, {name}"), Figure::Times(ratio));
    report.add(line.bar(Figure::Times(BAR)));
    Ok(())
}

fn invocation(event: &Arc<str>) -> Invocation {
    Invocation {
        input: Arc::clone(event),
        environment: Vec::new(),
        directory: PathBuf::from("/"),
        timeout: Duration::from_secs(30),
    }
}

/// Starts the program barely, in the environment of hooks: cargo sets `LD_LIBRARY_PATH` for what it runs, which hooks
/// do not inherit, and which makes every start slower.
fn start_barely(
    words: &[&str],
    environment: &BTreeMap<OsString, OsString>,
    event: &str,
) -> Result<(), Problem> {
    let mut child = Command::new(words[0])
        .args(&words[1..])
        .env_clear()
        .envs(environment)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(event.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if output.stdout.is_empty() || !output.status.success() {
        return Err(format!("{} failed", words[0]).into());
    }
    Ok(())
}
