//! Forms that bind variables: procedures, `let` and its kin, loops.

use rustc_hash::FxHashSet;

use super::{Expander, Order};
use crate::fault::Fault;
use crate::ir::{Body, Clause, Expr, Item, Lambda, Let, Procedure, Then, Var};
use crate::limits::Limit;
use crate::names::Binding;
use crate::reader::DEEPEST_SOURCE;
use crate::special::Special;
use crate::syntax::{Form, Ident, Scope, Syntax};
use crate::value::{Symbol, Value};

/// The parameters of a procedure.
struct Formals {
    names: Vec<Ident>,
    rest: Option<Ident>,
}

impl Expander<'_> {
    pub(super) fn lambda(&mut self, items: &[Syntax], form: &Syntax, scope: Scope) -> Result<Expr, Fault> {
        match items {
            [_, formals, body @ ..] => self.procedure(None, formals, body, form, scope),
            _ => self.wrong(form, "lambda needs parameters and a body"),
        }
    }

    /// Expands a procedure, with the name under which it is defined.
    pub(super) fn procedure(
        &mut self,
        name: Option<Symbol>,
        formals: &Syntax,
        body: &[Syntax],
        form: &Syntax,
        scope: Scope,
    ) -> Result<Expr, Fault> {
        let clauses = vec![self.clause(formals, body, form, scope)?];
        Ok(Expr::Lambda(Box::new(Procedure {
            name,
            clauses,
            place: form.place(),
        })))
    }

    fn clause(
        &mut self,
        formals: &Syntax,
        body: &[Syntax],
        form: &Syntax,
        scope: Scope,
    ) -> Result<Lambda, Fault> {
        let formals = self.formals(formals)?;
        let inner = self.names.enter(scope);
        let (parameters, rest) = self.bind_formals(&formals, inner);
        Ok(Lambda {
            parameters,
            rest,
            body: self.body(body, form, inner)?,
        })
    }

    fn bind_formals(&mut self, formals: &Formals, scope: Scope) -> (Vec<Var>, Option<Var>) {
        let parameters = formals
            .names
            .iter()
            .map(|name| self.bind_variable(*name, scope))
            .collect();
        (
            parameters,
            formals.rest.map(|name| self.bind_variable(name, scope)),
        )
    }

    pub(super) fn case_lambda(
        &mut self,
        items: &[Syntax],
        form: &Syntax,
        scope: Scope,
    ) -> Result<Expr, Fault> {
        let mut clauses = Vec::new();
        for item in &items[1..] {
            match item.form() {
                Form::List(parts, None) if parts.len() > 1 => {
                    clauses.push(self.clause(&parts[0], &parts[1..], item, scope)?);
                }
                _ => return self.wrong(item, "a clause of case-lambda needs parameters and a body"),
            }
        }
        Ok(Expr::Lambda(Box::new(Procedure {
            name: None,
            clauses,
            place: form.place(),
        })))
    }

    fn formals(&self, form: &Syntax) -> Result<Formals, Fault> {
        let (items, rest): (&[Syntax], _) = match form.form() {
            Form::Ident(_) => (&[], Some(form)),
            Form::List(items, tail) => (items, tail.as_ref()),
            _ => return self.wrong(form, "parameters must be names"),
        };
        let (mut all, mut seen) = (Vec::new(), FxHashSet::default());
        for item in items.iter().chain(rest) {
            match item.ident() {
                Some(ident) if !seen.insert(ident) => {
                    return self.wrong(item, format!("`{}` is there twice", self.name_of(ident)));
                }
                Some(ident) => all.push(ident),
                None => return self.wrong(item, "a parameter must be a name"),
            }
        }
        let rest = rest.and_then(|_| all.pop());
        Ok(Formals { names: all, rest })
    }

    pub(super) fn set(&mut self, items: &[Syntax], form: &Syntax, scope: Scope) -> Result<Expr, Fault> {
        let [_, target, value] = items else {
            return self.wrong(form, "set! takes a name and a value");
        };
        let Some(ident) = target.ident() else {
            return self.wrong(target, "set! needs a name");
        };
        let value = Box::new(self.expand(value, scope)?);
        match self.resolve(ident, scope)? {
            Some(Binding::Local(var)) => {
                self.variables[var as usize].assigned = true;
                Ok(Expr::SetLocal(Var(var), value))
            }
            None => Ok(Expr::SetGlobal(self.mentioned(ident, scope), value, form.place())),
            Some(Binding::Global(cell)) if self.is_own(ident, scope) => {
                Ok(Expr::SetGlobal(cell, value, form.place()))
            }
            Some(Binding::Global(_) | Binding::Native(_) | Binding::Late(_)) => {
                let name = self.name_of(ident);
                self.wrong(
                    form,
                    format!("`{name}` is imported and cannot be set; define it first"),
                )
            }
            Some(Binding::Special(_) | Binding::Macro(_)) => {
                self.wrong(form, format!("`{}` is a keyword", self.name_of(ident)))
            }
        }
    }

    /// The names and values of `let` and its kin.
    fn pairs<'s>(&self, form: &'s Syntax, shape: &str) -> Result<Vec<(&'s Syntax, &'s Syntax)>, Fault> {
        let Some(items) = form.list() else {
            return self.wrong(form, shape);
        };
        let pair = |item: &'s Syntax| match item.list() {
            Some([name, value]) => Ok((name, value)),
            _ => self.wrong(item, shape),
        };
        items.iter().map(pair).collect()
    }

    fn named_pairs<'s>(&self, form: &'s Syntax) -> Result<Vec<(Ident, &'s Syntax)>, Fault> {
        let pairs = self.pairs(form, "a binding is a name and a value: (name value)")?;
        let named = |(name, value): (&'s Syntax, &'s Syntax)| match name.ident() {
            Some(ident) => Ok((ident, value)),
            None => self.wrong(name, "a variable must be a name"),
        };
        pairs.into_iter().map(named).collect()
    }

    fn no_doubles(&self, pairs: &[(Ident, &Syntax)], form: &Syntax) -> Result<(), Fault> {
        let mut seen = FxHashSet::default();
        for (ident, _) in pairs {
            if !seen.insert(*ident) {
                return self.wrong(form, format!("`{}` is there twice", self.name_of(*ident)));
            }
        }
        Ok(())
    }

    pub(super) fn let_form(&mut self, items: &[Syntax], form: &Syntax, scope: Scope) -> Result<Expr, Fault> {
        match items {
            [_, name, bindings, body @ ..] if name.ident().is_some() => {
                self.named_let(name, bindings, body, form, scope)
            }
            [_, bindings, body @ ..] => {
                let pairs = self.named_pairs(bindings)?;
                self.no_doubles(&pairs, bindings)?;
                let mut bound = Vec::new();
                let inner = self.names.enter(scope);
                for (ident, value) in pairs {
                    let value = self.named_value(ident, value, scope)?;
                    bound.push((ident, value));
                }
                let bind = |(ident, value)| (self.bind_variable(ident, inner), value);
                let bindings: Vec<(Var, Expr)> = bound.into_iter().map(bind).collect();
                let body = self.body(body, form, inner)?;
                Ok(Expr::Let(Box::new(Let { bindings, body })))
            }
            _ => self.wrong(form, "let needs bindings and a body"),
        }
    }

    /// A value that is given a name; a procedure keeps the name.
    pub(super) fn named_value(&mut self, name: Ident, value: &Syntax, scope: Scope) -> Result<Expr, Fault> {
        let mut value = self.expand(value, scope)?;
        if let Expr::Lambda(procedure) = &mut value {
            procedure.name = procedure.name.or(Some(self.names.plain(name)));
        }
        Ok(value)
    }

    fn named_let(
        &mut self,
        name: &Syntax,
        bindings: &Syntax,
        body: &[Syntax],
        form: &Syntax,
        scope: Scope,
    ) -> Result<Expr, Fault> {
        let Some(ident) = name.ident() else {
            return self.wrong(name, "a loop needs a name");
        };
        let pairs = self.named_pairs(bindings)?;
        self.no_doubles(&pairs, bindings)?;
        let mut values = Vec::new();
        for (ident, value) in &pairs {
            values.push(self.named_value(*ident, value, scope)?);
        }
        let outer = self.names.enter(scope);
        let var = self.bind_variable(ident, outer);
        let inner = self.names.enter(outer);
        let parameters = pairs
            .iter()
            .map(|(ident, _)| self.bind_variable(*ident, inner))
            .collect();
        let body = self.body(body, form, inner)?;
        let lambda = Lambda {
            parameters,
            rest: None,
            body,
        };
        Ok(self.recursive(var, lambda, values, form))
    }

    /// Defines a procedure and calls it.
    fn recursive(&mut self, var: Var, lambda: Lambda, values: Vec<Expr>, form: &Syntax) -> Expr {
        let name = Some(self.variables[var.0 as usize].name);
        let procedure = Procedure {
            name,
            clauses: vec![lambda],
            place: form.place(),
        };
        let items = vec![Item::Define(var, Expr::Lambda(Box::new(procedure)))];
        let result = self.call_variable(var, values, form);
        Expr::Body(Box::new(Body { items, result }))
    }

    fn call_variable(&mut self, var: Var, operands: Vec<Expr>, form: &Syntax) -> Expr {
        let variable = &mut self.variables[var.0 as usize];
        variable.mentioned += 1;
        variable.called += 1;
        Expr::call(Expr::Local(var), operands, form.place())
    }

    pub(super) fn let_star(&mut self, items: &[Syntax], form: &Syntax, scope: Scope) -> Result<Expr, Fault> {
        let [_, bindings, body @ ..] = items else {
            return self.wrong(form, "let* needs bindings and a body");
        };
        let mut inner = scope;
        let mut bound = Vec::new();
        for (ident, value) in self.named_pairs(bindings)? {
            let value = self.named_value(ident, value, inner)?;
            inner = self.names.enter(inner);
            bound.push((self.bind_variable(ident, inner), value));
        }
        let body = self.body(body, form, inner)?;
        // Values are computed one after another, and no earlier one can see a later variable.
        Ok(Expr::Let(Box::new(Let {
            bindings: bound,
            body,
        })))
    }

    pub(super) fn letrec(&mut self, items: &[Syntax], form: &Syntax, scope: Scope) -> Result<Expr, Fault> {
        let [_, bindings, body @ ..] = items else {
            return self.wrong(form, "letrec needs bindings and a body");
        };
        let pairs = self.named_pairs(bindings)?;
        self.no_doubles(&pairs, bindings)?;
        let inner = self.names.enter(scope);
        let vars: Vec<Var> = pairs
            .iter()
            .map(|(ident, _)| self.bind_variable(*ident, inner))
            .collect();
        let mut defined = Vec::new();
        for (var, (ident, value)) in vars.into_iter().zip(pairs) {
            defined.push(Item::Define(var, self.named_value(ident, value, inner)?));
        }
        let result = self.body(body, form, inner)?;
        Ok(Expr::Body(Box::new(Body {
            items: defined,
            result,
        })))
    }

    pub(super) fn let_values(
        &mut self,
        items: &[Syntax],
        form: &Syntax,
        scope: Scope,
        order: Order,
    ) -> Result<Expr, Fault> {
        let [_, bindings, body @ ..] = items else {
            return self.wrong(form, "let-values needs bindings and a body");
        };
        let pairs = self.pairs(bindings, "a binding is names and a value: ((name …) value)")?;
        let mut inner = self.names.enter(scope);
        let mut bound = Vec::new();
        for (formals, value) in pairs {
            let from = if order == Order::Together { scope } else { inner };
            let value = self.expand(value, from)?;
            let formals = self.formals(formals)?;
            if order == Order::OneByOne {
                inner = self.names.enter(inner);
            }
            bound.push((value, self.bind_formals(&formals, inner)));
        }
        // Each binding becomes a procedure inside of the one before, and the body is inside of all of them.
        if self.depth + bound.len() > DEEPEST_SOURCE {
            return Err(Fault::Limit(Limit::Nesting(DEEPEST_SOURCE)));
        }
        self.depth += bound.len();
        let body = self.body(body, form, inner);
        self.depth -= bound.len();
        let mut result = body?;
        for (value, (parameters, rest)) in bound.into_iter().rev() {
            let receive = self.core_procedure("call-with-values", form.place())?;
            let producer = Expr::lambda(Lambda::thunk(value), form.place());
            let consumer = Expr::lambda(
                Lambda {
                    parameters,
                    rest,
                    body: result,
                },
                form.place(),
            );
            result = Expr::call(receive, vec![producer, consumer], form.place());
        }
        Ok(result)
    }

    pub(super) fn let_syntax(
        &mut self,
        items: &[Syntax],
        form: &Syntax,
        scope: Scope,
        order: Order,
    ) -> Result<Expr, Fault> {
        let [_, bindings, body @ ..] = items else {
            return self.wrong(form, "let-syntax needs bindings and a body");
        };
        let inner = self.names.enter(scope);
        let from = if order == Order::Together { scope } else { inner };
        for (ident, rules) in self.named_pairs(bindings)? {
            let index = self.macro_of(rules, from)?;
            self.names.bind(inner, ident, index);
        }
        self.body(body, form, inner)
    }

    /// `(do ((var init step) …) (test result …) command …)`.
    pub(super) fn do_form(&mut self, items: &[Syntax], form: &Syntax, scope: Scope) -> Result<Expr, Fault> {
        let [_, specs, test, commands @ ..] = items else {
            return self.wrong(form, "do needs variables and a test");
        };
        let (Some(specs), Some([test, results @ ..])) = (specs.list(), test.list()) else {
            return self.wrong(
                form,
                "do needs variables and a test: (do ((var init step) …) (test result …) …)",
            );
        };
        let symbol = self.heap.intern("do");
        let var = self.variable(Ident::Plain(symbol));
        let inner = self.names.enter(scope);
        let (mut values, mut variables) = (Vec::new(), Vec::new());
        for spec in specs {
            let (Some(ident), Some([_, init, step @ ..])) = (
                spec.list().and_then(|parts| parts.first()?.ident()),
                spec.list().filter(|parts| parts.len() < 4),
            ) else {
                return self.wrong(spec, "a variable of do is a name, a value and a step");
            };
            values.push(self.named_value(ident, init, scope)?);
            variables.push((ident, step.first().unwrap_or(&spec.list().unwrap_or_default()[0])));
        }
        let parameters = variables
            .iter()
            .map(|(ident, _)| self.bind_variable(*ident, inner))
            .collect();
        let test = self.expand(test, inner)?;
        let result = self.sequence(results, inner)?;
        let mut repeat = self.all(commands, inner)?;
        let steps = variables
            .iter()
            .map(|(_, step)| self.expand(step, inner))
            .collect::<Result<_, _>>()?;
        repeat.push(self.call_variable(var, steps, form));
        let clause = Clause {
            test,
            then: Then::Value(result),
        };
        let body = Expr::Cond(vec![clause], Box::new(Expr::sequence(repeat)));
        Ok(self.recursive(
            var,
            Lambda {
                parameters,
                rest: None,
                body,
            },
            values,
            form,
        ))
    }

    pub(super) fn delay(
        &mut self,
        special: Special,
        items: &[Syntax],
        form: &Syntax,
        scope: Scope,
    ) -> Result<Expr, Fault> {
        let [_, value] = items else {
            return self.wrong(form, "delay takes one expression");
        };
        let place = form.place();
        let mut value = self.expand(value, scope)?;
        if special == Special::Delay {
            let make = self.core_procedure("make-promise", place)?;
            value = Expr::call(make, vec![value], place);
        }
        let promise = self.core_procedure("%delay-force", place)?;
        Ok(Expr::call(
            promise,
            vec![Expr::lambda(Lambda::thunk(value), place)],
            place,
        ))
    }

    pub(super) fn parameterize(
        &mut self,
        items: &[Syntax],
        form: &Syntax,
        scope: Scope,
    ) -> Result<Expr, Fault> {
        let [_, bindings, body @ ..] = items else {
            return self.wrong(form, "parameterize needs bindings and a body");
        };
        let place = form.place();
        let pairs = self.pairs(bindings, "a binding is a parameter and a value")?;
        let (mut parameters, mut values) = (Vec::new(), Vec::new());
        for (parameter, value) in pairs {
            parameters.push(self.expand(parameter, scope)?);
            values.push(self.expand(value, scope)?);
        }
        let list = Expr::call(self.core_procedure("list", place)?, parameters, place);
        let given = Expr::call(self.core_procedure("list", place)?, values, place);
        let body = self.body(body, form, scope)?;
        let with = self.core_procedure("%with-parameters", place)?;
        let thunk = Expr::lambda(Lambda::thunk(body), place);
        Ok(Expr::call(with, vec![list, given, thunk], place))
    }

    /// `(guard (name clause …) body …)`.
    pub(super) fn guard(&mut self, items: &[Syntax], form: &Syntax, scope: Scope) -> Result<Expr, Fault> {
        let Some((spec, body)) = items.get(1).and_then(|spec| Some((spec.list()?, &items[2..]))) else {
            return self.wrong(form, "guard needs a variable with clauses, and a body");
        };
        let Some(ident) = spec.first().and_then(Syntax::ident) else {
            return self.wrong(form, "guard needs a variable");
        };
        let place = form.place();
        let body = self.body(body, form, scope)?;
        let inner = self.names.enter(scope);
        let condition = self.bind_variable(ident, inner);
        let again = self.variable(ident);
        let otherwise = self.call_variable(again, Vec::new(), form);
        let clauses = self.clauses(&spec[1..], inner, otherwise)?;
        let handler = Lambda {
            parameters: vec![condition, again],
            rest: None,
            body: clauses,
        };
        let guard = self.core_procedure("%guard", place)?;
        let operands = vec![
            Expr::lambda(Lambda::thunk(body), place),
            Expr::lambda(handler, place),
        ];
        Ok(Expr::call(guard, operands, place))
    }

    /// The value of a conditional without a matching branch.
    pub(super) fn nothing() -> Expr {
        Expr::Constant(Value::Unspecified)
    }
}
