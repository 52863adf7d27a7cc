//! Which provider of an extension's serves a model's name.

use std::sync::Arc;

use becket_agent::provider::Provider;
use becket_js::Extension;
use becket_providers::{KEY_VARIABLES, address, has_key, select as select_known};
use url::Url;

use super::board::{Board, Guest};
use super::described::Described;
use super::models;
use super::provider::{StreamProvider, entry, key};
use crate::host_call::ProviderDefinition;

/// The model, written `provider/name` or as a provider alone; `None` if no extension brings its provider.
pub fn select(board: &Arc<Board>, name: &str) -> Option<Result<Arc<dyn Provider>, String>> {
    let (provider, model) = match name.split_once('/') {
        Some((provider, model)) => (provider, Some(model).filter(|model| !model.is_empty())),
        None => (name, None),
    };
    let (definition, extension) = found(board, provider)?;
    Some(match definition.streams {
        true => StreamProvider::new(board, &extension, definition, model).map(|made| Arc::new(made) as _),
        false => known(board, &definition, extension.name(), model),
    })
}

/// One that becket's own clients can serve, at the address that the extension names. A key that the person has given
/// goes to no address of which the person knows nothing.
fn known(
    board: &Board,
    definition: &ProviderDefinition,
    extension: &str,
    id: Option<&str>,
) -> Result<Arc<dyn Provider>, String> {
    let facts = &board.facts;
    let mut settings = facts.providers.clone();
    let first = definition.models.iter().flatten().next();
    let id = id.or(first.map(|model| model.id.as_str()));
    // Where only the address of a known provider changes, its models stay what they were.
    if let (Some(id), Some(_)) = (id, first)
        && models::definition_of(definition, id).is_none()
    {
        return Err(models::unlisted(definition, id));
    }
    let given = entry(board, definition, id.unwrap_or_default())?;
    let keeps_key = given.key.is_none()
        && given
            .base_url
            .as_ref()
            .is_some_and(|wanted| leads_away(board, &definition.name, wanted, extension));
    let entry = settings.providers.entry(definition.name.clone()).or_default();
    if keeps_key {
        (entry.key, entry.key_variable) = (None, None);
        entry.headers.clear();
    }
    entry.api = given.api.or(entry.api);
    entry.base_url = given.base_url.or(entry.base_url.take());
    entry.key = given.key.or(entry.key.take());
    entry.headers.extend(given.headers);
    let is_kept = |variable: &str| keeps_key && KEY_VARIABLES.contains(&variable);
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
    Ok(match model {
        Some(model) => Arc::new(Described::new(provider, model)),
        None => provider,
    })
}

/// Whether an extension sends a provider's requests elsewhere than the person does, who is told if there is a key that
/// stays here.
fn leads_away(board: &Board, provider: &str, wanted: &str, extension: &str) -> bool {
    let facts = &board.facts;
    let environment = |name: &str| facts.surroundings.variable(name);
    let own = address(provider, &environment, &facts.providers).map(|own| own.origin());
    if own.is_some_and(|own| Url::parse(wanted).is_ok_and(|wanted| wanted.origin() == own)) {
        return false;
    }
    if has_key(provider, &environment, &facts.providers) {
        board.warn_once(&format!(
            "the extension {extension} sends requests for {provider} to {wanted}; your key for {provider} is not sent \
             there. If it should be, write base_url = {wanted:?} under [providers.{provider}] in the settings, or let \
             the extension name the key itself (apiKey)"
        ));
    }
    true
}

/// The provider of that name, the one that was registered last, with its extension.
fn found(board: &Board, name: &str) -> Option<(ProviderDefinition, Extension)> {
    let look = |guest: &Guest| {
        let definition = guest.providers.iter().find(|provider| provider.name == name)?;
        Some((definition.clone(), guest.extension.clone()?))
    };
    board.each(look).into_iter().flatten().next_back()
}

impl Board {
    /// What an extension says about a provider.
    pub fn provider(&self, name: &str) -> Option<ProviderDefinition> {
        found(self, name).map(|(definition, _)| definition)
    }

    /// All providers of extensions.
    pub fn providers(&self) -> Vec<ProviderDefinition> {
        self.each(|guest| guest.providers.clone()).concat()
    }

    /// Whether there is a key for a provider, or none is needed.
    pub fn model_can_be_had(&self, definition: &ProviderDefinition) -> bool {
        definition.api_key.is_none() || key(self, definition).is_some()
    }
}
