//! Ports over strings and bytevectors. The standard ports are of that kind too: the host reads what was written.

use super::arguments::{ProcedureResult, byte, bytes, character, range, size, string, text};
use crate::fault::{ErrorKind, Fault};
use crate::heap::{Heap, Object, Port, PortKind};
use crate::native::Builtin;
use crate::printer::Style;
use crate::reader::read_value;
use crate::text::Text;
use crate::value::{ObjectRef, Value};

// tidy: a table
pub const TABLE: &[Builtin] = &[
    Builtin::new("open-input-string", 1, 1, |heap, a| {
        let text = text(heap, "open-input-string", a[0])?.clone();
        heap.reserve(text.bytes())?;
        Ok(make(heap, Port::input_text(text)))
    }),
    Builtin::new("open-output-string", 0, 0, |heap, _| {
        Ok(make(heap, Port::output_text()))
    }),
    Builtin::new("open-input-bytevector", 1, 1, |heap, a| {
        let all = heap
            .bytes_at(bytes(heap, "open-input-bytevector", a[0])?)
            .to_vec();
        heap.reserve(all.len())?;
        Ok(make(heap, Port::input_bytes(all)))
    }),
    Builtin::new("open-output-bytevector", 0, 0, |heap, _| {
        Ok(make(heap, Port::output_bytes()))
    }),
    Builtin::new("get-output-string", 1, 1, |heap, a| {
        match kind(heap, "get-output-string", a[0])? {
            PortKind::TextOut(text) => {
                let text = text.clone();
                heap.reserve(text.bytes())?;
                Ok(heap.string(text))
            }
            _ => Err(Fault::wrong_type(
                "get-output-string",
                "a port that makes a string",
                a[0],
            )),
        }
    }),
    Builtin::new("get-output-bytevector", 1, 1, |heap, a| {
        match kind(heap, "get-output-bytevector", a[0])? {
            PortKind::BytesOut(all) => {
                let all = all.clone();
                heap.reserve(all.len())?;
                Ok(heap.object(Object::Bytes(all)))
            }
            _ => Err(Fault::wrong_type(
                "get-output-bytevector",
                "a port that makes a bytevector",
                a[0],
            )),
        }
    }),
    Builtin::new("port?", 1, 1, |heap, a| {
        Ok(matches!(heap.as_object(a[0]), Some(Object::Port(_))).into())
    }),
    Builtin::new("input-port?", 1, 1, |heap, a| {
        is(heap, a[0], |port| !is_output(port))
    }),
    Builtin::new("output-port?", 1, 1, |heap, a| is(heap, a[0], is_output)),
    Builtin::new("textual-port?", 1, 1, |heap, a| is(heap, a[0], is_textual)),
    Builtin::new("binary-port?", 1, 1, |heap, a| {
        is(heap, a[0], |port| !is_textual(port))
    }),
    Builtin::new("input-port-open?", 1, 1, |heap, a| {
        is_open(heap, "input-port-open?", a[0], |port| !is_output(port))
    }),
    Builtin::new("output-port-open?", 1, 1, |heap, a| {
        is_open(heap, "output-port-open?", a[0], is_output)
    }),
    Builtin::new("close-port", 1, 1, |heap, a| close(heap, "close-port", a[0])),
    Builtin::new("close-input-port", 1, 1, |heap, a| {
        close(heap, "close-input-port", a[0])
    }),
    Builtin::new("close-output-port", 1, 1, |heap, a| {
        close(heap, "close-output-port", a[0])
    }),
    Builtin::new("eof-object", 0, 0, |_, _| Ok(Value::Eof)),
    Builtin::new("eof-object?", 1, 1, |_, a| Ok(matches!(a[0], Value::Eof).into())),
    Builtin::new("read-char", 0, 1, |heap, a| {
        one_character(heap, "read-char", a.first(), 1)
    }),
    Builtin::new("peek-char", 0, 1, |heap, a| {
        one_character(heap, "peek-char", a.first(), 0)
    }),
    Builtin::new("char-ready?", 0, 1, |heap, a| {
        input(heap, "char-ready?", a.first()).map(|_| true.into())
    }),
    Builtin::new("read-line", 0, 1, read_line),
    Builtin::new("read-string", 1, 2, read_string),
    Builtin::new("read", 0, 1, read),
    Builtin::new("read-u8", 0, 1, |heap, a| one_byte(heap, "read-u8", a.first(), 1)),
    Builtin::new("peek-u8", 0, 1, |heap, a| one_byte(heap, "peek-u8", a.first(), 0)),
    Builtin::new("u8-ready?", 0, 1, |heap, a| {
        input(heap, "u8-ready?", a.first()).map(|_| true.into())
    }),
    Builtin::new("read-bytevector", 1, 2, read_bytevector),
    Builtin::new("read-bytevector!", 1, 4, read_bytevector_to),
    Builtin::new("write-char", 1, 2, |heap, a| {
        let mut text = Text::default();
        text.push(character("write-char", a[0])?);
        print(heap, "write-char", &text, a.get(1))
    }),
    Builtin::new("write-string", 1, 4, |heap, a| {
        let text = text(heap, "write-string", a[0])?;
        let (start, end) = range("write-string", a, 2, text.len())?;
        let part = text.slice(start, end);
        print(heap, "write-string", &part, a.get(1))
    }),
    Builtin::new("newline", 0, 1, |heap, a| {
        print(heap, "newline", &Text::from("\n"), a.first())
    }),
    Builtin::new("write", 1, 2, |heap, a| show(heap, "write", a, Style::Write)),
    Builtin::new("display", 1, 2, |heap, a| {
        show(heap, "display", a, Style::Display)
    }),
    Builtin::new("write-shared", 1, 2, |heap, a| {
        show(heap, "write-shared", a, Style::Shared)
    }),
    Builtin::new("write-simple", 1, 2, |heap, a| {
        show(heap, "write-simple", a, Style::Simple)
    }),
    Builtin::new("write-u8", 1, 2, |heap, a| {
        let value = byte("write-u8", a[0])?;
        put_bytes(heap, "write-u8", &[value], a.get(1))
    }),
    Builtin::new("write-bytevector", 1, 4, |heap, a| {
        let all = heap.bytes_at(bytes(heap, "write-bytevector", a[0])?);
        let (start, end) = range("write-bytevector", a, 2, all.len())?;
        let part = all[start..end].to_vec();
        put_bytes(heap, "write-bytevector", &part, a.get(1))
    }),
    Builtin::new("flush-output-port", 0, 1, |heap, a| {
        output(heap, "flush-output-port", a.first()).map(|_| Value::Unspecified)
    }),
];

fn make(heap: &mut Heap, port: Port) -> Value {
    heap.object(Object::Port(Box::new(port)))
}

fn port(heap: &Heap, name: &str, value: Value) -> Result<ObjectRef, Fault> {
    match value {
        Value::Object(at) if matches!(heap.object_at(at), Object::Port(_)) => Ok(at),
        other => Err(Fault::wrong_type(name, "a port", other)),
    }
}

fn kind<'h>(heap: &'h Heap, name: &str, value: Value) -> Result<&'h PortKind, Fault> {
    match heap.as_object(value) {
        Some(Object::Port(port)) => Ok(&port.kind),
        _ => Err(Fault::wrong_type(name, "a port", value)),
    }
}

fn is_output(port: &Port) -> bool {
    matches!(port.kind, PortKind::TextOut(_) | PortKind::BytesOut(_))
}

fn is_textual(port: &Port) -> bool {
    matches!(port.kind, PortKind::TextOut(_) | PortKind::TextIn { .. })
}

fn is(heap: &Heap, value: Value, test: impl Fn(&Port) -> bool) -> ProcedureResult {
    Ok(matches!(heap.as_object(value), Some(Object::Port(port)) if test(port)).into())
}

fn is_open(heap: &Heap, name: &str, value: Value, test: impl Fn(&Port) -> bool) -> ProcedureResult {
    match heap.as_object(value) {
        Some(Object::Port(port)) if test(port) => Ok(port.open.into()),
        _ => Err(Fault::wrong_type(name, "a port of that kind", value)),
    }
}

fn close(heap: &mut Heap, name: &str, value: Value) -> ProcedureResult {
    let at = port(heap, name, value)?;
    if let Object::Port(port) = heap.object_mut(at) {
        port.open = false;
    }
    Ok(Value::Unspecified)
}

/// The given port, or the current one if none is given.
fn chosen(heap: &Heap, given: Option<&Value>, parameter: Value) -> Value {
    match given {
        None | Some(Value::Absent) => heap.parameter(parameter),
        Some(port) => *port,
    }
}

fn opened(heap: &Heap, name: &str, value: Value, output: bool) -> Result<ObjectRef, Fault> {
    let at = port(heap, name, value)?;
    match heap.object_at(at) {
        Object::Port(port) if is_output(port) != output => {
            let wanted = if output {
                "a port to write to"
            } else {
                "a port to read from"
            };
            Err(Fault::wrong_type(name, wanted, value))
        }
        Object::Port(port) if !port.open => {
            Err(Fault::misuse(format!("{name}: the port is closed"), vec![value]))
        }
        _ => Ok(at),
    }
}

fn input(heap: &Heap, name: &str, given: Option<&Value>) -> Result<ObjectRef, Fault> {
    opened(heap, name, chosen(heap, given, heap.standard.input), false)
}

fn output(heap: &Heap, name: &str, given: Option<&Value>) -> Result<ObjectRef, Fault> {
    opened(heap, name, chosen(heap, given, heap.standard.output), true)
}

/// The text of a port and how much of it has been read.
fn text_in<'h>(
    heap: &'h mut Heap,
    name: &str,
    given: Option<&Value>,
) -> Result<(&'h Text, &'h mut usize), Fault> {
    let at = input(heap, name, given)?;
    match heap.object_mut(at) {
        Object::Port(port) => match &mut port.kind {
            PortKind::TextIn { text, at } => Ok((text, at)),
            _ => Err(Fault::misuse(
                format!("{name}: this port has bytes and no characters"),
                Vec::new(),
            )),
        },
        _ => Err(Fault::misuse(format!("{name}: no port"), Vec::new())),
    }
}

fn bytes_in<'h>(
    heap: &'h mut Heap,
    name: &str,
    given: Option<&Value>,
) -> Result<(&'h [u8], &'h mut usize), Fault> {
    let at = input(heap, name, given)?;
    match heap.object_mut(at) {
        Object::Port(port) => match &mut port.kind {
            PortKind::BytesIn { bytes, at } => Ok((bytes, at)),
            _ => Err(Fault::misuse(
                format!("{name}: this port has characters and no bytes"),
                Vec::new(),
            )),
        },
        _ => Err(Fault::misuse(format!("{name}: no port"), Vec::new())),
    }
}

fn one_character(heap: &mut Heap, name: &str, given: Option<&Value>, step: usize) -> ProcedureResult {
    let (text, at) = text_in(heap, name, given)?;
    match text.get(*at) {
        Some(next) => {
            *at += step;
            Ok(Value::Char(next))
        }
        None => Ok(Value::Eof),
    }
}

fn one_byte(heap: &mut Heap, name: &str, given: Option<&Value>, step: usize) -> ProcedureResult {
    let (bytes, at) = bytes_in(heap, name, given)?;
    match bytes.get(*at) {
        Some(next) => {
            *at += step;
            Ok(Value::Int(i64::from(*next)))
        }
        None => Ok(Value::Eof),
    }
}

fn read_line(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let (text, at) = text_in(heap, "read-line", a.first())?;
    let start = *at;
    if start >= text.len() {
        return Ok(Value::Eof);
    }
    let mut end = start;
    while text.get(end).is_some_and(|next| next != '\n') {
        end += 1;
    }
    *at = (end + 1).min(text.len());
    let crlf = end > start && text.get(end - 1) == Some('\r') && end < text.len();
    let line = text.slice(start, if crlf { end - 1 } else { end });
    Ok(heap.string(line))
}

fn read_string(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    // Older programs give the port first.
    let (count, given) = match a {
        [Value::Object(_), count] => (size("read-string", *count)?, a.first()),
        _ => (size("read-string", a[0])?, a.get(1)),
    };
    let (text, at) = text_in(heap, "read-string", given)?;
    let start = *at;
    if count == 0 {
        return Ok(heap.string(""));
    }
    if start >= text.len() {
        return Ok(Value::Eof);
    }
    let end = start.saturating_add(count).min(text.len());
    *at = end;
    let part = text.slice(start, end);
    Ok(heap.string(part))
}

fn read_bytevector(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let count = size("read-bytevector", a[0])?;
    let (bytes, at) = bytes_in(heap, "read-bytevector", a.get(1))?;
    let start = *at;
    let end = start.saturating_add(count).min(bytes.len());
    if start >= bytes.len() && count > 0 {
        return Ok(Value::Eof);
    }
    *at = end;
    let part = bytes[start..end].to_vec();
    Ok(heap.object(Object::Bytes(part)))
}

/// `(read-bytevector! to port start end)`.
fn read_bytevector_to(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let to = bytes(heap, "read-bytevector!", a[0])?;
    let (start, end) = range("read-bytevector!", a, 2, heap.bytes_at(to).len())?;
    let (all, at) = bytes_in(heap, "read-bytevector!", a.get(1))?;
    let part = all[(*at).min(all.len())..]
        .iter()
        .take(end - start)
        .copied()
        .collect::<Vec<u8>>();
    *at += part.len();
    if part.is_empty() && end > start {
        return Ok(Value::Eof);
    }
    heap.bytes_mut(to)[start..start + part.len()].copy_from_slice(&part);
    Ok(Value::Int(part.len() as i64))
}

fn read(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let at = input(heap, "read", a.first())?;
    // The text is taken out of the port while values are made of it.
    let (text, start) = match heap.object_mut(at) {
        Object::Port(port) => match &mut port.kind {
            PortKind::TextIn { text, at } => (std::mem::take(text), *at),
            _ => {
                return Err(Fault::misuse(
                    "read: this port has bytes and no characters",
                    Vec::new(),
                ));
            }
        },
        _ => return Err(Fault::misuse("read: no port", Vec::new())),
    };
    let (value, end) = read_value(heap, &text, start);
    if let Object::Port(port) = heap.object_mut(at) {
        port.kind = PortKind::TextIn { text, at: end };
    }
    match value {
        Ok(value) => Ok(value.unwrap_or(Value::Eof)),
        Err(Fault::Error(mut trouble)) => {
            trouble.kind = ErrorKind::Read;
            if let Some(place) = trouble.place.take() {
                trouble.message = format!("read: {} (line {})", trouble.message, place.line);
            }
            Err(Fault::Error(trouble))
        }
        Err(other) => Err(other),
    }
}

fn print(heap: &mut Heap, name: &str, text: &Text, given: Option<&Value>) -> ProcedureResult {
    let at = output(heap, name, given)?;
    // The first wide character widens everything that was written before.
    let widened = match heap.object_at(at) {
        Object::Port(port) => match &port.kind {
            PortKind::TextOut(out @ Text::Ascii(_)) if matches!(text, Text::Wide(_)) => out.len(),
            _ => 0,
        },
        _ => 0,
    };
    heap.reserve(widened.saturating_add(text.bytes()).saturating_mul(4))?;
    let grown = match heap.object_mut(at) {
        Object::Port(port) => match &mut port.kind {
            PortKind::TextOut(out) => {
                let before = out.bytes();
                out.append(text);
                out.bytes().saturating_sub(before)
            }
            _ => {
                return Err(Fault::misuse(
                    format!("{name}: this port takes bytes and no text"),
                    Vec::new(),
                ));
            }
        },
        _ => return Err(Fault::misuse(format!("{name}: no port"), Vec::new())),
    };
    heap.charge(grown);
    Ok(Value::Unspecified)
}

fn put_bytes(heap: &mut Heap, name: &str, bytes: &[u8], given: Option<&Value>) -> ProcedureResult {
    let at = output(heap, name, given)?;
    heap.reserve(bytes.len())?;
    match heap.object_mut(at) {
        Object::Port(port) => match &mut port.kind {
            PortKind::BytesOut(out) => out.extend_from_slice(bytes),
            _ => {
                return Err(Fault::misuse(
                    format!("{name}: this port takes text and no bytes"),
                    Vec::new(),
                ));
            }
        },
        _ => return Err(Fault::misuse(format!("{name}: no port"), Vec::new())),
    }
    heap.charge(bytes.len());
    Ok(Value::Unspecified)
}

fn show(heap: &mut Heap, name: &str, a: &[Value], style: Style) -> ProcedureResult {
    if let (Value::String(at), Style::Display) = (a[0], style) {
        let text = heap.text(string(name, Value::String(at))?).clone();
        return print(heap, name, &text, a.get(1));
    }
    let text = Text::from(heap.show(a[0], style)?);
    print(heap, name, &text, a.get(1))
}
