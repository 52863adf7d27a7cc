//! Prompt templates: Markdown files that are called like commands, with arguments.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::front_matter::front_matter;
use crate::host_call::SourceInfo;

/// How many characters of a template's first line are its description by default.
const SHOWN: usize = 60;

/// A prompt template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The name that is typed after the slash.
    pub name: String,
    /// The template's description, in one line.
    pub description: String,
    /// A hint about the arguments, for the user.
    pub argument_hint: Option<String>,
    /// The template's text, with placeholders for arguments.
    pub content: String,
    /// The template's file.
    pub file: PathBuf,
    /// The template's source.
    pub source: SourceInfo,
}

impl Template {
    /// Reads a file; the error says what is wrong with it.
    pub(super) fn read(file: &Path, source: SourceInfo) -> Result<Self, String> {
        let failed = |error: String| format!("the prompt template {}: {error}", file.display());
        let text = becket_fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
        let front = front_matter(&text, file).map_err(failed)?;
        let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let first_line = || front.body.lines().find(|line| !line.trim().is_empty());
        let description = front.text("description").map(ToOwned::to_owned);
        Ok(Self {
            name: stem.unwrap_or_default(),
            description: description.unwrap_or_else(|| first_line().map(shortened).unwrap_or_default()),
            argument_hint: front.text("argument-hint").map(ToOwned::to_owned),
            content: front.body.to_owned(),
            file: file.to_owned(),
            source,
        })
    }

    /// The text with its placeholders replaced by arguments.
    pub fn expanded(&self, arguments: &str) -> String {
        substituted(&self.content, &split(arguments))
    }
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

/// Splits arguments at spaces. Quotes group words; an unclosed quote extends to the end.
fn split(text: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut current: Option<String> = None;
    let mut quote = None;
    for character in text.chars() {
        match quote {
            Some(mark) if character == mark => quote = None,
            None if matches!(character, '"' | '\'') => {
                quote = Some(character);
                // An empty pair of quotes is an argument, too.
                current.get_or_insert_default();
            }
            None if character.is_whitespace() => arguments.extend(current.take()),
            _ => current.get_or_insert_default().push(character),
        }
    }
    arguments.extend(current);
    arguments
}

/// The placeholders: `${1:-default}`, `${@:-default}`, `${@:2}`, `${@:2:3}`, `$1`, `$@`, `$ARGUMENTS`.
static PLACES: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = concat!(
        r"\$\{(?<or>\d+|ARGUMENTS|@):-(?<default>[^}]*)\}",
        r"|\$\{@:(?<from>\d+)(?::(?<many>\d+))?\}",
        r"|\$(?<one>ARGUMENTS|@|\d+)",
    );
    Regex::new(pattern).expect("the pattern is right")
});

/// A text with its placeholders replaced. Placeholders in arguments are not replaced.
fn substituted(text: &str, arguments: &[String]) -> String {
    let all = arguments.join(" ");
    let number = |text: &str| text.parse::<usize>().unwrap_or(usize::MAX);
    let named = |name: &str| match name {
        "@" | "ARGUMENTS" => all.clone(),
        position => {
            let place = number(position).checked_sub(1);
            place
                .and_then(|place| arguments.get(place).cloned())
                .unwrap_or_default()
        }
    };
    let place = |found: &Captures<'_>| {
        let group = |name: &str| found.name(name).map(|group| group.as_str());
        if let (Some(name), Some(default)) = (group("or"), group("default")) {
            let value = named(name);
            return if value.is_empty() {
                default.to_owned()
            } else {
                value
            };
        }
        if let Some(from) = group("from") {
            let rest = arguments.iter().skip(number(from).saturating_sub(1));
            let many = group("many").map_or(usize::MAX, number);
            return rest.take(many).cloned().collect::<Vec<_>>().join(" ");
        }
        named(group("one").unwrap_or_default())
    };
    PLACES.replace_all(text, place).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn arguments_go_to_their_places() {
        let cases = [
            ("Review $1 and $2.", "a b c", "Review a and b."),
            ("All: $@; $ARGUMENTS.", "a 'b c'", "All: a b c; a b c."),
            ("[$3][$0]", "a b", "[][]"),
            ("${@:2}|${@:0}|${@:9}", "a b c", "b c|a b c|"),
            ("${@:2:1}|${@:1:2}|${@:1:0}", "a b c", "b|a b|"),
            ("${1:-none} ${2:-none}", "a", "a none"),
            ("${1:-none}", "\"\"", "none"),
            ("${@:-all of it} ${ARGUMENTS:-too}", "", "all of it too"),
            ("$1", "'$2' x", "$2"),
            ("$$1 ${1} $x $", "a", "$a ${1} $x $"),
            ("$12", "1 2 3 4 5 6 7 8 9 10 11 twelve", "twelve"),
            ("$99999999999999999999999", "a", ""),
            ("no places", "a", "no places"),
        ];
        for (text, arguments, wanted) in cases {
            assert_eq!(
                substituted(text, &split(arguments)),
                wanted,
                "{text:?} with {arguments:?}"
            );
        }
    }

    #[test]
    fn quotes_hold_words_together() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("  a\tb\nc ", &["a", "b", "c"]),
            ("\"a b\" 'c \"d\"'", &["a b", "c \"d\""]),
            ("a\"b c\"d", &["ab cd"]),
            ("'' x", &["", "x"]),
            ("'never closed x", &["never closed x"]),
        ];
        for (text, wanted) in cases {
            assert_eq!(split(text), *wanted, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_an_argument_says_is_never_looked_into(argument in "[^\"'\\s]{1,20}") {
            prop_assert_eq!(substituted("<$1>", &split(&argument)), format!("<{argument}>"));
        }

        #[test]
        fn nothing_that_is_typed_breaks_it(text in ".{0,60}", arguments in ".{0,60}") {
            substituted(&text, &split(&arguments));
        }
    }
}
