//! The session as pi's session manager shows it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use becket_agent::context_files::{ContextFile, Whose};
use becket_agent::desk::Site;
use becket_agent::store::{EntryContent, Origin, StoredEntry};
use becket_js::HostError;
use becket_system::moments;
use serde_json::{Value, json};

use super::board::Board;
use super::host::refused;
use crate::host_call::{ContextUsage, SessionInfo};
use crate::services::ComingSession;
use crate::session_file::Header;
use crate::session_files::{self, About};
use crate::{ModelName, messages};

/// How full the model's window is.
pub fn usage(board: &Board) -> Option<ContextUsage> {
    let usage = board.desk.context_usage().ok()?;
    Some(ContextUsage {
        tokens: Some(usage.tokens),
        context_window: usage.window,
        percent: Some(usage.percent()),
    })
}

/// What there is to know about it.
pub fn info(board: &Board) -> Result<SessionInfo, HostError> {
    let desk = &board.desk;
    let place = desk.place().map_err(refused)?;
    Ok(SessionInfo {
        cwd: place.cwd,
        session_dir: place.files.folder().display().to_string(),
        session_id: id(board, place.origin.as_ref())?,
        leaf_id: desk.leaf_id().map_err(refused)?,
        name: desk.name().map_err(refused)?,
    })
}

/// A conversation that is about to begin.
pub fn coming(board: &Board, site: Site) -> Result<ComingSession, String> {
    let Site {
        session_id,
        files,
        parent_file,
    } = site;
    let place = board.desk.place().map_err(|error| error.to_string())?;
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
        session_file: board.facts.keeps_sessions.then_some(file),
        session_id,
    })
}

/// The id of the conversation; one that was read from a file keeps that file's.
fn id(board: &Board, origin: Option<&Origin>) -> Result<String, HostError> {
    let named = match origin {
        Some(Origin::Import { header }) => header["id"].as_str().map(ToOwned::to_owned),
        _ => None,
    };
    named.map_or_else(|| board.desk.conversation_id().map_err(refused), Ok)
}

/// The first line of its file.
pub fn header(board: &Board) -> Result<Value, HostError> {
    let tree = board.desk.tree().map_err(refused)?;
    about(board, |about| session_files::header(&tree, about))
}

/// Writes it as a file, and again after each run from now on. Says where; nowhere if nothing is kept.
pub fn file(board: &Board) -> Result<Option<String>, HostError> {
    if !board.facts.keeps_sessions {
        return Ok(None);
    }
    // One that is there is kept up to date.
    if !board.session_file.load(Ordering::Relaxed) {
        write_file(board).map_err(HostError::new)?;
        board.session_file.store(true, Ordering::Relaxed);
    }
    let place = board.desk.place().map_err(refused)?;
    Ok(Some(place.files.path(ContextFile::Session).display().to_string()))
}

/// Writes the file anew, if anybody has asked for it.
pub fn renew_file(board: &Board) {
    if board.session_file.load(Ordering::Relaxed)
        && let Err(why) = write_file(board)
    {
        board.warn(&why);
    }
}

fn write_file(board: &Board) -> Result<(), String> {
    let told = |error: HostError| error.message;
    let place = board.desk.place().map_err(|error| error.to_string())?;
    let tree = board.desk.tree().map_err(|error| error.to_string())?;
    let model = model(board);
    let text = about(board, |about| {
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

fn about<T>(board: &Board, look: impl FnOnce(About<'_>) -> T) -> Result<T, HostError> {
    let place = board.desk.place().map_err(refused)?;
    let id = id(board, place.origin.as_ref())?;
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

/// All entries on all branches.
pub fn entries(board: &Board) -> Result<Vec<Value>, HostError> {
    Ok(all_shown(board, &board.desk.all_entries().map_err(refused)?))
}

/// The entries on the way to one of them, or to where the conversation stands.
pub fn branch(board: &Board, last: Option<&str>) -> Result<Vec<Value>, HostError> {
    let branch = match last {
        None => board.desk.entries(),
        Some(id) => board.desk.branch(id),
    };
    Ok(all_shown(board, &branch.map_err(refused)?))
}

fn all_shown(board: &Board, entries: &[Arc<StoredEntry>]) -> Vec<Value> {
    let model = model(board);
    let model = ModelName::of(&model);
    let shown = entries.iter().map(|entry| session_files::shown(entry, model));
    shown.collect()
}

/// One entry.
pub fn entry(board: &Board, id: &str) -> Result<Option<Value>, HostError> {
    let entry = board.desk.entry(id).map_err(refused)?;
    let model = model(board);
    Ok(entry.map(|entry| session_files::shown(&entry, ModelName::of(&model))))
}

/// What the model sees of it.
pub fn context(board: &Board) -> Result<Value, HostError> {
    let desk = &board.desk;
    let model = model(board);
    let name = ModelName::of(&model);
    let entries = desk.entries().map_err(refused)?;
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
    let said = desk.messages().map_err(refused)?;
    let said = said.iter().map(|message| messages::shown(message, name));
    let level = desk.thinking().map_err(refused)?;
    Ok(json!({
        "messages": summary.into_iter().chain(said).collect::<Vec<_>>(),
        "thinkingLevel": level.map_or(json!("off"), |level| json!(level)),
        "model": {"provider": name.provider, "modelId": name.id},
    }))
}

/// The conversation at the end of a turn, and what waits to be heard.
pub fn at_boundary(board: &Board) -> Result<Value, HostError> {
    let model = model(board);
    let name = ModelName::of(&model);
    let waiting = board.desk.waiting();
    let waiting: Vec<Value> = waiting
        .iter()
        .map(|message| messages::shown(message, name))
        .collect();
    Ok(json!({
        "contextEntries": branch(board, None)?,
        "contextMessages": context(board)?["messages"],
        "pendingMessages": waiting,
    }))
}

/// The model in use, as `provider/name`.
fn model(board: &Board) -> String {
    let provider = board.desk.model();
    provider.map_or_else(
        |_| String::new(),
        |provider| format!("{}/{}", provider.name(), provider.model()),
    )
}
