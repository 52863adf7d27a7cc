//! The text of a file with hooks as a value: JSON, or by the ending of the file's name TOML, or the YAML in front of a
//! Markdown file.

use std::borrow::Cow;
use std::path::Path;

use becket_dialect_kit::yaml::read_front_matter;
use becket_hooks::{SettingsError, parse_toml, read_strictly};
use serde_json::{Map, Value};

/// Reads the text of a file, in which `json` finds the JSON. A Markdown file without hooks has the value `null`,
/// whatever else stands in front of it.
pub fn value_of(file: &Path, text: &str, json: fn(&str) -> Cow<'_, str>) -> Result<Value, SettingsError> {
    let wrong = |line: usize, message: String| SettingsError {
        file: file.to_path_buf(),
        line,
        message,
    };
    if file.extension().is_some_and(|ending| ending == "toml") {
        return parse_toml(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.map_or(1, |before| before.matches('\n').count() + 1);
            wrong(line, error.message().to_owned())
        });
    }
    if is_markdown(file) {
        let Some(front) = front_matter(text) else {
            return Ok(Value::Null);
        };
        return match read_front_matter::<Value>(front, file) {
            Ok(fields) if fields.get("hooks").is_some() => Ok(fields),
            // The line before the front matter counts too.
            Err(error) if mentions_hooks(front) => Err(wrong(error.line + 1, error.message)),
            // Much front matter is no YAML, and concerns nobody without hooks.
            Ok(_) | Err(_) => Ok(Value::Null),
        };
    }
    // Editors of another system put this in front.
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        let message = "it is empty, which is no JSON: write `{}` into it, or remove it";
        return Err(wrong(1, message.into()));
    }
    read_strictly(&json(text)).map_err(|error| wrong(error.line(), error.to_string()))
}

/// Whether a file is a text in whose front matter hooks may stand.
pub fn is_markdown(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "md")
}

/// The fields in front of a Markdown file, and its text. Much front matter is almost YAML, such as `description: use
/// this: when`, and its own system reads it all the same: line by line, as far as the lines have names.
pub fn front_and_body<'a>(text: &'a str, file: &Path) -> (Map<String, Value>, &'a str) {
    let Some(front) = front_matter(text) else {
        return (Map::new(), text);
    };
    let fields = read_front_matter(front, file).unwrap_or_else(|_| fields_by_line(front));
    let from = front.as_ptr() as usize - text.as_ptr() as usize + front.len();
    let body = text[from..].split_once('\n').map_or("", |(_, body)| body);
    (fields, body)
}

/// Fields as `name: value` in lines of their own. Lines of a list below a name are its values.
fn fields_by_line(front: &str) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut last = String::new();
    for line in front.lines() {
        let item = line.trim_start().strip_prefix("- ");
        match (item, line.split_once(':')) {
            (Some(item), _) if !last.is_empty() => match fields.entry(&last).or_insert(Value::Null) {
                Value::Array(items) => items.push(item.trim().into()),
                value => *value = Value::Array(vec![item.trim().into()]),
            },
            (_, Some((name, value))) if !line.starts_with(char::is_whitespace) => {
                last = name.trim().to_owned();
                fields.insert(last.clone(), value.trim().trim_matches(['"', '\'']).into());
            }
            _ => {}
        }
    }
    fields
}

/// The lines between the `---` at the beginning of a text and the next `---`.
fn front_matter(text: &str) -> Option<&str> {
    let text = text.trim_start_matches('\u{feff}');
    let rest = text.strip_prefix("---")?;
    let (first, rest) = rest.split_once('\n')?;
    if !first.trim().is_empty() {
        return None;
    }
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return rest.get(..end);
        }
        end += line.len();
    }
    None
}

/// Whether front matter that is no YAML may have the key `hooks`: at the beginning of a line, or in braces.
fn mentions_hooks(front: &str) -> bool {
    front.match_indices(HOOKS).any(|(at, _)| {
        let before = front[..at].trim_end_matches([' ', '\t', '"', '\'']);
        let after = front[at + HOOKS.len()..].trim_start_matches([' ', '\t', '"', '\'']);
        after.starts_with(':') && (before.is_empty() || before.ends_with(['\n', '{', ',', '?']))
    })
}

/// The key of hooks in front matter.
const HOOKS: &str = "hooks";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comments::without_comments;
    use serde_json::json;

    fn read(file: &str, text: &str) -> Result<Value, SettingsError> {
        value_of(Path::new(file), text, without_comments)
    }

    #[test]
    fn json_and_toml_give_the_same_value() {
        let toml = "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\n";
        let json = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}} // all"#;
        assert_eq!(read("a/config.toml", toml).ok(), read("a.json", json).ok());
        assert_eq!(read("a.toml", "").ok(), Some(json!({})));
    }

    #[test]
    fn front_matter_is_read_if_it_has_hooks() {
        let text = "---\nname: x\nhooks:\n  Stop:\n    - hooks: [{type: command}]\n---\nhooks: text\n";
        let wanted = json!({"name": "x", "hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}});
        assert_eq!(read("a.md", text).ok(), Some(wanted.clone()));
        for text in [
            "---\n{name: x, hooks: {Stop: [{hooks: [{type: command}]}]}}\n---\n",
            "---\nname: x\nhooks :\n  Stop:\n    - hooks: [{type: command}]\n---\n",
            "--- \nname: x\n? hooks\n: Stop:\n    - hooks: [{type: command}]\n---\n",
        ] {
            assert_eq!(read("a.md", text).ok(), Some(wanted.clone()), "{text}");
        }
        let hint =
            "---\nargument-hint: [file] [words]\nname: x\nhooks: {Stop: [{hooks: [{type: command}]}]}\n---\n";
        let read_hint = read("a.md", hint).expect("a hint is a text");
        assert_eq!(read_hint["argument-hint"], "[file] [words]");
        assert_eq!(read_hint["hooks"], wanted["hooks"]);
        for text in ["hooks: [", "name: [\n\"hooks\" : {}", "{name: x, hooks: {}"] {
            assert!(read("a.md", &format!("---\n{text}\n---\n")).is_err(), "{text}");
        }
        for text in [
            "",
            "hooks: {}",
            "---\nname: [\n---\nhooks: {}",
            "---\nname: x\nhooks: {}\n",
            "----\nhooks: {}\n---\n",
        ] {
            assert_eq!(read("a.md", text).ok(), Some(Value::Null), "{text}");
        }
    }

    #[test]
    fn fields_are_read_from_what_is_almost_yaml() {
        let fields = |front: &str| {
            let text = format!("---\n{front}\n---\nBody.\n");
            let (fields, body) = front_and_body(&text, Path::new("a.md"));
            assert_eq!(body, "Body.\n", "{front}");
            Value::Object(fields)
        };
        assert_eq!(
            fields("name: a\ntools: [Read, Grep]"),
            json!({"name": "a", "tools": ["Read", "Grep"]})
        );
        let almost =
            "name: 'a'\ndescription: Use this: when <example>\ntools:\n  - Read\n  - Grep\nmodel: opus";
        let wanted = json!({
            "name": "a", "description": "Use this: when <example>", "tools": ["Read", "Grep"], "model": "opus",
        });
        assert_eq!(fields(almost), wanted);
        assert_eq!(
            front_and_body("no front", Path::new("a.md")),
            (Map::new(), "no front")
        );
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_text() {
        assert_eq!(read("a.json", "\u{feff}{}").ok(), Some(json!({})));
        assert!(
            read("a.json", "\u{feff} \n")
                .unwrap_err()
                .message
                .contains("empty")
        );
    }

    #[test]
    fn errors_name_the_line() {
        for (file, text) in [("a.toml", "a = 1\nb = ["), ("a.json", "{\n\"a\": }")] {
            let error = read(file, text).unwrap_err();
            assert_eq!(error.line, 2, "{error:?}");
        }
    }
}
