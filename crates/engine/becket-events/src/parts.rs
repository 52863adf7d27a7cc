//! Small types that payloads and replies are made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{OperationKind, Part};

/// Declares an enum of plain words, written in snake_case.
macro_rules! words {
    ($(
        $(#[doc = $doc:literal])+
        $Name:ident { $( $(#[doc = $word_doc:literal])+ $Word:ident, )+ }
    )*) => {
        $(
            $(#[doc = $doc])+
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
            #[serde(rename_all = "snake_case")]
            pub enum $Name { $( $(#[doc = $word_doc])+ $Word, )+ }
        )*
    };
}

words! {
    /// Why a session starts.
    StartReason {
        /// A context's first session.
        Startup,
        /// A context is taken up again.
        Resume,
        /// A new session replaces the one before.
        New,
        /// A session was forked from another.
        Fork,
        /// The context was cleared.
        Clear,
        /// Hooks and settings were read again.
        Reload,
        /// Another agent asks this one as its sub-agent.
        Subagent,
    }

    /// Why a session ends.
    EndReason {
        /// Everything was answered.
        Done,
        /// Something failed.
        Failed,
        /// The person cancelled.
        Cancelled,
        /// A limit was reached.
        Limit,
        /// A hook ended it.
        Blocked,
        /// Another session takes its place.
        Switched,
    }

    /// Why a turn ended.
    TurnEnd {
        /// The model had said everything.
        Normal,
        /// Tools ran, and the model goes on.
        Continue,
        /// Words from the person came in between.
        Steered,
        /// The request failed.
        Error,
        /// The person cancelled.
        Cancelled,
        /// A hook stopped the run.
        HookBlocked,
        /// The model repeated itself.
        LoopDetected,
        /// The fuel or the iterations are used up.
        Limit,
    }

    /// Where the person's words come from.
    InputSource {
        /// The command line or the chat.
        Interactive,
        /// A program that drives becket.
        Rpc,
        /// A hook.
        Hook,
        /// Words queued while the model was at work.
        Steering,
        /// Words queued for after the answer.
        FollowUp,
        /// Another agent, which asks this one as its sub-agent.
        Agent,
    }

    /// Who goes on when the model has answered.
    Fallback {
        /// The answer goes to the person.
        CallUser,
        /// The model is asked again.
        CallAgent,
    }

    /// What a request to the model is for.
    RequestPurpose {
        /// The next answer.
        Answer,
        /// A summary of the conversation.
        Summary,
    }

    /// How a request is written.
    RequestForm {
        /// As it goes over the wire.
        Wire,
        /// As a conversation, for a provider that writes what goes over the wire by itself. If that one tells what it
        /// has written, there is a second event with it.
        Conversation,
    }

    /// How an approval ended.
    ApprovalDecision {
        /// The call runs.
        Allow,
        /// The call does not run.
        Deny,
        /// The person cancelled.
        Cancelled,
    }

    /// Who decided about a call.
    ApprovalSource {
        /// A rule of the configuration that allows.
        AllowRule,
        /// A rule of the configuration that denies.
        DenyRule,
        /// The policy for addresses of the web.
        UrlPolicy,
        /// A hook that was asked about the call.
        Hook,
        /// A hook of `permission_request`, which answered for the person.
        RequestHook,
        /// The tool only reads where that is free, or changes nothing but the context's own notes.
        ReadOnly,
        /// The person has installed the tool.
        Installed,
        /// The zones of the virtual file system: reading is free, and every context writes in its own.
        Zone,
        /// The person said yes or no to this call.
        Person,
        /// The person said yes for the session, to this very call or to this file.
        PersonForSession,
        /// `--yes` answered for the person.
        Yes,
        /// Nobody was there to ask.
        Headless,
        /// What the call touches could not be found out.
        Unresolved,
        /// The call was cancelled before anybody decided.
        Cancellation,
    }

    /// Why the agent waits for the person.
    AttentionReason {
        /// A tool call needs a yes.
        Approval,
        /// A limit was reached.
        Limit,
        /// A hook or a tool asks a question.
        Question,
        /// The answer is there.
        Idle,
    }

    /// How serious a notification is.
    Level {
        /// Good to know.
        Info,
        /// Something may be wrong.
        Warning,
        /// Something failed.
        Error,
    }

    /// What kind of error happened.
    ErrorKind {
        /// The provider failed.
        Provider,
        /// The model repeated itself.
        LoopDetected,
        /// A hook stopped the run.
        HookBlocked,
        /// The store failed.
        Store,
    }

    /// What made a compaction necessary.
    CompactReason {
        /// The person asked for it.
        Manual,
        /// The context came close to its limit.
        Threshold,
        /// The provider refused a context that was too long.
        Overflow,
        /// Tool results filled the context.
        ToolOverflow,
    }

    /// How much a compaction replaces.
    CompactScope {
        /// Everything.
        Full,
        /// The older part.
        Rolling,
    }

    /// How one agent handed over to another.
    SwitchKind {
        /// A task was given to a sub-agent.
        Transfer,
        /// A sub-agent gave the word back.
        Return,
        /// Another agent takes over the session.
        Handoff,
    }

    /// How a model came to be chosen.
    ModelChoice {
        /// It was named.
        Set,
        /// The next one of a list was taken.
        Cycle,
        /// An earlier session had it.
        Restore,
    }

    /// Why a session changes.
    SwitchReason {
        /// A new session begins.
        New,
        /// An earlier session is taken up.
        Resume,
        /// Another context is chosen.
        Context,
    }
}

/// A model that an agent works with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentModel {
    /// Its provider.
    pub provider: String,
    /// Its name there.
    pub model: String,
    /// Where the provider is asked, when known.
    pub base_url: Option<String>,
}

/// A tool that is offered to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolOffer {
    /// Its name as the model knows it.
    pub name: String,
    /// What it does, where it is one of becket's operations.
    pub operation: Option<OperationKind>,
    /// Where it comes from: `builtin`, or the name of the plugin or server.
    pub source: String,
}

/// A tool call that was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallRecord {
    /// Identifies the call.
    pub tool_call_id: String,
    /// The tool, in becket's own words.
    pub tool_name: String,
    /// The tool's name as the model called it.
    pub called_as: String,
    /// What it does, where it is one of becket's operations.
    pub operation: Option<OperationKind>,
    /// Its arguments as they ran.
    pub arguments: Map<String, Value>,
    /// Whether it failed or was refused.
    pub is_error: bool,
}

/// What a shell command gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShellResult {
    /// Standard output and standard error.
    pub output: String,
    /// Its exit code; `None` when it was ended by a signal.
    pub exit_code: Option<i32>,
    /// Whether it was cancelled.
    #[serde(default)]
    pub cancelled: bool,
    /// Whether the output is not all that there was.
    #[serde(default)]
    pub truncated: bool,
    /// The file that holds all of it, where there is one.
    #[serde(default)]
    pub full_output_path: Option<String>,
}

/// What a running tool has so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartialResult {
    /// What the model would see.
    pub content: Vec<Part>,
    /// Data of the tool that the model does not see.
    #[serde(default)]
    pub details: Option<Value>,
}

/// A hook took the person's words upon itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Handled {
    /// What to show to the person instead of an answer.
    #[serde(default)]
    pub message: Option<String>,
}

/// A hook delivered a message by its own means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Delivery {
    /// By what means.
    pub via: String,
}

/// A summary that stands for a part of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The text.
    pub text: String,
    /// The first message that is kept as it is.
    #[serde(default)]
    pub first_kept_id: Option<String>,
    /// Data of the hook that made it.
    #[serde(default)]
    pub details: Option<Value>,
}

/// The summary that stands for the older part of a conversation. The model reads it in its system prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StandingSummary {
    /// The text.
    pub text: String,
    /// How many tokens the conversation had before.
    pub input_tokens: u64,
    /// When it was written, in milliseconds since 1970.
    pub time_ms: u64,
}

/// The goals of one group of contexts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlockGoals {
    /// The group.
    pub flock: String,
    /// Its goals.
    pub goals: String,
}

/// An HTTP header.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// Its name in lower case.
    pub name: String,
    /// Its value.
    pub value: String,
}
