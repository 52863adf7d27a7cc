//! Libraries: tables of procedures and definitions that are compiled when they are used, registered by name and set up
//! by the first import.

use std::borrow::Cow;
use std::sync::Arc;

use crate::native::{Builtin, Native};
use crate::value::Symbol;

/// A library of the host: procedures written in Rust, definitions written in Scheme, or both.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// The name as it is imported: `(srfi 1)`.
    pub name: Cow<'static, str>,
    /// Libraries whose names the definitions may use.
    pub imports: Vec<Cow<'static, str>>,
    pub natives: Vec<Native>,
    /// Definitions, each of which begins in the first column of a line, where nothing else does. A definition is
    /// compiled when it is used, so that an import costs next to nothing.
    pub definitions: Cow<'static, str>,
    /// The exported names; by default, everything whose name does not begin with `%`. Names of imports may be listed
    /// too.
    pub exports: Option<Vec<Cow<'static, str>>>,
    /// Names of the imports that are exported as well.
    pub also: Vec<Cow<'static, str>>,
}

impl Module {
    /// A library made of a table and of definitions in Scheme.
    pub fn new(
        name: &'static str,
        imports: &[&'static str],
        table: &[Builtin],
        definitions: &'static str,
    ) -> Self {
        Self {
            name: name.into(),
            imports: imports.iter().map(|name| (*name).into()).collect(),
            natives: table.iter().map(Native::from).collect(),
            definitions: definitions.into(),
            exports: None,
            also: Vec::new(),
        }
    }

    /// This library with names of its imports that it exports too.
    pub fn also_exporting(mut self, names: &'static str) -> Self {
        self.also = names.split_whitespace().map(Cow::Borrowed).collect();
        self
    }

    /// This library with a list of what it exports.
    pub fn exporting(mut self, names: &'static str) -> Self {
        self.exports = Some(names.split_whitespace().map(Cow::Borrowed).collect());
        self
    }
}

/// A known library.
#[derive(Clone)]
pub enum Library {
    /// A list of the machine's own names.
    Standard(&'static str),
    /// One of the machine's own, made when it is imported for the first time.
    Bundled(fn() -> Module),
    /// A library of the host, set up when it is imported for the first time.
    Given(Arc<Module>),
    /// A text with `define-library`, read when it is imported for the first time.
    Source { text: Arc<str>, file: Arc<str> },
    /// A library that is ready: the exported names, each with its name inside.
    Ready {
        environment: u32,
        exports: Arc<Vec<(Symbol, Symbol)>>,
    },
}
