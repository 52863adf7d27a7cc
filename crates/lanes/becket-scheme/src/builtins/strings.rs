//! Strings.

use std::cmp::Ordering;

use super::arguments::{ProcedureResult, character, index, range, size, string, text};
use crate::fault::Fault;
use crate::heap::Heap;
use crate::native::{Builtin, MANY};
use crate::text::Text;
use crate::value::Value;

// tidy: a table
pub const TABLE: &[Builtin] = &[
    Builtin::new(
        "string?",
        1,
        1,
        |_, a| Ok(matches!(a[0], Value::String(_)).into()),
    ),
    Builtin::new("make-string", 1, 2, make_string),
    Builtin::new("string", 0, MANY, |heap, a| {
        let text: Text = a
            .iter()
            .map(|value| character("string", *value))
            .collect::<Result<_, _>>()?;
        Ok(heap.string(text))
    }),
    Builtin::new("string-length", 1, 1, |heap, a| {
        Ok(Value::Int(text(heap, "string-length", a[0])?.len() as i64))
    }),
    Builtin::new("string-ref", 2, 2, |heap, a| {
        let text = text(heap, "string-ref", a[0])?;
        let index = index("string-ref", a[1], text.len())?;
        Ok(text.get(index).map_or(Value::Eof, Value::Char))
    }),
    Builtin::new("string-set!", 3, 3, |heap, a| {
        let at = string("string-set!", a[0])?;
        let index = index("string-set!", a[1], heap.text(at).len())?;
        let value = character("string-set!", a[2])?;
        heap.change_text(at, |text| text.set(index, value))?;
        Ok(Value::Unspecified)
    }),
    Builtin::new("string=?", 1, MANY, |heap, a| {
        ordered(heap, "string=?", a, Ordering::is_eq)
    }),
    Builtin::new("string<?", 1, MANY, |heap, a| {
        ordered(heap, "string<?", a, Ordering::is_lt)
    }),
    Builtin::new("string>?", 1, MANY, |heap, a| {
        ordered(heap, "string>?", a, Ordering::is_gt)
    }),
    Builtin::new("string<=?", 1, MANY, |heap, a| {
        ordered(heap, "string<=?", a, Ordering::is_le)
    }),
    Builtin::new("string>=?", 1, MANY, |heap, a| {
        ordered(heap, "string>=?", a, Ordering::is_ge)
    }),
    Builtin::new("string-ci=?", 1, MANY, |heap, a| {
        ordered_ci(heap, "string-ci=?", a, Ordering::is_eq)
    }),
    Builtin::new("string-ci<?", 1, MANY, |heap, a| {
        ordered_ci(heap, "string-ci<?", a, Ordering::is_lt)
    }),
    Builtin::new("string-ci>?", 1, MANY, |heap, a| {
        ordered_ci(heap, "string-ci>?", a, Ordering::is_gt)
    }),
    Builtin::new("string-ci<=?", 1, MANY, |heap, a| {
        ordered_ci(heap, "string-ci<=?", a, Ordering::is_le)
    }),
    Builtin::new("string-ci>=?", 1, MANY, |heap, a| {
        ordered_ci(heap, "string-ci>=?", a, Ordering::is_ge)
    }),
    Builtin::new("substring", 2, 3, |heap, a| part(heap, "substring", a)),
    Builtin::new("string-copy", 1, 3, |heap, a| part(heap, "string-copy", a)),
    Builtin::new("string-append", 0, MANY, string_append),
    Builtin::new("string->list", 1, 3, string_to_list),
    Builtin::new("list->string", 1, 1, list_to_string),
    Builtin::new("string->vector", 1, 3, |heap, a| {
        let text = text(heap, "string->vector", a[0])?;
        let (start, end) = range("string->vector", a, 1, text.len())?;
        heap.reserve_items(end - start, 16)?;
        let items = characters(heap, a[0], start, end)?;
        Ok(heap.vector(items))
    }),
    Builtin::new("string-copy!", 3, 5, string_copy_to),
    Builtin::new("string-fill!", 2, 4, |heap, a| {
        let at = string("string-fill!", a[0])?;
        let fill = character("string-fill!", a[1])?;
        let (start, end) = range("string-fill!", a, 2, heap.text(at).len())?;
        heap.spend(end - start)?;
        heap.change_text(at, |text| (start..end).for_each(|index| text.set(index, fill)))?;
        Ok(Value::Unspecified)
    }),
    // `(%string-search text pattern start end)`: the index at which the pattern begins.
    Builtin::new("%string-search", 4, 4, search),
    Builtin::new("string-upcase", 1, 1, |heap, a| {
        mapped(heap, "string-upcase", a[0], |text| text.to_uppercase())
    }),
    Builtin::new("string-downcase", 1, 1, |heap, a| {
        mapped(heap, "string-downcase", a[0], |text| text.to_lowercase())
    }),
    Builtin::new("string-foldcase", 1, 1, |heap, a| {
        mapped(heap, "string-foldcase", a[0], folded)
    }),
];

impl Heap {
    /// Changes a string, which may then need more memory for its characters.
    fn change_text(
        &mut self,
        at: crate::value::StringRef,
        change: impl FnOnce(&mut Text),
    ) -> Result<(), Fault> {
        let before = self.text(at).bytes();
        if matches!(self.text(at), Text::Ascii(_)) {
            self.reserve(before.saturating_mul(4))?;
        }
        change(self.text_mut(at));
        let after = self.text(at).bytes();
        self.charge(after.saturating_sub(before));
        Ok(())
    }
}

/// Folds the case of a string: equal for strings that differ in case only.
fn folded(text: &str) -> String {
    text.to_uppercase().chars().flat_map(char::to_lowercase).collect()
}

fn mapped(heap: &mut Heap, name: &str, value: Value, map: fn(&str) -> String) -> ProcedureResult {
    let length = text(heap, name, value)?.len();
    heap.reserve_items(length, 8)?;
    let text = map(&text(heap, name, value)?.to_string());
    Ok(heap.string(text))
}

fn make_string(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let count = size("make-string", a[0])?;
    let fill = a.get(1).map_or(Ok(' '), |fill| character("make-string", *fill))?;
    heap.reserve_items(count, if fill.is_ascii() { 1 } else { 4 })?;
    Ok(heap.string(Text::filled(count, fill)))
}

fn ordered(heap: &Heap, name: &str, a: &[Value], holds: fn(Ordering) -> bool) -> ProcedureResult {
    let texts = a
        .iter()
        .map(|value| {
            let text = text(heap, name, *value)?;
            heap.spend(text.len() / 8).map(|()| text)
        })
        .collect::<Result<Vec<&Text>, Fault>>()?;
    Ok(texts.windows(2).all(|two| holds(two[0].cmp(two[1]))).into())
}

fn ordered_ci(heap: &Heap, name: &str, a: &[Value], holds: fn(Ordering) -> bool) -> ProcedureResult {
    let mut all = true;
    let mut before = None;
    for value in a {
        let text = text(heap, name, *value)?;
        heap.spend(text.len())?;
        let next = folded(&text.to_string());
        all &= before.is_none_or(|before: String| holds(before.cmp(&next)));
        before = Some(next);
    }
    Ok(all.into())
}

fn part(heap: &mut Heap, name: &str, a: &[Value]) -> ProcedureResult {
    let text = text(heap, name, a[0])?;
    let (start, end) = range(name, a, 1, text.len())?;
    let part = text.slice(start, end);
    heap.reserve(part.bytes())?;
    Ok(heap.string(part))
}

fn string_append(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let mut bytes: usize = 0;
    let mut wide = 1;
    for value in a {
        let text = text(heap, "string-append", *value)?;
        bytes = bytes.saturating_add(text.len());
        if matches!(text, Text::Wide(_)) {
            wide = 4;
        }
    }
    heap.reserve_items(bytes, wide)?;
    let mut all = Text::default();
    for value in a {
        all.append(text(heap, "string-append", *value)?);
    }
    Ok(heap.string(all))
}

fn string_to_list(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let text = text(heap, "string->list", a[0])?;
    let (start, end) = range("string->list", a, 1, text.len())?;
    heap.reserve_items(end - start, 32)?;
    let items = characters(heap, a[0], start, end)?;
    Ok(heap.list(&items))
}

/// The characters of a part of a string.
fn characters(heap: &Heap, value: Value, start: usize, end: usize) -> Result<Vec<Value>, Fault> {
    let text = text(heap, "string->list", value)?;
    Ok((start..end)
        .filter_map(|at| text.get(at))
        .map(Value::Char)
        .collect())
}

fn list_to_string(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let items = heap.proper_list("list->string", a[0])?;
    let text: Text = items
        .iter()
        .map(|item| character("list->string", *item))
        .collect::<Result<_, _>>()?;
    heap.reserve(text.bytes())?;
    Ok(heap.string(text))
}

fn search(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let (whole, pattern) = (
        text(heap, "string-contains", a[0])?,
        text(heap, "string-contains", a[1])?,
    );
    let (start, end) = range("string-contains", a, 2, whole.len())?;
    heap.spend(end - start + pattern.len())?;
    let found = match (whole.slice(start, end), pattern) {
        (Text::Ascii(_), Text::Wide(_)) => None,
        (part @ Text::Ascii(_), Text::Ascii(_)) => match (part.as_ascii(), pattern.as_ascii()) {
            (Some(part), Some(pattern)) => part.find(pattern),
            _ => None,
        },
        (part, pattern) => {
            let (part, pattern) = (part.to_string(), pattern.to_string());
            part.find(&pattern).map(|offset| part[..offset].chars().count())
        }
    };
    Ok(found.map_or(Value::Bool(false), |found| Value::Int((start + found) as i64)))
}

/// `(string-copy! to at from start end)`.
fn string_copy_to(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let to = string("string-copy!", a[0])?;
    let from = text(heap, "string-copy!", a[2])?;
    let (start, end) = range("string-copy!", a, 3, from.len())?;
    heap.spend(end - start)?;
    let part = from.slice(start, end);
    let length = heap.text(to).len();
    let at = index("string-copy!", a[1], length + 1)?;
    if part.len() > length - at {
        return Err(Fault::misuse(
            "string-copy!: there is no room for so much",
            vec![a[1]],
        ));
    }
    heap.change_text(to, |text| {
        part.chars()
            .enumerate()
            .for_each(|(offset, next)| text.set(at + offset, next))
    })?;
    Ok(Value::Unspecified)
}
