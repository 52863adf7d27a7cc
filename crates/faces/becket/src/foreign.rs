//! Command lines of other agents' programs: `becket NAME ARGS…`, or becket called by that name.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use becket_host::{AskedOf, ForeignCli};
use becket_run::Hosts;
use becket_system::{Exit, Surroundings};

use crate::printing::print;
use crate::{reading, run as run_own};

/// The program whose command line this is, and its arguments.
pub fn called(hosts: Hosts, words: &[OsString]) -> Option<(&'static ForeignCli, Vec<OsString>)> {
    let (program, arguments) = words.split_first()?;
    let by_name = |name: &OsStr| hosts.foreign_clis().find(|cli| OsStr::new(cli.name) == name);
    if let Some(cli) = Path::new(program).file_name().and_then(by_name) {
        return Some((cli, arguments.to_vec()));
    }
    let (command, arguments) = arguments.split_first()?;
    by_name(command).map(|cli| (cli, arguments.to_vec()))
}

/// Does what the command line of another program asks for. Other programs end with 1 for every failure.
pub fn run(cli: &'static ForeignCli, words: Vec<OsString>, of: (Hosts, &Surroundings)) -> Exit {
    match ended(cli, words, of) {
        ended @ (Exit::Answered | Exit::HungUp | Exit::Cancelled | Exit::Terminated) => ended,
        _ => Exit::Failed,
    }
}

fn ended(
    cli: &'static ForeignCli,
    words: Vec<OsString>,
    (hosts, surroundings): (Hosts, &Surroundings),
) -> Exit {
    let printed = match cli.read(words) {
        Ok(AskedOf::Runs(lines)) => {
            let mut ends = lines
                .into_iter()
                .map(|line| run_line(line, (hosts, surroundings)));
            return ends
                .find(|exit| *exit != Exit::Answered)
                .unwrap_or(Exit::Answered);
        }
        Ok(AskedOf::Help) => print(&cli.help()),
        Ok(AskedOf::Version) => print(&format!("{} (becket {})\n", cli.name, env!("CARGO_PKG_VERSION"))),
        Err(why) => {
            surroundings.complain(&why);
            return Exit::Usage;
        }
    };
    match printed {
        Ok(()) => Exit::Answered,
        Err(error) => error.exit,
    }
}

/// Runs one of becket's own command lines.
fn run_line(line: Vec<OsString>, (hosts, surroundings): (Hosts, &Surroundings)) -> Exit {
    let words = std::iter::once("becket".into()).chain(line).collect();
    match reading::read(words, hosts, surroundings) {
        Ok((args, mut options)) => {
            options.run.needs_model = true;
            run_own(args, options, surroundings)
        }
        Err(exit) => exit,
    }
}
