//! Nonsense: whatever is fed to reader, expander and machine, they answer, and they do so in time. `examples/fuzz.rs`
//! does the same for as long as somebody wants.

use crate::nonsense::{self, Dice, feed};
use crate::room::STANDARD;

/// Feeds so many programs, with a new machine from time to time.
fn answers(seed: u64, rounds: usize, mut program: impl FnMut(&mut Dice) -> String) {
    let mut dice = Dice(seed);
    let mut machine = nonsense::machine();
    for round in 0..rounds {
        if round % 50 == 49 {
            machine = nonsense::machine();
        }
        feed(&mut machine, STANDARD, &program(&mut dice));
    }
}

#[test]
fn streams_of_words_are_answered() {
    answers(7, 4000, nonsense::words);
}

#[test]
fn streams_of_bytes_are_answered() {
    answers(11, 4000, nonsense::bytes);
}

#[test]
fn programs_with_something_changed_are_answered() {
    let lines = nonsense::lines();
    answers(13, 3000, |dice| nonsense::changed(dice, &lines));
}

#[test]
fn programs_that_somebody_might_have_written_are_answered() {
    answers(17, 4000, nonsense::program);
}
