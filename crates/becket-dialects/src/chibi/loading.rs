//! From a home to plugins that can be called: find the programs, ask them what they are or remember it, and say what
//! is wrong.

use std::path::PathBuf;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use serde_json::Value;

use super::discovery::{Candidate, Remark, discover, examine, place_of};
use super::plugin::{Generation, Host, Plugin};
use super::schema;
use super::schema_cache::{Answer, Cache, Fingerprint, scripts_beside};
use super::traits::Traits;

/// How many plugins are asked for their schemas at the same time.
const AT_ONCE: usize = 8;

/// Said of a plugin that is broken and was not before.
const KEPT: &str = "; what it said before is kept, so that its guards still stand";

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
}

/// When plugins are asked what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// When they are new or have changed.
    WhenChanged,
    /// Always.
    Always,
}

/// The plugins of a home, in the order of their names, and what the person should know about them.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// The plugins.
    pub plugins: Vec<Plugin>,
    /// What is wrong, with those that are there and with those that could not be loaded.
    pub remarks: Vec<Remark>,
}

/// A plugin whose schema is to be found out.
struct Looked {
    candidate: Candidate,
    state: State,
}

/// What is known of a plugin before it is asked.
enum State {
    /// It cannot be run, for this reason.
    Broken(String),
    /// It has answered in this very state.
    Known(Traits, Answer),
    /// It is new, or has changed, or is to be asked in any case.
    Unknown(Fingerprint, Traits),
}

/// Loads the plugins of a home.
pub async fn load(host: &Host, settings: &LoadSettings) -> Loaded {
    let mut cache = Cache::read(settings.cache.as_deref());
    cache.forget_gone();
    let (candidates, mut remarks) = candidates(host, &cache);
    remarks.extend(unknown_overrides(&candidates, settings));
    let looked = candidates
        .into_iter()
        .map(|candidate| look_at(candidate, &cache, settings.asking));
    let looked: Vec<Looked> = looked.collect();
    let answers = stream::iter(looked).map(|looked| async {
        let answer = match &looked.state {
            State::Unknown(..) => Some(ask(&looked.candidate, host, settings).await),
            State::Known(..) | State::Broken(_) => None,
        };
        (looked, answer)
    });
    let answers: Vec<_> = answers.buffered(AT_ONCE).collect().await;
    let mut plugins = Vec::with_capacity(answers.len());
    for (Looked { candidate, state }, answer) in answers {
        if let (State::Unknown(print, traits), Some(answer)) = (&state, &answer) {
            cache.remember(&candidate.place, print.clone(), *traits, answer);
        }
        let (found, remark) = conclude(state, answer, cache.last_known(&candidate.place), settings.asking);
        remarks.extend(remark.map(|remark| Remark::new(&candidate.name, remark)));
        plugins.extend(
            found.and_then(|(traits, schema)| plugin(candidate, traits, &schema, settings, &mut remarks)),
        );
    }
    if let Err(error) = cache.write() {
        remarks.push(Remark::new(
            "*",
            format!("what plugins are cannot be remembered: {error}"),
        ));
    }
    Loaded { plugins, remarks }
}

/// What lies where plugins lie. If nobody can look there, all that are known are still there, as far as anybody knows.
fn candidates(host: &Host, cache: &Cache) -> (Vec<Candidate>, Vec<Remark>) {
    let home = &host.chibi_home;
    match discover(home) {
        Ok(candidates) => (candidates, Vec::new()),
        Err(error) => {
            let names = cache.names_in(&place_of(home, ""));
            let candidates = names.into_iter().map(|name| examine(place_of(home, &name), name));
            (candidates.collect(), vec![Remark::new("*", error)])
        }
    }
}

fn look_at(candidate: Candidate, cache: &Cache, asking: Asking) -> Looked {
    let taken = match &candidate.trouble {
        Some(trouble) => Err(trouble.clone()),
        None => Fingerprint::take(&candidate),
    };
    let state = match taken {
        Err(trouble) => State::Broken(trouble),
        Ok((print, program)) => {
            let known = match asking {
                Asking::WhenChanged => cache.known(&candidate.place, &print),
                Asking::Always => None,
            };
            match known {
                Some((traits, answer)) => State::Known(traits, answer),
                None => {
                    let traits = Traits::of(&program).with(&scripts_beside(&candidate));
                    State::Unknown(print, traits)
                }
            }
        }
    };
    Looked { candidate, state }
}

/// What counts for a plugin, and what the person should know about that. One that cannot say what it is, is what it
/// was: its hooks then fail, and a guard that fails refuses. It must not vanish because it is broken.
fn conclude(
    state: State,
    answer: Option<Answer>,
    last: Option<(Traits, Value)>,
    asking: Asking,
) -> (Option<(Traits, Value)>, Option<String>) {
    let (traits, answer) = match (state, answer) {
        (State::Known(traits, answer), _) | (State::Unknown(_, traits), Some(answer)) => (traits, answer),
        (State::Unknown(..), None) => return (None, None),
        (State::Broken(trouble), _) => {
            let kept = if last.is_some() { KEPT } else { "" };
            return (last, Some(format!("{trouble}{kept}")));
        }
    };
    match (answer, last) {
        (Ok(schema), _) => (Some((traits, schema)), None),
        (Err(error), last) => {
            let again = match asking {
                Asking::WhenChanged => {
                    "; it is asked again when it has changed, and `becket doctor` asks it again"
                }
                Asking::Always => "",
            };
            let told = match last {
                Some(_) => format!("`--schema` failed: {error}{KEPT}{again}"),
                None => format!("it is left out, because `--schema` failed: {error}{again}"),
            };
            (last.map(|(_, schema)| (traits, schema)), Some(told))
        }
    }
}

/// Asks a plugin what it is. An answer that names no tool is none.
async fn ask(candidate: &Candidate, host: &Host, settings: &LoadSettings) -> Result<Value, String> {
    let schema = schema::ask(candidate, host, &settings.directory, settings.schema_timeout).await?;
    schema::read(&schema)?;
    Ok(schema)
}

fn plugin(
    candidate: Candidate,
    traits: Traits,
    schema: &Value,
    settings: &LoadSettings,
    remarks: &mut Vec<Remark>,
) -> Option<Plugin> {
    let (tools, faults) = schema::read(schema).ok()?;
    remarks.extend(
        faults
            .into_iter()
            .map(|fault| Remark::new(&candidate.name, fault)),
    );
    let generation = match &candidate.name {
        name if settings.older.contains(name) => Generation::Older,
        name if settings.newer.contains(name) => Generation::Newer,
        _ => traits.generation,
    };
    Some(Plugin {
        name: candidate.name,
        path: candidate.path,
        generation,
        terminal: traits.terminal,
        tools,
    })
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
