//! The place where contexts live, and the context that a command is about.

use std::path::PathBuf;

use becket_agent::context_files::ContextFiles;
use becket_agent::flocks::Flocks;
use becket_run::adopt::{adopt, is_to_adopt};
use becket_run::setup::Setup;
use becket_run::target::{ContextChoice, known, parse_name};
use becket_store::{ContextName, SqliteStore};
use becket_system::{CliError, Surroundings};

use crate::options::Options;

/// The store and the settings, for commands about a context.
pub struct ContextCommands<'a> {
    pub options: &'a Options,
    pub surroundings: &'a Surroundings,
    pub setup: Setup,
    /// The folder that holds one folder for each context.
    pub contexts: PathBuf,
    pub flocks: Flocks,
    pub store: SqliteStore,
}

impl<'a> ContextCommands<'a> {
    /// Reads the settings and opens the store.
    pub fn open(options: &'a Options, surroundings: &'a Surroundings) -> Result<Self, CliError> {
        let setup = Setup::read(&options.run, surroundings)?;
        Ok(Self {
            options,
            surroundings,
            contexts: setup.contexts(),
            flocks: setup.flocks(),
            store: setup.open_store()?,
            setup,
        })
    }

    /// The context that a command is about. The current one is made if it does not exist yet.
    pub async fn context(&self, named: Option<String>) -> Result<ContextName, CliError> {
        let name = context_choice(self.options, named)?.find(&self.store)?;
        self.adopt(&name).await?;
        if name.as_str() == self.store.chosen()?.current {
            self.store.create_context(&name).await?;
        }
        known(name, &self.store)
    }

    /// Takes over a context that only another system's home has.
    pub async fn adopt(&self, name: &ContextName) -> Result<(), CliError> {
        if is_to_adopt(name, &self.setup, &self.store)?
            && let Some(_claim) = self.store.claim(name)?
        {
            adopt(name, &self.setup, &self.store, self.surroundings).await?;
        }
        Ok(())
    }

    /// The files of a context.
    pub fn files(&self, name: &ContextName) -> ContextFiles {
        ContextFiles::new(&self.contexts, name.as_str())
    }
}

/// The context that a command names, else the one of the options, else the current one.
pub fn context_choice(options: &Options, named: Option<String>) -> Result<ContextChoice, CliError> {
    let choice = ContextChoice::of(&options.run)?;
    match named {
        Some(name) if options.run.context.is_some() || options.run.transient.is_some() => Err(
            CliError::usage(format!("two contexts are named: {name} and one before"))
                .hint("leave -c and -C out, or the name at the end"),
        ),
        Some(name) => Ok(ContextChoice::named(parse_name(&name)?)),
        None => Ok(choice),
    }
}
