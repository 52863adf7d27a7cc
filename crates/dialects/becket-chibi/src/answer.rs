//! The answer of a hook: a JSON object on standard output, or nothing.
//!
//! Unknown fields are ignored. A known field with a value of the wrong type is a failure: `"block": "true"` was surely
//! meant as a refusal.

use becket_events::Class;
use becket_hooks::{Cause, Failure, Finished, beginning, read_strictly};
use serde_json::{Map, Value};

/// The fields of an answer.
#[derive(Debug, Default)]
pub(super) struct AnswerFields(Map<String, Value>);

impl AnswerFields {
    /// Reads the output of a run. The output of an observer is ignored.
    pub(super) fn read(class: Class, finished: &Finished) -> Result<Self, Failure> {
        if class == Class::Filter && is_false_test(finished) {
            return Ok(Self::default());
        }
        if finished.code != 0 {
            let detail = format!("exit code {}", finished.code);
            return Err(Failure::new(Cause::ExitStatus, detail));
        }
        if class == Class::Observe {
            return Ok(Self::default());
        }
        let text = std::str::from_utf8(&finished.stdout).map_err(|error| {
            let detail = format!("standard output is not UTF-8: {error}");
            Failure::new(Cause::UnreadableOutput, detail)
        })?;
        let text = text.trim_start_matches('\u{feff}').trim();
        // A background process may still write more, even a refusal: for a guard only a complete output counts.
        if text.is_empty() && !finished.complete && class >= Class::Filter {
            return Err(Failure::new(
                Cause::UnreadableOutput,
                "it ended without an answer, and a background process still holds standard output, so more might \
                 have come; redirect that process's output: `… >/dev/null 2>&1 &`",
            ));
        }
        if text.is_empty() {
            return Ok(Self::default());
        }
        match read_strictly(text) {
            Ok(Value::Object(fields)) => Ok(Self(fields)),
            Ok(Value::Null) if class < Class::Filter => Ok(Self::default()),
            Ok(_) => Err(wrong_shape(format!(
                "an answer is a JSON object, not {}",
                beginning(text)
            ))),
            Err(error) => Err(Failure::new(
                Cause::UnreadableOutput,
                format!("standard output is not JSON ({error}): {}", beginning(text)),
            )),
        }
    }

    /// Reads the return value of a procedure, as JSON text.
    pub(super) fn written(text: &str) -> Result<Self, Failure> {
        match read_strictly(text) {
            Ok(Value::Object(fields)) => Ok(Self(fields)),
            Ok(Value::Null) => Ok(Self::default()),
            _ => Err(wrong_shape(format!(
                "an answer is an alist with strings as keys, not {}",
                beginning(text)
            ))),
        }
    }

    /// Whether some field is an object, a list or null.
    pub(super) fn is_nested(&self) -> bool {
        self.0
            .values()
            .any(|value| value.is_object() || value.is_array() || value.is_null())
    }

    /// The answer with its fields changed.
    pub(super) fn map(self, change: impl FnOnce(Value) -> Value) -> Self {
        match change(Value::Object(self.0)) {
            Value::Object(fields) => Self(fields),
            _ => Self::default(),
        }
    }

    /// The text in a field.
    pub(super) fn text(&self, field: &str) -> Result<Option<String>, Failure> {
        self.get(field, "a text", |value| value.as_str().map(str::to_owned))
    }

    /// The boolean in a field; false if it is absent.
    pub(super) fn flag(&self, field: &str) -> Result<bool, Failure> {
        Ok(self.get(field, "true or false", Value::as_bool)?.unwrap_or(false))
    }

    /// The boolean in a field, if there is one.
    pub(super) fn choice(&self, field: &str) -> Result<Option<bool>, Failure> {
        self.get(field, "true or false", Value::as_bool)
    }

    /// The number in a field, which must not be negative.
    pub(super) fn count(&self, field: &str) -> Result<Option<u64>, Failure> {
        self.get(field, "a whole number of at least 0", whole)
    }

    /// The number in a field, which may be negative.
    pub(super) fn difference(&self, field: &str) -> Result<Option<i64>, Failure> {
        self.get(field, "a whole number", Value::as_i64)
    }

    /// The list of texts in a field; a single text is a list of one.
    pub(super) fn names(&self, field: &str) -> Result<Option<Vec<String>>, Failure> {
        self.get(field, "a list of names", |value| match value {
            Value::String(one) => Some(vec![one.clone()]),
            Value::Array(several) => several
                .iter()
                .map(|name| name.as_str().map(str::to_owned))
                .collect(),
            _ => None,
        })
    }

    /// The object in a field.
    pub(super) fn object(&self, field: &str) -> Result<Option<Map<String, Value>>, Failure> {
        self.get(field, "an object", |value| value.as_object().cloned())
    }

    fn get<T>(
        &self,
        field: &str,
        wanted: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        match self.0.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match read(value) {
                Some(value) => Ok(Some(value)),
                None => Err(wrong_shape(format!(
                    "`{field}` is {wanted}, not {}",
                    beginning(&value.to_string())
                ))),
            },
        }
    }
}

/// Whether a shell test at the end of a script was false: the hook had nothing to say.
fn is_false_test(finished: &Finished) -> bool {
    let said_nothing = finished.stdout.trim_ascii().is_empty() && finished.stderr.trim().is_empty();
    finished.code == 1 && finished.complete && said_nothing
}

/// The failure of an answer that does not fit its hook.
pub(super) fn wrong_shape(detail: impl Into<String>) -> Failure {
    Failure::new(Cause::WrongShape, detail)
}

/// A whole number. Python writes `5.0` for a number that was divided.
fn whole(value: &Value) -> Option<u64> {
    let fraction_free = |number: &f64| *number >= 0.0 && number.fract() == 0.0 && *number < 9e15;
    value
        .as_u64()
        .or_else(|| value.as_f64().filter(fraction_free).map(|number| number as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(class: Class, stdout: &str, code: i32) -> Result<AnswerFields, Cause> {
        let finished = Finished {
            stdout: stdout.into(),
            stderr: String::new(),
            code,
            complete: true,
        };
        AnswerFields::read(class, &finished).map_err(|failure| failure.cause)
    }

    #[test]
    fn what_an_output_means() {
        let fields = |stdout| read(Class::Guard, stdout, 0).map(|answer| answer.0.len());
        assert_eq!(fields(""), Ok(0));
        assert_eq!(fields(" \n"), Ok(0));
        assert_eq!(fields("null\n"), Err(Cause::WrongShape));
        assert_eq!(
            fields(r#"{"block":true,"block":false}"#),
            Err(Cause::UnreadableOutput)
        );
        let of_change = read(Class::Transform, "null", 0).map(|answer| answer.0.len());
        assert_eq!(of_change, Ok(0));
        assert_eq!(fields("{}"), Ok(0));
        assert_eq!(fields("\u{feff}{\"block\": true}\n"), Ok(1));
        assert_eq!(fields("blocked"), Err(Cause::UnreadableOutput));
        assert_eq!(fields("{\"block\": true"), Err(Cause::UnreadableOutput));
        assert_eq!(fields("{} {}"), Err(Cause::UnreadableOutput));
        assert_eq!(fields("[]"), Err(Cause::WrongShape));
        assert_eq!(fields("true"), Err(Cause::WrongShape));
    }

    #[test]
    fn a_failure_status_is_a_failure_whatever_was_printed() {
        for class in [Class::Guard, Class::Transform, Class::Observe] {
            assert_eq!(read(class, "{}", 1).unwrap_err(), Cause::ExitStatus);
        }
    }

    #[test]
    fn an_observer_may_print_what_it_likes() {
        assert!(read(Class::Observe, "noted", 0).is_ok());
        assert_eq!(
            read(Class::Transform, "noted", 0).unwrap_err(),
            Cause::UnreadableOutput
        );
    }

    #[test]
    fn a_known_field_of_the_wrong_type_is_a_failure() {
        let answer = read(
            Class::Guard,
            r#"{"block": "true", "message": null, "fuel": 5.0, "n": -1, "include": "a", "exclude": ["a", 1]}"#,
            0,
        )
        .unwrap();
        assert!(
            answer
                .flag("block")
                .unwrap_err()
                .detail
                .contains("`block` is true or false")
        );
        assert_eq!(answer.text("message").unwrap(), None);
        assert_eq!(answer.count("fuel").unwrap(), Some(5));
        assert!(answer.count("n").is_err());
        assert_eq!(answer.difference("n").unwrap(), Some(-1));
        assert_eq!(answer.names("include").unwrap(), Some(vec!["a".to_owned()]));
        assert!(answer.names("exclude").is_err());
        assert_eq!(answer.text("absent").unwrap(), None);
    }
}
