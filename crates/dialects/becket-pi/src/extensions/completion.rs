//! Requests to models that an extension makes for itself, outside of the session.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use becket_agent::provider::{
    AnswerPart, ModelRequest, Provider, ProviderError, ProviderErrorKind, RequestOptions, ToolFace,
};
use becket_agent::with_missing_results;
use becket_events::{Delta, Message, MessageBody, MessageRecord, Part, StopReason, ToolCall, Usage};
use futures_util::StreamExt;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::registry::ExtensionRegistry;
use super::selection;
use crate::host_call::DirectWay;
use crate::{ModelName, messages};

/// How long a model may be silent.
const IDLE: Duration = Duration::from_secs(120);

/// Asks a model. A failure becomes a message with an error.
pub async fn complete(
    registry: &ExtensionRegistry,
    (extension, way): (&str, Option<&DirectWay>),
    model: &Value,
    context: &Value,
    options: &Map<String, Value>,
) -> Value {
    let word = |name: &str| model[name].as_str().unwrap_or_default().to_owned();
    let name = format!("{}/{}", word("provider"), word("id"));
    let asked = async {
        let provider = match way {
            Some(way) => selection::directly(registry, extension, way, model)?,
            None => registry.model(&name)?,
        };
        let request = Request::read(context, options, ModelName::of(&name))?;
        let answered = request.send(&*provider).await;
        answered.map_err(|error| error.message)
    };
    match asked.await {
        Ok(message) => messages::shown(&message, ModelName::of(&name)),
        Err(why) => failed(model, "error", &why),
    }
}

/// A message that says that there is no answer.
pub fn failed(model: &Value, stop_reason: &str, why: &str) -> Value {
    json!({
        "role": "assistant",
        "content": [],
        "api": model["api"],
        "provider": model["provider"],
        "model": model["id"],
        "usage": messages::shown_usage(&Usage::default()),
        "stopReason": stop_reason,
        "errorMessage": why,
        "timestamp": now_ms(),
    })
}

struct Request {
    system_prompt: String,
    messages: Vec<Message>,
    tools: Vec<ToolFace>,
    options: RequestOptions,
}

impl Request {
    fn read(context: &Value, options: &Map<String, Value>, model: ModelName<'_>) -> Result<Self, String> {
        let said = context["messages"].as_array().cloned().unwrap_or_default();
        let said = messages::written(&[], &said, model, "messages").map_err(|failure| failure.to_string())?;
        let tools = context["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|tool| ToolFace {
                name: tool["name"].as_str().unwrap_or_default().to_owned(),
                description: tool["description"].as_str().unwrap_or_default().to_owned(),
                parameters: tool["parameters"].clone().into(),
                operation: None,
            });
        Ok(Self {
            system_prompt: context["systemPrompt"].as_str().unwrap_or_default().to_owned(),
            messages: said,
            tools: tools.collect(),
            options: RequestOptions {
                temperature: options.get("temperature").and_then(Value::as_f64),
                max_tokens: options.get("maxTokens").and_then(Value::as_u64),
                thinking: options
                    .get("reasoning")
                    .and_then(|level| serde_json::from_value(level.clone()).ok()),
                ..RequestOptions::default()
            },
        })
    }

    async fn send(&self, provider: &dyn Provider) -> Result<Message, ProviderError> {
        let body = provider.body(&ModelRequest {
            system_prompt: &self.system_prompt,
            messages: &with_missing_results(&self.messages),
            tools: &self.tools,
            options: &self.options,
        })?;
        let silent = |_| {
            let seconds = IDLE.as_secs();
            let words = format!("{} was silent for {seconds} s", provider.name());
            ProviderError::new(ProviderErrorKind::Broken, words)
        };
        let mut answering = timeout(IDLE, provider.send(&body)).await.map_err(silent)??;
        let mut answer = PartialAnswer::default();
        while let Some(part) = timeout(IDLE, answering.parts.next()).await.map_err(silent)? {
            answer.take(part?);
        }
        Ok(answer.message())
    }
}

/// An answer while it arrives.
#[derive(Default)]
struct PartialAnswer {
    thought: String,
    signature: Option<String>,
    text: String,
    calls: Vec<ToolCall>,
    end: Option<(StopReason, Usage, String)>,
}

impl PartialAnswer {
    fn take(&mut self, part: AnswerPart) {
        match part {
            // Hooks judge the session's requests, but this is the extension's own request.
            AnswerPart::Sends(sending) => sending.answer(Ok(sending.body.clone())),
            AnswerPart::Begun(_) | AnswerPart::Data(_) | AnswerPart::Delta(Delta::End) => {}
            AnswerPart::Delta(Delta::Text { text }) => self.text.push_str(&text),
            AnswerPart::Delta(Delta::Thinking { text, signature }) => {
                self.thought.push_str(&text);
                self.signature = signature.or(self.signature.take());
            }
            AnswerPart::Delta(Delta::ToolCall { id, name, .. }) => self.calls.push(ToolCall {
                id,
                name,
                arguments: String::new(),
            }),
            AnswerPart::Delta(Delta::Arguments { index, text }) => {
                if let Some(call) = self.calls.get_mut(index) {
                    call.arguments.push_str(&text);
                }
            }
            AnswerPart::Completed {
                stop_reason,
                usage,
                model,
            } => self.end = Some((stop_reason, usage, model)),
        }
    }

    fn message(self) -> Message {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let thought = (!self.thought.is_empty()).then_some(Part::Thinking {
            text: self.thought,
            signature: self.signature,
        });
        let text = (!self.text.is_empty()).then(|| Part::text(self.text));
        let (stop_reason, usage, model) =
            self.end
                .unwrap_or((StopReason::Error, Usage::default(), String::new()));
        Message::new(MessageRecord {
            id: format!("aside-{}", LAST.fetch_add(1, Ordering::Relaxed)),
            time_ms: now_ms(),
            body: MessageBody::Assistant {
                content: thought.into_iter().chain(text).collect(),
                tool_calls: self.calls,
                model,
                stop_reason,
                usage,
                error: None,
            },
        })
    }
}

fn now_ms() -> u64 {
    let age = std::time::SystemTime::UNIX_EPOCH.elapsed();
    age.map_or(0, |age| age.as_millis() as u64)
}
