//! Why a program cannot be confined.

use std::fmt;
use std::io;

/// A step that failed, with the system's reason.
#[derive(Debug)]
pub struct Problem {
    step: String,
    cause: Option<String>,
}

impl Problem {
    /// A problem that has no system error behind it.
    pub fn new(step: impl Into<String>) -> Self {
        Self {
            step: step.into(),
            cause: None,
        }
    }

    /// A step that the system refused.
    pub fn at(step: impl Into<String>, cause: impl Into<io::Error>) -> Self {
        Self::because(step, cause.into())
    }

    /// A step that failed for a reason in words.
    pub fn because(step: impl Into<String>, cause: impl fmt::Display) -> Self {
        Self {
            step: step.into(),
            cause: Some(cause.to_string()),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Some(cause) => write!(out, "{cause}: {}", self.step),
            None => out.write_str(&self.step),
        }
    }
}
