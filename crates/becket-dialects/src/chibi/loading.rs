//! From a home to plugins that can be called: find the programs, ask them what they are or remember it, and say what
//! is wrong.

use std::path::PathBuf;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use serde_json::Value;

use super::discovery::{Candidate, Remark, discover};
use super::plugin::{Generation, Host, Plugin};
use super::schema;
use super::schema_cache::{Cache, Fingerprint, scripts_beside};
use super::traits::Traits;

/// How many plugins are asked for their schemas at the same time.
const AT_ONCE: usize = 8;

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

/// A program whose schema is to be found out.
struct Looked {
    candidate: Candidate,
    print: Fingerprint,
    traits: Traits,
    /// What it has said in this very state.
    known: Option<Value>,
}

/// Loads the plugins of a home.
pub async fn load(host: &Host, settings: &LoadSettings) -> Loaded {
    let (candidates, mut remarks) = discover(&host.chibi_home);
    remarks.extend(unknown_overrides(&candidates, settings));
    let mut cache = Cache::read(settings.cache.as_deref());
    let mut looked = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        match look_at(candidate, &cache, settings.asking) {
            Ok(seen) => looked.push(seen),
            Err(remark) => remarks.push(remark),
        }
    }
    let answers = stream::iter(looked).map(|looked| async {
        let answer = match &looked.known {
            Some(schema) => Ok(schema.clone()),
            None => ask(&looked.candidate, host, settings).await,
        };
        (looked, answer)
    });
    let answers: Vec<_> = answers.buffered(AT_ONCE).collect().await;
    let mut plugins = Vec::with_capacity(answers.len());
    for (looked, answer) in answers {
        let (path, name) = (looked.candidate.path.clone(), looked.candidate.name.clone());
        let schema = match answer {
            Ok(schema) => {
                if looked.known.is_none() {
                    cache.remember(&path, looked.print.clone(), looked.traits, schema.clone());
                }
                Some(schema)
            }
            Err(error) => {
                let last = cache.last_known(&path);
                remarks.push(Remark::new(name, unanswered(&error, last.is_some())));
                last
            }
        };
        plugins.extend(schema.and_then(|schema| plugin(looked, &schema, settings, &mut remarks)));
    }
    if let Err(error) = cache.write() {
        remarks.push(Remark::new(
            "*",
            format!("what plugins are cannot be remembered: {error}"),
        ));
    }
    Loaded { plugins, remarks }
}

fn look_at(candidate: Candidate, cache: &Cache, asking: Asking) -> Result<Looked, Remark> {
    let (print, program) =
        Fingerprint::take(&candidate).map_err(|error| Remark::new(&candidate.name, error))?;
    let known = match asking {
        Asking::WhenChanged => cache.known(&candidate.path, &print),
        Asking::Always => None,
    };
    let (traits, known) = match known {
        Some((traits, schema)) => (traits, Some(schema)),
        None => (Traits::of(&program).with(&scripts_beside(&candidate)), None),
    };
    Ok(Looked {
        candidate,
        print,
        traits,
        known,
    })
}

/// Asks a plugin what it is. An answer that names no tool is none.
async fn ask(candidate: &Candidate, host: &Host, settings: &LoadSettings) -> Result<Value, String> {
    let schema = schema::ask(candidate, host, &settings.directory, settings.schema_timeout).await?;
    schema::read(&schema)?;
    Ok(schema)
}

fn unanswered(error: &str, known_before: bool) -> String {
    if known_before {
        // Its hooks then fail, and a guard that fails refuses: it must not vanish because it is broken.
        format!("`--schema` failed: {error}; what it said before is kept, so that its guards still stand")
    } else {
        format!("it is left out, because `--schema` failed: {error}")
    }
}

fn plugin(
    looked: Looked,
    schema: &Value,
    settings: &LoadSettings,
    remarks: &mut Vec<Remark>,
) -> Option<Plugin> {
    let Looked {
        candidate, traits, ..
    } = looked;
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
