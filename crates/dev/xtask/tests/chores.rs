//! Checks of the repository itself: the chores find nothing to do.
//!
//! The chores run here as well as by hand, so that nothing is built a second time for them.

use std::process::Command;

/// Runs a chore, and fails with its output.
fn holds(chore: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(chore)
        .output()
        .expect("the chores can be started");
    assert!(
        output.status.success(),
        "cargo xtask {}\n{}{}",
        chore.join(" "),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn files_that_are_made_from_code_are_fresh() {
    holds(&["generate", "--check"]);
}

#[test]
fn the_habits_are_kept() {
    holds(&["tidy"]);
}
