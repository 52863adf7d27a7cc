//! Turns text into data: with places for the expander ([`Syntax`]), or as values for `read`. Nesting costs no stack.

mod lexer;

use std::marker::PhantomData;

use rustc_hash::FxHashMap;

pub use lexer::{Atom, CHARACTER_NAMES};
use lexer::{Lexer, Token};

use crate::fault::{ErrorKind, Fault};
use crate::heap::{Heap, Object};
use crate::limits::{Limit, Limits};
use crate::place::SourcePlace;
use crate::syntax::{Form, Ident, Syntax};
use crate::text::Text;
use crate::value::{ObjectRef, Value};

/// How deep source code may be nested: the code that processes it is recursive.
pub const DEEPEST_SOURCE: usize = 200;

/// Memory that a token takes at least, as long as the datum around it is open.
const TOKEN_BYTES: usize = 64;

/// Builds data from what is read.
pub trait Build {
    type Node;
    fn atom(&mut self, heap: &mut Heap, atom: Atom, place: SourcePlace) -> Result<Self::Node, Fault>;
    fn list(&mut self, heap: &mut Heap, list: ListParts<Self::Node>, place: SourcePlace) -> Self::Node;
    fn vector(&mut self, heap: &mut Heap, items: Vec<Self::Node>, place: SourcePlace) -> Self::Node;
    fn bytes(&mut self, heap: &mut Heap, bytes: Vec<u8>, place: SourcePlace) -> Self::Node;
    /// Called for `#0=`, before its datum.
    fn label(&mut self, heap: &mut Heap, label: u64);
    /// Called for the datum of `#0=`.
    fn labelled(&mut self, label: u64, node: Self::Node, place: SourcePlace) -> Self::Node;
    /// Called for `#0#`.
    fn reference(&mut self, label: u64, place: SourcePlace) -> Result<Self::Node, Fault>;
}

/// The items of a list, and what follows the dot.
pub struct ListParts<N> {
    pub items: Vec<N>,
    pub tail: Option<N>,
}

/// A datum that is not finished yet.
enum Open<N> {
    List {
        items: Vec<N>,
        tail: Option<N>,
        dotted: bool,
    },
    Vector(Vec<N>),
    Bytes(Vec<u8>),
    Prefix(&'static str),
    Discard,
    Labelled(u64),
}

/// Reads data from a text.
pub struct Reader<'a, B: Build> {
    lexer: Lexer<'a>,
    /// How deep data may be nested.
    deepest: usize,
    /// How many tokens were read so far.
    tokens: usize,
    builder: PhantomData<B>,
}

impl<'a, B: Build> Reader<'a, B> {
    pub fn new(heap: &Heap, text: &'a Text, at: usize, place: SourcePlace, deepest: usize) -> Self {
        let lexer = Lexer::new(text, at, place, heap.limits.number_bits);
        Self {
            lexer,
            deepest,
            tokens: 0,
            builder: PhantomData,
        }
    }

    /// How many characters have been read.
    pub fn at(&self) -> usize {
        self.lexer.at
    }

    /// Counts a token, unless that is too much.
    fn count(&mut self, heap: &Heap) -> Result<(), Fault> {
        heap.spend(1)?;
        self.tokens += 1;
        let memory = heap.limits.memory;
        match self.tokens > memory / TOKEN_BYTES {
            true => Err(Fault::Limit(Limit::Memory(memory))),
            false => Ok(()),
        }
    }

    /// The next datum; `None` at the end of the text.
    pub fn next(&mut self, heap: &mut Heap, builder: &mut B) -> Result<Option<B::Node>, Fault> {
        let mut stack: Vec<(Open<B::Node>, SourcePlace)> = Vec::new();
        loop {
            let (token, place) = self.lexer.next()?;
            self.count(heap)?;
            let open = match token {
                Token::Open => Some(Open::List {
                    items: Vec::new(),
                    tail: None,
                    dotted: false,
                }),
                Token::OpenVector => Some(Open::Vector(Vec::new())),
                Token::OpenBytes => Some(Open::Bytes(Vec::new())),
                Token::Prefix(name) => Some(Open::Prefix(name)),
                Token::Discard => Some(Open::Discard),
                Token::Labelled(label) => {
                    builder.label(heap, label);
                    Some(Open::Labelled(label))
                }
                _ => None,
            };
            if let Some(open) = open {
                if stack.len() >= self.deepest {
                    return Err(Fault::Limit(Limit::Nesting(self.deepest)));
                }
                stack.push((open, place));
                continue;
            }
            let node = match token {
                Token::Close => close(heap, builder, stack.pop(), place)?,
                Token::Dot => {
                    dot(&mut stack, place)?;
                    continue;
                }
                Token::Label(label) => builder.reference(label, place)?,
                Token::Atom(Atom::Number(number)) if is_bytes(&stack) => {
                    byte(&mut stack, &number, place)?;
                    continue;
                }
                Token::Atom(atom) => builder.atom(heap, atom, place)?,
                _ => match stack.last() {
                    Some((open, place)) => return self.lexer.unfinished(name_of(open), *place),
                    None => return Ok(None),
                },
            };
            if let Some(node) = place_in(heap, builder, &mut stack, node, place)? {
                return Ok(Some(node));
            }
        }
    }
}

fn name_of<N>(open: &Open<N>) -> &'static str {
    match open {
        Open::List { .. } => "a list",
        Open::Vector(_) => "a vector",
        Open::Bytes(_) => "a bytevector",
        Open::Prefix(name) => name,
        Open::Discard => "a comment",
        Open::Labelled(_) => "a label",
    }
}

fn is_bytes<N>(stack: &[(Open<N>, SourcePlace)]) -> bool {
    matches!(stack.last(), Some((Open::Bytes(_), _)))
}

fn byte<N>(
    stack: &mut [(Open<N>, SourcePlace)],
    number: &crate::number::Number,
    place: SourcePlace,
) -> Result<(), Fault> {
    let byte = match number {
        crate::number::Number::Int(word) => u8::try_from(*word).ok(),
        _ => None,
    };
    match (stack.last_mut(), byte) {
        (Some((Open::Bytes(bytes), _)), Some(byte)) => {
            bytes.push(byte);
            Ok(())
        }
        _ => Err(Fault::read(
            "a bytevector holds numbers from 0 to 255",
            Some(place),
        )),
    }
}

fn dot<N>(stack: &mut [(Open<N>, SourcePlace)], place: SourcePlace) -> Result<(), Fault> {
    match stack.last_mut() {
        Some((Open::List { items, dotted, .. }, _)) if !items.is_empty() && !*dotted => {
            *dotted = true;
            Ok(())
        }
        _ => Err(Fault::read("a dot means nothing here", Some(place))),
    }
}

fn close<B: Build>(
    heap: &mut Heap,
    builder: &mut B,
    open: Option<(Open<B::Node>, SourcePlace)>,
    at: SourcePlace,
) -> Result<B::Node, Fault> {
    match open {
        Some((Open::List { items, tail, dotted }, place)) if dotted == tail.is_some() => {
            Ok(builder.list(heap, ListParts { items, tail }, place))
        }
        Some((Open::Vector(items), place)) => Ok(builder.vector(heap, items, place)),
        Some((Open::Bytes(bytes), place)) => Ok(builder.bytes(heap, bytes, place)),
        Some((Open::List { .. }, _)) => Err(Fault::read("nothing comes behind the dot", Some(at))),
        Some((open, _)) => Err(Fault::read(
            format!("nothing comes behind {}", name_of(&open)),
            Some(at),
        )),
        None => Err(Fault::read("a `)` too many", Some(at))),
    }
}

/// Puts a finished datum into the one around it; returns it if there is none.
fn place_in<B: Build>(
    heap: &mut Heap,
    builder: &mut B,
    stack: &mut Vec<(Open<B::Node>, SourcePlace)>,
    mut node: B::Node,
    at: SourcePlace,
) -> Result<Option<B::Node>, Fault> {
    loop {
        let Some((open, place)) = stack.last_mut() else {
            return Ok(Some(node));
        };
        let place = *place;
        match open {
            Open::List { tail: Some(_), .. } => {
                return Err(Fault::read("more than one datum behind the dot", Some(at)));
            }
            Open::List {
                tail, dotted: true, ..
            } => {
                *tail = Some(node);
                return Ok(None);
            }
            Open::List { items, .. } | Open::Vector(items) => {
                items.push(node);
                return Ok(None);
            }
            Open::Bytes(_) => return Err(Fault::read("a bytevector holds numbers from 0 to 255", Some(at))),
            Open::Discard => {
                stack.pop();
                return Ok(None);
            }
            Open::Prefix(name) => {
                let name = builder.atom(heap, Atom::Symbol((*name).to_owned()), place)?;
                node = builder.list(
                    heap,
                    ListParts {
                        items: vec![name, node],
                        tail: None,
                    },
                    place,
                );
                stack.pop();
            }
            Open::Labelled(label) => {
                node = builder.labelled(*label, node, place);
                stack.pop();
            }
        }
    }
}

/// Builds forms with places.
#[derive(Debug, Default)]
pub struct Forms;

impl Build for Forms {
    type Node = Syntax;

    fn atom(&mut self, heap: &mut Heap, atom: Atom, place: SourcePlace) -> Result<Syntax, Fault> {
        let form = match atom {
            Atom::Bool(value) => Form::Bool(value),
            Atom::Number(number) => Form::Number(number),
            Atom::Char(value) => Form::Char(value),
            Atom::String(text) => Form::String(text),
            Atom::Symbol(name) => Form::Ident(Ident::Plain(heap.intern(&name))),
        };
        Ok(Syntax::new(form, place))
    }

    fn list(&mut self, _: &mut Heap, list: ListParts<Syntax>, place: SourcePlace) -> Syntax {
        Syntax::joined(list.items, list.tail, place)
    }

    fn vector(&mut self, _: &mut Heap, items: Vec<Syntax>, place: SourcePlace) -> Syntax {
        Syntax::new(Form::Vector(items), place)
    }

    fn bytes(&mut self, _: &mut Heap, bytes: Vec<u8>, place: SourcePlace) -> Syntax {
        Syntax::new(Form::Bytes(bytes), place)
    }

    fn label(&mut self, _: &mut Heap, _: u64) {}

    fn labelled(&mut self, label: u64, node: Syntax, place: SourcePlace) -> Syntax {
        Syntax::new(Form::Labelled(label, node), place)
    }

    fn reference(&mut self, label: u64, place: SourcePlace) -> Result<Syntax, Fault> {
        Ok(Syntax::new(Form::Label(label), place))
    }
}

/// Builds values. Labels may be used before their datum is complete, so they are filled in at the end.
#[derive(Debug, Default)]
pub struct Data {
    /// For each label, its placeholder, and its value as soon as that is known.
    labels: FxHashMap<u64, (Value, Option<Value>)>,
    /// Whether a placeholder was used for a label that was not known yet.
    forward: bool,
}

impl Build for Data {
    type Node = Value;

    fn atom(&mut self, heap: &mut Heap, atom: Atom, _: SourcePlace) -> Result<Value, Fault> {
        Ok(match atom {
            Atom::Bool(value) => Value::Bool(value),
            Atom::Number(number) => heap.number(number)?,
            Atom::Char(value) => Value::Char(value),
            Atom::String(text) => heap.string(text),
            Atom::Symbol(name) => heap.symbol(&name),
        })
    }

    fn list(&mut self, heap: &mut Heap, list: ListParts<Value>, _: SourcePlace) -> Value {
        heap.list_with_tail(&list.items, list.tail.unwrap_or(Value::Nil))
    }

    fn vector(&mut self, heap: &mut Heap, items: Vec<Value>, _: SourcePlace) -> Value {
        heap.vector(items)
    }

    fn bytes(&mut self, heap: &mut Heap, bytes: Vec<u8>, _: SourcePlace) -> Value {
        heap.object(Object::Bytes(bytes))
    }

    fn label(&mut self, heap: &mut Heap, label: u64) {
        let stand_in = heap.object(Object::Free);
        self.labels.insert(label, (stand_in, None));
    }

    fn labelled(&mut self, label: u64, node: Value, _: SourcePlace) -> Value {
        if let Some((_, known)) = self.labels.get_mut(&label) {
            *known = Some(node);
        }
        node
    }

    fn reference(&mut self, label: u64, place: SourcePlace) -> Result<Value, Fault> {
        match self.labels.get(&label) {
            Some((_, Some(known))) => Ok(*known),
            Some((stand_in, None)) => {
                self.forward = true;
                Ok(*stand_in)
            }
            None => Err(Fault::read(
                format!("no datum has the label #{label}="),
                Some(place),
            )),
        }
    }
}

impl Data {
    /// Replaces the placeholders of labels by their values.
    pub fn finish(&self, heap: &mut Heap, root: Value) -> Value {
        if !self.forward {
            return root;
        }
        let meanings: FxHashMap<ObjectRef, Value> = self
            .labels
            .values()
            .filter_map(|(stand_in, known)| match stand_in {
                Value::Object(at) => Some((*at, (*known)?)),
                _ => None,
            })
            .collect();
        let meaning = |value: Value| match value {
            Value::Object(at) => meanings.get(&at).copied().unwrap_or(value),
            _ => value,
        };
        let root = meaning(root);
        let mut seen = rustc_hash::FxHashSet::default();
        let mut work = vec![root];
        while let Some(value) = work.pop() {
            match value {
                Value::Pair(at) if seen.insert((0, at.0)) => {
                    let pair = heap.pair_mut(at);
                    pair.car = meaning(pair.car);
                    pair.cdr = meaning(pair.cdr);
                    work.extend([pair.car, pair.cdr]);
                }
                Value::Vector(at) if seen.insert((1, at.0)) => {
                    for item in heap.items_mut(at) {
                        *item = meaning(*item);
                        work.push(*item);
                    }
                }
                _ => {}
            }
        }
        root
    }
}

/// All forms of a source text that begins at a place.
pub fn read_forms(heap: &mut Heap, source: &str, start: SourcePlace) -> Result<Vec<Syntax>, Fault> {
    let text = Text::from(source);
    let mut reader = Reader::new(heap, &text, 0, start, DEEPEST_SOURCE);
    let mut forms = Vec::new();
    while let Some(form) = reader.next(heap, &mut Forms)? {
        forms.push(form);
    }
    Ok(forms)
}

/// Whether a text does not end in the middle of a datum. A text with a mistake is whole: more text would not help.
pub fn is_whole(source: &str) -> bool {
    let start = SourcePlace {
        file: u16::MAX,
        line: 1,
        column: 1,
    };
    match read_forms(&mut Heap::new(Limits::default()), source, start) {
        Err(Fault::Error(trouble)) => trouble.kind != ErrorKind::Unfinished,
        _ => true,
    }
}

/// The next datum of a text from a character on, and where it ends.
pub fn read_value(heap: &mut Heap, text: &Text, at: usize) -> (Result<Option<Value>, Fault>, usize) {
    let mut data = Data::default();
    let mut reader = Reader::new(
        heap,
        text,
        at,
        SourcePlace {
            file: u16::MAX,
            line: 1,
            column: 1,
        },
        usize::MAX,
    );
    let value = reader.next(heap, &mut data);
    let value = value.map(|value| value.map(|value| data.finish(heap, value)));
    (value, reader.at())
}
