//! `becket chat`: prompts one after another, with a line editor on a terminal and line by line from a pipe.

use std::borrow::Cow;
use std::path::PathBuf;

use becket_events::EndReason;
use reedline::{FileBackedHistory, Prompt, PromptEditMode, PromptHistorySearch, Reedline, Signal};

use super::ask::{Conversation, cancel_on_signals, remark_on, signalled};
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
        let mut lines = Lines::open(surroundings, folders.history_file());
        let outcome = talk(&mut conversation, &mut lines, surroundings).await;
        let reason = match outcome {
            Ok(Exit::Cancelled) => EndReason::Cancelled,
            Ok(_) => EndReason::Done,
            Err(_) => EndReason::Failed,
        };
        conversation.close(reason).await?;
        outcome
    });
    runtime.shutdown_background();
    result
}

async fn talk(
    conversation: &mut Conversation,
    lines: &mut Lines,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    loop {
        let line = match lines.next().await? {
            Heard::Line(line) => line,
            Heard::End => return Ok(Exit::Answered),
            Heard::Signal => return Ok(Exit::Cancelled),
        };
        match line.trim() {
            "" => {}
            "/quit" | "/exit" => return Ok(Exit::Answered),
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
}

/// What comes while the chat waits for a line.
enum Heard {
    Line(String),
    End,
    /// Somebody wants the program to end.
    Signal,
}

/// Where lines come from: a thread of its own, because a read cannot be called off and a signal must not wait for it.
struct Lines {
    wanted: std::sync::mpsc::Sender<()>,
    read: tokio::sync::mpsc::UnboundedReceiver<std::io::Result<Option<String>>>,
    terminal: SavedTerminal,
}

impl Lines {
    fn open(surroundings: &Surroundings, history: PathBuf) -> Self {
        let (wanted, wishes) = std::sync::mpsc::channel();
        let (found, read) = tokio::sync::mpsc::unbounded_channel();
        let attended = surroundings.stdin_is_terminal;
        std::thread::spawn(move || {
            let mut source = if attended {
                Source::editor(history)
            } else {
                Source::Pipe(std::io::stdin().lines())
            };
            // Nothing is read before it is wanted: while a turn runs, the terminal belongs to its questions.
            while wishes.recv().is_ok() && found.send(source.next()).is_ok() {}
        });
        Self {
            wanted,
            read,
            terminal: SavedTerminal::of_stdin(),
        }
    }

    /// The next line, or why there is none.
    async fn next(&mut self) -> Result<Heard, CliError> {
        let broken =
            |error: &dyn std::fmt::Display| CliError::failed(format!("cannot read the next line: {error}"));
        self.wanted.send(()).map_err(|error| broken(&error))?;
        tokio::select! {
            line = self.read.recv() => match line.transpose().map_err(|error| broken(&error))?.flatten() {
                Some(line) => Ok(Heard::Line(line)),
                None => Ok(Heard::End),
            },
            () = signalled() => {
                self.terminal.restore();
                Ok(Heard::Signal)
            }
        }
    }
}

/// What lines are read from.
enum Source {
    Editor(Box<Reedline>),
    Pipe(std::io::Lines<std::io::StdinLock<'static>>),
}

impl Source {
    fn editor(history: PathBuf) -> Self {
        let mut editor = Reedline::create();
        // A history that cannot be kept is no reason not to talk.
        if let Ok(history) = FileBackedHistory::with_file(HISTORY_LINES, history) {
            editor = editor.with_history(Box::new(history));
        }
        Self::Editor(Box::new(editor))
    }

    /// The next line; `None` at the end.
    fn next(&mut self) -> std::io::Result<Option<String>> {
        match self {
            Self::Pipe(lines) => lines.next().transpose(),
            Self::Editor(editor) => loop {
                match editor.read_line(&Plain)? {
                    Signal::Success(line) => {
                        // At once, because nobody waits for this thread at the end.
                        let _ = editor.sync_history();
                        return Ok(Some(line));
                    }
                    Signal::CtrlD => return Ok(None),
                    _ => {}
                }
            },
        }
    }
}

/// How the terminal was before the line editor took it.
struct SavedTerminal(Option<rustix::termios::Termios>);

impl SavedTerminal {
    fn of_stdin() -> Self {
        Self(rustix::termios::tcgetattr(std::io::stdin()).ok())
    }

    /// Puts it back; the editor cannot, because it is left in the middle of a line.
    fn restore(&self) {
        if let Some(state) = &self.0 {
            let _ =
                rustix::termios::tcsetattr(std::io::stdin(), rustix::termios::OptionalActions::Now, state);
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
