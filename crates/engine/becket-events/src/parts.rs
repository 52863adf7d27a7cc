//! Small types that payloads and replies are made of.

use std::collections::BTreeMap;

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
        /// The first session of a context.
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

    /// What the user wants of a project before a session begins.
    SetupReason {
        /// To set it up.
        Init,
        /// To maintain it.
        Maintenance,
    }

    /// Why a session ends.
    EndReason {
        /// Everything was answered.
        Done,
        /// Something failed.
        Failed,
        /// The user cancelled.
        Cancelled,
        /// A limit was reached.
        Limit,
        /// A hook ended the session.
        Blocked,
        /// Another session takes this one's place.
        Switched,
        /// The user has left the chat.
        Left,
    }

    /// Why a turn ended.
    TurnEnd {
        /// The model had said everything.
        Normal,
        /// Tools ran, and the model goes on.
        Continue,
        /// The user sent a message in between.
        Steered,
        /// The request failed.
        Error,
        /// The user cancelled.
        Cancelled,
        /// A hook stopped the run.
        HookBlocked,
        /// The model repeated itself.
        LoopDetected,
        /// The fuel or the iterations are used up.
        Limit,
    }

    /// Where an input comes from.
    InputSource {
        /// The command line or the chat.
        Interactive,
        /// A program that drives becket.
        Rpc,
        /// A hook.
        Hook,
        /// A message queued while the model was working.
        Steering,
        /// A message queued for after the answer.
        FollowUp,
        /// Another agent, which asks this one as its sub-agent.
        Agent,
    }

    /// What happens when the model has answered.
    Fallback {
        /// The answer goes to the user.
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
        /// As a conversation, for a provider that writes the wire format itself. If that provider reports what it
        /// wrote, a second event carries it.
        Conversation,
    }

    /// How an approval ended.
    ApprovalDecision {
        /// The call runs.
        Allow,
        /// The call does not run.
        Deny,
        /// The user cancelled.
        Cancelled,
    }

    /// Who decided about a call.
    ApprovalSource {
        /// A rule of the configuration that allows.
        AllowRule,
        /// A rule of the configuration that denies.
        DenyRule,
        /// The policy for web addresses.
        UrlPolicy,
        /// A hook that was asked about the call.
        Hook,
        /// A hook of `permission_request`, which answered for the user.
        RequestHook,
        /// The tool only reads where reading is free, or changes nothing but the context's own notes.
        ReadOnly,
        /// The user has installed the tool.
        Installed,
        /// The zones of the virtual file system: reading is free, and every context may write in its own zone.
        Zone,
        /// The user said yes or no to this call.
        Person,
        /// The user said yes for the session, to this very call or to this file.
        PersonForSession,
        /// The permission mode `yes`, or `--yes`, answered for the user.
        Yes,
        /// The permission mode `accept_edits`: a file of the project is edited or written.
        AcceptEdits,
        /// The permission mode `plan`, in which nothing is written, run or sent.
        Plan,
        /// No user was there to ask.
        Headless,
        /// What the call touches could not be found out.
        Unresolved,
        /// The call was cancelled before a decision was made.
        Cancellation,
    }

    /// Why the agent waits for the user.
    AttentionReason {
        /// A tool call needs approval.
        Approval,
        /// A limit was reached.
        Limit,
        /// A hook or a tool asks a question.
        Question,
        /// The answer is complete.
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

    /// Why a provider failed.
    ProviderErrorKind {
        /// Trying again may help: overload, a broken connection.
        Transient,
        /// Trying again later will help: a limit on the rate.
        RateLimited,
        /// The provider took the request and never began to answer.
        Silent,
        /// The key is missing or not accepted.
        Key,
        /// The context is too long for the model.
        ContextTooLong,
        /// The request is wrong, or the model does not exist.
        Rejected,
        /// The answer broke off or makes no sense.
        Broken,
    }

    /// What made a compaction necessary.
    CompactReason {
        /// The user asked for a compaction.
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
        /// A sub-agent gave control back.
        Return,
        /// Another agent takes over the session.
        Handoff,
    }

    /// How a model came to be chosen.
    ModelChoice {
        /// The model was named.
        Set,
        /// The next one of a list was taken.
        Cycle,
        /// An earlier session had this model.
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
    /// The model's provider.
    pub provider: String,
    /// The model's name at its provider.
    pub model: String,
    /// The base address of the provider's API, when known.
    pub base_url: Option<String>,
}

/// A tool that is offered to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolOffer {
    /// The tool's name as the model knows it.
    pub name: String,
    /// What the tool does, if it is one of becket's operations.
    pub operation: Option<OperationKind>,
    /// The tool's origin: `builtin`, or the name of the plugin or server.
    pub source: String,
}

/// A tool call that was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallRecord {
    /// Identifies the call.
    pub tool_call_id: String,
    /// becket's own name for the tool.
    pub tool_name: String,
    /// The tool's name as the model called it.
    pub called_as: String,
    /// The tool's origin: `builtin`, the name of a plugin, or `mcp:` and the name of a server.
    pub tool_source: String,
    /// What the tool does, if it is one of becket's operations.
    pub operation: Option<OperationKind>,
    /// The arguments with which the tool ran.
    pub arguments: Map<String, Value>,
    /// Whether the call failed or was refused.
    pub is_error: bool,
    /// What the model sees of the result.
    pub content: Vec<Part>,
}

/// A permission rule that a hook gives for the rest of the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionRule {
    /// What the rule does with a call.
    pub decision: RuleDecision,
    /// The rule as in `[permissions]`: `tool`, or `tool:argument=glob`.
    pub rule: String,
    /// Further conditions: regular expressions for whole arguments, by becket's names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub patterns: BTreeMap<String, String>,
    /// The rule in the words of its author, if those are others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
}

/// What a permission rule does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleDecision {
    /// The call needs no question.
    Allow,
    /// The user is asked.
    Ask,
    /// The call does not run.
    Deny,
}

/// The result of a shell command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShellResult {
    /// Standard output and standard error.
    pub output: String,
    /// The command's exit code; `None` when it was ended by a signal.
    pub exit_code: Option<i32>,
    /// Whether the command was cancelled.
    #[serde(default)]
    pub cancelled: bool,
    /// Whether some output was left out.
    #[serde(default)]
    pub truncated: bool,
    /// The file that holds all of the output, if there is one.
    #[serde(default)]
    pub full_output_path: Option<String>,
}

/// The result of a running tool so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartialResult {
    /// What the model would see.
    pub content: Vec<Part>,
    /// Data of the tool that the model does not see.
    #[serde(default)]
    pub details: Option<Value>,
}

/// A hook handled the user's input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Handled {
    /// What to show to the user instead of an answer.
    #[serde(default)]
    pub message: Option<String>,
}

/// A hook delivered a message by its own means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Delivery {
    /// The means of delivery.
    pub via: String,
}

/// A summary that stands for a part of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The text of the summary.
    pub text: String,
    /// The first message that is kept as it is.
    #[serde(default)]
    pub first_kept_id: Option<String>,
    /// Data of the hook that made the summary.
    #[serde(default)]
    pub details: Option<Value>,
}

/// The summary that stands for the older part of a conversation. The model reads it in its system prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StandingSummary {
    /// The text of the summary.
    pub text: String,
    /// How many tokens the conversation had before it was summarised.
    pub input_tokens: u64,
    /// When the summary was written, in milliseconds since 1970.
    pub time_ms: u64,
}

/// The goals of one group of contexts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlockGoals {
    /// The group's name.
    pub flock: String,
    /// The group's goals.
    pub goals: String,
}

/// An HTTP header.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// The header's name in lower case.
    pub name: String,
    /// The header's value.
    pub value: String,
}
