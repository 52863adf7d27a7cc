//! A team of agents, as an agent file describes it: its members, with their models, tools and rules.
//!
//! `TeamFile` is the file and the agent that the user talks to. The program's `assemble.rs` asks it for everything that
//! an agent needs: instructions, a provider, tools.
//!
//! An agent of a file has the tools of its toolsets and nothing else, and neither `AGENTS.md` nor becket's notes. The
//! user's hooks and rules and the hooks of plugins stay: they protect the user.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_agent::provider::{Provider, RequestOptions};
use becket_agent::team::Member;
use becket_agent::tool::Tool;
use becket_events::{OperationKind, Profile};
use becket_hooks::{Engine, nearest};
use becket_host::{AgentCommands, AgentResources, CommandPrompt, Ui};
use becket_providers::{Api, KEY_VARIABLES, ProviderSettings, Secret, SelectError, select};
use becket_system::{CliError, Surroundings};
use becket_tools::facts::GitFacts;
use becket_tools::{
    Models, Script, ToolSettings, memory_tools, operation_tools, script_tools, team_tools, todo_tools,
};

use crate::budget;
use crate::command_text::with_short_names;
use crate::fence::{self, Bases};
use crate::hook::HookEntry;
use crate::models_in_turn::ModelsInTurn;
use crate::program_builtins::GIT_DEADLINE;
use crate::rows::register_beside;
use crate::tools::may_change;
use crate::toolsets::{ToolsetHost, UserAccess, open_url_tool, toolset};
use crate::{
    AgentDefinition, AgentFile, CommandDefinition, HookHost, Interface, McpDefinition, McpReach, MissingTool,
    ModelDefinition, OtherTools, Owner, Safety, Sampling, ScriptDefinition, Toolset, ToolsetKind,
    command_prompt, missing_tool, profile, toolset_tools, with_variables,
};

/// The longest agent file that is read.
const LONGEST_FILE: u64 = 4 * 1024 * 1024;

/// The tools of an agent.
type Tools = Vec<Arc<dyn Tool>>;

/// The advice for a run without a key.
const REHEARSAL: &str = "`--model rehearsal` works without a key";

/// The agent file to run, and the agent in it that the user talks to.
#[derive(Debug, Clone)]
pub struct AgentFileChoice {
    /// The file.
    pub file: PathBuf,
    /// The agent, if it is not the file's default agent.
    pub agent: Option<String>,
    /// How much is asked, if the user wants more questions than the file.
    pub safety: Option<Safety>,
}

/// An agent file that is run.
pub struct TeamFile {
    /// The file.
    pub file: AgentFile,
    /// The agents that can take part, as positions in the file with their distances: the one that the user talks to,
    /// then those that it can reach.
    members: Vec<(usize, usize)>,
    servers: Vec<TeamServer>,
    /// The operation that other systems mean by the name of a tool.
    elsewhere: fn(&str) -> Option<OperationKind>,
    /// How tools reach the user.
    user: UserAccess,
    /// How much is asked, if the user wants more questions than the file.
    safety: Option<Safety>,
}

/// An MCP server of a team.
pub struct TeamServer {
    /// The server's name.
    pub name: String,
    /// How the server is reached.
    pub definition: McpDefinition,
}

/// The text of an agent file. A pipe could block forever, and a device has no end.
fn text_of(path: &Path) -> io::Result<String> {
    let about = becket_fs::metadata(path)?;
    if about.is_file() && about.len() > LONGEST_FILE {
        let told = format!(
            "it has {} bytes, and at most {LONGEST_FILE} are read",
            about.len()
        );
        return Err(io::Error::other(told));
    }
    if !about.is_file() && !about.is_dir() {
        return Err(io::Error::other("it is no regular file"));
    }
    becket_fs::read_to_string(path)
}

impl TeamFile {
    /// Reads the file, and finds the agents that can take part. Servers of Docker's catalogue need a gateway.
    pub fn read(
        choice: &AgentFileChoice,
        has_gateway: bool,
        elsewhere: fn(&str) -> Option<OperationKind>,
        surroundings: &Surroundings,
    ) -> Result<Self, CliError> {
        let path = surroundings.cwd.join(&choice.file);
        let text = text_of(&path).map_err(|error| unreadable(&choice.file, &path, &error))?;
        let mut file = AgentFile::read(&text, &choice.file)?;
        if !has_gateway {
            leave_out_catalogue(&mut file);
        }
        let first = match &choice.agent {
            None => file.default_agent(),
            Some(name) => file.agent(name).ok_or_else(|| no_agent(&file, name))?,
        };
        let members = reachable(&file, first);
        let servers = servers(members.iter().map(|(index, _)| &file.agents[*index]));
        let team = Self {
            members,
            servers,
            file,
            elsewhere,
            user: UserAccess::default(),
            safety: choice.safety,
        };
        surroundings.hide_keys(team.key_variables());
        Ok(team.asking_enough())
    }

    /// The same file, with a rule to ask about every call if it wants that.
    fn asking_enough(mut self) -> Self {
        if self.safety() == Some(Safety::Strict) {
            let line = self.first().line;
            self.file.permissions.ask.push(("*".to_owned(), line));
        }
        self
    }

    /// The addresses that unload models, by provider, as far as the file names them.
    pub fn unload_addresses(&self) -> impl Iterator<Item = (String, String)> {
        let models = self.file.agents.iter().filter_map(|agent| agent.model.as_ref());
        let named = models.filter_map(|model| Some((model.provider.clone(), model.unload_api.clone()?)));
        named.collect::<Vec<_>>().into_iter()
    }

    fn other_tools<'a>(&self, names: &'a [&'a str]) -> OtherTools<'a> {
        OtherTools {
            names,
            elsewhere: self.elsewhere,
        }
    }

    /// The agent that the user talks to.
    pub fn first(&self) -> &AgentDefinition {
        &self.file.agents[self.members[0].0]
    }

    /// The agents that can take part, the first of them first, each with its distance from that one.
    pub fn members(&self) -> impl Iterator<Item = (&AgentDefinition, usize)> {
        let members = self.members.iter();
        members.map(|(index, depth)| (&self.file.agents[*index], *depth))
    }

    /// The MCP servers of all agents that can take part.
    pub fn servers(&self) -> &[TeamServer] {
        &self.servers
    }

    /// The variables in which the file looks for keys, and those of all providers that agent files know.
    pub fn key_variables(&self) -> impl Iterator<Item = &str> {
        let models = self.file.agents.iter().filter_map(|agent| agent.model.as_ref());
        let models = models.chain(self.file.models.values());
        let models = models.flat_map(|model| [model].into_iter().chain(&model.in_turn).chain(&model.instead));
        let keys: Vec<&str> = models.filter_map(|model| model.token_key.as_deref()).collect();
        keys.into_iter().chain(crate::provider_keys())
    }

    /// The agents that can take part, ready to work, and remarks for the user about them.
    fn members_with(&self, with: &AgentResources<'_>) -> Result<(Vec<Member>, Vec<String>), CliError> {
        let (mut members, mut remarks) = (Vec::new(), Vec::new());
        for (agent, _) in self.members() {
            let (mut tools, not_offered) = self.tools(agent, with)?;
            tools.extend(team_tools(&profile(), &agent.sub_agents, &agent.handoffs));
            remarks.extend(not_offered);
            let mut options = request_options(agent);
            if self.speaks_anthropic(agent, with.model) {
                // That interface forces answers by a call, and the agent could make no other ones. Its instruction
                // tells the form.
                options.answer_schema = None;
            }
            members.push(Member {
                name: agent.name.clone(),
                description: agent.description.clone(),
                instructions: self.instructions(agent, with.surroundings)?,
                provider: self.provider_with(agent, with)?,
                options: options.or(with.request),
                tools,
                max_iterations: with.max_iterations.or(agent.max_iterations),
                max_identical_rounds: agent.max_identical_rounds,
                sub_agents: agent.sub_agents.clone(),
                handoffs: agent.handoffs.clone(),
                successor: agent.force_handoff.clone(),
            });
        }
        Ok((members, remarks))
    }

    /// The provider of an agent. A model for all agents is shared, so that a rehearsal's script continues across
    /// agents; so is that of the first one, with agents that name none.
    fn provider_with(
        &self,
        agent: &AgentDefinition,
        with: &AgentResources<'_>,
    ) -> Result<Arc<dyn Provider>, CliError> {
        let first = self.first();
        let shares = agent.name == first.name || (agent.model.is_none() && first.model.is_some());
        match with.model.is_some() || shares {
            true => Ok(Arc::clone(with.provider)),
            false => self.provider_of(agent, with.model, with.providers, with.surroundings),
        }
    }

    /// Whether the model of an agent is asked by Anthropic's interface.
    fn speaks_anthropic(&self, agent: &AgentDefinition, chosen: Option<&str>) -> bool {
        match (chosen, &agent.model) {
            (Some(chosen), _) => chosen.starts_with("anthropic/") || chosen.starts_with("claude-"),
            (None, Some(model)) => {
                model.interface == Some(Interface::Anthropic) || model.provider == "anthropic"
            }
            (None, None) => true,
        }
    }

    /// The system prompt of an agent: its instruction, and those of its toolsets.
    fn instructions(&self, agent: &AgentDefinition, surroundings: &Surroundings) -> Result<String, CliError> {
        let of_tools = agent.toolsets.iter().filter_map(|set| set.instruction.as_deref());
        // becket's tools have no instructions beside their descriptions.
        let of_tools = of_tools.map(|text| text.replace("{ORIGINAL_INSTRUCTIONS}", ""));
        let own = std::iter::once(agent.instruction.clone());
        let texts = own.chain(of_tools).map(|text| text.trim().to_owned());
        let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
        self.filled(&texts.join("\n\n"), surroundings)
            .map_err(|error| self.fault(agent, &error))
    }

    /// A text of the file with its variables replaced. Variables that hold keys are an error, since the model would see
    /// them.
    pub fn filled(&self, text: &str, surroundings: &Surroundings) -> Result<String, String> {
        let is_key =
            |name: &str| KEY_VARIABLES.contains(&name) || self.key_variables().any(|key| key == name);
        with_variables(text, &|name| match is_key(name) {
            true => Err(format!(
                "`${{env.{name}}}` would tell the model a key; leave it out"
            )),
            false => Ok(surroundings.variable(name)),
        })
    }

    /// An error about an agent of the file.
    fn fault(&self, agent: &AgentDefinition, what: &str) -> CliError {
        let (file, line) = (self.file.path.display(), agent.line);
        CliError::usage(format!("{file}:{line}: the agent {}: {what}", agent.name))
    }

    /// The provider of an agent. A model that the command line names is used for all agents.
    fn provider_of(
        &self,
        agent: &AgentDefinition,
        chosen: Option<&str>,
        settings: &ProviderSettings,
        surroundings: &Surroundings,
    ) -> Result<Arc<dyn Provider>, CliError> {
        let environment = |name: &str| surroundings.variable(name);
        if let (Some(_), _) | (None, None) = (chosen, &agent.model) {
            return select(chosen, &environment, settings)
                .map_err(|error| CliError::usage(error.to_string()).hint(REHEARSAL));
        }
        let Some(model) = &agent.model else {
            unreachable!("an agent without a model was served above");
        };
        self.available(model, settings, surroundings)
    }

    /// The provider of a model, or of the models that answer in turn; if it has no key, of the first one that stands in
    /// its place and has one.
    fn available(
        &self,
        model: &ModelDefinition,
        settings: &ProviderSettings,
        surroundings: &Surroundings,
    ) -> Result<Arc<dyn Provider>, CliError> {
        if model.in_turn.is_empty() {
            let first = self.connect(model, settings, surroundings);
            let mut others = model.instead.iter();
            return first.or_else(|error| {
                let found = others.find_map(|model| self.connect(model, settings, surroundings).ok());
                found.ok_or(error)
            });
        }
        let models = [model].into_iter().chain(&model.in_turn);
        let models = models.map(|model| {
            let alone = ModelDefinition {
                in_turn: Vec::new(),
                ..model.clone()
            };
            let provider = self.available(&alone, settings, surroundings)?;
            Ok((provider, sampling_options(&model.sampling)))
        });
        let models = models.collect::<Result<Vec<_>, CliError>>()?;
        Ok(Arc::new(ModelsInTurn::new(models)))
    }

    /// The provider of a model of the file.
    fn connect(
        &self,
        model: &ModelDefinition,
        settings: &ProviderSettings,
        surroundings: &Surroundings,
    ) -> Result<Arc<dyn Provider>, CliError> {
        let environment = |name: &str| surroundings.variable(name);
        let place = format!("{}:{}", self.file.path.display(), model.line);
        if let Some(variable) = model
            .token_key
            .as_deref()
            .filter(|name| environment(name).is_none())
        {
            let message = format!(
                "{place}: {}/{} needs a key, and the variable {variable} is not set",
                model.provider, model.model
            );
            return Err(CliError::usage(message).hint(format!("set {variable}; {REHEARSAL}")));
        }
        let name = format!("{}/{}", model.provider, model.model);
        let mut settings = with_provider(settings, model, &|text| self.filled(text, surroundings))
            .map_err(|error| CliError::usage(format!("{place}: {error}")))?;
        if let Some(price) = model.price {
            settings.prices = settings.prices.or(name.clone(), price);
            let budget = settings.budget.as_ref();
            settings.budget = budget.map(|budget| budget.priced(settings.prices.pricing()));
        }
        select(Some(&name), &environment, &settings)
            .map_err(|error| CliError::usage(format!("{place}: {error}")).hint(REHEARSAL))
    }

    /// Checks the rules for tools that certainly do not exist: such a rule may be a misspelt deny.
    pub fn check_rules(&self) -> Result<(), CliError> {
        let scripts: Vec<&str> = self.scripts().collect();
        let mut sure = self.rules().filter_map(|(text, line)| {
            let missing =
                missing_tool(text, self.other_tools(&scripts)).filter(|missing| self.is_sure(missing))?;
            let (file, MissingTool { message, advice, .. }) = (self.file.path.display(), missing);
            Some(format!("{file}:{line}: the rule `{text}`: {message}{advice}"))
        });
        sure.next()
            .map_or(Ok(()), |message| Err(CliError::usage(message)))
    }

    /// Checks everything that would end a run before a model is asked, except for keys that are missing.
    pub fn check(&self, surroundings: &Surroundings) -> Result<(), CliError> {
        self.check_rules()?;
        let has_key = |_: &str| Some("key".to_owned());
        for (agent, _) in self.members() {
            self.instructions(agent, surroundings)?;
            let model = agent.model.as_ref();
            let models = model
                .into_iter()
                .flat_map(|model| [model].into_iter().chain(&model.in_turn));
            for model in models {
                let any = [model].into_iter().chain(&model.instead).any(|model| {
                    let settings =
                        with_provider(&ProviderSettings::default(), model, &|text| Ok(text.to_owned()));
                    let name = format!("{}/{}", model.provider, model.model);
                    settings.is_ok_and(|settings| !is_unknown(&select(Some(&name), &has_key, &settings)))
                });
                if !any {
                    let what = format!("models of `{}` are not served", model.provider);
                    return Err(self.fault(agent, &what));
                }
            }
        }
        TeamCommands::of(self, surroundings).map(|_| ())
    }

    fn rules(&self) -> impl Iterator<Item = &(String, usize)> {
        let lists = &self.file.permissions;
        lists.deny.iter().chain(&lists.allow).chain(&lists.ask)
    }

    /// The names of the tools that the file gives names to: its scripts, and those that open an address.
    pub fn scripts(&self) -> impl Iterator<Item = &str> {
        self.toolsets().flat_map(|set| match &set.kind {
            ToolsetKind::Script(scripts) => scripts.iter().map(|script| script.name.as_str()).collect(),
            ToolsetKind::OpenUrl { name, .. } => vec![name.as_str()],
            _ => Vec::new(),
        })
    }

    fn toolsets(&self) -> impl Iterator<Item = &Toolset> {
        self.file.agents.iter().flat_map(|agent| &agent.toolsets)
    }

    /// Whether a tool certainly does not exist. The tools of servers are known only when they run, and a pattern may be
    /// meant for tools that come later.
    fn is_sure(&self, missing: &MissingTool) -> bool {
        let has_servers = self.toolsets().any(|set| matches!(set.kind, ToolsetKind::Mcp(_)));
        missing.is_exact && !has_servers && !self.file.lacks_toolsets
    }

    /// How much is asked, if the file wants more questions than usual.
    pub fn safety(&self) -> Option<Safety> {
        // A mode that refuses is stricter than one that asks.
        let modes = [self.safety, self.first().safety.or(self.file.safety)];
        modes.into_iter().flatten().max()
    }

    /// Lets tools ask the user, from now on.
    pub fn let_ask(&self, ui: Arc<dyn Ui>) {
        let _ = self.user.set(ui);
    }

    /// Remarks about rules for tools that do not exist, but might.
    pub fn idle_rules(&self, others: &[&str]) -> Vec<String> {
        let idle = self.rules().filter_map(|(text, line)| {
            let missing =
                missing_tool(text, self.other_tools(others)).filter(|missing| !self.is_sure(missing))?;
            let (file, message) = (self.file.path.display(), missing.message);
            Some(format!(
                "{file}:{line}: the rule `{text}` never matches: {message}"
            ))
        });
        idle.collect()
    }

    /// The tools of an agent, and remarks for the user about them.
    fn tools(
        &self,
        agent: &AgentDefinition,
        with: &AgentResources<'_>,
    ) -> Result<(Tools, Vec<String>), CliError> {
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        let mut remarks = Vec::new();
        for set in &agent.toolsets {
            let offered = self.tools_of_set(agent, set, with)?;
            let offered = offered.into_iter();
            let is_guest = !matches!(set.kind, ToolsetKind::Builtin { .. });
            let only_looks = |tool: &Arc<dyn Tool>| {
                let changes = !is_guest && may_change(&tool.spec().face.name);
                tool.spec().read_only && !changes
            };
            for tool in offered.filter(|tool| !set.readonly || only_looks(tool)) {
                let name = &tool.spec().face.name;
                let taken = tools.iter().any(|other| other.spec().face.name == *name);
                let is_refused = taken || (is_guest && is_reserved(name));
                if !is_refused {
                    tools.push(tool);
                } else if is_guest {
                    let (file, line) = (self.file.path.display(), set.line);
                    remarks.push(format!(
                        "{file}:{line}: the tool {name} is not offered to {}: there is another of that name",
                        agent.name
                    ));
                }
            }
        }
        Ok((tools, remarks))
    }

    fn tools_of_set(
        &self,
        agent: &AgentDefinition,
        set: &Toolset,
        with: &AgentResources<'_>,
    ) -> Result<Vec<Arc<dyn Tool>>, CliError> {
        let chosen = |name: &str| match &set.tools {
            Some(names) => names.iter().any(|wanted| wanted == name),
            None => true,
        };
        Ok(match &set.kind {
            ToolsetKind::Builtin {
                name,
                env,
                timeout,
                path,
            } => {
                let known = toolset_tools(name).unwrap_or_default();
                let env = self.filled_values(env, with.surroundings)?;
                let settings = with_toolset(with.tools.clone(), &env, *timeout);
                let own = path.as_ref().map(|path| {
                    self.folder(with.surroundings)
                        .join(from_home(path, with.surroundings))
                });
                let further = toolset(name, &self.toolset_host(agent, own.as_deref(), with));
                let memories = own.unwrap_or_else(|| with.memories.to_path_buf());
                let tools = operation_tools(&profile(), settings).into_iter();
                let tools = tools.chain(todo_tools(&profile(), with.contexts));
                let tools = tools.chain(memory_tools(&profile(), &memories)).chain(further);
                let wanted = |name: &str| known.contains(&name) && chosen(name);
                tools.filter(|tool| wanted(&tool.spec().face.name)).collect()
            }
            ToolsetKind::Script(scripts) => {
                let fault =
                    |error| CliError::usage(format!("{}:{}: {error}", self.file.path.display(), set.line));
                let scripts = scripts.iter().filter(|script| chosen(&script.name));
                let scripts = scripts.map(|script| self.script(script, with.surroundings));
                let scripts = scripts.collect::<Result<Vec<_>, _>>().map_err(fault)?;
                script_tools(&profile(), with.tools, scripts).map_err(fault)?
            }
            ToolsetKind::OpenUrl { name, url } => {
                let fault =
                    |error| CliError::usage(format!("{}:{}: {error}", self.file.path.display(), set.line));
                let url = self.filled(url, with.surroundings).map_err(fault)?;
                let environment = with.tools.environment.clone().into_iter().collect();
                let tool = open_url_tool(name, &url, environment).map_err(fault)?;
                [tool].into_iter().filter(|_| chosen(name)).collect()
            }
            ToolsetKind::Mcp(definition) => {
                let server = self
                    .servers
                    .iter()
                    .find(|server| server.definition == *definition);
                let tools = server.map(|server| (with.server_tools)(&server.name));
                let tools = tools.into_iter().flatten();
                let wanted = tools.filter(|(name, _)| chosen(name));
                wanted.map(|(_, tool)| tool).collect()
            }
        })
    }
}

impl TeamFile {
    /// What the tools of an agent's toolset use; `file` is where they keep their data, if the toolset says so.
    fn toolset_host<'a>(
        &self,
        agent: &'a AgentDefinition,
        file: Option<&Path>,
        with: &AgentResources<'a>,
    ) -> ToolsetHost<'a> {
        let tasks = || self.folder(with.surroundings).join("tasks.json");
        ToolsetHost {
            tasks: file.map_or_else(tasks, Path::to_path_buf),
            plans: with.memories.with_file_name("plans"),
            git: GitFacts {
                environment: with.tools.environment.clone(),
                deadline: GIT_DEADLINE,
            },
            directory: &with.surroundings.cwd,
            user: Arc::clone(&self.user),
            sub_agents: &agent.sub_agents,
        }
    }

    /// The folder of the file.
    fn folder(&self, surroundings: &Surroundings) -> PathBuf {
        let folder = self.file.path.parent().unwrap_or(Path::new(""));
        surroundings.cwd.join(folder)
    }

    /// A script of the file as a tool.
    fn script(&self, script: &ScriptDefinition, surroundings: &Surroundings) -> Result<Script, String> {
        let mut environment = BTreeMap::new();
        for (name, value) in &script.env {
            environment.insert(name.clone(), self.filled(value, surroundings)?);
        }
        let directory = script.working_dir.as_ref();
        Ok(Script {
            name: script.name.clone(),
            command: script.command.clone(),
            description: Some(script.description.clone()).filter(|text| !text.trim().is_empty()),
            arguments: script.arguments.clone(),
            required: Some(script.required.clone()),
            environment,
            directory: directory
                .map(|folder| self.filled(folder, surroundings))
                .transpose()?
                .map(|folder| from_home(&folder, surroundings)),
        })
    }

    /// Variables for programs, with references to the environment replaced.
    fn filled_values(
        &self,
        values: &BTreeMap<String, String>,
        surroundings: &Surroundings,
    ) -> Result<BTreeMap<String, String>, CliError> {
        let values = values.iter();
        let filled = values.map(|(name, value)| Ok((name.clone(), self.filled(value, surroundings)?)));
        filled
            .collect::<Result<_, String>>()
            .map_err(|error| CliError::usage(format!("{}: {error}", self.file.path.display())))
    }

    /// Registers the hooks of all agents that can take part, beside those of the user, which all agents have. Returns
    /// remarks about them.
    pub fn register(&self, engine: &Engine, users: &[HookEntry], host: &HookHost) -> Vec<String> {
        let mut remarks = Vec::new();
        for (agent, depth) in self.members() {
            let owner = Owner::Agent {
                name: agent.name.clone(),
                depth,
            };
            remarks.extend(register_beside(users, engine, &agent.hooks, &owner, host));
            let home = host.environment.variables.get(OsStr::new("HOME")).map(Path::new);
            let bases = Bases {
                directory: &host.directory,
                home,
            };
            fence::register(engine, agent, &self.file.path, bases);
        }
        budget::register(engine, &self.file);
        if self.safety() == Some(Safety::Restricted) {
            fence::refuse_questions(engine, &self.file.path);
        }
        remarks
    }

    /// Finds the models that hooks name: those of the file, and any other.
    pub fn judges(
        self: &Arc<Self>,
        models: Models,
        settings: ProviderSettings,
        surroundings: &Surroundings,
    ) -> Models {
        let (team, surroundings) = (Arc::clone(self), surroundings.clone());
        Arc::new(move |name| match team.file.models.get(name) {
            Some(model) => team
                .available(model, &settings, &surroundings)
                .map_err(|error| error.to_string()),
            None => models(name),
        })
    }
}

/// Whether one of becket's own tools has that name when an agent file is run.
fn is_reserved(name: &str) -> bool {
    let profile = profile();
    let faces = profile.faces.iter().map(|face| face.name);
    let plurals = profile.plurals.iter().map(|plural| plural.name);
    let mut all = faces.chain(plurals).chain(profile.extras.iter().copied());
    all.any(|other| other == name)
}

/// The prompts that the user can call by name, for each agent.
struct TeamCommands(BTreeMap<String, BTreeMap<String, CommandDefinition>>);

impl TeamCommands {
    /// The commands of a file, with their variables replaced.
    fn of(team: &TeamFile, surroundings: &Surroundings) -> Result<Self, CliError> {
        let mut all = BTreeMap::new();
        for (agent, _) in team.members() {
            let mut commands = agent.commands.clone();
            for (name, command) in &mut commands {
                let Some(text) = &command.instruction else {
                    continue;
                };
                let filled = team.filled(text, surroundings);
                let filled =
                    filled.map_err(|error| team.fault(agent, &format!("the command {name}: {error}")))?;
                command.instruction = Some(filled);
            }
            all.insert(agent.name.clone(), commands);
        }
        Ok(Self(all))
    }
}

impl AgentCommands for TeamCommands {
    fn call(&self, agent: &str, line: &str) -> Option<Result<CommandPrompt, String>> {
        let line = line.trim().strip_prefix('/')?;
        let (name, words) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let command = self.0.get(agent)?.get(name)?;
        let template = command.instruction.as_deref().unwrap_or_default();
        let prompt = match command_prompt(template, words.trim()) {
            Ok(pieces) => Ok(CommandPrompt {
                name: name.to_owned(),
                agent: command.agent.clone(),
                pieces,
            }),
            Err(error) => Err(format!("the command /{name}: {error}")),
        };
        Some(prompt)
    }

    fn names(&self, agent: &str) -> Vec<(String, String)> {
        let commands = self.0.get(agent).into_iter().flatten();
        let named = commands.map(|(name, command)| {
            let about = command.description.as_deref().or(command.instruction.as_deref());
            let about = about.unwrap_or_default().lines().next().unwrap_or_default();
            (format!("/{name}"), about.to_owned())
        });
        named.collect()
    }
}

impl becket_host::AgentFile for TeamFile {
    fn profile(&self) -> Profile {
        profile()
    }

    fn first_agent(&self) -> &str {
        &self.first().name
    }

    fn welcome_message(&self) -> Option<&str> {
        self.first().welcome_message.as_deref()
    }

    fn provider(
        &self,
        model: Option<&str>,
        providers: &ProviderSettings,
        surroundings: &Surroundings,
    ) -> Result<Arc<dyn Provider>, CliError> {
        self.provider_of(self.first(), model, providers, surroundings)
    }

    fn members(&self, resources: &AgentResources<'_>) -> Result<(Vec<Member>, Vec<String>), CliError> {
        self.members_with(resources)
    }

    fn commands(&self, surroundings: &Surroundings) -> Result<Box<dyn AgentCommands>, CliError> {
        Ok(Box::new(TeamCommands::of(self, surroundings)?))
    }
}

/// The request options of an agent's model. What the file leaves out stays unset, so that the user's settings count.
fn request_options(agent: &AgentDefinition) -> RequestOptions {
    let model = agent.model.as_ref();
    // Models that answer in turn have options of their own.
    let model = model.filter(|model| model.in_turn.is_empty());
    let sampling = model.map(|model| model.sampling).unwrap_or_default();
    RequestOptions {
        answer_schema: agent.answer_schema.clone(),
        ..sampling_options(&sampling)
    }
}

fn sampling_options(sampling: &Sampling) -> RequestOptions {
    RequestOptions {
        temperature: sampling.temperature,
        max_tokens: sampling.max_tokens,
        top_p: sampling.top_p,
        frequency_penalty: sampling.frequency_penalty,
        presence_penalty: sampling.presence_penalty,
        parallel_tool_calls: sampling.parallel_tool_calls,
        thinking: sampling.thinking,
        ..RequestOptions::default()
    }
}

/// A path with the user's home in the place of `~`.
pub fn from_home(path: &str, surroundings: &Surroundings) -> String {
    let rest = path
        .strip_prefix('~')
        .filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match (rest, surroundings.variable("HOME")) {
        (Some(rest), Some(home)) => format!("{home}{rest}"),
        _ => path.to_owned(),
    }
}

/// Leaves out the servers of Docker's catalogue, with a remark for each.
fn leave_out_catalogue(file: &mut AgentFile) {
    let path = file.path.display().to_string();
    for agent in &mut file.agents {
        agent.toolsets.retain(|set| {
            let ToolsetKind::Mcp(McpDefinition {
                reach: McpReach::Catalogue { server, .. },
                ..
            }) = &set.kind
            else {
                return true;
            };
            file.lacks_toolsets = true;
            file.remarks.push(format!(
                "{path}:{}: the server `{server}` of Docker's catalogue is left out, because no gateway is known: set \
                 `mcp_gateway` in [docker_agent]",
                set.line
            ));
            false
        });
    }
}

/// The settings of tools, with the variables and the timeout of a toolset.
fn with_toolset(
    mut settings: ToolSettings,
    env: &BTreeMap<String, String>,
    timeout: Option<u64>,
) -> ToolSettings {
    let variables = env
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    settings.environment.extend(variables);
    if let Some(seconds) = timeout.filter(|seconds| *seconds > 0) {
        settings.fetch_timeout = Duration::from_secs(seconds);
        settings.fetch_timeout_limit = settings.fetch_timeout_limit.max(settings.fetch_timeout);
    }
    settings
}

fn is_unknown(selected: &Result<Arc<dyn Provider>, SelectError>) -> bool {
    matches!(selected, Err(SelectError::UnknownProvider(_)))
}

/// The settings of providers, with those that a model of the file adds for its own provider.
fn with_provider(
    settings: &ProviderSettings,
    model: &ModelDefinition,
    filled: &dyn Fn(&str) -> Result<String, String>,
) -> Result<ProviderSettings, String> {
    let mut settings = settings.clone();
    let says_something = model.interface.is_some()
        || model.base_url.is_some()
        || model.token_key.is_some()
        || !model.headers.is_empty();
    if says_something {
        let entry = settings.providers.entry(model.provider.clone()).or_default();
        let api = model.interface.map(|interface| match interface {
            Interface::OpenAi => Api::OpenAi,
            Interface::Responses => Api::Responses,
            Interface::Anthropic => Api::Anthropic,
        });
        entry.api = api.or(entry.api);
        if let Some(url) = &model.base_url {
            entry.base_url = Some(filled(&with_short_names(url))?);
        }
        if model.token_key.is_some() {
            (entry.key, entry.key_variable) = (None, model.token_key.clone());
        }
        for (name, value) in &model.headers {
            entry.headers.insert(name.clone(), Secret::new(filled(value)?));
        }
    }
    Ok(settings)
}

/// The agents that can take part when the given one is talked to, as positions in the file with their distances.
fn reachable(file: &AgentFile, first: &AgentDefinition) -> Vec<(usize, usize)> {
    let place = |name: &str| file.agents.iter().position(|agent| agent.name == name);
    let mut found: Vec<(usize, usize)> = place(&first.name).map(|index| (index, 0)).into_iter().collect();
    let mut next = 0;
    while let Some((index, depth)) = found.get(next).copied() {
        let agent = &file.agents[index];
        let of_commands = agent
            .commands
            .values()
            .filter_map(|command| command.agent.as_ref());
        let others = agent.sub_agents.iter().chain(&agent.handoffs);
        for name in others.chain(&agent.force_handoff).chain(of_commands) {
            if let Some(other) = place(name)
                && !found.iter().any(|(index, _)| *index == other)
            {
                found.push((other, depth + 1));
            }
        }
        next += 1;
    }
    found
}

/// The MCP servers of some agents, each once. A server without a name is called `mcp` and its number.
fn servers<'a>(agents: impl Iterator<Item = &'a AgentDefinition>) -> Vec<TeamServer> {
    let mut servers: Vec<TeamServer> = Vec::new();
    for set in agents.flat_map(|agent| &agent.toolsets) {
        let ToolsetKind::Mcp(definition) = &set.kind else {
            continue;
        };
        if servers.iter().any(|server| server.definition == *definition) {
            continue;
        }
        let called = definition
            .name
            .clone()
            .unwrap_or_else(|| format!("mcp{}", servers.len() + 1));
        let taken = |name: &str| servers.iter().any(|server| server.name == name);
        let mut names =
            std::iter::once(called.clone()).chain((2..).map(|number| format!("{called}{number}")));
        let name = names.find(|name| !taken(name)).unwrap_or(called);
        servers.push(TeamServer {
            name,
            definition: definition.clone(),
        });
    }
    servers
}

fn unreadable(given: &Path, path: &Path, error: &io::Error) -> CliError {
    let message = format!("cannot read the agent file {}: {error}", given.display());
    let folder = path.parent().and_then(|folder| becket_fs::read_dir(folder).ok());
    let names = folder.into_iter().flatten().filter_map(Result::ok);
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let files: Vec<String> = names
        .filter(|name| name.ends_with(".yaml") || name.ends_with(".yml"))
        .collect();
    let wanted = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let error = CliError::usage(message);
    match nearest(wanted, files.iter().map(String::as_str)) {
        Some(near) => error.hint(format!(
            "did you mean `{}`?",
            given.with_file_name(near).display()
        )),
        None => error.hint("name a file that describes agents, as in `becket run agent.yaml`"),
    }
}

fn no_agent(file: &AgentFile, name: &str) -> CliError {
    let names = || file.agents.iter().map(|agent| agent.name.as_str());
    let error = CliError::usage(format!("{} has no agent `{name}`", file.path.display()));
    match nearest(name, names()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("there are {}", names().collect::<Vec<_>>().join(", "))),
    }
}
