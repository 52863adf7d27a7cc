//! `becket bridge SYSTEM EVENT`: another agent asks becket's hooks.
//!
//! Whatever happens, the agent is answered in its own way before it would stop waiting. The clock is watched by a
//! thread of its own, because even reading a file may take for ever.

use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use becket_bridge::{AskedEvent, Mode, Question, TOO_LATE, answer, event_named};
use becket_face_kit::runtime;
use becket_hook::{LARGEST_QUESTION, patience};
use becket_host::{Bridge, BridgePayload};
use becket_run::RunOptions;
use becket_run::options::Caller;
use becket_system::{CliError, Exit, Surroundings};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::args::AskedBy;
use crate::options::Options;
use crate::printing::print;

/// Answers one question.
pub fn run(options: &Options, asked: &AskedBy, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let elapsed = Duration::from_millis(asked.elapsed);
    let asked = parse(options, asked)?;
    let left = |part: f64| asked.event.timeout.mul_f64(part).saturating_sub(elapsed);
    let output = Arc::new(Output::default());
    watch_the_clock(asked, left(patience::BECKET), &output);
    let read = read_question();
    let payload = BridgePayload(read.as_ref().cloned().unwrap_or_default());
    output.keep(&payload);
    let within = read.and_then(|_| Question::within(asked, payload.clone(), surroundings));
    let said = match within {
        Ok((question, surroundings)) => ask(options, &question, left(patience::HOOKS), &surroundings)?,
        Err(why) => asked.unable(&payload, &why),
    };
    output.say(said.as_ref())?;
    Ok(Exit::Answered)
}

/// The agent and its event that the command line names.
fn parse(options: &Options, asked: &AskedBy) -> Result<AskedEvent, CliError> {
    let bridge = bridge_to(options, asked.system.as_deref().unwrap_or_default())?;
    let name = asked.event.as_deref().unwrap_or_default();
    let event = event_named(bridge, name).ok_or_else(|| {
        let names: Vec<&str> = bridge.events.iter().map(|event| event.name).collect();
        CliError::usage(format!("becket is not asked about `{name}` by {}", bridge.title))
            .hint(format!("its events are {}", names.join(", ")))
    })?;
    let mode = if asked.shadow { Mode::Shadow } else { Mode::Enforce };
    Ok(AskedEvent { bridge, event, mode })
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

/// becket itself, which agents are to start.
pub(super) fn program(options: &Options) -> Result<PathBuf, CliError> {
    let program = options.run.becket_program.clone();
    program.ok_or_else(|| CliError::failed("cannot find out where becket itself is"))
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
    serde_json::from_slice(&text).map_err(|error| format!("the question is not a JSON object: {error}"))
}

fn ask(
    options: &Options,
    question: &Question,
    limit: Duration,
    surroundings: &Surroundings,
) -> Result<Option<Value>, CliError> {
    let project = &surroundings.cwd;
    if let Err(error) = std::env::set_current_dir(project) {
        let why = format!("cannot work in {}: {error}", project.display());
        return Ok(question.asked.unable(&question.payload, &why));
    }
    let run = RunOptions {
        bridged_by: Some(question.asked.bridge.system),
        ..options.run.clone()
    };
    let cancel = CancellationToken::new();
    let caller = Caller {
        options: &run,
        surroundings,
        cancel: &cancel,
    };
    let runtime = runtime(options)?;
    let said = runtime.block_on(async { tokio::time::timeout(limit, answer(question, caller)).await });
    runtime.shutdown_background();
    Ok(said.unwrap_or_else(|_| question.asked.unable(&question.payload, TOO_LATE)))
}

/// Answers in place of the main thread if that does not come to an end.
fn watch_the_clock(asked: AskedEvent, limit: Duration, output: &Arc<Output>) {
    let output = Arc::clone(output);
    std::thread::spawn(move || {
        std::thread::sleep(limit);
        let said = asked.unable(&output.kept(), TOO_LATE);
        let code = i32::from(output.say(said.as_ref()).is_err());
        std::process::exit(code);
    });
}

/// Standard output, to which one answer is written, and the question as far as it was read.
#[derive(Default)]
struct Output {
    is_said: Mutex<bool>,
    payload: Mutex<BridgePayload>,
}

impl Output {
    fn keep(&self, payload: &BridgePayload) {
        *self.payload.lock().unwrap_or_else(PoisonError::into_inner) = payload.clone();
    }

    fn kept(&self) -> BridgePayload {
        self.payload
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
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
