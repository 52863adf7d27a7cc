//! `becket sessions`: the sessions of all contexts (`list.rs`), and the tree of one conversation: drawn (`draw.rs`),
//! changed (`walk.rs`), and as files of other programs (`files.rs`). `place.rs` is what they share.

mod draw;
mod files;
mod list;
mod place;
mod walk;

pub(super) use place::place;

use becket_system::{CliError, Exit, Surroundings};

use super::switch;
use crate::args::SessionsCommand;
use crate::options::Options;

/// Runs one of the sessions commands.
pub fn run(
    options: &Options,
    command: Option<SessionsCommand>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let Some(command) = command else {
        return list::run(options, surroundings);
    };
    let options = &switch::before(options, command.named(), surroundings)?;
    match command {
        SessionsCommand::Tree { name } => draw::tree(options, name, surroundings),
        SessionsCommand::Show { id } => draw::entry(options, &id, surroundings),
        SessionsCommand::Goto {
            entry,
            summary,
            label,
        } => walk::go_to(options, &entry, walk::how(summary, label), surroundings),
        SessionsCommand::Fork {
            entry,
            at,
            before,
            to,
            quiet,
        } => {
            let fork = walk::Fork {
                entry,
                position: walk::position(at, before),
                to,
                quiet,
            };
            walk::fork(options, fork, surroundings)
        }
        SessionsCommand::Label { entry, text } => walk::label(options, &entry, text, surroundings),
        SessionsCommand::Name { name } => walk::name(options, &name, surroundings),
        SessionsCommand::Export {
            name,
            format,
            output,
            if_any,
            quiet,
        } => {
            let export = files::Export {
                format,
                output,
                if_any,
                quiet,
            };
            files::export(options, name, export, surroundings)
        }
        SessionsCommand::Import { file, to, quiet } => {
            files::import(options, &file, (to, quiet), surroundings)
        }
        SessionsCommand::Page { file, output } => files::page(options, &file, output, surroundings),
    }
}
