//! How guests draw on a screen what becket would show in its own way.

use becket_events::Message;
use serde_json::{Map, Value};

/// Draws what somebody else than becket wants to draw, on a screen.
pub trait Drawing: Send + Sync {
    /// Draws a message, if it is one of those. Says so.
    fn message(&self, message: &Message) -> bool;

    /// The same for a call of a tool.
    fn call(&self, tool: &str, arguments: &Map<String, Value>) -> bool;

    /// Whether what a tool gives is drawn, when its message comes.
    fn draws_result(&self, tool: &str) -> bool;

    /// Draws what a tool gave.
    fn result(&self, message: &Message);

    /// Whether somebody has a say in how texts look. They are shown as a whole then.
    fn transforms(&self) -> bool;

    /// A text, in Markdown, as somebody wants it to look; more of it may come unless it is complete.
    fn transformed(&self, text: String, whose: Whose, is_complete: bool) -> String;
}

/// Whose text it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Person,
    Model,
    Thoughts,
}
