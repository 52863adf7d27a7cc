//! Keys of extensions, and what their commands complete: what they bring for a person at a screen.

use std::time::Duration;

use becket_js::Extension;
use becket_screen::{Candidate, normalised};

use super::board::Board;
use crate::services::{CompleteArgument, Ran, RunShortcut};

/// How long what belongs to a key may take. It may ask the person.
const LONGEST: Duration = Duration::from_secs(6 * 60 * 60);

/// How long somebody who types waits for what could be meant.
const A_MOMENT: Duration = Duration::from_secs(5);

/// What belongs to a key.
pub struct Shortcut {
    extension: Extension,
    /// The key, as the extension has named it.
    key: String,
}

impl Board {
    /// The keys of extensions. One that becket needs itself stays becket's, and of several extensions with one key the
    /// last has it; both is said once.
    pub fn shortcut_keys(&self) -> Vec<String> {
        let all = self.each(|guest| {
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
                self.warn_once(&format!(
                    "the key {key} of the extension {name} is not used: becket needs it itself"
                ));
                continue;
            }
            if let Some((_, other)) = taken.iter().find(|(other, _)| *other == plain) {
                let words = format!(
                    "the extensions {other} and {name} both have the key {key}; that of {name} is used"
                );
                self.warn_once(&words);
            }
            taken.retain(|(other, _)| *other != plain);
            taken.push((plain, name));
        }
        taken.into_iter().map(|(key, _)| key).collect()
    }

    /// What belongs to a key that is pressed.
    pub fn shortcut(&self, pressed: impl Fn(&str) -> bool) -> Option<Shortcut> {
        let usable = self.shortcut_keys();
        let all = self.each(|guest| {
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

    /// Runs what belongs to a key; the error says what it threw.
    pub async fn run_shortcut(&self, shortcut: Shortcut) -> Result<(), String> {
        let Shortcut { extension, key } = shortcut;
        let whose = format!("the key {key} of the extension {}", extension.name());
        match self.ask(&extension, &RunShortcut { key }, LONGEST).await {
            Ok(Ran { error: None, .. }) => Ok(()),
            Ok(Ran {
                error: Some(error), ..
            }) => Err(format!("{whose}: {error}")),
            Err(failure) => Err(format!("{whose}: {failure}")),
        }
    }

    /// What the argument of a command could be. Trouble with it is none of the person's who types.
    pub async fn complete_argument(&self, command: &str, prefix: &str) -> Vec<Candidate> {
        let commands = self.commands();
        let found = commands.iter().find(|(typed, ..)| typed == command);
        let Some((_, found, extension)) = found.filter(|(_, found, _)| found.completes) else {
            return Vec::new();
        };
        let extension = self.with(extension, |guest| guest.extension.clone()).flatten();
        let Some(extension) = extension else {
            return Vec::new();
        };
        let service = CompleteArgument {
            name: found.name.clone(),
            prefix: prefix.to_owned(),
        };
        let answer = self.ask(&extension, &service, A_MOMENT).await;
        let completions = answer.ok().flatten().unwrap_or_default().into_iter();
        let candidates = completions.map(|completion| Candidate {
            value: completion.value,
            label: completion.label,
            description: completion.description.unwrap_or_default(),
        });
        candidates.collect()
    }
}
