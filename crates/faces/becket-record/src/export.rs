//! A session in the forms in which other programs read it: what `becket trace --export` prints, and the page saves.

use becket_agent::store::StoreError;
use becket_store::{Recorded, SessionSummary, SqliteStore};
use serde_json::{Value, json};

use super::item::Item;
use super::markdown;
use super::tree::Family;

/// The formats of a session for other programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Jsonl,
    Chrome,
    Otlp,
    Markdown,
}

impl Form {
    /// All formats, each with its name and what it is.
    pub const ALL: &[(Self, &str, &str)] = &[
        (
            Self::Jsonl,
            "jsonl",
            "One line of JSON for each dispatch and each stretch of time, as they were recorded",
        ),
        (
            Self::Chrome,
            "chrome",
            "Chrome's trace format, for Perfetto and the browser's own viewer",
        ),
        (
            Self::Otlp,
            "otlp",
            "Spans of OpenTelemetry in the JSON form of OTLP",
        ),
        (
            Self::Markdown,
            "markdown",
            "What was said, and which hooks refused, failed or changed something, as Markdown",
        ),
    ];

    /// The end of the name of a file in this format.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Chrome => "trace.json",
            Self::Otlp => "otlp.json",
            Self::Markdown => "md",
        }
    }
}

/// A session with its sub-agents in a form.
pub fn whole(store: &SqliteStore, session: &SessionSummary, form: Form) -> Result<String, StoreError> {
    let record = store.record().of_session(&session.id, 0)?;
    if form == Form::Jsonl {
        return Ok(json_lines(&record));
    }
    let family = Family::of(record.iter().map(Item::read), parents(store)?);
    Ok(match form {
        Form::Otlp => otlp(session, &family),
        Form::Markdown => markdown::document(store, session, &family)?,
        Form::Chrome | Form::Jsonl => chrome(session, &family),
    })
}

/// The records, a line of JSON each.
pub fn json_lines(record: &[Recorded]) -> String {
    record.iter().map(|one| Item::read(one).line()).collect()
}

/// The spans as a request to a collector of OpenTelemetry.
pub fn otlp(session: &SessionSummary, family: &Family) -> String {
    format!("{}\n", super::otlp::request(family, session))
}

/// The trace in Chrome's format: a process for each session, a row for turns and requests, and one for each call.
pub fn chrome(session: &SessionSummary, family: &Family) -> String {
    let mut events = Vec::new();
    for (place, (id, items)) in family.sessions().enumerate() {
        let pid = place + 1;
        events.push(json!({
            "ph": "M", "name": "process_name", "pid": pid, "tid": 0,
            "args": {"name": format!("session {id}")},
        }));
        events.extend(items.iter().flat_map(|item| slices(item, pid)));
    }
    let trace = json!({
        "displayTimeUnit": "ms",
        "otherData": {"session": session.id, "context": session.context, "model": session.model},
        "traceEvents": events,
    });
    format!("{trace}\n")
}

/// A record as slices of Chrome's format, with one for each of its hooks.
fn slices(item: &Item, pid: usize) -> Vec<Value> {
    let mut events = vec![slice(&item.name, item, pid)];
    let mut began = item.began();
    for run in item.json["runs"].as_array().into_iter().flatten() {
        let duration = run["duration_us"].as_u64().unwrap_or_default();
        events.push(json!({
            "ph": "X", "cat": "hook", "name": run["handler"], "pid": pid, "tid": row(item),
            "ts": began, "dur": duration, "args": run,
        }));
        began += duration;
    }
    events
}

fn slice(name: &str, item: &Item, pid: usize) -> Value {
    let own = item.json["name"].as_str().filter(|own| !own.is_empty());
    let name = own.map_or(name.to_owned(), |own| format!("{name} {own}"));
    json!({
        "ph": "X",
        "cat": if item.is_span { item.name.as_str() } else { "event" },
        "name": name,
        "pid": pid,
        "tid": row(item),
        "ts": item.began(),
        "dur": item.number("duration_us"),
        "args": if item.is_span { &item.json["facts"] } else { &item.json["verdict"] },
    })
}

/// The row of a record in Chrome's format. Calls may overlap, so each has a row of its own.
fn row(item: &Item) -> u64 {
    let Some(call) = item.call() else { return 1 };
    let sum = call
        .bytes()
        .fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    2 + sum % 100_000
}

/// The sessions of sub-agents, each with its parent.
pub fn parents(store: &SqliteStore) -> Result<Vec<(String, String)>, StoreError> {
    let sessions = store.sessions(None)?.into_iter();
    Ok(sessions
        .filter_map(|session| Some((session.id, session.parent_id?)))
        .collect())
}
