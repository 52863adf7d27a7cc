//! From text and data to code that runs: `load`, `eval`, environments.

use super::calls::Next;
use super::{Environment, Failure, Machine, RunState, Stop};
use crate::compile;
use crate::expand::Expander;
use crate::fault::Fault;
use crate::heap::Object;
use crate::ir::{Expr, Let, Var, Variable};
use crate::names::{Binding, CORE, Named};
use crate::place::SourcePlace;
use crate::printer::Style;
use crate::reader::read_forms;
use crate::special::Special;
use crate::syntax::{Form, Ident, Scope, Syntax};
use crate::value::{Symbol, Value};

impl Machine {
    /// An environment for programs, with the names of these libraries.
    pub fn environment(&mut self, libraries: &[&str]) -> Result<Environment, Failure> {
        let environment = self.names.environment();
        for (name, special) in [
            ("import", Special::Import),
            ("define-library", Special::DefineLibrary),
        ] {
            let name = self.heap.intern(name);
            let named = Named {
                binding: Binding::Special(special),
                own: false,
                defined: true,
            };
            self.names.environments[environment as usize]
                .names
                .insert(name, named);
        }
        for library in libraries {
            let exports = match self.names.exports(&mut self.heap, library) {
                Ok(exports) => exports,
                Err(fault) => return Err(self.failure(fault, None)),
            };
            for (name, binding) in exports {
                let named = Named {
                    binding,
                    own: false,
                    defined: true,
                };
                self.names.environments[environment as usize]
                    .names
                    .insert(name, named);
            }
        }
        Ok(Environment(environment))
    }

    /// Reads, compiles and runs a program. Nothing of it runs unless all of it can be compiled.
    pub fn load(&mut self, environment: Environment, source: &str, file: &str) -> Result<RunState, Failure> {
        self.begin();
        self.heap.interaction = environment.0;
        let start = SourcePlace {
            file: self.heap.file(file),
            line: 1,
            column: 1,
        };
        // Forms take more memory than their text does.
        let room = self.heap.reserve_items(source.len(), 16).or_else(|_| {
            self.collect().map_err(Fault::Limit)?;
            self.heap.reserve_items(source.len(), 16)
        });
        let forms = room.and_then(|()| read_forms(&mut self.heap, source, start));
        match forms.and_then(|forms| self.unit(&forms, environment.0, Frame::Kept)) {
            Ok(thunk) => self.start(thunk, &[]),
            Err(fault) => self.finish(Stop::Fault(fault, None)),
        }
    }

    /// The value of a name in an environment, if it is a variable with a value.
    pub fn lookup(&mut self, environment: Environment, name: &str) -> Option<Value> {
        let symbol = self.heap.intern(name);
        let binding = self
            .names
            .look_up(Ident::Plain(symbol), Scope::Top(environment.0))
            .ok()?;
        let binding = match binding {
            Binding::Late(index) => self.late(index).ok()?,
            other => other,
        };
        match binding {
            Binding::Global(cell) => {
                let value = self.heap.globals[cell as usize].value;
                (!matches!(value, Value::Unbound)).then_some(value)
            }
            Binding::Native(index) => Some(Value::Native(index)),
            _ => None,
        }
    }

    /// Defines a name in an environment.
    pub fn define(&mut self, environment: Environment, name: &str, value: Value) {
        let symbol = self.heap.intern(name);
        let names = &mut self.names.environments[environment.0 as usize].names;
        let cell = match names.get(&symbol) {
            Some(Named {
                binding: Binding::Global(cell),
                own: true,
                ..
            }) => *cell,
            _ => self.heap.global(symbol, Value::Unbound),
        };
        names.insert(
            symbol,
            Named {
                binding: Binding::Global(cell),
                own: true,
                defined: true,
            },
        );
        self.heap.globals[cell as usize].value = value;
    }

    /// All names of an environment, in order.
    pub fn names_in(&self, environment: Environment) -> Vec<&str> {
        let names = &self.names.environments[environment.0 as usize].names;
        let defined = names.iter().filter(|(_, named)| named.defined);
        let mut names: Vec<&str> = defined.map(|(name, _)| self.heap.name(*name)).collect();
        names.sort_unstable();
        names
    }

    fn late(&mut self, index: u32) -> Result<Binding, Fault> {
        let mut expander = Expander::new(&mut self.heap, &mut self.names);
        expander.late(index)
    }

    /// One of the machine's own procedures that is written in Scheme.
    pub(super) fn core(&mut self, name: &str) -> Result<Value, Fault> {
        self.lookup(Environment(CORE), name)
            .ok_or_else(|| Fault::syntax(format!("`{name}` is not there"), None))
    }

    /// Compiles forms into a procedure that runs them.
    fn unit(&mut self, forms: &[Syntax], environment: u32, frame: Frame) -> Result<Value, Fault> {
        let mut expander = Expander::new(&mut self.heap, &mut self.names);
        let result = expander.program(forms, environment);
        let mut variables = std::mem::take(&mut expander.variables);
        let result = result.map(|expr| match frame {
            Frame::Kept => kept(expr, &mut variables),
            Frame::Left => expr,
        });
        let result = result.and_then(|expr| self.compile(expr, &variables));
        self.names.forget();
        result
    }

    /// Compiles an expression. Late definitions whose value must be computed come first.
    fn compile(&mut self, expr: Expr, variables: &[Variable]) -> Result<Value, Fault> {
        let heap = &mut self.heap;
        let unbound = |cell: u32| matches!(heap.globals[cell as usize].value, Value::Unbound);
        self.names.pending.retain(|(cell, _)| unbound(*cell));
        let place = SourcePlace::default();
        let call = |(_, holder): &(u32, u32)| Expr::call(Expr::Global(*holder, place), Vec::new(), place);
        let mut all: Vec<Expr> = self.names.pending.iter().map(call).collect();
        all.push(expr);
        compile::thunk(heap, variables, Expr::sequence(all))
    }

    /// Calls `(eval datum environment)`.
    pub(super) fn eval(&mut self, at: usize, count: usize, pc: usize) -> Next {
        let datum = self.stack[at + 1];
        let environment = match self.stack.get(at + 2).map(|value| self.heap.as_object(*value)) {
            _ if count == 1 => self.heap.interaction,
            Some(Some(Object::Environment(environment))) => *environment,
            _ => {
                let fault = Fault::wrong_type("eval", "an environment", self.stack[at + 2]);
                return self.fault_in_call(fault, at, pc);
            }
        };
        let mut expander = Expander::new(&mut self.heap, &mut self.names);
        let form = expander
            .heap
            .check_permanent()
            .and_then(|()| expander.form_of(datum));
        match form.and_then(|form| self.unit(&[form], environment, Frame::Left)) {
            Ok(thunk) => {
                self.stack.truncate(at);
                self.stack.push(thunk);
                self.call(at, 0, pc)
            }
            Err(fault) => self.fault_in_call(fault, at, pc),
        }
    }

    /// Calls `(environment name …)`.
    pub(super) fn make_environment(&mut self, at: usize, pc: usize) -> Next {
        match self.imported(at + 1) {
            Ok(Imported::Known(environment)) => {
                let answer = self.heap.object(Object::Environment(environment));
                self.answer(answer, at)
            }
            Ok(Imported::New(environment, thunk)) => {
                // Libraries that come as text run before the environment is returned.
                let answer = self.heap.object(Object::Environment(environment));
                let then = match self.core("%after") {
                    Ok(then) => then,
                    Err(fault) => return self.fault_in_call(fault, at, pc),
                };
                self.stack.truncate(at);
                self.stack.extend([then, thunk, answer]);
                self.call(at, 2, pc)
            }
            Err(fault) => self.fault_in_call(fault, at, pc),
        }
    }

    /// The environment of the import sets that begin at `first` on the stack.
    fn imported(&mut self, first: usize) -> Result<Imported, Fault> {
        let sets = &self.stack[first..];
        let shown: Result<Vec<String>, Fault> = sets
            .iter()
            .map(|set| self.heap.show(*set, Style::Write))
            .collect();
        let key = shown?.join(" ");
        if let Some(environment) = self.names.imported.get(&key) {
            return Ok(Imported::Known(*environment));
        }
        self.heap.check_permanent()?;
        let environment = self.names.environment();
        let mut expander = Expander::new(&mut self.heap, &mut self.names);
        let place = SourcePlace::default();
        let symbol = expander.heap.intern("import");
        let import = expander.names.alias(Ident::Plain(symbol), Scope::Top(CORE));
        let mut items = vec![Syntax::new(Form::Ident(import), place)];
        for set in sets {
            items.push(expander.form_of(*set)?);
        }
        let form = Syntax::new(Form::List(items, None), place);
        let thunk = self.unit(&[form], environment, Frame::Left)?;
        self.names.environments[environment as usize].fixed = true;
        self.heap.charge_for_ever(key.len());
        self.names.imported.insert(key, environment);
        Ok(Imported::New(environment, thunk))
    }
}

/// What `(environment name …)` found.
enum Imported {
    /// An environment that was made before.
    Known(u32),
    /// A new environment, and a procedure that runs the libraries which come as text.
    New(u32, Value),
}

/// Whether the last form of a unit is an ordinary call or a tail call. Programs keep their frame, so that errors know
/// the form; `eval` must not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    Kept,
    Left,
}

/// Wraps an expression so that its last call is not a tail call.
fn kept(expr: Expr, variables: &mut Vec<Variable>) -> Expr {
    let var = Var(variables.len() as u32);
    variables.push(Variable {
        name: Symbol(0),
        assigned: false,
        mentioned: 1,
        called: 0,
    });
    Expr::Let(Box::new(Let {
        bindings: vec![(var, expr)],
        body: Expr::Local(var),
    }))
}
