//! The cost of a chibi home with ten plugins of ten hooks each: finding them at a warm start, and asking them during a
//! prompt, against bare starts of the same programs.
//!
//! The prompt's hook cost is the time of a run with the plugins less the time of the same run without them; the two
//! and the bare starts take turns. How many programs a prompt starts is counted once, in a run of its own.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use becket_chibi::{Asking, HostFacts, LoadSettings, load};
use becket_hooks::inherited_environment;
use serde_json::json;
use testkit::Room;

use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};
use crate::samples::{Samples, ratio, runtime, time};

const PLUGINS: usize = 10;
const HOOKS: [&str; 10] = [
    "on_start",
    "on_end",
    "pre_message",
    "post_message",
    "pre_system_prompt",
    "post_system_prompt",
    "pre_api_tools",
    "pre_api_request",
    "pre_agentic_loop",
    "pre_tool",
];

/// How long finding the plugins may take when nothing has changed.
const DISCOVERY_BAR: Duration = Duration::from_millis(20);

/// The most that the hooks of a prompt may cost, as a multiple of the bare starts.
const PROMPT_BAR: f64 = 1.3;

const WARM_STARTS: usize = 50;
const PROMPTS: usize = 15;

pub fn run(programs: &Programs, report: &mut Report) -> Result<(), Problem> {
    let room = Room::new(&programs.becket);
    let home = room.work().join("chibi");
    let log = room.work().join("calls");
    write_plugins(&room, &log);
    discovery(&home, &log, report)?;
    prompts(&room, &home, &log, report)
}

/// Writes plugins that do next to nothing: what is measured is the work around them.
fn write_plugins(room: &Room, log: &Path) {
    for number in 0..PLUGINS {
        let schema = json!({"name": format!("plugin_{number}"), "description": "", "hooks": HOOKS});
        let text = format!(
            "#!/bin/sh\n[ -e {log} ] && echo \"$1\" >>{log}\n[ \"$1\" = --schema ] && echo '{schema}' && exit\n\
             read -r data\nprintf '{{}}'\n",
            log = testkit::quoted(log),
        );
        room.script(&format!("chibi/plugins/plugin_{number}"), &text);
    }
}

fn discovery(home: &Path, log: &Path, report: &mut Report) -> Result<(), Problem> {
    let host = HostFacts {
        chibi_home: home.to_path_buf(),
        project_root: PathBuf::from("/"),
        hook_timeout: Duration::from_secs(30),
        environment: Arc::new(inherited_environment(std::env::vars_os(), &[""; 0])),
        terminal: None,
        verbose: false,
    };
    let settings = LoadSettings {
        cache: Some(home.join("cache.json")),
        asking: Asking::WhenChanged,
        schema_timeout: Duration::from_secs(10),
        directory: PathBuf::from("/"),
        older: Vec::new(),
        newer: Vec::new(),
        asking_on_input: Vec::new(),
        without: Vec::new(),
    };
    let runtime = runtime()?;
    let (cold, cold_time) = time(|| runtime.block_on(load(&host, &settings, &|_| {})));
    if cold.plugins.len() != PLUGINS {
        return Err(format!("not all plugins were found: {:?}", cold.remarks).into());
    }
    std::fs::write(log, "")?;
    let mut warm = Samples::default();
    for _ in 0..WARM_STARTS {
        let (_, taken) = time(|| runtime.block_on(load(&host, &settings, &|_| {})));
        warm.add(taken);
    }
    let started = std::fs::read_to_string(log)?.lines().count();
    std::fs::remove_file(log)?;
    let what = format!("{PLUGINS} plugins of {} hooks", HOOKS.len());
    report.add(Line::new("plugins, cold discovery", Figure::Time(cold_time)).remark(what));
    report.add(
        Line::new("plugins, warm discovery", Figure::Time(warm.median()))
            .bar(Figure::Time(DISCOVERY_BAR))
            .remark(format!("{started} programs started in {WARM_STARTS} starts")),
    );
    if started > 0 {
        return Err("a warm start has started plugins".into());
    }
    Ok(())
}

fn prompts(room: &Room, home: &Path, log: &Path, report: &mut Report) -> Result<(), Problem> {
    let model = room.model(&json!([{"text": "Hello."}]));
    let home = home.display().to_string();
    let plain = ["-C", "plain", "--model", &model, "Hello"];
    let hooked = ["--chibi-home", &home, "-C", "hooked", "--model", &model, "Hello"];
    let prompt = |arguments: &[&str]| -> Result<Duration, Problem> {
        let (run, taken) = time(|| room.run(arguments));
        if run.code != 0 {
            return Err(format!("the prompt failed: {}", run.stderr).into());
        }
        Ok(taken)
    };
    prompt(&hooked)?;
    std::fs::write(log, "")?;
    prompt(&hooked)?;
    let calls = std::fs::read_to_string(log)?.lines().count();
    std::fs::remove_file(log)?;
    let (mut without, mut with, mut bare) = (Samples::default(), Samples::default(), Samples::default());
    for _ in 0..PROMPTS {
        without.add(prompt(&plain)?);
        with.add(prompt(&hooked)?);
        let (result, taken) = time(|| start_barely(Path::new(&home), calls));
        result?;
        bare.add(taken);
    }
    let hooks = with.median().saturating_sub(without.median());
    let times = ratio(hooks, bare.median());
    report.add(
        Line::new("plugins, bare starts", Figure::Time(bare.median()))
            .remark(format!("{calls} starts, as many as a prompt makes")),
    );
    report.add(
        Line::new("plugins, a prompt's hooks", Figure::Time(hooks))
            .remark("a prompt with plugins less one without"),
    );
    report.add(
        Line::new("plugins, a prompt's hooks over bare", Figure::Times(times)).bar(Figure::Times(PROMPT_BAR)),
    );
    Ok(())
}

/// Starts the same programs barely, as often as a prompt does, one after another.
fn start_barely(home: &Path, calls: usize) -> Result<(), Problem> {
    let environment: BTreeMap<_, _> = inherited_environment(std::env::vars_os(), &[""; 0]);
    let event = format!("{{\"text\":\"{}\"}}\n", "x".repeat(1000));
    for call in 0..calls {
        let mut child = Command::new(home.join(format!("plugins/plugin_{}", call % PLUGINS)))
            .env_clear()
            .envs(&environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(event.as_bytes())?;
        }
        if child.wait_with_output()?.stdout != b"{}" {
            return Err("a plugin failed".into());
        }
    }
    Ok(())
}
