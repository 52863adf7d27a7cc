//! The environment of the process, read once and only here.

use std::io::IsTerminal;
use std::path::PathBuf;

use becket_system::{CliError, OpenScreen, Signals, Surroundings};

/// The surroundings of this process.
pub fn surroundings() -> Surroundings {
    Surroundings {
        variables: std::env::vars_os().collect(),
        cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
        stdin_is_terminal: std::io::stdin().is_terminal(),
        stdout_is_terminal: std::io::stdout().is_terminal(),
        stderr_is_terminal: std::io::stderr().is_terminal(),
        signals: Signals::default(),
        screen: OpenScreen::default(),
    }
}

/// Checks that there is a working directory, with a name that models and hooks can be told.
pub fn check_working_directory() -> Result<(), CliError> {
    let there = std::env::current_dir();
    let cwd = there.map_err(|error| {
        CliError::usage(format!("the working directory cannot be found: {error}"))
            .hint("it may have been deleted; change to a folder that exists")
    })?;
    if cwd.to_str().is_none() {
        let name = cwd.display();
        return Err(CliError::usage(format!(
            "the name of the working directory is not UTF-8 text: {name}"
        )));
    }
    Ok(())
}

/// The path of this program.
pub fn this_program() -> PathBuf {
    std::env::current_exe().unwrap_or_default()
}
