//! Options that extensions bring to the command line.

use becket_host::GivenFlag;

use super::extension_list::Guest;
use super::registry::ExtensionRegistry;
use crate::host_call::{FlagDefinition, FlagValue};

/// An option of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredFlag {
    /// The extension's name.
    pub extension: String,
    /// The option.
    pub definition: FlagDefinition,
}

/// Adds an option of an extension. Several extensions may have one with the same name: all of them get its value.
pub fn add(registry: &ExtensionRegistry, extension: &str, flag: FlagDefinition) {
    let name = flag.name.clone();
    if (registry.facts.own_options)().contains(&name) {
        registry.warn(&format!(
            "the option --{name} of the extension {extension} is never set: becket has one of that name"
        ));
    }
    let known = registered(registry)
        .into_iter()
        .find(|known| known.definition.name == name);
    if let Some(known) = known.filter(|known| known.extension != extension) {
        let first = &known.extension;
        let kind = match known.definition.kind == flag.kind {
            true => String::new(),
            false => format!("; it is read as {first} wants it"),
        };
        registry.warn(&format!(
            "the extensions {first} and {extension} both have an option --{name}{kind}"
        ));
    }
    registry.extensions.with(extension, |guest| {
        guest.flags.retain(|other| other.name != name);
        guest.flags.push(flag);
    });
}

/// All options, the first of each name.
pub fn registered(registry: &ExtensionRegistry) -> Vec<RegisteredFlag> {
    let mut flags: Vec<RegisteredFlag> = Vec::new();
    registry.extensions.each(|guest| {
        for definition in &guest.flags {
            if !flags.iter().any(|flag| flag.definition.name == definition.name) {
                flags.push(RegisteredFlag {
                    extension: guest.candidate.name.clone(),
                    definition: definition.clone(),
                });
            }
        }
    });
    flags
}

/// Sets the options that the command line gives.
pub fn set_given(registry: &ExtensionRegistry, given: &[GivenFlag]) {
    registry.state().given_flags = given.to_vec();
}

/// The value of an extension's option; `None` if the extension does not have it.
pub fn value(registry: &ExtensionRegistry, name: &str, flag: &str) -> Option<FlagValue> {
    let find = |guest: &mut Guest| guest.flags.iter().find(|known| known.name == flag).cloned();
    let definition = registry.extensions.with(name, find).flatten()?;
    let state = registry.state();
    let given = state.given_flags.iter().find(|given| given.name == flag);
    given
        .map(|given| match &given.text {
            Some(text) => FlagValue::String(text.clone()),
            None => FlagValue::Boolean(true),
        })
        .or(definition.default)
}
