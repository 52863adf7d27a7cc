//! Lanes: the ways in which a handler that is not a Rust function is run.
//!
//! A lane knows nothing about events. It gets text and gives back bytes and an exit code, within a deadline. A
//! dialect's row (`row.rs`) decides what the text says and what the bytes mean.
//!
//! `process.rs` starts programs, in the environment of `environment.rs` and with the shell of `shell.rs`; `pipes.rs`
//! reads what they write, `tree.rs` ends them with everything that they started, `census.rs` finds those processes,
//! `orphans.rs` reaps what they leave behind, `living.rs` lists all living trees, and `terminal.rs` lends them the
//! user's terminal. `command.rs` and `worker.rs` are the two lanes made of these parts, `companion.rs` is a program
//! with its own protocol. `script.rs` is the interface to script engines, which are crates of their own.

mod census;
mod command;
mod companion;
mod environment;
mod living;
mod mark;
mod orphans;
mod pipes;
mod process;
mod script;
mod script_file;
mod shell;
mod starting;
mod terminal;
mod tree;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::Failure;
pub use command::CommandLane;
pub use companion::Companion;
pub use environment::{guest_environment, inherited_environment};
pub use living::end_programs;
pub use mark::Mark;
pub use orphans::{become_subreaper, reap_orphans};
pub use pipes::Listener;
pub use process::{Limits, Preparation, Program};
pub use script::{Answered, Field, ScriptHandler, Unanswerable};
pub use terminal::{Terminal, TerminalInput};
pub use tree::Tree;
pub use worker::WorkerLane;

/// How a handler is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneKind {
    /// A Rust function.
    Native,
    /// A program, started for every event.
    Command,
    /// A program that stays alive and answers line by line.
    Worker,
    /// A Scheme procedure.
    Scheme,
    /// A JavaScript function.
    Javascript,
}

/// One run of a handler outside of Rust.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// The text that the handler reads.
    pub input: Arc<str>,
    /// Variables of this run, besides those of the lane. A worker does not get them, because it lives longer than a
    /// run.
    pub environment: Vec<(String, String)>,
    /// The directory of the run, unless the lane names one.
    pub directory: PathBuf,
    /// How long everything may take: start, writing, reading, exit.
    pub timeout: Duration,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Everything on standard output.
    pub stdout: Vec<u8>,
    /// The end of standard error, made readable.
    pub stderr: String,
    /// The exit code; 0 for lanes that have none.
    pub code: i32,
    /// Whether standard output was read to its end. If not, a background process held it open, and might have written
    /// more.
    pub complete: bool,
}

/// A way to run handlers.
pub trait Lane: Send + Sync {
    /// The kind of this lane.
    fn kind(&self) -> LaneKind;

    /// Runs the handler once. Ends before the invocation's timeout plus half a second, whatever the handler does.
    fn run<'a>(&'a self, invocation: Invocation) -> BoxFuture<'a, Result<Finished, Failure>>;
}
