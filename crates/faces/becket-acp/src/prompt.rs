//! Reads prompts: texts, links to files, files that the editor sends along, and images.
//!
//! A file is named where it stands in the text, and what the editor sends of it follows after the text, so that a slash
//! command stays at the beginning.

use agent_client_protocol_schema::v1::{ContentBlock, EmbeddedResourceResource, Error, ImageContent};
use becket_events::Part;
use becket_run::check_picture;
use url::Url;

use super::wire::wrong;

/// A prompt.
#[derive(Debug, Default, PartialEq)]
pub struct Prompt {
    pub text: String,
    pub images: Vec<Part>,
}

impl Prompt {
    /// Reads the blocks of a prompt.
    pub fn read(blocks: Vec<ContentBlock>) -> Result<Self, Error> {
        let (mut prompt, mut files) = (Self::default(), String::new());
        for block in blocks {
            match block {
                ContentBlock::Text(text) => prompt.text.push_str(&text.text),
                ContentBlock::Image(image) => prompt.images.push(picture(image)?),
                ContentBlock::ResourceLink(link) => prompt.text.push_str(&mention(&link.name, &link.uri)),
                ContentBlock::Resource(resource) => match resource.resource {
                    EmbeddedResourceResource::TextResourceContents(file) => {
                        prompt.text.push_str(&mention(last_name(&file.uri), &file.uri));
                        files.push_str(&whole(&file.uri, &file.text));
                    }
                    EmbeddedResourceResource::BlobResourceContents(blob) => {
                        prompt.text.push_str(&mention(last_name(&blob.uri), &blob.uri));
                        let kind = blob.mime_type.unwrap_or_default();
                        if !kind.starts_with("image/") {
                            return Err(wrong(format!("becket cannot send {} to a model", blob.uri)));
                        }
                        prompt.images.push(picture(ImageContent::new(blob.blob, kind))?);
                    }
                    _ => return Err(wrong("the prompt has a resource of an unknown form")),
                },
                ContentBlock::Audio(_) => return Err(wrong("becket cannot listen: the prompt has audio")),
                _ => return Err(wrong("the prompt has a block of an unknown form")),
            }
        }
        prompt.text.push_str(&files);
        if prompt.text.trim().is_empty() && prompt.images.is_empty() {
            return Err(wrong("the prompt is empty"));
        }
        Ok(prompt)
    }
}

fn picture(image: ImageContent) -> Result<Part, Error> {
    check_picture(&image.data).map_err(|why| wrong(format!("the prompt has an image, but {why}")))
}

/// A file or address in the text, as a link.
fn mention(name: &str, uri: &str) -> String {
    format!("[@{name}]({})", path_or_address(uri))
}

/// What the editor has sent of a file: perhaps it is not saved yet.
fn whole(uri: &str, text: &str) -> String {
    let place = path_or_address(uri);
    format!(
        "\n\n<file path=\"{place}\">\n{}\n</file>",
        text.trim_end_matches('\n')
    )
}

/// The path that a `file:` address means, with the lines that it names; any other address as it is.
fn path_or_address(uri: &str) -> String {
    let path = |url: Url| {
        let path = url.to_file_path().ok()?;
        let lines = url.fragment().map_or(String::new(), |lines| format!("#{lines}"));
        Some(format!("{}{lines}", path.display()))
    };
    let url = Url::parse(uri).ok().filter(|url| url.scheme() == "file");
    url.and_then(path).unwrap_or_else(|| uri.to_owned())
}

fn last_name(uri: &str) -> &str {
    let path = uri.split(['#', '?']).next().unwrap_or(uri);
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prompt(blocks: serde_json::Value) -> Result<Prompt, String> {
        let blocks = serde_json::from_value(blocks).unwrap();
        Prompt::read(blocks).map_err(|error| error.message)
    }

    #[test]
    fn files_are_named_in_the_text_and_what_is_sent_of_them_follows() {
        let read = prompt(json!([
            {"type": "text", "text": "/review "},
            {"type": "resource_link", "name": "a.rs", "uri": "file:///work/a%20b.rs#L1:3"},
            {"type": "text", "text": " and "},
            {"type": "resource", "resource": {"uri": "file:///work/c.rs", "text": "fn c() {}\n"}},
            {"type": "text", "text": "!"},
        ]));
        let wanted = "/review [@a.rs](/work/a b.rs#L1:3) and [@c.rs](/work/c.rs)!\n\n\
             <file path=\"/work/c.rs\">\nfn c() {}\n</file>";
        assert_eq!(read.unwrap().text, wanted);
    }

    #[test]
    fn what_no_model_could_read_is_refused() {
        let refused = |block: serde_json::Value| prompt(json!([block])).unwrap_err();
        let audio = json!({"type": "audio", "data": "AA==", "mimeType": "audio/wav"});
        assert!(refused(audio).contains("audio"));
        let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        assert!(refused(image).contains("neither PNG"));
        let broken = json!({"type": "image", "data": "?", "mimeType": "image/png"});
        assert!(refused(broken).contains("base64"));
        let blob = json!({"type": "resource", "resource": {"uri": "file:///a.zip", "blob": "AA=="}});
        assert!(refused(blob).contains("a.zip"));
        assert!(refused(json!({"type": "text", "text": " \n"})).contains("empty"));
    }
}
