//! Dialogs: a question in the editor's place, with an answer that a caller waits for.
//!
//! A second dialog waits for the first: what is shown on top would get an answer that was meant for another. A key that
//! was pressed before a dialog could be seen is not for it, and keys go to it only when nothing was typed for half a
//! second. A question that the user does not expect gets no key in the first half second: a key that is on its way when
//! it appears would answer what nobody has read. To drop the future that waits for an answer is to take the question
//! back; there is no other way to abort one.
//!
//! A message for which the screen has no room is printed above the dialog. Whoever sees only its end would answer a
//! question that they have not read. Of an excerpt only the beginning is shown, as much as there is room for; a key
//! prints all of it above the dialog. So the title is always seen.

use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::component::{Area, Taken};
use crate::editor::{Action, Editor, KeyEffect};
use crate::keys::Key;
use crate::list::{Choice, Entry};
use crate::live::Size;
use crate::text::TextRow;

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// The user cancelled the question.
    Cancelled,
    TimedOut,
    /// The screen was closed.
    Closed,
}

/// An answer before it is given its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DialogAnswer {
    Chosen(usize),
    Confirmed(bool),
    Text(String),
}

/// A question to the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Question {
    pub title: String,
    /// The text below the title.
    pub message: String,
    /// A longer text below the message.
    pub excerpt: Option<Excerpt>,
    /// How long the user may take. The remaining time is shown.
    pub timeout: Option<Duration>,
    /// Whether it may appear while the user types. No key answers it before there was time to see it.
    pub is_unexpected: bool,
}

/// A longer text in a question, of which the beginning is shown. Ctrl+O shows all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// The lines, with styles.
    pub lines: Vec<String>,
    /// How many rows are shown at most.
    pub most: usize,
}

impl Question {
    /// A question that waits for an answer.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            ..Self::default()
        }
    }

    /// This question with a message.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// This question with an excerpt of these lines, of which at most so many rows are shown.
    pub fn excerpt(mut self, lines: Vec<String>, most: usize) -> Self {
        self.excerpt = (!lines.is_empty()).then_some(Excerpt { lines, most });
        self
    }

    /// This question with a timeout, after which there is no answer.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// This question as one that may appear while the user types.
    pub fn unexpected(mut self) -> Self {
        self.is_unexpected = true;
        self
    }
}

enum Kind {
    Select(Select),
    /// Yes or no; the flag says whether yes is chosen.
    Confirm(bool),
    /// A text of one line or several, and a hint about the keys.
    Text(Box<Editor>, &'static str),
}

struct Select {
    options: Vec<Entry>,
    filter: String,
    choice: Choice,
}

impl Select {
    fn has_letters(&self) -> bool {
        self.options.iter().any(|option| option.letter.is_some())
    }

    /// The option that a typed letter selects.
    fn lettered(&self, text: &str) -> Option<usize> {
        let meant = |option: &Entry| {
            let letter = option.letter.map(|letter| letter.to_lowercase().to_string());
            letter.is_some_and(|letter| letter == text.to_lowercase())
        };
        self.options.iter().position(meant)
    }

    /// The options that contain all words of the filter, with their numbers.
    fn left(&self) -> Vec<(usize, &Entry)> {
        let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
        let fits = |(_, entry): &(usize, &Entry)| {
            let text = format!("{} {}", entry.label, entry.description).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        self.options.iter().enumerate().filter(fits).collect()
    }
}

/// How many rows a dialog needs besides its message.
const REST: usize = 12;

/// How many rows a dialog with an excerpt needs besides its title, its message and the excerpt: its own, and those
/// around it, such as a status line.
const AROUND_EXCERPT: usize = 14;

/// How long an unexpected question is on the screen before keys answer it.
const SEEING: Duration = Duration::from_millis(500);

/// The help of a dialog that gets no keys yet.
pub(crate) const NOT_YET: &str = "what you type goes into your message; pause to answer";

/// The longest remaining time that is shown as a countdown.
const COUNTED: Duration = Duration::from_secs(10 * 60);

/// A dialog that is shown, or waits until those before it are answered.
pub(crate) struct Dialog {
    question: Question,
    kind: Kind,
    deadline: Option<Instant>,
    answer: Option<oneshot::Sender<Result<DialogAnswer, Unanswered>>>,
    /// A text to be printed above the dialog.
    printed: Option<String>,
    /// Whether the message has no room on the screen as it is now.
    is_cut: bool,
    /// When the dialog was first shown; earlier keys were not meant for it.
    seen_at: Option<Instant>,
}

pub(crate) type Waiting = oneshot::Receiver<Result<DialogAnswer, Unanswered>>;

impl Dialog {
    fn new(question: Question, kind: Kind) -> (Self, Waiting) {
        let (answer, waiting) = oneshot::channel();
        let dialog = Self {
            deadline: question.timeout.map(|timeout| Instant::now() + timeout),
            question,
            kind,
            answer: Some(answer),
            printed: None,
            is_cut: false,
            seen_at: None,
        };
        (dialog, waiting)
    }

    pub fn select(question: Question, options: Vec<Entry>) -> (Self, Waiting) {
        let select = Select {
            options,
            filter: String::new(),
            choice: Choice::default(),
        };
        Self::new(question, Kind::Select(select))
    }

    pub fn confirm(question: Question, preset: bool) -> (Self, Waiting) {
        Self::new(question, Kind::Confirm(preset))
    }

    pub fn input(question: Question, placeholder: &str) -> (Self, Waiting) {
        let mut editor = Editor::default();
        editor.look.prompt = "> ".into();
        editor.look.placeholder = placeholder.to_string();
        for name in ["shift+enter", "alt+enter", "ctrl+enter", "ctrl+j"] {
            editor.bind(name, Some(Action::Submit));
        }
        Self::new(
            question,
            Kind::Text(Box::new(editor), "Enter accepts, Escape cancels"),
        )
    }

    pub fn editor(question: Question, text: &str) -> (Self, Waiting) {
        let mut editor = Editor::default();
        editor.look.prompt = "> ".into();
        editor.look.continuation = "  ".into();
        editor.set_text(text);
        let help = "Enter accepts, Ctrl+J starts a new line, Escape cancels";
        Self::new(question, Kind::Text(Box::new(editor), help))
    }

    /// Removes a message for which the screen has no room: it is better read elsewhere than in part.
    pub fn take_long_message(&mut self, size: Size) -> Option<String> {
        let rows = broken(&self.question.message, size.columns).len();
        let is_long = !self.question.message.is_empty() && rows > size.rows.saturating_sub(REST);
        is_long.then(|| {
            format!(
                "{}\n{}",
                self.question.title,
                std::mem::take(&mut self.question.message)
            )
        })
    }

    /// Takes the text that is to be printed above the dialog, if there is one.
    pub fn take_printed(&mut self) -> Option<String> {
        self.printed.take()
    }

    /// The dialog's text field, if it has one.
    pub fn text_field(&mut self) -> Option<&mut Editor> {
        match &mut self.kind {
            Kind::Text(editor, _) => Some(editor),
            _ => None,
        }
    }

    /// Notes that the dialog is shown now.
    pub fn see(&mut self, now: Instant) {
        self.seen_at.get_or_insert(now);
    }

    /// Lets the dialog have been shown for longer.
    #[cfg(test)]
    pub fn see_earlier(&mut self, by: Duration) {
        self.seen_at = self.seen_at.map(|at| at - by);
    }

    /// From when on keys are for the dialog; `None` if it was never shown.
    pub fn answers_from(&self) -> Option<Instant> {
        let seeing = match self.question.is_unexpected {
            true => SEEING,
            false => Duration::ZERO,
        };
        self.seen_at.map(|at| at + seeing)
    }

    /// Whether the dialog is finished.
    pub fn is_over(&self) -> bool {
        self.answer.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    /// Ends the dialog if its time is over.
    pub fn look_at_clock(&mut self, now: Instant) {
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            self.end(Err(Unanswered::TimedOut));
        }
    }

    /// When the shown remaining time changes next.
    pub fn changes_at(&self, now: Instant) -> Option<Instant> {
        let left = self.deadline?.saturating_duration_since(now);
        if let Some(long) = left.checked_sub(COUNTED) {
            return Some(now + long.max(Duration::from_nanos(1)));
        }
        Some(now + Duration::from_nanos(u64::from(left.subsec_nanos()).max(1)))
    }

    pub fn end(&mut self, answer: Result<DialogAnswer, Unanswered>) {
        if let Some(waiting) = self.answer.take() {
            let _ = waiting.send(answer);
        }
    }

    pub fn input_key(&mut self, key: &Key) -> Taken {
        let shows_all = self.question.excerpt.is_some() || self.is_cut;
        if shows_all && key.is("ctrl+o") {
            self.printed = Some(self.whole());
            return Taken::Yes;
        }
        let answer = match &mut self.kind {
            Kind::Select(select) => select_key(select, key),
            Kind::Confirm(yes) => confirm_key(yes, key),
            Kind::Text(editor, _) => match editor.key(key) {
                KeyEffect::Submitted(text) => Some(DialogAnswer::Text(text)),
                KeyEffect::Taken => None,
                KeyEffect::Ignored if key.is("escape") || key.is("ctrl+c") => {
                    self.end(Err(Unanswered::Cancelled));
                    return Taken::Yes;
                }
                // Such as the key for an external editor.
                KeyEffect::Ignored => return Taken::No,
            },
        };
        if let Some(answer) = answer {
            self.end(Ok(answer));
        } else if !matches!(self.kind, Kind::Text(..)) && (key.is("escape") || key.is("ctrl+c")) {
            self.end(Err(Unanswered::Cancelled));
        }
        Taken::Yes
    }

    /// All that is asked: the title, a message of which a part is hidden, and the excerpt.
    fn whole(&self) -> String {
        let hidden = self.is_cut.then_some(self.question.message.as_str());
        let excerpt = self.question.excerpt.iter().flat_map(|excerpt| &excerpt.lines);
        let lines = hidden.into_iter().chain(excerpt.map(String::as_str));
        let title = std::iter::once(self.question.title.as_str());
        title.chain(lines).collect::<Vec<_>>().join("\n")
    }

    /// The message in rows. One that had room before the terminal became smaller is cut.
    fn message_rows(&mut self, area: Area) -> Vec<String> {
        if self.question.message.is_empty() {
            return Vec::new();
        }
        let mut rows = broken(&self.question.message, area.width);
        let room = area.height.saturating_sub(REST).max(1);
        self.is_cut = rows.len() > room;
        if self.is_cut {
            rows.truncate(room - 1);
            rows.push("\x1b[2m… Ctrl+O shows all\x1b[0m".into());
        }
        rows
    }

    /// The dialog's lines. The remark stands in the place of its help.
    pub fn render(&mut self, area: Area, remark: Option<&str>) -> Vec<String> {
        let now = Instant::now();
        let left = self
            .deadline
            .map(|deadline| deadline.saturating_duration_since(now));
        let left = left.filter(|left| *left < COUNTED);
        let left = left.map(|left| format!(" \x1b[2m({}s)\x1b[0m", left.as_millis().div_ceil(1000)));
        let rule = format!("\x1b[2m{}\x1b[0m", "─".repeat(area.width));
        let title = format!(
            "\x1b[1m{}\x1b[0m{}",
            self.question.title,
            left.unwrap_or_default()
        );
        let mut lines = vec![rule.clone()];
        lines.extend(broken(&title, area.width));
        lines.extend(self.message_rows(area));
        if let Some(excerpt) = &self.question.excerpt {
            let room = area.height.saturating_sub(AROUND_EXCERPT + lines.len() - 2);
            lines.extend(excerpt.rows(area.width, room));
        }
        let help = match &mut self.kind {
            Kind::Select(select) => {
                let left = select.left();
                let lettered = select.has_letters();
                let numbered = |(place, (_, entry)): (usize, &(usize, &Entry))| Entry {
                    label: match lettered {
                        true => entry.label.clone(),
                        false => format!("{}. {}", place + 1, entry.label),
                    },
                    description: entry.description.clone(),
                    letter: None,
                };
                let entries: Vec<Entry> = left.iter().enumerate().map(numbered).collect();
                if !select.filter.is_empty() {
                    lines.push(format!("/ {}", select.filter));
                }
                lines.extend(select.choice.rows(&entries, area.width));
                if entries.is_empty() {
                    lines.push("  nothing matches; Backspace removes letters".into());
                }
                match lettered {
                    true => "a letter, or ↑↓ and Enter; Escape cancels",
                    false => "↑↓ choose, Enter accepts, Escape cancels; type to filter",
                }
            }
            Kind::Confirm(yes) => {
                let mark = |chosen| if chosen { "→ " } else { "  " };
                lines.push(format!("{}Yes", mark(*yes)));
                lines.push(format!("{}No", mark(!*yes)));
                "y or n, or ↑↓ and Enter; Escape cancels"
            }
            Kind::Text(editor, help) => {
                lines.extend(editor.render(area));
                help
            }
        };
        lines.push(format!("\x1b[2m{}\x1b[0m", remark.unwrap_or(help)));
        lines.push(rule);
        lines
    }
}

impl Excerpt {
    /// The rows for which there is room, and a row that says how many lines are not shown to their end.
    fn rows(&self, width: usize, room: usize) -> Vec<String> {
        let most = self.most.min(room);
        let mut rows: Vec<String> = Vec::new();
        let mut whole = 0;
        for line in &self.lines {
            let of_line = broken(line, width);
            let fits = rows.len() + of_line.len() <= most;
            rows.extend(of_line.into_iter().take(most - rows.len()));
            if !fits {
                break;
            }
            whole += 1;
        }
        match self.lines.len() - whole {
            0 => {}
            1 => rows.push("\x1b[2m… 1 more line; Ctrl+O shows all\x1b[0m".into()),
            more => rows.push(format!("\x1b[2m… {more} more lines; Ctrl+O shows all\x1b[0m")),
        }
        rows
    }
}

impl Drop for Dialog {
    fn drop(&mut self) {
        self.end(Err(Unanswered::Closed));
    }
}

fn select_key(select: &mut Select, key: &Key) -> Option<DialogAnswer> {
    let left: Vec<usize> = select.left().iter().map(|(number, _)| *number).collect();
    if select.choice.follow(&key.name, left.len()) {
        return None;
    }
    match (key.name.as_str(), &key.text) {
        ("enter", _) => {
            return left
                .get(select.choice.at)
                .map(|number| DialogAnswer::Chosen(*number));
        }
        ("backspace", _) => {
            select.filter.pop();
        }
        // A number selects its option; in a filter it is text like any other.
        (_, Some(text)) if select.has_letters() => return select.lettered(text).map(DialogAnswer::Chosen),
        (name, Some(_)) if select.filter.is_empty() && name.parse::<usize>().is_ok_and(|n| n > 0) => {
            let number: usize = name.parse().unwrap_or(1);
            if number <= left.len() {
                select.choice.at = number - 1;
            }
            return None;
        }
        (_, Some(text)) => select.filter.push_str(text),
        _ => return None,
    }
    select.choice = Choice::default();
    None
}

fn confirm_key(yes: &mut bool, key: &Key) -> Option<DialogAnswer> {
    match key.name.as_str() {
        "y" | "shift+y" => return Some(DialogAnswer::Confirmed(true)),
        "n" | "shift+n" => return Some(DialogAnswer::Confirmed(false)),
        "enter" => return Some(DialogAnswer::Confirmed(*yes)),
        "up" | "down" | "left" | "right" | "tab" => *yes = !*yes,
        _ => {}
    }
    None
}

/// A text broken between its words into lines that fit.
fn broken(text: &str, width: usize) -> Vec<String> {
    text.split('\n')
        .flat_map(|line| TextRow::read(line).wrapped_hanging(width))
        .map(|row| row.encode(crate::text::Colours::All))
        .collect()
}
