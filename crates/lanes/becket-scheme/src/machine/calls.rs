//! Calls of anything that can be called, and what happens when something is raised.

use super::{Machine, Stop};
use crate::code::{Capture, Code};
use crate::fault::{Continuable, Fault};
use crate::heap::{ErrorObject, Object, RecordProcedure};
use crate::limits::Limit;
use crate::native::{Control, HostAnswer, Plain, Run};
use crate::place::SourcePlace;
use crate::value::{ClosureRef, ReturnTo, Value};

/// Where the machine continues: the instruction, and where the variables begin.
pub(super) type Next = Result<(usize, usize), Stop>;

impl Machine {
    /// Checks the limits and collects if it is time. All live values must be on the stack. A limit ends the run at this
    /// instruction, if that is in one of the program's files.
    #[cold]
    pub(super) fn pause(&mut self, pc: usize) -> Result<(), Stop> {
        self.look_at_limits().map_err(|limit| {
            let at = self.stack.len();
            Stop::Fault(Fault::Limit(limit), self.place_of(pc, at))
        })
    }

    fn look_at_limits(&mut self) -> Result<(), Limit> {
        if self.fuel == 0 {
            self.fuel = self.heap.budget.next_portion(&self.heap.limits)?;
            let stack = self.stack.len() * size_of::<Value>();
            if self.heap.used().saturating_add(stack) > self.heap.limits.memory {
                self.collect()?;
            }
        }
        if self.heap.is_full() {
            self.collect()?;
        }
        Ok(())
    }

    /// Frees what is no longer reachable.
    pub fn collect_garbage(&mut self) -> Result<(), Limit> {
        self.collect()
    }

    pub(super) fn collect(&mut self) -> Result<(), Limit> {
        let mut others: Vec<Value> = self
            .below
            .map(|(below, _)| Value::Object(below))
            .into_iter()
            .collect();
        let mut roots: Vec<&[Value]> = vec![&self.stack, &self.roots];
        for task in self.waiting.iter().flatten() {
            roots.push(&task.stack);
            let dynamic = &task.dynamic;
            others.extend([dynamic.winds, dynamic.handlers, dynamic.parameters]);
            others.extend(task.below.map(|(below, _)| Value::Object(below)));
        }
        roots.push(&others);
        self.heap.collect(&roots)
    }

    /// Calls what is at `at` on the stack, with the values above it. Below it is where it returns to.
    pub(super) fn call(&mut self, at: usize, count: usize, pc: usize) -> Next {
        if self.fuel == 0 || self.heap.is_full() {
            self.pause(pc)?;
        }
        self.fuel -= 1;
        match self.stack[at] {
            Value::Closure(closure) => self.enter(closure, at, count, pc),
            Value::Native(index) => self.call_native(index as usize, at, count, pc),
            Value::Object(object) => match self.heap.object_at(object) {
                Object::Continuation(_) => self.call_continuation(object, at, count, pc),
                Object::Parameter { .. } if count == 0 => {
                    let value = self.heap.parameter(Value::Object(object));
                    self.answer(value, at)
                }
                Object::RecordProcedure(procedure) => {
                    let procedure = procedure.clone();
                    match self.record_call(&procedure, at + 1) {
                        Ok(value) => self.answer(value, at),
                        Err(fault) => self.fault_in_call(fault, at, pc),
                    }
                }
                _ => self.not_a_procedure(at, pc),
            },
            _ => self.not_a_procedure(at, pc),
        }
    }

    fn not_a_procedure(&mut self, at: usize, pc: usize) -> Next {
        let value = self.stack[at];
        let fault = match value {
            Value::Object(object) if matches!(self.heap.object_at(object), Object::Parameter { .. }) => {
                Fault::misuse("a parameter takes no arguments", Vec::new())
            }
            _ => Fault::misuse("this cannot be called:", vec![value]),
        };
        self.fault_in_call(fault, at, pc)
    }

    /// Enters a procedure written in Scheme.
    pub(super) fn enter(&mut self, closure: ClosureRef, at: usize, count: usize, pc: usize) -> Next {
        let closure = self.heap.closure_at(closure);
        if closure.count == Some(count as u16) && count < usize::from(u16::MAX) {
            return Ok((closure.entry as usize, at + 1));
        }
        let code = self.heap.code.get(closure.code);
        let Some(clause) = code.clauses.iter().find(|clause| clause.arity.fits(count)) else {
            let message = self.wrong_count(code, count);
            return self.fault_in_call(Fault::misuse(message, Vec::new()), at, pc);
        };
        let (entry, required) = (clause.entry as usize, usize::from(clause.arity.required));
        if clause.arity.rest {
            let first = at + 1 + required;
            let rest = self.heap.list(&self.stack[first..]);
            self.stack.truncate(first);
            self.stack.push(rest);
        }
        Ok((entry, at + 1))
    }

    fn wrong_count(&self, code: &Code, count: usize) -> String {
        let name = code
            .name
            .map_or("a procedure without a name", |name| self.heap.name(name));
        let ways: Vec<String> = code
            .clauses
            .iter()
            .map(|clause| clause.arity.to_string())
            .collect();
        format!("{name}: takes {}, not {count}", ways.join(" or "))
    }

    /// Returns a value to the caller of what is at `at`.
    #[inline]
    pub(super) fn answer(&mut self, value: Value, at: usize) -> Next {
        let marker = at - 1;
        let Value::Return(ReturnTo { pc, delta }) = self.stack[marker] else {
            return Err(broken("no place to return to"));
        };
        self.stack.truncate(marker);
        self.stack.push(value);
        Ok((pc as usize, marker - delta as usize))
    }

    fn call_native(&mut self, index: usize, at: usize, count: usize, pc: usize) -> Next {
        let native = &self.heap.natives[index];
        if !native.fits(count) {
            let message = format!("{}: takes {}, not {count}", native.name, native.arity_text());
            return self.fault_in_call(Fault::misuse(message, Vec::new()), at, pc);
        }
        match &self.names.runs[index] {
            Run::Plain(run) => {
                let run = *run;
                match self.plain(run, at + 1) {
                    Ok(value) => self.answer(value, at),
                    Err(fault) => self.fault_in_call(fault, at, pc),
                }
            }
            Run::Control(control) => self.control(*control, at, count, pc),
            Run::Host(run) => {
                let run = run.clone();
                match run(&mut self.heap, &self.stack[at + 1..]) {
                    Ok(HostAnswer::Value(value)) => self.answer(value, at),
                    Ok(HostAnswer::Suspend(request)) => {
                        let (pc, fp) = self.answer(Value::Unspecified, at)?;
                        self.stack.pop();
                        Err(Stop::Suspended(request, pc, fp))
                    }
                    Err(fault) => self.fault_in_call(fault, at, pc),
                }
            }
        }
    }

    /// Runs a Rust procedure on the values from `first` on. If there is no room for its result, it is run again after a
    /// collection.
    #[inline]
    pub(super) fn plain(&mut self, run: Plain, first: usize) -> Result<Value, Fault> {
        match run(&mut self.heap, &self.stack[first..]) {
            Err(Fault::Full(_)) => {
                self.collect().map_err(Fault::Limit)?;
                run(&mut self.heap, &self.stack[first..]).map_err(|fault| match fault {
                    Fault::Full(_) => Fault::Limit(Limit::Memory(self.heap.limits.memory)),
                    other => other,
                })
            }
            result => result,
        }
    }

    /// The captured variables of a new procedure.
    pub(super) fn captured(&self, code: u32, fp: usize) -> Box<[Value]> {
        let captures = &self.heap.code.get(code).captures;
        let own: &[Value] = match self.stack[fp - 1] {
            Value::Closure(closure) => &self.heap.closure_at(closure).captured,
            _ => &[],
        };
        let value = |capture: &Capture| match capture {
            Capture::Local(slot) => self.stack[fp + usize::from(*slot)],
            Capture::Captured(index) => own[usize::from(*index)],
        };
        captures.iter().map(value).collect()
    }

    fn record_call(&mut self, procedure: &RecordProcedure, first: usize) -> Result<Value, Fault> {
        let arguments = &self.stack[first..];
        let takes = |count: usize| match arguments.len() == count {
            true => Ok(()),
            false => Err(Fault::misuse(
                format!("takes {count} arguments, not {}", arguments.len()),
                Vec::new(),
            )),
        };
        match procedure {
            RecordProcedure::Constructor { kind, order, fields } => {
                takes(order.len())?;
                let mut values = vec![Value::Bool(false); *fields];
                order
                    .iter()
                    .zip(arguments)
                    .for_each(|(field, value)| values[*field] = *value);
                Ok(self.heap.object(Object::Record {
                    kind: *kind,
                    fields: values.into(),
                }))
            }
            RecordProcedure::Predicate { kind } => {
                takes(1)?;
                let record = self.heap.as_object(arguments[0]);
                Ok(Value::Bool(
                    matches!(record, Some(Object::Record { kind: other, .. }) if other == kind),
                ))
            }
            RecordProcedure::Accessor { kind, field } => {
                takes(1)?;
                match self.heap.as_object(arguments[0]) {
                    Some(Object::Record { kind: other, fields }) if other == kind => Ok(fields[*field]),
                    _ => Err(self.wrong_record(*kind, *field, arguments[0])),
                }
            }
            RecordProcedure::Modifier { kind, field } => {
                takes(2)?;
                let (record, value) = (arguments[0], arguments[1]);
                if let Value::Object(at) = record
                    && let Object::Record { kind: other, fields } = self.heap.object_mut(at)
                    && other == kind
                {
                    fields[*field] = value;
                    return Ok(Value::Unspecified);
                }
                Err(self.wrong_record(*kind, *field, record))
            }
        }
    }

    fn wrong_record(&self, kind: crate::value::ObjectRef, field: usize, given: Value) -> Fault {
        let Object::RecordType(kind) = self.heap.object_at(kind) else {
            return Fault::misuse("this is no record", vec![given]);
        };
        let (name, field) = (self.heap.name(kind.name), self.heap.name(kind.fields[field]));
        Fault::misuse(
            format!("the field {field} belongs to a {name}, and this is none:"),
            vec![given],
        )
    }

    /// Handles a fault in a call: the handler is called in its place.
    pub(super) fn fault_in_call(&mut self, fault: Fault, at: usize, pc: usize) -> Next {
        self.stack.truncate(at);
        self.signal(fault, pc, at)
    }

    /// Handles a fault in an instruction that has `count` values on the stack and leaves one.
    #[cold]
    pub(super) fn fault_in_place(&mut self, fault: Fault, count: usize, pc: usize, fp: usize) -> Next {
        self.stack.truncate(self.stack.len() - count);
        let delta = (self.stack.len() - fp) as u32;
        self.stack.push(Value::Return(ReturnTo { pc: pc as u32, delta }));
        self.signal(fault, pc, self.stack.len())
    }

    /// Calls the installed handler; without one, the run ends.
    fn signal(&mut self, fault: Fault, pc: usize, at: usize) -> Next {
        let place = self.place_of(pc, at);
        let (value, continuable) = match fault {
            Fault::Error(trouble) => {
                let message = self.heap.string(trouble.message);
                let irritants = self.heap.list(&trouble.irritants);
                let error = ErrorObject {
                    kind: trouble.kind,
                    message,
                    irritants,
                    place: trouble.place.or(place),
                };
                (self.heap.object(Object::Error(Box::new(error))), Continuable::No)
            }
            Fault::Raise(value, continuable) => {
                self.note_place(value, place);
                (value, continuable)
            }
            other => return Err(Stop::Fault(other, place)),
        };
        if self.heap.dynamic.handlers.is_nil() {
            return Err(Stop::Fault(Fault::Raise(value, continuable), place));
        }
        let handler = self
            .core("%call-handler")
            .map_err(|fault| Stop::Fault(fault, place))?;
        self.stack
            .extend([handler, value, Value::Bool(continuable == Continuable::Yes)]);
        self.call(at, 2, pc)
    }

    /// Records in an error where it was first raised.
    fn note_place(&mut self, value: Value, place: Option<SourcePlace>) {
        if let Value::Object(at) = value
            && let Object::Error(error) = self.heap.object_mut(at)
            && error.place.is_none()
        {
            error.place = place;
        }
    }

    /// Where in the program's own files the machine is.
    fn place_of(&self, pc: usize, at: usize) -> Option<SourcePlace> {
        let own = |pc: usize| {
            let place = self.heap.code.place(pc.checked_sub(1)? as u32)?;
            (!self.heap.is_internal(place)).then_some(place)
        };
        if let Some(place) = own(pc) {
            return Some(place);
        }
        let mut marker = at.checked_sub(1)?;
        loop {
            let Value::Return(ReturnTo { pc, delta }) = *self.stack.get(marker)? else {
                return None;
            };
            if let Some(place) = own(pc as usize) {
                return Some(place);
            }
            marker = marker.checked_sub(delta as usize + 2)?;
        }
    }

    fn control(&mut self, control: Control, at: usize, count: usize, pc: usize) -> Next {
        match control {
            Control::Apply => self.apply_list(at, count, pc),
            Control::ApplyValues => {
                let (procedure, values) = (self.stack[at + 1], self.stack[at + 2]);
                self.stack.truncate(at);
                self.stack.push(procedure);
                match self.heap.as_object(values) {
                    Some(Object::Values(values)) => self.stack.extend_from_slice(values),
                    _ => self.stack.push(values),
                }
                self.check_stack(pc)?;
                self.call(at, self.stack.len() - at - 1, pc)
            }
            Control::CallCc => self.call_cc(at, pc),
            Control::Reinstate => self.reinstate(at, pc),
            Control::Eval => self.eval(at, count, pc),
            Control::Environment => self.make_environment(at, pc),
            Control::Inspect => self.inspect(at, pc),
        }
    }

    /// Checks the memory after many arguments were pushed at once, which must not wait until the next check of the
    /// limits.
    fn check_stack(&mut self, pc: usize) -> Result<(), Stop> {
        let stack = self.stack.len() * size_of::<Value>();
        if self.heap.used().saturating_add(stack) <= self.heap.limits.memory {
            return Ok(());
        }
        self.collect().map_err(|limit| {
            let at = self.stack.len();
            Stop::Fault(Fault::Limit(limit), self.place_of(pc, at))
        })
    }

    /// Calls `(apply procedure argument … list)`.
    fn apply_list(&mut self, at: usize, count: usize, pc: usize) -> Next {
        if count > 1 {
            let list = self.stack[at + count];
            let items = match self.heap.proper_list("apply", list) {
                Ok(items) => items,
                Err(fault) => return self.fault_in_call(fault, at, pc),
            };
            self.stack.truncate(at + count);
            self.stack.extend(items);
            self.check_stack(pc)?;
        }
        self.stack.remove(at);
        self.call(at, self.stack.len() - at - 1, pc)
    }
}

/// The error for a bug in the machine itself, which tests must find first.
pub(super) fn broken(what: &str) -> Stop {
    Stop::Fault(
        Fault::misuse(format!("the machine is broken: {what}"), Vec::new()),
        None,
    )
}
