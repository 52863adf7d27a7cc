//! The values that Scheme files give to the host's procedures: names, texts and procedures.

use becket_scheme::{Fault, Heap, Style, Value};

/// A name: a symbol or a string.
pub fn word(heap: &Heap, procedure: &str, value: Value) -> Result<String, Fault> {
    match value {
        Value::Symbol(symbol) => Ok(heap.name(symbol).to_owned()),
        Value::String(at) => Ok(heap.text(at).to_string()),
        other => Err(Fault::wrong_type(procedure, "a name", other)),
    }
}

/// The text of a string.
pub fn string(heap: &Heap, procedure: &str, value: Value) -> Result<String, Fault> {
    match value {
        Value::String(_) => heap.show(value, Style::Display),
        other => Err(Fault::wrong_type(procedure, "a string", other)),
    }
}

/// Whether a value is of a kind that can be called.
pub fn is_procedure(value: Value) -> bool {
    matches!(value, Value::Closure(_) | Value::Native(_) | Value::Object(_))
}
