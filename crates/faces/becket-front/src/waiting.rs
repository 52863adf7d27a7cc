//! What the user reads while a provider does not answer: that a request is tried again, and that nothing has come yet.

/// Why a request is tried again, and when.
pub fn retry_words(reason: &str, delay_ms: u64) -> String {
    let wait = match delay_ms.div_ceil(1000) {
        0..60 => format!("{:.1} s", delay_ms as f64 / 1000.0),
        seconds => match seconds % 60 {
            0 => format!("{} min", seconds / 60),
            rest => format!("{} min {rest} s", seconds / 60),
        },
    };
    format!("{reason}; trying again in {wait}")
}

/// That a provider has sent nothing for some seconds, after it took the request or in the middle of its answer, and
/// after how many becket gives up.
pub fn silence_words((provider, has_begun): (&str, bool), seconds: u64, limit: u64) -> String {
    let what = match has_begun {
        true => "is in the middle of its answer",
        false => "accepted the request",
    };
    format!(
        "{provider} {what} and has sent nothing for {seconds} s; becket gives up after {limit} s (`agent.idle_timeout`)"
    )
}

#[cfg(test)]
mod tests {
    use super::retry_words;

    #[test]
    fn waits_are_told_in_seconds_and_minutes() {
        for (milliseconds, words) in [
            (1_500, "1.5 s"),
            (59_000, "59.0 s"),
            (60_000, "1 min"),
            (299_500, "5 min"),
            (61_001, "1 min 2 s"),
        ] {
            let told = retry_words("overloaded", milliseconds);
            assert_eq!(told, format!("overloaded; trying again in {words}"));
        }
    }
}
