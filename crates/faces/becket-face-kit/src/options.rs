//! What a user asks for, as plain values.

use std::fmt;
use std::sync::{Arc, Mutex};

use becket_front::ColorChoice;
use becket_run::RunOptions;
use tokio::runtime::Runtime;

/// What a user asks for: a run, and how it is shown.
#[derive(Debug, Clone)]
pub struct Options {
    /// The options of the run.
    pub run: RunOptions,
    /// When to use colours.
    pub color: ColorChoice,
    /// The protocol for the program that runs becket.
    pub mode: Option<RunMode>,
    /// The name of the conversation, if the command line gives it one.
    pub session_name: Option<String>,
    /// Whether several prompts are asked one after the other.
    pub takes_many: bool,
    /// The runtime in which guests live that were loaded to read the command line.
    pub runtime: LentRuntime,
}

/// How becket speaks to the program that runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunMode {
    Text,
    Json,
    Rpc,
}

impl RunMode {
    /// All modes, each with its word and what it means.
    pub const ALL: &[(Self, &str, &str)] = &[
        (Self::Text, "text", "Only the answer"),
        (Self::Json, "json", "Every event as one line of JSON"),
        (
            Self::Rpc,
            "rpc",
            "Every event as one line of JSON, and commands are read from standard input",
        ),
    ];
}

/// A runtime that exists already.
#[derive(Clone, Default)]
pub struct LentRuntime(Arc<Mutex<Option<Runtime>>>);

impl LentRuntime {
    /// Keeps a runtime until it is taken.
    pub fn new(runtime: Runtime) -> Self {
        Self(Arc::new(Mutex::new(Some(runtime))))
    }

    /// Takes the runtime. Only the first call gets it.
    pub fn take(&self) -> Option<Runtime> {
        self.0.lock().expect("no panic happens while it is held").take()
    }
}

impl fmt::Debug for LentRuntime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("LentRuntime")
    }
}
