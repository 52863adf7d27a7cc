//! Numbers as text that reads back as the same number.

use super::Number;

/// A number as text. `None` if the radix does not fit: floats are decimal.
pub fn number_text(number: &Number, radix: u32) -> Option<String> {
    Some(match number {
        Number::Int(word) if radix == 10 => word.to_string(),
        Number::Int(word) => num_bigint::BigInt::from(*word).to_str_radix(radix),
        Number::Big(big) => big.to_str_radix(radix),
        Number::Ratio(ratio) => {
            format!(
                "{}/{}",
                ratio.numer().to_str_radix(radix),
                ratio.denom().to_str_radix(radix)
            )
        }
        Number::Float(float) if float.is_nan() => "+nan.0".to_owned(),
        Number::Float(float) if float.is_infinite() => {
            if *float > 0.0 { "+inf.0" } else { "-inf.0" }.to_owned()
        }
        // Rust writes the shortest digits that read back as the same float, always with a point or an exponent.
        Number::Float(float) if radix == 10 => format!("{float:?}"),
        Number::Float(_) => return None,
    })
}
