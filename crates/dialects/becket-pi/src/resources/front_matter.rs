//! The YAML front matter of a Markdown file.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use becket_dialect_kit::yaml::read_front_matter;

/// The front matter and the text after it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FrontMatter<'a> {
    fields: BTreeMap<String, Value>,
    pub(super) body: &'a str,
}

impl FrontMatter<'_> {
    /// A field that is text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let value = self.fields.get(name)?;
        value.as_str().filter(|text| !text.trim().is_empty())
    }

    /// Whether a field is set to `true`.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.fields.get(name) == Some(&Value::Bool(true))
    }
}

/// Splits a file. Without a closing line there is no front matter.
pub(super) fn front_matter<'a>(text: &'a str, file: &Path) -> Result<FrontMatter<'a>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let whole = FrontMatter {
        body: text.trim(),
        ..FrontMatter::default()
    };
    let Some(rest) = text.strip_prefix("---").filter(|rest| begins_line(rest)) else {
        return Ok(whole);
    };
    let closing = rest
        .match_indices("\n---")
        .find(|(at, mark)| begins_line(&rest[at + mark.len()..]));
    let Some((end, mark)) = closing else {
        return Ok(whole);
    };
    let (yaml, body) = (&rest[..end], rest[end + mark.len()..].trim());
    if yaml.trim().is_empty() {
        return Ok(FrontMatter { body, ..whole });
    }
    let fields = read_front_matter(yaml.trim_start_matches(['\r', '\n']), file)
        .map_err(|error| format!("its first lines cannot be understood: {}", error.message))?;
    Ok(FrontMatter { fields, body })
}

/// Whether the rest of a text begins with the end of a line.
fn begins_line(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['\n', '\r'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_at_the_front_is_taken_off() {
        let file = Path::new("x.md");
        let cases = [
            ("plain\n", None, "plain"),
            ("---\nname: a b\n---\n\nbody\n", Some("a b"), "body"),
            ("\u{feff}---\r\nname: a\r\n---\r\nbody", Some("a"), "body"),
            ("---\n---\nbody", None, "body"),
            ("---\nname: a\nno end", None, "---\nname: a\nno end"),
            ("---\nname: a\n----\n---\nbody", None, ""),
            ("---x\nname: a\n---\nbody", None, "---x\nname: a\n---\nbody"),
            ("---\nname: [1]\n---\nbody", None, "body"),
            ("---\nname: \" \"\n---\nbody", None, "body"),
        ];
        for (text, name, body) in cases {
            match front_matter(text, file) {
                Ok(found) => {
                    assert_eq!(found.text("name"), name, "{text:?}");
                    assert_eq!(found.body, body, "{text:?}");
                }
                Err(error) => assert!(text.contains("----"), "{text:?}: {error}"),
            }
        }
        let set = front_matter("---\na: true\nb: \"true\"\n---\n", file).unwrap();
        assert!(set.is_set("a") && !set.is_set("b") && !set.is_set("c"));
        let almost = "---\nname: a\ndescription: Use this: when\ndisable-model-invocation: true\n---\nbody";
        let almost = front_matter(almost, file).unwrap();
        assert_eq!(almost.text("description"), Some("Use this: when"));
        assert!(almost.is_set("disable-model-invocation"));
        let inner = "---\nname: a\narguments:\n  - name: to\n    about: the end (default: now)\n---\nbody";
        assert_eq!(front_matter(inner, file).unwrap().text("name"), Some("a"));
        let hooks = "---\nname: a\nhooks:\n  Stop:\n\n    - command: echo it: is done\n---\nbody";
        assert!(front_matter(hooks, file).is_err());
        let broken = front_matter("---\na: [\n---\n", file).unwrap_err();
        assert!(broken.contains("cannot be understood"), "{broken}");
    }
}
