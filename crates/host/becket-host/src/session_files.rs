//! Conversations as files of another system.

use std::path::{Path, PathBuf};

use becket_agent::store::{Origin, Seed, Tree};
use becket_system::Surroundings;

/// Reads and writes conversations as files of one system.
pub trait SessionFiles: Send + Sync {
    /// The name of the format, which is that of the system.
    fn format(&self) -> &'static str;

    /// Reads a file; the error says why it is none.
    fn read(&self, text: &str) -> Result<ForeignSession, String>;

    /// A conversation as the text of a file.
    fn write(&self, tree: &Tree, about: &AboutSession<'_>) -> String;

    /// The name that the system would give to the file of a conversation.
    fn file_name(&self, about: &AboutSession<'_>) -> String;

    /// A file's conversation as a page for a browser; the error says why there is none.
    fn page(&self, text: &str) -> Result<String, String>;

    /// The folder in which the system keeps its own files.
    fn folder(&self, surroundings: &Surroundings) -> Option<PathBuf>;
}

/// A conversation that was read from a file.
pub struct ForeignSession {
    /// What was said.
    pub seed: Seed,
    /// The folder in which it was said.
    pub cwd: Option<String>,
    /// The model that was asked last.
    pub model: Option<String>,
    /// Entries that cannot be read, in words for the user.
    pub problems: Vec<String>,
}

/// A context in the home of another system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignContext {
    /// The context's name.
    pub name: String,
    /// How many messages its conversation has.
    pub message_count: usize,
    /// When the context was made, in milliseconds since 1970; 0 if that is not known.
    pub created_ms: u64,
    /// When the context was used last, in milliseconds since 1970; 0 if that is not known.
    pub last_used_ms: u64,
}

/// What a file says about a conversation besides what was said.
pub struct AboutSession<'a> {
    /// The id of the first session.
    pub id: &'a str,
    /// The folder of the first session.
    pub cwd: &'a str,
    /// What the conversation was made from.
    pub origin: Option<&'a Origin>,
    /// Holds a folder for each context.
    pub contexts: &'a Path,
    /// When the first session began, in milliseconds since 1970.
    pub begun_ms: u64,
    /// Names the model of a session.
    pub model_of: &'a dyn Fn(&str) -> String,
}
