//! The queries as SQL, and the types that they return.

use becket_agent::store::{Noted, Origin, StoredEntry};
use becket_events::{Json, LOST_ANSWER_NOTE, Usage};
use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::problem::Problem;

/// A context in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextSummary {
    /// The context's name.
    pub name: String,
    /// When the context was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// When a session last began, wrote or ended in the context, in milliseconds since 1970.
    pub last_used_ms: u64,
    /// How many messages the context holds since it was last cleared, including those on abandoned branches.
    pub message_count: u64,
    /// How many sessions ran in the context.
    pub session_count: u64,
    /// How many conversations were archived when the context was cleared.
    pub archive_count: u64,
    /// When the context is to be destroyed.
    pub lifetime: Lifetime,
}

/// When a context is to be destroyed. Both may be set; the first that comes counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lifetime {
    /// At this moment, in milliseconds since 1970.
    pub destroy_at_ms: Option<u64>,
    /// When the context was not used for this many milliseconds.
    pub destroy_after_ms: Option<u64>,
}

/// A session in a listing.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSummary {
    /// Identifies the session.
    pub id: String,
    /// The session that started this one as a sub-agent.
    pub parent_id: Option<String>,
    /// The context that the session ran in.
    pub context: String,
    /// The model, as `provider/name`.
    pub model: String,
    /// The directory in which the agent worked.
    pub cwd: String,
    /// When the session began, in milliseconds since 1970.
    pub started_ms: u64,
    /// When the session ended; `None` while it runs, or if it was killed.
    pub ended_ms: Option<u64>,
    /// Why the session ended.
    pub reason: Option<String>,
    /// How many entries the session wrote.
    pub entry_count: u64,
    /// The name of the session's conversation.
    pub name: Option<String>,
    /// The beginning of the session's first prompt.
    pub prompt: Option<String>,
    /// What the session's answers used together: tokens sent, received and read from a cache, and the cost.
    pub usage: Usage,
    /// Whether events without any handler were recorded as well.
    pub is_whole: bool,
}

/// An entry whose content is still text, so that it can be parsed after the lock is released.
pub(crate) struct RawEntry {
    id: String,
    parent_id: Option<String>,
    session_id: String,
    time_ms: u64,
    content: String,
    source: Option<String>,
}

impl RawEntry {
    /// Reads a row of id, parent's id, session, time, content and source.
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            parent_id: row.get(1)?,
            session_id: row.get(2)?,
            time_ms: count(row, 3)?,
            content: row.get(4)?,
            source: row.get(5)?,
        })
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn parse(self) -> Result<StoredEntry, Problem> {
        let unreadable = |error: serde_json::Error| {
            Problem::Refused(format!(
                "the entry {:?} cannot be read ({error}); a newer becket may have written it: update becket",
                self.id
            ))
        };
        let content = serde_json::from_str(&self.content).map_err(unreadable)?;
        let source = self.source.as_deref().map(serde_json::from_str);
        let source = source.transpose().map_err(unreadable)?;
        Ok(StoredEntry {
            id: self.id,
            parent_id: self.parent_id,
            session_id: self.session_id,
            time_ms: self.time_ms,
            content,
            source,
        })
    }
}

/// The entries, parsed.
pub(crate) fn parse_all(entries: Vec<RawEntry>) -> Result<Vec<StoredEntry>, Problem> {
    entries.into_iter().map(RawEntry::parse).collect()
}

/// The entries from the root to this one.
pub(crate) fn path_to(connection: &Connection, leaf: i64) -> Result<Vec<RawEntry>, Problem> {
    path_between(connection, 0, leaf)
}

/// The entries to this one from the first that the last compaction on their path kept, and what those before have
/// noted. Without a compaction, and after one that an older becket wrote, all from the root.
pub(crate) fn recent(connection: &Connection, leaf: i64) -> Result<(Noted, Vec<RawEntry>), Problem> {
    let mut last_compaction = connection.prepare_cached(
        "WITH RECURSIVE path(seq, parent) AS (
             SELECT seq, parent FROM entries WHERE seq = ?
             UNION ALL
             SELECT entries.seq, entries.parent FROM path JOIN entries ON entries.seq = path.parent
             WHERE path.seq NOT IN (SELECT seq FROM compactions)
         )
         SELECT first, noted FROM path JOIN compactions ON compactions.seq = path.seq",
    )?;
    let compaction = last_compaction.query_row([leaf], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
    });
    let (first, noted) = match compaction.optional()? {
        Some((first, noted)) => (first, serde_json::from_str(&noted)?),
        None => (0, Noted::default()),
    };
    Ok((noted, path_between(connection, first, leaf)?))
}

/// The entries of the path to the last one, from the first on. A parent is always older than its child, so the order of
/// age is the order of the path.
fn path_between(connection: &Connection, first: i64, last: i64) -> Result<Vec<RawEntry>, Problem> {
    let mut path = connection.prepare_cached(
        "WITH RECURSIVE path(seq, parent) AS (
             SELECT seq, parent FROM entries WHERE seq = ?2
             UNION ALL
             SELECT entries.seq, entries.parent FROM path JOIN entries ON entries.seq = path.parent
             WHERE path.seq > ?1
         )
         SELECT id, session_id, time_ms, content, source FROM entries
         WHERE seq IN (SELECT seq FROM path) ORDER BY seq",
    )?;
    let mut rows = path.query([first, last])?;
    let mut entries = Vec::new();
    let mut parent_id = None;
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        entries.push(RawEntry {
            parent_id: parent_id.replace(id.clone()),
            id,
            session_id: row.get(1)?,
            time_ms: count(row, 2)?,
            content: row.get(3)?,
            source: row.get(4)?,
        });
    }
    Ok(entries)
}

/// The session that wrote an entry.
pub(crate) fn writer_of(connection: &Connection, entry: i64) -> Result<String, Problem> {
    let mut writer = connection.prepare_cached("SELECT session_id FROM entries WHERE seq = ?")?;
    Ok(writer.query_row([entry], |row| row.get(0))?)
}

/// Whether a session is at work on an answer, or was when it was killed: it has not ended, its last stored message is
/// one that the model answers, and the run has not ended without an answer after it.
pub(crate) fn lost_answer(connection: &Connection, session_id: &str) -> Result<bool, Problem> {
    let mut last_message = connection.prepare_cached(
        "SELECT time_ms, json_extract(content, '$.message.role'), json_extract(content, '$.message.kind')
         FROM entries WHERE session_id = ?1 AND json_extract(content, '$.type') = 'message'
             AND (SELECT ended_ms FROM sessions WHERE id = ?1) IS NULL
         ORDER BY seq DESC LIMIT 1",
    )?;
    let last_message = last_message.query_row([session_id], |row| {
        Ok((
            count(row, 0)?,
            row.get::<_, String>(1)?,
            row.get::<_, Option<String>>(2)?,
        ))
    });
    let Some((time_ms, role, kind)) = last_message.optional()? else {
        return Ok(false);
    };
    if role == "assistant" || kind.as_deref() == Some(LOST_ANSWER_NOTE) {
        return Ok(false);
    }
    let mut last_turn = connection.prepare_cached(
        "SELECT dispatch FROM trace WHERE session_id = ? AND event = 'turn' ORDER BY seq DESC LIMIT 1",
    )?;
    let last_turn = last_turn.query_row([session_id], |row| row.get::<_, String>(0));
    let turn = last_turn.optional()?.unwrap_or_default();
    let turn: serde_json::Value = serde_json::from_str(&turn).unwrap_or_default();
    let number = |name: &str| turn[name].as_u64().unwrap_or_default();
    let is_older = number("time_us") + number("duration_us") < time_ms * 1000;
    // After every other reason the run is over.
    let goes_on = matches!(turn["facts"]["reason"].as_str(), Some("continue" | "steered"));
    Ok(is_older || goes_on)
}

/// The entries from the root to the context's current one.
pub(crate) fn entries(connection: &Connection, context: &str) -> Result<Vec<RawEntry>, Problem> {
    match context_column::<Option<i64>>(connection, "leaf", context)? {
        Some(leaf) => path_to(connection, leaf),
        None => Ok(Vec::new()),
    }
}

/// All entries of the context with all branches, oldest first.
pub(crate) fn tree(connection: &Connection, context: &str) -> Result<Vec<RawEntry>, Problem> {
    context_column::<Option<i64>>(connection, "leaf", context)?;
    let mut tree = connection.prepare(&format!(
        "{WITH_PARENTS} WHERE entries.context = ? ORDER BY entries.seq"
    ))?;
    let rows = tree.query_map([context], RawEntry::read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The entries of the context's conversation with all branches, oldest first: those on the path to the leaf, and those
/// that were written since the context was last cleared, unless a sub-agent wrote them.
pub(crate) fn conversation(
    connection: &Connection,
    context: &str,
    leaf: Option<i64>,
) -> Result<Vec<RawEntry>, Problem> {
    let mut tree = connection.prepare_cached(&format!(
        "WITH RECURSIVE path(seq, parent) AS (
             SELECT seq, parent FROM entries WHERE seq = ?2
             UNION ALL
             SELECT entries.seq, entries.parent FROM path JOIN entries ON entries.seq = path.parent
         )
         {WITH_PARENTS} WHERE entries.context = ?1
             AND (entries.seq > (SELECT cleared FROM contexts WHERE name = ?1)
                  OR entries.seq IN (SELECT seq FROM path))
             AND entries.session_id NOT IN
                 (SELECT id FROM sessions WHERE context = ?1 AND parent_id IS NOT NULL)
         ORDER BY entries.seq"
    ))?;
    let rows = tree.query_map(params![context, leaf], RawEntry::read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

const WITH_PARENTS: &str =
    "SELECT entries.id, parents.id, entries.session_id, entries.time_ms, entries.content, \
                            entries.source
         FROM entries LEFT JOIN entries AS parents ON parents.seq = entries.parent";

/// The id of an entry.
pub(crate) fn id_of(connection: &Connection, seq: Option<i64>) -> Result<Option<String>, Problem> {
    let mut id = connection.prepare_cached("SELECT id FROM entries WHERE seq = ?")?;
    Ok(id.query_row([seq], |row| row.get(0)).optional()?)
}

/// Where the conversation of a context comes from, if it did not begin there.
pub(crate) fn origin(connection: &Connection, context: &str) -> Result<Option<Origin>, Problem> {
    let origin = context_column::<Option<String>>(connection, "origin", context)?;
    Ok(origin.as_deref().map(serde_json::from_str).transpose()?)
}

pub(crate) fn settings(connection: &Connection, context: &str) -> Result<Json, Problem> {
    Ok(Json::parse(context_column(connection, "settings", context)?)?)
}

pub(crate) fn contexts(connection: &Connection) -> Result<Vec<ContextSummary>, Problem> {
    let mut contexts = connection.prepare(
        "SELECT name, created_ms, used_ms, message_count,
                (SELECT count(*) FROM sessions WHERE sessions.context = contexts.name),
                (SELECT count(*) FROM archives WHERE archives.context = contexts.name),
                destroy_at_ms, destroy_after_ms
         FROM contexts ORDER BY used_ms DESC, name",
    )?;
    let rows = contexts.query_map([], |row| {
        Ok(ContextSummary {
            name: row.get(0)?,
            created_ms: count(row, 1)?,
            last_used_ms: count(row, 2)?,
            message_count: count(row, 3)?,
            session_count: count(row, 4)?,
            archive_count: count(row, 5)?,
            lifetime: Lifetime {
                destroy_at_ms: row.get::<_, Option<i64>>(6)?.map(unsigned),
                destroy_after_ms: row.get::<_, Option<i64>>(7)?.map(unsigned),
            },
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(crate) fn sessions(
    connection: &Connection,
    context: Option<&str>,
) -> Result<Vec<SessionSummary>, Problem> {
    let mut sessions = connection.prepare(
        "SELECT id, parent_id, context, model, cwd, started_ms, ended_ms, reason,
                (SELECT count(*) FROM entries WHERE entries.session_id = sessions.id), name, record > 0,
                prompt, input_tokens, cached_tokens, output_tokens, cost
         FROM sessions WHERE ?1 IS NULL OR context = ?1 ORDER BY started_ms DESC, id DESC",
    )?;
    let rows = sessions.query_map([context], |row| {
        let ended: Option<i64> = row.get(6)?;
        Ok(SessionSummary {
            id: row.get(0)?,
            parent_id: row.get(1)?,
            context: row.get(2)?,
            model: row.get(3)?,
            cwd: row.get(4)?,
            started_ms: count(row, 5)?,
            ended_ms: ended.map(unsigned),
            reason: row.get(7)?,
            entry_count: count(row, 8)?,
            name: row.get(9)?,
            is_whole: row.get(10)?,
            prompt: row.get(11)?,
            usage: Usage {
                input_tokens: count(row, 12)?,
                cache_read_tokens: count(row, 13)?,
                output_tokens: count(row, 14)?,
                cost: row.get(15)?,
                ..Usage::default()
            },
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(crate) fn blob(connection: &Connection, hash: &str) -> Result<Option<Vec<u8>>, Problem> {
    let mut blob = connection.prepare_cached("SELECT bytes FROM blobs WHERE hash = ?")?;
    Ok(blob.query_row([hash], |row| row.get(0)).optional()?)
}

/// Everything that is wrong with the file, each in a sentence.
pub(crate) fn integrity_check(connection: &Connection) -> Result<Vec<String>, Problem> {
    let mut findings = texts(connection, "PRAGMA integrity_check")?;
    findings.retain(|finding| finding != "ok");
    for (what, query) in BROKEN_PROMISES {
        findings.extend(
            texts(connection, query)?
                .into_iter()
                .map(|which| format!("{what}: {which}")),
        );
    }
    let mut blobs = connection.prepare("SELECT hash, bytes FROM blobs")?;
    let mut rows = blobs.query([])?;
    while let Some(row) = rows.next()? {
        let hash: String = row.get(0)?;
        let bytes = row.get_ref(1)?.as_blob().unwrap_or_default();
        if blake3::hash(bytes).to_hex().as_str() != hash {
            findings.push(format!("a blob whose bytes do not match its hash: {hash}"));
        }
    }
    Ok(findings)
}

/// Inconsistencies that must never occur, and the query that finds each.
const BROKEN_PROMISES: &[(&str, &str)] = &[
    (
        "a row that refers to nothing, in the table",
        "SELECT \"table\" FROM pragma_foreign_key_check",
    ),
    (
        "an entry without its parent",
        "SELECT entries.id FROM entries LEFT JOIN entries AS parents ON parents.seq = entries.parent
         WHERE entries.parent IS NOT NULL
           AND (parents.seq IS NULL OR parents.seq >= entries.seq OR parents.context <> entries.context)",
    ),
    (
        "an entry that is not JSON",
        "SELECT id FROM entries WHERE NOT json_valid(content)",
    ),
    (
        "a context that stands at no entry of its own",
        "SELECT name FROM contexts WHERE leaf IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM entries WHERE seq = leaf AND context = name)",
    ),
    (
        "a session that stands at no entry of its context",
        "SELECT id FROM sessions WHERE leaf IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM entries WHERE seq = sessions.leaf AND context = sessions.context)",
    ),
    (
        "an archive that stands at no entry of its context",
        "SELECT CAST(id AS TEXT) FROM archives
         WHERE NOT EXISTS (SELECT 1 FROM entries WHERE seq = archives.leaf AND context = archives.context)",
    ),
    (
        "a context that miscounts its messages",
        "SELECT name FROM contexts WHERE message_count <> (SELECT count(*) FROM entries
         WHERE context = name AND seq > cleared
           AND session_id NOT IN (SELECT id FROM sessions WHERE parent_id IS NOT NULL)
           AND json_valid(content) AND json_extract(content, '$.type') = 'message')",
    ),
];

pub(crate) fn no_session(session_id: &str) -> Problem {
    Problem::Refused(format!(
        "there is no session {session_id:?}; it has not begun, or its context was deleted meanwhile"
    ))
}

/// A column of a context's row.
pub(crate) fn context_column<T: FromSql>(
    connection: &Connection,
    column: &str,
    context: &str,
) -> Result<T, Problem> {
    let query = format!("SELECT {column} FROM contexts WHERE name = ?");
    let value = connection
        .query_row(&query, params![context], |row| row.get(0))
        .optional()?;
    value.ok_or_else(|| {
        Problem::Refused(format!(
            "there is no context {context:?}; list the contexts to see which there are"
        ))
    })
}

fn texts(connection: &Connection, query: &str) -> Result<Vec<String>, Problem> {
    let mut statement = connection.prepare(query)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(crate) fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get(column).map(unsigned)
}

/// A time or count, which is never negative, although SQLite only has signed numbers.
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
