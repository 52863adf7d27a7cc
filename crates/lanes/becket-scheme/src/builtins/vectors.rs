//! Vectors and bytevectors.

use super::arguments::{ProcedureResult, byte, bytes, index, range, size, text, vector};
use crate::fault::Fault;
use crate::heap::{Heap, Object};
use crate::native::{Builtin, MANY};
use crate::text::Text;
use crate::value::{ObjectRef, Value};

// tidy: a table
pub const TABLE: &[Builtin] = &[
    Builtin::new(
        "vector?",
        1,
        1,
        |_, a| Ok(matches!(a[0], Value::Vector(_)).into()),
    ),
    Builtin::new("make-vector", 1, 2, |heap, a| {
        let count = size("make-vector", a[0])?;
        heap.reserve_items(count, size_of::<Value>())?;
        Ok(heap.vector(vec![a.get(1).copied().unwrap_or(Value::Bool(false)); count]))
    }),
    Builtin::new("vector", 0, MANY, |heap, a| Ok(heap.vector(a.to_vec()))),
    Builtin::new("vector-length", 1, 1, |heap, a| {
        Ok(Value::Int(heap.items(vector("vector-length", a[0])?).len() as i64))
    }),
    Builtin::new("vector-ref", 2, 2, vector_ref),
    Builtin::new("vector-set!", 3, 3, vector_set),
    Builtin::new("vector->list", 1, 3, |heap, a| {
        let items = slice(heap, "vector->list", a)?;
        heap.reserve_items(items.len(), 32)?;
        Ok(heap.list(&items))
    }),
    Builtin::new("list->vector", 1, 1, |heap, a| {
        let items = heap.proper_list("list->vector", a[0])?;
        heap.reserve_items(items.len(), 16)?;
        Ok(heap.vector(items))
    }),
    Builtin::new("vector->string", 1, 3, |heap, a| {
        let items = slice(heap, "vector->string", a)?;
        let one = |item: &Value| super::arguments::character("vector->string", *item);
        let text: Text = items.iter().map(one).collect::<Result<_, _>>()?;
        Ok(heap.string(text))
    }),
    Builtin::new("vector-copy", 1, 3, |heap, a| {
        let items = slice(heap, "vector-copy", a)?;
        heap.reserve_items(items.len(), 16)?;
        Ok(heap.vector(items))
    }),
    Builtin::new("vector-copy!", 3, 5, vector_copy_to),
    Builtin::new("vector-append", 0, MANY, |heap, a| {
        let mut all = Vec::new();
        for value in a {
            all.extend_from_slice(heap.items(vector("vector-append", *value)?));
            heap.reserve_items(all.len(), 16)?;
        }
        Ok(heap.vector(all))
    }),
    Builtin::new("vector-fill!", 2, 4, |heap, a| {
        let at = vector("vector-fill!", a[0])?;
        let (start, end) = range("vector-fill!", a, 2, heap.items(at).len())?;
        heap.spend(end - start)?;
        heap.items_mut(at)[start..end].fill(a[1]);
        Ok(Value::Unspecified)
    }),
    Builtin::new("bytevector?", 1, 1, |heap, a| {
        Ok(matches!(heap.as_object(a[0]), Some(Object::Bytes(_))).into())
    }),
    Builtin::new("make-bytevector", 1, 2, |heap, a| {
        let count = size("make-bytevector", a[0])?;
        let fill = a.get(1).map_or(Ok(0), |fill| byte("make-bytevector", *fill))?;
        heap.reserve(count)?;
        Ok(heap.object(Object::Bytes(vec![fill; count])))
    }),
    Builtin::new("bytevector", 0, MANY, |heap, a| {
        let all = a
            .iter()
            .map(|value| byte("bytevector", *value))
            .collect::<Result<_, _>>()?;
        Ok(heap.object(Object::Bytes(all)))
    }),
    Builtin::new("bytevector-length", 1, 1, |heap, a| {
        let at = bytes(heap, "bytevector-length", a[0])?;
        Ok(Value::Int(heap.bytes_at(at).len() as i64))
    }),
    Builtin::new("bytevector-u8-ref", 2, 2, |heap, a| {
        let at = bytes(heap, "bytevector-u8-ref", a[0])?;
        let all = heap.bytes_at(at);
        let index = index("bytevector-u8-ref", a[1], all.len())?;
        Ok(Value::Int(i64::from(all[index])))
    }),
    Builtin::new("bytevector-u8-set!", 3, 3, |heap, a| {
        let at = bytes(heap, "bytevector-u8-set!", a[0])?;
        let index = index("bytevector-u8-set!", a[1], heap.bytes_at(at).len())?;
        let value = byte("bytevector-u8-set!", a[2])?;
        heap.bytes_mut(at)[index] = value;
        Ok(Value::Unspecified)
    }),
    Builtin::new("bytevector-copy", 1, 3, |heap, a| {
        let part = byte_slice(heap, "bytevector-copy", a)?;
        heap.reserve(part.len())?;
        Ok(heap.object(Object::Bytes(part)))
    }),
    Builtin::new("bytevector-copy!", 3, 5, byte_copy_to),
    Builtin::new("bytevector-append", 0, MANY, |heap, a| {
        let mut all = Vec::new();
        for value in a {
            all.extend_from_slice(heap.bytes_at(bytes(heap, "bytevector-append", *value)?));
            heap.reserve(all.len())?;
        }
        Ok(heap.object(Object::Bytes(all)))
    }),
    Builtin::new("bytevector-fill!", 2, 4, |heap, a| {
        let at = bytes(heap, "bytevector-fill!", a[0])?;
        let fill = byte("bytevector-fill!", a[1])?;
        let (start, end) = range("bytevector-fill!", a, 2, heap.bytes_at(at).len())?;
        heap.spend((end - start) / 16)?;
        heap.bytes_mut(at)[start..end].fill(fill);
        Ok(Value::Unspecified)
    }),
    Builtin::new("utf8->string", 1, 3, |heap, a| {
        let part = byte_slice(heap, "utf8->string", a)?;
        match String::from_utf8(part) {
            Ok(text) => {
                heap.reserve_items(text.len(), 4)?;
                Ok(heap.string(text))
            }
            Err(_) => Err(Fault::misuse("utf8->string: these bytes are no text", vec![a[0]])),
        }
    }),
    Builtin::new("string->utf8", 1, 3, |heap, a| {
        let text = text(heap, "string->utf8", a[0])?;
        let (start, end) = range("string->utf8", a, 1, text.len())?;
        let part = text.slice(start, end).to_string().into_bytes();
        heap.reserve(part.len())?;
        Ok(heap.object(Object::Bytes(part)))
    }),
];

impl Heap {
    /// The bytes of a bytevector; empty for any other value.
    pub fn bytes_at(&self, at: ObjectRef) -> &[u8] {
        match self.object_at(at) {
            Object::Bytes(bytes) => bytes,
            _ => &[],
        }
    }

    pub(crate) fn bytes_mut(&mut self, at: ObjectRef) -> &mut [u8] {
        match self.object_mut(at) {
            Object::Bytes(bytes) => bytes,
            _ => &mut [],
        }
    }
}

pub fn vector_ref(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let items = heap.items(vector("vector-ref", a[0])?);
    Ok(items[index("vector-ref", a[1], items.len())?])
}

pub fn vector_set(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let items = heap.items_mut(vector("vector-set!", a[0])?);
    items[index("vector-set!", a[1], items.len())?] = a[2];
    Ok(Value::Unspecified)
}

fn slice(heap: &Heap, name: &str, a: &[Value]) -> Result<Vec<Value>, Fault> {
    let items = heap.items(vector(name, a[0])?);
    let (start, end) = range(name, a, 1, items.len())?;
    heap.spend(end - start)?;
    Ok(items[start..end].to_vec())
}

fn byte_slice(heap: &Heap, name: &str, a: &[Value]) -> Result<Vec<u8>, Fault> {
    let all = heap.bytes_at(bytes(heap, name, a[0])?);
    let (start, end) = range(name, a, 1, all.len())?;
    heap.spend((end - start) / 16)?;
    Ok(all[start..end].to_vec())
}

/// `(vector-copy! to at from start end)`.
fn vector_copy_to(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let to = vector("vector-copy!", a[0])?;
    let part = slice_of(heap, "vector-copy!", a)?;
    let length = heap.items(to).len();
    let at = index("vector-copy!", a[1], length + 1)?;
    if part.len() > length - at {
        return Err(Fault::misuse(
            "vector-copy!: there is no room for so much",
            vec![a[1]],
        ));
    }
    heap.items_mut(to)[at..at + part.len()].copy_from_slice(&part);
    Ok(Value::Unspecified)
}

fn slice_of(heap: &Heap, name: &str, a: &[Value]) -> Result<Vec<Value>, Fault> {
    let items = heap.items(vector(name, a[2])?);
    let (start, end) = range(name, a, 3, items.len())?;
    heap.spend(end - start)?;
    Ok(items[start..end].to_vec())
}

/// `(bytevector-copy! to at from start end)`.
fn byte_copy_to(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let to = bytes(heap, "bytevector-copy!", a[0])?;
    let from = heap.bytes_at(bytes(heap, "bytevector-copy!", a[2])?);
    let (start, end) = range("bytevector-copy!", a, 3, from.len())?;
    let part = from[start..end].to_vec();
    let length = heap.bytes_at(to).len();
    let at = index("bytevector-copy!", a[1], length + 1)?;
    if part.len() > length - at {
        return Err(Fault::misuse(
            "bytevector-copy!: there is no room for so much",
            vec![a[1]],
        ));
    }
    heap.bytes_mut(to)[at..at + part.len()].copy_from_slice(&part);
    Ok(Value::Unspecified)
}
