//! Source text as a tree: the input of the expander. Each form knows its place, and identifiers that a macro introduced
//! are distinct from those that the author wrote.

use std::sync::Arc;

use crate::number::Number;
use crate::place::SourcePlace;
use crate::value::{Symbol, Value};

/// A name in a program: as it was written, or as an expansion introduced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ident {
    Plain(Symbol),
    /// An alias, as an index into the expander's table.
    Alias(u32),
}

/// Where a name is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Top(u32),
    Inner(u32),
}

/// A form, shared by all its holders.
#[derive(Clone, Debug)]
pub struct Syntax(Arc<Node>);

#[derive(Debug)]
struct Node {
    form: Form,
    place: SourcePlace,
    /// How deep the nested forms are.
    depth: usize,
    /// How many forms are in this one; shared ones count each time they occur.
    size: usize,
}

/// The kind and content of a form.
#[derive(Debug)]
pub enum Form {
    Ident(Ident),
    Bool(bool),
    Number(Number),
    Char(char),
    String(String),
    Bytes(Vec<u8>),
    /// A list with an optional tail. Never empty at the front if there is a tail; the tail is never a list itself.
    List(Vec<Syntax>, Option<Syntax>),
    Vector(Vec<Syntax>),
    /// `#0=datum`.
    Labelled(u64, Syntax),
    /// `#0#`.
    Label(u64),
    /// A value that was passed to `eval` and has no written form.
    Value(Value),
}

impl Form {
    /// The nested forms.
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
    pub fn new(form: Form, place: SourcePlace) -> Self {
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

    pub fn place(&self) -> SourcePlace {
        self.0.place
    }

    /// How deep the nested forms are.
    pub fn depth(&self) -> usize {
        self.0.depth
    }

    /// How many forms a walk through this one visits. Shared ones count each time, so this may be far more than there
    /// is in memory.
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
    pub fn joined(mut items: Vec<Self>, tail: Option<Self>, place: SourcePlace) -> Self {
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
