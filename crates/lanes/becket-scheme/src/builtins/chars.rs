//! Characters.

use super::arguments::{ProcedureResult, character};
use crate::fault::Fault;
use crate::native::{Builtin, MANY};
use crate::value::Value;

// tidy: a table
pub const TABLE: &[Builtin] = &[
    Builtin::new("char?", 1, 1, |_, a| Ok(matches!(a[0], Value::Char(_)).into())),
    Builtin::new("char->integer", 1, 1, |_, a| {
        Ok(Value::Int(i64::from(u32::from(character(
            "char->integer",
            a[0],
        )?))))
    }),
    Builtin::new("integer->char", 1, 1, |_, a| {
        let code = match a[0] {
            Value::Int(word) => u32::try_from(word).ok().and_then(char::from_u32),
            _ => None,
        };
        code.map(Value::Char)
            .ok_or_else(|| Fault::wrong_type("integer->char", "the number of a character", a[0]))
    }),
    Builtin::new("char=?", 1, MANY, |_, a| {
        ordered("char=?", a, plain, |x, y| x == y)
    }),
    Builtin::new("char<?", 1, MANY, |_, a| {
        ordered("char<?", a, plain, |x, y| x < y)
    }),
    Builtin::new("char>?", 1, MANY, |_, a| {
        ordered("char>?", a, plain, |x, y| x > y)
    }),
    Builtin::new("char<=?", 1, MANY, |_, a| {
        ordered("char<=?", a, plain, |x, y| x <= y)
    }),
    Builtin::new("char>=?", 1, MANY, |_, a| {
        ordered("char>=?", a, plain, |x, y| x >= y)
    }),
    Builtin::new("char-ci=?", 1, MANY, |_, a| {
        ordered("char-ci=?", a, fold, |x, y| x == y)
    }),
    Builtin::new("char-ci<?", 1, MANY, |_, a| {
        ordered("char-ci<?", a, fold, |x, y| x < y)
    }),
    Builtin::new("char-ci>?", 1, MANY, |_, a| {
        ordered("char-ci>?", a, fold, |x, y| x > y)
    }),
    Builtin::new("char-ci<=?", 1, MANY, |_, a| {
        ordered("char-ci<=?", a, fold, |x, y| x <= y)
    }),
    Builtin::new("char-ci>=?", 1, MANY, |_, a| {
        ordered("char-ci>=?", a, fold, |x, y| x >= y)
    }),
    Builtin::new("char-alphabetic?", 1, 1, |_, a| {
        Ok(character("char-alphabetic?", a[0])?.is_alphabetic().into())
    }),
    Builtin::new("char-numeric?", 1, 1, |_, a| {
        Ok(digit(character("char-numeric?", a[0])?).is_some().into())
    }),
    Builtin::new("char-whitespace?", 1, 1, |_, a| {
        Ok(character("char-whitespace?", a[0])?.is_whitespace().into())
    }),
    Builtin::new("char-upper-case?", 1, 1, |_, a| {
        Ok(character("char-upper-case?", a[0])?.is_uppercase().into())
    }),
    Builtin::new("char-lower-case?", 1, 1, |_, a| {
        Ok(character("char-lower-case?", a[0])?.is_lowercase().into())
    }),
    Builtin::new("digit-value", 1, 1, |_, a| {
        let value = digit(character("digit-value", a[0])?);
        Ok(value.map_or(Value::Bool(false), |value| Value::Int(i64::from(value))))
    }),
    Builtin::new("char-upcase", 1, 1, |_, a| {
        let value = character("char-upcase", a[0])?;
        Ok(Value::Char(single(value.to_uppercase(), value)))
    }),
    Builtin::new("char-downcase", 1, 1, |_, a| {
        let value = character("char-downcase", a[0])?;
        Ok(Value::Char(single(value.to_lowercase(), value)))
    }),
    Builtin::new("char-foldcase", 1, 1, |_, a| {
        Ok(Value::Char(fold(character("char-foldcase", a[0])?)))
    }),
];

/// The first code of each row of ten decimal digits.
const ZEROS: &[u32] = &[
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50,
    0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40,
    0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066,
    0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950,
    0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6,
    0x1e140, 0x1e2f0, 0x1e4f0, 0x1e950, 0x1fbf0,
];

/// The value of a decimal digit of any script.
pub fn digit(value: char) -> Option<u32> {
    let code = u32::from(value);
    let row = ZEROS.partition_point(|zero| *zero <= code).checked_sub(1)?;
    Some(code - ZEROS[row]).filter(|value| *value < 10)
}

fn plain(value: char) -> char {
    value
}

/// Folds the case of a character: equal for characters that differ in case only.
pub fn fold(value: char) -> char {
    let upper = single(value.to_uppercase(), value);
    single(upper.to_lowercase(), upper)
}

/// The mapped character if the mapping has exactly one; mappings to several are for strings.
fn single(mut mapped: impl Iterator<Item = char>, value: char) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(one), None) => one,
        _ => value,
    }
}

fn ordered(name: &str, a: &[Value], key: fn(char) -> char, holds: fn(char, char) -> bool) -> ProcedureResult {
    let keys = a
        .iter()
        .map(|value| character(name, *value).map(key))
        .collect::<Result<Vec<char>, Fault>>()?;
    Ok(keys.windows(2).all(|two| holds(two[0], two[1])).into())
}
