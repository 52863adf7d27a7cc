//! Fuel: what a prompt may still spend before the person has the word again. Without a limit nothing counts.

use becket_events::Adjust;

/// What asking again for what was just answered costs, besides the round itself.
pub(crate) const REPETITION_COST: u32 = 5;

/// What is left, where it is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fuel {
    pub(crate) remaining: Option<u32>,
    pub(crate) total: Option<u32>,
}

impl Fuel {
    /// A full tank; one of size 0 is no limit.
    pub(crate) fn full(total: Option<u32>) -> Self {
        let total = total.filter(|total| *total > 0);
        Self {
            remaining: total,
            total,
        }
    }

    /// Spends some. Says whether anything is left.
    pub(crate) fn burn(&mut self, cost: u32) -> bool {
        if let Some(remaining) = &mut self.remaining {
            *remaining = remaining.saturating_sub(cost);
        }
        self.remaining != Some(0)
    }

    /// How much of a full tank is gone.
    pub(crate) fn burnt(&self) -> u32 {
        let (total, remaining) = (self.total.unwrap_or(0), self.remaining.unwrap_or(0));
        total.saturating_sub(remaining)
    }

    /// What hooks want changed; without a limit there is nothing to change.
    pub(crate) fn adjust(&mut self, change: Adjust) {
        self.remaining = self.remaining.map(|remaining| change.apply(remaining));
    }

    /// What the model is told in the system prompt.
    pub(crate) fn notice(&self) -> Option<String> {
        let (remaining, total) = (self.remaining?, self.total?);
        Some(format!(
            "Fuel: {remaining} of {total} is left for this prompt. Each round of tools and each time that you are \
             asked again without the person costs 1; empty answers and repeated calls cost more. When it is used \
             up, the person has the word."
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_limit_nothing_is_spent_and_nothing_said() {
        for total in [None, Some(0)] {
            let mut fuel = Fuel::full(total);
            assert!(fuel.burn(1_000));
            fuel.adjust(Adjust::set(1));
            assert_eq!((fuel.remaining, fuel.total, fuel.notice()), (None, None, None));
        }
    }

    #[test]
    fn what_is_spent_is_gone_and_never_below_nothing() {
        let mut fuel = Fuel::full(Some(3));
        assert!(fuel.burn(1));
        assert!(fuel.notice().unwrap().starts_with("Fuel: 2 of 3 is left"));
        fuel.adjust(Adjust::add(10));
        assert_eq!(fuel.remaining, Some(12));
        assert!(!fuel.burn(15));
        fuel.adjust(Adjust::add(-5));
        assert_eq!(fuel.remaining, Some(0));
        assert!(!fuel.burn(0), "an empty tank stays empty");
    }
}
