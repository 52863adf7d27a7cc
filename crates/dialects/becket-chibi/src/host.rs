//! The plugins of a chibi home as guests of a run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_agent::front::Front;
use becket_check::{HookFile, NamedFile};
use becket_hooks::{Engine, Section};
use becket_host::{
    DeclaredServer, DeclaredServers, Found, FoundGuest, Guests, Host, Loading, Place, Reached, Report,
    ServerDeclaration, Stage, Toolbox, Unloaded,
};
use becket_mcp::{Prefix, Secrets};
use becket_system::CliError;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::bridge::{BRIDGE_SECONDS, BridgeReach, bridge_file, read_bridge};
use crate::check;
use crate::config::ChibiConfig;
use crate::discovery::{Candidate, discover};
use crate::home::KEY_VARIABLE;
use crate::hooks::hook_named;
use crate::loading::{ALL_PLUGINS, Asking};
use crate::plugins::{NotOffered, PluginSettings, Plugins, generation_word, home_of_run};

/// The option that names a chibi home.
pub const HOME_OPTION: &str = "chibi-home";

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

    fn check_files(&self, place: &Place<'_>) -> Result<Vec<HookFile>, CliError> {
        check::files(place)
    }

    fn check_file(&self, file: &NamedFile<'_>) -> Option<HookFile> {
        check::file(file)
    }

    fn find(&self, place: &Place<'_>) -> Result<Box<dyn Found>, CliError> {
        let config: ChibiConfig = place.section()?;
        let given = place.options.path(HOME_OPTION);
        let home = home_of_run(given.as_deref(), &config, place.folders, place.surroundings)?;
        let is_left_out = |name: &str| place.without.iter().any(|other| other == name);
        let (mut plugins, mut left_out) = (Vec::new(), Vec::new());
        match home.as_deref().map_or(Ok(Vec::new()), discover) {
            Ok(found) => plugins = found,
            // Whoever loads it tells that it cannot be read, and refuses.
            Err(_) if is_left_out(ALL_PLUGINS) => left_out.push(ALL_PLUGINS.to_owned()),
            Err(_) => {}
        }
        plugins.retain(|plugin| {
            let is_left_out = is_left_out(&plugin.name);
            left_out.extend(is_left_out.then(|| plugin.name.clone()));
            !is_left_out
        });
        Ok(Box::new(FoundPlugins {
            home,
            config,
            plugins,
            left_out,
        }))
    }
}

/// A chibi home, and what lies where its plugins lie.
pub struct FoundPlugins {
    /// The home, if there is one.
    pub home: Option<PathBuf>,
    /// The user's settings about it.
    pub config: ChibiConfig,
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

    fn servers(&self, _: &Place<'_>) -> DeclaredServers {
        let servers = self.home.as_deref().map(bridged).unwrap_or_default();
        DeclaredServers {
            servers,
            only_these: false,
        }
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
        prefix: Prefix::Server,
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
            },
        },
        call_timeout: Some(Duration::from_secs(BRIDGE_SECONDS)),
        secrets: Secrets::default(),
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
