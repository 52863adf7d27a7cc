//! Characters of an answer that were damaged on the way: bytes that are not UTF-8, and halves of surrogate pairs.
//!
//! Each is read as U+FFFD, as other clients do: a bad byte in a text costs one character and not the whole answer. That
//! holds for text only. What decides what a tool does, or how an answer is put together, must be what the model wrote:
//! an answer that was damaged there makes no sense and is asked for again, so no call runs from it.

use std::pin::Pin;
use std::str::from_utf8;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use becket_agent::provider::AnswerPart;
use becket_events::Delta;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde_json::Value;

/// What stands for a character that cannot be read.
const MARK: char = '\u{fffd}';

/// The fields whose text is only shown or sent back, in all interfaces. `delta` is also a piece of a call in one of
/// them, which the parts of the answer show.
const TEXT_FIELDS: &[&str] = &[
    "content",
    "delta",
    "reasoning",
    "reasoning_content",
    "refusal",
    "text",
    "thinking",
];

/// What is known of the damage to an answer.
#[derive(Default)]
pub(crate) struct Damage {
    /// Whether some of its bytes were not UTF-8.
    bytes: Arc<AtomicBool>,
    /// Whether an event with damaged characters was read.
    is_read: bool,
}

impl Damage {
    /// The bytes as text. What is not UTF-8 becomes U+FFFD.
    pub(crate) fn mend<E, S>(&self, bytes: S) -> impl Stream<Item = Result<Bytes, E>> + Send + use<E, S>
    where
        E: Send + 'static,
        S: Stream<Item = Result<Bytes, E>> + Send + 'static,
    {
        let bytes: Pin<Box<dyn Stream<Item = Result<Bytes, E>> + Send>> = Box::pin(bytes);
        let state = (Some(bytes), Vec::new(), Arc::clone(&self.bytes));
        stream::unfold(state, |(bytes, mut rest, damaged)| async move {
            let mut bytes = bytes?;
            let (next, bytes) = match bytes.next().await {
                Some(Ok(chunk)) => (Ok(whole(&mut rest, chunk, &damaged)), Some(bytes)),
                Some(Err(failure)) => (Err(failure), None),
                None if rest.is_empty() => return None,
                None => {
                    damaged.store(true, Ordering::Relaxed);
                    (Ok(MARK.to_string().into()), None)
                }
            };
            Some((next, (bytes, rest, damaged)))
        })
    }

    /// Whether an event and the parts that it brought can be used: only text may be damaged.
    pub(crate) fn is_bearable<'p>(
        &mut self,
        data: &str,
        parts: impl Iterator<Item = &'p AnswerPart>,
    ) -> bool {
        let has_bad_bytes = self.bytes.load(Ordering::Relaxed) && data.contains(MARK);
        let is_damaged = has_bad_bytes || has_half_characters(data);
        self.is_read |= is_damaged;
        let is_text_only = || {
            serde_json::from_str(&with_whole_characters(data)).is_ok_and(|value: Value| is_text_only(&value))
        };
        (!is_damaged || is_text_only()) && !self.is_in_calls(parts)
    }

    /// Whether a call may be damaged. A call can be passed on later than the event that brought a piece of it.
    pub(crate) fn is_in_calls<'p>(&self, mut parts: impl Iterator<Item = &'p AnswerPart>) -> bool {
        self.is_read
            && parts.any(|part| match part {
                AnswerPart::Delta(Delta::Arguments { text, .. }) => text.contains(MARK),
                AnswerPart::Delta(Delta::ToolCall { id, name, .. }) => {
                    id.contains(MARK) || name.contains(MARK)
                }
                _ => false,
            })
    }
}

/// The whole characters of what is left of the bytes before and of a chunk. The beginning of a character stays for the
/// next chunk.
fn whole(rest: &mut Vec<u8>, chunk: Bytes, damaged: &AtomicBool) -> Bytes {
    if rest.is_empty() && from_utf8(&chunk).is_ok() {
        return chunk;
    }
    rest.extend_from_slice(&chunk);
    let bytes = std::mem::take(rest);
    let (mut text, mut left) = (String::with_capacity(bytes.len()), &bytes[..]);
    while let Err(error) = from_utf8(left) {
        let (valid, after) = left.split_at(error.valid_up_to());
        text.push_str(&String::from_utf8_lossy(valid));
        let Some(length) = error.error_len() else {
            rest.extend_from_slice(after);
            left = &[];
            break;
        };
        text.push(MARK);
        damaged.store(true, Ordering::Relaxed);
        left = &after[length..];
    }
    text.push_str(&String::from_utf8_lossy(left));
    text.into()
}

/// JSON without the escapes of half characters.
pub(crate) fn with_whole_characters(json: &str) -> String {
    let mut whole = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(place) = rest.find('\\') {
        whole.push_str(&rest[..place]);
        rest = &rest[place..];
        let length = match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(0xd800..0xe000), _) => {
                whole.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            // What follows a backslash belongs to it, also another backslash.
            _ => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        whole.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    whole + rest
}

/// The unit of UTF-16 that an escape at the beginning of a text stands for.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

/// Whether JSON has escapes of half characters.
fn has_half_characters(json: &str) -> bool {
    (json.contains("\\ud") || json.contains("\\uD")) && with_whole_characters(json) != json
}

/// Whether all damaged characters are in fields of text.
fn is_text_only(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.contains(MARK),
        Value::Array(values) => values.iter().all(is_text_only),
        Value::Object(fields) => fields.iter().all(|(name, value)| {
            let is_text = value.is_string() && TEXT_FIELDS.contains(&name.as_str());
            !name.contains(MARK) && (is_text || is_text_only(value))
        }),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of chunks, and whether it was damaged.
    async fn mended(chunks: &[&[u8]]) -> (String, bool) {
        let chunks: Vec<_> = chunks.iter().map(|chunk| Bytes::copy_from_slice(chunk)).collect();
        let damage = Damage::default();
        let chunks = stream::iter(chunks).map(Ok::<_, std::convert::Infallible>);
        let mut bytes = std::pin::pin!(damage.mend(chunks));
        let mut text = Vec::new();
        while let Some(Ok(chunk)) = bytes.next().await {
            text.extend_from_slice(&chunk);
        }
        let text = String::from_utf8(text).expect("all that comes out is text");
        (text, damage.bytes.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn only_bad_bytes_become_marks_wherever_chunks_end() {
        let table: &[(&[u8], &str, bool)] = &[
            ("Grüße 🦀".as_bytes(), "Grüße 🦀", false),
            ("a\u{fffd}b".as_bytes(), "a\u{fffd}b", false),
            (b"a\xffb", "a\u{fffd}b", true),
            (b"a\xf0\x9f\nb", "a\u{fffd}\nb", true),
            (b"\xe4\xc3\xa4\xe4", "\u{fffd}ä\u{fffd}", true),
        ];
        for (bytes, text, damaged) in table {
            for cut in 0..=bytes.len() {
                let (head, tail) = bytes.split_at(cut);
                let expected = ((*text).to_owned(), *damaged);
                assert_eq!(mended(&[head, tail]).await, expected, "{bytes:?} at {cut}");
            }
        }
    }

    #[test]
    fn damage_is_borne_in_text_only() {
        let checked = |data: &str| {
            let mut damage = Damage::default();
            damage.bytes.store(true, Ordering::Relaxed);
            damage.is_bearable(data, std::iter::empty())
        };
        for data in [
            r#"{"choices":[{"delta":{"content":"a?"}}]}"#,
            r#"{"type":"response.output_text.done","text":"?"}"#,
            r#"{"parts":[{"thought":true,"text":"?"}]}"#,
            r#"{"type":"content_block_delta","delta":{"thinking":"?"}}"#,
        ] {
            assert!(checked(&data.replace('?', "\u{fffd}")), "{data}");
            assert!(checked(&data.replace('?', "\\ud83d")), "{data}");
        }
        for data in [
            r#"{"delta":{"partial_json":"?"}}"#,
            r#"{"delta":{"partial_js?n":"x"}}"#,
            r#"{"type":"conten?","delta":{"text":"x"}}"#,
            r#"{"function":{"arguments":"?"}}"#,
            r#"{"content":["?"]}"#,
            r#"{"signature":"?"}"#,
        ] {
            assert!(checked(data), "{data}");
            assert!(!checked(&data.replace('?', "\u{fffd}")), "{data}");
            assert!(!checked(&data.replace('?', "\\ud83d")), "{data}");
        }
    }
}
