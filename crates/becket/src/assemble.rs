//! Puts an agent together: settings, provider, tools, store, hooks.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_agent::front::Front;
use becket_agent::gate::ApprovalSettings;
use becket_agent::provider::{Provider, RequestOptions};
use becket_agent::{Agent, AgentSettings, RecordKeeper, Rules};
use becket_events::Profile;
use becket_hooks::{Engine, HookEnvironment, OwnHook, inherited_environment, nearest, read_hook_file};
use becket_providers::{ProviderSettings, key_variables, select};
use becket_store::SqliteStore;
use becket_tools::{ToolSettings, operation_tools};

use crate::args::Options;
use crate::config::{Config, PermissionsConfig};
use crate::failure::{CliError, Exit};
use crate::folders::Folders;
use crate::project::{Project, project_root, prompt_files, read_project};
use crate::surroundings::Surroundings;

/// Everything that was read before an agent can be put together.
pub struct Setup {
    pub folders: Folders,
    pub config: Config,
    pub hooks: Vec<OwnHook>,
    pub project: Project,
    pub project_root: PathBuf,
}

/// An agent, with the parts of it that commands need by themselves.
pub struct Assembled {
    pub agent: Arc<Agent>,
    pub store: Arc<SqliteStore>,
}

impl Setup {
    /// Reads all settings. Nothing runs yet.
    pub fn read(options: &Options, surroundings: &Surroundings) -> Result<Self, CliError> {
        let folders = Folders::find(options.home.as_deref(), surroundings)?;
        let (config, mut hooks) = read_config(&folders.config_file())?;
        for file in &options.hooks {
            let file = surroundings.cwd.join(file);
            let text = std::fs::read_to_string(&file).map_err(|error| {
                CliError::usage(format!("cannot read the hook file {}: {error}", file.display()))
            })?;
            hooks.extend(read_hook_file(&text, &file)?);
        }
        let project_root = project_root(&surroundings.cwd);
        let mut project = read_project(&surroundings.cwd, &project_root, options.trust)?;
        hooks.append(&mut project.hooks);
        Ok(Self {
            folders,
            config,
            hooks,
            project,
            project_root,
        })
    }

    /// The provider for the model that was asked for.
    pub fn provider(
        &self,
        options: &Options,
        surroundings: &Surroundings,
    ) -> Result<Arc<dyn Provider>, CliError> {
        let environment = |name: &str| surroundings.variable(name);
        select(options.model.as_deref(), &environment, &self.provider_settings()).map_err(|error| {
            CliError {
                exit: Exit::Usage,
                message: error.to_string(),
                hint: None,
            }
            .hint("`--model rehearsal` works without a key")
        })
    }

    /// Puts the agent together.
    pub fn assemble(
        &self,
        options: &Options,
        surroundings: &Surroundings,
        front: Arc<dyn Front>,
    ) -> Result<Assembled, CliError> {
        let provider = self.provider(options, surroundings)?;
        let profile = self.profile(options)?;
        let environment = self.environment(surroundings);
        let tools = operation_tools(&profile, self.tool_settings(&environment));
        let store = Arc::new(self.folders.open_store()?);
        let witness = RecordKeeper {
            store: store.clone(),
            front: Arc::clone(&front),
        };
        let engine = Arc::new(Engine::new(Some(Arc::new(witness))));
        for hook in &self.hooks {
            hook.register(&engine, &environment);
        }
        let settings = self.agent_settings(options, surroundings)?;
        let agent = Agent {
            engine,
            provider,
            tools,
            store: store.clone(),
            front,
            settings,
        };
        Ok(Assembled {
            agent: Arc::new(agent),
            store,
        })
    }

    fn provider_settings(&self) -> ProviderSettings {
        ProviderSettings {
            model: self.config.model.clone(),
            providers: self.config.providers.clone(),
            ..ProviderSettings::default()
        }
    }

    /// The names by which the model knows the tools.
    pub fn profile(&self, options: &Options) -> Result<Profile, CliError> {
        let name = options
            .tools
            .as_deref()
            .or(self.config.tools.profile.as_deref())
            .unwrap_or("becket");
        becket_dialects::profile_named(name).ok_or_else(|| {
            let names = becket_dialects::PROFILE_NAMES;
            let error = CliError::usage(format!("there is no tool profile `{name}`"));
            match nearest(name, names.iter().copied()) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint(format!("there are {}", names.join(", "))),
            }
        })
    }

    /// What hooks inherit: the person's environment without provider keys, which are kept apart.
    pub fn environment(&self, surroundings: &Surroundings) -> HookEnvironment {
        let names = key_variables(&self.provider_settings());
        let keys = surroundings
            .variables
            .iter()
            .filter(|(name, _)| names.iter().any(|key| OsStr::new(key) == *name));
        HookEnvironment {
            keys: Arc::new(keys.map(|(name, value)| (name.clone(), value.clone())).collect()),
            variables: Arc::new(inherited_environment(surroundings.variables.clone(), &names)),
        }
    }

    fn tool_settings(&self, environment: &HookEnvironment) -> ToolSettings {
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
        if let Some(seconds) = self.config.tools.shell_timeout {
            settings.shell_timeout = Duration::from_secs(seconds);
        }
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
        Ok(AgentSettings {
            home: self.folders.data.clone(),
            project_root: self.project_root.clone(),
            cwd: surroundings.cwd.clone(),
            instructions: config.instructions.clone().unwrap_or(usual.instructions),
            prompt_files: prompt_files(&surroundings.cwd, &self.project_root),
            max_iterations: options
                .max_iterations
                .or(config.max_iterations)
                .unwrap_or(usual.max_iterations),
            fuel: options.fuel.or(config.fuel),
            max_retries: config.max_retries.unwrap_or(usual.max_retries),
            idle_timeout: config
                .idle_timeout
                .map_or(usual.idle_timeout, Duration::from_secs),
            output_limit: self.config.tools.output_limit.unwrap_or(usual.output_limit),
            options: RequestOptions {
                temperature: config.temperature,
                max_tokens: config.max_tokens,
            },
            approval: self.approval(options)?,
            ..usual
        })
    }

    /// The person's rules and the trusted project's together.
    fn approval(&self, options: &Options) -> Result<ApprovalSettings, CliError> {
        let lists = [&self.config.permissions, &self.project.config.permissions];
        let all = |pick: fn(&PermissionsConfig) -> &Vec<String>| -> Vec<String> {
            lists.iter().flat_map(|list| pick(list).iter().cloned()).collect()
        };
        let rules = Rules::parse(
            &all(|list| &list.deny),
            &all(|list| &list.allow),
            &all(|list| &list.ask),
        )
        .map_err(|message| CliError::usage(format!("permissions: {message}")))?;
        let readable = lists.iter().flat_map(|list| &list.readable);
        let readable = readable
            .map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.clone()))
            .collect();
        Ok(ApprovalSettings {
            rules,
            yes: options.yes,
            readable,
        })
    }
}

/// The person's settings; without a file, the usual ones.
fn read_config(file: &Path) -> Result<(Config, Vec<OwnHook>), CliError> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Config::read(&text, file)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((Config::default(), Vec::new())),
        Err(error) => Err(CliError::usage(format!(
            "cannot read {}: {error}",
            file.display()
        ))),
    }
}
