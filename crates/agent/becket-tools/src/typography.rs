//! Finding text regardless of its typography: models write straight quotes, hyphens and spaces where a file has curly
//! quotes, dashes and other spaces, and they do not see spaces at the ends of lines.

use std::ops::Range;

use crate::occurrences::occurrences;

/// The places of `piece` in `text`, regardless of the typography of both.
pub(crate) fn places(text: &str, piece: &str) -> Vec<Range<usize>> {
    let (text, piece) = (Plain::of(text), Plain::of(piece).text);
    if piece.is_empty() {
        return Vec::new();
    }
    let starts = occurrences(&text.text, &piece);
    let place = |start: &usize| text.origins[*start].start..text.origins[start + piece.len() - 1].end;
    starts.iter().map(place).collect()
}

/// A text with plain quotes, hyphens and spaces.
struct Plain {
    text: String,
    /// For each byte of the plain text, the range of the original character.
    origins: Vec<Range<usize>>,
}

impl Plain {
    fn of(text: &str) -> Self {
        let mut plain = Self {
            text: String::with_capacity(text.len()),
            origins: Vec::with_capacity(text.len()),
        };
        let mut begin = 0;
        for line in text.split_inclusive('\n') {
            let end = begin + line.len();
            let kept = line.trim_end().char_indices();
            let newline = line.ends_with('\n').then(|| (line.len() - 1, '\n'));
            for (offset, character) in kept.chain(newline) {
                plain.push(begin + offset, character);
            }
            begin = end;
        }
        plain
    }

    fn push(&mut self, place: usize, character: char) {
        self.text.push(plainly(character));
        let origin = place..place + character.len_utf8();
        self.origins.resize(self.text.len(), origin);
    }
}

fn plainly(character: char) -> char {
    match character {
        '\u{2018}'..='\u{201B}' => '\'',
        '\u{201C}'..='\u{201F}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotes_dashes_and_spaces_are_typed_plainly() {
        let text = "a\nit\u{2019}s \u{201C}x\u{201D} \u{2013} y  \nend\u{A0}\n";
        let found = |piece: &str| -> Vec<&str> {
            let places = places(text, piece);
            places.into_iter().map(|place| &text[place]).collect()
        };
        assert_eq!(
            found("it's \"x\" - y\nend"),
            ["it\u{2019}s \u{201C}x\u{201D} \u{2013} y  \nend"]
        );
        assert_eq!(found("- y"), ["\u{2013} y"]);
        assert_eq!(found("end \n"), ["end\u{A0}\n"]);
        assert_eq!(found("   "), Vec::<&str>::new());
        assert_eq!(found("is"), Vec::<&str>::new());
    }

    proptest! {
        #[test]
        fn what_stands_there_exactly_is_found(before in "[a-c“’ \n]{0,8}", piece in "[a-c“’]{1,4}", after in "[a-c“’ \n]{0,8}") {
            let text = format!("{before}{piece}{after}");
            let found = places(&text, &piece);
            prop_assert!(found.contains(&(before.len()..before.len() + piece.len())), "{text:?} {found:?}");
        }
    }
}
