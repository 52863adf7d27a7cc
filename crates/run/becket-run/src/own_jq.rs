//! becket's own `jq`, for hooks on machines that have none.
//!
//! The program is its own `jq` when it is called by that name. A folder with a link of that name is the last one of a
//! hook's `PATH`, only where no other folder of it has a `jq`.
//!
//! Only hooks find it, not the model's tools: a tool that lacks a program fails visibly, a guard that lacks one may
//! look as if it agreed.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufReader};
use std::path::Path;
use std::process::ExitCode;

use becket_hooks::Program;
use becket_jq::World;
use becket_system::Surroundings;

/// The name of the link, and of the command.
pub const NAME: &str = "jq";

/// The arguments, if the program was called as `jq` or as `becket jq`. They are taken before becket reads its own
/// options, since jq has others.
pub fn called(mut words: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    let program = words.next()?;
    if Path::new(&program).file_name() == Some(OsStr::new(NAME)) {
        return Some(words.collect());
    }
    (words.next()? == NAME).then(|| words.collect())
}

/// Runs a jq command line.
pub fn run(arguments: Vec<OsString>, surroundings: &Surroundings) -> ExitCode {
    let mut stdout = io::stdout();
    let world = World {
        variables: &surroundings.variables,
        stdin: Box::new(BufReader::new(io::stdin())),
        stdout: &mut stdout,
        stderr: Box::new(io::stderr()),
    };
    ExitCode::from(becket_jq::run(arguments, world))
}

/// Whether a program with these variables would find a `jq` by itself.
pub fn is_on_path(variables: &BTreeMap<OsString, OsString>) -> bool {
    let program = Program::exec([NAME]).environment(variables.clone().into());
    program.resolve(Path::new("/")).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Option<Vec<OsString>> {
        called(text.split(' ').map(OsString::from))
    }

    #[test]
    fn it_is_called_by_its_name_or_as_a_command() {
        assert_eq!(words("/x/jq -r .a").unwrap(), ["-r", ".a"]);
        assert_eq!(words("becket jq -c .").unwrap(), ["-c", "."]);
        assert!(words("becket run jq").is_none());
        assert!(words("becket").is_none());
        assert!(words("/usr/bin/jqx .").is_none());
    }
}
