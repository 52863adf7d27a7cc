//! docker-agent's hooks and agent files as guests of a run.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use becket_agent::Rules;
use becket_agent::front::FrontUpdate;
use becket_check::{HookFile, NamedFile};
use becket_events::OperationKind;
use becket_hooks::{HookEnvironment, Section};
use becket_host::{
    AGENT, AGENT_FILE, AgentFile, DeclaredServer, DeclaredServers, ForeignCli, Found, FoundGuest,
    GuestOptions, GuestSearch, Guests, Host, HostOption, KnownTools, Loading, NoGuests, OptionValue, Reached,
    Report, RuleReading, ServerDeclaration, Stage,
};
use becket_providers::ProviderSettings;
use becket_system::{CliError, Surroundings, Variables};
use becket_tools::facts::GitFacts;
use futures_util::future::BoxFuture;

use crate::check;
use crate::command_line::CLI;
use crate::event_commands::{EventCommand, EventCommands};
use crate::file::{McpReach, Permissions, Safety};
use crate::found::{DockerAgentConfig, Sources};
use crate::hook::{HookEntry, Owner};
use crate::model_judge::ModelJudge;
use crate::permissions::{OtherTools, idle_matcher};
use crate::program_builtins::{GIT_DEADLINE, ProgramBuiltins};
use crate::rows::register;
use crate::rules::ForeignRules;
use crate::run::HookHost;
use crate::run_options::{
    CONFIG_DIR, SAFETY, WORKING_DIR, WORKTREE, WORKTREE_BASE, WORKTREE_BRANCH, WORKTREE_SOURCE,
};
use crate::sources::{HOOK_FILE, HookFlag, is_drop_in, is_hcl};
use crate::team::{AgentFileChoice, TeamFile, TeamServer, from_home};
use crate::tools::profile;
use crate::worktree::{self, Worktree};

/// The option for commands that are started for the run's events.
const ON_EVENT: &str = "on-event";

/// The options about how an agent file is run.
const OWN_OPTIONS: &[(&str, OptionValue, &str)] = &[
    (
        WORKING_DIR,
        OptionValue::OnePath("FOLDER"),
        "Work in this folder instead of the current one",
    ),
    (
        WORKTREE,
        OptionValue::Text("NAME"),
        "Work in a new git worktree of this name, on a branch `worktree-NAME`; `auto` makes up a name. Hooks of \
         `worktree_create` run in it first, and the worktree stays after the run",
    ),
    (
        WORKTREE_BASE,
        OptionValue::Text("COMMIT"),
        "The commit that the worktree starts from; default: the current one",
    ),
    (
        SAFETY,
        OptionValue::Text("MODE"),
        "When to ask while an agent file runs: `strict` asks about every call, `restricted` refuses calls that need \
         approval",
    ),
    (
        CONFIG_DIR,
        OptionValue::OnePath("FOLDER"),
        "docker-agent's configuration folder",
    ),
];

/// Finds docker-agent's hooks, and the agent file that is run.
pub struct DockerAgentHost;

impl Host for DockerAgentHost {
    fn kind(&self) -> &'static str {
        "hook"
    }

    fn sections(&self) -> &'static [Section] {
        const { &[Section::of::<DockerAgentConfig>()] }
    }

    fn options(&self) -> Vec<HostOption> {
        let on_event = HostOption {
            name: ON_EVENT.into(),
            value: OptionValue::Text("TYPE=COMMAND"),
            help: "A shell command for each runtime event of a type, which it reads as JSON; `*` for all types. It \
                cannot change anything, and the run waits for it only at its end. May be given several times"
                .into(),
            is_rare: true,
            ..HostOption::default()
        };
        let hooks = HookFlag::all().into_iter().map(|flag| HostOption {
            help: format!(
                "A shell command for docker-agent's event {}{}; may be given several times",
                flag.event,
                if flag.is_about_tools {
                    ", for all tools"
                } else {
                    ""
                }
            )
            .into(),
            name: flag.name.into(),
            value: OptionValue::Command,
            heading: Some("docker-agent's hooks"),
            is_rare: true,
            ..HostOption::default()
        });
        let own = OWN_OPTIONS.iter().map(|(name, value, help)| HostOption {
            name: (*name).into(),
            value: *value,
            help: (*help).into(),
            heading: Some("Agent files"),
            is_rare: true,
            ..HostOption::default()
        });
        std::iter::once(on_event).chain(own).chain(hooks).collect()
    }

    fn foreign_cli(&self) -> Option<&'static ForeignCli> {
        Some(&CLI)
    }

    fn working_directory(
        &self,
        options: &mut GuestOptions,
        surroundings: &Surroundings,
    ) -> Result<Option<PathBuf>, CliError> {
        let chosen = options
            .path(WORKING_DIR)
            .map(|folder| surroundings.cwd.join(folder));
        let directory = chosen.as_deref().unwrap_or(&surroundings.cwd);
        if !becket_fs::is_dir(directory) {
            return Err(CliError::usage(format!(
                "{} is not a folder to work in",
                directory.display()
            )));
        }
        let Some(made) = worktree::make(options, directory, surroundings)? else {
            return Ok(chosen);
        };
        options.add(WORKTREE_BRANCH, &made.branch);
        options.add(WORKTREE_SOURCE, made.source);
        Ok(Some(made.folder))
    }

    fn unlisted_options(&self) -> &'static [&'static str] {
        &[AGENT_FILE, AGENT, HOOK_FILE, WORKTREE_BRANCH, WORKTREE_SOURCE]
    }

    fn check_files(&self, place: &GuestSearch<'_>) -> Result<Vec<HookFile>, CliError> {
        check::files(place)
    }

    fn check_file(&self, file: &NamedFile<'_>) -> Option<HookFile> {
        check::file(file)
    }

    fn survey(&self, file: &Path, place: &GuestSearch<'_>) -> Option<Result<Vec<String>, CliError>> {
        let begins = match is_hcl(file) {
            true => "agent \"",
            false if is_drop_in(file) => "agents:",
            false => return None,
        };
        let text = becket_fs::read_to_string(place.surroundings.cwd.join(file)).ok()?;
        // A whole file in braces, as JSON, has the key anywhere.
        let is_flow = text.trim_start().starts_with('{') && text.contains("agents");
        let has_agents = is_flow || text.lines().any(|line| line.starts_with(begins));
        has_agents.then(|| survey(file, place))
    }

    fn find(&self, place: &GuestSearch<'_>) -> Result<Box<dyn Found>, CliError> {
        let GuestSearch {
            options,
            surroundings,
            ..
        } = *place;
        let config: DockerAgentConfig = place.section()?;
        let sources = Sources::find((&config, options), place.folders, surroundings)?;
        let (mut hooks, permissions) = sources.read()?;
        for file in options.paths(HOOK_FILE) {
            hooks.extend(Sources::read_file(&file)?);
        }
        for flag in HookFlag::all() {
            let commands = options.texts(&flag.name).into_iter();
            hooks.extend(commands.map(|command| flag.entry(&command)));
        }
        let commands = options.texts(ON_EVENT).into_iter();
        let commands = commands.map(|given| EventCommand::read(&given));
        let safety = safety_of(options)?;
        let team = options.path(AGENT_FILE).map(|file| {
            let agent = options.texts(AGENT).pop();
            TeamFile::read(
                &AgentFileChoice { file, agent, safety },
                config.mcp_gateway.is_some(),
                place.operation_called,
                surroundings,
            )
        });
        Ok(Box::new(FoundHooks {
            hooks,
            permissions: sources.settings.map(|file| (file, permissions)),
            commands: commands.collect::<Result<_, CliError>>()?,
            team: team.transpose()?.map(Arc::new),
            gateway: config.mcp_gateway.unwrap_or_default(),
            worktree: options.texts(WORKTREE_BRANCH).pop().map(|branch| Worktree {
                folder: surroundings.cwd.clone(),
                branch,
                source: options.path(WORKTREE_SOURCE).unwrap_or_default(),
            }),
            operation_called: place.operation_called,
        }))
    }
}

/// How much is asked, if the command line says so. It would restrict nothing where no agent file is run.
fn safety_of(options: &GuestOptions) -> Result<Option<Safety>, CliError> {
    let Some(mode) = options.texts(SAFETY).pop() else {
        return Ok(None);
    };
    if !options.has(AGENT_FILE) {
        let what = format!("`--{SAFETY}` is for agent files");
        return Err(CliError::usage(what)
            .hint("run one, as in `becket run agent.yaml`, or set `ask` in the settings"));
    }
    match mode.as_str() {
        "strict" => Ok(Some(Safety::Strict)),
        "restricted" => Ok(Some(Safety::Restricted)),
        other => {
            let what =
                format!("there is no safety mode `{other}` to choose; there are strict and restricted");
            Err(CliError::usage(what))
        }
    }
}

/// Reads an agent file as a run would, as far as that needs no model and no server. Returns the remarks on it.
fn survey(file: &Path, place: &GuestSearch<'_>) -> Result<Vec<String>, CliError> {
    let config: DockerAgentConfig = place.section()?;
    let choice = AgentFileChoice {
        file: file.into(),
        agent: None,
        safety: None,
    };
    let has_gateway = config.mcp_gateway.is_some();
    let team = TeamFile::read(&choice, has_gateway, place.operation_called, place.surroundings)?;
    team.check(place.surroundings)?;
    let home = place.surroundings.variable("HOME").map(PathBuf::from);
    let rules = ForeignRules {
        file,
        home: home.as_deref(),
        profile: &profile(),
    };
    rules.add(Rules::default(), &team.file.permissions)?;
    let scripts: Vec<&str> = team.scripts().collect();
    let mut remarks = team.file.remarks.clone();
    remarks.extend(team.idle_rules(&scripts));
    Ok(remarks)
}

/// The hooks that were found, and the agent file.
struct FoundHooks {
    /// Hooks for every agent: of the user's settings, `hooks.d`, the command line.
    hooks: Vec<HookEntry>,
    /// The user's docker-agent settings file, and the rules in it.
    permissions: Option<(PathBuf, Permissions)>,
    /// Commands that are started for the run's events.
    commands: Vec<EventCommand>,
    /// The agent file that is run.
    team: Option<Arc<TeamFile>>,
    /// The command that runs servers of Docker's catalogue; empty if there is none.
    gateway: Vec<String>,
    /// The worktree that was made for the run.
    worktree: Option<Worktree>,
    /// The operation that some system means by the name of a tool.
    operation_called: fn(&str) -> Option<OperationKind>,
}

impl FoundHooks {
    /// All hooks: those of the agent file, then those for every agent.
    fn all_hooks(&self) -> impl Iterator<Item = &HookEntry> {
        let of_agents = self.team.iter().flat_map(|team| team.members());
        of_agents.flat_map(|(agent, _)| &agent.hooks).chain(&self.hooks)
    }
}

impl Found for FoundHooks {
    fn guests(&self) -> Vec<FoundGuest> {
        self.all_hooks()
            .map(|hook| FoundGuest {
                name: hook.shown_name(),
                file: PathBuf::from(&hook.source),
                is_trusted: true,
            })
            .collect()
    }

    fn remarks(&self) -> Vec<String> {
        self.team
            .iter()
            .flat_map(|team| team.file.remarks.clone())
            .collect()
    }

    fn key_variables(&self) -> Vec<String> {
        let keys = self.team.iter().flat_map(|team| team.key_variables());
        keys.map(ToOwned::to_owned).collect()
    }

    fn servers(&self, place: &GuestSearch<'_>) -> DeclaredServers {
        let Some(team) = &self.team else {
            return DeclaredServers::default();
        };
        let servers = team.servers().iter();
        DeclaredServers {
            servers: servers
                .map(|server| declared(server, team, &self.gateway, place.surroundings))
                .collect(),
            only_these: true,
        }
    }

    fn agent_file(&self) -> Option<Arc<dyn AgentFile>> {
        let team = self.team.as_ref()?;
        Some(Arc::clone(team) as Arc<dyn AgentFile>)
    }

    fn add_rules(&self, rules: Rules, reading: &RuleReading<'_>) -> Result<Rules, CliError> {
        self.team.iter().try_for_each(|team| team.check_rules())?;
        let of_team = self
            .team
            .iter()
            .map(|team| (&team.file.path, &team.file.permissions));
        let of_user = self.permissions.iter().map(|(file, rules)| (file, rules));
        of_team.chain(of_user).try_fold(rules, |rules, (file, foreign)| {
            let reader = ForeignRules {
                file,
                home: reading.home,
                profile: reading.profile,
            };
            Ok(reader.add(rules, foreign)?)
        })
    }

    fn idle(&self, tools: &KnownTools<'_>) -> Vec<String> {
        let rules = self.team.iter().flat_map(|team| team.idle_rules(tools.brought));
        let others = [tools.brought, tools.own].concat();
        let others = OtherTools {
            names: &others,
            elsewhere: self.operation_called,
        };
        let hooks = self.all_hooks().filter_map(|hook| idle_matcher(hook, others));
        rules.chain(hooks).collect()
    }

    fn load<'a>(&'a self, loading: &'a Loading<'a>) -> BoxFuture<'a, Result<Arc<dyn Guests>, CliError>> {
        if self.hooks.is_empty() && self.commands.is_empty() && self.team.is_none() {
            return Box::pin(async { Ok(Arc::new(NoGuests) as Arc<dyn Guests>) });
        }
        let surroundings = loading.place.surroundings;
        let builtins = ProgramBuiltins {
            git: GitFacts {
                environment: loading.environment.variables.as_ref().clone(),
                deadline: GIT_DEADLINE,
            },
            home: surroundings.variable("HOME").map(PathBuf::from),
            user: surroundings.variable("USER"),
            urls: loading.urls.clone(),
            keeper: loading.keeper.clone(),
            unload: self
                .team
                .iter()
                .flat_map(|team| team.unload_addresses())
                .collect(),
        };
        let guests = HookGuests {
            hooks: self.hooks.clone(),
            team: self.team.clone(),
            commands: self.commands.clone(),
            builtins: Arc::new(builtins),
            environment: HookEnvironment::clone(loading.environment),
            providers: loading.providers.clone(),
            surroundings: surroundings.clone(),
            safety_policy: safety_policy(self.team.as_deref(), loading.program.answers_yes),
            running: Mutex::default(),
        };
        Box::pin(async move {
            if let Some(worktree) = &self.worktree {
                let agent = self.team.as_ref().map(|team| team.first());
                let (name, of_agent) = agent.map_or(("", &[][..]), |agent| (&agent.name, &agent.hooks));
                let hooks = [of_agent, &self.hooks].concat();
                let lines = worktree.told_to(&hooks, name, loading.environment).await?;
                lines
                    .iter()
                    .for_each(|line| loading.person.front.show(FrontUpdate::Notice(line)));
            }
            Ok(Arc::new(guests) as Arc<dyn Guests>)
        })
    }
}

/// How much is asked before tools run, in docker-agent's words.
fn safety_policy(team: Option<&TeamFile>, answers_yes: bool) -> &'static str {
    match team.and_then(TeamFile::safety) {
        Some(Safety::Restricted) => "restricted",
        _ if answers_yes => "autonomous",
        Some(Safety::Strict) => "strict",
        None => "balanced",
    }
}

/// The declaration of a server of an agent file.
fn declared(
    server: &TeamServer,
    team: &TeamFile,
    gateway: &[String],
    surroundings: &Surroundings,
) -> ServerDeclaration {
    let variables = Variables::of(surroundings);
    let reached = reached(server, gateway, &variables, surroundings);
    let declared = reached.map(|reached| DeclaredServer {
        origin: team.file.path.display().to_string(),
        prefixes_tools: server.definition.name.is_some(),
        for_hooks: false,
        reached,
        call_timeout: None,
        secrets: variables.named(),
    });
    (server.name.clone(), declared)
}

fn reached(
    server: &TeamServer,
    gateway: &[String],
    variables: &Variables<'_>,
    surroundings: &Surroundings,
) -> Result<Reached, String> {
    Ok(match &server.definition.reach {
        McpReach::Program {
            command,
            args,
            env,
            working_dir,
        } => {
            let directory = match working_dir {
                Some(folder) => surroundings
                    .cwd
                    .join(from_home(&variables.expand(folder)?, surroundings)),
                None => surroundings.cwd.clone(),
            };
            let args = args.iter().map(|text| variables.expand(text));
            Reached::Program {
                command: variables.expand(command)?,
                args: args.collect::<Result<_, _>>()?,
                variables: variables.expand_values(env)?,
                folder: directory.clone(),
                directory,
            }
        }
        McpReach::Catalogue { server, env } => {
            let Some((command, args)) = gateway.split_first() else {
                return Err("no gateway is known: set `mcp_gateway` in [docker_agent]".into());
            };
            let own = ["--servers".to_owned(), server.clone()];
            Reached::Program {
                command: command.clone(),
                args: args.iter().cloned().chain(own).collect(),
                variables: variables.expand_values(env)?,
                folder: surroundings.cwd.clone(),
                directory: surroundings.cwd.clone(),
            }
        }
        McpReach::Web {
            url,
            headers,
            is_event_stream,
        } => Reached::Web {
            url: variables.expand(url)?,
            headers: variables.expand_values(headers)?,
            is_event_stream: *is_event_stream,
        },
    })
}

/// The hooks of a run.
struct HookGuests {
    hooks: Vec<HookEntry>,
    team: Option<Arc<TeamFile>>,
    commands: Vec<EventCommand>,
    builtins: Arc<ProgramBuiltins>,
    environment: HookEnvironment,
    providers: ProviderSettings,
    surroundings: Surroundings,
    /// How much is asked before tools run, in docker-agent's words.
    safety_policy: &'static str,
    /// The commands for events, once hooks are registered.
    running: Mutex<Option<EventCommands>>,
}

impl Guests for HookGuests {
    fn register(&self, stage: &Stage<'_>) -> Result<Vec<String>, CliError> {
        let models = Arc::clone(stage.models);
        let models = match &self.team {
            Some(team) => team.judges(models, self.providers.clone(), &self.surroundings),
            None => models,
        };
        let host = HookHost {
            shell: self.surroundings.variable("SHELL").map(PathBuf::from),
            environment: self.environment.clone(),
            directory: self.surroundings.cwd.clone(),
            builtins: self.builtins.clone(),
            safety_policy: self.safety_policy,
            judge: Arc::new(ModelJudge { models }),
        };
        let of_agents = self
            .team
            .iter()
            .flat_map(|team| team.register(stage.engine, &self.hooks, &host));
        if let Some(team) = &self.team {
            team.let_ask(Arc::clone(&stage.person.ui));
        }
        let mut remarks: Vec<String> = of_agents.collect();
        remarks.extend(register(stage.engine, &self.hooks, &Owner::Everybody, &host));
        let commands = EventCommands::new(
            &self.commands,
            &self.environment,
            &self.surroundings,
            stage.store.clone(),
        );
        commands.watch(stage.engine);
        *self.running.lock().expect(UNBROKEN) = Some(commands);
        Ok(remarks)
    }

    fn reports(&self) -> Vec<Report> {
        let of_agents = self.team.iter().flat_map(|team| team.members());
        let of_agents = of_agents.flat_map(|(agent, _)| &agent.hooks);
        let hooks = of_agents.chain(&self.hooks);
        let what = hooks.map(|hook| {
            let (event, source) = (hook.event, &hook.source);
            // A hook without a name is shown by its event and its place, which follow anyway.
            match &hook.name {
                Some(name) => format!("hook {name} on {event} ({source})"),
                None => format!("hook on {event} ({source})"),
            }
        });
        what.map(|what| Report::new(what, None)).collect()
    }

    fn tool_names(&self) -> Vec<String> {
        let scripts = self.team.iter().flat_map(|team| team.scripts());
        scripts.map(ToOwned::to_owned).collect()
    }

    fn may_still_bring(&self, _: &str) -> bool {
        self.team.is_some()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        let running = self.running.lock().expect(UNBROKEN).take();
        Box::pin(async move {
            if let Some(commands) = running {
                commands.close().await;
            }
        })
    }
}

const UNBROKEN: &str = "no panic happens while it is held";
