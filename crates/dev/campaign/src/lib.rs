//! Campaigns: long, seeded searches for faults, `cargo xtask campaign`.
//!
//! A campaign is a line of `CAMPAIGNS`: a name, what must hold, and a round, which tries something and says what went
//! wrong. A round is made of its seed, its campaign's name and its number alone, so a finding is repeated by these.
//!
//! Reading order: `round.rs` is what a round can use, `runs.rs` gives the campaigns their time, `state.rs` is what is
//! kept between runs, `page.rs` writes `docs/reliability.md` from it. Each other file is one campaign.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore talks to whoever started it"
)]

mod conversation;
mod disk;
mod hooks;
mod kill;
mod load;
mod mount;
mod page;
mod power;
mod random;
mod readers;
mod round;
mod runs;
mod sandbox;
mod secrets;
mod state;
mod streams;
mod trees;

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;

use round::Campaign;
use state::State;

/// All campaigns, in the order of the page.
static CAMPAIGNS: &[Campaign] = &[
    kill::CAMPAIGN,
    power::CAMPAIGN,
    disk::CAMPAIGN,
    streams::CAMPAIGN,
    hooks::CAMPAIGN,
    trees::CAMPAIGN,
    secrets::CAMPAIGN,
    readers::CAMPAIGN,
    sandbox::CAMPAIGN,
    load::CAMPAIGN,
];

/// Searches for faults with campaigns, each as long as the others.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask campaign", after_help = listing())]
struct Arguments {
    /// The campaigns; default: all.
    #[arg(value_name = "NAME", value_parser = names())]
    names: Vec<String>,

    /// How long all of them take together.
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    minutes: f64,

    /// The source of all chance. Runs with the same seed go on where the last one ended.
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Start again at the first round.
    #[arg(long)]
    again: bool,

    /// Repeat one round of one campaign.
    #[arg(long, value_name = "N", requires = "names", conflicts_with = "minutes")]
    round: Option<u64>,

    /// The becket that is tried; default: the debug program.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,

    /// Write docs/reliability.md from what has run with all seeds, and run nothing.
    #[arg(long)]
    page: bool,
}

fn names() -> clap::builder::PossibleValuesParser {
    CAMPAIGNS
        .iter()
        .map(|campaign| campaign.name)
        .collect::<Vec<_>>()
        .into()
}

fn listing() -> String {
    let lines = CAMPAIGNS.iter();
    let lines = lines.map(|campaign| format!("  {:<9} {}\n", campaign.name, campaign.promise));
    format!("Campaigns:\n{}", lines.collect::<String>())
}

/// Runs `cargo xtask campaign` in the project's folder, with cargo's target folder. `build` makes the debug program and
/// returns its path. The error is for whoever started it.
pub fn run(
    arguments: &[&str],
    (root, target): (&Path, &Path),
    build: impl FnOnce() -> Result<PathBuf, String>,
) -> Result<(), String> {
    let words = ["cargo xtask campaign"].iter().chain(arguments);
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(answer) if !answer.use_stderr() => {
            print!("{answer}");
            return Ok(());
        }
        Err(problem) => return Err(problem.to_string()),
    };
    let states = target.join("campaign");
    if arguments.page {
        let file = root.join("docs/reliability.md");
        return std::fs::write(&file, page::page(&State::all(&states)?, CAMPAIGNS))
            .map_err(|error| format!("cannot write {}: {error}", file.display()));
    }
    let folder = states.join(arguments.seed.to_string());
    let _lock = state::lock(&folder)?;
    if arguments.again {
        state::forget(&folder)?;
    }
    let mut state = State::load(&folder, arguments.seed)?;
    let program = arguments.program.map_or_else(build, |file| {
        std::path::absolute(&file).map_err(|error| format!("cannot find {}: {error}", file.display()))
    })?;
    state.programs.insert(version_of(&program)?);
    let chosen = |campaign: &&Campaign| {
        arguments.names.is_empty() || arguments.names.iter().any(|name| name == campaign.name)
    };
    let mut runs = runs::Runs {
        campaigns: CAMPAIGNS.iter().filter(chosen).collect(),
        program: &program,
        state,
    };
    match arguments.round {
        Some(number) => runs.repeat(number),
        None => runs.run(arguments.minutes),
    }
}

/// Which becket a program is: `becket 0.1.0, commit 1a2b3c4d5`.
fn version_of(program: &Path) -> Result<String, String> {
    let told = Command::new(program)
        .arg("--version")
        .output()
        .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    let lines = String::from_utf8_lossy(&told.stdout);
    let lines: Vec<String> = lines
        .lines()
        .take(2)
        .map(|line| line.replace(": ", " "))
        .collect();
    Ok(lines.join(", "))
}
