//! Measuring: medians, because a machine that does something else for a moment must not count.

use std::time::{Duration, Instant};

/// Times that were measured.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<Duration>);

impl Samples {
    /// Adds a time.
    pub fn add(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// The time in the middle; zero when there is none.
    pub fn median(&self) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    }

    /// The time that this part of a hundred does not exceed.
    pub fn percentile(&self, part: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = (sorted.len() * part / 100).min(sorted.len().saturating_sub(1));
        sorted.get(at).copied().unwrap_or_default()
    }

    /// The longest time.
    pub fn longest(&self) -> Duration {
        self.0.iter().copied().max().unwrap_or_default()
    }
}

impl FromIterator<Duration> for Samples {
    fn from_iter<I: IntoIterator<Item = Duration>>(times: I) -> Self {
        Self(times.into_iter().collect())
    }
}

/// Runs something, and returns its value and how long it took.
pub fn time<T>(act: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    let value = act();
    (value, started.elapsed())
}

/// The ratio of two durations.
pub fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// A runtime as the becket program uses it: one thread.
pub fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_round_does_not_move_the_median() {
        let samples: Samples = [9, 1, 5, 4, 900].map(Duration::from_millis).into_iter().collect();
        assert_eq!(samples.median(), Duration::from_millis(5));
        assert_eq!(samples.longest(), Duration::from_millis(900));
        assert_eq!(Samples::default().median(), Duration::ZERO);
    }
}
