//! Models in pi's form: the one in use, and those of extensions.

use std::sync::Arc;

use becket_agent::provider::{ModelFacts, Provider, ThinkingLevel};
use becket_host::priced;
use becket_providers::{Api, Price, address, api, of_family, provider_names, select};
use serde_json::{Value, json};

use super::provider_keys::model_can_be_had;
use super::registry::ExtensionRegistry;
use crate::ModelName;
use crate::host_call::{ModelDefinition, ProviderDefinition};

/// How many tokens an answer of a model can have by default.
const USUAL_ANSWER: u64 = 16_384;

/// How many tokens a model reads if nobody has said it; as in pi.
const USUAL_WINDOW: u64 = 128_000;

/// The model in use; `null` before there is a session.
pub fn in_use(registry: &ExtensionRegistry) -> Value {
    let Ok(provider) = registry.session.config().model() else {
        return Value::Null;
    };
    let window = registry.session.context_usage().map_or(0, |usage| usage.window);
    of_provider(registry, &*provider, window)
}

/// A model in pi's form, with the definition of the extension that brings it, if one does.
pub fn of_provider(registry: &ExtensionRegistry, provider: &dyn Provider, window: u64) -> Value {
    let (name, id) = (provider.name(), provider.model());
    let definition = registry.extensions.provider(name);
    let model = definition
        .as_ref()
        .and_then(|definition| model_of(definition, id));
    model.unwrap_or_else(|| {
        let model = ModelName { provider: name, id };
        let address = provider.base_url().unwrap_or_default();
        plain(registry, model, address, facts_of(id, window))
    })
}

/// How many tokens the context window of an extension's model has, if the extension says so.
pub fn context_window(registry: &ExtensionRegistry, provider: &str, id: &str) -> Option<u64> {
    let definition = registry.extensions.provider(provider)?;
    let model = definition_of(&definition, id)?;
    Some(model.context_window).filter(|window| *window > 0)
}

/// All models that are known by name: those that the session has used, those of extensions, and those of the providers
/// that becket's own clients serve. Their order does not depend on the one in use, so that cycling through them reaches
/// all.
pub fn all(registry: &ExtensionRegistry, available: bool) -> Vec<Value> {
    let is_there = |model: &Value| {
        model["provider"]
            .as_str()
            .is_some_and(|name| !registry.is_withdrawn(name))
    };
    let used = registry.session.config().models().unwrap_or_default().into_iter();
    let used = used.map(|(provider, window)| of_provider(registry, &*provider, window));
    let mut models: Vec<Value> = used.filter(is_there).collect();
    let mut add = |model: Value| {
        let is_known = |known: &Value| known["provider"] == model["provider"] && known["id"] == model["id"];
        if !models.iter().any(is_known) {
            models.push(model);
        }
    };
    for definition in registry.extensions.providers() {
        let usable = !available || definition.streams || model_can_be_had(registry, &definition);
        let of_extension = definition.models.iter().flatten().filter(|_| usable);
        of_extension.for_each(|model| add(shown(&definition, model)));
    }
    let own = registry.own_models.get_or_init(|| of_own_clients(registry));
    let own = own.iter().filter(|(_, usable)| *usable || !available);
    let own = own.filter(|(model, _)| {
        let provider = model["provider"].as_str().unwrap_or_default();
        !registry.is_withdrawn(provider) && !lists_its_models(registry, provider)
    });
    own.for_each(|(model, _)| add(model.clone()));
    models
}

/// The models of the providers that becket's own clients serve, each with whether it can be used: what a provider has
/// listed when somebody asked it, else those whose prices becket knows.
fn of_own_clients(registry: &ExtensionRegistry) -> Vec<(Value, bool)> {
    let facts = &registry.facts;
    let environment = |name: &str| facts.surroundings.variable(name);
    let mut models = Vec::new();
    for name in provider_names(&facts.providers) {
        // Which of its models is named does not matter here.
        let provider = select(Some(&format!("{name}/models")), &environment, &facts.providers).ok();
        let Some(base_url) = address(&name, &environment, &facts.providers).map(String::from) else {
            continue;
        };
        let known = provider
            .as_ref()
            .map(|provider| facts.model_lists.known(&**provider));
        for offered in known.unwrap_or_else(|| priced(&base_url)) {
            let model = ModelName {
                provider: &name,
                id: &offered.name,
            };
            let known = offered.facts.or(of_family(&offered.name));
            models.push((plain(registry, model, &base_url, known), provider.is_some()));
        }
    }
    models
}

/// Whether an extension says which models a provider has.
fn lists_its_models(registry: &ExtensionRegistry, provider: &str) -> bool {
    let definition = registry.extensions.provider(provider);
    definition.is_some_and(|definition| definition.models.is_some())
}

/// A model that the session has used.
pub fn used(registry: &ExtensionRegistry, provider: &str, id: &str) -> Option<Arc<dyn Provider>> {
    let used = registry
        .session
        .config()
        .models()
        .ok()?
        .into_iter()
        .map(|(model, _)| model);
    let mut named = used.filter(|model| (model.name(), model.model()) == (provider, id));
    named.next().filter(|_| !registry.is_withdrawn(provider))
}

/// A model by its name, or any of a provider. For providers that becket knows itself every name is accepted, since only
/// they know their models.
pub fn find(
    registry: &ExtensionRegistry,
    provider: &str,
    id: Option<&str>,
    available: bool,
) -> Option<Value> {
    let fits = |model: &Value| model["provider"] == provider && id.is_none_or(|id| model["id"] == id);
    let listed = all(registry, available).into_iter().find(fits);
    listed.or_else(|| believed(registry, provider, id.unwrap_or_default(), available))
}

fn believed(registry: &ExtensionRegistry, provider: &str, id: &str, available: bool) -> Option<Value> {
    if lists_its_models(registry, provider) || registry.is_withdrawn(provider) {
        return None;
    }
    let facts = &registry.facts;
    let environment = |name: &str| facts.surroundings.variable(name);
    let address = address(provider, &environment, &facts.providers)?;
    if available && !becket_providers::has_key(provider, &environment, &facts.providers) {
        return None;
    }
    let in_use = || registry.session.context_usage().map_or(0, |usage| usage.window);
    let window = of_family(id).context_window.unwrap_or_else(in_use);
    let model = ModelName { provider, id };
    Some(plain(registry, model, address.as_str(), facts_of(id, window)))
}

/// What becket's table says about a model, with the window that counts.
fn facts_of(id: &str, window: u64) -> ModelFacts {
    ModelFacts {
        context_window: Some(window),
        ..of_family(id)
    }
}

/// The thinking levels that the model in use has. Only models of extensions say so; any other takes all.
pub fn levels(registry: &ExtensionRegistry) -> Vec<ThinkingLevel> {
    let provider = registry.session.config().model().ok();
    let definition = provider.as_ref().and_then(|provider| {
        let definition = registry.extensions.provider(provider.name())?;
        definition_of(&definition, provider.model()).cloned()
    });
    definition.map_or_else(|| ThinkingLevel::ALL.to_vec(), |model| levels_of(&model))
}

/// The level that the model in use has for a word: the level itself, or else the next one up, or else down.
pub fn nearest_level(registry: &ExtensionRegistry, word: &str) -> ThinkingLevel {
    let (all, known) = (ThinkingLevel::ALL, levels(registry));
    let Some(wanted) = all.iter().position(|level| level.name() == word) else {
        return known.first().copied().unwrap_or(ThinkingLevel::Off);
    };
    let nearest = all[wanted..].iter().chain(all[..wanted].iter().rev());
    let mut nearest = nearest.filter(|level| known.contains(level));
    nearest.next().copied().unwrap_or(ThinkingLevel::Off)
}

/// The levels that an extension's model has. The highest counts only if the model names it.
fn levels_of(model: &ModelDefinition) -> Vec<ThinkingLevel> {
    if !model.reasoning {
        return vec![ThinkingLevel::Off];
    }
    let named = |level: &ThinkingLevel| model.other.get("thinkingLevelMap")?.get(level.name());
    let has = |level: &&ThinkingLevel| match named(level) {
        Some(word) => !word.is_null(),
        None => **level != ThinkingLevel::Xhigh,
    };
    ThinkingLevel::ALL.iter().filter(has).copied().collect()
}

/// A model that no extension describes: its name and address, and what is known about it. Without a price its cost is
/// 0, as pi has it for models of which it knows none.
fn plain(registry: &ExtensionRegistry, model: ModelName<'_>, base_url: &str, facts: ModelFacts) -> Value {
    let prices = &registry.facts.providers.prices;
    let price = prices.at(model.provider, model.id, Some(base_url));
    let cost = |of: fn(&Price) -> f64| number(price.as_ref().map_or(0.0, of));
    let input: &[&str] = match facts.sees_pictures {
        Some(false) => &["text"],
        _ => &["text", "image"],
    };
    json!({
        "id": model.id,
        "name": model.id,
        "api": api_name(api(model.provider, model.id, &registry.facts.providers)),
        "provider": model.provider,
        "baseUrl": base_url,
        "reasoning": facts.thinks == Some(true),
        "input": input,
        "cost": {
            "input": cost(|price| price.input),
            "output": cost(|price| price.output),
            "cacheRead": cost(|price| price.cache_read.unwrap_or(price.input)),
            "cacheWrite": cost(|price| price.cache_write.unwrap_or(price.input)),
        },
        "contextWindow": facts.context_window.unwrap_or(USUAL_WINDOW),
        "maxTokens": facts.max_tokens.unwrap_or(USUAL_ANSWER),
    })
}

/// pi's name for an interface.
fn api_name(api: Api) -> &'static str {
    match api {
        Api::OpenAi => "openai-completions",
        Api::Anthropic => "anthropic-messages",
        Api::Responses => "openai-responses",
        Api::Gemini => "google-generative-ai",
    }
}

/// A number as JavaScript writes it: a whole one without a point.
fn number(value: f64) -> Value {
    match value.fract() == 0.0 {
        true => json!(value as i64),
        false => json!(value),
    }
}

/// A model of an extension's provider.
pub fn model_of(definition: &ProviderDefinition, id: &str) -> Option<Value> {
    definition_of(definition, id).map(|model| shown(definition, model))
}

/// The error that there is no such model.
pub fn unlisted(definition: &ProviderDefinition, id: &str) -> String {
    let models = definition.models.iter().flatten();
    let known: Vec<&str> = models.map(|model| model.id.as_str()).collect();
    let name = &definition.name;
    format!(
        "the provider {name} has no model `{id}`; there are {}",
        known.join(", ")
    )
}

/// The extension's definition of a model.
pub fn definition_of<'a>(definition: &'a ProviderDefinition, id: &str) -> Option<&'a ModelDefinition> {
    let mut models = definition.models.iter().flatten();
    models.find(|model| model.id == id)
}

fn shown(definition: &ProviderDefinition, model: &ModelDefinition) -> Value {
    let api = model.api.as_ref().or(definition.api.as_ref());
    let base_url = model.base_url.as_ref().or(definition.base_url.as_ref());
    let mut shown = json!({
        "id": model.id,
        "name": model.name.as_ref().unwrap_or(&model.id),
        "api": api.map_or("openai-completions", String::as_str),
        "provider": definition.name,
        "baseUrl": base_url.map_or("", String::as_str),
        "reasoning": model.reasoning,
        "input": model.input,
        "cost": model.cost,
        "contextWindow": model.context_window,
        "maxTokens": model.max_tokens,
        "headers": model.headers,
    });
    if let Value::Object(fields) = &mut shown {
        for (name, value) in &model.other {
            fields.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    shown
}
