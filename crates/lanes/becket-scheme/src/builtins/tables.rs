//! Hash tables, as a base for libraries. The procedures are named `%table-…`; the libraries define the names that
//! programs use.

use super::arguments::{ProcedureResult, symbol};
use crate::fault::Fault;
use crate::heap::{Heap, Object};
use crate::native::Builtin;
use crate::table::{Sameness, Table};
use crate::value::{ObjectRef, Value};

// tidy: a table
pub const TABLE: &[Builtin] = &[
    Builtin::new("%make-table", 1, 1, |heap, a| {
        let sameness = match heap.name(symbol("make-hash-table", a[0])?) {
            "eqv" => Sameness::Eqv,
            _ => Sameness::Equal,
        };
        Ok(heap.object(Object::Table(Box::new(Table::new(sameness)))))
    }),
    Builtin::new("%table?", 1, 1, |heap, a| {
        Ok(matches!(heap.as_object(a[0]), Some(Object::Table(_))).into())
    }),
    Builtin::new("%table-sameness", 1, 1, |heap, a| {
        let name = match borrowed(heap, a[0])?.sameness {
            Sameness::Eqv => "eqv",
            Sameness::Equal => "equal",
        };
        Ok(heap.symbol(name))
    }),
    // `(%table-ref table key default)`.
    Builtin::new("%table-ref", 3, 3, |heap, a| {
        Ok(borrowed(heap, a[0])?.get(heap, a[1])?.unwrap_or(a[2]))
    }),
    Builtin::new("%table-set!", 3, 3, table_set),
    Builtin::new("%table-delete!", 2, 2, |heap, a| {
        let at = table(heap, a[0])?;
        let known = borrowed(heap, a[0])?;
        let found = known.find(heap, a[1], known.sameness.hash(heap, a[1]))?;
        if let (Some(found), Object::Table(table)) = (found, heap.object_mut(at)) {
            table.remove(found);
        }
        Ok(found.is_some().into())
    }),
    Builtin::new("%table-clear!", 1, 1, |heap, a| {
        let at = table(heap, a[0])?;
        if let Object::Table(table) = heap.object_mut(at) {
            table.clear();
        }
        Ok(Value::Unspecified)
    }),
    Builtin::new("%table-size", 1, 1, |heap, a| {
        Ok(Value::Int(borrowed(heap, a[0])?.len() as i64))
    }),
    Builtin::new("%table-copy", 1, 1, |heap, a| {
        let size = borrowed(heap, a[0])?.outside();
        heap.reserve(size)?;
        let copy = borrowed(heap, a[0])?.clone();
        Ok(heap.object(Object::Table(Box::new(copy))))
    }),
    // Keys and values as a list of pairs, in insertion order.
    Builtin::new("%table->alist", 1, 1, |heap, a| {
        let count = borrowed(heap, a[0])?.len();
        heap.reserve_items(count, 64)?;
        let entries: Vec<(Value, Value)> = borrowed(heap, a[0])?.entries().collect();
        let pairs: Vec<Value> = entries
            .into_iter()
            .map(|(key, value)| heap.cons(key, value))
            .collect();
        Ok(heap.list(&pairs))
    }),
    Builtin::new("%hash-equal", 1, 1, |heap, a| {
        Ok(Value::Int((heap.hash_equal(a[0]) >> 2) as i64))
    }),
    Builtin::new("%hash-eqv", 1, 1, |heap, a| {
        Ok(Value::Int((heap.hash_eqv(a[0]) >> 2) as i64))
    }),
];

fn table(heap: &Heap, value: Value) -> Result<ObjectRef, Fault> {
    match value {
        Value::Object(at) if matches!(heap.object_at(at), Object::Table(_)) => Ok(at),
        other => Err(Fault::misuse("this is not a hash table:", vec![other])),
    }
}

fn borrowed(heap: &Heap, value: Value) -> Result<&Table, Fault> {
    match heap.as_object(value) {
        Some(Object::Table(table)) => Ok(table),
        _ => Err(Fault::misuse("this is not a hash table:", vec![value])),
    }
}

fn table_set(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let at = table(heap, a[0])?;
    let known = borrowed(heap, a[0])?;
    let hash = known.sameness.hash(heap, a[1]);
    let found = known.find(heap, a[1], hash)?;
    if let Object::Table(table) = heap.object_mut(at) {
        table.put(found, hash, a[1], a[2]);
    }
    if found.is_none() {
        heap.charge(128);
    }
    Ok(Value::Unspecified)
}
