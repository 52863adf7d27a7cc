//! Takes over conversations from the home of another system: when a context is first used, it goes on where it was left
//! there. From then on becket keeps it itself.

use becket_store::{ContextName, SqliteStore};
use becket_system::{CliError, Surroundings, counted, harmless_name};

use crate::import::keep;
use crate::options::RunOptions;
use crate::setup::Setup;
use crate::target::ContextChoice;

/// How many problems of a conversation are shown one by one.
const MOST_TOLD: usize = 5;

/// Whether a context is new to becket, and another system's home may have it. Whoever uses it at the moment has taken
/// it over already.
pub fn is_to_adopt(name: &ContextName, setup: &Setup, store: &SqliteStore) -> Result<bool, CliError> {
    Ok(setup.found.home().is_some() && store.context(name.as_str())?.is_none())
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
            "the conversation of the context {name} cannot be taken over: {why}"
        ))
        .hint("mend the file, or move it away to begin anew")
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
    keep(read, name, store, surroundings).await
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
