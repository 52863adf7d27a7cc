//! The results of tools as Gemini CLI's hooks know them.

use becket_events::{PreToolOutputPayload, text_of};
use serde_json::{Value, json};

/// The result of a call.
pub fn of(output: &PreToolOutputPayload) -> Value {
    let text = text_of(&output.content);
    let mut response = json!({"llmContent": text, "returnDisplay": text});
    if output.is_error {
        response["error"] = json!({"message": text, "type": "execution_failed"});
    }
    response
}
