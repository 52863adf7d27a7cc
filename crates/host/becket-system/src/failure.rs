//! How the program ends, and what it says when it cannot continue.

use std::process::ExitCode;

use becket_agent::store::StoreError;
use becket_hooks::SettingsError;

/// How the program ends. The numbers are part of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Answered; also when a call was refused.
    Answered = 0,
    /// Something failed, or a hook stopped the run.
    Failed = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// The provider failed.
    Provider = 3,
    /// A guard of the project is not trusted, and running without it would be unsafe.
    UntrustedGuard = 4,
    /// A limit was reached.
    Limit = 5,
    /// A replay did not end as it was recorded.
    Differs = 6,
    /// A call was refused, and whoever started the run wants to know.
    Refused = 7,
    /// The terminal went away, and running work did not end in time.
    HungUp = 129,
    /// The user cancelled.
    Cancelled = 130,
    /// The program was told to end, and running work did not end in time.
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why the program cannot continue: what happened, where, and what to try.
#[derive(Debug, Clone, thiserror::Error)]
pub struct CliError {
    /// How the program ends.
    pub exit: Exit,
    /// What happened, and where.
    pub message: String,
    /// What to try.
    pub hint: Option<String>,
}

impl std::fmt::Display for CliError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(formatter, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl CliError {
    /// An error for something that failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Failed,
            message: message.into(),
            hint: None,
        }
    }

    /// An error in the command line or the configuration.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            ..Self::failed(message)
        }
    }

    /// The error when the user cancelled before there was anything to end.
    pub fn cancelled() -> Self {
        Self {
            exit: Exit::Cancelled,
            ..Self::failed("cancelled")
        }
    }

    /// This error with a hint what to try.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<SettingsError> for CliError {
    fn from(error: SettingsError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<Vec<SettingsError>> for CliError {
    fn from(mistakes: Vec<SettingsError>) -> Self {
        let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        Self::usage(lines.join("\n"))
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        Self::failed(error.to_string())
    }
}
