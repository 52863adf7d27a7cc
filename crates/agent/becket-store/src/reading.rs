//! What is read, as SQL, and the shapes in which it is handed out.

use becket_agent::store::{Origin, SpanKind, StoredEntry, WaitingLetter};
use becket_events::{Json, LOST_ANSWER_NOTE};
use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::contexts::Lifetime;
use crate::problem::Problem;

/// A context in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextSummary {
    /// Its name.
    pub name: String,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// When a session last began, wrote or ended in it, in milliseconds since 1970.
    pub last_used_ms: u64,
    /// How many messages it holds since it was last cleared, those on branches that were left included.
    pub message_count: u64,
    /// How many sessions ran in it.
    pub session_count: u64,
    /// How many conversations were archived when it was cleared.
    pub archive_count: u64,
    /// When it is to be destroyed.
    pub lifetime: Lifetime,
}

/// A session in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    /// Identifies the session.
    pub id: String,
    /// The session that started this one as a sub-agent.
    pub parent_id: Option<String>,
    /// The context it ran in.
    pub context: String,
    /// The model, as `provider/name`.
    pub model: String,
    /// The directory in which the agent worked.
    pub cwd: String,
    /// When it began, in milliseconds since 1970.
    pub started_ms: u64,
    /// When it ended; `None` while it runs, and for one that was killed.
    pub ended_ms: Option<u64>,
    /// Why it ended.
    pub reason: Option<String>,
    /// How many entries it wrote.
    pub entry_count: u64,
    /// The name that its conversation was given.
    pub name: Option<String>,
    /// Whether also those events were recorded that nobody listened to.
    pub is_whole: bool,
}

/// A message that waits in a context's inbox.
#[derive(Debug, Clone, PartialEq)]
pub struct InboxMessage {
    /// Identifies the message; later ones have larger ids.
    pub id: i64,
    /// The context it is for.
    pub context: String,
    /// Who sent it.
    pub sender: String,
    /// What was sent.
    pub content: Json,
    /// When it was sent, in milliseconds since 1970.
    pub time_ms: u64,
}

impl InboxMessage {
    /// The message as the agent knows it. Content that is no text is shown as the JSON that it is.
    pub fn into_letter(self) -> WaitingLetter {
        let json = self.content.text();
        let content = serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned());
        WaitingLetter {
            id: self.id,
            from: self.sender,
            content,
            time_ms: self.time_ms,
        }
    }
}

/// A dispatch as it was traced.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTrace {
    /// The event's name.
    pub event: String,
    /// When the dispatch began, in milliseconds since 1970.
    pub time_ms: u64,
    /// Everything about it: a `DispatchTrace` as JSON.
    pub dispatch: Json,
}

/// A dispatch or a span, as it was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Its place in the record.
    pub seq: i64,
    /// The session: the one that was asked for, or a sub-agent's below it.
    pub session_id: String,
    /// Whether it is a stretch of time; else it is a dispatch.
    pub is_span: bool,
    /// The event, or the kind of the span.
    pub name: String,
    /// Everything about it: a `DispatchTrace` or a `Span` as JSON.
    pub json: Json,
}

/// An entry whose content is still text, so that it can be taken apart after the lock is given back.
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

/// The entries from the root to this one. A parent is always older than its child, so the order of age is the order
/// of the path.
pub(crate) fn path_to(connection: &Connection, leaf: i64) -> Result<Vec<RawEntry>, Problem> {
    let mut path = connection.prepare_cached(
        "WITH RECURSIVE path(seq, parent) AS (
             SELECT seq, parent FROM entries WHERE seq = ?
             UNION ALL
             SELECT entries.seq, entries.parent FROM path JOIN entries ON entries.seq = path.parent
         )
         SELECT id, session_id, time_ms, content, source FROM entries
         WHERE seq IN (SELECT seq FROM path) ORDER BY seq",
    )?;
    let mut rows = path.query([leaf])?;
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

/// Whether a session is at work on an answer, or was when it was killed: it has not ended, the last message that it
/// stored is one to which the model answers, and the run has not ended without an answer after it.
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

/// The entries from the root to where the context stands.
pub(crate) fn entries(connection: &Connection, context: &str) -> Result<Vec<RawEntry>, Problem> {
    match context_column::<Option<i64>>(connection, "leaf", context)? {
        Some(leaf) => path_to(connection, leaf),
        None => Ok(Vec::new()),
    }
}

/// All entries of the context with all branches, the oldest first.
pub(crate) fn tree(connection: &Connection, context: &str) -> Result<Vec<RawEntry>, Problem> {
    context_column::<Option<i64>>(connection, "leaf", context)?;
    let mut tree = connection.prepare(&format!(
        "{WITH_PARENTS} WHERE entries.context = ? ORDER BY entries.seq"
    ))?;
    let rows = tree.query_map([context], RawEntry::read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The entries of the context's conversation with all branches, the oldest first: those on the way to the leaf, and
/// those that were written since the context was last cleared, unless a sub-agent wrote them.
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
                (SELECT count(*) FROM entries WHERE entries.session_id = sessions.id), name, record > 0
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
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The messages that wait for a context, in the order in which they were sent.
pub(crate) fn waiting_messages(connection: &Connection, context: &str) -> Result<Vec<InboxMessage>, Problem> {
    let mut waiting = connection.prepare_cached(
        "SELECT id, sender, time_ms, content FROM inbox WHERE context = ? AND consumed_by IS NULL ORDER BY id",
    )?;
    let mut rows = waiting.query([context])?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next()? {
        messages.push(InboxMessage {
            id: row.get(0)?,
            context: context.to_owned(),
            sender: row.get(1)?,
            time_ms: count(row, 2)?,
            content: Json::parse(row.get(3)?)?,
        });
    }
    Ok(messages)
}

/// The contexts for which messages wait.
pub(crate) fn contexts_with_mail(connection: &Connection) -> Result<Vec<String>, Problem> {
    let mut waiting = connection
        .prepare_cached("SELECT DISTINCT context FROM inbox WHERE consumed_by IS NULL ORDER BY context")?;
    let names = waiting.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// The messages that wait for the context of a session.
pub(crate) fn messages_for(connection: &Connection, session_id: &str) -> Result<Vec<InboxMessage>, Problem> {
    let context: Option<String> = connection
        .prepare_cached("SELECT context FROM sessions WHERE id = ?")?
        .query_row([session_id], |row| row.get(0))
        .optional()?;
    waiting_messages(connection, &context.ok_or_else(|| no_session(session_id))?)
}

pub(crate) fn blob(connection: &Connection, hash: &str) -> Result<Option<Vec<u8>>, Problem> {
    let mut blob = connection.prepare_cached("SELECT bytes FROM blobs WHERE hash = ?")?;
    Ok(blob.query_row([hash], |row| row.get(0)).optional()?)
}

pub(crate) fn trace_of(connection: &Connection, session_id: &str) -> Result<Vec<StoredTrace>, Problem> {
    let mut trace = connection.prepare(&format!(
        "SELECT event, time_ms, dispatch FROM trace
         WHERE session_id = ? AND heard AND event NOT IN ({}) ORDER BY seq",
        span_names()
    ))?;
    let mut rows = trace.query([session_id])?;
    let mut dispatches = Vec::new();
    while let Some(row) = rows.next()? {
        dispatches.push(StoredTrace::read(row)?);
    }
    Ok(dispatches)
}

/// The newest dispatches of all sessions.
pub(crate) fn newest_dispatches(connection: &Connection, most: u32) -> Result<Vec<StoredTrace>, Problem> {
    let mut trace = connection.prepare(&format!(
        "SELECT event, time_ms, dispatch FROM trace WHERE heard AND event NOT IN ({}) ORDER BY seq DESC LIMIT ?",
        span_names()
    ))?;
    let mut rows = trace.query([most])?;
    let mut dispatches = Vec::new();
    while let Some(row) = rows.next()? {
        dispatches.push(StoredTrace::read(row)?);
    }
    Ok(dispatches)
}

/// The newest spans of one kind, of all sessions.
pub(crate) fn newest_spans(
    connection: &Connection,
    kind: SpanKind,
    most: u32,
) -> Result<Vec<StoredTrace>, Problem> {
    let mut trace = connection
        .prepare("SELECT event, time_ms, dispatch FROM trace WHERE event = ? ORDER BY seq DESC LIMIT ?")?;
    let mut rows = trace.query(params![kind.name(), most])?;
    let mut spans = Vec::new();
    while let Some(row) = rows.next()? {
        spans.push(StoredTrace::read(row)?);
    }
    Ok(spans)
}

/// What is wanted of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Stretches of time, and events that somebody listened to.
    Heard,
    /// All of it.
    All,
}

/// Dispatches and spans of a session and of those below it, in the order in which they were recorded.
pub(crate) fn record_of(
    connection: &Connection,
    session_id: &str,
    after: i64,
    wanted: Wanted,
) -> Result<Vec<Recorded>, Problem> {
    let mut record = connection.prepare(
        "WITH RECURSIVE family(id) AS (
             SELECT ?1 UNION SELECT sessions.id FROM family JOIN sessions ON sessions.parent_id = family.id
         )
         SELECT event, time_ms, dispatch, seq, session_id FROM trace
         WHERE session_id IN (SELECT id FROM family) AND heard >= ?3 AND seq > ?2 ORDER BY seq",
    )?;
    let least = i64::from(wanted == Wanted::Heard);
    recorded(record.query(params![session_id, after, least])?)
}

/// Some turns of a session that follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnPage {
    /// The first of them; a session's first turn has the number 1.
    pub first: u64,
    /// The last of them; one less than the first if there are none.
    pub last: u64,
    /// How many turns the session has.
    pub total: u64,
    /// The place in the record after which they begin.
    after: i64,
    /// The place at which they end.
    until: i64,
}

/// The last turns of a session, or the last before one of them, at most so many.
pub(crate) fn turn_page(
    connection: &Connection,
    session_id: &str,
    most: u64,
    before: Option<u64>,
) -> Result<TurnPage, Problem> {
    // A turn is recorded when it is over, so everything of the next one stands behind it.
    let mut turns =
        connection.prepare("SELECT seq FROM trace WHERE session_id = ? AND event = 'turn' ORDER BY seq")?;
    let rows = turns.query_map([session_id], |row| row.get(0))?;
    let ends: Vec<i64> = rows.collect::<Result<_, _>>()?;
    let total = ends.len() as u64;
    let last = before.map_or(total, |before| before.saturating_sub(1).min(total));
    let first = last.saturating_sub(most) + 1;
    let end_of = |turn: u64| ends.get(usize::try_from(turn).ok()?.checked_sub(1)?).copied();
    Ok(TurnPage {
        first,
        last,
        total,
        after: end_of(first - 1).unwrap_or(0),
        until: end_of(last).filter(|_| last < total).unwrap_or(i64::MAX),
    })
}

/// What was recorded of a session in these turns, and of the sub-agents that began in them.
pub(crate) fn record_of_turns(
    connection: &Connection,
    session_id: &str,
    page: &TurnPage,
) -> Result<Vec<Recorded>, Problem> {
    let mut record = connection.prepare(
        "WITH RECURSIVE family(id) AS (
             SELECT id FROM sessions WHERE parent_id = ?1
                 AND (SELECT min(seq) FROM trace WHERE session_id = sessions.id) BETWEEN ?2 + 1 AND ?3
             UNION SELECT sessions.id FROM family JOIN sessions ON sessions.parent_id = family.id
         )
         SELECT event, time_ms, dispatch, seq AS place, session_id FROM trace
         WHERE session_id = ?1 AND heard AND seq > ?2 AND seq <= ?3
         UNION ALL
         SELECT event, time_ms, dispatch, seq AS place, session_id FROM trace
         WHERE session_id IN (SELECT id FROM family) AND heard
         ORDER BY place",
    )?;
    recorded(record.query(params![session_id, page.after, page.until])?)
}

fn recorded(mut rows: rusqlite::Rows<'_>) -> Result<Vec<Recorded>, Problem> {
    let mut recorded = Vec::new();
    while let Some(row) = rows.next()? {
        let stored = StoredTrace::read(row)?;
        recorded.push(Recorded {
            seq: row.get(3)?,
            session_id: row.get(4)?,
            is_span: SpanKind::ALL.iter().any(|kind| kind.name() == stored.event),
            name: stored.event,
            json: stored.dispatch,
        });
    }
    Ok(recorded)
}

/// The names under which spans are recorded, for SQL.
pub(crate) fn span_names() -> String {
    let names = SpanKind::ALL.iter().map(|kind| format!("'{}'", kind.name()));
    names.collect::<Vec<_>>().join(",")
}

impl StoredTrace {
    fn read(row: &Row<'_>) -> Result<Self, Problem> {
        Ok(Self {
            event: row.get(0)?,
            time_ms: count(row, 1)?,
            dispatch: Json::parse(row.get(2)?)?,
        })
    }
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

/// What must never be, and the query that finds it.
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
        "an entry that is no JSON",
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

/// One column of a context's row.
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

/// Times and counts are never below zero, but SQLite has signed numbers only.
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
