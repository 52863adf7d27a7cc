//! What the rules of all interfaces are made of.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model_server::Recorded;

/// What a server remembers of its own answers: the seal of the thought that led to a call, by the call's id.
pub(super) type Seals = BTreeMap<String, String>;

/// Whether a request is served, or why it is refused.
pub(super) type Checked = Result<(), String>;

/// The data of an answer's events.
pub(super) fn events(answer: &str) -> impl Iterator<Item = Value> {
    let data = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok())
}

/// Refuses for that reason unless something holds.
pub(super) fn must(holds: bool, why: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(why()) }
}

/// Refuses fields that an object does not have.
pub(super) fn only(value: &Value, place: &str, fields: &[&str]) -> Checked {
    let object = value
        .as_object()
        .ok_or_else(|| format!("{place} must be an object"))?;
    let unknown = object.keys().find(|name| !fields.contains(&name.as_str()));
    match unknown {
        Some(name) => Err(format!("Unknown name \"{name}\" at {place}: cannot find field")),
        None => Ok(()),
    }
}

/// The text of a field, which must be there.
pub(super) fn text<'v>(value: &'v Value, field: &str) -> Result<&'v str, String> {
    let text = value[field].as_str();
    text.ok_or_else(|| format!("{field} must be a text in {value}"))
}

/// The list of a field, which must be there.
pub(super) fn list<'v>(value: &'v Value, field: &str) -> Result<&'v [Value], String> {
    let list = value[field].as_array();
    list.map(Vec::as_slice)
        .ok_or_else(|| format!("{field} must be a list in {value}"))
}

/// Checks the method, the path and the header that holds the key.
pub(super) fn check_head(request: &Recorded, path: &str, key: &str) -> Checked {
    must(request.method == "POST" && request.path == path, || {
        format!("there is no {} {}", request.method, request.path)
    })?;
    must(request.header(key).is_some(), || format!("{key} is missing"))
}
