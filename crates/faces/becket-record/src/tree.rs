//! The record of a session as a tree: turns, in them requests and calls, in these the hooks and the sub-agents.
//!
//! Records are assigned by numbers, names and times that are looked up, never by comparing all with all: a session may
//! have ten thousand turns.

use std::collections::{BTreeMap, HashMap};

use becket_hooks::{Cause, shadow_words};
use becket_store::{SessionSummary, TurnPage};
use becket_system::in_ms;
use serde_json::{Value, json};

use super::item::{Item, verdict_of};

/// How far times may differ, since clocks are read at slightly different moments.
const SLACK: u64 = 100;

/// A line of the tree with the lines below it.
pub(crate) struct Node<'a> {
    pub(crate) began: u64,
    text: String,
    pub(crate) what: What<'a>,
    pub(crate) below: Vec<Node<'a>>,
}

/// The content of a line.
pub(crate) enum What<'a> {
    /// A dispatch or a span of time.
    Item(&'a Item),
    /// The session of a sub-agent.
    Session(&'a str),
    /// Text that explains the line above it.
    Words,
}

/// The records of a session and of the sub-agents below it, or of some turns.
pub struct Family {
    /// The records of each session, in order.
    record: BTreeMap<String, Vec<Item>>,
    /// The sub-agents of each session with their start times, ordered by these.
    children: HashMap<String, Vec<(u64, String)>>,
}

impl Node<'_> {
    /// When the record and everything below it had ended.
    pub(crate) fn ended(&self) -> u64 {
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
    /// Sorts records by session. `parents` has each sub-agent with its parent.
    pub fn of(items: impl Iterator<Item = Item>, parents: Vec<(String, String)>) -> Self {
        let mut record: BTreeMap<String, Vec<Item>> = BTreeMap::new();
        for item in items {
            match record.get_mut(&item.session_id) {
                Some(known) => known.push(item),
                None => drop(record.insert(item.session_id.clone(), vec![item])),
            }
        }
        let mut children: HashMap<String, Vec<(u64, String)>> = HashMap::new();
        for (id, parent) in parents.into_iter().filter(|(id, parent)| id != parent) {
            let own = record.get(&id).into_iter().flatten();
            if let Some(began) = own.map(Item::began).min() {
                children.entry(parent).or_default().push((began, id));
            }
        }
        children.values_mut().for_each(|sisters| sisters.sort());
        Self { record, children }
    }

    /// The sessions by id, with their records.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = (&str, &[Item])> {
        self.record
            .iter()
            .map(|(id, items)| (id.as_str(), items.as_slice()))
    }

    /// A session as a tree; `page` says which turns are in the record.
    pub fn tree(&self, session: &SessionSummary, page: Option<&TurnPage>) -> String {
        let SessionSummary {
            id, context, model, ..
        } = session;
        let ending = session.reason.as_deref().unwrap_or("open");
        let mut text = format!("session {id} in {context} with {model}  {ending}\n");
        let page = page.filter(|page| page.last + 1 - page.first < page.total);
        if let Some(TurnPage {
            first, last, total, ..
        }) = page
        {
            let more = match first {
                0 | 1 => String::new(),
                _ => format!("; earlier ones: becket trace {id} --before {first}"),
            };
            text.push_str(&format!("turns {first} to {last} of {total}{more}\n"));
        }
        let whole = self.session(id);
        for (index, node) in whole.iter().enumerate() {
            node.print("", index + 1 == whole.len(), &mut text);
        }
        if whole.is_empty() {
            text.push_str("nothing was recorded\n");
        }
        text
    }

    /// The nodes of a session: its turns, and what happened outside of turns.
    pub(crate) fn session(&self, id: &str) -> Vec<Node<'_>> {
        let own = self.record.get(id).into_iter().flatten();
        let (turns, rest): (Vec<&Item>, Vec<&Item>) = own.partition(|item| item.is("turn"));
        let mut numbered: HashMap<u64, Vec<usize>> = HashMap::new();
        for (place, turn) in turns.iter().enumerate() {
            numbered.entry(turn.number("turn")).or_default().push(place);
        }
        let mut of_turns: Vec<Vec<&Item>> = turns.iter().map(|_| Vec::new()).collect();
        let mut outside = Vec::new();
        for item in rest {
            let mut places = numbered.get(&item.number("turn")).into_iter().flatten();
            match places.find(|place| within(item, turns[**place])) {
                Some(place) => of_turns[*place].push(item),
                None => outside.push(item),
            }
        }
        let turns = turns.into_iter().zip(&of_turns);
        let mut nodes: Vec<Node<'_>> = turns
            .map(|(turn, items)| Node {
                began: turn.began(),
                text: turn.told(),
                what: What::Item(turn),
                below: self.things(id, items),
            })
            .collect();
        nodes.extend(self.things(id, &outside));
        nodes.sort_by_key(|node| node.began);
        nodes
    }

    /// Requests and calls, with the hooks that were asked about each.
    fn things<'a>(&'a self, session_id: &str, items: &[&'a Item]) -> Vec<Node<'a>> {
        let (spans, dispatches): (Vec<&Item>, Vec<&Item>) =
            items.iter().copied().partition(|item| item.is_span);
        let owners = Owners::among(&spans);
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
            match owners.of(item) {
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

    /// Sessions of sub-agents that began during a call.
    fn sub_agents(&self, session_id: &str, call: &Item) -> Vec<Node<'_>> {
        let sisters = self.children.get(session_id).filter(|_| call.is("tool_call"));
        let sisters = sisters.map_or(&[][..], Vec::as_slice);
        let first = sisters.partition_point(|(began, _)| began + SLACK < call.began());
        let during = sisters[first..]
            .iter()
            .take_while(|(began, _)| *began <= call.ended() + SLACK);
        during
            .map(|(began, id)| Node {
                began: *began,
                text: format!("session {id}"),
                what: What::Session(id),
                below: self.session(id),
            })
            .collect()
    }
}

/// Requests and calls, by which the owner of a dispatch is found.
struct Owners<'a> {
    calls: HashMap<&'a str, usize>,
    /// Requests with their positions, in the order in which they began.
    requests: Vec<(&'a Item, usize)>,
}

impl<'a> Owners<'a> {
    fn among(spans: &[&'a Item]) -> Self {
        let mut calls = HashMap::new();
        let mut requests = Vec::new();
        for (place, span) in spans.iter().enumerate() {
            match span.call() {
                Some(call) => drop(calls.entry(call).or_insert(place)),
                None if span.is("request") => requests.push((*span, place)),
                None => {}
            }
        }
        requests.sort_by_key(|(request, _)| request.began());
        Self { calls, requests }
    }

    /// The position of the call that a dispatch names, else of the request during which it happened.
    fn of(&self, dispatch: &Item) -> Option<usize> {
        if let Some(call) = dispatch.call() {
            return self.calls.get(call).copied();
        }
        let begun = |(request, _): &(&Item, usize)| request.began() <= dispatch.began() + SLACK;
        let begun = &self.requests[..self.requests.partition_point(begun)];
        // Requests follow one another. At the seam of two of them it is the first one's.
        let last_two = begun.iter().rev().take(2);
        let mut around = last_two.filter(|(request, _)| within(dispatch, request));
        around.next_back().map(|(_, place)| *place)
    }
}

/// Whether a record began during another.
fn within(item: &Item, whole: &Item) -> bool {
    item.began() + SLACK >= whole.began() && item.began() <= whole.ended() + SLACK
}

/// The node of a dispatch, with its hooks and the changes from one to the next.
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
            format!("{field} at the end: {}", item.json["effective"][field]),
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

/// How a hook failed, in words.
pub(crate) fn failure_words(cause: &str, detail: &str) -> String {
    let known = serde_json::from_value::<Cause>(json!(cause));
    let cause = known.map_or_else(|_| cause.replace('_', " "), |cause| cause.describe().to_owned());
    match detail {
        "" => cause,
        detail => format!("{cause}: {detail}"),
    }
}

/// A hook's run as one line; `changing` has the fields whose new values are named.
pub(crate) fn run_text(run: &Value, changing: &[String]) -> String {
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
            let text = |name: &str| failure[name].as_str().unwrap_or_default();
            format!(
                "failed{refused}: {}",
                failure_words(text("cause"), text("detail"))
            )
        }
        "denied" => verdict_of(&run["reply"]["verdict"]),
        "shadow" => shadow_words(
            effect["would"].as_str().unwrap_or_default(),
            effect["reason"].as_str(),
        ),
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
