//! Loads extensions again: between two sessions, and in the middle of one from their changed files.
//!
//! A fresh load keeps an extension's state of one conversation out of another. The engine of a command that has caused
//! the change lives until the command is over, and refuses calls about the session that is gone. Tools and providers
//! find their extension by its name, not by a handle.

use std::sync::Arc;

use becket_hooks::{Failure, Field, ScriptHandler};
use becket_js::{Extension, Kit};

use super::extension_list::{Guest, Hook};
use super::hooks;
use super::input;
use super::loading::{A_WORD, load};
use super::registry::ExtensionRegistry;
use super::tool::{ExtensionTool, Offer};
use crate::Candidate;
use crate::services::{Bind, End};

/// Sets what extensions are loaded with.
pub fn set_kit(registry: &ExtensionRegistry, kit: Arc<Kit>) {
    registry.state().kit = Some(kit);
}

/// Lets extensions act from now on: a session is about to begin.
pub async fn bind(registry: &ExtensionRegistry) {
    set_begun(registry, true);
    for extension in registry.extensions.loaded() {
        if let Err(failure) = registry.ask(&extension, &Bind {}, A_WORD).await {
            registry.fail(extension.name(), None, &failure.to_string());
        }
    }
}

/// Loads all extensions again while there is no session: the events of the sessions tell them that one has ended
/// and another begins. Guards of an extension that cannot be loaded refuse.
pub async fn renew(registry: &Arc<ExtensionRegistry>) {
    let Some(kit) = registry.state().kit.clone() else {
        return;
    };
    set_begun(registry, false);
    for candidate in registry.extensions.each(|guest| guest.candidate.clone()) {
        load_again(registry, &kit, &candidate).await;
    }
    bind(registry).await;
}

/// Loads all extensions again from their files, while the agent is idle: each is told that it ends and that it
/// begins again. New extensions are loaded; those whose files are gone only end.
pub async fn reload(registry: &Arc<ExtensionRegistry>, found: &[Candidate]) {
    let Some(kit) = registry.state().kit.clone() else {
        return;
    };
    let (event, fields) = crate::about_to_be_loaded_again();
    tell_all(registry, event, &fields).await;
    set_begun(registry, false);
    for mut candidate in registry.extensions.each(|guest| guest.candidate.clone()) {
        match found.iter().find(|other| other.file == candidate.file) {
            Some(other) => {
                // The copy may have been made from another version of the file.
                candidate.copy.clone_from(&other.copy);
                registry.extensions.with(&candidate.name, |guest| {
                    guest.candidate.copy.clone_from(&other.copy)
                });
                load_again(registry, &kit, &candidate).await;
            }
            None => {
                end_one(registry, &candidate.name).await;
                hooks::dismiss(registry, &candidate.name);
            }
        }
    }
    let known = registry.extensions.each(|guest| guest.candidate.file.clone());
    for candidate in found.iter().filter(|candidate| !known.contains(&candidate.file)) {
        load_besides(registry, &kit, candidate.clone()).await;
    }
    bind(registry).await;
    let (event, fields) = crate::loaded_again();
    tell_all(registry, event, &fields).await;
}

async fn load_again(registry: &Arc<ExtensionRegistry>, kit: &Arc<Kit>, candidate: &Candidate) {
    let name = &candidate.name;
    let before = registry.extensions.get(name);
    end_one(registry, name).await;
    prepare(registry, name);
    registry.extensions.with(name, |guest| guest.extension = None);
    // Destructors may use the registry, so they run after the lock is released.
    drop(before);
    let loaded = Extension::load(kit, name, candidate.code()).await;
    let loaded = loaded.map(|extension| {
        registry.extensions.set_loaded(name, extension);
        catch_up(registry, name);
    });
    finish(registry, name, loaded);
}

/// Loads a new extension, under a unique name.
async fn load_besides(registry: &Arc<ExtensionRegistry>, kit: &Arc<Kit>, mut candidate: Candidate) {
    let names = registry.extensions.each(|guest| guest.candidate.name.clone());
    let given = candidate.name.clone();
    let mut number = 1;
    while names.contains(&candidate.name) {
        number += 1;
        candidate.name = format!("{given}-{number}");
    }
    match load(kit, registry, &candidate).await {
        Ok(()) => catch_up(registry, &candidate.name),
        Err(words) => registry.warn(&words),
    }
}

/// Ends an extension, except for a command that continues in another session.
async fn end_one(registry: &ExtensionRegistry, name: &str) {
    if let Some(extension) = registry.extensions.get(name) {
        let _ = registry.ask(&extension, &End {}, A_WORD).await;
    }
    let undoing = registry
        .extensions
        .with(name, |guest| std::mem::take(&mut guest.undoing));
    for undone in undoing.into_iter().flatten() {
        registry.ui(|ui| ui.show(name, undone)).unwrap_or_default();
    }
    registry.components.forget(name);
    input::stop_listening(registry, name);
    registry.session.config().take_tools_of(name);
}

/// Calls the functions of all extensions for an event.
async fn tell_all(registry: &ExtensionRegistry, event: &str, fields: &[Field]) {
    for extension in registry.extensions.loaded() {
        tell_one(registry, &extension, event, fields).await;
    }
}

/// Calls the functions of one extension for an event.
pub async fn tell_one(registry: &ExtensionRegistry, extension: &Extension, event: &str, fields: &[Field]) {
    let hooks = registry.extensions.with(extension.name(), |guest| {
        let heard = guest.hooks.iter().filter(|hook| hook.event == event);
        heard.map(|hook| hook.number).collect::<Vec<_>>()
    });
    for number in hooks.unwrap_or_default() {
        let handler: Arc<dyn ScriptHandler> = extension.handler(number, registry.facts.timeout);
        if let Err(failure) = handler.call(fields.to_vec()).await {
            registry.fail(extension.name(), Some(event), &failure.to_string());
        }
    }
}

/// Passes on the hooks and tools that an extension has registered while it was loaded.
fn catch_up(registry: &Arc<ExtensionRegistry>, name: &str) {
    let brought = registry.extensions.with(name, |guest| {
        let hooks = guest.hooks.iter().filter(|hook| hook.is_waiting());
        let hooks: Vec<(String, u32)> = hooks.map(|hook| (hook.event.clone(), hook.number)).collect();
        (hooks, guest.tools.clone(), guest.extension.clone())
    });
    let Some((hooks, tools, Some(extension))) = brought else {
        return;
    };
    for (event, number) in hooks {
        hooks::register(registry, name, &event, number);
    }
    let Some(stage) = registry.stage() else { return };
    for definition in tools {
        let offer = Offer {
            extension: extension.clone(),
            definition,
        };
        match ExtensionTool::new(offer, registry, &stage.profile) {
            Ok(tool) => registry.session.config().add_tool(Arc::new(tool)),
            Err(why) => registry.warn(&why),
        }
    }
}

/// Prepares an extension for being loaded again: all registrations are dropped, and its guards refuse.
pub fn prepare(registry: &ExtensionRegistry, name: &str) {
    let guards = crate::guard_events();
    let gone = registry.extensions.with(name, |guest| {
        let all = std::mem::take(&mut guest.hooks).into_iter();
        let (mut kept, gone): (Vec<Hook>, Vec<Hook>) =
            all.partition(|hook| guards.contains(&hook.event.as_str()));
        kept.iter_mut().for_each(|hook| hook.is_stale = true);
        *guest = Guest {
            extension: guest.extension.take(),
            life: guest.life + 1,
            hooks: kept,
            ..Guest::new(guest.candidate.clone())
        };
        gone
    });
    hooks::unregister(registry, gone.unwrap_or_default());
}

/// Records that an extension was loaded again, or could not be.
pub fn finish(registry: &Arc<ExtensionRegistry>, name: &str, loaded: Result<(), Failure>) {
    if let Err(failure) = loaded {
        let trouble = failure.to_string();
        registry.warn(&format!(
            "the extension {name} could not be loaded again: {trouble}; what a guard may judge is refused"
        ));
        registry
            .extensions
            .with(name, |guest| guest.trouble = Some(trouble));
        return hooks::refuse_all(registry, name);
    }
    let back = registry.extensions.with(name, |guest| {
        let all = std::mem::take(&mut guest.hooks).into_iter();
        let (gone, kept): (Vec<Hook>, Vec<Hook>) = all.partition(|hook| hook.is_stale);
        guest.hooks = kept;
        (gone, guest.extension.clone())
    });
    let Some((gone, extension)) = back else { return };
    hooks::unregister(registry, gone);
    if let (Some(extension), true) = (extension, registry.state().has_begun) {
        tokio::spawn(begin_again(Arc::clone(registry), extension));
    }
}

/// Begins the session for an extension that was loaded in the middle of it.
async fn begin_again(registry: Arc<ExtensionRegistry>, extension: Extension) {
    let (event, fields) = crate::loaded_again();
    if let Err(failure) = registry.ask(&extension, &Bind {}, registry.facts.timeout).await {
        return registry.fail(extension.name(), Some(event), &failure.to_string());
    }
    tell_one(&registry, &extension, event, &fields).await;
}

/// Sets whether a session has begun: then extensions that are loaded must be told.
pub(super) fn set_begun(registry: &ExtensionRegistry, has_begun: bool) {
    registry.state().has_begun = has_begun;
}
