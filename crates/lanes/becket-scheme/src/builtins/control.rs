//! Values, conditions, promises, parameters, records, the time, and procedures about the machine itself.

use std::time::{SystemTime, UNIX_EPOCH};

use super::arguments::{ProcedureResult, size, symbol, text};
use crate::expand::FEATURES;
use crate::fault::{Continuable, ErrorKind, Fault};
use crate::heap::{ErrorObject, Heap, Object, RecordProcedure, RecordType};
use crate::native::{Builtin, Control, MANY};
use crate::value::{ObjectRef, Value};

// tidy: a table
pub const TABLE: &[Builtin] = &[
    Builtin::control("apply", 1, MANY, Control::Apply),
    Builtin::control("%apply-values", 2, 2, Control::ApplyValues),
    Builtin::control("%call/cc", 1, 1, Control::CallCc),
    Builtin::control("%reinstate", 2, 2, Control::Reinstate),
    Builtin::control("eval", 1, 2, Control::Eval),
    Builtin::control("environment", 0, MANY, Control::Environment),
    Builtin::control("%inspect", 1, 2, Control::Inspect),
    Builtin::new("values", 0, MANY, |heap, a| match a {
        [one] => Ok(*one),
        _ => Ok(heap.object(Object::Values(a.to_vec()))),
    }),
    Builtin::new("interaction-environment", 0, 0, |heap, _| {
        let environment = heap.interaction;
        Ok(heap.object(Object::Environment(environment)))
    }),
    Builtin::new("%winds", 0, 0, |heap, _| Ok(heap.dynamic.winds)),
    Builtin::new("%set-winds!", 1, 1, |heap, a| {
        heap.dynamic.winds = a[0];
        Ok(Value::Unspecified)
    }),
    Builtin::new("%handlers", 0, 0, |heap, _| Ok(heap.dynamic.handlers)),
    Builtin::new("%set-handlers!", 1, 1, |heap, a| {
        heap.dynamic.handlers = a[0];
        Ok(Value::Unspecified)
    }),
    Builtin::new("%parameters", 0, 0, |heap, _| Ok(heap.dynamic.parameters)),
    Builtin::new("%set-parameters!", 1, 1, |heap, a| {
        heap.dynamic.parameters = a[0];
        Ok(Value::Unspecified)
    }),
    Builtin::new("%continuation-winds", 1, 1, |heap, a| {
        match heap.as_object(a[0]) {
            Some(Object::Continuation(continuation)) => Ok(continuation.dynamic.winds),
            _ => Err(Fault::wrong_type("%continuation-winds", "a continuation", a[0])),
        }
    }),
    Builtin::new("raise", 1, 1, |_, a| Err(Fault::Raise(a[0], Continuable::No))),
    Builtin::new("raise-continuable", 1, 1, |_, a| {
        Err(Fault::Raise(a[0], Continuable::Yes))
    }),
    Builtin::new("error", 1, MANY, |heap, a| {
        let irritants = heap.list(&a[1..]);
        let error = ErrorObject {
            kind: ErrorKind::User,
            message: a[0],
            irritants,
            place: None,
        };
        let error = heap.object(Object::Error(Box::new(error)));
        Err(Fault::Raise(error, Continuable::No))
    }),
    Builtin::new("%not-continuable", 1, 1, |_, a| {
        Err(Fault::misuse(
            "a handler returned from something that is not continuable:",
            vec![a[0]],
        ))
    }),
    Builtin::new("error-object?", 1, 1, |heap, a| {
        Ok(error(heap, a[0]).is_some().into())
    }),
    Builtin::new("error-object-message", 1, 1, |heap, a| match error(heap, a[0]) {
        Some(error) => Ok(error.message),
        None => Err(Fault::wrong_type("error-object-message", "an error", a[0])),
    }),
    Builtin::new("error-object-irritants", 1, 1, |heap, a| {
        match error(heap, a[0]) {
            Some(error) => Ok(error.irritants),
            None => Err(Fault::wrong_type("error-object-irritants", "an error", a[0])),
        }
    }),
    Builtin::new("read-error?", 1, 1, |heap, a| {
        is_error(heap, a[0], ErrorKind::Read)
    }),
    Builtin::new("file-error?", 1, 1, |heap, a| {
        is_error(heap, a[0], ErrorKind::File)
    }),
    Builtin::new("emergency-exit", 0, 1, |_, a| {
        Err(Fault::Exit(a.first().copied().unwrap_or(Value::Bool(true))))
    }),
    Builtin::new("promise?", 1, 1, |heap, a| {
        Ok(matches!(heap.as_object(a[0]), Some(Object::Promise(_))).into())
    }),
    Builtin::new("make-promise", 1, 1, |heap, a| match heap.as_object(a[0]) {
        Some(Object::Promise(_)) => Ok(a[0]),
        _ => {
            let content = heap.cons(Value::Bool(true), a[0]);
            Ok(heap.object(Object::Promise(content)))
        }
    }),
    Builtin::new("%delay-force", 1, 1, |heap, a| {
        let content = heap.cons(Value::Bool(false), a[0]);
        Ok(heap.object(Object::Promise(content)))
    }),
    Builtin::new("%promise-content", 1, 1, |heap, a| match heap.as_object(a[0]) {
        Some(Object::Promise(content)) => Ok(*content),
        _ => Err(Fault::wrong_type("force", "a promise", a[0])),
    }),
    Builtin::new("%set-promise-content!", 2, 2, |heap, a| {
        if let Value::Object(at) = a[0]
            && let Object::Promise(content) = heap.object_mut(at)
        {
            *content = a[1];
        }
        Ok(Value::Unspecified)
    }),
    Builtin::new("%make-parameter", 2, 2, |heap, a| {
        Ok(heap.object(Object::Parameter {
            value: a[0],
            converter: a[1],
        }))
    }),
    Builtin::new("%parameter-converter", 1, 1, |heap, a| {
        match heap.as_object(a[0]) {
            Some(Object::Parameter { converter, .. }) => Ok(*converter),
            _ => Err(Fault::wrong_type("parameterize", "a parameter", a[0])),
        }
    }),
    Builtin::new("%make-record-type", 2, 2, make_record_type),
    Builtin::new("%record-constructor", 2, 2, |heap, a| {
        let (kind, fields) = record_type(heap, a[0])?;
        let order = heap.proper_list("%record-constructor", a[1])?;
        let order = order
            .iter()
            .map(|index| size("%record-constructor", *index))
            .collect::<Result<_, _>>()?;
        Ok(procedure(
            heap,
            RecordProcedure::Constructor { kind, order, fields },
        ))
    }),
    Builtin::new("%record-predicate", 1, 1, |heap, a| {
        let (kind, _) = record_type(heap, a[0])?;
        Ok(procedure(heap, RecordProcedure::Predicate { kind }))
    }),
    Builtin::new("%record-accessor", 2, 2, |heap, a| {
        let ((kind, _), field) = (record_type(heap, a[0])?, size("%record-accessor", a[1])?);
        Ok(procedure(heap, RecordProcedure::Accessor { kind, field }))
    }),
    Builtin::new("%record-modifier", 2, 2, |heap, a| {
        let ((kind, _), field) = (record_type(heap, a[0])?, size("%record-modifier", a[1])?);
        Ok(procedure(heap, RecordProcedure::Modifier { kind, field }))
    }),
    Builtin::new("features", 0, 0, |heap, _| {
        let names: Vec<Value> = FEATURES.iter().map(|name| heap.symbol(name)).collect();
        Ok(heap.list(&names))
    }),
    Builtin::new("current-second", 0, 0, |_, _| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Value::Float(since.as_secs_f64()))
    }),
    Builtin::new("current-jiffy", 0, 0, |heap, _| {
        Ok(Value::Int(heap.started.elapsed().as_micros() as i64))
    }),
    Builtin::new("jiffies-per-second", 0, 0, |_, _| Ok(Value::Int(1_000_000))),
    Builtin::new("command-line", 0, 0, |heap, _| {
        let words = heap.process.arguments.clone();
        let words: Vec<Value> = words.into_iter().map(|word| heap.string(word)).collect();
        Ok(heap.list(&words))
    }),
    Builtin::new("get-environment-variable", 1, 1, |heap, a| {
        let name = text(heap, "get-environment-variable", a[0])?.to_string();
        let found = heap.process.environment.iter().find(|(known, _)| *known == name);
        match found.map(|(_, value)| value.clone()) {
            Some(value) => Ok(heap.string(value)),
            None => Ok(Value::Bool(false)),
        }
    }),
    Builtin::new("get-environment-variables", 0, 0, |heap, _| {
        let all = heap.process.environment.clone();
        let pair = |(name, value): (String, String)| {
            let (name, value) = (heap.string(name), heap.string(value));
            heap.cons(name, value)
        };
        let pairs: Vec<Value> = all.into_iter().map(pair).collect();
        Ok(heap.list(&pairs))
    }),
];

fn error(heap: &Heap, value: Value) -> Option<&ErrorObject> {
    match heap.as_object(value) {
        Some(Object::Error(error)) => Some(error),
        _ => None,
    }
}

fn is_error(heap: &Heap, value: Value, kind: ErrorKind) -> ProcedureResult {
    Ok(error(heap, value).is_some_and(|error| error.kind == kind).into())
}

fn make_record_type(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let name = symbol("define-record-type", a[0])?;
    let fields = heap.proper_list("define-record-type", a[1])?;
    let fields = fields
        .iter()
        .map(|field| symbol("define-record-type", *field))
        .collect::<Result<_, _>>()?;
    Ok(heap.object(Object::RecordType(Box::new(RecordType { name, fields }))))
}

fn record_type(heap: &Heap, value: Value) -> Result<(ObjectRef, usize), Fault> {
    if let Value::Object(at) = value
        && let Object::RecordType(kind) = heap.object_at(at)
    {
        return Ok((at, kind.fields.len()));
    }
    Err(Fault::wrong_type("define-record-type", "a record type", value))
}

fn procedure(heap: &mut Heap, procedure: RecordProcedure) -> Value {
    heap.object(Object::RecordProcedure(Box::new(procedure)))
}
