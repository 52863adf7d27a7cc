//! The changes as SQL. Every function here runs inside a transaction of the writer.

use std::collections::HashMap;

use becket_agent::store::{EntryContent, NewEntry, NewSession, Noted, Origin, Seed, SeedEntry};
use becket_events::Json;
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use crate::audit::{self, NewRecord};
use crate::choice;
use crate::name::ContextName;
use crate::problem::Problem;
use crate::reading::{self, RawEntry};
use crate::summary::{self, Summary};
use crate::time::{milliseconds, now_ms};
use crate::traces::{Traced, WaitingTrace};

/// The result of `begin_session`.
pub(crate) struct Begun {
    pub(crate) resumed: bool,
    pub(crate) entries: Vec<RawEntry>,
    pub(crate) noted: Noted,
    pub(crate) origin: Option<Origin>,
    pub(crate) lost_answer: bool,
}

pub(crate) fn begin_session(
    connection: &Connection,
    session: &NewSession,
    context: &ContextName,
) -> Result<Begun, Problem> {
    let now = now_ms();
    let made = connection
        .prepare_cached(
            "INSERT INTO contexts (name, created_ms, used_ms) VALUES (?1, ?2, ?2) ON CONFLICT DO NOTHING",
        )?
        .execute(params![context.as_str(), now])?;
    let resumed = made == 0;
    let mut leaf: Option<i64> = None;
    if resumed {
        leaf = connection
            .prepare_cached("UPDATE contexts SET used_ms = ?2 WHERE name = ?1 RETURNING leaf")?
            .query_row(params![context.as_str(), now], |row| row.get(0))?;
    }
    // A sub-agent knows nothing of its parent's conversation.
    let leaf = leaf.filter(|_| session.parent_session_id.is_none());
    add_session(connection, session, leaf)?;
    let ((noted, entries), lost_answer) = match leaf {
        Some(leaf) => (
            reading::recent(connection, leaf)?,
            reading::lost_answer(connection, &reading::writer_of(connection, leaf)?)?,
        ),
        None => Default::default(),
    };
    let origin = reading::origin(connection, context.as_str())?;
    Ok(Begun {
        resumed,
        entries,
        noted,
        origin,
        lost_answer,
    })
}

/// Makes the context, which must be new, and begins a session in it that has written the entries of the seed.
pub(crate) fn plant(
    connection: &Connection,
    session: &NewSession,
    context: &ContextName,
    seed: &Seed,
) -> Result<Begun, Problem> {
    if !create_context(connection, context)? {
        return Err(Problem::Refused(format!(
            "there is already a context {context}; choose another name, or destroy it first"
        )));
    }
    add_session(connection, session, None)?;
    let places = plant_entries(connection, session, context, seed)?;
    let leaf = seed
        .leaf_id
        .as_deref()
        .map(|id| place_among(&places, id))
        .transpose()?;
    let entries = seed.entries.iter().map(|planted| &planted.entry);
    let messages = entries.clone().filter(|entry| is_message(entry)).count();
    let name = new_name(entries);
    connection.execute(
        "UPDATE contexts SET leaf = ?2, message_count = ?3, title = ?4, origin = ?5 WHERE name = ?1",
        params![
            context.as_str(),
            leaf,
            messages as i64,
            name,
            serde_json::to_string(&seed.origin)?
        ],
    )?;
    connection.execute(
        "UPDATE sessions SET leaf = ?2, name = ?3 WHERE id = ?1",
        params![session.session_id, leaf, name],
    )?;
    let entries = seed.entries.iter().map(|planted| &planted.entry);
    summary::add_entries(connection, &session.session_id, entries)?;
    let entries = match leaf {
        Some(leaf) => reading::path_to(connection, leaf)?,
        None => Vec::new(),
    };
    Ok(Begun {
        resumed: false,
        entries,
        noted: Noted::default(),
        origin: Some(seed.origin.clone()),
        lost_answer: false,
    })
}

/// Writes the entries of a seed, and returns the row of each.
fn plant_entries<'a>(
    connection: &Connection,
    session: &NewSession,
    context: &ContextName,
    seed: &'a Seed,
) -> Result<HashMap<&'a str, i64>, Problem> {
    let mut places: HashMap<&str, i64> = HashMap::new();
    let mut insert = connection.prepare_cached(INSERT_ENTRY)?;
    for SeedEntry {
        parent_id,
        entry,
        source,
    } in &seed.entries
    {
        let parent = parent_id
            .as_deref()
            .map(|id| place_among(&places, id))
            .transpose()?;
        let content = serde_json::to_string(&entry.content)?;
        let source = source.as_ref().map(ToString::to_string);
        let time_ms = i64::try_from(entry.time_ms).unwrap_or(i64::MAX);
        let row = params![
            parent,
            context.as_str(),
            entry.id,
            session.session_id,
            time_ms,
            content,
            source
        ];
        refuse_double(insert.execute(row), || {
            format!("the conversation has two entries {:?}", entry.id)
        })?;
        places.insert(&entry.id, connection.last_insert_rowid());
    }
    Ok(places)
}

const INSERT_ENTRY: &str = "INSERT INTO entries (parent, context, id, session_id, time_ms, content, source) \
                            VALUES (?, ?, ?, ?, ?, ?, ?)";

fn place_among(places: &HashMap<&str, i64>, id: &str) -> Result<i64, Problem> {
    let place = places.get(id).copied();
    place.ok_or_else(|| {
        Problem::Refused(format!(
            "the conversation names an entry {id:?} that it does not have"
        ))
    })
}

fn add_session(connection: &Connection, session: &NewSession, leaf: Option<i64>) -> Result<(), Problem> {
    let NewSession {
        session_id,
        parent_session_id,
        context_name,
        model,
        cwd,
    } = session;
    let stored = connection
        .prepare_cached(
            "INSERT INTO sessions (id, parent_id, context, leaf, model, cwd, started_ms, record, name)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1,
                     (SELECT title FROM contexts WHERE contexts.name = ?3 AND ?2 IS NULL))",
        )?
        .execute(params![
            session_id,
            parent_session_id,
            context_name,
            leaf,
            model,
            cwd,
            now_ms()
        ]);
    refuse_double(stored, || {
        format!("there is already a session {session_id:?}; give each its own id")
    })
}

/// Moves the session to another entry, and its context too unless the session is a sub-agent's, and adds entries there.
pub(crate) fn move_to(
    connection: &Connection,
    session_id: &str,
    leaf_id: Option<&str>,
    entries: &[NewEntry],
) -> Result<(), Problem> {
    let (context, _) = place_of(connection, session_id)?;
    let leaf = match leaf_id {
        None => None,
        Some(id) => {
            let seq: Option<i64> = connection
                .prepare_cached("SELECT seq FROM entries WHERE context = ? AND id = ?")?
                .query_row(params![context, id], |row| row.get(0))
                .optional()?;
            let none = || Problem::Refused(format!("the context {context} has no entry {id:?}"));
            Some(seq.ok_or_else(none)?)
        }
    };
    connection.execute(
        "UPDATE sessions SET leaf = ?2 WHERE id = ?1",
        params![session_id, leaf],
    )?;
    if own_session(connection, session_id)? {
        connection.execute(
            "UPDATE contexts SET leaf = ?2, used_ms = ?3 WHERE name = ?1",
            params![context, leaf, now_ms()],
        )?;
    }
    append(connection, session_id, entries)
}

/// Adds the entries after the session's current one.
pub(crate) fn append(connection: &Connection, session_id: &str, entries: &[NewEntry]) -> Result<(), Problem> {
    let (context, mut leaf) = place_of(connection, session_id)?;
    let now = now_ms();
    let is_own = own_session(connection, session_id)?;
    let mut insert = connection.prepare_cached(INSERT_ENTRY)?;
    for entry in entries {
        let content = serde_json::to_string(&entry.content)?;
        let time_ms = i64::try_from(entry.time_ms).unwrap_or(i64::MAX);
        let source: Option<&str> = None;
        let row = params![leaf, context, entry.id, session_id, time_ms, content, source];
        let stored = insert.execute(row);
        refuse_double(stored, || {
            format!("the context {context} already has an entry {:?}", entry.id)
        })?;
        let seq = connection.last_insert_rowid();
        if let EntryContent::Compaction { first_kept_id, .. } = &entry.content {
            note_compaction(connection, (seq, leaf), (&context, first_kept_id.as_deref()))?;
        }
        leaf = Some(seq);
    }
    let name = new_name(entries);
    connection
        .prepare_cached("UPDATE sessions SET leaf = ?2, name = coalesce(?3, name) WHERE id = ?1")?
        .execute(params![session_id, leaf, name])?;
    summary::add_entries(connection, session_id, entries)?;
    if !is_own {
        return Ok(());
    }
    let messages = entries.iter().filter(|entry| is_message(entry)).count();
    connection
        .prepare_cached(
            "UPDATE contexts SET leaf = ?2, used_ms = ?3, message_count = message_count + ?4,
                    title = coalesce(?5, title) WHERE name = ?1",
        )?
        .execute(params![context, leaf, now, messages as i64, name])?;
    Ok(())
}

/// Notes which entry is the first that a compaction kept, and what the entries before it have noted, so that whoever
/// opens the conversation need not read them.
fn note_compaction(
    connection: &Connection,
    (seq, parent): (i64, Option<i64>),
    (context, first_kept_id): (&str, Option<&str>),
) -> Result<(), Problem> {
    let is_first = |entry: &RawEntry| Some(entry.id()) == first_kept_id;
    let (mut noted, mut entries) = match parent {
        Some(parent) => reading::recent(connection, parent)?,
        None => Default::default(),
    };
    let mut kept = entries.iter().position(is_first);
    // It may be older than what the compaction before has kept.
    if let (None, Some(_), Some(parent)) = (kept, first_kept_id, parent) {
        (noted, entries) = (Noted::default(), reading::path_to(connection, parent)?);
        kept = entries.iter().position(is_first);
    }
    let first = match kept {
        Some(_) => connection
            .prepare_cached("SELECT seq FROM entries WHERE context = ? AND id = ?")?
            .query_row(params![context, first_kept_id], |row| row.get(0))?,
        None => seq,
    };
    entries.truncate(kept.unwrap_or(entries.len()));
    for entry in entries {
        noted.note(&entry.parse()?.content);
    }
    connection
        .prepare_cached("INSERT INTO compactions (seq, first, noted) VALUES (?, ?, ?)")?
        .execute(params![seq, first, serde_json::to_string(&noted)?])?;
    Ok(())
}

fn is_message(entry: &NewEntry) -> bool {
    matches!(entry.content, EntryContent::Message { .. })
}

/// The name that the last of the entries gives to the conversation, if one does.
fn new_name<'a>(entries: impl IntoIterator<Item = &'a NewEntry>) -> Option<&'a str> {
    let names = entries.into_iter().filter_map(|entry| match &entry.content {
        EntryContent::Name { name } => Some(name.as_str()),
        _ => None,
    });
    names.last()
}

pub(crate) fn end_session(connection: &Connection, session_id: &str, reason: &str) -> Result<(), Problem> {
    let (context, _) = place_of(connection, session_id)?;
    let now = now_ms();
    connection.execute(
        "UPDATE sessions SET ended_ms = ?2, reason = ?3 WHERE id = ?1 AND ended_ms IS NULL",
        params![session_id, now, reason],
    )?;
    connection.execute(
        "UPDATE contexts SET used_ms = ?2 WHERE name = ?1",
        params![context, now],
    )?;
    Ok(())
}

pub(crate) fn put_blob(connection: &Connection, hash: &str, bytes: &[u8]) -> Result<(), Problem> {
    connection
        .prepare_cached(
            "INSERT INTO blobs (hash, size, time_ms, bytes) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        )?
        .execute(params![hash, bytes.len() as i64, now_ms(), bytes])?;
    Ok(())
}

/// Makes a context; says whether it is new.
pub(crate) fn create_context(connection: &Connection, context: &ContextName) -> Result<bool, Problem> {
    let made = connection.execute(
        "INSERT INTO contexts (name, created_ms, used_ms) VALUES (?1, ?2, ?2) ON CONFLICT DO NOTHING",
        params![context.as_str(), now_ms()],
    )?;
    Ok(made > 0)
}

/// Archives the conversation. The entries stay where they are; the context and the session begin at the root.
pub(crate) fn clear(connection: &Connection, session_id: &str) -> Result<(), Problem> {
    let (context, _) = place_of(connection, session_id)?;
    let now = now_ms();
    connection.execute(
        "INSERT INTO archives (context, leaf, time_ms, message_count)
         SELECT name, leaf, ?2, message_count FROM contexts WHERE name = ?1 AND leaf IS NOT NULL",
        params![context, now],
    )?;
    connection.execute(
        "UPDATE contexts SET leaf = NULL, message_count = 0, used_ms = ?2, title = NULL, origin = NULL,
                cleared = coalesce((SELECT max(seq) FROM entries), 0)
         WHERE name = ?1",
        params![context, now],
    )?;
    connection.execute(
        "UPDATE sessions SET leaf = NULL, name = NULL WHERE id = ?1",
        [session_id],
    )?;
    Ok(())
}

/// Deletes the context with everything in it; says whether there was anything to delete.
pub(crate) fn delete_context(connection: &Connection, context: &ContextName) -> Result<bool, Problem> {
    let name = context.as_str();
    let steps = [
        "DELETE FROM runs WHERE session_id IN (SELECT id FROM sessions WHERE context = ?)",
        "DELETE FROM outcomes WHERE session_id IN (SELECT id FROM sessions WHERE context = ?)",
        "DELETE FROM trace WHERE session_id IN (SELECT id FROM sessions WHERE context = ?)",
        "DELETE FROM entries WHERE context = ?",
        "DELETE FROM sessions WHERE context = ?",
        "DELETE FROM inbox WHERE context = ?",
        "DELETE FROM archives WHERE context = ?",
        "DELETE FROM contexts WHERE name = ?",
    ];
    let mut deleted = 0;
    for step in steps {
        deleted += connection.execute(step, [name])?;
    }
    choice::forget_choice(connection, name)?;
    Ok(deleted > 0)
}

pub(crate) fn set_settings(
    connection: &Connection,
    context: &ContextName,
    settings: &Json,
) -> Result<(), Problem> {
    connection.execute(
        "INSERT INTO contexts (name, created_ms, used_ms, settings) VALUES (?1, ?2, ?2, ?3)
         ON CONFLICT DO UPDATE SET settings = ?3",
        params![context.as_str(), now_ms(), settings.text()],
    )?;
    Ok(())
}

pub(crate) fn add_traces(connection: &Connection, traces: &[WaitingTrace]) -> Result<(), Problem> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO trace (session_id, event, time_ms, heard, dispatch) VALUES (?, ?, ?, ?, ?)",
    )?;
    let mut log = audit::Log::open(connection);
    let mut summary = Summary::default();
    for WaitingTrace { session_id, traced } in traces {
        let (name, time_us, heard, text) = match traced {
            Traced::Audit(record) => {
                log.add(&NewRecord::of(record)?)?;
                continue;
            }
            Traced::Dispatch(trace) => {
                if let Some(record) = NewRecord::of_dispatch(session_id, trace)? {
                    log.add(&record)?;
                }
                summary.add_dispatch(session_id, trace);
                let heard = !trace.runs.is_empty();
                (
                    trace.event.info().name,
                    trace.time_us,
                    heard,
                    serde_json::to_string(trace)?,
                )
            }
            Traced::Span(span) => {
                summary.add_span(session_id, span);
                (span.kind.name(), span.time_us, true, serde_json::to_string(span)?)
            }
        };
        insert.execute(params![session_id, name, milliseconds(time_us), heard, text])?;
    }
    summary.write(connection)?;
    log.close()
}

/// Whether a session's entries are part of its context's conversation: those of a sub-agent are not.
fn own_session(connection: &Connection, session_id: &str) -> Result<bool, Problem> {
    let mut own = connection.prepare_cached("SELECT 1 FROM sessions WHERE id = ? AND parent_id IS NULL")?;
    Ok(own.exists([session_id])?)
}

/// The context of a session, and the session's current entry.
pub(crate) fn place_of(connection: &Connection, session_id: &str) -> Result<(String, Option<i64>), Problem> {
    let place = connection
        .prepare_cached("SELECT context, leaf FROM sessions WHERE id = ?")?
        .query_row([session_id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    place.ok_or_else(|| reading::no_session(session_id))
}

/// Replaces a violated uniqueness by a message of its own.
fn refuse_double(stored: rusqlite::Result<usize>, words: impl FnOnce() -> String) -> Result<(), Problem> {
    match stored {
        Ok(_) => Ok(()),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            Err(Problem::Refused(words()))
        }
        Err(error) => Err(error.into()),
    }
}
