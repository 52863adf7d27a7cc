//! `becket sessions`: the runs of all contexts (`list.rs`), and the tree of one conversation: drawn (`draw.rs`), walked
//! and forked (`walk.rs`), and as files of another program's (`files.rs`). Here is what they share.

mod draw;
mod files;
mod list;
mod walk;

pub(super) use draw::{drawn_lines, in_one_line};
pub(super) use files::bring;
pub(super) use walk::{is_persons, without_moment};

use becket_agent::store::Tree;
use becket_store::{ContextName, SqliteStore};
use becket_system::{CliError, Exit, Folders, Surroundings};

use super::context::wish;
use super::switch;
use crate::args::{Options, SessionsCommand};
use crate::target::known;

/// Runs what the command line asks for.
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
        } => walk::fork(options, &entry, walk::position(at, before), to, surroundings),
        SessionsCommand::Label { entry, text } => walk::label(options, &entry, text, surroundings),
        SessionsCommand::Name { name } => walk::name(options, &name, surroundings),
        SessionsCommand::Export { name, format, output } => {
            files::export(options, name, format, output, surroundings)
        }
        SessionsCommand::Import { file, to } => files::import(options, &file, to, surroundings),
    }
}

/// The store, and the context that a command is about.
fn place(
    options: &Options,
    named: Option<String>,
    surroundings: &Surroundings,
) -> Result<(SqliteStore, ContextName), CliError> {
    let store = Folders::find(options.home.as_deref(), surroundings)?.open_store()?;
    let name = known(wish(options, named)?.find(&store)?, &store)?;
    Ok((store, name))
}

/// The id of the entry that somebody means: by its whole id, its label, or the beginning of its id.
pub(super) fn meant(tree: &Tree, context: &ContextName, words: &str) -> Result<String, CliError> {
    if tree.entry(words).is_some() {
        return Ok(words.into());
    }
    let ids = || tree.entries().iter().map(|entry| entry.id.as_str());
    let labelled: Vec<&str> = ids()
        .filter(|id| tree.label(id).is_some_and(|label| label.text == words))
        .collect();
    let begun: Vec<&str> = ids()
        .filter(|id| !words.is_empty() && id.starts_with(words))
        .collect();
    let found = if labelled.is_empty() { begun } else { labelled };
    match found.as_slice() {
        [only] => Ok((*only).into()),
        [] => Err(
            CliError::usage(format!("the conversation of {context} has no entry {words:?}"))
                .hint("`becket sessions tree` shows those that there are"),
        ),
        several => Err(CliError::usage(format!(
            "{words:?} can be {} entries: {}",
            several.len(),
            several[..several.len().min(3)].join(", ")
        ))
        .hint("write more of the id")),
    }
}
