//! Durations as Go writes them.

use std::time::Duration;

/// Reads a duration such as `1h30m`.
pub(super) fn duration(text: &str) -> Option<Duration> {
    const UNITS: [(&str, f64); 7] = [
        ("ms", 1e-3),
        ("us", 1e-6),
        ("µs", 1e-6),
        ("ns", 1e-9),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3600.0),
    ];
    let mut rest = text.trim();
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let (unit, length) = UNITS.iter().find(|(unit, _)| rest.starts_with(unit))?;
        rest = &rest[unit.len()..];
        seconds += number * length;
    }
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        for (text, seconds) in [("10m", 600.0), ("1h30m", 5400.0), ("1.5s", 1.5), ("250ms", 0.25)] {
            assert_eq!(duration(text), Some(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["10", "m", "1x", "-1s", "1 h"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }
}
