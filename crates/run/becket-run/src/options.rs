//! What a run is asked for: plain values, made once from a command line, or by whoever embeds becket.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use becket_agent::provider::ThinkingLevel;
use becket_agent::{Budget, SharedMode};
use becket_events::SetupReason;
use becket_host::{AGENT_FILE, GuestOptions, Guests, Mode, Program, ServerDeclaration};
use becket_system::Surroundings;
use becket_tools::Buffers;
use tokio_util::sync::CancellationToken;

use crate::config::Dollars;
use crate::hosts::Hosts;
use crate::sandbox_profile::SandboxProfile;

/// What a run is asked for. The default is a run as the user's settings want it, in the current context.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The folder for configuration, data and cache, instead of the usual ones.
    pub home: Option<PathBuf>,
    /// Whether what is found in the working directory is trusted for this run.
    pub trust: bool,
    /// Guests that are left out, by name.
    pub without: Vec<String>,
    /// The kinds of guests there are.
    pub hosts: Hosts,
    /// The agent that asks becket's hooks, if one does. It runs the hooks of its own files itself.
    pub bridged_by: Option<&'static str>,
    /// The options of the command line that are about guests.
    pub guests: GuestOptions,
    /// MCP servers of the program that has started becket.
    pub servers: GivenServers,
    /// The buffers of the editor for which becket works.
    pub buffers: GivenBuffers,
    /// Guests that were loaded already, because the command line could not be read without them.
    pub preloaded: Preloaded,
    /// The context of this run and of later ones in the project.
    pub context: Option<String>,
    /// The context for this run only.
    pub transient: Option<String>,
    /// The session whose context is continued.
    pub session: Option<String>,
    /// Whether a run for which no context is named begins a fresh one.
    pub is_fresh: bool,
    /// Whether the project's current context stays what it is, wherever the run goes on.
    pub keeps_current: bool,
    /// Whether the context of this run is destroyed at its end.
    pub keeps_nothing: bool,
    /// The model, as `provider/name`.
    pub model: Option<String>,
    /// Whether a run without a model fails, instead of playing the rehearsal: its answer would be taken for a result.
    pub needs_model: bool,
    /// The tool profile, or the only tools that the model is offered, by pi's names.
    pub tools: Option<String>,
    /// What needs the user's yes, and what is refused without a question. The user can change it while the run goes on,
    /// and it stays wherever the run goes on.
    pub permission_mode: SharedMode,
    /// What the model's commands may touch, in place of what the settings say.
    pub sandbox: Option<SandboxProfile>,
    /// What hooks are to do to the project before the session begins.
    pub setup: Option<SetupReason>,
    /// How many requests one prompt may cause.
    pub max_iterations: Option<u32>,
    /// How many rounds of tools one prompt may cause; 0 for no limit.
    pub fuel: Option<u32>,
    /// How much the requests of the run may cost.
    pub budget: Option<Dollars>,
    /// How much the model thinks.
    pub thinking: Option<ThinkingLevel>,
    /// The agent's instructions in place of the usual ones, or a file that holds them.
    pub system_prompt: Option<String>,
    /// More instructions after the system prompt, or files that hold some.
    pub append_system_prompt: Vec<String>,
    /// Images to send with the first prompt.
    pub images: Vec<PathBuf>,
    /// Where spans are sent when the run ends; empty for the default address.
    pub otel: Option<String>,
    /// Whether prompts come one after another, in a chat.
    pub is_chat: bool,
    /// Whether standard output is JSON for a program, so that nobody at the terminal is asked.
    pub json: bool,
    /// The protocol of the program that has started becket, if it speaks one.
    pub client: Option<Mode>,
    /// The file of a becket program, if there is one: hooks find it as their `jq`, and it sends spans after the run.
    pub becket_program: Option<PathBuf>,
    /// Returns the names of the command line's options.
    pub option_names: Option<fn() -> Vec<String>>,
}

impl RunOptions {
    /// Whether an agent file is run.
    pub fn has_agent_file(&self) -> bool {
        self.guests.has(AGENT_FILE)
    }

    /// What guests are told about this program.
    pub(crate) fn about_program(&self) -> Program {
        let json = if self.json { Mode::Json } else { Mode::Print };
        Program {
            file: self.becket_program.clone().unwrap_or_default(),
            option_names: self.option_names.unwrap_or(Vec::new),
            mode: self.client.unwrap_or(json),
            keeps_sessions: !self.keeps_nothing,
            is_steered: self.client.is_some() || self.tool_list().is_some(),
            answers_yes: self.permission_mode.answers_yes(),
        }
    }

    /// The only tools that the model is offered, where `tools` names some.
    pub fn tool_list(&self) -> Option<Vec<String>> {
        let tools = self.tools.as_deref()?;
        if becket_dialects::profile_names().any(|name| name == tools) {
            return None;
        }
        let names = tools.split(',').map(str::trim).filter(|name| !name.is_empty());
        Some(names.map(Into::into).collect())
    }
}

/// MCP servers that are given with the options and not found in files.
#[derive(Clone, Default)]
pub struct GivenServers(pub Vec<ServerDeclaration>);

impl fmt::Debug for GivenServers {
    /// Shows only names: the rest may hold keys.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|(name, _)| name);
        formatter.debug_list().entries(names).finish()
    }
}

/// The buffers of an editor, if becket works for one that offers them.
#[derive(Clone, Default)]
pub struct GivenBuffers(pub Option<Arc<dyn Buffers>>);

impl fmt::Debug for GivenBuffers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "GivenBuffers({})", self.0.is_some())
    }
}

/// Guests that were loaded to read the command line.
#[derive(Clone, Default)]
pub struct Preloaded(Arc<Mutex<Option<GuestsOfKind>>>);

struct GuestsOfKind {
    /// What one of them is called.
    kind: &'static str,
    guests: Arc<dyn Guests>,
    /// The budget from which they pay. The run that takes them has the same one.
    budget: Option<Budget>,
}

impl Preloaded {
    /// Keeps guests of one kind for the first run, with the budget from which they pay.
    pub fn new(kind: &'static str, guests: Arc<dyn Guests>, budget: Option<Budget>) -> Self {
        let kept = GuestsOfKind { kind, guests, budget };
        Self(Arc::new(Mutex::new(Some(kept))))
    }

    /// Takes the guests of that kind. Only the first call gets them; a second run loads its own.
    pub(crate) fn take(&self, kind: &str) -> Option<Arc<dyn Guests>> {
        let taken = self.kept().take_if(|kept| kept.kind == kind)?;
        Some(taken.guests)
    }

    /// The budget of the guests that the next run takes.
    pub(crate) fn budget(&self) -> Option<Budget> {
        self.kept().as_ref()?.budget.clone()
    }

    fn kept(&self) -> MutexGuard<'_, Option<GuestsOfKind>> {
        self.0.lock().expect("no panic happens while it is held")
    }
}

impl fmt::Debug for Preloaded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Preloaded")
    }
}

/// Who starts a run: the options, the machine, and the token that cancels it.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    pub options: &'a RunOptions,
    pub surroundings: &'a Surroundings,
    pub cancel: &'a CancellationToken,
}
