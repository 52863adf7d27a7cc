//! Numbers from text: radix and exactness prefixes, fractions, decimals, exponents, infinities.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Pow, Zero};

use super::{FRACTION_BITS, Number};
use crate::limits::Limit;

/// The number that a text stands for, if it is one; an error if it is too large.
pub fn parse_number(text: &str, radix: u32, bits: u64) -> Result<Option<Number>, Limit> {
    let Some((exactness, radix, digits)) = prefixes(text, radix) else {
        return Ok(None);
    };
    // A digit has more than three bits, or nearly none in a small radix, which the result will show.
    if digits.len() as u64 > bits {
        return if digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            Err(Limit::NumberBits(bits))
        } else {
            Ok(None)
        };
    }
    let Some(number) = real(digits, radix, exactness, bits)? else {
        return Ok(None);
    };
    Ok(match exactness {
        Some('i') => Some(Number::Float(number.to_float())),
        Some(_) => number.to_exact().map(Number::normal),
        None => Some(number.normal()),
    })
}

/// Removes prefixes such as `#x` and `#e`.
fn prefixes(mut text: &str, mut radix: u32) -> Option<(Option<char>, u32, &str)> {
    let (mut exactness, mut radix_seen) = (None, false);
    while let Some(rest) = text.strip_prefix('#') {
        let letter = rest.chars().next()?.to_ascii_lowercase();
        let new = match letter {
            'b' => 2,
            'o' => 8,
            'd' => 10,
            'x' => 16,
            'e' | 'i' if exactness.is_none() => {
                exactness = Some(letter);
                0
            }
            _ => return None,
        };
        if new != 0 {
            if radix_seen {
                return None;
            }
            (radix, radix_seen) = (new, true);
        }
        text = &rest[1..];
    }
    Some((exactness, radix, text))
}

fn real(text: &str, radix: u32, exactness: Option<char>, bits: u64) -> Result<Option<Number>, Limit> {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let sign = |number: Number| if negative { number.negate() } else { number };
    let signed = digits.len() < text.len();
    if signed && digits.eq_ignore_ascii_case("inf.0") {
        return Ok(Some(sign(Number::Float(f64::INFINITY))));
    }
    if signed && digits.eq_ignore_ascii_case("nan.0") {
        return Ok(Some(Number::Float(f64::NAN)));
    }
    if let Some((above, below)) = digits.split_once('/') {
        if digits.len() as u64 > FRACTION_BITS / 6 {
            return Err(Limit::NumberBits(FRACTION_BITS));
        }
        let parts = (natural(above, radix), natural(below, radix));
        return Ok(match parts {
            (Some(_), Some(below)) if below.is_zero() => None,
            (Some(above), Some(below)) => Some(sign(Number::Ratio(BigRational::new(above, below)))),
            _ => None,
        });
    }
    if let Some(whole) = word(digits, radix) {
        return Ok(Some(if negative {
            Number::Int(-whole)
        } else {
            Number::Int(whole)
        }));
    }
    if let Some(whole) = natural(digits, radix) {
        return Ok(Some(sign(Number::Big(whole))));
    }
    if radix != 10 {
        return Ok(None);
    }
    Ok(decimal(digits, exactness == Some('e'), bits)?.map(sign))
}

fn word(digits: &str, radix: u32) -> Option<i64> {
    if digits.is_empty() || digits.len() > 15 || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    i64::from_str_radix(digits, radix).ok()
}

fn natural(digits: &str, radix: u32) -> Option<BigInt> {
    let all = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    if all {
        BigInt::parse_bytes(digits.as_bytes(), radix)
    } else {
        None
    }
}

/// Reads a decimal such as `12.5e-3`, as a float or exactly.
fn decimal(text: &str, exact: bool, bits: u64) -> Result<Option<Number>, Limit> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let shaped = digits(whole) && digits(fraction) && whole.len() + fraction.len() > 0;
    if !shaped || exponent_digits.is_empty() || !digits(exponent_digits) {
        return Ok(None);
    }
    if !exact {
        return Ok(format!("{whole}.{fraction}e{exponent}")
            .parse()
            .ok()
            .map(Number::Float));
    }
    let Some(digits) = natural(&format!("{whole}{fraction}"), 10) else {
        return Ok(None);
    };
    let exponent: i64 = exponent
        .trim_start_matches('+')
        .parse()
        .map_err(|_| Limit::NumberBits(bits))?;
    let exponent = exponent.saturating_sub(fraction.len() as i64);
    let most = if exponent < 0 {
        bits.min(FRACTION_BITS)
    } else {
        bits
    };
    if exponent.unsigned_abs().saturating_mul(3) > most || (exponent < 0 && digits.bits() > most) {
        return Err(Limit::NumberBits(most));
    }
    let power: BigInt = Pow::pow(BigInt::from(10), exponent.unsigned_abs());
    Ok(Some(Number::Ratio(if exponent >= 0 {
        BigRational::from_integer(digits * power)
    } else {
        BigRational::new(digits, power)
    })))
}
