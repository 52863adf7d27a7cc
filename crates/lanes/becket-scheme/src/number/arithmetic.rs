//! Arithmetic and comparison of numbers of all kinds.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Pow, Signed, ToPrimitive, Zero};

use super::Number;
use crate::limits::Limit;

/// Two numbers converted to the same kind.
enum Both {
    Int(BigInt, BigInt),
    Ratio(BigRational, BigRational),
    Float(f64, f64),
}

fn both(a: &Number, b: &Number) -> Both {
    match (a, b) {
        (Number::Float(_), _) | (_, Number::Float(_)) => Both::Float(a.to_float(), b.to_float()),
        _ => match (a.to_big(), b.to_big()) {
            (Some(a), Some(b)) => Both::Int(a, b),
            _ => Both::Ratio(a.to_ratio().unwrap_or_default(), b.to_ratio().unwrap_or_default()),
        },
    }
}

impl Number {
    pub fn add(&self, other: &Self) -> Self {
        match both(self, other) {
            Both::Int(a, b) => Self::Big(a + b),
            Both::Ratio(a, b) => Self::Ratio(a + b),
            Both::Float(a, b) => Self::Float(a + b),
        }
    }

    pub fn subtract(&self, other: &Self) -> Self {
        match both(self, other) {
            Both::Int(a, b) => Self::Big(a - b),
            Both::Ratio(a, b) => Self::Ratio(a - b),
            Both::Float(a, b) => Self::Float(a - b),
        }
    }

    pub fn multiply(&self, other: &Self) -> Self {
        // An exact zero stays exact, whatever it is multiplied with.
        if matches!((self, other), (Self::Int(0), _) | (_, Self::Int(0))) {
            return Self::Int(0);
        }
        match both(self, other) {
            Both::Int(a, b) => Self::Big(a * b),
            Both::Ratio(a, b) => Self::Ratio(a * b),
            Both::Float(a, b) => Self::Float(a * b),
        }
    }

    /// The quotient; `None` if an exact number is divided by an exact zero.
    pub fn divide(&self, other: &Self) -> Option<Self> {
        if other.is_exact() && other.is_zero() {
            return None;
        }
        if matches!(self, Self::Int(0)) {
            return Some(Self::Int(0));
        }
        Some(match both(self, other) {
            Both::Int(a, b) => Self::Ratio(BigRational::new(a, b)),
            Both::Ratio(a, b) => Self::Ratio(a / b),
            Both::Float(a, b) => Self::Float(a / b),
        })
    }

    /// Compares two numbers; `None` if one of them is NaN.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b),
            // Compared as exact numbers, since a float near a large integer is equal to many.
            (Self::Float(a), b) | (b, Self::Float(a)) if !a.is_finite() => {
                let order = a.partial_cmp(&0.0)?;
                let _ = b;
                Some(if matches!(self, Self::Float(_)) {
                    order
                } else {
                    order.reverse()
                })
            }
            _ => match (self.to_ratio(), other.to_ratio()) {
                // Denominators are positive.
                (Some(a), Some(b)) => Some((a.numer() * b.denom()).cmp(&(b.numer() * a.denom()))),
                _ => None,
            },
        }
    }

    /// Quotient and remainder of two integers, truncating or flooring. `None` if one is no integer or the divisor is
    /// zero.
    pub fn divide_integers(&self, other: &Self, rounding: Rounding) -> Option<(Self, Self)> {
        if other.is_zero() {
            return None;
        }
        let (a, b) = (self.to_big()?, other.to_big()?);
        let (quotient, rest) = match rounding {
            Rounding::Truncate => a.div_rem(&b),
            Rounding::Floor => a.div_mod_floor(&b),
        };
        let exact = self.is_exact() && other.is_exact();
        let result = |big: BigInt| {
            let number = Self::Big(big);
            if exact {
                number
            } else {
                Self::Float(number.to_float())
            }
        };
        Some((result(quotient), result(rest)))
    }

    /// The greatest common divisor, or the least common multiple.
    pub fn common(&self, other: &Self, multiple: Multiple) -> Option<Self> {
        let (a, b) = (self.to_big()?, other.to_big()?);
        let number = Self::Big(match multiple {
            Multiple::Least => a.lcm(&b),
            Multiple::None => a.gcd(&b),
        });
        let exact = self.is_exact() && other.is_exact();
        Some(if exact {
            number
        } else {
            Self::Float(number.to_float())
        })
    }

    /// A power, unless it is larger than `bits` allow. `None` if an exact zero has a negative exponent.
    pub fn power(&self, exponent: &Self, bits: u64) -> Result<Option<Self>, Limit> {
        let Some(whole) = exponent.to_big().filter(|_| exponent.is_exact()) else {
            return Ok(Some(Self::Float(float_power(self, exponent))));
        };
        if let Self::Float(base) = self {
            let power = whole.to_i32().map(|power| base.powi(power));
            return Ok(Some(Self::Float(
                power.unwrap_or_else(|| base.powf(exponent.to_float())),
            )));
        }
        let ratio = self.to_ratio().unwrap_or_default();
        if ratio.is_zero() {
            return Ok(match whole.sign() {
                num_bigint::Sign::Minus => None,
                num_bigint::Sign::NoSign => Some(Self::Int(1)),
                num_bigint::Sign::Plus => Some(Self::Int(0)),
            });
        }
        if ratio.is_one() || (-&ratio).is_one() {
            let odd = whole.is_odd() && ratio.is_negative();
            return Ok(Some(Self::Int(if odd { -1 } else { 1 })));
        }
        let size = ratio
            .numer()
            .bits()
            .max(ratio.denom().bits())
            .saturating_sub(1)
            .max(1);
        let power = whole
            .abs()
            .to_u64()
            .filter(|power| power.saturating_mul(size) <= bits);
        let power = power.ok_or(Limit::NumberBits(bits))?;
        let result = Pow::pow(&ratio, power);
        Ok(Some(Self::Ratio(if whole.is_negative() {
            result.recip()
        } else {
            result
        })))
    }

    pub fn negate(&self) -> Self {
        match self {
            Self::Float(float) => Self::Float(-float),
            exact => Self::Int(0).subtract(exact),
        }
    }

    pub fn absolute(&self) -> Self {
        match self {
            Self::Float(float) => Self::Float(float.abs()),
            exact if exact.is_negative() => exact.negate(),
            exact => exact.clone(),
        }
    }

    /// The number rounded to an integer.
    pub fn round(&self, to: Nearest) -> Self {
        match self {
            Self::Float(float) => Self::Float(match to {
                Nearest::Floor => float.floor(),
                Nearest::Ceiling => float.ceil(),
                Nearest::Truncate => float.trunc(),
                Nearest::Even => float.round_ties_even(),
            }),
            Self::Ratio(ratio) => Self::Ratio(match to {
                Nearest::Floor => ratio.floor(),
                Nearest::Ceiling => ratio.ceil(),
                Nearest::Truncate => ratio.trunc(),
                Nearest::Even => round_even(ratio),
            }),
            whole => whole.clone(),
        }
    }

    /// The largest integer whose square is not larger, and the remainder. `None` unless the number is an exact,
    /// positive integer.
    pub fn exact_root(&self) -> Option<(Self, Self)> {
        let number = self
            .to_big()
            .filter(|big| self.is_exact() && !big.is_negative())?;
        let root = number.sqrt();
        let rest = &number - &root * &root;
        Some((Self::Big(root), Self::Big(rest)))
    }
}

/// The direction in which the quotient of integers is rounded.
#[derive(Clone, Copy, Debug)]
pub enum Rounding {
    Truncate,
    Floor,
}

/// Which common number of two integers is wanted.
#[derive(Clone, Copy, Debug)]
pub enum Multiple {
    Least,
    None,
}

/// Which nearby integer is wanted.
#[derive(Clone, Copy, Debug)]
pub enum Nearest {
    Floor,
    Ceiling,
    Truncate,
    Even,
}

fn round_even(ratio: &BigRational) -> BigRational {
    let floor = ratio.floor();
    let half = BigRational::new(1.into(), 2.into());
    match (ratio - &floor).cmp(&half) {
        Ordering::Less => floor,
        Ordering::Greater => floor + BigRational::one(),
        Ordering::Equal if floor.to_integer().is_even() => floor,
        Ordering::Equal => floor + BigRational::one(),
    }
}

fn float_power(base: &Number, exponent: &Number) -> f64 {
    base.to_float().powf(exponent.to_float())
}
