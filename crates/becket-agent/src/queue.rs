//! Words that the person says while the agent is at work.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Two queues that a front end fills and the run empties. Cloning gives another handle to the same queues.
#[derive(Debug, Clone, Default)]
pub struct Queues(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    steering: VecDeque<String>,
    follow_ups: VecDeque<String>,
}

impl Queues {
    /// Words that the model hears as soon as the tools of its current answer have run.
    pub fn steer(&self, text: impl Into<String>) {
        self.waiting().steering.push_back(text.into());
    }

    /// Words that become the next prompt when everything is answered.
    pub fn follow_up(&self, text: impl Into<String>) {
        self.waiting().follow_ups.push_back(text.into());
    }

    /// Whether words are waiting.
    pub fn is_empty(&self) -> bool {
        let waiting = self.waiting();
        waiting.steering.is_empty() && waiting.follow_ups.is_empty()
    }

    pub(crate) fn has_steering(&self) -> bool {
        !self.waiting().steering.is_empty()
    }

    pub(crate) fn take_steering(&self) -> Vec<String> {
        self.waiting().steering.drain(..).collect()
    }

    pub(crate) fn take_follow_up(&self) -> Option<String> {
        self.waiting().follow_ups.pop_front()
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.0.lock().expect("no panic happens while the queues are held")
    }
}
