//! `becket trace`: what happened in a session, as a tree of turns, requests, tool calls and hook runs.

mod otlp;

use std::collections::BTreeMap;
use std::time::Duration;

use becket_store::{Recorded, SessionSummary, SqliteStore};
use serde_json::{Value, json};

use url::Url;

use super::{print, runtime};
use crate::args::{Options, TraceArgs, TraceForm};
use crate::assemble::Setup;
use crate::failure::{CliError, Exit};
use crate::folders::Folders;
use crate::front::harmless;
use crate::otel;
use crate::surroundings::Surroundings;
use crate::workbench::in_ms;

/// How often somebody who follows looks again.
const PACE: Duration = Duration::from_millis(200);

/// Shows the trace of a session.
pub fn run(options: &Options, wanted: &TraceArgs, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let store = Folders::find(options.home.as_deref(), surroundings)?.open_store()?;
    let session = find(&store, wanted.session.as_deref())?;
    if wanted.follow {
        return follow(&store, &session, options);
    }
    let record = items(&store.record_of(&session.id, 0)?);
    let parents = parents(&store)?;
    let family = Family { record, parents };
    if let Some(endpoint) = otel_endpoint(options, surroundings)? {
        return send(
            &endpoint,
            &otlp::request(&family, &session),
            options,
            surroundings,
        );
    }
    let form = wanted.export.or(options.json.then_some(TraceForm::Jsonl));
    match form {
        Some(TraceForm::Jsonl) => print(&family.record.iter().map(Item::line).collect::<String>())?,
        Some(TraceForm::Chrome) => print(&format!("{}\n", chrome(&session, &family.record)))?,
        Some(TraceForm::Otlp) => print(&format!("{}\n", otlp::request(&family, &session)))?,
        None => print(&harmless(&family.tree(&session)))?,
    }
    Ok(Exit::Answered)
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

/// The session that is meant: the newest of a person's, or the one whose id begins so.
pub(super) fn find(store: &SqliteStore, named: Option<&str>) -> Result<SessionSummary, CliError> {
    let sessions = store.sessions(None)?;
    let Some(named) = named else {
        let mut own = sessions.into_iter().filter(|session| session.parent_id.is_none());
        return own
            .next()
            .ok_or_else(|| CliError::usage("there are no sessions yet").hint("the first prompt makes one"));
    };
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
fn parents(store: &SqliteStore) -> Result<BTreeMap<String, String>, CliError> {
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
        for item in items(&news) {
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

fn items(record: &[Recorded]) -> Vec<Item> {
    let read = |recorded: &Recorded| Item {
        seq: recorded.seq,
        session_id: recorded.session_id.clone(),
        is_span: recorded.is_span,
        name: recorded.name.clone(),
        json: serde_json::from_str(recorded.json.text()).unwrap_or_default(),
    };
    record.iter().map(read).collect()
}

impl Item {
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

/// A line of the tree with what stands below it.
struct Node<'a> {
    began: u64,
    text: String,
    what: What<'a>,
    below: Vec<Node<'a>>,
}

/// What a line of the tree is about.
enum What<'a> {
    /// A dispatch or a stretch of time.
    Item(&'a Item),
    /// The session of a sub-agent.
    Session(&'a str),
    /// What stands above it, in more words.
    Words,
}

/// Everything that is recorded of a session and of the sub-agents below it.
struct Family {
    record: Vec<Item>,
    parents: BTreeMap<String, String>,
}

impl Node<'_> {
    /// When it was over, with everything below it.
    fn ended(&self) -> u64 {
        let own = match &self.what {
            What::Item(item) => item.ended(),
            What::Session(_) | What::Words => self.began,
        };
        self.below.iter().map(Node::ended).fold(own, u64::max)
    }

    fn print(&self, margin: &str, last: bool, text: &mut String) {
        let (branch, rest) = if last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        for (index, line) in self.text.lines().enumerate() {
            let before = if index == 0 { branch } else { rest };
            text.push_str(&format!("{margin}{before}{line}\n"));
        }
        let margin = format!("{margin}{rest}");
        for (index, node) in self.below.iter().enumerate() {
            node.print(&margin, index + 1 == self.below.len(), text);
        }
    }
}

impl Family {
    /// The whole session as a tree.
    fn tree(&self, session: &SessionSummary) -> String {
        let SessionSummary {
            id, context, model, ..
        } = session;
        let ending = session.reason.as_deref().unwrap_or("open");
        let mut text = format!("session {id} in {context} with {model}  {ending}\n");
        let whole = self.session(id);
        for (index, node) in whole.iter().enumerate() {
            node.print("", index + 1 == whole.len(), &mut text);
        }
        if whole.is_empty() {
            text.push_str("nothing is recorded of it\n");
        }
        text
    }

    /// Everything of a session: its turns with what belongs to them, and what happened outside of turns.
    fn session(&self, id: &str) -> Vec<Node<'_>> {
        let own: Vec<&Item> = self.record.iter().filter(|item| item.session_id == id).collect();
        let (turns, rest): (Vec<&Item>, Vec<&Item>) = own.into_iter().partition(|item| item.is("turn"));
        let belongs =
            |item: &Item, turn: &Item| item.number("turn") == turn.number("turn") && within(item, turn);
        let mut nodes: Vec<Node<'_>> = Vec::new();
        for turn in &turns {
            let of_turn: Vec<&Item> = rest.iter().copied().filter(|item| belongs(item, turn)).collect();
            nodes.push(Node {
                began: turn.began(),
                text: turn.told(),
                what: What::Item(turn),
                below: self.things(id, &of_turn),
            });
        }
        let outside = |item: &&Item| !turns.iter().any(|turn| belongs(item, turn));
        let outside: Vec<&Item> = rest.into_iter().filter(outside).collect();
        nodes.extend(self.things(id, &outside));
        nodes.sort_by_key(|node| node.began);
        nodes
    }

    /// Requests and calls, with the hooks that were asked about each.
    fn things<'a>(&'a self, session_id: &str, items: &[&'a Item]) -> Vec<Node<'a>> {
        let (spans, dispatches): (Vec<&Item>, Vec<&Item>) =
            items.iter().copied().partition(|item| item.is_span);
        let mut loose = Vec::new();
        let mut nodes: Vec<Node<'a>> = spans
            .iter()
            .map(|span| Node {
                began: span.began(),
                text: span.told(),
                what: What::Item(span),
                below: self.sub_agents(session_id, span),
            })
            .collect();
        for item in dispatches {
            let owner = spans.iter().position(|span| match (item.call(), span.call()) {
                (Some(call), Some(of_span)) => call == of_span,
                (None, None) => span.is("request") && within(item, span),
                _ => false,
            });
            match owner {
                Some(place) => nodes[place].below.push(dispatch_node(item)),
                None => loose.push(dispatch_node(item)),
            }
        }
        nodes.extend(loose);
        for node in &mut nodes {
            node.below.sort_by_key(|below| below.began);
        }
        nodes.sort_by_key(|node| node.began);
        nodes
    }

    /// Sessions of sub-agents that a call has asked.
    fn sub_agents(&self, session_id: &str, call: &Item) -> Vec<Node<'_>> {
        let below = self.parents.iter().filter(|(_, parent)| *parent == session_id);
        let mut nodes = Vec::new();
        for (id, _) in below.filter(|_| call.is("tool_call")) {
            let mut own = self.record.iter().filter(|item| item.session_id == *id);
            if let Some(first) = own.find(|item| within(item, call)) {
                nodes.push(Node {
                    began: first.began(),
                    text: format!("session {id}"),
                    what: What::Session(id),
                    below: self.session(id),
                });
            }
        }
        nodes
    }
}

/// Whether something happened while something else did. Clocks are read at slightly different moments.
fn within(item: &Item, whole: &Item) -> bool {
    const SLACK: u64 = 100;
    item.began() + SLACK >= whole.began() && item.began() <= whole.ended() + SLACK
}

/// An event with its hooks, and what became of it from one to the next.
fn dispatch_node(item: &Item) -> Node<'_> {
    let verdict = match &item.json["verdict"] {
        Value::Null => String::new(),
        verdict => format!("  {}", verdict_of(verdict)),
    };
    let changing: Vec<String> = changing_fields(&item.json);
    let mut below = Vec::new();
    for field in &changing {
        below.push(leaf(item, format!("{field}: {}", item.json["original"][field])));
    }
    for run in item.json["runs"].as_array().into_iter().flatten() {
        below.push(leaf(item, run_text(run, &changing)));
    }
    for field in &changing {
        below.push(leaf(
            item,
            format!("{field} in the end: {}", item.json["effective"][field]),
        ));
    }
    Node {
        began: item.began(),
        text: format!("{}{verdict}", item.told()),
        what: What::Item(item),
        below,
    }
}

fn leaf(item: &Item, text: String) -> Node<'_> {
    Node {
        began: item.began(),
        text,
        what: What::Words,
        below: Vec::new(),
    }
}

/// The fields that hooks have changed.
fn changing_fields(dispatch: &Value) -> Vec<String> {
    // The event itself is recorded also where nobody has changed it.
    if dispatch["effective"].is_null() {
        return Vec::new();
    }
    let original = dispatch["original"].as_object().into_iter().flatten();
    let changed = original.filter(|(name, value)| dispatch["effective"].get(name.as_str()) != Some(value));
    changed.map(|(name, _)| name.clone()).collect()
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

fn run_text(run: &Value, changing: &[String]) -> String {
    let text = |name: &str| run[name].as_str().unwrap_or_default();
    let took = in_ms(run["duration_us"].as_u64().unwrap_or_default());
    let effect = &run["effect"];
    let mut words = match effect["kind"].as_str().unwrap_or_default() {
        "failed" => {
            let failure = &effect["failure"];
            let refused = if effect["refused"] == json!(true) {
                ", which refuses"
            } else {
                ""
            };
            format!(
                "failed{refused}: {} {}",
                failure["cause"].as_str().unwrap_or_default().replace('_', " "),
                failure["detail"].as_str().unwrap_or_default()
            )
        }
        "denied" => verdict_of(&run["reply"]["verdict"]),
        "none" => "said nothing".into(),
        kind => kind.replace('_', " "),
    };
    for field in changing {
        if let Some(value) = run["reply"].get(field) {
            words.push_str(&format!("  {field} → {value}"));
        }
    }
    format!("{} ({})  {took}  {words}", text("handler"), text("source"))
}

/// The trace in Chrome's format: one process for each session, one row for turns and requests, one for each call.
fn chrome(session: &SessionSummary, record: &[Item]) -> Value {
    let mut processes: Vec<&str> = record.iter().map(|item| item.session_id.as_str()).collect();
    processes.dedup();
    processes.sort_unstable();
    processes.dedup();
    let process = |id: &str| {
        processes
            .iter()
            .position(|known| *known == id)
            .map_or(0, |place| place + 1)
    };
    let mut events = Vec::new();
    for id in &processes {
        events.push(json!({
            "ph": "M", "name": "process_name", "pid": process(id), "tid": 0,
            "args": {"name": format!("session {id}")},
        }));
    }
    for item in record {
        let pid = process(&item.session_id);
        events.push(slice(&item.name, item, pid));
        let mut began = item.began();
        for run in item.json["runs"].as_array().into_iter().flatten() {
            let duration = run["duration_us"].as_u64().unwrap_or_default();
            events.push(json!({
                "ph": "X", "cat": "hook", "name": run["handler"], "pid": pid, "tid": row(item),
                "ts": began, "dur": duration, "args": run,
            }));
            began += duration;
        }
    }
    json!({
        "displayTimeUnit": "ms",
        "otherData": {"session": session.id, "context": session.context, "model": session.model},
        "traceEvents": events,
    })
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
