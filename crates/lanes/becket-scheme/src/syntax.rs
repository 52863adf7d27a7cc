//! Source text as a tree: what the expander works on. It knows where each form stands, and identifiers that a macro
//! brought along are other identifiers than those the author wrote.

use std::sync::Arc;

use crate::number::Number;
use crate::value::Symbol;

/// Where a form stands in a source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// A number of the heap's table of files.
    pub file: u16,
    /// Counted from 1.
    pub column: u16,
    /// Counted from 1.
    pub line: u32,
}

/// A name in a program: as it was written, or as an expansion brought it along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ident {
    Plain(Symbol),
    /// The place of an alias in the expander's table.
    Alias(u32),
}

/// A form, shared by whoever holds it.
#[derive(Clone, Debug)]
pub struct Syntax(Arc<Node>);

#[derive(Debug)]
struct Node {
    form: Form,
    place: Place,
    /// How deep the forms in it are nested.
    depth: usize,
    /// How many forms there are in it, those that are shared counted as often as they are there.
    size: usize,
}

/// What a form is.
#[derive(Debug)]
pub enum Form {
    Ident(Ident),
    Bool(bool),
    Number(Number),
    Char(char),
    String(String),
    Bytes(Vec<u8>),
    /// Never empty at the front if there is a tail; the tail is never a list itself.
    List(Vec<Syntax>, Option<Syntax>),
    Vector(Vec<Syntax>),
    /// `#0=datum`.
    Labelled(u64, Syntax),
    /// `#0#`.
    Label(u64),
    /// A value that `eval` was given and that has no written form.
    Value(crate::value::Value),
}

impl Form {
    /// The forms in it.
    pub fn parts(&self) -> impl Iterator<Item = &Syntax> {
        let (items, last): (&[Syntax], Option<&Syntax>) = match self {
            Self::List(items, tail) => (items, tail.as_ref()),
            Self::Vector(items) => (items, None),
            Self::Labelled(_, inner) => (&[], Some(inner)),
            _ => (&[], None),
        };
        items.iter().chain(last)
    }
}

impl Syntax {
    pub fn new(form: Form, place: Place) -> Self {
        let (depth, size) = form.parts().fold((0, 1), |(depth, size): (usize, usize), part| {
            (depth.max(part.depth() + 1), size.saturating_add(part.size()))
        });
        Self(Arc::new(Node {
            form,
            place,
            depth,
            size,
        }))
    }

    pub fn form(&self) -> &Form {
        &self.0.form
    }

    pub fn place(&self) -> Place {
        self.0.place
    }

    /// How deep the forms in it are nested.
    pub fn depth(&self) -> usize {
        self.0.depth
    }

    /// How many forms whoever walks through it will see. Shared ones count each time, so this may be far more than
    /// there is in memory.
    pub fn size(&self) -> usize {
        self.0.size
    }

    pub fn ident(&self) -> Option<Ident> {
        match self.form() {
            Form::Ident(ident) => Some(*ident),
            _ => None,
        }
    }

    /// The items of a proper list.
    pub fn list(&self) -> Option<&[Self]> {
        match self.form() {
            Form::List(items, None) => Some(items),
            _ => None,
        }
    }

    /// A list of these items in front of a tail, which may be a list itself.
    pub fn joined(mut items: Vec<Self>, tail: Option<Self>, place: Place) -> Self {
        let Some(tail) = tail else {
            return Self::new(Form::List(items, None), place);
        };
        match tail.form() {
            _ if items.is_empty() => tail,
            Form::List(more, rest) => {
                items.extend_from_slice(more);
                Self::new(Form::List(items, rest.clone()), place)
            }
            _ => Self::new(Form::List(items, Some(tail)), place),
        }
    }
}
