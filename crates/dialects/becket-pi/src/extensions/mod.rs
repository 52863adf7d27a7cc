//! Extensions of pi's in this run: where they lie (`find.rs`), and how they are loaded and served.
//!
//! `board.rs` holds what they have registered. They ask for things by `host.rs` and `later.rs`; what they bring becomes
//! tools (`tool.rs`), commands (`commands.rs`) and providers (`provider.rs`) of the agent. `watchdog.rs` ends the
//! program if one of them cannot be ended. Without an extension nothing of this exists.

mod board;
mod bus;
mod calls;
mod commands;
mod completion;
mod components;
mod described;
mod find;
mod flags;
mod host;
mod later;
mod models;
mod moves;
mod network;
mod prompt;
mod provider;
mod reload;
mod renderers;
mod resources;
mod selection;
mod sessions;
mod shell;
mod shortcuts;
mod taps;
mod tool;
mod watchdog;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use becket_agent::desk::Desk;
use becket_agent::provider::Provider;
use becket_agent::tool::{BUILTIN, Tool};
use becket_events::{ModelChoice, Profile};
use becket_hooks::{Engine, Mark};
use becket_host::{Drawing, Person, Unloaded};
use becket_js::{
    Allowed, DefaultExport, Extension, HostError, HostModule, Kit, Limits, Outside, Transformer,
};
use becket_providers::ProviderSettings;
use becket_store::SqliteStore;
use becket_system::Surroundings;
use becket_tools::Models;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::Candidate;
use crate::host_call::{ContextFile, HostCall, HostCallAsync, Mode};
use crate::services::End;

pub use board::{Board, Guest, RegisteredFlag};
use board::{Facts, Stage};
pub use commands::{Called, CommandEnd};
pub use find::{Given, Place, find, find_resources, judge_resources, refusal};
pub use flags::GivenFlag;
use host::BoardHost;
use renderers::BoardDrawing;
use tool::ExtensionTool;

use crate::config::{JsConfig, JsEngine, PiConfig};
use crate::shelf::RunShelf;

/// How often what is still under way may be looked at when the session is over, so that what fails is told, and the
/// pause between two looks. Looks are counted and not time, which on a busy machine passes without anything happening.
const LAST_LOOKS: u32 = 10;
const LOOK: Duration = Duration::from_millis(5);

/// How long an extension may take to hear that the session has begun or ended.
const A_WORD: Duration = Duration::from_secs(5);

/// In whose name the program itself asks for what extensions ask for.
const NOBODY: &str = "";

/// The extensions of a run.
#[derive(Default)]
pub struct Extensions(Option<Arc<Board>>);

impl Drop for Extensions {
    /// Whatever has been loaded ends, also where there never was a session.
    fn drop(&mut self) {
        self.0.iter().for_each(|board| board.clear());
    }
}

impl Extensions {
    /// Loads what was found, in order. `unloaded` says what could not be loaded.
    pub async fn load(found: &[Candidate], settings: LoadSettings) -> Self {
        let board = Arc::new(Board::new(facts(&settings)));
        // Whoever began to listen later would not hear a Ctrl-C that is to end their first code. What stands against it
        // is told by the command that needs it.
        let _ = settings.surroundings.signals.listen();
        let kit = Arc::new(kit(&settings, &board, found.len()));
        watchdog::begin(&board, Arc::clone(&kit.watch));
        board.set_kit(Arc::clone(&kit));
        for candidate in found {
            // `unloaded` tells it.
            let is_loaded = load(&kit, &board, candidate).await.is_ok();
            if !is_loaded && is_part_of_another(candidate, found) {
                board.dismiss(&candidate.name);
            }
        }
        Self(Some(board))
    }

    /// Those that could not be loaded.
    pub fn unloaded(&self) -> Vec<Unloaded> {
        let troubles = self.each(|guest| Some(unloaded(&guest.candidate, guest.trouble.clone()?)));
        troubles.into_iter().flatten().collect()
    }

    /// Goes on without one of them.
    pub fn leave_out(&self, name: &str) {
        self.0.iter().for_each(|board| board.dismiss(name));
    }

    /// Asks for something as they do, where the answer is there at once.
    pub fn ask(&self, call: HostCall) -> Result<Value, String> {
        let board = self.0.as_ref().ok_or("there is no session to ask")?;
        value(host::answer(board, NOBODY, call))
    }

    /// The same where the answer takes its time.
    pub async fn ask_later(&self, call: HostCallAsync) -> Result<Value, String> {
        let board = self.0.as_ref().ok_or("there is no session to ask")?;
        value(later::answer(board, NOBODY, call).await)
    }

    /// Chooses a model for the session; whether it can be had.
    pub fn choose_model(&self, provider: &str, id: &str, choice: ModelChoice) -> bool {
        let board = self.0.as_ref();
        board.is_some_and(|board| later::set_model(board, provider, id, choice))
    }

    /// How they see and steer the session; `None` where there are none.
    pub fn desk(&self) -> Option<Desk> {
        self.0.as_ref().map(|board| board.desk.clone())
    }

    /// Everything that they have brought; `None` where there are none.
    pub fn board(&self) -> Option<Arc<Board>> {
        self.0.clone()
    }

    /// How they draw on a screen; `None` where there are none.
    pub fn drawing(&self) -> Option<impl Drawing + use<>> {
        self.board().map(BoardDrawing)
    }

    /// Their options.
    pub fn flags(&self) -> Vec<RegisteredFlag> {
        self.0.as_ref().map(|board| board.flags()).unwrap_or_default()
    }

    /// What the command line sets their options to.
    pub fn set_flags(&self, given: &[GivenFlag]) {
        self.0.iter().for_each(|board| board.set_flags(given));
    }

    /// There is an agent to work with: their hooks are asked from now on.
    pub fn take_stage(
        &self,
        (engine, person, store): (&Arc<Engine>, &Person, &Arc<SqliteStore>),
        shelf: &Arc<RunShelf>,
        profile: &Profile,
        models: Models,
    ) {
        let Some(board) = &self.0 else { return };
        prompt::register(engine, board);
        let owners = Arc::downgrade(board);
        shelf.ask_for_owners(move |path| owners.upgrade().and_then(|board| board.bringer(path)));
        board.set_stage(Stage {
            engine: Arc::clone(engine),
            person: person.clone(),
            store: Arc::clone(store),
            shelf: Arc::clone(shelf),
            profile: profile.clone(),
            models: self.models(models),
        });
    }

    /// Gives models by their names, those of extensions first.
    pub fn models(&self, others: Models) -> Models {
        let Some(board) = self.0.clone() else {
            return others;
        };
        Arc::new(move |name| selection::select(&board, name).unwrap_or_else(|| others(name)))
    }

    /// The names of the providers that they bring.
    pub fn provider_names(&self) -> Vec<String> {
        let providers = self.0.as_ref().map(|board| board.providers());
        let names = providers.into_iter().flatten().map(|provider| provider.name);
        names.collect()
    }

    /// How many tokens a model can take that an extension brings, if it says so.
    pub fn context_window(&self, provider: &dyn Provider) -> Option<u64> {
        models::context_window(self.0.as_ref()?, provider.name(), provider.model())
    }

    /// The model of that name, if an extension brings it.
    pub fn provider(&self, name: Option<&str>) -> Option<Result<Arc<dyn Provider>, String>> {
        selection::select(self.0.as_ref()?, name?)
    }

    /// Adds their tools to those that are there, and says which could not be added. One with the name of one of
    /// becket's own takes its place.
    pub fn add_tools(&self, profile: &Profile, tools: &mut Vec<Arc<dyn Tool>>) -> Vec<String> {
        let Some(board) = &self.0 else {
            return Vec::new();
        };
        let mut remarks = Vec::new();
        for offer in board.hand_over_tools() {
            let made = match ExtensionTool::new(offer, board, profile) {
                Ok(made) => made,
                Err(remark) => {
                    remarks.push(remark);
                    continue;
                }
            };
            let spec = made.spec();
            let of_others = |tool: &&Arc<dyn Tool>| {
                let other = tool.spec();
                other.face.name == spec.face.name && other.source != BUILTIN
            };
            if let Some(other) = tools.iter().find(of_others) {
                remarks.push(format!(
                    "the tool {:?} of the extension {} is not offered: {} has one of that name",
                    spec.face.name,
                    spec.source,
                    other.spec().source
                ));
                continue;
            }
            let name = spec.face.name.clone();
            tools.retain(|tool| tool.spec().face.name != name);
            tools.push(Arc::new(made));
        }
        remarks
    }

    /// The variables that hold keys of their providers.
    pub fn key_variables(&self) -> Vec<String> {
        let Some(board) = &self.0 else {
            return Vec::new();
        };
        let providers = board.providers();
        let names = providers
            .iter()
            .filter_map(|provider| provider::key_variable(board, provider));
        names.map(ToOwned::to_owned).collect()
    }

    /// Their own names.
    pub fn names(&self) -> Vec<String> {
        self.each(|guest| guest.candidate.name.clone())
    }

    /// The names of their tools.
    pub fn tool_names(&self) -> Vec<String> {
        self.0
            .as_ref()
            .map(|board| board.tool_names())
            .unwrap_or_default()
    }

    /// Looks at every extension, loaded or not.
    pub fn each<T>(&self, look: impl FnMut(&Guest) -> T) -> Vec<T> {
        self.0.as_ref().map(|board| board.each(look)).unwrap_or_default()
    }

    /// Writes the file of the session anew, if an extension has asked for it.
    pub fn renew_session_file(&self) {
        self.0.iter().for_each(|board| sessions::renew_file(board));
    }

    /// The session is about to begin: from now on they may act.
    pub async fn bind(&self) {
        if let Some(board) = &self.0 {
            board.bind().await;
        }
    }

    /// They begin anew, for another session that is about to begin.
    pub async fn renew(&self) {
        if let Some(board) = &self.0 {
            board.renew().await;
        }
    }

    /// They begin anew as their files are now, in the middle of a session.
    pub async fn reload(&self, found: &[Candidate]) {
        if let Some(board) = &self.0 {
            board.reload(found).await;
        }
    }

    /// The session is about to end: what they have said to each other is heard before.
    pub async fn settle(&self) {
        if let Some(board) = &self.0 {
            board.bus.quiet(A_WORD).await;
            board.tell_used();
        }
    }

    /// The session is over.
    pub async fn end(&self) {
        let Some(board) = &self.0 else { return };
        for extension in board.extensions() {
            // Nothing of it counts any more.
            let _ = board.ask(&extension, &End {}, A_WORD).await;
        }
        board.last_moment().await;
        board.clear();
    }

    /// The command of an extension's that a line calls.
    pub fn called(&self, line: &str) -> Option<Called> {
        self.0.as_ref()?.called(line)
    }

    /// Runs it, as far as it comes without the person.
    pub async fn run_command(&self, called: Called, cancel: &CancellationToken) -> CommandEnd {
        match &self.0 {
            Some(board) => board.run_command(called, cancel).await,
            None => CommandEnd::Done,
        }
    }

    /// All commands in lines for the person.
    pub fn listed_commands(&self) -> String {
        let commands = self.0.as_ref().map(|board| board.commands()).unwrap_or_default();
        let lines = commands
            .into_iter()
            .map(|(name, command, _)| format!("/{name:<8} {}\n", command.description.unwrap_or_default()));
        lines.collect()
    }
}

/// What a call has answered.
fn value(answer: Result<String, HostError>) -> Result<Value, String> {
    let text = answer.map_err(|error| error.message)?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

impl Board {
    /// The names of all tools that extensions have registered by now.
    pub fn tool_names(&self) -> Vec<String> {
        let names = |guest: &Guest| guest.tools.iter().map(|tool| tool.name.clone()).collect();
        let names: Vec<Vec<String>> = self.each(names);
        names.concat()
    }

    /// Waits until nothing is under way any more, but not longer than a moment: a timer that is due may throw.
    async fn last_moment(&self) {
        for _ in 0..LAST_LOOKS {
            if !self.extensions().iter().any(Extension::has_something_coming) {
                break;
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Loads an extension. One that cannot be loaded counts as a guard, and the error says so.
async fn load(kit: &Arc<Kit>, board: &Arc<Board>, candidate: &Candidate) -> Result<(), String> {
    let name = &candidate.name;
    board.welcome(candidate.clone());
    let loaded = Extension::load(kit, name, candidate.code()).await;
    let trouble = match loaded {
        Ok(extension) => {
            board.seat(name, extension);
            board.trouble(name)
        }
        Err(failure) if failure.detail.is_empty() => Some(failure.to_string()),
        Err(failure) => Some(failure.detail),
    };
    match trouble {
        None => Ok(()),
        Some(trouble) => {
            board.turn_away(name, trouble.clone());
            Err(format!(
                "{}; what a guard may judge is refused",
                unloaded(candidate, trouble)
            ))
        }
    }
}

fn unloaded(candidate: &Candidate, why: String) -> Unloaded {
    Unloaded::new(crate::EXTENSION, &candidate.name, &candidate.file, why)
}

/// Whether a file is a part of an extension and none itself: it exports nothing by default, and one of the others
/// imports it. pi tries to load such files, too, and goes on without them.
fn is_part_of_another(candidate: &Candidate, all: &[Candidate]) -> bool {
    let exports_nothing = || {
        let source = std::fs::read_to_string(&candidate.file).ok()?;
        let outline = becket_js::outline(&candidate.file, &source, "").ok()?;
        (outline.default == DefaultExport::Missing).then_some(())
    };
    let Ok(file) = candidate.file.canonicalize() else {
        return false;
    };
    let others = all.iter().filter(|other| other.file != candidate.file);
    exports_nothing().is_some()
        && others
            .into_iter()
            .any(|other| becket_js::own_files(&other.file).contains(&file))
}

/// What a run tells its extensions before it loads them.
pub struct LoadSettings {
    pub surroundings: Surroundings,
    pub config: PiConfig,
    pub js: JsConfig,
    /// The folder from which paths in the settings are seen.
    pub config_folder: PathBuf,
    /// The folder for what is kept of translated code.
    pub cache: PathBuf,
    /// What programs inherit.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
    /// What becket's own clients are told.
    pub providers: ProviderSettings,
    pub mode: Mode,
    /// Whether the project is trusted.
    pub is_trusted: bool,
    /// Whether conversations are kept.
    pub keeps_sessions: bool,
    /// The project's files of instructions, by their paths.
    pub prompt_files: Vec<(String, String)>,
    /// Names the options of the program itself.
    pub own_options: fn() -> Vec<String>,
    /// The program itself.
    pub program: PathBuf,
}

fn facts(settings: &LoadSettings) -> Facts {
    let mut environment = Arc::clone(&settings.environment);
    let mark = Mark::within(&environment);
    let (name, value) = mark.variable();
    Arc::make_mut(&mut environment).insert(name.into(), value.into());
    let limits = limits(&settings.config);
    Facts {
        surroundings: settings.surroundings.clone(),
        environment,
        mark,
        providers: settings.providers.clone(),
        mode: settings.mode,
        trusted: settings.is_trusted,
        keeps_sessions: settings.keeps_sessions,
        timeout: limits.timeout,
        memory: limits.memory,
        processes: settings.config.processes.unwrap_or(true),
        prompt_files: settings.prompt_files.iter().map(context_file).collect(),
        own_options: settings.own_options,
    }
}

fn context_file((path, content): &(String, String)) -> ContextFile {
    ContextFile {
        path: path.clone(),
        content: content.clone(),
    }
}

fn limits(config: &PiConfig) -> Limits {
    let usual = Limits::default();
    let timeout = config.timeout.as_ref();
    let memory = config.memory_mb.as_ref();
    Limits {
        memory: memory.map_or(usual.memory, |megabytes| (*megabytes.get_ref() as usize) << 20),
        timeout: timeout.map_or(usual.timeout, |seconds| Duration::from_secs(*seconds.get_ref())),
        ..usual
    }
}

/// The engine outside of becket, as the settings want it.
fn outside(settings: &LoadSettings, count: usize) -> Outside {
    let config = &settings.js;
    let engine = match config.engine {
        Some(JsEngine::Embedded) => becket_js::Engine::Embedded,
        Some(JsEngine::Node) => becket_js::Engine::Node,
        Some(JsEngine::Auto) | None => becket_js::Engine::Auto,
    };
    let program = config.node.as_ref().map(|path| settings.config_folder.join(path));
    Outside::new(engine, program, count)
}

fn kit(settings: &LoadSettings, board: &Arc<Board>, count: usize) -> Kit {
    let (facts, config) = (&board.facts, &settings.config);
    let signals = facts.surroundings.signals.clone();
    let prelude = crate::prelude_modules()
        .iter()
        .map(|module| (module.names, module.source));
    let packages = crate::host_modules()
        .iter()
        .map(|module| (module.names, module.source));
    let modules = prelude
        .chain(packages)
        .map(|(names, source)| HostModule { names, source });
    Kit {
        prelude: crate::PRELUDE,
        modules: modules.collect(),
        transformer: Transformer::new(Some(settings.cache.clone())),
        host: Arc::new(BoardHost(Arc::clone(board))),
        reporter: Arc::clone(board) as _,
        limits: limits(config),
        surroundings: becket_js::Surroundings {
            directory: facts.surroundings.cwd.clone(),
            environment: Arc::clone(&facts.environment),
            home: facts
                .surroundings
                .variable("HOME")
                .map(PathBuf::from)
                .unwrap_or_default(),
            program: settings.program.clone(),
        },
        allowed: Allowed {
            files: config.files.unwrap_or(true),
            processes: config.processes.unwrap_or(true),
            network: config.network.unwrap_or(true),
            setting: "pi.",
        },
        outside: outside(settings, count),
        watch: Arc::default(),
        cancels: Box::new(move || signals.count()),
    }
}
