//! Reads the command line, twice where guests bring options to it.

use becket_run::Hosts;
use becket_system::{Exit, Surroundings};

use crate::args::Args;
use crate::extension_flags::read_with_extensions;
use crate::options::{self, Options};
use crate::typed::CommandLine;

/// Parses a command line; help and errors are printed here.
pub fn read(line: CommandLine, hosts: Hosts, surroundings: &Surroundings) -> Result<(Args, Options), Exit> {
    match Args::parse_words(&line.arguments, line.words) {
        Ok(args) => {
            let options = options::of(&args, hosts);
            Ok((args, options))
        }
        Err(error) => read_with_extensions(line, error, (hosts, surroundings)),
    }
}
