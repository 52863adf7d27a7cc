//! What can be undone, and what was killed and can be inserted again.

use super::buffer::{Buffer, Snapshot};

/// How many steps can be undone.
const MOST_STEPS: usize = 500;
/// How many killed texts are kept.
const MOST_KILLS: usize = 60;

/// The steps that can be undone, and those that were.
#[derive(Default)]
pub(super) struct Undo {
    before: Vec<Snapshot>,
    after: Vec<Snapshot>,
}

impl Undo {
    /// Remembers a text that is about to change.
    pub(super) fn remember(&mut self, snapshot: Snapshot) {
        self.before.push(snapshot);
        if self.before.len() > MOST_STEPS {
            self.before.remove(0);
        }
    }

    /// Nothing can be done again after a new change.
    pub(super) fn forget_undone(&mut self) {
        self.after.clear();
    }

    /// Undoes the last step.
    pub(super) fn undo(&mut self, buffer: &mut Buffer) {
        if let Some(snapshot) = self.before.pop() {
            self.after.push(buffer.restore(snapshot));
        }
    }

    /// Does again what was undone last.
    pub(super) fn redo(&mut self, buffer: &mut Buffer) {
        if let Some(snapshot) = self.after.pop() {
            self.before.push(buffer.restore(snapshot));
        }
    }
}

/// The side of the cursor on which a text is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

/// Killed texts, oldest first.
#[derive(Default)]
pub(super) struct KillRing(Vec<String>);

impl KillRing {
    pub(super) fn add(&mut self, killed: String) {
        self.0.push(killed);
        if self.0.len() > MOST_KILLS {
            self.0.remove(0);
        }
    }

    /// Adds to the last killed text what was killed right after it.
    pub(super) fn extend(&mut self, killed: String, side: Side) {
        match self.0.last_mut() {
            Some(last) if side == Side::Before => last.insert_str(0, &killed),
            Some(last) => last.push_str(&killed),
            None => self.add(killed),
        }
    }

    /// A killed text, counted from the last one; after the oldest one the last one follows.
    pub(super) fn get(&self, back: usize) -> Option<String> {
        let back = back % self.0.len().max(1);
        self.0.iter().rev().nth(back).cloned()
    }
}
