//! Compiles [`Expr`] into instructions. The stack slot of every variable is known, captured variables are copied into
//! the procedure that captures them, and variables that are changed are in cells.

mod bodies;
mod calls;

use rustc_hash::FxHashMap;

use crate::code::{Arity, Capture, Clause, Draft, Op};
use crate::fault::Fault;
use crate::heap::Heap;
use crate::ir::{self, Expr, Procedure, Then, Var, Variable};
use crate::place::SourcePlace;
use crate::value::Value;

/// A procedure without captured variables.
pub fn procedure(heap: &mut Heap, variables: &[Variable], expr: Expr) -> Result<Value, Fault> {
    let Expr::Lambda(procedure) = expr else {
        return thunk(heap, variables, expr);
    };
    let mut compiler = Compiler::new(heap, variables);
    let code = compiler.function(&procedure)?;
    Ok(compiler.heap.closure(code, Box::new([])))
}

/// A procedure without parameters that computes an expression.
pub fn thunk(heap: &mut Heap, variables: &[Variable], expr: Expr) -> Result<Value, Fault> {
    let clauses = vec![ir::Lambda::thunk(expr)];
    let procedure = Procedure {
        name: None,
        clauses,
        place: SourcePlace::default(),
    };
    let mut compiler = Compiler::new(heap, variables);
    let code = compiler.function(&procedure)?;
    Ok(compiler.heap.closure(code, Box::new([])))
}

/// How the value of an expression is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    Value,
    /// The value is ignored.
    Effect,
    /// The value is that of the procedure.
    Tail,
}

/// Where a variable is.
#[derive(Clone, Copy, Debug)]
enum Location {
    Local(u16),
    Captured(u16),
}

/// A procedure that is being compiled.
#[derive(Default)]
struct Function {
    draft: Draft,
    /// The variables on the stack.
    slots: Vec<(Var, u16)>,
    captured: Vec<Var>,
    /// How many values are on the stack above `fp`.
    depth: usize,
    loops: Vec<Loop>,
    place: SourcePlace,
}

/// A loop that is compiled as a jump.
#[derive(Clone, Copy)]
struct Loop {
    var: Var,
    slot: u16,
    count: u8,
    start: u32,
}

struct Compiler<'a> {
    heap: &'a mut Heap,
    variables: Vec<Variable>,
    /// The enclosing functions, from the outermost to the one that is being compiled.
    functions: Vec<Function>,
    /// Which procedures are loops, as far as that has been determined.
    known_loops: FxHashMap<Var, bool>,
}

/// Jumps whose target is not known yet.
struct Label(Vec<usize>);

impl<'a> Compiler<'a> {
    fn new(heap: &'a mut Heap, variables: &[Variable]) -> Self {
        let known_loops = FxHashMap::default();
        Self {
            heap,
            variables: variables.to_vec(),
            functions: Vec::new(),
            known_loops,
        }
    }

    fn current(&mut self) -> &mut Function {
        let last = self.functions.len() - 1;
        &mut self.functions[last]
    }

    /// Compiles a procedure; returns the number of its code.
    fn function(&mut self, procedure: &Procedure) -> Result<u32, Fault> {
        self.functions.push(Function {
            place: procedure.place,
            ..Function::default()
        });
        for clause in &procedure.clauses {
            self.clause(clause)?;
        }
        let Some(function) = self.functions.pop() else {
            return self.too_large();
        };
        let mut draft = function.draft;
        draft.name = procedure.name;
        draft.place = procedure.place;
        let (code, bytes) = self.heap.code.add(draft);
        self.heap.charge(bytes);
        if let Some(outer) = self.functions.last_mut() {
            outer.draft.inner.push(code);
        }
        Ok(code)
    }

    fn clause(&mut self, lambda: &ir::Lambda) -> Result<(), Fault> {
        let arity = Arity {
            required: self.narrow(lambda.parameters.len())?,
            rest: lambda.rest.is_some(),
        };
        let function = self.current();
        function.slots.clear();
        function.loops.clear();
        function.depth = 0;
        let entry = function.draft.ops.len() as u32;
        function.draft.clauses.push(Clause { arity, entry });
        for var in lambda.parameters.iter().chain(&lambda.rest) {
            self.current().depth += 1;
            self.bind_top(*var)?;
        }
        self.expr(&lambda.body, Want::Tail)
    }

    /// Makes the topmost value a variable.
    fn bind_top(&mut self, var: Var) -> Result<u16, Fault> {
        let slot = self.narrow(self.functions[self.functions.len() - 1].depth - 1)?;
        self.current().slots.push((var, slot));
        if self.variables[var.0 as usize].assigned {
            self.emit(Op::MakeCell(slot));
        }
        Ok(slot)
    }

    fn narrow(&self, number: usize) -> Result<u16, Fault> {
        u16::try_from(number).or_else(|_| self.too_large())
    }

    fn too_large<T>(&self) -> Result<T, Fault> {
        let place = self.functions.last().map(|function| function.place);
        Err(Fault::syntax("this procedure is too large: split it", place))
    }

    fn emit(&mut self, op: Op) -> usize {
        let function = self.current();
        function.draft.ops.push(op);
        function.draft.places.push(function.place);
        function.draft.ops.len() - 1
    }

    fn here(&mut self) -> u32 {
        self.current().draft.ops.len() as u32
    }

    /// Makes jumps lead to the next instruction.
    fn land(&mut self, label: Label) {
        let here = self.here();
        for at in label.0 {
            if let Some(to) = self.current().draft.ops[at].target() {
                *to = here;
            }
        }
    }

    /// Notes that a value was pushed.
    fn pushed(&mut self) {
        self.current().depth += 1;
    }

    fn constant(&mut self, value: Value) {
        let op = match value {
            Value::Int(word) if i32::try_from(word).is_ok() => Op::Int(word as i32),
            _ => {
                let constants = &mut self.current().draft.constants;
                constants.push(value);
                Op::Constant((constants.len() - 1) as u32)
            }
        };
        self.emit(op);
        self.pushed();
    }

    /// Turns the value on the stack into what is wanted.
    fn deliver(&mut self, want: Want) {
        match want {
            Want::Value => {}
            Want::Effect => {
                self.emit(Op::Pop);
                self.current().depth -= 1;
            }
            Want::Tail => {
                self.emit(Op::Return);
            }
        }
    }

    fn locate(&mut self, var: Var, level: usize) -> Result<Location, Fault> {
        let function = &self.functions[level];
        self.heap
            .spend(1 + (function.slots.len() + function.captured.len()) / 16)?;
        if let Some((_, slot)) = function.slots.iter().rev().find(|(known, _)| *known == var) {
            return Ok(Location::Local(*slot));
        }
        if let Some(index) = function.captured.iter().position(|known| *known == var) {
            return Ok(Location::Captured(self.narrow(index)?));
        }
        if level == 0 {
            let name = self.heap.name(self.variables[var.0 as usize].name);
            return Err(Fault::syntax(
                format!("`{name}` is not visible here"),
                Some(function.place),
            ));
        }
        let capture = match self.locate(var, level - 1)? {
            Location::Local(slot) => Capture::Local(slot),
            Location::Captured(index) => Capture::Captured(index),
        };
        let function = &mut self.functions[level];
        function.captured.push(var);
        function.draft.captures.push(capture);
        let index = function.captured.len() - 1;
        Ok(Location::Captured(self.narrow(index)?))
    }

    fn local(&mut self, var: Var) -> Result<(), Fault> {
        let location = self.locate(var, self.functions.len() - 1)?;
        let op = match (location, self.variables[var.0 as usize].assigned) {
            (Location::Local(slot), false) => Op::Local(slot),
            (Location::Local(slot), true) => Op::LocalCell(slot),
            (Location::Captured(index), false) => Op::Captured(index),
            (Location::Captured(index), true) => Op::CapturedCell(index),
        };
        self.emit(op);
        self.pushed();
        Ok(())
    }

    fn expr(&mut self, expr: &Expr, want: Want) -> Result<(), Fault> {
        match expr {
            Expr::Constant(_) | Expr::Local(_) if want == Want::Effect => return Ok(()),
            Expr::Constant(value) => self.constant(*value),
            Expr::Local(var) => self.local(*var)?,
            Expr::Global(cell, place) => {
                self.current().place = *place;
                self.emit(Op::Global(*cell));
                self.pushed();
            }
            Expr::SetLocal(var, value) => return self.set_local(*var, value, want),
            Expr::SetGlobal(cell, value, place) => {
                return self.set_global(Op::SetGlobal(*cell), value, Some(*place), want);
            }
            Expr::Define(cell, value) => return self.set_global(Op::DefineGlobal(*cell), value, None, want),
            Expr::If(parts) => return self.if_expr(&parts.0, &parts.1, &parts.2, want),
            Expr::And(items) => return self.and_or(items, true, want),
            Expr::Or(items) => return self.and_or(items, false, want),
            Expr::Cond(clauses, otherwise) => return self.cond(clauses, otherwise, want),
            Expr::Lambda(procedure) => {
                let code = self.function(procedure)?;
                self.emit(Op::Closure(code));
                self.pushed();
            }
            Expr::Sequence(items) => {
                for item in &items[..items.len() - 1] {
                    self.expr(item, Want::Effect)?;
                }
                return self.expr(&items[items.len() - 1], want);
            }
            Expr::Let(form) => return self.let_expr(form, want),
            Expr::Body(body) => return self.body(body, want),
            Expr::Call(call) => return self.call(call, want),
        }
        self.deliver(want);
        Ok(())
    }

    fn set_local(&mut self, var: Var, value: &Expr, want: Want) -> Result<(), Fault> {
        self.expr(value, Want::Value)?;
        let op = match self.locate(var, self.functions.len() - 1)? {
            Location::Local(slot) => Op::SetLocalCell(slot),
            Location::Captured(index) => Op::SetCapturedCell(index),
        };
        self.emit(op);
        self.current().depth -= 1;
        self.nothing(want)
    }

    fn set_global(
        &mut self,
        op: Op,
        value: &Expr,
        place: Option<SourcePlace>,
        want: Want,
    ) -> Result<(), Fault> {
        self.expr(value, Want::Value)?;
        if let Some(place) = place {
            self.current().place = place;
        }
        self.emit(op);
        self.current().depth -= 1;
        self.nothing(want)
    }

    /// Produces the value of an expression that has none.
    fn nothing(&mut self, want: Want) -> Result<(), Fault> {
        self.expr(&Expr::Constant(Value::Unspecified), want)
    }

    fn if_expr(&mut self, test: &Expr, then: &Expr, otherwise: &Expr, want: Want) -> Result<(), Fault> {
        let no = self.test(test)?;
        let depth = self.current().depth;
        self.expr(then, want)?;
        let end = self.leave(want);
        self.current().depth = depth;
        self.land(no);
        self.expr(otherwise, want)?;
        self.land(end);
        Ok(())
    }

    /// Jumps over the other branches, unless control never gets here.
    fn leave(&mut self, want: Want) -> Label {
        match want {
            Want::Tail => Label(Vec::new()),
            _ => Label(vec![self.emit(Op::Jump(0))]),
        }
    }

    /// Jumps if a test does not hold; leaves nothing on the stack.
    fn test(&mut self, test: &Expr) -> Result<Label, Fault> {
        if let Expr::And(items) = test {
            let mut label = Label(Vec::new());
            for item in items {
                label.0.extend(self.test(item)?.0);
            }
            return Ok(label);
        }
        if let Expr::Constant(value) = test
            && value.is_true()
        {
            return Ok(Label(Vec::new()));
        }
        if let Some((jump, operands)) = self.inline_test(test) {
            for operand in operands {
                self.expr(operand, Want::Value)?;
            }
            let at = self.emit(jump(0));
            self.current().depth -= operands.len();
            return Ok(Label(vec![at]));
        }
        self.expr(test, Want::Value)?;
        let at = self.emit(Op::JumpIfFalse(0));
        self.current().depth -= 1;
        Ok(Label(vec![at]))
    }

    fn and_or(&mut self, items: &[Expr], is_and: bool, want: Want) -> Result<(), Fault> {
        let Some((last, items)) = items.split_last() else {
            return self.expr(&Expr::Constant(Value::Bool(is_and)), want);
        };
        let mut out = Label(Vec::new());
        for item in items {
            self.expr(item, Want::Value)?;
            let jump = if is_and {
                Op::JumpIfFalseElsePop(0)
            } else {
                Op::JumpIfTrueElsePop(0)
            };
            out.0.push(self.emit(jump));
            self.current().depth -= 1;
        }
        // A tail call may be the last item, but those before it return here.
        if want == Want::Tail && !items.is_empty() {
            let depth = self.current().depth;
            self.expr(last, Want::Tail)?;
            self.current().depth = depth + 1;
            self.land(out);
            self.emit(Op::Return);
            return Ok(());
        }
        let inner = if want == Want::Tail {
            Want::Tail
        } else {
            Want::Value
        };
        self.expr(last, inner)?;
        self.land(out);
        if want == Want::Effect {
            self.deliver(Want::Effect);
        }
        Ok(())
    }

    fn cond(&mut self, clauses: &[ir::Clause], otherwise: &Expr, want: Want) -> Result<(), Fault> {
        let mut ends = Label(Vec::new());
        let depth = self.current().depth;
        for clause in clauses {
            let next = match &clause.then {
                Then::Value(value) => {
                    let no = self.test(&clause.test)?;
                    self.expr(value, want)?;
                    no
                }
                then => {
                    self.expr(&clause.test, Want::Value)?;
                    self.kept_test(then, want)?
                }
            };
            ends.0.extend(self.leave(want).0);
            self.current().depth = depth;
            self.land(next);
        }
        self.expr(otherwise, want)?;
        self.land(ends);
        Ok(())
    }

    /// Compiles a clause that uses the value of its test, which is on the stack.
    fn kept_test(&mut self, then: &Then, want: Want) -> Result<Label, Fault> {
        let holds = self.emit(Op::JumpIfTrueElsePop(0));
        let next = self.emit(Op::Jump(0));
        self.land(Label(vec![holds]));
        match then {
            Then::Call(receiver, place) => {
                let slot = self.narrow(self.functions[self.functions.len() - 1].depth - 1)?;
                self.call_with_slot(receiver, slot, *place, want)?;
            }
            _ => self.deliver(want),
        }
        Ok(Label(vec![next]))
    }

    fn let_expr(&mut self, form: &ir::Let, want: Want) -> Result<(), Fault> {
        let bound = self.current().slots.len();
        for (var, value) in &form.bindings {
            self.expr(value, Want::Value)?;
            self.bind_top(*var)?;
        }
        self.expr(&form.body, want)?;
        self.unbind(bound, form.bindings.len(), want)
    }

    /// Drops variables from below the value of their body.
    fn unbind(&mut self, bound: usize, count: usize, want: Want) -> Result<(), Fault> {
        self.current().slots.truncate(bound);
        match want {
            Want::Tail => {}
            Want::Value if count > 0 => {
                let count = self.narrow(count)?;
                self.emit(Op::Slide(count));
            }
            Want::Value => {}
            Want::Effect => {
                for _ in 0..count {
                    self.emit(Op::Pop);
                }
            }
        }
        self.current().depth -= count;
        Ok(())
    }
}
