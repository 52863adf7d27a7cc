//! What is read before an agent can be put together: settings, the project, the guests that were found. Nothing runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_agent::Budget;
use becket_agent::context_files::{ContextFile, ContextFiles};
use becket_agent::flocks::Flocks;
use becket_agent::mail::MailSource;
use becket_agent::vfs::Vfs;
use becket_hooks::{OwnHook, Section, Witness, read_or_mistakes};
use becket_host::{AgentFile, GuestOptions, GuestSearch, ModelLists, NO_CONTEXT_FILES, SettingsText};
#[cfg(feature = "index")]
use becket_index::IndexFile;
use becket_providers::{Prices, ProviderSettings, Timeouts, select};
use becket_store::{ContextName, Project as StoreProject, SqliteStore};
use becket_system::project_root::project_root;
use becket_system::{CliError, Folders, Surroundings};
use becket_trust::Trust;

use crate::config::{Config, Dollars, PermissionsConfig};
use crate::context_settings::{ContextSettings, EnteredContext};
use crate::guest_settings::{GuestSettings, take_keys};
use crate::hosts::{FoundGuests, Hosts};
use crate::model_relay;
use crate::options::{GivenBuffers, RunOptions};
use crate::otel::{self};
use crate::own_hooks::FoundOwnHooks;
use crate::project::{Project, PromptFiles, prompt_files};

/// Variables with secrets of becket's own and of guests' systems, besides the keys of providers.
pub fn secret_variables(hosts: Hosts) -> impl Iterator<Item = &'static str> {
    [
        WEB_TOKEN_VARIABLE,
        otel::HEADERS_VARIABLE,
        model_relay::SOCKET_VARIABLE,
    ]
    .into_iter()
    .chain(hosts.key_variables())
}

/// The variable that holds the token of the web page.
pub const WEB_TOKEN_VARIABLE: &str = "BECKET_WEB_TOKEN";

/// Everything that was read before an agent can be put together.
pub struct Setup {
    pub folders: Folders,
    pub config: Config,
    /// The text of the user's settings, for the tables that are about guests.
    settings: SettingsText,
    /// What the command line says about guests.
    guest_options: GuestOptions,
    pub hosts: Hosts,
    /// The tables of the settings that are about guests.
    sections: Vec<Section>,
    /// The guests that were found.
    pub found: FoundGuests,
    /// Decides what of the project is trusted.
    pub trust: Trust,
    pub project: Project,
    pub project_root: PathBuf,
    pub prompt_files: PromptFiles,
    /// Settings of the context that was entered.
    pub context: ContextSettings,
    /// A remark for the user about a setting of the context that was left out.
    pub context_remark: Option<String>,
    /// Settings of another system that count as well.
    pub guest_settings: GuestSettings,
    /// The agent file that is run.
    pub team: Option<Arc<dyn AgentFile>>,
    /// Gets dispatches and failures instead of the store and the front.
    pub witness: Option<Arc<dyn Witness>>,
    /// The buffers of the editor for which becket works.
    pub(crate) buffers: GivenBuffers,
    /// The budget of the run.
    pub budget: Option<Budget>,
    /// Whether hooks are only tried out: then a guest that could not be loaded refuses calls and does not end the run.
    pub is_rehearsal: bool,
    /// Guests that the user leaves out, by name.
    pub without: Vec<String>,
    /// The file of a becket program, if there is one.
    pub(crate) becket_program: Option<PathBuf>,
    /// The context that was entered.
    pub(crate) context_name: Option<String>,
    /// The name of the socket at which this run's models can be asked.
    pub(crate) model_socket: String,
}

impl Setup {
    /// Reads all settings. Nothing runs yet.
    pub fn read(options: &RunOptions, surroundings: &Surroundings) -> Result<Self, CliError> {
        let folders = Folders::find(options.home.as_deref(), surroundings)?;
        let (mut config, settings) = read_config(&folders.config_file(), options.hosts)?;
        hide_known_keys(options.hosts, surroundings);
        hide_configured_keys(&config, surroundings);
        let project_root = project_root(&surroundings.cwd);
        let trust = Trust::open(options.trust, &folders, surroundings, &project_root);
        let without = [options.without.as_slice(), &config.without].concat();
        if let Some(unknown) = options.hosts.unknown_option(&options.guests) {
            return Err(unknown);
        }
        let guest_options = options.guests.clone();
        let sections = options.hosts.sections();
        let place = GuestSearch {
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
        let found = FoundGuests::find(options.hosts, &place, options.bridged_by)?;
        surroundings.hide_keys(found.key_variables().iter().map(String::as_str));
        let prompt_files = match options.guests.has(NO_CONTEXT_FILES) {
            true => PromptFiles::default(),
            false => prompt_files(&surroundings.cwd, &project_root).after(&found.instruction_files()),
        };
        take_keys(&mut config, &found, surroundings);
        let own = found.get::<FoundOwnHooks>();
        let project = Project {
            things: found.judged(),
            refusal: found.refusal(),
            ..own.map(|own| own.project.clone()).unwrap_or_default()
        };
        let limit = options.budget.or(config.agent.budget);
        let fresh = || Some(new_budget(limit?, &config, &folders));
        let budget = options.preloaded.budget().or_else(fresh);
        Ok(Self {
            budget,
            buffers: options.buffers.clone(),
            team: found.agent_file(),
            guest_settings: GuestSettings::read(&found, surroundings),
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
            context: ContextSettings::default(),
            context_remark: None,
            witness: None,
            is_rehearsal: false,
            without,
            becket_program: options.becket_program.clone(),
            context_name: None,
            model_socket: model_relay::socket_name(),
        })
    }

    /// Opens the store. As long as no context was chosen in the project, the current one of another system's home
    /// counts.
    pub fn open_store(&self) -> Result<SqliteStore, CliError> {
        let store = self.folders.open_store()?;
        let current = self.found.current_context();
        Ok(match current.and_then(|name| ContextName::parse(&name).ok()) {
            Some(first) => store.in_project(StoreProject::at(&self.folders.project).beginning_in(first)),
            None => store,
        })
    }

    /// Where guests are found.
    pub fn place<'a>(&'a self, surroundings: &'a Surroundings) -> GuestSearch<'a> {
        GuestSearch {
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

    /// Whether guests were found whose programs may start becket in place of their own system's program.
    pub(crate) fn may_start_becket(&self) -> bool {
        self.becket_program.is_some()
            && self
                .found
                .iter()
                .any(|(host, found)| host.foreign_cli().is_some() && found.may_load())
    }

    /// becket's own hooks that count here.
    pub fn own_hooks(&self) -> &[OwnHook] {
        self.found
            .get::<FoundOwnHooks>()
            .map_or(&[], |found| &found.hooks)
    }

    /// The folder that holds one folder for each context. Contexts of another system's home stay where its guests look
    /// for them.
    pub fn contexts(&self) -> PathBuf {
        self.shared_folder().join("contexts")
    }

    /// The folder behind the virtual file system.
    pub fn vfs(&self) -> PathBuf {
        self.shared_folder().join("vfs")
    }

    /// The flocks in the virtual file system.
    pub fn flocks(&self) -> Flocks {
        Flocks::new(Vfs::new(&self.vfs()))
    }

    /// Where messages come from besides the store.
    pub fn mail_source(&self) -> Option<Arc<dyn MailSource>> {
        self.found.mail(&self.contexts())
    }

    /// The code index of the project.
    #[cfg(feature = "index")]
    pub fn index(&self) -> IndexFile {
        IndexFile::of_project(&self.project_root, &self.folders.cache.join("index"))
    }

    fn shared_folder(&self) -> &Path {
        self.found.home().map_or(&self.folders.data, |home| home.folder)
    }

    /// Adds the settings of a context, which count from now on.
    pub fn enter(&mut self, context: &ContextName, surroundings: &Surroundings) -> Result<(), CliError> {
        self.context_name = Some(context.as_str().to_owned());
        let files = ContextFiles::new(&self.contexts(), context.as_str());
        let entered = self.context_settings(&files, surroundings)?;
        (self.context, self.context_remark) = (entered.settings, entered.remark);
        self.guest_settings.context = entered.other;
        // The agent would go on without it, and that is not what its author wanted.
        files.try_read(ContextFile::SystemPrompt).map_err(|error| {
            let file = files.path(ContextFile::SystemPrompt);
            CliError::usage(format!("cannot read {}: {error}", file.display()))
        })?;
        Ok(())
    }

    /// The settings of a context.
    pub fn context_settings(
        &self,
        files: &ContextFiles,
        surroundings: &Surroundings,
    ) -> Result<EnteredContext, CliError> {
        let environment = |name: &str| surroundings.variable(name);
        let is_served = |model: &str| select(Some(model), &environment, &self.provider_settings()).is_ok();
        let own = ContextSettings::read(files)?;
        let other = self.found.context_settings(files.folder(), surroundings)?;
        let (settings, remark) = match &other {
            Some(other) => own.or(other, &is_served),
            None => (own, None),
        };
        Ok(EnteredContext {
            settings,
            other,
            remark,
        })
    }

    /// The user's rules, then those of the trusted project.
    pub fn permissions(&self) -> impl Iterator<Item = &PermissionsConfig> {
        std::iter::once(&self.config.permissions).chain(&self.project.permissions)
    }

    /// What models cost.
    pub fn prices(&self) -> Prices {
        Prices::new(self.config.prices.clone())
    }

    /// The lists of models that providers have given.
    pub fn model_lists(&self) -> ModelLists {
        ModelLists::new(&self.folders.cache)
    }

    pub fn provider_settings(&self) -> ProviderSettings {
        ProviderSettings {
            model: self.config.model.clone(),
            providers: self.config.providers.clone(),
            timeouts: self.timeouts(),
            budget: self.budget.clone(),
            prices: self.prices(),
            ..ProviderSettings::default()
        }
    }

    /// How long to wait for a provider: a little longer than the agent's loop does, which says more about it.
    fn timeouts(&self) -> Timeouts {
        const MARGIN: Duration = Duration::from_secs(60);
        let seconds = self.config.agent.idle_timeout.as_ref();
        Timeouts {
            idle: seconds.map(|seconds| Duration::from_secs(*seconds.get_ref()) + MARGIN),
            ..Timeouts::default()
        }
    }
}

/// Keeps other programs of the user from reading the keys in this process's environment.
pub fn hide_known_keys(hosts: Hosts, surroundings: &Surroundings) {
    let secrets = secret_variables(hosts);
    surroundings.hide_keys(becket_providers::KEY_VARIABLES.iter().copied().chain(secrets));
}

/// Hides keys from other programs: keys in the settings are in this process's memory, those in variables in its
/// environment.
/// The budget of a run, which counts by the prices of the settings, becket's table, and lists of providers.
fn new_budget(Dollars(limit): Dollars, config: &Config, folders: &Folders) -> Budget {
    let prices = Prices::new(config.prices.clone());
    Budget::new(limit, ModelLists::new(&folders.cache).pricing(prices))
}

fn hide_configured_keys(config: &Config, surroundings: &Surroundings) {
    let providers = || config.providers.values();
    surroundings.hide_keys(providers().filter_map(|provider| provider.key_variable.as_deref()));
    if providers().any(|provider| provider.key.is_some()) {
        surroundings.hide_process();
    }
}

/// Reads the user's settings with their text; without a file, the defaults.
pub fn read_config(file: &Path, hosts: Hosts) -> Result<(Config, SettingsText), CliError> {
    let read = |text: String| -> Result<(Config, SettingsText), CliError> {
        let sections = hosts.sections();
        let (config, hooks) = read_or_mistakes(&text, |text| Config::read(text, file, &sections))?;
        let file = file.to_path_buf();
        Ok((config, SettingsText { file, text, hooks }))
    };
    match becket_fs::read_to_string(file) {
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
