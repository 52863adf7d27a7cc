//! The cost of hooks that other agents keep in JSON files: looking for such files where there are none, which every
//! start pays, and ten hooks before each call of a tool, against bare starts of the same program.
//!
//! What the hooks cost is the time of a run with them less that of the same run without them, for each of its calls.
//! The two and the bare starts take turns.

use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use becket_dialects::FILE_SYSTEMS;
use becket_events::{Event, PreTool};
use becket_hook_files::FileHost;
use becket_host::{GuestOptions, GuestSearch, Host, SettingsText};
use becket_system::{Folders, Surroundings};
use becket_trust::Trust;
use serde_json::{Value, json};
use testkit::Room;

use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};
use crate::samples::{Samples, ratio, time};

/// How long looking for the files of all systems may take.
const SEARCH_BAR: Duration = Duration::from_millis(1);

/// The most that the hooks of a call may cost, as a multiple of the bare starts.
const HOOKS_BAR: f64 = 1.4;

const SEARCHES: usize = 200;
const HOOKS: usize = 10;
const CALLS: usize = 20;
const RUNS: usize = 15;

/// The threads that start programs barely, as many as the smallest machine has processors.
const THREADS: usize = 2;

/// becket starts programs by one thread, so this is what it can reach with programs that end at once.
const ONE_THREAD: usize = 1;

const SHELL: &str = "/bin/bash";

/// The script of a hook with a jq, and how long its call may take.
const WITH_JQ: &str = "path=$(jq -r '.arguments.path // empty'); [[ $path != *.env ]]";
const JQ_BAR: Duration = Duration::from_millis(6);

/// An event; twenty of them are about as long as one of becket's.
const EVENT: &[u8] = b"{\"tool_name\": \"read\"}\n";

pub fn run(programs: &Programs, report: &mut Report) -> Result<(), Problem> {
    search(report)?;
    hooks(programs, report)
}

/// Looks for files in an empty project of an empty home.
fn search(report: &mut Report) -> Result<(), Problem> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    let variables = [(OsString::from("HOME"), OsString::from(&root))];
    let surroundings = Surroundings::headless(variables, root.clone());
    let folders = Folders::find(Some(&root.join("becket")), &surroundings).map_err(|error| error.message)?;
    let trust = Trust::open(false, &folders, &surroundings, &root);
    let place = GuestSearch {
        surroundings: &surroundings,
        folders: &folders,
        project_root: &root,
        trust: &trust,
        settings: &SettingsText::default(),
        options: &GuestOptions::default(),
        without: &[],
        sections: &[],
        operation_called: becket_dialects::operation_called,
    };
    let mut samples = Samples::default();
    for _ in 0..SEARCHES {
        let (found, taken) = time(|| {
            FILE_SYSTEMS
                .iter()
                .map(|system| FileHost(system).find(&place))
                .collect::<Result<Vec<_>, _>>()
        });
        let found = found.map_err(|error| error.message)?;
        if found.iter().any(|found| found.may_load()) {
            return Err("there are hooks in an empty project; does the machine have some?".into());
        }
        samples.add(taken);
    }
    let systems = FILE_SYSTEMS.len();
    report.add(
        Line::new(
            "hook files, a search that finds none",
            Figure::Time(samples.median()),
        )
        .bar(Figure::Time(SEARCH_BAR))
        .remark(format!("of {systems} systems")),
    );
    Ok(())
}

/// Hooks of Claude Code, which start together, becket's own that say that they rewrite nothing, and one with a jq.
fn hooks(programs: &Programs, report: &mut Report) -> Result<(), Problem> {
    let room = Room::new(&programs.becket);
    // Each another one, because the same hook runs once.
    let hook =
        |number: usize| json!({"type": "command", "command": SHELL, "args": ["-c", format!(": {number}")]});
    let hooks: Vec<Value> = (0..HOOKS).map(hook).collect();
    let event = before_a_call()?;
    let settings = json!({"hooks": {event: [{"hooks": hooks}]}});
    room.write("hooked/.claude/settings.json", settings.to_string());
    room.write("hooked/a.txt", "words");
    let folder = room.work().join("hooked/.claude").display().to_string();
    let mut list = room.command(["hooks", "list"]);
    let listed = list.env("CLAUDE_CONFIG_DIR", &folder).output()?.stdout;
    if !String::from_utf8_lossy(&listed).contains(&format!("{event} {HOOKS} ")) {
        return Err("the hooks were not found".into());
    }
    let bare: fn(usize) -> Result<(), Problem> = start_barely;
    let claude = |command: &mut Command| {
        command.env("CLAUDE_CONFIG_DIR", &folder);
    };
    let measured = measure(&room, "claude", claude, bare)?;
    tell(report, "hook files", "hooks of Claude Code", &measured);
    let own = |number: usize| {
        format!(
            "[[hook]]\nname = \"{number}\"\nevent = \"pre_tool\"\ncommand = [\"{SHELL}\", \"-c\", \": {number}\"]\n\
             rewrites = false\n"
        )
    };
    let file = room.write("hooked/own.toml", (0..HOOKS).map(own).collect::<String>());
    let own = |command: &mut Command| {
        command.arg("--hooks").arg(&file);
    };
    let measured = measure(&room, "own", own, bare)?;
    tell(
        report,
        "own hooks",
        "own hooks with `rewrites = false`",
        &measured,
    );
    with_jq(&room, report)
}

/// A hook as people write it: bash, and one jq in it.
fn with_jq(room: &Room, report: &mut Report) -> Result<(), Problem> {
    if !testkit::needs("jq") {
        report.skipped("own hook with bash and jq", "jq");
        return Ok(());
    }
    let text = format!(
        "[[hook]]\nname = \"jq\"\nevent = \"pre_tool\"\ncommand = [\"{SHELL}\", \"-c\", '''{WITH_JQ}''']\n"
    );
    let file = room.write("hooked/jq.toml", text);
    let hooked = |command: &mut Command| {
        command.arg("--hooks").arg(&file);
    };
    let measured = measure(room, "jq", hooked, |_| {
        (0..CALLS)
            .try_for_each(|_| start_one(WITH_JQ))
            .map_err(Problem::from)
    })?;
    let remark = "the same script and the machine's jq";
    report.add(Line::new("bare start, bash and jq", Figure::Time(measured.slow)).remark(remark));
    let line = Line::new("own hook with bash and jq", Figure::Time(measured.hooks)).bar(Figure::Time(JQ_BAR));
    report.add(
        line.ratio(ratio(measured.hooks, measured.slow))
            .remark("over the bare start"),
    );
    Ok(())
}

/// What the hooks of a call cost, and what bare starts cost by two threads and by one.
struct Measured {
    hooks: Duration,
    bare: Duration,
    slow: Duration,
}

/// Measures runs with hooks, which `hooked` turns on, and without.
fn measure(
    room: &Room,
    name: &str,
    hooked: impl Fn(&mut Command),
    start_barely: impl Fn(usize) -> Result<(), Problem>,
) -> Result<Measured, Problem> {
    // No call is like the one before it, which would end the run.
    let call = |number: usize| {
        let arguments = json!({"path": "hooked/a.txt", "limit": number + 1});
        json!({"tool_calls": [{"id": "call", "name": "read", "arguments": arguments}]})
    };
    let turns: Vec<Value> = (0..CALLS).map(call).chain([json!({"text": "done"})]).collect();
    let model = room.model(&json!(turns));
    let prompt = |context: String, is_hooked: bool| -> Result<Duration, Problem> {
        let mut command = room.command(["--yes", "-C", &context, "--model", &model, "go"]);
        if is_hooked {
            hooked(&mut command);
        }
        let (output, taken) = time(|| command.output());
        let output = output?;
        match output.status.success() {
            true => Ok(taken),
            false => Err(format!("the prompt failed: {}", String::from_utf8_lossy(&output.stderr)).into()),
        }
    };
    let (mut without, mut with) = (Samples::default(), Samples::default());
    let (mut bare, mut slow) = (Samples::default(), Samples::default());
    for round in 0..RUNS {
        without.add(prompt(format!("{name}-plain-{round}"), false)?);
        with.add(prompt(format!("{name}-hooked-{round}"), true)?);
        for (threads, samples) in [(THREADS, &mut bare), (ONE_THREAD, &mut slow)] {
            let (result, taken) = time(|| start_barely(threads));
            result?;
            samples.add(taken);
        }
    }
    let calls = u32::try_from(CALLS)?;
    Ok(Measured {
        hooks: with.median().saturating_sub(without.median()) / calls,
        bare: bare.median() / calls,
        slow: slow.median() / calls,
    })
}

fn tell(report: &mut Report, name: &str, which: &str, measured: &Measured) {
    let Measured { hooks, bare, slow } = *measured;
    let what = format!("{HOOKS} starts of `bash -c :`");
    report.add(Line::new(format!("{name}, bare starts, 1 thread"), Figure::Time(slow)).remark(&what));
    report.add(Line::new(format!("{name}, bare starts, 2 threads"), Figure::Time(bare)).remark(&what));
    let what = format!("{HOOKS} {which} that do nothing, by a run of {CALLS} calls less one without");
    report.add(Line::new(format!("{name}, a call's hooks"), Figure::Time(hooks)).remark(what));
    let times = Figure::Times(ratio(hooks, slow));
    report.add(Line::new(format!("{name}, a call's hooks over 1 thread"), times));
    let times = Figure::Times(ratio(hooks, bare));
    let line = Line::new(format!("{name}, a call's hooks over 2 threads"), times);
    report.add(line.bar(Figure::Times(HOOKS_BAR)));
}

/// Claude Code's name for what happens before a call.
pub fn before_a_call() -> Result<&'static str, Problem> {
    let system = FILE_SYSTEMS
        .iter()
        .find(|system| system.dialect.name == "claude-code");
    let rows = system.map(|system| system.row_infos()).unwrap_or_default();
    let row = rows.iter().find(|row| row.event == PreTool::ID);
    Ok(row.ok_or("Claude Code has no such event")?.name)
}

/// Starts the same program barely, as often as the hooks of all calls, ten by ten.
fn start_barely(threads: usize) -> Result<(), Problem> {
    for _ in 0..CALLS {
        let results = thread::scope(|scope| {
            let starts = || (0..HOOKS / threads).try_for_each(|_| start_one(":"));
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(starts)).collect();
            let joined = threads.into_iter().map(|thread| thread.join().ok());
            joined.collect::<Option<Result<Vec<()>, std::io::Error>>>()
        });
        results.ok_or("a thread panicked")??;
    }
    Ok(())
}

/// Starts one program with an input, in an environment as small as that of the hooks, and waits for its end.
fn start_one(script: &str) -> std::io::Result<()> {
    let mut child = Command::new(SHELL)
        .args(["-c", script])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // It reads nothing, and may be gone already.
        stdin.write_all(&EVENT.repeat(20)).ok();
    }
    let output = child.wait_with_output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(std::io::Error::other("bash failed")),
    }
}
