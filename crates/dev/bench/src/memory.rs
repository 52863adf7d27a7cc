//! The most memory that the program holds: a real run with a scripted model that reads a file in every turn.

use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::Room;

use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};

const TURNS: usize = 500;

/// The most that a run of 500 turns may hold.
const BAR: u64 = 40_000_000;

/// The delay of the last answer, so that the full conversation is surely measured.
const LAST_DELAY_MS: u64 = 200;

pub fn run(programs: &Programs, report: &mut Report) -> Result<(), Problem> {
    let few = peak(programs, 1)?;
    let many = peak(programs, TURNS)?;
    report.add(Line::new("peak memory, 1 turn", Figure::Bytes(few)));
    report.add(Line::new(format!("peak memory, {TURNS} turns"), Figure::Bytes(many)).bar(Figure::Bytes(BAR)));
    Ok(())
}

fn peak(programs: &Programs, turns: usize) -> Result<u64, Problem> {
    let room = Room::new(&programs.becket);
    room.write(
        "notes.txt",
        "A line of some notes, as long as lines are.\n".repeat(20),
    );
    room.write("script.json", script(turns).to_string());
    let iterations = (turns + 1).to_string();
    let arguments = ["--model", "scripted/script.json", "--max-iterations", &iterations];
    let mut command = room.command(arguments.into_iter().chain(["Read the notes, again and again."]));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let peak = watch(&mut child)?;
    let status = child.wait()?;
    if !status.success() {
        return Err(format!("the run of {turns} turns failed: {status}").into());
    }
    Ok(peak)
}

/// A script whose reads have different arguments, because the agent would take identical ones for a loop.
fn script(turns: usize) -> Value {
    let read = |turn: usize| json!({"name": "read", "arguments": {"path": "notes.txt", "limit": 100 + turn}});
    let mut script: Vec<Value> = (0..turns)
        .map(|turn| json!({"tool_calls": [read(turn)]}))
        .collect();
    script.push(json!({"text": "That was all.", "delay_ms": LAST_DELAY_MS}));
    Value::Array(script)
}

/// The peak memory of the process, measured until it ends.
pub fn watch(child: &mut Child) -> Result<u64, Problem> {
    let file = format!("/proc/{}/status", child.id());
    let mut peak = None;
    while child.try_wait()?.is_none() {
        let status = std::fs::read_to_string(&file).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_ascii_whitespace().next());
        if let Some(kilobytes) = kilobytes {
            peak = Some(kilobytes.parse::<u64>()? * 1024);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    peak.ok_or_else(|| "this system does not tell how much memory a process holds".into())
}
