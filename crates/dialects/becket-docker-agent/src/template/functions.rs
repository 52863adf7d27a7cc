//! The functions of templates.

use std::cmp::Ordering;

use serde_json::Value;

use super::values::{is_true, told};

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    ToJson,
    Truncate,
    Printf,
    Print,
    Println,
    Len,
    Index,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    Not,
}

/// The functions with their names, and how many arguments they take at least and at most.
const FUNCTIONS: &[(&str, Function, usize, usize)] = &[
    ("toJSON", Function::ToJson, 1, 1),
    ("truncate", Function::Truncate, 2, 2),
    ("printf", Function::Printf, 1, usize::MAX),
    ("print", Function::Print, 0, usize::MAX),
    ("println", Function::Println, 0, usize::MAX),
    ("len", Function::Len, 1, 1),
    ("index", Function::Index, 1, usize::MAX),
    ("eq", Function::Eq, 2, usize::MAX),
    ("ne", Function::Ne, 2, 2),
    ("lt", Function::Lt, 2, 2),
    ("le", Function::Le, 2, 2),
    ("gt", Function::Gt, 2, 2),
    ("ge", Function::Ge, 2, 2),
    ("and", Function::And, 1, usize::MAX),
    ("or", Function::Or, 1, usize::MAX),
    ("not", Function::Not, 1, 1),
];

impl Function {
    /// The function with that name.
    pub(super) fn called(name: &str) -> Option<Self> {
        let mut functions = FUNCTIONS.iter();
        functions
            .find(|(known, ..)| *known == name)
            .map(|(_, function, ..)| *function)
    }

    /// The names of all functions.
    pub(super) fn names() -> String {
        let names: Vec<&str> = FUNCTIONS.iter().map(|(name, ..)| *name).collect();
        names.join(", ")
    }

    /// Whether the function takes that many arguments.
    pub(super) fn takes(self, count: usize) -> bool {
        FUNCTIONS
            .iter()
            .any(|(_, function, least, most)| *function == self && (*least..=*most).contains(&count))
    }

    /// The function's value.
    pub(super) fn call(self, values: &[Value]) -> Value {
        let holds = |wanted: &[Ordering]| {
            let order = compared(&values[0], &values[1]);
            Value::from(order.is_some_and(|order| wanted.contains(&order)))
        };
        match self {
            Self::ToJson => Value::from(values[0].to_string()),
            Self::Truncate => {
                let text = told(&values[1]);
                let length = usize::try_from(values[0].as_u64().unwrap_or(0)).unwrap_or(usize::MAX);
                match text.char_indices().nth(length) {
                    Some((end, _)) => Value::from(format!("{}...", &text[..end])),
                    None => Value::from(text),
                }
            }
            Self::Printf => Value::from(printf(&told(&values[0]), &values[1..])),
            Self::Print => Value::from(print(values)),
            Self::Println => {
                let texts: Vec<String> = values.iter().map(shown).collect();
                Value::from(texts.join(" ") + "\n")
            }
            Self::Len => Value::from(match &values[0] {
                Value::String(text) => text.len(),
                Value::Array(values) => values.len(),
                Value::Object(members) => members.len(),
                _ => 0,
            }),
            Self::Index => values[1..].iter().fold(values[0].clone(), |value, at| match at {
                Value::String(key) => value.get(key).cloned().unwrap_or_default(),
                at => {
                    let place = at.as_u64().and_then(|place| usize::try_from(place).ok());
                    place
                        .and_then(|place| value.get(place))
                        .cloned()
                        .unwrap_or_default()
                }
            }),
            Self::Eq => Value::from(
                values[1..]
                    .iter()
                    .any(|other| compared(&values[0], other) == Some(Ordering::Equal)),
            ),
            Self::Ne => Value::from(compared(&values[0], &values[1]) != Some(Ordering::Equal)),
            Self::Lt => holds(&[Ordering::Less]),
            Self::Le => holds(&[Ordering::Less, Ordering::Equal]),
            Self::Gt => holds(&[Ordering::Greater]),
            Self::Ge => holds(&[Ordering::Greater, Ordering::Equal]),
            Self::And => values
                .iter()
                .find(|value| !is_true(value))
                .or(values.last())
                .cloned()
                .unwrap_or_default(),
            Self::Or => values
                .iter()
                .find(|value| is_true(value))
                .or(values.last())
                .cloned()
                .unwrap_or_default(),
            Self::Not => Value::from(!is_true(&values[0])),
        }
    }
}

/// The order of two values. What is left out of the input is empty.
fn compared(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64()?.partial_cmp(&other.as_f64()?),
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        (Value::Null, Value::String(other)) => Some("".cmp(other.as_str())),
        (Value::String(one), Value::Null) => Some(one.as_str().cmp("")),
        (Value::Null, Value::Number(other)) => 0.0.partial_cmp(&other.as_f64()?),
        (Value::Number(one), Value::Null) => one.as_f64()?.partial_cmp(&0.0),
        (Value::Null, Value::Bool(other)) => Some(false.cmp(other)),
        (Value::Bool(one), Value::Null) => Some(one.cmp(&false)),
        (one, other) => (one == other).then_some(Ordering::Equal),
    }
}

/// The values one after the other; between two that are no texts there is a space.
fn print(values: &[Value]) -> String {
    let mut text = String::new();
    for (place, value) in values.iter().enumerate() {
        let apart = place > 0 && !value.is_string() && !values[place - 1].is_string();
        if apart {
            text.push(' ');
        }
        text.push_str(&shown(value));
    }
    text
}

/// A value as `%v` prints it.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(shown).collect();
            format!("[{}]", values.join(" "))
        }
        Value::Object(members) => {
            let mut members: Vec<String> = members
                .iter()
                .map(|(key, value)| format!("{key}:{}", shown(value)))
                .collect();
            members.sort();
            format!("map[{}]", members.join(" "))
        }
        other => told(other),
    }
}

/// The text of a format: `%s`, `%v`, `%d`, `%q`, `%f`, `%t`, `%x` and `%%`, with a width and a precision.
fn printf(format: &str, values: &[Value]) -> String {
    let mut text = String::new();
    let mut values = values.iter();
    let mut letters = format.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        let mut flags = String::new();
        while let Some(flag) = letters.next_if(|letter| "+-# 0123456789.".contains(*letter)) {
            flags.push(flag);
        }
        match letters.next() {
            Some('%') => text.push('%'),
            Some(verb) => match values.next() {
                Some(value) => text.push_str(&padded(&verb_of(verb, &flags, value), &flags)),
                None => text.push_str(&format!("%!{verb}(MISSING)")),
            },
            None => text.push_str("%!(NOVERB)"),
        }
    }
    text
}

fn verb_of(verb: char, flags: &str, value: &Value) -> String {
    let precision = flags
        .split_once('.')
        .map(|(_, digits)| digits.parse::<usize>().unwrap_or(0));
    match (verb, value) {
        ('s' | 'v', value) => match precision {
            Some(most) => shown(value).chars().take(most).collect(),
            None => shown(value),
        },
        ('q', value) => format!("{:?}", shown(value)),
        ('f' | 'g' | 'e', Value::Number(number)) => {
            let number = number.as_f64().unwrap_or(0.0);
            format!("{number:.*}", precision.unwrap_or(6))
        }
        ('d', Value::Number(_)) | ('t', Value::Bool(_)) => value.to_string(),
        // An empty value is left out of the input.
        ('d', Value::Null) => "0".to_owned(),
        ('t', Value::Null) => "false".to_owned(),
        ('x', Value::Number(number)) => format!("{:x}", number.as_i64().unwrap_or(0)),
        (verb, value) => format!("%!{verb}({})", shown(value)),
    }
}

/// A text with the width that the flags of a verb want.
fn padded(text: &str, flags: &str) -> String {
    let (width, _) = flags.split_once('.').unwrap_or((flags, ""));
    let is_left = width.starts_with('-');
    let digits = width.trim_start_matches(['-', '+', '#', ' ']);
    let fills_with_zeros = digits.starts_with('0') && !is_left;
    let width: usize = digits.parse().unwrap_or(0).min(1000);
    let missing = width.saturating_sub(text.chars().count());
    match (is_left, fills_with_zeros) {
        (true, _) => format!("{text}{}", " ".repeat(missing)),
        (false, true) => format!("{}{text}", "0".repeat(missing)),
        (false, false) => format!("{}{text}", " ".repeat(missing)),
    }
}
