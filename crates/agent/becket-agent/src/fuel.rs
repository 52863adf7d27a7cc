//! Fuel: the budget of a prompt before the user is asked again. Without a limit nothing counts. A session and its
//! sub-agents share one tank.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use becket_events::Adjust;

/// The cost of repeating a call that was just answered, besides the round itself.
pub(crate) const REPETITION_COST: u32 = 5;

/// The remaining fuel, if it is limited. A clone shares the same tank.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fuel {
    tank: Option<Arc<AtomicU32>>,
    pub(crate) total: Option<u32>,
    owner: Owner,
}

/// Whose fuel it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Owner {
    /// The user's own prompt: hooks may add to it.
    #[default]
    Prompt,
    /// A sub-agent: hooks may only take away from it.
    Borrower,
}

impl Fuel {
    /// A full tank; a size of 0 means no limit.
    pub(crate) fn full(total: Option<u32>) -> Self {
        let total = total.filter(|total| *total > 0);
        Self {
            tank: total.map(|total| Arc::new(AtomicU32::new(total))),
            total,
            owner: Owner::Prompt,
        }
    }

    /// The same tank for a sub-agent, for which the fuel that is left now counts as full.
    pub(crate) fn lent(&self) -> Self {
        Self {
            tank: self.tank.clone(),
            total: self.remaining(),
            owner: Owner::Borrower,
        }
    }

    /// The fuel that is left; `None` without a limit.
    pub(crate) fn remaining(&self) -> Option<u32> {
        self.tank.as_ref().map(|tank| tank.load(Ordering::Relaxed))
    }

    /// Whether a limited tank is used up.
    pub(crate) fn is_empty(&self) -> bool {
        self.remaining() == Some(0)
    }

    /// Spends fuel. Says whether any is left.
    pub(crate) fn burn(&self, cost: u32) -> bool {
        self.change(|remaining| remaining.saturating_sub(cost));
        !self.is_empty()
    }

    /// Applies a change that hooks ask for; does nothing without a limit.
    pub(crate) fn adjust(&self, change: Adjust) {
        self.change(|remaining| match self.owner {
            Owner::Prompt => change.apply(remaining),
            Owner::Borrower => change.apply(remaining).min(remaining),
        });
    }

    fn change(&self, change: impl Fn(u32) -> u32) {
        if let Some(tank) = &self.tank {
            let changed = |remaining| Some(change(remaining));
            // `changed` always returns a value, so the update cannot fail.
            let _ = tank.fetch_update(Ordering::Relaxed, Ordering::Relaxed, changed);
        }
    }

    /// The notice about fuel in the system prompt.
    pub(crate) fn notice(&self) -> Option<String> {
        let (remaining, total) = (self.remaining()?, self.total?);
        Some(format!(
            "Fuel: {remaining} of {total} is left for this prompt. Each round of tools and each time that you are \
             asked again without the user costs 1; empty answers and repeated calls cost more. When it is used \
             up, it is the user's turn."
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_limit_nothing_is_spent_and_nothing_said() {
        for total in [None, Some(0)] {
            let fuel = Fuel::full(total);
            assert!(fuel.burn(1_000));
            fuel.adjust(Adjust::set(1));
            assert_eq!((fuel.remaining(), fuel.total, fuel.notice()), (None, None, None));
        }
    }

    #[test]
    fn what_is_spent_is_gone_and_never_below_nothing() {
        let fuel = Fuel::full(Some(3));
        assert!(fuel.burn(1));
        assert!(fuel.notice().unwrap().starts_with("Fuel: 2 of 3 is left"));
        fuel.adjust(Adjust::add(10));
        assert_eq!(fuel.remaining(), Some(12));
        assert!(!fuel.burn(15));
        fuel.adjust(Adjust::add(-5));
        assert_eq!(fuel.remaining(), Some(0));
        assert!(!fuel.burn(0), "an empty tank stays empty");
    }

    #[test]
    fn sub_agents_burn_from_the_tank_of_their_parent_and_cannot_fill_it() {
        let parent = Fuel::full(Some(9));
        assert!(parent.burn(1));
        let (one, other) = (parent.lent(), parent.lent());
        assert!(one.burn(3) && other.burn(2));
        assert_eq!(
            (parent.remaining(), one.remaining(), one.total),
            (Some(3), Some(3), Some(8))
        );
        other.adjust(Adjust::set(50));
        assert_eq!(parent.remaining(), Some(3));
        other.adjust(Adjust::set(1));
        assert!(!one.burn(1) && parent.is_empty());
        let late = parent.lent();
        assert!(
            late.is_empty() && !late.burn(0),
            "nothing is no tank without a limit"
        );
        assert_eq!(Fuel::full(None).lent().remaining(), None);
    }
}
