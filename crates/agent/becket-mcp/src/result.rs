//! Converts a server's result for the model.

use becket_agent::tool::ToolOutput;
use becket_events::Part;
use rmcp::model::{CallToolResult, ContentBlock, ListToolsResult, ResourceContents, ServerJsonRpcMessage};
use serde_json::{Value, json};

use crate::offer::Offer;

/// The media types of pictures that providers accept, up to this many bytes.
const PICTURES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];
const MOST_PICTURE_BYTES: usize = 4 * 1024 * 1024;

/// A result as a tool's output. What is no text is described, except for pictures that a model can see.
pub(crate) fn output(result: CallToolResult) -> ToolOutput {
    let structured = result.structured_content;
    let said = structured
        .as_ref()
        .is_some_and(|data| result.content.iter().any(|block| says(block, data)));
    let mut content: Vec<Part> = result.content.into_iter().flat_map(parts).collect();
    if let Some(data) = structured.as_ref().filter(|_| !said) {
        content.push(Part::text(data.to_string()));
    }
    if content.is_empty() {
        content.push(Part::text("[the result is empty]"));
    }
    ToolOutput {
        content: joined(content),
        is_error: result.is_error.unwrap_or(false),
        details: structured.map(|data| json!({"structured_content": data})),
        ends_run: false,
    }
}

/// The text of a result for a reader that is no model: its texts, or its data if it has none. The error is the text of
/// a result that reports an error.
pub(crate) fn plain_text(result: CallToolResult) -> Result<String, String> {
    let blocks = result.content.iter();
    let texts: Vec<&str> = blocks
        .filter_map(|block| Some(block.as_text()?.text.as_str()))
        .collect();
    let text = match (texts.as_slice(), &result.structured_content) {
        ([], Some(data)) => data.to_string(),
        (texts, _) => texts.join("\n"),
    };
    match result.is_error {
        Some(true) => Err(text),
        _ => Ok(text),
    }
}

/// Whether a line of a server is a message of the protocol; tools and results in it are read as far as they can be.
pub fn is_answer(line: &str) -> bool {
    let message = serde_json::from_str::<Value>(line).unwrap_or_default();
    let result = message.get("result").cloned().unwrap_or_default();
    if let Ok(listed) = serde_json::from_value::<ListToolsResult>(result.clone()) {
        listed.tools.into_iter().for_each(|tool| drop(Offer::check(tool)));
    }
    if let Ok(result) = serde_json::from_value(result) {
        drop(output(result));
    }
    serde_json::from_str::<ServerJsonRpcMessage>(line).is_ok()
}

/// Whether a block is the structured data as text, which servers add for clients that do not read data.
fn says(block: &ContentBlock, data: &Value) -> bool {
    let text = block.as_text().map(|text| text.text.as_str());
    text.and_then(|text| serde_json::from_str::<Value>(text).ok())
        .is_some_and(|value| value == *data)
}

fn parts(block: ContentBlock) -> Vec<Part> {
    match block {
        ContentBlock::Text(text) => vec![Part::text(text.text)],
        ContentBlock::Image(image) => picture(image.mime_type, image.data),
        ContentBlock::Audio(audio) => vec![described("audio", &audio.mime_type, &audio.data)],
        ContentBlock::Resource(embedded) => vec![resource(embedded.resource)],
        ContentBlock::ResourceLink(link) => {
            let kind = link.mime_type.map(|kind| format!(", {kind}")).unwrap_or_default();
            vec![Part::text(format!(
                "[resource {}: {}{kind}]",
                link.name, link.uri
            ))]
        }
        _ => vec![Part::text("[content of a kind that becket does not know]")],
    }
}

fn picture(media_type: String, data: String) -> Vec<Part> {
    let note = described("picture", &media_type, &data);
    let is_shown =
        PICTURES.contains(&media_type.as_str()) && bytes(&data) <= MOST_PICTURE_BYTES && is_base64(&data);
    match is_shown {
        true => vec![note, Part::Image { media_type, data }],
        false => vec![note],
    }
}

fn resource(contents: ResourceContents) -> Part {
    match contents {
        ResourceContents::TextResourceContents { uri, text, .. } => {
            Part::text(format!("[resource {uri}]\n{text}"))
        }
        ResourceContents::BlobResourceContents {
            uri, mime_type, blob, ..
        } => {
            let kind = mime_type.unwrap_or_else(|| "bytes".into());
            described(&format!("resource {uri}"), &kind, &blob)
        }
        _ => Part::text("[a resource of a kind that becket does not know]"),
    }
}

fn described(what: &str, kind: &str, data: &str) -> Part {
    Part::text(format!("[{what}: {kind}, {} bytes]", bytes(data)))
}

/// How many bytes a base64 text stands for.
fn bytes(data: &str) -> usize {
    data.trim_end_matches('=').len() * 3 / 4
}

fn is_base64(data: &str) -> bool {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.decode(data).is_ok()
}

/// Joins texts that follow each other into one, each on a line of its own.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::new();
    for part in parts {
        match (joined.last_mut(), part) {
            (Some(Part::Text { text }), Part::Text { text: more }) => {
                if !text.ends_with('\n') {
                    text.push('\n');
                }
                text.push_str(&more);
            }
            (_, part) => joined.push(part),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(result: Value) -> (String, usize, bool) {
        let output = output(serde_json::from_value(result).unwrap());
        let text = |part: &Part| match part {
            Part::Text { text } => Some(text.clone()),
            _ => None,
        };
        let texts: Vec<String> = output.content.iter().filter_map(text).collect();
        (
            texts.join("|"),
            output.content.len() - texts.len(),
            output.is_error,
        )
    }

    #[test]
    fn every_kind_of_content_is_told() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let picture = |kind: &str, data: &str| json!({"type": "image", "mimeType": kind, "data": data});
        let resource = |resource: Value| json!({"type": "resource", "resource": resource});
        let link =
            json!({"type": "resource_link", "uri": "file:///x", "name": "x", "mimeType": "text/plain"});
        let blob = json!({"uri": "u:x", "blob": "AAAA", "mimeType": "application/zip"});
        for (content, wanted, pictures) in [
            (json!([text("a"), text("b")]), "a\nb", 0),
            (
                json!([picture("image/png", "AAAA")]),
                "[picture: image/png, 3 bytes]",
                1,
            ),
            (
                json!([picture("image/tiff", "AAAA")]),
                "[picture: image/tiff, 3 bytes]",
                0,
            ),
            (
                json!([picture("image/png", "no base64!")]),
                "[picture: image/png, 7 bytes]",
                0,
            ),
            (
                json!([resource(json!({"uri": "u:x", "text": "t"}))]),
                "[resource u:x]\nt",
                0,
            ),
            (
                json!([resource(blob)]),
                "[resource u:x: application/zip, 3 bytes]",
                0,
            ),
            (json!([link]), "[resource x: file:///x, text/plain]", 0),
            (json!([]), "[the result is empty]", 0),
        ] {
            assert_eq!(
                told(json!({"content": content})),
                (wanted.into(), pictures, false)
            );
        }
    }

    #[test]
    fn data_is_told_unless_the_text_says_the_same() {
        let result =
            |text: &str| json!({"content": [{"type": "text", "text": text}], "structuredContent": {"a": 1}});
        assert_eq!(told(result("{\"a\":  1}")).0, "{\"a\":  1}");
        assert_eq!(told(result("one")).0, "one\n{\"a\":1}");
        assert!(told(json!({"content": [], "isError": true})).2);
    }
}
