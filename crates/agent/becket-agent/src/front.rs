//! What the agent needs of the front end, where the user is: a terminal, a pipe, another program.

use std::sync::Arc;

use becket_events::{CompactReason, Delta, Message, OperationKind};
use becket_gate::question::User;
use becket_hooks::ReportedFailure;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::endings::CompactEnd;

pub use becket_gate::question::{
    Again, LineKind, Offer, OfferedRule, Preview, PreviewLine, Question, UserAnswer,
};

/// The front end: where the user sees the session and answers questions.
pub trait Front: Send + Sync {
    /// Shows something. Never blocks.
    fn show(&self, update: FrontUpdate<'_>);

    /// Asks the user about a call. Without a user the answer is `Nobody`; it never hangs.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, UserAnswer>;

    /// Whether the front shows what a call changes in a file even if nobody is asked about it.
    fn wants_previews(&self) -> bool {
        false
    }

    /// Called when a prompt is answered and nothing is left to do.
    fn settled(&self) {}
}

/// Something for the front end to show.
#[derive(Debug, Clone)]
pub enum FrontUpdate<'a> {
    /// The model begins to answer.
    Answer {
        /// Whether the answer is final as it streams; otherwise hooks may replace it when it is complete.
        settled: bool,
    },
    /// More of the model's answer.
    Delta(&'a Delta),
    /// A message is complete.
    Message(&'a Message),
    /// A call is about to be judged.
    ToolCall {
        /// Identifies the call.
        tool_call_id: &'a str,
        /// Becket's own name for the tool.
        tool_name: &'a str,
        /// The operation, if the tool is one of becket's operations.
        operation: Option<OperationKind>,
        /// The call's arguments.
        arguments: &'a Map<String, Value>,
        /// The call in a few words, if the tool provides them.
        summary: Option<&'a str>,
    },
    /// Hooks have changed a call's arguments.
    Changed {
        /// Identifies the call.
        tool_call_id: &'a str,
        /// Becket's own name for the tool.
        tool_name: &'a str,
        /// The arguments that will run.
        arguments: &'a Map<String, Value>,
        /// The changed call in a few words, if the tool provides them.
        summary: Option<&'a str>,
    },
    /// A call was allowed, and is about to run.
    Permitted {
        /// Identifies the call.
        tool_call_id: &'a str,
        /// What the call is about to change in a file, for a front that wants previews.
        preview: Option<&'a Preview>,
    },
    /// A call does not run: it was refused, or is malformed.
    Refused {
        /// Identifies the call.
        tool_call_id: &'a str,
        /// Becket's own name for the tool.
        tool_name: &'a str,
        /// Why the call does not run.
        reason: &'a str,
        /// The hooks that refused, if hooks did.
        handlers: &'a [String],
    },
    /// More output of a tool that runs, while no hook has to see the output first.
    ToolOutput {
        /// Identifies the call.
        tool_call_id: &'a str,
        /// What was added.
        text: &'a str,
    },
    /// A tool has ended, so there is no more output of it.
    ToolEnded {
        /// Identifies the call.
        tool_call_id: &'a str,
    },
    /// A tool has run.
    ToolResult {
        /// Identifies the call.
        tool_call_id: &'a str,
        /// Becket's own name for the tool.
        tool_name: &'a str,
        /// The arguments that ran.
        arguments: &'a Map<String, Value>,
        /// The call in a few words, if the tool provides them.
        summary: Option<&'a str>,
        /// Whether other calls ran at the same time.
        concurrency: Concurrency,
        /// The output that the model sees.
        output: &'a str,
        /// Whether the call failed.
        is_error: bool,
    },
    /// A message from a hook or from becket itself.
    Notice(&'a str),
    /// A warning from a hook or from becket itself.
    Warning(&'a str),
    /// A hook failed.
    HookFailed(&'a ReportedFailure),
    /// A request is tried again.
    Retry {
        /// Why the request is tried again.
        reason: &'a str,
        /// The wait before the next try, in milliseconds.
        delay_ms: u64,
        /// How often the request is tried again at most.
        most: u32,
    },
    /// What was shown of the answer broke off. It is asked for again, and the next answer replaces it.
    Replaced,
    /// The provider has taken a request and is silent.
    Silent {
        /// The provider's name.
        provider: &'a str,
        /// For how many seconds it has been silent.
        seconds: u64,
        /// After how many seconds of silence the request is given up.
        limit: u64,
        /// Whether the provider has begun to answer.
        has_begun: bool,
    },
    /// How far something is for which the run waits.
    Progress {
        /// What is counted.
        what: &'a str,
        /// How many are done.
        done: u64,
        /// How many there are; 0 when nothing is waited for any more.
        total: u64,
    },
    /// A summary of the conversation is about to be written.
    CompactionBegins {
        /// Why the summary is written.
        reason: CompactReason,
    },
    /// The summary of the conversation is written, or there is none.
    CompactionEnds {
        /// Why the summary was to be written.
        reason: CompactReason,
        /// How the compaction ended.
        end: &'a CompactEnd,
        /// The first message that was kept.
        first_kept_id: Option<&'a str>,
        /// How many tokens the conversation had before.
        tokens_before: u64,
    },
    /// Something that a sub-agent does.
    Within {
        /// The sub-agent's name.
        agent: &'a str,
        /// What the sub-agent would show.
        update: &'a FrontUpdate<'a>,
    },
}

/// Whether a call ran alone or together with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concurrency {
    /// Alone: its result comes right after it.
    Alone,
    /// Together with others, whose results may come before or after.
    WithOthers,
}

/// The user at a front end, as the gate and hooks know them.
pub fn user_at(front: Arc<dyn Front>) -> Arc<dyn User> {
    Arc::new(UserAt(front))
}

struct UserAt(Arc<dyn Front>);

impl User for UserAt {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, UserAnswer> {
        self.0.ask(question)
    }

    fn notice(&self, text: &str) {
        self.0.show(FrontUpdate::Notice(text));
    }
}
