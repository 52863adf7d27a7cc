//! `(tein safe-regexp)`: regular expressions that take no longer than the text is long.
//!
//! A match is a vector with a vector for each group, `#(text start end)`, or `#f` for one that took no part. Places
//! are those of `string-ref`. A pattern may be given as a string wherever one is taken; `(regexp "[")` answers with a
//! string that says what is wrong with it.

use regex::{Captures, Regex};

use crate::builtins::arguments::{Answer, text};
use crate::fault::Fault;
use crate::heap::{Heap, Object};
use crate::library::Module;
use crate::native::Builtin;
use crate::value::Value;

const TABLE: &[Builtin] = &[
    Builtin::new("regexp", 1, 1, |heap, a| {
        if compiled(heap, a[0]).is_some() {
            return Ok(a[0]);
        }
        match Regex::new(&text(heap, "regexp", a[0])?.to_string()) {
            Ok(regex) => Ok(heap.object(Object::Foreign("regexp", Box::new(regex)))),
            Err(error) => Ok(heap.string(error.to_string())),
        }
    }),
    Builtin::new("regexp?", 1, 1, |heap, a| {
        Ok(compiled(heap, a[0]).is_some().into())
    }),
    Builtin::new("regexp-search", 2, 2, |heap, a| {
        let (regex, text) = given(heap, "regexp-search", a)?;
        Ok(regex
            .captures(&text)
            .map_or(Value::Bool(false), |found| matched(heap, &found, &text)))
    }),
    Builtin::new("regexp-matches", 2, 2, |heap, a| {
        let (regex, text) = given(heap, "regexp-matches", a)?;
        let whole = whole(&regex)?.captures(&text);
        Ok(whole.map_or(Value::Bool(false), |found| matched(heap, &found, &text)))
    }),
    Builtin::new("regexp-matches?", 2, 2, |heap, a| {
        let (regex, text) = given(heap, "regexp-matches?", a)?;
        Ok(whole(&regex)?.is_match(&text).into())
    }),
    Builtin::new("regexp-replace", 3, 3, |heap, a| {
        replace(heap, "regexp-replace", a, 1)
    }),
    Builtin::new("regexp-replace-all", 3, 3, |heap, a| {
        replace(heap, "regexp-replace-all", a, 0)
    }),
    Builtin::new("regexp-split", 2, 2, |heap, a| {
        let (regex, text) = given(heap, "regexp-split", a)?;
        let parts: Vec<Value> = regex.split(&text).map(|part| heap.string(part)).collect();
        Ok(heap.list(&parts))
    }),
    Builtin::new("regexp-extract", 2, 2, |heap, a| {
        let (regex, text) = given(heap, "regexp-extract", a)?;
        let parts: Vec<Value> = regex
            .find_iter(&text)
            .map(|part| heap.string(part.as_str()))
            .collect();
        Ok(heap.list(&parts))
    }),
    Builtin::new("%regexp-all", 2, 2, |heap, a| {
        let (regex, text) = given(heap, "regexp-fold", a)?;
        let all: Vec<Value> = regex
            .captures_iter(&text)
            .map(|found| matched(heap, &found, &text))
            .collect();
        Ok(heap.list(&all))
    }),
    Builtin::new("regexp-quote", 1, 1, |heap, a| {
        let quoted = regex::escape(&text(heap, "regexp-quote", a[0])?.to_string());
        Ok(heap.string(quoted))
    }),
];

const DEFINITIONS: &str = "\
(define (regexp-match-count match) (vector-length match))
(define (regexp-match-submatch match . group)
  (let ((found (vector-ref match (if (pair? group) (car group) 0))))
    (and found (vector-ref found 0))))
(define (regexp-match->list match)
  (map (lambda (found) (and found (vector-ref found 0))) (vector->list match)))
(define (regexp-fold pattern procedure seed string)
  (let loop ((matches (%regexp-all pattern string)) (index 0) (result seed))
    (if (null? matches)
        result
        (loop (cdr matches)
              (vector-ref (vector-ref (car matches) 0) 2)
              (procedure index (car matches) string result)))))
";

pub fn module() -> Module {
    Module::new("(tein safe-regexp)", &["(core)"], TABLE, DEFINITIONS)
}

fn compiled(heap: &Heap, value: Value) -> Option<&Regex> {
    match heap.as_object(value) {
        Some(Object::Foreign(_, inner)) => inner.downcast_ref(),
        _ => None,
    }
}

/// The pattern and the text that a procedure was given.
fn given(heap: &Heap, name: &str, a: &[Value]) -> Result<(Regex, String), Fault> {
    let subject = text(heap, name, a[1])?.to_string();
    if let Some(regex) = compiled(heap, a[0]) {
        return Ok((regex.clone(), subject));
    }
    match Regex::new(&text(heap, name, a[0])?.to_string()) {
        Ok(regex) => Ok((regex, subject)),
        Err(error) => Err(Fault::misuse(format!("{name}: {error}"), Vec::new())),
    }
}

/// The same pattern for all of a text.
fn whole(regex: &Regex) -> Result<Regex, Fault> {
    Regex::new(&format!("^(?:{})$", regex.as_str()))
        .map_err(|error| Fault::misuse(error.to_string(), Vec::new()))
}

fn matched(heap: &mut Heap, found: &Captures<'_>, text: &str) -> Value {
    let place = |offset: usize| match text.is_ascii() {
        true => offset as i64,
        false => text[..offset].chars().count() as i64,
    };
    let mut groups = Vec::with_capacity(found.len());
    for group in found.iter() {
        groups.push(match group {
            Some(group) => {
                let part = heap.string(group.as_str());
                let (start, end) = (Value::Int(place(group.start())), Value::Int(place(group.end())));
                heap.vector(vec![part, start, end])
            }
            None => Value::Bool(false),
        });
    }
    heap.vector(groups)
}

fn replace(heap: &mut Heap, name: &str, a: &[Value], limit: usize) -> Answer {
    let (regex, subject) = given(heap, name, &a[..2])?;
    let replacement = text(heap, name, a[2])?.to_string();
    // `$1` in a replacement can make much of little.
    let found = if limit == 1 {
        1
    } else {
        regex.find_iter(&subject).count()
    };
    let dollars = 1 + replacement.matches('$').count();
    let most = subject
        .len()
        .saturating_mul(dollars)
        .saturating_add(found.saturating_mul(replacement.len()));
    heap.reserve(most.saturating_add(subject.len()))?;
    let replaced = regex.replacen(&subject, limit, replacement.as_str()).into_owned();
    Ok(heap.string(replaced))
}
