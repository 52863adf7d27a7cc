//! Which definitions of the library a filter needs. The others are not compiled, which is most of a start's time.

use std::collections::BTreeSet;

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Def, Pattern, Term};
use jaq_core::path::{Part, Path};

/// The definitions that a filter calls, directly or through others, in their order.
pub(crate) fn needed<'s>(library: Vec<Def<&'s str>>, filter: &Term<&'s str>) -> Vec<Def<&'s str>> {
    let mut names = Names::default();
    names.term(filter);
    let mut is_needed = vec![false; library.len()];
    // Each round finds what the definitions of the last one call.
    loop {
        let count = names.0.len();
        for (definition, needed) in library.iter().zip(&mut is_needed) {
            if !*needed && names.0.contains(definition.name) {
                *needed = true;
                names.term(&definition.body);
            }
        }
        if names.0.len() == count {
            break;
        }
    }
    let library = library.into_iter().zip(is_needed);
    library
        .filter_map(|(definition, needed)| needed.then_some(definition))
        .collect()
}

/// The names that are called somewhere.
#[derive(Default)]
struct Names<'s>(BTreeSet<&'s str>);

impl<'s> Names<'s> {
    fn term(&mut self, term: &Term<&'s str>) {
        match term {
            Term::Id | Term::Recurse | Term::Num(_) | Term::Break(_) | Term::Var(_) => {}
            Term::Str(format, parts) => {
                self.0.extend(format);
                for part in parts {
                    if let StrPart::Term(inner) = part {
                        self.term(inner);
                    }
                }
            }
            Term::Arr(inner) => self.all(inner.as_deref()),
            Term::Obj(fields) => {
                self.all(
                    fields
                        .iter()
                        .flat_map(|(key, value)| [Some(key), value.as_ref()])
                        .flatten(),
                );
            }
            Term::Neg(inner) | Term::Label(_, inner) => self.term(inner),
            Term::BinOp(left, operator, right) => {
                if let BinaryOp::Pipe(Some(into)) = operator {
                    self.pattern(into);
                }
                self.all([&**left, right]);
            }
            Term::Fold(_, over, into, steps) => {
                self.pattern(into);
                self.term(over);
                self.all(steps);
            }
            Term::TryCatch(inner, catch) => {
                self.term(inner);
                self.all(catch.as_deref());
            }
            Term::IfThenElse(branches, otherwise) => {
                self.all(branches.iter().flat_map(|(condition, then)| [condition, then]));
                self.all(otherwise.as_deref());
            }
            Term::Def(definitions, inner) => {
                self.all(definitions.iter().map(|definition| &definition.body));
                self.term(inner);
            }
            Term::Call(name, arguments) => {
                self.0.insert(name);
                self.all(arguments);
            }
            Term::Path(from, Path(parts)) => {
                self.term(from);
                for (part, _) in parts {
                    match part {
                        Part::Index(index) => self.term(index),
                        Part::Range(from, to) => self.all([from, to].into_iter().flatten()),
                    }
                }
            }
        }
    }

    fn all<'t>(&mut self, terms: impl IntoIterator<Item = &'t Term<&'s str>>)
    where
        's: 't,
    {
        for term in terms {
            self.term(term);
        }
    }

    fn pattern(&mut self, pattern: &Pattern<&'s str>) {
        match pattern {
            Pattern::Var(_) => {}
            Pattern::Arr(items) => items.iter().for_each(|item| self.pattern(item)),
            Pattern::Obj(fields) => {
                for (key, inner) in fields {
                    self.term(key);
                    self.pattern(inner);
                }
            }
        }
    }
}
