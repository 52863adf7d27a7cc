//! A front that shows a failure of a hook once, and counts how often it happens again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use becket_agent::front::{Front, FrontUpdate, Question, UserAnswer};
use futures_util::future::BoxFuture;

/// How many different failures are told apart in one prompt.
const MOST: usize = 1000;

/// Shows everything on another front, but each failure of a hook only once for a prompt.
pub struct RepeatedFailures {
    front: Arc<dyn Front>,
    counts: Mutex<BTreeMap<String, u64>>,
}

impl RepeatedFailures {
    /// Shows on that front.
    pub fn folded(front: impl Front + 'static) -> Arc<dyn Front> {
        Arc::new(Self {
            front: Arc::new(front),
            counts: Mutex::default(),
        })
    }

    /// Whether this is a failure that was shown before; it is counted.
    fn is_repeated(&self, update: &FrontUpdate<'_>) -> bool {
        let failure = match update {
            FrontUpdate::HookFailed(failure) => failure.to_string(),
            FrontUpdate::Within { update, .. } => return self.is_repeated(update),
            _ => return false,
        };
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() == MOST && !counts.contains_key(&failure) {
            return false;
        }
        let count = counts.entry(failure).or_insert(0);
        *count += 1;
        *count > 1
    }

    fn tell_counts(&self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        for (failure, count) in std::mem::take(&mut *counts) {
            if count > 1 {
                let words = format!("{failure} ({count} times; `becket trace` shows each)");
                self.front.show(FrontUpdate::Warning(&words));
            }
        }
    }
}

impl Front for RepeatedFailures {
    fn show(&self, update: FrontUpdate<'_>) {
        if !self.is_repeated(&update) {
            self.front.show(update);
        }
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, UserAnswer> {
        self.front.ask(question)
    }

    fn wants_previews(&self) -> bool {
        self.front.wants_previews()
    }

    fn settled(&self) {
        self.tell_counts();
        self.front.settled();
    }
}

impl Drop for RepeatedFailures {
    /// Hooks may fail after the last prompt, too.
    fn drop(&mut self) {
        self.tell_counts();
    }
}
