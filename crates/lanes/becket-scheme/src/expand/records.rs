//! `define-record-type`, as definitions of procedures that the machine makes.

use super::Expander;
use crate::fault::Fault;
use crate::number::Number;
use crate::syntax::{Form, Syntax};

impl Expander<'_> {
    /// The definitions for a record type.
    pub(super) fn record_type(&mut self, items: &[Syntax], form: &Syntax) -> Result<Vec<Syntax>, Fault> {
        let [_, kind, constructor, predicate, specs @ ..] = items else {
            return self.wrong(
                form,
                "define-record-type takes a name, a constructor, a predicate and fields",
            );
        };
        let place = form.place();
        // The name may be given as `(name …)`, as some other implementations do.
        let kind = kind.list().and_then(|parts| parts.first()).unwrap_or(kind);
        if kind.ident().is_none() {
            return self.wrong(kind, "the name of a record type must be a name");
        }
        let mut fields = Vec::new();
        for spec in specs {
            let parts = spec.list().unwrap_or(std::slice::from_ref(spec));
            if parts.is_empty() || parts.len() > 3 || parts.iter().any(|part| part.ident().is_none()) {
                return self.wrong(spec, "a field is a name, with an accessor and a modifier");
            }
            fields.push(parts);
        }
        let list = |items: Vec<Syntax>| Syntax::new(Form::List(items, None), place);
        let (define, quote) = (self.core("define", place), self.core("quote", place));
        let quoted = |datum: Syntax| list(vec![quote.clone(), datum]);
        let number = |index: usize| Syntax::new(Form::Number(Number::Int(index as i64)), place);
        let names = list(fields.iter().map(|parts| parts[0].clone()).collect());
        let make = list(vec![
            self.core("%make-record-type", place),
            quoted(kind.clone()),
            quoted(names),
        ]);
        let mut forms = vec![list(vec![define.clone(), kind.clone(), make])];
        if let Some((name, order)) = self.constructor(constructor, &fields)? {
            let order = quoted(list(order.into_iter().map(number).collect()));
            let make = list(vec![self.core("%record-constructor", place), kind.clone(), order]);
            forms.push(list(vec![define.clone(), name, make]));
        }
        if predicate.ident().is_some() {
            let make = list(vec![self.core("%record-predicate", place), kind.clone()]);
            forms.push(list(vec![define.clone(), predicate.clone(), make]));
        }
        for (index, parts) in fields.iter().enumerate() {
            for (name, maker) in parts[1..].iter().zip(["%record-accessor", "%record-modifier"]) {
                let make = list(vec![self.core(maker, place), kind.clone(), number(index)]);
                forms.push(list(vec![define.clone(), name.clone(), make]));
            }
        }
        Ok(forms)
    }

    /// The name of a constructor and the fields it takes; `None` if there is no constructor.
    fn constructor(
        &self,
        form: &Syntax,
        fields: &[&[Syntax]],
    ) -> Result<Option<(Syntax, Vec<usize>)>, Fault> {
        match form.form() {
            Form::Bool(false) => Ok(None),
            Form::Ident(_) => Ok(Some((form.clone(), (0..fields.len()).collect()))),
            Form::List(parts, None) if !parts.is_empty() => {
                let mut order = Vec::new();
                for part in &parts[1..] {
                    match fields.iter().position(|field| field[0].ident() == part.ident()) {
                        Some(index) => order.push(index),
                        None => {
                            return self.wrong(part, "the constructor takes a field that the record has not");
                        }
                    }
                }
                Ok(Some((parts[0].clone(), order)))
            }
            _ => self.wrong(form, "a constructor is a name, or a name with fields"),
        }
    }
}
