//! Reading the arguments of procedures in Rust, with the errors that all procedures share.

use crate::fault::Fault;
use crate::heap::{Heap, Object, Pair};
use crate::text::Text;
use crate::value::{ObjectRef, PairRef, StringRef, Symbol, Value, VectorRef};

/// The answer of a procedure.
pub type ProcedureResult = Result<Value, Fault>;

pub fn pair(procedure: &str, value: Value) -> Result<PairRef, Fault> {
    match value {
        Value::Pair(at) => Ok(at),
        other => Err(Fault::wrong_type(procedure, "a pair", other)),
    }
}

pub fn fields(heap: &Heap, procedure: &str, value: Value) -> Result<Pair, Fault> {
    pair(procedure, value).map(|at| heap.pair(at))
}

pub fn string(procedure: &str, value: Value) -> Result<StringRef, Fault> {
    match value {
        Value::String(at) => Ok(at),
        other => Err(Fault::wrong_type(procedure, "a string", other)),
    }
}

pub fn text<'h>(heap: &'h Heap, procedure: &str, value: Value) -> Result<&'h Text, Fault> {
    string(procedure, value).map(|at| heap.text(at))
}

pub fn vector(procedure: &str, value: Value) -> Result<VectorRef, Fault> {
    match value {
        Value::Vector(at) => Ok(at),
        other => Err(Fault::wrong_type(procedure, "a vector", other)),
    }
}

pub fn symbol(procedure: &str, value: Value) -> Result<Symbol, Fault> {
    match value {
        Value::Symbol(symbol) => Ok(symbol),
        other => Err(Fault::wrong_type(procedure, "a symbol", other)),
    }
}

pub fn character(procedure: &str, value: Value) -> Result<char, Fault> {
    match value {
        Value::Char(value) => Ok(value),
        other => Err(Fault::wrong_type(procedure, "a character", other)),
    }
}

pub fn bytes(heap: &Heap, procedure: &str, value: Value) -> Result<ObjectRef, Fault> {
    match value {
        Value::Object(at) if matches!(heap.object_at(at), Object::Bytes(_)) => Ok(at),
        other => Err(Fault::wrong_type(procedure, "a bytevector", other)),
    }
}

pub fn byte(procedure: &str, value: Value) -> Result<u8, Fault> {
    match value {
        Value::Int(word) => u8::try_from(word).map_err(|_| Fault::wrong_type(procedure, "a byte", value)),
        other => Err(Fault::wrong_type(procedure, "a byte", other)),
    }
}

/// Reads a count or a size.
pub fn size(procedure: &str, value: Value) -> Result<usize, Fault> {
    let word = match value {
        Value::Int(word) => usize::try_from(word).ok(),
        Value::Float(float) if float.fract() == 0.0 && (0.0..1e15).contains(&float) => Some(float as usize),
        _ => None,
    };
    word.ok_or_else(|| Fault::wrong_type(procedure, "a size", value))
}

/// Reads an index below a length.
pub fn index(procedure: &str, value: Value, length: usize) -> Result<usize, Fault> {
    match value {
        Value::Int(word) => match usize::try_from(word) {
            Ok(index) if index < length => Ok(index),
            _ => Err(Fault::out_of_range(procedure, value, length)),
        },
        other => Err(Fault::wrong_type(procedure, "an index", other)),
    }
}

/// Reads the part of a sequence that two optional arguments give.
pub fn range(
    procedure: &str,
    arguments: &[Value],
    first: usize,
    length: usize,
) -> Result<(usize, usize), Fault> {
    let bound = |at: usize, other: usize| match arguments.get(at) {
        None | Some(Value::Absent) => Ok(other),
        Some(value) => index(procedure, *value, length + 1),
    };
    let (start, end) = (bound(first, 0)?, bound(first + 1, length)?);
    if start > end {
        let bounds = vec![arguments[first], arguments[first + 1]];
        return Err(Fault::misuse(
            format!("{procedure}: the end is before the start"),
            bounds,
        ));
    }
    Ok((start, end))
}
