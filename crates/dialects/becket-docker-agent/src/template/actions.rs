//! Reads a template: its texts, its actions, and what stands between an action and its end.

use serde_json::Value;

use super::fault::not_understood;
use super::functions::Function;
use super::keys::path;
use super::parts::{Expression, Piece};
use super::words::{self, Word, end_of_quoted};

/// An action, by its first word.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action {
    Hole(Vec<Word>),
    Let(String, Vec<Word>),
    If(Vec<Word>),
    With(Vec<Word>),
    Range(Vec<String>, Vec<Word>),
    /// The words of the condition of `else if` or `else with`, if there is one.
    Else(Option<Box<Action>>),
    End,
    Comment,
}

/// Reads a whole template.
pub(super) fn read(text: &str) -> Result<Vec<Piece>, String> {
    let mut reader = Reader {
        parts: parts(text)?.into_iter(),
        variables: Vec::new(),
    };
    let (pieces, end) = reader.pieces(DotScope::Input)?;
    match end {
        None => Ok(pieces),
        Some(_) => Err("`{{ end }}` or `{{ else }}` ends nothing".to_owned()),
    }
}

/// A text, or the inside of an action.
enum Part {
    Text(String),
    Action(String),
}

/// The texts and actions of a template.
fn parts(text: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    let mut trims = false;
    while let Some((before, hole)) = rest.split_once("{{") {
        let end = end_of(hole).ok_or_else(|| "`{{` is never closed; write `{{ .ToolName }}`".to_owned())?;
        let (inside, after) = (&hole[..end], &hole[end + 2..]);
        let before = if trims { before.trim_start() } else { before };
        let (inside, before) = match inside.strip_prefix('-').filter(|inside| is_apart(inside)) {
            Some(inside) => (inside, before.trim_end()),
            None => (inside, before),
        };
        let (inside, next) = match inside.strip_suffix('-') {
            Some(inside) => (inside, true),
            None => (inside, false),
        };
        parts.push(Part::Text(before.to_owned()));
        parts.push(Part::Action(inside.to_owned()));
        (rest, trims) = (after, next);
    }
    let rest = if trims { rest.trim_start() } else { rest };
    parts.push(Part::Text(rest.to_owned()));
    Ok(parts)
}

/// Whether a `-` before this text belongs to the braces, and is no sign of a number.
fn is_apart(inside: &str) -> bool {
    !inside.starts_with(|letter: char| letter.is_ascii_digit())
}

/// Where an action ends: at `}}` outside of quotes and comments.
fn end_of(hole: &str) -> Option<usize> {
    let mut place = 0;
    while place < hole.len() {
        let rest = &hole[place..];
        if rest.starts_with("}}") {
            return Some(place);
        }
        place += match rest {
            rest if rest.starts_with("/*") => rest.find("*/")? + 2,
            rest if rest.starts_with(['"', '`']) => end_of_quoted(rest)?,
            rest => rest.chars().next().map_or(1, char::len_utf8),
        };
    }
    None
}

/// Whether the dot is the input, whose keys are known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DotScope {
    Input,
    Inside,
}

struct Reader {
    parts: std::vec::IntoIter<Part>,
    /// The variables that are known.
    variables: Vec<String>,
}

impl Reader {
    /// Reads up to `end` or `else`, which is returned, or to the end of the template.
    fn pieces(&mut self, place: DotScope) -> Result<(Vec<Piece>, Option<Action>), String> {
        let outside = self.variables.len();
        let mut pieces = Vec::new();
        while let Some(part) = self.parts.next() {
            let action = match part {
                Part::Text(text) => {
                    pieces.push(Piece::Text(text));
                    continue;
                }
                Part::Action(inside) => action(&inside)?,
            };
            match action {
                Action::Comment => {}
                Action::End | Action::Else(_) => {
                    self.variables.truncate(outside);
                    return Ok((pieces, Some(action)));
                }
                action => pieces.push(self.piece(action, place)?),
            }
        }
        self.variables.truncate(outside);
        Ok((pieces, None))
    }

    fn piece(&mut self, action: Action, place: DotScope) -> Result<Piece, String> {
        Ok(match action {
            Action::Hole(words) => Piece::Hole(self.pipeline(&words, place)?),
            Action::Let(name, words) => {
                let value = self.pipeline(&words, place)?;
                self.variables.push(name.clone());
                Piece::Let(name, value)
            }
            Action::If(words) => {
                let condition = self.pipeline(&words, place)?;
                let (then, otherwise) = self.branches(place, place)?;
                Piece::If(condition, then, otherwise)
            }
            Action::With(words) => {
                let value = self.pipeline(&words, place)?;
                let (then, otherwise) = self.branches(DotScope::Inside, place)?;
                Piece::With(value, then, otherwise)
            }
            Action::Range(variables, words) => {
                let value = self.pipeline(&words, place)?;
                let outside = self.variables.len();
                self.variables.extend(variables.iter().cloned());
                let (each, otherwise) = self.branches(DotScope::Inside, place)?;
                self.variables.truncate(outside);
                Piece::Range(variables, value, each, otherwise)
            }
            Action::End | Action::Else(_) | Action::Comment => return Err(not_understood("end")),
        })
    }

    /// What stands between an action and its `else`, and between that and its `end`.
    fn branches(&mut self, inside: DotScope, outside: DotScope) -> Result<(Vec<Piece>, Vec<Piece>), String> {
        let unended = || "an `if`, `range` or `with` has no `{{ end }}`".to_owned();
        let (then, end) = self.pieces(inside)?;
        let otherwise = match end.ok_or_else(unended)? {
            // `else if` is an `if` in the `else`, and the same `end` ends both.
            Action::Else(Some(nested)) => vec![self.piece(*nested, outside)?],
            Action::Else(None) => {
                let (pieces, end) = self.pieces(outside)?;
                match end.ok_or_else(unended)? {
                    Action::End => pieces,
                    _ => return Err("there are two `{{ else }}` before one `{{ end }}`".to_owned()),
                }
            }
            _ => Vec::new(),
        };
        Ok((then, otherwise))
    }

    /// Commands with pipes between them: what one gives is the last argument of the next.
    fn pipeline(&self, words: &[Word], place: DotScope) -> Result<Expression, String> {
        let mut piped = None;
        for command in split(words)? {
            piped = Some(self.command(command, piped, place)?);
        }
        piped.ok_or_else(|| not_understood(""))
    }

    fn command(
        &self,
        words: &[Word],
        piped: Option<Expression>,
        place: DotScope,
    ) -> Result<Expression, String> {
        let function = match words.first() {
            Some(Word::Plain(name)) => Function::called(name),
            _ => None,
        };
        let Some(function) = function else {
            let mut operands = self.operands(words, place)?;
            return match (operands.pop(), operands.is_empty(), piped) {
                (Some(single), true, None) => Ok(single),
                _ => Err(not_understood(&shown(words))),
            };
        };
        let mut arguments = self.operands(&words[1..], place)?;
        arguments.extend(piped);
        // A length is a number, and not a text or a word.
        let is_odd =
            |argument: &Expression| matches!(argument, Expression::Literal(value) if !value.is_u64());
        let is_odd = function == Function::Truncate && arguments.first().is_some_and(is_odd);
        match function.takes(arguments.len()) && !is_odd {
            true => Ok(Expression::Call(function, arguments)),
            false => Err(not_understood(&shown(words))),
        }
    }

    fn operands(&self, words: &[Word], place: DotScope) -> Result<Vec<Expression>, String> {
        let mut operands = Vec::new();
        let mut rest = words;
        while let Some((word, after)) = rest.split_first() {
            rest = after;
            operands.push(match word {
                Word::Text(text) => Expression::Literal(Value::from(text.as_str())),
                Word::Plain(word) => self.operand(word, place)?,
                Word::Open => {
                    let end = closing(rest).ok_or_else(|| not_understood(&shown(words)))?;
                    let inside = self.pipeline(&rest[..end], place)?;
                    rest = &rest[end + 1..];
                    inside
                }
                _ => return Err(not_understood(&shown(words))),
            });
        }
        Ok(operands)
    }

    fn operand(&self, word: &str, place: DotScope) -> Result<Expression, String> {
        if let Some(path_text) = word.strip_prefix('.') {
            return Ok(Expression::Field(path(path_text, place == DotScope::Input)?));
        }
        if let Some(variable) = word.strip_prefix('$') {
            let (name, rest) = variable.split_once('.').unwrap_or((variable, ""));
            if !name.is_empty() && !self.variables.iter().any(|known| known == name) {
                return Err(format!("a template knows no variable `${name}` there"));
            }
            return Ok(Expression::Variable(
                name.to_owned(),
                path(rest, name.is_empty())?,
            ));
        }
        let literal = match word {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            "nil" => Some(Value::Null),
            number => serde_json::from_str(number).ok().filter(Value::is_number),
        };
        literal
            .map(Expression::Literal)
            .ok_or_else(|| not_understood(word))
    }
}

/// Reads what kind of action this is.
fn action(inside: &str) -> Result<Action, String> {
    let text = inside.trim();
    if text.starts_with("/*") && text.ends_with("*/") {
        return Ok(Action::Comment);
    }
    let words = words::split(text)?;
    let rest = || words[1..].to_vec();
    Ok(match words.as_slice() {
        [Word::Plain(word)] if word == "end" => Action::End,
        [Word::Plain(word)] if word == "else" => Action::Else(None),
        [Word::Plain(word), Word::Plain(next), ..]
            if word == "else" && matches!(next.as_str(), "if" | "with") =>
        {
            let nested = text.strip_prefix("else").unwrap_or_default();
            Action::Else(Some(Box::new(action(nested)?)))
        }
        [Word::Plain(word), ..] if word == "if" => Action::If(rest()),
        [Word::Plain(word), ..] if word == "with" => Action::With(rest()),
        [Word::Plain(word), variables @ ..] if word == "range" => {
            let (names, words) = assigned(variables);
            Action::Range(names, words.to_vec())
        }
        words => match assigned(words) {
            (names, value) if names.len() == 1 => Action::Let(names[0].clone(), value.to_vec()),
            _ => Action::Hole(words.to_vec()),
        },
    })
}

/// The variables before `:=`, and the words behind it.
fn assigned(words: &[Word]) -> (Vec<String>, &[Word]) {
    let variable = |word: &Word| match word {
        Word::Plain(name) => name
            .strip_prefix('$')
            .filter(|name| !name.is_empty())
            .map(ToOwned::to_owned),
        _ => None,
    };
    match words {
        [one, Word::Assign, rest @ ..] => match variable(one) {
            Some(name) => (vec![name], rest),
            None => (Vec::new(), words),
        },
        [one, Word::Comma, two, Word::Assign, rest @ ..] => match (variable(one), variable(two)) {
            (Some(one), Some(two)) => (vec![one, two], rest),
            _ => (Vec::new(), words),
        },
        _ => (Vec::new(), words),
    }
}

/// The commands of a pipeline.
fn split(words: &[Word]) -> Result<Vec<&[Word]>, String> {
    let (mut commands, mut begins, mut depth) = (Vec::new(), 0, 0_i32);
    for (place, word) in words.iter().enumerate() {
        match word {
            Word::Open => depth += 1,
            Word::Close => depth -= 1,
            Word::Pipe if depth == 0 => {
                commands.push(&words[begins..place]);
                begins = place + 1;
            }
            _ => {}
        }
    }
    commands.push(&words[begins..]);
    match depth == 0 && commands.iter().all(|command| !command.is_empty()) {
        true => Ok(commands),
        false => Err(not_understood(&shown(words))),
    }
}

/// Where the parenthesis closes that was opened before these words.
fn closing(words: &[Word]) -> Option<usize> {
    let mut depth = 1;
    words.iter().position(|word| {
        match word {
            Word::Open => depth += 1,
            Word::Close => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

fn shown(words: &[Word]) -> String {
    let shown = words.iter().map(|word| match word {
        Word::Plain(text) => text.clone(),
        Word::Text(text) => format!("{text:?}"),
        Word::Open => "(".to_owned(),
        Word::Close => ")".to_owned(),
        Word::Pipe => "|".to_owned(),
        Word::Comma => ",".to_owned(),
        Word::Assign => ":=".to_owned(),
    });
    shown.collect::<Vec<_>>().join(" ")
}
