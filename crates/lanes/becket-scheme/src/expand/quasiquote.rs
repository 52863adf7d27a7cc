//! Quasiquotation: calls that build what is written, and constants where nothing is computed.

use super::Expander;
use crate::fault::Fault;
use crate::ir::Expr;
use crate::place::SourcePlace;
use crate::special::Special;
use crate::syntax::{Form, Scope, Syntax};
use crate::value::Value;

impl Expander<'_> {
    pub(super) fn quasiquote(
        &mut self,
        items: &[Syntax],
        form: &Syntax,
        scope: Scope,
    ) -> Result<Expr, Fault> {
        match items {
            [_, template] => self.quasi(template, 0, scope),
            _ => self.wrong(form, "quasiquote takes one datum"),
        }
    }

    fn quasi(&mut self, form: &Syntax, depth: usize, scope: Scope) -> Result<Expr, Fault> {
        if !self.has_unquote(form, scope)? {
            return Ok(Expr::Constant(self.datum(form)?));
        }
        self.deeper(|this| match form.form() {
            Form::Vector(items) => {
                let list = this.quasi_list(items, None, depth, scope, form.place())?;
                let convert = this.core_procedure("list->vector", form.place())?;
                Ok(Expr::call(convert, vec![list], form.place()))
            }
            Form::List(items, tail) => {
                if let Some((special, datum)) = this.special_pair(form, scope) {
                    return match special {
                        Special::Unquote if depth == 0 => this.expand(&datum, scope),
                        Special::Quasiquote => this.quasi_nested(form, &datum, depth + 1, scope),
                        _ => this.quasi_nested(form, &datum, depth.saturating_sub(1), scope),
                    };
                }
                this.quasi_list(items, tail.as_ref(), depth, scope, form.place())
            }
            _ => Ok(Expr::Constant(this.datum(form)?)),
        })
    }

    /// Reads `(unquote x)` and the like.
    fn special_pair(&self, form: &Syntax, scope: Scope) -> Option<(Special, Syntax)> {
        let [head, datum] = form.list()? else { return None };
        let kinds = [Special::Unquote, Special::UnquoteSplicing, Special::Quasiquote];
        let special = kinds
            .into_iter()
            .find(|special| self.is_keyword(head, scope, *special))?;
        Some((special, datum.clone()))
    }

    /// Keeps a quotation inside of a quotation.
    fn quasi_nested(
        &mut self,
        form: &Syntax,
        datum: &Syntax,
        depth: usize,
        scope: Scope,
    ) -> Result<Expr, Fault> {
        let place = form.place();
        let head = match form.list() {
            Some([head, _]) => self.datum(head)?,
            _ => Value::Nil,
        };
        let datum = self.quasi(datum, depth, scope)?;
        let list = self.core_procedure("list", place)?;
        Ok(Expr::call(list, vec![Expr::Constant(head), datum], place))
    }

    fn quasi_list(
        &mut self,
        items: &[Syntax],
        tail: Option<&Syntax>,
        depth: usize,
        scope: Scope,
        place: SourcePlace,
    ) -> Result<Expr, Fault> {
        // `(a . ,b)` is `(a unquote b)`, and `(a . `b)` is `(a quasiquote b)`.
        let quotes = |item: &Syntax| {
            let kinds = [Special::Unquote, Special::Quasiquote];
            kinds
                .into_iter()
                .any(|special| self.is_keyword(item, scope, special))
        };
        let dotted = items
            .len()
            .checked_sub(2)
            .filter(|at| *at > 0 && tail.is_none() && quotes(&items[*at]));
        let (items, rest) = match (dotted, tail) {
            (Some(at), _) => {
                let rest = Syntax::new(Form::List(items[at..].to_vec(), None), place);
                (&items[..at], self.quasi(&rest, depth, scope)?)
            }
            (None, Some(tail)) => (items, self.quasi(tail, depth, scope)?),
            (None, None) => (items, Expr::Constant(Value::Nil)),
        };
        // The runs between two splices as lists, and the splices, in order.
        let (mut parts, mut run) = (Vec::new(), Vec::new());
        for item in items {
            match self.special_pair(item, scope) {
                Some((Special::UnquoteSplicing, datum)) if depth == 0 => {
                    if !run.is_empty() {
                        parts.push(self.build("list", std::mem::take(&mut run), place)?);
                    }
                    parts.push(self.expand(&datum, scope)?);
                }
                _ => run.push(self.quasi(item, depth, scope)?),
            }
        }
        if parts.is_empty() {
            run.push(rest);
            return self.build("cons*", run, place);
        }
        run.push(rest);
        parts.push(self.build("cons*", run, place)?);
        self.build("append", parts, place)
    }

    fn build(&mut self, procedure: &str, parts: Vec<Expr>, place: SourcePlace) -> Result<Expr, Fault> {
        Ok(Expr::call(self.core_procedure(procedure, place)?, parts, place))
    }

    /// Whether something in a template is computed or quoted again.
    fn has_unquote(&self, form: &Syntax, scope: Scope) -> Result<bool, Fault> {
        let mut work = vec![form];
        while let Some(form) = work.pop() {
            self.heap.spend(1)?;
            match form.form() {
                Form::Ident(_) => {
                    let kinds = [Special::Unquote, Special::UnquoteSplicing, Special::Quasiquote];
                    if kinds
                        .into_iter()
                        .any(|special| self.is_keyword(form, scope, special))
                    {
                        return Ok(true);
                    }
                }
                Form::Labelled(..) => {}
                form => work.extend(form.parts()),
            }
        }
        Ok(false)
    }
}
