//! An edit in the words of a system whose tool replaces one piece of text.
//!
//! becket's `edit` may replace several pieces, or lines by their numbers. Such a call is shown with all old texts and
//! all new texts in the place of one, so that a hook that looks for something in the new text misses none of it, and
//! with the single edits beside them. A hook can change those, and not the whole.

use serde_json::{Map, Value, json};

use crate::words::{self, Renames};

/// The members of a single edit, by becket's names.
const OF_AN_EDIT: &[&str] = &["old_text", "new_text", "all", "first"];

/// The arguments in becket's terms. `renames` are the members of an edit.
pub fn to_own(arguments: Map<String, Value>, renames: Renames) -> Result<Map<String, Value>, String> {
    if arguments.contains_key("edits") || arguments.contains_key("lines") {
        return several_to_own(arguments, renames);
    }
    let mut own = without_false(words::to_own(arguments, renames));
    if !own.contains_key("old_text") {
        return Ok(own);
    }
    let mut edit = Map::new();
    for key in OF_AN_EDIT {
        if let Some(value) = own.remove(*key) {
            edit.insert((*key).to_owned(), value);
        }
    }
    own.insert("edits".into(), json!([edit]));
    Ok(own)
}

/// The arguments in the system's terms.
pub fn to_foreign(arguments: &Map<String, Value>, renames: Renames) -> Map<String, Value> {
    let mut foreign = arguments.clone();
    let edits = foreign.get("edits").and_then(Value::as_array).map(Vec::as_slice);
    if let (Some([Value::Object(edit)]), false) = (edits, foreign.contains_key("lines")) {
        let edit = words::to_foreign(&without_false(edit.clone()), renames);
        foreign.remove("edits");
        foreign.extend(edit);
        return foreign;
    }
    if !foreign.contains_key("edits") && !foreign.contains_key("lines") {
        return foreign;
    }
    each_edit(&mut foreign, |edit| {
        words::to_foreign(&without_false(edit), renames)
    });
    for (name, text) in names(renames).into_iter().zip(as_one(arguments)) {
        foreign.insert(name.to_owned(), text.into());
    }
    foreign
}

fn several_to_own(mut own: Map<String, Value>, renames: Renames) -> Result<Map<String, Value>, String> {
    let names = names(renames);
    let shown = names.map(|name| own.remove(name));
    each_edit(&mut own, |edit| without_false(words::to_own(edit, renames)));
    let texts = as_one(&own);
    let is_changed = shown.iter().zip(&texts).any(|(shown, text)| {
        let shown = shown.as_ref();
        shown.is_some_and(|shown| shown.as_str() != Some(text.as_str()))
    });
    match is_changed {
        true => Err(format!(
            "there are several edits: change `edits` or `lines`, and leave `{}` and `{}` as they are",
            names[0], names[1]
        )),
        false => Ok(own),
    }
}

/// The system's names for the old and the new text.
fn names(renames: Renames) -> [&'static str; 2] {
    ["old_text", "new_text"].map(|own| {
        let pair = renames.iter().find(|(_, known)| *known == own);
        pair.map_or(own, |(foreign, _)| *foreign)
    })
}

fn each_edit(arguments: &mut Map<String, Value>, change: impl Fn(Map<String, Value>) -> Map<String, Value>) {
    let edits = arguments.get_mut("edits").and_then(Value::as_array_mut);
    for edit in edits.into_iter().flatten() {
        if let Value::Object(members) = edit {
            *members = change(std::mem::take(members));
        }
    }
}

/// Members without `all: false`, which says nothing.
fn without_false(mut members: Map<String, Value>) -> Map<String, Value> {
    if members.get("all") == Some(&Value::Bool(false)) {
        members.remove("all");
    }
    members
}

/// All old texts, and all new texts, of edits in becket's words.
fn as_one(own: &Map<String, Value>) -> [String; 2] {
    let list = |name: &str| {
        own.get(name)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let texts = |of_edit: &str, of_line: &str| {
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
        let edits = list("edits").into_iter().filter_map(|edit| text(&edit, of_edit));
        let lines = list("lines").into_iter().filter_map(|line| text(&line, of_line));
        edits.chain(lines).collect::<Vec<String>>().join("\n")
    };
    [texts("old_text", "expected"), texts("new_text", "text")]
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDIT: Renames = &[("old", "old_text"), ("new", "new_text")];

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn several_edits_are_shown_as_one_that_cannot_be_changed() {
        let own = object(json!({
            "edits": [{"old_text": "a", "new_text": "b"}, {"old_text": "c", "new_text": "d"}],
            "lines": [{"start": 1, "end": 1, "text": "e"}],
        }));
        let mut shown = to_foreign(&own, EDIT);
        assert_eq!(
            (&shown["old"], &shown["new"]),
            (&json!("a\nc"), &json!("b\nd\ne"))
        );
        assert_eq!(shown["edits"][1], json!({"old": "c", "new": "d"}));
        assert_eq!(to_own(shown.clone(), EDIT), Ok(own));
        shown["new"] = "x".into();
        assert!(to_own(shown, EDIT).is_err());
    }
}
