//! How a handler can fail. A failure is data in the outcome, never an exception.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The closed set of ways in which a handler fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The program does not exist.
    NotFound,
    /// The program is not executable, or its interpreter is not.
    NotExecutable,
    /// The program could not be started for another reason.
    SpawnFailed,
    /// The handler did not answer before its deadline.
    TimedOut,
    /// A signal ended the program.
    KilledBySignal,
    /// The program ended with a status that means failure.
    ExitStatus,
    /// The output is not text, or not JSON.
    UnreadableOutput,
    /// The output is longer than the limit.
    OutputTooLarge,
    /// The answer is JSON, but not an answer to this event.
    WrongShape,
    /// The handler raised an error of its own: a panic, an exception.
    Raised,
}

impl Cause {
    /// The cause in a few words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::NotFound => "program not found",
            Self::NotExecutable => "program not executable",
            Self::SpawnFailed => "program could not be started",
            Self::TimedOut => "timed out",
            Self::KilledBySignal => "killed by a signal",
            Self::ExitStatus => "exited with an error",
            Self::UnreadableOutput => "unreadable output",
            Self::OutputTooLarge => "output too large",
            Self::WrongShape => "answer of the wrong shape",
            Self::Raised => "raised an error",
        }
    }
}

/// Why one run of a handler gave no usable answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of failure.
    pub cause: Cause,
    /// What exactly happened, and what to try.
    pub detail: String,
    /// The end of what the handler wrote to standard error.
    pub stderr: String,
    /// What the handler had written to standard output by then, for display; not part of the record.
    #[serde(skip)]
    pub stdout: String,
    /// The reason with which a failed guard refuses, if it raised its own message; not part of the record.
    #[serde(skip)]
    pub refusal: Option<String>,
}

impl Failure {
    /// The failure of a handler that did not answer in time.
    pub(crate) fn timed_out(timeout: Duration) -> Self {
        Self::new(
            Cause::TimedOut,
            format!(
                "no answer within {} s; raise `timeout` if it needs longer",
                timeout.as_secs_f64()
            ),
        )
    }

    /// A failure without anything on standard error.
    pub fn new(cause: Cause, detail: impl Into<String>) -> Self {
        Self {
            cause,
            detail: detail.into(),
            stderr: String::new(),
            stdout: String::new(),
            refusal: None,
        }
    }

    /// This failure with the reason that a guard refuses with.
    pub fn refusing_with(mut self, refusal: Option<String>) -> Self {
        self.refusal = refusal;
        self
    }

    /// This failure with what was on standard error.
    pub fn with_stderr(mut self, stderr: impl Into<String>) -> Self {
        self.stderr = stderr.into();
        self
    }

    /// This failure with what was on standard output.
    pub fn with_stdout(mut self, stdout: impl Into<String>) -> Self {
        self.stdout = stdout.into();
        self
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.cause.describe())?;
        if !self.detail.is_empty() {
            write!(formatter, ": {}", self.detail)?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}
