//! Mark and sweep. Reachable values are found with a work list, never by recursion, so that no depth of data can
//! exhaust the stack.

use super::{Heap, Object};
use crate::limits::Limit;
use crate::value::Value;

impl Heap {
    /// Frees everything that cannot be reached from the heap's own tables or from `roots`.
    pub(crate) fn collect(&mut self, roots: &[&[Value]]) -> Result<(), Limit> {
        self.pairs.begin();
        self.strings.begin();
        self.vectors.begin();
        self.closures.begin();
        self.cells.begin();
        self.objects.begin();
        self.code.begin();
        let mut work: Vec<Value> = self.globals.iter().map(|global| global.value).collect();
        let Self {
            dynamic, standard, ..
        } = self;
        work.extend([dynamic.winds, dynamic.handlers, dynamic.parameters]);
        work.extend([standard.input, standard.output, standard.error]);
        self.visit(&mut work);
        for values in roots {
            for value in *values {
                self.touch(*value, &mut work);
                self.visit(&mut work);
            }
        }
        let stack: usize = roots.iter().map(|values| size_of_val(*values)).sum();
        self.sweep();
        if self.used.saturating_add(stack) > self.limits.memory {
            return Err(Limit::Memory(self.limits.memory));
        }
        Ok(())
    }

    fn sweep(&mut self) {
        // Dead values have no destructors that could look at others, so they may be freed in any order.
        self.used = self.permanent
            + self.pairs.sweep(drop)
            + self.cells.sweep(drop)
            + self.strings.sweep(drop)
            + self.vectors.sweep(drop)
            + self.closures.sweep(drop)
            + self.objects.sweep(drop)
            + self.code.sweep();
        self.threshold = match self.stress {
            true => self.used + 1,
            false => self
                .used
                .saturating_mul(2)
                .max(super::FIRST_COLLECTION)
                .min(self.limits.memory),
        };
    }

    fn visit(&mut self, work: &mut Vec<Value>) {
        while let Some(value) = work.pop() {
            self.touch(value, work);
        }
    }

    /// Marks a value and notes what it refers to.
    fn touch(&mut self, value: Value, work: &mut Vec<Value>) {
        match value {
            Value::Pair(at) if self.pairs.mark(at.0) => {
                let pair = self.pair(at);
                work.extend([pair.car, pair.cdr]);
            }
            Value::String(at) => {
                self.strings.mark(at.0);
            }
            Value::Vector(at) if self.vectors.mark(at.0) => work.extend_from_slice(self.vectors.get(at.0)),
            Value::Closure(at) if self.closures.mark(at.0) => {
                let closure = self.closures.get(at.0);
                work.extend_from_slice(&closure.captured);
                let code = closure.code;
                self.code.mark(code, work);
            }
            Value::Cell(at) if self.cells.mark(at.0) => work.push(self.cell_value(at)),
            Value::Object(at) if self.objects.mark(at.0) => held(self.objects.get(at.0), work),
            _ => {}
        }
    }
}

/// Notes the values that an object refers to.
fn held(object: &Object, work: &mut Vec<Value>) {
    match object {
        Object::Values(items) => work.extend_from_slice(items),
        Object::Promise(content) => work.push(*content),
        Object::Parameter { value, converter } => work.extend([*value, *converter]),
        Object::Error(error) => work.extend([error.message, error.irritants]),
        Object::Continuation(continuation) => {
            work.extend_from_slice(&continuation.frames);
            work.extend(continuation.below.map(|(below, _)| Value::Object(below)));
            let dynamic = &continuation.dynamic;
            work.extend([dynamic.winds, dynamic.handlers, dynamic.parameters]);
        }
        Object::Record { kind, fields } => {
            work.push(Value::Object(*kind));
            work.extend_from_slice(fields);
        }
        Object::RecordProcedure(procedure) => work.push(Value::Object(procedure.kind())),
        Object::Table(table) => table.held(work),
        Object::Free
        | Object::Bytes(_)
        | Object::Big(_)
        | Object::Ratio(_)
        | Object::RecordType(_)
        | Object::Port(_)
        | Object::Environment(_)
        | Object::Foreign(..) => {}
    }
}
