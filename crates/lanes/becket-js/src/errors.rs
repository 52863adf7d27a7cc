//! Thrown values as text. Everything that is read here belongs to the script: it may be missing, lie, or throw again.
//!
//! An error names the first place in the author's own files and not a whole stack. A host call that fails is told at
//! the line that asked, though the answer came later. An answer that cannot be written as JSON is a failure and not an
//! empty answer, because it may have been a refusal.

use std::time::Duration;

use becket_hooks::{Cause, Failure};
use rquickjs::{Array, Coerced, Ctx, Error, Exception, FromJs, Object, Value};

use crate::transform::first_place;

/// The longest text of one error.
const LONGEST: usize = 4096;

/// How many nested causes are described, and how many errors of an error that holds several.
const DEEPEST: usize = 4;

/// The value of a step that may fail, without leaving its exception behind.
pub(crate) fn quiet<T>(ctx: &Ctx<'_>, result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(_) => {
            ctx.catch();
            None
        }
    }
}

/// Describes a thrown value: an error with its name, its message, the author's line and its causes; or whatever it is.
/// `memory` is how many bytes the extension may use.
pub(crate) fn described<'js>(ctx: &Ctx<'js>, thrown: &Value<'js>, memory: usize) -> String {
    let mut words = one(ctx, thrown);
    if words.contains("out of memory") {
        words = format!("{words}; it may use {} MB", memory >> 20);
    }
    let mut error = thrown.clone();
    for _ in 0..DEEPEST {
        for part in parts(ctx, &error) {
            words = format!("{words}; {}", one(ctx, &part));
        }
        let Some(cause) = field::<Value>(ctx, &error, "cause").filter(|cause| !cause.is_undefined()) else {
            break;
        };
        words = format!("{words}; caused by {}", one(ctx, &cause));
        error = cause;
    }
    shortened(words)
}

/// The message of an error alone; `None` if there is none.
pub(crate) fn message<'js>(ctx: &Ctx<'js>, thrown: &Value<'js>) -> Option<String> {
    let message = text_field(ctx, thrown, "message").filter(|message| !message.is_empty());
    message.map(shortened)
}

/// The first errors of an error that holds several.
fn parts<'js>(ctx: &Ctx<'js>, error: &Value<'js>) -> Vec<Value<'js>> {
    let errors = field::<Array>(ctx, error, "errors");
    let count = errors.as_ref().map_or(0, |errors| errors.len().min(DEEPEST));
    let errors = errors.as_ref();
    (0..count).filter_map(|at| quiet(ctx, errors?.get(at))).collect()
}

fn one<'js>(ctx: &Ctx<'js>, thrown: &Value<'js>) -> String {
    if thrown.is_string() {
        return text(ctx, thrown.clone()).unwrap_or_else(|| "a text that cannot be shown".into());
    }
    let Some(message) = text_field(ctx, thrown, "message") else {
        return without_message(ctx, thrown);
    };
    let name = text_field(ctx, thrown, "name").filter(|name| name != "Error" && !name.is_empty());
    let words = match name {
        Some(name) if message.is_empty() => name,
        Some(name) => format!("{name}: {message}"),
        None if message.is_empty() => "an error without a message".into(),
        None => message,
    };
    let stack = text_field(ctx, thrown, "stack");
    match stack.and_then(|stack| first_place(&stack)) {
        // A message about a file already names the place.
        Some(place) if !words.contains(&place) => format!("{words} ({place})"),
        _ => words,
    }
}

fn without_message<'js>(ctx: &Ctx<'js>, thrown: &Value<'js>) -> String {
    // This is what the engine throws when there is no memory left for an error.
    if thrown.is_null() {
        return "it is out of memory, or null was thrown".into();
    }
    if thrown.is_object() && !thrown.is_function() && !thrown.is_error() {
        let json = quiet(ctx, ctx.json_stringify(thrown.clone())).flatten();
        if let Some(json) = json.and_then(|json| quiet(ctx, json.to_string())) {
            return format!("{} was thrown, which is not an error", shortened(json));
        }
    }
    match quiet(ctx, Coerced::<String>::from_js(ctx, thrown.clone())) {
        Some(text) => format!("{} was thrown, which is not an error", shortened(text.0)),
        None => "something was thrown that cannot be shown".into(),
    }
}

fn field<'js, T: FromJs<'js>>(ctx: &Ctx<'js>, value: &Value<'js>, name: &str) -> Option<T> {
    let object: &Object = value.as_object()?;
    quiet(ctx, object.get::<_, Option<T>>(name)).flatten()
}

fn text_field<'js>(ctx: &Ctx<'js>, value: &Value<'js>, name: &str) -> Option<String> {
    text(ctx, field(ctx, value, name)?)
}

/// A script's text, also one with unpaired surrogates.
fn text<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> Option<String> {
    let text = value.as_string()?;
    quiet(ctx, text.to_string()).or_else(|| {
        let json = quiet(ctx, ctx.json_stringify(value)).flatten()?;
        let json = well_formed(quiet(ctx, json.to_string())?);
        serde_json::from_str(&json).ok()
    })
}

/// A text, cut to the longest length that is shown.
pub(crate) fn shortened(mut text: String) -> String {
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or_default());
        text.push('…');
    }
    text
}

/// The JSON of a value; `None` for values that JSON cannot express (`undefined`, a function).
pub(crate) fn json<'js>(ctx: &Ctx<'js>, value: Value<'js>, what: &str) -> Result<Option<String>, Error> {
    if value.is_undefined() {
        return Ok(None);
    }
    match ctx.json_stringify(value) {
        Ok(text) => text.map(|text| Ok(well_formed(text.to_string()?))).transpose(),
        Err(_) => {
            let thrown = ctx.catch();
            let message = field::<String>(ctx, &thrown, "message").unwrap_or_else(|| "it throws".into());
            let words = format!("{what} cannot be written as JSON: {message}");
            Err(Exception::throw_type(ctx, &words))
        }
    }
}

/// JSON without unpaired surrogates, which texts of JavaScript may hold (`"😀".slice(0, 1)`) and no others. Engines
/// write them as `\ud83d`; here each becomes a replacement character.
pub(crate) fn well_formed(json: String) -> String {
    if !json.contains("\\ud") {
        return json;
    }
    let mut text = String::with_capacity(json.len());
    let mut rest = json.as_str();
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        text.push_str(before);
        let is_half = escape
            .strip_prefix("\\ud")
            .is_some_and(|digits| digits.starts_with(['8', '9', 'a', 'b', 'c', 'd', 'e', 'f']));
        // An escaped backslash does not escape what follows it.
        let length = if is_half { 6 } else { 2 };
        let end = escape
            .char_indices()
            .nth(length)
            .map_or(escape.len(), |(end, _)| end);
        let (escape, after) = escape.split_at(end);
        text.push_str(if is_half { "\\ufffd" } else { escape });
        rest = after;
    }
    text.push_str(rest);
    text
}

/// A duration in readable form.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

/// The failure of a call that was not answered in time.
pub(crate) fn timed_out(timeout: Duration) -> Failure {
    let words = format!("no answer within {}", seconds(timeout));
    Failure::new(Cause::TimedOut, words)
}

#[cfg(test)]
mod tests {
    use super::well_formed;

    #[test]
    fn halves_of_characters_are_replaced_and_nothing_else() {
        for (json, expected) in [
            (r#"["a\\ud83d"]"#, r#"["a\\ud83d"]"#),
            (r#"["a\\\ud83d"]"#, r#"["a\\\ufffd"]"#),
            (
                r#"["\ud83d\udc00x","\n\ud7ff😀"]"#,
                r#"["\ufffd\ufffdx","\n\ud7ff😀"]"#,
            ),
            (r#""\u001b\udfff""#, r#""\u001b\ufffd""#),
            (r#""\ud""#, r#""\ud""#),
        ] {
            assert_eq!(well_formed(json.into()), expected);
        }
    }
}
