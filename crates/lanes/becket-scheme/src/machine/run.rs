//! The loop over instructions. Frequent cases are handled here, on words and pairs; everything else is a call into the
//! procedures that Scheme code could call too.

use std::convert::Infallible;

use super::calls::broken;
use super::{Machine, Stop};
use crate::builtins::{lists, numbers, vectors};
use crate::code::Op;
use crate::fault::{ErrorKind, Fault};
use crate::native::Run;
use crate::value::{ReturnTo, Value};

/// The topmost value; the compiler guarantees that there is one.
macro_rules! top {
    ($machine:ident) => {{
        let last = $machine.stack.len() - 1;
        &mut $machine.stack[last]
    }};
}

/// Pops the topmost value.
macro_rules! pop {
    ($machine:ident) => {
        match $machine.stack.pop() {
            Some(value) => value,
            None => return Err(broken("the stack is empty")),
        }
    };
}

/// Runs a Rust procedure on the topmost values and replaces them by its result.
macro_rules! plain {
    ($machine:ident, $pc:ident, $fp:ident, $count:expr, $run:expr) => {{
        let first = $machine.stack.len() - $count;
        match $machine.plain($run, first) {
            Ok(value) => {
                $machine.stack.truncate(first);
                $machine.stack.push(value);
            }
            Err(fault) => ($pc, $fp) = $machine.fault_in_place(fault, $count, $pc, $fp)?,
        }
    }};
}

/// Combines two numbers: words here, others elsewhere.
macro_rules! arithmetic {
    ($machine:ident, $pc:ident, $fp:ident, $checked:ident, $float:tt, $run:path) => {{
        let length = $machine.stack.len();
        let quick = match ($machine.stack[length - 2], $machine.stack[length - 1]) {
            (Value::Int(a), Value::Int(b)) => a.$checked(b).map(Value::Int),
            (Value::Float(a), Value::Float(b)) => Some(Value::Float(a $float b)),
            _ => None,
        };
        match quick {
            Some(value) => {
                $machine.stack.truncate(length - 1);
                $machine.stack[length - 2] = value;
            }
            None => plain!($machine, $pc, $fp, 2, $run),
        }
    }};
}

/// Compares two numbers.
macro_rules! compare {
    ($machine:ident, $pc:ident, $fp:ident, $op:tt, $run:path) => {{
        let length = $machine.stack.len();
        match ($machine.stack[length - 2], $machine.stack[length - 1]) {
            (Value::Int(a), Value::Int(b)) => {
                $machine.stack.truncate(length - 1);
                $machine.stack[length - 2] = Value::Bool(a $op b);
            }
            _ => plain!($machine, $pc, $fp, 2, $run),
        }
    }};
}

/// Compares two numbers and jumps if the comparison does not hold.
macro_rules! jump_unless {
    ($machine:ident, $pc:ident, $fp:ident, $op:tt, $run:path, $to:ident) => {{
        let length = $machine.stack.len();
        if let (Value::Int(a), Value::Int(b)) = ($machine.stack[length - 2], $machine.stack[length - 1]) {
            $machine.stack.truncate(length - 2);
            if !(a $op b) {
                $pc = $to as usize;
            }
        } else {
            // After an error control does not come back here, so there is nothing to jump over.
            let before = $pc;
            plain!($machine, $pc, $fp, 2, $run);
            if $pc == before && !pop!($machine).is_true() {
                $pc = $to as usize;
            }
        }
    }};
}

impl Machine {
    /// Runs from an instruction on until the run stops.
    pub(super) fn run(&mut self, pc: usize, fp: usize) -> Stop {
        match self.steps(pc, fp) {
            Ok(never) => match never {},
            Err(stop) => stop,
        }
    }

    // tidy: a table
    fn steps(&mut self, mut pc: usize, mut fp: usize) -> Result<Infallible, Stop> {
        loop {
            let op = self.heap.code.ops[pc];
            pc += 1;
            match op {
                Op::Constant(index) => self.stack.push(self.heap.code.constants[index as usize]),
                Op::Int(word) => self.stack.push(Value::Int(i64::from(word))),
                Op::Local(slot) => self.stack.push(self.stack[fp + usize::from(slot)]),
                Op::Captured(index) => {
                    let value = self.captured_value(fp, index)?;
                    self.stack.push(value);
                }
                Op::LocalCell(slot) => {
                    let cell = self.stack[fp + usize::from(slot)];
                    match self.cell(cell)? {
                        Value::Unbound => (pc, fp) = self.too_early(pc, fp)?,
                        value => self.stack.push(value),
                    }
                }
                Op::CapturedCell(index) => {
                    let cell = self.captured_value(fp, index)?;
                    match self.cell(cell)? {
                        Value::Unbound => (pc, fp) = self.too_early(pc, fp)?,
                        value => self.stack.push(value),
                    }
                }
                Op::Global(index) => match self.heap.globals[index as usize].value {
                    Value::Unbound => (pc, fp) = self.unbound(index, pc, fp)?,
                    value => self.stack.push(value),
                },
                Op::SetLocalCell(slot) => {
                    let value = pop!(self);
                    if let Value::Cell(at) = self.stack[fp + usize::from(slot)] {
                        self.heap.set_cell(at, value);
                    }
                }
                Op::SetCapturedCell(index) => {
                    let value = pop!(self);
                    if let Value::Cell(at) = self.captured_value(fp, index)? {
                        self.heap.set_cell(at, value);
                    }
                }
                Op::SetGlobal(index) => {
                    let value = pop!(self);
                    let global = &mut self.heap.globals[index as usize];
                    match global.value {
                        Value::Unbound => (pc, fp) = self.unbound(index, pc, fp)?,
                        _ => global.value = value,
                    }
                }
                Op::DefineGlobal(index) => self.heap.globals[index as usize].value = pop!(self),
                Op::MakeCell(slot) => {
                    let place = fp + usize::from(slot);
                    self.stack[place] = self.heap.cell(self.stack[place]);
                }
                Op::Closure(code) => {
                    let captured = self.captured(code, fp);
                    let closure = self.heap.closure(code, captured);
                    self.stack.push(closure);
                }
                Op::EmptyClosure(code) => {
                    let closure = self.heap.closure(code, Box::new([]));
                    self.stack.push(closure);
                }
                Op::FillClosure(slot) => {
                    if let Value::Closure(at) = self.stack[fp + usize::from(slot)] {
                        let captured = self.captured(self.heap.closure_at(at).code, fp);
                        self.heap.charge(size_of_val(&*captured));
                        self.heap.closure_mut(at).captured = captured;
                    }
                }
                Op::Pop => {
                    self.stack.pop();
                }
                Op::Slide(count) => {
                    let value = pop!(self);
                    self.stack.truncate(self.stack.len() - usize::from(count));
                    self.stack.push(value);
                }
                Op::Jump(to) => pc = to as usize,
                Op::JumpIfFalse(to) => {
                    if !pop!(self).is_true() {
                        pc = to as usize;
                    }
                }
                Op::JumpIfTrue(to) => {
                    if pop!(self).is_true() {
                        pc = to as usize;
                    }
                }
                Op::JumpIfFalseElsePop(to) => {
                    if top!(self).is_true() {
                        self.stack.pop();
                    } else {
                        pc = to as usize;
                    }
                }
                Op::JumpIfTrueElsePop(to) => {
                    if top!(self).is_true() {
                        pc = to as usize;
                    } else {
                        self.stack.pop();
                    }
                }
                Op::Loop { count, slot, to } => {
                    if self.fuel == 0 || self.heap.is_full() {
                        self.pause(pc)?;
                    }
                    self.fuel -= 1;
                    let (count, first) = (usize::from(count), fp + usize::from(slot));
                    let from = self.stack.len() - count;
                    self.stack.copy_within(from.., first);
                    self.stack.truncate(first + count);
                    pc = to as usize;
                }
                Op::Frame(to) => {
                    let delta = (self.stack.len() - fp) as u32;
                    self.stack.push(Value::Return(ReturnTo { pc: to, delta }));
                }
                Op::Call(count) => {
                    let count = usize::from(count);
                    let at = self.stack.len() - count - 1;
                    (pc, fp) = self.quick_call(at, count, pc)?;
                }
                Op::TailCall(count) => {
                    let count = usize::from(count);
                    let from = self.stack.len() - count - 1;
                    self.stack.copy_within(from.., fp - 1);
                    self.stack.truncate(fp + count);
                    (pc, fp) = self.quick_call(fp - 1, count, pc)?;
                }
                Op::CallNative { native, count } => {
                    let Run::Plain(run) = self.names.runs[usize::from(native)] else {
                        return Err(broken("not a plain procedure"));
                    };
                    plain!(self, pc, fp, usize::from(count), run);
                }
                Op::Return => {
                    let value = pop!(self);
                    (pc, fp) = self.answer(value, fp - 1)?;
                }
                Op::Cons => {
                    let cdr = pop!(self);
                    let car = *top!(self);
                    *top!(self) = self.heap.cons(car, cdr);
                }
                Op::Car => match *top!(self) {
                    Value::Pair(at) => *top!(self) = self.heap.pair(at).car,
                    _ => plain!(self, pc, fp, 1, lists::car),
                },
                Op::Cdr => match *top!(self) {
                    Value::Pair(at) => *top!(self) = self.heap.pair(at).cdr,
                    _ => plain!(self, pc, fp, 1, lists::cdr),
                },
                Op::LocalCar(slot) => {
                    let value = self.stack[fp + usize::from(slot)];
                    match value {
                        Value::Pair(at) => self.stack.push(self.heap.pair(at).car),
                        _ => {
                            self.stack.push(value);
                            plain!(self, pc, fp, 1, lists::car);
                        }
                    }
                }
                Op::LocalCdr(slot) => {
                    let value = self.stack[fp + usize::from(slot)];
                    match value {
                        Value::Pair(at) => self.stack.push(self.heap.pair(at).cdr),
                        _ => {
                            self.stack.push(value);
                            plain!(self, pc, fp, 1, lists::cdr);
                        }
                    }
                }
                Op::Not => *top!(self) = Value::Bool(!top!(self).is_true()),
                Op::IsNull => *top!(self) = Value::Bool(top!(self).is_nil()),
                Op::IsPair => *top!(self) = Value::Bool(matches!(top!(self), Value::Pair(_))),
                Op::Eq => {
                    let other = pop!(self);
                    *top!(self) = Value::Bool(top!(self).is(other));
                }
                Op::Add => arithmetic!(self, pc, fp, checked_add, +, numbers::add),
                Op::Subtract => arithmetic!(self, pc, fp, checked_sub, -, numbers::subtract),
                Op::Multiply => arithmetic!(self, pc, fp, checked_mul, *, numbers::multiply),
                Op::AddInt(int) => match *top!(self) {
                    Value::Int(a) if a.checked_add(i64::from(int)).is_some() => {
                        *top!(self) = Value::Int(a + i64::from(int));
                    }
                    _ => {
                        self.stack.push(Value::Int(i64::from(int)));
                        plain!(self, pc, fp, 2, numbers::add);
                    }
                },
                Op::LocalAddInt { slot, int } => {
                    let value = self.stack[fp + usize::from(slot)];
                    match value {
                        Value::Int(a) if a.checked_add(i64::from(int)).is_some() => {
                            self.stack.push(Value::Int(a + i64::from(int)));
                        }
                        _ => {
                            self.stack.extend([value, Value::Int(i64::from(int))]);
                            plain!(self, pc, fp, 2, numbers::add);
                        }
                    }
                }
                Op::Less => compare!(self, pc, fp, <, numbers::less),
                Op::LessOrEqual => compare!(self, pc, fp, <=, numbers::less_or_equal),
                Op::Greater => compare!(self, pc, fp, >, numbers::greater),
                Op::GreaterOrEqual => compare!(self, pc, fp, >=, numbers::greater_or_equal),
                Op::Equal => compare!(self, pc, fp, ==, numbers::equal),
                Op::JumpUnlessLess(to) => jump_unless!(self, pc, fp, <, numbers::less, to),
                Op::JumpUnlessLessOrEqual(to) => {
                    jump_unless!(self, pc, fp, <=, numbers::less_or_equal, to);
                }
                Op::JumpUnlessGreater(to) => jump_unless!(self, pc, fp, >, numbers::greater, to),
                Op::JumpUnlessGreaterOrEqual(to) => {
                    jump_unless!(self, pc, fp, >=, numbers::greater_or_equal, to);
                }
                Op::JumpUnlessEqual(to) => jump_unless!(self, pc, fp, ==, numbers::equal, to),
                Op::JumpUnlessNull(to) => {
                    if !pop!(self).is_nil() {
                        pc = to as usize;
                    }
                }
                Op::JumpUnlessPair(to) => {
                    if !matches!(pop!(self), Value::Pair(_)) {
                        pc = to as usize;
                    }
                }
                Op::JumpUnlessEq(to) => {
                    let other = pop!(self);
                    if !pop!(self).is(other) {
                        pc = to as usize;
                    }
                }
                Op::VectorRef => plain!(self, pc, fp, 2, vectors::vector_ref),
                Op::VectorSet => plain!(self, pc, fp, 3, vectors::vector_set),
                Op::Halt => {
                    let value = pop!(self);
                    return Err(Stop::Done(value));
                }
                Op::Underflow => {
                    let value = pop!(self);
                    (pc, fp) = self.underflow(value)?;
                }
            }
        }
    }

    /// Calls what is at `at`, with a fast path for a procedure that takes exactly this many arguments.
    #[inline]
    fn quick_call(&mut self, at: usize, count: usize, pc: usize) -> super::calls::Next {
        if let Value::Closure(closure) = self.stack[at]
            && self.fuel > 0
            && !self.heap.is_full()
        {
            let closure = self.heap.closure_at(closure);
            if closure.count == Some(count as u16) {
                self.fuel -= 1;
                return Ok((closure.entry as usize, at + 1));
            }
        }
        self.call(at, count, pc)
    }

    #[inline]
    fn captured_value(&self, fp: usize, index: u16) -> Result<Value, Stop> {
        match self.stack[fp - 1] {
            Value::Closure(closure) => Ok(self.heap.closure_at(closure).captured[usize::from(index)]),
            _ => Err(broken("no procedure in the frame")),
        }
    }

    #[inline]
    fn cell(&self, value: Value) -> Result<Value, Stop> {
        match value {
            Value::Cell(at) => Ok(self.heap.cell_value(at)),
            _ => Err(broken("no cell in the frame")),
        }
    }

    #[cold]
    fn unbound(&mut self, index: u32, pc: usize, fp: usize) -> super::calls::Next {
        let name = self.heap.name(self.heap.globals[index as usize].name).to_owned();
        let fault = Fault::new(
            ErrorKind::Unbound,
            format!("undefined variable: {name}"),
            Vec::new(),
        );
        self.fault_in_place(fault, 0, pc, fp)
    }

    #[cold]
    fn too_early(&mut self, pc: usize, fp: usize) -> super::calls::Next {
        let fault = Fault::new(
            ErrorKind::Unbound,
            "a variable is used before it has a value",
            Vec::new(),
        );
        self.fault_in_place(fault, 0, pc, fp)
    }
}
