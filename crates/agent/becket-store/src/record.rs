//! What happened, for those who look at it: what each session wrote and what its hooks were asked, as it was stored.

use std::collections::HashMap;

use becket_agent::store::{StoreError, StoredEntry};
use rusqlite::{Connection, OptionalExtension, params};

use crate::SessionSummary;
use crate::problem::Problem;
use crate::reading::{RawEntry, count, span_names};
use crate::sqlite::SqliteStore;

/// How far the store has come. Equal marks mean that nothing was added in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The last entry.
    pub entries: u64,
    /// The last traced dispatch.
    pub trace: u64,
    /// How many sessions there are.
    pub sessions: u64,
    /// How many of them have ended.
    pub ended: u64,
}

/// Where the later part of a session begins, with one of its turns. A turn is an answer with what led to it and what
/// its calls came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Beginning {
    /// The turn; a session's first one has the number 1.
    pub turn: u64,
    /// How many turns the session has, without one that waits for its answer.
    pub turn_count: u64,
    /// When the turn before was answered; 0 before the first.
    pub after_ms: u64,
    /// When the turn itself was answered, so that sub-agents of this part began then or later; 0 for the first turn.
    pub answered_ms: u64,
    /// The last entry before it.
    entry: i64,
    /// The last place in the trace before it.
    trace: i64,
}

/// A traced dispatch or stretch of time, still as the JSON text that was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawTrace {
    /// Its place among all dispatches; later ones have larger ones.
    pub seq: u64,
    /// The session in which it happened.
    pub session_id: String,
    /// A `DispatchTrace` or a `Span` as JSON.
    pub dispatch: String,
}

impl SqliteStore {
    /// How far the store has come.
    pub fn mark(&self) -> Result<Mark, StoreError> {
        self.look("look for changes", mark)
    }

    /// A session and all that were started below it, each after its parent; empty if there is no such session.
    pub fn family(&self, session_id: &str) -> Result<Vec<SessionSummary>, StoreError> {
        let sessions = self.sessions(None)?;
        Ok(family_of(&sessions, session_id))
    }

    /// Whether a session was killed before it had stored an answer, of which some may have been shown.
    pub fn lost_answer(&self, session_id: &str) -> Result<bool, StoreError> {
        let context: Option<String> = self.look("read a session", |connection| {
            let mut context = connection.prepare_cached("SELECT context FROM sessions WHERE id = ?")?;
            let is_open = crate::reading::lost_answer(connection, session_id)?;
            let context = context.query_row([session_id], |row| row.get(0)).optional()?;
            Ok(context.filter(|_| is_open))
        })?;
        Ok(context.is_some_and(|context| !self.is_claimed(&context)))
    }

    /// Where a turn of a session begins; without one, where its last turns begin, so many of them.
    pub fn beginning(
        &self,
        session_id: &str,
        turn: Option<u64>,
        usual: u64,
    ) -> Result<Beginning, StoreError> {
        self.look("read a session", |connection| {
            beginning(connection, session_id, turn, usual)
        })
    }

    /// The entries that a session wrote from a turn on, in their order. The first of them may be results of calls that
    /// were asked for before.
    pub fn written_by(&self, session_id: &str, from: &Beginning) -> Result<Vec<StoredEntry>, StoreError> {
        let raw = self.look("read a session", |connection| {
            written_by(connection, session_id, from.entry)
        })?;
        raw.into_iter()
            .map(|entry| {
                entry
                    .parse()
                    .map_err(|problem| problem.told(self.path(), "read a session"))
            })
            .collect()
    }

    /// The conversation as it was when an entry had been added: all entries from the root to that one.
    pub fn conversation_until(
        &self,
        session_id: &str,
        entry_id: &str,
    ) -> Result<Vec<StoredEntry>, StoreError> {
        let raw = self.look("read a conversation", |connection| {
            let seq: Option<i64> = connection
                .prepare_cached("SELECT seq FROM entries WHERE session_id = ? AND id = ?")?
                .query_row([session_id, entry_id], |row| row.get(0))
                .optional()?;
            seq.map_or(Ok(Vec::new()), |seq| crate::reading::path_to(connection, seq))
        })?;
        raw.into_iter()
            .map(|entry| {
                entry
                    .parse()
                    .map_err(|problem| problem.told(self.path(), "read a conversation"))
            })
            .collect()
    }

    /// What was traced of a session from a turn on, dispatches and stretches of time, in their order.
    pub fn traced_in(&self, session_id: &str, from: &Beginning) -> Result<Vec<RawTrace>, StoreError> {
        self.look("read the trace", |connection| {
            traces(
                connection,
                "SELECT seq, session_id, dispatch FROM trace WHERE session_id = ? AND seq > ? AND heard ORDER BY seq",
                params![session_id, from.trace],
            )
        })
    }

    /// The dispatches of all sessions after that place, in their order, at most so many.
    pub fn dispatches_after(&self, seq: u64, most: u32) -> Result<Vec<RawTrace>, StoreError> {
        let seq = i64::try_from(seq).unwrap_or(i64::MAX);
        self.look("read the trace", |connection| {
            traces(
                connection,
                &format!(
                    "SELECT seq, session_id, dispatch FROM trace
                     WHERE seq > ? AND heard AND event NOT IN ({}) ORDER BY seq LIMIT ?",
                    span_names()
                ),
                [seq, i64::from(most)],
            )
        })
    }

    /// One dispatch.
    pub fn dispatch(&self, seq: u64) -> Result<Option<RawTrace>, StoreError> {
        let seq = i64::try_from(seq).unwrap_or(i64::MAX);
        let found = self.look("read the trace", |connection| {
            traces(
                connection,
                "SELECT seq, session_id, dispatch FROM trace WHERE seq = ?",
                [seq],
            )
        })?;
        Ok(found.into_iter().next())
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

/// The last place in the trace that belongs to the turn that was answered at that moment, or to one before. A turn is
/// traced when it is over, so everything of the next one stands behind it; what has no turns was traced before there
/// were any.
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

/// The session with that id and its descendants, each after its parent, sisters in the order in which they began.
fn family_of(sessions: &[SessionSummary], session_id: &str) -> Vec<SessionSummary> {
    let mut below: HashMap<&str, Vec<&SessionSummary>> = HashMap::new();
    for session in sessions {
        if let Some(parent) = &session.parent_id {
            below.entry(parent).or_default().push(session);
        }
    }
    // The next one stands at the end. Sessions are listed newest first, so the oldest sister is taken first.
    let mut waiting: Vec<&SessionSummary> = sessions
        .iter()
        .filter(|session| session.id == session_id)
        .collect();
    let mut family = Vec::new();
    while let Some(session) = waiting.pop() {
        // Whoever is taken out has had its turn: a circle has an end.
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
            is_whole: true,
        };
        // As they are listed: the newest first.
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
