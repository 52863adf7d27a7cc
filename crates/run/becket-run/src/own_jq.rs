//! becket's own `jq`, for hooks.
//!
//! A folder with a link named `jq` to `becket-jq`, the small program beside becket, is the first one of a hook's
//! `PATH`: starting the machine's jq takes longer than everything else that most hooks do. Where the small program is
//! missing, becket is its own `jq` when it is called by that name; then the folder is the last one, and only where no
//! other has a `jq`.
//!
//! Only hooks find it, not the model's tools: a tool that lacks a program fails visibly, a guard that lacks one may
//! look as if it agreed.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use becket_hooks::Program;
use becket_jq::World;
pub use becket_jq::hook_jq::REPORT_VARIABLE;
use becket_system::Surroundings;

use crate::config::JqChoice;

/// The name of the link, and of the command.
pub const NAME: &str = "jq";

/// The name of the small program.
const QUICK: &str = "becket-jq";

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

/// The `jq` that hooks get before or after those of the machine.
pub enum OwnJq {
    /// This program, before the machine's.
    First(PathBuf),
    /// becket itself, where the machine has none.
    Last,
}

/// The `jq` that hooks with these variables get, if they need one.
pub fn choose(
    becket: Option<&Path>,
    choice: JqChoice,
    variables: &BTreeMap<OsString, OsString>,
) -> Option<OwnJq> {
    let quick = becket.map(|becket| becket.with_file_name(QUICK));
    match quick.filter(|quick| choice == JqChoice::Quick && becket_fs::is_file(quick)) {
        Some(quick) => Some(OwnJq::First(quick)),
        None => (!is_on_path(variables)).then_some(OwnJq::Last),
    }
}

/// Whether a program with these variables would find a `jq` by itself.
fn is_on_path(variables: &BTreeMap<OsString, OsString>) -> bool {
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
