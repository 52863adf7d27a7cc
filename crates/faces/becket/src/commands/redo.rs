//! `becket redo`: takes back the last undo.

use becket_system::{CliError, Exit, Surroundings};

use super::snapshots::{conflicts, open, problem, tell};
use crate::options::Options;

/// Takes back the last undo.
pub fn run(options: &Options, force: bool, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let snapshots = open(options, surroundings)?;
    let restored = snapshots.redo(conflicts(force)).map_err(problem)?;
    tell("redid", &restored, options, surroundings)
}
