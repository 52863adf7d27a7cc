//! Exports a conversation as an HTML page, for `export_html`: one self-contained file.

use std::path::{Path, PathBuf};

use serde_json::Value;

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
