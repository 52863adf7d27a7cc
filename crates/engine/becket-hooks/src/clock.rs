//! The system clock, which may say anything, also a moment before 1970.

use std::time::SystemTime;

use uuid::{Timestamp, Uuid};

/// Microseconds since 1970; 0 before it.
pub(crate) fn now_us() -> u64 {
    SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |age| age.as_micros() as u64)
}

/// A unique id. Later ids sort behind earlier ones, as long as the clock is right.
pub fn new_uuid() -> Uuid {
    match is_set() {
        true => Uuid::now_v7(),
        // The bits that hold no time are random.
        false => Uuid::new_v7(Timestamp::from_unix_time(0, 0, 0, 0)),
    }
}

/// Whether the clock says that it is after 1970.
fn is_set() -> bool {
    SystemTime::UNIX_EPOCH.elapsed().is_ok()
}
