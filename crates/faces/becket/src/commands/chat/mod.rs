//! `becket chat`: prompts one after another. On a terminal that can show it there is a screen (`talk.rs`, with
//! `completion.rs`, `shell.rs`, `given.rs` and `outside.rs`); otherwise, and in a pipe, there are lines (`lines.rs`).
//! `own_commands.rs` has becket's own commands.

mod away;
mod completion;
mod given;
mod lines;
mod outside;
mod own_commands;
mod shell;
mod talk;

use becket_events::EndReason;
use becket_system::{CliError, Exit, Folders, Signals, Surroundings};

use super::ending::unless_lost;
use crate::opened::Conversation;
use crate::options::Options;
use crate::running::listening;

pub(super) use lines::{Lines, ReadLine, typed_line};
pub use shell::Shell;

/// Runs a chat with the model.
pub fn run(options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let folders = Folders::find(options.run.home.as_deref(), surroundings)?;
    let mut options = options.clone();
    options.run.is_chat = true;
    let options = &options;
    listening(options, surroundings, async |signals| {
        let work = converse(options, surroundings, &folders, &signals);
        let result = signals.unless_forced(work).await;
        surroundings.screen.close();
        result
    })
}

async fn converse(
    options: &Options,
    surroundings: &Surroundings,
    folders: &Folders,
    signals: &Signals,
) -> Result<Exit, CliError> {
    // First of all: extensions may ask something when the session begins.
    let keys = talk::open_screen(options, surroundings, &folders.history_file());
    let mut conversation = Conversation::open(options, surroundings, &signals.next()).await?;
    let output = conversation.output();
    if let Some(welcome) = conversation.welcome_message() {
        surroundings.remark(welcome);
    }
    if conversation.take_first_prompt().is_some() {
        surroundings.remark("a hook wanted to begin with a prompt; in a chat you begin");
    }
    let outcome = match keys {
        Some(keys) => talk::talk(&mut conversation, keys, signals, (options, surroundings)).await,
        None => {
            let mut lines = Lines::open(surroundings);
            lines::talk(&mut conversation, &mut lines, signals, (options, surroundings)).await
        }
    };
    let reason = match &outcome {
        Ok(Exit::Answered) => EndReason::Done,
        Ok(_) => EndReason::Cancelled,
        Err(_) => EndReason::Failed,
    };
    conversation.close(reason).await?;
    outcome.map(|exit| unless_lost(exit, &output, surroundings))
}
