//! Commands of extensions: `/name arguments`.

use std::time::Duration;

use becket_dialects::pi::services::{Ran, RunCommand};
use becket_js::Extension;
use tokio_util::sync::CancellationToken;

use super::board::{Board, Command};

/// How long a command may take. It may wait for the agent; the person can cancel.
const LONGEST: Duration = Duration::from_secs(6 * 60 * 60);

/// A command that a line calls.
pub struct Called {
    extension: Extension,
    /// Its name, as the extension knows it.
    name: String,
    arguments: String,
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
        Some(Called {
            extension: self.with(extension, |guest| guest.extension.clone())??,
            name: command.name.clone(),
            arguments: arguments.to_owned(),
        })
    }

    /// Runs a command. The error says what it threw.
    pub async fn run_command(&self, called: Called, cancel: &CancellationToken) -> Result<(), String> {
        let Called {
            extension,
            name,
            arguments,
        } = called;
        let service = RunCommand {
            name: name.clone(),
            arguments,
        };
        let wrong = |why: String| format!("the command /{name} of the extension {}: {why}", extension.name());
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(wrong("it was cancelled".into())),
            ran = self.ask(&extension, &service, LONGEST) => match ran {
                Ok(Ran { error: None }) => Ok(()),
                Ok(Ran { error: Some(error) }) => Err(wrong(error)),
                Err(failure) => Err(wrong(failure.to_string())),
            },
        }
    }
}
