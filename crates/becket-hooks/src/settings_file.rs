//! Reads a settings file into a type, with errors that name file, line, and the nearest right word.
//!
//! The type alone says which keys there are: its JSON Schema is walked along the file, so that a misspelt key is
//! found with its place before serde sees it.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

/// What is wrong in a settings file.
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

/// Reads TOML text as a `T`.
pub fn read_toml<T: DeserializeOwned + JsonSchema>(text: &str, file: &Path) -> Result<T, SettingsError> {
    let place = Place { text, file };
    let table = DeTable::parse(text)
        .map_err(|error| place.error(error.span().map_or(0, |span| span.start), error.message()))?;
    let schema = schemars::schema_for!(T).to_value();
    place.check(table.get_ref(), &schema, &schema)?;
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        place.error(start, error.message())
    })
}

/// The nearest of some words, if one is near enough to have been meant. Upper and lower case, and `CamelCase` and
/// `snake_case`, count as the same; a word that goes on after a candidate (`pre_tool_use`) is near to it, too.
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

/// A text with its file, to say where something is.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) text: &'a str,
    pub(crate) file: &'a Path,
}

impl Place<'_> {
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.text[..offset.min(self.text.len())]
            .bytes()
            .filter(|byte| *byte == b'\n')
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

    /// Every key must be one that the schema names, unless the schema leaves the keys open.
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
        for (key, value) in table {
            let Some(property) = properties.get(key.get_ref().as_ref()) else {
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

/// "unknown key `x`; did you mean `y`?", or the list of what there is.
pub(crate) fn unknown<'a>(what: &str, word: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match nearest(word, known.clone()) {
        Some(near) => format!("unknown {what} `{word}`; did you mean `{near}`?"),
        None => {
            let known: Vec<&str> = known.collect();
            format!("unknown {what} `{word}`; there are {}", known.join(", "))
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
    use super::nearest;

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
