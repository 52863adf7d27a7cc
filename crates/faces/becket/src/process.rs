//! The environment of the process, read once and only here.

use std::io::IsTerminal;
use std::path::PathBuf;

use becket_run::RunOptions;
use becket_system::{CliError, Listener, OpenScreen, Signals, Surroundings};

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
        listener: Listener::default(),
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

/// Goes to the folder in which the run works, if an option of guests says so. Returns the surroundings there.
pub fn change_directory(
    options: &mut RunOptions,
    surroundings: &Surroundings,
) -> Result<Option<Surroundings>, CliError> {
    for host in options.hosts.iter() {
        if let Some(folder) = host.working_directory(&mut options.guests, surroundings)? {
            std::env::set_current_dir(&folder)
                .map_err(|error| CliError::usage(format!("cannot work in {}: {error}", folder.display())))?;
            check_working_directory()?;
            let cwd = std::env::current_dir().unwrap_or(folder);
            return Ok(Some(Surroundings {
                cwd,
                ..surroundings.clone()
            }));
        }
    }
    Ok(None)
}

/// The path of this program.
pub fn this_program() -> PathBuf {
    std::env::current_exe().unwrap_or_default()
}
