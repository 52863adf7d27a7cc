//! Values as templates see and print them.

use serde_json::Value;

/// A member of a value, and of that. Keys with empty values are left out of the input; a missing member of another
/// object is told.
pub(super) fn member(value: &Value, path: &[String], depth: usize) -> Value {
    let found = path.iter().try_fold(value, |value, name| value.get(name));
    match (found, depth) {
        (Some(value), _) => value.clone(),
        (None, 0 | 1) => Value::Null,
        (None, _) => Value::from(NO_VALUE),
    }
}

/// What stands in the place of a member that is not there.
pub(super) const NO_VALUE: &str = "<no value>";

/// The members of a value that is gone through, each with its index or key.
pub(super) fn members(value: &Value) -> Vec<(Value, Value)> {
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
pub(super) const MOST_ROUNDS: u64 = 10_000;

/// Whether a value counts as true: everything that is not empty.
pub(super) fn is_true(value: &Value) -> bool {
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
pub(super) fn told(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
