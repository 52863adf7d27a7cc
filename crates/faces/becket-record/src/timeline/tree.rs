//! One session's messages and dispatches as a tree with times.
//!
//! Messages say what there was: an answer of the model's ends a request, the calls in it are the tools, their results
//! end them. Where the record has stretches of time, these say exactly when. Dispatches say when hooks were asked; one
//! belongs to the call that it names, else to whatever was going on at that moment.

use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};

use becket_agent::store::{EntryContent, StoredEntry};
use becket_events::{Message, MessageBody, ToolCall, Usage};
use becket_web::view::{Bar, Decision, Kind, Use};
use serde_json::Value;

use super::asked::{Asked, Stretch};

/// How many characters of a text are shown beside a bar.
const FEW_WORDS: usize = 160;

/// How far times may differ, in milliseconds: messages have milliseconds, dispatches microseconds.
const MOMENT: f64 = 1.0;

/// Events between two prompts: they carry the number of the turn before, and belong to no turn.
const BETWEEN: &[&str] = &["user_input", "user_prompt", "agent_end", "settled", "session_end"];

/// Events that are about a request to the model.
const ABOUT_REQUESTS: &[&str] = &[
    "tools_offered",
    "model_context",
    "pre_request",
    "response_start",
    "response_data",
    "response",
    "message_start",
    "message_update",
    "message_end",
];

/// Events that are about a tool call even if they do not name it.
const ABOUT_CALLS: &[&str] = &[
    "tool_start",
    "pre_tool",
    "pre_file_read",
    "pre_file_write",
    "pre_shell",
    "pre_fetch",
    "pre_vfs_write",
    "permission_request",
    "approval_decided",
    "tool_update",
    "pre_tool_output",
    "pre_cache",
    "post_cache",
    "post_tool_output",
    "tool_end",
    "pre_subagent",
    "post_subagent",
];

/// One session's part of the tree.
pub struct Branch {
    /// The nodes of the first level, ordered by time.
    pub nodes: Vec<Node>,
    /// The tokens of each answer.
    pub usage: Vec<Use>,
}

/// The lane of a branch, and where the branch begins.
#[derive(Debug, Clone, Copy)]
pub struct BranchStart {
    /// The lane of the branch.
    pub lane: usize,
    /// The number of the branch's first turn.
    pub turn: u64,
    /// When the turn before was answered, or the session began.
    pub after_ms: u64,
}

/// A bar and what belongs to it.
pub struct Node {
    /// The bar.
    pub bar: Bar,
    /// The nodes that belong to the bar, ordered by time.
    pub children: Vec<Node>,
    /// The source of the bar.
    pub origin: Origin,
}

/// The source of a node.
pub enum Origin {
    /// A message.
    Message(Message),
    /// All messages of a turn.
    Turn(Vec<Message>),
    /// The answer to a request, and the id of its entry.
    Request(Message, String),
    /// A call, its result, and the facts that the agent recorded.
    Tool(ToolCall, Option<Message>, Value),
    /// Facts about a request that led to no answer in the conversation.
    Unanswered(Value),
    /// Facts about a call that no answer in the conversation asked for.
    Inner(Value),
    /// A dispatch of the store.
    Hook,
}

/// The messages of one turn.
#[derive(Default)]
struct Turn {
    before: Vec<(StoredEntry, Message)>,
    answer: Option<(StoredEntry, Message)>,
    results: Vec<(StoredEntry, Message)>,
}

/// The state while a branch is built.
struct Grower<'a> {
    lane: usize,
    asked: &'a [Asked],
    /// Whether each dispatch has been assigned.
    placed: Vec<bool>,
    /// Spans of each kind, in the order in which they began; `None` for one that has been assigned.
    stretches: HashMap<String, Vec<(f64, Option<Stretch>)>>,
}

impl Branch {
    /// Builds the branch of a session from its entries and records, from a turn on.
    pub fn grow(
        BranchStart { lane, turn, after_ms }: BranchStart,
        entries: Vec<StoredEntry>,
        mut asked: Vec<Asked>,
        stretches: Vec<Stretch>,
    ) -> Self {
        asked.sort_by(|one, other| one.start_ms().total_cmp(&other.start_ms()));
        let turns = Turn::split(entries);
        let usage = turns.iter().filter_map(|turn| turn.usage(lane)).collect();
        let mut grower = Grower {
            lane,
            asked: &asked,
            placed: vec![false; asked.len()],
            stretches: by_kind(stretches),
        };
        let mut nodes = Vec::new();
        let mut before = after_ms as f64;
        let openings: Vec<f64> = turns.iter().map(Turn::first_ms).collect();
        for ((index, made), number) in turns.into_iter().enumerate().zip(turn..) {
            let next = openings.get(index + 1).copied().unwrap_or(f64::INFINITY);
            let node = grower.turn(number, made, before, next);
            before = node.end_ms();
            nodes.push(node);
        }
        nodes.extend(grower.unanswered(0, f64::MIN..=f64::MAX));
        nodes.extend(grower.inner_calls(0, f64::MIN..=f64::MAX));
        nodes.extend(grower.hooks(0, f64::MIN..=f64::MAX, |_| true));
        sort(&mut nodes);
        Self { nodes, usage }
    }

    /// Adds the bars of the tree to a list: each bar is followed by those that belong to it.
    pub fn flatten(self, bars: &mut Vec<Bar>) {
        fn walk(nodes: Vec<Node>, bars: &mut Vec<Bar>) {
            for node in nodes {
                bars.push(node.bar);
                walk(node.children, bars);
            }
        }
        walk(self.nodes, bars);
    }

    /// The node of a bar.
    pub fn find(&self, bar_id: &str) -> Option<&Node> {
        fn search<'a>(nodes: &'a [Node], bar_id: &str) -> Option<&'a Node> {
            nodes.iter().find_map(|node| match node.bar.id == bar_id {
                true => Some(node),
                false => search(&node.children, bar_id),
            })
        }
        search(&self.nodes, bar_id)
    }
}

impl Node {
    fn end_ms(&self) -> f64 {
        self.bar.start_ms + self.bar.duration_ms
    }

    /// The worst decision among the nodes that belong to this one.
    fn worst(&self) -> Option<Decision> {
        self.children.iter().filter_map(|child| child.bar.decision).max()
    }

    /// Extends the bar over everything that belongs to it.
    fn embrace(&mut self) {
        let end = self
            .children
            .iter()
            .map(Node::end_ms)
            .fold(self.end_ms(), f64::max);
        let starts = self.children.iter().map(|child| child.bar.start_ms);
        self.bar.start_ms = starts.fold(self.bar.start_ms, f64::min);
        self.bar.duration_ms = end - self.bar.start_ms;
    }
}

impl Turn {
    /// Splits entries into turns: a turn ends where the next message from outside or the next answer begins.
    fn split(entries: Vec<StoredEntry>) -> Vec<Self> {
        let mut turns: Vec<Self> = Vec::new();
        for entry in entries {
            let EntryContent::Message { message } = &entry.content else {
                continue;
            };
            let message = message.clone();
            let is_result = matches!(message.body(), MessageBody::Tool { .. });
            if !is_result && turns.last().is_none_or(|turn| turn.answer.is_some()) {
                turns.push(Self::default());
            }
            let Some(turn) = turns.last_mut() else {
                continue;
            };
            match message.body() {
                MessageBody::User { .. } | MessageBody::Note { .. } => turn.before.push((entry, message)),
                MessageBody::Assistant { .. } => turn.answer = Some((entry, message)),
                MessageBody::Tool { .. } => turn.results.push((entry, message)),
            }
        }
        turns
    }

    fn entries(&self) -> impl Iterator<Item = &(StoredEntry, Message)> {
        self.before.iter().chain(&self.answer).chain(&self.results)
    }

    fn first_ms(&self) -> f64 {
        self.entries()
            .next()
            .map_or(0.0, |(entry, _)| entry.time_ms as f64)
    }

    fn last_ms(&self) -> f64 {
        let times = self.entries().map(|(entry, _)| entry.time_ms as f64);
        times.fold(0.0, f64::max)
    }

    fn usage(&self, lane: usize) -> Option<Use> {
        let (entry, message) = self.answer.as_ref()?;
        let MessageBody::Assistant { usage, .. } = message.body() else {
            return None;
        };
        Some(Use {
            lane,
            time_ms: entry.time_ms as f64,
            input: usage.input_tokens,
            cached: usage.cache_read_tokens,
            output: usage.output_tokens,
            cost: usage.cost,
        })
    }
}

impl Grower<'_> {
    /// The node of a turn. `before` is when the last one ended, `next` when the message of the next one came.
    fn turn(&mut self, number: u64, turn: Turn, before: f64, next: f64) -> Node {
        let at = turn
            .answer
            .as_ref()
            .map_or_else(|| turn.last_ms(), |(entry, _)| entry.time_ms as f64);
        let timed = self.take("turn", before - MOMENT..=at + MOMENT, |timed| {
            timed.end_ms() >= at - MOMENT
        });
        // A stretch is exact: what began a moment later belongs to the next turn.
        let (start, end, slack) = match timed {
            Some(timed) => (
                turn.first_ms().min(timed.start_ms()),
                turn.last_ms().max(timed.end_ms()),
                0.0,
            ),
            None => {
                let (start, end) = self.span(&turn, before, next);
                (start, end, MOMENT)
            }
        };
        let first_id = turn.entries().next().map_or("", |(entry, _)| &entry.id);
        let said = turn.before.iter().chain(&turn.answer);
        let words = said
            .map(|(_, message)| message.text())
            .find(|text| !text.is_empty());
        let mut node = Node {
            bar: Bar {
                id: format!("t:{first_id}"),
                duration_ms: end - start,
                words: few(&words.unwrap_or_default()),
                ..self.bar(0, Kind::Turn, format!("turn {number}"), start)
            },
            children: Vec::new(),
            origin: Origin::Turn(turn.entries().map(|(_, message)| message.clone()).collect()),
        };
        for (entry, message) in &turn.before {
            node.children.push(self.message(entry, message));
        }
        if let Some((entry, message)) = &turn.answer {
            node.children
                .extend(self.calls(entry, message, &turn.results, end));
            let after_words = turn
                .before
                .last()
                .map_or(start, |(entry, _)| entry.time_ms as f64);
            node.children
                .push(self.request(entry, message, start, after_words.max(start)));
        }
        node.children.extend(self.unanswered(1, start..=end + slack));
        node.children.extend(self.inner_calls(1, start..=end + slack));
        node.children.extend(self.hooks(1, start..=end + slack, |_| true));
        sort(&mut node.children);
        node.embrace();
        node.bar.decision = node.worst();
        node
    }

    /// When a turn began and ended, by its messages and by the hooks that have its number.
    fn span(&self, turn: &Turn, before: f64, next: f64) -> (f64, f64) {
        let (first, last) = (turn.first_ms(), turn.last_ms());
        let around = &self.asked[self.within(&(before..=next))];
        let inside = |asked: &&Asked| asked.turn > 0 && !BETWEEN.contains(&asked.event.as_str());
        let mut start = if turn.before.is_empty() {
            before.min(first)
        } else {
            first
        };
        let mut end = last;
        let earlier = around.iter().filter(|asked| asked.start_ms() <= last + MOMENT);
        let number = earlier.filter(inside).map(|asked| asked.turn).max();
        let of_turn = around.iter().filter(inside);
        for asked in of_turn.filter(|asked| Some(asked.turn) == number) {
            start = start.min(asked.start_ms());
            end = end.max(asked.end_ms());
        }
        (start, end)
    }

    fn message(&self, entry: &StoredEntry, message: &Message) -> Node {
        let label = match message.body() {
            MessageBody::Note { kind, .. } => format!("note: {kind}"),
            _ => "prompt".to_owned(),
        };
        Node {
            bar: Bar {
                id: format!("m:{}", entry.id),
                words: few(&message.text()),
                ..self.bar(1, Kind::Message, label, entry.time_ms as f64)
            },
            children: Vec::new(),
            origin: Origin::Message(message.clone()),
        }
    }

    /// The request that led to an answer: the last one that began in the turn before the answer was complete. Without a
    /// recorded span it lasts from the last message, or from its first hook.
    fn request(&mut self, entry: &StoredEntry, message: &Message, turn_start: f64, after_words: f64) -> Node {
        let end = entry.time_ms as f64;
        let timed = self.take("request", turn_start - MOMENT..=end + MOMENT, |_| true);
        let start = timed.map_or(after_words, |timed| timed.start_ms());
        let (model, words) = match message.body() {
            MessageBody::Assistant { model, usage, .. } => (model.clone(), used(usage)),
            _ => Default::default(),
        };
        let hooks = self.hooks(2, after_words..=end + MOMENT, |asked| {
            asked.tool_call_id.is_none() && ABOUT_REQUESTS.contains(&asked.event.as_str())
        });
        let mut node = Node {
            bar: Bar {
                id: format!("r:{}", entry.id),
                duration_ms: (end - start).max(0.0),
                words,
                ..self.bar(1, Kind::Request, model, start)
            },
            children: hooks,
            origin: Origin::Request(message.clone(), entry.id.clone()),
        };
        sort(&mut node.children);
        node.embrace();
        node.bar.decision = node.worst();
        node
    }

    /// The tools that an answer asked for.
    fn calls(
        &mut self,
        entry: &StoredEntry,
        answer: &Message,
        results: &[(StoredEntry, Message)],
        turn_end: f64,
    ) -> Vec<Node> {
        let MessageBody::Assistant { tool_calls, .. } = answer.body() else {
            return Vec::new();
        };
        let span = entry.time_ms as f64..=turn_end + MOMENT;
        let mut nodes = Vec::new();
        for (index, call) in tool_calls.iter().enumerate() {
            let mut results = results.iter().map(|(_, message)| message);
            let result = results.find(|message| answers(message, call));
            let mut node = self.call(call, result, span.clone());
            node.bar.id = format!("c:{}:{index}", entry.id);
            nodes.push(node);
        }
        nodes
    }

    /// One call, which began and ended within a span of time.
    fn call(&mut self, call: &ToolCall, result: Option<&Message>, span: RangeInclusive<f64>) -> Node {
        let answered = *span.start();
        let is_same = |timed: &Stretch| timed.tool_call_id.as_deref() == Some(&call.id);
        let timed = self.take("tool_call", answered - MOMENT..=*span.end(), is_same);
        let end = result.map_or(answered, |result| result.record().time_ms as f64);
        let end = timed.as_ref().map_or(end, Stretch::end_ms);
        let mut children = self.hooks(2, span, |asked| match &asked.tool_call_id {
            Some(id) => *id == call.id,
            None => ABOUT_CALLS.contains(&asked.event.as_str()) && asked.start_ms() <= end + MOMENT,
        });
        sort(&mut children);
        // Calls are judged one after another; the first hook that was asked says when its turn came.
        let first = children.first().map_or(answered, |child| child.bar.start_ms);
        let start = timed.as_ref().map_or(first, Stretch::start_ms);
        let noted = timed.map_or(Value::Null, |timed| timed.facts);
        let mut node = Node {
            bar: Bar {
                duration_ms: (end - start).max(0.0),
                words: few(&call.arguments),
                ..self.bar(1, Kind::Tool, call.name.clone(), start)
            },
            children,
            origin: Origin::Hook,
        };
        node.embrace();
        node.bar.decision = match noted["refused"].is_string() {
            true => Some(Decision::Denied),
            false => outcome(&node, result),
        };
        node.origin = Origin::Tool(call.clone(), result.cloned(), noted);
        node
    }

    /// Takes the last span of a kind that began within a range of time.
    fn take(
        &mut self,
        kind: &str,
        span: RangeInclusive<f64>,
        fits: impl Fn(&Stretch) -> bool,
    ) -> Option<Stretch> {
        let is_it = |stretch: &Option<Stretch>| stretch.as_ref().is_some_and(&fits);
        let mut begun = self.begun(kind, &span).iter_mut().rev();
        begun.find(|(_, stretch)| is_it(stretch))?.1.take()
    }

    /// The spans of a kind that began within a range of time.
    fn begun(&mut self, kind: &str, span: &RangeInclusive<f64>) -> &mut [(f64, Option<Stretch>)] {
        let Some(all) = self.stretches.get_mut(kind) else {
            return &mut [];
        };
        let first = all.partition_point(|(start, _)| start < span.start());
        let end = all.partition_point(|(start, _)| start <= span.end());
        &mut all[first..end.max(first)]
    }

    /// Requests without an answer in the conversation: those that failed, and those for summaries.
    fn unanswered(&mut self, depth: u8, span: RangeInclusive<f64>) -> Vec<Node> {
        let left = self.begun("request", &span).iter_mut();
        let left: Vec<Stretch> = left.filter_map(|(_, stretch)| stretch.take()).collect();
        let mut nodes = Vec::new();
        for stretch in left {
            let (trouble, purpose) = (stretch.trouble(), stretch.facts["purpose"].as_str());
            let bar = Bar {
                id: format!("u:{}", stretch.time_us),
                duration_ms: stretch.end_ms() - stretch.start_ms(),
                decision: trouble.as_ref().map(|_| Decision::Failed),
                words: few(trouble.as_deref().or(purpose).unwrap_or_default()),
                ..self.bar(depth, Kind::Request, stretch.name.clone(), stretch.start_ms())
            };
            nodes.push(Node {
                bar,
                children: Vec::new(),
                origin: Origin::Unanswered(stretch.facts),
            });
        }
        nodes
    }

    /// Calls that no answer in the conversation asked for: a program, a hook or another tool made them.
    fn inner_calls(&mut self, depth: u8, span: RangeInclusive<f64>) -> Vec<Node> {
        let left = self.begun("tool_call", &span).iter_mut();
        let left: Vec<Stretch> = left.filter_map(|(_, stretch)| stretch.take()).collect();
        let mut nodes = Vec::new();
        for stretch in left {
            let children = self.hooks(depth + 1, f64::MIN..=f64::MAX, |asked| {
                asked.tool_call_id.is_some() && asked.tool_call_id == stretch.tool_call_id
            });
            let facts = &stretch.facts;
            let decision = match (facts["refused"].is_string(), facts["is_error"] == true) {
                (true, _) => Decision::Denied,
                (false, true) => Decision::Failed,
                _ => Decision::Allowed,
            };
            let bar = Bar {
                id: format!("i:{}", stretch.time_us),
                duration_ms: stretch.end_ms() - stretch.start_ms(),
                decision: Some(decision),
                words: few(&facts["arguments"].to_string()),
                ..self.bar(depth, Kind::Tool, stretch.name.clone(), stretch.start_ms())
            };
            nodes.push(Node {
                bar,
                children,
                origin: Origin::Inner(stretch.facts),
            });
        }
        nodes
    }

    /// The positions of the dispatches within a range of time.
    fn within(&self, span: &RangeInclusive<f64>) -> Range<usize> {
        let first = self
            .asked
            .partition_point(|asked| asked.start_ms() < *span.start());
        let end = self
            .asked
            .partition_point(|asked| asked.start_ms() <= *span.end());
        first..end.max(first)
    }

    /// The hooks of all dispatches within a range of time that are not assigned yet and belong here.
    fn hooks(&mut self, depth: u8, span: RangeInclusive<f64>, belongs: impl Fn(&Asked) -> bool) -> Vec<Node> {
        let mut nodes = Vec::new();
        for index in self.within(&span) {
            let asked = &self.asked[index];
            if self.placed[index] || !belongs(asked) {
                continue;
            }
            self.placed[index] = true;
            let starts = asked.starts_ms();
            for (run_index, (run, start)) in asked.runs.iter().zip(starts).enumerate() {
                let bar = Bar {
                    id: format!("h:{}:{run_index}", asked.seq),
                    duration_ms: run.duration_us as f64 / 1e3,
                    decision: Some(run.decision()),
                    words: few(&run.reason().unwrap_or_default()),
                    event: Some(asked.event.clone()),
                    ..self.bar(depth, Kind::Hook, run.handler.clone(), start)
                };
                nodes.push(Node {
                    bar,
                    children: Vec::new(),
                    origin: Origin::Hook,
                });
            }
        }
        nodes
    }

    /// A bar without a length or a decision.
    fn bar(&self, depth: u8, kind: Kind, label: String, start_ms: f64) -> Bar {
        Bar {
            id: String::new(),
            lane: self.lane,
            depth,
            kind,
            label,
            words: String::new(),
            start_ms,
            duration_ms: 0.0,
            decision: None,
            event: None,
        }
    }
}

fn by_kind(stretches: Vec<Stretch>) -> HashMap<String, Vec<(f64, Option<Stretch>)>> {
    let mut kinds: HashMap<String, Vec<(f64, Option<Stretch>)>> = HashMap::new();
    for stretch in stretches {
        let kind = kinds.entry(stretch.kind.clone()).or_default();
        kind.push((stretch.start_ms(), Some(stretch)));
    }
    for kind in kinds.values_mut() {
        kind.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    }
    kinds
}

/// The decision about a call: what its hooks did, and whether the call itself failed.
fn outcome(node: &Node, result: Option<&Message>) -> Option<Decision> {
    let is_error = matches!(result?.body(), MessageBody::Tool { is_error: true, .. });
    let refused = node
        .children
        .iter()
        .any(|child| child.bar.decision == Some(Decision::Denied));
    Some(match (is_error, node.worst()) {
        (true, _) if refused => Decision::Denied,
        (true, _) => Decision::Failed,
        (_, Some(Decision::Rewritten)) => Decision::Rewritten,
        _ => Decision::Allowed,
    })
}

fn answers(message: &Message, call: &ToolCall) -> bool {
    matches!(message.body(), MessageBody::Tool { tool_call_id, .. } if *tool_call_id == call.id)
}

fn used(usage: &Usage) -> String {
    match (usage.input_tokens, usage.output_tokens) {
        (0, 0) => String::new(),
        (input, output) => format!("{input} tokens in, {output} out"),
    }
}

/// The beginning of a text, in one line.
pub(super) fn few(text: &str) -> String {
    let mut words: String = text
        .chars()
        .take(FEW_WORDS)
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    if text.chars().nth(FEW_WORDS).is_some() {
        words.push('…');
    }
    words
}

fn sort(nodes: &mut [Node]) {
    nodes.sort_by(|one, other| one.bar.start_ms.total_cmp(&other.bar.start_ms));
}
