//! `becket chat`: prompts one after another. On a terminal that can show it there is a screen (`talk.rs`, with
//! `completion.rs`, `shell.rs`, `given.rs` and `outside.rs`); otherwise, and in a pipe, there are lines (`lines.rs`).
//! `own_commands.rs` has becket's own commands; `reports.rs`, `diff.rs`, `keeping.rs` and `picker.rs` carry some of
//! them out. `opening.rs` is what a chat begins with, `footer.rs` what stands below it; `dropped.rs` finds pictures in
//! a line, and `clipboard.rs` the one in the clipboard.

mod away;
mod clipboard;
mod completion;
mod diff;
mod dropped;
mod footer;
mod given;
mod keeping;
mod lines;
mod opening;
mod outside;
mod own_commands;
mod picker;
mod reports;
mod shell;
mod talk;

use becket_events::EndReason;
use becket_system::{CliError, Exit, Folders, Signals, Surroundings};

use super::ending::unless_lost;
use crate::front::Style;
use crate::front::markdown::broken;
use crate::opened::Conversation;
use crate::options::Options;
use crate::running::listening;

use opening::{first_lines, how_to_go_on, show_end};

pub(super) use lines::{Lines, ReadLine, typed_line};
pub use own_commands::command_table;
pub use reports::{Report, known_models};
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
    let style = Style::choose(options.color, surroundings.stderr_is_terminal, surroundings);
    if surroundings.stderr_is_terminal && !options.run.json {
        let lines = first_lines(&conversation, style, surroundings);
        let lines = lines.iter().flat_map(|line| broken(line, output.width()));
        lines.for_each(|line| output.say(&line));
        show_end(&conversation, style);
    }
    if let Some(welcome) = conversation.welcome_message() {
        surroundings.remark(welcome);
    }
    if conversation.take_first_prompt().is_some() {
        surroundings.remark("a hook returned a first prompt; it is ignored in a chat");
    }
    let outcome = match keys {
        Some(keys) => talk::talk(&mut conversation, keys, signals, (options, surroundings)).await,
        None => {
            let mut lines = Lines::open(surroundings);
            lines::talk(&mut conversation, &mut lines, signals, (options, surroundings)).await
        }
    };
    let reason = match &outcome {
        Ok(Exit::Answered) => EndReason::Left,
        Ok(_) => EndReason::Cancelled,
        Err(_) => EndReason::Failed,
    };
    let goes_on = (conversation.message_count() > 0 && !options.run.keeps_nothing)
        .then(|| how_to_go_on(conversation.context_name().as_str()));
    conversation.close(reason).await?;
    surroundings.screen.close();
    if let Some(line) = goes_on.filter(|_| surroundings.stderr_is_terminal && !options.run.json) {
        output.say(&style.dim(&line));
    }
    outcome.map(|exit| unless_lost(exit, &output, surroundings))
}
