//! The shapes in which the record is shown. The page reads exactly these, as JSON.

use serde::Serialize;

/// A session in the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionLine {
    /// Identifies the session.
    pub id: String,
    /// The session that started this one as a sub-agent.
    pub parent_id: Option<String>,
    /// The context it ran in.
    pub context: String,
    /// The name that its conversation was given.
    pub name: Option<String>,
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
    pub entries: u64,
    /// What came of its hooks.
    pub tally: Tally,
}

/// How often each decision was taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Hook runs that let it pass.
    pub allowed: u64,
    /// Hook runs that changed something.
    pub rewritten: u64,
    /// Hook runs that refused.
    pub denied: u64,
    /// Hook runs that broke.
    pub failed: u64,
    /// Hooks that an earlier one made needless.
    pub skipped: u64,
}

impl Tally {
    /// Counts one more.
    pub fn add(&mut self, decision: Decision) {
        *match decision {
            Decision::Allowed => &mut self.allowed,
            Decision::Rewritten => &mut self.rewritten,
            Decision::Denied => &mut self.denied,
            Decision::Failed => &mut self.failed,
            Decision::Skipped => &mut self.skipped,
        } += 1;
    }
}

/// What came of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It was not asked, because an earlier one had settled the matter.
    Skipped,
    /// It went ahead as it was.
    Allowed,
    /// It went ahead, and something was changed.
    Rewritten,
    /// It broke.
    Failed,
    /// It did not happen.
    Denied,
}

/// One session with those of its sub-agents.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timeline {
    /// The session that was asked for.
    pub session: SessionLine,
    /// The first of its turns that is in the timeline, which has all later ones; the first of all has the number 1.
    pub first_turn: u64,
    /// How many turns the session has, without one that waits for its answer.
    pub turn_count: u64,
    /// The session itself, then its sub-agents in the order in which they began.
    pub lanes: Vec<Lane>,
    /// Lane by lane; what belongs to something follows it, one step deeper.
    pub bars: Vec<Bar>,
    /// What each answer used, in the order in which they came.
    pub usage: Vec<Use>,
}

/// One agent's part of a timeline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lane {
    /// Its session.
    pub session_id: String,
    /// The lane of the agent that started it.
    pub parent: Option<usize>,
    /// What it is called.
    pub label: String,
    /// Its model, as `provider/name`.
    pub model: String,
}

/// Something that took time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bar {
    /// Identifies the bar in its timeline; it stays the same while the timeline grows.
    pub id: String,
    /// The lane it is in.
    pub lane: usize,
    /// How deep it stands: what belongs to something is one step deeper.
    pub depth: u8,
    /// What it is.
    pub kind: Kind,
    /// What it is called.
    pub label: String,
    /// A few words more: the prompt, the arguments, the reason.
    pub words: String,
    /// When it began, in milliseconds since 1970.
    pub start_ms: f64,
    /// How long it took, in milliseconds.
    pub duration_ms: f64,
    /// What came of it.
    pub decision: Option<Decision>,
    /// The event that a hook answered.
    pub event: Option<String>,
}

/// What a bar stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Words that came from outside: a prompt, a note.
    Message,
    /// One request with the tools that it asked for.
    Turn,
    /// A request to the model, until its answer was there.
    Request,
    /// A tool call.
    Tool,
    /// One hook that was asked.
    Hook,
}

/// What one answer used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Use {
    /// The lane.
    pub lane: usize,
    /// When the answer was there, in milliseconds since 1970.
    pub time_ms: f64,
    /// Tokens sent, those from a cache included.
    pub input: u64,
    /// Tokens of the input that were read from a cache.
    pub cached: u64,
    /// Tokens received.
    pub output: u64,
    /// The price in US dollars, where it is known.
    pub cost: Option<f64>,
}

/// Everything about one bar.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Details {
    /// What it is about.
    pub title: String,
    /// What came of it.
    pub decision: Option<Decision>,
    /// Why, where somebody said so.
    pub reason: Option<String>,
    /// Short facts: a name and a value each.
    pub facts: Vec<(String, String)>,
    /// Longer texts.
    pub sections: Vec<Section>,
}

/// A longer text of a bar.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Section {
    /// What it is.
    pub title: String,
    /// Its lines; a difference has a sign before each.
    #[serde(flatten)]
    pub body: Body,
}

/// How a longer text is to be read.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    /// As it is.
    Text {
        /// The text.
        text: String,
    },
    /// What was changed.
    Difference {
        /// The lines, each with what became of it.
        lines: Vec<Line>,
    },
    /// A conversation.
    Messages {
        /// Who says what.
        messages: Vec<Spoken>,
    },
}

/// A line of a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// `+` for a line that was added, `-` for one that was taken away, a space for one that stayed.
    pub sign: char,
    /// The line.
    pub text: String,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Spoken {
    /// Who speaks.
    pub role: String,
    /// What is said.
    pub text: String,
}
