//! Expands source forms into [`Expr`]: what names mean, what macros stand for, what each form computes. Identifiers
//! that a macro introduces are renamed, so that they mean what they meant where the macro was written.

mod bindings;
mod body;
mod conditionals;
mod libraries;
mod quasiquote;
mod records;
mod rules;

use crate::compile;
use crate::fault::Fault;
use crate::heap::Heap;
use crate::ir::{Expr, Var, Variable};
use crate::limits::Limit;
use crate::names::{Binding, CORE, LateState, Names};
use crate::place::SourcePlace;
use crate::printer::shorten;
use crate::reader::{Build, DEEPEST_SOURCE, Data, read_forms};
use crate::special::Special;
use crate::syntax::{Form, Ident, Scope, Syntax};
use crate::value::{Symbol, Value};

pub use libraries::FEATURES;

/// Memory that a form takes until it is compiled: itself, what it computes, and its names.
const FORM_BYTES: usize = 128;

/// How deep a form that a macro has made may be nested, even if it is not a program and is dropped again.
const DEEPEST_MADE: usize = 1000;

/// How many characters of a form a message shows, approximately.
const LONGEST_FORM: usize = 200;

/// Expands the forms of one unit: a file, or the argument of `eval`.
pub struct Expander<'a> {
    pub heap: &'a mut Heap,
    pub names: &'a mut Names,
    pub variables: Vec<Variable>,
    /// How deep forms are nested at the moment.
    depth: usize,
    /// How many forms were read or made so far.
    forms: usize,
}

/// Whether each variable of a form is visible to the values after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Together,
    OneByOne,
}

/// A form whose first word is known.
enum Head {
    Special(Special, Syntax),
    Other(Syntax),
}

impl<'a> Expander<'a> {
    pub fn new(heap: &'a mut Heap, names: &'a mut Names) -> Self {
        Self {
            heap,
            names,
            variables: Vec::new(),
            depth: 0,
            forms: 0,
        }
    }

    /// All forms of a program, as one expression.
    pub fn program(&mut self, forms: &[Syntax], environment: u32) -> Result<Expr, Fault> {
        let mut all = Vec::new();
        for form in forms {
            self.top(form, environment, &mut all)?;
        }
        Ok(Expr::sequence(all))
    }

    fn wrong<T>(&self, form: &Syntax, message: impl Into<String>) -> Result<T, Fault> {
        Err(Fault::syntax(message, Some(form.place())))
    }

    fn name_of(&self, ident: Ident) -> &str {
        self.heap.name(self.names.plain(ident))
    }

    /// Counts a form that is read or made, unless that is too much.
    fn count(&mut self) -> Result<(), Fault> {
        self.heap.spend(1)?;
        self.forms += 1;
        let memory = self.heap.limits.memory;
        match self.forms > memory / FORM_BYTES {
            true => Err(Fault::Limit(Limit::Memory(memory))),
            false => Ok(()),
        }
    }

    /// Checks a form that was made of others: it must not be too deep or too large to be walked.
    fn made(&self, form: Syntax) -> Result<Syntax, Fault> {
        let memory = self.heap.limits.memory;
        if form.depth() > DEEPEST_MADE {
            Err(Fault::Limit(Limit::Nesting(DEEPEST_MADE)))
        } else if form.size() > memory / FORM_BYTES {
            Err(Fault::Limit(Limit::Memory(memory)))
        } else {
            Ok(form)
        }
    }

    /// Keeps what was expanded so far, since macros may refer to it; `forms` of it are the program's own.
    fn keep(&mut self, forms: usize) {
        let kept = self.names.keep().saturating_add(forms);
        self.heap.charge_for_ever(kept.saturating_mul(FORM_BYTES));
    }

    /// Goes one form deeper, unless that is too deep.
    fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.depth >= DEEPEST_SOURCE {
            return Err(Fault::Limit(Limit::Nesting(DEEPEST_SOURCE)));
        }
        self.count()?;
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        result
    }

    /// Expands a form into what it computes.
    pub fn expand(&mut self, form: &Syntax, scope: Scope) -> Result<Expr, Fault> {
        self.deeper(|this| match this.head(form, scope)? {
            Head::Special(special, form) => this.special(special, &form, scope),
            Head::Other(form) => this.plain(&form, scope),
        })
    }

    /// Expands macros until a form is none.
    fn head(&mut self, form: &Syntax, scope: Scope) -> Result<Head, Fault> {
        let mut form = form.clone();
        loop {
            let first = match form.form() {
                Form::List(items, _) => items.first().and_then(Syntax::ident),
                Form::Ident(ident) => Some(*ident),
                _ => None,
            };
            let Some(ident) = first else {
                return Ok(Head::Other(form));
            };
            match self.resolve(ident, scope)? {
                Some(Binding::Special(special)) => return Ok(Head::Special(special, form)),
                Some(Binding::Macro(index)) => form = self.apply_macro(index, ident, &form, scope)?,
                _ => return Ok(Head::Other(form)),
            }
        }
    }

    fn apply_macro(&mut self, index: u32, name: Ident, form: &Syntax, scope: Scope) -> Result<Syntax, Fault> {
        self.count()?;
        let rules = self.names.macros[index as usize].clone();
        rules.apply(self, name, form, scope)
    }

    /// What a name means; a late definition is compiled when it is used.
    fn resolve(&mut self, ident: Ident, scope: Scope) -> Result<Option<Binding>, Fault> {
        match self.names.look_up(ident, scope) {
            Ok(Binding::Late(index)) => self.late(index).map(Some),
            Ok(binding) => Ok(Some(binding)),
            Err(_) => Ok(None),
        }
    }

    /// Compiles a late definition.
    pub(crate) fn late(&mut self, index: u32) -> Result<Binding, Fault> {
        let late = &self.names.late[index as usize];
        if let LateState::Known(binding) = late.state {
            return Ok(binding);
        }
        let (environment, name) = (late.environment, late.name);
        if self.late_meaning(environment, name) == Some(Binding::Late(index)) {
            let (source, file, line) = (late.source.clone(), late.file, late.line);
            let forms = read_forms(
                self.heap,
                &source,
                SourcePlace {
                    file,
                    line,
                    column: 1,
                },
            )?;
            let mut inner = Expander::new(self.heap, self.names);
            // Nested late definitions are all on the stack.
            inner.depth = self.depth;
            let expr = inner.deeper(|inner| inner.program(&forms, environment))?;
            let variables = std::mem::take(&mut inner.variables);
            self.define_late(expr, &variables)?;
        }
        let Some(binding) = self.late_meaning(environment, name) else {
            let message = format!("`{}` is not defined where it should be", self.heap.name(name));
            return Err(Fault::syntax(message, None));
        };
        self.names.late[index as usize].state = LateState::Known(binding);
        Ok(binding)
    }

    fn late_meaning(&self, environment: u32, name: Symbol) -> Option<Binding> {
        let named = self.names.environments[environment as usize].names.get(&name);
        named.map(|named| named.binding)
    }

    /// Gives late definitions their value: immediately if they are procedures, else before the unit runs.
    fn define_late(&mut self, expr: Expr, variables: &[Variable]) -> Result<(), Fault> {
        match expr {
            Expr::Sequence(items) => items
                .into_iter()
                .try_for_each(|item| self.define_late(item, variables)),
            Expr::Define(cell, value) if matches!(*value, Expr::Lambda(_)) => {
                let closure = compile::procedure(self.heap, variables, *value)?;
                self.heap.globals[cell as usize].value = closure;
                Ok(())
            }
            Expr::Define(cell, value) => {
                let thunk = compile::thunk(self.heap, variables, Expr::Define(cell, value))?;
                let name = self.heap.globals[cell as usize].name;
                let holder = self.heap.global(name, thunk);
                self.names.pending.push((cell, holder));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn variable(&mut self, ident: Ident) -> Var {
        let name = self.names.plain(ident);
        self.variables.push(Variable {
            name,
            assigned: false,
            mentioned: 0,
            called: 0,
        });
        Var((self.variables.len() - 1) as u32)
    }

    /// A new variable, visible in a scope.
    fn bind_variable(&mut self, ident: Ident, scope: Scope) -> Var {
        let var = self.variable(ident);
        self.names.bind(scope, ident, Binding::Local(var.0));
        var
    }

    /// Expands a form that is neither special nor a macro.
    fn plain(&mut self, form: &Syntax, scope: Scope) -> Result<Expr, Fault> {
        match form.form() {
            Form::Ident(ident) => self.reference(*ident, form, scope),
            Form::List(items, None) if !items.is_empty() => self.call(items, form, scope),
            Form::List(items, None) if items.is_empty() => self.wrong(form, "`()` must be quoted: '()"),
            Form::List(..) => self.wrong(form, "a call must be a proper list"),
            _ => Ok(Expr::Constant(self.datum(form)?)),
        }
    }

    fn reference(&mut self, ident: Ident, form: &Syntax, scope: Scope) -> Result<Expr, Fault> {
        Ok(match self.resolve(ident, scope)? {
            Some(Binding::Local(var)) => {
                self.variables[var as usize].mentioned += 1;
                Expr::Local(Var(var))
            }
            Some(Binding::Native(index)) => Expr::Constant(Value::Native(index)),
            Some(Binding::Global(cell)) => Expr::Global(cell, form.place()),
            _ => Expr::Global(self.mentioned(ident, scope), form.place()),
        })
    }

    fn call(&mut self, items: &[Syntax], form: &Syntax, scope: Scope) -> Result<Expr, Fault> {
        let operator = self.expand(&items[0], scope)?;
        if let Expr::Local(var) = operator {
            self.variables[var.0 as usize].called += 1;
        }
        let operands = self.all(&items[1..], scope)?;
        Ok(Expr::call(operator, operands, form.place()))
    }

    fn all(&mut self, forms: &[Syntax], scope: Scope) -> Result<Vec<Expr>, Fault> {
        forms.iter().map(|form| self.expand(form, scope)).collect()
    }

    fn sequence(&mut self, forms: &[Syntax], scope: Scope) -> Result<Expr, Fault> {
        Ok(Expr::sequence(self.all(forms, scope)?))
    }

    // tidy: a table
    fn special(&mut self, special: Special, form: &Syntax, scope: Scope) -> Result<Expr, Fault> {
        let Some(items) = form.list().filter(|items| !items.is_empty()) else {
            return self.wrong(form, "a keyword means nothing here");
        };
        match special {
            Special::Quote => match items {
                [_, datum] => Ok(Expr::Constant(self.datum(datum)?)),
                _ => self.wrong(form, "quote takes one datum"),
            },
            Special::Quasiquote => self.quasiquote(items, form, scope),
            Special::Lambda => self.lambda(items, form, scope),
            Special::CaseLambda => self.case_lambda(items, form, scope),
            Special::If => self.if_form(items, form, scope),
            Special::Set => self.set(items, form, scope),
            Special::Begin => match items {
                [_] => self.wrong(form, "begin needs a form"),
                _ => self.sequence(&items[1..], scope),
            },
            Special::Let => self.let_form(items, form, scope),
            Special::LetStar => self.let_star(items, form, scope),
            Special::Letrec | Special::LetrecStar => self.letrec(items, form, scope),
            Special::LetValues => self.let_values(items, form, scope, Order::Together),
            Special::LetStarValues => self.let_values(items, form, scope, Order::OneByOne),
            Special::LetSyntax => self.let_syntax(items, form, scope, Order::Together),
            Special::LetrecSyntax => self.let_syntax(items, form, scope, Order::OneByOne),
            Special::Cond => self.cond(items, scope),
            Special::Case => self.case(items, form, scope),
            Special::And => Ok(Expr::And(self.all(&items[1..], scope)?)),
            Special::Or => Ok(Expr::Or(self.all(&items[1..], scope)?)),
            Special::When | Special::Unless => self.when(special, items, form, scope),
            Special::Do => self.do_form(items, form, scope),
            Special::Delay | Special::DelayForce => self.delay(special, items, form, scope),
            Special::Parameterize => self.parameterize(items, form, scope),
            Special::Guard => self.guard(items, form, scope),
            Special::CondExpand => {
                let chosen = self.cond_expand(items, form)?;
                self.sequence(&chosen, scope)
            }
            Special::Include | Special::IncludeCi => {
                let included = self.include(special, items, form)?;
                self.sequence(&included, scope)
            }
            Special::SyntaxError => self.syntax_error(items, form),
            Special::Define | Special::DefineValues | Special::DefineRecordType | Special::DefineSyntax => {
                self.wrong(
                    form,
                    "a definition means nothing here: put it at the start of a body",
                )
            }
            Special::Import | Special::DefineLibrary => {
                self.wrong(form, "this means nothing inside of a form")
            }
            Special::Unquote | Special::UnquoteSplicing => self.wrong(form, "unquote is for quasiquote"),
            Special::SyntaxRules => self.wrong(form, "syntax-rules is for define-syntax"),
            Special::Else | Special::Arrow | Special::Ellipsis | Special::Underscore => {
                self.wrong(form, "a keyword means nothing here")
            }
        }
    }

    fn syntax_error<T>(&self, items: &[Syntax], form: &Syntax) -> Result<T, Fault> {
        let parts: Vec<String> = items[1..].iter().map(|item| self.text_of(item)).collect();
        self.wrong(form, parts.join(" "))
    }

    /// A form as text, for messages.
    fn text_of(&self, form: &Syntax) -> String {
        let mut text = String::new();
        self.write_form(form, &mut text);
        shorten(text, LONGEST_FORM)
    }

    fn write_form(&self, form: &Syntax, text: &mut String) {
        match form.form() {
            _ if text.len() > LONGEST_FORM => {}
            Form::String(string) => text.push_str(string),
            Form::Ident(ident) => text.push_str(self.name_of(*ident)),
            Form::Number(number) => {
                text.push_str(&crate::number::number_text(number, 10).unwrap_or_default());
            }
            Form::List(items, _) => {
                text.push('(');
                for (index, item) in items.iter().take(8).enumerate() {
                    if index > 0 {
                        text.push(' ');
                    }
                    self.write_form(item, text);
                }
                text.push(')');
            }
            _ => text.push('…'),
        }
    }

    /// Whether a form is the given keyword.
    fn is_keyword(&self, form: &Syntax, scope: Scope, special: Special) -> bool {
        let meaning = form.ident().map(|ident| self.names.look_up(ident, scope));
        matches!(meaning, Some(Ok(Binding::Special(found))) if found == special)
    }

    /// A name of the machine's own, whatever the name means where it is used.
    fn core(&mut self, name: &str, place: SourcePlace) -> Syntax {
        let symbol = self.heap.intern(name);
        let alias = self.names.alias(Ident::Plain(symbol), Scope::Top(CORE));
        Syntax::new(Form::Ident(alias), place)
    }

    /// One of the machine's own procedures.
    fn core_procedure(&mut self, name: &str, place: SourcePlace) -> Result<Expr, Fault> {
        let ident = self.core(name, place);
        self.expand(&ident, Scope::Top(CORE))
    }

    /// The value of a quoted form.
    pub fn datum(&mut self, form: &Syntax) -> Result<Value, Fault> {
        let mut data = Data::default();
        let value = self.datum_part(form, &mut data)?;
        Ok(data.finish(self.heap, value))
    }

    fn datum_part(&mut self, form: &Syntax, data: &mut Data) -> Result<Value, Fault> {
        self.count()?;
        Ok(match form.form() {
            Form::Ident(ident) => Value::Symbol(self.names.plain(*ident)),
            Form::Bool(value) => Value::Bool(*value),
            Form::Number(number) => self.heap.number(number.clone())?,
            Form::Char(value) => Value::Char(*value),
            Form::String(text) => self.heap.string(text.as_str()),
            Form::Bytes(bytes) => self.heap.object(crate::heap::Object::Bytes(bytes.clone())),
            Form::Value(value) => *value,
            Form::Label(label) => data.reference(*label, form.place())?,
            Form::Labelled(label, inner) => {
                data.label(self.heap, *label);
                let value = self.deeper(|this| this.datum_part(inner, data))?;
                data.labelled(*label, value, form.place())
            }
            Form::Vector(items) => {
                let items = self.datum_parts(items, data)?;
                self.heap.vector(items)
            }
            Form::List(items, tail) => {
                let items = self.datum_parts(items, data)?;
                let tail = match tail {
                    Some(tail) => self.datum_part(tail, data)?,
                    None => Value::Nil,
                };
                self.heap.list_with_tail(&items, tail)
            }
        })
    }

    fn datum_parts(&mut self, forms: &[Syntax], data: &mut Data) -> Result<Vec<Value>, Fault> {
        self.deeper(|this| forms.iter().map(|form| this.datum_part(form, data)).collect())
    }

    /// A value as a form, for `eval`.
    pub fn form_of(&mut self, value: Value) -> Result<Syntax, Fault> {
        self.count()?;
        let place = SourcePlace::default();
        Ok(match value {
            Value::Symbol(symbol) => Syntax::new(Form::Ident(Ident::Plain(symbol)), place),
            Value::Pair(_) => {
                let mut list = self.heap.list_items(value);
                let items: Vec<Value> = list.by_ref().collect();
                let rest = list.rest;
                if matches!(rest, Value::Pair(_)) {
                    return Err(Fault::misuse("eval: this list goes around", Vec::new()));
                }
                let items = self.deeper(|this| items.iter().map(|item| this.form_of(*item)).collect())?;
                let tail = if rest.is_nil() {
                    None
                } else {
                    Some(self.form_of(rest)?)
                };
                Syntax::joined(items, tail, place)
            }
            Value::Nil => Syntax::new(Form::List(Vec::new(), None), place),
            Value::Vector(at) => {
                let items = self.heap.items(at).to_vec();
                let items = self.deeper(|this| items.iter().map(|item| this.form_of(*item)).collect())?;
                Syntax::new(Form::Vector(items), place)
            }
            Value::Bool(value) => Syntax::new(Form::Bool(value), place),
            Value::Char(value) => Syntax::new(Form::Char(value), place),
            other => match self.heap.as_number(other) {
                Some(number) => Syntax::new(Form::Number(number), place),
                None => Syntax::new(Form::Value(other), place),
            },
        })
    }
}
