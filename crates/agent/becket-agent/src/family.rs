//! What a session and its sub-agents share while one prompt is answered: whose turn it is to change something, and how
//! many tokens sub-agents may still use.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use becket_events::Usage;
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio_util::sync::CancellationToken;

/// What a session and its sub-agents share.
#[derive(Debug, Default)]
pub(crate) struct Family {
    turns: RwLock<()>,
    tokens: AtomicU64,
    names: AtomicU32,
}

/// Beside which other calls a call may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    /// None.
    Nobody,
    /// Those that change nothing either.
    Readers,
    /// Those that ask agents as well. The calls of these agents take their own turns.
    Agents,
    /// None of the same answer. The calls that it makes take their own turns.
    OwnCalls,
}

/// Nothing that would get in its way happens while it lasts.
pub(crate) enum Turn<'a> {
    Alone { _held: RwLockWriteGuard<'a, ()> },
    Shared { _held: RwLockReadGuard<'a, ()> },
    Free,
}

impl Family {
    /// Waits until a call may be judged and run: one that changes something does neither while another call of the
    /// family does, so that what was judged is what runs. `None` if a cancel came first.
    pub(crate) async fn turn(&self, beside: Beside, cancel: &CancellationToken) -> Option<Turn<'_>> {
        let turn = async {
            match beside {
                Beside::Nobody => Turn::Alone {
                    _held: self.turns.write().await,
                },
                Beside::Readers => Turn::Shared {
                    _held: self.turns.read().await,
                },
                Beside::Agents | Beside::OwnCalls => Turn::Free,
            }
        };
        tokio::select! {
            biased;
            turn = turn => Some(turn),
            () = cancel.cancelled() => None,
        }
    }

    /// Counts what a sub-agent's request cost.
    pub(crate) fn count(&self, usage: Usage) {
        let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
        self.tokens.fetch_add(tokens, Ordering::Relaxed);
    }

    /// How many tokens sub-agents have used.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens.load(Ordering::Relaxed)
    }

    /// A name for a sub-agent that has none.
    pub(crate) fn next_name(&self) -> String {
        format!("subagent-{}", self.names.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
