//! Continuations. To capture one, the frames on the stack move into the heap; a return into them copies them back one
//! by one. So capturing costs only what is new since the last time, and a continuation may be used again.

use super::calls::{Next, broken};
use super::{Machine, Stop};
use crate::code::{HALT, UNDERFLOW};
use crate::fault::Fault;
use crate::heap::{Continuation, Object};
use crate::value::{ObjectRef, ReturnTo, Value};

impl Machine {
    /// Calls `(%call/cc procedure)`.
    pub(super) fn call_cc(&mut self, at: usize, pc: usize) -> Next {
        let procedure = self.stack[at + 1];
        self.stack.truncate(at);
        let bottom = Value::Return(ReturnTo {
            pc: UNDERFLOW,
            delta: 0,
        });
        // If nothing is new since the last capture, the continuation below is complete, and there is nothing to copy.
        let frames = if at == 1 && self.stack[0].is(bottom) {
            Vec::new()
        } else {
            self.stack.clone()
        };
        let length = frames.len();
        let continuation = Continuation {
            frames,
            below: self.below,
            dynamic: self.heap.dynamic,
        };
        let continuation = self.heap.object(Object::Continuation(Box::new(continuation)));
        if let Value::Object(at) = continuation {
            self.below = Some((at, length));
        }
        self.stack.clear();
        self.stack.extend([bottom, procedure, continuation]);
        self.call(1, 1, pc)
    }

    /// Calls a continuation: directly if nothing must be wound, else through Scheme.
    pub(super) fn call_continuation(
        &mut self,
        target: ObjectRef,
        at: usize,
        count: usize,
        pc: usize,
    ) -> Next {
        let Object::Continuation(continuation) = self.heap.object_at(target) else {
            return Err(broken("no continuation"));
        };
        let winds = continuation.dynamic.winds;
        let value = match count {
            1 => self.stack[at + 1],
            _ => {
                let values = self.stack[at + 1..].to_vec();
                self.heap.object(Object::Values(values))
            }
        };
        if winds.is(self.heap.dynamic.winds) {
            return self.throw(target, value);
        }
        let throw = match self.core("%throw") {
            Ok(throw) => throw,
            Err(fault) => return self.fault_in_call(fault, at, pc),
        };
        self.stack.truncate(at);
        self.stack.extend([throw, Value::Object(target), value]);
        self.call(at, 2, pc)
    }

    /// Calls `(%reinstate continuation value)`.
    pub(super) fn reinstate(&mut self, at: usize, pc: usize) -> Next {
        match (self.stack[at + 1], self.stack[at + 2]) {
            (Value::Object(target), value)
                if matches!(self.heap.object_at(target), Object::Continuation(_)) =>
            {
                self.throw(target, value)
            }
            (other, _) => {
                let fault = Fault::wrong_type("%reinstate", "a continuation", other);
                self.fault_in_call(fault, at, pc)
            }
        }
    }

    fn throw(&mut self, target: ObjectRef, value: Value) -> Next {
        let Object::Continuation(continuation) = self.heap.object_at(target) else {
            return Err(broken("no continuation"));
        };
        let (dynamic, length) = (continuation.dynamic, continuation.frames.len());
        self.heap.dynamic = dynamic;
        self.below = Some((target, length));
        self.stack.clear();
        self.underflow(value)
    }

    /// Returns a value into the topmost frame below the stack.
    pub(super) fn underflow(&mut self, value: Value) -> Next {
        loop {
            let Some((target, length)) = self.below else {
                return Err(broken("nothing is below"));
            };
            let Object::Continuation(continuation) = self.heap.object_at(target) else {
                return Err(broken("no continuation below"));
            };
            let Some(Value::Return(to)) = length.checked_sub(1).map(|last| continuation.frames[last]) else {
                self.below = continuation.below;
                continue;
            };
            match to.pc {
                HALT => return Err(Stop::Done(value)),
                UNDERFLOW => {
                    self.below = continuation.below;
                    continue;
                }
                _ => {}
            }
            let marker = length - 1;
            let first = marker - to.delta as usize;
            self.stack.clear();
            self.stack.push(Value::Return(ReturnTo {
                pc: UNDERFLOW,
                delta: 0,
            }));
            self.stack
                .extend_from_slice(&continuation.frames[first - 1..marker]);
            self.stack.push(value);
            // A continuation of which only its link further down is left must not be kept for that: a loop that
            // captures in each iteration would build a chain of them.
            self.below = match continuation.frames[..first - 1] {
                [Value::Return(ReturnTo { pc: UNDERFLOW, .. })] => continuation.below,
                _ => Some((target, first - 1)),
            };
            return Ok((to.pc as usize, 2));
        }
    }
}
