//! Commands of extensions: `/name arguments`.

use std::sync::Arc;
use std::time::Duration;

use becket_js::Extension;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::board::{Board, Command};
use crate::services::{Ran, RunCommand};

/// How often it is looked at what a command that takes its time waits for.
const LOOK: Duration = Duration::from_millis(100);

/// After how long the person is told that a command is still at work.
const WORD: Duration = Duration::from_secs(5);

/// How long a command may take. It may wait for the agent; the person can cancel.
const LONGEST: Duration = Duration::from_secs(6 * 60 * 60);

/// A command that a line calls.
pub struct Called {
    extension: Extension,
    /// How often the extension has begun anew until now.
    life: u64,
    /// Its name, as the extension knows it.
    name: String,
    arguments: String,
}

/// How a command ended, as far as it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandEnd {
    /// It is done.
    Done,
    /// It has failed.
    Threw {
        /// With what, and where.
        why: String,
        /// The message of the error alone.
        message: String,
    },
    /// It waits for something that only the person could bring, and says so.
    Waits(String),
    /// The person cancelled it.
    Cancelled,
}

/// A command is at work as long as this lives.
struct AtWork<'a> {
    board: &'a Board,
    life: u64,
    name: String,
}

impl<'a> AtWork<'a> {
    fn begin(board: &'a Board, called: &Called) -> Self {
        let (life, extension) = (called.life, called.extension.clone());
        let name = extension.name().to_owned();
        board.state().at_work.push((life, extension));
        Self { board, life, name }
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        let mut state = self.board.state();
        let is_it =
            |(life, extension): &(u64, Extension)| *life == self.life && extension.name() == self.name;
        let place = state.at_work.iter().position(is_it);
        let gone = place.map(|place| state.at_work.swap_remove(place));
        // What ends with it may look at the board once more.
        drop(state);
        drop(gone);
    }
}

/// What a command threw.
struct Thrown {
    error: String,
    message: String,
}

impl Board {
    /// All commands by the names that can be typed, with their extensions. Where several have one name, each has a
    /// number besides, and the first has the name itself.
    pub fn commands(&self) -> Vec<(String, Command, String)> {
        let all: Vec<(Command, String)> = self
            .each(|guest| {
                let commands = guest.commands.iter().cloned();
                let named = commands.map(|command| (command, guest.candidate.name.clone()));
                named.collect::<Vec<_>>()
            })
            .concat();
        let count = |name: &str| all.iter().filter(|(command, _)| command.name == name).count();
        let mut named = Vec::new();
        for (at, (command, extension)) in all.iter().enumerate() {
            let name = &command.name;
            let number = 1 + all[..at].iter().filter(|(other, _)| other.name == *name).count();
            let typed = match count(name) {
                1 => name.clone(),
                _ => format!("{name}:{number}"),
            };
            named.push((typed, command.clone(), extension.clone()));
        }
        named
    }

    /// The command that a line calls.
    pub fn called(&self, line: &str) -> Option<Called> {
        let line = line.strip_prefix('/')?;
        let (word, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let commands = self.commands();
        let exact = commands.iter().find(|(typed, ..)| typed == word);
        let first = || commands.iter().find(|(_, command, _)| command.name == word);
        let (_, command, extension) = exact.or_else(first)?;
        let (extension, life) = self.with(extension, |guest| (guest.extension.clone(), guest.life))?;
        Some(Called {
            extension: extension?,
            life,
            name: command.name.clone(),
            arguments: arguments.to_owned(),
        })
    }

    /// Runs a command, as far as it comes without the person. What it asks for must be attended to meanwhile.
    pub async fn run_command(self: &Arc<Self>, called: Called, cancel: &CancellationToken) -> CommandEnd {
        let whose = format!(
            "the command /{} of the extension {}",
            called.name,
            called.extension.name()
        );
        let extension = called.extension.clone();
        let mut running = Box::pin(Arc::clone(self).run(called));
        let ran = tokio::select! {
            biased;
            () = cancel.cancelled() => return CommandEnd::Cancelled,
            ran = &mut running => ran,
            () = self.nothing_comes(&whose, &extension) => {
                let (board, name) = (Arc::clone(self), whose.clone());
                tokio::spawn(async move {
                    if let Err(thrown) = running.await {
                        board.warn(&format!("{name}: {}", thrown.error));
                    }
                });
                return CommandEnd::Waits(format!(
                    "{whose} waits, but nothing is on its way that could let it go on: nothing runs, and no \
                     extension has a timer or a call under way"
                ));
            }
        };
        match ran {
            // Code that was running is ended before anybody can notice the cancel itself.
            _ if cancel.is_cancelled() => CommandEnd::Cancelled,
            Ok(()) => CommandEnd::Done,
            Err(Thrown { error, message }) => CommandEnd::Threw {
                why: format!("{whose}: {error}"),
                message,
            },
        }
    }

    /// Runs a command that nobody waits for. What goes wrong is told.
    pub fn start_command(self: &Arc<Self>, called: Called) {
        let whose = format!(
            "the command /{} of the extension {}",
            called.name,
            called.extension.name()
        );
        let board = Arc::clone(self);
        tokio::spawn(async move {
            if let Err(thrown) = Arc::clone(&board).run(called).await {
                board.warn(&format!("{whose}: {}", thrown.error));
            }
        });
    }

    /// The extension in one of its lives: the present one, or an earlier one in which a command is at work.
    pub fn in_life(&self, name: &str, life: u64) -> Option<Extension> {
        let (now, extension) = self.with(name, |guest| (guest.life, guest.extension.clone()))?;
        if now == life {
            return extension;
        }
        let state = self.state();
        let mut at_work = state.at_work.iter();
        let found = at_work.find(|(other, extension)| *other == life && extension.name() == name);
        found.map(|(_, extension)| extension.clone())
    }

    async fn run(self: Arc<Self>, called: Called) -> Result<(), Thrown> {
        let _at_work = AtWork::begin(&self, &called);
        let service = RunCommand {
            name: called.name,
            arguments: called.arguments,
        };
        match self.ask(&called.extension, &service, LONGEST).await {
            Ok(Ran { error: None, .. }) => Ok(()),
            Ok(Ran {
                error: Some(error),
                message,
            }) => Err(Thrown {
                message: message.unwrap_or_else(|| error.clone()),
                error,
            }),
            Err(failure) => Err(Thrown {
                error: failure.to_string(),
                message: failure.to_string(),
            }),
        }
    }

    /// Waits until nothing is left that a command could wait for. Who waits for something else is told after a while.
    async fn nothing_comes(&self, whose: &str, extension: &Extension) {
        let begun = Instant::now();
        let (mut told, mut was_quiet) = (false, false);
        loop {
            tokio::time::sleep(LOOK).await;
            // The extension may be one that has begun anew since.
            let is_quiet = self.is_quiet() && !extension.has_something_coming();
            // What has just been answered may not have been heard yet.
            if is_quiet && was_quiet {
                return;
            }
            was_quiet = is_quiet;
            // On a screen everybody sees what goes on.
            if !told && self.desk.is_idle() && begun.elapsed() >= WORD && self.screen().is_none() {
                told = true;
                self.notice(&format!("{whose} is still at work; Ctrl-C ends it"));
            }
        }
    }

    /// Whether nothing runs or is asked for, and no extension has anything under way.
    fn is_quiet(&self) -> bool {
        let has_something_coming = self.extensions().iter().any(Extension::has_something_coming);
        let rests = self.desk.is_idle() && !self.desk.has_work() && !self.desk.is_moving();
        rests && !has_something_coming
    }
}
