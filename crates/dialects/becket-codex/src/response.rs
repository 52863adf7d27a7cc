//! The results of tools as Codex's hooks know them: the text that the model sees, or the result of a server's tool.

use becket_events::{PreToolOutputPayload, text_of};
use serde_json::{Value, json};

/// The result of a call.
pub fn of(output: &PreToolOutputPayload) -> Value {
    let text = text_of(&output.content);
    match output.tool_source.starts_with("mcp:") {
        true => json!({"content": [{"type": "text", "text": text}], "isError": output.is_error}),
        false => text.into(),
    }
}
