//! Loads the plugins of a home: finds the programs, asks them to describe themselves or uses the cache, and collects
//! errors.
//!
//! A program that cannot describe itself may be a guard: it is reported as unloaded, never left out silently.

use std::path::{Path, PathBuf};
use std::time::Duration;

use becket_host::Unloaded;
use futures_util::{StreamExt, stream};
use serde_json::Value;

use super::discovery::{Candidate, Remark, discover};
use super::plugin::{Generation, HostFacts, Plugin, TerminalNeed};
use super::schema;
use super::schema_cache::{Cache, Entry, Fingerprint, scripts_beside};
use super::traits::Traits;

/// How many plugins are asked for their schemas at the same time.
const AT_ONCE: usize = 8;

/// The name for all plugins, if their folder cannot be read.
pub const ALL_PLUGINS: &str = "plugins";

/// After this time, the user sees that a plugin takes long to describe itself.
const WORTH_A_LINE: Duration = Duration::from_secs(2);

/// The settings for loading plugins.
#[derive(Debug, Clone)]
pub struct LoadSettings {
    /// The file in which schemas are cached; `None` for no cache.
    pub cache: Option<PathBuf>,
    /// Whether cached schemas are used.
    pub asking: Asking,
    /// How long a plugin may take to describe itself.
    pub schema_timeout: Duration,
    /// The directory in which plugins are asked.
    pub directory: PathBuf,
    /// Plugins that are of the older generation, whatever they look like.
    pub older: Vec<String>,
    /// Plugins that are of the newer generation, whatever they look like.
    pub newer: Vec<String>,
    /// Plugins that ask the user something on standard input, whatever they look like.
    pub asking_on_input: Vec<String>,
    /// Plugins that the user leaves out.
    pub without: Vec<String>,
}

/// When plugins are asked to describe themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// If a plugin is new or has changed.
    WhenChanged,
    /// Always, whatever is cached.
    Always,
}

/// The plugins of a home, in the order of their names, and remarks for the user about them.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// The plugins that can be called.
    pub plugins: Vec<Plugin>,
    /// Remarks about plugins, and about entries that are no plugins.
    pub remarks: Vec<Remark>,
    /// The plugins that were found and could not describe themselves.
    pub unloaded: Vec<Unloaded>,
    /// The names of plugins that the user leaves out.
    pub left_out: Vec<String>,
    /// The plugins whose cached schemas are no longer fresh, which should be asked again.
    pub stale: Vec<Candidate>,
}

/// An entry whose schema is needed.
struct Looked {
    candidate: Candidate,
    state: EntryState,
}

/// The state of an entry before it is asked.
enum EntryState {
    /// The entry is no plugin, for this reason.
    Foreign(String),
    /// The plugin cannot be asked, for this reason.
    Broken(String),
    /// The plugin has a cached schema for exactly this state.
    Known(Entry),
    /// The plugin is new, or has changed, or is to be asked in any case.
    Unknown(Fingerprint, Traits),
}

/// Loads the plugins of a home. `tell` gets a message about those that take long to describe themselves.
pub async fn load(host: &HostFacts, settings: &LoadSettings, tell: &(dyn Fn(String) + Sync)) -> Loaded {
    let mut cache = Cache::read(settings.cache.as_deref());
    cache.forget_gone();
    let mut loaded = Loaded::default();
    let candidates = discover(&host.chibi_home).unwrap_or_else(|why| {
        let folder = super::plugins_folder(&host.chibi_home);
        match settings.without.iter().any(|name| name == ALL_PLUGINS) {
            true => loaded.left_out.push(ALL_PLUGINS.to_owned()),
            false => loaded.unloaded.push(unloaded(ALL_PLUGINS, &folder, why)),
        }
        Vec::new()
    });
    loaded.remarks.extend(unknown_overrides(&candidates, settings));
    let (without, wanted): (Vec<Candidate>, Vec<Candidate>) = candidates
        .into_iter()
        .partition(|candidate| settings.without.contains(&candidate.name));
    let without = without.into_iter().map(|candidate| candidate.name);
    loaded.left_out.extend(without);
    let looked = wanted
        .into_iter()
        .map(|candidate| look_at(candidate, &cache, settings.asking));
    let looked: Vec<Looked> = looked.collect();
    let answers = stream::iter(looked).map(|looked| async {
        let answer = match &looked.state {
            EntryState::Unknown(..) => Some(ask(&looked.candidate, host, settings, tell).await),
            _ => None,
        };
        (looked, answer)
    });
    let answers: Vec<_> = answers.buffered(AT_ONCE).collect().await;
    for (looked, answer) in answers {
        loaded.take(looked, answer, settings, &mut cache);
    }
    if let Err(error) = cache.write() {
        loaded.remarks.push(Remark::new(
            "*",
            format!("what plugins are cannot be remembered: {error}"),
        ));
    }
    loaded
}

/// Asks plugins again whose cached schemas are no longer fresh, and caches the answers. The error says why a plugin can
/// no longer describe itself.
pub async fn ask_again(
    stale: Vec<Candidate>,
    host: &HostFacts,
    settings: &LoadSettings,
    tell: &(dyn Fn(String) + Sync),
) -> Vec<Result<Plugin, Unloaded>> {
    let asked = stream::iter(stale).map(|candidate| async move {
        let taken = Fingerprint::take(&candidate);
        let answer = match taken {
            Ok((print, program)) => ask(&candidate, host, settings, tell)
                .await
                .map(|schema| Entry::new(print, traits_of(&candidate, &program), schema)),
            Err(why) => Err(why),
        };
        (candidate, answer)
    });
    let asked: Vec<_> = asked.buffered(AT_ONCE).collect().await;
    let mut cache = Cache::read(settings.cache.as_deref());
    let plugins = asked.into_iter().map(|(candidate, answer)| {
        let entry = answer.map_err(|why| unloaded(&candidate.name, &candidate.place, why))?;
        cache.remember(&candidate.place, entry.clone());
        plugin(candidate, &entry, settings).map(|(plugin, _)| plugin)
    });
    let plugins = plugins.collect();
    // If this cannot be written, the next start asks once more.
    let _ = cache.write();
    plugins
}

impl Loaded {
    /// Decides how an entry of the plugins folder counts.
    fn take(
        &mut self,
        looked: Looked,
        answer: Option<Result<Value, String>>,
        settings: &LoadSettings,
        cache: &mut Cache,
    ) {
        let Looked { candidate, state } = looked;
        let entry = match (state, answer) {
            (EntryState::Foreign(why), _) => return self.remarks.push(Remark::new(&candidate.name, why)),
            (EntryState::Known(entry), _) => {
                if !entry.is_fresh() {
                    self.stale.push(candidate.clone());
                }
                Ok(entry)
            }
            (EntryState::Unknown(print, traits), Some(Ok(schema))) => {
                let entry = Entry::new(print, traits, schema);
                cache.remember(&candidate.place, entry.clone());
                Ok(entry)
            }
            (EntryState::Unknown(..), Some(Err(why))) | (EntryState::Broken(why), _) => Err(why),
            (EntryState::Unknown(..), None) => Err("it was not asked what it is".into()),
        };
        let (name, place) = (candidate.name.clone(), candidate.place.clone());
        let made = entry
            .map_err(|why| unloaded(&name, &place, why))
            .and_then(|entry| plugin(candidate, &entry, settings));
        match made {
            Ok((plugin, faults)) => {
                self.remarks
                    .extend(faults.into_iter().map(|fault| Remark::new(&name, fault)));
                self.plugins.push(plugin);
            }
            Err(unloaded) => self.unloaded.push(unloaded),
        }
    }
}

fn look_at(candidate: Candidate, cache: &Cache, asking: Asking) -> Looked {
    let taken = match &candidate.trouble {
        Some(trouble) => Err(trouble.clone()),
        None => Fingerprint::take(&candidate),
    };
    let state = match taken {
        Err(trouble) if is_meant(&candidate, cache) => EntryState::Broken(trouble),
        Err(trouble) => EntryState::Foreign(trouble),
        Ok((print, program)) => {
            let known = cache.known(&candidate.place, &print);
            match known.filter(|_| asking == Asking::WhenChanged) {
                Some(entry) => EntryState::Known(entry.clone()),
                None => EntryState::Unknown(print, traits_of(&candidate, &program)),
            }
        }
    };
    Looked { candidate, state }
}

/// Whether an entry that cannot be run is a plugin anyway: chibi would start it, it has been one before, or it is a
/// link whose program is gone. A README or an empty folder is none.
fn is_meant(candidate: &Candidate, cache: &Cache) -> bool {
    let is_lost = |path: &Path| becket_fs::is_symlink(path) && !becket_fs::exists(path);
    candidate.trouble.is_none()
        || cache.has_been_plugin(&candidate.place)
        || is_lost(&candidate.place)
        || is_lost(&candidate.path)
}

fn traits_of(candidate: &Candidate, program: &[u8]) -> Traits {
    Traits::of(program).with(&scripts_beside(candidate))
}

fn unloaded(name: &str, place: &Path, why: String) -> Unloaded {
    Unloaded::new("plugin", name, place, why)
}

/// Asks a plugin to describe itself. An answer that cannot be understood is an error.
async fn ask(
    candidate: &Candidate,
    host: &HostFacts,
    settings: &LoadSettings,
    tell: &(dyn Fn(String) + Sync),
) -> Result<Value, String> {
    let asking = schema::ask(candidate, host, &settings.directory, settings.schema_timeout);
    tokio::pin!(asking);
    let asked = tokio::select! {
        asked = &mut asking => asked,
        () = tokio::time::sleep(WORTH_A_LINE) => {
            let seconds = settings.schema_timeout.as_secs();
            tell(format!(
                "waiting for the plugin {} to print its schema (`--schema`, at most {seconds} s)",
                candidate.name
            ));
            asking.await
        }
    };
    let schema = asked.map_err(|why| format!("`--schema` failed: {why}"))?;
    schema::read(&schema)?;
    Ok(schema)
}

/// A plugin from its schema, with remarks about it.
fn plugin(
    candidate: Candidate,
    entry: &Entry,
    settings: &LoadSettings,
) -> Result<(Plugin, Vec<String>), Unloaded> {
    let (tools, faults) =
        schema::read(&entry.schema).map_err(|why| unloaded(&candidate.name, &candidate.place, why))?;
    let generation = match &candidate.name {
        name if settings.older.contains(name) => Generation::Older,
        name if settings.newer.contains(name) => Generation::Newer,
        _ => entry.traits.generation,
    };
    let terminal = match settings.asking_on_input.contains(&candidate.name) {
        true => TerminalNeed::Reads,
        false => entry.traits.terminal,
    };
    let plugin = Plugin {
        name: candidate.name,
        path: candidate.path,
        generation,
        terminal,
        long: entry.traits.long,
        tools,
    };
    Ok((plugin, faults))
}

/// Remarks about overrides for plugins that do not exist; they may be misspelt.
fn unknown_overrides(candidates: &[Candidate], settings: &LoadSettings) -> Vec<Remark> {
    let generations = settings.older.iter().chain(&settings.newer);
    let asking = settings.asking_on_input.iter().map(|name| (name, "that it asks"));
    let named = generations.map(|name| (name, "its generation")).chain(asking);
    let unknown = named.filter(|(name, _)| !candidates.iter().any(|candidate| candidate.name == **name));
    unknown
        .map(|(name, what)| {
            let near =
                becket_hooks::nearest(name, candidates.iter().map(|candidate| candidate.name.as_str()));
            let hint = near
                .map(|near| format!("; did you mean `{near}`?"))
                .unwrap_or_default();
            Remark::new(
                name,
                format!("the settings name {what}, but it is not there{hint}"),
            )
        })
        .collect()
}
