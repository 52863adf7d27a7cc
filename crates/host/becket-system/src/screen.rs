//! The screen of a chat, as the rest of the program finds it: while it is open, all messages go there.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use becket_screen::{Happening, Screen, Working};
use tokio::sync::mpsc::UnboundedSender;

use crate::words::in_thousands;

/// The default message while work is going on.
const WORKING: &str = "Working...";

/// What stands behind it.
const HOW_TO_END: &str = " (Escape ends it)";

/// The default text in place of thoughts that are not shown.
const THINKING: &str = "Thinking...";

/// Holds the screen while it is open. Cloning gives another handle to the same screen.
#[derive(Clone, Default)]
pub struct OpenScreen(pub(crate) Arc<Mutex<ScreenState>>);

#[derive(Default)]
pub(crate) struct ScreenState {
    open: Option<Open>,
    pub(crate) work: Work,
    detail: Detail,
    /// The line of a run without a screen.
    pub(crate) line: Option<Line>,
}

/// The state of the line of a run without a screen.
pub(crate) struct Line {
    pub(crate) since: Instant,
    /// When the line is written next, at the earliest.
    pub(crate) not_before: Instant,
    pub(crate) is_shown: bool,
    /// How many wait for the line to stay away, and since when: what the user does takes no time of the work.
    pub(crate) pauses: usize,
    pub(crate) paused_at: Instant,
}

struct Open {
    screen: Screen,
    /// Receives what happens at the screen.
    chat: UnboundedSender<Happening>,
}

/// How much of a run is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detail {
    /// Whether the model's thoughts are shown, and not only that there are some.
    pub has_thoughts: bool,
    /// A text in place of hidden thoughts, instead of the default one.
    pub thinking: Option<String>,
    /// Whether the whole output of tools is shown.
    pub has_outputs: bool,
}

impl Detail {
    /// The text in place of hidden thoughts.
    pub fn thinking(&self) -> &str {
        self.thinking.as_deref().unwrap_or(THINKING)
    }
}

/// What is shown while work is going on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Work {
    /// Whether work is going on.
    pub is_busy: bool,
    /// A message instead of the default one.
    pub message: Option<String>,
    /// Whether nothing is to be shown.
    pub is_hidden: bool,
    /// The frames of the animation, instead of the default ones.
    pub frames: Option<Vec<String>>,
    /// How long each frame is shown.
    pub interval: Option<Duration>,
    /// How many tokens the model has written so far, counted or estimated.
    pub tokens: u64,
    /// The last line that a running command has written.
    pub last_output: Option<String>,
}

impl Work {
    fn shown(&self) -> Option<Working> {
        let usual = Working::new(self.message.as_deref().unwrap_or(WORKING));
        let tokens = match self.tokens {
            0 => String::new(),
            tokens => format!(", {} tokens", in_thousands(tokens)),
        };
        let is_own = self.message.is_none();
        (self.is_busy && !self.is_hidden).then(|| Working {
            is_timed: is_own,
            note: if is_own {
                format!("{tokens}{HOW_TO_END}")
            } else {
                String::new()
            },
            frames: self.frames.clone().unwrap_or(usual.frames),
            interval: self.interval.unwrap_or(usual.interval),
            message: usual.message,
        })
    }
}

impl OpenScreen {
    /// The screen, while it is open.
    pub fn get(&self) -> Option<Screen> {
        self.held().open.as_ref().map(|open| open.screen.clone())
    }

    /// How many columns there are for messages; `None` where no terminal shows them.
    pub fn columns(&self) -> Option<usize> {
        match self.get() {
            Some(screen) => Some(screen.size().columns),
            None => terminal_width(),
        }
    }

    /// Sets the open screen. Whatever happens there is sent to the chat.
    pub fn set(&self, screen: Screen, chat: UnboundedSender<Happening>) {
        self.held().open = Some(Open { screen, chat });
    }

    /// Sends an event to the chat, as if it had happened at the screen.
    pub fn tell(&self, happening: Happening) {
        if let Some(open) = &self.held().open {
            // A chat that has ended receives nothing.
            let _ = open.chat.send(happening);
        }
    }

    /// Changes what is shown while work is going on.
    pub fn set_work(&self, change: impl FnOnce(&mut Work)) {
        let mut state = self.held();
        let before = state.work.shown();
        change(&mut state.work);
        let working = state.work.shown();
        if let Some(open) = state.open.as_ref().filter(|_| working != before) {
            open.screen.set_working(working);
        }
    }

    /// How much of a run is shown.
    pub fn detail(&self) -> Detail {
        self.held().detail.clone()
    }

    /// Changes how much is shown from now on, and returns the new setting.
    pub fn set_detail(&self, change: impl FnOnce(&mut Detail)) -> Detail {
        let mut state = self.held();
        change(&mut state.detail);
        state.detail.clone()
    }

    /// Restores the terminal. Messages go to the standard streams again from now on.
    pub fn close(&self) {
        let open = self.held().open.take();
        if let Some(open) = open {
            open.screen.close();
        }
    }

    pub(crate) fn held(&self) -> MutexGuard<'_, ScreenState> {
        self.0.lock().expect("no panic happens while the screen is held")
    }
}

/// How many columns the terminal of standard error has; `None` if there is no terminal, or it does not know.
pub(crate) fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

impl fmt::Debug for OpenScreen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_open = self.held().open.is_some();
        formatter.debug_tuple("OpenScreen").field(&is_open).finish()
    }
}
