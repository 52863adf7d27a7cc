//! Templates: the part of Go's templates that prompts of hooks use, filled from the input that a command would read.
//!
//! `{{ .ToolName }}`, `{{ .ToolInput.cmd }}`, `{{ toJSON .ToolInput }}`, `{{ .ToolInput | toJSON }}`, `{{ truncate 200
//! .ToolResponse }}`; `{{-` and `-}}` eat the white space beside them. Anything else is an error when the template is
//! read.

use becket_hooks::nearest;
use serde_json::Value;

use super::output::snake_case;
use super::show::KEYS;

/// A parsed template.
#[derive(Debug, Clone, PartialEq)]
pub struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    Hole(Expression),
}

#[derive(Debug, Clone, PartialEq)]
enum Expression {
    /// A path into the input; the whole input when empty.
    Field(Vec<String>),
    Literal(String),
    ToJson(Box<Expression>),
    Truncate(usize, Box<Expression>),
}

impl Template {
    /// Parses a template. The error says what is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, hole)) = rest.split_once("{{") {
            let (inside, after) = hole
                .split_once("}}")
                .ok_or_else(|| "`{{` is never closed; write `{{ .ToolName }}`".to_owned())?;
            let (inside, before) = match inside.strip_prefix('-') {
                Some(inside) => (inside, before.trim_end()),
                None => (inside, before),
            };
            let (inside, after) = match inside.strip_suffix('-') {
                Some(inside) => (inside, after.trim_start()),
                None => (inside, after),
            };
            pieces.push(Piece::Text(before.to_owned()));
            pieces.push(Piece::Hole(pipeline(inside)?));
            rest = after;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Ok(Self(pieces))
    }

    /// Fills the template from the input.
    pub fn fill(&self, input: &Value) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Hole(expression) => told(&expression.value(input)),
        });
        pieces.collect()
    }
}

impl Expression {
    fn value(&self, input: &Value) -> Value {
        match self {
            Self::Literal(text) => Value::from(text.as_str()),
            Self::ToJson(of) => Value::from(of.value(input).to_string()),
            Self::Truncate(length, of) => {
                let text = told(&of.value(input));
                match text.char_indices().nth(*length) {
                    Some((end, _)) => Value::from(format!("{}...", &text[..end])),
                    None => Value::from(text),
                }
            }
            Self::Field(path) => {
                let found = path.iter().try_fold(input, |value, member| value.get(member));
                match (found, path.len()) {
                    (Some(value), _) => value.clone(),
                    // Keys with empty values are left out of the input; a missing member of an object is different.
                    (None, 1) => Value::Null,
                    (None, _) => Value::from("<no value>"),
                }
            }
        }
    }
}

/// A value as a template prints it.
fn told(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn pipeline(text: &str) -> Result<Expression, String> {
    let mut expression = None;
    for command in text.split('|') {
        let words = words(command)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        expression = Some(match (words.as_slice(), expression) {
            (["toJSON"], Some(piped)) => Expression::ToJson(Box::new(piped)),
            (["toJSON", of], None) => Expression::ToJson(Box::new(operand(of)?)),
            (["truncate", length], Some(piped)) => Expression::Truncate(count(length)?, Box::new(piped)),
            (["truncate", length, of], None) => Expression::Truncate(count(length)?, Box::new(operand(of)?)),
            ([single], None) => operand(single)?,
            _ => return Err(not_understood(text)),
        });
    }
    expression.ok_or_else(|| not_understood(text))
}

/// The words of a command; a text in quotes is one word.
fn words(command: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut rest = command.trim();
    while !rest.is_empty() {
        let end = match rest.strip_prefix('"') {
            Some(quoted) => quoted
                .find('"')
                .map(|end| end + 2)
                .ok_or_else(|| not_understood(command))?,
            None => rest.find(char::is_whitespace).unwrap_or(rest.len()),
        };
        words.push(rest[..end].to_owned());
        rest = rest[end..].trim_start();
    }
    Ok(words)
}

fn operand(word: &str) -> Result<Expression, String> {
    if let Some(text) = word.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        return Ok(Expression::Literal(text.to_owned()));
    }
    let path = word.strip_prefix('.').ok_or_else(|| not_understood(word))?;
    if path.is_empty() {
        return Ok(Expression::Field(Vec::new()));
    }
    let mut members = path.split('.').map(ToOwned::to_owned);
    let field = members.next().unwrap_or_default();
    let key = snake_case(&field);
    if !KEYS.contains(&key.as_str()) || !field.starts_with(char::is_uppercase) {
        let near = nearest(&key, KEYS.iter().copied()).map(go_name);
        let hint = near.map_or_else(String::new, |near| format!("; did you mean `.{near}`?"));
        return Err(format!("a template knows no `.{field}`{hint}"));
    }
    let path: Vec<String> = std::iter::once(key).chain(members).collect();
    if path.iter().any(String::is_empty) {
        return Err(not_understood(word));
    }
    Ok(Expression::Field(path))
}

fn count(word: &str) -> Result<usize, String> {
    word.parse().map_err(|_| {
        format!("`truncate` takes a number first, not `{word}`: `{{{{ truncate 200 .Prompt }}}}`")
    })
}

/// The name of an input's key in templates.
fn go_name(key: &str) -> String {
    let words = key.split('_').map(|word| match word {
        "id" => "ID".to_owned(),
        word => word[..1].to_uppercase() + &word[1..],
    });
    words.collect()
}

fn not_understood(text: &str) -> String {
    format!(
        "`{}` is not understood in a template; there are `{{{{ .ToolName }}}}`, `{{{{ toJSON .ToolInput }}}}`, \
         `{{{{ .ToolInput | toJSON }}}}` and `{{{{ truncate 200 .ToolResponse }}}}`",
        text.trim()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filled(template: &str) -> String {
        let input = json!({
            "tool_name": "shell",
            "session_id": "s1",
            "tool_input": {"cmd": "ls é"},
            "iteration": 3,
        });
        Template::read(template).unwrap().fill(&input)
    }

    #[test]
    fn holes_are_filled() {
        assert_eq!(filled("no hole"), "no hole");
        assert_eq!(
            filled("{{ .ToolName }}/{{.SessionID}}/{{ .Iteration }}"),
            "shell/s1/3"
        );
        assert_eq!(filled("{{ toJSON .ToolInput }}"), r#"{"cmd":"ls é"}"#);
        assert_eq!(filled("{{ .ToolInput | toJSON }}"), r#"{"cmd":"ls é"}"#);
        assert_eq!(filled("{{ .ToolInput.cmd }}"), "ls é");
        assert_eq!(filled("{{ .ToolInput.cwd }}"), "<no value>");
        assert_eq!(filled("[{{ .Prompt }}]"), "[]");
        assert_eq!(filled("{{ truncate 4 .ToolInput.cmd }}"), "ls é");
        assert_eq!(filled("{{ .ToolInput.cmd | truncate 2 }}"), "ls...");
        assert_eq!(filled("a \n{{- .ToolName -}}\n b"), "ashellb");
        assert_eq!(filled(r#"{{ "two words" }}"#), "two words");
    }

    #[test]
    fn everything_else_is_an_error_that_says_what_there_is() {
        let fault = |template: &str| Template::read(template).unwrap_err();
        assert!(fault("{{ .ToolNam }}").contains("did you mean `.ToolName`?"));
        assert!(fault("{{ .tool_name }}").contains("knows no `.tool_name`"));
        assert!(fault("{{ if .ToolName }}x{{ end }}").contains("is not understood"));
        assert!(fault("{{ truncate x .Prompt }}").contains("takes a number"));
        assert!(fault("{{ .ToolName").contains("never closed"));
        for odd in [
            "{{}}",
            "{{ | toJSON }}",
            "{{ .A..b }}",
            "{{ .ToolName .Cwd }}",
            "{{ \"x }}",
        ] {
            assert!(Template::read(odd).is_err(), "{odd}");
        }
    }
}
