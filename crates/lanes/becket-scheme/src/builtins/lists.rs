//! Pairs and lists, symbols, booleans, and equivalence.

use super::arguments::{ProcedureResult, fields, pair, size, symbol, text};
use crate::fault::Fault;
use crate::heap::{Heap, Object};
use crate::native::{Builtin, MANY};
use crate::value::Value;

// tidy: a table
pub const TABLE: &[Builtin] = &[
    Builtin::new("cons", 2, 2, |heap, a| Ok(heap.cons(a[0], a[1]))),
    Builtin::new("car", 1, 1, car),
    Builtin::new("cdr", 1, 1, cdr),
    Builtin::new("caar", 1, 1, |heap, a| path(heap, "caar", "aa", a[0])),
    Builtin::new("cadr", 1, 1, |heap, a| path(heap, "cadr", "ad", a[0])),
    Builtin::new("cdar", 1, 1, |heap, a| path(heap, "cdar", "da", a[0])),
    Builtin::new("cddr", 1, 1, |heap, a| path(heap, "cddr", "dd", a[0])),
    Builtin::new("caaar", 1, 1, |heap, a| path(heap, "caaar", "aaa", a[0])),
    Builtin::new("caadr", 1, 1, |heap, a| path(heap, "caadr", "aad", a[0])),
    Builtin::new("cadar", 1, 1, |heap, a| path(heap, "cadar", "ada", a[0])),
    Builtin::new("caddr", 1, 1, |heap, a| path(heap, "caddr", "add", a[0])),
    Builtin::new("cdaar", 1, 1, |heap, a| path(heap, "cdaar", "daa", a[0])),
    Builtin::new("cdadr", 1, 1, |heap, a| path(heap, "cdadr", "dad", a[0])),
    Builtin::new("cddar", 1, 1, |heap, a| path(heap, "cddar", "dda", a[0])),
    Builtin::new("cdddr", 1, 1, |heap, a| path(heap, "cdddr", "ddd", a[0])),
    Builtin::new("caaaar", 1, 1, |heap, a| path(heap, "caaaar", "aaaa", a[0])),
    Builtin::new("caaadr", 1, 1, |heap, a| path(heap, "caaadr", "aaad", a[0])),
    Builtin::new("caadar", 1, 1, |heap, a| path(heap, "caadar", "aada", a[0])),
    Builtin::new("caaddr", 1, 1, |heap, a| path(heap, "caaddr", "aadd", a[0])),
    Builtin::new("cadaar", 1, 1, |heap, a| path(heap, "cadaar", "adaa", a[0])),
    Builtin::new("cadadr", 1, 1, |heap, a| path(heap, "cadadr", "adad", a[0])),
    Builtin::new("caddar", 1, 1, |heap, a| path(heap, "caddar", "adda", a[0])),
    Builtin::new("cadddr", 1, 1, |heap, a| path(heap, "cadddr", "addd", a[0])),
    Builtin::new("cdaaar", 1, 1, |heap, a| path(heap, "cdaaar", "daaa", a[0])),
    Builtin::new("cdaadr", 1, 1, |heap, a| path(heap, "cdaadr", "daad", a[0])),
    Builtin::new("cdadar", 1, 1, |heap, a| path(heap, "cdadar", "dada", a[0])),
    Builtin::new("cdaddr", 1, 1, |heap, a| path(heap, "cdaddr", "dadd", a[0])),
    Builtin::new("cddaar", 1, 1, |heap, a| path(heap, "cddaar", "ddaa", a[0])),
    Builtin::new("cddadr", 1, 1, |heap, a| path(heap, "cddadr", "ddad", a[0])),
    Builtin::new("cdddar", 1, 1, |heap, a| path(heap, "cdddar", "ddda", a[0])),
    Builtin::new("cddddr", 1, 1, |heap, a| path(heap, "cddddr", "dddd", a[0])),
    Builtin::new("set-car!", 2, 2, |heap, a| {
        heap.pair_mut(pair("set-car!", a[0])?).car = a[1];
        Ok(Value::Unspecified)
    }),
    Builtin::new("set-cdr!", 2, 2, |heap, a| {
        heap.pair_mut(pair("set-cdr!", a[0])?).cdr = a[1];
        Ok(Value::Unspecified)
    }),
    Builtin::new("pair?", 1, 1, |_, a| Ok(matches!(a[0], Value::Pair(_)).into())),
    Builtin::new("null?", 1, 1, |_, a| Ok(a[0].is_nil().into())),
    Builtin::new("list?", 1, 1, |heap, a| {
        Ok(heap.list_length(a[0])?.is_some().into())
    }),
    Builtin::new("list", 0, MANY, |heap, a| Ok(heap.list(a))),
    Builtin::new("cons*", 1, MANY, |heap, a| {
        Ok(heap.list_with_tail(&a[..a.len() - 1], a[a.len() - 1]))
    }),
    Builtin::new("make-list", 1, 2, make_list),
    Builtin::new("length", 1, 1, length),
    Builtin::new("append", 0, MANY, append),
    Builtin::new("reverse", 1, 1, reverse),
    Builtin::new("list-tail", 2, 2, list_tail),
    Builtin::new("list-ref", 2, 2, |heap, a| {
        let rest = list_tail(heap, a)?;
        fields(heap, "list-ref", rest).map(|pair| pair.car)
    }),
    Builtin::new("list-set!", 3, 3, |heap, a| {
        let rest = list_tail(heap, &a[..2])?;
        heap.pair_mut(pair("list-set!", rest)?).car = a[2];
        Ok(Value::Unspecified)
    }),
    Builtin::new("list-copy", 1, 1, list_copy),
    Builtin::new("last-pair", 1, 1, last_pair),
    Builtin::new("memq", 2, 2, |heap, a| member(heap, "memq", a, eq)),
    Builtin::new("memv", 2, 2, |heap, a| member(heap, "memv", a, eqv)),
    Builtin::new("%member", 2, 2, |heap, a| member(heap, "member", a, Heap::equal)),
    Builtin::new("assq", 2, 2, |heap, a| association(heap, "assq", a, eq)),
    Builtin::new("assv", 2, 2, |heap, a| association(heap, "assv", a, eqv)),
    Builtin::new("%assoc", 2, 2, |heap, a| {
        association(heap, "assoc", a, Heap::equal)
    }),
    Builtin::new("eq?", 2, 2, |_, a| Ok(a[0].is(a[1]).into())),
    Builtin::new("eqv?", 2, 2, |heap, a| Ok(heap.eqv(a[0], a[1]).into())),
    Builtin::new("equal?", 2, 2, |heap, a| Ok(heap.equal(a[0], a[1])?.into())),
    Builtin::new("not", 1, 1, |_, a| Ok((!a[0].is_true()).into())),
    Builtin::new("boolean?", 1, 1, |_, a| Ok(matches!(a[0], Value::Bool(_)).into())),
    Builtin::new("boolean=?", 2, MANY, |_, a| {
        same(a, |value| match value {
            Value::Bool(value) => Ok(*value),
            other => Err(Fault::wrong_type("boolean=?", "a boolean", *other)),
        })
    }),
    Builtin::new(
        "symbol?",
        1,
        1,
        |_, a| Ok(matches!(a[0], Value::Symbol(_)).into()),
    ),
    Builtin::new("symbol=?", 2, MANY, |_, a| {
        same(a, |value| symbol("symbol=?", *value))
    }),
    Builtin::new("symbol->string", 1, 1, |heap, a| {
        let name = heap.name(symbol("symbol->string", a[0])?).to_owned();
        Ok(heap.string(name))
    }),
    Builtin::new("string->symbol", 1, 1, |heap, a| {
        heap.check_permanent()?;
        let name = text(heap, "string->symbol", a[0])?.to_string();
        Ok(heap.symbol(&name))
    }),
    Builtin::new("procedure?", 1, 1, |heap, a| Ok(is_procedure(heap, a[0]).into())),
    Builtin::new("default-object?", 1, 1, |_, a| {
        Ok(matches!(a[0], Value::Absent).into())
    }),
];

/// The equivalence by which two values are compared.
type Same = fn(&Heap, Value, Value) -> Result<bool, Fault>;

fn eq(_: &Heap, a: Value, b: Value) -> Result<bool, Fault> {
    Ok(a.is(b))
}

fn eqv(heap: &Heap, a: Value, b: Value) -> Result<bool, Fault> {
    Ok(heap.eqv(a, b))
}

/// Whether a value can be called.
pub fn is_procedure(heap: &Heap, value: Value) -> bool {
    match value {
        Value::Closure(_) | Value::Native(_) => true,
        _ => matches!(
            heap.as_object(value),
            Some(Object::Continuation(_) | Object::Parameter { .. } | Object::RecordProcedure(_))
        ),
    }
}

fn same<T: PartialEq>(values: &[Value], read: impl Fn(&Value) -> Result<T, Fault>) -> ProcedureResult {
    let values = values.iter().map(read).collect::<Result<Vec<T>, Fault>>()?;
    Ok(values.windows(2).all(|two| two[0] == two[1]).into())
}

pub fn car(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    fields(heap, "car", a[0]).map(|pair| pair.car)
}

pub fn cdr(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    fields(heap, "cdr", a[0]).map(|pair| pair.cdr)
}

fn path(heap: &Heap, procedure: &str, path: &str, value: Value) -> ProcedureResult {
    path.bytes().rev().try_fold(value, |value, step| {
        let pair = fields(heap, procedure, value)?;
        Ok(if step == b'a' { pair.car } else { pair.cdr })
    })
}

fn make_list(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let count = size("make-list", a[0])?;
    heap.reserve_items(count, 32)?;
    let fill = a.get(1).copied().unwrap_or(Value::Unspecified);
    Ok((0..count).fold(Value::Nil, |rest, _| heap.cons(fill, rest)))
}

fn length(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    match heap.list_length(a[0])? {
        Some(length) => Ok(Value::Int(length as i64)),
        None => Err(Fault::wrong_type("length", "a list", a[0])),
    }
}

fn append(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let Some((last, lists)) = a.split_last() else {
        return Ok(Value::Nil);
    };
    let mut items = Vec::new();
    for list in lists {
        items.extend(heap.proper_list("append", *list)?);
        heap.reserve_items(items.len(), 32)?;
    }
    Ok(heap.list_with_tail(&items, *last))
}

fn reverse(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let items = heap.proper_list("reverse", a[0])?;
    heap.reserve_items(items.len(), 32)?;
    Ok(items
        .into_iter()
        .fold(Value::Nil, |rest, item| heap.cons(item, rest)))
}

fn list_tail(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let count = size("list-tail", a[1])?;
    let mut rest = a[0];
    for _ in 0..count {
        match rest {
            Value::Pair(at) => {
                heap.spend(1)?;
                rest = heap.pair(at).cdr;
            }
            _ => {
                return Err(Fault::misuse(
                    "list-tail: the list is too short",
                    vec![a[0], a[1]],
                ));
            }
        }
    }
    Ok(rest)
}

fn list_copy(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let mut list = heap.list_items(a[0]);
    let items: Vec<Value> = list.by_ref().collect();
    let rest = list.rest;
    heap.spend(items.len())?;
    if matches!(rest, Value::Pair(_)) {
        return Err(Fault::wrong_type(
            "list-copy",
            "a list that ends",
            Value::Unspecified,
        ));
    }
    heap.reserve_items(items.len(), 32)?;
    Ok(heap.list_with_tail(&items, rest))
}

fn last_pair(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    pair("last-pair", a[0])?;
    let mut list = heap.list_items(a[0]);
    let mut last = a[0];
    while let Some(at) = list.next_pair() {
        heap.spend(1)?;
        last = Value::Pair(at);
    }
    Ok(last)
}

fn member(heap: &Heap, name: &str, a: &[Value], same: Same) -> ProcedureResult {
    let mut list = heap.list_items(a[1]);
    while let Some(at) = list.next_pair() {
        heap.spend(1)?;
        if same(heap, a[0], heap.pair(at).car)? {
            return Ok(Value::Pair(at));
        }
    }
    end_of_list(name, list.rest, a[1])
}

fn association(heap: &Heap, name: &str, a: &[Value], same: Same) -> ProcedureResult {
    let mut list = heap.list_items(a[1]);
    for item in list.by_ref() {
        let Value::Pair(at) = item else {
            return Err(Fault::misuse(
                format!("{name}: this is in the list and no pair:"),
                vec![item],
            ));
        };
        heap.spend(1)?;
        if same(heap, a[0], heap.pair(at).car)? {
            return Ok(item);
        }
    }
    end_of_list(name, list.rest, a[1])
}

/// The answer of a search that found nothing, or an error if the list was not a proper one.
fn end_of_list(name: &str, rest: Value, list: Value) -> ProcedureResult {
    if rest.is_nil() {
        Ok(Value::Bool(false))
    } else {
        Err(Fault::wrong_type(name, "a list", list))
    }
}
