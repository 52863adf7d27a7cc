//! `becket undo`: takes back the last turn, call or restore.

use becket_snapshot::{Span, Which};
use becket_system::{CliError, Exit, Surroundings};

use super::snapshots::{conflicts, open, problem, tell};
use crate::options::Options;

/// Takes back the last step.
pub fn run(
    options: &Options,
    call: bool,
    force: bool,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let which = Which {
        span: call.then_some(Span::Call),
        session: None,
    };
    let snapshots = open(options, surroundings)?;
    let restored = snapshots.undo(which, conflicts(force)).map_err(problem)?;
    tell("undid", &restored, options, surroundings)
}
