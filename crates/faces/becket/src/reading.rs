//! Reads the command line, twice where guests bring options to it.

use std::ffi::OsString;
use std::process::ExitCode;

use becket_run::Hosts;
use becket_system::Surroundings;

use crate::args::Args;
use crate::extension_flags::read_with_extensions;
use crate::options::Options;

/// Parses the command line; help and errors are printed here.
pub fn read(hosts: Hosts, surroundings: &Surroundings) -> Result<(Args, Options), ExitCode> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    match Args::parse_words(&arguments) {
        Ok(args) => {
            let options = Options::new(&args, hosts);
            Ok((args, options))
        }
        Err(error) => read_with_extensions(arguments, error, (hosts, surroundings)),
    }
}
