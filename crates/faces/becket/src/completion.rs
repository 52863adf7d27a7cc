//! Completions of the command line. `becket completions SHELL` prints a short script, by which the shell asks becket
//! itself: so it completes contexts, sessions, events and models, too.

use std::io;

use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};

use crate::args::command_line;
use crate::help::for_people;

/// The variable by which a shell asks.
const VARIABLE: &str = "BECKET_COMPLETE";

/// Answers a shell that asks for completions. Returns whether one did.
pub fn answer() -> bool {
    let completions = CompleteEnv::with_factory(|| for_people(command_line())).var(VARIABLE);
    let cwd = std::env::current_dir().ok();
    // A shell that asks wrongly has no use for a message in the middle of a line.
    completions
        .try_complete(std::env::args_os(), cwd.as_deref())
        .unwrap_or(true)
}

/// The script for a shell.
pub fn script(shell: Shell) -> io::Result<String> {
    let shells = Shells::builtins();
    let known = shells.completer(&shell.to_string());
    let known = known.ok_or_else(|| io::Error::other("the shell is not known"))?;
    let mut script = Vec::new();
    known.write_registration(VARIABLE, "becket", "becket", "becket", &mut script)?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}
