//! The bus between extensions: each event of an extension is delivered to all others in the order in which it was sent.
//!
//! Each listener has its own queue, so that a slow one blocks no other. The end of a session waits for the queues, up
//! to a limit.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;

use crate::services::BusEvent;

/// The events that were sent and not delivered yet.
#[derive(Default)]
pub struct Bus {
    /// The queues by listener. A listener with an entry has a running delivery.
    waiting: Mutex<HashMap<String, VecDeque<BusEvent>>>,
    heard: Notify,
}

impl Bus {
    /// Waits until all events are delivered, up to a limit.
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
        // Events that are not delivered until then are lost.
        let _ = tokio::time::timeout(longest, silence).await;
    }

    /// Adds an event to a listener's queue. Returns whether a delivery must be started.
    pub fn keep(&self, listener: &str, event: BusEvent) -> bool {
        let mut waiting = self.waiting();
        let begins = !waiting.contains_key(listener);
        waiting.entry(listener.to_owned()).or_default().push_back(event);
        begins
    }

    /// The next event for a listener; without one its delivery ends.
    pub fn next(&self, listener: &str) -> Option<BusEvent> {
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
