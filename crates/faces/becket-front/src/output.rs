//! Where a run is shown: on the screen while one is open, otherwise on the standard streams. A reader that has closed
//! its end is no error; any other lost output is.
//!
//! In a pipe the answer is passed on as the model wrote it; on a terminal it is made harmless first. An answer that
//! could not be written ends the program with 1, though the run is finished and stored.

use std::io::{ErrorKind, Write};
use std::sync::{Mutex, MutexGuard, OnceLock};

use becket_host::{Drawing, Whose};
use becket_screen::{Slot, wrapped};
use becket_system::{CliError, Detail, LinePause, OpenScreen, counted, harmless_indented};

use super::activity::Activity;
use super::style::Style;
use super::todos::{TodoRows, Todos};

/// The prompt in front of what the user types.
pub const PROMPT: &str = "becket> ";

/// How many lines of what the user said are shown.
const SAID_LINES: usize = 20;

/// The name of the widget with what is to be done.
const TODOS: &str = "becket todos";

/// Writes answers, and remembers whether output was lost. The run goes on either way: what was begun is finished and
/// stored.
#[derive(Default)]
pub struct Output {
    trouble: Mutex<Option<String>>,
    drawing: OnceLock<Box<dyn Drawing>>,
    screen: OpenScreen,
    activity: Activity,
    /// The user's last input, which is on the screen already.
    echoed: Mutex<Option<String>>,
    /// The last tool output of which only a part was shown.
    cut: Mutex<Option<String>>,
    /// Whether something else writes to standard output.
    is_muted: bool,
    /// The last answer, where only that one is written, when the run is over.
    last_answer: Option<Mutex<String>>,
}

impl Output {
    /// An output that writes nothing, because something else writes to standard output.
    pub fn muted() -> Self {
        Self {
            is_muted: true,
            ..Self::default()
        }
    }

    /// An output on this screen, while it is open.
    pub fn on(screen: &OpenScreen) -> Self {
        Self {
            screen: screen.clone(),
            activity: Activity::on(screen),
            ..Self::default()
        }
    }

    /// Writes only the last answer, when it is asked for.
    pub fn with_last_answer_only(mut self) -> Self {
        self.last_answer = Some(Mutex::default());
        self
    }

    /// Where the last answer is kept, if only that one is written.
    pub fn last_answer(&self) -> Option<MutexGuard<'_, String>> {
        let last = self.last_answer.as_ref()?;
        Some(last.lock().expect("no panic happens while it is held"))
    }

    /// Writes the last answer, if only that one is written.
    pub fn write_last_answer(&self) {
        let last = self.last_answer().map(|mut last| std::mem::take(&mut *last));
        if let Some(last) = last.filter(|last| !last.is_empty()) {
            self.write(&last);
        }
    }

    /// Sets the drawing of extensions.
    pub fn drawn_by(&self, drawing: Box<dyn Drawing>) {
        let _ = self.drawing.set(drawing);
    }

    /// The drawing of extensions, while there is a screen.
    pub fn drawing(&self) -> Option<&dyn Drawing> {
        let drawing = self.drawing.get().filter(|_| self.screen.get().is_some());
        drawing.map(AsRef::as_ref)
    }

    /// What the run does right now.
    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Another conversation begins: what it has used, and what is to be done in it.
    pub fn forget_conversation(&self) {
        self.activity.forget_spent();
        if let Some(screen) = self.screen.get() {
            screen.set(Slot::Above(TODOS.into()), None);
        }
    }

    /// Shows what is to be done: on a screen above the editor until it is done, otherwise in lines.
    pub fn show_todos(&self, todos: &Todos, style: Style) {
        let lines = todos.lines(style);
        let slot = Slot::Above(TODOS.into());
        match self.screen.get() {
            None => lines.iter().for_each(|line| self.say(line)),
            Some(screen) if todos.are_done() => screen.set(slot, None),
            Some(screen) => screen.set_lasting(slot, Box::new(TodoRows(lines))),
        }
    }

    /// Keeps the line away that shows a run at work, for a question at the terminal.
    pub fn pause_line(&self) -> LinePause {
        self.screen.pause_line()
    }

    /// Shows the user's input on the screen.
    pub fn echo(&self, text: &str, style: Style) {
        self.show_words(text, style);
        *self.echoed() = Some(text.trim().to_owned());
    }

    /// Shows a user message of the conversation on the screen, unless it is the input that is shown already. In a pipe
    /// nothing is shown.
    pub fn person_said(&self, text: &str, style: Style) {
        if self.echoed().take().is_none_or(|said| said != text.trim()) {
            self.show_words(text, style);
        }
    }

    /// Shows what the user said earlier.
    pub fn show_said(&self, text: &str, style: Style) {
        match self.screen.get() {
            Some(_) => self.show_words(text, style),
            None => self.say(&format!("{}{}", style.bold(PROMPT), shortened(text, style))),
        }
    }

    /// How many columns there are for answers; `None` where nothing is broken into lines.
    pub fn width(&self) -> Option<usize> {
        match self.screen.get() {
            Some(screen) => Some(screen.size().columns),
            None => {
                let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
                Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
            }
        }
    }

    /// How many columns there are for what is no part of an answer; `None` where no terminal shows it.
    pub fn columns(&self) -> Option<usize> {
        self.screen.columns()
    }

    fn show_words(&self, text: &str, style: Style) {
        if let Some(screen) = self.screen.get() {
            // A command is not said to the model.
            let is_said = !text.starts_with(['/', '!']);
            let text = match self.drawing().filter(|_| is_said) {
                Some(drawing) => drawing.transformed(text.to_owned(), Whose::Person, true),
                None => text.to_owned(),
            };
            let words = format!("{}{}", style.bold(PROMPT), shortened(&text, style));
            screen.print(&wrapped(&words, screen.size().columns));
        }
    }

    fn echoed(&self) -> MutexGuard<'_, Option<String>> {
        self.echoed
            .lock()
            .expect("no panic happens while the words are held")
    }

    /// Writes words that are no part of an answer, broken between words where the terminal would break them anywhere.
    pub fn say(&self, words: &str) {
        match self.columns() {
            Some(columns) => self.say_as_is(&wrapped(words, columns)),
            None => self.say_as_is(words),
        }
    }

    /// Writes lines that are no part of an answer and are copied as they are, such as a tool's output.
    pub fn say_as_is(&self, line: &str) {
        match self.screen.get() {
            Some(screen) => screen.print(line),
            None => {
                self.screen.clear_line();
                // Standard error has no buffer, so a line and its end are one write.
                drop(std::io::stderr().lock().write_all(format!("{line}\n").as_bytes()));
            }
        }
    }

    /// Shows unfinished text, which is replaced later. Only a screen shows it.
    pub fn preview(&self, text: impl FnOnce() -> String) {
        if let Some(screen) = self.screen.get() {
            let text = text();
            let lines = text.trim_end().lines().map(ToOwned::to_owned);
            let lines: Vec<String> = lines.collect();
            screen.set(Slot::Pending, (!lines.is_empty()).then_some(lines));
        }
    }

    /// How much the screen shows, while one is open.
    pub fn detail(&self) -> Option<Detail> {
        self.screen.get().map(|_| self.screen.detail())
    }

    /// Keeps a tool output of which only a part was shown.
    pub fn keep_cut(&self, output: &str) {
        *self.cut() = Some(output.to_owned());
    }

    /// Takes the last tool output of which only a part was shown.
    pub fn take_cut(&self) -> Option<String> {
        self.cut().take()
    }

    fn cut(&self) -> MutexGuard<'_, Option<String>> {
        self.cut
            .lock()
            .expect("no panic happens while the output is held")
    }

    /// The screen, while one is open.
    pub fn screen(&self) -> Option<becket_screen::Screen> {
        self.screen.get()
    }

    /// Writes text of an answer.
    pub fn write(&self, text: &str) {
        if self.is_muted {
            return;
        }
        if let Some(screen) = self.screen.get() {
            screen.stream(text);
            return;
        }
        self.screen.clear_line();
        let mut stdout = std::io::stdout().lock();
        let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        if let Err(error) = written
            && error.kind() != ErrorKind::BrokenPipe
        {
            self.trouble().get_or_insert_with(|| error.to_string());
        }
    }

    /// An error if output was lost since the last call.
    pub fn whole(&self) -> Result<(), CliError> {
        match self.trouble().take() {
            None => Ok(()),
            Some(error) => Err(
                CliError::failed(format!("cannot write to standard output: {error}"))
                    .hint("the answer is stored in the conversation all the same"),
            ),
        }
    }

    fn trouble(&self) -> MutexGuard<'_, Option<String>> {
        self.trouble
            .lock()
            .expect("no panic happens while the trouble is held")
    }
}

/// What the user said, without the rest of a long text: whoever has pasted it knows it.
fn shortened(text: &str, style: Style) -> String {
    let begins: Vec<&str> = text.lines().take(SAID_LINES).collect();
    let left = text.lines().count() - begins.len();
    let shown = harmless_indented(&begins.join("\n"), "  ");
    match left {
        0 => shown,
        left => {
            let more = counted(left as u64, "more line");
            format!("{shown}\n  {}", style.dim(&format!("… {more}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_long_paste_is_counted() {
        let lines = |count: usize| {
            (1..=count)
                .map(|line| format!("line {line}\n"))
                .collect::<String>()
        };
        assert_eq!(shortened("one\ntwo", Style::plain()), "one\n  two");
        assert!(shortened(&lines(20), Style::plain()).ends_with("line 20"));
        let long = shortened(&lines(5000), Style::plain());
        assert!(long.ends_with("line 20\n  … 4980 more lines"), "{long}");
    }
}
