//! Sets up libraries: gives environments their procedures, special forms and definitions, and finds out what a library
//! exports.

use std::borrow::Cow;
use std::sync::Arc;

use crate::fault::Fault;
use crate::heap::Heap;
use crate::library::{Library, Module};
use crate::names::{Binding, CORE, Late, LateState, Named, Names};
use crate::native::Native;
use crate::place::SourcePlace;
use crate::reader::read_forms;
use crate::special::SPECIALS;
use crate::syntax::{Form, Ident, Syntax};
use crate::value::Symbol;

impl Names {
    /// Adds procedures written in Rust to an environment.
    pub fn add_natives(&mut self, heap: &mut Heap, environment: u32, natives: impl Iterator<Item = Native>) {
        for native in natives {
            let name = heap.intern(&native.name);
            let (signature, run) = native.into_parts();
            heap.natives.push(signature);
            self.runs.push(run);
            let binding = Binding::Native((heap.natives.len() - 1) as u32);
            self.define(environment, name, binding);
        }
    }

    /// Adds all special forms to an environment.
    pub fn add_specials(&mut self, heap: &mut Heap, environment: u32) {
        for (name, special) in SPECIALS {
            let name = heap.intern(name);
            self.define(environment, name, Binding::Special(*special));
        }
    }

    fn define(&mut self, environment: u32, name: Symbol, binding: Binding) {
        let named = Named {
            binding,
            own: true,
            defined: true,
        };
        self.environments[environment as usize].names.insert(name, named);
    }

    /// Adds definitions that are compiled when they are used.
    pub fn add_definitions(
        &mut self,
        heap: &mut Heap,
        environment: u32,
        text: Cow<'static, str>,
        file: &str,
    ) -> Result<(), Fault> {
        let file = heap.file(file);
        for (source, line) in top_forms(text) {
            let names = defined_names(
                heap,
                &source,
                SourcePlace {
                    file,
                    line,
                    column: 1,
                },
            )?;
            for name in names {
                let index = self.late.len() as u32;
                let source = source.clone();
                let state = LateState::Waiting;
                self.late.push(Late {
                    environment,
                    name,
                    source,
                    file,
                    line,
                    state,
                });
                self.define(environment, name, Binding::Late(index));
            }
        }
        Ok(())
    }

    /// Sets up a library of the host.
    pub fn set_up(&mut self, heap: &mut Heap, module: &Module) -> Result<Library, Fault> {
        let environment = self.environment();
        for import in &module.imports {
            for (name, binding) in self.visible(heap, import)? {
                let named = Named {
                    binding,
                    own: false,
                    defined: true,
                };
                self.environments[environment as usize].names.insert(name, named);
            }
        }
        let first_native = heap.natives.len();
        self.add_natives(heap, environment, module.natives.iter().cloned());
        heap.natives[first_native..]
            .iter_mut()
            .for_each(|native| native.inline = None);
        self.add_definitions(
            heap,
            environment,
            module.definitions.clone(),
            &format!("{}.scm", module.name),
        )?;
        let exports: Vec<(Symbol, Symbol)> = match &module.exports {
            Some(names) => names
                .iter()
                .map(|name| heap.intern(name))
                .map(|name| (name, name))
                .collect(),
            None => {
                let names = &self.environments[environment as usize].names;
                let own = names.iter().filter(|(_, named)| named.own).map(|(name, _)| *name);
                own.filter(|name| !heap.name(*name).starts_with('%'))
                    .map(|name| (name, name))
                    .collect()
            }
        };
        let also = module
            .also
            .iter()
            .map(|name| heap.intern(name))
            .map(|name| (name, name));
        let exports: Vec<(Symbol, Symbol)> = exports.into_iter().chain(also).collect();
        let known = &self.environments[environment as usize].names;
        if let Some((name, _)) = exports.iter().find(|(name, _)| !known.contains_key(name)) {
            let message = format!(
                "{} exports `{}`, which it does not have",
                module.name,
                heap.name(*name)
            );
            return Err(Fault::syntax(message, None));
        }
        Ok(Library::Ready {
            environment,
            exports: Arc::new(exports),
        })
    }

    /// The names of a library that another one imports. `(core)` stands for everything that the machine has, and is not
    /// a library that a program could import.
    fn visible(&mut self, heap: &mut Heap, name: &str) -> Result<Vec<(Symbol, Binding)>, Fault> {
        if name != "(core)" {
            return self.exports(heap, name);
        }
        let core = &self.environments[CORE as usize].names;
        Ok(core.iter().map(|(name, named)| (*name, named.binding)).collect())
    }

    /// What a library exports, if that is known without running code.
    pub fn exports(&mut self, heap: &mut Heap, name: &str) -> Result<Vec<(Symbol, Binding)>, Fault> {
        let library = match self.libraries.get(name) {
            Some(library) => library.clone(),
            None => return Err(Fault::syntax(self.unknown_library(name), None)),
        };
        let ready = match library {
            Library::Standard(names) => {
                let names = names.split_whitespace().map(|name| heap.intern(name));
                let exports = names.map(|name| (name, name)).collect();
                Library::Ready {
                    environment: CORE,
                    exports: Arc::new(exports),
                }
            }
            Library::Bundled(make) => self.set_up(heap, &make())?,
            Library::Given(module) => self.set_up(heap, &module)?,
            Library::Source { .. } => {
                return Err(Fault::syntax(
                    format!("{name} must be imported by a program first"),
                    None,
                ));
            }
            ready => ready,
        };
        let Library::Ready { environment, exports } = &ready else {
            return Ok(Vec::new());
        };
        let names = &self.environments[*environment as usize].names;
        let export = |(outside, inside): &(Symbol, Symbol)| match names.get(inside) {
            Some(named) => Ok((*outside, named.binding)),
            None => {
                let message = format!(
                    "{name} exports `{}`, which it does not define",
                    heap.name(*inside)
                );
                Err(Fault::syntax(message, None))
            }
        };
        let list = exports.iter().map(export).collect();
        self.libraries.insert(name.to_owned(), ready);
        list
    }

    /// The message for a library that does not exist.
    pub fn unknown_library(&self, name: &str) -> String {
        match self.forbidden.get(name) {
            Some(why) => format!("there is no library {name} here: {why}"),
            None => format!("there is no library {name}"),
        }
    }
}

/// The definitions of a text and the lines in which they begin: everything that starts in the first column.
fn top_forms(text: Cow<'static, str>) -> Vec<(Cow<'static, str>, u32)> {
    let mut starts = Vec::new();
    let (mut line, mut offset) = (1, 0);
    for piece in text.split_inclusive('\n') {
        if piece.starts_with('(') {
            starts.push((offset, line));
        }
        offset += piece.len();
        line += 1;
    }
    let ends = starts.iter().skip(1).map(|(start, _)| *start).chain([text.len()]);
    let cut = |start: usize, end: usize| match &text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[start..end]),
        Cow::Owned(text) => Cow::Owned(text[start..end].to_owned()),
    };
    starts
        .iter()
        .zip(ends)
        .map(|((start, line), end)| (cut(*start, end), *line))
        .collect()
}

/// The names that a definition defines, found without reading all of it if possible.
fn defined_names(heap: &mut Heap, source: &str, place: SourcePlace) -> Result<Vec<Symbol>, Fault> {
    let simple = ["(define (", "(define-syntax ", "(define "];
    if let Some(rest) = simple.iter().find_map(|start| source.strip_prefix(start)) {
        let end = rest.find([' ', ')', '\n']).unwrap_or(rest.len());
        return Ok(vec![heap.intern(&rest[..end])]);
    }
    let forms = read_forms(heap, source, place)?;
    let mut names = Vec::new();
    if let Some([_, kind, constructor, predicate, fields @ ..]) = forms.first().and_then(Syntax::list) {
        let first = constructor
            .list()
            .and_then(|parts| parts.first())
            .unwrap_or(constructor);
        let parts = fields
            .iter()
            .flat_map(|field| field.list().unwrap_or_default().iter().skip(1));
        for part in [kind, first, predicate].into_iter().chain(parts) {
            if let Form::Ident(Ident::Plain(symbol)) = part.form() {
                names.push(*symbol);
            }
        }
    }
    Ok(names)
}
