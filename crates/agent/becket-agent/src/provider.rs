//! What the agent needs of a model's provider.
//!
//! A request has two steps, so that hooks can stand between them: `body` writes the request in the provider's own
//! JSON, `send` puts exactly these bytes on the wire. A provider never retries and never decides: a failure is a
//! value that says whether trying again makes sense (`model_call.rs` does it).

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becket_events::{Delta, Header, Json, Message, OperationKind, RequestForm, StopReason, Usage};
use futures_util::Stream;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;

/// A model behind some interface.
pub trait Provider: Send + Sync {
    /// The provider's name, such as `openai`.
    fn name(&self) -> &str;

    /// The model's name, such as `gpt-4o`.
    fn model(&self) -> &str;

    /// Where it is asked, for one that is asked over the network.
    fn base_url(&self) -> Option<&str> {
        None
    }

    /// How its requests are written.
    fn form(&self) -> RequestForm {
        RequestForm::Wire
    }

    /// The request as the provider's own JSON, without any key.
    fn body(&self, request: &ModelRequest<'_>) -> Result<Json, ProviderError>;

    /// Sends the body as it is. Resolves when the provider begins to answer, or tells that among the parts.
    fn send<'a>(&'a self, body: &'a Json) -> BoxFuture<'a, Result<Answering, ProviderError>>;
}

/// What the model is asked.
#[derive(Debug, Clone, Copy)]
pub struct ModelRequest<'a> {
    /// The system prompt.
    pub system_prompt: &'a str,
    /// The conversation.
    pub messages: &'a [Message],
    /// The tools that it may ask for.
    pub tools: &'a [ToolFace],
    /// Sampling and length, where the configuration names them.
    pub options: &'a RequestOptions,
}

/// Sampling and length.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestOptions {
    /// The temperature.
    pub temperature: Option<f64>,
    /// The longest answer in tokens.
    pub max_tokens: Option<u64>,
    /// The share of likely words among which the model chooses.
    pub top_p: Option<f64>,
    /// How much it avoids what it has said often, where the interface knows that.
    pub frequency_penalty: Option<f64>,
    /// How much it avoids what it has said at all, where the interface knows that.
    pub presence_penalty: Option<f64>,
    /// Whether it may ask for several calls at once; as the provider likes when absent.
    pub parallel_tool_calls: Option<bool>,
    /// How much it thinks before it answers, where the model can; as the provider likes when absent.
    pub thinking: Option<ThinkingLevel>,
    /// The JSON Schema that the whole answer follows. A provider that can only force a call gives the answer as the
    /// arguments of the one call.
    pub answer_schema: Option<Arc<Value>>,
}

/// What the schema of an answer is called in a request.
pub const ANSWER_SCHEMA_NAME: &str = "answer";

/// How much a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    /// As little as the provider does when nothing is said.
    Off,
    /// As little as it can be told.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// As much as it can.
    Xhigh,
}

impl ThinkingLevel {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
        }
    }
}

impl RequestOptions {
    /// These, and those of another where nothing is said here.
    pub fn or(&self, usual: &Self) -> Self {
        Self {
            temperature: self.temperature.or(usual.temperature),
            max_tokens: self.max_tokens.or(usual.max_tokens),
            top_p: self.top_p.or(usual.top_p),
            frequency_penalty: self.frequency_penalty.or(usual.frequency_penalty),
            presence_penalty: self.presence_penalty.or(usual.presence_penalty),
            parallel_tool_calls: self.parallel_tool_calls.or(usual.parallel_tool_calls),
            thinking: self.thinking.or(usual.thinking),
            answer_schema: self.answer_schema.clone().or_else(|| usual.answer_schema.clone()),
        }
    }
}

/// A tool as the model knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolFace {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
    /// What it does, where it is one of becket's operations.
    pub operation: Option<OperationKind>,
}

/// A provider that answers.
pub struct Answering {
    /// How the answer begins; `None` where that is one of its parts.
    pub begun: Option<Begun>,
    /// What arrives, in order. It ends after `Completed` or after an error.
    pub parts: Pin<Box<dyn Stream<Item = Result<AnswerPart, ProviderError>> + Send>>,
}

/// How an answer begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Begun {
    /// The HTTP status.
    pub status: u16,
    /// The headers of the answer, without cookies.
    pub headers: Vec<Header>,
}

impl Default for Begun {
    /// For providers without HTTP.
    fn default() -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
        }
    }
}

/// What a provider has written by itself and is about to send. It waits to hear what it may send.
#[derive(Debug, Clone)]
pub struct Sending {
    /// The body.
    pub body: Json,
    answer: Arc<Mutex<Option<oneshot::Sender<MaySend>>>>,
}

/// What may be sent, or why nothing.
pub type MaySend = Result<Json, String>;

impl Sending {
    /// What is about to be sent, and where the provider hears what it may send.
    pub fn new(body: Json) -> (Self, oneshot::Receiver<MaySend>) {
        let (answer, heard) = oneshot::channel();
        let answer = Arc::new(Mutex::new(Some(answer)));
        (Self { body, answer }, heard)
    }

    /// Says what may be sent. The first word counts.
    pub fn answer(&self, answer: MaySend) {
        let sender = self
            .answer
            .lock()
            .expect("no panic happens while this is held")
            .take();
        if let Some(sender) = sender {
            let _ = sender.send(answer);
        }
    }
}

impl PartialEq for Sending {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.answer, &other.answer)
    }
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerPart {
    /// The provider tells what it has written by itself; only for those whose `form` is the conversation.
    Sends(Sending),
    /// The answer begins, where that was not known before.
    Begun(Begun),
    /// More of the message.
    Delta(Delta),
    /// The provider says that the message is complete. Only now its tool calls may run.
    Completed {
        /// Why it stopped.
        stop_reason: StopReason,
        /// What it cost.
        usage: Usage,
        /// The model that answered, as the provider names it.
        model: String,
    },
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// The kind of failure.
    pub kind: ProviderErrorKind,
    /// What happened, where, and what to try.
    pub message: String,
    /// When the provider wants to be asked again.
    pub retry_after: Option<Duration>,
}

/// The kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderErrorKind {
    /// Trying again may help: overload, a broken connection, a limit on the rate.
    Transient,
    /// The key is missing or not accepted.
    Key,
    /// The context is too long for the model.
    ContextTooLong,
    /// The request is wrong, or the model does not exist.
    Rejected,
    /// The answer broke off or makes no sense.
    Broken,
}

impl ProviderError {
    /// A failure of that kind.
    pub fn new(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry_after: None,
        }
    }
}
