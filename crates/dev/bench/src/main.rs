//! `cargo xtask bench`: what becket costs, each figure beside the bar that it must keep.
//!
//! Reading order: one file for each benchmark, named like it; `report.rs` is a line of the output, `samples.rs` is how
//! figures are taken, `programs.rs` builds and finds the programs that are measured. Machines are noisy, so bars are
//! printed and not asserted, unless `--strict` asks for it; what is compared is always measured in the same run.

mod agent_hooks;
mod bridge;
mod command;
mod deadline;
mod dispatch;
mod extensions;
mod hook_files;
mod index;
mod long;
mod memory;
mod peers;
mod plugins;
mod programs;
mod record;
mod report;
mod samples;
mod scheme;
mod session;
mod snapshot;
mod start;
mod subagents;
mod turns;
mod web;
mod worker;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use programs::Programs;
use report::{Problem, Report};

/// Measures what becket costs and prints each figure beside its bar.
#[derive(Debug, Parser)]
#[command(name = "bench")]
struct Args {
    /// The benchmarks to run; all of them when none is named.
    #[arg(value_name = "NAME", value_parser = NAMES)]
    names: Vec<String>,

    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,

    /// Exit with 1 when a bar is missed.
    #[arg(long)]
    strict: bool,

    /// Measure the programs that lie beside this one, and build none.
    #[arg(long)]
    built: bool,

    /// Play a session through the other agents that are installed as well.
    #[arg(long)]
    peers: bool,

    /// Load the extensions of a folder, print the bytes of memory that this process holds, and end.
    #[arg(long, hide = true, value_name = "FOLDER")]
    hold_extensions: Option<PathBuf>,
}

/// Adds a benchmark's lines to the report.
type Benchmark = fn(&Programs, &mut Report) -> Result<(), Problem>;

const NAMES: [&str; 20] = [
    "start",
    "turns",
    "session",
    "dispatch",
    "agent-hooks",
    "command",
    "worker",
    "plugins",
    "hook-files",
    "bridge",
    "deadline",
    "memory",
    "index",
    "subagents",
    "snapshot",
    "extensions",
    "web",
    "scheme",
    "record",
    "long",
];

/// The benchmarks, in the order of `NAMES`.
const BENCHMARKS: [Benchmark; NAMES.len()] = [
    start::run,
    turns::run,
    session::run,
    dispatch::run,
    agent_hooks::run,
    command::run,
    worker::run,
    plugins::run,
    hook_files::run,
    bridge::run,
    deadline::run,
    memory::run,
    index::run,
    subagents::run,
    snapshot::run,
    extensions::run,
    web::run,
    scheme::run,
    record::run,
    long::run,
];

fn main() -> ExitCode {
    // As in the becket program, so that orphans of hooks come to the process that ends them.
    becket_hooks::become_subreaper();
    let args = Args::parse();
    let mut report = Report::new(args.json);
    if let Some(folder) = &args.hold_extensions {
        return match extensions::hold(folder) {
            Ok(()) => ExitCode::SUCCESS,
            Err(problem) => {
                report.could_not_run("extensions", &*problem);
                ExitCode::FAILURE
            }
        };
    }
    let programs = match Programs::beside(!args.built) {
        Ok(programs) => programs,
        Err(problem) => {
            report.could_not_run("build", &*problem);
            return ExitCode::FAILURE;
        }
    };
    if args.peers
        && let Err(problem) = peers::run(&programs, &mut report)
    {
        report.could_not_run("peers", &*problem);
    }
    let only_peers = args.peers && args.names.is_empty();
    let wanted =
        |name: &str| !only_peers && (args.names.is_empty() || args.names.iter().any(|wanted| wanted == name));
    for (name, benchmark) in NAMES.into_iter().zip(BENCHMARKS) {
        if wanted(name)
            && let Err(problem) = benchmark(&programs, &mut report)
        {
            report.could_not_run(name, &*problem);
        }
    }
    if report.is_incomplete() || (args.strict && report.has_missed_bars()) {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
