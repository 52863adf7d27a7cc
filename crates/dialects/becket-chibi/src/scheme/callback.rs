//! What a Scheme procedure that answers a hook is given and returns: the fields of the event, and the meaning of its
//! answer.

use becket_events::Class;
use becket_hooks::Failure;
use serde_json::{Map, Value};

use crate::answer::AnswerFields;

/// The field of an event that holds the argument of a callback.
pub const PAYLOAD: &str = "payload";

/// The field of an event that names the context.
pub const CONTEXT_NAME: &str = "context_name";

/// The field of an event that names the session.
pub const SESSION_ID: &str = "session_id";

/// A callback's answer, next to its argument. Lists with one element and empty lists look like other data in Scheme;
/// the argument tells what they are.
pub(crate) fn answer(class: Class, returned: Option<&str>, shown: &str) -> Result<AnswerFields, Failure> {
    let Some(text) = returned.filter(|_| class != Class::Observe) else {
        return Ok(AnswerFields::default());
    };
    let answer = AnswerFields::written(text)?;
    if !answer.is_nested() {
        return Ok(answer);
    }
    let shown = serde_json::from_str(shown).unwrap_or_default();
    Ok(answer.map(|fields| alike(fields, &shown)))
}

/// The answer's data in the shapes that the argument had.
fn alike(answer: Value, shown: &Value) -> Value {
    match (answer, shown) {
        (Value::Null, Value::Array(_)) => Value::Array(Vec::new()),
        (Value::Null, Value::Object(_)) => Value::Object(Map::new()),
        (Value::Object(fields), Value::Object(known)) => {
            let field = |(name, value)| {
                let value = known
                    .get(&name)
                    .map_or_else(|| Value::clone(&value), |shown| alike(value.clone(), shown));
                (name, value)
            };
            Value::Object(fields.into_iter().map(field).collect())
        }
        (Value::Array(items), Value::Array(known)) => {
            let item = |(index, item)| match known.get(index).or(known.last()) {
                Some(shown) => alike(item, shown),
                None => item,
            };
            Value::Array(items.into_iter().enumerate().map(item).collect())
        }
        (one, Value::Array(known)) => match known.first() {
            Some(first) if std::mem::discriminant(first) == std::mem::discriminant(&one) => {
                Value::Array(vec![alike(one, first)])
            }
            _ => one,
        },
        (other, _) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_of_one_are_what_was_shown() {
        let shown = json!({"request_body": {"messages": [{"role": "user"}], "stop": [], "n": 1, "content": [{"a": 1}]}});
        let answer = json!({"request_body": {"messages": {"role": "system"}, "stop": null, "n": 2, "content": "words"}});
        let expected = json!({"request_body": {"messages": [{"role": "system"}], "stop": [], "n": 2, "content": "words"}});
        assert_eq!(alike(answer, &shown), expected);
    }
}
