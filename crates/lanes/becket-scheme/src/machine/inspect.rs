//! What a program can ask about its machine: libraries, their names, and what is visible.

use super::Machine;
use super::calls::Next;
use crate::builtins::lists::is_procedure;
use crate::fault::Fault;
use crate::library::Library;
use crate::names::{Binding, LateState};
use crate::value::{Symbol, Value};

impl Machine {
    /// Calls `(%inspect question argument …)`.
    pub(super) fn inspect(&mut self, at: usize, pc: usize) -> Next {
        let question = match self.stack[at + 1] {
            Value::Symbol(symbol) => self.heap.name(symbol).to_owned(),
            _ => String::new(),
        };
        let argument = self.stack.get(at + 2).copied().unwrap_or(Value::Absent);
        let answer = match question.as_str() {
            "libraries" => Ok(self.library_list(|_| true)),
            "imported" => Ok(self.library_list(|library| matches!(library, Library::Ready { .. }))),
            "exports" => self.exported_names(argument),
            "bindings" => Ok(self.visible_names()),
            _ => Err(Fault::misuse("nobody can answer this", vec![self.stack[at + 1]])),
        };
        match answer {
            Ok(value) => self.answer(value, at),
            Err(fault) => self.fault_in_call(fault, at, pc),
        }
    }

    /// The names of libraries, as lists.
    fn library_list(&mut self, wanted: impl Fn(&Library) -> bool) -> Value {
        let wanted = self.names.libraries.iter().filter(|(_, library)| wanted(library));
        let mut names: Vec<String> = wanted.map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        let lists: Vec<Value> = names.iter().map(|name| self.library_value(name)).collect();
        self.heap.list(&lists)
    }

    fn library_value(&mut self, name: &str) -> Value {
        let words = name.trim_matches(['(', ')']).split(' ');
        let word = |word: &str| match word.parse() {
            Ok(number) => Value::Int(number),
            Err(_) => self.heap.symbol(word),
        };
        let words: Vec<Value> = words.map(word).collect();
        self.heap.list(&words)
    }

    fn exported_names(&mut self, name: Value) -> Result<Value, Fault> {
        let key = self.heap.show(name, crate::printer::Style::Display)?;
        let exports = self.names.exports(&mut self.heap, &key)?;
        let mut names: Vec<Symbol> = exports.into_iter().map(|(name, _)| name).collect();
        names.sort_unstable_by(|a, b| self.heap.name(*a).cmp(self.heap.name(*b)));
        let names: Vec<Value> = names.into_iter().map(Value::Symbol).collect();
        Ok(self.heap.list(&names))
    }

    /// `((name kind . value) …)` for everything that the program sees; the value only for procedures.
    fn visible_names(&mut self) -> Value {
        let environment = self.heap.interaction as usize;
        let names = &self.names.environments[environment].names;
        let mut names: Vec<(Symbol, Binding)> = names
            .iter()
            .filter(|(_, named)| named.defined)
            .map(|(name, named)| (*name, named.binding))
            .collect();
        names.sort_unstable_by(|a, b| self.heap.name(a.0).cmp(self.heap.name(b.0)));
        let mut entries = Vec::with_capacity(names.len());
        for (name, binding) in names {
            let (kind, value) = self.kind(binding);
            let kind = self.heap.symbol(kind);
            let rest = self.heap.cons(kind, value);
            entries.push(self.heap.cons(Value::Symbol(name), rest));
        }
        self.heap.list(&entries)
    }

    fn kind(&self, binding: Binding) -> (&'static str, Value) {
        match binding {
            Binding::Special(_) | Binding::Macro(_) => ("syntax", Value::Bool(false)),
            Binding::Native(index) => ("procedure", Value::Native(index)),
            Binding::Global(cell) => {
                let value = self.heap.globals[cell as usize].value;
                if is_procedure(&self.heap, value) {
                    ("procedure", value)
                } else {
                    ("variable", Value::Bool(false))
                }
            }
            Binding::Late(index) => {
                let late = &self.names.late[index as usize];
                match late.state {
                    LateState::Known(known) => self.kind(known),
                    LateState::Waiting if late.source.starts_with("(define-syntax") => {
                        ("syntax", Value::Bool(false))
                    }
                    LateState::Waiting => ("procedure", Value::Bool(false)),
                }
            }
            Binding::Local(_) => ("variable", Value::Bool(false)),
        }
    }
}
