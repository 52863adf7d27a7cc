//! Commands of extensions: `/name arguments`.
//!
//! A command and its requests are two futures of one task: the command waits for the run, and the run does not wait for
//! the command. A command that can never continue is an error in a run without a user, and stays in the background of a
//! chat. A command that throws ends `becket "/name"` with 1, because a script would not notice pi's 0.

use std::sync::Arc;
use std::time::Duration;

use becket_host::CommandEnd;
use becket_js::Extension;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::extension_list::Command;
use super::registry::ExtensionRegistry;
use crate::services::{Ran, RunCommand};

/// How often the program checks what a slow command is waiting for.
const LOOK: Duration = Duration::from_millis(100);

/// After how long the user sees that a command is still running.
const WORD: Duration = Duration::from_secs(5);

/// How long a command may take. It may wait for the agent; the user can cancel it.
const LONGEST: Duration = Duration::from_secs(6 * 60 * 60);

/// A command that a line calls.
pub struct Called {
    extension: Extension,
    /// How often the extension had been loaded again when the line was read.
    life: u64,
    /// The command's name, as the extension knows it.
    name: String,
    arguments: String,
}

/// Marks a command as running until it is dropped.
struct AtWork<'a> {
    registry: &'a ExtensionRegistry,
    life: u64,
    name: String,
}

impl<'a> AtWork<'a> {
    fn begin(registry: &'a ExtensionRegistry, called: &Called) -> Self {
        let (life, extension) = (called.life, called.extension.clone());
        let name = extension.name().to_owned();
        registry.state().at_work.push((life, extension));
        Self { registry, life, name }
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        let mut state = self.registry.state();
        let is_it =
            |(life, extension): &(u64, Extension)| *life == self.life && extension.name() == self.name;
        let place = state.at_work.iter().position(is_it);
        let gone = place.map(|place| state.at_work.swap_remove(place));
        // Destructors may use the registry, so they run after the lock is released.
        drop(state);
        drop(gone);
    }
}

/// The error that a command threw.
struct Thrown {
    error: String,
    message: String,
}

/// All commands by the names that can be typed, with their extensions. If several have the same name, each gets a
/// number as well, and the first keeps the plain name.
pub fn all(registry: &ExtensionRegistry) -> Vec<(String, Command, String)> {
    let all: Vec<(Command, String)> = registry
        .extensions
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
pub fn called(registry: &ExtensionRegistry, line: &str) -> Option<Called> {
    let line = line.strip_prefix('/')?;
    let (word, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let commands = all(registry);
    let exact = commands.iter().find(|(typed, ..)| typed == word);
    let first = || commands.iter().find(|(_, command, _)| command.name == word);
    let (_, command, extension) = exact.or_else(first)?;
    let (extension, life) = registry
        .extensions
        .with(extension, |guest| (guest.extension.clone(), guest.life))?;
    Some(Called {
        extension: extension?,
        life,
        name: command.name.clone(),
        arguments: arguments.to_owned(),
    })
}

/// Runs a command, as far as it gets without the user. Its requests must be handled meanwhile.
pub async fn run_command(
    registry: &Arc<ExtensionRegistry>,
    called: Called,
    cancel: &CancellationToken,
) -> CommandEnd {
    let whose = format!(
        "the command /{} of the extension {}",
        called.name,
        called.extension.name()
    );
    let extension = called.extension.clone();
    let mut running = Box::pin(run(Arc::clone(registry), called));
    let ran = tokio::select! {
        biased;
        () = cancel.cancelled() => return CommandEnd::Cancelled,
        ran = &mut running => ran,
        () = nothing_comes(registry, &whose, &extension) => {
            let (registry, name) = (Arc::clone(registry), whose.clone());
            tokio::spawn(async move {
                if let Err(thrown) = running.await {
                    registry.warn(&format!("{name}: {}", thrown.error));
                }
            });
            return CommandEnd::Waits(format!(
                "{whose} waits, but nothing can wake it: nothing runs, and no extension has a timer or a call pending"
            ));
        }
    };
    match ran {
        // A cancel ends running code before the code itself can notice it.
        _ if cancel.is_cancelled() => CommandEnd::Cancelled,
        Ok(()) => CommandEnd::Done,
        Err(Thrown { error, message }) => CommandEnd::Threw {
            why: format!("{whose}: {error}"),
            message,
        },
    }
}

/// Runs a command in the background. Errors are reported.
pub fn start_command(registry: &Arc<ExtensionRegistry>, called: Called) {
    let whose = format!(
        "the command /{} of the extension {}",
        called.name,
        called.extension.name()
    );
    let registry = Arc::clone(registry);
    tokio::spawn(async move {
        if let Err(thrown) = run(Arc::clone(&registry), called).await {
            registry.warn(&format!("{whose}: {}", thrown.error));
        }
    });
}

async fn run(registry: Arc<ExtensionRegistry>, called: Called) -> Result<(), Thrown> {
    let _at_work = AtWork::begin(&registry, &called);
    let service = RunCommand {
        name: called.name,
        arguments: called.arguments,
    };
    match registry.ask(&called.extension, &service, LONGEST).await {
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

/// Waits until there is nothing left that a command could wait for. After a while the user is told about a slow
/// one.
async fn nothing_comes(registry: &ExtensionRegistry, whose: &str, extension: &Extension) {
    let begun = Instant::now();
    let (mut told, mut was_quiet) = (false, false);
    loop {
        tokio::time::sleep(LOOK).await;
        // The extension may have been loaded again since.
        let is_quiet = is_quiet(registry) && !extension.has_something_coming();
        // The command may not have seen the last answer yet, so two quiet checks are needed.
        if is_quiet && was_quiet {
            return;
        }
        was_quiet = is_quiet;
        // On a screen the user sees that a command is running.
        if !told && registry.session.is_idle() && begun.elapsed() >= WORD && registry.screen().is_none() {
            told = true;
            registry.notice(&format!("{whose} is still at work; Ctrl-C ends it"));
        }
    }
}

/// Whether the agent is idle with nothing requested, and no extension has unfinished work.
fn is_quiet(registry: &ExtensionRegistry) -> bool {
    let has_something_coming = registry
        .extensions
        .loaded()
        .iter()
        .any(Extension::has_something_coming);
    let rests = registry.session.is_idle()
        && !registry.session.has_work()
        && !registry.session.requests().is_moving();
    rests && !has_something_coming
}
