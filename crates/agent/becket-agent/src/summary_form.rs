//! The form of a summary: a field of a JSON object, where the model's provider has answers by a schema. The model then
//! writes the summary and nothing around it: no greeting, no remark that follows.
//!
//! An answer in another form is the summary as it is: servers may ignore the schema, and hooks may answer with text.

use std::sync::{Arc, LazyLock};

use becket_events::Message;
use serde_json::{Value, json};

/// The field that holds the summary.
const FIELD: &str = "summary";

static SCHEMA: LazyLock<Arc<Value>> = LazyLock::new(|| {
    Arc::new(json!({
        "type": "object",
        "properties": {
            FIELD: {"type": "string", "description": "The whole summary, as long as it needs to be, with line breaks."}
        },
        "required": [FIELD],
        "additionalProperties": false
    }))
});

/// The schema of an answer that is a summary.
pub(crate) fn schema() -> Arc<Value> {
    Arc::clone(&SCHEMA)
}

/// The summary in an answer. It is empty if the model wrote none.
pub(crate) fn read(answer: &Message) -> String {
    // The arguments of a forced call are the answer; text beside it is not.
    let text = match answer.tool_calls() {
        [only] => only.arguments.clone(),
        _ => answer.text(),
    };
    let fields = serde_json::from_str::<Value>(&text).ok();
    let summary = fields.as_ref().and_then(|fields| fields.get(FIELD)?.as_str());
    summary.unwrap_or(&text).trim().to_owned()
}
