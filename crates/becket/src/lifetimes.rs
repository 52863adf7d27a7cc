//! Contexts that end by themselves, and what is removed with a context.

use std::path::Path;

use becket_agent::context_files::ContextFiles;
use becket_store::{ContextName, Due, SqliteStore};

use crate::failure::CliError;
use crate::surroundings::Surroundings;

/// Destroys the contexts that are due, except the one of this run and the current one. Failing at that is no reason
/// not to run; a line says so.
pub async fn destroy_due(
    store: &SqliteStore,
    contexts: &Path,
    target: &ContextName,
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    let due = store.due()?;
    if due.is_empty() {
        return Ok(());
    }
    let current = store.chosen()?.current;
    for (name, why) in due {
        if name == target.as_str() || name == current {
            continue;
        }
        match destroy_one(&name, store, contexts).await {
            Ok(false) => {}
            Ok(true) => surroundings.remark(&match why {
                Due::Time => format!("the context {name} was destroyed: its time (destroy_at) had come"),
                Due::Inactive => format!(
                    "the context {name} was destroyed: nothing happened in it for longer than its \
                     destroy_after_inactive"
                ),
            }),
            Err(error) => surroundings.remark(&format!("the context {name} is due, but stays: {error}")),
        }
    }
    Ok(())
}

/// Says whether it was still due, and in no other process's use.
async fn destroy_one(name: &str, store: &SqliteStore, contexts: &Path) -> Result<bool, CliError> {
    let name = ContextName::parse(name).map_err(|error| CliError::failed(error.to_string()))?;
    let Some(_claim) = store.claim(&name)? else {
        return Ok(false);
    };
    if !store.delete_if_due(&name).await? {
        return Ok(false);
    }
    remove_files(contexts, &name)?;
    Ok(true)
}

/// Removes the files of a context. Says whether there were any.
pub fn remove_files(contexts: &Path, name: &ContextName) -> Result<bool, CliError> {
    let files = ContextFiles::new(contexts, name.as_str());
    files.remove_all().map_err(|error| {
        let folder = files.folder().display();
        CliError::failed(format!(
            "the conversation is gone, but the folder {folder} cannot be removed: {error}"
        ))
        .hint("remove it by hand, or its settings will count for a new context of that name")
    })
}
