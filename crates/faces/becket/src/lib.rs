//! The `becket` program: arguments, and one file for each command.
//!
//! Reading order: `args.rs` is the command line, `options.rs` what it asks for; `commands/ask.rs` asks. A conversation
//! is opened and shown by `becket-face-kit`, how it looks is in `becket-front`; `becket-chat` and `becket-acp` are what
//! runs without further commands. Only this crate reads the environment, the home folder and the terminal.

// What only some kinds of guests use, nobody uses in a program without them.
#![cfg_attr(not(feature = "default"), allow(dead_code, unused_imports))]

mod args;
mod candidates;
mod commands;
mod completion;
mod extension_flags;
mod foreign;
mod guest_options;
mod help;
mod hooks_check;
mod lab;
mod options;
mod printing;
mod process;
#[doc(hidden)]
pub mod readers;
mod reading;
mod since;
mod typed;

use std::ffi::OsString;
use std::process::ExitCode;

pub use args::command_line;
pub use becket_chat::command_table as chat_commands;
pub use becket_run::config::Config;
pub use becket_run::config_page::config_page;
pub use becket_system::{CliError, Exit};
pub use becket_workbench::Replay;
pub use completion::script as completion_script;
pub use help::for_people;

use becket_host::Host;
use becket_run::Hosts;
use becket_system::Surroundings;

use crate::args::Args;
use crate::options::Options;

/// Runs the program.
pub fn main() -> ExitCode {
    main_with(&[])
}

/// Runs the program with further kinds of guests.
pub fn main_with(further: &[&'static dyn Host]) -> ExitCode {
    if completion::answer() {
        return ExitCode::SUCCESS;
    }
    let hosts = Hosts::and(further);
    let surroundings = process::surroundings();
    #[cfg(feature = "jq")]
    if let Some(arguments) = becket_run::own_jq::called(std::env::args_os()) {
        return becket_run::own_jq::run(arguments, &surroundings);
    }
    becket_hooks::become_subreaper();
    becket_run::setup::hide_known_keys(hosts, &surroundings);
    let words: Vec<OsString> = std::env::args_os().collect();
    if let Some(line) = foreign::called(hosts, &words) {
        return foreign::run(line, (hosts, &surroundings)).into();
    }
    let line = typed::CommandLine {
        arguments: words,
        words: args::Words::CommandsOrPrompts,
        program: None,
    };
    match reading::read(line, hosts, &surroundings) {
        Ok((args, options)) => run(args, options, &surroundings).into(),
        Err(exit) => exit.into(),
    }
}

/// Runs a command; errors are printed here.
fn run(args: Args, mut options: Options, surroundings: &Surroundings) -> Exit {
    let done = process::check_working_directory().and_then(|()| {
        let moved = process::change_directory(&mut options.run, surroundings)?;
        commands::run(args, options, moved.as_ref().unwrap_or(surroundings))
    });
    done.unwrap_or_else(|error| {
        surroundings.complain(&error.to_string());
        error.exit
    })
}
