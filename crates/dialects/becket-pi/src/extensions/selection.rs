//! Selects an extension's provider for a model's name.

use std::sync::Arc;

use becket_agent::provider::Provider;
use becket_js::Extension;
use becket_providers::{KEY_VARIABLES, ProviderSettings, address, has_key, select as select_known};
use serde_json::Value;
use url::Url;

use super::described::Described;
use super::extension_list::Guest;
use super::models;
use super::provider::{StreamProvider, entry};
use super::registry::ExtensionRegistry;
use crate::host_call::{DirectWay, ProviderDefinition};

/// The provider for a model, written `provider/name` or as a provider alone; `None` if no extension brings its
/// provider.
pub fn select(registry: &Arc<ExtensionRegistry>, name: &str) -> Option<Result<Arc<dyn Provider>, String>> {
    let (provider, model) = match name.split_once('/') {
        Some((provider, model)) => (provider, Some(model).filter(|model| !model.is_empty())),
        None => (name, None),
    };
    let (definition, extension) = found(registry, provider)?;
    Some(match definition.streams {
        true => StreamProvider::new(registry, &extension, definition, model)
            .map(|made| registry.facts.providers.paid(Arc::new(made))),
        false => known(registry, &definition, extension.name(), model),
    })
}

/// A provider that becket's own clients serve, at the address that the extension names. The user's key is not sent to
/// an address that the user has not configured.
fn known(
    registry: &ExtensionRegistry,
    definition: &ProviderDefinition,
    extension: &str,
    id: Option<&str>,
) -> Result<Arc<dyn Provider>, String> {
    let facts = &registry.facts;
    // The budget counts by the extension's prices.
    let mut settings = ProviderSettings {
        budget: None,
        ..facts.providers.clone()
    };
    let first = definition.models.iter().flatten().next();
    let id = id.or(first.map(|model| model.id.as_str()));
    // If only the address of a known provider changes, its models are unchanged.
    if let (Some(id), Some(_)) = (id, first)
        && models::definition_of(definition, id).is_none()
    {
        return Err(models::unlisted(definition, id));
    }
    let given = entry(registry, definition, id.unwrap_or_default())?;
    let wanted = given.base_url.as_deref();
    let wanted = wanted.filter(|wanted| leads_away(registry, &definition.name, wanted));
    if let (Some(wanted), None) = (wanted, &given.key) {
        warn_of_key(registry, &definition.name, wanted, extension);
    }
    let is_elsewhere = wanted.is_some();
    let entry = settings.providers.entry(definition.name.clone()).or_default();
    if is_elsewhere {
        (entry.key, entry.key_variable) = (None, None);
        // They may hold another key or a token, whatever the extension sends itself.
        entry.headers.clear();
    }
    entry.api = given.api.or(entry.api);
    entry.base_url = given.base_url.or(entry.base_url.take());
    entry.key = given.key.or(entry.key.take());
    entry.headers.extend(given.headers);
    let is_kept = |variable: &str| is_elsewhere && KEY_VARIABLES.contains(&variable);
    let environment = |variable: &str| match is_kept(variable) {
        true => None,
        false => facts.surroundings.variable(variable),
    };
    let name = match id {
        Some(id) => format!("{}/{id}", definition.name),
        None => definition.name.clone(),
    };
    let provider = select_known(Some(&name), &environment, &settings).map_err(|error| error.to_string())?;
    let model = id.and_then(|id| models::definition_of(definition, id));
    Ok(facts.providers.paid(match model {
        Some(model) => Arc::new(Described::new(provider, model, &facts.providers.prices)),
        None => provider,
    }))
}

/// The client for a model to which an extension names the way itself. It gets no key but the extension's own, or the
/// user's at the user's address.
pub fn directly(
    registry: &ExtensionRegistry,
    extension: &str,
    way: &DirectWay,
    model: &Value,
) -> Result<Arc<dyn Provider>, String> {
    let word = |name: &str| model[name].as_str().map(ToOwned::to_owned);
    let definition = ProviderDefinition {
        name: word("provider").unwrap_or_default(),
        label: None,
        base_url: word("baseUrl").filter(|address| !address.is_empty()),
        api_key: way.api_key.clone(),
        api: Some(way.api.clone()),
        headers: way.headers.clone().unwrap_or_default(),
        auth_header: false,
        oauth: false,
        models: None,
        streams: false,
    };
    known(registry, &definition, extension, word("id").as_deref())
}

/// Whether an address is on another server than the one that the user has for a provider.
fn leads_away(registry: &ExtensionRegistry, provider: &str, wanted: &str) -> bool {
    let facts = &registry.facts;
    let environment = |name: &str| facts.surroundings.variable(name);
    let own = address(provider, &environment, &facts.providers).map(|own| own.origin());
    !own.is_some_and(|own| Url::parse(wanted).is_ok_and(|wanted| wanted.origin() == own))
}

/// If the user has a key for a provider, warns that it is not sent to the address that an extension names.
fn warn_of_key(registry: &ExtensionRegistry, provider: &str, wanted: &str, extension: &str) {
    let facts = &registry.facts;
    let environment = |name: &str| facts.surroundings.variable(name);
    if has_key(provider, &environment, &facts.providers) {
        registry.warn_once(&format!(
            "the extension {extension} sends requests for {provider} to {wanted}; your key for {provider} is not sent \
             there. If it should be, write base_url = {wanted:?} under [providers.{provider}] in the settings, or let \
             the extension name the key itself (apiKey)"
        ));
    }
}

/// The provider with that name, of the last extension that brings one, with the extension.
fn found(registry: &ExtensionRegistry, name: &str) -> Option<(ProviderDefinition, Extension)> {
    let look = |guest: &Guest| {
        let definition = guest.providers.iter().find(|provider| provider.name == name)?;
        Some((definition.clone(), guest.extension.clone()?))
    };
    registry.extensions.each(look).into_iter().flatten().next_back()
}
