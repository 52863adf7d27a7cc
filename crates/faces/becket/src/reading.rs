//! Reads the command line, twice where guests bring options to it.

use std::ffi::OsString;

use becket_run::Hosts;
use becket_system::{Exit, Surroundings};

use crate::args::Args;
use crate::extension_flags::read_with_extensions;
use crate::options::Options;

/// Parses a command line, whose first word is the program; help and errors are printed here.
pub fn read(
    arguments: Vec<OsString>,
    hosts: Hosts,
    surroundings: &Surroundings,
) -> Result<(Args, Options), Exit> {
    match Args::parse_words(&arguments) {
        Ok(args) => {
            let options = Options::new(&args, hosts);
            Ok((args, options))
        }
        Err(error) => read_with_extensions(arguments, error, (hosts, surroundings)),
    }
}
