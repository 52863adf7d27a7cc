//! `becket man` and `becket completions`, made from the command line's own description.

use becket_system::{CliError, Exit};

use crate::args::command_line;
use crate::completion;
use crate::help::for_people;
use crate::printing::print;

/// Prints the manual page.
pub fn page() -> Result<Exit, CliError> {
    let mut page = Vec::new();
    clap_mangen::Man::new(for_people(command_line()))
        .render(&mut page)
        .map_err(|error| CliError::failed(format!("cannot write the manual page: {error}")))?;
    print(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Answered)
}

/// Prints a completion script.
pub fn completions(shell: clap_complete::Shell) -> Result<Exit, CliError> {
    let script = completion::script(shell)
        .map_err(|error| CliError::failed(format!("cannot write the completion script: {error}")))?;
    print(&script)?;
    Ok(Exit::Answered)
}
