//! `import`, `define-library`, `include` and `cond-expand`.

use std::sync::Arc;

use super::Expander;
use crate::fault::Fault;
use crate::ir::Expr;
use crate::library::Library;
use crate::names::{Binding, Named};
use crate::place::SourcePlace;
use crate::reader::read_forms;
use crate::special::Special;
use crate::syntax::{Form, Syntax};
use crate::value::{Symbol, Value};

/// The features of the machine, for `cond-expand` and `(features)`.
pub const FEATURES: &[&str] = &["r7rs", "exact-closed", "ratios", "full-unicode", "becket-scheme"];

/// Names of an import, and what they mean.
type Imported = Vec<(Symbol, Binding)>;

impl Expander<'_> {
    pub(super) fn import(
        &mut self,
        sets: &[Syntax],
        environment: u32,
        out: &mut Vec<Expr>,
    ) -> Result<(), Fault> {
        for set in sets {
            for (name, binding) in self.import_set(set, out)? {
                self.import_name(name, binding, environment)?;
                self.heap.charge_for_ever(size_of::<(Symbol, Named)>());
            }
        }
        Ok(())
    }

    /// Makes a name mean what it means in a library. Code that mentioned it before it was defined sees it now.
    fn import_name(&mut self, name: Symbol, binding: Binding, environment: u32) -> Result<(), Fault> {
        let named = Named {
            binding,
            own: false,
            defined: true,
        };
        let before = self.names.environments[environment as usize]
            .names
            .insert(name, named);
        let Some(Named {
            binding: Binding::Global(cell),
            own: true,
            defined: false,
        }) = before
        else {
            return Ok(());
        };
        let binding = match binding {
            Binding::Late(index) => self.late(index)?,
            other => other,
        };
        self.heap.globals[cell as usize].value = match binding {
            Binding::Native(index) => Value::Native(index),
            Binding::Global(other) => self.heap.globals[other as usize].value,
            _ => Value::Unbound,
        };
        Ok(())
    }

    fn symbol_of(&self, form: &Syntax) -> Result<Symbol, Fault> {
        match form.ident() {
            Some(ident) => Ok(self.names.plain(ident)),
            None => self.wrong(form, "this must be a name"),
        }
    }

    fn word_of(&self, form: &Syntax) -> &str {
        form.ident().map_or("", |ident| self.name_of(ident))
    }

    fn import_set(&mut self, set: &Syntax, out: &mut Vec<Expr>) -> Result<Imported, Fault> {
        let Some(items) = set.list().filter(|items| !items.is_empty()) else {
            return self.wrong(set, "an import is a list such as (scheme base)");
        };
        let word = self.word_of(&items[0]).to_owned();
        let nested = items.get(1).filter(|inner| inner.list().is_some());
        let (Some(inner), true) = (
            nested,
            ["only", "except", "prefix", "rename"].contains(&word.as_str()),
        ) else {
            return self.library(set, out);
        };
        let mut names = self.deeper(|this| this.import_set(inner, out))?;
        let rest = &items[2..];
        match word.as_str() {
            "only" => {
                let wanted = self.known(rest, &names)?;
                names.retain(|(name, _)| wanted.contains(name));
            }
            "except" => {
                let unwanted = self.known(rest, &names)?;
                names.retain(|(name, _)| !unwanted.contains(name));
            }
            "prefix" => {
                let [prefix] = rest else {
                    return self.wrong(set, "prefix takes one prefix");
                };
                let prefix = self.word_of(prefix).to_owned();
                let longest = names.iter().map(|(name, _)| self.heap.name(*name).len()).max();
                let length = prefix.len() + longest.unwrap_or_default();
                self.heap.reserve_items(names.len(), length)?;
                for (name, _) in &mut names {
                    let longer = format!("{prefix}{}", self.heap.name(*name));
                    *name = self.heap.intern(&longer);
                }
            }
            _ => {
                let mut renames = Vec::new();
                for pair in rest {
                    let Some([from, to]) = pair.list() else {
                        return self.wrong(pair, "rename takes pairs of names");
                    };
                    self.known(std::slice::from_ref(from), &names)?;
                    renames.push((self.symbol_of(from)?, self.symbol_of(to)?));
                }
                for (name, _) in &mut names {
                    if let Some((_, to)) = renames.iter().find(|(from, _)| from == name) {
                        *name = *to;
                    }
                }
            }
        }
        Ok(names)
    }

    /// Names that must be among those of an import.
    fn known(&self, forms: &[Syntax], names: &Imported) -> Result<Vec<Symbol>, Fault> {
        let check = |form: &Syntax| {
            let symbol = self.symbol_of(form)?;
            if names.iter().any(|(name, _)| *name == symbol) {
                return Ok(symbol);
            }
            self.wrong(
                form,
                format!("the library does not export `{}`", self.heap.name(symbol)),
            )
        };
        forms.iter().map(check).collect()
    }

    /// What a library exports; its text is expanded at the first import.
    fn library(&mut self, name: &Syntax, out: &mut Vec<Expr>) -> Result<Imported, Fault> {
        let key = self.library_name(name)?;
        if let Some(Library::Source { text, file }) = self.names.libraries.get(&key).cloned() {
            // A library that imports itself is not found.
            self.names.libraries.remove(&key);
            let read = self.source_library(&text, &file, out);
            if read.is_err() {
                self.names.libraries.insert(key, Library::Source { text, file });
                read?;
                return Ok(Vec::new());
            }
        }
        self.names.exports(self.heap, &key).map_err(|fault| match fault {
            Fault::Error(mut trouble) => {
                trouble.place = trouble.place.or(Some(name.place()));
                Fault::Error(trouble)
            }
            other => other,
        })
    }

    fn source_library(&mut self, text: &str, file: &str, out: &mut Vec<Expr>) -> Result<(), Fault> {
        let file = self.heap.file(file);
        let forms = read_forms(
            self.heap,
            text,
            SourcePlace {
                file,
                line: 1,
                column: 1,
            },
        )?;
        let scope_environment = crate::names::CORE;
        self.deeper(|this| {
            forms
                .iter()
                .try_for_each(|form| this.top(form, scope_environment, out))
        })
    }

    /// The name of a library as text, such as `(srfi 1)`.
    fn library_name(&self, form: &Syntax) -> Result<String, Fault> {
        let part = |item: &Syntax| match item.form() {
            Form::Ident(ident) => Ok(self.name_of(*ident).to_owned()),
            Form::Number(crate::number::Number::Int(number)) if *number >= 0 => Ok(number.to_string()),
            _ => self.wrong(item, "the name of a library is a list of names and numbers"),
        };
        match form.list() {
            Some(items) if !items.is_empty() => {
                let parts = items.iter().map(part).collect::<Result<Vec<String>, Fault>>()?;
                Ok(format!("({})", parts.join(" ")))
            }
            _ => self.wrong(form, "the name of a library is a list of names and numbers"),
        }
    }

    pub(super) fn define_library(
        &mut self,
        items: &[Syntax],
        form: &Syntax,
        out: &mut Vec<Expr>,
    ) -> Result<(), Fault> {
        let [_, name, declarations @ ..] = items else {
            return self.wrong(form, "a library needs a name");
        };
        let key = self.library_name(name)?;
        let taken = self.names.libraries.get(&key);
        if taken.is_some_and(|library| !self.is_replaceable(library)) {
            return self.wrong(name, format!("{key} is there already"));
        }
        let environment = self.names.environment();
        let mut library = Draft {
            environment,
            exports: Vec::new(),
            bodies: Vec::new(),
        };
        self.declarations(declarations, &mut library, out)?;
        for body in std::mem::take(&mut library.bodies) {
            self.top(&body, environment, out)?;
        }
        let names = &self.names.environments[environment as usize].names;
        let defined = |symbol: &Symbol| names.get(symbol).is_some_and(|named| named.defined);
        if let Some((_, missing)) = library.exports.iter().find(|(_, inside)| !defined(inside)) {
            let missing = self.heap.name(*missing).to_owned();
            return self.wrong(
                form,
                format!("{key} exports `{missing}`, which it does not define"),
            );
        }
        self.keep(library.exports.len());
        self.names.libraries.insert(
            key,
            Library::Ready {
                environment,
                exports: Arc::new(library.exports),
            },
        );
        Ok(())
    }

    /// Whether a library may be replaced: a program may define its own libraries again.
    fn is_replaceable(&self, library: &Library) -> bool {
        match library {
            Library::Ready { environment, .. } => self.names.environments[*environment as usize].from_program,
            _ => false,
        }
    }

    fn declarations(
        &mut self,
        declarations: &[Syntax],
        library: &mut Draft,
        out: &mut Vec<Expr>,
    ) -> Result<(), Fault> {
        self.names.environments[library.environment as usize].from_program = true;
        for declaration in declarations {
            let Some([word, rest @ ..]) = declaration.list() else {
                return self.wrong(declaration, "a declaration of a library is a list");
            };
            match self.word_of(word) {
                "export" => self.exports(rest, library)?,
                "import" => self.import(rest, library.environment, out)?,
                "begin" => library.bodies.extend_from_slice(rest),
                "include" => {
                    let items = declaration.list().unwrap_or_default();
                    library
                        .bodies
                        .extend(self.include(Special::Include, items, declaration)?);
                }
                "include-ci" => {
                    let items = declaration.list().unwrap_or_default();
                    library
                        .bodies
                        .extend(self.include(Special::IncludeCi, items, declaration)?);
                }
                "include-library-declarations" => {
                    let items = declaration.list().unwrap_or_default();
                    let included = self.include(Special::Include, items, declaration)?;
                    self.deeper(|this| this.declarations(&included, library, out))?;
                }
                "cond-expand" => {
                    let items = declaration.list().unwrap_or_default().to_vec();
                    let chosen = self.cond_expand(&items, declaration)?;
                    self.deeper(|this| this.declarations(&chosen, library, out))?;
                }
                other => {
                    let message = format!("`{other}` is no declaration of a library");
                    return self.wrong(declaration, message);
                }
            }
        }
        Ok(())
    }

    fn exports(&mut self, specs: &[Syntax], library: &mut Draft) -> Result<(), Fault> {
        for spec in specs {
            let (outside, inside) = match spec.list() {
                Some([word, inside, outside]) if self.word_of(word) == "rename" => (outside, inside),
                _ => (spec, spec),
            };
            library
                .exports
                .push((self.symbol_of(outside)?, self.symbol_of(inside)?));
        }
        Ok(())
    }

    /// The forms of the clause of `cond-expand` that fits.
    pub(super) fn cond_expand(&mut self, items: &[Syntax], form: &Syntax) -> Result<Vec<Syntax>, Fault> {
        for clause in items.get(1..).unwrap_or_default() {
            let Some([requirement, body @ ..]) = clause.list() else {
                return self.wrong(clause, "a clause of cond-expand is a list");
            };
            if self.is_met(requirement)? {
                return Ok(body.to_vec());
            }
        }
        self.wrong(form, "no clause of cond-expand fits")
    }

    fn is_met(&mut self, requirement: &Syntax) -> Result<bool, Fault> {
        if let Some(ident) = requirement.ident() {
            let name = self.name_of(ident);
            return Ok(name == "else" || FEATURES.contains(&name));
        }
        let Some([word, rest @ ..]) = requirement.list() else {
            return self.wrong(requirement, "a requirement is a name or a list");
        };
        match (self.word_of(word), rest) {
            ("library", [name]) => {
                let name = self.library_name(name)?;
                Ok(self.names.libraries.contains_key(&name))
            }
            ("not", [inner]) => Ok(!self.deeper(|this| this.is_met(inner))?),
            ("and", all) => {
                for inner in all {
                    if !self.deeper(|this| this.is_met(inner))? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            ("or", any) => {
                for inner in any {
                    if self.deeper(|this| this.is_met(inner))? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            _ => self.wrong(
                requirement,
                "a requirement is a feature, or library, and, or, not with some",
            ),
        }
    }

    /// The forms of included files.
    pub(super) fn include(
        &mut self,
        special: Special,
        items: &[Syntax],
        form: &Syntax,
    ) -> Result<Vec<Syntax>, Fault> {
        let mut forms = Vec::new();
        for item in items.get(1..).unwrap_or_default() {
            let Form::String(name) = item.form() else {
                return self.wrong(item, "include takes names of files");
            };
            let Some(includer) = self.names.includer.clone() else {
                return self.wrong(form, "there are no files to include here");
            };
            let mut text = match includer(name) {
                Ok(text) => text,
                Err(reason) => return self.wrong(item, format!("cannot include {name}: {reason}")),
            };
            if special == Special::IncludeCi {
                text.insert_str(0, "#!fold-case ");
            }
            let file = self.heap.file(name);
            let start = SourcePlace {
                file,
                line: 1,
                column: 1,
            };
            forms.extend(read_forms(self.heap, &text, start)?);
        }
        Ok(forms)
    }
}

/// A library that is being defined.
struct Draft {
    environment: u32,
    /// The exported names, each with its name inside.
    exports: Vec<(Symbol, Symbol)>,
    bodies: Vec<Syntax>,
}
