//! Moments and time spans as humans write and read them.

use chrono::{DateTime, Local, NaiveDate, NaiveDateTime, NaiveTime, SecondsFormat, TimeZone, Utc};

/// The longest span that can be set, in seconds. A longer one is a mistake.
const MAX_SECONDS: u64 = 100 * 365 * 24 * 60 * 60;

/// Units of spans, with their seconds.
const UNITS: &[(&str, u64)] = &[
    ("s", 1),
    ("m", 60),
    ("h", 60 * 60),
    ("d", 24 * 60 * 60),
    ("w", 7 * 24 * 60 * 60),
];

/// A moment in milliseconds since 1970: `2027-01-31`, `2027-01-31 18:00` (both local time), `2027-01-31T18:00:00Z`,
/// or seconds since 1970.
pub fn parse_moment(text: &str) -> Option<u64> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return (seconds <= 100 * MAX_SECONDS).then(|| seconds * 1000);
    }
    let moment = match DateTime::parse_from_rfc3339(text) {
        Ok(moment) => moment.with_timezone(&Local),
        Err(_) => Local.from_local_datetime(&local_moment(text)?).earliest()?,
    };
    u64::try_from(moment.timestamp_millis()).ok()
}

/// The start of a period, in milliseconds since 1970: a span back from now, or a moment.
pub fn parse_since(text: &str, now_ms: u64) -> Option<u64> {
    // A plain number could be both; it is a moment only if it is long enough for one.
    let is_span = text.trim().len() < 9 || !text.trim().bytes().all(|byte| byte.is_ascii_digit());
    let span = parse_span(text).filter(|_| is_span);
    span.map_or_else(|| parse_moment(text), |span| Some(now_ms.saturating_sub(span)))
}

fn local_moment(text: &str) -> Option<NaiveDateTime> {
    let formats = [
        "%Y-%m-%d %H:%M:%S",
        "%Y-%m-%d %H:%M",
        "%Y-%m-%dT%H:%M:%S",
        "%Y-%m-%dT%H:%M",
    ];
    let exact = formats
        .iter()
        .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok());
    exact.or_else(|| {
        let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
        Some(day.and_time(NaiveTime::MIN))
    })
}

/// A span in milliseconds: `90`, `90s`, `15m`, `12h`, `7d`, `2w`; a number alone means seconds. Never 0.
pub fn parse_span(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = if unit.is_empty() { "s" } else { unit.trim_start() };
    let (_, seconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let seconds = number.parse::<u64>().ok()?.checked_mul(*seconds)?;
    (1..=MAX_SECONDS).contains(&seconds).then(|| seconds * 1000)
}

/// The current time, whatever the clock says: `Utc::now` panics before 1970.
pub fn now() -> DateTime<Utc> {
    std::time::SystemTime::now().into()
}

/// A span in the largest unit that divides it.
pub fn span_in_words(span_ms: u64) -> String {
    let seconds = span_ms / 1000;
    let fits = UNITS.iter().rev().find(|(_, unit)| seconds.is_multiple_of(*unit));
    let (name, unit) = fits.unwrap_or(&UNITS[0]);
    format!("{}{name}", seconds / unit)
}

/// A moment in local time, to the second.
pub fn moment_in_words(time_ms: u64) -> String {
    let moment = i64::try_from(time_ms)
        .ok()
        .and_then(DateTime::from_timestamp_millis);
    moment.map_or_else(
        || format!("{time_ms} ms after 1970"),
        |moment| {
            moment
                .with_timezone(&Local)
                .format("%Y-%m-%d %H:%M:%S")
                .to_string()
        },
    )
}

/// A moment in the form of RFC 3339; `None` if it is no moment of a calendar.
pub fn rfc3339(time_ms: u64) -> Option<String> {
    let moment = DateTime::from_timestamp_millis(i64::try_from(time_ms).ok()?)?;
    Some(moment.to_rfc3339_opts(SecondsFormat::Secs, true))
}

/// A moment in words: how long ago it was.
pub fn ago(time_ms: u64) -> String {
    let now = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |age| age.as_millis() as u64);
    let seconds = now.saturating_sub(time_ms) / 1000;
    match seconds {
        0..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_a_span_or_a_moment() {
        let now = 1_800_000_000_000;
        assert_eq!(parse_since("7d", now), Some(now - 604_800_000));
        assert_eq!(parse_since("90", now), Some(now - 90_000));
        assert_eq!(parse_since("1700000000", now), Some(1_700_000_000_000));
        assert_eq!(parse_since("2027-01-01T00:00:00Z", now), Some(1_798_761_600_000));
        assert_eq!(parse_since("yesterday", now), None);
        assert_eq!(parse_since(&u64::MAX.to_string(), now), None);
    }

    #[test]
    fn spans_are_read_and_written() {
        let table = [
            ("90", Some(90_000), "90s"),
            ("60s", Some(60_000), "1m"),
            ("15m", Some(900_000), "15m"),
            ("12 h", Some(43_200_000), "12h"),
            ("7d", Some(604_800_000), "1w"),
            ("10d", Some(864_000_000), "10d"),
            ("0", None, ""),
            ("", None, ""),
            ("h", None, ""),
            ("-5m", None, ""),
            ("1.5h", None, ""),
            ("7 years", None, ""),
            ("99999999999999999999", None, ""),
            ("18446744073709551615w", None, ""),
        ];
        for (text, expected, words) in table {
            assert_eq!(parse_span(text), expected, "{text:?}");
            if let Some(span) = expected {
                assert_eq!(span_in_words(span), words);
                assert_eq!(parse_span(words), expected, "{words} comes back");
            }
        }
    }

    #[test]
    fn moments_are_read() {
        assert_eq!(parse_moment("1800000000"), Some(1_800_000_000_000));
        assert_eq!(parse_moment("2027-01-15T08:00:00Z"), Some(1_800_000_000_000));
        assert_eq!(parse_moment("2027-01-15T09:00:00+01:00"), Some(1_800_000_000_000));
        for text in [
            "2027-01-31",
            "2027-01-31 18:00",
            "2027-01-31 18:00:30",
            "2027-01-31T18:00",
        ] {
            let moment = parse_moment(text).unwrap_or_else(|| panic!("{text} is a moment"));
            assert!(
                moment_in_words(moment).starts_with(&text.replace('T', " ")),
                "{text}"
            );
        }
        for text in [
            "",
            "soon",
            "2027-02-30",
            "-1",
            "2027-01-31 25:00",
            "99999999999999999999",
        ] {
            assert_eq!(parse_moment(text), None, "{text}");
        }
        assert_eq!(moment_in_words(u64::MAX), format!("{} ms after 1970", u64::MAX));
    }
}
