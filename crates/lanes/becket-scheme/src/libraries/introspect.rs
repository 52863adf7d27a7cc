//! `(tein introspect)` and `(tein docs)`: what a program can find out about its environment.

use crate::builtins::arguments::ProcedureResult;
use crate::heap::{Heap, Object, RecordProcedure};
use crate::library::Module;
use crate::native::Builtin;
use crate::value::Value;

const TABLE: &[Builtin] = &[Builtin::new("procedure-arity", 1, 1, arity)];

pub fn introspect() -> Module {
    Module::new(
        "(tein introspect)",
        &["(core)"],
        TABLE,
        include_str!("../scheme/introspect.scm"),
    )
}

pub fn docs() -> Module {
    Module::new(
        "(tein docs)",
        &["(core)"],
        &[],
        include_str!("../scheme/docs.scm"),
    )
}

/// `(least . most)`, with `#f` for any number; `#f` if the value is not a procedure.
fn arity(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let (least, most) = match a[0] {
        Value::Closure(at) => {
            let clauses = &heap.code.get(heap.closure_at(at).code).clauses;
            let least = clauses
                .iter()
                .map(|clause| clause.arity.required)
                .min()
                .unwrap_or(0);
            let any = clauses.iter().any(|clause| clause.arity.rest);
            let most = clauses
                .iter()
                .map(|clause| clause.arity.required)
                .max()
                .unwrap_or(0);
            (least, (!any).then_some(most))
        }
        Value::Native(index) => {
            let native = &heap.natives[index as usize];
            (native.least, native.most)
        }
        Value::Object(at) => match heap.object_at(at) {
            Object::Parameter { .. } => (0, Some(0)),
            Object::Continuation(_) => (0, None),
            Object::RecordProcedure(procedure) => {
                let count = match &**procedure {
                    RecordProcedure::Constructor { order, .. } => order.len() as u16,
                    RecordProcedure::Predicate { .. } | RecordProcedure::Accessor { .. } => 1,
                    RecordProcedure::Modifier { .. } => 2,
                };
                (count, Some(count))
            }
            _ => return Ok(Value::Bool(false)),
        },
        _ => return Ok(Value::Bool(false)),
    };
    let most = most.map_or(Value::Bool(false), |most| Value::Int(i64::from(most)));
    Ok(heap.cons(Value::Int(i64::from(least)), most))
}
