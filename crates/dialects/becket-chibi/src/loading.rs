//! From a home to plugins that can be called: find the programs, ask them what they are or remember it, and say what
//! is wrong.
//!
//! A program that was found and cannot say what it is may be a guard: it is told as unloaded, never left out in
//! silence.

use std::path::{Path, PathBuf};
use std::time::Duration;

use becket_host::Unloaded;
use futures_util::{StreamExt, stream};
use serde_json::Value;

use super::discovery::{Candidate, Remark, discover};
use super::plugin::{Generation, Host, Plugin};
use super::schema;
use super::schema_cache::{Cache, Entry, Fingerprint, scripts_beside};
use super::traits::Traits;

/// How many plugins are asked for their schemas at the same time.
const AT_ONCE: usize = 8;

/// What a folder of plugins is called into which nobody can look.
pub const ALL_PLUGINS: &str = "plugins";

/// A plugin that takes longer than this to say what it is, is worth a line.
const WORTH_A_LINE: Duration = Duration::from_secs(2);

/// How plugins are loaded.
#[derive(Debug, Clone)]
pub struct LoadSettings {
    /// The file in which answers are remembered; `None` to remember nothing.
    pub cache: Option<PathBuf>,
    /// Whether what is remembered counts.
    pub asking: Asking,
    /// How long a plugin may take to say what it is.
    pub schema_timeout: Duration,
    /// The directory in which plugins are asked.
    pub directory: PathBuf,
    /// Plugins that are of the older generation, whatever they look like.
    pub older: Vec<String>,
    /// Plugins that are of the newer generation, whatever they look like.
    pub newer: Vec<String>,
    /// Plugins that the user leaves out.
    pub without: Vec<String>,
}

/// When plugins are asked what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// When they are new or have changed.
    WhenChanged,
    /// Always.
    Always,
}

/// The plugins of a home, in the order of their names, and what the user should know about them.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// The plugins.
    pub plugins: Vec<Plugin>,
    /// What is wrong with those that are there, and what lies there that is no plugin.
    pub remarks: Vec<Remark>,
    /// Those that were found and could not say what they are.
    pub unloaded: Vec<Unloaded>,
    /// Those that are left out because the user says so.
    pub left_out: Vec<String>,
    /// Those that said what they are some time ago, and are to be asked again.
    pub stale: Vec<Candidate>,
}

/// A plugin whose schema is to be found out.
struct Looked {
    candidate: Candidate,
    state: State,
}

/// What is known of a plugin before it is asked.
enum State {
    /// It is no plugin, for this reason.
    Foreign(String),
    /// It cannot be asked, for this reason.
    Broken(String),
    /// It has answered in this very state.
    Known(Entry),
    /// It is new, or has changed, or is to be asked in any case.
    Unknown(Fingerprint, Traits),
}

/// Loads the plugins of a home. `tell` hears of those that take long to say what they are.
pub async fn load(host: &Host, settings: &LoadSettings, tell: &(dyn Fn(String) + Sync)) -> Loaded {
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
            State::Unknown(..) => Some(ask(&looked.candidate, host, settings, tell).await),
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

/// Asks plugins again that said what they are some time ago, and remembers it. The error says why one can no longer say
/// what it is.
pub async fn ask_again(
    stale: Vec<Candidate>,
    host: &Host,
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
    // The next start asks once more if this could not be written.
    let _ = cache.write();
    plugins
}

impl Loaded {
    /// Decides what becomes of something that lies where plugins lie.
    fn take(
        &mut self,
        looked: Looked,
        answer: Option<Result<Value, String>>,
        settings: &LoadSettings,
        cache: &mut Cache,
    ) {
        let Looked { candidate, state } = looked;
        let entry = match (state, answer) {
            (State::Foreign(why), _) => return self.remarks.push(Remark::new(&candidate.name, why)),
            (State::Known(entry), _) => {
                if !entry.is_fresh() {
                    self.stale.push(candidate.clone());
                }
                Ok(entry)
            }
            (State::Unknown(print, traits), Some(Ok(schema))) => {
                let entry = Entry::new(print, traits, schema);
                cache.remember(&candidate.place, entry.clone());
                Ok(entry)
            }
            (State::Unknown(..), Some(Err(why))) | (State::Broken(why), _) => Err(why),
            (State::Unknown(..), None) => Err("it was not asked what it is".into()),
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
        Err(trouble) if is_meant(&candidate, cache) => State::Broken(trouble),
        Err(trouble) => State::Foreign(trouble),
        Ok((print, program)) => {
            let known = cache.known(&candidate.place, &print);
            match known.filter(|_| asking == Asking::WhenChanged) {
                Some(entry) => State::Known(entry.clone()),
                None => State::Unknown(print, traits_of(&candidate, &program)),
            }
        }
    };
    Looked { candidate, state }
}

/// Whether something that cannot be run is a plugin all the same: chibi would start it, it has been one before, or it
/// is a link whose program is gone. A README or an empty folder is none.
fn is_meant(candidate: &Candidate, cache: &Cache) -> bool {
    let is_lost = |path: &Path| path.is_symlink() && !path.exists();
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

/// Asks a plugin what it is. An answer that cannot be understood is none.
async fn ask(
    candidate: &Candidate,
    host: &Host,
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
                "waiting for the plugin {} to say what it is (`--schema`, at most {seconds} s)",
                candidate.name
            ));
            asking.await
        }
    };
    let schema = asked.map_err(|why| format!("`--schema` failed: {why}"))?;
    schema::read(&schema)?;
    Ok(schema)
}

/// A plugin that said what it is, and what is odd about it.
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
    let plugin = Plugin {
        name: candidate.name,
        path: candidate.path,
        generation,
        terminal: entry.traits.terminal,
        tools,
    };
    Ok((plugin, faults))
}

/// Overrides for plugins that are not there do nothing; they may be misspelt.
fn unknown_overrides(candidates: &[Candidate], settings: &LoadSettings) -> Vec<Remark> {
    let named = settings.older.iter().chain(&settings.newer);
    let unknown = named.filter(|name| !candidates.iter().any(|candidate| candidate.name == **name));
    unknown
        .map(|name| {
            let near =
                becket_hooks::nearest(name, candidates.iter().map(|candidate| candidate.name.as_str()));
            let hint = near
                .map(|near| format!("; did you mean `{near}`?"))
                .unwrap_or_default();
            Remark::new(
                name,
                format!("the settings name its generation, but it is not there{hint}"),
            )
        })
        .collect()
}
