//! Which regular expressions every engine reads in the same way, and on which texts.
//!
//! jq has Oniguruma, and the interpreter here has an engine of its own. Both agree on whether the plain expressions of
//! this file match a text of ASCII characters.

/// The texts on which a pattern means the same everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// Texts of ASCII characters.
    Ascii,
    /// Texts of ASCII characters without a line end, since engines differ in whether `$` stands before the last one.
    Line,
}

/// The largest count of a repetition. Engines have different limits.
const LARGEST_COUNT: u32 = 100;

/// What stands for itself behind a backslash. Others, such as `<`, mean something in some engines.
const PUNCTUATION: &str = r".\/-()[]{}*+?|^$&#%@!=:;,";

/// The texts on which this pattern means the same everywhere; `None` if there are none.
pub(super) fn subject(pattern: &str) -> Option<Subject> {
    let mut reader = Reader {
        rest: pattern.chars().collect::<Vec<_>>().into_iter().peekable(),
        has_end: false,
    };
    pattern.is_ascii().then_some(())?;
    reader.alternatives()?;
    reader.rest.peek().is_none().then_some(())?;
    Some(if reader.has_end {
        Subject::Line
    } else {
        Subject::Ascii
    })
}

struct Reader {
    rest: std::iter::Peekable<std::vec::IntoIter<char>>,
    has_end: bool,
}

impl Reader {
    fn alternatives(&mut self) -> Option<()> {
        loop {
            // An empty alternative is read differently.
            self.piece()?;
            while !matches!(self.rest.peek(), None | Some('|' | ')')) {
                self.piece()?;
            }
            if self.rest.next_if_eq(&'|').is_none() {
                return Some(());
            }
        }
    }

    /// One character, class or group with its repetition.
    fn piece(&mut self) -> Option<()> {
        let may_repeat = match self.rest.next()? {
            '(' => {
                if self.rest.next_if_eq(&'?').is_some() {
                    self.rest.next_if_eq(&':')?;
                }
                self.alternatives()?;
                self.rest.next_if_eq(&')')?;
                true
            }
            '[' => {
                self.class()?;
                true
            }
            '\\' => self.escape()?,
            '^' => false,
            '$' => {
                self.has_end = true;
                false
            }
            '*' | '+' | '?' | ')' | '|' | '{' | '}' | ']' => return None,
            character => !character.is_ascii_control() || matches!(character, '\n' | '\t'),
        };
        let repeats = self.repetition()?;
        (may_repeat || !repeats).then_some(())
    }

    /// What follows a backslash outside of a class; returns whether it can be repeated.
    fn escape(&mut self) -> Option<bool> {
        match self.rest.next()? {
            's' | 'S' | 'd' | 'D' | 'w' | 'W' | 'n' | 't' | 'r' => Some(true),
            'b' | 'B' => Some(false),
            character => PUNCTUATION.contains(character).then_some(true),
        }
    }

    fn class(&mut self) -> Option<()> {
        self.rest.next_if_eq(&'^');
        let mut count = 0;
        loop {
            let first = match self.rest.next()? {
                ']' if count > 0 => return Some(()),
                // Classes in classes, and operators on them, exist in some engines only.
                ']' | '[' | '&' | '-' | '~' => return None,
                '\\' => match self.rest.next()? {
                    's' | 'S' | 'd' | 'D' | 'w' | 'W' => None,
                    character => Some(literal(character)?),
                },
                character => Some(character),
            };
            count += 1;
            if self.rest.next_if_eq(&'-').is_some() {
                // A hyphen at the end of a class is itself.
                if self.rest.peek() == Some(&']') {
                    continue;
                }
                let last = match self.rest.next()? {
                    '\\' => literal(self.rest.next()?)?,
                    character => character,
                };
                let is_range = |one: char, two: char| {
                    one.is_ascii_alphanumeric() && two.is_ascii_alphanumeric() && one <= two
                };
                is_range(first?, last).then_some(())?;
            }
        }
    }

    /// Reads a repetition; returns whether there was one.
    fn repetition(&mut self) -> Option<bool> {
        match self.rest.peek() {
            Some('*' | '+' | '?') => {
                self.rest.next();
            }
            Some('{') => {
                self.rest.next();
                self.counts()?;
            }
            _ => return Some(false),
        }
        self.rest.next_if_eq(&'?');
        // A second one would be possessive, or of the first.
        let goes_on = matches!(self.rest.peek(), Some('*' | '+' | '?' | '{'));
        (!goes_on).then_some(true)
    }

    /// The counts of a repetition, up to its closing brace.
    fn counts(&mut self) -> Option<()> {
        let least = self.count()?;
        if self.rest.next_if_eq(&',').is_some() && self.rest.peek() != Some(&'}') {
            let most = self.count()?;
            (least <= most).then_some(())?;
        }
        self.rest.next_if_eq(&'}').map(|_| ())
    }

    fn count(&mut self) -> Option<u32> {
        let mut digits = String::new();
        while let Some(digit) = self.rest.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        digits.parse().ok().filter(|count| *count <= LARGEST_COUNT)
    }
}

/// The character of an escape in a class.
fn literal(character: char) -> Option<char> {
    match character {
        'n' => Some('\n'),
        't' => Some('\t'),
        'r' => Some('\r'),
        _ => PUNCTUATION.contains(character).then_some(character),
    }
}

#[cfg(test)]
mod tests {
    use super::{Subject, subject};

    #[test]
    fn plain_expressions_are_told_from_others() {
        let ascii = [
            "rm -rf",
            r"rm\s+-rf?",
            "^git push",
            "a|b|(?:c|d)+",
            r"\.env\b",
            "[a-z0-9_.-]+",
            "[^/]*",
            "x{2,3}y{1}z{4,}",
            r"(^|[;|\s])sudo\s",
            r"[\s;]",
            "a.*?b",
        ];
        for pattern in ascii {
            assert_eq!(subject(pattern), Some(Subject::Ascii), "{pattern}");
        }
        assert_eq!(subject(r"\.(ts|tsx)$"), Some(Subject::Line));
        let others = [
            "",
            "(",
            "a)",
            "(?i)a",
            "(?=a)",
            "(?<n>a)",
            r"\1",
            r"\p{L}",
            r"\h",
            r"\A",
            "a++",
            "a**",
            "a{,3}",
            "a{3,2}",
            "a{200}",
            r"\<a",
            "*a",
            "a||b",
            "(|a)",
            "[[:alpha:]]",
            "[a&&b]",
            "[]a]",
            "[-a]",
            "[z-a]",
            "[+-a]",
            "é",
            "^*",
            r"\b+",
            "[",
            "a{",
            "}",
            "]",
        ];
        for pattern in others {
            assert_eq!(subject(pattern), None, "{pattern}");
        }
    }
}
