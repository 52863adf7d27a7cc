//! How much text a request counts as, where nobody says how many tokens it had.
//!
//! A provider charges for a picture by what the model sees of it, and not by the base64 that is sent: as text, a
//! photograph of a megabyte would count a hundred times as much.

use serde_json::Value;

use crate::Json;

/// How many bytes of text are about one token.
pub const BYTES_PER_TOKEN: usize = 4;

/// How many tokens a picture costs, roughly.
pub const PICTURE_TOKENS: usize = 1_500;

/// The bytes of a request's body, in which a picture counts as the text that costs as much.
pub fn request_size(body: &Json) -> usize {
    let text = body.text();
    // Few requests hold a picture, and a long conversation is read for it only then.
    match text.contains("image/") {
        true => text.len() - surplus(&body.to_value()),
        false => text.len(),
    }
}

/// The bytes of pictures that count as nothing.
fn surplus(value: &Value) -> usize {
    match value {
        Value::Array(values) => values.iter().map(surplus).sum(),
        Value::Object(members) => {
            let text = |name: &str| members.get(name).and_then(Value::as_str);
            let kind = ["media_type", "mimeType"].into_iter().find_map(text);
            let picture = match kind.is_some_and(|kind| kind.starts_with("image/")) {
                true => text("data"),
                false => { ["url", "image_url"].into_iter().find_map(text) }
                    .filter(|url| url.starts_with("data:image/")),
            };
            match picture {
                Some(picture) => picture.len().saturating_sub(PICTURE_TOKENS * BYTES_PER_TOKEN),
                None => members.values().map(surplus).sum(),
            }
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_picture_counts_as_what_it_costs_in_every_interface_and_text_as_text() {
        let long = "A".repeat(1_000_000);
        let url = format!("data:image/png;base64,{long}");
        for picture in [
            json!({"type": "image_url", "image_url": {"url": url}}),
            json!({"type": "input_image", "image_url": url}),
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": long}}),
            json!({"inlineData": {"mimeType": "image/png", "data": long}}),
        ] {
            let body = Json::of(&json!({"messages": [{"content": [picture]}]})).expect("it is JSON");
            let size = request_size(&body);
            assert!((6_000..6_300).contains(&size), "{size}");
        }
        for text in [
            json!({"type": "text", "text": url}),
            json!({"name": "write", "input": {"data": long}}),
            json!({"source": {"media_type": "application/pdf", "data": long}}),
        ] {
            let body = Json::of(&text).expect("it is JSON");
            assert_eq!(request_size(&body), body.text().len());
        }
    }
}
