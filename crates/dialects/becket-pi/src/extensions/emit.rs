//! Sends the events of an extension to all others, over the bus.

use std::sync::Arc;

use becket_js::Extension;
use serde_json::Value;

use super::registry::ExtensionRegistry;
use crate::services::BusEvent;

/// Sends an event to all other listeners. It is delivered when the sender is done, because an extension cannot be
/// called while it is calling the host.
pub fn emit(registry: &Arc<ExtensionRegistry>, speaker: &str, channel: &str, data: &Value) {
    for listener in registry.extensions.listeners(channel, speaker) {
        let event = BusEvent {
            channel: channel.to_owned(),
            data: data.clone(),
        };
        if registry.bus.keep(listener.name(), event) {
            tokio::spawn(tell(Arc::clone(registry), listener));
        }
    }
}

async fn tell(registry: Arc<ExtensionRegistry>, listener: Extension) {
    while let Some(event) = registry.bus.next(listener.name()) {
        if let Err(failure) = registry.ask(&listener, &event, registry.facts.timeout).await {
            let (name, channel) = (listener.name(), event.channel);
            registry.warn(&format!(
                "the extension {name} failed (event:{channel}): {failure}"
            ));
        }
    }
}
