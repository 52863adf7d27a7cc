//! Every target, briefly and always with the same seeds.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use fuzz::{TARGETS, seed};

/// How often each target runs, as long as there is time: some readers are slow without optimisation.
const RUNS: u64 = 200;
const TIME: Duration = Duration::from_secs(4);

#[test]
fn whatever_readers_are_given_they_answer() {
    for target in TARGETS {
        let begun = Instant::now();
        for round in 0..RUNS {
            target.once(seed(1, round));
            if begun.elapsed() > TIME {
                break;
            }
        }
    }
}

#[test]
fn every_target_has_a_name_of_its_own() {
    let names: BTreeSet<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(names.len(), TARGETS.len());
}
