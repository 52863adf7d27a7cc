//! Puts an agent together: guests, provider, tools, store, hooks.

use std::num::NonZeroU64;
use std::sync::Arc;

use becket_agent::front::{Front, FrontUpdate};
use becket_agent::prompt_library::PromptLibrary;
use becket_agent::provider::{ModelFacts, Provider, RequestOptions};
use becket_agent::session_handle::SessionHandle;
use becket_agent::store::log_of;
use becket_agent::team::Team;
use becket_agent::tool::Tool;
use becket_agent::vfs::Vfs;
use becket_agent::{Agent, AgentSettings, RecordKeeper};
use becket_events::Profile;
use becket_hooks::{Engine, HookEnvironment};
use becket_host::{
    AgentResources, Asking, Guests, Interactive, KnownCommands, Listed, ListedModel, Mode, Person, Reader,
    ReaderParts, Stage, Toolbox, Ui,
};
#[cfg(feature = "index")]
use becket_index::{IndexSettings, Limits};
use becket_providers::facts_of;
use becket_store::SqliteStore;
use becket_system::{CliError, Surroundings};
use becket_tools::{
    ContextToolSettings, Jobs, NotesSettings, Preset, SubagentToolSettings, ToolSettings, context_tools,
    memory_tools, operation_tools, own_tools, subagent_tools, todo_tools,
};

use crate::agent_settings::{profile, settings_of_run};
use crate::config::PresetConfig;
use crate::environment::{environment, tool_settings};
use crate::hosts::LoadedGuests;
use crate::loading::{Loaded, Unheard, load};
use crate::model_relay::{self, ModelRelay};
use crate::models::{models, other_models, provider_of_run};
use crate::options::{Caller, RunOptions};
use crate::otel::{self, Export};
use crate::remarks::{remarks_of_run, tell};
use crate::restricted_tools::check_restricted_tools;
use crate::run_guests::RunGuests;
use crate::sandbox::Sandbox;
use crate::setup::Setup;
use crate::snapshots::keeper;
use crate::tool_names::tool_names;
use crate::unloaded::decide_about;

/// The tools of an agent, or the agents that have tools.
type ToolsOrTeam = (Vec<Arc<dyn Tool>>, Option<Arc<Team>>);

/// The parts of an agent that hooks work with.
type HookParts<'a> = (
    &'a Person,
    &'a Arc<SqliteStore>,
    &'a Arc<Reader>,
    Option<&'a SessionHandle>,
);

/// An agent, with the parts of it that commands need by themselves.
pub struct Assembled {
    pub agent: Arc<Agent>,
    pub store: Arc<SqliteStore>,
    /// The guests that the agent works with.
    loaded: Arc<LoadedGuests>,
    /// Guests with which the session and the user interact.
    pub interactive: Arc<dyn Interactive>,
    /// Guests that bring tools and hooks while a session runs.
    guests: Arc<RunGuests>,
    /// The commands that the model has left in the background.
    pub jobs: Jobs,
    /// Sends the spans of the run to a collector.
    export: Option<Export>,
    /// Lets programs of guests ask the run's models.
    _relay: Option<ModelRelay>,
}

impl Assembled {
    /// Ends what runs beside the agent, and puts everything on disk.
    pub async fn close(&self) -> Result<(), CliError> {
        self.guests.close();
        self.loaded.close().await;
        self.store.close().await?;
        if let Some(export) = &self.export {
            export.send_off();
        }
        Ok(())
    }

    /// The environment that tools inherit in this run.
    pub fn environment(&self, setup: &Setup, surroundings: &Surroundings) -> HookEnvironment {
        environment(setup, self.loaded.keys(), surroundings)
    }

    /// The guests of one kind, by their own type.
    pub fn guests<T: Guests>(&self) -> Option<Arc<T>> {
        self.loaded.get()
    }

    /// Tells guests that a context is entered: some guests exist in one context only.
    pub fn enter(&self, context: &str) {
        self.loaded.enter(context);
    }

    /// The models that can be named: the run's own, and those of guests.
    pub fn models(&self) -> Vec<ListedModel> {
        let provider = &self.agent.provider;
        let mut models = self.loaded.models();
        let is_own =
            |model: &ListedModel| model.provider == provider.name() && model.name == provider.model();
        if !models.iter().any(is_own) {
            models.push(ListedModel {
                provider: provider.name().to_owned(),
                name: provider.model().to_owned(),
                facts: ModelFacts {
                    context_window: Some(self.agent.settings.compaction.context_window)
                        .filter(|_| self.agent.settings.compaction.is_window_known),
                    ..facts_of(&**provider)
                },
            });
        }
        models.sort_by(|one, other| (&one.provider, &one.name).cmp(&(&other.provider, &other.name)));
        models
    }

    /// What guests bring besides hooks, for listings.
    pub fn listed(&self) -> Vec<Listed> {
        self.loaded.listed()
    }
}

fn witnessed_engine(store: &Arc<SqliteStore>, front: &Arc<dyn Front>) -> Engine {
    let witness = RecordKeeper {
        store: store.clone(),
        front: Arc::clone(front),
    };
    Engine::new(Some(Arc::new(witness)))
}

/// The tools of the code index.
#[cfg(feature = "index")]
pub(crate) fn index_tools(setup: &Setup, loaded: &Loaded, surroundings: &Surroundings) -> Vec<Arc<dyn Tool>> {
    let settings = IndexSettings {
        index: setup.index(),
        limits: Limits::default(),
        plugins: loaded.guests.languages(&surroundings.cwd),
    };
    becket_index::index_tools(&loaded.profile, settings)
}

#[cfg(not(feature = "index"))]
pub(crate) fn index_tools(_: &Setup, _: &Loaded, _: &Surroundings) -> Vec<Arc<dyn Tool>> {
    Vec::new()
}

/// Puts the agent together, and says what the user should know about it.
pub async fn assemble(
    setup: &Setup,
    caller: Caller<'_>,
    person: Person,
    store: Arc<SqliteStore>,
    asking: Asking,
) -> Result<Assembled, CliError> {
    let (options, surroundings) = (caller.options, caller.surroundings);
    let engine = Arc::new(engine(setup, &store, &person.front));
    let profile = profile(setup, options)?;
    let loaded = load(setup, caller, (&engine, &person), (asking, profile)).await?;
    tell(remarks_of_run(setup, &loaded, caller), surroundings);
    let interactive = loaded.interactive();
    let provider = provider_of_run(setup, options, surroundings, &*interactive)?;
    let environment = environment(setup, loaded.guests.keys(), surroundings);
    let mut settings = settings_of_run(setup, options, surroundings, &*provider, &*interactive)?;
    let prompts = interactive.prompts().filter(|_| setup.team.is_none());
    settings.prompt_library = prompts.map(|prompts| prompts as Arc<dyn PromptLibrary>);
    settings.approval.installed.extend(loaded.guests.names());
    let tool_settings = confined_tool_settings(setup, &environment, caller)?;
    let reader = reader(tool_settings.clone(), &settings, (&engine, &store));
    // A user, at a terminal, in a chat or of a program that steers, may want something of the session that is none of
    // the model's.
    let is_steered = options.is_chat || options.client == Some(Mode::Rpc);
    let has_user = surroundings.stdin_is_terminal || is_steered;
    let handle = interactive.handle().or_else(|| has_user.then(SessionHandle::new));
    let parts = (&person, &store, &reader, handle.as_ref());
    register_hooks(setup, &engine, &loaded, parts, (&provider, caller))?;
    let resources = AgentResources {
        model: options.model.as_deref(),
        max_iterations: options.max_iterations,
        surroundings,
        provider: &provider,
        providers: &setup.provider_settings(),
        tools: &tool_settings,
        server_tools: &|server| loaded.guests.server_tools(server),
        request: &settings.options,
        contexts: &settings.contexts,
        memories: &setup.folders.data.join("memory.db"),
    };
    let own_tools = |profile: &Profile| becket_tools(setup, profile, &tool_settings, &settings, &store);
    let (tools, team) = tools_of_run(setup, &loaded, &resources, &own_tools)?;
    go_on_without(setup, &loaded, &*person.ui, caller).await?;
    let missing = check_restricted_tools(setup, &loaded)?;
    let all = Arc::new(loaded.guests);
    let guests = Arc::new(RunGuests::new(&all, missing, (&engine, &person.front)));
    let export = export(setup, options, surroundings, &engine)?;
    let agent = Agent {
        engine,
        provider,
        tools,
        store: store.clone(),
        front: person.front,
        mail: setup.mail_source(),
        team,
        guests: Some(guests.clone()),
        handle,
        settings,
    };
    Ok(Assembled {
        _relay: relay(setup, &agent.provider, surroundings),
        agent: Arc::new(agent),
        store,
        interactive,
        loaded: all,
        guests,
        jobs: tool_settings.jobs,
        export,
    })
}

/// The settings of the tools, with the sandbox of their commands.
fn confined_tool_settings(
    setup: &Setup,
    environment: &HookEnvironment,
    caller: Caller<'_>,
) -> Result<ToolSettings, CliError> {
    let sandbox = Sandbox::of_run(setup, caller.options, caller.surroundings)?;
    let gap = sandbox.iter().filter_map(|sandbox| sandbox.gap.clone());
    tell(gap, caller.surroundings);
    Ok(ToolSettings {
        confinement: sandbox.as_ref().map(Sandbox::confinement),
        ..tool_settings(setup, environment)
    })
}

/// Lets becket programs that guests start ask the models of this run.
fn relay(setup: &Setup, provider: &Arc<dyn Provider>, surroundings: &Surroundings) -> Option<ModelRelay> {
    if !setup.may_start_becket() {
        return None;
    }
    let models = (
        Arc::clone(provider),
        other_models(setup, &**provider, surroundings),
    );
    let started = model_relay::socket(&setup.model_socket, surroundings).and_then(|socket| {
        let started = ModelRelay::start(socket, models, setup.provider_settings());
        started.map_err(|error| error.to_string())
    });
    let told = |why| surroundings.remark(&format!("programs of guests cannot ask this run's model: {why}"));
    started.map_err(told).ok()
}

/// Leaves out what could not be loaded, if the user says so. Otherwise the run ends here.
pub(crate) async fn go_on_without(
    setup: &Setup,
    loaded: &Loaded,
    ui: &dyn Ui,
    caller: Caller<'_>,
) -> Result<(), CliError> {
    if let Some(context) = &setup.context_name {
        loaded.guests.enter(context);
    }
    let unloaded = loaded.guests.unloaded();
    let without = decide_about(setup, &unloaded, ui, caller).await?;
    for name in without {
        loaded.guests.leave_out(&name);
    }
    tell(setup.found.remember(&setup.folders), caller.surroundings);
    Ok(())
}

/// The tools of a run, or the team that has them. Oddities are told to the user.
pub(crate) fn tools_of_run(
    setup: &Setup,
    loaded: &Loaded,
    resources: &AgentResources<'_>,
    own_tools: &(dyn Fn(&Profile) -> Vec<Arc<dyn Tool>> + Sync),
) -> Result<ToolsOrTeam, CliError> {
    let own_names: Vec<&'static str> = tool_names().collect();
    let mut toolbox = Toolbox {
        profile: &loaded.profile,
        tools: Vec::new(),
        own_tools,
        own_names: &own_names,
        is_foreign_name: &|name| setup.hosts.has_tool(name),
    };
    let (team, remarks) = match &setup.team {
        Some(file) => {
            let (members, remarks) = file.members(resources)?;
            (Some(Arc::new(Team::new(members))), remarks)
        }
        None => {
            toolbox.tools = own_tools(&loaded.profile);
            (None, further_tools(setup, loaded, resources, &mut toolbox))
        }
    };
    loaded.guests.settle_tools(&toolbox);
    tell(remarks, resources.surroundings);
    Ok((toolbox.tools, team))
}

/// The exporter of the run's spans, if a collector is to get them.
pub(crate) fn export(
    setup: &Setup,
    options: &RunOptions,
    surroundings: &Surroundings,
    engine: &Engine,
) -> Result<Option<Export>, CliError> {
    let endpoint = otel::endpoint(options.otel.as_deref(), &setup.config.otel, surroundings)?;
    let (home, program) = (options.home.as_deref(), setup.becket_program.as_deref());
    Ok(endpoint
        .zip(program)
        .map(|(endpoint, program)| Export::new(endpoint, home, program, engine)))
}

/// An engine whose dispatches go to the witness, else to the store and the front.
pub(crate) fn engine(setup: &Setup, store: &Arc<SqliteStore>, front: &Arc<dyn Front>) -> Engine {
    match &setup.witness {
        Some(witness) => Engine::new(Some(Arc::clone(witness))),
        None => witnessed_engine(store, front),
    }
}

/// Adds the tools of the index, of sub-agents and of guests. Returns remarks for the user.
pub(crate) fn further_tools(
    setup: &Setup,
    loaded: &Loaded,
    resources: &AgentResources<'_>,
    toolbox: &mut Toolbox<'_>,
) -> Vec<String> {
    let (surroundings, profile) = (resources.surroundings, &loaded.profile);
    toolbox.tools.extend(index_tools(setup, loaded, surroundings));
    let own = resources.tools.clone();
    let mut asking = subagent_tool_settings(setup, resources.provider, surroundings, own);
    asking.models = loaded.interactive().models(asking.models);
    let mut remarks = Vec::new();
    for (name, preset) in loaded.guests.presets() {
        // The settings' own presets and the first guest's count.
        if setup.config.presets.contains_key(&name) {
            remarks.push(format!(
                "the preset `{name}` of your settings is used, and not the agent of that name in a file"
            ));
        }
        asking.presets.entry(name).or_insert(preset);
    }
    toolbox.tools.extend(subagent_tools(profile, &asking));
    remarks.extend(loaded.guests.add_tools(toolbox));
    remarks
}

/// Lets models that decide in place of hooks look at files, as far as the user's rules allow.
fn reader(
    tools: ToolSettings,
    settings: &AgentSettings,
    (engine, store): (&Arc<Engine>, &Arc<SqliteStore>),
) -> Arc<Reader> {
    let parts = ReaderParts {
        tools: operation_tools(&Profile::own(), tools),
        approval: settings.approval.clone(),
        vfs: Vfs::new(&settings.vfs),
        front: Arc::new(Unheard),
        log: Some(log_of(store.clone())),
    };
    Arc::new(Reader::new(parts, engine))
}

/// Registers the hooks of all guests, and tells the user what is odd about them.
pub(crate) fn register_hooks(
    setup: &Setup,
    engine: &Arc<Engine>,
    loaded: &Loaded,
    (person, store, reader, handle): HookParts<'_>,
    (provider, caller): (&Arc<dyn Provider>, Caller<'_>),
) -> Result<(), CliError> {
    let surroundings = caller.surroundings;
    setup.guest_settings.choose_tools(engine)?;
    if setup.config.snapshots.enabled {
        let front = Arc::clone(&person.front);
        let watched = keeper(setup, surroundings).watched(Box::new(move |done, total| {
            front.show(FrontUpdate::Progress {
                what: "files of the checkpoint",
                done,
                total,
            });
        }));
        watched.register(engine);
    }
    let remarks = loaded.guests.register(&Stage {
        engine,
        person,
        store,
        profile: &loaded.profile,
        models: &models(setup, provider, surroundings),
        servers: &loaded.guests.server_calls(),
        reader,
        chat: handle.filter(|_| caller.options.is_chat && surroundings.stdin_is_terminal),
        awaits_prompts: caller.options.is_chat
            || caller.options.bridged_by.is_some()
            || matches!(caller.options.client, Some(Mode::Rpc))
            || setup.is_rehearsal,
        commands: &KnownCommands::default(),
        is_rehearsal: setup.is_rehearsal,
    })?;
    tell(remarks, surroundings);
    Ok(())
}

/// becket's own tools, by the names of a profile.
pub(crate) fn becket_tools(
    setup: &Setup,
    profile: &Profile,
    tool_settings: &ToolSettings,
    settings: &AgentSettings,
    store: &Arc<SqliteStore>,
) -> Vec<Arc<dyn Tool>> {
    let notes = NotesSettings {
        contexts: settings.contexts.clone(),
        reflection: settings.reflection.clone(),
        vfs: settings.vfs.clone(),
    };
    let between = ContextToolSettings {
        store: store.clone(),
        vfs: settings.vfs.clone(),
    };
    let mut tools = operation_tools(profile, tool_settings.clone());
    tools.extend(own_tools(profile, &notes));
    tools.extend(context_tools(profile, &between));
    tools.extend(todo_tools(profile, &settings.contexts));
    tools.extend(memory_tools(profile, &setup.folders.data.join("memory.db")));
    tools
}

/// Settings of the tools for sub-agents.
pub(crate) fn subagent_tool_settings(
    setup: &Setup,
    provider: &Arc<dyn Provider>,
    surroundings: &Surroundings,
    tools: ToolSettings,
) -> SubagentToolSettings {
    let preset = |preset: &PresetConfig| Preset {
        model: preset.model.clone(),
        options: RequestOptions {
            temperature: preset.temperature.as_ref().map(|degree| *degree.get_ref()),
            max_tokens: preset.max_tokens.map(NonZeroU64::get),
            ..RequestOptions::default()
        },
        agent: None,
    };
    let presets = setup.config.presets.iter();
    SubagentToolSettings {
        models: models(setup, provider, surroundings),
        presets: presets
            .map(|(name, config)| (name.clone(), preset(config)))
            .collect(),
        tools,
    }
}
