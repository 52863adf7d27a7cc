//! Guards that break: in the engine, by the thousand, and as real programs behind the real program.

mod engine;
mod programs;
mod systems;

use crate::round::{Campaign, Round};

pub const CAMPAIGN: Campaign = Campaign {
    name: "hooks",
    promise: "After a broken guard the guarded action does not happen, whatever else allows it.",
    round,
};

/// How many answers are tried in the engine in one round, beside two runs of the program.
const ANSWERS: usize = 4000;

fn round(round: &mut Round<'_>) -> Result<(), String> {
    engine::round(round, ANSWERS)?;
    systems::round(round, ANSWERS)?;
    programs::round(round)?;
    programs::round(round)
}
