//! The types in which the record is shown. The page reads exactly these, as JSON.

use serde::Serialize;

/// A session in the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionLine {
    /// Identifies the session.
    pub id: String,
    /// The session that started this one as a sub-agent.
    pub parent_id: Option<String>,
    /// The context that the session ran in.
    pub context: String,
    /// The name of the session's conversation.
    pub name: Option<String>,
    /// The name, else the first prompt in one line, else the context.
    pub title: String,
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
    pub entries: u64,
    /// The decisions of the hooks of the session and its sub-agents.
    pub tally: Tally,
    /// What else happened in the session and its sub-agents.
    pub counts: Counts,
    /// What the answers in the session and its sub-agents used together.
    pub used: Used,
}

/// How much happened in a session and its sub-agents, as the record has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Turns.
    pub turns: u64,
    /// Requests to a model.
    pub requests: u64,
    /// Tool calls.
    pub calls: u64,
    /// Hooks that were asked.
    pub hook_runs: u64,
    /// Calls that were refused, by whomever, and other events that a hook refused.
    pub refused: u64,
    /// Hooks, calls and requests that failed.
    pub failed: u64,
}

/// What several answers used together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Used {
    /// Tokens sent, including those from a cache.
    pub input: u64,
    /// Tokens of the input that were read from a cache.
    pub cached: u64,
    /// Tokens received.
    pub output: u64,
    /// The price in US dollars, as far as it is known.
    pub cost: Option<f64>,
}

/// A hook on one event, over all sessions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HookLine {
    /// The hook's name.
    pub hook: String,
    /// The event that the hook is asked about.
    pub event: String,
    /// Where the hook is configured.
    pub source: String,
    /// How often the hook was asked.
    pub runs: u64,
    /// The decisions of these runs; those skipped are no runs.
    pub tally: Tally,
    /// The failures because of which something was refused.
    pub unevaluated: u64,
    /// Half of the runs took no longer, in microseconds; to two digits.
    pub p50_us: u64,
    /// Nineteen of twenty runs took no longer, in microseconds; to two digits.
    pub p95_us: u64,
    /// How long all runs took together, in microseconds.
    pub total_us: u64,
    /// In how many sessions the hook was wanted.
    pub sessions: u64,
    /// The hour in which the hook was wanted last, in milliseconds since 1970.
    pub last_ms: u64,
    /// The session in which the hook was wanted last.
    pub last_session: String,
}

/// A form in which a session can be saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExportForm {
    /// Names the form in an address.
    pub form: String,
    /// What the form is for.
    pub about: String,
    /// The end of the file's name.
    pub suffix: String,
}

/// What was said in a session, from a turn on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Transcript {
    /// The first turn of the transcript; a session's first turn has the number 1.
    pub first_turn: u64,
    /// How many turns the session has, without one that waits for its answer.
    pub turn_count: u64,
    /// The messages, oldest first.
    pub messages: Vec<TranscriptLine>,
}

/// A message of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TranscriptLine {
    /// The bar of the message.
    pub bar: Option<String>,
    /// When the message was written, in milliseconds since 1970.
    pub time_ms: u64,
    /// Who spoke: `user`, `model`, `tool …`, `note …` or `summary`.
    pub role: String,
    /// The text of the message.
    pub text: String,
    /// Whether the message is the result of a call that failed or was refused.
    pub is_error: bool,
    /// The calls that the model asked for.
    pub calls: Vec<TranscriptCall>,
}

/// A tool call of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TranscriptCall {
    /// The bar of the call.
    pub bar: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments, as the model wrote them.
    pub arguments: String,
}

/// How often each decision was taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Hook runs that changed nothing.
    pub allowed: u64,
    /// Hook runs that changed something.
    pub rewritten: u64,
    /// Hook runs that refused.
    pub denied: u64,
    /// Hook runs that failed.
    pub failed: u64,
    /// Hooks that were not asked, because an earlier one had decided.
    pub skipped: u64,
}

impl Tally {
    /// How many hooks were asked.
    pub fn runs(&self) -> u64 {
        self.allowed + self.rewritten + self.denied + self.failed
    }

    /// Counts so many more of a decision.
    pub fn add(&mut self, decision: Decision, count: u64) {
        *match decision {
            Decision::Allowed => &mut self.allowed,
            Decision::Rewritten => &mut self.rewritten,
            Decision::Denied => &mut self.denied,
            Decision::Failed => &mut self.failed,
            Decision::Skipped => &mut self.skipped,
        } += count;
    }
}

/// The decision about a call or an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The hook was not asked, because an earlier one had decided.
    Skipped,
    /// Allowed without a change.
    Allowed,
    /// Allowed with a change.
    Rewritten,
    /// The hook failed.
    Failed,
    /// Refused.
    Denied,
}

/// A session with those of its sub-agents.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timeline {
    /// The session that was asked for.
    pub session: SessionLine,
    /// The first turn in the timeline, which has all later ones; a session's first turn has the number 1.
    pub first_turn: u64,
    /// How many turns the session has, without one that waits for its answer.
    pub turn_count: u64,
    /// The session itself, then its sub-agents in the order in which they began.
    pub lanes: Vec<AgentLane>,
    /// The bars, lane by lane; a part of another bar follows it, one step deeper.
    pub bars: Vec<Bar>,
    /// The tokens of each answer, in the order of the answers.
    pub usage: Vec<Use>,
}

/// An agent's part of a timeline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentLane {
    /// The session of the agent.
    pub session_id: String,
    /// The lane of the agent that started this one.
    pub parent: Option<usize>,
    /// The lane's label.
    pub label: String,
    /// The agent's model, as `provider/name`.
    pub model: String,
}

/// Something that took time, as a bar of the timeline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bar {
    /// Identifies the bar in its timeline; it stays the same while the timeline grows.
    pub id: String,
    /// The lane of the bar.
    pub lane: usize,
    /// How deep the bar is: a part of another bar is one step deeper.
    pub depth: u8,
    /// The kind of bar.
    pub kind: Kind,
    /// The bar's label.
    pub label: String,
    /// A short text: the prompt, the arguments, the reason.
    pub words: String,
    /// When the bar begins, in milliseconds since 1970.
    pub start_ms: f64,
    /// The length of the bar, in milliseconds.
    pub duration_ms: f64,
    /// The decision, if there was one.
    pub decision: Option<Decision>,
    /// The event that a hook answered.
    pub event: Option<String>,
}

/// The kinds of bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A message from outside: a prompt, a note.
    Message,
    /// A request with its tool calls.
    Turn,
    /// A request to the model, until its answer was complete.
    Request,
    /// A tool call.
    Tool,
    /// A hook that was asked.
    Hook,
}

/// The tokens of one answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Use {
    /// The lane of the answer.
    pub lane: usize,
    /// When the answer was complete, in milliseconds since 1970.
    pub time_ms: f64,
    /// Tokens sent, including those from a cache.
    pub input: u64,
    /// Tokens of the input that were read from a cache.
    pub cached: u64,
    /// Tokens received.
    pub output: u64,
    /// The price in US dollars, if it is known.
    pub cost: Option<f64>,
}

/// Everything about one bar.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Details {
    /// The title of the bar.
    pub title: String,
    /// The decision, if there was one.
    pub decision: Option<Decision>,
    /// The reason of the decision, if one was given.
    pub reason: Option<String>,
    /// Short facts: a name and a value each.
    pub facts: Vec<(String, String)>,
    /// Longer texts.
    pub sections: Vec<Section>,
}

/// A longer text of a bar.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Section {
    /// The title of the section.
    pub title: String,
    /// The content of the section.
    #[serde(flatten)]
    pub body: Body,
}

/// The content of a section.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    /// A text as it is.
    Text {
        /// The text.
        text: String,
    },
    /// A difference between two texts.
    Difference {
        /// The lines of the difference.
        lines: Vec<Line>,
    },
    /// A conversation.
    Messages {
        /// The messages of the conversation.
        messages: Vec<Spoken>,
    },
}

/// A line of a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// `+` for an added line, `-` for a removed one, a space for an unchanged one.
    pub sign: char,
    /// The text of the line.
    pub text: String,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Spoken {
    /// The role of the speaker.
    pub role: String,
    /// The text of the message.
    pub text: String,
}
