//! Events of pi that stand behind none of becket's own: extensions are told of them without the engine.

use std::sync::Arc;

use super::registry::ExtensionRegistry;
use super::reload::tell_one;
use crate::fields::Fields;

/// Tells all extensions that listen, beside whatever runs: an extension cannot be called while it calls the host.
pub fn tell(registry: &Arc<ExtensionRegistry>, event: &'static str, add: impl FnOnce(Fields) -> Fields) {
    let is_heard = registry
        .extensions
        .each(|guest| guest.hooks.iter().any(|hook| hook.event == event));
    if registry.stage().is_none() || !is_heard.contains(&true) {
        return;
    }
    let (registry, fields) = (Arc::clone(registry), add(Fields::of(event)).done());
    tokio::spawn(async move {
        for extension in registry.extensions.loaded() {
            tell_one(&registry, &extension, event, &fields).await;
        }
    });
}
