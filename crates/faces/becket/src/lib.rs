//! The `becket` program: arguments, configuration, rendering, and one file for each command.
//!
//! Reading order: `args.rs` is the command line; `assemble.rs` puts an agent together from it; `commands/ask.rs` runs
//! it; `front/` is how it is shown. Only this crate reads the environment, the home folder and the terminal.

mod args;
mod assemble;
mod chibi_settings;
mod commands;
mod config;
mod context_settings;
mod extension_flags;
mod front;
mod guest_list;
mod hook_flags;
mod hooks_check;
mod lifetimes;
mod otel;
mod own_hooks;
mod own_jq;
mod pictures;
mod process;
mod programs;
mod project;
mod project_trust;
#[doc(hidden)]
pub mod readers;
mod restricted_tools;
mod rule_spelling;
mod run_guests;
mod server_config;
mod servers;
mod snapshots;
mod stored_rules;
mod target;
mod timeline;
mod unloaded;
mod urls;
mod workbench;

use std::process::ExitCode;

pub use args::command_line;
pub use becket_system::{CliError, Exit};
pub use config::{Config, config_page};
pub use workbench::Replay;

use args::Args;
use becket_host::Host;
use guest_list::Hosts;

/// Runs the program.
pub fn main() -> ExitCode {
    main_with(&[])
}

/// Runs the program with further kinds of guests.
pub fn main_with(further: &[&'static dyn Host]) -> ExitCode {
    let hosts = Hosts::and(further);
    let surroundings = process::surroundings();
    if let Some(arguments) = own_jq::called(std::env::args_os()) {
        return own_jq::run(arguments, &surroundings);
    }
    becket_hooks::become_subreaper();
    let secrets = assemble::secret_variables(hosts);
    surroundings.hide_keys(becket_providers::KEY_VARIABLES.iter().copied().chain(secrets));
    let args = match Args::read(hosts, &surroundings) {
        Ok(args) => args,
        Err(exit) => return exit,
    };
    match process::check_working_directory().and_then(|()| commands::run(args, &surroundings)) {
        Ok(exit) => exit.into(),
        Err(error) => {
            surroundings.complain(&error.to_string());
            error.exit.into()
        }
    }
}
