//! Images that go with a prompt.

#![allow(
    clippy::disallowed_methods,
    reason = "nothing here decides which hooks there are"
)]

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use becket_events::Part;
use becket_system::CliError;

/// The largest image that is sent, in bytes.
const MAX_BYTES: u64 = 20 * 1024 * 1024;

/// What is said about a file of another format.
const UNKNOWN_KIND: &str = "it is neither PNG, JPEG, GIF nor WebP";

/// The first bytes of each image format, by media type.
const KINDS: &[(&str, &[u8])] = &[
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF8"),
];

/// Reads an image file.
pub fn read_picture(file: &Path) -> Result<Part, CliError> {
    let broken =
        |what: String| CliError::usage(format!("cannot send the picture {}: {what}", file.display()));
    let size = std::fs::metadata(file).map_err(|error| broken(error.to_string()))?;
    if !size.is_file() || size.len() > MAX_BYTES {
        return Err(broken(format!(
            "it is not a file of at most {} MiB",
            MAX_BYTES / 1024 / 1024
        )));
    }
    let bytes = std::fs::read(file).map_err(|error| broken(error.to_string()))?;
    let media_type = kind_of(&bytes).ok_or_else(|| broken(UNKNOWN_KIND.into()))?;
    Ok(Part::Image {
        media_type: media_type.into(),
        data: STANDARD.encode(bytes),
    })
}

/// Checks an image that is in base64 already; the error says what is wrong with it.
pub fn check_picture(data: &str) -> Result<Part, String> {
    let bytes = STANDARD
        .decode(data)
        .map_err(|error| format!("it is not in base64: {error}"))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("it is larger than {} MiB", MAX_BYTES / 1024 / 1024));
    }
    Ok(Part::Image {
        media_type: kind_of(&bytes).ok_or(UNKNOWN_KIND)?.into(),
        data: data.into(),
    })
}

fn kind_of(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Some("image/webp");
    }
    KINDS
        .iter()
        .find(|(_, beginning)| bytes.starts_with(beginning))
        .map(|(kind, _)| *kind)
}
