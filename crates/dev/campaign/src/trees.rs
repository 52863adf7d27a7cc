//! Hooks that time out, with children of every kind: none of them survives.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};

use becket_hooks::{CommandLane, Invocation, Lane, Program, become_subreaper, reap_orphans};

use crate::round::{Campaign, Round, ensure};

pub const CAMPAIGN: Campaign = Campaign {
    name: "trees",
    promise: "No process survives the time-out of the hook that started it.",
    round,
};

/// Scripts that start what should not survive; `S` is a sleep of this round.
// tidy: a table
const SCRIPTS: &[&str] = &[
    "S",
    "S & S",
    "trap '' TERM; S & S",
    "setsid S & S",
    "env -i setsid S & S",
    "(setsid S &); S",
    "(setsid sh -c \"trap '' TERM; S & S\" &); S",
    "for i in 1 2 3 4 5 6 7 8; do S & done; wait",
    "trap '' TERM INT HUP; for i in 1 2 3 4; do setsid S & done; wait",
    "nohup S >/dev/null 2>&1 & S",
    "exec <&- >&- 2>&-; S & S",
    "sh -c 'sh -c \"sh -c \\\"S & S\\\" & S\" & S'",
    "kill -STOP $$",
    "S & kill -STOP $!; S",
    "(S & exec setsid sh -c 'S; true') & S",
];

/// How many hooks time out at once.
const AT_ONCE: usize = 12;

/// How long killed processes may take to disappear on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn round(round: &mut Round<'_>) -> Result<(), String> {
    become_subreaper();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
    // A number that no other sleep of this machine has.
    let sleep = format!(
        "sleep 600.{:09}{}",
        round.random.below(1_000_000_000),
        std::process::id()
    );
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let environment: Arc<BTreeMap<OsString, OsString>> = Arc::new(std::env::vars_os().collect());
    let mut scripts = Vec::new();
    for _ in 0..AT_ONCE {
        scripts.push(
            round
                .random
                .choose(SCRIPTS)
                .replace('S', &sleep)
                .replace(&format!("-{sleep}"), "-S"),
        );
    }
    let lane =
        |script: &String| CommandLane::new(Program::shell(script).environment(Arc::clone(&environment)));
    let lanes: Vec<CommandLane> = scripts.iter().map(lane).collect();
    let runs = lanes.iter().map(|lane| {
        lane.run(Invocation {
            input: "{}".into(),
            environment: Vec::new(),
            directory: folder.path().to_owned(),
            timeout: Duration::from_millis(100 + round.random.below(200) as u64),
        })
    });
    let runs: Vec<_> = runs.collect();
    let ended = runtime.block_on(async { futures_util::future::join_all(runs).await });
    for (script, ended) in scripts.iter().zip(ended) {
        ensure!(ended.is_err(), "a hook that never ends has answered: {script}");
    }
    round.count("process trees after a time-out", AT_ONCE);
    let begun = Instant::now();
    loop {
        reap_orphans();
        let left = alive(&sleep);
        if left.is_empty() {
            return Ok(());
        }
        if begun.elapsed() > PATIENCE {
            let traits: Vec<String> = left.iter().map(|(number, _)| traits(*number)).collect();
            kill(&left);
            return Err(format!("survived: {left:?} ({traits:?}) of {scripts:#?}"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The processes whose command line has these words.
fn alive(words: &str) -> Vec<(i32, String)> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = processes.filter_map(|process| {
        let number = process.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(process.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(words).then_some((number, line))
    });
    lines.collect()
}

/// What tells whose a process is: its line of the system's list, and how many bytes of variables it has.
fn traits(number: i32) -> String {
    let read = |name: &str| std::fs::read(format!("/proc/{number}/{name}")).unwrap_or_default();
    let (line, variables) = (read("stat"), read("environ").len());
    let line = String::from_utf8_lossy(&line);
    let start: Vec<&str> = line.split_whitespace().take(6).collect();
    format!("{}, {variables} bytes of variables", start.join(" "))
}

fn kill(left: &[(i32, String)]) {
    for (number, _) in left {
        if let Some(process) = rustix::process::Pid::from_raw(*number) {
            let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
        }
    }
}
