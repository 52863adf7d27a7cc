//! A command line as it was typed, and what the user is told about errors in it.

use std::ffi::OsString;

use becket_host::ForeignCli;
use becket_system::{Exit, Surroundings};
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::Words;

/// A command line that is to be read.
pub struct CommandLine {
    /// The program and its arguments.
    pub arguments: Vec<OsString>,
    /// The words that it may have besides options.
    pub words: Words,
    /// The program in whose words it was given, if those were not becket's.
    pub program: Option<&'static ForeignCli>,
}

/// Prints a help, or an error.
pub fn told(error: &clap::Error, program: Option<&ForeignCli>, surroundings: &Surroundings) -> Exit {
    if let Some(program) = program.filter(|_| error.use_stderr()) {
        surroundings.complain(&in_words_of(program, error));
        return Exit::Usage;
    }
    // A reader such as `head` that has seen enough is no failure.
    if let Err(broken) = error.print()
        && broken.kind() != std::io::ErrorKind::BrokenPipe
    {
        surroundings.complain(&broken.to_string());
    }
    match error.use_stderr() {
        true => Exit::Usage,
        false => Exit::Answered,
    }
}

/// The option that a command line must not have.
pub fn unknown_argument(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => Some(argument.clone()),
        _ => None,
    }
}

/// An error without becket's own usage, of which who calls another program knows nothing.
fn in_words_of(program: &ForeignCli, error: &clap::Error) -> String {
    if let Some(option) = unknown_argument(error) {
        return program.unknown(option.as_ref());
    }
    let text = error.render().to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).to_owned()
}
