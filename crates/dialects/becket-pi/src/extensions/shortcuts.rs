//! Keys of extensions, and completions of their commands' arguments: for users with a screen.

use std::time::Duration;

use becket_js::Extension;
use becket_screen::{Candidate, normalised};

use super::commands;
use super::registry::ExtensionRegistry;
use crate::services::{CompleteArgument, Ran, RunShortcut};

/// How long the action of a key may take. It may ask the user.
const LONGEST: Duration = Duration::from_secs(6 * 60 * 60);

/// How long a typing user waits for completions.
const A_MOMENT: Duration = Duration::from_secs(5);

/// The action of a key.
pub struct Shortcut {
    extension: Extension,
    /// The key, as the extension has named it.
    key: String,
}

/// The keys of extensions. A key that becket needs itself stays becket's, and of several extensions with one key
/// the last has it; the user is told once about both.
pub fn keys(registry: &ExtensionRegistry) -> Vec<String> {
    let all = registry.extensions.each(|guest| {
        let keys = guest.shortcuts.iter();
        let named = keys.map(|key| (guest.candidate.name.clone(), key.clone()));
        named.collect::<Vec<_>>()
    });
    let mut taken: Vec<(String, String)> = Vec::new();
    for (name, key) in all.concat() {
        let plain = normalised(&key);
        if crate::RESERVED_KEYS
            .iter()
            .any(|reserved| normalised(reserved) == plain)
        {
            registry.warn_once(&format!(
                "the key {key} of the extension {name} is not used: becket needs it itself"
            ));
            continue;
        }
        if let Some((_, other)) = taken.iter().find(|(other, _)| *other == plain) {
            let words =
                format!("the extensions {other} and {name} both have the key {key}; that of {name} is used");
            registry.warn_once(&words);
        }
        taken.retain(|(other, _)| *other != plain);
        taken.push((plain, name));
    }
    taken.into_iter().map(|(key, _)| key).collect()
}

/// The action of a key that was pressed.
pub fn pressed(registry: &ExtensionRegistry, pressed: impl Fn(&str) -> bool) -> Option<Shortcut> {
    let usable = keys(registry);
    let all = registry.extensions.each(|guest| {
        let extension = guest.extension.iter();
        let keys = extension.flat_map(|extension| {
            let keys = guest.shortcuts.iter();
            let meant = keys.filter(|key| usable.contains(&normalised(key)) && pressed(key));
            meant.map(|key| Shortcut {
                extension: extension.clone(),
                key: key.clone(),
            })
        });
        keys.collect::<Vec<_>>()
    });
    all.into_iter().flatten().last()
}

/// Runs the action of a key; the error is the one that it threw.
pub async fn run(registry: &ExtensionRegistry, shortcut: Shortcut) -> Result<(), String> {
    let Shortcut { extension, key } = shortcut;
    let whose = format!("the key {key} of the extension {}", extension.name());
    match registry.ask(&extension, &RunShortcut { key }, LONGEST).await {
        Ok(Ran { error: None, .. }) => Ok(()),
        Ok(Ran {
            error: Some(error), ..
        }) => Err(format!("{whose}: {error}")),
        Err(failure) => Err(format!("{whose}: {failure}")),
    }
}

/// The possible arguments of a command. Errors are not shown to the typing user.
pub async fn complete_argument(registry: &ExtensionRegistry, command: &str, prefix: &str) -> Vec<Candidate> {
    let commands = commands::all(registry);
    let found = commands.iter().find(|(typed, ..)| typed == command);
    let Some((_, found, extension)) = found.filter(|(_, found, _)| found.completes) else {
        return Vec::new();
    };
    let extension = registry
        .extensions
        .with(extension, |guest| guest.extension.clone())
        .flatten();
    let Some(extension) = extension else {
        return Vec::new();
    };
    let service = CompleteArgument {
        name: found.name.clone(),
        prefix: prefix.to_owned(),
    };
    let answer = registry.ask(&extension, &service, A_MOMENT).await;
    let completions = answer.ok().flatten().unwrap_or_default().into_iter();
    let candidates = completions.map(|completion| Candidate {
        value: completion.value,
        label: completion.label,
        description: completion.description.unwrap_or_default(),
    });
    candidates.collect()
}
