//! What a check reports: a violation, and where it is.

use std::fmt;

use crate::workspace::SourceFile;

/// A violation of a check, and where it is.
pub struct Finding {
    /// The file's path from the workspace's root.
    pub path: String,
    /// The number of the line, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

impl Finding {
    /// A violation in a line of this file.
    pub fn new(file: &SourceFile, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: file.path.clone(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.path, self.line, self.message)
    }
}
