//! Times as the tables hold them: in milliseconds since 1970.

use std::time::{SystemTime, UNIX_EPOCH};

/// The current time.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A time that is given in microseconds.
pub(crate) fn milliseconds(time_us: u64) -> i64 {
    i64::try_from(time_us / 1000).unwrap_or(i64::MAX)
}
