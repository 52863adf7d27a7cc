//! The bus between extensions: what one of them says, each of the others hears in the order in which it was said.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use becket_js::Extension;
use serde_json::Value;
use tokio::sync::Notify;

use super::board::Board;
use crate::services::BusEvent;

/// What has been said and not been heard yet.
#[derive(Default)]
pub struct Bus {
    /// By listener. One that has an entry is being told.
    waiting: Mutex<HashMap<String, VecDeque<BusEvent>>>,
    heard: Notify,
}

impl Bus {
    /// Waits until everything has been heard, but no longer than it may take.
    pub async fn quiet(&self, longest: Duration) {
        let silence = async {
            loop {
                let heard = self.heard.notified();
                if self.waiting().is_empty() {
                    break;
                }
                heard.await;
            }
        };
        // Whoever does not listen until then does not listen at all.
        let _ = tokio::time::timeout(longest, silence).await;
    }

    /// Keeps an event for a listener. Says whether somebody has to begin telling it.
    fn keep(&self, listener: &str, event: BusEvent) -> bool {
        let mut waiting = self.waiting();
        let begins = !waiting.contains_key(listener);
        waiting.entry(listener.to_owned()).or_default().push_back(event);
        begins
    }

    /// The next event for a listener; without one nobody tells it anything any more.
    fn next(&self, listener: &str) -> Option<BusEvent> {
        let mut waiting = self.waiting();
        let event = waiting.get_mut(listener).and_then(VecDeque::pop_front);
        if event.is_none() {
            waiting.remove(listener);
            self.heard.notify_waiters();
        }
        event
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, VecDeque<BusEvent>>> {
        self.waiting
            .lock()
            .expect("no panic happens while the bus is held")
    }
}

/// Says something to everybody else who listens. They hear it when the speaker is done: nobody can be called from
/// inside of a call.
pub fn emit(board: &Arc<Board>, speaker: &str, channel: &str, data: &Value) {
    for listener in board.listeners(channel, speaker) {
        let event = BusEvent {
            channel: channel.to_owned(),
            data: data.clone(),
        };
        if board.bus.keep(listener.name(), event) {
            tokio::spawn(tell(Arc::clone(board), listener));
        }
    }
}

async fn tell(board: Arc<Board>, listener: Extension) {
    while let Some(event) = board.bus.next(listener.name()) {
        if let Err(failure) = board.ask(&listener, &event, board.facts.timeout).await {
            let (name, channel) = (listener.name(), event.channel);
            board.warn(&format!(
                "the extension {name} failed (event:{channel}): {failure}"
            ));
        }
    }
}
