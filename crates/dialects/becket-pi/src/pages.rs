//! Exports a conversation as an HTML page, for `export_html` and for session files: one self-contained file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Writes messages, in pi's form, as a page, and returns its path.
pub fn export(
    folder: &Path,
    wanted: Option<&str>,
    session: &str,
    messages: &[Value],
) -> Result<PathBuf, String> {
    if messages.is_empty() {
        return Err("Nothing to export yet - start a conversation first".into());
    }
    let name = wanted.map_or_else(|| format!("becket-session-{session}.html"), ToOwned::to_owned);
    let file = folder.join(name);
    std::fs::write(&file, page(session, messages))
        .map_err(|error| format!("the page cannot be written to {}: {error}", file.display()))?;
    Ok(file)
}

/// A session file as a page: the conversation that its last entry ends. Files of pi's first version have no tree.
pub fn of_file(text: &str) -> Result<String, String> {
    let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    let (headers, entries): (Vec<Value>, Vec<Value>) =
        lines.partition(|line: &Value| line["type"] == "session");
    let header = headers.first().ok_or("it is no session file")?;
    let by_id: HashMap<&str, &Value> = entries
        .iter()
        .filter_map(|entry| Some((entry["id"].as_str()?, entry)))
        .collect();
    let mut path: Vec<&Value> = Vec::new();
    let mut next = entries.last().filter(|entry| entry["id"].is_string());
    // A file whose entries go round in a circle ends as well.
    while let Some(entry) = next.filter(|_| path.len() < entries.len()) {
        path.push(entry);
        next = entry["parentId"].as_str().and_then(|id| by_id.get(id).copied());
    }
    path.reverse();
    if by_id.is_empty() {
        path = entries.iter().collect();
    }
    let messages: Vec<Value> = path.into_iter().filter_map(said).collect();
    match messages.is_empty() {
        true => Err("nothing was said in it".into()),
        false => Ok(page(header["id"].as_str().unwrap_or_default(), &messages)),
    }
}

/// What an entry of a session file says.
fn said(entry: &Value) -> Option<Value> {
    match entry["type"].as_str()? {
        "message" => Some(entry["message"].clone()),
        "custom_message" => Some(json!({"role": "custom", "content": entry["content"]})),
        kind @ ("compaction" | "branch_summary") => Some(json!({"role": kind, "summary": entry["summary"]})),
        _ => None,
    }
}

fn page(session: &str, messages: &[Value]) -> String {
    let said: String = messages.iter().map(message).collect();
    let title = escaped(session);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Session {title}</title>\n\
         <style>body{{font:16px/1.5 sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}}\
         pre{{white-space:pre-wrap;overflow-wrap:anywhere;margin:0}}\
         section{{margin:1rem 0;padding:.5rem 1rem;border-left:4px solid #888}}\
         .user{{border-color:#36c}}.assistant{{border-color:#393}}.error{{border-color:#c33}}\
         h2{{font-size:.8rem;margin:0;color:#666}}img{{max-width:100%}}</style>\n\
         <h1>Session {title}</h1>\n{said}</html>\n"
    )
}

fn message(message: &Value) -> String {
    let role = message["role"].as_str().unwrap_or("unknown");
    let kind = match message["isError"] == true || message["stopReason"] == "error" {
        true => "error",
        false => role,
    };
    let who = match message["toolName"].as_str() {
        Some(tool) => format!("{role} {tool}"),
        None => role.to_owned(),
    };
    let content = match &message["content"] {
        Value::String(text) => block(text),
        Value::Array(parts) => parts.iter().map(part).collect(),
        _ => message["summary"].as_str().map(block).unwrap_or_default(),
    };
    let error = message["errorMessage"].as_str().map(block).unwrap_or_default();
    let (kind, who) = (escaped(kind), escaped(&who));
    format!("<section class=\"{kind}\"><h2>{who}</h2>{content}{error}</section>\n")
}

fn part(part: &Value) -> String {
    match part["type"].as_str() {
        Some("text") => block(part["text"].as_str().unwrap_or_default()),
        Some("thinking") => format!(
            "<details><summary>thoughts</summary>{}</details>",
            block(part["thinking"].as_str().unwrap_or_default())
        ),
        Some("toolCall") => {
            let name = part["name"].as_str().unwrap_or_default();
            block(&format!("{name} {}", part["arguments"]))
        }
        Some("image") => {
            let kind = escaped(part["mimeType"].as_str().unwrap_or_default());
            let data = escaped(part["data"].as_str().unwrap_or_default());
            format!("<img alt=\"\" src=\"data:{kind};base64,{data}\">")
        }
        _ => String::new(),
    }
}

fn block(text: &str) -> String {
    format!("<pre>{}</pre>", escaped(text))
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            other => safe.push(other),
        }
    }
    safe
}
