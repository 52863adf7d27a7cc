//! Texts that are almost valid: words of a language in any order, some of them far too often.

use arbtest::arbitrary::{Arbitrary, Result, Unstructured};

/// A text of these words, other characters, and repetitions.
pub fn text(u: &mut Unstructured<'_>, words: &[&str]) -> Result<String> {
    let mut text = String::new();
    let pieces = u.int_in_range(0..=40)?;
    for _ in 0..pieces {
        match u.int_in_range(0..=13)? {
            0..=5 => text.push_str(u.choose(words)?),
            6 => {
                text.push_str(u.choose(words)?);
                text.push(*u.choose(&[
                    ' ', '\n', '\t', ',', ':', '=', '/', '.', '"', '\'', '\\', '(', '{', '[',
                ])?);
            }
            7 => text.push(char::arbitrary(u)?),
            8 => text.push(char::from(u.int_in_range(1..=127u8)?)),
            9 => {
                let times = 1 << u.int_in_range(0..=11)?;
                let word = *u.choose(words)?;
                // Deep or long, but never so large that reading it takes most of the time.
                text.push_str(&word.repeat(times.min(60_000 / word.len().max(1))));
            }
            10 => again(u, &mut text)?,
            11 => cut(u, &mut text)?,
            12 => text.push_str(&i64::arbitrary(u)?.to_string()),
            _ => text.push('\n'),
        }
        if text.len() > 100_000 {
            break;
        }
    }
    Ok(text)
}

/// One of these texts with some words inserted and some characters removed.
pub fn changed(u: &mut Unstructured<'_>, texts: &[&str], words: &[&str]) -> Result<String> {
    let mut text = (*u.choose(texts)?).to_owned();
    for _ in 0..u.int_in_range(0..=4)? {
        match u.int_in_range(0..=3)? {
            0 => cut(u, &mut text)?,
            1 => again(u, &mut text)?,
            2 => {
                let at = place(u, &text)?;
                text.insert_str(at, u.choose(words)?);
            }
            _ => {
                let at = place(u, &text)?;
                text.insert(at, char::arbitrary(u)?);
            }
        }
    }
    Ok(text)
}

/// A random text of these words, or one of these texts with changes.
pub fn either(u: &mut Unstructured<'_>, texts: &[&str], words: &[&str]) -> Result<String> {
    match u.ratio(1, 3)? {
        true => text(u, words),
        false => changed(u, texts, words),
    }
}

/// Cuts out a part of the text.
fn cut(u: &mut Unstructured<'_>, text: &mut String) -> Result<()> {
    let (from, to) = (place(u, text)?, place(u, text)?);
    text.replace_range(from.min(to)..from.max(to), "");
    Ok(())
}

/// Repeats a part of the text right behind itself.
fn again(u: &mut Unstructured<'_>, text: &mut String) -> Result<()> {
    let (from, to) = (place(u, text)?, place(u, text)?);
    let part = text[from.min(to)..from.max(to)].to_owned();
    text.insert_str(from.max(to), &part);
    Ok(())
}

fn place(u: &mut Unstructured<'_>, text: &str) -> Result<usize> {
    let mut at = u.int_in_range(0..=text.len())?;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    Ok(at)
}

/// JSON of any shape, with these names and texts in it.
pub fn json(u: &mut Unstructured<'_>, words: &[&str], depth: usize) -> Result<serde_json::Value> {
    use serde_json::Value;
    Ok(match u.int_in_range(0..=if depth == 0 { 5 } else { 9 })? {
        0 => Value::Null,
        1 => Value::Bool(bool::arbitrary(u)?),
        2 => i64::arbitrary(u)?.into(),
        3 => f64::arbitrary(u)?.into(),
        4 => text(u, words)?.into(),
        5 => (*u.choose(words)?).into(),
        6 | 7 => {
            let count = u.int_in_range(0..=4)?;
            let items = (0..count).map(|_| json(u, words, depth - 1));
            Value::Array(items.collect::<Result<_>>()?)
        }
        _ => {
            let mut fields = serde_json::Map::new();
            for _ in 0..u.int_in_range(0..=6)? {
                fields.insert((*u.choose(words)?).to_owned(), json(u, words, depth - 1)?);
            }
            Value::Object(fields)
        }
    })
}

/// JSON as text, sometimes broken, sometimes with a name twice.
pub fn json_text(u: &mut Unstructured<'_>, words: &[&str]) -> Result<String> {
    let text = json(u, words, 4)?.to_string();
    match u.ratio(1, 3)? {
        true => changed(u, &[&text], words),
        false => Ok(text),
    }
}
