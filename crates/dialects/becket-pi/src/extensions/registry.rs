//! The extension registry: everything that the extensions of a run have registered, and the parts that they work with.
//!
//! The registry exists before there is an agent, because extensions are loaded before one can be put together; their
//! registrations wait here. From `hooks::set_stage` on, hooks go to the engine and tools to the session handle as they
//! come. What is done with it are functions in the other modules.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use becket_agent::front::FrontUpdate;
use becket_agent::provider::Provider;
use becket_agent::session_handle::SessionHandle;
use becket_agent::store::Store;
use becket_events::{EventId, Profile};
use becket_hooks::{Cause, DispatchTrace, Engine, Failure, HandlerRun, LaneKind, Mark};
use becket_host::{Failed, GivenFlag, ModelLists, Person, ToolChoice, Ui};
use becket_js::{Extension, Kit, Report, Reporter};
use becket_providers::ProviderSettings;
use becket_screen::Screen;
use becket_store::SqliteStore;
use becket_system::Surroundings;
use serde_json::{Value, json};

use super::bus::Bus;
use super::calls::Calls;
use super::components::Components;
use super::extension_list::ExtensionList;
use super::input_listeners::InputListeners;
use super::network::Network;
use crate::Origin;
use crate::host_call::{ContextFile, Mode};
use crate::run_resources::RunResources;
use crate::services::Service;

/// How many traces of extensions are kept until there is a session.
const MOST_UNTOLD: usize = 1_000;

/// The registry of a run's extensions.
pub struct ExtensionRegistry {
    /// The session handle by which extensions see and steer the session.
    pub session: SessionHandle,
    /// The network requests of extensions.
    pub network: Arc<Network>,
    /// The extensions, and what they have registered.
    pub extensions: ExtensionList,
    /// The facts about the run.
    pub facts: Facts,
    /// The pending calls between the program and extensions.
    pub calls: Calls,
    /// The messages between extensions.
    pub bus: Bus,
    /// The components of extensions on the screen.
    pub components: Components,
    /// The extensions that see keys or complete text.
    pub input_listeners: InputListeners,
    /// Whether an extension has asked for the file of the session.
    pub session_file: AtomicBool,
    /// The models of becket's own clients, each with whether it can be used, once somebody has asked for them.
    pub own_models: OnceLock<Vec<(Value, bool)>>,
    /// Picks the tools with which a session begins, if the command line names some.
    pub tool_choice: OnceLock<Box<dyn ToolChoice>>,
    state: Mutex<RegistryState>,
}

/// The facts about the run that are known from its beginning.
pub struct Facts {
    /// The environment in which becket was started.
    pub surroundings: Surroundings,
    /// The environment of programs, including the mark.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
    /// The mark of programs that extensions have started.
    pub mark: Mark,
    /// Settings for becket's own provider clients.
    pub providers: ProviderSettings,
    /// The lists of models that providers have given.
    pub model_lists: ModelLists,
    /// The mode of the program, under pi's names.
    pub mode: Mode,
    /// Whether the project is trusted.
    pub trusted: bool,
    /// Whether conversations are stored.
    pub keeps_sessions: bool,
    /// Whether the model is offered only pi's default tools until an extension activates others.
    pub default_tools: bool,
    /// How long a handler may take.
    pub timeout: Duration,
    /// How many bytes one extension may use.
    pub memory: usize,
    /// Whether extensions may run programs.
    pub processes: bool,
    /// The project's instruction files.
    pub prompt_files: Vec<ContextFile>,
    /// Returns the names of the program's own options.
    pub own_options: fn() -> Vec<String>,
}

/// The agent's parts that extensions work with, once there is one.
pub struct Stage {
    /// Asks the hooks.
    pub engine: Arc<Engine>,
    /// The user's side of the run.
    pub person: Person,
    /// Stores the traces.
    pub store: Arc<SqliteStore>,
    /// Skills, prompt templates and themes.
    pub resources: Arc<RunResources>,
    /// The names by which the model knows the tools.
    pub profile: Profile,
    /// Finds models by their names.
    pub models: becket_tools::Models,
}

/// An MCP server that an extension has named.
pub(super) struct NamedServer {
    /// The extension's name.
    pub(super) extension: String,
    /// The server's name.
    pub(super) name: String,
    /// The server's configuration.
    pub(super) config: Value,
}

#[derive(Default)]
pub(super) struct RegistryState {
    pub(super) given_flags: Vec<GivenFlag>,
    pub(super) stage: Option<Arc<Stage>>,
    /// Whether the tools that were registered at the start have been handed over.
    pub(super) takes_tools: bool,
    /// The messages that were shown and are shown only once.
    told: HashSet<String>,
    /// Providers that were registered and removed again.
    withdrawn: HashSet<String>,
    /// Whether a program was started.
    has_started: bool,
    /// Traces from the time before there was a session.
    untold: Vec<DispatchTrace>,
    /// Whether the session has begun.
    pub(super) has_begun: bool,
    /// Everything that extensions are loaded with.
    pub(super) kit: Option<Arc<Kit>>,
    /// The MCP servers that extensions have named.
    pub(super) mcp_servers: Vec<NamedServer>,
    /// Extensions with a running command, and the load in which it runs.
    pub(super) at_work: Vec<(u64, Extension)>,
}

impl ExtensionRegistry {
    /// An empty registry.
    pub fn new(facts: Facts) -> Self {
        Self {
            session: SessionHandle::new(),
            network: Arc::default(),
            extensions: ExtensionList::default(),
            facts,
            calls: Calls::default(),
            bus: Bus::default(),
            components: Components::default(),
            input_listeners: InputListeners::default(),
            session_file: AtomicBool::new(false),
            own_models: OnceLock::new(),
            tool_choice: OnceLock::new(),
            state: Mutex::default(),
        }
    }

    /// Whether the command line lets the model have this tool.
    pub fn allows_tool(&self, name: &str) -> bool {
        self.tool_choice.get().is_none_or(|choice| choice.allows(name))
    }

    /// The agent's parts, once there is an agent.
    pub fn stage(&self) -> Option<Arc<Stage>> {
        self.state().stage.clone()
    }

    /// Calls a service of an extension, and waits for the answer.
    pub async fn ask<S: Service>(
        &self,
        extension: &Extension,
        service: &S,
        timeout: Duration,
    ) -> Result<S::Answer, Failure> {
        let wrong = |detail: String| Failure::new(Cause::WrongShape, detail);
        let argument = serde_json::to_string(service).map_err(|error| wrong(error.to_string()))?;
        let answer = extension.invoke(S::NAME, &argument, timeout).await?;
        S::read(answer.as_deref()).map_err(wrong)
    }

    /// Shows a warning, the first time only.
    pub fn warn_once(&self, words: &str) {
        if self.state().told.insert(words.to_owned()) {
            self.warn(words);
        }
    }

    /// Shows a warning.
    pub fn warn(&self, words: &str) {
        match self.stage() {
            Some(stage) => stage.person.front.show(FrontUpdate::Warning(words)),
            None => self.facts.surroundings.remark(words),
        }
    }

    /// Shows a notice.
    pub fn notice(&self, words: &str) {
        match self.stage() {
            Some(stage) => stage.person.front.show(FrontUpdate::Notice(words)),
            None => self.facts.surroundings.remark(words),
        }
    }

    /// Calls a function with the user's side of extensions; `None` if there is no agent yet.
    pub fn ui<T>(&self, reach: impl FnOnce(&Arc<dyn Ui>) -> T) -> Option<T> {
        self.stage().map(|stage| reach(&stage.person.ui))
    }

    /// Reports a failure of an extension that no caller waits for.
    pub fn fail(&self, extension: &str, event: Option<&str>, error: &str) {
        let path = self
            .extensions
            .with(extension, |guest| guest.candidate.file.display().to_string());
        let failed = Failed {
            extension,
            path: path.as_deref().unwrap_or_default(),
            event,
            error,
        };
        if self.ui(|ui| ui.failed(failed)).is_none() {
            self.facts.surroundings.remark(&failed.words());
        }
    }

    /// Records in the session's trace that an extension has used something. Before there is a session, the record is
    /// kept until there is one.
    pub fn trace(&self, extension: &str, what: &str, target: &str) {
        let file = self.extensions.position(extension).map(|(_, file)| file);
        let source = file.unwrap_or_default().display().to_string();
        let run = HandlerRun {
            reply: Some(json!({"used": what, "target": target})),
            ..HandlerRun::noted(extension.to_owned(), source, crate::DIALECT, LaneKind::Javascript)
        };
        let trace = DispatchTrace::noted(EventId::Notification, run);
        let mut state = self.state();
        if state.untold.len() < MOST_UNTOLD {
            state.untold.push(trace);
        }
        drop(state);
        self.tell_used();
    }

    /// Writes the records that were kept to the session's trace.
    pub fn tell_used(&self) {
        let (Some(stage), Ok(place)) = (self.stage(), self.session.place()) else {
            return;
        };
        let untold = std::mem::take(&mut self.state().untold);
        for trace in untold {
            let session_id = place.session_id.clone();
            stage
                .store
                .trace(&place.session_id, DispatchTrace { session_id, ..trace });
        }
    }

    /// The provider for the model with that name.
    pub fn model(&self, name: &str) -> Result<Arc<dyn Provider>, String> {
        // The model in use is taken as it is, because not every name can be looked up again.
        let is_meant = |model: &Arc<dyn Provider>| name == format!("{}/{}", model.name(), model.model());
        if let Some(in_use) = self.session.config().model().ok().filter(is_meant)
            && !self.is_withdrawn(in_use.name())
        {
            return Ok(in_use);
        }
        let stage = self.stage().ok_or("there is no agent yet")?;
        (stage.models)(name)
    }

    /// Removes an extension's provider. A session that has begun with one of its models continues with it, but the
    /// model can no longer be chosen.
    pub fn withdraw_provider(&self, extension: &str, provider: &str) {
        self.extensions.with(extension, |guest| {
            guest.providers.retain(|other| other.name != provider)
        });
        self.state().withdrawn.insert(provider.to_owned());
    }

    /// Whether a provider was an extension's, and no extension brings it any more.
    pub fn is_withdrawn(&self, provider: &str) -> bool {
        self.extensions.provider(provider).is_none() && self.state().withdrawn.contains(provider)
    }

    /// Records that a program was started.
    pub fn note_program(&self) {
        self.state().has_started = true;
    }

    /// Releases everything at the end, and ends programs that are still running.
    pub fn clear(&self) {
        let mut state = self.state();
        let kit = state.kit.take();
        state.stage = None;
        let has_started = std::mem::take(&mut state.has_started);
        drop(state);
        self.extensions.clear();
        drop(kit);
        if has_started {
            self.facts.mark.end_all();
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, RegistryState> {
        self.state
            .lock()
            .expect("no panic happens while the registry is held")
    }

    /// The extension in one of its loads: the present one, or an earlier one in which a command is running.
    pub fn in_life(&self, name: &str, life: u64) -> Option<Extension> {
        let (now, extension) = self
            .extensions
            .with(name, |guest| (guest.life, guest.extension.clone()))?;
        if now == life {
            return extension;
        }
        let state = self.state();
        let mut at_work = state.at_work.iter();
        let found = at_work.find(|(other, extension)| *other == life && extension.name() == name);
        found.map(|(_, extension)| extension.clone())
    }

    /// The mode of the program, under pi's names. The screen may have been opened after extensions were loaded.
    pub fn mode(&self) -> Mode {
        match self.screen() {
            Some(_) => Mode::Tui,
            None => self.facts.mode,
        }
    }

    /// The screen, if there is one.
    pub fn screen(&self) -> Option<Screen> {
        self.facts.surroundings.screen.get()
    }
}

impl Reporter for ExtensionRegistry {
    fn report(&self, extension: &str, report: Report) {
        match report {
            Report::Console { error: true, text } => self.warn(&format!("{extension}: {text}")),
            Report::Console { text, .. } => self.notice(&format!("{extension}: {text}")),
            Report::Used { what, target } => {
                if what.starts_with("child_process") {
                    self.note_program();
                }
                self.trace(extension, what, &target);
            }
            Report::Failed { text } => self.fail(extension, None, &text),
        }
    }

    fn rejected(&self, extension: &str, reason: &str) {
        self.calls.fail_streams(extension, reason);
    }
}

/// The origin of an extension in pi's terms: its scope and its source.
pub fn origin_words(origin: &Origin) -> (&'static str, &str) {
    match origin {
        Origin::CommandLine => ("temporary", "cli"),
        Origin::Project => ("project", "local"),
        Origin::Person => ("user", "local"),
        Origin::Package(source) => ("user", source),
    }
}
