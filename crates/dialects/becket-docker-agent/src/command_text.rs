//! Texts of agent files with placeholders: variables in instructions, and arguments and tool calls in commands.
//!
//! docker-agent runs the content of `${…}` as JavaScript. becket supports the common forms, and nothing else: variables
//! of the environment, the arguments of a command, and calls of tools.

use becket_host::Piece;
use serde_json::{Map, Number, Value};

/// A text with `${env.NAME}` and `${env.NAME || 'otherwise'}` replaced by variables. Everything else stays.
pub fn with_variables(
    text: &str,
    variable: &dyn Fn(&str) -> Result<Option<String>, String>,
) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${env.") {
        filled.push_str(before);
        let Some((inside, behind)) = after.split_once('}') else {
            return Err("a `${env.` has no `}` behind it".into());
        };
        let (name, otherwise) = match inside.split_once("||") {
            Some((name, text)) => (name.trim(), Some(unquoted(text.trim())?)),
            None => (inside.trim(), None),
        };
        let value = variable(name)?.or_else(|| otherwise.map(ToOwned::to_owned));
        filled.push_str(&value.unwrap_or_default());
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The text with `${env.NAME}` for every `${NAME}`: addresses may name variables either way.
pub(crate) fn with_short_names(text: &str) -> String {
    let mut pieces = text.split("${");
    let mut named = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let name = piece.split('}').next().unwrap_or_default();
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        named.push_str(if is_name { "${env." } else { "${" });
        named.push_str(piece);
    }
    named
}

fn unquoted(text: &str) -> Result<&str, String> {
    let quoted = ['\'', '"', '`'].into_iter().find_map(|quote| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains(quote)).then_some(inner)
    });
    quoted.ok_or_else(|| format!("`{text}` after `||` is no text in quotes"))
}

/// The prompt of a command, with its arguments. If the template does not mention them, they follow it.
pub fn command_prompt(template: &str, words: &str) -> Result<Vec<Piece>, String> {
    let arguments = split_words(words);
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = template;
    let mut speaks_of_words = false;
    while let Some(character) = rest.chars().next() {
        let found = match character {
            '$' if rest.starts_with("${") => expression(&rest[2..], &arguments)?,
            '!' => bang(&rest[1..])?.map(|(piece, length)| (piece, length + 1)),
            _ => None,
        };
        match found {
            Some((piece, length)) => {
                speaks_of_words |= rest.starts_with("${args");
                match piece {
                    Piece::Text(words) => text.push_str(&words),
                    call => {
                        pieces.push(Piece::Text(std::mem::take(&mut text)));
                        pieces.push(call);
                    }
                }
                rest = &rest[length..];
            }
            None => {
                text.push(character);
                rest = &rest[character.len_utf8()..];
            }
        }
    }
    if !words.is_empty() && !speaks_of_words {
        text.push(' ');
        text.push_str(words);
    }
    pieces.push(Piece::Text(text));
    pieces.retain(|piece| *piece != Piece::Text(String::new()));
    Ok(pieces)
}

/// The words of a text; a text in quotes is one word.
fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for character in text.chars() {
        match (quote, character) {
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, ' ') if word.is_empty() => {}
            (None, ' ') => words.push(std::mem::take(&mut word)),
            _ => word.push(character),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// The content of `${…}` and its whole length. An expression that is neither about arguments nor a call stays as it is.
fn expression(text: &str, words: &[String]) -> Result<Option<(Piece, usize)>, String> {
    let mut reader = Expression { text, at: 0, words };
    reader.blanks();
    let Some(name) = reader.name() else {
        return Ok(None);
    };
    let piece = if name == "args" {
        Piece::Text(reader.of_words()?)
    } else if reader.next_is('(') {
        Piece::Call {
            arguments: reader.call_arguments(&name)?,
            tool: name,
        }
    } else {
        return Ok(None);
    };
    reader.blanks();
    if !reader.take('}') {
        let seen: String = text.chars().take(40).collect();
        return Err(format!(
            "`${{{seen}` is more than a call of a tool or words of the command"
        ));
    }
    Ok(Some((piece, "${".len() + reader.at)))
}

/// A call that is written as `tool(name=value …)`, and its length.
fn bang(text: &str) -> Result<Option<(Piece, usize)>, String> {
    let mut reader = Expression {
        text,
        at: 0,
        words: &[],
    };
    let Some(tool) = reader.name() else {
        return Ok(None);
    };
    if !reader.take('(') {
        return Ok(None);
    }
    let mut arguments = Map::new();
    loop {
        reader.blanks();
        if reader.take(')') {
            return Ok(Some((Piece::Call { tool, arguments }, reader.at)));
        }
        let wrong = || {
            format!("`!{tool}(…)` is no call: its arguments are written `name=value`, with `)` at the end")
        };
        let name = reader.name().ok_or_else(wrong)?;
        if !reader.take('=') {
            return Err(wrong());
        }
        let value = match reader.rest().chars().next() {
            Some('"' | '\'') => Value::String(reader.string()?),
            _ => plain_value(&reader.until([' ', ')'])),
        };
        arguments.insert(name, value);
    }
}

/// A value without quotes: true, false, a number, or a text.
fn plain_value(text: &str) -> Value {
    match text {
        "true" => true.into(),
        "false" => false.into(),
        _ => text.parse::<Number>().map_or_else(|_| text.into(), Value::Number),
    }
}

/// Reads an expression from left to right.
struct Expression<'a> {
    text: &'a str,
    at: usize,
    words: &'a [String],
}

impl Expression<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn next_is(&self, character: char) -> bool {
        self.rest().starts_with(character)
    }

    fn take(&mut self, character: char) -> bool {
        let there = self.next_is(character);
        self.at += if there { character.len_utf8() } else { 0 };
        there
    }

    fn until<const N: usize>(&mut self, ends: [char; N]) -> String {
        let rest = self.rest();
        let taken = rest[..rest.find(ends).unwrap_or(rest.len())].to_owned();
        self.at += taken.len();
        taken
    }

    fn name(&mut self) -> Option<String> {
        let rest = self.rest();
        let plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let name = &rest[..rest.find(|character| !plain(character)).unwrap_or(rest.len())];
        let name = Some(name).filter(|name| name.starts_with(|first: char| !first.is_ascii_digit()))?;
        let name = name.to_owned();
        self.at += name.len();
        Some(name)
    }

    fn wrong(&self) -> String {
        let seen: String = self.rest().chars().take(30).collect();
        format!(
            "the arguments of a call are an object such as {{cmd: \"ls\"}}; this is not understood: `{seen}`"
        )
    }

    /// The value after `args`: all arguments, `[0]` for one, `.join(…)`, `.length`.
    fn of_words(&mut self) -> Result<String, String> {
        if self.take('[') {
            let index = self.until([']']);
            let index: usize = index.trim().parse().map_err(|_| self.wrong())?;
            if !self.take(']') {
                return Err(self.wrong());
            }
            return Ok(self.words.get(index).cloned().unwrap_or_default());
        }
        if !self.take('.') {
            return Ok(self.words.join(","));
        }
        match self.name().as_deref() {
            Some("length") => Ok(self.words.len().to_string()),
            Some("join") if self.take('(') => {
                self.blanks();
                let between = if self.next_is(')') {
                    ",".to_owned()
                } else {
                    self.string()?
                };
                self.blanks();
                if self.take(')') {
                    Ok(self.words.join(&between))
                } else {
                    Err(self.wrong())
                }
            }
            _ => Err(self.wrong()),
        }
    }

    /// The arguments of a call: nothing, or one object.
    fn call_arguments(&mut self, tool: &str) -> Result<Map<String, Value>, String> {
        let told = |error: String| format!("the call of {tool}: {error}");
        self.take('(');
        self.blanks();
        if self.take(')') {
            return Ok(Map::new());
        }
        let value = self.value(0).map_err(told)?;
        self.blanks();
        match value {
            Value::Object(arguments) if self.take(')') => Ok(arguments),
            _ => Err(told(self.wrong())),
        }
    }

    /// A value, or several texts that are joined by `+`.
    fn value(&mut self, depth: usize) -> Result<Value, String> {
        let mut value = self.single(depth)?;
        loop {
            self.blanks();
            if !self.take('+') {
                return Ok(value);
            }
            let more = self.single(depth)?;
            let text = |value: &Value| match value {
                Value::String(text) => Ok(text.clone()),
                Value::Number(number) => Ok(number.to_string()),
                _ => Err(self.wrong()),
            };
            value = Value::String(text(&value)? + &text(&more)?);
        }
    }

    fn single(&mut self, depth: usize) -> Result<Value, String> {
        const DEEPEST: usize = 20;
        self.blanks();
        if depth > DEEPEST {
            return Err(self.wrong());
        }
        match self.rest().chars().next() {
            Some('"' | '\'' | '`') => self.string().map(Value::String),
            Some('{') => self.object(depth + 1),
            Some('[') => self.list(depth + 1),
            Some(first) if first.is_ascii_digit() || first == '-' => {
                let number = self.until([',', '}', ']', ')', ' ', '+', '\n']);
                number
                    .parse::<Number>()
                    .map(Value::Number)
                    .map_err(|_| self.wrong())
            }
            _ => match self.name().as_deref() {
                Some("true") => Ok(true.into()),
                Some("false") => Ok(false.into()),
                Some("null" | "undefined") => Ok(Value::Null),
                Some("args") if self.next_is('[') || self.next_is('.') => self.of_words().map(Value::String),
                Some("args") => Ok(self.words.to_vec().into()),
                _ => Err(self.wrong()),
            },
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        self.take('{');
        let mut object = Map::new();
        loop {
            self.blanks();
            if self.take('}') {
                return Ok(Value::Object(object));
            }
            let name = match self.rest().chars().next() {
                Some('"' | '\'') => self.string()?,
                _ => self.name().ok_or_else(|| self.wrong())?,
            };
            self.blanks();
            if !self.take(':') {
                return Err(self.wrong());
            }
            object.insert(name, self.value(depth)?);
            self.blanks();
            if !self.take(',') && !self.next_is('}') {
                return Err(self.wrong());
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, String> {
        self.take('[');
        let mut list = Vec::new();
        loop {
            self.blanks();
            if self.take(']') {
                return Ok(Value::Array(list));
            }
            list.push(self.value(depth)?);
            self.blanks();
            if !self.take(',') && !self.next_is(']') {
                return Err(self.wrong());
            }
        }
    }

    /// A text in quotes.
    fn string(&mut self) -> Result<String, String> {
        let mut characters = self.rest().char_indices();
        let quote = match characters.next() {
            Some((_, quote @ ('"' | '\'' | '`'))) => quote,
            _ => return Err(self.wrong()),
        };
        let mut text = String::new();
        while let Some((index, character)) = characters.next() {
            match character {
                '\\' => match characters.next().map(|(_, escaped)| escaped) {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(escaped) => text.push(escaped),
                    None => break,
                },
                '$' if quote == '`' => return Err(self.wrong()),
                end if end == quote => {
                    self.at += index + quote.len_utf8();
                    return Ok(text);
                }
                other => text.push(other),
            }
        }
        Err("a text has no end".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(text: &str) -> Piece {
        Piece::Text(text.into())
    }

    fn call(tool: &str, arguments: Value) -> Piece {
        Piece::Call {
            tool: tool.into(),
            arguments: arguments.as_object().unwrap().clone(),
        }
    }

    #[test]
    fn commands_are_filled_in() {
        for (template, words, wanted) in [
            ("Look.", "", vec![text("Look.")]),
            ("Look", "at this", vec![text("Look at this")]),
            (
                "a ${args[0]} b ${args[1]} c",
                "x 'y z'",
                vec![text("a x b y z c")],
            ),
            ("${args.join(\" \")}!", "x y", vec![text("x y!")]),
            ("${args.length} ${args[7]}.", "x", vec![text("1 .")]),
            (
                "Fix:\n${shell({cmd: \"git diff\", timeout: 5,})}\nnow",
                "",
                vec![
                    text("Fix:\n"),
                    call("shell", json!({"cmd": "git diff", "timeout": 5})),
                    text("\nnow"),
                ],
            ),
            (
                "${shell({'cmd': 'show ' + args[0], list: [1, true, null, {a: `b`}]})}",
                "abc",
                vec![
                    call(
                        "shell",
                        json!({"cmd": "show abc", "list": [1, true, null, {"a": "b"}]}),
                    ),
                    text(" abc"),
                ],
            ),
            (
                "!shell(cmd=\"ls -l\" timeout=5 x=true y=z)!",
                "",
                vec![
                    call(
                        "shell",
                        json!({"cmd": "ls -l", "timeout": 5, "x": true, "y": "z"}),
                    ),
                    text("!"),
                ],
            ),
            ("${list()}", "", vec![call("list", json!({}))]),
            (
                "Wow! ${HOME} $x !important",
                "",
                vec![text("Wow! ${HOME} $x !important")],
            ),
        ] {
            assert_eq!(command_prompt(template, words).unwrap(), wanted, "{template}");
        }
    }

    #[test]
    fn what_cannot_be_served_is_said() {
        for template in [
            "${shell({cmd: f(x)})}",
            "${shell('ls')}",
            "${shell({cmd: 'ls})}",
            "${shell({cmd: 'ls'}).trim()}",
            "${args.map(x)}",
            "!shell(ls)",
            "!shell(cmd=ls",
            "${shell({a: `${b}`})}",
        ] {
            let error = command_prompt(template, "").unwrap_err();
            assert!(!error.is_empty(), "{template}");
        }
        let deep = format!("${{t({}{})}}", "{a:".repeat(50), "}".repeat(50));
        assert!(command_prompt(&deep, "").is_err());
    }

    #[test]
    fn variables_stand_where_they_are_named() {
        let variable = |name: &str| match name {
            "USER" => Ok(Some("me".to_owned())),
            "KEY" => Err("a key".to_owned()),
            _ => Ok(None),
        };
        for (text, wanted) in [
            ("Hi ${env.USER}!", Ok("Hi me!")),
            ("${env.NONE}.", Ok(".")),
            ("${env.NONE || 'you'} ${env.USER || \"x\"}", Ok("you me")),
            ("${args[0]} ${x}", Ok("${args[0]} ${x}")),
            ("${env.KEY}", Err("a key")),
            ("${env.USER", Err("a `${env.` has no `}` behind it")),
            ("${env.NONE || 5}", Err("`5` after `||` is no text in quotes")),
        ] {
            let found = with_variables(text, &variable);
            assert_eq!(found.as_deref().map_err(String::as_str), wanted, "{text}");
        }
    }
}
