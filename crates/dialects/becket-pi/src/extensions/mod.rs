//! The pi extensions of a run: where they are found (`find.rs`), and how they are loaded and served.
//!
//! `registry.rs` is the registry of extensions, with the list of them (`extension_list.rs`). Their calls are answered
//! by `host.rs` and `later.rs`; what they register becomes tools (`tools.rs`), commands (`commands.rs`) and providers
//! (`provider.rs`) of the agent.
//! `watchdog.rs` ends the program if an extension cannot be ended. Without an extension nothing of this exists.

mod answer;
mod bus;
mod calling;
mod calls;
pub(crate) mod commands;
mod completion;
mod components;
mod described;
mod direct;
mod emit;
mod extension_list;
mod find;
mod flags;
mod hooks;
mod host;
pub(crate) mod input;
mod input_listeners;
mod later;
mod loading;
mod mcp_servers;
mod models;
mod moves;
mod nested_calls;
mod network;
pub(crate) mod placing;
mod project_trust;
mod prompt;
mod provider;
mod provider_keys;
mod registry;
mod reload;
mod renderers;
mod resources;
mod selection;
mod sessions;
pub(crate) mod shell;
pub(crate) mod shortcuts;
mod tool;
mod tools;
mod watchdog;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_agent::provider::Provider;
use becket_agent::session_handle::SessionHandle;
use becket_agent::tool::{BUILTIN, Tool};
use becket_events::{ModelChoice, Profile};
use becket_hooks::{Engine, Mark, Program};
use becket_host::{Drawing, GivenFlag, ModelLists, Person, Unloaded};
use becket_js::{
    Allowed, DefaultExport, Extension, HostError, HostModule, Kit, Limits, Outside, Prepared, Transformer,
};
use becket_providers::ProviderSettings;
use becket_store::SqliteStore;
use becket_system::{CliError, Surroundings};
use becket_tools::Models;
use serde_json::Value;

use crate::Candidate;
use crate::host_call::{ContextFile, HostCall, HostCallAsync, Mode};
use crate::services::End;

pub use extension_list::Guest;
pub use find::{ExtensionSearch, Given, find, find_resources, judge_resources, refusal};
use flags::RegisteredFlag;
use host::RegistryHost;
use loading::{A_WORD, load_prepared, unloaded};
pub use registry::ExtensionRegistry;
use registry::{Facts, Stage};
use renderers::ExtensionDrawing;
use tool::ExtensionTool;

use crate::config::{JsConfig, JsEngine, PiConfig};
use crate::run_resources::RunResources;

/// How often unfinished work is checked when the session is over, so that its failures are reported. Checks are counted
/// and not time, which on a busy machine passes without any progress.
const LAST_LOOKS: u32 = 10;
/// The pause between two checks of unfinished work.
const LOOK: Duration = Duration::from_millis(5);

/// The extension's name for calls of the program itself.
const NOBODY: &str = "";

/// The extensions of a run.
#[derive(Default)]
pub struct Extensions(Option<Arc<ExtensionRegistry>>);

impl Drop for Extensions {
    /// Ends everything that has been loaded, even if there never was a session.
    fn drop(&mut self) {
        self.0.iter().for_each(|registry| registry.clear());
    }
}

impl Extensions {
    /// Loads the extensions that were found, those of the project last: others may refuse it. `unloaded` returns those
    /// that could not be loaded.
    pub async fn load(found: &[Candidate], settings: LoadSettings) -> Result<Self, CliError> {
        let registry = Arc::new(ExtensionRegistry::new(facts(&settings)));
        // Listening must begin before the first code of an extension runs, so that Ctrl-C can end that code. An error
        // is reported by the command that needs the signals.
        let _ = settings.surroundings.signals.listen();
        let kit = Arc::new(kit(&settings, &registry, found.len()));
        watchdog::begin(&registry, Arc::clone(&kit.watch));
        reload::set_kit(&registry, Arc::clone(&kit));
        let extensions = Self(Some(Arc::clone(&registry)));
        // Their order is that in which they were found, whenever they are loaded.
        for candidate in found {
            registry.extensions.add(candidate.clone());
        }
        let (of_project, others): (Vec<&Candidate>, Vec<&Candidate>) =
            found.iter().partition(|candidate| candidate.is_of_project());
        load_in_order(&kit, &registry, &others, found).await;
        if settings.asks_about_project {
            project_trust::ask(&registry, &settings.surroundings.cwd).await?;
        }
        load_in_order(&kit, &registry, &of_project, found).await;
        Ok(extensions)
    }

    /// The extensions that could not be loaded.
    pub fn unloaded(&self) -> Vec<Unloaded> {
        let troubles = self.each(|guest| Some(unloaded(&guest.candidate, guest.trouble.clone()?)));
        troubles.into_iter().flatten().collect()
    }

    /// Continues without the named extension.
    pub fn leave_out(&self, name: &str) {
        self.0.iter().for_each(|registry| hooks::dismiss(registry, name));
    }

    /// Answers a synchronous call in the way in which it is answered for extensions.
    pub fn ask(&self, call: HostCall) -> Result<Value, String> {
        let registry = self.0.as_ref().ok_or("there is no session to ask")?;
        value(host::answer(registry, NOBODY, call))
    }

    /// Answers an asynchronous call in the way in which it is answered for extensions.
    pub async fn ask_later(&self, call: HostCallAsync) -> Result<Value, String> {
        let registry = self.0.as_ref().ok_or("there is no session to ask")?;
        value(later::answer(registry, NOBODY, call).await)
    }

    /// Chooses a model for the session; returns whether it is available.
    pub fn choose_model(&self, provider: &str, id: &str, choice: ModelChoice) -> bool {
        let registry = self.0.as_ref();
        registry.is_some_and(|registry| later::set_model(registry, provider, id, choice))
    }

    /// The session handle of the extensions; `None` if there are none.
    pub fn handle(&self) -> Option<SessionHandle> {
        self.0.as_ref().map(|registry| registry.session.clone())
    }

    /// The registry of the extensions; `None` if there are none.
    pub fn registry(&self) -> Option<Arc<ExtensionRegistry>> {
        self.0.clone()
    }

    /// Draws for extensions on a screen; `None` if there are none.
    pub fn drawing(&self) -> Option<impl Drawing + use<>> {
        self.registry().map(ExtensionDrawing)
    }

    /// The options of the extensions.
    pub fn flags(&self) -> Vec<RegisteredFlag> {
        self.0
            .as_ref()
            .map(|registry| flags::registered(registry))
            .unwrap_or_default()
    }

    /// Sets the options that the command line gives.
    pub fn set_flags(&self, given: &[GivenFlag]) {
        self.0
            .iter()
            .for_each(|registry| flags::set_given(registry, given));
    }

    /// Sets the agent's parts: the extensions' hooks are registered now.
    pub fn take_stage(
        &self,
        (engine, person, store): (&Arc<Engine>, &Person, &Arc<SqliteStore>),
        resources: &Arc<RunResources>,
        profile: &Profile,
        models: Models,
    ) {
        let Some(registry) = &self.0 else { return };
        prompt::register(engine, registry);
        tools::register(engine, registry);
        let owners = Arc::downgrade(registry);
        resources.ask_for_owners(move |path| {
            owners
                .upgrade()
                .and_then(|registry| registry.extensions.bringer(path))
        });
        hooks::set_stage(
            registry,
            Stage {
                engine: Arc::clone(engine),
                person: person.clone(),
                store: Arc::clone(store),
                resources: Arc::clone(resources),
                profile: profile.clone(),
                models: self.models(models),
            },
        );
    }

    /// Finds models by their names, those of extensions first.
    pub fn models(&self, others: Models) -> Models {
        let Some(registry) = self.0.clone() else {
            return others;
        };
        Arc::new(move |name| selection::select(&registry, name).unwrap_or_else(|| others(name)))
    }

    /// The names of the providers that extensions bring.
    pub fn provider_names(&self) -> Vec<String> {
        let providers = self.0.as_ref().map(|registry| registry.extensions.providers());
        let names = providers.into_iter().flatten().map(|provider| provider.name);
        names.collect()
    }

    /// How many tokens the context window of an extension's model has, if the extension says so.
    pub fn context_window(&self, provider: &dyn Provider) -> Option<u64> {
        models::context_window(self.0.as_ref()?, provider.name(), provider.model())
    }

    /// The provider for the model with that name, if an extension brings it.
    pub fn provider(&self, name: Option<&str>) -> Option<Result<Arc<dyn Provider>, String>> {
        selection::select(self.0.as_ref()?, name?)
    }

    /// Adds the extensions' tools to the given ones, and returns which could not be added. A tool with the name of one
    /// of becket's own replaces it.
    pub fn add_tools(&self, profile: &Profile, tools: &mut Vec<Arc<dyn Tool>>) -> Vec<String> {
        let Some(registry) = &self.0 else {
            return Vec::new();
        };
        let mut remarks = Vec::new();
        for offer in tools::hand_over(registry) {
            let made = match ExtensionTool::new(offer, registry, profile) {
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

    /// The variables that hold keys of the extensions' providers.
    pub fn key_variables(&self) -> Vec<String> {
        let Some(registry) = &self.0 else {
            return Vec::new();
        };
        let providers = registry.extensions.providers();
        let names = providers
            .iter()
            .filter_map(|provider| provider_keys::key_variable(registry, provider));
        names.map(ToOwned::to_owned).collect()
    }

    /// The names of the extensions.
    pub fn names(&self) -> Vec<String> {
        self.each(|guest| guest.candidate.name.clone())
    }

    /// The names of the extensions' tools.
    pub fn tool_names(&self) -> Vec<String> {
        self.0
            .as_ref()
            .map(|registry| registry.extensions.tool_names())
            .unwrap_or_default()
    }

    /// Calls a function for every extension, loaded or not.
    pub fn each<T>(&self, look: impl FnMut(&Guest) -> T) -> Vec<T> {
        self.0
            .as_ref()
            .map(|registry| registry.extensions.each(look))
            .unwrap_or_default()
    }

    /// Rewrites the file of the session, if an extension has asked for it.
    pub fn renew_session_file(&self) {
        self.0.iter().for_each(|registry| sessions::renew_file(registry));
    }

    /// Lets extensions act from now on: the session is about to begin.
    pub async fn bind(&self) {
        if let Some(registry) = &self.0 {
            reload::bind(registry).await;
        }
    }

    /// Loads the extensions again, for another session that is about to begin.
    pub async fn renew(&self) {
        if let Some(registry) = &self.0 {
            reload::renew(registry).await;
        }
    }

    /// Loads the extensions again from their files, in the middle of a session.
    pub async fn reload(&self, found: &[Candidate]) {
        if let Some(registry) = &self.0 {
            reload::reload(registry, found).await;
        }
    }

    /// Delivers the messages that extensions have sent to each other, before the session ends.
    pub async fn settle(&self) {
        if let Some(registry) = &self.0 {
            registry.bus.quiet(A_WORD).await;
            registry.tell_used();
        }
    }

    /// Ends all extensions after the session.
    pub async fn end(&self) {
        let Some(registry) = &self.0 else { return };
        for extension in registry.extensions.loaded() {
            // The session is over, so a failure does not matter.
            let _ = registry.ask(&extension, &End {}, A_WORD).await;
        }
        last_moment(registry).await;
        registry.clear();
    }
}

/// The answer of a call as a value.
fn value(answer: Result<String, HostError>) -> Result<Value, String> {
    let text = answer.map_err(|error| error.message)?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// Waits a moment for unfinished work, because a timer that is due may throw.
async fn last_moment(registry: &ExtensionRegistry) {
    for _ in 0..LAST_LOOKS {
        if !registry
            .extensions
            .loaded()
            .iter()
            .any(Extension::has_something_coming)
        {
            break;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Loads extensions of the list one after the other, since each may rely on what those before it have done; their
/// engines start together before. One that cannot be loaded is kept with the reason, unless it is part of another.
async fn load_in_order(
    kit: &Arc<Kit>,
    registry: &Arc<ExtensionRegistry>,
    candidates: &[&Candidate],
    all: &[Candidate],
) {
    let files: Vec<(&str, &Path)> = candidates
        .iter()
        .map(|candidate| (candidate.name.as_str(), candidate.code()))
        .collect();
    for (candidate, prepared) in candidates.iter().zip(Prepared::all(kit, &files)) {
        // `unloaded` reports the error.
        let is_loaded = load_prepared(prepared, registry, candidate).await.is_ok();
        if !is_loaded && is_part_of_another(candidate, all) {
            hooks::dismiss(registry, &candidate.name);
        }
    }
}

/// Whether a file is a part of an extension and not one itself: it has no default export, and one of the others imports
/// it. pi tries to load such files, too, and continues without them.
fn is_part_of_another(candidate: &Candidate, all: &[Candidate]) -> bool {
    let exports_nothing = || {
        let source = becket_fs::read_to_string(&candidate.file).ok()?;
        let outline = becket_js::outline(&candidate.file, &source, "").ok()?;
        (outline.default == DefaultExport::Missing).then_some(())
    };
    let Ok(file) = becket_fs::canonicalize(&candidate.file) else {
        return false;
    };
    let others = all.iter().filter(|other| other.file != candidate.file);
    exports_nothing().is_some()
        && others
            .into_iter()
            .any(|other| becket_js::own_files(&other.file).contains(&file))
}

/// The settings for loading the extensions of a run.
pub struct LoadSettings {
    pub surroundings: Surroundings,
    pub config: PiConfig,
    pub js: JsConfig,
    /// The folder against which paths in the settings are resolved.
    pub config_folder: PathBuf,
    /// The folder for the cache of translated code.
    pub cache: PathBuf,
    /// The environment of programs.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
    /// Settings for becket's own provider clients.
    pub providers: ProviderSettings,
    /// The lists of models that providers have given.
    pub model_lists: ModelLists,
    pub mode: Mode,
    /// Whether the project is trusted.
    pub is_trusted: bool,
    /// Whether extensions are asked what they think of the project.
    pub asks_about_project: bool,
    /// Whether conversations are stored.
    pub keeps_sessions: bool,
    /// Whether the model is offered only pi's default tools until an extension activates others.
    pub default_tools: bool,
    /// The project's instruction files, by their paths.
    pub prompt_files: Vec<(String, String)>,
    /// Returns the names of the program's own options.
    pub own_options: fn() -> Vec<String>,
    /// The program's executable file.
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
        model_lists: settings.model_lists.clone(),
        mode: settings.mode,
        trusted: settings.is_trusted,
        keeps_sessions: settings.keeps_sessions,
        default_tools: settings.default_tools,
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

/// The settings of the engine outside of becket.
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

/// becket by the name of `pi`, if its programs find it by that name: then it reads pi's command line.
fn called_pi(facts: &Facts, program: &Path) -> PathBuf {
    let named = Program::exec([crate::PROGRAM]).environment(Arc::clone(&facts.environment));
    let found = named.resolve(&facts.surroundings.cwd).ok();
    let is_becket = |found: &PathBuf| {
        let real = becket_fs::canonicalize(found).ok();
        real.is_some() && real == becket_fs::canonicalize(program).ok()
    };
    found.filter(is_becket).unwrap_or_else(|| program.to_path_buf())
}

fn kit(settings: &LoadSettings, registry: &Arc<ExtensionRegistry>, count: usize) -> Kit {
    let (facts, config) = (&registry.facts, &settings.config);
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
        host: Arc::new(RegistryHost(Arc::clone(registry))),
        reporter: Arc::clone(registry) as _,
        limits: limits(config),
        surroundings: becket_js::Surroundings {
            directory: facts.surroundings.cwd.clone(),
            environment: Arc::clone(&facts.environment),
            home: facts
                .surroundings
                .variable("HOME")
                .map(PathBuf::from)
                .unwrap_or_default(),
            program: called_pi(facts, &settings.program),
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
