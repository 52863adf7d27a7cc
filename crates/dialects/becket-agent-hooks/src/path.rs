//! The path of a transform, `$target.name[0]["name"]`, and the change that it makes.

use serde_json::Value;

use crate::verdict::HostError;

/// The ways to write the root of a path; the second one is deprecated.
const ROOTS: [&str; 2] = ["$target", "$policy_target"];

/// One step into a value.
#[derive(Debug, PartialEq, Eq)]
enum Step<'p> {
    Member(&'p str),
    Index(usize),
}

/// Replaces what stands at the path. Nothing is added: the path must lead to something.
pub fn replace(target: &mut Value, path: &str, value: Value) -> Result<(), HostError> {
    *place(target, path)? = value;
    Ok(())
}

/// What stands at the path.
fn place<'v>(target: &'v mut Value, path: &str) -> Result<&'v mut Value, HostError> {
    let rest = ROOTS.iter().find_map(|root| path.strip_prefix(root));
    let mut rest = rest.ok_or(HostError::TransformTargetForbidden)?;
    let mut place = target;
    while !rest.is_empty() {
        let (step, behind) = first_step(rest).ok_or(HostError::TransformInvalid)?;
        let found = match step {
            Step::Member(name) => place.as_object_mut().and_then(|map| map.get_mut(name)),
            Step::Index(index) => place.as_array_mut().and_then(|list| list.get_mut(index)),
        };
        place = found.ok_or(HostError::TransformInvalid)?;
        rest = behind;
    }
    Ok(place)
}

fn first_step(text: &str) -> Option<(Step<'_>, &str)> {
    if let Some(text) = text.strip_prefix('.') {
        let end = text.find(|letter| !is_of_name(letter)).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        return (!name.is_empty()).then_some((Step::Member(name), rest));
    }
    if let Some(text) = text.strip_prefix("[\"") {
        let (name, rest) = text.split_once("\"]")?;
        return name.chars().all(is_of_name).then_some((Step::Member(name), rest));
    }
    let (index, rest) = text.strip_prefix('[')?.split_once(']')?;
    let is_number = index.bytes().all(|digit| digit.is_ascii_digit());
    let index = index.parse().ok().filter(|_| is_number)?;
    Some((Step::Index(index), rest))
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '-'
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn replaced(path: &str) -> Result<Value, HostError> {
        let mut target = json!({"a": {"b": [10, {"c-d": 1}]}, "e": 2});
        replace(&mut target, path, json!("new")).map(|()| target)
    }

    #[test]
    fn a_path_leads_to_what_is_replaced() {
        let cases = [
            ("$target", json!("new")),
            (
                "$policy_target.e",
                json!({"a": {"b": [10, {"c-d": 1}]}, "e": "new"}),
            ),
            ("$target.a.b[0]", json!({"a": {"b": ["new", {"c-d": 1}]}, "e": 2})),
            (
                "$target[\"a\"].b[1][\"c-d\"]",
                json!({"a": {"b": [10, {"c-d": "new"}]}, "e": 2}),
            ),
        ];
        for (path, expected) in cases {
            assert_eq!(replaced(path), Ok(expected), "{path}");
        }
    }

    #[test]
    fn other_paths_are_refused() {
        for path in ["", "$", "$.e", "$snapshot.e", "target.e"] {
            assert_eq!(replaced(path), Err(HostError::TransformTargetForbidden), "{path}");
        }
        let wrong = [
            "$targets",
            "$target.",
            "$target.f",
            "$target..e",
            "$target.e.f",
            "$target.a[0]",
            "$target.a.b[2]",
            "$target.a.b[+1]",
            "$target.a.b[",
            "$target.a.b[]",
            "$target[\"e",
            "$target[e]",
            "$target.*",
            "$target e",
        ];
        for path in wrong {
            assert_eq!(replaced(path), Err(HostError::TransformInvalid), "{path}");
        }
    }
}
