//! The body of an answer from the web: whether it is text, in which characters it is written, and how it reads.

use becket_events::PageFormat;
use url::Url;

use crate::html::{self, Style};
use crate::judged_path::size;

/// The body of an answer, with the type that the server gave it.
pub(crate) struct Page<'a> {
    /// The type without its parameters.
    essence: String,
    charset: Charset,
    bytes: &'a [u8],
}

/// In which characters a text is written.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Charset {
    Utf8,
    Utf16 {
        big_endian: bool,
    },
    /// Also everything that calls itself ASCII or Latin 1, as browsers read it.
    Windows1252,
    Latin9,
    /// Read as UTF-8 for want of anything better.
    Unknown(String),
}

impl<'a> Page<'a> {
    pub(crate) fn new(kind: &str, bytes: &'a [u8]) -> Self {
        let essence = kind
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        Self {
            charset: Charset::of(kind, bytes),
            essence,
            bytes,
        }
    }

    /// The body as it was sent, if it is text.
    pub(crate) fn sent(&self) -> Option<String> {
        self.is_text().then(|| self.charset.read(self.bytes))
    }

    /// The body as text for a reader, or a word on what it is.
    pub(crate) fn readable(&self, url: &Url, format: PageFormat) -> String {
        let style = match format {
            PageFormat::Text => Some(Style::Plain),
            PageFormat::Markdown => Some(Style::Markdown),
            PageFormat::Html => None,
        };
        match (self.sent(), style) {
            (Some(page), Some(style)) if self.is_html() => html::to_text(&page, url, style),
            (Some(text), _) => text,
            (None, _) => {
                let name = match self.essence.as_str() {
                    "" => "of unknown type",
                    essence => essence,
                };
                format!("[Binary data, {name}, {}.]", size(self.bytes.len() as u64))
            }
        }
    }

    /// What the reader should know about the characters.
    pub(crate) fn notice(&self) -> Option<String> {
        match &self.charset {
            Charset::Unknown(name) if self.is_text() && std::str::from_utf8(self.bytes).is_err() => Some(
                format!("[The characters are {name}, which becket cannot read; some are missing.]"),
            ),
            _ => None,
        }
    }

    fn is_html(&self) -> bool {
        matches!(self.essence.as_str(), "text/html" | "application/xhtml+xml")
    }

    fn is_text(&self) -> bool {
        let essence = self.essence.as_str();
        let by_name = essence.starts_with("text/")
            || essence.ends_with("+json")
            || essence.ends_with("+xml")
            || essence.ends_with("+yaml")
            || matches!(
                essence,
                "application/json"
                    | "application/x-ndjson"
                    | "application/jsonl"
                    | "application/xml"
                    | "application/javascript"
                    | "application/x-javascript"
                    | "application/x-sh"
                    | "application/sql"
                    | "application/x-yaml"
                    | "application/yaml"
                    | "application/toml"
                    | "application/x-www-form-urlencoded"
            );
        // Without a useful type the bytes decide.
        let is_unknown = matches!(essence, "" | "application/octet-stream");
        by_name || (is_unknown && !self.bytes.contains(&0) && is_utf8(self.bytes))
    }
}

/// Bytes that were cut somewhere, without the piece of a character at their end.
pub(crate) fn without_torn_end(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    bytes
}

fn is_utf8(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok()
}

impl Charset {
    /// What the bytes begin with, then what the server says, what the page says of itself, and what it looks like.
    fn of(kind: &str, bytes: &[u8]) -> Self {
        match bytes {
            [0xEF, 0xBB, 0xBF, ..] => return Self::Utf8,
            [0xFE, 0xFF, ..] => return Self::Utf16 { big_endian: true },
            [0xFF, 0xFE, ..] => return Self::Utf16 { big_endian: false },
            _ => {}
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
        match label {
            // Many servers say one of the two and send the other.
            _ if is_utf8(bytes) && !label.as_deref().is_some_and(|label| label.starts_with("utf-16")) => {
                Self::Utf8
            }
            Some(label) => Self::named(&label),
            None => Self::Windows1252,
        }
    }

    fn named(label: &str) -> Self {
        match label {
            "utf-8" | "utf8" => Self::Utf8,
            "utf-16" | "utf-16le" => Self::Utf16 { big_endian: false },
            "utf-16be" => Self::Utf16 { big_endian: true },
            "iso-8859-1" | "iso8859-1" | "latin1" | "windows-1252" | "cp1252" | "us-ascii" | "ascii" => {
                Self::Windows1252
            }
            "iso-8859-15" | "latin9" => Self::Latin9,
            other => Self::Unknown(other.to_owned()),
        }
    }

    fn read(&self, bytes: &[u8]) -> String {
        let text = match self {
            Self::Utf8 | Self::Unknown(_) => String::from_utf8_lossy(bytes).into_owned(),
            Self::Windows1252 => bytes.iter().map(|byte| windows_1252(*byte)).collect(),
            Self::Latin9 => bytes.iter().map(|byte| latin_9(*byte)).collect(),
            Self::Utf16 { big_endian } => {
                let units = bytes.chunks_exact(2).map(|pair| match big_endian {
                    true => u16::from_be_bytes([pair[0], pair[1]]),
                    false => u16::from_le_bytes([pair[0], pair[1]]),
                });
                char::decode_utf16(units)
                    .map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER))
                    .collect()
            }
        };
        text.strip_prefix('\u{FEFF}').map_or(text.clone(), str::to_owned)
    }
}

/// The name of a charset after a mark, in small letters.
fn label_after(text: &str, mark: &str) -> Option<String> {
    let (_, rest) = text.split_once(mark)?;
    let rest = rest.trim_start_matches([' ', '"', '\'']);
    let is_name = |character: char| character.is_ascii_alphanumeric() || "-_:.".contains(character);
    let end = rest
        .find(|character: char| !is_name(character))
        .unwrap_or(rest.len());
    (end > 0).then(|| rest[..end].to_owned())
}

/// What stands in the place of control characters; those that Windows leaves open stay what they are.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž', '\u{8F}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}', 'ž', 'Ÿ',
];

pub(crate) fn windows_1252(byte: u8) -> char {
    match byte {
        0x80..0xA0 => WINDOWS_1252[usize::from(byte - 0x80)],
        byte => char::from(byte),
    }
}

fn latin_9(byte: u8) -> char {
    match byte {
        0xA4 => '€',
        0xA6 => 'Š',
        0xA8 => 'š',
        0xB4 => 'Ž',
        0xB8 => 'ž',
        0xBC => 'Œ',
        0xBD => 'œ',
        0xBE => 'Ÿ',
        byte => char::from(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: &str, bytes: &[u8]) -> String {
        Page::new(kind, bytes).sent().expect("it is text")
    }

    #[test]
    fn characters_are_read_as_they_were_written() {
        let utf16: Vec<u8> = "\u{FEFF}ж".encode_utf16().flat_map(u16::to_be_bytes).collect();
        let cases: [(&str, &[u8], &str); 11] = [
            ("text/plain; charset=utf-8", "ж".as_bytes(), "ж"),
            ("text/plain; charset=ISO-8859-1", b"caf\xE9", "café"),
            ("text/plain; charset=\"windows-1252\"", b"\x93a\x94 \x80", "“a” €"),
            ("text/plain; charset=iso-8859-15", b"\xA4", "€"),
            ("text/plain", b"caf\xE9", "café"),
            ("text/plain; charset=latin1", "ж".as_bytes(), "ж"),
            (
                "text/html",
                b"<meta charset='iso-8859-15'>\xA4",
                "<meta charset='iso-8859-15'>€",
            ),
            (
                "application/xml",
                b"<?xml version='1.0' encoding=\"ISO-8859-15\"?>\xA4",
                "<?xml version='1.0' encoding=\"ISO-8859-15\"?>€",
            ),
            ("text/plain", &utf16, "ж"),
            ("text/plain; charset=utf-16le", &[0x36, 0x04], "ж"),
            ("text/plain", b"\xEF\xBB\xBFa", "a"),
        ];
        for (kind, bytes, expected) in cases {
            assert_eq!(read(kind, bytes), expected, "{kind} {bytes:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let page = Page::new("text/plain; charset=koi8-r", b"\xC1 a");
        assert!(page.sent().is_some_and(|text| text.ends_with(" a")));
        assert!(page.notice().is_some_and(|notice| notice.contains("koi8-r")));
        assert_eq!(Page::new("text/plain; charset=koi8-r", b"plain").notice(), None);
    }

    #[test]
    fn a_character_that_was_cut_off_is_left_out() {
        let text = "жж".as_bytes();
        for (end, whole) in [(1, 0), (2, 2), (3, 2), (4, 4)] {
            assert_eq!(without_torn_end(text[..end].to_vec()), &text[..whole]);
        }
        assert_eq!(
            without_torn_end(b"\xFFa\xD0".to_vec()),
            b"\xFFa\xD0",
            "this is no UTF-8 anyway"
        );
    }
}
