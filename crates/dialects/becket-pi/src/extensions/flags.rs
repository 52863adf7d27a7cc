//! Options that extensions bring to the command line.

use super::board::Board;
use crate::host_call::{FlagDefinition, FlagValue};

/// An option of an extension, as the command line sets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenFlag {
    /// Its name, without dashes.
    pub name: String,
    /// What it is set to.
    pub value: FlagValue,
}

impl Board {
    /// An extension has an option. Several may have one of the same name: what the command line says, all of them hear.
    pub fn add_flag(&self, extension: &str, flag: FlagDefinition) {
        let name = flag.name.clone();
        if (self.facts.own_options)().contains(&name) {
            self.warn(&format!(
                "the option --{name} of the extension {extension} is never set: becket has one of that name"
            ));
        }
        let known = self
            .flags()
            .into_iter()
            .find(|known| known.definition.name == name);
        if let Some(known) = known.filter(|known| known.extension != extension) {
            let first = &known.extension;
            let kind = match known.definition.kind == flag.kind {
                true => String::new(),
                false => format!("; it is read as {first} wants it"),
            };
            self.warn(&format!(
                "the extensions {first} and {extension} both have an option --{name}{kind}"
            ));
        }
        self.with(extension, |guest| {
            guest.flags.retain(|other| other.name != name);
            guest.flags.push(flag);
        });
    }
}
