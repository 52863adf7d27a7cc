//! `becket chat`: prompts one after another, with a line editor on a terminal and line by line from a pipe.

use std::borrow::Cow;
use std::path::Path;

use becket_events::EndReason;
use reedline::{FileBackedHistory, Prompt, PromptEditMode, PromptHistorySearch, Reedline, Signal};

use super::ask::{Conversation, cancel_on_signals, remark_on};
use super::runtime;
use crate::args::Options;
use crate::failure::{CliError, Exit};
use crate::folders::Folders;
use crate::surroundings::Surroundings;

/// How many lines of history are kept.
const HISTORY_LINES: usize = 10_000;

const HELP: &str = "\
/help    this list
/usage   tokens that this session has used
/quit    end the chat (also Ctrl-D)
Ctrl-C cancels the turn. Everything else is a prompt.
";

/// Talks with the model.
pub fn run(options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let folders = Folders::find(options.home.as_deref(), surroundings)?;
    let runtime = runtime()?;
    let result = runtime.block_on(async {
        let mut conversation = Conversation::open(options, surroundings).await?;
        let mut lines = Lines::open(surroundings, &folders.history_file())?;
        let outcome = talk(&mut conversation, &mut lines, surroundings).await;
        let reason = if outcome.is_ok() {
            EndReason::Done
        } else {
            EndReason::Failed
        };
        conversation.close(reason).await?;
        outcome
    });
    runtime.shutdown_background();
    result.map(|()| Exit::Answered)
}

async fn talk(
    conversation: &mut Conversation,
    lines: &mut Lines,
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    while let Some(line) = lines.next()? {
        match line.trim() {
            "" => {}
            "/quit" | "/exit" => break,
            "/help" => super::print(HELP)?,
            "/usage" => {
                let usage = conversation.usage();
                super::print(&format!(
                    "{} tokens in, {} out\n",
                    usage.input_tokens, usage.output_tokens
                ))?;
            }
            command if command.starts_with('/') && !command.contains(char::is_whitespace) => {
                surroundings.remark(&format!("there is no command {command}; /help lists them"));
            }
            prompt => {
                let end = conversation.ask(prompt.to_string(), cancel_on_signals()).await?;
                remark_on(&end, surroundings);
            }
        }
    }
    Ok(())
}

/// Where lines come from.
enum Lines {
    Editor(Box<Reedline>),
    Pipe(std::io::Lines<std::io::StdinLock<'static>>),
}

impl Lines {
    fn open(surroundings: &Surroundings, history: &Path) -> Result<Self, CliError> {
        if !surroundings.stdin_is_terminal {
            return Ok(Self::Pipe(std::io::stdin().lines()));
        }
        let mut editor = Reedline::create();
        // A history that cannot be kept is no reason not to talk.
        if let Ok(history) = FileBackedHistory::with_file(HISTORY_LINES, history.to_path_buf()) {
            editor = editor.with_history(Box::new(history));
        }
        Ok(Self::Editor(Box::new(editor)))
    }

    /// The next line; `None` at the end.
    fn next(&mut self) -> Result<Option<String>, CliError> {
        let broken = |error: std::io::Error| CliError::failed(format!("cannot read the next line: {error}"));
        match self {
            Self::Pipe(lines) => lines.next().transpose().map_err(broken),
            Self::Editor(editor) => loop {
                match editor.read_line(&Plain).map_err(broken)? {
                    Signal::Success(line) => return Ok(Some(line)),
                    Signal::CtrlD => return Ok(None),
                    _ => {}
                }
            },
        }
    }
}

/// The mark in front of what the person types.
struct Plain;

impl Prompt for Plain {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        "becket".into()
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        "".into()
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        "> ".into()
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        "  ".into()
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        format!("(search: {}) ", search.term).into()
    }
}
