//! Moments as users write them.

use becket_system::CliError;

/// Parses the moment of `--since`.
pub fn since(text: &str) -> Result<u64, CliError> {
    let now = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |age| age.as_millis() as u64);
    becket_system::moments::parse_since(text, now).ok_or_else(|| {
        CliError::usage(format!("`{text}` is neither a date nor a span"))
            .hint("write a span such as 12h or 7d, or a day such as 2027-01-31")
    })
}
