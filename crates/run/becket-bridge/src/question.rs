//! A question of another agent, as it stands on the command line and on standard input.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use becket_host::{Bridge, BridgePayload, BridgedEvent, MomentKind, Ruling, VariablesFor};
use becket_system::Surroundings;
use serde_json::Value;

/// The variable that counts bridges within bridges.
const DEPTH: &str = "BECKET_BRIDGE_DEPTH";

/// Why something is refused when hooks do not answer.
pub const TOO_LATE: &str = "the hooks did not answer in time";

/// How many bridges may be within each other: hooks of one agent may start another agent.
const DEEPEST: u32 = 8;

/// The agent's event of that name.
pub fn event_named(bridge: &'static Bridge, name: &str) -> Option<&'static BridgedEvent> {
    bridge.events.iter().find(|event| event.name == name)
}

/// Whether a refusal counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    Enforce,
    /// A refusal is kept for a report, and the agent is told nothing.
    Shadow,
}

/// The event about which an agent asks.
#[derive(Clone, Copy)]
pub struct AskedEvent {
    pub bridge: &'static Bridge,
    pub event: &'static BridgedEvent,
    pub mode: Mode,
}

impl AskedEvent {
    /// The answer where nothing can be judged.
    pub fn unable(&self, payload: &BridgePayload, why: &str) -> Option<Value> {
        match self.mode {
            Mode::Enforce => refusal(self.bridge, self.event, payload, why),
            Mode::Shadow => (self.bridge.write)(self.event, payload, &Ruling::default()),
        }
    }
}

/// What is printed when an event cannot be judged: a refusal, if something can be refused there.
fn refusal(bridge: &Bridge, event: &BridgedEvent, payload: &BridgePayload, reason: &str) -> Option<Value> {
    let told = format!("becket refuses it: {reason}");
    let ruling = match event.kind {
        kind if kind.is_guard() => Ruling::deny(told),
        // A hook might have kept it from the model.
        MomentKind::Called => Ruling {
            output: Some(format!("[becket withholds the result: {reason}]")),
            ..Ruling::default()
        },
        _ => Ruling {
            notices: vec![format!("becket: {reason}")],
            ..Ruling::default()
        },
    };
    (bridge.write)(event, payload, &ruling)
}

/// A question of another agent.
pub struct Question {
    pub asked: AskedEvent,
    pub payload: BridgePayload,
    /// The directory in which the agent works.
    pub directory: PathBuf,
    /// The file that the agent runs before its commands.
    pub(crate) env_file: Option<PathBuf>,
}

impl Question {
    /// A question, and the surroundings in which hooks are asked: those of the agent's project, one bridge deeper.
    pub fn within(
        asked: AskedEvent,
        payload: BridgePayload,
        surroundings: &Surroundings,
    ) -> Result<(Self, Surroundings), String> {
        let depth = surroundings.variable(DEPTH);
        let depth = depth.and_then(|depth| depth.parse().ok()).unwrap_or(0);
        if depth >= DEEPEST {
            return Err("bridges ask each other in a loop".into());
        }
        let home = surroundings.variable("HOME");
        if let Some(home) = home.filter(|home| !Path::new(home).is_absolute()) {
            return Err(format!("HOME must be an absolute path, not `{home}`"));
        }
        let mut surroundings = surroundings.clone();
        let variables = &mut surroundings.variables;
        variables.insert(DEPTH.into(), (depth + 1).to_string().into());
        let directory = payload.directory().unwrap_or_else(|| surroundings.cwd.clone());
        let directory = existing(&directory)?;
        let project = surroundings.variable(asked.bridge.project_variable);
        surroundings.cwd = match project.filter(|project| Path::new(project).is_absolute()) {
            Some(project) => existing(Path::new(&project))?,
            None => directory.clone(),
        };
        let env_file = match asked.bridge.variables {
            VariablesFor::CommandsByFile(variable) => surroundings.variable(variable).map(PathBuf::from),
            VariablesFor::Nobody | VariablesFor::HooksByAnswer => None,
        };
        for name in asked.bridge.event_variables {
            surroundings.variables.remove(OsStr::new(name));
        }
        let question = Self {
            asked,
            payload,
            directory,
            env_file: env_file.filter(|file| file.is_absolute()),
        };
        Ok((question, surroundings))
    }
}

fn existing(directory: &Path) -> Result<PathBuf, String> {
    let found = directory.canonicalize();
    found.map_err(|error| format!("cannot work in {}: {error}", directory.display()))
}
