//! Definitions: in bodies, where they come before expressions, and at the top of programs and libraries.
//!
//! A definition of an imported name hides it from there on. What was compiled before keeps what was imported, so that
//! `(define old car) (define (car x) …)` works.

use super::{Expander, Head};
use crate::fault::Fault;
use crate::ir::{Body, Expr, Item, Var};
use crate::names::{Binding, Named};
use crate::special::Special;
use crate::syntax::{Form, Ident, Scope, Syntax};
use crate::value::Value;

/// A part of a body, with its names known but its values not expanded.
enum Pending {
    Define(Var, Ident, Definition),
    Effect(Syntax),
}

/// What a name is defined as.
enum Definition {
    Value(Syntax),
    Procedure {
        formals: Syntax,
        body: Vec<Syntax>,
        form: Syntax,
    },
    Nothing,
}

impl Expander<'_> {
    /// Expands the body of a procedure or of `let`.
    pub(super) fn body(&mut self, forms: &[Syntax], form: &Syntax, scope: Scope) -> Result<Expr, Fault> {
        if forms.is_empty() {
            return self.wrong(form, "the body is empty");
        }
        let scope = self.names.enter(scope);
        let mut pending = self.scan(forms, scope)?;
        let last = match pending.pop() {
            Some(Pending::Effect(form)) => Some(form),
            Some(definition) => {
                pending.push(definition);
                None
            }
            None => None,
        };
        let mut items = Vec::new();
        for part in pending {
            items.push(match part {
                Pending::Effect(form) => Item::Effect(self.expand(&form, scope)?),
                Pending::Define(var, ident, definition) => {
                    Item::Define(var, self.definition(ident, definition, scope)?)
                }
            });
        }
        let result = match last {
            Some(form) => self.expand(&form, scope)?,
            None => Self::nothing(),
        };
        if items.iter().all(|item| matches!(item, Item::Effect(_))) {
            let effect = |item| match item {
                Item::Effect(expr) | Item::Define(_, expr) => expr,
            };
            let mut all: Vec<Expr> = items.into_iter().map(effect).collect();
            all.push(result);
            return Ok(Expr::sequence(all));
        }
        Ok(Expr::Body(Box::new(Body { items, result })))
    }

    /// Finds the definitions of a body, so that all of them are visible to all of it.
    fn scan(&mut self, forms: &[Syntax], scope: Scope) -> Result<Vec<Pending>, Fault> {
        let mut queue: Vec<Syntax> = forms.iter().rev().cloned().collect();
        let mut pending = Vec::new();
        while let Some(form) = queue.pop() {
            self.count()?;
            let (special, form) = match self.head(&form, scope)? {
                Head::Special(special, form) => (special, form),
                Head::Other(form) => {
                    pending.push(Pending::Effect(form));
                    continue;
                }
            };
            let Some(items) = form.list() else {
                pending.push(Pending::Effect(form));
                continue;
            };
            match special {
                Special::Begin => queue.extend(items[1..].iter().rev().cloned()),
                Special::CondExpand => queue.extend(self.cond_expand(items, &form)?.into_iter().rev()),
                Special::Include | Special::IncludeCi => {
                    queue.extend(self.include(special, items, &form)?.into_iter().rev());
                }
                Special::DefineValues => queue.extend(self.define_values(items, &form)?.into_iter().rev()),
                Special::DefineRecordType => queue.extend(self.record_type(items, &form)?.into_iter().rev()),
                Special::DefineSyntax => {
                    let [_, name, rules] = items else {
                        return self.wrong(&form, "define-syntax takes a name and rules");
                    };
                    let Some(ident) = name.ident() else {
                        return self.wrong(name, "this must be a name");
                    };
                    let meaning = self.macro_of(rules, scope)?;
                    self.names.bind(scope, ident, meaning);
                }
                Special::Define => {
                    let (ident, definition) = self.parse_define(items, &form)?;
                    let var = self.bind_variable(ident, scope);
                    pending.push(Pending::Define(var, ident, definition));
                }
                _ => pending.push(Pending::Effect(form)),
            }
        }
        Ok(pending)
    }

    /// `(define name value)` or `(define (name . formals) body …)`.
    fn parse_define(&self, items: &[Syntax], form: &Syntax) -> Result<(Ident, Definition), Fault> {
        let Some(target) = items.get(1) else {
            return self.wrong(form, "define needs a name");
        };
        match target.form() {
            Form::Ident(ident) => match items {
                [_, _] => Ok((*ident, Definition::Nothing)),
                [_, _, value] => Ok((*ident, Definition::Value(value.clone()))),
                _ => self.wrong(form, "define takes a name and one value"),
            },
            Form::List(parts, tail) => {
                let Some(ident) = parts.first().and_then(Syntax::ident) else {
                    return self.wrong(target, "the name of a procedure must be a name");
                };
                let formals = match (&parts[1..], tail) {
                    ([], Some(rest)) => rest.clone(),
                    (parts, tail) => Syntax::new(Form::List(parts.to_vec(), tail.clone()), target.place()),
                };
                let body = items[2..].to_vec();
                Ok((
                    ident,
                    Definition::Procedure {
                        formals,
                        body,
                        form: form.clone(),
                    },
                ))
            }
            _ => self.wrong(target, "define needs a name"),
        }
    }

    fn definition(&mut self, ident: Ident, definition: Definition, scope: Scope) -> Result<Expr, Fault> {
        match definition {
            Definition::Nothing => Ok(Self::nothing()),
            Definition::Value(value) => self.named_value(ident, &value, scope),
            Definition::Procedure { formals, body, form } => {
                let name = Some(self.names.plain(ident));
                self.procedure(name, &formals, &body, &form, scope)
            }
        }
    }

    /// Expands `(define-values formals value)` to definitions of a list and its parts.
    fn define_values(&mut self, items: &[Syntax], form: &Syntax) -> Result<Vec<Syntax>, Fault> {
        let [_, formals, value] = items else {
            return self.wrong(form, "define-values takes names and a value");
        };
        let place = form.place();
        let list = |items: Vec<Syntax>| Syntax::new(Form::List(items, None), place);
        let (names, rest): (&[Syntax], _) = match formals.form() {
            Form::List(names, rest) => (names, rest.as_ref()),
            _ => (&[], Some(formals)),
        };
        let (define, lambda) = (self.core("define", place), self.core("lambda", place));
        let values = self.core("%values", place);
        let mut copies: Vec<Syntax> = Vec::new();
        for name in names.iter().chain(rest) {
            let Some(ident) = name.ident() else {
                return self.wrong(name, "this must be a name");
            };
            let alias = self.names.alias(ident, Scope::Top(crate::names::CORE));
            copies.push(Syntax::new(Form::Ident(alias), place));
        }
        let collect = self.core("cons*", place);
        let parameters = Syntax::joined(
            copies[..names.len()].to_vec(),
            copies.get(names.len()).cloned(),
            place,
        );
        let parameters = match names {
            [] if rest.is_none() => list(Vec::new()),
            _ => parameters,
        };
        let mut parts = vec![collect];
        parts.extend(copies);
        if rest.is_none() {
            let quote = self.core("quote", place);
            parts.push(list(vec![quote, list(Vec::new())]));
        }
        let receive = self.core("call-with-values", place);
        let producer = list(vec![lambda.clone(), list(Vec::new()), value.clone()]);
        let consumer = list(vec![lambda, parameters, list(parts)]);
        let all = list(vec![receive, producer, consumer]);
        let mut forms = vec![list(vec![define.clone(), values.clone(), all])];
        let (car, tail) = (self.core("list-ref", place), self.core("list-tail", place));
        for (index, name) in names.iter().chain(rest).enumerate() {
            let number = Syntax::new(Form::Number(crate::number::Number::Int(index as i64)), place);
            let part = if index < names.len() {
                car.clone()
            } else {
                tail.clone()
            };
            let part = list(vec![part, values.clone(), number]);
            forms.push(list(vec![define.clone(), name.clone(), part]));
        }
        Ok(forms)
    }

    /// Expands a form at the top of a program or library.
    pub(super) fn top(&mut self, form: &Syntax, environment: u32, out: &mut Vec<Expr>) -> Result<(), Fault> {
        self.deeper(|this| this.top_form(form, environment, out))
    }

    fn top_form(&mut self, form: &Syntax, environment: u32, out: &mut Vec<Expr>) -> Result<(), Fault> {
        let scope = Scope::Top(environment);
        let (special, form) = match self.head(form, scope)? {
            Head::Special(special, form) => (special, form),
            Head::Other(form) => {
                out.push(self.expand(&form, scope)?);
                return Ok(());
            }
        };
        let Some(items) = form.list() else {
            out.push(self.expand(&form, scope)?);
            return Ok(());
        };
        let more = match special {
            Special::Begin => items[1..].to_vec(),
            Special::CondExpand => self.cond_expand(items, &form)?,
            Special::Include | Special::IncludeCi => self.include(special, items, &form)?,
            Special::DefineValues => self.define_values(items, &form)?,
            Special::DefineRecordType => self.record_type(items, &form)?,
            Special::DefineSyntax => return self.top_syntax(items, &form, environment),
            Special::Define => {
                out.push(self.top_define(items, &form, environment)?);
                return Ok(());
            }
            Special::Import => return self.import(&items[1..], environment, out),
            Special::DefineLibrary => return self.define_library(items, &form, out),
            _ => {
                out.push(self.expand(&form, scope)?);
                return Ok(());
            }
        };
        more.iter().try_for_each(|form| self.top(form, environment, out))
    }

    fn top_define(&mut self, items: &[Syntax], form: &Syntax, environment: u32) -> Result<Expr, Fault> {
        let (ident, definition) = self.parse_define(items, form)?;
        let cell = self.define_global(ident, environment, form)?;
        let value = self.definition(ident, definition, Scope::Top(environment))?;
        Ok(Expr::Define(cell, Box::new(value)))
    }

    fn top_syntax(&mut self, items: &[Syntax], form: &Syntax, environment: u32) -> Result<(), Fault> {
        let [_, name, rules] = items else {
            return self.wrong(form, "define-syntax takes a name and rules");
        };
        let Some(ident) = name.ident() else {
            return self.wrong(name, "this must be a name");
        };
        let binding = self.macro_of(rules, Scope::Top(environment))?;
        let symbol = self.names.plain(ident);
        let named = Named {
            binding,
            own: true,
            defined: true,
        };
        self.names.environments[environment as usize]
            .names
            .insert(symbol, named);
        self.keep(rules.size());
        Ok(())
    }

    /// The variable that a definition sets. An import of the same name is hidden from now on.
    fn define_global(&mut self, ident: Ident, environment: u32, form: &Syntax) -> Result<u32, Fault> {
        let symbol = self.names.plain(ident);
        let names = &mut self.names.environments[environment as usize];
        if names.fixed {
            return self.wrong(form, "nothing can be defined in this environment");
        }
        let cell = match names.names.get(&symbol) {
            Some(Named {
                binding: Binding::Global(cell),
                own: true,
                ..
            }) => *cell,
            _ => self.heap.global(symbol, Value::Unbound),
        };
        let named = Named {
            binding: Binding::Global(cell),
            own: true,
            defined: true,
        };
        names.names.insert(symbol, named);
        if let Ident::Alias(alias) = ident {
            names.aliases.insert(alias, named.binding);
        }
        Ok(cell)
    }

    /// The variable for a name that is not defined yet.
    pub(super) fn mentioned(&mut self, ident: Ident, scope: Scope) -> u32 {
        let (symbol, environment) = match self.names.look_up(ident, scope) {
            Ok(Binding::Global(cell)) => return cell,
            Ok(_) => (self.names.plain(ident), crate::names::CORE),
            Err(free) => free,
        };
        let names = &mut self.names.environments[environment as usize].names;
        if let Some(Named {
            binding: Binding::Global(cell),
            ..
        }) = names.get(&symbol)
        {
            return *cell;
        }
        let cell = self.heap.global(symbol, Value::Unbound);
        names.insert(
            symbol,
            Named {
                binding: Binding::Global(cell),
                own: true,
                defined: false,
            },
        );
        cell
    }

    /// Whether a variable belongs to the program or library that mentions it.
    pub(super) fn is_own(&self, mut ident: Ident, mut scope: Scope) -> bool {
        loop {
            while let Scope::Inner(index) = scope {
                scope = self.names.inner[index as usize].parent;
            }
            let Scope::Top(environment) = scope else {
                return false;
            };
            match ident {
                Ident::Plain(symbol) => {
                    let named = self.names.environments[environment as usize].names.get(&symbol);
                    return named.is_some_and(|named| named.own);
                }
                Ident::Alias(index) => {
                    if self.names.environments[environment as usize]
                        .aliases
                        .contains_key(&index)
                    {
                        return true;
                    }
                    let alias = self.names.aliases[index as usize];
                    (ident, scope) = (alias.name, alias.scope);
                }
            }
        }
    }
}
