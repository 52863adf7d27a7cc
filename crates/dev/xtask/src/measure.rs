//! Sizes and times for people.

use std::path::Path;
use std::time::Duration;

use crate::problem::Problem;

/// The processor time of all programs that this one has started and waited for.
pub fn children_time() -> Result<Duration, Problem> {
    /// Linux counts in hundredths of a second, on every machine.
    const TICKS_PER_SECOND: u64 = 100;
    let path = Path::new("/proc/self/stat");
    let stat =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    // The name of the program may contain spaces; the fields after it do not. These are the 16th and 17th of all.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks: u64 = fields
        .split_whitespace()
        .skip(13)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Ok(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

/// A number of bytes for people.
pub fn megabytes(bytes: u64) -> String {
    format!("{}.{:02} MB", bytes / 1_000_000, bytes % 1_000_000 / 10_000)
}
