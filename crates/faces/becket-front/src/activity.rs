//! What a run does right now: the last lines of running tools, and the tokens that the model writes. Tools write their
//! output piece by piece; what is shown here goes away when the call is over, and its result is shown instead.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use becket_events::Usage;
use becket_screen::Slot;
use becket_system::{OpenScreen, counted};

use super::alert::Alert;
use super::sgr::tool_line;
use super::style::Style;

/// How many lines of each running tool are shown.
const TAIL_LINES: usize = 5;

/// How many bytes of its output are kept for that.
const TAIL_BYTES: usize = 16 * 1024;

/// About how many letters make a token, while only the letters are known.
const LETTERS_PER_TOKEN: u64 = 4;

/// What a run does right now.
#[derive(Default)]
pub struct Activity {
    screen: OpenScreen,
    state: Mutex<Shown>,
}

#[derive(Default)]
struct Shown {
    tails: Vec<Tail>,
    /// The tokens of complete answers since work began.
    tokens: u64,
    /// The letters of the answer that streams.
    letters: u64,
    /// What each model has used.
    spent: BTreeMap<String, Usage>,
    /// How long questions have waited for the user since work began.
    asked_for: Duration,
    /// How the user is told of a question that waits.
    alert: Option<Alert>,
}

/// The end of the output of a running call.
struct Tail {
    /// The call's id.
    call: String,
    text: String,
    /// How many lines before the text are not kept.
    forgotten: usize,
}

impl Tail {
    fn add(&mut self, text: &str) {
        self.text.push_str(text);
        // Now and then, so that a long output does not cost more the longer it gets.
        if self.text.len() > 2 * TAIL_BYTES {
            let start = self.text.ceil_char_boundary(self.text.len() - TAIL_BYTES);
            self.forgotten += self.text.drain(..start).filter(|letter| *letter == '\n').count();
        }
    }

    /// The last lines as they are shown, below the number of those before them.
    fn lines(&self, style: Style) -> Vec<String> {
        let last = last_lines(&self.text);
        let hidden = self.forgotten + self.text.trim_end().lines().count() - last.len();
        let hidden =
            (hidden > 0).then(|| style.dim(&format!("… {}", counted(hidden as u64, "earlier line"))));
        let last = last
            .into_iter()
            .map(|line| tool_line(line, style, |line| style.dim(line)));
        hidden
            .into_iter()
            .chain(last)
            .map(|line| format!("  {line}"))
            .collect()
    }
}

impl Activity {
    /// The activity that is shown on this screen, while it is open.
    pub fn on(screen: &OpenScreen) -> Self {
        Self {
            screen: screen.clone(),
            state: Mutex::default(),
        }
    }

    /// Adds output of a running call.
    pub fn add_output(&self, call: &str, text: &str, style: Style) {
        let mut state = self.state();
        let place = state.tails.iter().position(|tail| tail.call == call);
        let place = place.unwrap_or_else(|| {
            state.tails.push(Tail {
                call: call.to_owned(),
                text: String::new(),
                forgotten: 0,
            });
            state.tails.len() - 1
        });
        state.tails[place].add(text);
        self.show(&state, style);
    }

    /// Forgets the output of a call that is over.
    pub fn end_output(&self, call: &str, style: Style) {
        let mut state = self.state();
        let before = state.tails.len();
        state.tails.retain(|tail| tail.call != call);
        if state.tails.len() != before {
            self.show(&state, style);
        }
    }

    fn show(&self, state: &Shown, style: Style) {
        if let Some(screen) = self.screen.get() {
            let lines = state.tails.iter().flat_map(|tail| tail.lines(style));
            let lines: Vec<String> = lines.collect();
            screen.set(Slot::Running, (!lines.is_empty()).then_some(lines));
        } else {
            let last = state.tails.last().and_then(|tail| last_lines(&tail.text).pop());
            let last = last.map(|line| tool_line(line, Style::plain(), ToOwned::to_owned));
            self.screen.set_work(|work| work.last_output = last);
        }
    }

    /// Begins to count anew.
    pub fn begin(&self) {
        let mut state = self.state();
        (state.tokens, state.letters) = (0, 0);
        state.asked_for = Duration::ZERO;
        self.show_tokens(&state);
    }

    /// Sets how the user is told of a question that waits.
    pub fn alert_with(&self, alert: Option<Alert>) {
        self.state().alert = alert;
    }

    /// Waits for the user's answer, and alerts them once if that takes long.
    pub async fn asking<T>(&self, answer: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let alert = self.state().alert;
        let bell = async {
            if let Some(alert) = alert {
                tokio::time::sleep(alert.after).await;
                if let Some(screen) = self.screen.get() {
                    alert.give(&screen, "a question waits for your answer");
                }
            }
            std::future::pending::<()>().await;
        };
        let answer = tokio::select! {
            answer = answer => answer,
            () = bell => unreachable!("it waits for ever"),
        };
        self.state().asked_for += begun.elapsed();
        answer
    }

    /// How long questions have waited for the user since work began.
    pub fn asked_for(&self) -> Duration {
        self.state().asked_for
    }

    /// Adds letters of an answer that streams.
    pub fn add_letters(&self, text: &str) {
        let mut state = self.state();
        state.letters += text.chars().count() as u64;
        self.show_tokens(&state);
    }

    /// Adds a complete answer.
    pub fn add_answer(&self, model: &str, usage: Usage) {
        let mut state = self.state();
        state.letters = 0;
        state.tokens += usage.output_tokens;
        let spent = state.spent.entry(model.to_owned()).or_default();
        *spent = spent.plus(usage);
        self.show_tokens(&state);
    }

    fn show_tokens(&self, state: &Shown) {
        let tokens = state.tokens + state.letters / LETTERS_PER_TOKEN;
        self.screen.set_work(|work| work.tokens = tokens);
    }

    /// What each model has used in complete answers.
    pub fn spent(&self) -> BTreeMap<String, Usage> {
        self.state().spent.clone()
    }

    /// Another conversation begins.
    pub fn forget_spent(&self) {
        self.state().spent.clear();
    }

    fn state(&self) -> MutexGuard<'_, Shown> {
        self.state
            .lock()
            .expect("no panic happens while the activity is held")
    }
}

/// The last lines of an output, without those that are empty at its end.
fn last_lines(tail: &str) -> Vec<&str> {
    let lines: Vec<&str> = tail.trim_end().lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_an_output_is_its_last_lines() {
        assert_eq!(last_lines("a\nb\n\n"), ["a", "b"]);
        assert_eq!(last_lines("1\n2\n3\n4\n5\n6"), ["2", "3", "4", "5", "6"]);
        assert!(last_lines("").is_empty());
    }

    #[test]
    fn lines_before_the_last_ones_are_counted_even_if_they_are_forgotten() {
        let activity = Activity::default();
        for number in 1..=9_000 {
            activity.add_output("call", &format!("line {number}\n"), Style::plain());
        }
        let lines = activity.state().tails[0].lines(Style::plain());
        assert_eq!(lines[0], "  … 8995 earlier lines");
        assert_eq!((lines.len(), lines[5].as_str()), (6, "  line 9000"));
        activity.add_output("short", "a\nb\n", Style::plain());
        assert_eq!(activity.state().tails[1].lines(Style::plain()), ["  a", "  b"]);
    }

    #[test]
    fn an_endless_output_is_not_kept() {
        let activity = Activity::default();
        for _ in 0..100 {
            activity.add_output("call", &"ä".repeat(2_000), Style::plain());
        }
        assert!(activity.state().tails[0].text.len() <= 2 * TAIL_BYTES);
        activity.end_output("call", Style::plain());
        assert!(activity.state().tails.is_empty());
    }
}
