//! The result of a dispatch: all replies folded into one, and the failures.

use becket_events::{Event, Reply, Verdict};

use crate::ReportedFailure;

/// All replies of one event combined, plus the failures.
pub struct Outcome<E: Event> {
    /// The folded reply. A failed guard counts as a refusal.
    pub reply: E::Reply,
    /// The handlers that failed, in the order in which they count.
    pub failures: Vec<ReportedFailure>,
    /// The handlers that gave the final verdict.
    pub deciders: Vec<String>,
}

impl<E: Event> Outcome<E> {
    /// The verdict, if the event has one and a handler gave it.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.reply.verdict()
    }

    /// Why the action must not happen, if it is denied.
    pub fn denied(&self) -> Option<&str> {
        match self.verdict() {
            Some(Verdict::Deny(reason)) => Some(reason),
            _ => None,
        }
    }
}

impl<E: Event> Default for Outcome<E> {
    fn default() -> Self {
        Self {
            reply: E::Reply::default(),
            failures: Vec::new(),
            deciders: Vec::new(),
        }
    }
}
