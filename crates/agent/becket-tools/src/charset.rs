//! The character sets of pages from the web: which one bytes are in, and the text that they make.

use encoding_rs::{Encoding, ISO_8859_15, UTF_8, WINDOWS_1252};

/// The character set of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Charset {
    Known(&'static Encoding),
    /// A character set that becket does not know; the text is read as UTF-8.
    Unknown(String),
}

/// Whether the bytes are UTF-8 text.
pub(crate) fn is_utf8(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok()
}

impl Charset {
    /// The character set: by the first bytes, else as the server says, as the page says of itself, or as the bytes
    /// look.
    pub(crate) fn of(kind: &str, bytes: &[u8]) -> Self {
        if let Some((encoding, _)) = Encoding::for_bom(bytes) {
            return Self::Known(encoding);
        }
        // A page says it at its beginning, in `<meta charset=…>` or `<?xml encoding=…?>`.
        let beginning = String::from_utf8_lossy(&bytes[..bytes.len().min(1024)]).to_ascii_lowercase();
        let in_page = || match beginning.contains("<meta") {
            true => label_after(&beginning, "charset="),
            false => beginning
                .starts_with("<?xml")
                .then(|| label_after(&beginning, "encoding="))?,
        };
        let label = label_after(&kind.to_ascii_lowercase(), "charset=").or_else(in_page);
        let charset = label.map_or(Self::Known(WINDOWS_1252), Self::named);
        match charset {
            // Text that is not ASCII may consist of the same bytes.
            Self::Known(encoding) if !encoding.is_ascii_compatible() => charset,
            // Many servers declare another character set and send this one.
            _ if is_utf8(bytes) => Self::Known(UTF_8),
            charset => charset,
        }
    }

    fn named(label: String) -> Self {
        match Encoding::for_label_no_replacement(label.as_bytes()) {
            Some(encoding) => Self::Known(encoding),
            // Browsers do not know this name, but programs write it.
            None if label == "latin9" => Self::Known(ISO_8859_15),
            None => Self::Unknown(label),
        }
    }

    /// The bytes as text; what is no character becomes the replacement character.
    pub(crate) fn read(&self, bytes: &[u8]) -> String {
        let encoding = match self {
            Self::Known(encoding) => encoding,
            Self::Unknown(_) => UTF_8,
        };
        encoding.decode_with_bom_removal(bytes).0.into_owned()
    }
}

/// The name of a character set after a mark, in lower case.
fn label_after(text: &str, mark: &str) -> Option<String> {
    let (_, rest) = text.split_once(mark)?;
    let rest = rest.trim_start_matches([' ', '"', '\'']);
    let is_name = |character: char| character.is_ascii_alphanumeric() || "-_:.".contains(character);
    let end = rest
        .find(|character: char| !is_name(character))
        .unwrap_or(rest.len());
    (end > 0).then(|| rest[..end].to_owned())
}

/// The character of a byte in Windows-1252.
pub(crate) fn windows_1252(byte: u8) -> Option<char> {
    WINDOWS_1252.decode_without_bom_handling(&[byte]).0.chars().next()
}
