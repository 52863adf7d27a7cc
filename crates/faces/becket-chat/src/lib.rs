//! The chat: prompts one after another. On a terminal that can show it there is a screen (`talk.rs`, with
//! `completion.rs` and `outside.rs`); otherwise, and in a pipe, there are lines (`lines.rs`). `own_commands.rs` has
//! becket's own commands; `diff.rs`, `keeping.rs`, `picker.rs` and `thinking.rs` carry some of them out. `opening.rs`
//! is what a chat begins with, `footer.rs` what stands below it, and `jobs.rs` names what ends with it; `alert.rs`
//! tells a user who looks elsewhere, `dropped.rs` finds pictures in a line, and `clipboard.rs` the one in the
//! clipboard.
//!
//! This crate does not know the command line. What the program's own commands do in a chat, the program says
//! (`RunCalled`).

mod alert;
mod away;
mod clipboard;
mod completion;
mod diff;
mod dropped;
mod footer;
mod jobs;
mod keeping;
mod lines;
mod opening;
mod outside;
mod own_commands;
mod picker;
mod place;
mod talk;
mod thinking;

use becket_events::EndReason;
use becket_face_kit::{Conversation, Options, listening, unless_lost};
use becket_front::{Style, broken};
use becket_system::{CliError, Exit, Folders, Signals, Surroundings};

use opening::{first_lines, how_to_go_on, show_end};
use place::ChatSetting;

pub use lines::{Lines, ReadLine, typed_line};
pub use own_commands::command_table;
pub use place::{Called, Prints, RunCalled};

/// Runs a chat with the model.
pub fn run(options: &Options, surroundings: &Surroundings, run_called: RunCalled) -> Result<Exit, CliError> {
    let folders = Folders::find(options.run.home.as_deref(), surroundings)?;
    let mut options = options.clone();
    options.run.is_chat = true;
    let place = ChatSetting {
        options: &options,
        surroundings,
        run_called,
    };
    listening(&options, surroundings, async |signals| {
        let work = converse(place, &folders, &signals);
        let result = signals.unless_forced(work).await;
        surroundings.screen.close();
        result
    })
}

async fn converse(place: ChatSetting<'_>, folders: &Folders, signals: &Signals) -> Result<Exit, CliError> {
    let ChatSetting {
        options,
        surroundings,
        ..
    } = place;
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
        Some(keys) => talk::talk(&mut conversation, keys, signals, place).await,
        None => {
            let mut lines = Lines::open(surroundings);
            lines::talk(&mut conversation, &mut lines, signals, place).await
        }
    };
    let reason = match &outcome {
        Ok(Exit::Answered | Exit::Usage) => EndReason::Left,
        Ok(_) => EndReason::Cancelled,
        Err(_) => EndReason::Failed,
    };
    let goes_on = (conversation.message_count() > 0 && !options.run.keeps_nothing)
        .then(|| how_to_go_on(conversation.context_name().as_str()));
    if let Some(running) = jobs::running_jobs(&conversation.assembled().jobs) {
        surroundings.remark(&format!("{running}; what runs ends with the chat"));
    }
    conversation.close(reason).await?;
    surroundings.screen.close();
    if let Some(line) = goes_on.filter(|_| surroundings.stderr_is_terminal && !options.run.json) {
        output.say(&style.dim(&line));
    }
    outcome.map(|exit| unless_lost(exit, &output, surroundings))
}
