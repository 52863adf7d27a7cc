//! The characters of a string with constant-time access: bytes as long as all are ASCII, which is nearly always, and
//! whole characters from the first one that is not.

use std::cmp::Ordering;
use std::fmt;

/// The characters of a string.
#[derive(Clone, Debug)]
pub enum Text {
    Ascii(Vec<u8>),
    Wide(Vec<char>),
}

impl Default for Text {
    fn default() -> Self {
        Self::Ascii(Vec::new())
    }
}

impl Text {
    /// A text of `count` times the same character.
    pub fn filled(count: usize, fill: char) -> Self {
        match u8::try_from(fill) {
            Ok(byte) if byte.is_ascii() => Self::Ascii(vec![byte; count]),
            _ => Self::Wide(vec![fill; count]),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Ascii(bytes) => bytes.len(),
            Self::Wide(chars) => chars.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How much memory the characters take.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Ascii(bytes) => bytes.capacity(),
            Self::Wide(chars) => chars.capacity() * size_of::<char>(),
        }
    }

    #[inline]
    pub fn get(&self, index: usize) -> Option<char> {
        match self {
            Self::Ascii(bytes) => bytes.get(index).map(|byte| char::from(*byte)),
            Self::Wide(chars) => chars.get(index).copied(),
        }
    }

    /// Replaces an existing character.
    pub fn set(&mut self, index: usize, to: char) {
        match (&mut *self, u8::try_from(to)) {
            (Self::Ascii(bytes), Ok(byte)) if byte.is_ascii() => bytes[index] = byte,
            (Self::Wide(chars), _) => chars[index] = to,
            _ => {
                self.widen();
                self.set(index, to);
            }
        }
    }

    pub fn push(&mut self, next: char) {
        match (&mut *self, u8::try_from(next)) {
            (Self::Ascii(bytes), Ok(byte)) if byte.is_ascii() => bytes.push(byte),
            (Self::Wide(chars), _) => chars.push(next),
            _ => {
                self.widen();
                self.push(next);
            }
        }
    }

    pub fn append(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::Ascii(bytes), Self::Ascii(more)) => bytes.extend_from_slice(more),
            (Self::Wide(chars), Self::Wide(more)) => chars.extend_from_slice(more),
            _ => {
                self.widen();
                other.chars().for_each(|next| self.push(next));
            }
        }
    }

    /// The characters from `start` up to `end`, which must be inside.
    pub fn slice(&self, start: usize, end: usize) -> Self {
        match self {
            Self::Ascii(bytes) => Self::Ascii(bytes[start..end].to_vec()),
            Self::Wide(chars) => chars[start..end].iter().copied().collect(),
        }
    }

    pub fn chars(&self) -> Chars<'_> {
        Chars { text: self, at: 0 }
    }

    /// The ASCII bytes, if all characters are.
    pub fn as_ascii(&self) -> Option<&str> {
        match self {
            Self::Ascii(bytes) => std::str::from_utf8(bytes).ok(),
            Self::Wide(_) => None,
        }
    }

    fn widen(&mut self) {
        if let Self::Ascii(bytes) = self {
            *self = Self::Wide(bytes.iter().map(|byte| char::from(*byte)).collect());
        }
    }
}

/// The characters of a text, one after another.
#[derive(Clone, Debug)]
pub struct Chars<'a> {
    text: &'a Text,
    at: usize,
}

impl Iterator for Chars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let next = self.text.get(self.at)?;
        self.at += 1;
        Some(next)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.text.len() - self.at;
        (left, Some(left))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        if text.is_ascii() {
            Self::Ascii(text.as_bytes().to_vec())
        } else {
            Self::Wide(text.chars().collect())
        }
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        if text.is_ascii() {
            Self::Ascii(text.into_bytes())
        } else {
            Self::Wide(text.chars().collect())
        }
    }
}

impl FromIterator<char> for Text {
    fn from_iter<I: IntoIterator<Item = char>>(characters: I) -> Self {
        let mut text = Self::default();
        characters.into_iter().for_each(|next| text.push(next));
        text
    }
}

impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_ascii() {
            Some(text) => formatter.write_str(text),
            None => self
                .chars()
                .try_for_each(|next| fmt::Write::write_char(formatter, next)),
        }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Ascii(a), Self::Ascii(b)) => a.cmp(b),
            (Self::Wide(a), Self::Wide(b)) => a.cmp(b),
            _ => self.chars().cmp(other.chars()),
        }
    }
}
