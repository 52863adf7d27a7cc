//! The conversation and the entry that a command is about.

use becket_agent::store::Tree;
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

/// The id of the entry that is named by its id, its label, or the beginning of its id.
pub fn meant(tree: &Tree, context: &ContextName, words: &str) -> Result<String, CliError> {
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
                .hint("`becket sessions tree` shows them"),
        ),
        several => Err(CliError::usage(format!(
            "{words:?} matches {} entries: {}",
            several.len(),
            several[..several.len().min(3)].join(", ")
        ))
        .hint("write more of the id")),
    }
}
