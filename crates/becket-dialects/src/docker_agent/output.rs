//! What a docker-agent hook prints, in either spelling of its keys.

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
