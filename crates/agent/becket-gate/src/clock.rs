//! The time of day, as records and files state it.

use std::time::SystemTime;

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    now_us() / 1000
}

/// Microseconds since 1970.
pub fn now_us() -> u64 {
    SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |age| age.as_micros() as u64)
}
