//! Arguments and answers of tools.

use serde_json::{Map, Value, json};

/// The schema of arguments, each with its type and its description; those in `required` must be given.
pub(super) fn schema(properties: &[(&str, &str, &str)], required: &[&str]) -> Value {
    let properties = properties.iter().map(|(name, kind, about)| {
        let kind = match *kind {
            "texts" => json!({"type": "array", "items": {"type": "string"}, "description": about}),
            kind => json!({"type": kind, "description": about}),
        };
        ((*name).to_owned(), kind)
    });
    let properties: Map<String, Value> = properties.collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// A value as the model reads it.
pub(super) fn told(value: &impl serde::Serialize) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}
