//! Providers of extensions: those with an address are served by becket's own clients, those that stream by themselves
//! by a `Provider` that asks the extension.
//!
//! What such a request holds is pi's context as JSON, so that hooks see it and can rewrite it like any other. The key
//! is added when all hooks have run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use becket_agent::provider::{
    AnswerPart, Answering, ModelRequest, Provider, ProviderError, ProviderErrorKind,
};
use becket_dialects::pi::host_call::ProviderDefinition;
use becket_dialects::pi::services::{AbortStream, ProviderStream, Streamed};
use becket_dialects::pi::{ModelName, messages};
use becket_events::{Delta, Json, StopReason, Usage};
use becket_hooks::Failure;
use becket_js::Extension;
use becket_providers::{Api, ProviderEntry, Secret};
use futures_util::future::BoxFuture;
use futures_util::stream;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use super::board::Board;
use super::models;

/// How long an answer may take in all. The agent itself does not wait for a silent one that long.
const LONGEST: Duration = Duration::from_secs(6 * 60 * 60);

/// How long an extension may take to end a stream.
const LAST_MOMENT: Duration = Duration::from_secs(5);

/// What becket's own clients are told about a provider; the error says why they cannot serve it.
pub fn entry(board: &Board, definition: &ProviderDefinition) -> Result<ProviderEntry, String> {
    let api = match definition.api.as_deref() {
        None => None,
        Some("openai-completions") => Some(Api::OpenAi),
        Some("anthropic-messages") => Some(Api::Anthropic),
        Some(other) => {
            return Err(format!(
                "the provider {} speaks {other}, which becket does not; openai-completions and anthropic-messages it \
                 does",
                definition.name
            ));
        }
    };
    let first = definition.models.iter().flatten().next();
    Ok(ProviderEntry {
        api,
        base_url: definition.base_url.clone(),
        key: key(board, definition).map(Secret::new),
        key_variable: None,
        model: first.map(|model| model.id.clone()),
    })
}

/// The key: what the variable holds that it names, else the words themselves.
pub fn key(board: &Board, definition: &ProviderDefinition) -> Option<String> {
    let named = definition.api_key.as_deref()?;
    let name = named.strip_prefix('$').unwrap_or(named);
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_');
    match board.facts.surroundings.variable(name) {
        Some(key) => Some(key),
        // A name without a variable behind it is no key.
        None if is_name || named.starts_with('$') => None,
        None => Some(named.to_owned()),
    }
}

/// A model of a provider that streams by itself.
pub struct StreamProvider {
    board: Arc<Board>,
    extension: Extension,
    definition: ProviderDefinition,
    id: String,
    model: Value,
}

impl StreamProvider {
    /// The model of that id; the error says which there are.
    pub fn new(
        board: &Arc<Board>,
        extension: Extension,
        definition: ProviderDefinition,
        id: Option<&str>,
    ) -> Result<Self, String> {
        let known: Vec<&str> = definition
            .models
            .iter()
            .flatten()
            .map(|model| model.id.as_str())
            .collect();
        let id = id.or(known.first().copied()).unwrap_or_default().to_owned();
        let Some(model) = models::model_of(&definition, &id) else {
            let name = &definition.name;
            return Err(format!(
                "the provider {name} has no model `{id}`; there are {}",
                known.join(", ")
            ));
        };
        Ok(Self {
            board: Arc::clone(board),
            extension,
            definition,
            id,
            model,
        })
    }
}

impl Provider for StreamProvider {
    fn name(&self) -> &str {
        &self.definition.name
    }

    fn model(&self) -> &str {
        &self.id
    }

    fn base_url(&self) -> Option<&str> {
        self.definition.base_url.as_deref()
    }

    fn body(&self, request: &ModelRequest<'_>) -> Result<Json, ProviderError> {
        let name = ModelName {
            provider: self.name(),
            id: &self.id,
        };
        let said = request
            .messages
            .iter()
            .map(|message| messages::shown(message, name));
        let tools = request.tools.iter().map(
            |tool| json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters}),
        );
        let mut options = Map::new();
        let mut add = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                options.insert(name.to_owned(), value);
            }
        };
        add("temperature", request.options.temperature.map(Value::from));
        add("maxTokens", request.options.max_tokens.map(Value::from));
        add("reasoning", request.options.thinking.map(|level| json!(level)));
        let body = json!({
            "model": self.id,
            "context": {
                "systemPrompt": request.system_prompt,
                "messages": said.collect::<Vec<_>>(),
                "tools": tools.collect::<Vec<_>>(),
            },
            "options": options,
        });
        Json::of(&body).map_err(|error| ProviderError::new(ProviderErrorKind::Rejected, error.to_string()))
    }

    fn send<'a>(&'a self, body: &'a Json) -> BoxFuture<'a, Result<Answering, ProviderError>> {
        Box::pin(async move {
            let mut body = body.to_value();
            let mut options = match body["options"].take() {
                Value::Object(options) => options,
                _ => Map::new(),
            };
            if let Some(key) = key(&self.board, &self.definition) {
                options.insert("apiKey".into(), key.into());
            }
            let (sender, events) = tokio::sync::mpsc::unbounded_channel();
            let number = self.board.calls.begin_stream(sender);
            let service = ProviderStream {
                stream: number,
                provider: self.definition.name.clone(),
                model: self.model.clone(),
                context: body["context"].take(),
                options,
            };
            let (board, extension) = (Arc::clone(&self.board), self.extension.clone());
            let end = Box::pin(async move { board.ask(&extension, &service, LONGEST).await });
            let streaming = Streaming {
                board: Arc::clone(&self.board),
                extension: self.extension.clone(),
                number,
                events,
                end,
                over: false,
                answer: Growing::default(),
                waiting: VecDeque::new(),
            };
            let parts = stream::unfold(streaming, async |mut streaming| {
                streaming.next().await.map(|part| (part, streaming))
            });
            Ok(Answering {
                status: 200,
                headers: Vec::new(),
                parts: Box::pin(parts),
            })
        })
    }
}

type Part = Result<AnswerPart, ProviderError>;

/// An answer that an extension gives.
struct Streaming {
    board: Arc<Board>,
    extension: Extension,
    number: u32,
    events: UnboundedReceiver<Value>,
    end: BoxFuture<'static, Result<Streamed, Failure>>,
    over: bool,
    answer: Growing,
    waiting: VecDeque<Part>,
}

impl Streaming {
    async fn next(&mut self) -> Option<Part> {
        loop {
            if let Some(part) = self.waiting.pop_front() {
                return Some(part);
            }
            if self.over {
                return None;
            }
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => self.answer.event(&event, &mut self.waiting),
                end = &mut self.end => {
                    while let Ok(event) = self.events.try_recv() {
                        self.answer.event(&event, &mut self.waiting);
                    }
                    self.over = true;
                    self.answer.finish(end, &mut self.waiting);
                }
            }
        }
    }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        self.board.calls.end_stream(self.number);
        if !self.over {
            let (board, extension, stream) = (Arc::clone(&self.board), self.extension.clone(), self.number);
            tokio::spawn(async move {
                let _ = board.ask(&extension, &AbortStream { stream }, LAST_MOMENT).await;
            });
        }
    }
}

/// What was told of an answer until now, by the places of its pieces.
#[derive(Default)]
struct Growing {
    words: BTreeMap<u64, String>,
    calls: BTreeSet<u64>,
}

impl Growing {
    fn event(&mut self, event: &Value, parts: &mut VecDeque<Part>) {
        let place = event["contentIndex"].as_u64().unwrap_or_default();
        let added = event["delta"].as_str().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "text_delta" => self.say(place, added, None, parts),
            "thinking_delta" => self.say(place, added, Some(None), parts),
            "toolcall_end" => self.call(place, &event["toolCall"], parts),
            _ => {}
        }
    }

    /// More words; with a seal if they are thoughts.
    fn say(&mut self, place: u64, text: &str, thought: Option<Option<String>>, parts: &mut VecDeque<Part>) {
        self.words.entry(place).or_default().push_str(text);
        let text = text.to_owned();
        parts.push_back(Ok(AnswerPart::Delta(match thought {
            Some(signature) => Delta::Thinking { text, signature },
            None => Delta::Text { text },
        })));
    }

    fn call(&mut self, place: u64, call: &Value, parts: &mut VecDeque<Part>) {
        if call.is_null() || !self.calls.insert(place) {
            return;
        }
        let index = self.calls.len() - 1;
        let word = |name: &str| call[name].as_str().unwrap_or_default().to_owned();
        parts.push_back(Ok(AnswerPart::Delta(Delta::ToolCall {
            index,
            id: word("id"),
            name: word("name"),
        })));
        let text = match &call["arguments"] {
            Value::Null => "{}".to_owned(),
            arguments => arguments.to_string(),
        };
        parts.push_back(Ok(AnswerPart::Delta(Delta::Arguments { index, text })));
    }

    /// The answer is whole: whatever of it was not told yet is told now.
    fn finish(&mut self, end: Result<Streamed, Failure>, parts: &mut VecDeque<Part>) {
        let message = match end {
            Ok(streamed) => streamed.message,
            Err(failure) => {
                parts.push_back(Err(ProviderError::new(
                    ProviderErrorKind::Broken,
                    failure.to_string(),
                )));
                return;
            }
        };
        let stop = message["stopReason"].as_str().unwrap_or("stop");
        if matches!(stop, "error" | "aborted") {
            let why = message["errorMessage"].as_str().unwrap_or(stop);
            parts.push_back(Err(ProviderError::new(kind_of(why), why)));
            return;
        }
        for (place, block) in message["content"].as_array().into_iter().flatten().enumerate() {
            self.rest(place as u64, block, parts);
        }
        parts.push_back(Ok(AnswerPart::Completed {
            stop_reason: match stop {
                "length" => StopReason::Length,
                "toolUse" => StopReason::ToolCalls,
                _ => StopReason::Stop,
            },
            usage: usage(&message["usage"]),
            model: message["model"].as_str().unwrap_or_default().to_owned(),
        }));
    }

    fn rest(&mut self, place: u64, block: &Value, parts: &mut VecDeque<Part>) {
        let (whole, seal) = match block["type"].as_str().unwrap_or_default() {
            "text" => (&block["text"], None),
            "thinking" => {
                let seal = block["thinkingSignature"].as_str().map(ToOwned::to_owned);
                (&block["thinking"], Some(seal))
            }
            "toolCall" => return self.call(place, block, parts),
            _ => return,
        };
        let told = self.words.get(&place).map_or("", String::as_str);
        let rest = whole
            .as_str()
            .and_then(|whole| whole.strip_prefix(told))
            .unwrap_or_default()
            .to_owned();
        if !rest.is_empty() || seal.as_ref().is_some_and(Option::is_some) {
            self.say(place, &rest, seal, parts);
        }
    }
}

/// What an error in words is to the agent. Overload and limits on the rate pass.
fn kind_of(why: &str) -> ProviderErrorKind {
    let why = why.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| why.contains(word));
    if has(&[
        "overloaded",
        "rate limit",
        "too many requests",
        "429",
        "500",
        "502",
        "503",
        "504",
        "timed out",
    ]) {
        ProviderErrorKind::Transient
    } else if has(&[
        "context length",
        "context window",
        "prompt is too long",
        "too many tokens",
    ]) {
        ProviderErrorKind::ContextTooLong
    } else if has(&["api key", "unauthorized", "401", "403"]) {
        ProviderErrorKind::Key
    } else {
        ProviderErrorKind::Rejected
    }
}

fn usage(usage: &Value) -> Usage {
    let count = |name: &str| usage[name].as_u64().unwrap_or_default();
    let (read, written) = (count("cacheRead"), count("cacheWrite"));
    Usage {
        input_tokens: count("input") + read + written,
        output_tokens: count("output"),
        cache_read_tokens: read,
        cache_write_tokens: written,
        cost: usage["cost"]["total"].as_f64().filter(|cost| *cost > 0.0),
    }
}
