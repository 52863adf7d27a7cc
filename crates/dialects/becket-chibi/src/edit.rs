//! Converts the five operations of `file_edit` into becket's arguments and back.
//!
//! becket expresses them as text to find (`edits`) or as lines by number (`lines`). chibi has no form for a call with
//! several changes; it keeps becket's.

use becket_events::{Beside, LineEdit, Replacement};
use serde_json::{Map, Value, json};

use becket_dialect_kit::words;

const OPERATIONS: &str = "replace_lines, insert_before, insert_after, delete_lines, replace_string";

/// The arguments that only some operations have.
const PARTS: [&str; 5] = ["line_start", "line_end", "content", "find", "replace"];

/// The arguments of `file_edit` under becket's names.
pub fn to_own(mut arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let operation = match arguments.remove("operation") {
        None | Some(Value::Null) => None,
        Some(Value::String(operation)) => Some(operation),
        Some(other) => return Err(format!("argument `operation` must be a text, not {other}")),
    };
    let told = PARTS
        .iter()
        .any(|name| arguments.get(*name).is_some_and(|value| !is_blank(value)));
    if arguments.contains_key("edits") || arguments.contains_key("lines") || (operation.is_none() && !told) {
        if told {
            return Err(
                "the edit is given twice: give either an operation, or `edits` and `lines`".to_owned(),
            );
        }
        return Ok(arguments);
    }
    match operation.as_deref().unwrap_or("replace_string") {
        "replace_string" => {
            let edit = Replacement {
                old_text: text(&mut arguments, "find")?,
                new_text: text(&mut arguments, "replace")?,
                first: arguments.remove("first") != Some(Value::Bool(false)),
                all: arguments.remove("all") == Some(Value::Bool(true)),
            };
            arguments.insert("edits".to_owned(), json!([edit]));
        }
        operation => {
            let edit = line_edit(operation, &mut arguments)?;
            arguments.insert("lines".to_owned(), json!([edit]));
        }
    }
    // The remaining arguments belong to other operations. Models fill them in with empty values, which are removed;
    // anything else is a contradiction, which the reader of the arguments refuses by name.
    arguments.retain(|name, value| !(PARTS.contains(&name.as_str()) && is_blank(value)));
    Ok(arguments)
}

fn line_edit(operation: &str, arguments: &mut Map<String, Value>) -> Result<LineEdit, String> {
    let (insert, has_end, has_text) = match operation {
        "replace_lines" => (None, true, true),
        "delete_lines" => (None, true, false),
        "insert_before" => (Some(Beside::Before), false, true),
        "insert_after" => (Some(Beside::After), false, true),
        other => {
            return Err(format!(
                "operation \"{other}\" is not known; there are {OPERATIONS}"
            ));
        }
    };
    let start = line(arguments, "line_start")?;
    let end = if has_end {
        line(arguments, "line_end")?
    } else {
        start
    };
    if end < start {
        return Err(format!(
            "argument `line_end` ({end}) must not come before `line_start` ({start})"
        ));
    }
    let text = if has_text {
        text(arguments, "content")?
    } else {
        String::new()
    };
    let expected = match arguments.remove("expected") {
        None | Some(Value::Null) => None,
        Some(Value::String(expected)) => Some(expected),
        Some(other) => return Err(format!("argument `expected` must be a text, not {other}")),
    };
    Ok(LineEdit {
        start,
        end,
        text,
        insert,
        expected,
    })
}

/// The arguments of `file_edit` as chibi writes them.
pub fn to_foreign(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut foreign = arguments.clone();
    let edits = foreign.remove("edits");
    let lines = foreign.remove("lines");
    let parts = match (
        only::<Replacement>(edits.as_ref()),
        only::<LineEdit>(lines.as_ref()),
    ) {
        (Some(edit), _) if lines.is_none() => Some(replacement_in_parts(edit)),
        (_, Some(edit)) if edits.is_none() => line_edit_in_parts(edit),
        _ => None,
    };
    match parts {
        Some(parts) => {
            foreign.extend(parts);
            foreign
        }
        None => {
            let mut kept = arguments.clone();
            let operation = match (&edits, &lines) {
                (Some(_), _) => "replace_string",
                (None, Some(_)) => "replace_lines",
                (None, None) => return kept,
            };
            kept.insert("operation".to_owned(), operation.into());
            kept
        }
    }
}

/// An edit as hooks that judge its file see it. Several changes are shown as one text beside the changes themselves, so
/// that a text cannot get past a guard in pieces.
pub fn told(edits: &[Replacement], lines: &[LineEdit]) -> Map<String, Value> {
    let mut own = Map::new();
    if !edits.is_empty() {
        own.insert("edits".to_owned(), json!(edits));
    }
    if !lines.is_empty() {
        own.insert("lines".to_owned(), json!(lines));
    }
    let mut told = to_foreign(&own);
    let together = |texts: Vec<&str>| Value::String(texts.join("\n"));
    if told.contains_key("edits") {
        let found = edits.iter().map(|edit| edit.old_text.as_str()).collect();
        let written = edits.iter().map(|edit| edit.new_text.as_str()).collect();
        told.extend(object([
            ("find", together(found)),
            ("replace", together(written)),
        ]));
    }
    if told.contains_key("lines") {
        let written = lines.iter().map(|edit| edit.text.as_str()).collect();
        told.extend(object([("content", together(written))]));
    }
    told
}

fn replacement_in_parts(edit: Replacement) -> Map<String, Value> {
    let mut parts = object([
        ("operation", "replace_string".into()),
        ("find", edit.old_text.into()),
        ("replace", edit.new_text.into()),
    ]);
    if !edit.first {
        parts.insert("first".to_owned(), false.into());
    }
    if edit.all {
        parts.insert("all".to_owned(), true.into());
    }
    parts
}

fn line_edit_in_parts(edit: LineEdit) -> Option<Map<String, Value>> {
    let operation = match edit.insert {
        None if edit.text.is_empty() => "delete_lines",
        None => "replace_lines",
        Some(_) if edit.end != edit.start => return None,
        Some(Beside::Before) => "insert_before",
        Some(Beside::After) => "insert_after",
    };
    if edit.start == 0 || edit.end < edit.start {
        return None;
    }
    let mut parts = object([("operation", operation.into()), ("line_start", edit.start.into())]);
    if edit.insert.is_none() {
        parts.insert("line_end".to_owned(), edit.end.into());
    }
    if operation != "delete_lines" {
        parts.insert("content".to_owned(), edit.text.into());
    }
    if let Some(expected) = edit.expected {
        parts.insert("expected".to_owned(), expected.into());
    }
    Some(parts)
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The one element of a list.
fn only<T: serde::de::DeserializeOwned>(list: Option<&Value>) -> Option<T> {
    match list?.as_array()?.as_slice() {
        [one] => serde_json::from_value(one.clone()).ok(),
        _ => None,
    }
}

fn text(arguments: &mut Map<String, Value>, name: &str) -> Result<String, String> {
    match arguments.remove(name) {
        Some(Value::String(text)) => Ok(text),
        None | Some(Value::Null) => Err(format!("argument `{name}` is missing")),
        Some(other) => Err(format!("argument `{name}` must be a text, not {other}")),
    }
}

fn line(arguments: &mut Map<String, Value>, name: &str) -> Result<u64, String> {
    let number = words::number(arguments, name)?;
    arguments.remove(name);
    match number {
        None => Err(format!("argument `{name}` is missing")),
        Some(0) => Err(format!(
            "argument `{name}` must be at least 1: lines are counted from 1"
        )),
        Some(number) => Ok(number),
    }
}

fn is_blank(value: &Value) -> bool {
    value.is_null() || value == ""
}
