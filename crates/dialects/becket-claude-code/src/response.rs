//! The results of tools as Claude Code's hooks know them.

use becket_events::{OperationKind, PreToolOutputPayload, text_of as text_of_parts};
use serde_json::{Value, json};

/// The result of a call, with the absolute path of its file.
pub fn of(output: &PreToolOutputPayload, path: Option<&str>) -> Value {
    let text = text_of_parts(&output.content);
    let argument = |name: &str| output.arguments.get(name).cloned().unwrap_or_default();
    let lines = || text.lines().collect::<Vec<_>>();
    match output.operation {
        Some(OperationKind::Shell) => json!({
            "stdout": text, "stderr": "", "interrupted": false, "isImage": false,
        }),
        Some(OperationKind::Read) => json!({
            "type": "text",
            "file": {
                "filePath": path,
                "content": text,
                "numLines": lines().len(),
                "startLine": argument("offset").as_u64().unwrap_or(1),
                "totalLines": lines().len(),
            },
        }),
        Some(OperationKind::Write) => json!({
            "type": "update", "filePath": path, "content": argument("content"),
            "structuredPatch": [],
        }),
        Some(OperationKind::Edit) => {
            let edits = argument("edits");
            let first = edits.get(0).cloned().unwrap_or_default();
            json!({
                "filePath": path,
                "oldString": first.get("old_text"),
                "newString": first.get("new_text"),
                "structuredPatch": [],
                "userModified": false,
                "replaceAll": first.get("all").and_then(Value::as_bool).unwrap_or(false),
            })
        }
        Some(OperationKind::Find) => json!({
            "filenames": lines(), "numFiles": lines().len(), "truncated": false,
            "durationMs": output.duration_ms,
        }),
        Some(OperationKind::Grep) => json!({
            "mode": "content", "content": text, "filenames": [], "numFiles": 0, "numLines": lines().len(),
        }),
        Some(OperationKind::Fetch) => json!({
            "url": argument("url"), "result": text, "bytes": text.len(), "code": 200, "codeText": "OK",
        }),
        _ => json!([{"type": "text", "text": text}]),
    }
}

/// The text of a result that a hook wrote.
pub fn text_of(written: &Value) -> String {
    let member = |name: &str| written.get(name).and_then(Value::as_str);
    let of_file = || written.get("file")?.get("content")?.as_str();
    match written {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(_) => match (
            member("stdout"),
            of_file(),
            member("result").or(member("content")),
        ) {
            (Some(stdout), ..) => {
                let parts = [stdout, member("stderr").unwrap_or_default()];
                parts
                    .iter()
                    .filter(|part| !part.is_empty())
                    .copied()
                    .collect::<Vec<_>>()
                    .join("\n")
            }
            (None, Some(content), _) | (None, None, Some(content)) => content.to_owned(),
            _ => written.to_string(),
        },
        other => other.to_string(),
    }
}
