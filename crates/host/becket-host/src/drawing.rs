//! Drawings of guests, in place of becket's own display.

use becket_events::Message;
use serde_json::{Map, Value};

/// Draws messages, tool calls and texts as guests want them, on a screen.
pub trait Drawing: Send + Sync {
    /// Draws a message, if a guest draws messages of its kind. Returns whether it was drawn.
    fn message(&self, message: &Message) -> bool;

    /// Draws a call of a tool, if a guest draws that tool's calls. Returns whether it was drawn.
    fn call(&self, tool: &str, arguments: &Map<String, Value>) -> bool;

    /// Whether a guest draws the result of a tool, when its message comes.
    fn draws_result(&self, tool: &str) -> bool;

    /// Draws the result of a tool.
    fn result(&self, message: &Message);

    /// Whether a guest changes how texts look. Then texts are shown as a whole, not as they stream in.
    fn transforms(&self) -> bool;

    /// A text, in Markdown, as guests want it to look. Unless it is complete, more of it may come.
    fn transformed(&self, text: String, whose: Whose, is_complete: bool) -> String;
}

/// The author of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Person,
    Model,
    Thoughts,
}
