//! The interface of a model's provider.
//!
//! A request has two steps, so that hooks can stand between them: `body` writes the request in the provider's own
//! JSON, `send` puts exactly these bytes on the wire. A provider never retries and never decides: a failure is a
//! value that says whether trying again makes sense (`model_call.rs` does it).

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub use becket_events::ProviderErrorKind;
use becket_events::{Delta, Header, Json, Message, RequestForm, StopReason, Usage};
pub use becket_gate::called_tool::ToolFace;
use futures_util::Stream;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::account::ReachedBudget;

/// A model behind some interface.
pub trait Provider: Send + Sync {
    /// The provider's name, such as `openai`.
    fn name(&self) -> &str;

    /// The model's name, such as `gpt-4o`.
    fn model(&self) -> &str;

    /// The URL of the provider, if it is asked over the network.
    fn base_url(&self) -> Option<&str> {
        None
    }

    /// The provider's models, as it lists them now. The caller sets the deadline.
    fn list_models(&self) -> BoxFuture<'_, Result<Vec<OfferedModel>, ProviderError>> {
        let message = format!("{} lists no models", self.name());
        Box::pin(async move { Err(ProviderError::new(ProviderErrorKind::Rejected, message)) })
    }

    /// Whether the model runs on this machine. Such a model may take long to load and to read a prompt.
    fn is_local(&self) -> bool {
        false
    }

    /// How it is known what the model's answers cost.
    fn billing(&self) -> Billing {
        Billing::ByTokens
    }

    /// The budget because of which the model may not be asked now, if there is one.
    fn reached_budget(&self) -> Option<ReachedBudget> {
        None
    }

    /// The form of the provider's requests.
    fn form(&self) -> RequestForm {
        RequestForm::Wire
    }

    /// Whether a thought with this signature goes back to the provider. It leaves out what it cannot read: thoughts of
    /// other providers.
    fn reads(&self, _signature: &str) -> bool {
        true
    }

    /// Whether a request with these options may ask for an answer by a schema and lose nothing else by it.
    fn has_structured_answers(&self, _options: &RequestOptions) -> bool {
        false
    }

    /// The headers of a request with that body, as hooks may see them: the value of one that holds a secret is
    /// [`KEPT_VALUE`].
    fn headers(&self, _body: &Json) -> Vec<Header> {
        Vec::new()
    }

    /// The request as the provider's own JSON, without any key.
    fn body(&self, request: &ModelRequest<'_>) -> Result<Json, ProviderError>;

    /// Sends the body as it is. Resolves when the provider begins to answer; some report that as a part of the answer
    /// instead.
    fn send<'a>(&'a self, body: &'a Json) -> BoxFuture<'a, Result<Answering, ProviderError>>;

    /// Sends the body in the way that hooks have chosen. A provider without headers and without data on a wire sends it
    /// as usual.
    fn send_with<'a>(
        &'a self,
        body: &'a Json,
        _options: &'a SendOptions,
    ) -> BoxFuture<'a, Result<Answering, ProviderError>> {
        self.send(body)
    }
}

/// How it is known what a model's answers cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Billing {
    /// By their tokens and a price.
    ByTokens,
    /// Each answer names it.
    Named,
    /// They cost nothing, or nothing that this run pays.
    Nothing,
}

/// A model in a provider's own list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OfferedModel {
    /// The model's name.
    pub name: String,
    /// What the list says about the model.
    #[serde(flatten)]
    pub facts: ModelFacts,
    /// The price of a million tokens of input in US dollars, if the list names it.
    #[serde(default)]
    pub input_price: Option<f64>,
    /// The price of a million tokens of output in US dollars, if the list names it.
    #[serde(default)]
    pub output_price: Option<f64>,
}

/// What a model can do, as far as that is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelFacts {
    /// How many tokens it reads.
    pub context_window: Option<u64>,
    /// How many tokens it answers with at most.
    pub max_tokens: Option<u64>,
    /// Whether it can think before it answers.
    pub thinks: Option<bool>,
    /// Whether it can be shown pictures.
    pub sees_pictures: Option<bool>,
}

impl ModelFacts {
    /// These facts, and `other` ones for what is not known here.
    pub fn or(self, other: Self) -> Self {
        Self {
            context_window: self.context_window.or(other.context_window),
            max_tokens: self.max_tokens.or(other.max_tokens),
            thinks: self.thinks.or(other.thinks),
            sees_pictures: self.sees_pictures.or(other.sees_pictures),
        }
    }
}

/// The value that hooks see in place of a header's secret.
pub const KEPT_VALUE: &str = "kept-by-becket";

/// How a request is sent, if not as usual.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SendOptions {
    /// All headers, in place of the provider's own. The value of one that is [`KEPT_VALUE`] stays as it is.
    pub headers: Option<Vec<Header>>,
    /// Whether the answer's data are wanted as they arrive, too.
    pub with_data: bool,
}

/// The content of a request to the model.
#[derive(Debug, Clone, Copy)]
pub struct ModelRequest<'a> {
    /// The system prompt.
    pub system_prompt: &'a str,
    /// The conversation.
    pub messages: &'a [Message],
    /// The tools that the model may call.
    pub tools: &'a [ToolFace],
    /// Sampling and length, as far as the configuration sets them.
    pub options: &'a RequestOptions,
}

/// Options for sampling, length and thinking.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestOptions {
    /// The temperature.
    pub temperature: Option<f64>,
    /// The longest answer in tokens.
    pub max_tokens: Option<u64>,
    /// The share of likely words among which the model chooses.
    pub top_p: Option<f64>,
    /// How much the model avoids what it has said often, if the interface supports it.
    pub frequency_penalty: Option<f64>,
    /// How much the model avoids what it has said at all, if the interface supports it.
    pub presence_penalty: Option<f64>,
    /// Whether the model may make several calls at once; default: the provider's.
    pub parallel_tool_calls: Option<bool>,
    /// How much the model thinks before it answers, if it can; default: the provider's.
    pub thinking: Option<ThinkingLevel>,
    /// The JSON Schema that the whole answer follows. A provider that can only force a call gives the answer as the
    /// arguments of the one call.
    pub answer_schema: Option<Arc<Value>>,
}

/// The name of the answer's schema in a request.
pub const ANSWER_SCHEMA_NAME: &str = "answer";

/// How much a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    /// The provider's default, without asking for any thinking.
    Off,
    /// The least that can be asked for.
    Minimal,
    /// A little thinking.
    Low,
    /// Some thinking.
    Medium,
    /// Much thinking.
    High,
    /// The most that the model can do.
    Xhigh,
}

impl ThinkingLevel {
    /// All levels, from the least thinking to the most.
    pub const ALL: &[Self] = &[
        Self::Off,
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::Xhigh,
    ];

    /// The level's name.
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
    /// These options, and `usual` for those that are not set here.
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

/// An answer that has begun.
pub struct Answering {
    /// Status and headers of the answer; `None` if they come as one of the parts.
    pub begun: Option<Begun>,
    /// The parts in order. The stream ends after `Completed` or after an error.
    pub parts: Pin<Box<dyn Stream<Item = Result<AnswerPart, ProviderError>> + Send>>,
}

/// Status and headers at the beginning of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Begun {
    /// The HTTP status.
    pub status: u16,
    /// The headers of the answer, without cookies.
    pub headers: Vec<Header>,
}

impl Default for Begun {
    /// The beginning of an answer from a provider without HTTP.
    fn default() -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
        }
    }
}

/// A request that a provider has written itself. The provider waits until it is told what it may send.
#[derive(Debug, Clone)]
pub struct Sending {
    /// The body of the request.
    pub body: Json,
    answer: Arc<Mutex<Option<oneshot::Sender<MaySend>>>>,
}

/// The body that may be sent, or why nothing may be.
pub type MaySend = Result<Json, String>;

impl Sending {
    /// A request, and the receiver on which the provider is told what it may send.
    pub fn new(body: Json) -> (Self, oneshot::Receiver<MaySend>) {
        let (answer, heard) = oneshot::channel();
        let answer = Arc::new(Mutex::new(Some(answer)));
        (Self { body, answer }, heard)
    }

    /// Says what may be sent. Only the first answer counts.
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
    /// The provider reports a request that it has written itself; only if its `form` is the conversation.
    Sends(Sending),
    /// The answer begins, if that was not known before.
    Begun(Begun),
    /// A piece of the answer as it arrived, before what it means; only if it is wanted.
    Data(Json),
    /// More of the answer's message.
    Delta(Delta),
    /// The provider says that the message is complete. Only now its tool calls may run.
    Completed {
        /// Why the model stopped.
        stop_reason: StopReason,
        /// The tokens that the answer cost.
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
    /// How long to wait before a retry, if the provider says so.
    pub retry_after: Option<Duration>,
    /// How many tokens the model can take, if the provider says so.
    pub window: Option<u64>,
}

impl ProviderError {
    /// A failure of that kind.
    pub fn new(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry_after: None,
            window: None,
        }
    }
}
