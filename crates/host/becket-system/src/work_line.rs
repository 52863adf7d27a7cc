//! The line that shows a run without a screen at work: on standard error, overwritten while time passes, and gone
//! before anything else is written there.

use std::io::Write;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use becket_screen::{TextRow, Working, clip, in_words};

use crate::screen::{Line, OpenScreen, ScreenState, terminal_width};
use crate::words::in_thousands;

/// How often the line is written.
const PACE: Duration = Duration::from_millis(100);

/// What is over sooner needs no line. Also how long the line stays away after something else was written.
const PAUSE: Duration = Duration::from_millis(500);

/// How wide a terminal is that does not know its own width.
const USUAL_WIDTH: usize = 80;

/// Shows the line until it is dropped.
#[must_use]
pub struct WorkLine(OpenScreen);

/// Keeps the line away until it is dropped.
#[must_use]
pub struct LinePause(OpenScreen);

impl OpenScreen {
    /// Shows a line about the work on standard error, which must be a terminal.
    pub fn begin_line(&self) -> WorkLine {
        let now = Instant::now();
        self.held().line = Some(Line {
            since: now,
            not_before: now + PAUSE,
            is_shown: false,
            pauses: 0,
            paused_at: now,
        });
        let state = Arc::downgrade(&self.0);
        // A thread of its own: the work itself may not let anything else run for a while.
        std::thread::spawn(move || keep_written(&state));
        WorkLine(self.clone())
    }

    /// Clears the line, so that something else can be written.
    pub fn clear_line(&self) {
        if let Some(line) = &mut self.held().line {
            line.clear();
        }
    }

    /// Keeps the line away, for a question or another program at the terminal.
    pub fn pause_line(&self) -> LinePause {
        if let Some(line) = &mut self.held().line {
            line.clear();
            if line.pauses == 0 {
                line.paused_at = Instant::now();
            }
            line.pauses += 1;
        }
        LinePause(self.clone())
    }
}

impl Drop for WorkLine {
    fn drop(&mut self) {
        if let Some(mut line) = self.0.held().line.take() {
            line.clear();
        }
    }
}

impl Drop for LinePause {
    fn drop(&mut self) {
        if let Some(line) = &mut self.0.held().line {
            line.pauses = line.pauses.saturating_sub(1);
            if line.pauses == 0 {
                line.since += line.paused_at.elapsed();
            }
        }
    }
}

impl Line {
    fn clear(&mut self) {
        self.not_before = Instant::now() + PAUSE;
        if std::mem::take(&mut self.is_shown) {
            write_over("");
        }
    }
}

fn keep_written(state: &Weak<std::sync::Mutex<ScreenState>>) {
    loop {
        std::thread::sleep(PACE);
        let Some(state) = state.upgrade().map(OpenScreen) else {
            return;
        };
        let mut state = state.held();
        let ScreenState { work, line, .. } = &mut *state;
        let Some(line) = line else { return };
        if line.pauses > 0 || Instant::now() < line.not_before {
            continue;
        }
        line.is_shown = true;
        let text = text_of(line.since.elapsed(), work.tokens, work.last_output.as_deref());
        let width = terminal_width().unwrap_or(USUAL_WIDTH);
        write_over(&clip(&text, width.saturating_sub(1)));
    }
}

fn text_of(elapsed: Duration, tokens: u64, last_output: Option<&str>) -> String {
    let Working { frames, interval, .. } = Working::new("");
    let frame = elapsed.as_millis() / interval.as_millis().max(1);
    let mark = &frames[frame as usize % frames.len()];
    let tokens = match tokens {
        0 => String::new(),
        tokens => format!(", {} tokens", in_thousands(tokens)),
    };
    let last = last_output.map_or_else(String::new, |last| format!("  {}", TextRow::read(last).text()));
    format!("{mark} {}{tokens}{last}", in_words(elapsed))
}

fn write_over(line: &str) {
    // A terminal that has gone away needs no line. Written at once, so that nothing comes in between.
    let _ = std::io::stderr().write_all(format!("\r\x1b[K{line}").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_time_tokens_and_the_last_output() {
        let time = Duration::from_millis(65_080);
        assert_eq!(text_of(time, 0, None), "⠸ 1 min 5 s");
        assert_eq!(
            text_of(Duration::from_secs(8), 1_234, Some("\x1b[31mred\x1b[2J done")),
            "⠋ 8 s, 1.2k tokens  red done"
        );
    }
}
