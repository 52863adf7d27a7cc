//! Templates: the part of Go's templates that prompts of hooks use, filled from the input that a command would read.
//!
//! `{{ .ToolName }}`, `{{ .ToolInput.cmd }}`, `{{ toJSON .ToolInput }}`, `{{ .ToolInput | toJSON }}`; `if`, `else`,
//! `range`, `with`, `$name := …` and comments; `printf`, `len`, `index`, `eq` and its like, `and`, `or`, `not`. `{{-`
//! and `-}}` eat the white space beside them. Anything else is an error when the template is read.

mod actions;
mod functions;
mod words;

use becket_hooks::nearest;
use serde_json::Value;

use super::output::snake_case;
use super::show::KEYS;
use functions::Function;
use words::Word;

/// A parsed template.
#[derive(Debug, Clone, PartialEq)]
pub struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    Hole(Expression),
    /// Gives a variable a value.
    Let(String, Expression),
    If(Expression, Vec<Piece>, Vec<Piece>),
    /// The variables are those of the index and the value.
    Range(Vec<String>, Expression, Vec<Piece>, Vec<Piece>),
    With(Expression, Vec<Piece>, Vec<Piece>),
}

#[derive(Debug, Clone, PartialEq)]
enum Expression {
    /// A path from the dot; the dot itself when empty.
    Field(Vec<String>),
    /// A path from a variable; `$` is the whole input.
    Variable(String, Vec<String>),
    Literal(Value),
    Call(Function, Vec<Expression>),
}

/// The names that count where a piece stands: the dot, and the variables, the innermost last.
#[derive(Clone)]
struct Names<'a> {
    root: &'a Value,
    dot: Value,
    variables: Vec<(String, Value)>,
}

impl Template {
    /// Parses a template. The error says what is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        actions::read(text).map(Self)
    }

    /// Fills the template from the input.
    pub fn fill(&self, input: &Value) -> String {
        let mut names = Names {
            root: input,
            dot: input.clone(),
            variables: Vec::new(),
        };
        filled(&self.0, &mut names)
    }
}

fn filled(pieces: &[Piece], names: &mut Names<'_>) -> String {
    let outside = names.variables.len();
    let texts = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Hole(expression) => told(&expression.value(names)),
        Piece::Let(name, expression) => {
            let value = expression.value(names);
            names.variables.push((name.clone(), value));
            String::new()
        }
        Piece::If(condition, then, otherwise) => match is_true(&condition.value(names)) {
            true => filled(then, names),
            false => filled(otherwise, names),
        },
        Piece::With(expression, then, otherwise) => match expression.value(names) {
            value if is_true(&value) => filled(then, &mut names.within(value, &[])),
            _ => filled(otherwise, names),
        },
        Piece::Range(variables, expression, each, otherwise) => {
            let members = members(&expression.value(names));
            match members.is_empty() {
                true => filled(otherwise, names),
                false => members
                    .into_iter()
                    .map(|(index, value)| {
                        let named = match variables.as_slice() {
                            [] => Vec::new(),
                            [one] => vec![(one.clone(), value.clone())],
                            [first, second, ..] => {
                                vec![(first.clone(), index), (second.clone(), value.clone())]
                            }
                        };
                        filled(each, &mut names.within(value, &named))
                    })
                    .collect(),
            }
        }
    });
    let text = texts.collect();
    names.variables.truncate(outside);
    text
}

impl Names<'_> {
    /// The names inside of a piece with a dot and variables of its own.
    fn within(&self, dot: Value, variables: &[(String, Value)]) -> Self {
        let mut inside = self.clone();
        inside.dot = dot;
        inside.variables.extend_from_slice(variables);
        inside
    }
}

impl Expression {
    fn value(&self, names: &Names<'_>) -> Value {
        match self {
            Self::Literal(value) => value.clone(),
            Self::Field(path) => member(&names.dot, path, path.len()),
            Self::Variable(name, path) => {
                let mut variables = names.variables.iter().rev();
                match variables.find(|(known, _)| known == name) {
                    Some((_, value)) => member(value, path, path.len() + 1),
                    None => member(names.root, path, path.len()),
                }
            }
            Self::Call(function, arguments) => {
                let values: Vec<Value> = arguments.iter().map(|argument| argument.value(names)).collect();
                function.call(&values)
            }
        }
    }
}

/// A member of a value, and of that. Keys with empty values are left out of the input; a missing member of another
/// object is told.
fn member(value: &Value, path: &[String], depth: usize) -> Value {
    let found = path.iter().try_fold(value, |value, name| value.get(name));
    match (found, depth) {
        (Some(value), _) => value.clone(),
        (None, 0 | 1) => Value::Null,
        (None, _) => Value::from(NO_VALUE),
    }
}

/// What stands in the place of a member that is not there.
const NO_VALUE: &str = "<no value>";

/// The members of a value that is gone through, each with its index or key.
fn members(value: &Value) -> Vec<(Value, Value)> {
    match value {
        Value::Array(values) => values
            .iter()
            .cloned()
            .enumerate()
            .map(|(index, value)| (index.into(), value))
            .collect(),
        Value::Object(members) => {
            let mut sorted: Vec<_> = members
                .iter()
                .map(|(key, value)| (key.as_str().into(), value.clone()))
                .collect();
            sorted.sort_by(|(one, _): &(Value, Value), (other, _)| one.as_str().cmp(&other.as_str()));
            sorted
        }
        Value::Number(number) => (0..number.as_u64().unwrap_or(0).min(MOST_ROUNDS))
            .map(|one| (one.into(), one.into()))
            .collect(),
        _ => Vec::new(),
    }
}

/// The most rounds over a number.
const MOST_ROUNDS: u64 = 10_000;

/// Whether a value counts as true: everything that is not empty.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty() && text != NO_VALUE,
        Value::Array(values) => !values.is_empty(),
        Value::Object(members) => !members.is_empty(),
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

/// The path of `.ToolInput.cmd` in the input. At the top level of a template its first member must be a key of inputs;
/// inside of another piece the dot may be anything.
fn path(text: &str, is_input: bool) -> Result<Vec<String>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mut members: Vec<String> = text.split('.').map(ToOwned::to_owned).collect();
    if members.iter().any(String::is_empty) {
        return Err(not_understood(&format!(".{text}")));
    }
    let field = members[0].clone();
    let key = snake_case(&field);
    let is_key = KEYS.contains(&key.as_str()) && field.starts_with(char::is_uppercase);
    if is_input && !is_key {
        let near = nearest(&key, KEYS.iter().copied()).map(go_name);
        let hint = near.map_or_else(String::new, |near| format!("; did you mean `.{near}`?"));
        return Err(format!("a template knows no `.{field}`{hint}"));
    }
    if is_input || field.starts_with(char::is_uppercase) {
        members[0] = key;
    }
    Ok(members)
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
         `{{{{ if .ToolError }}}}…{{{{ end }}}}`, `range`, `with`, and the functions {}",
        text.trim(),
        Function::names()
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
            "tool_input": {"cmd": "ls é", "edits": [{"old": "a"}, {"old": "b"}]},
            "iteration": 3,
            "steering_messages": ["one", "two"],
        });
        Template::read(template).unwrap().fill(&input)
    }

    #[test]
    // tidy: a table
    fn templates_are_filled_as_go_fills_them() {
        for (template, expected) in [
            ("no hole", "no hole"),
            ("{{ .ToolName }}/{{.SessionID}}/{{ .Iteration }}", "shell/s1/3"),
            ("{{ toJSON .ToolInput.edits }}", r#"[{"old":"a"},{"old":"b"}]"#),
            ("{{ .ToolInput.edits | toJSON }}", r#"[{"old":"a"},{"old":"b"}]"#),
            ("{{ .ToolInput.cmd }}", "ls é"),
            ("{{ .ToolInput.cwd }}", "<no value>"),
            ("[{{ .Prompt }}]", "[]"),
            ("{{ truncate 4 .ToolInput.cmd }}", "ls é"),
            ("{{ .ToolInput.cmd | truncate 2 }}", "ls..."),
            ("a \n{{- .ToolName -}}\n b", "ashellb"),
            (r#"{{ "two words" }}"#, "two words"),
            (r#"{{ "a }} b" }}"#, "a }} b"),
            ("{{ if .ToolName }}yes{{ else }}no{{ end }}", "yes"),
            ("{{ if .Prompt }}yes{{ else }}no{{ end }}", "no"),
            ("{{ if .ToolInput.cwd }}yes{{ end }}", ""),
            (
                r#"{{ if eq .ToolName "fetch" "shell" }}1{{ else if .Cwd }}2{{ else }}3{{ end }}"#,
                "1",
            ),
            (
                r#"{{ if ne .ToolName "shell" }}1{{ else if gt .Iteration 2 }}2{{ else }}3{{ end }}"#,
                "2",
            ),
            ("{{ if and .ToolName (not .Prompt) }}both{{ end }}", "both"),
            ("{{ or .Prompt .ToolName }}", "shell"),
            ("{{ range .SteeringMessages }}<{{ . }}>{{ end }}", "<one><two>"),
            (
                "{{ range $i, $m := .SteeringMessages }}{{ $i }}={{ $m }} {{ end }}",
                "0=one 1=two ",
            ),
            (
                "{{ range .ToolInput.edits }}{{ .old }}{{ $.ToolName }} {{ end }}",
                "ashell bshell ",
            ),
            ("{{ range .Messages }}x{{ else }}none{{ end }}", "none"),
            ("{{ with .ToolInput }}{{ .cmd }}{{ end }}", "ls é"),
            ("{{ with .Prompt }}x{{ else }}no prompt{{ end }}", "no prompt"),
            ("{{ $x := .ToolName }}{{ if true }}{{ $x }}{{ end }}", "shell"),
            (
                r#"{{ printf "%s has %d: %v %q %5.1f%%" .ToolName .Iteration .SteeringMessages "x" 2.25 }}"#,
                "shell has 3: [one two] \"x\"   2.2%",
            ),
            (
                "{{ len .SteeringMessages }} {{ len .ToolName }} {{ .ToolInput | len }}",
                "2 5 2",
            ),
            (
                "{{ index .SteeringMessages 1 }} {{ index .ToolInput \"cmd\" }}",
                "two ls é",
            ),
            ("{{ .ToolName | printf \"%-7s|\" }}", "shell  |"),
            ("{{/* a comment */}}x", "x"),
            ("{{- /* a comment */ -}} x", "x"),
            (
                "{{ print .ToolName 1 2 }} {{ println .ToolName }}",
                "shell1 2 shell\n",
            ),
        ] {
            assert_eq!(filled(template), expected, "{template}");
        }
    }

    #[test]
    fn everything_else_is_an_error_that_says_what_there_is() {
        let fault = |template: &str| Template::read(template).unwrap_err();
        assert!(fault("{{ .ToolNam }}").contains("did you mean `.ToolName`?"));
        assert!(fault("{{ .tool_name }}").contains("knows no `.tool_name`"));
        assert!(fault("{{ if .ToolNam }}x{{ end }}").contains("did you mean `.ToolName`?"));
        assert!(fault("{{ truncate x .Prompt }}").contains("is not understood"));
        assert!(fault("{{ .ToolName").contains("never closed"));
        assert!(fault("{{ if .ToolName }}x").contains("has no `{{ end }}`"));
        assert!(fault("x{{ end }}").contains("ends nothing"));
        assert!(fault("{{ template \"x\" }}").contains("is not understood"));
        for odd in [
            "{{}}",
            "{{ | toJSON }}",
            "{{ .A..b }}",
            "{{ .ToolName .Cwd }}",
            "{{ \"x }}",
            "{{ ( .ToolName }}",
            "{{ $x }}",
            "{{ len }}",
            "{{ if }}x{{ end }}",
            "{{ else }}",
        ] {
            assert!(Template::read(odd).is_err(), "{odd}");
        }
    }
}
