//! Numbers of things in words.

/// A number of things: `1 line`, `2 lines`.
pub fn counted(count: u64, thing: &str) -> String {
    format!("{count} {}", numbered(count, thing))
}

/// The word for that many things, without the number.
pub fn numbered(count: u64, thing: &str) -> String {
    format!("{thing}{}", if count == 1 { "" } else { "s" })
}

/// A large number in short, such as `12.3k`.
pub fn in_thousands(count: u64) -> String {
    let shortened = |unit: u64, letter: char| {
        let tenths = count * 10 / unit;
        match tenths % 10 {
            rest @ 1.. if tenths < 1_000 => format!("{}.{rest}{letter}", tenths / 10),
            _ => format!("{}{letter}", tenths / 10),
        }
    };
    match count {
        1_000_000.. => shortened(1_000_000, 'M'),
        1_000.. => shortened(1_000, 'k'),
        _ => count.to_string(),
    }
}

/// A time in milliseconds, as text.
pub fn in_ms(duration_us: u64) -> String {
    match duration_us {
        0..1_000 => format!("{duration_us} µs"),
        1_000..100_000 => format!("{:.1} ms", duration_us as f64 / 1_000.0),
        100_000..10_000_000 => format!("{} ms", duration_us / 1_000),
        _ => format!("{:.1} s", duration_us as f64 / 1_000_000.0),
    }
}
