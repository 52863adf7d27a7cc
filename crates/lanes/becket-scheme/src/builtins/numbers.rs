//! Numbers. Words and floats are computed here, everything else through [`Number`].

use std::cmp::Ordering;

use num_rational::BigRational;

use super::arguments::{ProcedureResult, text};
use crate::fault::Fault;
use crate::heap::{Heap, Object};
use crate::native::{Builtin, MANY};
use crate::number::{Multiple, Nearest, Number, Rounding, number_text, parse_number};
use crate::value::Value;

// tidy: a table
pub const TABLE: &[Builtin] = &[
    Builtin::new("+", 0, MANY, add),
    Builtin::new("*", 0, MANY, multiply),
    Builtin::new("-", 1, MANY, subtract),
    Builtin::new("/", 1, MANY, divide),
    Builtin::new("=", 1, MANY, equal),
    Builtin::new("<", 1, MANY, less),
    Builtin::new(">", 1, MANY, greater),
    Builtin::new("<=", 1, MANY, less_or_equal),
    Builtin::new(">=", 1, MANY, greater_or_equal),
    Builtin::new("number?", 1, 1, |heap, a| Ok(heap.is_number(a[0]).into())),
    Builtin::new("complex?", 1, 1, |heap, a| Ok(heap.is_number(a[0]).into())),
    Builtin::new("real?", 1, 1, |heap, a| Ok(heap.is_number(a[0]).into())),
    Builtin::new("rational?", 1, 1, |heap, a| {
        Ok(match a[0] {
            Value::Float(float) => float.is_finite(),
            other => heap.is_number(other),
        }
        .into())
    }),
    Builtin::new("integer?", 1, 1, |heap, a| {
        Ok(heap
            .as_number(a[0])
            .is_some_and(|number| number.is_integer())
            .into())
    }),
    Builtin::new("exact?", 1, 1, |heap, a| {
        Ok(heap.number_argument("exact?", a[0])?.is_exact().into())
    }),
    Builtin::new("inexact?", 1, 1, |heap, a| {
        Ok((!heap.number_argument("inexact?", a[0])?.is_exact()).into())
    }),
    Builtin::new("exact-integer?", 1, 1, |heap, a| {
        Ok(match a[0] {
            Value::Int(_) => true,
            other => matches!(heap.as_object(other), Some(Object::Big(_))),
        }
        .into())
    }),
    Builtin::new("exact-rational?", 1, 1, |heap, a| {
        Ok((heap.is_number(a[0]) && !matches!(a[0], Value::Float(_))).into())
    }),
    Builtin::new("finite?", 1, 1, |heap, a| {
        Ok(heap
            .number_argument("finite?", a[0])?
            .to_float_kind()
            .is_finite()
            .into())
    }),
    Builtin::new("infinite?", 1, 1, |heap, a| {
        Ok(heap
            .number_argument("infinite?", a[0])?
            .to_float_kind()
            .is_infinite()
            .into())
    }),
    Builtin::new("nan?", 1, 1, |heap, a| {
        Ok(heap
            .number_argument("nan?", a[0])?
            .to_float_kind()
            .is_nan()
            .into())
    }),
    Builtin::new("zero?", 1, 1, |heap, a| {
        Ok(heap.number_argument("zero?", a[0])?.is_zero().into())
    }),
    Builtin::new("positive?", 1, 1, |heap, a| {
        let number = heap.number_argument("positive?", a[0])?;
        Ok((number.compare(&Number::Int(0)) == Some(Ordering::Greater)).into())
    }),
    Builtin::new("negative?", 1, 1, |heap, a| {
        Ok(heap.number_argument("negative?", a[0])?.is_negative().into())
    }),
    Builtin::new("odd?", 1, 1, |heap, a| Ok((!is_even(heap, "odd?", a[0])?).into())),
    Builtin::new("even?", 1, 1, |heap, a| Ok(is_even(heap, "even?", a[0])?.into())),
    Builtin::new("max", 1, MANY, |heap, a| {
        extreme(heap, "max", a, Ordering::Greater)
    }),
    Builtin::new("min", 1, MANY, |heap, a| extreme(heap, "min", a, Ordering::Less)),
    Builtin::new("abs", 1, 1, |heap, a| {
        let number = heap.number_argument("abs", a[0])?.absolute();
        heap.number(number)
    }),
    Builtin::new("magnitude", 1, 1, |heap, a| {
        let number = heap.number_argument("magnitude", a[0])?.absolute();
        heap.number(number)
    }),
    Builtin::new("quotient", 2, 2, |heap, a| {
        division(heap, "quotient", a, Rounding::Truncate, Part::Quotient)
    }),
    Builtin::new("remainder", 2, 2, |heap, a| {
        division(heap, "remainder", a, Rounding::Truncate, Part::Rest)
    }),
    Builtin::new("modulo", 2, 2, |heap, a| {
        division(heap, "modulo", a, Rounding::Floor, Part::Rest)
    }),
    Builtin::new("floor-quotient", 2, 2, |heap, a| {
        division(heap, "floor-quotient", a, Rounding::Floor, Part::Quotient)
    }),
    Builtin::new("floor-remainder", 2, 2, |heap, a| {
        division(heap, "floor-remainder", a, Rounding::Floor, Part::Rest)
    }),
    Builtin::new("truncate-quotient", 2, 2, |heap, a| {
        division(heap, "truncate-quotient", a, Rounding::Truncate, Part::Quotient)
    }),
    Builtin::new("truncate-remainder", 2, 2, |heap, a| {
        division(heap, "truncate-remainder", a, Rounding::Truncate, Part::Rest)
    }),
    Builtin::new("floor/", 2, 2, |heap, a| {
        division(heap, "floor/", a, Rounding::Floor, Part::Both)
    }),
    Builtin::new("truncate/", 2, 2, |heap, a| {
        division(heap, "truncate/", a, Rounding::Truncate, Part::Both)
    }),
    Builtin::new("gcd", 0, MANY, |heap, a| {
        common(heap, "gcd", a, Multiple::None, 0)
    }),
    Builtin::new("lcm", 0, MANY, |heap, a| {
        common(heap, "lcm", a, Multiple::Least, 1)
    }),
    Builtin::new("numerator", 1, 1, |heap, a| {
        fraction(heap, "numerator", a[0], Part::Quotient)
    }),
    Builtin::new("denominator", 1, 1, |heap, a| {
        fraction(heap, "denominator", a[0], Part::Rest)
    }),
    Builtin::new("floor", 1, 1, |heap, a| {
        round(heap, "floor", a[0], Nearest::Floor)
    }),
    Builtin::new("ceiling", 1, 1, |heap, a| {
        round(heap, "ceiling", a[0], Nearest::Ceiling)
    }),
    Builtin::new("truncate", 1, 1, |heap, a| {
        round(heap, "truncate", a[0], Nearest::Truncate)
    }),
    Builtin::new("round", 1, 1, |heap, a| round(heap, "round", a[0], Nearest::Even)),
    Builtin::new("rationalize", 2, 2, rationalize),
    Builtin::new("exp", 1, 1, |heap, a| float(heap, "exp", a, f64::exp)),
    Builtin::new("log", 1, 2, log),
    Builtin::new("sin", 1, 1, |heap, a| float(heap, "sin", a, f64::sin)),
    Builtin::new("cos", 1, 1, |heap, a| float(heap, "cos", a, f64::cos)),
    Builtin::new("tan", 1, 1, |heap, a| float(heap, "tan", a, f64::tan)),
    Builtin::new("asin", 1, 1, |heap, a| float(heap, "asin", a, f64::asin)),
    Builtin::new("acos", 1, 1, |heap, a| float(heap, "acos", a, f64::acos)),
    Builtin::new("atan", 1, 2, atan),
    Builtin::new("square", 1, 1, |heap, a| multiply(heap, &[a[0], a[0]])),
    Builtin::new("sqrt", 1, 1, sqrt),
    Builtin::new("exact-integer-sqrt", 1, 1, exact_integer_sqrt),
    Builtin::new("expt", 2, 2, expt),
    Builtin::new("exact", 1, 1, |heap, a| exact(heap, "exact", a[0])),
    Builtin::new("inexact->exact", 1, 1, |heap, a| {
        exact(heap, "inexact->exact", a[0])
    }),
    Builtin::new("inexact", 1, 1, |heap, a| {
        Ok(Value::Float(heap.number_argument("inexact", a[0])?.to_float()))
    }),
    Builtin::new("exact->inexact", 1, 1, |heap, a| {
        Ok(Value::Float(
            heap.number_argument("exact->inexact", a[0])?.to_float(),
        ))
    }),
    Builtin::new("number->string", 1, 2, number_to_string),
    Builtin::new("string->number", 1, 2, string_to_number),
];

impl Number {
    /// A float of the same kind (finite, infinite or NaN): an exact number is finite, however large it is.
    fn to_float_kind(&self) -> f64 {
        match self {
            Self::Float(float) => *float,
            _ => 0.0,
        }
    }
}

fn fold(
    heap: &mut Heap,
    name: &str,
    a: &[Value],
    step: fn(&Number, &Number) -> Number,
    first: Number,
) -> ProcedureResult {
    let mut sum = first;
    for value in a {
        let number = heap.number_argument(name, *value)?;
        if let (Number::Ratio(_), Number::Big(_)) | (Number::Big(_), Number::Ratio(_)) = (&sum, &number) {
            heap.check_fraction([&sum, &number])?;
        }
        sum = step(&sum, &number).normal();
        // A row of large factors must not exceed the limit before it is checked.
        heap.check_size(&sum)?;
    }
    heap.number(sum)
}

pub fn add(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    match a {
        [Value::Int(x), Value::Float(y)] | [Value::Float(y), Value::Int(x)] => {
            Ok(Value::Float(*x as f64 + y))
        }
        [one] => heap.number_argument("+", *one).map(|_| *one),
        _ => fold(heap, "+", a, Number::add, Number::Int(0)),
    }
}

pub fn multiply(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    match a {
        [one] => heap.number_argument("*", *one).map(|_| *one),
        _ => fold(heap, "*", a, Number::multiply, Number::Int(1)),
    }
}

pub fn subtract(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let first = heap.number_argument("-", a[0])?;
    match &a[1..] {
        [] => heap.number(first.negate()),
        rest => fold(heap, "-", rest, Number::subtract, first),
    }
}

fn divide(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let (first, rest) = match a {
        [one] => (Number::Int(1), std::slice::from_ref(one)),
        _ => (heap.number_argument("/", a[0])?, &a[1..]),
    };
    let mut result = first;
    for value in rest {
        let divisor = heap.number_argument("/", *value)?;
        if result.is_exact() && divisor.is_exact() {
            heap.check_fraction([&result, &divisor])?;
        }
        let Some(quotient) = result.divide(&divisor) else {
            return Err(Fault::misuse("/: division by zero", a.to_vec()));
        };
        result = quotient.normal();
        heap.check_size(&result)?;
    }
    heap.number(result)
}

fn ordered(heap: &Heap, name: &str, a: &[Value], holds: fn(Ordering) -> bool) -> ProcedureResult {
    let mut all = true;
    let mut before = None;
    for value in a {
        let number = heap.number_argument(name, *value)?;
        all &= before.is_none_or(|before: Number| before.compare(&number).is_some_and(holds));
        before = Some(number);
    }
    Ok(all.into())
}

pub fn equal(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    ordered(heap, "=", a, Ordering::is_eq)
}

pub fn less(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    ordered(heap, "<", a, Ordering::is_lt)
}

pub fn greater(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    ordered(heap, ">", a, Ordering::is_gt)
}

pub fn less_or_equal(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    ordered(heap, "<=", a, Ordering::is_le)
}

pub fn greater_or_equal(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    ordered(heap, ">=", a, Ordering::is_ge)
}

fn is_even(heap: &Heap, name: &str, value: Value) -> Result<bool, Fault> {
    if let Value::Int(word) = value {
        return Ok(word % 2 == 0);
    }
    let number = heap.number_argument(name, value)?;
    match number.divide_integers(&Number::Int(2), Rounding::Floor) {
        Some((_, rest)) => Ok(rest.is_zero()),
        None => Err(Fault::wrong_type(name, "an integer", value)),
    }
}

fn extreme(heap: &mut Heap, name: &str, a: &[Value], wanted: Ordering) -> ProcedureResult {
    let mut best = heap.number_argument(name, a[0])?;
    let mut exact = best.is_exact();
    for value in &a[1..] {
        let number = heap.number_argument(name, *value)?;
        exact &= number.is_exact();
        let is_nan = matches!(number, Number::Float(float) if float.is_nan());
        if is_nan || number.compare(&best) == Some(wanted) {
            best = number;
        }
    }
    // One inexact number makes the answer inexact.
    heap.number(if exact {
        best
    } else {
        Number::Float(best.to_float())
    })
}

/// The wanted part of a division.
#[derive(Clone, Copy)]
enum Part {
    Quotient,
    Rest,
    Both,
}

fn division(heap: &mut Heap, name: &str, a: &[Value], rounding: Rounding, part: Part) -> ProcedureResult {
    if let [Value::Int(x), Value::Int(y)] = *a
        && y != 0
        && !(x == i64::MIN && y == -1)
    {
        let (mut quotient, mut rest) = (x / y, x % y);
        if matches!(rounding, Rounding::Floor) && rest != 0 && ((rest < 0) != (y < 0)) {
            quotient -= 1;
            rest += y;
        }
        return Ok(match part {
            Part::Quotient => Value::Int(quotient),
            Part::Rest => Value::Int(rest),
            Part::Both => heap.object(Object::Values(vec![Value::Int(quotient), Value::Int(rest)])),
        });
    }
    let (x, y) = (
        heap.number_argument(name, a[0])?,
        heap.number_argument(name, a[1])?,
    );
    if y.is_zero() {
        return Err(Fault::misuse(format!("{name}: division by zero"), a.to_vec()));
    }
    let Some((quotient, rest)) = x.divide_integers(&y, rounding) else {
        return Err(Fault::misuse(
            format!("{name}: these are not both integers"),
            a.to_vec(),
        ));
    };
    match part {
        Part::Quotient => heap.number(quotient),
        Part::Rest => heap.number(rest),
        Part::Both => {
            let both = vec![heap.number(quotient)?, heap.number(rest)?];
            Ok(heap.object(Object::Values(both)))
        }
    }
}

fn common(heap: &mut Heap, name: &str, a: &[Value], multiple: Multiple, neutral: i64) -> ProcedureResult {
    let mut result = Number::Int(neutral);
    for value in a {
        let number = heap.number_argument(name, *value)?;
        heap.check_fraction([&result, &number])?;
        match result.common(&number, multiple) {
            Some(next) => result = next.normal(),
            None => return Err(Fault::wrong_type(name, "an integer", *value)),
        }
    }
    heap.number(result)
}

fn fraction(heap: &mut Heap, name: &str, value: Value, part: Part) -> ProcedureResult {
    let number = heap.number_argument(name, value)?;
    let Some(ratio) = number.to_ratio() else {
        return Err(Fault::wrong_type(name, "a rational number", value));
    };
    let part = Number::Big(match part {
        Part::Quotient => ratio.numer().clone(),
        _ => ratio.denom().clone(),
    });
    heap.number(if number.is_exact() {
        part
    } else {
        Number::Float(part.to_float())
    })
}

fn round(heap: &mut Heap, name: &str, value: Value, to: Nearest) -> ProcedureResult {
    let number = heap.number_argument(name, value)?.round(to);
    heap.number(number)
}

/// The simplest fraction near a number, by the tree of Stern and Brocot.
fn rationalize(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let x = heap.number_argument("rationalize", a[0])?;
    let y = heap.number_argument("rationalize", a[1])?.absolute();
    let exact = x.is_exact() && y.is_exact();
    let (Some(x), Some(y)) = (x.to_ratio(), y.to_ratio()) else {
        // With an infinity, everything is near or nothing is.
        let (x, y) = (x.to_float(), y.to_float());
        let value = if x.is_nan() || y.is_nan() || (x.is_infinite() && y.is_infinite()) {
            f64::NAN
        } else if y.is_infinite() {
            0.0
        } else {
            x
        };
        return Ok(Value::Float(value));
    };
    heap.check_fraction([&Number::Ratio(x.clone()), &Number::Ratio(y.clone())])?;
    let simplest = simplest_between(heap, &(&x - &y), &(&x + &y))?;
    heap.number(if exact {
        Number::Ratio(simplest)
    } else {
        Number::Float(Number::Ratio(simplest).to_float())
    })
}

fn simplest_between(heap: &Heap, low: &BigRational, high: &BigRational) -> Result<BigRational, Fault> {
    use num_traits::{Signed, Zero};
    if low.is_positive() {
        // Continued fractions, with the terms so far kept aside.
        let (mut low, mut high) = (low.clone(), high.clone());
        let mut terms = Vec::new();
        // Each term takes the square of the bits.
        let words = (low.denom().bits().max(high.denom().bits()) / 64) as usize;
        loop {
            heap.spend(1 + words * words)?;
            let floor = low.floor();
            if low.is_integer() {
                terms.push(low);
                break;
            }
            if floor < high.floor() {
                terms.push(floor + BigRational::from_integer(1.into()));
                break;
            }
            terms.push(floor.clone());
            let next = (high - &floor).recip();
            high = (low - &floor).recip();
            low = next;
        }
        let mut result = BigRational::zero();
        for term in terms.into_iter().rev() {
            heap.spend(1 + words * words)?;
            result = if result.is_zero() {
                term
            } else {
                term + result.recip()
            };
        }
        return Ok(result);
    }
    if high.is_negative() {
        return Ok(-simplest_between(heap, &-high, &-low)?);
    }
    Ok(BigRational::zero())
}

fn float(heap: &Heap, name: &str, a: &[Value], function: fn(f64) -> f64) -> ProcedureResult {
    let number = heap.number_argument(name, a[0])?;
    // `(exp 0)` and the like are exact.
    let exact = match (name, &number) {
        ("exp" | "cos", Number::Int(0)) => Some(1),
        ("sin" | "tan" | "asin" | "atan", Number::Int(0)) => Some(0),
        _ => None,
    };
    Ok(exact.map_or_else(|| Value::Float(function(number.to_float())), Value::Int))
}

fn log(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let number = heap.number_argument("log", a[0])?;
    let Some(base) = a.get(1) else {
        return Ok(if matches!(number, Number::Int(1)) {
            Value::Int(0)
        } else {
            Value::Float(ln(&number))
        });
    };
    let base = heap.number_argument("log", *base)?;
    let (x, y) = (number.to_float(), base.to_float());
    Ok(Value::Float(match y {
        2.0 if x.is_finite() => x.log2(),
        10.0 if x.is_finite() => x.log10(),
        _ => ln(&number) / ln(&base),
    }))
}

/// The natural logarithm, also of integers that no float can hold.
fn ln(number: &Number) -> f64 {
    match number {
        Number::Big(big) if big.bits() > 1000 && !number.is_negative() => {
            let shift = big.bits() - 60;
            let top: num_bigint::BigInt = big >> shift;
            Number::Big(top).to_float().ln() + shift as f64 * std::f64::consts::LN_2
        }
        other => other.to_float().ln(),
    }
}

fn atan(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    match a {
        [_] => float(heap, "atan", a, f64::atan),
        _ => {
            let (y, x) = (
                heap.number_argument("atan", a[0])?,
                heap.number_argument("atan", a[1])?,
            );
            if matches!(y, Number::Int(0)) && x.is_exact() && !x.is_negative() && !x.is_zero() {
                return Ok(Value::Int(0));
            }
            Ok(Value::Float(y.to_float().atan2(x.to_float())))
        }
    }
}

fn sqrt(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let number = heap.number_argument("sqrt", a[0])?;
    if number.is_negative() {
        return Err(Fault::misuse("sqrt: complex numbers are not here", vec![a[0]]));
    }
    let root = |number: &Number| {
        number
            .exact_root()
            .filter(|(_, rest)| rest.is_zero())
            .map(|(root, _)| root)
    };
    match &number {
        Number::Float(float) => Ok(Value::Float(float.sqrt())),
        Number::Ratio(ratio) => {
            let parts = (
                root(&Number::Big(ratio.numer().clone())),
                root(&Number::Big(ratio.denom().clone())),
            );
            match parts {
                (Some(above), Some(below)) => {
                    let quotient = above.divide(&below).unwrap_or(Number::Int(0));
                    heap.number(quotient)
                }
                _ => Ok(Value::Float(number.to_float().sqrt())),
            }
        }
        whole => match root(whole) {
            Some(root) => heap.number(root),
            None => Ok(Value::Float(whole.to_float().sqrt())),
        },
    }
}

fn exact_integer_sqrt(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let number = heap.number_argument("exact-integer-sqrt", a[0])?;
    let Some((root, rest)) = number.exact_root() else {
        return Err(Fault::wrong_type(
            "exact-integer-sqrt",
            "an exact integer that is not negative",
            a[0],
        ));
    };
    let both = vec![heap.number(root)?, heap.number(rest)?];
    Ok(heap.object(Object::Values(both)))
}

fn expt(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let (base, exponent) = (
        heap.number_argument("expt", a[0])?,
        heap.number_argument("expt", a[1])?,
    );
    match base.power(&exponent, heap.limits.number_bits) {
        Ok(Some(power)) => heap.number(power),
        Ok(None) => Err(Fault::misuse("expt: division by zero", a.to_vec())),
        Err(limit) => Err(Fault::Limit(limit)),
    }
}

fn exact(heap: &mut Heap, name: &str, value: Value) -> ProcedureResult {
    let number = heap.number_argument(name, value)?;
    match number.to_exact() {
        Some(exact) => heap.number(exact),
        None => Err(Fault::wrong_type(name, "a finite number", value)),
    }
}

fn radix(name: &str, value: Option<&Value>) -> Result<u32, Fault> {
    match value {
        None => Ok(10),
        Some(Value::Int(radix @ 2..=36)) => Ok(*radix as u32),
        Some(other) => Err(Fault::wrong_type(name, "a radix from 2 to 36", *other)),
    }
}

fn number_to_string(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let number = heap.number_argument("number->string", a[0])?;
    let radix = radix("number->string", a.get(1))?;
    match number_text(&number, radix) {
        Some(text) => Ok(heap.string(text)),
        None => Err(Fault::misuse(
            "number->string: inexact numbers are decimal",
            a.to_vec(),
        )),
    }
}

fn string_to_number(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let radix = radix("string->number", a.get(1))?;
    let text = text(heap, "string->number", a[0])?.to_string();
    match parse_number(&text, radix, heap.limits.number_bits) {
        Ok(Some(number)) => heap.number(number),
        Ok(None) => Ok(Value::Bool(false)),
        Err(limit) => Err(Fault::Limit(limit)),
    }
}
