//! The results of tools as Claude Code's hooks know them.

use becket_events::{OperationKind, PreToolOutputPayload, text_of as text_of_parts};
use serde_json::{Value, json};

/// The result of a call, with the absolute path of its file.
// tidy: a table
pub fn of(output: &PreToolOutputPayload, path: Option<&str>) -> Value {
    let text = text_of_parts(&output.content);
    let argument = |name: &str| output.arguments.get(name).cloned().unwrap_or_default();
    let lines = || text.lines().collect::<Vec<_>>();
    // What becket's own tools tell beside their text. Others bring their place, and tell something else or nothing.
    let told = |name: &str| output.details.get(name).cloned();
    let count = |name: &str| told(name).and_then(|count| count.as_u64());
    let is_so = |name: &str| told(name) == Some(Value::Bool(true));
    match output.operation {
        Some(OperationKind::Shell) => json!({
            "stdout": text.trim_end_matches('\n'),
            "stderr": "",
            "interrupted": is_so("cancelled") || is_so("timed_out"),
            "isImage": false,
            "noOutputExpected": false,
        }),
        Some(OperationKind::Read) => json!({
            "type": "text",
            "file": {
                "filePath": path,
                "content": text,
                "numLines": count("lines").unwrap_or(lines().len() as u64),
                "startLine": count("first_line").or(argument("offset").as_u64()).unwrap_or(1),
                "totalLines": count("total_lines").unwrap_or(lines().len() as u64),
            },
        }),
        Some(OperationKind::Write) => json!({
            "type": if is_so("created") { "create" } else { "update" },
            "filePath": path,
            "content": argument("content"),
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
        Some(OperationKind::Find) => {
            let count = count("files").unwrap_or(lines().len() as u64);
            let names: Vec<&str> = lines().into_iter().take(count as usize).collect();
            json!({
                "filenames": names,
                "numFiles": count,
                "truncated": told("complete") == Some(Value::Bool(false)),
                "durationMs": output.duration_ms,
            })
        }
        Some(OperationKind::Grep) => json!({
            "mode": "content",
            "content": text,
            "filenames": [],
            "numFiles": count("files").unwrap_or_default(),
            "numLines": lines().len(),
        }),
        Some(OperationKind::Fetch) => json!({
            "url": told("url").unwrap_or_else(|| argument("url")),
            "result": text,
            "bytes": count("bytes").unwrap_or(text.len() as u64),
            "code": count("status").unwrap_or(200),
            "codeText": "OK",
            "durationMs": output.duration_ms,
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
