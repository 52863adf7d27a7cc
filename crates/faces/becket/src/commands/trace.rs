//! `becket trace`: what happened in a session, as a tree of turns, requests, tool calls and hook runs.

mod otlp;
mod tree;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use becket_store::{Recorded, SessionSummary, SqliteStore, TurnPage};
use becket_system::project_root::nearest_project;
use becket_system::{CliError, Exit, Folders, Surroundings, harmless};
use serde_json::{Value, json};
use url::Url;

use super::{print, runtime};
use crate::args::{Options, TraceArgs, TraceForm};
use crate::assemble::Setup;
use crate::otel;
use crate::workbench::in_ms;
use tree::{Family, Node, What};

/// What is said of a session that was killed before it had stored an answer.
pub(super) const LOST_ANSWER: &str = "the last answer is not stored: becket was killed while it came";

/// So many turns are shown at once.
const TURNS: u64 = 100;

/// So many lines of JSON are written at once.
const LINES: usize = 1000;

/// How often somebody who follows looks again.
const PACE: Duration = Duration::from_millis(200);

/// Shows the trace of a session.
pub fn run(options: &Options, wanted: &TraceArgs, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let folders = Folders::find(options.home.as_deref(), surroundings)?;
    let store = folders.open_store()?;
    let session = match &wanted.session {
        Some(named) => find(&store, named)?,
        None if wanted.all => newest(&store)?,
        None => newest_here(&store, &folders, surroundings)?,
    };
    if wanted.follow {
        return follow(&store, &session, options);
    }
    let otel = otel_endpoint(options, surroundings)?;
    let form = wanted.export.or(options.json.then_some(TraceForm::Jsonl));
    let usual = (otel.is_none() && form.is_none()).then_some(TURNS);
    let page = page(&store, &session, wanted, usual)?;
    let record = match &page {
        Some(page) => store.record_of_turns(&session.id, page)?,
        None => store.record_of(&session.id, 0)?,
    };
    if form == Some(TraceForm::Jsonl) && otel.is_none() {
        let lines = |some: &[Recorded]| -> String { some.iter().map(|one| Item::read(one).line()).collect() };
        record.chunks(LINES).try_for_each(|some| print(&lines(some)))?;
        return Ok(Exit::Answered);
    }
    let family = Family::of(record.iter().map(Item::read), parents(&store)?);
    drop(record);
    match (otel, form) {
        (Some(endpoint), _) => {
            let spans = otlp::request(&family, &session);
            return send(&endpoint, &spans, options, surroundings);
        }
        (None, Some(TraceForm::Otlp)) => print(&format!("{}\n", otlp::request(&family, &session)))?,
        (None, Some(_)) => print(&format!("{}\n", chrome(&session, &family)))?,
        (None, None) => {
            print(&harmless(&family.tree(&session, page.as_ref())))?;
            if store.lost_answer(&session.id)? {
                print(&format!("{LOST_ANSWER}\n"))?;
            }
        }
    }
    Ok(Exit::Answered)
}

/// The turns that are shown. Without a usual number it is the whole record, unless the command line says otherwise.
fn page(
    store: &SqliteStore,
    session: &SessionSummary,
    wanted: &TraceArgs,
    usual: Option<u64>,
) -> Result<Option<TurnPage>, CliError> {
    let most = match (wanted.turns.or(usual), wanted.before) {
        (None, None) => return Ok(None),
        (None, Some(_)) => TURNS,
        (Some(0), _) => u64::MAX,
        (Some(most), _) => most,
    };
    Ok(Some(store.turn_page(&session.id, most, wanted.before)?))
}

/// Where the spans are to be sent, if that is what the person wants here: what settings want concerns runs.
fn otel_endpoint(options: &Options, surroundings: &Surroundings) -> Result<Option<Url>, CliError> {
    if options.otel.is_none() {
        return Ok(None);
    }
    let config = Setup::read(options, surroundings)?.config.otel;
    otel::endpoint(options.otel.as_deref(), &config, surroundings)
}

fn send(
    endpoint: &Url,
    spans: &Value,
    options: &Options,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let sending = otel::send(endpoint, spans.to_string(), surroundings);
    runtime(options)?.block_on(sending)?;
    Ok(Exit::Answered)
}

/// The newest session of any project.
fn newest(store: &SqliteStore) -> Result<SessionSummary, CliError> {
    let mut own = own_sessions(store)?.into_iter();
    own.next()
        .ok_or_else(|| CliError::usage("there are no sessions yet").hint("the first prompt makes one"))
}

/// The newest session of the project around the working directory. Where another project has a newer one, the choice is
/// told.
pub(super) fn newest_here(
    store: &SqliteStore,
    folders: &Folders,
    surroundings: &Surroundings,
) -> Result<SessionSummary, CliError> {
    let newest = newest(store)?;
    let home = surroundings.variable("HOME").map(PathBuf::from);
    let mut known: HashMap<String, bool> = HashMap::new();
    let mut is_here = |folder: &String| {
        let is_here = || nearest_project(Path::new(folder), home.as_deref()) == folders.project;
        *known.entry(folder.clone()).or_insert_with(is_here)
    };
    let here = own_sessions(store)?
        .into_iter()
        .find(|session| is_here(&session.cwd));
    let project = folders.project.display();
    let here = here.ok_or_else(|| {
        CliError::usage(format!("there are no sessions of this project ({project}) yet"))
            .hint("`becket sessions` lists those of all projects, and `becket trace --all` shows the newest of them")
    })?;
    if here.id != newest.id {
        surroundings.remark(&format!(
            "this is the newest session of this project ({project}); {} is newer elsewhere",
            newest.id
        ));
    }
    Ok(here)
}

/// The sessions that a user began, newest first.
fn own_sessions(store: &SqliteStore) -> Result<Vec<SessionSummary>, CliError> {
    let mut sessions = store.sessions(None)?;
    sessions.retain(|session| session.parent_id.is_none());
    Ok(sessions)
}

/// The session whose id begins so.
pub(super) fn find(store: &SqliteStore, named: &str) -> Result<SessionSummary, CliError> {
    let sessions = store.sessions(None)?;
    let mut found: Vec<SessionSummary> = sessions
        .into_iter()
        .filter(|session| session.id.starts_with(named))
        .collect();
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => {
            Err(CliError::usage(format!("there is no session `{named}`"))
                .hint("`becket sessions` lists them"))
        }
        count => Err(
            CliError::usage(format!("`{named}` is the beginning of {count} sessions"))
                .hint("write more of it"),
        ),
    }
}

/// The sessions of sub-agents, each with the one that asked it.
fn parents(store: &SqliteStore) -> Result<Vec<(String, String)>, CliError> {
    let sessions = store.sessions(None)?.into_iter();
    Ok(sessions
        .filter_map(|session| Some((session.id, session.parent_id?)))
        .collect())
}

/// Shows what is recorded until the session is over.
fn follow(store: &SqliteStore, session: &SessionSummary, options: &Options) -> Result<Exit, CliError> {
    let mut after = 0;
    loop {
        // Looked up before the record: what is recorded until the end is then shown.
        let is_over = store
            .sessions(None)?
            .iter()
            .find(|known| known.id == session.id)
            .is_none_or(|known| known.reason.is_some());
        let news = store.record_of(&session.id, after)?;
        after = news.last().map_or(after, |last| last.seq);
        for item in news.iter().map(Item::read) {
            match options.json {
                true => print(&item.line())?,
                false => print(&harmless(&format!("{}\n", item.told())))?,
            }
        }
        if is_over {
            return Ok(Exit::Answered);
        }
        std::thread::sleep(PACE);
    }
}

/// A dispatch or a stretch of time.
struct Item {
    seq: i64,
    session_id: String,
    is_span: bool,
    name: String,
    json: Value,
}

impl Item {
    fn read(recorded: &Recorded) -> Self {
        Self {
            seq: recorded.seq,
            session_id: recorded.session_id.clone(),
            is_span: recorded.is_span,
            name: recorded.name.clone(),
            json: serde_json::from_str(recorded.json.text()).unwrap_or_default(),
        }
    }

    fn number(&self, name: &str) -> u64 {
        self.json[name].as_u64().unwrap_or_default()
    }

    /// When it began; dispatches of older records know it less exactly.
    fn began(&self) -> u64 {
        match self.number("time_us") {
            0 => self.number("time_ms") * 1000,
            time => time,
        }
    }

    fn ended(&self) -> u64 {
        self.began() + self.number("duration_us")
    }

    fn call(&self) -> Option<&str> {
        self.json["tool_call_id"].as_str()
    }

    fn is(&self, kind: &str) -> bool {
        self.is_span && self.name == kind
    }

    /// As one line of JSON.
    fn line(&self) -> String {
        let mut json = self.json.clone();
        if let Value::Object(fields) = &mut json {
            let kind = if self.is_span { "span" } else { "dispatch" };
            fields.insert("type".into(), kind.into());
            fields.insert("session_id".into(), self.session_id.clone().into());
        }
        format!("{json}\n")
    }

    /// In one line for people.
    fn told(&self) -> String {
        let took = in_ms(self.number("duration_us"));
        if !self.is_span {
            return format!("{}  {took}", self.name);
        }
        let facts = &self.json["facts"];
        let name = self.json["name"].as_str().unwrap_or_default();
        let words = |value: &Value| value.as_str().unwrap_or_default().replace('_', " ");
        match self.name.as_str() {
            "turn" => format!(
                "turn {}  {took}  {}",
                self.number("turn"),
                words(&facts["reason"])
            ),
            "request" => format!("request to {name}  {took}{}", request_facts(&facts["ended"])),
            _ => {
                let how = match facts["refused"].as_str() {
                    Some(reason) => reason.lines().next().unwrap_or_default().to_owned(),
                    None => format!("allowed by {}", words(&facts["allowed_by"])),
                };
                let failed = match (&facts["is_error"], facts["refused"].is_null()) {
                    (Value::Bool(true), true) => ", failed",
                    _ => "",
                };
                let mut text = format!("{name} {}  {took}  {how}{failed}", facts["arguments"]);
                if !facts["rewritten"].is_null() {
                    text.push_str(&format!("\n  ran with {}", facts["rewritten"]));
                }
                text
            }
        }
    }
}

fn request_facts(ended: &Value) -> String {
    for problem in ["error", "blocked"] {
        if let Some(words) = ended[problem].as_str() {
            return format!("  {problem}: {words}");
        }
    }
    let usage = &ended["usage"];
    match (usage["input_tokens"].as_u64(), usage["output_tokens"].as_u64()) {
        (Some(read), Some(written)) => format!("  {read} tokens in, {written} out"),
        _ => String::new(),
    }
}

pub(super) fn verdict_of(verdict: &Value) -> String {
    match verdict {
        Value::String(word) => word.clone(),
        Value::Object(object) => {
            let said = object.iter().next();
            said.map_or(String::new(), |(word, reason)| {
                format!("{word}: {}", reason.as_str().unwrap_or_default())
            })
        }
        other => other.to_string(),
    }
}

/// The trace in Chrome's format: one process for each session, one row for turns and requests, one for each call.
fn chrome(session: &SessionSummary, family: &Family) -> Value {
    let mut events = Vec::new();
    for (place, (id, items)) in family.sessions().enumerate() {
        let pid = place + 1;
        events.push(json!({
            "ph": "M", "name": "process_name", "pid": pid, "tid": 0,
            "args": {"name": format!("session {id}")},
        }));
        events.extend(items.iter().flat_map(|item| slices(item, pid)));
    }
    json!({
        "displayTimeUnit": "ms",
        "otherData": {"session": session.id, "context": session.context, "model": session.model},
        "traceEvents": events,
    })
}

/// A dispatch or a stretch of time, and the hooks in it.
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

/// Calls may overlap, so each has a row of its own; everything else follows one after the other.
fn row(item: &Item) -> u64 {
    let Some(call) = item.call() else { return 1 };
    let sum = call
        .bytes()
        .fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    2 + sum % 100_000
}
