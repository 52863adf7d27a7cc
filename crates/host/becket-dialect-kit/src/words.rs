//! Turns argument names of one system into those of another.
//!
//! A name without a counterpart stays as it is. A name whose counterpart is already taken stays too: the reader of the
//! arguments then refuses the call, because it says one thing in two ways.

use becket_events::Schema;
use serde_json::{Map, Value, json};

/// Pairs of a foreign argument name and becket's own.
pub type Renames = &'static [(&'static str, &'static str)];

/// Arguments with becket's own names.
pub fn to_own(arguments: Map<String, Value>, renames: Renames) -> Map<String, Value> {
    renamed(arguments, |name| {
        renames
            .iter()
            .find(|(foreign, _)| *foreign == name)
            .map(|(_, own)| *own)
    })
}

/// Arguments with the foreign names.
pub fn to_foreign(arguments: &Map<String, Value>, renames: Renames) -> Map<String, Value> {
    renamed(arguments.clone(), |name| {
        renames
            .iter()
            .find(|(_, own)| *own == name)
            .map(|(foreign, _)| *foreign)
    })
}

fn renamed(
    arguments: Map<String, Value>,
    new_name: impl Fn(&str) -> Option<&'static str>,
) -> Map<String, Value> {
    let taken: Vec<String> = arguments.keys().cloned().collect();
    arguments
        .into_iter()
        .map(|(name, value)| match new_name(&name) {
            Some(new) if !taken.iter().any(|other| other == new) => (new.to_owned(), value),
            _ => (name, value),
        })
        .collect()
}

/// An argument that must be a whole number, if it is given.
pub fn number(arguments: &Map<String, Value>, name: &str) -> Result<Option<u64>, String> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value
            .as_u64()
            .map(Some)
            .ok_or_else(|| format!("argument `{name}` must be a whole number, not {value}")),
    }
}

/// Edits in becket's terms, from a list of `{oldText, newText}`.
pub fn edits_to_own(mut arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    each_edit(&mut arguments, |edit| to_own(edit, EDIT));
    Ok(arguments)
}

/// Edits as a list of `{oldText, newText}`.
pub fn edits_to_foreign(arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut foreign = arguments.clone();
    each_edit(&mut foreign, |edit| to_foreign(&edit, EDIT));
    foreign
}

const EDIT: Renames = &[("oldText", "old_text"), ("newText", "new_text")];

fn each_edit(arguments: &mut Map<String, Value>, change: impl Fn(Map<String, Value>) -> Map<String, Value>) {
    let Some(Value::Array(edits)) = arguments.get_mut("edits") else {
        return;
    };
    for edit in edits {
        if let Value::Object(fields) = edit {
            *fields = change(std::mem::take(fields));
        }
    }
}

/// The schema of an object with these properties, `(name, type, description)`, of which some are required.
pub fn schema(properties: &[(&str, &str, &str)], required: &[&str]) -> Schema {
    let properties: Map<String, Value> = properties
        .iter()
        .map(|(name, kind, description)| {
            (
                (*name).to_owned(),
                json!({"type": kind, "description": description}),
            )
        })
        .collect();
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    schema.into()
}

/// Adds default values to a schema.
pub fn defaulting(mut schema: Schema, defaults: &[(&str, Value)]) -> Schema {
    for (name, value) in defaults {
        schema["properties"][*name]["default"] = value.clone();
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIRS: Renames = &[("cmd", "command")];

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn names_without_a_counterpart_stay() {
        let own = object(json!({"command": "ls", "cwd": "/"}));
        let foreign = to_foreign(&own, PAIRS);
        assert_eq!(Value::Object(foreign.clone()), json!({"cmd": "ls", "cwd": "/"}));
        assert_eq!(to_own(foreign, PAIRS), own);
    }

    #[test]
    fn a_name_whose_counterpart_is_taken_stays_so_that_the_call_is_refused() {
        let both = object(json!({"cmd": "ls", "command": "rm -rf /"}));
        assert_eq!(to_own(both.clone(), PAIRS), both);
    }
}
