//! The chat in lines: from a pipe, or from a line editor where a terminal can show no screen.

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::sync::mpsc::SyncSender;

use becket_agent::desk::Desk;
use becket_pi::extensions::{Called, CommandEnd};
use becket_system::{CliError, Exit, Signals, Surroundings, harmless_name};
use reedline::{FileBackedHistory, Prompt, PromptEditMode, PromptHistorySearch, Reedline, Signal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::mpsc;

use super::{Away, Means, away, goes_back, help, tell_end};
use crate::args::Options;
use crate::commands::ask::{Conversation, remark_on};
use crate::commands::{compact, print};
use crate::front::{PROMPT, Style};

/// The longest line that a terminal hands out at once.
const LONGEST_LINE: usize = 4096;

/// Talks until the lines or the person's patience end.
pub async fn talk(
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
        let line = line.trim();
        match Means::of(line) {
            Means::Nothing => {}
            Means::Quit => return Ok(Exit::Answered),
            Means::Help => print(&help(conversation))?,
            Means::Usage => print(&super::usage(conversation))?,
            Means::Model(name) => super::choose_model(name, conversation, surroundings),
            Means::Compact(wishes) => {
                let end = conversation.compact(wishes, signals.next()).await?;
                compact::conclude(&end, surroundings);
            }
            Means::Away(away) => leave_for(away, conversation, signals, surroundings).await?,
            Means::Name(name) => super::call(name, conversation, surroundings).await?,
            Means::GoesBack => goes_back(line, options, surroundings),
            // Lines of a pipe are prompts: they may be anybody's.
            Means::Other if line.starts_with('!') && surroundings.stdin_is_terminal => {
                if let Some(desk) = &desk {
                    let style = Style::choose(options.color, surroundings.stderr_is_terminal, surroundings);
                    let shell = conversation.shell(style, surroundings);
                    shell.start(line, &signals.next(), desk.clone()).await;
                }
            }
            Means::Other => match conversation.extensions().called(line) {
                Some(command) => run_command(command, conversation, signals, surroundings).await?,
                None if super::is_unknown(line, conversation) => super::tell_unknown(line, surroundings),
                None => prompt(line, conversation, signals, surroundings).await?,
            },
        }
        if signals.ended() {
            return Ok(Exit::Cancelled);
        }
    }
}

/// Goes on elsewhere. What was said there is told, to be said in other words.
async fn leave_for(
    away: Away<'_>,
    conversation: &mut Conversation,
    signals: &Signals,
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    let to = match away.destination(conversation, None).await {
        Ok(Some(to)) => to,
        Ok(None) => return Ok(()),
        Err(error) => {
            surroundings.complain(&error.to_string());
            return Ok(());
        }
    };
    let end = conversation.go(to, &signals.next()).await?;
    if let Some(text) = away::told(away, end, conversation, surroundings) {
        surroundings.remark(&format!("there you said: {}", harmless_name(&text)));
    }
    Ok(())
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
    tell_end(ended, surroundings);
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

/// Where lines come from. They are read in a thread of their own, because a read cannot be called off: a signal must
/// be able to end the chat while it waits.
pub struct Lines {
    wanted: SyncSender<()>,
    read: mpsc::Receiver<io::Result<Option<String>>>,
}

/// Reads one line; `None` at the end.
pub type ReadLine = Box<dyn FnMut() -> io::Result<Option<String>> + Send>;

impl Lines {
    pub fn open(surroundings: &Surroundings, history: &Path) -> Self {
        Self::reading(match surroundings.stdin_is_terminal {
            true => from_editor(history),
            false => from_pipe(),
        })
    }

    /// Lines that are read like this.
    pub fn reading(mut read_line: ReadLine) -> Self {
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
    pub async fn next(&mut self) -> Result<Option<String>, CliError> {
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
    if let Ok(history) = FileBackedHistory::with_file(super::HISTORY_LINES, history.to_path_buf()) {
        editor = editor.with_history(Box::new(history));
    }
    Box::new(move || {
        if let Some(line) = typed_ahead()? {
            return Ok(Some(line));
        }
        loop {
            match editor.read_line(&PromptMark(PROMPT.trim_end_matches("> ")))? {
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
pub struct PromptMark(pub &'static str);

impl Prompt for PromptMark {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        self.0.into()
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
