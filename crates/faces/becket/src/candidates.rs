//! The values that a shell may complete an argument with.

use std::path::PathBuf;

use becket_agent::store::StoreError;
use becket_dialects::{dialect_names, profile_names};
use becket_events::EVENTS;
use becket_host::ModelLists;
use becket_run::config_page::config_keys;
use becket_store::{SessionSummary, SqliteStore};
use becket_system::{Folders, harmless_name};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};

use crate::process;

/// How many letters of a prompt stand beside a session.
const TITLE: usize = 60;

/// The names of contexts.
pub fn contexts() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let contexts = stored(SqliteStore::contexts);
        let names = contexts.into_iter().map(|context| context.name);
        names.map(CompletionCandidate::new).collect()
    })
}

/// The ids of sessions, each with the beginning of its first prompt, else its context.
pub fn sessions() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let sessions = stored(|store| store.sessions(None));
        let candidate = |session: SessionSummary| {
            let prompt = session
                .prompt
                .as_deref()
                .and_then(|prompt| prompt.trim().lines().next());
            let about: String = prompt.unwrap_or(&session.context).chars().take(TITLE).collect();
            CompletionCandidate::new(session.id).help(Some(harmless_name(&about).into()))
        };
        sessions.into_iter().map(candidate).collect()
    })
}

/// The models that were used before, those in the lists that providers have given, and the one that needs no key.
pub fn models() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let sessions = stored(|store| store.sessions(None));
        let mut models: Vec<String> = sessions.into_iter().map(|session| session.model).collect();
        for list in folders().map_or_else(Vec::new, |folders| ModelLists::new(&folders.cache).all()) {
            let names = list.models.iter();
            models.extend(names.map(|model| format!("{}/{}", list.provider, model.name)));
        }
        models.push("rehearsal".to_owned());
        models.sort_unstable();
        models.dedup();
        models.into_iter().map(CompletionCandidate::new).collect()
    })
}

/// The events, by becket's names.
pub fn events() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let names = EVENTS.iter().map(|event| event.name);
        names.map(CompletionCandidate::new).collect()
    })
}

/// The dialects.
pub fn dialects() -> ArgValueCandidates {
    ArgValueCandidates::new(|| dialect_names().map(CompletionCandidate::new).collect())
}

/// The agents whose tools a model can be given.
pub fn profiles() -> ArgValueCandidates {
    ArgValueCandidates::new(|| profile_names().map(CompletionCandidate::new).collect())
}

/// The settings of `config.toml`, without those whose names are free.
pub fn settings() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let keys = config_keys().into_iter();
        let keys = keys.filter(|(key, _)| !key.contains("NAME") && !key.contains("[]"));
        keys.map(|(key, meaning)| CompletionCandidate::new(key).help(Some(meaning.into())))
            .collect()
    })
}

/// The home that the line to be completed names. bash takes `=` for a word of its own.
fn named_home() -> Option<PathBuf> {
    let mut words = std::env::args_os().skip_while(|word| word != "--").skip(1);
    let word = words.find_map(|word| match word.to_str() {
        Some("--home") => Some(None),
        word => Some(Some(word?.strip_prefix("--home=")?.to_owned())),
    })?;
    match word {
        Some(home) => Some(home.into()),
        None => words.find(|word| word != "=").map(PathBuf::from),
    }
}

/// The folders of this user.
fn folders() -> Option<Folders> {
    Folders::find(named_home().as_deref(), &process::surroundings()).ok()
}

/// What the store of this user holds; nothing if there is none.
fn stored<T>(read: impl FnOnce(&SqliteStore) -> Result<Vec<T>, StoreError>) -> Vec<T> {
    let found = folders().filter(|folders| folders.store_file().exists());
    let store = found.and_then(|folders| folders.open_store().ok());
    store.and_then(|store| read(&store).ok()).unwrap_or_default()
}
