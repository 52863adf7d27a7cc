//! Reads what happened: what each session wrote and what its hooks were asked, as it was stored.
//!
//! Turns, requests and calls are recorded when they are over, one row each, beside the dispatches and in one
//! transaction with them. Long arguments are cut: the conversation holds them in full.

use std::collections::{HashMap, HashSet};

use becket_agent::store::{EntryContent, SpanKind, StoreError, StoredEntry};
use becket_events::{Json, MessageBody};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::claim::Claims;
use crate::database::Database;
use crate::problem::Problem;
use crate::reading::{self, RawEntry, SessionSummary, count, parse_all};
use crate::summary::{self, HookCount, KnownHook, SessionCounts};

/// The state of the store. Equal marks mean that nothing was added in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The number of the last entry.
    pub entries: u64,
    /// The number of the last traced dispatch.
    pub trace: u64,
    /// How many sessions there are.
    pub sessions: u64,
    /// How many sessions have ended.
    pub ended: u64,
}

/// The place in a session where a turn begins, for reading from there on. A turn is an answer with what led to it and
/// the results of its calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Beginning {
    /// The number of the turn; a session's first one has 1.
    pub turn: u64,
    /// How many turns the session has, without one that waits for its answer.
    pub turn_count: u64,
    /// When the turn before was answered; 0 before the first.
    pub after_ms: u64,
    /// When this turn was answered, so that sub-agents of this part began then or later; 0 for the first turn.
    pub answered_ms: u64,
    /// The last entry before the turn.
    entry: i64,
    /// The last row of the trace before the turn.
    trace: i64,
}

/// A traced dispatch or span of time, still as the JSON text that was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawTrace {
    /// The number of the row; later rows have larger numbers.
    pub seq: u64,
    /// The session that the row belongs to.
    pub session_id: String,
    /// A `DispatchTrace` or a `Span` as JSON.
    pub dispatch: String,
}

/// A dispatch as it was traced.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTrace {
    /// The event's name.
    pub event: String,
    /// When the dispatch began, in milliseconds since 1970.
    pub time_ms: u64,
    /// The whole dispatch: a `DispatchTrace` as JSON.
    pub dispatch: Json,
}

/// A dispatch or a span, as it was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The number of the row in the record.
    pub seq: i64,
    /// The session: the one that was asked for, or that of a sub-agent below it.
    pub session_id: String,
    /// Whether the row is a span of time; otherwise it is a dispatch.
    pub is_span: bool,
    /// The event, or the kind of the span.
    pub name: String,
    /// The whole row: a `DispatchTrace` or a `Span` as JSON.
    pub json: Json,
}

/// Consecutive turns of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnPage {
    /// The number of the first turn on the page; a session's first turn has the number 1.
    pub first: u64,
    /// The number of the last turn on the page; one less than the first if there are none.
    pub last: u64,
    /// How many turns the session has.
    pub total: u64,
    /// The row in the record after which the turns begin.
    after: i64,
    /// The row in the record at which the turns end.
    until: i64,
}

/// What happened in the sessions of a store.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    database: &'a Database,
}

impl<'a> Record<'a> {
    pub(crate) fn of(database: &'a Database) -> Self {
        Self { database }
    }

    /// The current state of the store.
    pub fn mark(&self) -> Result<Mark, StoreError> {
        self.database.look("look for changes", mark)
    }

    /// A session and all that were started below it, each after its parent; empty if there is no such session.
    pub fn family(&self, session_id: &str) -> Result<Vec<SessionSummary>, StoreError> {
        self.database.look("list the sessions", |connection| {
            Ok(family_of(&reading::sessions(connection, None)?, session_id))
        })
    }

    /// Whether a session was killed before it had stored an answer, some of which may have been shown.
    pub fn lost_answer(&self, session_id: &str) -> Result<bool, StoreError> {
        let context: Option<String> = self.database.look("read a session", |connection| {
            let mut context = connection.prepare_cached("SELECT context FROM sessions WHERE id = ?")?;
            let is_open = reading::lost_answer(connection, session_id)?;
            let context = context.query_row([session_id], |row| row.get(0)).optional()?;
            Ok(context.filter(|_| is_open))
        })?;
        Ok(context.is_some_and(|context| !Claims::beside(self.database.path()).is_taken(&context)))
    }

    /// The beginning of a turn of a session; by default, of the last `usual` turns.
    pub fn beginning(
        &self,
        session_id: &str,
        turn: Option<u64>,
        usual: u64,
    ) -> Result<Beginning, StoreError> {
        self.database.look("read a session", |connection| {
            beginning(connection, session_id, turn, usual)
        })
    }

    /// The entries that a session wrote from a turn on, in their order. The first of them may be results of earlier
    /// calls.
    pub fn written_by(&self, session_id: &str, from: &Beginning) -> Result<Vec<StoredEntry>, StoreError> {
        self.database.look("read a session", |connection| {
            parse_all(written_by(connection, session_id, from.entry)?)
        })
    }

    /// The conversation at the time when an entry had been added: all entries from the root to that one.
    pub fn conversation_until(
        &self,
        session_id: &str,
        entry_id: &str,
    ) -> Result<Vec<StoredEntry>, StoreError> {
        self.database.look("read a conversation", |connection| {
            let seq: Option<i64> = connection
                .prepare_cached("SELECT seq FROM entries WHERE session_id = ? AND id = ?")?
                .query_row([session_id, entry_id], |row| row.get(0))
                .optional()?;
            match seq {
                Some(seq) => parse_all(reading::path_to(connection, seq)?),
                None => Ok(Vec::new()),
            }
        })
    }

    /// The traced dispatches and spans of a session from a turn on, in their order.
    pub fn traced_in(&self, session_id: &str, from: &Beginning) -> Result<Vec<RawTrace>, StoreError> {
        self.database.look("read the trace", |connection| {
            traces(
                connection,
                "SELECT seq, session_id, dispatch FROM trace WHERE session_id = ? AND seq > ? AND heard ORDER BY seq",
                params![session_id, from.trace],
            )
        })
    }

    /// The sessions in which somebody said these words, or a tool was called with them; capitals do not matter.
    pub fn sessions_saying(&self, words: &str) -> Result<HashSet<String>, StoreError> {
        self.database.look("search the conversations", |connection| {
            sessions_saying(connection, words)
        })
    }

    /// How many hooks, turns, requests and calls each session has, and what came of them.
    pub fn session_counts(&self) -> Result<HashMap<String, SessionCounts>, StoreError> {
        self.database.look("count the hook runs", summary::of_sessions)
    }

    /// The hooks that were wanted since a time in milliseconds, and how often, ordered by hook and duration.
    pub fn hook_counts(&self, since_ms: u64) -> Result<(Vec<KnownHook>, Vec<HookCount>), StoreError> {
        self.database.look("count the hook runs", |connection| {
            summary::of_hooks(connection, since_ms)
        })
    }

    /// The dispatch with that number.
    pub fn dispatch(&self, seq: u64) -> Result<Option<RawTrace>, StoreError> {
        let seq = i64::try_from(seq).unwrap_or(i64::MAX);
        let found = self.database.look("read the trace", |connection| {
            traces(
                connection,
                "SELECT seq, session_id, dispatch FROM trace WHERE seq = ?",
                [seq],
            )
        })?;
        Ok(found.into_iter().next())
    }

    /// The traced dispatches of a session that have been written so far, in their order.
    pub fn dispatches_of(&self, session_id: &str) -> Result<Vec<StoredTrace>, StoreError> {
        self.database.look("read the trace", |connection| {
            dispatches_of(connection, session_id)
        })
    }

    /// All traced rows of a session, and of the sub-agents below it, after a row of the record.
    pub fn of_session(&self, session_id: &str, after: i64) -> Result<Vec<Recorded>, StoreError> {
        self.database.look("read the trace", |connection| {
            rows_of(connection, session_id, after, Wanted::Heard)
        })
    }

    /// The last turns of a session, at most `most`, or the last before a certain one.
    pub fn turn_page(
        &self,
        session_id: &str,
        most: u64,
        before: Option<u64>,
    ) -> Result<TurnPage, StoreError> {
        self.database.look("read the trace", |connection| {
            turn_page(connection, session_id, most, before)
        })
    }

    /// All traced rows of a session in these turns, and of the sub-agents that began in them.
    pub fn of_turns(&self, session_id: &str, page: &TurnPage) -> Result<Vec<Recorded>, StoreError> {
        self.database.look("read the trace", |connection| {
            rows_of_turns(connection, session_id, page)
        })
    }

    /// Everything that can be replayed of a session, and of the sub-agents below it, including events without any
    /// handler.
    pub fn whole_of_session(&self, session_id: &str) -> Result<Vec<Recorded>, StoreError> {
        self.database.look("read the trace", |connection| {
            rows_of(connection, session_id, 0, Wanted::All)
        })
    }

    /// The newest dispatches of all sessions, at most `most`, newest first.
    pub fn newest_dispatches(&self, most: u32) -> Result<Vec<StoredTrace>, StoreError> {
        self.database
            .look("read the trace", |connection| newest_dispatches(connection, most))
    }

    /// The newest spans of one kind, at most `most`, newest first.
    pub fn newest_spans(&self, kind: SpanKind, most: u32) -> Result<Vec<StoredTrace>, StoreError> {
        self.database.look("read the trace", |connection| {
            newest_spans(connection, kind, most)
        })
    }
}

fn mark(connection: &Connection) -> Result<Mark, Problem> {
    let mut query = connection.prepare_cached(
        "SELECT (SELECT coalesce(max(seq), 0) FROM entries), (SELECT coalesce(max(seq), 0) FROM trace),
                (SELECT count(*) FROM sessions), (SELECT count(ended_ms) FROM sessions)",
    )?;
    Ok(query.query_row([], |row| {
        Ok(Mark {
            entries: count(row, 0)?,
            trace: count(row, 1)?,
            sessions: count(row, 2)?,
            ended: count(row, 3)?,
        })
    })?)
}

fn sessions_saying(connection: &Connection, words: &str) -> Result<HashSet<String>, Problem> {
    let words = words.to_lowercase();
    // The stored text is JSON, in which some characters are escaped. SQLite knows capitals of ASCII only, so of other
    // words it looks for the longest part that it can find.
    let plain =
        words.split(|letter: char| !letter.is_ascii() || letter.is_control() || "\"\\%_".contains(letter));
    let longest = plain.max_by_key(|part| part.len()).unwrap_or_default();
    let mut likely = connection
        .prepare_cached("SELECT session_id, content FROM entries WHERE content LIKE '%' || ? || '%'")?;
    let mut rows = likely.query([longest])?;
    let mut found = HashSet::new();
    while let Some(row) = rows.next()? {
        let session_id: String = row.get(0)?;
        if !found.contains(&session_id) && says(row.get_ref(1)?.as_str().unwrap_or_default(), &words) {
            found.insert(session_id);
        }
    }
    Ok(found)
}

/// Whether an entry's text, or a call in it, has these words in small letters.
fn says(content: &str, words: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(words);
    match serde_json::from_str(content) {
        Ok(EntryContent::Message { message }) => {
            let calls = match message.body() {
                MessageBody::Assistant { tool_calls, .. } => tool_calls.as_slice(),
                _ => &[],
            };
            has(&message.text()) || calls.iter().any(|call| has(&call.arguments))
        }
        Ok(EntryContent::Compaction { summary, .. }) => has(&summary),
        _ => false,
    }
}

fn beginning(
    connection: &Connection,
    session_id: &str,
    turn: Option<u64>,
    usual: u64,
) -> Result<Beginning, Problem> {
    let mut answers = connection.prepare_cached(
        "SELECT seq, time_ms FROM entries
         WHERE session_id = ? AND json_extract(content, '$.message.role') = 'assistant' ORDER BY seq",
    )?;
    let answers = answers.query_map([session_id], |row| Ok((row.get(0)?, count(row, 1)?)))?;
    let answers: Vec<(i64, u64)> = answers.collect::<Result<_, _>>()?;
    let turn_count = answers.len() as u64;
    let turn = turn.unwrap_or((turn_count + 1).saturating_sub(usual));
    let turn = turn.clamp(1, turn_count.max(1));
    let answer = |turn: u64| answers.get(usize::try_from(turn).ok()?.checked_sub(1)?).copied();
    let (Some((entry, after_ms)), Some((_, answered_ms))) = (answer(turn - 1), answer(turn)) else {
        return Ok(Beginning {
            turn,
            turn_count,
            ..Beginning::default()
        });
    };
    Ok(Beginning {
        turn,
        turn_count,
        after_ms,
        answered_ms,
        entry,
        trace: end_of_turn(connection, session_id, after_ms)?,
    })
}

/// The last row of the trace that belongs to the turn that was answered at that time, or to one before. A turn is
/// traced when it is over, so all rows of the next one come after it; a session without turns was traced before they
/// existed.
fn end_of_turn(connection: &Connection, session_id: &str, answered_ms: u64) -> Result<i64, Problem> {
    let answered_ms = i64::try_from(answered_ms).unwrap_or(i64::MAX);
    for kind in ["event = 'turn'", "heard"] {
        let mut last = connection.prepare_cached(&format!(
            "SELECT seq FROM trace WHERE session_id = ? AND {kind} AND time_ms <= ? ORDER BY seq DESC LIMIT 1"
        ))?;
        let last = last.query_row(params![session_id, answered_ms], |row| row.get(0));
        if let Some(seq) = last.optional()? {
            return Ok(seq);
        }
    }
    Ok(0)
}

fn written_by(connection: &Connection, session_id: &str, after: i64) -> Result<Vec<RawEntry>, Problem> {
    let mut written = connection.prepare_cached(
        "SELECT entries.id, parents.id, entries.session_id, entries.time_ms, entries.content, entries.source
         FROM entries LEFT JOIN entries AS parents ON parents.seq = entries.parent
         WHERE entries.session_id = ? AND entries.seq > ? ORDER BY entries.seq",
    )?;
    let rows = written.query_map(params![session_id, after], RawEntry::read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn traces<P: rusqlite::Params>(
    connection: &Connection,
    query: &str,
    parameters: P,
) -> Result<Vec<RawTrace>, Problem> {
    let mut traces = connection.prepare_cached(query)?;
    let rows = traces.query_map(parameters, |row| {
        Ok(RawTrace {
            seq: count(row, 0)?,
            session_id: row.get(1)?,
            dispatch: row.get(2)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Selects rows of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Spans of time, and events that had a handler.
    Heard,
    /// All rows.
    All,
}

fn dispatches_of(connection: &Connection, session_id: &str) -> Result<Vec<StoredTrace>, Problem> {
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
fn newest_dispatches(connection: &Connection, most: u32) -> Result<Vec<StoredTrace>, Problem> {
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
fn newest_spans(connection: &Connection, kind: SpanKind, most: u32) -> Result<Vec<StoredTrace>, Problem> {
    let mut trace = connection
        .prepare("SELECT event, time_ms, dispatch FROM trace WHERE event = ? ORDER BY seq DESC LIMIT ?")?;
    let mut rows = trace.query(params![kind.name(), most])?;
    let mut spans = Vec::new();
    while let Some(row) = rows.next()? {
        spans.push(StoredTrace::read(row)?);
    }
    Ok(spans)
}

/// Dispatches and spans of a session and of those below it, in the order in which they were recorded.
fn rows_of(
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

/// The last turns of a session, or the last before a certain one, at most `most`.
fn turn_page(
    connection: &Connection,
    session_id: &str,
    most: u64,
    before: Option<u64>,
) -> Result<TurnPage, Problem> {
    // A turn is recorded when it is over, so all rows of the next one come after it.
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

/// The recorded rows of a session in these turns, and of the sub-agents that began in them.
fn rows_of_turns(
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
fn span_names() -> String {
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

/// The session with that id and its descendants, each after its parent, siblings in the order in which they began.
fn family_of(sessions: &[SessionSummary], session_id: &str) -> Vec<SessionSummary> {
    let mut below: HashMap<&str, Vec<&SessionSummary>> = HashMap::new();
    for session in sessions {
        if let Some(parent) = &session.parent_id {
            below.entry(parent).or_default().push(session);
        }
    }
    // The next session is taken from the end. Sessions are listed newest first, so the oldest sibling comes first.
    let mut waiting: Vec<&SessionSummary> = sessions
        .iter()
        .filter(|session| session.id == session_id)
        .collect();
    let mut family = Vec::new();
    while let Some(session) = waiting.pop() {
        // A session that was taken is not taken again, so that a cycle comes to an end.
        let children = below.remove(session.id.as_str()).unwrap_or_default();
        waiting.extend(children.into_iter().filter(|child| child.id != session_id));
        family.push(session.clone());
    }
    family
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_everybody_below_a_session_each_after_its_parent() {
        let session = |id: &str, parent: Option<&str>, started_ms: u64| SessionSummary {
            id: id.into(),
            parent_id: parent.map(Into::into),
            context: "c".into(),
            model: "m".into(),
            cwd: "/".into(),
            started_ms,
            ended_ms: None,
            reason: None,
            entry_count: 0,
            name: None,
            prompt: None,
            usage: becket_events::Usage::default(),
            is_whole: true,
        };
        // In the order of the list: newest first.
        let sessions = [
            session("other", None, 9),
            session("grandchild", Some("first"), 4),
            session("second", Some("root"), 3),
            session("first", Some("root"), 2),
            session("root", None, 1),
            session("itself", Some("itself"), 0),
        ];
        let ids = |id: &str| -> Vec<String> {
            family_of(&sessions, id)
                .into_iter()
                .map(|session| session.id)
                .collect()
        };
        assert_eq!(ids("root"), ["root", "first", "grandchild", "second"]);
        assert_eq!(ids("itself"), ["itself"], "a circle has an end");
        assert!(ids("nobody").is_empty());
    }
}
