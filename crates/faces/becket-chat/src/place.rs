//! Where a chat takes place, and what the program runs for it.

use becket_face_kit::{Conversation, Options};
use becket_system::{CliError, Exit, Surroundings};

/// Where a chat takes place.
#[derive(Clone, Copy)]
pub struct ChatSetting<'a> {
    pub options: &'a Options,
    pub surroundings: &'a Surroundings,
    pub run_called: RunCalled,
}

/// A command of the command line that prints by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prints {
    Undo,
    Redo,
    Snapshots,
    Config,
}

/// A command of the command line, as it is called in a chat.
pub struct Called<'a> {
    /// The command.
    pub command: Prints,
    /// What stands after it: only options that it has.
    pub flags: &'a [&'a str],
    /// The conversation of the chat.
    pub conversation: &'a Conversation,
    /// What the chat was asked for.
    pub options: &'a Options,
    pub surroundings: &'a Surroundings,
}

/// Runs a command of the command line, which the chat does not know.
pub type RunCalled = fn(&Called<'_>) -> Result<Exit, CliError>;
