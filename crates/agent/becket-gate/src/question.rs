//! Questions to the user about calls, what a yes may cover, and the answers.

use becket_events::OperationKind;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

/// The user, as far as the gate and hooks need one.
pub trait User: Send + Sync {
    /// Asks the user about a call. Without a user the answer is `Nobody`; it never hangs.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, UserAnswer>;

    /// Shows a message of a hook. Never blocks.
    fn notice(&self, text: &str);
}

/// A question about a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The sub-agent that makes the call, if one does.
    pub agent: Option<String>,
    /// Identifies the call, if the question is about one.
    pub tool_call_id: Option<String>,
    /// Becket's own name for the tool.
    pub tool_name: String,
    /// The operation, if the tool is one of becket's operations.
    pub operation: Option<OperationKind>,
    /// The plugin or server that the tool comes from, if it is not one of becket's own tools.
    pub source: Option<String>,
    /// The call's final arguments.
    pub arguments: Map<String, Value>,
    /// Why the user is asked, if a hook asks for it.
    pub reason: Option<String>,
    /// The hooks that ask for the user's answer.
    pub handlers: Vec<String>,
    /// Facts that hooks want to show with the question.
    pub metadata: Map<String, Value>,
    /// What a yes may cover besides this call, if it may cover more.
    pub offer: Option<Offer>,
    /// The file, folder or address that the call touches, as it was judged; a file below the working directory by its
    /// path from there.
    pub target: Option<String>,
    /// What the call would change in a file, if the tool can tell.
    pub preview: Option<Preview>,
    /// Whether the user was asked before, and the file has changed since.
    pub has_changed: bool,
}

/// What a call would change in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    /// How many lines the file gets.
    pub added: usize,
    /// How many lines the file loses; `None` if what is there now cannot be shown.
    pub removed: Option<usize>,
    /// The difference, line by line.
    pub lines: Vec<PreviewLine>,
    /// What the user should know about the difference, or why there is none.
    pub remarks: Vec<String>,
    /// The BLAKE3 hash of what is in the file now; `None` if it cannot be read.
    pub before: Option<[u8; 32]>,
}

/// A line of a preview.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewLine {
    /// What happens to the line.
    pub kind: LineKind,
    /// The line without its end, as it is in the file: it may hold anything.
    pub text: String,
}

/// What happens to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// The line is new.
    Added,
    /// The line goes away.
    Removed,
    /// The line stays.
    Kept,
    /// The text says which place of the file follows.
    Place,
}

impl Question {
    pub(crate) fn offers_rule(&self) -> bool {
        self.offer.as_ref().is_some_and(|offer| offer.rule.is_some())
    }

    /// Notes why the rule that the user wrote was not stored, so that another one can be tried.
    pub(crate) fn note_trouble(&mut self, trouble: String) {
        if let Some(rule) = self.offer.as_mut().and_then(|offer| offer.rule.as_mut()) {
            rule.trouble = Some(trouble);
        }
    }
}

/// What a yes may cover besides the call that is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// What is covered until the session ends, if the user chooses so.
    pub again: Again,
    /// The allow rule that can be stored, if there is a safe one.
    pub rule: Option<OfferedRule>,
}

/// Which later calls a yes covers until the session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// Calls of the same tool with the same arguments.
    Call,
    /// Calls of the same tool on the same file or folder.
    Path,
}

/// An allow rule that the user may store for the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedRule {
    /// The rule, exactly as it would be stored.
    pub text: String,
    /// The file in which the rule would be kept.
    pub place: String,
    /// Why the rule that the user wrote last was not stored.
    pub trouble: Option<String>,
}

impl UserAnswer {
    /// Whether the call may run.
    pub fn is_yes(&self) -> bool {
        matches!(self, Self::Yes | Self::YesAgain | Self::YesWithRule(_))
    }
}

/// The user's answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserAnswer {
    /// Yes, to this call.
    Yes,
    /// Yes, to this call and to the same again until the session ends, if that was offered.
    YesAgain,
    /// Yes, and this rule is to be stored, if one was offered: the offered one, or another in its place.
    YesWithRule(String),
    /// No, with an explanation for the model.
    No(Option<String>),
    /// The user wants everything to stop.
    Cancel,
    /// There is no user to ask.
    Nobody,
}
