//! Puts an agent together: settings, provider, tools, store, hooks.

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::time::Duration;

use becket_agent::context_files::{ContextFile, ContextFiles};
use becket_agent::desk::Desk;
use becket_agent::flocks::Flocks;
use becket_agent::front::{Front, PersonsAnswer, Question, Sight};
use becket_agent::gate::ApprovalSettings;
use becket_agent::mail::MailSource;
use becket_agent::provider::{Provider, RequestOptions};
use becket_agent::shelf::Shelf;
use becket_agent::team::Team;
use becket_agent::tool::Tool;
use becket_agent::url_policy::UrlJudge;
use becket_agent::vfs::Vfs;
use becket_agent::{
    Agent, AgentSettings, CompactionSettings, EndingTool, RecordKeeper, Rules, SubagentSettings,
};
use becket_chibi::scheme_files::SchemeFiles;
use becket_chibi::{FoundPlugins, InboxFiles, Plugins, stands_in};
use becket_docker_agent::{
    ForeignRules, FoundHooks, HookEntry as ForeignHook, OtherTools, Resources, TeamFile, idle_matcher,
};
use becket_events::{JOB_EXTRAS, OperationKind, Profile};
use becket_hooks::{
    Engine, HookEnvironment, OwnHook, Section, Witness, guest_environment, inherited_environment, nearest,
};
use becket_host::{
    Asking, FetchLimits, Found, GuestOptions, Guests, Listed, Loading, Person, Place, Program,
    ServerDeclaration, SettingsText, Stage, Toolbox, Ui,
};
use becket_index::{IndexFile, IndexSettings, Limits, index_tool_names, index_tools};
use becket_pi::extensions::Extensions;
use becket_pi::host::{ExtensionGuests, FoundExtensions};
use becket_pi::shelf::RunShelf;
use becket_providers::scripted::NAME as SCRIPTED;
use becket_providers::{ProviderSettings, key_variables, select};
use becket_snapshot::Keeper;
use becket_store::{ContextName, SqliteStore};
use becket_system::project_root::project_root;
use becket_system::signals::unless_cancelled;
use becket_system::{CliError, Exit, Folders, Surroundings};
use becket_tools::{
    CALL_USER, ContextToolSettings, Models, NotesSettings, Preset, SubagentToolSettings, ToolSettings,
    context_tool_names, context_tools, memory_tool_names, memory_tools, operation_tools, own_tool_names,
    own_tools, subagent_tool_names, subagent_tools, team_tool_names, todo_tool_names, todo_tools,
};
use becket_trust::Trust;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use toml::Spanned;

use crate::args::Options;
use crate::chibi_settings::{FileSettings, take_key_of_chibi};
use crate::commands::web;
use crate::config::{Config, PermissionsConfig, PresetConfig};
use crate::context_settings::ContextSettings;
use crate::front::Output;
use crate::guest_list::{FoundGuests, Hosts, LoadedGuests};
use crate::otel::{self, Export};
use crate::own_hooks::FoundOwnHooks;
use crate::own_jq;
use crate::project::{Project, PromptFiles, prompt_files};
use crate::run_guests::RunGuests;
use crate::servers::{FoundServers, RunServers};
use crate::stored_rules::StoredRules;

/// Variables with secrets of becket's own and of guests' systems, besides the keys of providers.
pub fn secret_variables(hosts: Hosts) -> impl Iterator<Item = &'static str> {
    [web::TOKEN_VARIABLE, otel::HEADERS_VARIABLE]
        .into_iter()
        .chain(hosts.key_variables())
}

/// Everything that was read before an agent can be put together.
pub struct Setup {
    pub folders: Folders,
    pub config: Config,
    /// The text of the user's settings, for the tables that are about guests.
    settings: SettingsText,
    /// What the command line says about guests.
    guest_options: GuestOptions,
    hosts: Hosts,
    /// The tables of the settings that are about guests.
    sections: Vec<Section>,
    /// The guests that were found.
    pub found: FoundGuests,
    /// Says what of the project is trusted.
    pub trust: Trust,
    pub project: Project,
    pub project_root: PathBuf,
    pub prompt_files: PromptFiles,
    /// The chibi home whose plugins count.
    pub chibi_home: Option<PathBuf>,
    /// Settings of the context that was entered.
    pub context: ContextSettings,
    /// What was left out of them.
    pub context_remark: Option<String>,
    /// The settings of the chibi home, once somebody wants them, or why they cannot be read.
    pub home_settings: OnceLock<Result<Option<FileSettings>, String>>,
    /// The agent file that is run.
    pub team: Option<Arc<TeamFile>>,
    /// Hears of dispatches and failures in the place of the store and the front.
    pub witness: Option<Arc<dyn Witness>>,
    /// Whether hooks are only tried out: then what could not be loaded refuses, and ends nothing.
    pub is_rehearsal: bool,
    /// Guests that the user leaves out, by name.
    pub without: Vec<String>,
    /// The context that was entered.
    context_name: Option<String>,
}

/// What others have written for this run.
pub struct Loaded {
    pub guests: LoadedGuests,
    pub profile: Profile,
}

impl Loaded {
    /// The extensions.
    pub fn extensions(&self) -> Arc<Extensions> {
        let guests = self.guests.get::<ExtensionGuests>();
        guests
            .map(|guests| Arc::clone(&guests.extensions))
            .unwrap_or_default()
    }

    /// Skills, prompt templates and themes.
    fn shelf(&self, surroundings: &Surroundings) -> Arc<RunShelf> {
        match self.guests.get::<ExtensionGuests>() {
            Some(guests) => Arc::clone(&guests.shelf),
            None => Arc::new(RunShelf::new(Default::default(), &surroundings.cwd)),
        }
    }

    /// The plugins.
    fn plugins(&self) -> Arc<Plugins> {
        self.guests.get().unwrap_or_default()
    }

    /// The MCP servers.
    fn servers(&self) -> Arc<RunServers> {
        self.guests.get().unwrap_or_default()
    }
}

/// What guests of all kinds are loaded with.
pub struct LoadingFacts {
    engine: Arc<Engine>,
    person: Person,
    providers: ProviderSettings,
    servers: Vec<ServerDeclaration>,
    urls: UrlJudge,
    keeper: Keeper,
    program: Program,
    is_project_trusted: bool,
}

impl LoadingFacts {
    /// What the guests of one kind are loaded with.
    pub fn loading<'a>(
        &'a self,
        (setup, surroundings): (&'a Setup, &'a Surroundings),
        environment: &'a (dyn Deref<Target = HookEnvironment> + Sync),
        asking: Asking,
    ) -> Loading<'a> {
        Loading {
            place: setup.place(surroundings),
            environment,
            providers: &self.providers,
            prompt_files: &setup.prompt_files.files,
            is_project_trusted: self.is_project_trusted,
            asking,
            network_tools: &setup.config.tools.network,
            engine: &self.engine,
            person: &self.person,
            fetch: setup.fetch_limits(),
            servers: &self.servers,
            urls: &self.urls,
            keeper: &self.keeper,
            has_agent_file: setup.team.is_some(),
            program: &self.program,
        }
    }
}

/// Who wants a run: by which command line, on which machine, and how they call it off.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    pub options: &'a Options,
    pub surroundings: &'a Surroundings,
    pub cancel: &'a CancellationToken,
}

/// The tools of an agent, or the agents that have tools.
type ToolsOrTeam = (Vec<Arc<dyn Tool>>, Option<Arc<Team>>);

/// An agent, with the parts of it that commands need by themselves.
pub struct Assembled {
    pub agent: Arc<Agent>,
    pub store: Arc<SqliteStore>,
    /// The guests that it works with.
    loaded: Arc<LoadedGuests>,
    /// The extensions that it works with.
    pub extensions: Arc<Extensions>,
    /// Who brings tools and hooks while it works.
    guests: Arc<RunGuests>,
    /// Skills, prompt templates and themes.
    pub shelf: Arc<RunShelf>,
    /// Who sends its spans elsewhere, if anybody does.
    export: Option<Export>,
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

    /// What tools inherit in this run.
    pub fn environment(&self, setup: &Setup, surroundings: &Surroundings) -> HookEnvironment {
        setup.environment(self.loaded.keys(), surroundings)
    }

    /// The files in Scheme that it works with.
    pub fn scheme(&self) -> Option<Arc<SchemeFiles>> {
        self.loaded.get()
    }

    /// A context is entered: there may be guests that only it has.
    pub fn enter(&self, context: &str) {
        self.loaded.enter(context);
    }

    /// What guests bring besides hooks, for listings.
    pub fn listed(&self) -> Vec<Listed> {
        self.loaded.listed()
    }

    /// With `--json` every event becomes a line of the output.
    pub fn report_events(&self, options: &Options, output: &Arc<Output>) {
        if options.json {
            let output = Arc::clone(output);
            let write = move |text: &str| output.write(&format!("{text}\n"));
            self.agent.engine.watch(Arc::new(move |_, text| write(text)));
        }
    }
}

impl Setup {
    /// Reads all settings. Nothing runs yet.
    pub fn read(options: &Options, surroundings: &Surroundings) -> Result<Self, CliError> {
        let folders = Folders::find(options.home.as_deref(), surroundings)?;
        let (mut config, settings) = read_config(&folders.config_file(), options.hosts)?;
        hide_configured_keys(&config, surroundings);
        let project_root = project_root(&surroundings.cwd);
        let trust = Trust::open(options.trust, &folders, surroundings, &project_root);
        let without = [options.without.as_slice(), &config.without].concat();
        let guest_options = options.about_guests();
        let sections = options.hosts.sections();
        let place = Place {
            surroundings,
            folders: &folders,
            project_root: &project_root,
            trust: &trust,
            settings: &settings,
            options: &guest_options,
            without: &without,
            sections: &sections,
            operation_called: becket_dialects::operation_called,
        };
        let found = FoundGuests::find(options.hosts, &place)?;
        surroundings.hide_keys(found.key_variables().iter().map(String::as_str));
        let prompt_files = prompt_files(&surroundings.cwd, &project_root);
        let chibi_home = found.get::<FoundPlugins>().and_then(|found| found.home.clone());
        if chibi_home.is_some() {
            take_key_of_chibi(&mut config, surroundings);
        }
        let own = found.get::<FoundOwnHooks>();
        let project = Project {
            things: found.judged(),
            refusal: found.refusal(),
            ..own.map(|own| own.project.clone()).unwrap_or_default()
        };
        Ok(Self {
            team: found.get::<FoundHooks>().and_then(|found| found.team.clone()),
            folders,
            config,
            settings,
            guest_options,
            hosts: options.hosts,
            sections,
            found,
            trust,
            project,
            project_root,
            prompt_files,
            chibi_home,
            context: ContextSettings::default(),
            context_remark: None,
            home_settings: OnceLock::new(),
            witness: None,
            is_rehearsal: false,
            without,
            context_name: None,
        })
    }

    /// Where guests are found.
    pub fn place<'a>(&'a self, surroundings: &'a Surroundings) -> Place<'a> {
        Place {
            surroundings,
            folders: &self.folders,
            project_root: &self.project_root,
            trust: &self.trust,
            settings: &self.settings,
            options: &self.guest_options,
            without: &self.without,
            sections: &self.sections,
            operation_called: becket_dialects::operation_called,
        }
    }

    /// becket's own hooks that count here.
    pub fn own_hooks(&self) -> &[OwnHook] {
        self.found
            .get::<FoundOwnHooks>()
            .map_or(&[], |found| &found.hooks)
    }

    /// Hooks in docker-agent's words that count for everybody.
    fn foreign_hooks(&self) -> &[ForeignHook] {
        self.found.get::<FoundHooks>().map_or(&[], |found| &found.hooks)
    }

    /// Holds a folder for each context. Contexts of a chibi home stay where its plugins look for them.
    pub fn contexts(&self) -> PathBuf {
        self.shared_folder().join("contexts")
    }

    /// The folder behind the virtual file system.
    pub fn vfs(&self) -> PathBuf {
        self.shared_folder().join("vfs")
    }

    /// The flocks in it.
    pub fn flocks(&self) -> Flocks {
        Flocks::new(Vfs::new(&self.vfs()))
    }

    /// Where messages come from besides the store.
    fn mail_source(&self) -> Option<Arc<dyn MailSource>> {
        self.inbox_files()
            .map(|files| Arc::new(files) as Arc<dyn MailSource>)
    }

    /// The inboxes in which plugins leave messages.
    pub fn inbox_files(&self) -> Option<InboxFiles> {
        let home = self.chibi_home.is_some();
        home.then(|| InboxFiles {
            contexts: self.contexts(),
        })
    }

    /// The code index of the project.
    pub fn index(&self) -> IndexFile {
        IndexFile::of_project(&self.project_root, &self.folders.cache.join("index"))
    }

    /// What the tools of the index work with.
    fn index_settings(&self, plugins: &Plugins, surroundings: &Surroundings) -> IndexSettings {
        IndexSettings {
            index: self.index(),
            limits: Limits::default(),
            plugins: plugins.languages(&surroundings.cwd),
        }
    }

    fn shared_folder(&self) -> &Path {
        self.chibi_home.as_deref().unwrap_or(&self.folders.data)
    }

    /// From here on the settings of this context count, too.
    pub fn enter(&mut self, context: &ContextName, surroundings: &Surroundings) -> Result<(), CliError> {
        self.context_name = Some(context.as_str().to_owned());
        let files = ContextFiles::new(&self.contexts(), context.as_str());
        (self.context, self.context_remark) = self.context_settings(&files, surroundings)?;
        // The agent would go on without it, and that is not what its author wanted.
        files.try_read(ContextFile::SystemPrompt).map_err(|error| {
            let file = files.path(ContextFile::SystemPrompt);
            CliError::usage(format!("cannot read {}: {error}", file.display()))
        })?;
        Ok(())
    }

    /// The settings of a context, and what was left out of them.
    pub fn context_settings(
        &self,
        files: &ContextFiles,
        surroundings: &Surroundings,
    ) -> Result<(ContextSettings, Option<String>), CliError> {
        let environment = |name: &str| surroundings.variable(name);
        let served = |model: &str| select(Some(model), &environment, &self.provider_settings()).is_ok();
        ContextSettings::read(files, &served)
    }

    /// What the person should know before a run: what was left out, and what does not do what it seems to.
    fn remarks(&self, loaded: &Loaded) -> Vec<String> {
        let skipped = self.prompt_files.skipped.iter().cloned();
        skipped
            .chain(self.found.remarks())
            .chain(self.without.iter().map(|name| self.told_without(name)))
            .chain(self.not_served_of_chibi())
            .chain(self.unknown_tools(loaded))
            .chain(self.idle_inclusions(loaded))
            .chain(loaded.guests.remarks())
            .collect()
    }

    /// What the user is told at every start of a guest that they leave out.
    fn told_without(&self, name: &str) -> String {
        match self.found.kind_left_out(name) {
            Some(kind) => format!("the {kind} {name} is left out (`without`)"),
            None => format!("`without` names {name}, and nothing here is called so"),
        }
    }

    /// Allow rules and hooks about tools that do not exist: they never match. A plugin's tool that stands in for one of
    /// becket's own is known by that one's name.
    pub fn unknown_tools(&self, loaded: &Loaded) -> Vec<String> {
        let (brought, profile) = (loaded.guests.tool_names(), &loaded.profile);
        let is_brought = |name: &str| brought.iter().any(|tool| tool == name);
        let missing = |name: &str| unknown_tool(name).filter(|_| !is_brought(name));
        let renamed = |name: &str| unknown_tool(name).filter(|_| stands_in(name, profile));
        let in_rules = self.permissions().flat_map(|list| &list.allow);
        let in_rules = in_rules.filter_map(|rule| {
            let rule = rule.get_ref();
            let tool = exact_tool(rule)?;
            let wrong = missing(tool).or_else(|| renamed(tool))?;
            Some(format!("the rule `{rule}` names the tool {wrong}"))
        });
        let in_hooks = self.own_hooks().iter().flat_map(|hook| {
            let names = hook.tool_names().into_iter();
            names.filter_map(|name| {
                let (info, wrong) = (&hook.info, missing(name).or_else(|| renamed(name))?);
                Some(format!(
                    "the hook {} ({}) wants the tool {wrong}",
                    info.name, info.source
                ))
            })
        });
        let in_network = self.config.tools.network.iter();
        let plugins = loaded.plugins();
        let in_network = in_network.filter(|name| !plugins.has_tool(name));
        let in_network =
            in_network.map(|name| format!("`tools.network` names the tool `{name}`, which no plugin has"));
        let foreign = self.idle_foreign(&brought);
        in_rules
            .chain(in_hooks)
            .chain(in_network)
            .chain(foreign)
            .collect()
    }

    /// The same of rules and hooks in docker-agent's words.
    fn idle_foreign(&self, brought: &[String]) -> Vec<String> {
        let brought: Vec<&str> = brought.iter().map(String::as_str).collect();
        let rules = self.team.iter().flat_map(|team| team.idle_rules(&brought));
        let of_agents = self.team.iter().flat_map(|team| team.members());
        let of_agents = of_agents.flat_map(|(agent, _)| &agent.hooks);
        let own = tools_without_operation().map(|name| -> &str { name });
        let others: Vec<&str> = brought.iter().copied().chain(own).collect();
        let hooks = of_agents.chain(self.foreign_hooks());
        rules
            .chain(hooks.filter_map(|hook| idle_matcher(hook, other_tools(&others))))
            .collect()
    }

    /// The person's rules, then those of the trusted project.
    pub fn permissions(&self) -> impl Iterator<Item = &PermissionsConfig> {
        std::iter::once(&self.config.permissions).chain(&self.project.permissions)
    }

    /// The provider for the model that was asked for.
    pub fn provider(
        &self,
        options: &Options,
        surroundings: &Surroundings,
    ) -> Result<Arc<dyn Provider>, CliError> {
        self.provider_beside(Vec::new(), options, surroundings)
    }

    /// The same beside providers that somebody else serves.
    fn provider_beside(
        &self,
        served_elsewhere: Vec<String>,
        options: &Options,
        surroundings: &Surroundings,
    ) -> Result<Arc<dyn Provider>, CliError> {
        let environment = |name: &str| surroundings.variable(name);
        if let Some(team) = &self.team {
            return team.provider(
                team.first(),
                options.model.as_deref(),
                &self.provider_settings(),
                surroundings,
            );
        }
        let of_home = self.model_of_home(surroundings).unwrap_or_default();
        let named = options.model.as_deref().or(self.context.model.as_deref());
        let model = named.or(of_home.as_deref());
        let settings = ProviderSettings {
            served_elsewhere,
            ..self.provider_settings()
        };
        select(model, &environment, &settings).map_err(|error| {
            CliError {
                exit: Exit::Usage,
                message: error.to_string(),
                hint: None,
            }
            .hint("`--model rehearsal` works without a key")
        })
    }

    /// The same, where an extension may bring it.
    fn provider_of_run(
        &self,
        options: &Options,
        surroundings: &Surroundings,
        extensions: &Extensions,
    ) -> Result<Arc<dyn Provider>, CliError> {
        let context = self.context.model.as_deref();
        let named = options
            .model
            .as_deref()
            .or(context)
            .or(self.config.model.as_deref());
        match extensions.provider(named.filter(|_| self.team.is_none())) {
            Some(provider) => provider.map_err(CliError::usage),
            None => self.provider_beside(extensions.provider_names(), options, surroundings),
        }
    }

    /// Puts the agent together, and says what the person should know about it.
    pub async fn assemble(
        &self,
        caller: Caller<'_>,
        person: Person,
        store: Arc<SqliteStore>,
        asking: Asking,
    ) -> Result<Assembled, CliError> {
        let Caller {
            options,
            surroundings,
            ..
        } = caller;
        let engine = Arc::new(self.engine(&store, &person.front));
        let profile = self.profile(options)?;
        let loaded = self.load(caller, (&engine, &person), (asking, profile)).await?;
        tell(self.remarks_of_run(&loaded, caller), surroundings);
        let extensions = loaded.extensions();
        let provider = self.provider_of_run(options, surroundings, &extensions)?;
        let environment = self.environment(loaded.guests.keys(), surroundings);
        let mut settings = self.settings_of_run(options, surroundings, &*provider, &extensions)?;
        let shelf = loaded.shelf(surroundings);
        settings.shelf = self.team.is_none().then(|| Arc::clone(&shelf) as Arc<dyn Shelf>);
        settings.approval.installed.extend(loaded.guests.names());
        self.register_hooks(&engine, &loaded, &person, &store, (&*provider, caller))?;
        let resources = Resources {
            model: options.model.as_deref(),
            max_iterations: options.max_iterations,
            surroundings,
            provider: &provider,
            providers: &self.provider_settings(),
            tools: &self.tool_settings(&environment),
            servers: &loaded.servers().servers,
            request: &settings.options,
            contexts: &settings.contexts,
            memories: &self.folders.data.join("memory.db"),
        };
        let own_tools = |profile: &Profile| self.becket_tools(profile, &environment, &settings, &store);
        let (tools, team) = self.tools_of_run(&loaded, &resources, &own_tools)?;
        self.go_on_without(&loaded, &*person.ui, caller).await?;
        let missing = self.check_restricted_tools(&loaded)?;
        let all = Arc::new(loaded.guests);
        let guests = Arc::new(RunGuests::new(&all, missing, (&engine, &person.front)));
        let export = self.export(options, surroundings, &engine)?;
        let agent = Agent {
            engine,
            provider,
            tools,
            store: store.clone(),
            front: person.front,
            mail: self.mail_source(),
            team,
            guests: Some(guests.clone()),
            // A person at a terminal may want something of the session that is none of the model's.
            desk: extensions
                .desk()
                .or_else(|| surroundings.stdin_is_terminal.then(Desk::new)),
            settings,
        };
        Ok(Assembled {
            agent: Arc::new(agent),
            store,
            extensions,
            loaded: all,
            guests,
            shelf,
            export,
        })
    }

    /// Leaves out what could not be loaded, if the user says so. Otherwise the run ends here.
    async fn go_on_without(&self, loaded: &Loaded, ui: &dyn Ui, caller: Caller<'_>) -> Result<(), CliError> {
        if let Some(context) = &self.context_name {
            loaded.guests.enter(context);
        }
        let unloaded = loaded.guests.unloaded();
        let without = self.decide_about(&unloaded, ui, caller).await?;
        for name in without {
            loaded.guests.leave_out(&name);
        }
        tell(self.found.remember(&self.folders), caller.surroundings);
        Ok(())
    }

    /// Loads what others have written.
    pub async fn load(
        &self,
        caller: Caller<'_>,
        (engine, person): (&Arc<Engine>, &Person),
        (asking, profile): (Asking, Profile),
    ) -> Result<Loaded, CliError> {
        let Caller {
            options,
            surroundings,
            cancel,
        } = caller;
        let facts = self.loading_facts((options, surroundings), engine, person)?;
        let mut guests = LoadedGuests::default();
        let mut preloaded = options.preloaded.take_guests();
        for (_, found) in self.found.iter() {
            let is_extensions = (found as &dyn Any).is::<FoundExtensions>();
            let loaded = match preloaded.take_if(|_| is_extensions) {
                Some(preloaded) => preloaded,
                None => {
                    let environment = self.lazy_environment(guests.keys().to_vec(), surroundings);
                    let loading = facts.loading((self, surroundings), &environment, asking);
                    unless_cancelled(cancel, found.load(&loading)).await??
                }
            };
            surroundings.hide_keys(loaded.key_variables().iter().map(String::as_str));
            guests.push(loaded);
        }
        Ok(Loaded { profile, guests })
    }

    /// Loads what was found of one kind alone.
    pub async fn load_only<F: Found, G: Guests>(
        &self,
        options: &Options,
        surroundings: &Surroundings,
        asking: Asking,
    ) -> Result<Option<Arc<G>>, CliError> {
        let Some(found) = self.found.get::<F>() else {
            return Ok(None);
        };
        let facts = self.facts_for_one(options, surroundings)?;
        let environment = self.lazy_environment(Vec::new(), surroundings);
        let loading = facts.loading((self, surroundings), &environment, asking);
        let guests: Arc<dyn Any + Send + Sync> = found.load(&loading).await?;
        Ok(guests.downcast().ok())
    }

    /// Loads MCP servers alone, or the one of that name.
    pub async fn load_servers(
        &self,
        options: &Options,
        surroundings: &Surroundings,
        (asking, only): (Asking, Option<&str>),
    ) -> Result<RunServers, CliError> {
        let Some(found) = self.found.get::<FoundServers>() else {
            return Ok(RunServers::default());
        };
        let facts = self.facts_for_one(options, surroundings)?;
        let environment = self.lazy_environment(Vec::new(), surroundings);
        let loading = facts.loading((self, surroundings), &environment, asking);
        Ok(found.load_servers(&loading, only).await)
    }

    fn loading_facts(
        &self,
        (options, surroundings): (&Options, &Surroundings),
        engine: &Arc<Engine>,
        person: &Person,
    ) -> Result<LoadingFacts, CliError> {
        Ok(LoadingFacts {
            engine: Arc::clone(engine),
            person: person.clone(),
            providers: self.provider_settings(),
            servers: self.found.servers(&self.place(surroundings)),
            urls: self.url_judge()?,
            keeper: self.keeper(surroundings),
            program: options.program(),
            is_project_trusted: options.trust || self.project.is_trusted(),
        })
    }

    /// The same where no run follows.
    fn facts_for_one(
        &self,
        options: &Options,
        surroundings: &Surroundings,
    ) -> Result<LoadingFacts, CliError> {
        let front: Arc<dyn Front> = Arc::new(Unheard);
        let engine = Arc::new(Engine::new(None));
        self.loading_facts((options, surroundings), &engine, &Person::reading(front))
    }

    /// What programs of guests inherit beside these keys, once somebody needs it.
    fn lazy_environment<'a>(
        &'a self,
        of_guests: Vec<String>,
        surroundings: &'a Surroundings,
    ) -> LazyLock<HookEnvironment, impl FnOnce() -> HookEnvironment + Send> {
        LazyLock::new(move || self.hook_environment(&of_guests, surroundings))
    }

    /// What the user should know before the run.
    fn remarks_of_run(&self, loaded: &Loaded, caller: Caller<'_>) -> Vec<String> {
        let mut remarks = self.remarks(loaded);
        // A model that was left out matters only where the command line names none.
        let of_home = self.model_of_home(caller.surroundings).err();
        let left_out = self.context_remark.clone().into_iter().chain(of_home);
        remarks.extend(left_out.filter(|_| caller.options.model.is_none()));
        remarks
    }

    /// The tools of a run, or the team that has them; what is odd about them is said.
    fn tools_of_run(
        &self,
        loaded: &Loaded,
        resources: &Resources<'_>,
        own_tools: &(dyn Fn(&Profile) -> Vec<Arc<dyn Tool>> + Sync),
    ) -> Result<ToolsOrTeam, CliError> {
        let own_names: Vec<&'static str> = tool_names().collect();
        let mut toolbox = Toolbox {
            profile: &loaded.profile,
            tools: Vec::new(),
            own_tools,
            own_names: &own_names,
        };
        let (team, remarks) = match &self.team {
            Some(file) => {
                let (members, remarks) = file.members_with(resources)?;
                (Some(Arc::new(Team::new(members))), remarks)
            }
            None => {
                toolbox.tools = own_tools(&loaded.profile);
                (None, self.further_tools(loaded, resources, &mut toolbox))
            }
        };
        loaded.guests.settle_tools(&toolbox);
        tell(remarks, resources.surroundings);
        Ok((toolbox.tools, team))
    }

    /// Who sends the spans of the run elsewhere, if anybody is to.
    fn export(
        &self,
        options: &Options,
        surroundings: &Surroundings,
        engine: &Engine,
    ) -> Result<Option<Export>, CliError> {
        let endpoint = otel::endpoint(options.otel.as_deref(), &self.config.otel, surroundings)?;
        let home = options.home.as_deref();
        Ok(endpoint.map(|endpoint| Export::new(endpoint, home, engine)))
    }

    /// An engine whose dispatches somebody hears of.
    fn engine(&self, store: &Arc<SqliteStore>, front: &Arc<dyn Front>) -> Engine {
        match &self.witness {
            Some(witness) => Engine::new(Some(Arc::clone(witness))),
            None => witnessed_engine(store, front),
        }
    }

    /// Adds the tools of the index, of sub-agents and of everybody else; what is odd about them comes back in words.
    fn further_tools(
        &self,
        loaded: &Loaded,
        resources: &Resources<'_>,
        toolbox: &mut Toolbox<'_>,
    ) -> Vec<String> {
        let (surroundings, profile) = (resources.surroundings, &loaded.profile);
        toolbox.tools.extend(index_tools(
            profile,
            self.index_settings(&loaded.plugins(), surroundings),
        ));
        let own = resources.tools.clone();
        let mut asking = self.subagent_tool_settings(&**resources.provider, surroundings, own);
        asking.models = loaded.extensions().models(asking.models);
        toolbox.tools.extend(subagent_tools(profile, &asking));
        loaded.guests.add_tools(toolbox)
    }

    /// What the agent of this run is told.
    fn settings_of_run(
        &self,
        options: &Options,
        surroundings: &Surroundings,
        provider: &dyn Provider,
        extensions: &Extensions,
    ) -> Result<AgentSettings, CliError> {
        let mut settings = self.agent_settings(options, surroundings)?;
        settings.compaction = self.compaction(provider, extensions.context_window(provider));
        if let Some(team) = &self.team {
            // It gets what the file gives it: no instructions of the project, no notes of becket's about itself.
            settings.agent_name = team.first().name.clone();
            (settings.prompt_files, settings.reflection) = (Vec::new(), None);
        }
        Ok(settings)
    }

    /// Lets all hooks answer, whoever wrote them, and says what is odd about them.
    fn register_hooks(
        &self,
        engine: &Arc<Engine>,
        loaded: &Loaded,
        person: &Person,
        store: &Arc<SqliteStore>,
        (provider, caller): (&dyn Provider, Caller<'_>),
    ) -> Result<(), CliError> {
        let surroundings = caller.surroundings;
        self.choose_tools(engine)?;
        if self.config.snapshots.enabled {
            self.keeper(surroundings).register(engine);
        }
        let remarks = loaded.guests.register(&Stage {
            engine,
            person,
            store,
            profile: &loaded.profile,
            models: &self.models(provider, surroundings),
            is_rehearsal: self.is_rehearsal,
        })?;
        tell(remarks, surroundings);
        Ok(())
    }

    /// becket's own tools, by the names of a profile.
    fn becket_tools(
        &self,
        profile: &Profile,
        environment: &HookEnvironment,
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
        let mut tools = operation_tools(profile, self.tool_settings(environment));
        tools.extend(own_tools(profile, &notes));
        tools.extend(context_tools(profile, &between));
        tools.extend(todo_tools(profile, &settings.contexts));
        tools.extend(memory_tools(profile, &self.folders.data.join("memory.db")));
        tools
    }

    pub fn provider_settings(&self) -> ProviderSettings {
        ProviderSettings {
            model: self.config.model.clone(),
            providers: self.config.providers.clone(),
            ..ProviderSettings::default()
        }
    }

    /// The names by which the model knows the tools.
    pub fn profile(&self, options: &Options) -> Result<Profile, CliError> {
        if self.team.is_some() {
            return Ok(becket_docker_agent::profile());
        }
        // Who names tools one by one, names them as pi does.
        if options.tool_list().is_some() {
            return Ok(becket_pi::profile());
        }
        let name = options
            .tools
            .as_deref()
            .or(self.config.tools.profile.as_deref())
            .unwrap_or("becket");
        becket_dialects::profile_named(name).ok_or_else(|| {
            let names: Vec<&str> = becket_dialects::profile_names().collect();
            let error = CliError::usage(format!("there is no tool profile `{name}`"));
            match nearest(name, names.iter().copied()) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint(format!("there are {}", names.join(", "))),
            }
        })
    }

    /// What tools inherit: the user's environment without keys and tokens of becket's own, which are kept apart, and
    /// without what a plugin was told that has started becket.
    pub fn environment(&self, of_guests: &[String], surroundings: &Surroundings) -> HookEnvironment {
        let mut names = key_variables(&self.provider_settings());
        names.extend(self.found.key_variables());
        names.extend(of_guests.iter().cloned());
        names.extend(secret_variables(self.hosts).map(ToOwned::to_owned));
        let keys = surroundings
            .variables
            .iter()
            .filter(|(name, _)| names.iter().any(|key| OsStr::new(key) == *name));
        let keys = keys.map(|(name, value)| (name.clone(), value.clone())).collect();
        names.extend(becket_chibi::CALL_VARIABLES.iter().map(ToString::to_string));
        HookEnvironment {
            keys: Arc::new(keys),
            variables: Arc::new(inherited_environment(surroundings.variables.clone(), &names)),
        }
    }

    /// What programs of guests inherit: what tools do, without what only tools need, and becket's own `jq` where the
    /// machine has none.
    pub fn hook_environment(&self, of_guests: &[String], surroundings: &Surroundings) -> HookEnvironment {
        let HookEnvironment { keys, variables } = self.environment(of_guests, surroundings);
        let variables = Arc::new(guest_environment(Arc::unwrap_or_clone(variables)));
        let mut environment = HookEnvironment { keys, variables };
        if !own_jq::is_on_path(&environment.variables) {
            match own_jq::folder(&self.folders.cache) {
                Ok(folder) => own_jq::add_to_path(Arc::make_mut(&mut environment.variables), &folder),
                Err(why) => surroundings.remark(&format!(
                    "there is no jq for hooks, and becket's own is not used: {why}"
                )),
            }
        }
        environment
    }

    /// What a fetch may take, for guests.
    fn fetch_limits(&self) -> FetchLimits {
        let settings = self.tool_settings(&HookEnvironment::default());
        FetchLimits {
            bytes: settings.fetch_bytes,
            longest: settings.fetch_timeout_limit,
        }
    }

    pub fn tool_settings(&self, environment: &HookEnvironment) -> ToolSettings {
        let mut variables: BTreeMap<OsString, OsString> = environment.variables.as_ref().clone();
        for name in &self.config.tools.pass_env {
            if let Some((name, key)) = environment.keys.get_key_value(OsStr::new(name)) {
                variables.insert(name.clone(), key.clone());
            }
        }
        let mut settings = ToolSettings {
            environment: variables,
            ..ToolSettings::default()
        };
        let config = &self.config.tools;
        if let Some(seconds) = &config.shell_timeout {
            settings.shell_timeout = Duration::from_secs(*seconds.get_ref());
        }
        if let Some(seconds) = &config.fetch_timeout {
            settings.fetch_timeout = Duration::from_secs(*seconds.get_ref());
            settings.fetch_timeout_limit = settings.fetch_timeout_limit.max(settings.fetch_timeout);
        }
        settings.fetch_bytes = config.fetch_bytes.map_or(settings.fetch_bytes, NonZeroUsize::get);
        settings.fetch_redirects = config.fetch_redirects.unwrap_or(settings.fetch_redirects);
        settings
    }

    /// What the agent is told.
    pub fn agent_settings(
        &self,
        options: &Options,
        surroundings: &Surroundings,
    ) -> Result<AgentSettings, CliError> {
        let usual = AgentSettings::default();
        let config = &self.config.agent;
        let of_home = self.chibi_home_settings()?;
        let home = of_home.map(|(_, settings)| settings);
        Ok(AgentSettings {
            home: self.folders.data.clone(),
            project_root: self.project_root.clone(),
            cwd: surroundings.cwd.clone(),
            contexts: self.contexts(),
            vfs: self.vfs(),
            instructions: self.instructions(options, surroundings, &usual.instructions)?,
            prompt_files: self.prompt_files.files.clone(),
            max_iterations: options
                .max_iterations
                .or(config.max_iterations.map(NonZeroU32::get))
                .unwrap_or(usual.max_iterations),
            fuel: options
                .fuel
                .or(self.context.fuel)
                .or(config.fuel)
                .or(home.and_then(|home| home.fuel))
                .filter(|fuel| *fuel > 0),
            empty_answer_cost: config
                .fuel_empty_response_cost
                .or(self.of_chibi(|chibi| chibi.fuel_empty_response_cost)?)
                .unwrap_or(usual.empty_answer_cost),
            fallback: self
                .context
                .fallback
                .or(config.fallback)
                .or(home.and_then(|home| home.fallback))
                .unwrap_or(usual.fallback),
            ending_tool: if config.call_user || self.profile(options)?.extras.contains(&CALL_USER) {
                EndingTool::Always
            } else {
                EndingTool::WhenNeeded
            },
            reflection: config
                .reflection
                .or(self.of_chibi(|chibi| chibi.reflection_enabled)?)
                .unwrap_or(true)
                .then(|| self.folders.data.join("reflection.md")),
            max_retries: config.max_retries.unwrap_or(usual.max_retries),
            idle_timeout: config
                .idle_timeout
                .as_ref()
                .map_or(usual.idle_timeout, |seconds| {
                    Duration::from_secs(*seconds.get_ref())
                }),
            output_limit: self.output_limit(home).unwrap_or(usual.output_limit),
            preview_chars: self
                .of_chibi(|chibi| chibi.tool_cache_preview_chars)?
                .unwrap_or(usual.preview_chars),
            cache_max_age: self.config.cache.max_age().unwrap_or(usual.cache_max_age),
            options: self.request_options(options, home)?,
            wording: self.profile(options)?.wording,
            approval: self.approval(options, surroundings)?,
            subagents: self.subagents(),
            ..usual
        })
    }

    /// How long an output may be that is not put aside, as the settings say.
    fn output_limit(&self, home: Option<&becket_chibi::LocalSettings>) -> Option<usize> {
        let local = self.context.local.as_ref();
        local
            .and_then(|(_, local)| local.tool_output_cache_threshold)
            .or(self.config.tools.output_limit)
            .or(home.and_then(|home| home.tool_output_cache_threshold))
    }

    /// How the model is asked.
    fn request_options(
        &self,
        options: &Options,
        home: Option<&becket_chibi::LocalSettings>,
    ) -> Result<RequestOptions, CliError> {
        let config = &self.config.agent;
        Ok(RequestOptions {
            temperature: self
                .context
                .temperature
                .as_ref()
                .map(|degree| *degree.get_ref())
                .or(config.temperature)
                .or(home.and_then(|home| home.api.temperature)),
            max_tokens: self
                .context
                .max_tokens
                .or(config.max_tokens)
                .or(home.and_then(|home| home.api.max_tokens)),
            top_p: self.of_chibi(|chibi| chibi.api.top_p)?,
            frequency_penalty: self.of_chibi(|chibi| chibi.api.frequency_penalty)?,
            presence_penalty: self.of_chibi(|chibi| chibi.api.presence_penalty)?,
            parallel_tool_calls: self.of_chibi(|chibi| chibi.api.parallel_tool_calls)?,
            thinking: options.pi.thinking,
            ..RequestOptions::default()
        })
    }

    /// What the agent is instructed with, as the command line and the settings say.
    fn instructions(
        &self,
        options: &Options,
        surroundings: &Surroundings,
        usual: &str,
    ) -> Result<String, CliError> {
        let pi = &options.pi;
        let mut instructions = match &pi.system_prompt {
            Some(words) => text_or_file(words, surroundings)?,
            None => self.config.agent.instructions.clone().unwrap_or(usual.to_owned()),
        };
        for words in &pi.append_system_prompt {
            instructions.push_str("\n\n");
            instructions.push_str(&text_or_file(words, surroundings)?);
        }
        let username = self.of_chibi(|chibi| chibi.username.clone())?;
        // chibi's own word for one who has no name.
        if let Some(name) = username.filter(|name| !name.is_empty() && name != "user") {
            instructions.push_str(&format!("\n\nThe user speaking to you is called: {name}"));
        }
        Ok(instructions)
    }

    /// What sub-agents may do.
    fn subagents(&self) -> SubagentSettings {
        let usual = SubagentSettings::default();
        let config = &self.config.subagents;
        SubagentSettings {
            max_depth: config.max_depth.unwrap_or(usual.max_depth),
            max_parallel: config.max_parallel.map_or(usual.max_parallel, NonZeroU32::get),
            max_turns: config.max_turns.map_or(usual.max_turns, NonZeroU32::get),
            token_budget: config.token_budget.map(NonZeroU64::get),
        }
    }

    /// What the tools for sub-agents work with.
    fn subagent_tool_settings(
        &self,
        provider: &dyn Provider,
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
        };
        let presets = self.config.presets.iter();
        SubagentToolSettings {
            models: self.models(provider, surroundings),
            presets: presets
                .map(|(name, config)| (name.clone(), preset(config)))
                .collect(),
            tools,
        }
    }

    /// Gives the models that agents choose for their sub-agents.
    pub fn models(&self, provider: &dyn Provider, surroundings: &Surroundings) -> Models {
        let mut scripts: Vec<String> = self
            .config
            .presets
            .values()
            .filter_map(|preset| preset.model.clone())
            .collect();
        scripts.retain(|model| is_script(model));
        let may_choose_scripts = provider.name() == SCRIPTED;
        let (settings, surroundings) = (self.provider_settings(), surroundings.clone());
        let known: Mutex<BTreeMap<String, Arc<dyn Provider>>> = Mutex::default();
        Arc::new(move |name| {
            // A script is a file, and a model that chooses files would read them past all guards.
            if is_script(name) && !may_choose_scripts && !scripts.iter().any(|script| script == name) {
                return Err("a scripted model is chosen by a preset of the settings, not by a model".into());
            }
            let mut known = known.lock().expect("no panic happens while the models are held");
            if let Some(provider) = known.get(name) {
                return Ok(Arc::clone(provider));
            }
            let environment = |name: &str| surroundings.variable(name);
            let provider = select(Some(name), &environment, &settings).map_err(|error| error.to_string())?;
            known.insert(name.to_owned(), Arc::clone(&provider));
            Ok(provider)
        })
    }

    /// When and how conversations with that model are summarised. What the person says about this very model goes
    /// before what whoever brings it knows.
    pub fn compaction(&self, provider: &dyn Provider, known_window: Option<u64>) -> CompactionSettings {
        let usual = CompactionSettings::default();
        let config = &self.config.compaction;
        let model = format!("{}/{}", provider.name(), provider.model());
        let of_model = config.context_windows.get(&model).map(|window| window.get());
        let of_all = config.context_window.map(NonZeroU64::get);
        let window = of_model.or(known_window).or(of_all);
        CompactionSettings {
            auto: config.auto.unwrap_or(usual.auto),
            at_percent: config.at_percent.map_or(usual.at_percent, |percent| percent.0),
            drop_percent: config
                .drop_percent
                .map_or(usual.drop_percent, |percent| percent.0),
            context_window: window.unwrap_or(usual.context_window),
            prompt: config.prompt.clone().unwrap_or(usual.prompt),
        }
    }

    /// The person's rules with those stored for the project, the trusted project's, the agent file's and those of
    /// docker-agent's settings together.
    fn approval(&self, options: &Options, surroundings: &Surroundings) -> Result<ApprovalSettings, CliError> {
        let all = |pick: fn(&PermissionsConfig) -> &Vec<Spanned<String>>| -> Vec<String> {
            let rules = self.permissions().flat_map(pick);
            rules.map(|rule| rule.get_ref().clone()).collect()
        };
        let rules = Rules::parse(
            &all(|list| &list.deny),
            &all(|list| &list.allow),
            &all(|list| &list.ask),
        )
        .map_err(|message| CliError::usage(format!("permissions: {message}")))?;
        let (home, profile) = (surroundings.variable("HOME"), self.profile(options)?);
        let of_team = self
            .team
            .iter()
            .map(|team| (&team.file.path, &team.file.permissions));
        let of_person = self
            .found
            .get::<FoundHooks>()
            .and_then(|found| found.permissions.as_ref());
        let of_person = of_person.map(|(file, rules)| (file, rules));
        self.team.iter().try_for_each(|team| team.check_rules())?;
        let rules = of_team
            .chain(of_person)
            .try_fold(rules, |rules, (file, foreign)| {
                let reader = ForeignRules {
                    file,
                    home: home.as_deref().map(Path::new),
                    profile: &profile,
                };
                reader.add(rules, foreign)
            })?;
        let of_chibi = self.readable_of_chibi(surroundings)?;
        let keeper = StoredRules::of_project(&self.folders);
        let (stored, remarks) = keeper.counting();
        tell(remarks, surroundings);
        stored
            .iter()
            .try_for_each(|rule| rules.store(rule))
            .map_err(CliError::failed)?;
        let readable = self.permissions().flat_map(|list| &list.readable);
        let readable = readable
            .chain(&of_chibi)
            .map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.clone()))
            .collect();
        Ok(ApprovalSettings {
            urls: self.url_judge()?,
            rules,
            yes: options.yes,
            readable,
            installed: Vec::new(),
            keeper: Some(Arc::new(keeper)),
        })
    }
}

/// Those names of tools, and all that other systems have.
pub fn other_tools<'a>(names: &'a [&'a str]) -> OtherTools<'a> {
    OtherTools {
        names,
        elsewhere: becket_dialects::operation_called,
    }
}

/// Nobody hears of what guests show: no run follows.
struct Unheard;

impl Front for Unheard {
    fn show(&self, _: Sight<'_>) {}

    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, PersonsAnswer> {
        Box::pin(async { PersonsAnswer::Nobody })
    }
}

/// Says what the person should know.
fn tell(remarks: impl IntoIterator<Item = String>, surroundings: &Surroundings) {
    for remark in remarks {
        surroundings.remark(&remark);
    }
}

/// An engine whose traces are stored and whose failures are shown.
/// What a file holds, or the words themselves if there is no such file.
fn text_or_file(words: &str, surroundings: &Surroundings) -> Result<String, CliError> {
    let file = surroundings.cwd.join(words);
    if !file.is_file() {
        return Ok(words.to_owned());
    }
    std::fs::read_to_string(&file)
        .map_err(|error| CliError::usage(format!("{} cannot be read: {error}", file.display())))
}

fn witnessed_engine(store: &Arc<SqliteStore>, front: &Arc<dyn Front>) -> Engine {
    let witness = RecordKeeper {
        store: store.clone(),
        front: Arc::clone(front),
    };
    Engine::new(Some(Arc::new(witness)))
}

/// Whether the name is one of a scripted model.
fn is_script(model: &str) -> bool {
    let provider = model.trim().split('/').next().unwrap_or_default();
    provider == SCRIPTED
}

/// The tool that a rule names, unless it is a pattern for several.
pub fn exact_tool(rule: &str) -> Option<&str> {
    let tool = rule.split(':').next().unwrap_or_default().trim();
    (!tool.contains(['*', '?', '[', '{', '\\'])).then_some(tool)
}

/// The names of all tools that are parts of the program, in becket's own words.
pub fn tool_names() -> impl Iterator<Item = &'static str> {
    let operations = OperationKind::ALL.iter().map(|kind| kind.name());
    operations.chain(tools_without_operation())
}

/// becket's tools that are no operation.
pub fn tools_without_operation() -> impl Iterator<Item = &'static str> {
    own_tool_names()
        .chain(context_tool_names())
        .chain(index_tool_names())
        .chain(subagent_tool_names())
        .chain(team_tool_names())
        .chain(todo_tool_names())
        .chain(memory_tool_names())
        .chain(JOB_EXTRAS.iter().copied())
        .chain([becket_chibi::scheme::EVAL_TOOL])
}

/// The tool that was probably meant by a name that no tool has.
pub fn meant_tool(name: &str) -> Option<&'static str> {
    tool_elsewhere(name).or_else(|| nearest(name, tool_names()))
}

/// The tool that some other system knows by that name.
pub fn tool_elsewhere(name: &str) -> Option<&'static str> {
    Some(becket_dialects::operation_called(name)?.name())
}

/// What is wrong with the name of a tool, with a suggestion; `None` if there is such a tool.
pub fn unknown_tool(name: &str) -> Option<String> {
    let own = tool_names;
    if own().any(|tool| tool == name) {
        return None;
    }
    Some(match meant_tool(name) {
        Some(meant) => format!("`{name}`, which does not exist; did you mean `{meant}`?"),
        None => format!(
            "`{name}`, which does not exist; there are {}",
            own().collect::<Vec<_>>().join(", ")
        ),
    })
}

/// Keys in the settings are in this process's memory, those in variables in its environment.
fn hide_configured_keys(config: &Config, surroundings: &Surroundings) {
    let providers = || config.providers.values();
    surroundings.hide_keys(providers().filter_map(|provider| provider.key_variable.as_deref()));
    if providers().any(|provider| provider.key.is_some()) {
        surroundings.hide_process();
    }
}

/// The person's settings, and their text; without a file, the usual ones.
pub fn read_config(file: &Path, hosts: Hosts) -> Result<(Config, SettingsText), CliError> {
    let read = |text: String| -> Result<(Config, SettingsText), CliError> {
        let (config, hooks) = Config::read(&text, file, &hosts.sections())?;
        let file = file.to_path_buf();
        Ok((config, SettingsText { file, text, hooks }))
    };
    match std::fs::read_to_string(file) {
        Ok(text) => read(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((
            Config::default(),
            SettingsText {
                file: file.to_path_buf(),
                ..SettingsText::default()
            },
        )),
        Err(error) => Err(CliError::usage(format!(
            "cannot read {}: {error}",
            file.display()
        ))),
    }
}
