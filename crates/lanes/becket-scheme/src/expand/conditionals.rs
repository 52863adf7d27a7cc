//! Conditional forms.

use super::Expander;
use crate::fault::Fault;
use crate::ir::{Clause, Expr, Let, Then};
use crate::special::Special;
use crate::syntax::{Ident, Scope, Syntax};
use crate::value::Value;

impl Expander<'_> {
    pub(super) fn if_form(&mut self, items: &[Syntax], form: &Syntax, scope: Scope) -> Result<Expr, Fault> {
        let (test, then, otherwise) = match items {
            [_, test, then] => (test, then, None),
            [_, test, then, otherwise] => (test, then, Some(otherwise)),
            _ => return self.wrong(form, "if takes a test and one or two expressions"),
        };
        let test = self.expand(test, scope)?;
        let then = self.expand(then, scope)?;
        let otherwise = match otherwise {
            Some(otherwise) => self.expand(otherwise, scope)?,
            None => Self::nothing(),
        };
        Ok(Expr::If(Box::new((test, then, otherwise))))
    }

    pub(super) fn when(
        &mut self,
        special: Special,
        items: &[Syntax],
        form: &Syntax,
        scope: Scope,
    ) -> Result<Expr, Fault> {
        let [_, test, body @ ..] = items else {
            return self.wrong(form, "when and unless need a test");
        };
        let test = self.expand(test, scope)?;
        let body = self.sequence(body, scope)?;
        Ok(Expr::If(Box::new(match special {
            Special::When => (test, body, Self::nothing()),
            _ => (test, Self::nothing(), body),
        })))
    }

    pub(super) fn cond(&mut self, items: &[Syntax], scope: Scope) -> Result<Expr, Fault> {
        self.clauses(&items[1..], scope, Self::nothing())
    }

    /// The clauses of `cond` and `guard`, with what is done if no clause matches and there is no `else`.
    pub(super) fn clauses(
        &mut self,
        clauses: &[Syntax],
        scope: Scope,
        mut otherwise: Expr,
    ) -> Result<Expr, Fault> {
        let mut all = Vec::new();
        for (index, clause) in clauses.iter().enumerate() {
            let Some([test, body @ ..]) = clause.list() else {
                return self.wrong(clause, "a clause is a list with a test");
            };
            if self.is_keyword(test, scope, Special::Else) {
                if index + 1 < clauses.len() || body.is_empty() {
                    return self.wrong(clause, "else belongs to the last clause, with something to do");
                }
                otherwise = self.else_body(body, scope, None)?;
                break;
            }
            let test = self.expand(test, scope)?;
            let then = match body {
                [] => Then::Test,
                [arrow, receiver] if self.is_keyword(arrow, scope, Special::Arrow) => {
                    Then::Call(self.expand(receiver, scope)?, clause.place())
                }
                body => Then::Value(self.sequence(body, scope)?),
            };
            all.push(Clause { test, then });
        }
        Ok(Expr::Cond(all, Box::new(otherwise)))
    }

    /// The body of an `else` clause; in `case`, `=>` is given the key.
    fn else_body(&mut self, body: &[Syntax], scope: Scope, key: Option<Expr>) -> Result<Expr, Fault> {
        match (body, key) {
            ([arrow, receiver], Some(key)) if self.is_keyword(arrow, scope, Special::Arrow) => {
                let receiver = self.expand(receiver, scope)?;
                Ok(Expr::call(receiver, vec![key], arrow.place()))
            }
            _ => self.sequence(body, scope),
        }
    }

    pub(super) fn case(&mut self, items: &[Syntax], form: &Syntax, scope: Scope) -> Result<Expr, Fault> {
        let [_, key, clauses @ ..] = items else {
            return self.wrong(form, "case needs a key");
        };
        let value = self.expand(key, scope)?;
        let symbol = self.heap.intern("key");
        let var = self.variable(Ident::Plain(symbol));
        let mut all = Vec::new();
        let mut otherwise = Self::nothing();
        for (index, clause) in clauses.iter().enumerate() {
            let Some([data, body @ ..]) = clause.list() else {
                return self.wrong(clause, "a clause of case is a list of data with something to do");
            };
            self.variables[var.0 as usize].mentioned += 2;
            if self.is_keyword(data, scope, Special::Else) {
                if index + 1 < clauses.len() || body.is_empty() {
                    return self.wrong(clause, "else belongs to the last clause, with something to do");
                }
                otherwise = self.else_body(body, scope, Some(Expr::Local(var)))?;
                break;
            }
            let Some(data) = data.list() else {
                return self.wrong(data, "data of case must be a list");
            };
            let data = data
                .iter()
                .map(|datum| self.datum(datum))
                .collect::<Result<Vec<Value>, _>>()?;
            let (name, data) = match data[..] {
                [one] => ("eqv?", one),
                _ => ("memv", self.heap.list(&data)),
            };
            let place = clause.place();
            let test = self.core_procedure(name, place)?;
            let test = Expr::call(test, vec![Expr::Local(var), Expr::Constant(data)], place);
            let then = Then::Value(self.else_body(body, scope, Some(Expr::Local(var)))?);
            all.push(Clause { test, then });
        }
        let body = Expr::Cond(all, Box::new(otherwise));
        Ok(Expr::Let(Box::new(Let {
            bindings: vec![(var, value)],
            body,
        })))
    }
}
