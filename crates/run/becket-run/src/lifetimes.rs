//! Contexts that end by themselves, and what is removed with a context.

use becket_agent::context_files::ContextFiles;
use becket_agent::vfs::Vfs;
use becket_store::{ContextName, Due, SqliteStore};
use becket_system::{CliError, Surroundings};

use crate::setup::Setup;

/// Destroys the contexts that are due, except the one of this run and the current one. A failure is told and does not
/// stop the run.
pub async fn destroy_due(
    store: &SqliteStore,
    setup: &Setup,
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
        match destroy_one(&name, store, setup, surroundings).await {
            Ok(false) => {}
            Ok(true) => surroundings.remark(&match why {
                Due::Time => format!("the context {name} was destroyed: its time (destroy_at) had come"),
                Due::Inactive => format!(
                    "the context {name} was destroyed: nothing happened in it for longer than its \
                     destroy_after_inactive"
                ),
            }),
            Err(error) => surroundings.remark(&format!(
                "the context {name} has expired but could not be removed: {error}"
            )),
        }
    }
    Ok(())
}

/// Destroys a context if it is still due and no other process uses it. Returns whether it did.
async fn destroy_one(
    name: &str,
    store: &SqliteStore,
    setup: &Setup,
    surroundings: &Surroundings,
) -> Result<bool, CliError> {
    let name = ContextName::parse(name).map_err(|error| CliError::failed(error.to_string()))?;
    let Some(_claim) = store.claim(&name)? else {
        return Ok(false);
    };
    // Its time may have been put off since it was looked up.
    if !store.due()?.iter().any(|(due, _)| due == name.as_str()) {
        return Ok(false);
    }
    let flocks = setup.flocks();
    flocks.rename(name.as_str(), None).map_err(CliError::failed)?;
    remove_files(setup, &name, surroundings)?;
    Ok(store.delete_if_due(&name).await?)
}

/// Destroys a context that was not to be kept. A failure is told; the context is destroyed later, when it is due.
pub async fn destroy_unkept(
    store: &SqliteStore,
    setup: &Setup,
    name: &ContextName,
    surroundings: &Surroundings,
) {
    let destroyed = async {
        let flocks = setup.flocks();
        flocks.rename(name.as_str(), None).map_err(CliError::failed)?;
        remove_files(setup, name, surroundings)?;
        Ok::<_, CliError>(store.delete_context(name).await?)
    };
    if let Err(error) = destroyed.await {
        surroundings.remark(&format!(
            "the context {name} was temporary, but could not be removed: {error}"
        ));
    }
}

/// Removes the files of a context, and names those that stay because becket did not write them. This comes before the
/// conversation is deleted: a context without its files can still be destroyed, but files left behind would count for a
/// new context of that name.
pub fn remove_files(setup: &Setup, name: &ContextName, surroundings: &Surroundings) -> Result<(), CliError> {
    let vfs = Vfs::new(&setup.vfs());
    vfs.remove_context(name.as_str()).map_err(|error| {
        CliError::failed(format!(
            "the context {name} stays: its files in vfs:///home/{name} cannot be removed: {error}"
        ))
    })?;
    let files = ContextFiles::new(&setup.contexts(), name.as_str());
    let foreign = files.remove_all().map_err(|error| {
        let folder = files.folder().display();
        CliError::failed(format!(
            "the context {name} stays: its folder {folder} cannot be removed: {error}"
        ))
        .hint("remove it by hand, then destroy the context")
    })?;
    for file in foreign {
        surroundings.remark(&format!(
            "{} stays, because becket did not write it; it counts for a new context {name}",
            file.display()
        ));
    }
    Ok(())
}
