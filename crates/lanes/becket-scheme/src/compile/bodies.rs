//! Bodies with definitions. Procedures that mention each other are created first and filled in then, values that cannot
//! be seen too early are plain variables, and only the rest needs cells. A procedure that is only ever called at the
//! end of itself is a loop.

use rustc_hash::FxHashMap;

use super::{Compiler, Location, Loop, Want};
use crate::code::Op;
use crate::fault::Fault;
use crate::ir::{Body, Expr, Item, Lambda, Then, Var};
use crate::value::Value;

impl Compiler<'_> {
    pub(super) fn body(&mut self, body: &Body, want: Want) -> Result<(), Fault> {
        if let Some((var, lambda, values)) = self.as_loop(body) {
            return self.loop_body(var, lambda, values, want);
        }
        let bound = self.current().slots.len();
        let base = self.current().depth;
        self.choose_cells(&body.items)?;
        let mut at = 0;
        while at < body.items.len() {
            let run = self.procedures_at(&body.items, at);
            if run > 0 {
                self.procedures(&body.items[at..at + run])?;
                at += run;
                continue;
            }
            match &body.items[at] {
                Item::Effect(expr) => self.expr(expr, Want::Effect)?,
                Item::Define(var, value) => self.define(*var, value)?,
            }
            at += 1;
        }
        let count = self.current().depth - base;
        self.expr(&body.result, want)?;
        self.unbind(bound, count, want)
    }

    fn define(&mut self, var: Var, value: &Expr) -> Result<(), Fault> {
        self.expr(value, Want::Value)?;
        if !self.variables[var.0 as usize].assigned {
            self.bind_top(var)?;
            return Ok(());
        }
        if let Location::Local(slot) = self.locate(var, self.functions.len() - 1)? {
            self.emit(Op::SetLocalCell(slot));
            self.current().depth -= 1;
        }
        Ok(())
    }

    /// How many procedures that are never changed are defined in a row from here on.
    fn procedures_at(&self, items: &[Item], at: usize) -> usize {
        let is_procedure = |item: &&Item| match item {
            Item::Define(var, Expr::Lambda(_)) => !self.variables[var.0 as usize].assigned,
            _ => false,
        };
        items[at..].iter().take_while(is_procedure).count()
    }

    /// Compiles procedures that may mention each other.
    fn procedures(&mut self, items: &[Item]) -> Result<(), Fault> {
        let base = self.current().depth;
        let mut slots = Vec::new();
        for (index, item) in items.iter().enumerate() {
            if let Item::Define(var, _) = item {
                let slot = self.narrow(base + index)?;
                self.current().slots.push((*var, slot));
                slots.push(slot);
            }
        }
        for item in items {
            if let Item::Define(_, Expr::Lambda(procedure)) = item {
                let code = self.function(procedure)?;
                self.emit(Op::EmptyClosure(code));
                self.pushed();
            }
        }
        slots.into_iter().for_each(|slot| {
            self.emit(Op::FillClosure(slot));
        });
        Ok(())
    }

    /// Makes cells for the variables of a body that are changed, or that could be read too early.
    fn choose_cells(&mut self, items: &[Item]) -> Result<(), Fault> {
        let defined: Vec<Option<Var>> = items
            .iter()
            .map(|item| match item {
                Item::Define(var, _) => Some(*var),
                Item::Effect(_) => None,
            })
            .collect();
        let places: FxHashMap<Var, usize> = (0..)
            .zip(&defined)
            .filter_map(|(at, var)| Some(((*var)?, at)))
            .collect();
        let mut first = vec![usize::MAX; items.len()];
        for (index, item) in items.iter().enumerate() {
            let (Item::Define(_, expr) | Item::Effect(expr)) = item;
            mentions(expr, &mut |var| {
                if let Some(at) = places.get(&var) {
                    first[*at] = first[*at].min(index);
                }
            });
        }
        // One more cell may split a run of procedures, and then others in it are visible too early.
        loop {
            let mut start = 0;
            let mut changed = false;
            for (index, var) in defined.iter().enumerate() {
                let run = self.procedures_at(items, index);
                self.heap.spend(run + 1)?;
                if run == 0 {
                    start = index + 1;
                }
                let Some(var) = var else { continue };
                let too_early = if start > index {
                    first[index] <= index
                } else {
                    first[index] < start
                };
                let variable = &mut self.variables[var.0 as usize];
                if too_early && !variable.assigned {
                    variable.assigned = true;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        for var in defined.into_iter().flatten() {
            if self.variables[var.0 as usize].assigned {
                self.constant(Value::Unbound);
                self.bind_top(var)?;
            }
        }
        Ok(())
    }

    /// A body that is a loop: its variable, the loop, and the initial values.
    fn as_loop<'e>(&mut self, body: &'e Body) -> Option<(Var, &'e Lambda, &'e [Expr])> {
        let ([Item::Define(var, Expr::Lambda(procedure))], Expr::Call(call)) =
            (&body.items[..], &body.result)
        else {
            return None;
        };
        let ([lambda], Expr::Local(called)) = (&procedure.clauses[..], &call.operator) else {
            return None;
        };
        let variable = &self.variables[var.0 as usize];
        let count = lambda.parameters.len();
        let shaped = called == var && lambda.rest.is_none() && call.operands.len() == count && count < 256;
        if !shaped || variable.assigned || variable.mentioned != variable.called {
            return None;
        }
        let known = self.known_loops.get(var).copied();
        let is_loop = known.unwrap_or_else(|| {
            let target = Target { var: *var, count };
            let outside = call.operands.iter().all(|operand| !is_mentioned(operand, *var));
            outside && self.only_at_the_end(&lambda.body, target)
        });
        self.known_loops.insert(*var, is_loop);
        is_loop.then_some((*var, lambda, &call.operands[..]))
    }

    fn loop_body(&mut self, var: Var, lambda: &Lambda, values: &[Expr], want: Want) -> Result<(), Fault> {
        let bound = self.current().slots.len();
        let base = self.current().depth;
        for value in values {
            self.expr(value, Want::Value)?;
        }
        let start = self.here();
        let slot = self.narrow(base)?;
        for (index, parameter) in lambda.parameters.iter().enumerate() {
            let slot = self.narrow(base + index)?;
            self.bind_slot(*parameter, slot);
        }
        let count = values.len() as u8;
        self.current().loops.push(Loop {
            var,
            slot,
            count,
            start,
        });
        self.expr(&lambda.body, want)?;
        self.current().loops.pop();
        self.unbind(bound, values.len(), want)
    }

    /// Whether a procedure is mentioned only where its call is the last thing that an expression does.
    fn only_at_the_end(&mut self, expr: &Expr, target: Target) -> bool {
        let absent = |expr: &Expr| !is_mentioned(expr, target.var);
        let all_absent = |items: &[Expr]| items.iter().all(absent);
        match expr {
            Expr::Call(call) if matches!(call.operator, Expr::Local(var) if var == target.var) => {
                call.operands.len() == target.count && all_absent(&call.operands)
            }
            Expr::If(parts) => {
                absent(&parts.0)
                    && self.only_at_the_end(&parts.1, target)
                    && self.only_at_the_end(&parts.2, target)
            }
            Expr::And(items) | Expr::Or(items) | Expr::Sequence(items) => match items.split_last() {
                Some((last, before)) => all_absent(before) && self.only_at_the_end(last, target),
                None => true,
            },
            Expr::Cond(clauses, otherwise) => {
                let mut clauses = clauses.iter();
                let fits = clauses.all(|clause| {
                    absent(&clause.test)
                        && match &clause.then {
                            Then::Test => true,
                            Then::Value(value) => self.only_at_the_end(value, target),
                            Then::Call(receiver, _) => absent(receiver),
                        }
                });
                fits && self.only_at_the_end(otherwise, target)
            }
            Expr::Let(form) => {
                form.bindings.iter().all(|(_, value)| absent(value))
                    && self.only_at_the_end(&form.body, target)
            }
            Expr::Body(body) => match self.as_loop(body) {
                Some((_, lambda, values)) => all_absent(values) && self.only_at_the_end(&lambda.body, target),
                None => {
                    let item_absent = |item: &Item| match item {
                        Item::Define(_, expr) | Item::Effect(expr) => absent(expr),
                    };
                    body.items.iter().all(item_absent) && self.only_at_the_end(&body.result, target)
                }
            },
            other => absent(other),
        }
    }
}

/// A procedure that may be a loop, and how many variables it has.
#[derive(Clone, Copy)]
struct Target {
    var: Var,
    count: usize,
}

fn is_mentioned(expr: &Expr, var: Var) -> bool {
    let mut found = false;
    mentions(expr, &mut |mentioned| found |= mentioned == var);
    found
}

/// Visits every variable that an expression mentions.
fn mentions(expr: &Expr, visit: &mut dyn FnMut(Var)) {
    match expr {
        Expr::Constant(_) | Expr::Global(..) => {}
        Expr::Local(var) => visit(*var),
        Expr::SetLocal(var, value) => {
            visit(*var);
            mentions(value, visit);
        }
        Expr::SetGlobal(_, value, _) | Expr::Define(_, value) => mentions(value, visit),
        Expr::If(parts) => [&parts.0, &parts.1, &parts.2]
            .into_iter()
            .for_each(|part| mentions(part, visit)),
        Expr::And(items) | Expr::Or(items) | Expr::Sequence(items) => {
            items.iter().for_each(|item| mentions(item, visit));
        }
        Expr::Cond(clauses, otherwise) => {
            for clause in clauses {
                mentions(&clause.test, visit);
                match &clause.then {
                    Then::Test => {}
                    Then::Value(value) | Then::Call(value, _) => mentions(value, visit),
                }
            }
            mentions(otherwise, visit);
        }
        Expr::Lambda(procedure) => {
            procedure
                .clauses
                .iter()
                .for_each(|clause| mentions(&clause.body, visit));
        }
        Expr::Let(form) => {
            form.bindings.iter().for_each(|(_, value)| mentions(value, visit));
            mentions(&form.body, visit);
        }
        Expr::Body(body) => {
            for item in &body.items {
                let (Item::Define(_, expr) | Item::Effect(expr)) = item;
                mentions(expr, visit);
            }
            mentions(&body.result, visit);
        }
        Expr::Call(call) => {
            mentions(&call.operator, visit);
            call.operands.iter().for_each(|operand| mentions(operand, visit));
        }
    }
}
