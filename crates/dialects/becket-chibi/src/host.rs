//! The plugins of a chibi home as guests of a run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_agent::front::Front;
use becket_agent::mail::MailSource;
use becket_check::{HookFile, NamedFile};
use becket_hooks::{Engine, Section};
use becket_host::{
    DeclaredServer, DeclaredServers, ForeignCli, ForeignContext, ForeignHome, ForeignSession, Found,
    FoundGuest, GuestOptions, GuestSearch, Guests, Host, HostOption, Loading, OptionValue, Reached, Report,
    RunSettings, ServerDeclaration, Stage, Toolbox, Unloaded,
};
use becket_system::{CliError, Surroundings};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::bridge::{BRIDGE_SECONDS, BridgeReach, bridge_file, read_bridge};
use crate::call::{CALL_VARIABLES, builtin_face};
use crate::check;
use crate::command_line::CLI;
use crate::config::ChibiConfig;
use crate::discovery::{Candidate, discover};
use crate::home::{HOME_OPTION, KEY_VARIABLE, ROOT_OPTION, SETTING_OPTION};
use crate::home_contexts;
use crate::hooks::hook_named;
use crate::loading::{ALL_PLUGINS, Asking};
use crate::local_settings::{LocalSettings, PROVIDER};
use crate::mail::InboxFiles;
use crate::plugins::{NotOffered, PluginSettings, Plugins, generation_word, home_of_run};
use crate::run_settings;

/// Finds the plugins of a chibi home.
pub struct PluginHost;

impl Host for PluginHost {
    fn kind(&self) -> &'static str {
        "plugin"
    }

    fn sections(&self) -> &'static [Section] {
        const { &[Section::of::<ChibiConfig>()] }
    }

    fn key_variables(&self) -> &'static [&'static str] {
        &[KEY_VARIABLE]
    }

    fn options(&self) -> Vec<HostOption> {
        vec![
            HostOption {
                name: HOME_OPTION.into(),
                value: OptionValue::OnePath("FOLDER"),
                help: "Use this chibi home instead of ~/.chibi. Also: CHIBI_HOME".into(),
                is_rare: true,
                ..HostOption::default()
            },
            HostOption {
                name: ROOT_OPTION.into(),
                value: OptionValue::OnePath("FOLDER"),
                help: "Work in this folder, as chibi does with `--project-root`".into(),
                is_rare: true,
                ..HostOption::default()
            },
            HostOption {
                name: SETTING_OPTION.into(),
                value: OptionValue::Text("KEY=VALUE"),
                help:
                    "A chibi setting for this run, written as in its config.toml; may be given several times"
                        .into(),
                is_rare: true,
                ..HostOption::default()
            },
        ]
    }

    fn call_variables(&self) -> &'static [&'static str] {
        CALL_VARIABLES
    }

    fn foreign_cli(&self) -> Option<&'static ForeignCli> {
        Some(&CLI)
    }

    fn has_tool(&self, name: &str) -> bool {
        builtin_face(name).is_some()
    }

    fn check_files(&self, place: &GuestSearch<'_>) -> Result<Vec<HookFile>, CliError> {
        check::files(place)
    }

    fn check_file(&self, file: &NamedFile<'_>) -> Option<HookFile> {
        check::file(file)
    }

    fn working_directory(
        &self,
        options: &mut GuestOptions,
        surroundings: &Surroundings,
    ) -> Result<Option<PathBuf>, CliError> {
        let Some(folder) = options.path(ROOT_OPTION) else {
            return Ok(None);
        };
        let folder = surroundings.cwd.join(folder);
        match becket_fs::is_dir(&folder) {
            true => Ok(Some(folder)),
            false => Err(CliError::usage(format!(
                "{} is not a folder to work in",
                folder.display()
            ))),
        }
    }

    fn find(&self, place: &GuestSearch<'_>) -> Result<Box<dyn Found>, CliError> {
        let config: ChibiConfig = place.section()?;
        let given = place.options.path(HOME_OPTION);
        let home = home_of_run(given.as_deref(), &config, place.folders, place.surroundings)?;
        let is_left_out = |name: &str| place.without.iter().any(|other| other == name);
        let (mut plugins, mut left_out) = (Vec::new(), Vec::new());
        match home.as_deref().map_or(Ok(Vec::new()), discover) {
            Ok(found) => plugins = found,
            // Loading reports that the folder cannot be read, and refuses.
            Err(_) if is_left_out(ALL_PLUGINS) => left_out.push(ALL_PLUGINS.to_owned()),
            Err(_) => {}
        }
        plugins.retain(|plugin| {
            let is_left_out = is_left_out(&plugin.name);
            left_out.extend(is_left_out.then(|| plugin.name.clone()));
            !is_left_out
        });
        let settings = home.as_deref().map_or(Ok(None), run_settings::read_home);
        let given = run_settings::given(&place.options.texts(SETTING_OPTION)).map_err(CliError::usage)?;
        Ok(Box::new(FoundPlugins {
            home,
            settings,
            given,
            config,
            plugins,
            left_out,
        }))
    }
}

/// A chibi home, and the entries of its plugins folder.
pub struct FoundPlugins {
    /// The home, if there is one.
    pub home: Option<PathBuf>,
    /// The user's settings about the home.
    pub config: ChibiConfig,
    /// chibi's own settings in the home, or why they cannot be read.
    settings: Result<Option<LocalSettings>, String>,
    /// Settings of the command line.
    given: Option<LocalSettings>,
    plugins: Vec<Candidate>,
    left_out: Vec<String>,
}

impl Found for FoundPlugins {
    fn guests(&self) -> Vec<FoundGuest> {
        let plugins = self.plugins.iter();
        plugins
            .map(|plugin| FoundGuest {
                name: plugin.name.clone(),
                file: plugin.path.clone(),
                is_trusted: true,
            })
            .collect()
    }

    fn left_out(&self) -> Vec<String> {
        self.left_out.clone()
    }

    fn keeps_own_program(&self) -> bool {
        self.config.own_program
    }

    fn remarks(&self) -> Vec<String> {
        let words = "plugins that run `chibi` run your own, not becket (`own_program` in [chibi])";
        let is_told = self.config.own_program && !self.plugins.is_empty();
        is_told.then(|| words.to_owned()).into_iter().collect()
    }

    fn servers(&self, _: &GuestSearch<'_>) -> DeclaredServers {
        let servers = self.home.as_deref().map(bridged).unwrap_or_default();
        DeclaredServers {
            servers,
            only_these: false,
        }
    }

    fn home(&self) -> Option<ForeignHome<'_>> {
        self.home.as_deref().map(|folder| ForeignHome {
            name: "chibi home",
            folder,
        })
    }

    fn contexts(&self) -> Vec<ForeignContext> {
        self.home
            .as_deref()
            .map(home_contexts::contexts)
            .unwrap_or_default()
    }

    fn current_context(&self) -> Option<String> {
        home_contexts::current(self.home.as_deref()?)
    }

    fn conversation(&self, context: &str) -> Result<Option<ForeignSession>, String> {
        let home = self.home.as_deref();
        home.map_or(Ok(None), |home| home_contexts::session(home, context))
    }

    fn instruction_files(&self) -> Vec<PathBuf> {
        let files = ["AGENTS.md", "CLAUDE.md"].into_iter();
        let mut files = files.filter_map(|name| Some(self.home.as_ref()?.join(name)));
        files.find(|file| becket_fs::is_file(file)).into_iter().collect()
    }

    fn run_settings(&self, surroundings: &Surroundings) -> Result<Option<RunSettings>, String> {
        let settings = self.settings.as_ref().map_err(Clone::clone)?;
        let settings = settings.clone().unwrap_or_default();
        let home = self.home.as_deref();
        home.map(|home| run_settings::of_home(home, &settings, surroundings))
            .transpose()
    }

    fn context_settings(
        &self,
        folder: &Path,
        surroundings: &Surroundings,
    ) -> Result<Option<RunSettings>, CliError> {
        // A home whose settings cannot be read ends the run elsewhere.
        let of_home = self.settings.as_ref().ok().and_then(Option::as_ref);
        run_settings::of_context(folder, (self.given.as_ref(), of_home), surroundings)
    }

    fn provider_keys(&self) -> &'static [(&'static str, &'static str)] {
        match self.home {
            Some(_) => &[(PROVIDER, KEY_VARIABLE)],
            None => &[],
        }
    }

    fn mail(&self, contexts: &Path) -> Option<Arc<dyn MailSource>> {
        let contexts = contexts.to_path_buf();
        self.home.as_ref()?;
        Some(Arc::new(InboxFiles { contexts }))
    }

    fn load<'a>(&'a self, loading: &'a Loading<'a>) -> BoxFuture<'a, Result<Arc<dyn Guests>, CliError>> {
        Box::pin(async move {
            let Some(chibi_home) = self.home.clone() else {
                return Ok(Arc::new(Plugins::default()) as Arc<dyn Guests>);
            };
            let place = &loading.place;
            let settings = PluginSettings {
                chibi_home,
                project_root: place.project_root.to_path_buf(),
                config: &self.config,
                surroundings: place.surroundings,
                environment: Arc::clone(&loading.environment.variables),
                cache: place.folders.plugins_file(),
                without: place.without.to_vec(),
                network: loading.network_tools.to_vec(),
            };
            let asking = match loading.asking {
                becket_host::Asking::Always => Asking::Always,
                becket_host::Asking::WhenChanged | becket_host::Asking::Never => Asking::WhenChanged,
            };
            Ok(Arc::new(Plugins::load(settings, asking).await) as Arc<dyn Guests>)
        })
    }
}

/// The servers of the home's bridge.
fn bridged(home: &Path) -> Vec<ServerDeclaration> {
    let servers = match read_bridge(home) {
        Ok(servers) => servers,
        Err(why) => return vec![("*".into(), Err(why))],
    };
    let declared = |reach: BridgeReach| DeclaredServer {
        origin: bridge_file(home).display().to_string(),
        prefixes_tools: true,
        for_hooks: false,
        reached: match reach {
            BridgeReach::Program { command, args } => Reached::Program {
                command,
                args,
                variables: Vec::new(),
                folder: home.to_path_buf(),
                directory: home.to_path_buf(),
            },
            BridgeReach::Web { url, headers } => Reached::Web {
                url,
                headers: headers.into_iter().collect(),
                is_event_stream: false,
            },
        },
        call_timeout: Some(Duration::from_secs(BRIDGE_SECONDS)),
        secrets: Vec::new(),
    };
    let servers = servers.into_iter();
    servers
        .map(|server| (server.name, server.reach.map(declared)))
        .collect()
}

impl Guests for Plugins {
    fn remarks(&self) -> Vec<String> {
        self.faults().iter().map(ToString::to_string).collect()
    }

    fn unloaded(&self) -> Vec<Unloaded> {
        self.without_schema().to_vec()
    }

    fn register(&self, stage: &Stage<'_>) -> Result<Vec<String>, CliError> {
        let remarks = self.register_hooks(stage.engine);
        if stage.is_rehearsal {
            self.refuse_for_unloaded(stage.engine);
        }
        Ok(remarks.iter().map(ToString::to_string).collect())
    }

    fn add_tools(&self, toolbox: &mut Toolbox<'_>) -> Vec<String> {
        let not_offered = self.offer_tools(toolbox.profile, &mut toolbox.tools);
        let remarks = not_offered.iter().map(NotOffered::remark);
        remarks.map(|remark| remark.to_string()).collect()
    }

    fn tool_names(&self) -> Vec<String> {
        let tools = self.all().iter().flat_map(|plugin| &plugin.tools);
        tools.map(|tool| tool.name.clone()).collect()
    }

    fn has_network_tool(&self, name: &str) -> bool {
        self.has_tool(name)
    }

    fn later(&self, engine: &Arc<Engine>, front: &Arc<dyn Front>) -> Option<BoxFuture<'static, ()>> {
        self.asking_again(engine, front).map(FutureExt::boxed)
    }

    fn names(&self) -> Vec<String> {
        self.all().iter().map(|plugin| plugin.name.clone()).collect()
    }

    fn reports(&self) -> Vec<Report> {
        let plugins = self.all().iter().map(|plugin| {
            let tools: Vec<&str> = plugin.tools.iter().map(|tool| tool.name.as_str()).collect();
            let hooks: Vec<_> = plugin.hooks().into_iter().filter_map(hook_named).collect();
            let hooks: Vec<&str> = hooks.iter().map(|hook| hook.name()).collect();
            let hooks = match hooks.as_slice() {
                [] => "no hooks".to_owned(),
                hooks => format!("hooks {}", hooks.join(", ")),
            };
            let what = format!(
                "plugin {} ({} generation, {}): tools {}; {hooks}",
                plugin.name,
                generation_word(plugin.generation),
                plugin.path.display(),
                tools.join(", ")
            );
            Report::new(what, None)
        });
        let faults = self.faults().iter();
        let faults =
            faults.map(|fault| Report::new(format!("plugin {}", fault.plugin), Some(fault.message.clone())));
        plugins.chain(faults).collect()
    }
}
