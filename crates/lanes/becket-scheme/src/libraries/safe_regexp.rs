//! `(tein safe-regexp)`: regular expressions whose time grows only with the length of the text times the size of the
//! pattern. Both are limited, and clock and host are checked between two matches.
//!
//! A match is a vector with a vector for each group, `#(text start end)`, or `#f` for a group that took no part.
//! Indices are those of `string-ref`. A pattern may be given as a string wherever one is expected; `(regexp "[")`
//! returns a string that says what is wrong with it.

use regex::{Captures, Regex, RegexBuilder};

use crate::builtins::arguments::{ProcedureResult, text};
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
        let pattern = text(heap, "regexp", a[0])?.to_string();
        heap.reserve(pattern.len())?;
        match Pattern::new(&pattern) {
            Ok(pattern) => {
                let bytes = pattern.bytes;
                Ok(heap.object(Object::Foreign("regexp", Box::new(pattern), bytes)))
            }
            Err(error) => Ok(heap.string(error)),
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
        replace(heap, "regexp-replace-all", a, usize::MAX)
    }),
    Builtin::new("regexp-split", 2, 2, |heap, a| {
        let (regex, text) = given(heap, "regexp-split", a)?;
        collected(heap, regex.split(&text), |heap, part| heap.string(part))
    }),
    Builtin::new("regexp-extract", 2, 2, |heap, a| {
        let (regex, text) = given(heap, "regexp-extract", a)?;
        collected(heap, regex.find_iter(&text), |heap, part| {
            heap.string(part.as_str())
        })
    }),
    Builtin::new("%regexp-all", 2, 2, |heap, a| {
        let (regex, text) = given(heap, "regexp-fold", a)?;
        collected(heap, regex.captures_iter(&text), |heap, found| {
            matched(heap, &found, &text)
        })
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

/// A compiled pattern, and the memory it may take.
struct Pattern {
    regex: Regex,
    bytes: usize,
}

/// The sizes that a compiled pattern may have. A pattern is charged the first of them that suffices.
const SIZES: [usize; 3] = [16 << 10, 128 << 10, 1 << 20];

/// The limit for the size of a pattern times the length of a text: no search takes longer than some seconds.
const MOST_WORK: usize = 1 << 36;

impl Pattern {
    fn new(pattern: &str) -> Result<Self, String> {
        let mut problem = String::new();
        for bytes in SIZES {
            match RegexBuilder::new(pattern)
                .size_limit(bytes)
                .dfa_size_limit(bytes)
                .build()
            {
                Ok(regex) => return Ok(Self { regex, bytes }),
                Err(regex::Error::CompiledTooBig(_)) => problem = "this pattern is too large".into(),
                Err(error) => return Err(error.to_string()),
            }
        }
        Err(problem)
    }
}

fn compiled(heap: &Heap, value: Value) -> Option<&Pattern> {
    match heap.as_object(value) {
        Some(Object::Foreign(_, inner, _)) => inner.downcast_ref(),
        _ => None,
    }
}

/// Reads the pattern and the text from a procedure's arguments.
fn given(heap: &Heap, name: &str, a: &[Value]) -> Result<(Regex, String), Fault> {
    let wrong = |problem: &str| Fault::misuse(format!("{name}: {problem}"), Vec::new());
    let subject = text(heap, name, a[1])?.to_string();
    let (regex, bytes) = match compiled(heap, a[0]) {
        Some(pattern) => (pattern.regex.clone(), pattern.bytes),
        None => {
            let pattern =
                Pattern::new(&text(heap, name, a[0])?.to_string()).map_err(|problem| wrong(&problem))?;
            (pattern.regex, pattern.bytes)
        }
    };
    heap.spend(subject.len() + bytes)?;
    match subject.len().saturating_mul(bytes) > MOST_WORK {
        true => Err(wrong("the text is too long for this pattern")),
        false => Ok((regex, subject)),
    }
}

/// The pattern anchored to match the whole text.
fn whole(regex: &Regex) -> Result<Regex, Fault> {
    Pattern::new(&format!("^(?:{})$", regex.as_str()))
        .map(|pattern| pattern.regex)
        .map_err(|error| Fault::misuse(error, Vec::new()))
}

/// A list of the matches. Each search starts anew, so the clock is checked after each.
fn collected<T>(
    heap: &mut Heap,
    found: impl Iterator<Item = T>,
    value: impl Fn(&mut Heap, T) -> Value,
) -> ProcedureResult {
    let mut values = Vec::new();
    for item in found {
        values.push(value(heap, item));
        heap.reserve_items(values.len(), 48)?;
    }
    Ok(heap.list(&values))
}

fn matched(heap: &mut Heap, found: &Captures<'_>, text: &str) -> Value {
    let is_ascii = text.is_ascii();
    let place = |offset: usize| match is_ascii {
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

fn replace(heap: &mut Heap, name: &str, a: &[Value], limit: usize) -> ProcedureResult {
    let (regex, subject) = given(heap, name, &a[..2])?;
    let replacement = text(heap, name, a[2])?.to_string();
    let mut replaced = String::new();
    let mut end = 0;
    for found in regex.captures_iter(&subject).take(limit) {
        let Some(all) = found.get(0) else { continue };
        replaced.push_str(&subject[end..all.start()]);
        // `$1` in a replacement can produce much text, but no single match can produce more than this.
        let dollars = 1 + replacement.matches('$').count();
        heap.reserve(
            replaced.len()
                + all
                    .len()
                    .saturating_mul(dollars)
                    .saturating_add(replacement.len()),
        )?;
        found.expand(&replacement, &mut replaced);
        end = all.end();
    }
    replaced.push_str(&subject[end..]);
    heap.reserve(replaced.len())?;
    Ok(heap.string(replaced))
}
