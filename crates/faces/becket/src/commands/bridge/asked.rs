//! `becket bridge SYSTEM EVENT`: another agent asks becket's hooks.
//!
//! Whatever happens, the agent is answered in its own way before it would stop waiting. The clock is watched by a
//! thread of its own, because even reading a file may take for ever.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use becket_bridge::{Mode, Question, answer, event_named, refusal};
use becket_host::{Bridge, BridgePayload, BridgedEvent, Ruling};
use becket_run::RunOptions;
use becket_run::options::Caller;
use becket_system::{CliError, Exit, Surroundings};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::args::AskedBy;
use crate::options::Options;
use crate::printing::print;
use crate::running::runtime;

/// The largest question that is read.
const LARGEST_QUESTION: u64 = 64 << 20;

/// The variable that counts bridges within bridges.
const DEPTH: &str = "BECKET_BRIDGE_DEPTH";

/// How many bridges may be within each other: hooks of one agent may start another agent.
const DEEPEST: u32 = 8;

/// Answers one question.
pub fn run(options: &Options, asked: &AskedBy, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let (bridge, event) = parse(options, asked)?;
    let mode = if asked.shadow { Mode::Shadow } else { Mode::Enforce };
    let output = Arc::new(Output::default());
    watch_the_clock((bridge, event, mode), &output);
    let read = read_question();
    let payload = BridgePayload(read.as_ref().cloned().unwrap_or_default());
    output.keep(&payload);
    let said = match read.and_then(|_| inside(bridge, &payload, surroundings)) {
        Ok((surroundings, directory)) => {
            let question = Question {
                bridge,
                event,
                payload,
                directory,
            };
            ask(options, &question, mode, &surroundings)?
        }
        Err(why) => unable(bridge, event, mode, &payload, &why),
    };
    output.say(said.as_ref())?;
    Ok(Exit::Answered)
}

/// The answer where nothing can be judged.
fn unable(
    bridge: &Bridge,
    event: &BridgedEvent,
    mode: Mode,
    payload: &BridgePayload,
    why: &str,
) -> Option<Value> {
    match mode {
        Mode::Enforce => refusal(bridge, event, payload, why),
        Mode::Shadow => (bridge.write)(event, payload, &Ruling::default()),
    }
}

/// The agent and its event that the command line names.
fn parse(options: &Options, asked: &AskedBy) -> Result<(&'static Bridge, &'static BridgedEvent), CliError> {
    let bridge = bridge_to(options, asked.system.as_deref().unwrap_or_default())?;
    let name = asked.event.as_deref().unwrap_or_default();
    let event = event_named(bridge, name).ok_or_else(|| {
        let names: Vec<&str> = bridge.events.iter().map(|event| event.name).collect();
        CliError::usage(format!("becket is not asked about `{name}` by {}", bridge.title))
            .hint(format!("its events are {}", names.join(", ")))
    })?;
    Ok((bridge, event))
}

/// The agent of that name.
pub(super) fn bridge_to(options: &Options, system: &str) -> Result<&'static Bridge, CliError> {
    let mut bridges = options.run.hosts.bridges();
    bridges.find(|bridge| bridge.system == system).ok_or_else(|| {
        let names: Vec<&str> = options.run.hosts.bridges().map(|bridge| bridge.system).collect();
        CliError::usage(format!("there is no bridge to `{system}`"))
            .hint(format!("there are bridges to {}", names.join(", ")))
    })
}

fn read_question() -> Result<Map<String, Value>, String> {
    let mut text = Vec::new();
    std::io::stdin()
        .lock()
        .take(LARGEST_QUESTION + 1)
        .read_to_end(&mut text)
        .map_err(|error| format!("the question cannot be read: {error}"))?;
    if text.len() as u64 > LARGEST_QUESTION {
        return Err("the question is too large".into());
    }
    serde_json::from_slice(&text).map_err(|error| format!("the question is no JSON object: {error}"))
}

/// The surroundings in which hooks are asked, which are those of the agent's project and one bridge deeper, and the
/// directory in which the agent works.
fn inside(
    bridge: &Bridge,
    payload: &BridgePayload,
    surroundings: &Surroundings,
) -> Result<(Surroundings, PathBuf), String> {
    let depth = surroundings.variable(DEPTH);
    let depth = depth.and_then(|depth| depth.parse().ok()).unwrap_or(0);
    if depth >= DEEPEST {
        return Err("bridges ask each other in a circle".into());
    }
    if let Some(home) = surroundings
        .variable("HOME")
        .filter(|home| !Path::new(home).is_absolute())
    {
        return Err(format!("HOME must be an absolute path, not `{home}`"));
    }
    let mut surroundings = surroundings.clone();
    surroundings
        .variables
        .insert(DEPTH.into(), (depth + 1).to_string().into());
    let existing = |directory: &Path| {
        let found = directory.canonicalize();
        found.map_err(|error| format!("cannot work in {}: {error}", directory.display()))
    };
    let directory = existing(&payload.directory().unwrap_or_else(|| surroundings.cwd.clone()))?;
    let project = surroundings.variable(bridge.project_variable);
    let project = match project.filter(|project| Path::new(project).is_absolute()) {
        Some(project) => existing(Path::new(&project))?,
        None => directory.clone(),
    };
    std::env::set_current_dir(&project)
        .map_err(|error| format!("cannot work in {}: {error}", project.display()))?;
    surroundings.cwd = project;
    Ok((surroundings, directory))
}

fn ask(
    options: &Options,
    question: &Question,
    mode: Mode,
    surroundings: &Surroundings,
) -> Result<Option<Value>, CliError> {
    let run = RunOptions {
        bridged_by: Some(question.bridge.system),
        ..options.run.clone()
    };
    let cancel = CancellationToken::new();
    let caller = Caller {
        options: &run,
        surroundings,
        cancel: &cancel,
    };
    let limit = question.event.timeout.mul_f64(0.8);
    let runtime = runtime(options)?;
    let said = runtime.block_on(async { tokio::time::timeout(limit, answer(question, mode, caller)).await });
    runtime.shutdown_background();
    let Question {
        bridge,
        event,
        payload,
        ..
    } = question;
    Ok(said.unwrap_or_else(|_| unable(bridge, event, mode, payload, TOO_LATE)))
}

const TOO_LATE: &str = "the hooks did not answer in time";

/// Answers in place of the main thread if that does not come to an end.
fn watch_the_clock(
    (bridge, event, mode): (&'static Bridge, &'static BridgedEvent, Mode),
    output: &Arc<Output>,
) {
    let output = Arc::clone(output);
    let limit: Duration = event.timeout.mul_f64(0.9);
    std::thread::spawn(move || {
        std::thread::sleep(limit);
        let payload = output.kept();
        let said = unable(bridge, event, mode, &payload, TOO_LATE);
        let code = i32::from(output.say(said.as_ref()).is_err());
        std::process::exit(code);
    });
}

/// Standard output, to which one answer is written, and the question as far as it was read.
#[derive(Default)]
struct Output {
    is_said: Mutex<bool>,
    payload: Mutex<Map<String, Value>>,
}

impl Output {
    fn keep(&self, payload: &BridgePayload) {
        *self.payload.lock().unwrap_or_else(PoisonError::into_inner) = payload.0.clone();
    }

    fn kept(&self) -> BridgePayload {
        BridgePayload(
            self.payload
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
        )
    }

    fn say(&self, answer: Option<&Value>) -> Result<(), CliError> {
        let mut is_said = self.is_said.lock().unwrap_or_else(PoisonError::into_inner);
        match answer {
            Some(answer) if !std::mem::replace(&mut *is_said, true) => print(&format!("{answer}\n")),
            _ => {
                *is_said = true;
                Ok(())
            }
        }
    }
}
