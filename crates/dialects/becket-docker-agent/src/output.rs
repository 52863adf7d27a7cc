//! What a docker-agent hook prints, in either spelling of its keys.

use becket_hooks::{Cause, Failure, nearest, read_strictly};
use serde_json::{Map, Value};

/// The fields of an answer. Absent ones are `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Output {
    /// Whether the run may go on.
    pub keep_going: Option<bool>,
    /// Why it may not.
    pub stop_reason: Option<String>,
    /// Nothing of the output is shown.
    pub suppress_output: Option<bool>,
    /// A line for the person.
    pub system_message: Option<String>,
    /// `block`, and nothing else.
    pub decision: Option<String>,
    /// Why it blocks.
    pub reason: Option<String>,
    /// `allow`, `ask` or `deny`.
    pub permission_decision: Option<String>,
    /// Why.
    pub permission_decision_reason: Option<String>,
    /// Arguments that replace those of the call; the others stay.
    pub updated_input: Option<Map<String, Value>>,
    /// Text for the model.
    pub additional_context: Option<String>,
    /// A summary in place of the model's.
    pub summary: Option<String>,
    /// The messages of the request.
    pub updated_messages: Option<Vec<Value>>,
    /// What the model sees of a tool's output.
    pub updated_tool_response: Option<String>,
    /// Facts to show with the question.
    pub metadata: Option<Map<String, Value>>,
}

/// The keys of an answer.
pub(super) const OUTER: &[&str] = &[
    "continue",
    "stop_reason",
    "suppress_output",
    "system_message",
    "decision",
    "reason",
    "hook_specific_output",
];

/// The keys of `hook_specific_output`.
pub(super) const INNER: &[&str] = &[
    "hook_event_name",
    "permission_decision",
    "permission_decision_reason",
    "updated_input",
    "additional_context",
    "summary",
    "updated_messages",
    "updated_tool_response",
    "metadata",
];

/// The keys by which an action can be refused. A guard that misspells one of them may have meant to.
pub const DECIDING: &[&str] = &[
    "continue",
    "decision",
    "permission_decision",
    "hook_specific_output",
];

/// An answer that was read, with what was odd about it.
pub(super) struct Printed {
    pub(super) output: Output,
    /// The event that the answer says it is for.
    pub(super) event: Option<String>,
    /// Keys that mean nothing where they stand.
    pub(super) unknown: Vec<UnknownKey>,
}

/// A key that means nothing where it stands.
pub(super) struct UnknownKey {
    pub(super) name: String,
    /// What was probably meant.
    pub(super) hint: String,
    /// Whether it may have been meant as a refusal.
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
        printed.output.check_words()?;
        Ok(printed)
    }

    fn take_outer(&mut self, key: &str, value: Value) -> Result<(), Failure> {
        match key {
            "continue" => self.keep_going = truth(key, value)?,
            "stop_reason" => self.stop_reason = text_of(key, value)?,
            "suppress_output" => self.suppress_output = truth(key, value)?,
            "system_message" => self.system_message = text_of(key, value)?,
            "decision" => self.decision = text_of(key, value)?,
            _ => self.reason = text_of(key, value)?,
        }
        Ok(())
    }

    fn take_inner(&mut self, key: &str, value: Value) -> Result<(), Failure> {
        match key {
            "permission_decision" => self.permission_decision = text_of(key, value)?,
            "permission_decision_reason" => self.permission_decision_reason = text_of(key, value)?,
            "updated_input" => self.updated_input = object(key, value)?,
            "additional_context" => self.additional_context = text_of(key, value)?,
            "summary" => self.summary = text_of(key, value)?,
            "updated_messages" => self.updated_messages = list(key, value)?,
            // Here the empty text means something: the output is cleared.
            "updated_tool_response" => self.updated_tool_response = any_text(key, value)?,
            _ => self.metadata = object(key, value)?,
        }
        Ok(())
    }

    /// Whether the words that decide are ones that there are.
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

    /// The fields that were given, by their names. `continue` counts when it is false: true is what happens anyway.
    pub(super) fn given(&self) -> Vec<&'static str> {
        let fields = [
            ("continue", self.keep_going == Some(false)),
            ("stop_reason", self.stop_reason.is_some()),
            ("suppress_output", self.suppress_output.is_some()),
            ("system_message", self.system_message.is_some()),
            ("decision", self.decision.is_some()),
            ("reason", self.reason.is_some()),
            ("permission_decision", self.permission_decision.is_some()),
            (
                "permission_decision_reason",
                self.permission_decision_reason.is_some(),
            ),
            ("updated_input", self.updated_input.is_some()),
            ("additional_context", self.additional_context.is_some()),
            ("summary", self.summary.is_some()),
            ("updated_messages", self.updated_messages.is_some()),
            ("updated_tool_response", self.updated_tool_response.is_some()),
            ("metadata", self.metadata.is_some()),
        ];
        let given = fields.into_iter().filter(|(_, given)| *given);
        given.map(|(name, _)| name).collect()
    }

    /// Takes a field away.
    pub(super) fn forget(&mut self, field: &str) {
        match field {
            "continue" => self.keep_going = None,
            "stop_reason" => self.stop_reason = None,
            "decision" => self.decision = None,
            "reason" => self.reason = None,
            "permission_decision" => self.permission_decision = None,
            "permission_decision_reason" => self.permission_decision_reason = None,
            "updated_input" => self.updated_input = None,
            "additional_context" => self.additional_context = None,
            "summary" => self.summary = None,
            "updated_messages" => self.updated_messages = None,
            "updated_tool_response" => self.updated_tool_response = None,
            "metadata" => self.metadata = None,
            _ => {}
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

/// The members of an object with their keys in one spelling. A key in two spellings would leave it open which counts.
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

/// `hookSpecificOutput` and `HookSpecificOutput` as `hook_specific_output`; the letters of `SessionID` stay together.
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
