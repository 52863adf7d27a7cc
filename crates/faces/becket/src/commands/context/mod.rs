//! `becket context`: looks after one context. `life.rs` makes, renames, clears and destroys; `edit.rs` changes the
//! system prompt and the settings; `transcript.rs` is the conversation as lines; here is what they share.

mod edit;
mod life;
mod show;
mod transcript;

use std::path::PathBuf;

use becket_agent::context_files::ContextFiles;
use becket_agent::flocks::Flocks;
use becket_store::{ContextName, SqliteStore};
use becket_system::{CliError, Exit, Surroundings};

use super::{runtime, switch};
use crate::args::{ContextCommand, Options};
use crate::assemble::Setup;
use crate::target::{Wish, known, parse_name};

/// The place where contexts live, for one command.
struct Place<'a> {
    options: &'a Options,
    surroundings: &'a Surroundings,
    setup: Setup,
    /// Holds a folder for each context.
    contexts: PathBuf,
    flocks: Flocks,
    store: SqliteStore,
}

/// Runs what the command line asks for.
pub fn run(
    options: &Options,
    command: ContextCommand,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let options = &switch::before(options, command.named(), surroundings)?;
    // It opens a session of its own, with the store of its own.
    if let ContextCommand::Clear { name } = command {
        return life::clear(options, name, surroundings);
    }
    let place = Place::open(options, surroundings)?;
    runtime(options)?.block_on(async {
        let done = place.run(command).await;
        let closed = place.store.close().await;
        done?;
        closed?;
        Ok(Exit::Answered)
    })
}

impl<'a> Place<'a> {
    fn open(options: &'a Options, surroundings: &'a Surroundings) -> Result<Self, CliError> {
        let setup = Setup::read(options, surroundings)?;
        Ok(Self {
            options,
            surroundings,
            contexts: setup.contexts(),
            flocks: setup.flocks(),
            store: setup.folders.open_store()?,
            setup,
        })
    }

    async fn run(&self, command: ContextCommand) -> Result<(), CliError> {
        match command {
            ContextCommand::Show { name } => show::show(self, &self.context(name).await?),
            ContextCommand::Create { name } => life::create(self, &name).await,
            ContextCommand::Rename { names } => life::rename(self, names).await,
            ContextCommand::Clear { .. } => unreachable!("it was taken care of before"),
            ContextCommand::Destroy { name } => life::destroy(self, &self.context(name).await?).await,
            ContextCommand::Prompt {
                name,
                set,
                file,
                remove,
            } => {
                let name = self.context(name).await?;
                let change = edit::PromptChange::of(set, file, remove);
                edit::prompt(self, &name, change)
            }
            ContextCommand::Set { key, value, name } => {
                edit::set(self, &self.context(name).await?, &key, Some(&value)).await
            }
            ContextCommand::Unset { key, name } => {
                edit::set(self, &self.context(name).await?, &key, None).await
            }
            ContextCommand::Log { name, count } => {
                transcript::log(self, &self.context(name).await?, count as usize)
            }
            ContextCommand::Export { name, archived } => {
                let name = self.context(name).await?;
                if archived {
                    transcript::export_archived(self, &name)
                } else {
                    transcript::export(self, &name)
                }
            }
        }
    }

    /// The context that a command is about. The current one need not exist yet; then it is made.
    async fn context(&self, named: Option<String>) -> Result<ContextName, CliError> {
        let name = wish(self.options, named)?.find(&self.store)?;
        if name.as_str() == self.store.chosen()?.current {
            self.store.create_context(&name).await?;
        }
        known(name, &self.store)
    }

    /// The files of a context.
    fn files(&self, name: &ContextName) -> ContextFiles {
        ContextFiles::new(&self.contexts, name.as_str())
    }
}

/// The context that a command names, or the one that the options do, or else the current one.
pub fn wish(options: &Options, named: Option<String>) -> Result<Wish, CliError> {
    let wish = Wish::of(options)?;
    match named {
        Some(name) if options.context.is_some() || options.transient.is_some() => Err(CliError::usage(
            format!("two contexts are named: {name} and one before"),
        )
        .hint("leave -c and -C out, or the name at the end")),
        Some(name) => Ok(Wish::named(parse_name(&name)?)),
        None => Ok(wish),
    }
}
