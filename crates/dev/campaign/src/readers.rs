//! Readers of foreign text under random inputs: the fuzz targets, each briefly and again and again.

use std::time::{Duration, Instant};

use crate::round::{Campaign, Round};

pub const CAMPAIGN: Campaign = Campaign {
    name: "readers",
    promise: "Every reader of foreign text answers, whatever it gets: it does not panic, abort or hang.",
    round,
};

/// How long one target runs in a round.
const TIME: Duration = Duration::from_secs(2);

fn round(round: &mut Round<'_>) -> Result<(), String> {
    let target = &fuzz::TARGETS[round.number as usize % fuzz::TARGETS.len()];
    let (begun, mut inputs) = (Instant::now(), 0);
    while begun.elapsed() < TIME && !round.is_over() {
        let seed = fuzz::seed(round.random.next(), 0);
        let run = std::panic::AssertUnwindSafe(|| target.once(seed));
        let answered = std::panic::catch_unwind(run);
        inputs += 1;
        if answered.is_err() {
            return Err(format!(
                "{}: cargo xtask fuzz --seed {seed:#x} {}",
                target.name, target.name
            ));
        }
    }
    round.count("inputs", inputs);
    round.measure("readers", fuzz::TARGETS.len().to_string());
    Ok(())
}
