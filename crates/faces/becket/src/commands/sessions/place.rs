//! The conversation that a command is about.

use becket_run::adopt::chosen_context;
use becket_run::target::known;
use becket_store::{ContextName, SqliteStore};
use becket_system::{CliError, Surroundings};

use crate::commands::context::context_choice;
use crate::options::Options;

/// The store, and the context that a command is about.
pub fn place(
    options: &Options,
    named: Option<String>,
    surroundings: &Surroundings,
) -> Result<(SqliteStore, ContextName), CliError> {
    let (store, name) = chosen_context(&context_choice(options, named)?, &options.run, surroundings)?;
    let name = known(name, &store)?;
    Ok((store, name))
}
