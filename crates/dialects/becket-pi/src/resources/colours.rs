//! Colours as themes write them.

use serde::{Serialize, Serializer};
use serde_json::Value;

/// A colour of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// The terminal's default colour.
    Terminal,
    /// One of 256 colours, by its number.
    Index(u8),
    /// A colour by red, green and blue.
    Rgb(u8, u8, u8),
}

impl Serialize for Colour {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Terminal => serializer.serialize_str(""),
            Self::Index(number) => serializer.serialize_u8(*number),
            Self::Rgb(red, green, blue) => {
                serializer.serialize_str(&format!("#{red:02x}{green:02x}{blue:02x}"))
            }
        }
    }
}

impl Colour {
    /// Parses a colour; `None` for a word, which may be the name of a variable.
    pub(super) fn read(value: &Value) -> Result<Option<Self>, String> {
        let wrong = || format!("{value} is no colour");
        let text = match value {
            Value::Number(number) => {
                let number = number.as_u64().and_then(|number| u8::try_from(number).ok());
                return number.map(|number| Some(Self::Index(number))).ok_or_else(wrong);
            }
            Value::String(text) => text.trim(),
            _ => return Err(wrong()),
        };
        if text.is_empty() {
            return Ok(Some(Self::Terminal));
        }
        if let Some(digits) = text.strip_prefix('#') {
            return hexadecimal(digits).map(Some).ok_or_else(wrong);
        }
        let Some((space, numbers)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) else {
            return Ok(None);
        };
        let numbers: Vec<f64> = numbers
            .split_whitespace()
            .filter_map(|number| match number.strip_suffix('%') {
                Some(percent) => percent.parse::<f64>().ok().map(|percent| percent / 100.0),
                None => number.trim_end_matches("deg").parse().ok(),
            })
            .collect();
        let [one, two, three] = numbers.try_into().map_err(|_| wrong())?;
        match space.trim() {
            "oklch" => Ok(Some(of_linear(from_oklch(one, two, three)))),
            "okhsl" => Ok(Some(of_linear(from_okhsl(one, two, three)))),
            _ => Err(wrong()),
        }
    }
}

fn hexadecimal(digits: &str) -> Option<Colour> {
    if !digits.chars().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let doubled: String = digits.chars().flat_map(|digit| [digit, digit]).collect();
    let digits = match digits.len() {
        3 => &doubled,
        6 => digits,
        _ => return None,
    };
    let part = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
    Some(Colour::Rgb(part(0)?, part(2)?, part(4)?))
}

type Linear = [f64; 3];

/// The nearest colour that a screen can show.
fn of_linear(linear: Linear) -> Colour {
    let [red, green, blue] = linear.map(|part| {
        let part = part.clamp(0.0, 1.0);
        let shown = if part <= 0.003_130_8 {
            12.92 * part
        } else {
            1.055 * part.powf(1.0 / 2.4) - 0.055
        };
        (shown * 255.0).round() as u8
    });
    Colour::Rgb(red, green, blue)
}

/// Converts lightness and the two axes of OKLab to linear light.
fn from_oklab(lightness: f64, a: f64, b: f64) -> Linear {
    let [l, m, s] = [
        lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b,
        lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b,
        lightness - 0.089_484_177_5 * a - 1.291_485_548 * b,
    ]
    .map(|part| part * part * part);
    [
        4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
        -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
        -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701 * s,
    ]
}

fn from_oklch(lightness: f64, chroma: f64, hue: f64) -> Linear {
    let (sine, cosine) = hue.to_radians().sin_cos();
    let shown = |chroma: f64| from_oklab(lightness, chroma * cosine, chroma * sine);
    shown(chroma.min(most_chroma(lightness, hue)))
}

/// Converts OKHSL, whose saturation is relative to the strongest colour that a screen can show at that hue and
/// lightness.
fn from_okhsl(hue: f64, saturation: f64, lightness: f64) -> Linear {
    let lightness = from_toe(lightness.clamp(0.0, 1.0));
    let chroma = saturation.clamp(0.0, 1.0) * most_chroma(lightness, hue);
    from_oklch(lightness, chroma, hue)
}

/// Converts a perceptually even lightness to the lightness of OKLab.
fn from_toe(even: f64) -> f64 {
    let (first, second) = (0.206, 0.03);
    let third = (1.0 + first) / (1.0 + second);
    (even * even + first * even) / (third * (even + second))
}

/// The strongest chroma that a screen can show, found by bisection.
fn most_chroma(lightness: f64, hue: f64) -> f64 {
    let (sine, cosine) = hue.to_radians().sin_cos();
    let is_shown = |chroma: f64| {
        let parts = from_oklab(lightness, chroma * cosine, chroma * sine);
        parts.iter().all(|part| (-1e-6..=1.0 + 1e-6).contains(part))
    };
    let (mut low, mut high) = (0.0, 0.5);
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        if is_shown(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn read(text: &str) -> Colour {
        Colour::read(&json!(text)).unwrap().unwrap()
    }

    #[test]
    fn colours_are_read_in_every_form() {
        assert_eq!(read("#fff"), Colour::Rgb(255, 255, 255));
        assert_eq!(read("#0A0b0C"), Colour::Rgb(10, 11, 12));
        assert_eq!(read(""), Colour::Terminal);
        assert_eq!(read("oklch(100% 0 0)"), Colour::Rgb(255, 255, 255));
        assert_eq!(read("okhsl(0 0% 0%)"), Colour::Rgb(0, 0, 0));
        // Pure sRGB red in OKLCH.
        let Colour::Rgb(red, green, blue) = read("oklch(62.8% 0.2577 29.23)") else {
            panic!("a colour of light")
        };
        assert!(red >= 252 && green <= 6 && blue <= 6, "{red} {green} {blue}");
        assert_eq!(Colour::read(&json!("accent")), Ok(None));
        assert_eq!(
            serde_json::to_value(Colour::Rgb(1, 2, 255)).unwrap(),
            json!("#0102ff")
        );
    }

    proptest! {
        #[test]
        fn any_text_is_a_colour_a_word_or_wrong(text in ".{0,30}") {
            let _ = Colour::read(&json!(text));
        }

        #[test]
        fn every_hue_can_be_shown(hue in 0.0..360.0f64, saturation in 0.0..=100.0f64, lightness in 0.0..=100.0f64) {
            let text = format!("okhsl({hue} {saturation}% {lightness}%)");
            prop_assert!(matches!(read(&text), Colour::Rgb(..)));
        }
    }
}
