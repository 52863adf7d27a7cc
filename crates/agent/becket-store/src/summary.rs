//! Counts that are kept while traces and messages are written, so that a listing reads no record as a whole.
//!
//! A count has its own row for each session, hook, hour, effect and duration. Durations are rounded down to two digits:
//! that is exact enough for a percentile, and a hook that ran a million times has a few dozen rows.

use std::collections::{BTreeMap, HashMap};

use becket_agent::store::{EntryContent, NewEntry, Span, SpanKind};
use becket_events::{MessageBody, Usage};
use becket_hooks::{DispatchTrace, Effect};
use rusqlite::{Connection, params};

use crate::problem::Problem;
use crate::reading::count;

const HOUR_US: u64 = 3_600_000_000;

/// How much of a session's first prompt is kept for listings, in characters.
const PROMPT_LENGTH: usize = 400;

/// What came of a hook's run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunEffect {
    /// The hook had no say, or said nothing that mattered.
    Passed,
    /// The hook changed something.
    Rewrote,
    /// The hook refused.
    Denied,
    /// The hook failed, and the action went on.
    Failed,
    /// The hook failed, and the action was refused because of that.
    Unevaluated,
    /// The hook was not asked, because an earlier one had settled the matter.
    NotAsked,
}

impl RunEffect {
    fn of(effect: &Effect) -> (Self, &'static str) {
        match effect {
            Effect::None => (Self::Passed, "none"),
            Effect::Replied => (Self::Passed, "replied"),
            Effect::Shadow { .. } => (Self::Passed, "shadow"),
            Effect::Rewrote => (Self::Rewrote, "rewrote"),
            Effect::Denied => (Self::Denied, "denied"),
            Effect::Failed { refused: false, .. } => (Self::Failed, "failed"),
            Effect::Failed { refused: true, .. } => (Self::Unevaluated, "unevaluated"),
            Effect::NotAsked => (Self::NotAsked, "not_asked"),
        }
    }

    fn named(name: &str) -> Self {
        match name {
            "rewrote" => Self::Rewrote,
            "denied" => Self::Denied,
            "failed" => Self::Failed,
            "unevaluated" => Self::Unevaluated,
            "not_asked" => Self::NotAsked,
            _ => Self::Passed,
        }
    }

    fn refuses(self) -> bool {
        matches!(self, Self::Denied | Self::Unevaluated)
    }
}

/// How many of a session's hooks, turns, requests and calls there were, and what came of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionCounts {
    /// Hook runs by their effect.
    pub runs: HashMap<RunEffect, u64>,
    /// Turns.
    pub turns: u64,
    /// Requests to a model.
    pub requests: u64,
    /// Requests that failed.
    pub failed_requests: u64,
    /// Tool calls.
    pub calls: u64,
    /// Tool calls that were refused, by a hook, a rule or the user.
    pub refused_calls: u64,
    /// Tool calls that ran and failed.
    pub failed_calls: u64,
    /// Events that a hook refused and that are about no tool call: a prompt, a request.
    pub refused_events: u64,
}

/// How often a hook ran with one effect and one duration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCount {
    /// The number of the hook; each hook has one for each of its events.
    pub hook: u64,
    /// What came of the runs.
    pub effect: RunEffect,
    /// How long each run took in microseconds, rounded down to two digits.
    pub took_us: u64,
    /// How many runs there were.
    pub count: u64,
    /// How long all runs together took, in microseconds.
    pub sum_us: u64,
}

/// A hook on one event, and where it ran last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownHook {
    /// The number of the hook.
    pub id: u64,
    /// The event's name.
    pub event: String,
    /// The hook's name.
    pub handler: String,
    /// Where the hook is configured.
    pub source: String,
    /// In how many sessions the hook was wanted.
    pub sessions: u64,
    /// The session in which the hook was wanted last.
    pub last_session: String,
    /// The hour of that, in milliseconds since 1970.
    pub last_ms: u64,
}

/// Counts of what is about to be written.
#[derive(Default)]
pub(crate) struct Summary {
    runs: BTreeMap<RunKey, (u64, u64)>,
    outcomes: BTreeMap<(String, &'static str), u64>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct RunKey {
    session_id: String,
    event: &'static str,
    handler: String,
    source: String,
    hour: u64,
    effect: &'static str,
    took_us: u64,
}

impl Summary {
    pub(crate) fn add_dispatch(&mut self, session_id: &str, trace: &DispatchTrace) {
        let mut is_refused = false;
        for run in &trace.runs {
            let (effect, name) = RunEffect::of(&run.effect);
            is_refused |= effect.refuses();
            let key = RunKey {
                session_id: session_id.to_owned(),
                event: trace.event.info().name,
                handler: run.handler.clone(),
                source: run.source.clone(),
                hour: trace.time_us / HOUR_US,
                effect: name,
                took_us: rounded(run.duration_us),
            };
            let (count, sum_us) = self.runs.entry(key).or_default();
            *count += 1;
            *sum_us += run.duration_us;
        }
        if is_refused && trace.tool_call_id.is_none() {
            self.add_outcome(session_id, "event_refused");
        }
    }

    pub(crate) fn add_span(&mut self, session_id: &str, span: &Span) {
        self.add_outcome(session_id, span.kind.name());
        let (facts, ended) = (&span.facts, &span.facts["ended"]);
        let outcome = match span.kind {
            SpanKind::Request if !ended["error"].is_null() || !ended["blocked"].is_null() => "request_failed",
            SpanKind::ToolCall if !facts["refused"].is_null() => "call_refused",
            SpanKind::ToolCall if facts["is_error"] == true => "call_failed",
            _ => return,
        };
        self.add_outcome(session_id, outcome);
    }

    fn add_outcome(&mut self, session_id: &str, what: &'static str) {
        *self.outcomes.entry((session_id.to_owned(), what)).or_default() += 1;
    }

    pub(crate) fn write(&self, connection: &Connection) -> Result<(), Problem> {
        let mut known = connection.prepare_cached(
            "INSERT INTO hooks (event, handler, source) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        )?;
        let mut add_runs = connection.prepare_cached(
            "INSERT INTO runs SELECT ?1, id, ?5, ?6, ?7, ?8, ?9 FROM hooks
             WHERE event = ?2 AND handler = ?3 AND source = ?4
             ON CONFLICT DO UPDATE SET count = count + excluded.count, sum_us = sum_us + excluded.sum_us",
        )?;
        for (key, (count, sum_us)) in &self.runs {
            let (event, handler, source) = (key.event, &key.handler, &key.source);
            known.execute(params![event, handler, source])?;
            let (hour, took_us) = (signed(key.hour), signed(key.took_us));
            let (count, sum_us) = (signed(*count), signed(*sum_us));
            add_runs.execute(params![
                key.session_id,
                event,
                handler,
                source,
                hour,
                key.effect,
                took_us,
                count,
                sum_us
            ])?;
        }
        let mut add_outcome = connection.prepare_cached(
            "INSERT INTO outcomes VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
        )?;
        for ((session_id, what), count) in &self.outcomes {
            add_outcome.execute(params![session_id, what, signed(*count)])?;
        }
        Ok(())
    }
}

/// Rounds down to two digits.
fn rounded(number: u64) -> u64 {
    let mut unit = 1;
    while number / unit >= 100 && unit < 10_000_000 {
        unit *= 10;
    }
    number / unit * unit
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Adds the first prompt among the entries, and what their answers used, to the session's row.
pub(crate) fn add_entries<'a>(
    connection: &Connection,
    session_id: &str,
    entries: impl IntoIterator<Item = &'a NewEntry>,
) -> Result<(), Problem> {
    let mut prompt: Option<String> = None;
    let mut used = Usage::default();
    for entry in entries {
        let EntryContent::Message { message } = &entry.content else {
            continue;
        };
        match message.body() {
            MessageBody::User { .. } if prompt.is_none() => {
                prompt = Some(message.text().chars().take(PROMPT_LENGTH).collect());
            }
            MessageBody::Assistant { usage, .. } => used = used.plus(*usage),
            _ => {}
        }
    }
    if prompt.is_none() && used == Usage::default() {
        return Ok(());
    }
    connection
        .prepare_cached(
            "UPDATE sessions SET prompt = coalesce(prompt, ?2), input_tokens = input_tokens + ?3,
                    cached_tokens = cached_tokens + ?4, output_tokens = output_tokens + ?5,
                    cost = CASE WHEN ?6 IS NULL THEN cost ELSE coalesce(cost, 0) + ?6 END
             WHERE id = ?1",
        )?
        .execute(params![
            session_id,
            prompt,
            signed(used.input_tokens),
            signed(used.cache_read_tokens),
            signed(used.output_tokens),
            used.cost
        ])?;
    Ok(())
}

/// The counts of all sessions.
pub(crate) fn of_sessions(connection: &Connection) -> Result<HashMap<String, SessionCounts>, Problem> {
    let mut sessions: HashMap<String, SessionCounts> = HashMap::new();
    let mut runs = connection
        .prepare_cached("SELECT session_id, effect, sum(count) FROM runs GROUP BY session_id, effect")?;
    let mut rows = runs.query([])?;
    while let Some(row) = rows.next()? {
        let effect: String = row.get(1)?;
        let session = sessions.entry(row.get(0)?).or_default();
        *session.runs.entry(RunEffect::named(&effect)).or_default() += count(row, 2)?;
    }
    let mut outcomes = connection.prepare_cached("SELECT session_id, what, count FROM outcomes")?;
    let mut rows = outcomes.query([])?;
    while let Some(row) = rows.next()? {
        let what: String = row.get(1)?;
        let session = sessions.entry(row.get(0)?).or_default();
        let field = match what.as_str() {
            "turn" => &mut session.turns,
            "request" => &mut session.requests,
            "request_failed" => &mut session.failed_requests,
            "tool_call" => &mut session.calls,
            "call_refused" => &mut session.refused_calls,
            "call_failed" => &mut session.failed_calls,
            "event_refused" => &mut session.refused_events,
            _ => continue,
        };
        *field += count(row, 2)?;
    }
    Ok(sessions)
}

/// The hooks that were wanted since a time in milliseconds, rounded down to the hour, and how often.
pub(crate) fn of_hooks(
    connection: &Connection,
    since_ms: u64,
) -> Result<(Vec<KnownHook>, Vec<HookCount>), Problem> {
    let since = signed(since_ms / 3_600_000);
    // Of the rows of a group, SQLite takes the other columns from the one with the maximum.
    let mut known = connection.prepare_cached(
        "SELECT hooks.id, event, handler, source, count(DISTINCT session_id), session_id, max(hour)
         FROM runs JOIN hooks ON hooks.id = runs.hook WHERE hour >= ? GROUP BY hooks.id ORDER BY hooks.id",
    )?;
    let known = known.query_map([since], |row| {
        Ok(KnownHook {
            id: count(row, 0)?,
            event: row.get(1)?,
            handler: row.get(2)?,
            source: row.get(3)?,
            sessions: count(row, 4)?,
            last_session: row.get(5)?,
            last_ms: count(row, 6)? * 3_600_000,
        })
    })?;
    let known = known.collect::<Result<_, _>>()?;
    let mut counts = connection.prepare_cached(
        "SELECT hook, effect, took_us, sum(count), sum(sum_us) FROM runs WHERE hour >= ?
         GROUP BY hook, took_us, effect ORDER BY hook, took_us",
    )?;
    let counts = counts.query_map([since], |row| {
        Ok(HookCount {
            hook: count(row, 0)?,
            effect: RunEffect::named(&row.get::<_, String>(1)?),
            took_us: count(row, 2)?,
            count: count(row, 3)?,
            sum_us: count(row, 4)?,
        })
    })?;
    Ok((known, counts.collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn durations_keep_two_digits() {
        let cases = [
            (0, 0),
            (7, 7),
            (99, 99),
            (100, 100),
            (129, 120),
            (1_999, 1_900),
            (45_678, 45_000),
            (9_876_543, 9_800_000),
            (98_765_432, 98_000_000),
            (987_654_321, 980_000_000),
        ];
        for (number, expected) in cases {
            assert_eq!(rounded(number), expected, "{number}");
        }
    }
}
