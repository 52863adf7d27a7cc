//! The body of an answer from the web: whether it is text, in which character set, and how it reads.

use becket_events::PageFormat;
use url::Url;

use crate::charset::{Charset, is_utf8};
use crate::html::{self, Style};
use crate::judged_path::size;

/// The body of an answer, with the type that the server gave it.
pub(crate) struct Page<'a> {
    /// The media type without its parameters.
    essence: String,
    charset: Charset,
    bytes: &'a [u8],
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

    /// The body as text for a reader, or a short description of what it is.
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

    /// A notice about characters that could not be read.
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
        // Without a useful media type the bytes decide.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: &str, bytes: &[u8]) -> String {
        Page::new(kind, bytes).sent().expect("it is text")
    }

    #[test]
    fn characters_are_read_as_they_were_written() {
        let utf16: Vec<u8> = "\u{FEFF}ж".encode_utf16().flat_map(u16::to_be_bytes).collect();
        let cases: [(&str, &[u8], &str); 15] = [
            ("text/plain; charset=utf-8", "ж".as_bytes(), "ж"),
            ("text/plain; charset=ISO-8859-1", b"caf\xE9", "café"),
            ("text/plain; charset=\"windows-1252\"", b"\x93a\x94 \x80", "“a” €"),
            ("text/plain; charset=iso-8859-15", b"\xA4", "€"),
            ("text/plain; charset=latin9", b"\xA4", "€"),
            ("text/plain; charset=koi8-r", b"\xD6 a", "ж a"),
            ("text/plain; charset=Shift_JIS", b"\x93\xFA", "日"),
            ("text/plain; charset=iso-2022-jp", b"\x1B$BF|\x1B(B", "日"),
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
        let page = Page::new("text/plain; charset=utf-7", b"\xC1 a");
        assert!(page.sent().is_some_and(|text| text.ends_with(" a")));
        assert!(page.notice().is_some_and(|notice| notice.contains("utf-7")));
        assert_eq!(Page::new("text/plain; charset=utf-7", b"plain").notice(), None);
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
