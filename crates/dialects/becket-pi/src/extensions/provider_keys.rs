//! The keys of providers that extensions bring.

use super::registry::ExtensionRegistry;
use crate::host_call::ProviderDefinition;

/// Whether there is a key for a provider, or none is needed.
pub fn model_can_be_had(registry: &ExtensionRegistry, definition: &ProviderDefinition) -> bool {
    definition.api_key.is_none() || key(registry, definition).is_some()
}

/// The provider's key: the value of the variable that it names, else the text itself.
pub fn key(registry: &ExtensionRegistry, definition: &ProviderDefinition) -> Option<String> {
    let named = definition
        .api_key
        .as_deref()
        .filter(|named| !named.starts_with('!'))?;
    let name = variable_name(named);
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_');
    match registry.facts.surroundings.variable(name) {
        Some(key) => Some(key),
        // A name without such a variable is no key.
        None if is_name || named.starts_with('$') => None,
        None => Some(named.to_owned()),
    }
}

/// The variable that holds the key, if it is set.
pub fn key_variable<'a>(registry: &ExtensionRegistry, definition: &'a ProviderDefinition) -> Option<&'a str> {
    let name = variable_name(definition.api_key.as_deref()?);
    registry.facts.surroundings.variable(name).map(|_| name)
}

fn variable_name(named: &str) -> &str {
    named.strip_prefix('$').unwrap_or(named)
}
