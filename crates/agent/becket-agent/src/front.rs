//! What the agent needs of the place where the person is: a terminal, a pipe, another program.

use becket_events::{CompactReason, Delta, Message, OperationKind};
use becket_hooks::ReportedFailure;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::compact::CompactEnd;

/// The place where the person is.
pub trait Front: Send + Sync {
    /// Shows something. Never waits.
    fn show(&self, sight: Sight<'_>);

    /// Asks the person about a call. Somebody who is not there answers `Nobody`; it never hangs.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, PersonsAnswer>;
}

/// Something to be seen.
#[derive(Debug, Clone)]
pub enum Sight<'a> {
    /// The model begins to answer.
    Answer {
        /// Whether it will stay as it comes; otherwise hooks may replace it when it is complete.
        settled: bool,
    },
    /// More of the model's answer.
    Delta(&'a Delta),
    /// A message is complete.
    Message(&'a Message),
    /// A call is about to be judged.
    ToolCall {
        /// The tool, in becket's own words.
        tool_name: &'a str,
        /// Its arguments.
        arguments: &'a Map<String, Value>,
        /// The call in a few words, where the tool has some.
        summary: Option<&'a str>,
    },
    /// Hooks have changed a call's arguments.
    Changed {
        /// The tool, in becket's own words.
        tool_name: &'a str,
        /// What will run.
        arguments: &'a Map<String, Value>,
        /// That in a few words, where the tool has some.
        summary: Option<&'a str>,
    },
    /// A call does not run: it was refused, or makes no sense.
    Refused {
        /// The tool, in becket's own words.
        tool_name: &'a str,
        /// Why.
        reason: &'a str,
        /// The hooks that refused, where hooks did.
        handlers: &'a [String],
    },
    /// A tool has run.
    ToolResult {
        /// The tool, in becket's own words.
        tool_name: &'a str,
        /// What ran.
        arguments: &'a Map<String, Value>,
        /// That in a few words, where the tool has some.
        summary: Option<&'a str>,
        /// Whether other calls ran meanwhile.
        company: Company,
        /// What the model sees.
        output: &'a str,
        /// Whether it failed.
        is_error: bool,
    },
    /// A hook or becket itself tells something.
    Notice(&'a str),
    /// Something may be wrong.
    Warning(&'a str),
    /// A hook broke.
    HookFailed(&'a ReportedFailure),
    /// A request is tried again.
    Retry {
        /// Why.
        reason: &'a str,
        /// In how many milliseconds.
        delay_ms: u64,
        /// How often it is tried again at most.
        most: u32,
    },
    /// A summary of the conversation is about to be written.
    CompactionBegins {
        /// Why.
        reason: CompactReason,
    },
    /// It is there, or there is none.
    CompactionEnds {
        /// Why it was to be written.
        reason: CompactReason,
        /// What became of it.
        end: &'a CompactEnd,
        /// The first message that was kept.
        first_kept_id: Option<&'a str>,
        /// How many tokens the conversation had.
        tokens_before: u64,
    },
    /// Something that a sub-agent does.
    Within {
        /// The sub-agent.
        agent: &'a str,
        /// What is seen there.
        sight: &'a Sight<'a>,
    },
}

/// How a call ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Company {
    /// By itself: what it gives back comes right after it.
    Alone,
    /// Together with others, whose results come before or after.
    Others,
}

/// A question about a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The sub-agent that wants it, where one does.
    pub agent: Option<String>,
    /// The tool, in becket's own words.
    pub tool_name: String,
    /// What it does, where it is one of becket's operations.
    pub operation: Option<OperationKind>,
    /// The plugin or server that it comes from, where it is none of becket's own tools.
    pub source: Option<String>,
    /// Its final arguments.
    pub arguments: Map<String, Value>,
    /// Why the person is asked, where a hook wants it.
    pub reason: Option<String>,
    /// The hooks that want it.
    pub handlers: Vec<String>,
    /// Facts that hooks want to show with the question.
    pub metadata: Map<String, Value>,
    /// What a yes may cover besides this call, where it can.
    pub offer: Option<Offer>,
}

impl Question {
    pub(crate) fn offers_rule(&self) -> bool {
        self.offer.as_ref().is_some_and(|offer| offer.rule.is_some())
    }

    /// Notes why a rule that the user wanted was not stored, so that another one can be written.
    pub(crate) fn note_trouble(&mut self, trouble: String) {
        if let Some(rule) = self.offer.as_mut().and_then(|offer| offer.rule.as_mut()) {
            rule.trouble = Some(trouble);
        }
    }
}

/// What a yes may cover besides the call that is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// What is covered until the session ends, if the user says so.
    pub again: Again,
    /// The allow rule that can be stored, where there is a safe one.
    pub rule: Option<OfferedRule>,
}

/// What counts as the same call again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// The same tool with the same arguments.
    Call,
    /// The same tool on the same file or folder.
    Path,
}

/// An allow rule that the user may store for the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedRule {
    /// The rule, exactly as it would be stored.
    pub text: String,
    /// Where it would be kept.
    pub place: String,
    /// Why the one that the user wanted just now was not stored.
    pub trouble: Option<String>,
}

/// What the person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PersonsAnswer {
    /// Yes, to this call.
    Yes,
    /// Yes, to this call and to the same again until the session ends, where that was offered.
    YesAgain,
    /// Yes, and this rule is to be stored, where one was offered: the offered one, or another in its place.
    YesWithRule(String),
    /// No, with words for the model.
    No(Option<String>),
    /// The person wants everything to stop.
    Cancel,
    /// Nobody is there to ask.
    Nobody,
}
