//! The session as pi's session manager shows it.

use becket_agent::store::{EntryContent, StoredEntry};
use becket_dialects::pi::host_call::{ContextUsage, SessionInfo};
use becket_dialects::pi::{Entry, EntryKind, ModelName, messages};
use becket_js::HostError;
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::board::Board;
use super::host::refused;

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
        session_dir: board.facts.data.display().to_string(),
        session_id: place.session_id,
        session_file: None,
        leaf_id: desk.leaf_id().map_err(refused)?,
        name: desk.name().map_err(refused)?,
    })
}

/// The first line of its file, if it had one.
pub fn header(board: &Board) -> Result<Value, HostError> {
    let place = board.desk.place().map_err(refused)?;
    let entries = board.desk.entries().map_err(refused)?;
    let began = entries
        .first()
        .and_then(|entry| i64::try_from(entry.time_ms).ok());
    let began = began
        .and_then(DateTime::<Utc>::from_timestamp_millis)
        .unwrap_or_else(Utc::now);
    Ok(json!({
        "type": "session",
        "version": 3,
        "id": place.session_id,
        "timestamp": began.to_rfc3339_opts(SecondsFormat::Millis, true),
        "cwd": place.cwd,
    }))
}

/// All entries, or those on the way to one of them.
pub fn entries(board: &Board, last: Option<&str>) -> Result<Vec<Value>, HostError> {
    let entries = board.desk.entries().map_err(refused)?;
    let model = model(board);
    let model = ModelName::of(&model);
    let count = match last {
        None => entries.len(),
        Some(id) => entries
            .iter()
            .position(|entry| entry.id == id)
            .map_or(0, |at| at + 1),
    };
    let shown = entries[..count].iter().filter_map(|entry| shown(entry, model));
    Ok(shown.collect())
}

/// One entry.
pub fn entry(board: &Board, id: &str) -> Result<Option<Value>, HostError> {
    let entry = board.desk.entry(id).map_err(refused)?;
    let model = model(board);
    Ok(entry.and_then(|entry| shown(&entry, ModelName::of(&model))))
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

fn shown(entry: &StoredEntry, model: ModelName<'_>) -> Option<Value> {
    let kind = match &entry.content {
        EntryContent::Message { message } => EntryKind::Message(message),
        EntryContent::Compaction {
            summary,
            first_kept_id,
            tokens_before,
            by_hook,
            details,
        } => EntryKind::Compaction {
            summary,
            first_kept_id: first_kept_id.as_deref(),
            tokens_before: *tokens_before,
            details: details.as_ref(),
            by_hook: *by_hook,
        },
        EntryContent::Name { name } => EntryKind::SessionInfo { name: Some(name) },
        EntryContent::Label { target_id, label } => EntryKind::Label {
            target_id,
            label: label.as_deref(),
        },
        EntryContent::Custom { kind, data } => EntryKind::Custom { kind, data },
        // pi knows no teams.
        _ => return None,
    };
    let entry = Entry {
        id: &entry.id,
        parent_id: entry.parent_id.as_deref(),
        time_ms: entry.time_ms,
        kind,
    };
    Some(entry.shown(model))
}

/// The model in use, as `provider/name`.
fn model(board: &Board) -> String {
    let provider = board.desk.model();
    provider.map_or_else(
        |_| String::new(),
        |provider| format!("{}/{}", provider.name(), provider.model()),
    )
}
