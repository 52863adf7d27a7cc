//! The project's chores.
//!
//! `generate` writes the files that are made from code (`generate/`), `tidy` checks what the compiler cannot
//! (`tidy/`), `bench` runs the benchmarks, `fuzz` the fuzz targets, `campaign` searches for faults, `corpus` reads hook
//! files of public repositories, `real-agents` lets other agents ask becket's hooks, `real-pi` compares becket with pi,
//! `dist` builds the program that is shipped and `weight` measures it. Nothing here is part of the program that people
//! install.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore talks to whoever started it"
)]

mod campaign;
mod corpus;
mod fuzz;
mod generate;
mod measure;
mod problem;
mod real_agents;
mod real_pi;
mod ship;
mod tidy;
mod weight;
mod workspace;

use std::process::{Command, ExitCode};

use generate::Mode;
use problem::Problem;
use workspace::Workspace;

const USAGE: &str = "\
cargo xtask generate          write the files that are made from code
cargo xtask generate --check  fail if one of them is stale
cargo xtask tidy              check the habits that no compiler checks
cargo xtask bench [ARGS]      run the benchmarks
cargo xtask dist              build the program as it is shipped, and pack it: archive, deb, npm, sums, SBOM
                              --target TARGET; --program-only packs nothing; --try installs all into empty roots
cargo xtask weight            print sizes, crates and the largest contributors of the programs that are built
cargo xtask weight --check    fail if the debug program has grown much; --accept takes today's size as right
cargo xtask corpus DIR        read the hook files of other agents in a folder with checkouts, and schemas of their hooks
cargo xtask real-agents       play sessions of real agents that ask becket's hooks; installs them from npm
cargo xtask real-pi           run extensions in becket and in two versions of pi, and compare; installs pi from npm
cargo xtask fuzz [--minutes N] [NAME…]  run the fuzz targets for so long each; --seed SEED NAME repeats one run
cargo xtask campaign [--minutes N] [NAME…]  search for faults: kills, full disks, cut streams, broken hooks; --help";

fn main() -> ExitCode {
    // The session in the README runs the program itself. It is linked in and found under its own name, so that
    // nothing has to be built a second time.
    if called_as("becket") {
        return becket::main();
    }
    if called_as(ship::LINKER) {
        let arguments: Vec<_> = std::env::args_os().skip(1).collect();
        return ended(ship::link(&arguments));
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let workspace = Workspace::here();
    let result = match words.as_slice() {
        ["generate"] => generate::run(&workspace, Mode::Write),
        ["generate", "--check"] => generate::run(&workspace, Mode::Check),
        ["tidy"] => tidy::run(&workspace),
        ["bench", rest @ ..] => bench(&workspace, rest),
        ["dist", rest @ ..] => ship::run(&workspace, rest),
        ["weight"] => weight::print(&workspace),
        ["weight", "--check"] => weight::check(&workspace),
        ["weight", "--accept"] => weight::accept(&workspace),
        ["corpus", folder] => corpus::run(folder),
        ["real-agents"] => real_agents::run(&workspace),
        ["real-pi"] => real_pi::run(&workspace),
        ["fuzz", rest @ ..] => fuzz::run(&workspace, rest),
        ["campaign", rest @ ..] => campaign::run(&workspace, rest),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => Err(format!("what shall be done?\n{USAGE}")),
    };
    ended(result)
}

fn ended(result: Result<(), Problem>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn called_as(name: &str) -> bool {
    let called = std::env::args_os().next().unwrap_or_default();
    std::path::Path::new(&called).file_name() == Some(name.as_ref())
}

fn bench(workspace: &Workspace, arguments: &[&str]) -> Result<(), Problem> {
    // The program is measured as it is shipped.
    let folder = ship::build(workspace, &ship::own_target()?, &["-p", "becket", "-p", "bench"])?;
    let status = Command::new(folder.join("bench"))
        .arg("--built")
        .args(arguments)
        .current_dir(workspace.root())
        .status()
        .map_err(|error| format!("cannot start the benchmarks: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err("the benchmarks failed".into())
    }
}
