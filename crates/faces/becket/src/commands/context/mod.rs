//! `becket context`: looks after one context. `life.rs` makes, renames, clears and destroys; `edit.rs` changes the
//! system prompt and the settings; `transcript.rs` is the conversation as lines; `place.rs` is what they share.

mod edit;
mod life;
mod place;
mod show;
mod transcript;

pub use place::context_choice;

use becket_face_kit::runtime;
use becket_system::{CliError, Exit, Surroundings};
use place::ContextCommands;

use super::switch;
use crate::args::ContextCommand;
use crate::options::Options;

/// Runs one of the context commands.
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
    let place = ContextCommands::open(options, surroundings)?;
    runtime(options)?.block_on(async {
        let done = place.run(command).await;
        let closed = place.store.close().await;
        done?;
        closed?;
        Ok(Exit::Answered)
    })
}

impl ContextCommands<'_> {
    async fn run(&self, command: ContextCommand) -> Result<(), CliError> {
        match command {
            ContextCommand::Show { name } => show::show(self, &self.context(name).await?),
            ContextCommand::Create { name, if_new } => life::create(self, &name, if_new).await,
            ContextCommand::Rename { names } => life::rename(self, names).await,
            ContextCommand::List | ContextCommand::Clear { .. } => {
                unreachable!("it was taken care of before")
            }
            ContextCommand::Destroy {
                name: Some(name),
                if_any: true,
                ..
            } if self.store.context(&name)?.is_none() => Ok(()),
            ContextCommand::Destroy { name, quiet, .. } => {
                let name = self.context(name).await?;
                let current = life::destroy(self, &name).await?;
                if !quiet {
                    let words = format!("destroyed the context {name}; the current one is {current}");
                    self.surroundings.remark(&words);
                }
                Ok(())
            }
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
            ContextCommand::Log { name, count, first } => {
                let part = transcript::LogPart {
                    count: count as usize,
                    first,
                };
                transcript::log(self, &self.context(name).await?, part)
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
}
