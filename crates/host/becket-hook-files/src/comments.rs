//! JSON with comments, which some systems allow in their files.

use std::borrow::Cow;

/// A text with spaces in place of its comments, `// …` and `/* … */`. Lines stay where they are, and so do strings.
pub fn without_comments(text: &str) -> Cow<'_, str> {
    if !text.contains("//") && !text.contains("/*") {
        return text.into();
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, is_comment) = match first {
            '"' => (string(rest), false),
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), true),
            '/' if rest.starts_with("/*") => (rest[2..].find("*/").map_or(rest.len(), |end| end + 4), true),
            other => (other.len_utf8(), false),
        };
        let (piece, behind) = rest.split_at(length);
        match is_comment {
            true => plain.extend(piece.chars().map(|character| match character {
                '\n' => '\n',
                _ => ' ',
            })),
            false => plain.push_str(piece),
        }
        rest = behind;
    }
    plain.into()
}

/// The length of the string at the beginning of a text, with its quotes.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (place, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return place + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_blank_and_strings_stay() {
        for (text, plain) in [
            ("{} // x", "{}     "),
            ("{/* a\nb */}", "{    \n    }"),
            (r#"{"a": "https://x"}"#, r#"{"a": "https://x"}"#),
            (r#"{"a": "\"// "} // "#, r#"{"a": "\"// "}    "#),
            ("/*/ {} */", "         "),
            ("/* open", "       "),
            ("\"open // ", "\"open // "),
        ] {
            assert_eq!(without_comments(text), plain);
        }
    }
}
