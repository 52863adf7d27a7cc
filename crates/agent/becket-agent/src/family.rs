//! The state that a session shares with its sub-agents while one prompt is answered: whose turn it is to change
//! something, and how many tokens sub-agents may still use.
//!
//! Calls that may not run beside others take turns in the whole family, from judging to running. A long command of one
//! sub-agent holds up the commands of the others; in return, nothing they do changes what judges saw.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio_util::sync::CancellationToken;

/// The state that a session shares with its sub-agents.
#[derive(Debug, Default)]
pub(crate) struct Family {
    turns: RwLock<()>,
    tokens: AtomicU64,
    names: AtomicU32,
}

/// Which other calls a call may run beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    /// No other call.
    Nobody,
    /// Calls that change nothing either.
    Readers,
    /// Other calls that ask agents. The calls that these agents make take their own turns.
    Agents,
    /// No other call of the same answer. The calls that it makes take their own turns.
    OwnCalls,
}

/// Permission to run now: as long as it is held, no conflicting call runs.
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

    /// Counts the tokens of a sub-agent's request.
    pub(crate) fn count(&self, tokens: u64) {
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
