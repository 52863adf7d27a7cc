//! The chat in lines: from a pipe, or from a terminal that can show no screen.

use std::io::{self, Write};
use std::sync::mpsc::SyncSender;

use becket_agent::session_handle::SessionHandle;
use becket_face_kit::{Conversation, conclude_summary, remark_on};
use becket_front::{PROMPT, Style};
use becket_host::{CalledCommand, CommandEnd};
use becket_system::{CliError, Exit, Signals, Surroundings, harmless_name};
use tokio::sync::mpsc;

use super::away::{self, Away};
use super::dropped::{pictures, tell_unsent};
use super::own_commands::{
    Means, call, carry_out, choose_model, clear, help, mistyped, misused, print_by_itself, tell_end, usage,
};
use super::place::ChatSetting;
use super::{diff, keeping, thinking};

/// What a line has done.
enum Ran {
    Done,
    /// Nothing: it is a mistake, which the user was told.
    Mistaken,
    Quit,
}

/// Runs the chat until the input ends or the user leaves. Whoever reads no messages learns from the exit code that a
/// line was a mistake.
pub async fn talk(
    conversation: &mut Conversation,
    lines: &mut Lines,
    signals: &Signals,
    place: ChatSetting<'_>,
) -> Result<Exit, CliError> {
    let surroundings = place.surroundings;
    let handle = conversation.handle();
    let mut exit = Exit::Answered;
    loop {
        let interrupted = signals.next();
        let line = tokio::select! {
            biased;
            () = interrupted.cancelled() => return Ok(Exit::Cancelled),
            handle = requested(handle.as_ref()) => match attend(handle, conversation, signals, surroundings).await? {
                Some(exit) => return Ok(exit),
                None => continue,
            },
            line = lines.next() => line?,
        };
        let Some(line) = line else {
            return Ok(exit);
        };
        let line = line.trim();
        if let Some(command) = conversation.guests().command(line) {
            run_command(command, conversation, signals, surroundings).await?;
        } else {
            match run_line(line, conversation, signals, place).await? {
                Ran::Done => {}
                Ran::Mistaken if surroundings.stdin_is_terminal => {}
                Ran::Mistaken => exit = Exit::Usage,
                Ran::Quit => return Ok(exit),
            }
        }
        if signals.ended() {
            return Ok(Exit::Cancelled);
        }
    }
}

/// Does what a line says.
async fn run_line(
    line: &str,
    conversation: &mut Conversation,
    signals: &Signals,
    place: ChatSetting<'_>,
) -> Result<Ran, CliError> {
    let ran = match Means::within(line, conversation) {
        Means::Quit => return Ok(Ran::Quit),
        Means::Other => run_other(line, conversation, signals, place).await?,
        means => run_own(line, means, conversation, signals, place).await?,
    };
    Ok(match ran {
        Ok(()) => Ran::Done,
        Err(why) => {
            place.surroundings.complain(&why);
            Ran::Mistaken
        }
    })
}

/// Runs one of becket's own commands. The inner error says why there is nothing to run.
async fn run_own(
    line: &str,
    means: Means<'_>,
    conversation: &mut Conversation,
    signals: &Signals,
    place: ChatSetting<'_>,
) -> Result<Result<(), String>, CliError> {
    let ChatSetting {
        options,
        surroundings,
        ..
    } = place;
    match means {
        Means::Nothing | Means::Quit | Means::Other => {}
        Means::Help => conversation.output().write(&help(conversation)),
        Means::Usage => conversation.output().write(&usage(conversation)),
        Means::Report(report) => {
            let text = report.text(conversation, (options, surroundings));
            conversation.output().write(&text);
        }
        Means::Model(name) => return Ok(choose_model(name, conversation, surroundings)),
        Means::Thinking(name) => return Ok(thinking::set(name, conversation, surroundings)),
        // Lines of a pipe may be anybody's.
        Means::Go(_) | Means::Export(_) if !surroundings.stdin_is_terminal => {
            let name = line.split_whitespace().next().unwrap_or_default();
            return Ok(Err(format!("{name} needs a user at a terminal")));
        }
        Means::Go(words) => {
            if let Some(line) = carry_out(words, options, surroundings) {
                prompt(&line, conversation, signals, surroundings).await?;
            }
        }
        Means::Compact(instructions) => {
            let end = conversation.compact(instructions, signals.next()).await?;
            conclude_summary(&end, surroundings);
        }
        Means::Clear => clear(conversation, signals.next(), surroundings).await?,
        Means::Away(away) => return leave_for(away, conversation, signals, surroundings).await,
        Means::Name(name) => call(name, conversation, surroundings).await?,
        Means::Diff => {
            let looking = diff::Looking {
                environment: conversation.environment(),
                folder: &surroundings.cwd,
                scratch: &diff::scratch(conversation),
            };
            let style = Style::choose(options.color, surroundings.stderr_is_terminal, surroundings);
            let lines = diff::of(looking, style).await;
            diff::show(lines, &conversation.output(), surroundings);
        }
        Means::Copy => surroundings.remark("there is no screen to copy from; /export writes a file"),
        Means::Export(file) => keeping::export(file, conversation, surroundings),
        Means::Prints(prints) => return Ok(print_by_itself(prints, line, conversation, place)),
        Means::Misused(command) => return Ok(Err(misused(command))),
    }
    Ok(Ok(()))
}

/// Does what a line says that is none of becket's own commands. The inner error says why it is no prompt.
async fn run_other(
    line: &str,
    conversation: &mut Conversation,
    signals: &Signals,
    place: ChatSetting<'_>,
) -> Result<Result<(), String>, CliError> {
    let ChatSetting {
        options,
        surroundings,
        ..
    } = place;
    // Lines of a pipe are prompts: they may be anybody's.
    if line.starts_with('!') && surroundings.stdin_is_terminal {
        if let Some(handle) = conversation.handle() {
            let style = Style::choose(options.color, surroundings.stderr_is_terminal, surroundings);
            let shell = conversation.shell(style, surroundings);
            shell.start(line, &signals.next(), handle).await;
        }
    } else if let Some(why) = mistyped(line, &conversation.other_commands()) {
        return Ok(Err(why));
    } else {
        prompt(line, conversation, signals, surroundings).await?;
    }
    Ok(Ok(()))
}

/// Continues in another place. A message at the chosen entry is shown, so that it can be sent again in other words. The
/// inner error says why there is no such place.
async fn leave_for(
    away: Away<'_>,
    conversation: &mut Conversation,
    signals: &Signals,
    surroundings: &Surroundings,
) -> Result<Result<(), String>, CliError> {
    let to = match away.destination(conversation, None).await {
        Ok(Some(to)) => to,
        Ok(None) => return Ok(Ok(())),
        Err(error) => return Ok(Err(error.to_string())),
    };
    let end = conversation.go(to, &signals.next()).await?;
    Ok(away::told(away, end, conversation, surroundings).map(|text| {
        if let Some(text) = text {
            surroundings.remark(&format!("your message there: {}", harmless_name(&text)));
        }
    }))
}

/// Runs an extension command.
async fn run_command(
    command: CalledCommand,
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

/// Sends a line to the model.
async fn prompt(
    line: &str,
    conversation: &mut Conversation,
    signals: &Signals,
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    let cancel = signals.next();
    match conversation.typed_prompt(line, &cancel).await? {
        // A command that only turns to another agent asks nothing.
        Ok(prompt) if prompt.trim().is_empty() => {}
        Ok(prompt) => {
            // Lines of a pipe may be anybody's.
            match surroundings.stdin_is_terminal {
                true => conversation.add_pictures(pictures(line, surroundings)),
                false => tell_unsent(line, surroundings),
            }
            let end = conversation.ask(prompt, cancel).await?;
            remark_on(&end, &conversation.output(), surroundings);
        }
        Err(why) => surroundings.complain(&why),
    }
    Ok(())
}

/// Waits until an extension asks for something while nothing runs.
async fn requested(handle: Option<&SessionHandle>) -> &SessionHandle {
    match handle {
        Some(handle) => {
            handle.requested().await;
            handle
        }
        None => std::future::pending().await,
    }
}

/// Does what extensions ask for. Returns how the chat ends, if it does.
async fn attend(
    handle: &SessionHandle,
    conversation: &mut Conversation,
    signals: &Signals,
    surroundings: &Surroundings,
) -> Result<Option<Exit>, CliError> {
    if handle.shutdown_requested() {
        return Ok(Some(Exit::Answered));
    }
    if let Some(end) = conversation.attend(signals.next()).await? {
        remark_on(&end, &conversation.output(), surroundings);
    }
    Ok(signals.ended().then_some(Exit::Cancelled))
}

/// A source of lines. They are read in a thread of their own, because a read cannot be cancelled: a signal must be able
/// to end the chat while it waits.
pub struct Lines {
    wanted: SyncSender<()>,
    read: mpsc::Receiver<io::Result<Option<String>>>,
}

/// Reads one line; `None` at the end.
pub type ReadLine = Box<dyn FnMut() -> io::Result<Option<String>> + Send>;

impl Lines {
    pub fn open(surroundings: &Surroundings) -> Self {
        Self::reading(match surroundings.stdin_is_terminal {
            true => from_terminal(),
            false => from_pipe(),
        })
    }

    /// Lines that a function reads.
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

fn from_terminal() -> ReadLine {
    Box::new(|| typed_line(PROMPT))
}

/// Reads a line from a terminal without a screen, which edits lines itself; `None` at the end.
pub fn typed_line(prompt: &str) -> io::Result<Option<String>> {
    let mut stderr = io::stderr().lock();
    stderr.write_all(prompt.as_bytes())?;
    stderr.flush()?;
    drop(stderr);
    let mut line = String::new();
    let read = io::stdin().read_line(&mut line)?;
    Ok((read > 0).then_some(line))
}
