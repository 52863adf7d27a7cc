//! The UI of extensions on a screen: dialogs in place of the editor, and lines around it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use becket_agent::front::{Front, FrontUpdate};
use becket_host::{
    Dialog, DialogAnswer, EditorNews, Failed, Level, Person, Placement, Shown, TerminalSignal, Ui,
};
use becket_screen::{Entry, Happening, Key, Phase, Question, Screen, Slot, Unanswered};
use becket_system::OpenScreen;
use futures_util::future::BoxFuture;

/// The user at the screen of a chat.
pub fn at_screen(front: Arc<dyn Front>, place: &OpenScreen) -> Person {
    let ui = Arc::new(ScreenUi::new(place.clone(), Arc::clone(&front)));
    Person { front, ui }
}

/// How many lines of a widget are shown.
const WIDGET_LINES: usize = 10;

/// How long the user may take to answer a dialog without a timeout.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(6 * 60 * 60);

/// The UI of extensions on the screen of a chat.
pub struct ScreenUi {
    place: OpenScreen,
    front: Arc<dyn Front>,
    /// Status lines by key, for extensions that show them elsewhere.
    statuses: Mutex<Vec<(String, String)>>,
}

impl ScreenUi {
    pub fn new(place: OpenScreen, front: Arc<dyn Front>) -> Self {
        Self {
            place,
            front,
            statuses: Mutex::default(),
        }
    }

    fn set_status(&self, screen: &Screen, key: String, text: Option<String>) {
        screen.set_status(&key, text.as_deref());
        let mut statuses = self
            .statuses
            .lock()
            .expect("no panic happens while they are held");
        statuses.retain(|(other, _)| *other != key);
        statuses.extend(text.map(|text| (key, text)));
    }

    fn notify(&self, extension: &str, message: &str, level: Level) {
        let words = format!("{extension}: {message}");
        self.front.show(match level {
            Level::Info => FrontUpdate::Notice(&words),
            Level::Warning | Level::Error => FrontUpdate::Warning(&words),
        });
    }
}

impl Ui for ScreenUi {
    fn show(&self, extension: &str, shown: Shown) {
        let Some(screen) = self.place.get() else { return };
        match shown {
            Shown::Notify { message, level } => self.notify(extension, &message, level),
            Shown::Status { key, text } => self.set_status(&screen, key, text),
            Shown::Widget {
                key,
                lines,
                placement,
            } => set_widget(&screen, key, lines, placement),
            Shown::Title { title } => screen.set_title(&title),
            Shown::EditorText { text } => screen.edit(|editor| editor.set_text(&text)),
            Shown::Paste { text } => screen.edit(|editor| editor.paste(&text)),
            Shown::WorkingMessage { text } => self.place.set_work(|work| work.message = text),
            Shown::WorkingVisible { visible } => self.place.set_work(|work| work.is_hidden = !visible),
            Shown::WorkingIndicator { frames, interval_ms } => self.place.set_work(|work| {
                let interval = interval_ms.filter(|milliseconds| *milliseconds >= 1.0);
                work.interval = interval.map(|milliseconds| Duration::from_millis(milliseconds as u64));
                work.frames = frames;
            }),
            Shown::ToolsExpanded { expanded } => {
                self.place.set_detail(|detail| detail.has_outputs = expanded);
            }
            Shown::HiddenThinkingLabel { text } => {
                self.place.set_detail(|detail| detail.thinking = text);
            }
            Shown::Signals(signals) => signals.iter().for_each(|signal| match signal {
                TerminalSignal::Title(title) => screen.set_title(title),
                TerminalSignal::Bell => screen.ring(),
                TerminalSignal::Command(number, text) => screen.command(*number, text),
            }),
        }
    }

    fn ask<'a>(
        &'a self,
        _: &'a str,
        dialog: Dialog,
        timeout: Option<Duration>,
    ) -> BoxFuture<'a, DialogAnswer> {
        let unanswered = dialog.unanswered();
        Box::pin(async move {
            match self.place.get() {
                Some(screen) => answer(&screen, dialog, timeout).await.unwrap_or(unanswered),
                None => unanswered,
            }
        })
    }

    fn failed(&self, failed: Failed<'_>) {
        self.front.show(FrontUpdate::Warning(&failed.words()));
    }

    fn editor_text(&self) -> String {
        let text = |screen: Screen| screen.edit(|editor| editor.expanded());
        self.place.get().map(text).unwrap_or_default()
    }

    fn tools_expanded(&self) -> bool {
        self.place.detail().has_outputs
    }

    fn statuses(&self) -> Vec<(String, String)> {
        self.statuses
            .lock()
            .expect("no panic happens while they are held")
            .clone()
    }

    fn editor(&self, news: EditorNews) {
        let happening = match news {
            EditorNews::Changed { text } => {
                if let Some(screen) = self.place.get() {
                    screen.edit(|editor| editor.set_text(&text));
                }
                return;
            }
            EditorNews::Submitted { text, key } => {
                if let Some(screen) = self.place.get() {
                    // A history that cannot be kept is no reason not to talk.
                    let _ = screen.edit(|editor| {
                        editor.clear();
                        editor.history.add(&text)
                    });
                }
                Happening::Submitted { text, key }
            }
            EditorNews::Pressed { key } => Happening::Key(Key {
                raw: String::new(),
                name: key,
                text: None,
                paste: None,
                phase: Phase::Press,
            }),
        };
        self.place.tell(happening);
    }
}

/// Waits for the answer of a dialog; an error if it is cancelled or too late.
async fn answer(
    screen: &Screen,
    dialog: Dialog,
    timeout: Option<Duration>,
) -> Result<DialogAnswer, Unanswered> {
    let question = |title: String| {
        let question = Question::new(title).unexpected();
        match timeout {
            Some(timeout) => question.timeout(timeout),
            None => question,
        }
    };
    let answer = async {
        Ok(match dialog {
            Dialog::Select { title, mut options } => {
                let entries = options.iter().map(|option| Entry {
                    label: option.clone(),
                    ..Entry::default()
                });
                let chosen = screen.select(question(title), entries.collect()).await?;
                DialogAnswer::Words(options.swap_remove(chosen))
            }
            Dialog::Confirm { title, message } => {
                let asked = screen.confirm(question(title).message(message), true);
                DialogAnswer::Confirmed(asked.await?)
            }
            Dialog::Input { title, placeholder } => {
                let asked = screen.input(question(title), placeholder.as_deref().unwrap_or_default());
                DialogAnswer::Words(asked.await?)
            }
            Dialog::Editor { title, prefill } => {
                let asked = screen.text(question(title), prefill.as_deref().unwrap_or_default());
                DialogAnswer::Words(asked.await?)
            }
        })
    };
    let timeout = timeout.unwrap_or(ANSWER_TIMEOUT);
    let answered = tokio::time::timeout(timeout, answer).await;
    answered.unwrap_or(Err(Unanswered::TimedOut))
}

/// Shows a widget in one place: when it moves, it is removed from the other.
fn set_widget(screen: &Screen, key: String, lines: Option<Vec<String>>, placement: Option<Placement>) {
    let lines = lines.map(|mut lines| {
        lines.truncate(WIDGET_LINES);
        lines
    });
    let (here, there) = match placement {
        Some(Placement::BelowEditor) => (Slot::Below(key.clone()), Slot::Above(key)),
        Some(Placement::AboveEditor) | None => (Slot::Above(key.clone()), Slot::Below(key)),
    };
    screen.set(there, None);
    screen.set(here, lines);
}
