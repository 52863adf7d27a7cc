//! Which provider of an extension's serves a model's name.

use std::sync::Arc;

use becket_agent::provider::Provider;
use becket_dialects::pi::host_call::ProviderDefinition;
use becket_js::Extension;
use becket_providers::select as select_known;

use super::board::{Board, Guest};
use super::models;
use super::provider::{StreamProvider, entry, key};

/// The model, written `provider/name` or as a provider alone; `None` if no extension brings its provider.
pub fn select(board: &Arc<Board>, name: &str) -> Option<Result<Arc<dyn Provider>, String>> {
    let (provider, model) = match name.split_once('/') {
        Some((provider, model)) => (provider, Some(model).filter(|model| !model.is_empty())),
        None => (name, None),
    };
    let (definition, extension) = found(board, provider)?;
    Some(match definition.streams {
        true => StreamProvider::new(board, extension, definition, model).map(|made| Arc::new(made) as _),
        false => known(board, &definition, model),
    })
}

/// One that becket's own clients can serve, at the address that the extension names.
fn known(
    board: &Board,
    definition: &ProviderDefinition,
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
    let entry = settings.providers.entry(definition.name.clone()).or_default();
    entry.api = given.api.or(entry.api);
    entry.base_url = given.base_url.or(entry.base_url.take());
    entry.key = given.key.or(entry.key.take());
    entry.headers.extend(given.headers);
    let environment = |name: &str| facts.surroundings.variable(name);
    let name = match id {
        Some(id) => format!("{}/{id}", definition.name),
        None => definition.name.clone(),
    };
    select_known(Some(&name), &environment, &settings).map_err(|error| error.to_string())
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
