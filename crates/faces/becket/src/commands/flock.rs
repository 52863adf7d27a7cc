//! `becket flock`: groups of contexts that share goals, instructions, tasks and files.

use becket_agent::flocks::{Flocks, SITE};
use becket_run::setup::Setup;
use becket_run::target::known;
use becket_store::ContextName;
use becket_system::{CliError, Exit, Surroundings};

use super::context::context_choice;
use crate::args::FlockCommand;
use crate::options::Options;
use crate::printing::print;

/// Runs one of the flock commands. No hook is asked, since the user runs it.
pub fn run(options: &Options, command: FlockCommand, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let setup = Setup::read(&options.run, surroundings)?;
    let flocks = setup.flocks();
    let said = match command {
        FlockCommand::Create { flock } => match flocks.create(&flock).map_err(CliError::failed)? {
            true => format!("created the flock {flock}; its zone is vfs:///flocks/{flock}"),
            false => return Err(CliError::usage(format!("there is already a flock {flock}"))),
        },
        FlockCommand::Delete { flock } => {
            flocks.delete(&flock).map_err(CliError::failed)?;
            format!("deleted the flock {flock}; its files stay at vfs:///flocks/{flock}")
        }
        FlockCommand::Join { flock, name } => {
            let context = member(&setup, options, name)?;
            match flocks.join(&flock, context.as_str()).map_err(CliError::failed)? {
                true => format!("{context} has joined the flock {flock}"),
                false => format!("{context} already belongs to the flock {flock}"),
            }
        }
        FlockCommand::Leave { flock, name } => {
            let context = context_choice(options, name)?.find(&setup.open_store()?)?;
            flocks.leave(&flock, context.as_str()).map_err(CliError::failed)?;
            format!("{context} has left the flock {flock}")
        }
        FlockCommand::List => return list(&flocks, options),
    };
    surroundings.remark(&said);
    Ok(Exit::Answered)
}

/// The context that joins. It must exist or be the current one, so that a misspelled name does not join.
fn member(setup: &Setup, options: &Options, name: Option<String>) -> Result<ContextName, CliError> {
    let store = setup.open_store()?;
    let name = context_choice(options, name)?.find(&store)?;
    let is_current = name.as_str() == store.chosen()?.current;
    match is_current || setup.contexts().join(name.as_str()).is_dir() {
        true => Ok(name),
        false => known(name, &store),
    }
}

fn list(flocks: &Flocks, options: &Options) -> Result<Exit, CliError> {
    let flocks = flocks.list().map_err(CliError::failed)?;
    if !options.run.json {
        print(&format!("{SITE}: all contexts\n"))?;
    }
    for flock in flocks {
        print(&match options.run.json {
            true => format!(
                "{}\n",
                serde_json::json!({"name": flock.name, "members": flock.members})
            ),
            false if flock.members.is_empty() => format!("{}: no members\n", flock.name),
            false => format!("{}: {}\n", flock.name, flock.members.join(", ")),
        })?;
    }
    Ok(Exit::Answered)
}
