//! The output of a docker-agent hook, in either spelling of its keys.

use becket_hooks::{Cause, Failure, nearest, read_strictly};
use serde_json::{Map, Value};

/// Declares the fields of an answer, each with its key and the function that reads it: those at the top level, and
/// those in `hook_specific_output`.
macro_rules! fields {
    (
        outer { $($(#[$outer_about:meta])* $outer:ident: $outer_type:ty = $outer_key:literal by $read_outer:ident,)* }
        inner { $($(#[$inner_about:meta])* $inner:ident: $inner_type:ty = $inner_key:literal by $read_inner:ident,)* }
    ) => {
        /// The fields of an answer. Absent ones are `None`.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct Output {
            $($(#[$outer_about])* pub $outer: Option<$outer_type>,)*
            $($(#[$inner_about])* pub $inner: Option<$inner_type>,)*
        }

        /// The top-level keys of an answer.
        pub(super) const OUTER: &[&str] = &[$($outer_key,)* "hook_specific_output"];

        /// The keys of `hook_specific_output`.
        pub(super) const INNER: &[&str] = &["hook_event_name", $($inner_key,)*];

        impl Output {
            fn take_outer(&mut self, key: &str, value: Value) -> Result<(), Failure> {
                match key {
                    $($outer_key => self.$outer = $read_outer(key, value)?,)*
                    _ => {}
                }
                Ok(())
            }

            fn take_inner(&mut self, key: &str, value: Value) -> Result<(), Failure> {
                match key {
                    $($inner_key => self.$inner = $read_inner(key, value)?,)*
                    _ => {}
                }
                Ok(())
            }

            /// The names of the fields that were given. `continue` counts only when it is false: true is the default.
            pub(super) fn given(&self) -> Vec<&'static str> {
                let fields = [$(($outer_key, self.$outer.is_some()),)* $(($inner_key, self.$inner.is_some()),)*];
                let goes_on = self.keep_going == Some(true);
                let given = fields.into_iter().filter(|(key, given)| *given && !(goes_on && *key == "continue"));
                given.map(|(key, _)| key).collect()
            }

            /// Removes a field.
            pub(super) fn forget(&mut self, field: &str) {
                match field {
                    $($outer_key => self.$outer = None,)*
                    $($inner_key => self.$inner = None,)*
                    _ => {}
                }
            }
        }
    };
}

fields! {
    outer {
        /// Whether the run may continue.
        keep_going: bool = "continue" by truth,
        /// Why the run may not continue.
        stop_reason: String = "stop_reason" by text_of,
        /// Whether the user sees nothing of the output.
        suppress_output: bool = "suppress_output" by truth,
        /// A line for the user.
        system_message: String = "system_message" by text_of,
        /// `block`, the only decision.
        decision: String = "decision" by text_of,
        /// Why the hook blocks.
        reason: String = "reason" by text_of,
    }
    inner {
        /// `allow`, `ask` or `deny`.
        permission_decision: String = "permission_decision" by text_of,
        /// The reason of the permission decision.
        permission_decision_reason: String = "permission_decision_reason" by text_of,
        /// Arguments that replace those of the call; the others stay.
        updated_input: Map<String, Value> = "updated_input" by object,
        /// Text for the model.
        additional_context: String = "additional_context" by text_of,
        /// Texts for the model, each with a key by which docker-agent knows it again.
        instruction_context: Vec<Value> = "instruction_context" by list,
        /// A summary in place of the model's.
        summary: String = "summary" by text_of,
        /// The messages that replace those of the request.
        updated_messages: Vec<Value> = "updated_messages" by list,
        /// The text that the model sees instead of a tool's output. Unlike elsewhere, an empty text counts: it clears
        /// the output.
        updated_tool_response: String = "updated_tool_response" by any_text,
        /// Facts to show with the question to the user.
        metadata: Map<String, Value> = "metadata" by object,
    }
}

/// The keys by which an action can be refused. A guard that misspells one of them may have meant to refuse.
pub const DECIDING: &[&str] = &[
    "continue",
    "decision",
    "permission_decision",
    "hook_specific_output",
];

/// A parsed answer, with remarks about it.
pub(super) struct Printed {
    pub(super) output: Output,
    /// The event that the answer says it is for.
    pub(super) event: Option<String>,
    /// Keys without a meaning at their position.
    pub(super) unknown: Vec<UnknownKey>,
}

/// A key without a meaning at its position.
pub(super) struct UnknownKey {
    pub(super) name: String,
    /// The key that was probably meant.
    pub(super) hint: String,
    /// Whether the key may have been meant as a refusal.
    pub(super) decides: bool,
}

impl Output {
    /// Reads text that must be exactly one JSON object.
    pub(super) fn read(text: &str) -> Result<Printed, Failure> {
        let value = read_strictly(text).map_err(|error| {
            let detail = format!("standard output begins with `{{` and is not one JSON object: {error}");
            Failure::new(Cause::UnreadableOutput, detail)
        })?;
        let Value::Object(outer) = value else {
            return Err(wrong("an answer is a JSON object"));
        };
        let mut printed = Printed {
            output: Self::default(),
            event: None,
            unknown: Vec::new(),
        };
        let mut inner = None;
        for (key, value) in spelt(outer)? {
            match key.as_str() {
                "hook_specific_output" => inner = object(&key, value)?,
                _ if OUTER.contains(&key.as_str()) => printed.output.take_outer(&key, value)?,
                _ => printed.unknown.push(UnknownKey::new(key, OUTER, INNER)),
            }
        }
        for (key, value) in spelt(inner.unwrap_or_default())? {
            match key.as_str() {
                "hook_event_name" => printed.event = text_of(&key, value)?,
                _ if INNER.contains(&key.as_str()) => printed.output.take_inner(&key, value)?,
                _ => printed.unknown.push(UnknownKey::new(key, INNER, OUTER)),
            }
        }
        // Some hooks say so that they do not block, which is what happens without a word too.
        let consents = |decision: &String| matches!(decision.as_str(), "allow" | "approve");
        printed.output.decision = printed.output.decision.filter(|decision| !consents(decision));
        printed.output.check_words()?;
        Ok(printed)
    }

    /// Checks that the words that decide are known ones.
    pub(super) fn check_words(&self) -> Result<(), Failure> {
        match self.decision.as_deref() {
            None | Some("block") => {}
            Some(other) => return Err(wrong(format!("`decision` is `block` or absent, not `{other}`"))),
        }
        match self.permission_decision.as_deref() {
            None | Some("allow" | "ask" | "deny") => Ok(()),
            Some(other) => Err(wrong(format!(
                "`permission_decision` is allow, ask or deny, not `{other}`"
            ))),
        }
    }
}

impl UnknownKey {
    fn new(name: String, here: &[&'static str], elsewhere: &[&'static str]) -> Self {
        let near = nearest(&name, here.iter().copied());
        let misplaced = elsewhere.iter().find(|known| **known == name).copied();
        let both = nearest(&name, elsewhere.iter().copied()).filter(|_| near.is_none());
        let decides = [near, misplaced, both]
            .into_iter()
            .flatten()
            .any(|key| DECIDING.contains(&key));
        let place = match here == OUTER {
            true => "inside",
            false => "beside",
        };
        let hint = match (misplaced, near, both) {
            (Some(_), ..) => format!("; it stands {place} `hook_specific_output`"),
            (None, Some(near), _) => format!("; did you mean `{near}`?"),
            (None, None, Some(both)) => format!("; did you mean `{both}` {place} `hook_specific_output`?"),
            (None, None, None) => String::new(),
        };
        Self { name, hint, decides }
    }
}

/// The members of an object with their keys in one spelling. A key in two spellings is an error, since either could
/// count.
fn spelt(object: Map<String, Value>) -> Result<Vec<(String, Value)>, Failure> {
    let mut members: Vec<(String, Value)> = Vec::with_capacity(object.len());
    for (key, value) in object {
        let key = snake_case(&key);
        if members.iter().any(|(known, _)| *known == key) {
            return Err(wrong(format!("`{key}` stands there in two spellings")));
        }
        members.push((key, value));
    }
    Ok(members)
}

/// A key in snake_case: `hookSpecificOutput` and `HookSpecificOutput` become `hook_specific_output`; the letters of
/// `SessionID` stay together.
pub(super) fn snake_case(key: &str) -> String {
    let mut spelt = String::with_capacity(key.len() + 4);
    let mut after_lower = false;
    for letter in key.chars() {
        if letter.is_uppercase() && after_lower {
            spelt.push('_');
        }
        after_lower = letter.is_lowercase() || letter.is_ascii_digit();
        spelt.extend(letter.to_lowercase());
    }
    spelt
}

/// An answer of the wrong shape.
pub(super) fn wrong(detail: impl Into<String>) -> Failure {
    Failure::new(Cause::WrongShape, detail)
}

fn text_of(key: &str, value: Value) -> Result<Option<String>, Failure> {
    Ok(any_text(key, value)?.filter(|text| !text.is_empty()))
}

fn any_text(key: &str, value: Value) -> Result<Option<String>, Failure> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        other => Err(wrong(format!("`{key}` is a text, not {other}"))),
    }
}

fn truth(key: &str, value: Value) -> Result<Option<bool>, Failure> {
    match value {
        Value::Null => Ok(None),
        Value::Bool(truth) => Ok(Some(truth)),
        other => Err(wrong(format!("`{key}` is true or false, not {other}"))),
    }
}

fn object(key: &str, value: Value) -> Result<Option<Map<String, Value>>, Failure> {
    match value {
        Value::Null => Ok(None),
        Value::Object(object) => Ok(Some(object)),
        other => Err(wrong(format!("`{key}` is an object, not {other}"))),
    }
}

fn list(key: &str, value: Value) -> Result<Option<Vec<Value>>, Failure> {
    match value {
        Value::Null => Ok(None),
        Value::Array(values) => Ok(Some(values)),
        other => Err(wrong(format!("`{key}` is a list, not {other}"))),
    }
}
