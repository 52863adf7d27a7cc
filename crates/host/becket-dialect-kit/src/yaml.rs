//! Reads YAML into a type, with errors that name file, line, and the nearest right word.
//!
//! It is YAML 1.2, as the systems read it whose files these are: `yes`, `no`, `on` and `off` are texts.

use std::path::Path;

use becket_hooks::{SettingsError, in_plain_words, nearest};
use serde::de::DeserializeOwned;

pub use serde_saphyr::Spanned;

/// Reads YAML text as a `T`.
pub fn read_yaml<T: DeserializeOwned>(text: &str, file: &Path) -> Result<T, SettingsError> {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let error = error.without_snippet();
        let line = error.location().map_or(1, |location| location.line() as usize);
        let told = error.to_string();
        // The line is reported separately.
        let message = told
            .rsplit_once(" at line ")
            .map_or(told.as_str(), |(message, _)| message);
        SettingsError {
            file: file.into(),
            line,
            message: plainly(message),
        }
    })
}

/// Reads the fields in front of a Markdown file. Many authors write what is only almost YAML, such as `argument-hint:
/// [file] [words]` or `description: use this: when`, and its own system reads it all the same: as a text.
pub fn read_front_matter<T: DeserializeOwned>(front: &str, file: &Path) -> Result<T, SettingsError> {
    read_yaml(front, file).or_else(|error| read_yaml(&quoted(front), file).map_err(|_| error))
}

/// Front matter with quotes around the values that are no YAML by themselves. A value that may go on in the next line
/// stays as it is, and so does all of `hooks`: nobody guesses what a guard is.
fn quoted(front: &str) -> String {
    let mut is_of_hooks = false;
    let lines = front.lines().map(|line| {
        let is_field = !line.trim().is_empty() && !line.starts_with([' ', '\t', '-', '#']);
        if is_field {
            is_of_hooks = line
                .trim_start_matches(['"', '\'', '?', ' '])
                .starts_with("hooks");
        }
        let quoted = (!is_of_hooks).then(|| with_quoted_value(line)).flatten();
        quoted.unwrap_or_else(|| line.to_owned())
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A line with its value in quotes, if the value is no YAML.
fn with_quoted_value(line: &str) -> Option<String> {
    let (written, value) = line.split_once(": ")?;
    // The field may be the first one of an element of a list.
    let name = written.trim_start_matches([' ', '\t', '-']);
    let is_name = name
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
    let count = |brackets: [char; 2]| value.matches(brackets).count();
    let is_closed = count(['[', '{']) == count([']', '}']);
    let is_yaml = || serde_saphyr::from_str::<serde_json::Value>(line).is_ok();
    let is_meant = is_name && !name.is_empty() && is_closed && !is_yaml();
    is_meant.then(|| format!("{written}: {}", serde_json::Value::from(value.trim())))
}

/// The line in which something stands, counted from 1.
pub fn line_of<T>(spanned: &Spanned<T>) -> usize {
    spanned.referenced.line() as usize
}

fn plainly(message: &str) -> String {
    let unknown = message
        .strip_prefix("unknown field `")
        .and_then(|rest| rest.split_once("`, expected one of "));
    if let Some((key, known)) = unknown {
        let known: Vec<&str> = known.split(", ").collect();
        return match nearest(key, known.iter().copied()) {
            Some(near) => format!("unknown key `{key}`; did you mean `{near}`?"),
            None => format!("unknown key `{key}`; expected one of {}", known.join(", ")),
        };
    }
    if let Some((key, _)) = message
        .strip_prefix("duplicate mapping key: ")
        .and_then(|rest| rest.split_once(", set "))
    {
        return format!("the key `{key}` stands here twice");
    }
    let said = [
        ("expected sequence start", "expected a list"),
        ("expected mapping start", "expected a table"),
        (
            "multiple YAML documents detected",
            "several documents, with `---` between them, are not read; write one",
        ),
    ];
    if let Some((_, plain)) = said.iter().find(|(theirs, _)| message.starts_with(theirs)) {
        return (*plain).to_owned();
    }
    match message.strip_prefix("invalid ") {
        Some(kind) if kind.starts_with("bool") => "expected true or false".into(),
        Some("f32" | "f64" | "floating point value") => "expected a number".into(),
        Some(kind) if kind.starts_with(['u', 'i']) && kind[1..].parse::<u8>().is_ok() => {
            "expected a whole number in the valid range".into()
        }
        _ => in_plain_words(message),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        #[expect(dead_code)]
        model: String,
        #[serde(default)]
        parts: BTreeMap<String, Spanned<u32>>,
    }

    fn fault(text: &str) -> String {
        read_yaml::<File>(text, Path::new("agent.yaml"))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn errors_name_file_line_and_the_nearest_word() {
        assert_eq!(
            fault("model: x\n\nmodle: y\n"),
            "agent.yaml:3: unknown key `modle`; did you mean `model`?"
        );
        assert_eq!(
            fault("model: x\nmodel: y\n"),
            "agent.yaml:2: the key `model` stands here twice"
        );
        assert!(fault("model: x\nparts:\n  a: many\n").starts_with("agent.yaml:3: "));
        assert!(fault("model: [x\n").starts_with("agent.yaml:1: "));
        assert_eq!(fault("model: x\nparts: 3\n"), "agent.yaml:2: expected a table");
        assert!(fault("model: x\n---\nmodel: y\n").contains("several documents"));
        let list = read_yaml::<BTreeMap<String, Vec<u32>>>("a: x\n", Path::new("f")).unwrap_err();
        assert_eq!(list.to_string(), "f:1: expected a list");
    }

    #[test]
    fn only_true_and_false_are_no_texts() {
        let read: BTreeMap<String, serde_json::Value> = read_yaml(
            "a: [yes, no, on, off, y]\nb: no\nc: [true, False]\n",
            Path::new("f"),
        )
        .unwrap();
        assert_eq!(read["a"], serde_json::json!(["yes", "no", "on", "off", "y"]));
        assert_eq!(read["b"], "no");
        assert_eq!(read["c"], serde_json::json!([true, false]));
        let flag = read_yaml::<BTreeMap<String, bool>>("a: yes\n", Path::new("f")).unwrap_err();
        assert_eq!(flag.to_string(), "f:1: expected true or false");
    }

    #[test]
    fn values_know_their_line() {
        let file: File = read_yaml("model: x\nparts:\n  a: 1\n  b: 2\n", Path::new("f")).unwrap();
        assert_eq!(line_of(&file.parts["b"]), 4);
    }
}
