//! `becket hooks`: the workbench's commands, one file each.

mod bench;
mod check;
mod conformance;
mod dialects;
mod events;
mod explain;
mod fire;
mod jq_report;
mod list;
mod new;
pub mod report;
mod test;
mod trust;

pub use check::{BrokenHook, broken_hooks};

use becket_system::{CliError, Exit, Surroundings};

use crate::args::HooksCommand;
use crate::options::Options;

/// Runs one of the workbench's commands.
pub fn run(options: &Options, command: HooksCommand, surroundings: &Surroundings) -> Result<Exit, CliError> {
    match command {
        HooksCommand::List { event } => list::run(options, event.as_deref(), surroundings),
        HooksCommand::New(wanted) => new::run(options, &wanted, surroundings),
        HooksCommand::Events { name, dialect } => events::run(options, name.as_deref(), dialect.as_deref()),
        HooksCommand::Dialects { name } => dialects::run(options, name.as_deref()),
        HooksCommand::Check { format, paths } => check::run(options, format, &paths, surroundings),
        HooksCommand::Conformance { standard, vectors } => {
            conformance::run(options, &standard, vectors.as_deref(), surroundings)
        }
        HooksCommand::Fire(wanted) => fire::run(options, &wanted, surroundings),
        HooksCommand::Bench(wanted) => bench::run(options, &wanted, surroundings),
        HooksCommand::Report { since } => report::run(options, &since, surroundings),
        HooksCommand::Trust(wanted) => trust::run(options, &wanted, surroundings),
        HooksCommand::Test(wanted) => test::run(options, &wanted, surroundings),
        HooksCommand::Explain { tool, arguments, dry } => {
            explain::run(options, &tool, &arguments, dry, surroundings)
        }
    }
}
