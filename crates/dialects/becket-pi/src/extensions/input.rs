//! Lets extensions see keys before the focused component, and complete the text that the user types.

use std::sync::Arc;
use std::time::Duration;

use becket_screen::{Candidate, Completions, Key, Phase};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::registry::ExtensionRegistry;
use crate::services::{Completion, Suggest, Suggestions, TerminalInput};

/// How long an extension may take to handle a key.
const A_MOMENT: Duration = Duration::from_secs(5);

/// Registers an extension for keys, or removes it.
pub fn intercept(registry: &ExtensionRegistry, extension: &str, on: bool) {
    let mut state = registry.input_listeners.state();
    state.hear.retain(|name| name != extension);
    if on {
        state.hear.push(extension.to_owned());
    }
    let anybody = !state.hear.is_empty();
    drop(state);
    if let Some(screen) = registry.screen() {
        screen.intercept(anybody);
    }
}

/// Removes an extension from both lists.
pub fn stop_listening(registry: &ExtensionRegistry, extension: &str) {
    intercept(registry, extension, false);
    registry
        .input_listeners
        .state()
        .complete
        .retain(|name| name != extension);
}

/// Registers an extension for completions.
pub fn add_completer(registry: &ExtensionRegistry, extension: &str) {
    let mut state = registry.input_listeners.state();
    state.complete.retain(|name| name != extension);
    state.complete.push(extension.to_owned());
    drop(state);
    if let Some(screen) = registry.screen() {
        screen.edit(|editor| editor.triggers.extend(['#', '$']));
    }
}

/// Queues a key that was pressed while extensions see keys. It is passed on, in order, when all have handled it.
pub fn intercepted(registry: &Arc<ExtensionRegistry>, key: Key) {
    let mut state = registry.input_listeners.state();
    let keys = state.keys.get_or_insert_with(|| {
        let (sender, receiver) = unbounded_channel();
        tokio::spawn(pass_on(Arc::clone(registry), receiver));
        sender
    });
    let _ = keys.send(key);
}

async fn pass_on(registry: Arc<ExtensionRegistry>, mut keys: UnboundedReceiver<Key>) {
    while let Some(key) = keys.recv().await {
        let names = registry.input_listeners.state().hear.clone();
        let mut left = Some(key);
        for extension in names.iter().filter_map(|name| registry.extensions.get(name)) {
            let Some(key) = left.take() else { break };
            let service = TerminalInput {
                data: key.raw.clone(),
            };
            left = match registry.ask(&extension, &service, A_MOMENT).await {
                Ok(Some(data)) if data == key.raw || key.phase != Phase::Press => Some(key),
                Ok(Some(data)) => Some(Key::read(&data)),
                Ok(None) => None,
                Err(failure) => {
                    registry.fail(extension.name(), Some("terminal input"), &failure.to_string());
                    intercept(&registry, extension.name(), false);
                    Some(key)
                }
            };
        }
        if let (Some(key), Some(screen)) = (left, registry.screen()) {
            screen.press(&key);
        }
    }
}

/// The completions of the last extension that completes, or of the last one before the given extension, or else of
/// the program.
pub async fn suggest(
    registry: &ExtensionRegistry,
    text: &str,
    before: &str,
    forced: bool,
    than: Option<&str>,
) -> Completions {
    let names = registry.input_listeners.state().complete.clone();
    let end = than.and_then(|than| names.iter().position(|name| name == than));
    let mut asked = names[..end.unwrap_or(names.len())].iter().rev();
    let Some(extension) = asked.find_map(|name| registry.extensions.get(name)) else {
        return match registry.input_listeners.completes.get() {
            Some(completes) => completes(before, forced).await,
            None => Completions::default(),
        };
    };
    let service = Suggest {
        text: text.to_owned(),
        before: before.to_owned(),
        forced,
    };
    match registry.ask(&extension, &service, A_MOMENT).await {
        Ok(Some(found)) => read(found, before),
        Ok(None) => Completions::default(),
        Err(failure) => {
            registry.fail(extension.name(), Some("completion"), &failure.to_string());
            Completions::default()
        }
    }
}

fn read(found: Suggestions, before: &str) -> Completions {
    let candidates = found.items.into_iter().map(|item| Candidate {
        value: item.value,
        label: item.label,
        description: item.description.unwrap_or_default(),
    });
    Completions {
        // As in pi, a command is submitted as soon as it is chosen.
        submits: before.starts_with('/') && !before.contains(char::is_whitespace),
        prefix: found.prefix,
        candidates: candidates.collect(),
    }
}

/// Completions in pi's form.
pub fn written(found: Completions) -> Suggestions {
    let items = found.candidates.into_iter().map(|candidate| Completion {
        value: candidate.value,
        label: candidate.label,
        description: Some(candidate.description).filter(|words| !words.is_empty()),
    });
    Suggestions {
        prefix: found.prefix,
        items: items.collect(),
    }
}
