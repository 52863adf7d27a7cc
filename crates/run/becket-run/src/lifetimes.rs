//! Contexts that end by themselves, and what is removed with a context.

use std::io;

use becket_agent::context_files::ContextFiles;
use becket_agent::vfs::Vfs;
use becket_store::{ContextName, Due, SessionSummary, SqliteStore};
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
    remove_files(setup, (store, &name), surroundings)?;
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
        remove_files(setup, (store, name), surroundings)?;
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
pub fn remove_files(
    setup: &Setup,
    (store, name): (&SqliteStore, &ContextName),
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    let sessions = store.sessions(Some(name.as_str()))?;
    remove_hook_files(setup, &sessions).map_err(|error| {
        let folder = setup.folders.hook_files();
        let folder = folder.display();
        CliError::failed(format!(
            "the context {name} stays: texts of it in {folder} cannot be removed: {error}"
        ))
    })?;
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

/// Removes what programs of hooks were given of sessions.
fn remove_hook_files(setup: &Setup, sessions: &[SessionSummary]) -> io::Result<()> {
    let files = match becket_fs::read_dir(setup.folders.hook_files()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        files => files?,
    };
    for file in files {
        let file = file?;
        let name = file.file_name();
        let name = name.to_string_lossy();
        if sessions.iter().any(|session| name.starts_with(&session.id)) {
            std::fs::remove_file(file.path())?;
        }
    }
    Ok(())
}
