//! The numeric tower without complex numbers: words, integers of any size, fractions, floats. Words and floats are in
//! the value itself; this module handles all others, and results that no longer fit.

mod arithmetic;
mod format;
mod parse;

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};

pub use arithmetic::{Multiple, Nearest, Rounding};
pub use format::number_text;
pub use parse::parse_number;

use crate::fault::Fault;
use crate::heap::{Heap, Object};
use crate::limits::Limit;
use crate::value::Value;

/// A number outside of the heap.
#[derive(Clone, Debug)]
pub enum Number {
    Int(i64),
    /// A large integer; never one that fits into a word, except in the middle of a computation.
    Big(BigInt),
    /// A fraction; never an integer, except in the middle of a computation.
    Ratio(BigRational),
    Float(f64),
}

/// The largest size of a fraction's parts, in bits: reducing one takes time quadratic in its bits.
pub const FRACTION_BITS: u64 = 1 << 16;

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Big(a), Self::Big(b)) => a == b,
            (Self::Ratio(a), Self::Ratio(b)) => same_ratio(a, b),
            (Self::Float(a), Self::Float(b)) => a == b,
            _ => false,
        }
    }
}

/// Whether two reduced fractions are the same. The crate's own comparison and hash recurse once for each term of the
/// continued fraction, which would overflow the stack.
pub fn same_ratio(a: &BigRational, b: &BigRational) -> bool {
    a.numer() == b.numer() && a.denom() == b.denom()
}

impl Number {
    /// The number in the simplest kind that can hold it.
    pub fn normal(self) -> Self {
        match self {
            Self::Ratio(ratio) if ratio.is_integer() => Self::Big(ratio.to_integer()).normal(),
            Self::Big(big) => match big.to_i64() {
                Some(word) => Self::Int(word),
                None => Self::Big(big),
            },
            other => other,
        }
    }

    pub fn is_exact(&self) -> bool {
        !matches!(self, Self::Float(_))
    }

    pub fn is_integer(&self) -> bool {
        match self {
            Self::Int(_) | Self::Big(_) => true,
            Self::Ratio(ratio) => ratio.is_integer(),
            Self::Float(float) => float.is_finite() && float.fract() == 0.0,
        }
    }

    pub fn is_zero(&self) -> bool {
        match self {
            Self::Int(word) => *word == 0,
            Self::Big(big) => big.is_zero(),
            Self::Ratio(ratio) => ratio.is_zero(),
            Self::Float(float) => *float == 0.0,
        }
    }

    pub fn is_negative(&self) -> bool {
        match self {
            Self::Int(word) => *word < 0,
            Self::Big(big) => big.is_negative(),
            Self::Ratio(ratio) => ratio.is_negative(),
            Self::Float(float) => *float < 0.0,
        }
    }

    /// The nearest float.
    pub fn to_float(&self) -> f64 {
        match self {
            Self::Int(word) => *word as f64,
            Self::Big(big) => big.to_f64().unwrap_or(f64::NAN),
            Self::Ratio(ratio) => ratio_to_float(ratio),
            Self::Float(float) => *float,
        }
    }

    /// The number as an exact one. `None` for infinities and NaN.
    pub fn to_exact(&self) -> Option<Self> {
        match self {
            Self::Float(float) => BigRational::from_float(*float).map(|ratio| Self::Ratio(ratio).normal()),
            exact => Some(exact.clone()),
        }
    }

    /// The exact integer, if the number is one.
    pub fn to_big(&self) -> Option<BigInt> {
        match self {
            Self::Int(word) => Some(BigInt::from(*word)),
            Self::Big(big) => Some(big.clone()),
            Self::Ratio(ratio) => ratio.is_integer().then(|| ratio.to_integer()),
            Self::Float(_) if self.is_integer() => self.to_exact()?.to_big(),
            Self::Float(_) => None,
        }
    }

    pub(crate) fn to_ratio(&self) -> Option<BigRational> {
        match self {
            Self::Ratio(ratio) => Some(ratio.clone()),
            Self::Float(float) => BigRational::from_float(*float),
            whole => whole.to_big().map(BigRational::from_integer),
        }
    }

    pub(crate) fn bits(&self) -> u64 {
        match self {
            Self::Int(_) | Self::Float(_) => 64,
            Self::Big(big) => big.bits(),
            Self::Ratio(ratio) => ratio.numer().bits().max(ratio.denom().bits()),
        }
    }
}

/// The nearest float of a fraction whose parts may be larger than any float.
fn ratio_to_float(ratio: &BigRational) -> f64 {
    let (numerator, denominator) = (ratio.numer(), ratio.denom());
    // A quotient of 66 bits is precise enough to be rounded once; a remainder sets the last bit.
    let shift = denominator.bits() as i64 - numerator.bits() as i64 + 66;
    let (above, below) = if shift >= 0 {
        (numerator << shift.unsigned_abs(), denominator.clone())
    } else {
        (numerator.clone(), denominator << shift.unsigned_abs())
    };
    let (quotient, rest) = above.abs().div_rem(&below);
    let quotient = (quotient << 1u8) + i32::from(!rest.is_zero());
    let magnitude = scaled(&quotient, -(shift + 1));
    if ratio.is_negative() {
        -magnitude
    } else {
        magnitude
    }
}

/// A number of at most 70 bits times a power of two, rounded once.
fn scaled(number: &BigInt, exponent: i64) -> f64 {
    let bits = number.bits() as i64;
    // Subnormal floats have fewer bits, so the rounding must happen there and nowhere else.
    let smallest = -1074;
    if bits + exponent < -1020 {
        let drop = (smallest - exponent).max(0) as u64;
        let kept: BigInt = number >> drop;
        let rest = number - (&kept << drop);
        let half = BigInt::from(1) << drop.saturating_sub(1);
        let up = drop > 0 && (rest > half || (rest == half && kept.is_odd()));
        return (kept + i32::from(up)).to_f64().unwrap_or(0.0) * f64::from_bits(1);
    }
    let whole = number.to_f64().unwrap_or(f64::INFINITY);
    let exponent = exponent.clamp(-2000, 2000) as i32;
    whole * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2)
}

impl Heap {
    /// The number in a value, if it is one.
    pub fn as_number(&self, value: Value) -> Option<Number> {
        match value {
            Value::Int(word) => Some(Number::Int(word)),
            Value::Float(float) => Some(Number::Float(float)),
            Value::Object(at) => match self.object_at(at) {
                Object::Big(big) => Some(Number::Big(big.clone())),
                Object::Ratio(ratio) => Some(Number::Ratio(ratio.clone())),
                _ => None,
            },
            _ => None,
        }
    }

    pub fn is_number(&self, value: Value) -> bool {
        match value {
            Value::Int(_) | Value::Float(_) => true,
            _ => matches!(self.as_object(value), Some(Object::Big(_) | Object::Ratio(_))),
        }
    }

    /// The value for a number, unless it is too large.
    pub fn number(&mut self, number: Number) -> Result<Value, Fault> {
        let number = number.normal();
        self.check_size(&number)?;
        Ok(match number {
            Number::Int(word) => Value::Int(word),
            Number::Float(float) => Value::Float(float),
            Number::Big(big) => self.object(Object::Big(big)),
            Number::Ratio(ratio) => self.object(Object::Ratio(ratio)),
        })
    }

    /// Refuses a number that is too large.
    pub(crate) fn check_size(&self, number: &Number) -> Result<(), Fault> {
        let most = match number {
            Number::Ratio(_) => self.limits.number_bits.min(FRACTION_BITS),
            _ => self.limits.number_bits,
        };
        if number.bits() > most {
            Err(Fault::Limit(Limit::NumberBits(most)))
        } else {
            Ok(())
        }
    }

    /// Reads a number from a procedure's argument.
    pub fn number_argument(&self, procedure: &str, value: Value) -> Result<Number, Fault> {
        let number = self
            .as_number(value)
            .ok_or_else(|| Fault::wrong_type(procedure, "a number", value))?;
        if let Number::Big(_) | Number::Ratio(_) = number {
            // Most operations on large numbers take time quadratic in their size.
            let words = (number.bits() / 64) as usize;
            self.spend(words + words * words / 64)?;
        }
        Ok(number)
    }

    /// Refuses numbers that are too large for the parts of a fraction.
    pub(crate) fn check_fraction(&self, numbers: [&Number; 2]) -> Result<(), Fault> {
        let most = self.limits.number_bits.min(FRACTION_BITS);
        match numbers.iter().any(|number| number.bits() > most) {
            true => Err(Fault::Limit(Limit::NumberBits(most))),
            false => Ok(()),
        }
    }
}
