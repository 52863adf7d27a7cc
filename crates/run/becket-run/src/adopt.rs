//! Takes over conversations from the home of another system: when a context is first used, it goes on where it was left
//! there. From then on becket keeps it itself, and remembers that: a context that is destroyed or renamed here does not
//! come back from there.

use std::io::Write as _;

use becket_store::{ContextName, SqliteStore};
use becket_system::{CliError, Surroundings, counted, harmless_name};
use serde_json::json;

use crate::import::keep;
use crate::options::RunOptions;
use crate::setup::Setup;
use crate::target::ContextChoice;

/// How many problems of a conversation are shown one by one.
const MOST_TOLD: usize = 5;

/// Whether a context is new to becket, and another system's home may have it. Whoever uses it at the moment has taken
/// it over already.
pub fn is_to_adopt(name: &ContextName, setup: &Setup, store: &SqliteStore) -> Result<bool, CliError> {
    let is_new = setup.found.home().is_some() && store.context(name.as_str())?.is_none();
    Ok(is_new && !was_taken_over(name.as_str(), setup))
}

/// Whether a context was taken over before, even if it is gone by now.
pub fn was_taken_over(name: &str, setup: &Setup) -> bool {
    let Some(line) = line_of(name, setup) else {
        return false;
    };
    let known = becket_fs::read_to_string(setup.folders.taken_over_file()).unwrap_or_default();
    known.lines().any(|known| known == line)
}

/// Remembers a context under its new name as well, if it was taken over under the old one: what is left of it in the
/// other system's home has moved along.
pub fn rename(old: &str, new: &str, setup: &Setup) -> std::io::Result<()> {
    match was_taken_over(old, setup) {
        true => remember(new, setup),
        false => Ok(()),
    }
}

/// Remembers that a context was taken over.
fn remember(name: &str, setup: &Setup) -> std::io::Result<()> {
    let line = line_of(name, setup).unwrap_or_default();
    let file = setup.folders.taken_over_file();
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
    // One write, so that lines of several processes do not mix.
    file.write_all(format!("{line}\n").as_bytes())
}

/// The line by which a context of another system's home is remembered.
fn line_of(name: &str, setup: &Setup) -> Option<String> {
    let home = setup.found.home()?.folder.display().to_string();
    Some(json!([home, name]).to_string())
}

/// Takes over the conversation of a context, if becket has not used the context yet and another system has.
pub async fn adopt(
    name: &ContextName,
    setup: &Setup,
    store: &SqliteStore,
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    if !is_to_adopt(name, setup, store)? {
        return Ok(());
    }
    let read = setup.found.conversation(name.as_str()).map_err(|why| {
        CliError::failed(format!(
            "the conversation of the context {name} cannot be imported: {why}"
        ))
        .hint("repair the file, or move it away to start over")
    })?;
    let Some(read) = read else {
        return Ok(());
    };
    for problem in read.problems.iter().take(MOST_TOLD) {
        surroundings.remark(&format!("the conversation of {name}: {}", harmless_name(problem)));
    }
    let more = read.problems.len().saturating_sub(MOST_TOLD);
    if more > 0 {
        surroundings.remark(&format!("and {}", counted(more as u64, "more problem")));
    }
    keep(read, name, store, surroundings).await?;
    if let Err(error) = remember(name.as_str(), setup) {
        surroundings.remark(&format!(
            "the context {name} comes back from where it was if it is destroyed: {error}"
        ));
    }
    Ok(())
}

/// The store, and the context that is chosen there, for a command that is not asynchronous. What only another system's
/// home has is taken over.
pub fn chosen_context(
    choice: &ContextChoice,
    options: &RunOptions,
    surroundings: &Surroundings,
) -> Result<(SqliteStore, ContextName), CliError> {
    let setup = Setup::read(options, surroundings)?;
    let store = setup.open_store()?;
    let name = choice.find(&store)?;
    if is_to_adopt(&name, &setup, &store)?
        && let Some(_claim) = store.claim(&name)?
    {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.map_err(|error| CliError::failed(format!("cannot start: {error}")))?;
        runtime.block_on(adopt(&name, &setup, &store, surroundings))?;
    }
    Ok((store, name))
}
