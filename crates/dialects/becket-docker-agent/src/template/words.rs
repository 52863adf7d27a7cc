//! The words inside of `{{` and `}}`.

use super::fault::not_understood;

/// A word of an action.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Word {
    /// A name, a number, a path or a variable.
    Plain(String),
    /// A text in quotes.
    Text(String),
    Open,
    Close,
    Pipe,
    Comma,
    /// `:=` or `=`.
    Assign,
}

/// Splits an action into its words.
pub(super) fn split(action: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut rest = action.trim_start();
    while let Some(first) = rest.chars().next() {
        let mark = match first {
            '(' => Some(Word::Open),
            ')' => Some(Word::Close),
            '|' => Some(Word::Pipe),
            ',' => Some(Word::Comma),
            '=' => Some(Word::Assign),
            _ => None,
        };
        rest = if let Some(mark) = mark {
            words.push(mark);
            &rest[1..]
        } else if let Some(after) = rest.strip_prefix(":=") {
            words.push(Word::Assign);
            after
        } else if matches!(first, '"' | '`') {
            let (text, after) = quoted(rest, first).ok_or_else(|| not_understood(action))?;
            words.push(Word::Text(text));
            after
        } else {
            let ends = |letter: char| letter.is_whitespace() || "()|,\"`".contains(letter) || letter == ':';
            let end = rest.find(ends).filter(|end| *end > 0).unwrap_or(rest.len());
            words.push(Word::Plain(rest[..end].to_owned()));
            &rest[end..]
        }
        .trim_start();
    }
    Ok(words)
}

/// A text in quotes, and what follows it.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let end = end_of_quoted(text)?;
    let inside = &text[1..end - 1];
    let text_inside = match quote {
        '`' => inside.to_owned(),
        _ => unescaped(inside),
    };
    Some((text_inside, &text[end..]))
}

/// Where a text that begins with a quote ends, behind its last quote.
pub(super) fn end_of_quoted(text: &str) -> Option<usize> {
    let quote = text.chars().next()?;
    let mut escaped = false;
    for (place, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quote == '"' => escaped = true,
            letter if letter == quote => return Some(place + 1),
            _ => {}
        }
    }
    None
}

fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        plain.push(match letter {
            '\\' => match letters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    plain
}
