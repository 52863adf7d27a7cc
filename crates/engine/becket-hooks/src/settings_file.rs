//! Reads a settings file into a type, with errors that name file, line, and the nearest right word.
//!
//! The type alone says which keys there are: its JSON Schema is walked along the file, so that a misspelt key is
//! found with its place before serde sees it.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::toml_text::{parse_section, parse_table, parse_toml};

/// An error in a settings file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {message}", file.display())]
pub struct SettingsError {
    /// The file.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong, and what to try.
    pub message: String,
}

impl SettingsError {
    /// An error at a place in a text.
    pub fn at(offset: usize, text: &str, file: &Path, message: impl Into<String>) -> Self {
        TextPlace { text, file }.error(offset, message)
    }
}

/// The longest time that can be set. A longer one is a mistake, and nothing ever waits that long.
pub const MAX_SECONDS: u64 = 30 * 24 * 60 * 60;

/// Checks that a time in the settings is between one second and 30 days.
pub fn check_seconds(
    key: &str,
    seconds: Option<&toml::Spanned<u64>>,
    text: &str,
    file: &Path,
) -> Result<(), SettingsError> {
    let Some(given) = seconds else {
        return Ok(());
    };
    let message = match *given.get_ref() {
        0 => format!("`{key}` is at least 1 second"),
        1..=MAX_SECONDS => return Ok(()),
        _ => format!("`{key}` is at most {MAX_SECONDS} seconds, which are 30 days"),
    };
    Err(SettingsError::at(given.span().start, text, file, message))
}

/// A table of a settings file whose keys are defined by another crate.
#[derive(Clone, Copy)]
pub struct Section {
    /// The table's name.
    pub name: &'static str,
    schema: fn() -> Value,
    check: fn(&str, &Path) -> Result<(), SettingsError>,
}

impl Section {
    /// The table that is read as a `T`.
    pub const fn of<T: SectionSettings>() -> Self {
        Self {
            name: T::NAME,
            schema: || {
                let mut schema = schemars::schema_for!(T).to_value();
                schema["description"] = T::ABOUT.into();
                schema
            },
            check: |text, file| T::read(text, file).map(|_| ()),
        }
    }

    /// Checks that the table can be read.
    pub fn check(&self, text: &str, file: &Path) -> Result<(), SettingsError> {
        (self.check)(text, file)
    }
}

/// The settings in one table of a settings file.
pub trait SectionSettings: DeserializeOwned + JsonSchema + Default {
    /// The name of the table.
    const NAME: &'static str;

    /// What the table is about, for the reference page.
    const ABOUT: &'static str;

    /// Checks that the values make sense.
    fn check(&self, text: &str, file: &Path) -> Result<(), SettingsError> {
        let _ = (text, file);
        Ok(())
    }

    /// Reads the table; the default settings if there is none.
    fn read(text: &str, file: &Path) -> Result<Self, SettingsError> {
        let place = TextPlace { text, file };
        let read = parse_section(text, Self::NAME).map_err(|error| place.read_error(&error))?;
        let settings: Self = read.unwrap_or_default();
        settings.check(text, file)?;
        Ok(settings)
    }
}

/// Reads TOML text as a `T`.
pub fn read_toml<T: DeserializeOwned + JsonSchema>(text: &str, file: &Path) -> Result<T, SettingsError> {
    read_toml_with(text, file, &[])
}

/// Reads TOML text as a `T`, besides tables that other crates read. Those are checked as well.
pub fn read_toml_with<T: DeserializeOwned + JsonSchema>(
    text: &str,
    file: &Path,
    sections: &[Section],
) -> Result<T, SettingsError> {
    let place = TextPlace { text, file };
    let table = parse_table(text)
        .map_err(|error| place.error(error.span().map_or(0, |span| span.start), error.message()))?;
    let schema = schema_with::<T>(sections);
    place.check(table.get_ref(), &schema, &schema)?;
    let read = parse_toml(text).map_err(|error| place.read_error(&error))?;
    sections
        .iter()
        .try_for_each(|section| section.check(text, file))?;
    Ok(read)
}

/// The schema of a settings file that includes tables of other crates.
pub fn schema_with<T: JsonSchema>(sections: &[Section]) -> Value {
    let mut whole = schemars::schema_for!(T).to_value();
    for section in sections {
        let mut schema = (section.schema)();
        // References of a table are resolved from the root of the whole schema.
        if let Some(Value::Object(definitions)) = schema.get_mut("$defs").map(Value::take) {
            for (name, definition) in definitions {
                whole["$defs"][name] = definition;
            }
        }
        match own_table(&mut whole, section.name) {
            Some(own) => {
                if let (Some(own), Value::Object(more)) = (own.as_object_mut(), schema["properties"].take()) {
                    own.extend(more);
                }
            }
            None => whole["properties"][section.name] = schema,
        }
    }
    whole
}

/// The properties of a table that the settings have themselves. Others may read some of its keys.
fn own_table<'a>(whole: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    let reference = whole["properties"].get(name)?.get("$ref")?.as_str()?;
    let definition = reference.strip_prefix("#/$defs/")?.to_owned();
    whole.get_mut("$defs")?.get_mut(definition)?.get_mut("properties")
}

/// A message of serde about a value, without the names of Rust types. Other messages stay as they are.
pub fn in_plain_words(message: &str) -> String {
    if let Some((variant, known)) = message
        .strip_prefix("unknown variant ")
        .and_then(|rest| rest.split_once(", expected "))
    {
        let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        return unknown("word", variant.trim_matches('`'), known.iter().copied());
    }
    let about_value = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))
        .and_then(|rest| rest.rsplit_once(", expected "));
    match about_value {
        Some((found, expected)) => format!("expected {}, got {}", wanted(expected), thing(found)),
        None => message.to_owned(),
    }
}

fn wanted(expected: &str) -> String {
    let most = |most: u64| format!("a whole number from 0 to {most}");
    match expected {
        "u8" => most(u8::MAX.into()),
        "u16" => most(u16::MAX.into()),
        "u32" => most(u32::MAX.into()),
        "u64" | "usize" => "a whole number, 0 or more".into(),
        "f32" | "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a string" | "a borrowed string" | "path string" => "a string in quotes".into(),
        "a sequence" => "a list".into(),
        "a map" => "a table".into(),
        _ if expected.starts_with("a nonzero ") => "a whole number, 1 or more".into(),
        _ if expected.starts_with("struct ") => "a table".into(),
        _ => expected.to_owned(),
    }
}

fn thing(found: &str) -> String {
    let (kind, value) = found.split_once(' ').unwrap_or((found, ""));
    match kind {
        "string" => format!("the string {value}"),
        "integer" => format!("the number {}", value.trim_matches('`')),
        "floating" => format!(
            "the number {}",
            value.trim_start_matches("point ").trim_matches('`')
        ),
        "boolean" => value.trim_matches('`').to_owned(),
        "sequence" => "a list".into(),
        "map" => "a table".into(),
        _ => found.to_owned(),
    }
}

/// The nearest of some words, if one is near enough to have been meant. Upper and lower case, and `CamelCase` and
/// `snake_case`, count as the same; a word that continues a candidate (`pre_tool_use`) is near to it, too.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = snake_case(word);
    let mut longest: Option<&str> = None;
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let normal = snake_case(candidate);
        let scored = (strsim::damerau_levenshtein(&word, &normal), candidate);
        best = Some(best.map_or(scored, |best| best.min(scored)));
        let rest = word.strip_prefix(&normal);
        // A short candidate is the beginning of too many words.
        let begins = rest.is_some_and(|rest| normal.len() > 3 || (normal.len() > 1 && rest.starts_with('_')));
        if begins && longest.is_none_or(|longest| longest.len() < candidate.len()) {
            longest = Some(candidate);
        }
    }
    let (distance, candidate) = best?;
    if distance <= 2.max(candidate.len() / 3) {
        Some(candidate)
    } else {
        longest
    }
}

/// `PreToolUse` as `pre_tool_use`.
fn snake_case(word: &str) -> String {
    let mut snake = String::with_capacity(word.len() + 4);
    let mut after_small = false;
    for character in word.chars() {
        if character.is_uppercase() && after_small {
            snake.push('_');
        }
        after_small = character.is_lowercase() || character.is_numeric();
        snake.extend(character.to_lowercase());
    }
    snake
}

/// A text with its file, to locate errors.
#[derive(Clone, Copy)]
pub(crate) struct TextPlace<'a> {
    pub(crate) text: &'a str,
    pub(crate) file: &'a Path,
}

impl TextPlace<'_> {
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.text.as_bytes()[..offset.min(self.text.len())]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1
    }

    pub(crate) fn error(&self, offset: usize, message: impl Into<String>) -> SettingsError {
        SettingsError {
            file: self.file.into(),
            line: self.line(offset),
            message: message.into(),
        }
    }

    /// An error of the parser, in plain words.
    fn read_error(&self, error: &toml::de::Error) -> SettingsError {
        let start = error.span().map_or(0, |span| span.start);
        self.error(start, in_plain_words(error.message()))
    }

    /// Checks that the schema names every key, unless it leaves the keys open.
    fn check(&self, table: &DeTable<'_>, schema: &Value, root: &Value) -> Result<(), SettingsError> {
        let schema = resolve(schema, root);
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            // A table whose names are free, such as that of the providers.
            let Some(each) = schema.get("additionalProperties").filter(|each| each.is_object()) else {
                return Ok(());
            };
            return table
                .iter()
                .try_for_each(|(_, value)| self.check_value(value.get_ref(), each, root));
        };
        // Names that are free beside those that are not.
        let others = schema.get("additionalProperties").filter(|each| each.is_object());
        for (key, value) in table {
            let property = properties.get(key.get_ref().as_ref()).or(others);
            let Some(property) = property else {
                let known = properties.keys().map(String::as_str);
                return Err(self.error(key.span().start, unknown("key", key.get_ref(), known)));
            };
            self.check_value(value.get_ref(), property, root)?;
        }
        Ok(())
    }

    fn check_value(&self, value: &DeValue<'_>, schema: &Value, root: &Value) -> Result<(), SettingsError> {
        let schema = resolve(schema, root);
        match value {
            DeValue::Table(table) => self.check(table, schema, root),
            DeValue::Array(items) => match schema.get("items") {
                Some(item) => items
                    .iter()
                    .try_for_each(|value| self.check_value(value.get_ref(), item, root)),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// "unknown key `x`; did you mean `y`?", or the list of known words.
pub(crate) fn unknown<'a>(what: &str, word: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match nearest(word, known.clone()) {
        Some(near) => format!("unknown {what} `{word}`; did you mean `{near}`?"),
        None => {
            let known: Vec<&str> = known.collect();
            format!("unknown {what} `{word}`; expected one of {}", known.join(", "))
        }
    }
}

/// Follows references, and looks through the `null` that an optional field allows.
fn resolve<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let target = schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|path| root.pointer(&path[1..]));
    if let Some(target) = target {
        return resolve(target, root);
    }
    let variants = schema.get("anyOf").and_then(Value::as_array);
    match variants.map(|variants| {
        variants
            .iter()
            .filter(|variant| variant["type"] != "null")
            .collect::<Vec<_>>()
    }) {
        Some(variants) if variants.len() == 1 => resolve(variants[0], root),
        _ => schema,
    }
}

#[cfg(test)]
mod tests {
    use super::{in_plain_words, nearest};

    #[test]
    fn what_is_wrong_with_a_value_is_said_in_plain_words() {
        let table = [
            (
                "invalid type: string \"x, expected u32\", expected u32",
                "expected a whole number from 0 to 4294967295, got the string \"x, expected u32\"",
            ),
            (
                "invalid value: integer `-1`, expected u32",
                "expected a whole number from 0 to 4294967295, got the number -1",
            ),
            (
                "invalid value: integer `0`, expected a nonzero u32",
                "expected a whole number, 1 or more, got the number 0",
            ),
            (
                "invalid type: floating point `1.5`, expected u64",
                "expected a whole number, 0 or more, got the number 1.5",
            ),
            (
                "invalid type: map, expected a boolean",
                "expected true or false, got a table",
            ),
            (
                "unknown variant `call_usr`, expected `call_user` or `call_agent`",
                "unknown word `call_usr`; did you mean `call_user`?",
            ),
            (
                "unknown variant `x`, expected one of `red`, `green`, `blue`",
                "unknown word `x`; expected one of red, green, blue",
            ),
            (
                "key with no value, expected `=`",
                "key with no value, expected `=`",
            ),
        ];
        for (message, words) in table {
            assert_eq!(in_plain_words(message), words);
        }
    }

    #[test]
    fn the_nearest_word_is_found_in_any_spelling() {
        let events = ["pre_tool", "pre_tool_output", "post_tool", "stop", "ask"];
        let table = [
            ("pre_tol", Some("pre_tool")),
            ("PreTool", Some("pre_tool")),
            ("PreToolUse", Some("pre_tool")),
            ("pre_tool_use", Some("pre_tool")),
            ("preToolOutput", Some("pre_tool_output")),
            ("PRE_TOOL", Some("pre_tool")),
            ("PostToolUse", Some("post_tool")),
            ("Stop", Some("stop")),
            ("ask_first", Some("ask")),
            ("askance", None),
            ("something", None),
            ("", None),
        ];
        for (word, expected) in table {
            assert_eq!(nearest(word, events), expected, "{word}");
        }
        assert_eq!(nearest("x", []), None);
    }
}
