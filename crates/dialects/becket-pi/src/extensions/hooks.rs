//! The hooks of extensions: kept until there is an engine, and registered there.
//!
//! An extension that could not be loaded, or is being loaded again, counts as a guard: its guards refuse.

use std::sync::Arc;

use becket_hooks::{Cause, Engine, Failure, LaneKind, ScriptHandler, Unanswerable};

use super::extension_list::{Guest, Hook};
use super::registry::{ExtensionRegistry, Stage};
use crate::ExtensionOwner;

/// Records that an extension could not be loaded: its registrations are dropped, and its guards refuse everything.
pub fn reject(registry: &ExtensionRegistry, name: &str, trouble: String) {
    registry.extensions.with(name, |guest| {
        *guest = Guest {
            trouble: Some(trouble),
            ..Guest::new(guest.candidate.clone())
        };
    });
    refuse_all(registry, name);
}

/// Sets the agent's parts: hooks that have waited are registered now.
pub fn set_stage(registry: &ExtensionRegistry, stage: Stage) {
    let stage = Arc::new(stage);
    registry.state().stage = Some(Arc::clone(&stage));
    let waiting = registry.extensions.each(|guest| {
        let hooks = guest.hooks.iter();
        let hooks: Vec<(String, u32)> = hooks
            .filter(|hook| !hook.is_stale)
            .map(|hook| (hook.event.clone(), hook.number))
            .collect();
        (guest.candidate.name.clone(), hooks)
    });
    for (name, hooks) in waiting {
        for (event, number) in hooks {
            register(registry, &name, &event, number);
        }
        refuse_for_stale_guards(registry, &name, &stage.engine);
    }
}

/// Registers refusals, at all guards, for an extension that could not be loaded, since its guards are unknown.
pub(super) fn refuse_all(registry: &ExtensionRegistry, name: &str) {
    registry.extensions.with(name, |guest| {
        for event in crate::guard_events()
            .into_iter()
            .filter(|_| guest.trouble.is_some())
        {
            if !guest
                .hooks
                .iter()
                .any(|hook| hook.is_stale && hook.event == event)
            {
                guest.hooks.push(Hook {
                    event: event.to_owned(),
                    number: 0,
                    key: None,
                    is_stale: true,
                });
            }
        }
    });
    registry
        .stage()
        .iter()
        .for_each(|stage| refuse_for_stale_guards(registry, name, &stage.engine));
}

/// Adds a function for an event: it is registered at once if there is an engine, else as soon as there is one. The
/// error names the guard that was probably meant by an event that does not exist; the extension then counts as one
/// that could not be loaded, however it handles the error.
pub fn add(registry: &ExtensionRegistry, name: &str, event: String, number: u32) -> Result<(), String> {
    if let Some(guard) = crate::misspelt_guard(&event) {
        let words = format!("there is no event `{event}`; did you mean `{guard}`?");
        registry
            .extensions
            .with(name, |guest| guest.trouble = Some(words.clone()));
        refuse_all(registry, name);
        return Err(words);
    }
    let is_new = Hook {
        event: event.clone(),
        number,
        key: None,
        is_stale: false,
    };
    registry.extensions.with(name, |guest| guest.hooks.push(is_new));
    register(registry, name, &event, number);
    Ok(())
}

/// Registers a function for its event, if there is an engine.
pub(super) fn register(registry: &ExtensionRegistry, name: &str, event: &str, number: u32) {
    // These are called without the engine (`direct.rs`).
    if crate::DIRECT.contains(&event) {
        return;
    }
    let Some(stage) = registry.stage() else { return };
    let extension = registry.extensions.get(name);
    let (Some(extension), Some(owner)) = (extension, owner(registry, name)) else {
        return;
    };
    let handler = extension.handler(number, registry.facts.timeout);
    match crate::register(&stage.engine, event, handler, &owner) {
        Ok(key) => {
            registry.extensions.with(name, |guest| {
                let hook = guest.hooks.iter_mut().find(|hook| hook.is(number));
                hook.into_iter().for_each(|hook| hook.key = Some(key));
            });
        }
        Err(remark) => registry.warn(&remark),
    }
}

/// Removes a function from its event.
pub fn remove(registry: &ExtensionRegistry, name: &str, number: u32) {
    let key = registry.extensions.with(name, |guest| {
        let at = guest.hooks.iter().position(|hook| hook.is(number))?;
        guest.hooks.remove(at).key
    });
    if let (Some(Some(key)), Some(stage)) = (key, registry.stage()) {
        stage.engine.remove(key);
    }
}

/// Removes an extension with all its registrations.
pub(super) fn dismiss(registry: &ExtensionRegistry, name: &str) {
    let hooks = registry
        .extensions
        .with(name, |guest| std::mem::take(&mut guest.hooks));
    unregister(registry, hooks.unwrap_or_default());
    registry.extensions.remove(name);
}

/// Removes hooks from the engine.
pub(super) fn unregister(registry: &ExtensionRegistry, hooks: Vec<Hook>) {
    let Some(stage) = registry.stage() else { return };
    for key in hooks.into_iter().filter_map(|hook| hook.key) {
        stage.engine.remove(key);
    }
}

/// Registers refusals for the guards of an extension that is being loaded again, or could not be.
fn refuse_for_stale_guards(registry: &ExtensionRegistry, name: &str, engine: &Engine) {
    let words = match registry.extensions.trouble(name) {
        Some(trouble) => format!("it could not be loaded: {trouble}"),
        None => "what ran it has ended, and it is being loaded again".to_owned(),
    };
    let failure = Failure::new(Cause::SpawnFailed, words);
    let refusing: Arc<dyn ScriptHandler> = Arc::new(Unanswerable(failure));
    let Some(owner) = owner(registry, name) else {
        return;
    };
    registry.extensions.with(name, |guest| {
        for hook in guest
            .hooks
            .iter_mut()
            .filter(|hook| hook.is_stale && hook.key.is_none())
        {
            hook.key = crate::register(engine, &hook.event, Arc::clone(&refusing), &owner).ok();
        }
    });
}

/// The owner of an extension's hooks, which decides their order.
fn owner(registry: &ExtensionRegistry, name: &str) -> Option<ExtensionOwner> {
    let (order, file) = registry.extensions.position(name)?;
    Some(ExtensionOwner {
        name: name.to_owned(),
        source: file.display().to_string(),
        // Numbers with the same length sort as text in their numeric order.
        order: vec![format!("{order:05}")],
        timeout: registry.facts.timeout,
        lane: LaneKind::Javascript,
        priority: 0,
    })
}
