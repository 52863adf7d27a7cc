//! Templates: the part of Go's templates that prompts of hooks use, filled from the input that a command would read.
//!
//! `{{ .ToolName }}`, `{{ .ToolInput.cmd }}`, `{{ toJSON .ToolInput }}`, `{{ .ToolInput | toJSON }}`; `if`, `else`,
//! `range`, `with`, `$name := …` and comments; `printf`, `len`, `index`, `eq` and its like, `and`, `or`, `not`. `{{-`
//! and `-}}` eat the white space beside them. Anything else is an error when the template is read.

mod actions;
mod fault;
mod functions;
mod keys;
mod parts;
mod values;
mod words;

use serde_json::Value;

use parts::{Expression, Piece};
use values::{is_true, member, members, told};

/// A parsed template.
#[derive(Debug, Clone, PartialEq)]
pub struct Template(Vec<Piece>);

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
