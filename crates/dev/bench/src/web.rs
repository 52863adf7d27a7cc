//! The page in a real Chromium: a session of 10,000 events, from the click to its first rows and through all of it, and
//! the hooks of 100,000 runs.

mod hook_runs;

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Browser, Room};

use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};

/// How long it may take until the session is visible.
const BAR: Duration = Duration::from_secs(2);

const TURNS: usize = 20;

/// The number of pieces of each answer; an extension is told of every one of them.
const PIECES: usize = 500;

/// The sessions with hook runs, and how many each has.
const SESSIONS: u64 = 100;
const RUNS: u64 = 1_000;

/// Scrolls to the end in 60 frames and says how long that took.
const SCROLL: &str = "new Promise((done) => {
    const rows = document.getElementById('rows'), began = performance.now();
    let frames = 0;
    const step = () => {
        rows.scrollTop += rows.scrollHeight / 60;
        if (++frames < 60) requestAnimationFrame(step); else done(performance.now() - began);
    };
    requestAnimationFrame(step);
})";

pub fn run(programs: &Programs, report: &mut Report) -> Result<(), Problem> {
    let room = Room::new(&programs.becket);
    talk(&room);
    let server = room.start(["web", "--json"]);
    server.wait_for_output("\n");
    let line: Value = serde_json::from_str(&server.output())?;
    let url = line["url"].as_str().ok_or("the page has no address")?;
    let Some(mut browser) = Browser::open(url) else {
        return Ok(());
    };
    browser.wait("document.documentElement.dataset.openedMs");
    let opened = browser.evaluate("Number(document.documentElement.dataset.openedMs)");
    let rows = browser.evaluate("view.bars.length");
    let scrolled = browser.evaluate(SCROLL);
    report.add(
        Line::new("page, a session of 10,000 events opens", milliseconds(&opened))
            .bar(Figure::Time(BAR))
            .remark(format!("{rows} rows, until they are painted")),
    );
    report.add(Line::new("page, scrolled to its end", milliseconds(&scrolled)).remark("60 frames"));
    hooks(programs, report)
}

/// The hooks of all sessions, on a server that was just started.
fn hooks(programs: &Programs, report: &mut Report) -> Result<(), Problem> {
    let room = Room::new(&programs.becket);
    hook_runs::write(&room, SESSIONS, RUNS);
    let server = room.start(["web", "--json"]);
    server.wait_for_output("\n");
    let line: Value = serde_json::from_str(&server.output())?;
    let url = line["url"].as_str().ok_or("the page has no address")?;
    let Some(mut browser) = Browser::open(&format!("{url}&v=hooks")) else {
        return Ok(());
    };
    browser.wait("document.documentElement.dataset.hooksMs");
    let opened = browser.evaluate("Math.round(performance.now())");
    let took = browser.evaluate("Number(document.documentElement.dataset.hooksMs)");
    let rows = browser.evaluate("document.querySelectorAll('#hooks tbody tr').length");
    report.add(
        Line::new("page, the hooks of 100,000 runs open", milliseconds(&took))
            .bar(Figure::Time(BAR))
            .remark(format!(
                "{rows} hooks, until they are painted; {opened} ms since the page was asked for"
            )),
    );
    Ok(())
}

fn milliseconds(value: &Value) -> Figure {
    Figure::Time(Duration::from_secs_f64(value.as_f64().unwrap_or_default() / 1e3))
}

/// A talkative model, and an extension that listens.
fn talk(room: &Room) {
    room.write(
        "listener.ts",
        "export default (pi: any) => { pi.on('message_update', () => {}); }",
    );
    let text = "word ".repeat(PIECES);
    // With different arguments, because the agent would take identical ones for a loop.
    let turn = |turn: usize| {
        let call = json!({"name": "shell", "arguments": {"command": format!("echo {turn}")}});
        json!({"text": text, "chunk_size": 5, "tool_calls": [call]})
    };
    let mut turns: Vec<Value> = (0..TURNS).map(turn).collect();
    turns.push(json!({"text": "That was all."}));
    let model = room.model(&Value::from(turns));
    let arguments = [
        "--yes",
        "-e",
        "listener.ts",
        "--model",
        &model,
        "--max-iterations",
        "50",
        "talk",
    ];
    room.run(arguments).ended_with(0);
}
