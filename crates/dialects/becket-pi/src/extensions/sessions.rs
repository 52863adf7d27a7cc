//! The session as pi's session manager shows it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use becket_agent::context_files::{ContextFile, Whose};
use becket_agent::session_handle::NewConversation;
use becket_agent::store::{EntryContent, Origin, StoredEntry};
use becket_js::HostError;
use becket_system::moments;
use serde_json::{Value, json};

use super::answer::refused;
use super::registry::ExtensionRegistry;
use crate::host_call::{ContextUsage, SessionInfo};
use crate::services::ComingSession;
use crate::session_file::Header;
use crate::session_files::{self, About};
use crate::{ModelName, messages};

/// How full the model's context window is.
pub fn usage(registry: &ExtensionRegistry) -> Option<ContextUsage> {
    let usage = registry.session.context_usage().ok()?;
    Some(ContextUsage {
        tokens: Some(usage.tokens),
        context_window: usage.window,
        percent: Some(usage.percent()),
    })
}

/// The facts about the session.
pub fn info(registry: &ExtensionRegistry) -> Result<SessionInfo, HostError> {
    let handle = &registry.session;
    let place = handle.place().map_err(refused)?;
    Ok(SessionInfo {
        cwd: place.cwd,
        session_dir: place.files.folder().display().to_string(),
        session_id: id(registry, place.origin.as_ref())?,
        leaf_id: handle.conversation().leaf_id().map_err(refused)?,
        name: handle.conversation().name().map_err(refused)?,
    })
}

/// The facts about a conversation that is about to begin.
pub fn coming(registry: &ExtensionRegistry, conversation: NewConversation) -> Result<ComingSession, String> {
    let NewConversation {
        session_id,
        files,
        parent_file,
    } = conversation;
    let place = registry.session.place().map_err(|error| error.to_string())?;
    let header = Header {
        id: &session_id,
        time_ms: now_ms(),
        cwd: &place.cwd,
        parent: parent_file.as_deref(),
    };
    let file = files.path(ContextFile::Session).display().to_string();
    Ok(ComingSession {
        header: header.shown(),
        cwd: place.cwd,
        session_dir: files.folder().display().to_string(),
        session_file: registry.facts.keeps_sessions.then_some(file),
        session_id,
    })
}

/// The id of the conversation; one that was imported from a file keeps the file's id.
fn id(registry: &ExtensionRegistry, origin: Option<&Origin>) -> Result<String, HostError> {
    let named = match origin {
        Some(Origin::Import { header }) => header["id"].as_str().map(ToOwned::to_owned),
        _ => None,
    };
    named.map_or_else(|| registry.session.conversation().id().map_err(refused), Ok)
}

/// The first line of the session's file.
pub fn header(registry: &ExtensionRegistry) -> Result<Value, HostError> {
    let tree = registry.session.conversation().tree().map_err(refused)?;
    about(registry, |about| session_files::header(&tree, about))
}

/// Writes the session as a file, and again after each run from now on. Returns the path; `None` if nothing is stored.
pub fn file(registry: &ExtensionRegistry) -> Result<Option<String>, HostError> {
    if !registry.facts.keeps_sessions {
        return Ok(None);
    }
    // A file that was written is kept up to date.
    if !registry.session_file.load(Ordering::Relaxed) {
        write_file(registry).map_err(HostError::new)?;
        registry.session_file.store(true, Ordering::Relaxed);
    }
    let place = registry.session.place().map_err(refused)?;
    Ok(Some(place.files.path(ContextFile::Session).display().to_string()))
}

/// Rewrites the session's file, if an extension has asked for it.
pub fn renew_file(registry: &ExtensionRegistry) {
    if registry.session_file.load(Ordering::Relaxed)
        && let Err(why) = write_file(registry)
    {
        registry.warn(&why);
    }
}

fn write_file(registry: &ExtensionRegistry) -> Result<(), String> {
    let told = |error: HostError| error.message;
    let place = registry.session.place().map_err(|error| error.to_string())?;
    let tree = registry
        .session
        .conversation()
        .tree()
        .map_err(|error| error.to_string())?;
    let model = model(registry);
    let text = about(registry, |about| {
        session_files::export(&tree, about, |_| model.clone())
    })
    .map_err(told)?;
    let file = place.files.path(ContextFile::Session);
    match place.files.write_own(ContextFile::Session, &text) {
        Ok(Whose::Own) => Ok(()),
        Ok(Whose::Foreign) => Err(format!(
            "the session was not written to {}: becket did not write that file. Move it away",
            file.display()
        )),
        Err(error) => Err(format!(
            "the session cannot be written to {}: {error}",
            file.display()
        )),
    }
}

fn about<T>(registry: &ExtensionRegistry, look: impl FnOnce(About<'_>) -> T) -> Result<T, HostError> {
    let place = registry.session.place().map_err(refused)?;
    let id = id(registry, place.origin.as_ref())?;
    let folder = place.files.folder();
    Ok(look(About {
        id: &id,
        cwd: &place.cwd,
        origin: place.origin.as_ref(),
        contexts: folder.parent().unwrap_or(folder),
        now_ms: now_ms(),
    }))
}

fn now_ms() -> u64 {
    u64::try_from(moments::now().timestamp_millis()).unwrap_or(0)
}

/// All entries of the session, on all branches.
pub fn entries(registry: &ExtensionRegistry) -> Result<Vec<Value>, HostError> {
    Ok(all_shown(
        registry,
        &registry.session.conversation().all_entries().map_err(refused)?,
    ))
}

/// The entries on the branch of one of them, or on the current branch.
pub fn branch(registry: &ExtensionRegistry, last: Option<&str>) -> Result<Vec<Value>, HostError> {
    let branch = match last {
        None => registry.session.conversation().entries(),
        Some(id) => registry.session.conversation().branch(id),
    };
    Ok(all_shown(registry, &branch.map_err(refused)?))
}

fn all_shown(registry: &ExtensionRegistry, entries: &[Arc<StoredEntry>]) -> Vec<Value> {
    let model = model(registry);
    let model = ModelName::of(&model);
    let shown = entries.iter().map(|entry| session_files::shown(entry, model));
    shown.collect()
}

/// One entry of the session.
pub fn entry(registry: &ExtensionRegistry, id: &str) -> Result<Option<Value>, HostError> {
    let entry = registry.session.conversation().entry(id).map_err(refused)?;
    let model = model(registry);
    Ok(entry.map(|entry| session_files::shown(&entry, ModelName::of(&model))))
}

/// The part of the session that the model sees.
pub fn context(registry: &ExtensionRegistry) -> Result<Value, HostError> {
    let handle = &registry.session;
    let model = model(registry);
    let name = ModelName::of(&model);
    let entries = handle.conversation().entries().map_err(refused)?;
    let summary = entries.iter().rev().find_map(|entry| match &entry.content {
        EntryContent::Compaction {
            summary,
            tokens_before,
            ..
        } => Some(messages::compaction_summary(
            summary,
            *tokens_before,
            entry.time_ms,
        )),
        _ => None,
    });
    let said = handle.conversation().messages().map_err(refused)?;
    let said = said.iter().map(|message| messages::shown(message, name));
    let level = handle.config().thinking().map_err(refused)?;
    Ok(json!({
        "messages": summary.into_iter().chain(said).collect::<Vec<_>>(),
        "thinkingLevel": level.map_or(json!("off"), |level| json!(level)),
        "model": {"provider": name.provider, "modelId": name.id},
    }))
}

/// The conversation at the end of a turn, and the queued messages.
pub fn at_boundary(registry: &ExtensionRegistry) -> Result<Value, HostError> {
    let model = model(registry);
    let name = ModelName::of(&model);
    let waiting = registry.session.messages().waiting();
    let waiting: Vec<Value> = waiting
        .iter()
        .map(|message| messages::shown(message, name))
        .collect();
    Ok(json!({
        "contextEntries": branch(registry, None)?,
        "contextMessages": context(registry)?["messages"],
        "pendingMessages": waiting,
    }))
}

/// The model in use, as `provider/name`.
fn model(registry: &ExtensionRegistry) -> String {
    let provider = registry.session.config().model();
    provider.map_or_else(
        |_| String::new(),
        |provider| format!("{}/{}", provider.name(), provider.model()),
    )
}
