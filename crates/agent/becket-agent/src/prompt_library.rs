//! Skills and prompts. Skills are texts that the model may read when it needs them, and prompts are texts that the user
//! calls by name. Whoever puts the agent together provides them; hooks of `resources` bring more.
//!
//! What a name stands for is found after `user_input` and before `user_prompt`: hooks hear what was typed, guards of
//! prompts what is sent. The agent knows only a trait, because where skills lie is the business of whoever brings them.

use std::fmt;
use std::path::PathBuf;

use becket_events::ResourcesReply;

/// The skills and prompts of an agent.
pub trait PromptLibrary: fmt::Debug + Send + Sync {
    /// Adds what hooks have brought, and replaces what they brought before. Returns warnings about it.
    fn extend(&self, brought: &ResourcesReply) -> Vec<String>;

    /// The system prompt's text about skills, for a model whose tool for reading files has this name.
    fn skills(&self, reader: &str) -> Option<String>;

    /// The text that a line stands for, if it calls a prompt or skill by its name; `None` if it does not.
    fn expand(&self, line: &str) -> Option<Result<String, String>>;

    /// Resolved folders that the model may read without asking, since what it is told to read is in them.
    fn folders(&self) -> Vec<PathBuf>;
}
