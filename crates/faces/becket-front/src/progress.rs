//! Progress of something that takes a while, in a line on standard error that is overwritten.

use std::io::Write;
use std::time::{Duration, Instant};

use becket_system::Surroundings;

/// How often the line is written.
const PACE: Duration = Duration::from_millis(100);

/// A progress line. Without a terminal nothing is written; the line is cleared on drop.
pub struct Progress {
    what: &'static str,
    /// When the line is written again; `None` without a terminal.
    next: Option<Instant>,
    is_shown: bool,
}

impl Progress {
    /// A progress line that counts things of this name.
    pub fn of(what: &'static str, surroundings: &Surroundings) -> Self {
        Self {
            next: surroundings.stderr_is_terminal.then(Instant::now),
            ..Self::hidden(what)
        }
    }

    /// A progress line that nobody looks at.
    pub fn hidden(what: &'static str) -> Self {
        Self {
            what,
            next: None,
            is_shown: false,
        }
    }

    /// Shows how many are done, of how many.
    pub fn at(&mut self, done: u64, total: u64) {
        let now = Instant::now();
        if self.next.is_some_and(|next| now >= next) {
            self.next = Some(now + PACE);
            self.is_shown = true;
            write_over(&bar(done, total, self.what));
        }
    }

    /// Shows at once how many are done, of how many: each of them may take long.
    pub fn step(&mut self, done: u64, total: u64) {
        if self.next.is_some() {
            self.is_shown = true;
            write_over(&bar(done, total, self.what));
        }
    }

    /// Clears the line, so that something else can be written.
    pub fn clear(&mut self) {
        if self.is_shown {
            self.is_shown = false;
            write_over("");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Overwrites the current line on standard error.
pub fn write_over(line: &str) {
    // A terminal that has gone away needs no line.
    let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
}

/// A text such as `12 of 48 files`, with a bar before it.
pub fn bar(done: u64, total: u64, what: &str) -> String {
    const WIDTH: u64 = 30;
    let full = done
        .saturating_mul(WIDTH)
        .checked_div(total)
        .unwrap_or(0)
        .min(WIDTH);
    let part = |letter: &str, count: u64| letter.repeat(count as usize);
    format!(
        "{}{} {done} of {total} {what}",
        part("█", full),
        part("░", WIDTH - full)
    )
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn progress_becomes_a_bar() {
        let half = format!("{}{} 5 of 10 files", "█".repeat(15), "░".repeat(15));
        assert_eq!(bar(5, 10, "files"), half);
        assert!(bar(11, 10, "files").starts_with(&"█".repeat(30)));
        assert!(bar(0, 0, "files").starts_with(&"░".repeat(30)));
    }
}
