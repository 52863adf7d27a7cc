//! The plugins of a chibi home: their hooks in the engine, their tools beside becket's own.
//!
//! A plugin that describes itself differently when it is asked again gets its new hooks at once and its new tools with
//! the next run. Hooks that it has dropped stay until then: no restriction is removed in the middle of a run.
//!
//! No plugin replaces the agent's own tools without an operation (`call_user`, the notes), because these have no gate
//! that the replacement would pass.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_agent::front::{Front, FrontUpdate};
use becket_agent::tool::{Handoff, Tool};
use becket_events::{Face, Profile};
use becket_hooks::{Engine, Terminal, echo_proof};
use becket_host::Unloaded;
use becket_system::{CliError, Folders, Surroundings};
use becket_tools::{ProgramFace, ProgramTool, own_tool_names};
use toml::Spanned;

use crate::call::{Call, builtin_face, plugin_lane, timeout_of, tool_variables};
use crate::config::ChibiConfig;
use crate::discovery::Remark;
use crate::home::{self, HOME_VARIABLE, plugins_folder};
use crate::hooks::{refuse_for, register, register_further};
use crate::loading::{Asking, LoadSettings, Loaded, ask_again, load};
use crate::plugin::{Generation, HostFacts, Plugin, PluginTool};

/// How many seconds a hook or a tool may take by default.
const CALL_SECONDS: u64 = 30;

/// How many seconds a plugin may take to answer `--schema` by default. On a cold machine an interpreter that fetches
/// its packages first takes long.
const SCHEMA_SECONDS: u64 = 120;

/// The plugins of a run.
#[derive(Default)]
pub struct Plugins {
    pub(crate) found: Option<Found>,
}

pub(crate) struct Found {
    pub(crate) host: Arc<HostFacts>,
    settings: LoadSettings,
    pub(crate) loaded: Loaded,
    pub(crate) tool_timeout: Duration,
    /// Tools that use the network.
    network: Vec<String>,
}

/// A plugin's tool that the model does not see.
pub struct NotOffered {
    pub plugin: String,
    pub tool: String,
    why: String,
}

impl NotOffered {
    /// The remark for the user about the tool.
    pub fn remark(&self) -> Remark {
        let message = format!("its tool {:?} is not offered: {}", self.tool, self.why);
        Remark::new(&self.plugin, message)
    }
}

/// The chibi home to use: the one of the command line, of the environment or of the settings, else the usual one. A
/// home that is named must exist, because guards may be in it.
pub fn home_of_run(
    given: Option<&Path>,
    config: &ChibiConfig,
    folders: &Folders,
    surroundings: &Surroundings,
) -> Result<Option<PathBuf>, CliError> {
    let given = given.map(|home| surroundings.cwd.join(home));
    if given.is_none() && config.enabled == Some(false) {
        return Ok(None);
    }
    let variable = surroundings.variable(HOME_VARIABLE);
    let named = given
        .or_else(|| variable.map(|home| surroundings.cwd.join(home)))
        .or_else(|| config.home.as_ref().map(|home| folders.config.join(home)));
    let persons_home = surroundings.variable("HOME").map(PathBuf::from);
    let home = home::home(named, persons_home.as_deref());
    match home {
        Some(home) if !becket_fs::is_dir(&home) => Err(CliError::usage(format!(
            "the chibi home {} is not a folder",
            home.display()
        ))
        .hint("make it, name another one with --chibi-home, or set `enabled = false` in [chibi]")),
        None if config.enabled == Some(true) => {
            Err(CliError::usage("there is no chibi home, but it is enabled")
                .hint("name it with --chibi-home, or with `home` in [chibi]"))
        }
        home => Ok(home),
    }
}

/// The settings of a run for loading its plugins.
pub struct PluginSettings<'a> {
    pub chibi_home: PathBuf,
    pub project_root: PathBuf,
    pub config: &'a ChibiConfig,
    pub surroundings: &'a Surroundings,
    /// The environment of plugins.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
    /// The file in which schemas are cached.
    pub cache: PathBuf,
    /// Plugins that the user leaves out, by name.
    pub without: Vec<String>,
    /// Tools that use the network.
    pub network: Vec<String>,
}

impl Plugins {
    /// Finds the plugins, and asks those that are new to describe themselves.
    pub async fn load(settings: PluginSettings<'_>, asking: Asking) -> Self {
        let PluginSettings {
            chibi_home,
            config,
            surroundings,
            ..
        } = settings;
        let host = HostFacts {
            chibi_home: chibi_home.clone(),
            project_root: settings.project_root,
            hook_timeout: seconds(config.hook_timeout.as_ref(), CALL_SECONDS),
            environment: settings.environment,
            terminal: terminal(surroundings),
            verbose: config.verbose,
        };
        let loading = LoadSettings {
            cache: Some(settings.cache),
            asking,
            schema_timeout: seconds(config.schema_timeout.as_ref(), SCHEMA_SECONDS),
            // A plugin's schema does not depend on the directory in which becket was started.
            directory: chibi_home,
            older: names(&config.older),
            newer: names(&config.newer),
            asking_on_input: names(&config.asks),
            without: settings.without,
        };
        let tell = |words: String| surroundings.remark(&words);
        let mut loaded = load(&host, &loading, &tell).await;
        loaded.remarks.extend(emptiness(&host.chibi_home, surroundings));
        Self {
            found: Some(Found {
                host: Arc::new(host),
                settings: loading,
                loaded,
                tool_timeout: seconds(config.tool_timeout.as_ref(), CALL_SECONDS),
                network: settings.network,
            }),
        }
    }

    /// The plugins, in the order of their names.
    pub fn all(&self) -> &[Plugin] {
        self.found.as_ref().map_or(&[], |found| &found.loaded.plugins)
    }

    /// Remarks about plugins, and about entries that could not be loaded.
    pub fn faults(&self) -> &[Remark] {
        self.found.as_ref().map_or(&[], |found| &found.loaded.remarks)
    }

    /// The plugins that were found and could not describe themselves.
    pub fn without_schema(&self) -> &[Unloaded] {
        self.found.as_ref().map_or(&[], |found| &found.loaded.unloaded)
    }

    /// Registers refusals, at all guards, for the plugins that could not describe themselves.
    pub fn refuse_for_unloaded(&self, engine: &Engine) {
        let Some(Found { host, loaded, .. }) = &self.found else {
            return;
        };
        for unloaded in &loaded.unloaded {
            refuse_for(unloaded, engine, host);
        }
    }

    /// Whether a plugin brings a tool with this name.
    pub fn has_tool(&self, name: &str) -> bool {
        let mut tools = self.all().iter().flat_map(|plugin| &plugin.tools);
        tools.any(|tool| tool.name == name)
    }

    /// Registers the hooks of all plugins. Returns the errors in them.
    pub fn register_hooks(&self, engine: &Engine) -> Vec<Remark> {
        let Some(Found { host, loaded, .. }) = &self.found else {
            return Vec::new();
        };
        let remarks = loaded.plugins.iter().flat_map(|plugin| {
            let remarks = register(engine, plugin, host);
            remarks
                .into_iter()
                .map(|remark| Remark::new(&plugin.name, remark))
        });
        remarks.collect()
    }

    /// Asks those plugins again whose cached schemas are no longer fresh: hooks that they have gained are registered,
    /// and a plugin that can no longer describe itself refuses. `None` if all schemas are fresh.
    pub fn asking_again(
        &self,
        engine: &Arc<Engine>,
        front: &Arc<dyn Front>,
    ) -> Option<impl Future<Output = ()> + Send + 'static> {
        let found = self
            .found
            .as_ref()
            .filter(|found| !found.loaded.stale.is_empty())?;
        let (host, settings) = (Arc::clone(&found.host), found.settings.clone());
        let (stale, before) = (found.loaded.stale.clone(), found.loaded.plugins.clone());
        let (engine, front) = (Arc::clone(engine), Arc::clone(front));
        Some(async move {
            let warn = |words: String| front.show(FrontUpdate::Warning(&words));
            for answer in ask_again(stale, &host, &settings, &warn).await {
                match answer {
                    Ok(plugin) => {
                        let known = before.iter().find(|known| known.name == plugin.name);
                        let asked = known.map(Plugin::hooks).unwrap_or_default();
                        register_further(&engine, &plugin, &asked, &host);
                    }
                    Err(unloaded) => {
                        warn(format!("{unloaded}; what a guard may judge is refused"));
                        refuse_for(&unloaded, &engine, &host);
                    }
                }
            }
        })
    }

    /// Adds the tools of all plugins to becket's own, and returns which could not be added. Of two plugins with a tool
    /// of the same name the first has it; a tool with the name of one of becket's own replaces it, behind the same
    /// gate, if that one has a gate.
    pub fn offer_tools(&self, profile: &Profile, tools: &mut Vec<Arc<dyn Tool>>) -> Vec<NotOffered> {
        let Some(found) = &self.found else {
            return Vec::new();
        };
        let mut refused = Vec::new();
        let mut taken: Vec<(&str, &str)> = Vec::new();
        for plugin in &found.loaded.plugins {
            for tool in &plugin.tools {
                let owner = taken.iter().find(|(name, _)| *name == tool.name);
                match found.tool(plugin, tool, profile, owner.map(|(_, owner)| *owner), tools) {
                    Ok(made) => {
                        taken.push((&tool.name, &plugin.name));
                        tools.retain(|own| own.spec().face.name != tool.name);
                        tools.push(Arc::new(made));
                    }
                    Err(why) => refused.push(NotOffered {
                        plugin: plugin.name.clone(),
                        tool: tool.name.clone(),
                        why,
                    }),
                }
            }
        }
        refused
    }
}

impl Found {
    /// A plugin's tool as one of becket's; the error says why it cannot be one.
    fn tool(
        &self,
        plugin: &Plugin,
        tool: &PluginTool,
        profile: &Profile,
        owner: Option<&str>,
        own: &[Arc<dyn Tool>],
    ) -> Result<ProgramTool, String> {
        if !is_speakable(&tool.name) {
            return Err("a name has up to 64 letters, digits, `_` and `-`".into());
        }
        if let Some(owner) = owner {
            return Err(format!("the plugin {owner} has one of that name"));
        }
        // These belong to the agent itself and have no gate that a replacement would pass.
        if own_tool_names().any(|own| own == tool.name) {
            return Err("becket has a tool of that name, which nothing can replace".into());
        }
        let made = self.program_tool(plugin, tool);
        let face = stood_in_for(&tool.name, profile);
        let gated = own
            .iter()
            .any(|own| own.spec().face.name == tool.name && own.spec().operation.is_some());
        match face {
            Some(_) if tool.flow_control => Err(
                "becket has a tool of that name, which only a tool that does something can replace".into(),
            ),
            Some(face) => Ok(made.standing_in_for(face)),
            None if gated => Err("becket has a tool of that name whose gate it cannot use".into()),
            None => Ok(made),
        }
    }

    fn program_tool(&self, plugin: &Plugin, tool: &PluginTool) -> ProgramTool {
        let handoff = match (tool.flow_control, tool.ends_turn) {
            (true, true) => Some(Handoff::Person),
            (true, false) => Some(Handoff::Model),
            (false, _) => tool.leaves_a_note().then_some(Handoff::ModelLater),
        };
        let face = ProgramFace {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
            source: plugin.name.clone(),
            parallel: tool.parallel,
            handoff,
            summary_arguments: tool.summary_params.clone(),
            uses_network: self.network.contains(&tool.name),
        };
        let call = Call::Tool(plugin.terminal);
        let timeout = timeout_of(&self.host, call, self.tool_timeout);
        let lane = plugin_lane(plugin, &self.host, call);
        let (host, plugin, name) = (Arc::clone(&self.host), plugin.clone(), tool.name.clone());
        let telling = move |arguments: String, context: &str| {
            let arguments = echo_proof(arguments);
            let variables = tool_variables(&plugin, &host, &name, context, &arguments);
            (arguments, variables)
        };
        ProgramTool::new(face, Arc::new(lane), Arc::new(telling), timeout)
    }
}

/// A remark if a home that the user has named has neither plugins nor files. The default home may exist for other
/// reasons.
fn emptiness(home: &Path, surroundings: &Surroundings) -> Option<Remark> {
    let persons_home = surroundings.variable("HOME").map(PathBuf::from);
    let is_usual = home::home(None, persons_home.as_deref()).as_deref() == Some(home);
    let folder = plugins_folder(home);
    let has_files = becket_fs::is_dir(home.join("vfs"));
    let is_missing =
        !is_usual && !has_files && !becket_fs::exists(&folder) && !becket_fs::is_symlink(&folder);
    is_missing.then(|| {
        let message = format!(
            "there is no folder {}, so there are none; is it the right home?",
            folder.display()
        );
        Remark::new("*", message)
    })
}

fn names(set: &[Spanned<String>]) -> Vec<String> {
    set.iter().map(|name| name.get_ref().clone()).collect()
}

/// becket's own tool that a plugin's tool replaces because of its name: the one that the model would see, or one with
/// any name that chibi or becket has for it.
fn stood_in_for(name: &str, profile: &Profile) -> Option<Face> {
    let offered = profile.face_named(name).cloned();
    offered
        .or_else(|| builtin_face(name))
        .or_else(|| Profile::own().face_named(name).cloned())
}

/// Whether a plugin's tool with that name replaces one of becket's own.
pub fn stands_in(name: &str, profile: &Profile) -> bool {
    stood_in_for(name, profile).is_some()
}

/// Whether providers accept a tool with that name.
fn is_speakable(name: &str) -> bool {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(is_plain)
}

/// The user's terminal, if the program has one and standard error is shown there.
fn terminal(surroundings: &Surroundings) -> Option<Terminal> {
    if !surroundings.stderr_is_terminal {
        return None;
    }
    let device = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/tty");
    let screen = surroundings.screen.clone();
    let lend = move || Box::new(screen.get().map(|screen| screen.suspend())) as Box<dyn Send + Sync>;
    device
        .ok()
        .map(|device| Terminal::new(device).lent_by(Arc::new(lend)))
}

fn seconds(set: Option<&Spanned<u64>>, usual: u64) -> Duration {
    Duration::from_secs(set.map_or(usual, |seconds| *seconds.get_ref()))
}

/// The timeout of one call.
pub fn call_seconds(set: Option<&Spanned<u64>>) -> Duration {
    seconds(set, CALL_SECONDS)
}

/// The word for a generation.
pub fn generation_word(generation: Generation) -> &'static str {
    match generation {
        Generation::Older => "older",
        Generation::Newer => "newer",
    }
}
