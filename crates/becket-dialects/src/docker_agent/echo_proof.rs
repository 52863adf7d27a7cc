//! JSON that survives the `echo` of every shell.
//!
//! Hooks do `INPUT=$(cat)` and `echo "$INPUT" | jq …`. The `echo` of dash turns `\n` into a line end, and jq then reads
//! nothing: a guard that finds nothing finds nothing wrong. Written as `\u000a` it stays what it is.

use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{CharEscape, Formatter, Serializer};

/// The value as JSON without a backslash before a letter that an `echo` might know.
pub(super) fn echo_proof(value: &Value) -> String {
    let mut text = Vec::new();
    value
        .serialize(&mut Serializer::with_formatter(&mut text, EchoProof))
        .expect("a value is written to memory");
    String::from_utf8(text).expect("JSON is UTF-8")
}

struct EchoProof;

impl Formatter for EchoProof {
    fn write_char_escape<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        let byte = match escape {
            CharEscape::Quote => return writer.write_all(b"\\\""),
            CharEscape::ReverseSolidus => b'\\',
            CharEscape::Solidus => b'/',
            CharEscape::Backspace => 0x08,
            CharEscape::FormFeed => 0x0c,
            CharEscape::LineFeed => b'\n',
            CharEscape::CarriageReturn => b'\r',
            CharEscape::Tab => b'\t',
            CharEscape::AsciiControl(byte) => byte,
        };
        write!(writer, "\\u{byte:04x}")
    }
}
