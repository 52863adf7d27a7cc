//! `(tein json)`: JSON text as data and back, by the rules of [`json`](crate::json).

use crate::builtins::arguments::{ProcedureResult, text};
use crate::fault::Fault;
use crate::heap::Heap;
use crate::library::Module;
use crate::native::Builtin;
use crate::value::Value;

const TABLE: &[Builtin] = &[
    Builtin::new("json-parse", 1, 1, parse),
    Builtin::new("json-stringify", 1, 1, stringify),
];

pub fn module() -> Module {
    Module::new("(tein json)", &[], TABLE, "")
}

fn parse(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let text = text(heap, "json-parse", a[0])?.to_string();
    // A value in the heap is larger than its text by a known factor.
    heap.reserve_items(text.len(), 32)?;
    match serde_json::from_str(&text) {
        Ok(json) => Ok(heap.from_json(&json)),
        Err(error) => Err(Fault::misuse(format!("json-parse: {error}"), Vec::new())),
    }
}

fn stringify(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let json = heap.to_json(a[0])?.to_string();
    heap.reserve(json.len())?;
    Ok(heap.string(json))
}
