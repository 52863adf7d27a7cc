//! Matchers: which events a handler wants. Evaluated in Rust, before any process or engine is entered.
//!
//! A pattern must cover the whole text. One that may match somewhere inside is too easily satisfied by accident, and
//! too easily outwitted on purpose.

use becket_events::{Payload, Scope};
use regex::Regex;
use serde_json::Value;

use crate::glob::{Glob, Slashes};

/// How the names of fields end whose texts are no sentences: places and names.
const NAMES: &[&str] = &["path", "url", "cwd", "directory", "name", "model"];

/// Conditions on fields of the payload; all must hold. Without conditions every event matches.
#[derive(Debug, Clone, Default)]
pub struct Matcher(Vec<Condition>);

/// One field and its pattern.
#[derive(Debug, Clone)]
struct Condition {
    /// The path into the payload: a field, then members of objects.
    path: Vec<String>,
    pattern: Pattern,
}

/// A pattern for a text. It must match the whole text.
#[derive(Debug, Clone)]
pub enum Pattern {
    /// Exactly this text.
    Exact(String),
    /// A regular expression that must match the whole text.
    Regex(Regex),
    /// A glob; `*` stands for any text, also across `/`.
    Glob(Glob),
}

impl Pattern {
    /// A regular expression that must match the whole text.
    pub fn regex(expression: &str) -> Result<Self, String> {
        // The expression must be valid alone: `)(` would only become so inside of the group.
        Regex::new(expression).map_err(|error| error.to_string())?;
        Regex::new(&format!(r"\A(?s:{expression})\z"))
            .map(Self::Regex)
            .map_err(|error| error.to_string())
    }

    /// A glob that must match the whole text.
    pub fn glob(glob: &str) -> Result<Self, String> {
        Glob::new(glob, Slashes::Matched)
            .map(Self::Glob)
            .map_err(|error| format!("the glob `{}` is not valid: {error}", shortened(glob)))
    }

    /// The pattern as its author wrote it.
    pub fn written(&self) -> &str {
        match self {
            Self::Exact(text) => text,
            Self::Glob(glob) => glob.text(),
            Self::Regex(regex) => {
                let inside = regex.as_str().strip_prefix(r"\A(?s:");
                let inside = inside.and_then(|rest| rest.strip_suffix(r")\z"));
                inside.unwrap_or(regex.as_str())
            }
        }
    }

    /// Whether the text matches the pattern.
    pub fn matches(&self, text: &str) -> bool {
        match self {
            Self::Exact(wanted) => wanted == text,
            Self::Regex(regex) => regex.is_match(text),
            Self::Glob(glob) => glob.is_match(text),
        }
    }
}

impl Matcher {
    /// This matcher with one more condition.
    pub fn and(mut self, path: Vec<String>, pattern: Pattern) -> Self {
        self.0.push(Condition { path, pattern });
        self
    }

    /// Whether the event meets all conditions.
    pub fn matches<P: Payload>(&self, scope: &Scope, payload: &P) -> bool {
        self.fits(scope, &|name| payload.field(name))
    }

    /// Whether a payload meets all conditions, given a function that returns its fields.
    pub(crate) fn fits(&self, scope: &Scope, field: &dyn Fn(&str) -> Option<Value>) -> bool {
        self.0.iter().all(|condition| condition.holds(scope, field))
    }

    /// The conditions that a payload does not meet, in words; `None` if it meets all. The arguments of another tool
    /// explain nothing, so they are left out if the tool is another one.
    pub(crate) fn unmet(&self, scope: &Scope, field: &dyn Fn(&str) -> Option<Value>) -> Option<String> {
        let unmet = self.0.iter().filter(|condition| !condition.holds(scope, field));
        let (of_call, others): (Vec<_>, Vec<_>) = unmet.partition(|condition| condition.path.len() > 1);
        let told = if others.is_empty() { of_call } else { others };
        let texts = told
            .into_iter()
            .map(|condition| condition.unmet_text(scope, field));
        let texts: Vec<String> = texts.collect();
        (!texts.is_empty()).then(|| texts.join(", and "))
    }

    /// The conditions as one line; `None` when there are none.
    pub fn described(&self) -> Option<String> {
        let conditions = self.0.iter().map(Condition::described);
        let conditions: Vec<String> = conditions.collect();
        (!conditions.is_empty()).then(|| conditions.join(", "))
    }

    /// Whether no event can match both: one wants an exact text of a field that the other does not accept.
    pub fn excludes(&self, other: &Self) -> bool {
        let pairs = self
            .0
            .iter()
            .flat_map(|own| other.0.iter().map(move |other| (own, other)));
        let mut of_one_field = pairs.filter(|(own, other)| own.path == other.path);
        of_one_field.any(|(own, other)| match (&own.pattern, &other.pattern) {
            (Pattern::Exact(text), pattern) | (pattern, Pattern::Exact(text)) => !pattern.matches(text),
            _ => false,
        })
    }

    /// The conditions that only a whole text meets, where "contains" is probably meant.
    pub fn whole_texts(&self) -> Vec<WholeText> {
        let meant = |condition: &&Condition| {
            let field = condition.path.last().map_or("", String::as_str);
            // Paths, addresses and names may have spaces, and are meant as a whole.
            !NAMES.iter().any(|name| field.ends_with(name))
                && condition.pattern.is_fragment(field == "command")
        };
        let fragments = self.0.iter().filter(meant).map(|condition| WholeText {
            field: condition.path.join("."),
            text: condition.pattern.written().to_owned(),
            anywhere: condition.pattern.anywhere().first().map(Pattern::in_toml),
        });
        fragments.collect()
    }

    /// The patterns for a field that are not exact texts.
    pub fn patterns(&self, field: &str) -> impl Iterator<Item = &Pattern> {
        let of_field = self.0.iter().filter(move |condition| condition.path == [field]);
        of_field
            .map(|condition| &condition.pattern)
            .filter(|pattern| !matches!(pattern, Pattern::Exact(_)))
    }

    /// The exact texts that the conditions want of a field.
    pub fn exact_texts(&self, field: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(
            move |condition| match (condition.path.as_slice(), &condition.pattern) {
                ([name], Pattern::Exact(text)) if name == field => Some(text.as_str()),
                _ => None,
            },
        )
    }
}

impl Condition {
    fn holds(&self, scope: &Scope, field: &dyn Fn(&str) -> Option<Value>) -> bool {
        let text = self.text(scope, field);
        text.is_some_and(|text| self.pattern.matches(&text))
    }

    /// The text that the condition is about; `None` if the event has no such value.
    fn text(&self, scope: &Scope, field: &dyn Fn(&str) -> Option<Value>) -> Option<String> {
        let (name, members) = self.path.split_first()?;
        let value = field(name).or_else(|| scope.field(name))?;
        let mut members = members.iter();
        match members.try_fold(value, |mut value, member| value.get_mut(member).map(Value::take))? {
            Value::Null => None,
            Value::String(text) => Some(text),
            other => Some(other.to_string()),
        }
    }

    fn described(&self) -> String {
        let sign = match &self.pattern {
            Pattern::Exact(_) => "=",
            Pattern::Glob(_) => "like",
            Pattern::Regex(_) => "~",
        };
        format!("{} {sign} {}", self.path.join("."), self.pattern.written())
    }

    /// Why the condition is not met, and how to write it if the pattern is somewhere inside of the text.
    fn unmet_text(&self, scope: &Scope, field: &dyn Fn(&str) -> Option<Value>) -> String {
        let wanted = self.described();
        let Some(text) = self.text(scope, field) else {
            return format!("expected {wanted}, but there is no {}", self.path.join("."));
        };
        let hint = self.pattern.found_in(&text).map_or(String::new(), |hint| {
            format!("; a pattern must match the whole text: `{hint}` matches it")
        });
        format!("expected {wanted}, got {:?}{hint}", shortened(&text))
    }
}

/// The beginning of a text, for a message.
fn shortened(text: &str) -> &str {
    const MOST: usize = 80;
    &text[..text.floor_char_boundary(MOST)]
}

/// A condition that only a whole text meets, where a part of it was probably meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeText {
    /// The path of the field, with dots.
    pub field: String,
    /// The pattern as its author wrote it.
    pub text: String,
    /// The pattern that finds it anywhere, as TOML; `None` if there is none.
    pub anywhere: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use becket_events::PreToolPayload;
    use serde_json::json;

    fn payload(tool: &str, arguments: Value) -> PreToolPayload {
        PreToolPayload {
            tool_source: "builtin".into(),
            tool_call_id: "c1".into(),
            tool_name: tool.into(),
            called_as: tool.into(),
            operation: None,
            arguments: arguments.as_object().unwrap().clone(),
            parent_tool_call_id: None,
        }
    }

    fn on(path: &[&str], pattern: Pattern) -> Matcher {
        Matcher::default().and(path.iter().map(ToString::to_string).collect(), pattern)
    }

    #[test]
    fn patterns_speak_about_the_whole_text() {
        let shell = payload(
            "shell",
            json!({"command": "cd /tmp && rm -rf x", "deep": {"n": 3}}),
        );
        let table = [
            (on(&["tool_name"], Pattern::Exact("shell".into())), true),
            (on(&["tool_name"], Pattern::Exact("shel".into())), false),
            (on(&["tool_name"], Pattern::regex("shell|edit").unwrap()), true),
            (on(&["tool_name"], Pattern::regex("she").unwrap()), false),
            (on(&["tool_name"], Pattern::regex("edit|shel").unwrap()), false),
            (on(&["tool_name"], Pattern::glob("sh*").unwrap()), true),
            (
                on(&["arguments", "command"], Pattern::glob("*rm -rf*").unwrap()),
                true,
            ),
            (
                on(&["arguments", "command"], Pattern::regex(".*rm .*").unwrap()),
                true,
            ),
            (on(&["arguments", "deep", "n"], Pattern::Exact("3".into())), true),
            (on(&["arguments", "absent"], Pattern::glob("*").unwrap()), false),
            (on(&["absent"], Pattern::glob("*").unwrap()), false),
        ];
        for (matcher, expected) in table {
            assert_eq!(
                matcher.matches(&Scope::default(), &shell),
                expected,
                "{matcher:?}"
            );
        }
    }

    #[test]
    fn another_tool_is_told_before_its_arguments() {
        let matcher = on(&["arguments", "command"], Pattern::Exact("ls".into()))
            .and(vec!["arguments".into(), "cwd".into()], Pattern::Exact("/".into()))
            .and(vec!["tool_name".into()], Pattern::Exact("shell".into()));
        let unmet = |tool: &str| {
            let payload = payload(tool, json!({"command": "rm"}));
            matcher
                .unmet(&Scope::default(), &|name| payload.field(name))
                .unwrap()
        };
        assert_eq!(unmet("write"), r#"expected tool_name = shell, got "write""#);
        assert_eq!(
            unmet("shell"),
            "expected arguments.command = ls, got \"rm\", and \
             expected arguments.cwd = /, but there is no arguments.cwd"
        );
    }

    #[test]
    fn all_conditions_must_hold() {
        let matcher = on(&["tool_name"], Pattern::Exact("shell".into())).and(
            vec!["arguments".into(), "command".into()],
            Pattern::glob("rm *").unwrap(),
        );
        assert!(matcher.matches(&Scope::default(), &payload("shell", json!({"command": "rm x"}))));
        assert!(!matcher.matches(&Scope::default(), &payload("shell", json!({"command": "ls"}))));
        assert!(!matcher.matches(&Scope::default(), &payload("write", json!({"command": "rm x"}))));
    }

    #[test]
    fn a_broken_expression_says_what_is_wrong() {
        assert!(Pattern::regex("a(").is_err());
        assert!(Pattern::regex("a)|(b").is_err());
        assert!(Pattern::glob("a[").is_err());
    }
}
