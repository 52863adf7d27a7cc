//! Puts an agent together: settings, provider, tools, store, hooks.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use becket_agent::context_files::{ContextFile, ContextFiles};
use becket_agent::desk::Desk;
use becket_agent::flocks::Flocks;
use becket_agent::front::Front;
use becket_agent::gate::ApprovalSettings;
use becket_agent::mail::MailSource;
use becket_agent::provider::{Provider, RequestOptions};
use becket_agent::shelf::Shelf;
use becket_agent::team::Team;
use becket_agent::tool::Tool;
use becket_agent::vfs::Vfs;
use becket_agent::{
    Agent, AgentSettings, CompactionSettings, EndingTool, RecordKeeper, Rules, SubagentSettings,
};
use becket_chibi::Asking;
use becket_docker_agent::{
    EventCommand, EventCommands, ForeignRules, HookEntry as ForeignHook, HookHost, ModelJudge, OtherTools,
    Owner, Permissions, Resources, Sources, TeamFile, idle_matcher,
};
use becket_events::{JOB_EXTRAS, OperationKind, Profile};
use becket_hooks::{
    Engine, HookEnvironment, OwnHook, Witness, guest_environment, inherited_environment, nearest,
    read_hook_file,
};
use becket_index::{IndexFile, IndexSettings, Limits, index_tool_names, index_tools};
use becket_pi::ProjectFolder;
use becket_pi::host_call::Mode;
use becket_providers::scripted::NAME as SCRIPTED;
use becket_providers::{ProviderSettings, key_variables, select};
use becket_store::{ContextName, SqliteStore};
use becket_system::project_root::project_root;
use becket_system::signals::unless_cancelled;
use becket_system::{CliError, Exit, Folders, Surroundings};
use becket_tools::{
    CALL_USER, ContextToolSettings, Models, NotesSettings, Preset, SubagentToolSettings, ToolSettings,
    context_tool_names, context_tools, memory_tool_names, memory_tools, operation_tools, own_tool_names,
    own_tools, subagent_tool_names, subagent_tools, team_tool_names, todo_tool_names, todo_tools,
};
use tokio_util::sync::CancellationToken;
use toml::Spanned;

use crate::args::{Options, RunMode};
use crate::builtins::ProgramBuiltins;
use crate::chibi_settings::{FileSettings, take_key_of_chibi};
use crate::commands::web;
use crate::config::{Config, PermissionsConfig, PresetConfig};
use crate::context_settings::ContextSettings;
use crate::extension_flags::own_option_names;
use crate::process::this_program;
use becket_host::{Person, Ui};
use becket_pi::extensions::{self, Extensions};

use crate::front::Output;
use crate::otel::{self, Export};
use crate::own_jq;
use crate::project::{Project, PromptFiles, prompt_files, read_project};
use crate::run_guests::RunGuests;
use crate::servers::RunServers;
use crate::stored_rules::StoredRules;
use becket_chibi::InboxFiles;
use becket_chibi::scheme_files::SchemeFiles;
use becket_chibi::{NotOffered, PluginSettings, Plugins, stands_in};
use becket_pi::shelf::RunShelf;
use becket_trust::{Kind, Trust};

/// Variables with secrets of becket's own and of chibi, besides the keys of providers.
pub const SECRET_VARIABLES: &[&str] = &[
    web::TOKEN_VARIABLE,
    otel::HEADERS_VARIABLE,
    becket_chibi::KEY_VARIABLE,
];

/// Everything that was read before an agent can be put together.
pub struct Setup {
    pub folders: Folders,
    pub config: Config,
    pub hooks: Vec<OwnHook>,
    /// Says what of the project is trusted.
    pub trust: Trust,
    pub project: Project,
    pub project_root: PathBuf,
    pub prompt_files: PromptFiles,
    /// The chibi home whose plugins count.
    pub chibi_home: Option<PathBuf>,
    /// The extensions that were found.
    pub extensions: becket_pi::Found,
    /// Settings of the context that was entered.
    pub context: ContextSettings,
    /// What was left out of them.
    pub context_remark: Option<String>,
    /// The settings of the chibi home, once somebody wants them, or why they cannot be read.
    pub home_settings: OnceLock<Result<Option<FileSettings>, String>>,
    /// Hooks in docker-agent's words that count for everybody: of the person's settings, `hooks.d`, the command line.
    pub foreign_hooks: Vec<ForeignHook>,
    /// The person's docker-agent settings, and the rules in them.
    foreign_rules: Option<(PathBuf, Permissions)>,
    /// Commands that hear of the run's events.
    event_commands: Vec<EventCommand>,
    /// What hooks inherit, once there is one that does.
    hook_environment: OnceLock<HookEnvironment>,
    /// Variables with keys that extensions have named, once these are loaded.
    extension_keys: OnceLock<Vec<String>>,
    /// The agent file that is run.
    pub team: Option<Arc<TeamFile>>,
    /// Hears of dispatches and failures in the place of the store and the front.
    pub witness: Option<Arc<dyn Witness>>,
    /// Whether hooks are only tried out: then what could not be loaded refuses, and ends nothing.
    pub is_rehearsal: bool,
    /// Guests that the user leaves out, by name.
    pub without: Vec<String>,
    /// Those of them that are extensions which were found.
    left_out: Vec<String>,
    /// The context that was entered.
    context_name: Option<String>,
}

/// What others have written for this run.
pub struct Loaded {
    pub extensions: Extensions,
    pub plugins: Plugins,
    pub servers: RunServers,
    pub profile: Profile,
}

/// The tools of an agent, or the agents that have tools.
type ToolsOrTeam = (Vec<Arc<dyn Tool>>, Option<Arc<Team>>);

/// An agent, with the parts of it that commands need by themselves.
pub struct Assembled {
    pub agent: Arc<Agent>,
    pub store: Arc<SqliteStore>,
    /// The MCP servers behind some of its tools.
    pub servers: RunServers,
    /// The extensions that it works with.
    pub extensions: Extensions,
    /// The files in Scheme that it works with.
    pub scheme: Arc<SchemeFiles>,
    /// Who brings tools and hooks while it works.
    guests: Arc<RunGuests>,
    /// Skills, prompt templates and themes.
    pub shelf: Arc<RunShelf>,
    /// Commands that hear of its events.
    event_commands: EventCommands,
    /// Who sends its spans elsewhere, if anybody does.
    export: Option<Export>,
}

impl Assembled {
    /// Ends what runs beside the agent, and puts everything on disk.
    pub async fn close(&self) -> Result<(), CliError> {
        self.guests.close();
        self.extensions.end().await;
        self.event_commands.close().await;
        self.servers.servers.close().await;
        self.store.close().await?;
        if let Some(export) = &self.export {
            export.send_off();
        }
        Ok(())
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
        let (mut config, mut hooks) = read_config(&folders.config_file())?;
        hide_configured_keys(&config, surroundings);
        for given in &options.hooks {
            let file = surroundings.cwd.join(given);
            let text = std::fs::read_to_string(&file).map_err(|error| {
                CliError::usage(format!("cannot read the hook file {}: {error}", file.display()))
            })?;
            hooks.extend(
                read_hook_file(&text, &file)?
                    .into_iter()
                    .map(|hook| called_as_given(hook, &file, given)),
            );
        }
        let sources = Sources::find(&config.docker_agent, &folders, surroundings)?;
        let (mut foreign_hooks, foreign_permissions) = sources.read()?;
        let foreign_rules = sources.settings.map(|file| (file, foreign_permissions));
        foreign_hooks.extend(options.hook_flags.0.iter().cloned());
        let event_commands = options.on_event.iter().map(|given| EventCommand::read(given));
        let event_commands = event_commands.collect::<Result<_, CliError>>()?;
        let project_root = project_root(&surroundings.cwd);
        let trust = Trust::open(options.trust, &folders, surroundings, &project_root);
        let mut project = read_project(&surroundings.cwd, &project_root, &trust);
        hooks.append(&mut project.hooks);
        let prompt_files = prompt_files(&surroundings.cwd, &project_root);
        let file = options.agent_file.as_ref();
        let team = file
            .map(|file| TeamFile::read(file, becket_dialects::operation_called, surroundings).map(Arc::new))
            .transpose()?;
        let given = options.chibi_home.as_deref();
        let chibi_home = becket_chibi::home_of_run(given, &config.chibi, &folders, surroundings)?;
        if chibi_home.is_some() {
            take_key_of_chibi(&mut config, surroundings);
        }
        let given = options.of_extensions();
        let place = extensions::Place {
            given: &given,
            config: &config.pi,
            folders: &folders,
            surroundings,
        };
        let (mut extensions, judged) = extensions::find(&place, &trust)?;
        let without = [options.without.as_slice(), &config.without].concat();
        let left_out = leave_out(&mut extensions, &without);
        let refusal = project.refusal.take();
        project.refusal = refusal.or_else(|| extensions::refusal(&extensions, &judged, &trust));
        project.things.extend(judged);
        let resources = extensions::judge_resources(&place, &trust);
        project.things.extend(resources);
        Ok(Self {
            folders,
            config,
            hooks,
            trust,
            project,
            project_root,
            prompt_files,
            chibi_home,
            extensions,
            context: ContextSettings::default(),
            context_remark: None,
            home_settings: OnceLock::new(),
            foreign_hooks,
            foreign_rules,
            event_commands,
            hook_environment: OnceLock::new(),
            extension_keys: OnceLock::new(),
            team,
            witness: None,
            is_rehearsal: false,
            without,
            left_out,
            context_name: None,
        })
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
        let Loaded { plugins, servers, .. } = loaded;
        let loosened = self.hooks.iter().filter(|hook| hook.loosened).map(|hook| {
            let info = &hook.info;
            format!(
                "the guard {} ({}) may fail open: on_failure is allow",
                info.name, info.source
            )
        });
        let skipped = self.project.skipped.iter().chain(&self.prompt_files.skipped);
        skipped
            .cloned()
            .chain(loosened)
            .chain(self.without.iter().map(|name| self.told_without(name, plugins)))
            .chain(self.not_served_of_chibi())
            .chain(self.unknown_tools(loaded))
            .chain(self.idle_inclusions(loaded))
            .chain(plugins.remarks())
            .chain(servers.remarks().map(ToString::to_string))
            .chain(self.team.iter().flat_map(|team| team.file.remarks.clone()))
            .collect()
    }

    /// What the user is told at every start of a guest that they leave out.
    fn told_without(&self, name: &str, plugins: &Plugins) -> String {
        let is_among = |names: &[String]| names.iter().any(|known| known == name);
        let is_scheme_file = || {
            let path = name.strip_prefix(becket_agent::vfs::SCHEME);
            path.is_some_and(|path| self.vfs().join(path.trim_start_matches('/')).exists())
        };
        let kind = if is_among(&self.left_out) {
            becket_pi::EXTENSION
        } else if is_among(plugins.left_out()) {
            "plugin"
        } else if is_scheme_file() {
            "Scheme file"
        } else {
            return format!("`without` names {name}, and nothing here is called so");
        };
        format!("the {kind} {name} is left out (`without`)")
    }

    /// Allow rules and hooks about tools that do not exist: they never match. A plugin's tool that stands in for one of
    /// becket's own is known by that one's name.
    pub fn unknown_tools(
        &self,
        Loaded {
            extensions,
            plugins,
            servers,
            profile,
        }: &Loaded,
    ) -> Vec<String> {
        let of_extensions = extensions.tool_names();
        let is_extensions = |name: &str| of_extensions.iter().any(|tool| tool == name);
        let is_brought = |name: &str| plugins.has_tool(name) || servers.has_tool(name) || is_extensions(name);
        let missing = |name: &str| unknown_tool(name).filter(|_| !is_brought(name));
        let renamed = |name: &str| unknown_tool(name).filter(|_| stands_in(name, profile));
        let in_rules = self.permissions().flat_map(|list| &list.allow);
        let in_rules = in_rules.filter_map(|rule| {
            let rule = rule.get_ref();
            let tool = exact_tool(rule)?;
            let wrong = missing(tool).or_else(|| renamed(tool))?;
            Some(format!("the rule `{rule}` names the tool {wrong}"))
        });
        let in_hooks = self.hooks.iter().flat_map(|hook| {
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
        let in_network = in_network.filter(|name| !plugins.has_tool(name));
        let in_network =
            in_network.map(|name| format!("`tools.network` names the tool `{name}`, which no plugin has"));
        let foreign = self.idle_foreign(plugins, servers);
        in_rules
            .chain(in_hooks)
            .chain(in_network)
            .chain(foreign)
            .collect()
    }

    /// The same of rules and hooks in docker-agent's words.
    fn idle_foreign(&self, plugins: &Plugins, servers: &RunServers) -> Vec<String> {
        let of_servers = servers.tool_names();
        let scripts = self.team.iter().flat_map(|team| team.scripts());
        let brought: Vec<&str> = scripts.chain(of_servers.iter().map(String::as_str)).collect();
        let rules = self.team.iter().flat_map(|team| team.idle_rules(&brought));
        let of_agents = self.team.iter().flat_map(|team| team.members());
        let of_agents = of_agents.flat_map(|(agent, _)| &agent.hooks);
        let others = brought.iter().copied().chain(plugins.tool_names());
        let own: Vec<&str> = tools_without_operation().collect();
        let others: Vec<&str> = others.chain(own).collect();
        let hooks = of_agents.chain(&self.foreign_hooks);
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
        options: &Options,
        surroundings: &Surroundings,
        person: Person,
        store: Arc<SqliteStore>,
        (asking_servers, cancel): (becket_mcp::Asking, &CancellationToken),
    ) -> Result<Assembled, CliError> {
        let loaded = self.load(options, surroundings, asking_servers, cancel).await?;
        let Loaded {
            extensions, plugins, ..
        } = &loaded;
        let provider = self.provider_of_run(options, surroundings, extensions)?;
        let environment = self.environment(surroundings);
        let mut settings = self.settings_of_run(options, surroundings, &*provider, plugins, extensions)?;
        let shelf = self.shelf(options, surroundings)?;
        settings.shelf = self.team.is_none().then(|| Arc::clone(&shelf) as Arc<dyn Shelf>);
        settings.approval.installed.extend(extensions.names());
        let engine = Arc::new(self.engine(&store, &person.front));
        self.register_hooks(&engine, plugins, &*provider, surroundings)?;
        let models = self.models(&*provider, surroundings);
        extensions.take_stage((&engine, &person, &store), &shelf, &loaded.profile, models);
        let resources = Resources {
            model: options.model.as_deref(),
            max_iterations: options.max_iterations,
            surroundings,
            provider: &provider,
            providers: &self.provider_settings(),
            tools: &self.tool_settings(&environment),
            servers: &loaded.servers.servers,
            request: &settings.options,
            contexts: &settings.contexts,
            memories: &self.folders.data.join("memory.db"),
        };
        let (mut tools, team) = self.tools_of_run(&loaded, &resources, &environment, &settings, &store)?;
        let known = self.becket_tools(&becket_chibi::profile(), &environment, &settings, &store);
        let stage = (&engine, &person.front);
        let scheme = self.scheme_files(stage, &mut tools, known, &loaded.profile, surroundings)?;
        let asked = (options, surroundings, cancel);
        self.go_on_without(&loaded, &scheme, &*person.ui, asked).await?;
        let missing = self.check_restricted_tools(&loaded, &scheme.tool_names())?;
        let guests = Arc::new(RunGuests::new(plugins, &scheme, stage).looking_for(missing, extensions));
        let event_commands = self.commands_of_events(&engine, &environment, surroundings, &store);
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
            servers: loaded.servers,
            extensions: loaded.extensions,
            scheme,
            guests,
            shelf,
            event_commands,
            export,
        })
    }

    /// Leaves out what could not be loaded, if the user says so. Otherwise the run ends here.
    async fn go_on_without(
        &self,
        loaded: &Loaded,
        scheme: &SchemeFiles,
        ui: &dyn Ui,
        asked: (&Options, &Surroundings, &CancellationToken),
    ) -> Result<(), CliError> {
        if let Some(context) = &self.context_name {
            scheme.look(context);
        }
        let Loaded {
            extensions, plugins, ..
        } = loaded;
        let mut unloaded = plugins.unloaded().to_vec();
        unloaded.extend(self.extensions.unloaded.iter().cloned());
        unloaded.extend(extensions.unloaded());
        unloaded.extend(scheme.unloaded());
        let without = self.decide_about(&unloaded, ui, asked).await?;
        for name in without {
            extensions.leave_out(&name);
            scheme.leave_out(&name);
        }
        let file = self.folders.extensions_file();
        if let Err(error) = self.extensions.remember(&file) {
            let file = file.display();
            asked.1.remark(&format!(
                "{file} cannot be written, so a lost extension is not missed: {error}"
            ));
        }
        Ok(())
    }

    /// Loads what others have written, and says what is odd about it.
    async fn load(
        &self,
        options: &Options,
        surroundings: &Surroundings,
        asking_servers: becket_mcp::Asking,
        cancel: &CancellationToken,
    ) -> Result<Loaded, CliError> {
        // Extensions first: they know which variables hold their keys, and no other program gets those.
        let extensions = self.extensions(options, surroundings, cancel).await?;
        let plugins = self.load_plugins(surroundings, Asking::WhenChanged).await;
        let servers = unless_cancelled(cancel, RunServers::load(self, surroundings, asking_servers)).await?;
        let loaded = Loaded {
            extensions,
            plugins,
            servers,
            profile: self.profile(options)?,
        };
        let mut remarks = self.remarks(&loaded);
        // A model that was left out matters only where the command line names none.
        let of_home = self.model_of_home(surroundings).err();
        let left_out = self.context_remark.clone().into_iter().chain(of_home);
        remarks.extend(left_out.filter(|_| options.model.is_none()));
        tell(remarks, surroundings);
        Ok(loaded)
    }

    /// The tools of a run, or the team that has them; what is odd about them is said.
    fn tools_of_run(
        &self,
        loaded: &Loaded,
        resources: &Resources<'_>,
        environment: &HookEnvironment,
        settings: &AgentSettings,
        store: &Arc<SqliteStore>,
    ) -> Result<ToolsOrTeam, CliError> {
        let (tools, team, remarks) = match &self.team {
            Some(file) => {
                let (members, remarks) = file.members_with(resources)?;
                (Vec::new(), Some(Arc::new(Team::new(members))), remarks)
            }
            None => {
                let mut tools = self.becket_tools(&loaded.profile, environment, settings, store);
                let remarks = self.further_tools(loaded, resources, &mut tools);
                (tools, None, remarks)
            }
        };
        tell(remarks, resources.surroundings);
        Ok((tools, team))
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

    /// Skills, prompt templates and themes. A team has what its file gives it, and none of these.
    fn shelf(&self, options: &Options, surroundings: &Surroundings) -> Result<Arc<RunShelf>, CliError> {
        let (found, remarks) = match self.team {
            Some(_) => Default::default(),
            None => self.resources(options, surroundings)?,
        };
        tell(remarks, surroundings);
        Ok(Arc::new(RunShelf::new(found, &surroundings.cwd)))
    }

    /// Skills, prompt templates and themes that count here, and what is odd about them.
    pub fn resources(
        &self,
        options: &Options,
        surroundings: &Surroundings,
    ) -> Result<(becket_pi::Resources, Vec<String>), CliError> {
        let mut things = self.project.things.iter();
        let is_trusted = things.any(|judged| judged.item.kind == Kind::Resources && judged.is_trusted());
        let project = match options.trust || is_trusted {
            true => ProjectFolder::Trusted,
            false => ProjectFolder::Untrusted,
        };
        let place = extensions::Place {
            given: &options.of_extensions(),
            config: &self.config.pi,
            folders: &self.folders,
            surroundings,
        };
        extensions::find_resources(&place, project)
    }

    /// Extensions: those that were loaded to read the command line, or loaded now.
    async fn extensions(
        &self,
        options: &Options,
        surroundings: &Surroundings,
        cancel: &CancellationToken,
    ) -> Result<Extensions, CliError> {
        let extensions = match options.preloaded.take_extensions() {
            Some(extensions) => extensions,
            None => unless_cancelled(cancel, self.load_extensions(options, surroundings)).await?,
        };
        let keys = extensions.key_variables();
        surroundings.hide_keys(keys.iter().map(String::as_str));
        // They are loaded once.
        let _ = self.extension_keys.set(keys);
        Ok(extensions)
    }

    /// Loads the plugins of the chibi home, if there is one.
    pub async fn load_plugins(&self, surroundings: &Surroundings, asking: Asking) -> Plugins {
        let Some(chibi_home) = self.chibi_home.clone() else {
            return Plugins::default();
        };
        let settings = PluginSettings {
            chibi_home,
            project_root: self.project_root.clone(),
            config: &self.config.chibi,
            surroundings,
            environment: Arc::clone(&self.hook_environment(surroundings).variables),
            cache: self.folders.plugins_file(),
            without: self.without.clone(),
            network: self.config.tools.network.clone(),
        };
        Plugins::load(settings, asking).await
    }

    /// Loads the extensions that were found, and says what is odd about them.
    pub async fn load_extensions(&self, options: &Options, surroundings: &Surroundings) -> Extensions {
        tell(self.extensions.remarks.iter().cloned(), surroundings);
        let settings = self.extension_settings(options, surroundings);
        Extensions::load(&self.extensions.extensions, settings).await
    }

    /// What extensions are told before they are loaded.
    pub fn extension_settings(
        &self,
        options: &Options,
        surroundings: &Surroundings,
    ) -> extensions::LoadSettings {
        extensions::LoadSettings {
            surroundings: surroundings.clone(),
            config: self.config.pi.clone(),
            js: self.config.js.clone(),
            config_folder: self.folders.config.clone(),
            cache: self.folders.cache.join("js"),
            environment: self.new_hook_environment(surroundings).variables,
            providers: self.provider_settings(),
            mode: match options.pi.mode {
                Some(RunMode::Rpc) => Mode::Rpc,
                Some(RunMode::Json) => Mode::Json,
                Some(RunMode::Text) => Mode::Print,
                None if options.json => Mode::Json,
                None => Mode::Print,
            },
            is_trusted: options.trust || self.project.is_trusted(),
            keeps_sessions: !options.pi.no_session,
            is_steered: options.pi.streams() || options.tool_list().is_some(),
            prompt_files: self.prompt_files.files.clone(),
            flags: options.flags.clone(),
            own_options: own_option_names,
            program: this_program(),
        }
    }

    /// Adds the tools of the index, of sub-agents and of everybody else; what is odd about them comes back in words.
    fn further_tools(
        &self,
        Loaded {
            extensions,
            plugins,
            servers,
            profile,
        }: &Loaded,
        resources: &Resources<'_>,
        tools: &mut Vec<Arc<dyn Tool>>,
    ) -> Vec<String> {
        let surroundings = resources.surroundings;
        tools.extend(index_tools(profile, self.index_settings(plugins, surroundings)));
        let own = resources.tools.clone();
        let mut asking = self.subagent_tool_settings(&**resources.provider, surroundings, own);
        asking.models = extensions.models(asking.models);
        tools.extend(subagent_tools(profile, &asking));
        let mut remarks = add_guests(profile, tools, plugins, servers);
        remarks.extend(extensions.add_tools(profile, tools));
        remarks
    }

    /// The commands that hear of events.
    fn commands_of_events(
        &self,
        engine: &Engine,
        environment: &HookEnvironment,
        surroundings: &Surroundings,
        store: &Arc<SqliteStore>,
    ) -> EventCommands {
        let environment = match self.event_commands.is_empty() {
            true => environment,
            false => self.hook_environment(surroundings),
        };
        let commands = EventCommands::new(&self.event_commands, environment, surroundings, store.clone());
        commands.watch(engine);
        commands
    }

    /// What the agent of this run is told.
    fn settings_of_run(
        &self,
        options: &Options,
        surroundings: &Surroundings,
        provider: &dyn Provider,
        plugins: &Plugins,
        extensions: &Extensions,
    ) -> Result<AgentSettings, CliError> {
        let mut settings = self.agent_settings(options, surroundings)?;
        settings.compaction = self.compaction(provider, extensions.context_window(provider));
        settings.approval.installed = plugins.sources();
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
        engine: &Engine,
        plugins: &Plugins,
        provider: &dyn Provider,
        surroundings: &Surroundings,
    ) -> Result<(), CliError> {
        for hook in &self.hooks {
            hook.register(engine, self.hook_environment(surroundings));
        }
        self.choose_tools(engine)?;
        let builtins = Arc::new(self.builtins(surroundings)?);
        self.keep_snapshots(&builtins, engine);
        for remark in plugins.register(engine) {
            surroundings.remark(&remark.to_string());
        }
        if self.is_rehearsal {
            plugins.refuse_for_unloaded(engine);
        }
        let host = self.hook_host(builtins, provider, surroundings);
        let of_agents = self.team.iter().flat_map(|file| file.register(engine, &host));
        let of_everybody =
            becket_docker_agent::register(engine, &self.foreign_hooks, &Owner::Everybody, &host);
        tell(of_agents.chain(of_everybody), surroundings);
        Ok(())
    }

    /// What runs hooks of docker-agent's.
    fn hook_host(
        &self,
        builtins: Arc<ProgramBuiltins>,
        provider: &dyn Provider,
        surroundings: &Surroundings,
    ) -> HookHost {
        let models = self.models(provider, surroundings);
        let models = match &self.team {
            Some(team) => team.judges(models, self.provider_settings(), surroundings),
            None => models,
        };
        HookHost {
            shell: surroundings.variable("SHELL").map(PathBuf::from),
            environment: self.hook_environment(surroundings).clone(),
            directory: surroundings.cwd.clone(),
            builtins,
            judge: Arc::new(ModelJudge { models }),
        }
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
    pub fn environment(&self, surroundings: &Surroundings) -> HookEnvironment {
        let mut names = key_variables(&self.provider_settings());
        let of_file = self.team.iter().flat_map(|team| team.key_variables());
        names.extend(of_file.map(ToOwned::to_owned));
        names.extend(self.extension_keys.get().into_iter().flatten().cloned());
        names.extend(SECRET_VARIABLES.iter().map(ToString::to_string));
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

    /// What hooks inherit: what guests do, and becket's own `jq` where the machine has none.
    pub fn hook_environment(&self, surroundings: &Surroundings) -> &HookEnvironment {
        self.hook_environment
            .get_or_init(|| self.new_hook_environment(surroundings))
    }

    /// The same as it is now: as long as extensions are not loaded, nobody knows which variables hold their keys.
    pub fn new_hook_environment(&self, surroundings: &Surroundings) -> HookEnvironment {
        let mut environment = self.guest_environment(surroundings);
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

    /// What programs inherit that are no tools of becket's own: hooks, plugins, extensions, MCP servers.
    pub fn guest_environment(&self, surroundings: &Surroundings) -> HookEnvironment {
        let HookEnvironment { keys, variables } = self.environment(surroundings);
        let variables = Arc::new(guest_environment(Arc::unwrap_or_clone(variables)));
        HookEnvironment { keys, variables }
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
        let of_person = self.foreign_rules.iter().map(|(file, rules)| (file, rules));
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

/// Adds the tools of plugins and servers to becket's own, and says which could not be added.
fn add_guests(
    profile: &Profile,
    tools: &mut Vec<Arc<dyn Tool>>,
    plugins: &Plugins,
    servers: &RunServers,
) -> Vec<String> {
    let of_plugins = plugins.add_tools(profile, tools);
    let of_plugins = of_plugins.iter().map(NotOffered::remark);
    let mut remarks: Vec<String> = of_plugins.map(|remark| remark.to_string()).collect();
    let of_servers = servers.add_tools(profile, tools);
    remarks.extend(of_servers.iter().map(ToString::to_string));
    remarks
}

/// Takes away the extensions that the user leaves out, and names them.
fn leave_out(extensions: &mut becket_pi::Found, without: &[String]) -> Vec<String> {
    let found = extensions.extensions.iter().map(|candidate| &candidate.name);
    let names = found.chain(extensions.unloaded.iter().map(|guest| &guest.name));
    let left_out: Vec<String> = names.filter(|name| without.contains(name)).cloned().collect();
    extensions
        .extensions
        .retain(|candidate| !left_out.contains(&candidate.name));
    extensions
        .unloaded
        .retain(|guest| !left_out.contains(&guest.name));
    left_out
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

/// A hook without a name is called by its file, and the file what the person called it: every refusal shows the name.
fn called_as_given(mut hook: OwnHook, file: &Path, given: &Path) -> OwnHook {
    let file = file.display().to_string();
    if let Some(line) = hook.info.name.strip_prefix(&file) {
        hook.info.name = format!("{}{line}", given.display());
    }
    hook
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

/// The person's settings; without a file, the usual ones.
pub fn read_config(file: &Path) -> Result<(Config, Vec<OwnHook>), CliError> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Config::read(&text, file)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((Config::default(), Vec::new())),
        Err(error) => Err(CliError::usage(format!(
            "cannot read {}: {error}",
            file.display()
        ))),
    }
}
