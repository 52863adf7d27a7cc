//! The store as the web page reads it: the record of its sessions.

use becket_agent::store::StoreError;
use becket_store::{Beginning, SessionSummary, SqliteStore};

use super::asked::{Asked, Stretch};
use super::tree::{Branch, BranchStart};

/// How many turns are shown at once, the last ones first.
pub(super) const TURNS: u64 = 100;

/// The store as the web page reads it.
pub struct Record {
    pub(super) store: SqliteStore,
}

impl Record {
    /// The record of a store.
    pub fn of(store: SqliteStore) -> Self {
        Self { store }
    }

    /// One session's part of the tree, from a turn on.
    pub(super) fn branch(
        &self,
        number: usize,
        session: &SessionSummary,
        from: &Beginning,
    ) -> Result<Branch, StoreError> {
        let entries = self.store.record().written_by(&session.id, from)?;
        let traces = self.store.record().traced_in(&session.id, from)?;
        let (mut asked, mut stretches) = (Vec::new(), Vec::new());
        for trace in &traces {
            match Asked::read(trace) {
                Some(dispatch) => asked.push(dispatch),
                None => stretches.extend(Stretch::read(trace)),
            }
        }
        let place = BranchStart {
            lane: number,
            turn: from.turn,
            after_ms: match from.turn {
                1 => session.started_ms,
                _ => from.after_ms,
            },
        };
        Ok(Branch::grow(place, entries, asked, stretches))
    }

    /// Where the first turn of a session begins.
    pub(super) fn first_turn(&self, session: &SessionSummary) -> Result<Beginning, StoreError> {
        self.store.record().beginning(&session.id, Some(1), TURNS)
    }
}
