//! Which JSON text every jq reads in the same way: strict JSON with integers that every version prints alike.
//!
//! The versions of jq differ in large and fractional numbers, in broken text, and in what else they take for JSON.

/// The most digits of an integer. Sums of such numbers are exact in every version.
const MOST_DIGITS: usize = 13;

/// The deepest nesting. jq 1.5 refuses text that is nested deeper than 256.
const DEEPEST: usize = 200;

/// How many values the text has, if every jq reads it in the same way.
pub(super) fn values(text: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(text).ok()?;
    let mut reader = Reader {
        rest: text.as_bytes(),
    };
    let mut count = 0;
    reader.skip_space();
    while !reader.rest.is_empty() {
        reader.value()?;
        // Values that touch, such as `1 2` without the space, are not told apart in the same way.
        let is_apart = reader.skip_space();
        (is_apart || reader.rest.is_empty()).then_some(())?;
        count += 1;
    }
    Some(count)
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    /// Skips white space, and returns whether there was any.
    fn skip_space(&mut self) -> bool {
        let start = self
            .rest
            .iter()
            .position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
            .unwrap_or(self.rest.len());
        self.rest = &self.rest[start..];
        start > 0
    }

    fn take(&mut self, expected: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(expected)?;
        Some(())
    }

    /// One value. Brackets that are open are kept in a list, so that no nesting uses up the stack.
    fn value(&mut self) -> Option<()> {
        let mut open: Vec<u8> = Vec::new();
        loop {
            self.skip_space();
            match self.rest.first()? {
                bracket @ (b'{' | b'[') => {
                    open.push(bracket + 2);
                    (open.len() <= DEEPEST).then_some(())?;
                    self.rest = &self.rest[1..];
                    self.skip_space();
                    if self.take(&[bracket + 2]).is_none() {
                        self.key(bracket + 2)?;
                        continue;
                    }
                    open.pop();
                }
                b'"' => self.text()?,
                b't' => self.take(b"true")?,
                b'f' => self.take(b"false")?,
                b'n' => self.take(b"null")?,
                _ => self.integer()?,
            }
            // Whatever has ended may end what is around it, too.
            loop {
                let Some(closing) = open.last().copied() else {
                    return Some(());
                };
                self.skip_space();
                if self.take(b",").is_some() {
                    self.key(closing)?;
                    break;
                }
                self.take(&[closing])?;
                open.pop();
            }
        }
    }

    /// The key of an object's next member; nothing in an array.
    fn key(&mut self, closing: u8) -> Option<()> {
        if closing == b'}' {
            self.skip_space();
            self.text()?;
            self.skip_space();
            self.take(b":")?;
        }
        Some(())
    }

    fn integer(&mut self) -> Option<()> {
        let is_negative = self.take(b"-").is_some();
        let digits = self
            .rest
            .iter()
            .position(|byte| !byte.is_ascii_digit())
            .unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(digits);
        let is_plain = match number {
            [] => false,
            [b'0'] => !is_negative,
            [b'0', ..] => false,
            _ => number.len() <= MOST_DIGITS,
        };
        let goes_on = matches!(rest.first(), Some(b'.' | b'e' | b'E'));
        self.rest = rest;
        (is_plain && !goes_on).then_some(())
    }

    fn text(&mut self) -> Option<()> {
        self.take(b"\"")?;
        loop {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            match byte {
                b'"' => return Some(()),
                b'\\' => self.escape()?,
                // A DEL and what is not text are written differently.
                0..0x20 | 0x7f => return None,
                _ => {}
            }
        }
    }

    /// What follows a backslash. A NUL ends texts in some versions, and halves of a character are replaced differently.
    fn escape(&mut self) -> Option<()> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        match byte {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => match self.unit()? {
                0 | 0x7f | 0xdc00..=0xdfff => None,
                0xd800..=0xdbff => {
                    self.take(b"\\u")?;
                    matches!(self.unit()?, 0xdc00..=0xdfff).then_some(())
                }
                _ => Some(()),
            },
            _ => None,
        }
    }

    fn unit(&mut self) -> Option<u16> {
        let (digits, rest) = self.rest.split_at_checked(4)?;
        self.rest = rest;
        let digits = std::str::from_utf8(digits).ok()?;
        let all = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        all.then(|| u16::from_str_radix(digits, 16).ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::values;

    #[test]
    fn strict_json_with_plain_integers_is_plain() {
        let table: &[(&str, Option<usize>)] = &[
            ("", Some(0)),
            (" \n", Some(0)),
            ("{}", Some(1)),
            ("[ ]", Some(1)),
            (
                r#"{"a": [1, -2, {"b": "x\n\u00e9\ud83d\ude00"}], "c": null}"#,
                Some(1),
            ),
            ("true false\nnull", Some(3)),
            ("{}\n[]\n", Some(2)),
            ("9999999999999", Some(1)),
            ("12345678901234", None),
            ("1.5", None),
            ("1e3", None),
            ("-0", None),
            ("01", None),
            ("nan", None),
            ("{}{}", None),
            ("1 2]", None),
            ("[1,]", None),
            (r#"{"a"}"#, None),
            (r#"{"a":1,}"#, None),
            (r#"{a:1}"#, None),
            ("[1 2]", None),
            ("# words", None),
            ("\u{feff}{}", None),
            (r#""\ud800""#, None),
            (r#""\udc00""#, None),
            (r#""\u0000""#, None),
            (r#""\x""#, None),
            ("\"\u{7f}\"", None),
            ("\"open", None),
            ("[", None),
            ("{\"a\":", None),
        ];
        for (text, expected) in table {
            assert_eq!(values(text.as_bytes()), *expected, "{text}");
        }
        assert_eq!(values(b"\"\xff\""), None);
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(values(nested(200).as_bytes()), Some(1));
        assert_eq!(values(nested(201).as_bytes()), None);
    }
}
