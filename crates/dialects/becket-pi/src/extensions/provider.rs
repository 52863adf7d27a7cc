//! Providers of extensions: those with an address are served by becket's own clients, those that stream by themselves
//! by a `Provider` that asks the extension.
//!
//! The body of such a request is pi's context as JSON, so that hooks see it and can rewrite it like any other. The key
//! is added when all hooks have run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use becket_agent::provider::{
    AnswerPart, Answering, Begun, Billing, ModelRequest, Provider, ProviderError, ProviderErrorKind,
};
use becket_agent::tool::BUILTIN;
use becket_events::{Delta, Json, Profile, RequestForm, StopReason, Usage};
use becket_hooks::Failure;
use becket_js::Extension;
use becket_providers::{Api, ProviderEntry, Secret};
use futures_util::future::BoxFuture;
use futures_util::stream;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use super::calls::StreamNews;
use super::described::price_of;
use super::models;
use super::provider_keys::key;
use super::registry::ExtensionRegistry;
use crate::host_call::ProviderDefinition;
use crate::services::{AbortStream, ProviderStream, Streamed};
use crate::{ModelName, messages};

/// How long an answer may take in all. The agent itself times out a silent one earlier.
const LONGEST: Duration = Duration::from_secs(6 * 60 * 60);

/// How long an extension may take to end a stream.
const LAST_MOMENT: Duration = Duration::from_secs(5);

/// The settings of becket's own clients for a provider's model; the error says why they cannot serve it.
pub fn entry(
    registry: &ExtensionRegistry,
    definition: &ProviderDefinition,
    id: &str,
) -> Result<ProviderEntry, String> {
    let model = models::definition_of(definition, id);
    let api = model
        .and_then(|model| model.api.as_ref())
        .or(definition.api.as_ref());
    let api = match api.map(String::as_str) {
        None => None,
        Some("openai-completions") => Some(Api::OpenAi),
        Some("openai-responses") => Some(Api::Responses),
        Some("anthropic-messages") => Some(Api::Anthropic),
        Some("google-generative-ai") => Some(Api::Gemini),
        Some(other) => {
            return Err(format!(
                "the provider {} speaks {other}, which becket does not; it speaks openai-completions, \
                 openai-responses, anthropic-messages and google-generative-ai",
                definition.name
            ));
        }
    };
    let is_command = |text: &String| text.starts_with('!');
    if definition.api_key.as_ref().is_some_and(is_command) {
        return Err(format!(
            "the provider {} wants a program to be run for its key, which becket does not; name a variable of the \
             environment instead",
            definition.name
        ));
    }
    let key = key(registry, definition);
    let mut headers = headers(registry, definition, id);
    // OpenAI's interfaces send the key in this header anyway.
    if let (true, Some(Api::Anthropic | Api::Gemini), Some(key)) = (definition.auth_header, api, &key) {
        headers.insert("authorization".into(), format!("Bearer {key}"));
    }
    let base_url = model.and_then(|model| model.base_url.clone());
    Ok(ProviderEntry {
        api,
        base_url: base_url.or(definition.base_url.clone()),
        key: key.map(Secret::new),
        key_variable: None,
        model: None,
        headers: headers
            .into_iter()
            .map(|(name, value)| (name, Secret::new(value)))
            .collect(),
    })
}

/// The headers of a model's requests: those of its provider, then its own.
fn headers(
    registry: &ExtensionRegistry,
    definition: &ProviderDefinition,
    id: &str,
) -> BTreeMap<String, String> {
    let own = models::definition_of(definition, id).map(|model| &model.headers);
    let all = definition.headers.iter().chain(own.into_iter().flatten());
    let meant = |value: &str| {
        let name = value.strip_prefix('$');
        let held = registry.facts.surroundings.variable(name.unwrap_or(value));
        held.or_else(|| name.is_none().then(|| value.to_owned()))
    };
    all.filter_map(|(name, value)| Some((name.to_ascii_lowercase(), meant(value)?)))
        .collect()
}

/// A model of a provider that streams by itself.
pub struct StreamProvider {
    registry: Arc<ExtensionRegistry>,
    /// The extension's name, not its handle, because it may be loaded again.
    owner: String,
    definition: ProviderDefinition,
    id: String,
    model: Value,
}

impl StreamProvider {
    /// The model with that id; the error lists the known ones.
    pub fn new(
        registry: &Arc<ExtensionRegistry>,
        extension: &Extension,
        definition: ProviderDefinition,
        id: Option<&str>,
    ) -> Result<Self, String> {
        let first = definition.models.iter().flatten().next();
        let id = id
            .or(first.map(|model| model.id.as_str()))
            .unwrap_or_default()
            .to_owned();
        let model = models::model_of(&definition, &id).ok_or_else(|| models::unlisted(&definition, &id))?;
        Ok(Self {
            registry: Arc::clone(registry),
            owner: extension.name().to_owned(),
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

    fn billing(&self) -> Billing {
        let model = models::definition_of(&self.definition, &self.id);
        let price = model.and_then(price_of);
        // Zeros in an answer cannot be told from a cost that was left out, so the definition decides.
        match price.is_some_and(|price| price.of(&Usage::estimated(1, 1)) == 0.0) {
            true => Billing::Nothing,
            false => Billing::Named,
        }
    }

    fn form(&self) -> RequestForm {
        RequestForm::Conversation
    }

    fn body(&self, request: &ModelRequest<'_>) -> Result<Json, ProviderError> {
        let name = ModelName {
            provider: self.name(),
            id: &self.id,
        };
        let said = request
            .messages
            .iter()
            .map(|message| messages::said(message, name));
        let tools = request
            .tools
            .iter()
            .map(|tool| crate::shown_tool(&tool.name, &tool.description, &tool.parameters));
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
            if let Some(key) = key(&self.registry, &self.definition) {
                options.insert("apiKey".into(), key.into());
            }
            let headers = headers(&self.registry, &self.definition, &self.id);
            if !headers.is_empty() {
                options.insert("headers".into(), json!(headers));
            }
            let (sender, news) = tokio::sync::mpsc::unbounded_channel();
            let extension = self.registry.extensions.get(&self.owner).ok_or_else(|| {
                let why = format!(
                    "the extension {}, which brings this model, is not loaded",
                    self.owner
                );
                ProviderError::new(ProviderErrorKind::Rejected, why)
            })?;
            let number = self.registry.calls.begin_stream(&self.owner, sender);
            let service = ProviderStream {
                stream: number,
                provider: self.definition.name.clone(),
                model: self.model.clone(),
                context: body["context"].take(),
                options,
            };
            let (registry, asked) = (Arc::clone(&self.registry), extension.clone());
            let end = Box::pin(async move { registry.ask(&asked, &service, LONGEST).await });
            let streaming = Streaming {
                registry: Arc::clone(&self.registry),
                extension,
                number,
                news,
                end,
                begun: false,
                broken: false,
                over: false,
                answer: Growing::default(),
                waiting: VecDeque::new(),
            };
            let parts = stream::unfold(streaming, async |mut streaming| {
                streaming.next().await.map(|part| (part, streaming))
            });
            Ok(Answering {
                begun: None,
                parts: Box::pin(parts),
            })
        })
    }
}

type Part = Result<AnswerPart, ProviderError>;

/// An answer that an extension streams.
struct Streaming {
    registry: Arc<ExtensionRegistry>,
    extension: Extension,
    number: u32,
    news: UnboundedReceiver<StreamNews>,
    end: BoxFuture<'static, Result<Streamed, Failure>>,
    /// Whether the beginning of the answer was reported.
    begun: bool,
    /// Whether further parts are ignored, because the stream has failed.
    broken: bool,
    /// Whether the stream is over.
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
            if self.over || self.broken {
                return None;
            }
            tokio::select! {
                biased;
                Some(news) = self.news.recv() => self.hear(news),
                end = &mut self.end => {
                    self.over = true;
                    while let Ok(news) = self.news.try_recv() {
                        self.hear(news);
                    }
                    if !self.broken {
                        self.finish(end);
                    }
                }
            }
        }
    }

    fn hear(&mut self, news: StreamNews) {
        match news {
            _ if self.broken => {}
            StreamNews::Sends(sending) => self.waiting.push_back(Ok(AnswerPart::Sends(sending))),
            StreamNews::Begun(begun) => self.begin(begun),
            StreamNews::Data(data) => self.waiting.push_back(Ok(AnswerPart::Data(data))),
            StreamNews::Failed(why) => {
                self.broken = true;
                self.waiting
                    .push_back(Err(ProviderError::new(kind_of(&why), why)));
            }
            StreamNews::Event(mut event) => {
                self.begin(Begun::default());
                if let Some(call) = event.get_mut("toolCall") {
                    in_models_words(&self.registry, call);
                }
                self.answer.event(&event, &mut self.waiting);
            }
        }
    }

    /// Reports the beginning of the answer, before its first part.
    fn begin(&mut self, begun: Begun) {
        if !std::mem::replace(&mut self.begun, true) {
            self.waiting.push_back(Ok(AnswerPart::Begun(begun)));
        }
    }

    fn finish(&mut self, mut end: Result<Streamed, Failure>) {
        if let Ok(streamed) = &mut end {
            let stop = streamed.message["stopReason"].as_str();
            if !matches!(stop, Some("error" | "aborted")) {
                self.begin(Begun::default());
            }
            let blocks = streamed.message.get_mut("content");
            let calls = blocks.and_then(Value::as_array_mut).into_iter().flatten();
            calls
                .filter(|block| block["type"] == "toolCall")
                .for_each(|call| in_models_words(&self.registry, call));
        }
        self.answer.finish(end, &mut self.waiting);
    }
}

/// Renames a call that was written under pi's names, for a model that knows becket's own tools by becket's names: the
/// reverse of what such a model is shown.
fn in_models_words(registry: &ExtensionRegistry, call: &mut Value) {
    let knows_own_names = registry
        .stage()
        .is_some_and(|stage| stage.profile.name == Profile::own().name);
    let own = call["name"].as_str().and_then(crate::own_tool);
    let (true, Some(own)) = (knows_own_names, own) else {
        return;
    };
    let tools = registry.session.config().tools().unwrap_or_default();
    let Some(tool) = tools.iter().find(|tool| tool.spec.face.name == own) else {
        return;
    };
    // A replacement for one of becket's own tools has its own names of arguments.
    if let (true, Value::Object(arguments)) = (tool.spec.source == BUILTIN, call["arguments"].clone()) {
        let name = call["name"].as_str().unwrap_or_default();
        call["arguments"] = Value::Object(crate::own_arguments(own, name, arguments));
    }
    call["name"] = own.into();
}

impl Drop for Streaming {
    fn drop(&mut self) {
        self.registry.calls.end_stream(self.number);
        if !self.over {
            let (registry, extension, stream) =
                (Arc::clone(&self.registry), self.extension.clone(), self.number);
            tokio::spawn(async move {
                let _ = registry
                    .ask(&extension, &AbortStream { stream }, LAST_MOMENT)
                    .await;
            });
        }
    }
}

/// The parts of an answer that were reported so far, by their indexes.
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

    /// Reports more text; with a signature if it is a thought.
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

    /// Ends the answer: parts that were not reported yet are reported now.
    fn finish(&mut self, end: Result<Streamed, Failure>, parts: &mut VecDeque<Part>) {
        let message = match end {
            Ok(streamed) => streamed.message,
            Err(failure) => {
                let words = failure.to_string();
                parts.push_back(Err(ProviderError::new(kind_of(&words), words)));
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
                "stop" => StopReason::Stop,
                _ => StopReason::Refused,
            },
            usage: messages::read_usage(&message["usage"]),
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

/// The kind of an error, by its text. Overload and rate limits are temporary.
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
