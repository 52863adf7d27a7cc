//! Makes foreign text in a prompt safe: it must not be able to pass for anything else.

/// Whether a program, a terminal or a model may take a character for the end of a line.
fn ends_line(character: char) -> bool {
    matches!(
        character,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Whether a character is invisible, and hides or reorders others.
fn is_hidden(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
    )
}

/// The lines of a text, split at everything that may end a line.
pub(crate) fn lines(text: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    let text = text.strip_suffix(ends_line).unwrap_or(&text);
    text.split(ends_line).map(Into::into).collect()
}

/// A text on one line of at most `longest` characters.
pub(crate) fn one_line(text: &str, longest: usize) -> String {
    let shown = text.chars().filter(|character| !is_hidden(*character));
    let mut shown = shown.map(|character| match character.is_control() || ends_line(character) {
        true => ' ',
        false => character,
    });
    let mut line: String = shown.by_ref().take(longest).collect();
    if shown.next().is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_of_a_line_is_one() {
        assert_eq!(
            lines("a\r\nb\rc\u{2028}d\u{85}e\u{b}f\n"),
            ["a", "b", "c", "d", "e", "f"]
        );
        assert_eq!(lines("a\n\nb"), ["a", "", "b"]);
        assert_eq!(lines("a\n\n"), ["a", ""]);
    }

    #[test]
    fn one_line_hides_nothing_and_is_short() {
        assert_eq!(one_line("a\u{2028}b\u{202e}c\td", 10), "a bc d");
        assert_eq!(one_line("abcdef", 3), "abc…");
        assert_eq!(one_line("abc", 3), "abc");
    }
}
