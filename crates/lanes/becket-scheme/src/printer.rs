//! Values as text: `write`, `display` and their kin. Depth costs no stack, circular data gets labels, and a text that
//! does not fit into the machine's memory is an error before it is made.

use rustc_hash::FxHashMap;

use crate::fault::Fault;
use crate::heap::{Heap, Object};
use crate::limits::Limit;
use crate::number::{number_text, parse_number};
use crate::reader::CHARACTER_NAMES;
use crate::value::{Symbol, Value, VectorRef};

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// For humans: strings and characters without quotation.
    Display,
    /// For `read`, with labels if data is circular.
    Write,
    /// With labels for everything that occurs more than once.
    Shared,
    /// Without labels.
    Simple,
}

/// The largest data, in parts, that is first printed without a search for cycles.
const SMALL: usize = 2000;

/// A value that can have a label.
type Node = (u8, u32);

/// The values that get a label, with the label they have got.
type Labels = FxHashMap<Node, Option<usize>>;

impl Heap {
    /// A value as text.
    pub fn show(&self, value: Value, style: Style) -> Result<String, Fault> {
        let mut printer = Printer {
            heap: self,
            out: String::new(),
            style,
            labels: FxHashMap::default(),
            next: 0,
            most: self.limits.memory,
        };
        printer.labels = match style {
            Style::Simple => FxHashMap::default(),
            Style::Shared => shared(self, value)?,
            Style::Write | Style::Display if is_small_tree(self, value) => FxHashMap::default(),
            Style::Write | Style::Display => circles(self, value)?,
        };
        printer.print(value)?;
        Ok(printer.out)
    }

    /// A value as `write` shows it, cut short for a message. Circular data is cut short too.
    pub fn show_short(&self, value: Value) -> String {
        const LONGEST: usize = 200;
        let labels = FxHashMap::default();
        let mut printer = Printer {
            heap: self,
            out: String::new(),
            style: Style::Simple,
            labels,
            next: 0,
            most: 4 * LONGEST,
        };
        let _cut = printer.print(value);
        shorten(printer.out, LONGEST)
    }
}

/// A text, cut to at most `most` characters.
pub fn shorten(mut text: String, most: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.push('…');
    }
    text
}

fn node(value: Value) -> Option<Node> {
    match value {
        Value::Pair(at) => Some((0, at.0)),
        Value::Vector(at) => Some((1, at.0)),
        Value::Object(at) => Some((2, at.0)),
        _ => None,
    }
}

/// The parts of a value that are printed with it, in reverse order.
fn parts(heap: &Heap, value: Value, out: &mut Vec<Value>) {
    match value {
        Value::Pair(at) => {
            let pair = heap.pair(at);
            out.extend([pair.cdr, pair.car]);
        }
        Value::Vector(at) => out.extend(heap.items(at).iter().rev()),
        Value::Object(at) => match heap.object_at(at) {
            Object::Record { fields, .. } => out.extend(fields.iter().rev()),
            Object::Error(error) => out.extend([error.irritants, error.message]),
            Object::Values(items) => out.extend(items.iter().rev()),
            _ => {}
        },
        _ => {}
    }
}

fn is_small_tree(heap: &Heap, value: Value) -> bool {
    let mut work = vec![value];
    for _ in 0..SMALL {
        let Some(value) = work.pop() else { return true };
        parts(heap, value, &mut work);
        if work.len() > SMALL {
            return false;
        }
    }
    work.is_empty()
}

/// Every value that is reached more than once.
fn shared(heap: &Heap, value: Value) -> Result<Labels, Fault> {
    let mut seen: FxHashMap<Node, usize> = FxHashMap::default();
    let mut work = vec![value];
    while let Some(value) = work.pop() {
        heap.spend(1)?;
        let Some(node) = node(value) else { continue };
        let times = seen.entry(node).or_default();
        *times += 1;
        if *times == 1 {
            parts(heap, value, &mut work);
        }
    }
    let repeated = seen.into_iter().filter(|(_, times)| *times > 1);
    Ok(repeated.map(|(node, _)| (node, None)).collect())
}

/// Every value that is reached again from inside of itself.
fn circles(heap: &Heap, value: Value) -> Result<Labels, Fault> {
    let mut found = FxHashMap::default();
    // Whether a node is being visited (true) or done.
    let mut state: FxHashMap<Node, bool> = FxHashMap::default();
    let mut work = vec![(value, false)];
    let mut inside = Vec::new();
    while let Some((value, leave)) = work.pop() {
        heap.spend(1)?;
        let Some(node) = node(value) else { continue };
        if leave {
            state.insert(node, false);
            continue;
        }
        match state.get(&node) {
            Some(true) => {
                found.insert(node, None);
            }
            Some(false) => {}
            None => {
                state.insert(node, true);
                work.push((value, true));
                parts(heap, value, &mut inside);
                work.extend(inside.drain(..).map(|part| (part, false)));
            }
        }
    }
    Ok(found)
}

/// A step that is left to print.
enum Step {
    Value(Value),
    /// The rest of a list after the items so far.
    Tail(Value),
    Items(VectorRef, usize),
    Text(&'static str),
}

struct Printer<'a> {
    heap: &'a Heap,
    out: String,
    style: Style,
    labels: Labels,
    next: usize,
    /// The largest size of the text in bytes.
    most: usize,
}

impl Printer<'_> {
    fn print(&mut self, value: Value) -> Result<(), Fault> {
        let limit = self.heap.limits.memory;
        let mut work = vec![Step::Value(value)];
        while let Some(step) = work.pop() {
            self.heap.spend(1)?;
            if self.out.len() > self.most || work.len() > limit / 16 {
                return Err(Fault::Limit(Limit::Memory(limit)));
            }
            match step {
                Step::Text(text) => self.out.push_str(text),
                Step::Value(value) => self.value(value, &mut work),
                Step::Tail(value) => self.tail(value, &mut work),
                Step::Items(at, index) => {
                    if let Some(item) = self.heap.items(at).get(index) {
                        if index > 0 {
                            self.out.push(' ');
                        }
                        work.extend([Step::Items(at, index + 1), Step::Value(*item)]);
                    } else {
                        self.out.push(')');
                    }
                }
            }
        }
        match self.out.len() > self.most {
            true => Err(Fault::Limit(Limit::Memory(limit))),
            false => Ok(()),
        }
    }

    /// Writes the label of a value; returns whether the value itself must follow.
    fn label(&mut self, value: Value) -> bool {
        let Some(label) = node(value).and_then(|node| self.labels.get_mut(&node)) else {
            return true;
        };
        match label {
            Some(number) => {
                self.out.push_str(&format!("#{number}#"));
                false
            }
            None => {
                self.out.push_str(&format!("#{}=", self.next));
                *label = Some(self.next);
                self.next += 1;
                true
            }
        }
    }

    fn has_label(&self, value: Value) -> bool {
        !self.labels.is_empty() && node(value).is_some_and(|node| self.labels.contains_key(&node))
    }

    fn value(&mut self, value: Value, work: &mut Vec<Step>) {
        if !self.label(value) {
            return;
        }
        match value {
            Value::Pair(at) => {
                let pair = self.heap.pair(at);
                if let Some(prefix) = self.prefix(pair.car, pair.cdr) {
                    self.out.push_str(prefix);
                    let quoted = self.heap.as_pair(pair.cdr).map_or(Value::Nil, |pair| pair.car);
                    work.push(Step::Value(quoted));
                    return;
                }
                self.out.push('(');
                work.extend([Step::Tail(pair.cdr), Step::Value(pair.car)]);
            }
            Value::Vector(at) => {
                self.out.push_str("#(");
                work.push(Step::Items(at, 0));
            }
            Value::Object(at) => self.object(at, work),
            atom => self.atom(atom),
        }
    }

    /// The prefix for a form such as `(quote x)`, which is printed as `'x`.
    fn prefix(&self, car: Value, cdr: Value) -> Option<&'static str> {
        let Value::Symbol(symbol) = car else { return None };
        let rest = self.heap.as_pair(cdr)?;
        if !rest.cdr.is_nil() || self.has_label(cdr) {
            return None;
        }
        match self.heap.name(symbol) {
            "quote" => Some("'"),
            "quasiquote" => Some("`"),
            "unquote" => Some(","),
            "unquote-splicing" => Some(",@"),
            _ => None,
        }
    }

    fn tail(&mut self, value: Value, work: &mut Vec<Step>) {
        match value {
            Value::Nil => self.out.push(')'),
            Value::Pair(at) if !self.has_label(value) => {
                let pair = self.heap.pair(at);
                self.out.push(' ');
                work.extend([Step::Tail(pair.cdr), Step::Value(pair.car)]);
            }
            other => {
                self.out.push_str(" . ");
                work.extend([Step::Text(")"), Step::Value(other)]);
            }
        }
    }

    fn object(&mut self, at: crate::value::ObjectRef, work: &mut Vec<Step>) {
        let heap = self.heap;
        match heap.object_at(at) {
            Object::Big(_) | Object::Ratio(_) => {
                let number = heap.as_number(Value::Object(at));
                self.out.push_str(
                    &number
                        .and_then(|number| number_text(&number, 10))
                        .unwrap_or_default(),
                );
            }
            Object::Bytes(bytes) => {
                self.out.push_str("#u8(");
                // One byte more than there is room for, so that the overflow is noticed.
                for (index, byte) in bytes.iter().take(self.most.saturating_add(1)).enumerate() {
                    if index > 0 {
                        self.out.push(' ');
                    }
                    self.out.push_str(&byte.to_string());
                }
                self.out.push(')');
            }
            Object::Record { kind, fields } => {
                let name = match heap.object_at(*kind) {
                    Object::RecordType(kind) => heap.name(kind.name).trim_matches(['<', '>']),
                    _ => "record",
                };
                self.out.push_str(&format!("#<{name}"));
                self.parts(fields, work);
            }
            Object::Error(error) => {
                self.out.push_str("#<error ");
                let irritants: Vec<Value> = heap.list_items(error.irritants).collect();
                self.parts(&irritants, work);
                work.push(Step::Value(error.message));
            }
            Object::Values(items) => {
                self.out.push_str("#<values");
                self.parts(items, work);
            }
            Object::RecordType(kind) => self
                .out
                .push_str(&format!("#<record-type {}>", heap.name(kind.name))),
            other => self.out.push_str(&format!("#<{}>", other.kind_name())),
        }
    }

    fn parts(&mut self, parts: &[Value], work: &mut Vec<Step>) {
        work.push(Step::Text(">"));
        for part in parts.iter().rev() {
            work.extend([Step::Value(*part), Step::Text(" ")]);
        }
    }

    fn atom(&mut self, value: Value) {
        let display = self.style == Style::Display;
        match value {
            Value::Nil => self.out.push_str("()"),
            Value::Unspecified | Value::Absent => self.out.push_str("#<unspecified>"),
            Value::Eof => self.out.push_str("#<eof>"),
            Value::Bool(value) => self.out.push_str(if value { "#t" } else { "#f" }),
            Value::Int(word) => self.out.push_str(&word.to_string()),
            Value::Float(_) => {
                let number = self.heap.as_number(value);
                self.out.push_str(
                    &number
                        .and_then(|number| number_text(&number, 10))
                        .unwrap_or_default(),
                );
            }
            Value::Char(value) if display => self.out.push(value),
            Value::Char(value) => write_character(&mut self.out, value),
            Value::String(at) if display => self
                .out
                .extend(self.heap.text(at).chars().take(self.most.saturating_add(1))),
            Value::String(at) => self.quoted(self.heap.text(at).chars(), '"'),
            Value::Symbol(symbol) if display => self.out.push_str(self.heap.name(symbol)),
            Value::Symbol(symbol) => self.symbol(symbol),
            Value::Closure(at) => {
                let name = self.heap.code.name(self.heap.closure_at(at).code);
                match name.map(|name| self.heap.name(name)) {
                    Some(name) => self.out.push_str(&format!("#<procedure {name}>")),
                    None => self.out.push_str("#<procedure>"),
                }
            }
            Value::Native(index) => {
                let name = &self.heap.natives[index as usize].name;
                self.out.push_str(&format!("#<procedure {name}>"));
            }
            _ => self.out.push_str("#<unknown>"),
        }
    }

    /// Writes a text between two marks, or as much of it as there is room for.
    fn quoted(&mut self, text: impl Iterator<Item = char>, mark: char) {
        self.out.push(mark);
        for next in text {
            if self.out.len() > self.most {
                break;
            }
            write_escaped(&mut self.out, next, mark);
        }
        self.out.push(mark);
    }

    fn symbol(&mut self, symbol: Symbol) {
        let name = self.heap.name(symbol);
        if needs_bars(name) {
            self.quoted(name.chars(), '|');
        } else {
            self.out.push_str(name);
        }
    }
}

fn needs_bars(name: &str) -> bool {
    let special = |next: char| {
        next.is_whitespace()
            || next.is_control()
            || matches!(
                next,
                '(' | ')' | '"' | ';' | '\'' | '`' | ',' | '|' | '\\' | '[' | ']' | '{' | '}'
            )
    };
    name.is_empty()
        || name == "."
        || name.starts_with('#')
        || name.chars().any(special)
        || !matches!(parse_number(name, 10, 1 << 20), Ok(None))
}

fn write_character(out: &mut String, value: char) {
    out.push_str("#\\");
    match CHARACTER_NAMES.iter().find(|(_, known)| *known == value) {
        Some((name, _)) => out.push_str(name),
        None if value.is_control() || (value.is_whitespace() && value != ' ') => {
            out.push_str(&format!("x{:x}", u32::from(value)));
        }
        None => out.push(value),
    }
}

fn write_escaped(out: &mut String, next: char, mark: char) {
    match next {
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\t' => out.push_str("\\t"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\\' => out.push_str("\\\\"),
        _ if next == mark => out.extend(['\\', mark]),
        _ if next.is_control() => out.push_str(&format!("\\x{:x};", u32::from(next))),
        _ => out.push(next),
    }
}
