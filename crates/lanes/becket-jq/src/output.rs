//! Writing the results.

use std::io::{self, Write};

use jaq_json::write::{Pp, Styles, write};
use jaq_json::{Num, Val};

use crate::options::{Layout, Options};

/// Writes results as the command line wants them.
pub(crate) struct Printer {
    layout: Pp,
    raw: bool,
    joined: bool,
    ascii: bool,
}

impl Printer {
    pub(crate) fn new(options: &Options) -> Self {
        let indent = match &options.layout {
            Layout::Compact => None,
            Layout::Indented(indent) => Some(indent.clone()),
        };
        let styles = if options.colour {
            Styles::ansi()
        } else {
            Styles::default()
        };
        Self {
            layout: Pp {
                sep_space: indent.is_some(),
                indent,
                sort_keys: options.sort_keys,
                styles,
            },
            raw: options.raw_output,
            joined: options.join_output,
            ascii: options.ascii,
        }
    }

    pub(crate) fn print(&self, value: &Val, to: &mut dyn Write) -> io::Result<()> {
        let mut bytes = Vec::new();
        match value {
            Val::TStr(text) if self.raw && !self.ascii => bytes.extend_from_slice(text),
            Val::TStr(text) if self.raw => bytes.extend(escaped(text).bytes()),
            // Numbers that JSON cannot express are null, as in jq.
            Val::Num(Num::Float(number)) if number.is_nan() => bytes.extend_from_slice(b"null"),
            _ if self.ascii => {
                let mut told = Vec::new();
                write(&mut told, &self.layout, 0, value)?;
                bytes.extend(escaped(&told).bytes());
            }
            _ => write(&mut bytes, &self.layout, 0, value)?,
        }
        if !self.joined {
            bytes.push(b'\n');
        }
        to.write_all(&bytes)
    }
}

/// The text with `\u` escapes in place of characters that are not ASCII.
fn escaped(bytes: &[u8]) -> String {
    let mut escaped = String::new();
    for character in String::from_utf8_lossy(bytes).chars() {
        if character.is_ascii() {
            escaped.push(character);
        } else {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    escaped
}
