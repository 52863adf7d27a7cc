//! The results of tools as Cursor's hooks know them: JSON text.

use becket_events::{OperationKind, PreToolOutputPayload, text_of as text_of_parts};
use serde_json::{Value, json};

/// The result of a call.
pub fn of(output: &PreToolOutputPayload) -> String {
    let text = text_of_parts(&output.content);
    let result = match output.operation {
        Some(OperationKind::Shell) => json!({"exitCode": 0, "stdout": text, "stderr": ""}),
        Some(OperationKind::Read) => json!({"content": text}),
        _ => json!({"result": text}),
    };
    result.to_string()
}

/// The result of a server's tool.
pub fn of_server(output: &PreToolOutputPayload) -> String {
    let text = text_of_parts(&output.content);
    json!({"content": [{"type": "text", "text": text}], "isError": output.is_error}).to_string()
}

/// The text of a result that a hook wrote.
pub fn text_of(written: &Value) -> String {
    let blocks = |blocks: &Value| {
        let texts = blocks
            .as_array()?
            .iter()
            .filter_map(|block| block.get("text")?.as_str());
        Some(texts.collect::<Vec<_>>().join("\n"))
    };
    match written {
        Value::String(text) => text.clone(),
        Value::Array(_) => blocks(written).unwrap_or_default(),
        _ => {
            let content = written.get("content").and_then(blocks);
            content.unwrap_or_else(|| written.to_string())
        }
    }
}
