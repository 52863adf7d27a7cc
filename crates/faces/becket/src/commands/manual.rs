//! `becket man` and `becket completions`, made from the command line's own description.

use becket_hooks::nearest;
use becket_system::{CliError, Exit};

use crate::args::command_line;
use crate::completion;
use crate::help::for_people;
use crate::printing::print;

/// Prints the manual page of a command, or of becket if no command is named.
pub fn page(words: &[String]) -> Result<Exit, CliError> {
    let mut command = for_people(command_line());
    for word in words {
        let found = command.find_subcommand(word).cloned();
        command = found.ok_or_else(|| {
            let error = CliError::usage(format!("there is no command `{}`", words.join(" ")));
            match nearest(word, command.get_subcommands().map(clap::Command::get_name)) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint("`becket help all` lists the commands"),
            }
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .source(concat!("becket ", env!("CARGO_PKG_VERSION")))
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
