//! The one way from TOML text to values, for every file that may be untrusted. `xtask tidy` finds others.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use toml::Spanned;
use toml::de::{DeTable, Error};
use toml_parser::Source;
use toml_parser::lexer::TokenKind;

/// How deep brackets may be nested in a text that the parser gets.
const DEEPEST: usize = 128;

/// Reads TOML text as a `T`.
pub fn parse_toml<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, Error> {
    check_depth(text)?;
    toml::from_str(text)
}

/// Reads TOML text as a table with the place of every value.
pub fn parse_table(text: &str) -> Result<Spanned<DeTable<'_>>, Error> {
    check_depth(text)?;
    DeTable::parse(text)
}

/// Reads one table of TOML text as a `T`, and ignores everything else; `None` if there is no such table.
pub fn parse_section<'de, T: Deserialize<'de>>(text: &'de str, name: &str) -> Result<Option<T>, Error> {
    check_depth(text)?;
    let section = OneSection {
        name,
        kind: PhantomData,
    };
    section.deserialize(toml::Deserializer::parse(text)?)
}

/// Reads the table with a given name.
struct OneSection<'a, T> {
    name: &'a str,
    kind: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for OneSection<'_, T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneSection<'_, T> {
    type Value = Option<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == self.name {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Refuses brackets that are nested too deep. The parser does so too, but it recurses to the last bracket first, which
/// may overflow the stack.
fn check_depth(text: &str) -> Result<(), Error> {
    let mut depth = 0usize;
    for token in Source::new(text).lex() {
        match token.kind() {
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => depth += 1,
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return Err(Error::custom("it is nested too deep to be read"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_without_end_are_an_error_and_those_in_texts_are_none() {
        for (text, expected) in [
            (format!("a = {}", "[".repeat(100_000)), true),
            (format!("a = {}", "{b = ".repeat(100_000)), true),
            (format!("a = {}", "[\n".repeat(100_000)), true),
            // An escaped quote does not end a text, so these brackets stand outside of one.
            (
                format!("a = \"\"\"\\\"\"\"x\"\"\"\nb = {}\n\"\"\"", "[".repeat(100_000)),
                true,
            ),
            (format!("a = \"\"\"{}", "[".repeat(100_000)), false),
            (format!("a = \"{}\"", "[".repeat(1000)), false),
            (format!("a = '{}'", "[".repeat(1000)), false),
            (format!("a = \"\"\"\n{}\"\"\"", "[\n".repeat(1000)), false),
            (format!("# {}\n", "{".repeat(1000)), false),
            ("[[hook]]\na = [1, {b = 2}]\n".repeat(1000), false),
            ("a = \"\\\"[\"\n".repeat(1000), false),
        ] {
            let start = &text[..40.min(text.len())];
            let refused = check_depth(&text).is_err();
            assert_eq!(refused, expected, "{start}");
            assert!(!refused || parse_toml::<toml::Table>(&text).is_err(), "{start}");
            assert!(!refused || parse_table(&text).is_err(), "{start}");
        }
    }
}
