//! `becket chat`: prompts one after another, with a line editor on a terminal and line by line from a pipe.

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::sync::mpsc::SyncSender;

use becket_agent::desk::Desk;
use becket_events::EndReason;
use reedline::{FileBackedHistory, Prompt, PromptEditMode, PromptHistorySearch, Reedline, Signal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::mpsc;

use super::ask::{Conversation, remark_on, unless_lost};
use super::{compact, redo, runtime, snapshots, undo};
use crate::args::Options;
use crate::extensions::{Called, CommandEnd};
use crate::failure::{CliError, Exit};
use crate::folders::Folders;
use crate::signals::{Signals, leave_terminal};
use crate::surroundings::Surroundings;

/// How many lines of history are kept.
const HISTORY_LINES: usize = 10_000;

/// The longest line that a terminal hands out at once.
const LONGEST_LINE: usize = 4096;

const HELP: &str = "\
/help    this list
/usage   tokens that this session has used
/compact put a summary in the place of the conversation; words after it say what matters
/undo    take back the last turn that changed files; with --call the last call, with --force in any case
/redo    take back the last undo; with --force in any case
/snapshots list the checkpoints of the working directory
/quit    end the chat (also /exit and Ctrl-D)
Ctrl-C cancels the turn. Everything else is a prompt.
";

/// Talks with the model.
pub fn run(options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let folders = Folders::find(options.home.as_deref(), surroundings)?;
    let runtime = runtime(options)?;
    let result = runtime.block_on(async {
        let signals = surroundings.signals.listen()?;
        let work = converse(options, surroundings, &folders, &signals);
        signals.unless_forced(work).await
    });
    leave_terminal();
    // A thread may still wait for the next line.
    runtime.shutdown_background();
    result
}

async fn converse(
    options: &Options,
    surroundings: &Surroundings,
    folders: &Folders,
    signals: &Signals,
) -> Result<Exit, CliError> {
    let mut conversation = Conversation::open(options, surroundings, &signals.next()).await?;
    let output = conversation.output();
    if let Some(welcome) = conversation.welcome() {
        surroundings.remark(welcome);
    }
    let mut lines = Lines::open(surroundings, &folders.history_file());
    let outcome = talk(&mut conversation, &mut lines, signals, (options, surroundings)).await;
    let reason = match &outcome {
        Ok(Exit::Answered) => EndReason::Done,
        Ok(_) => EndReason::Cancelled,
        Err(_) => EndReason::Failed,
    };
    conversation.close(reason).await?;
    outcome.map(|exit| unless_lost(exit, &output, surroundings))
}

async fn talk(
    conversation: &mut Conversation,
    lines: &mut Lines,
    signals: &Signals,
    (options, surroundings): (&Options, &Surroundings),
) -> Result<Exit, CliError> {
    let desk = conversation.desk();
    loop {
        let interrupted = signals.next();
        let line = tokio::select! {
            biased;
            () = interrupted.cancelled() => return Ok(Exit::Cancelled),
            desk = wished(desk.as_ref()) => match attend(desk, conversation, signals, surroundings).await? {
                Some(exit) => return Ok(exit),
                None => continue,
            },
            line = lines.next() => line?,
        };
        let Some(line) = line else {
            return Ok(Exit::Answered);
        };
        match line.trim() {
            "" => {}
            "/quit" | "/exit" => return Ok(Exit::Answered),
            "/help" => super::print(&format!("{HELP}{}", conversation.listed_commands()))?,
            "/usage" => {
                let usage = conversation.usage();
                super::print(&format!(
                    "{} tokens in, {} out\n",
                    usage.input_tokens, usage.output_tokens
                ))?;
            }
            command if command.split_whitespace().next() == Some("/compact") => {
                let wishes = command.trim_start_matches("/compact").trim();
                let instructions = (!wishes.is_empty()).then(|| wishes.to_string());
                let end = conversation.compact(instructions, signals.next()).await?;
                compact::conclude(&end, surroundings);
                if signals.ended() {
                    return Ok(Exit::Cancelled);
                }
            }
            command if goes_back(command, options, surroundings) => {}
            line if let Some(command) = conversation.extensions().called(line) => {
                run_command(command, conversation, signals, surroundings).await?;
                if signals.ended() {
                    return Ok(Exit::Cancelled);
                }
            }
            unknown
                if unknown.starts_with('/')
                    && !unknown.contains(char::is_whitespace)
                    && !conversation.calls_command(unknown) =>
            {
                surroundings.remark(&format!("there is no command {unknown}; /help lists them"));
            }
            line => {
                prompt(line, conversation, signals, surroundings).await?;
                if signals.ended() {
                    return Ok(Exit::Cancelled);
                }
            }
        }
    }
}

/// Runs a command of an extension's.
async fn run_command(
    command: Called,
    conversation: &mut Conversation,
    signals: &Signals,
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    let (ended, end) = conversation.command(command, signals.next()).await?;
    if let Some(end) = end.filter(|_| ended != CommandEnd::Cancelled) {
        remark_on(&end, &conversation.output(), surroundings);
    }
    match ended {
        CommandEnd::Done => {}
        CommandEnd::Threw(why) => surroundings.complain(&why),
        CommandEnd::Waits(why) => surroundings.remark(&format!("{why}; the chat goes on")),
        CommandEnd::Cancelled => surroundings.remark("cancelled"),
    }
    Ok(())
}

/// Asks what a line says.
async fn prompt(
    line: &str,
    conversation: &mut Conversation,
    signals: &Signals,
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    let cancel = signals.next();
    match conversation.as_prompt(line, &cancel).await? {
        // A command that only turns to another agent asks nothing.
        Ok(prompt) if prompt.trim().is_empty() => {}
        Ok(prompt) => {
            let end = conversation.ask(prompt, cancel).await?;
            remark_on(&end, &conversation.output(), surroundings);
        }
        Err(why) => surroundings.complain(&why),
    }
    Ok(())
}

/// Waits until an extension wants something while nothing runs.
async fn wished(desk: Option<&Desk>) -> &Desk {
    match desk {
        Some(desk) => {
            desk.wished().await;
            desk
        }
        None => std::future::pending().await,
    }
}

/// Does what extensions want, as if the person had asked for it. Says how the chat ends, if it does.
async fn attend(
    desk: &Desk,
    conversation: &mut Conversation,
    signals: &Signals,
    surroundings: &Surroundings,
) -> Result<Option<Exit>, CliError> {
    if desk.shutdown_requested() {
        return Ok(Some(Exit::Answered));
    }
    if let Some(end) = conversation.attend(signals.next()).await? {
        remark_on(&end, &conversation.output(), surroundings);
    }
    Ok(signals.ended().then_some(Exit::Cancelled))
}

/// Goes back to a checkpoint, if the line says so. What goes wrong is told, and the chat goes on.
fn goes_back(line: &str, options: &Options, surroundings: &Surroundings) -> bool {
    let mut words = line.split_whitespace();
    let (Some(command @ ("/undo" | "/redo" | "/snapshots")), words) =
        (words.next(), words.collect::<Vec<_>>())
    else {
        return false;
    };
    let has = |word: &str| words.contains(&word);
    let known: &[&str] = match command {
        "/undo" => &["--call", "--force"],
        "/redo" => &["--force"],
        _ => &[],
    };
    let result = match words.iter().find(|word| !known.contains(word)) {
        Some(word) => Err(CliError::usage(format!("{command} does not know `{word}`"))),
        None => match command {
            "/undo" => undo::run(options, has("--call"), has("--force"), surroundings),
            "/redo" => redo::run(options, has("--force"), surroundings),
            _ => snapshots::run(options, None, surroundings),
        },
    };
    if let Err(error) = result {
        surroundings.complain(&error.to_string());
    }
    true
}

/// Where lines come from. They are read in a thread of their own, because a read cannot be called off: a signal must
/// be able to end the chat while it waits.
struct Lines {
    wanted: SyncSender<()>,
    read: mpsc::Receiver<io::Result<Option<String>>>,
}

type ReadLine = Box<dyn FnMut() -> io::Result<Option<String>> + Send>;

impl Lines {
    fn open(surroundings: &Surroundings, history: &Path) -> Self {
        let edited = surroundings.stdin_is_terminal;
        let mut read_line = if edited { from_editor(history) } else { from_pipe() };
        let (wanted, requests) = std::sync::mpsc::sync_channel::<()>(1);
        let (lines, read) = mpsc::channel(1);
        std::thread::spawn(
            move || {
                while requests.recv().is_ok() && lines.blocking_send(read_line()).is_ok() {}
            },
        );
        Self { wanted, read }
    }

    /// The next line; `None` at the end.
    async fn next(&mut self) -> Result<Option<String>, CliError> {
        // A full channel means that a line is already being read.
        let _ = self.wanted.try_send(());
        match self.read.recv().await {
            Some(Ok(line)) => Ok(line),
            Some(Err(error)) => Err(CliError::failed(format!("cannot read the next line: {error}"))),
            None => Ok(None),
        }
    }
}

fn from_pipe() -> ReadLine {
    let stdin = io::stdin();
    Box::new(move || {
        let mut line = String::new();
        let read = stdin.read_line(&mut line)?;
        Ok((read > 0).then_some(line))
    })
}

fn from_editor(history: &Path) -> ReadLine {
    let mut editor = Reedline::create().use_bracketed_paste(true);
    // A history that cannot be kept is no reason not to talk.
    if let Ok(history) = FileBackedHistory::with_file(HISTORY_LINES, history.to_path_buf()) {
        editor = editor.with_history(Box::new(history));
    }
    Box::new(move || {
        if let Some(line) = typed_ahead()? {
            return Ok(Some(line));
        }
        loop {
            match editor.read_line(&Plain)? {
                Signal::Success(line) => {
                    // At once, because nobody waits for this thread at the end.
                    let _ = editor.sync_history();
                    return Ok(Some(line));
                }
                Signal::CtrlD => return Ok(None),
                _ => {}
            }
        }
    })
}

/// A line that was typed while the agent was at work. The editor takes all that waits at the terminal and forgets what
/// stands behind the first line; as long as it does not read, the terminal hands out whole lines.
fn typed_ahead() -> io::Result<Option<String>> {
    let stdin = io::stdin();
    let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
    if poll(&mut waiting, Some(&Timespec::default()))? == 0 || !waiting[0].revents().contains(PollFlags::IN) {
        return Ok(None);
    }
    let mut line = [0; LONGEST_LINE];
    let length = rustix::io::read(&stdin, &mut line)?;
    let line = String::from_utf8_lossy(&line[..length]).trim_end().to_owned();
    Ok((!line.is_empty()).then_some(line))
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
