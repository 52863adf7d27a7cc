//! Calls: instructions for the frequent procedures, calls without a frame for other Rust procedures, jumps for loops.

use super::{Compiler, Want};
use crate::code::Op;
use crate::fault::Fault;
use crate::ir::{Call, Expr};
use crate::place::SourcePlace;
use crate::signature::Inline;
use crate::value::Value;

/// A jump for a test, with its operands.
type InlineTest<'e> = (fn(u32) -> Op, &'e [Expr]);

impl Compiler<'_> {
    pub(super) fn call(&mut self, call: &Call, want: Want) -> Result<(), Fault> {
        match &call.operator {
            Expr::Local(var) => {
                let current = self.current();
                if let Some(found) = current.loops.iter().copied().find(|found| found.var == *var) {
                    return self.jump_back(found, call, want);
                }
            }
            Expr::Constant(Value::Native(index)) if self.native(*index, call)? => {
                self.deliver(want);
                return Ok(());
            }
            // `((lambda (x …) body …) value …)` is a `let`.
            Expr::Lambda(procedure) => {
                if let [clause] = &procedure.clauses[..]
                    && clause.rest.is_none()
                    && clause.parameters.len() == call.operands.len()
                {
                    let bound = self.current().slots.len();
                    for operand in &call.operands {
                        self.expr(operand, Want::Value)?;
                    }
                    let base = self.current().depth - call.operands.len();
                    for (index, var) in clause.parameters.iter().enumerate() {
                        let slot = self.narrow(base + index)?;
                        self.bind_slot(*var, slot);
                    }
                    self.expr(&clause.body, want)?;
                    return self.unbind(bound, call.operands.len(), want);
                }
            }
            _ => {}
        }
        self.general_call(call, want)
    }

    /// Makes a value on the stack a variable.
    pub(super) fn bind_slot(&mut self, var: crate::ir::Var, slot: u16) {
        self.current().slots.push((var, slot));
        if self.variables[var.0 as usize].assigned {
            self.emit(Op::MakeCell(slot));
        }
    }

    fn general_call(&mut self, call: &Call, want: Want) -> Result<(), Fault> {
        let frame = self.frame(want);
        self.expr(&call.operator, Want::Value)?;
        for operand in &call.operands {
            self.expr(operand, Want::Value)?;
        }
        self.finish_call(frame, call.operands.len(), call.place, want)
    }

    /// Pushes where the call returns to, unless it is a tail call.
    fn frame(&mut self, want: Want) -> Option<usize> {
        if want == Want::Tail {
            return None;
        }
        let at = self.emit(Op::Frame(0));
        self.pushed();
        Some(at)
    }

    fn finish_call(
        &mut self,
        frame: Option<usize>,
        count: usize,
        place: SourcePlace,
        want: Want,
    ) -> Result<(), Fault> {
        let narrow = self.narrow(count)?;
        self.current().place = place;
        match frame {
            None => {
                self.emit(Op::TailCall(narrow));
                self.current().depth -= count;
            }
            Some(at) => {
                self.emit(Op::Call(narrow));
                self.land(super::Label(vec![at]));
                // The call replaces the frame and the procedure by the value.
                self.current().depth -= count + 1;
                if want == Want::Effect {
                    self.deliver(Want::Effect);
                }
            }
        }
        Ok(())
    }

    /// Calls a procedure with a value that is on the stack already, and drops that value.
    pub(super) fn call_with_slot(
        &mut self,
        receiver: &Expr,
        slot: u16,
        place: SourcePlace,
        want: Want,
    ) -> Result<(), Fault> {
        let inner = if want == Want::Tail {
            Want::Tail
        } else {
            Want::Value
        };
        let frame = self.frame(inner);
        self.expr(receiver, Want::Value)?;
        self.emit(Op::Local(slot));
        self.pushed();
        self.finish_call(frame, 1, place, inner)?;
        if want != Want::Tail {
            self.emit(Op::Slide(1));
            self.current().depth -= 1;
            if want == Want::Effect {
                self.deliver(Want::Effect);
            }
        }
        Ok(())
    }

    /// Compiles the next iteration of a loop.
    fn jump_back(&mut self, found: super::Loop, call: &Call, want: Want) -> Result<(), Fault> {
        for operand in &call.operands {
            self.expr(operand, Want::Value)?;
        }
        self.current().place = call.place;
        let super::Loop {
            slot, count, start, ..
        } = found;
        self.emit(Op::Loop {
            count,
            slot,
            to: start,
        });
        // Control never gets here, but the code that follows expects a value.
        self.current().depth -= call.operands.len();
        if want == Want::Value || want == Want::Tail {
            self.pushed();
        }
        Ok(())
    }

    /// Calls a Rust procedure in place, if that is possible; leaves its value on the stack.
    fn native(&mut self, index: u32, call: &Call) -> Result<bool, Fault> {
        let native = &self.heap.natives[index as usize];
        let (inline, plain) = (native.inline, native.is_plain);
        let count = call.operands.len();
        if let Some(inline) = inline
            && self.inline(inline, call)?
        {
            return Ok(true);
        }
        let native = &self.heap.natives[index as usize];
        let (Ok(short), Ok(narrow)) = (u8::try_from(count), u16::try_from(index)) else {
            return Ok(false);
        };
        if !plain || !native.fits(count) {
            return Ok(false);
        }
        for operand in &call.operands {
            self.expr(operand, Want::Value)?;
        }
        self.current().place = call.place;
        self.emit(Op::CallNative {
            native: narrow,
            count: short,
        });
        self.current().depth -= count;
        self.pushed();
        Ok(true)
    }

    fn inline(&mut self, inline: Inline, call: &Call) -> Result<bool, Fault> {
        let operands = &call.operands;
        let op = match (inline, operands.len()) {
            (Inline::Fold(op), count) if count >= 2 => return self.fold(op, call).map(|()| true),
            (Inline::One(op) | Inline::Test(op, 1, _), 1) => op,
            (Inline::Two(op) | Inline::Compare(op, _) | Inline::Test(op, 2, _), 2) => op,
            (Inline::Three(op), 3) => op,
            _ => return Ok(false),
        };
        if let (Op::Car | Op::Cdr, Some(slot)) = (op, self.plain_slot(&operands[0])?) {
            self.current().place = call.place;
            self.emit(if matches!(op, Op::Car) {
                Op::LocalCar(slot)
            } else {
                Op::LocalCdr(slot)
            });
            self.pushed();
            return Ok(true);
        }
        for operand in operands {
            self.expr(operand, Want::Value)?;
        }
        self.current().place = call.place;
        self.emit(op);
        self.current().depth -= operands.len();
        self.pushed();
        Ok(true)
    }

    /// The stack slot of a variable of this procedure that never changes.
    fn plain_slot(&mut self, expr: &Expr) -> Result<Option<u16>, Fault> {
        let Expr::Local(var) = expr else { return Ok(None) };
        if self.variables[var.0 as usize].assigned {
            return Ok(None);
        }
        let slots = &self.current().slots;
        Ok(slots
            .iter()
            .rev()
            .find(|(known, _)| known == var)
            .map(|(_, slot)| *slot))
    }

    /// Compiles `(+ a b c)` as `(+ (+ a b) c)`.
    fn fold(&mut self, op: Op, call: &Call) -> Result<(), Fault> {
        let (first, rest) = (&call.operands[0], &call.operands[1..]);
        let slot = self.plain_slot(first)?;
        if let (Some(slot), [one]) = (slot, rest)
            && let Some(int) = small_step(op, one)
        {
            self.current().place = call.place;
            self.emit(Op::LocalAddInt { slot, int });
            self.pushed();
            return Ok(());
        }
        self.expr(first, Want::Value)?;
        for operand in rest {
            if let Some(int) = small_step(op, operand) {
                self.current().place = call.place;
                self.emit(Op::AddInt(int));
                continue;
            }
            self.expr(operand, Want::Value)?;
            self.current().place = call.place;
            self.emit(op);
            self.current().depth -= 1;
        }
        Ok(())
    }

    /// A test that a single instruction can do, with its jump.
    pub(super) fn inline_test<'e>(&self, test: &'e Expr) -> Option<InlineTest<'e>> {
        let Expr::Call(call) = test else { return None };
        let Expr::Constant(Value::Native(index)) = call.operator else {
            return None;
        };
        match (self.heap.natives[index as usize].inline?, call.operands.len()) {
            (Inline::Compare(_, jump), 2) | (Inline::Test(_, 2, jump), 2) | (Inline::Test(_, 1, jump), 1) => {
                Some((jump, &call.operands))
            }
            _ => None,
        }
    }
}

/// A small constant that is added or subtracted.
fn small_step(op: Op, operand: &Expr) -> Option<i32> {
    let Expr::Constant(Value::Int(word)) = operand else {
        return None;
    };
    let word = i32::try_from(*word).ok()?;
    match op {
        Op::Add => Some(word),
        Op::Subtract => word.checked_neg(),
        _ => None,
    }
}
