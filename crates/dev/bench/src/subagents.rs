//! Two hundred sub-agents at once, in the real program with scripted models: what they cost in time and memory, whether
//! every answer arrives, and how long a cancel takes.
//!
//! One answer asks for at most a hundred tools, so two foremen are in between: each asks a hundred workers beside each
//! other. A worker's model waits before it answers, so that all of them are there at once; the wait is no part of the
//! figure. A foreman's script expects every single answer in its next request, and fails the run if one is lost.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Room, Signal};

use crate::memory::watch;
use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};
use crate::samples::time;

const FOREMEN: usize = 2;
const WORKERS: usize = 100;
const ALL: usize = FOREMEN * WORKERS;

/// How long a worker's model waits before it answers; long enough for all workers to run at once.
const WAIT: Duration = Duration::from_secs(2);

/// The delay of a worker that waits to be cancelled.
const FOR_EVER: Duration = Duration::from_secs(600);

/// How long all sessions may take to begin.
const START_TIMEOUT: Duration = Duration::from_secs(120);

pub fn run(programs: &Programs, report: &mut Report) -> Result<(), Problem> {
    let (_, few) = answered(programs, 1, 1)?;
    let (taken, many) = answered(programs, FOREMEN, WORKERS)?;
    let each = many.saturating_sub(few) / (ALL - 1) as u64;
    let name = format!("sub-agents, {ALL} at once");
    report
        .add(Line::new(name, Figure::Time(taken)).remark("besides the wait of their models; no answer lost"));
    let name = format!("sub-agents, peak memory of {ALL}");
    report.add(Line::new(name, Figure::Bytes(many)).remark(format!("{each} bytes for each")));
    let cancelled = cancelled(programs)?;
    let name = format!("sub-agents, cancel of {ALL}");
    report.add(
        Line::new(name, Figure::Time(cancelled)).remark("to the end of the program; every session ended"),
    );
    Ok(())
}

/// Lets all workers answer. Returns the time besides the wait, and the peak of memory.
fn answered(programs: &Programs, foremen: usize, workers: usize) -> Result<(Duration, u64), Problem> {
    let room = Room::new(&programs.becket);
    let mut command = room.command(scripted(&room, foremen, workers, WAIT));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (peak, taken) = time(|| -> Result<u64, Problem> {
        let mut child = command.spawn()?;
        let peak = watch(&mut child)?;
        match child.wait()?.success() {
            true => Ok(peak),
            false => Err("the run failed, or an answer was lost".into()),
        }
    });
    let sessions = sessions(&room)?;
    let live = most_at_once(&sessions);
    if live < foremen * workers {
        return Err(format!("only {live} sub-agents were there at once").into());
    }
    Ok((taken.saturating_sub(WAIT), peak?))
}

/// Cancels all workers. Returns how long the program took to end.
fn cancelled(programs: &Programs) -> Result<Duration, Problem> {
    let room = Room::new(&programs.becket);
    let run = room.start(scripted(&room, FOREMEN, WORKERS, FOR_EVER));
    let all = 1 + FOREMEN + ALL;
    let deadline = Instant::now() + START_TIMEOUT;
    while sessions(&room)?.len() < all {
        if Instant::now() > deadline {
            return Err("not all sub-agents have begun".into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    run.signal(Signal::INT);
    let (run, taken) = time(|| run.finish());
    let ended = sessions(&room)?;
    let whole = ended.len() == all && ended.iter().all(|session| session["reason"] == "cancelled");
    match run.code == 130 && whole {
        true => Ok(taken),
        false => Err(format!("the cancel left something behind: {}", run.stderr).into()),
    }
}

/// Writes the scripts, and returns the arguments of the program.
fn scripted(room: &Room, foremen: usize, workers: usize, wait: Duration) -> Vec<String> {
    room.config(&format!("[subagents]\nmax_parallel = {workers}\n"));
    let task = |model: String, tools: Value| {
        let arguments =
            json!({"system_prompt": "You work.", "input": "Work.", "model": model, "tools": tools});
        json!({"name": "spawn_agent", "arguments": arguments})
    };
    let mut foremen_tasks = Vec::new();
    for foreman in 0..foremen {
        let (mut tasks, mut answers) = (Vec::new(), Vec::new());
        for worker in 0..workers {
            let file = format!("worker-{foreman}-{worker}.json");
            let answer = format!("the answer {foreman}-{worker}.");
            let turn = json!({"text": answer, "delay_ms": wait.as_millis() as u64});
            room.write(&file, json!([turn]).to_string());
            tasks.push(task(format!("scripted/{file}"), json!(false)));
            answers.push(answer);
        }
        let file = format!("foreman-{foreman}.json");
        let turns = json!([{"tool_calls": tasks}, {"text": "All are here.", "expect": answers}]);
        room.write(&file, turns.to_string());
        foremen_tasks.push(task(format!("scripted/{file}"), json!(["spawn_agent"])));
    }
    let expected = "All are here.";
    let turns = json!([{"tool_calls": foremen_tasks}, {"text": "Done.", "expect": [expected]}]);
    vec!["--model".into(), room.model(&turns), "Work.".into()]
}

fn sessions(room: &Room) -> Result<Vec<Value>, Problem> {
    let run = room.run(["--json", "sessions"]);
    match run.code {
        0 => Ok(run.events()),
        _ => Err(run.stderr.into()),
    }
}

/// How many workers ran at the same time.
fn most_at_once(sessions: &[Value]) -> usize {
    let parents: Vec<&Value> = sessions.iter().map(|session| &session["parent_id"]).collect();
    let is_worker = |session: &&Value| !session["parent_id"].is_null() && !parents.contains(&&session["id"]);
    let workers: Vec<&Value> = sessions.iter().filter(is_worker).collect();
    let moment = |session: &Value, name: &str| session[name].as_u64().unwrap_or_default();
    let live_at = |time: u64| {
        let lives =
            |session: &&&Value| (moment(session, "started_ms")..=moment(session, "ended_ms")).contains(&time);
        workers.iter().filter(lives).count()
    };
    let starts = workers.iter().map(|session| moment(session, "started_ms"));
    starts.map(live_at).max().unwrap_or(0)
}
