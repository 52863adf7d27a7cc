//! The data with which an event is shown to a plugin, and with which its answer is read.

use becket_events::Event;

use super::plugin::HostFacts;
use super::words::Words;

/// The data for showing an event and reading an answer.
pub(super) struct Situation<'a, E: Event> {
    pub(super) host: &'a HostFacts,
    pub(super) plugin: &'a str,
    pub(super) words: &'a Words,
    pub(super) context_name: &'a str,
    pub(super) payload: &'a E::Payload,
}

/// The data that stay the same for all calls of a plugin.
pub(super) struct Teller {
    pub(super) host: HostFacts,
    pub(super) plugin: String,
    pub(super) words: &'static Words,
}

impl Teller {
    /// The data for one event.
    pub(super) fn situation<'a, E: Event>(
        &'a self,
        payload: &'a E::Payload,
        context_name: &'a str,
    ) -> Situation<'a, E> {
        Situation {
            host: &self.host,
            plugin: &self.plugin,
            words: self.words,
            context_name,
            payload,
        }
    }
}
