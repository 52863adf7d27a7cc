//! The screen of a chat, as everything else in the program finds it: while it is open, whatever is said goes there.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use becket_screen::{Happening, Screen, Working};
use tokio::sync::mpsc::UnboundedSender;

/// What is said while something is at work, as long as nobody wants other words.
const WORKING: &str = "Working... (Escape ends it)";

/// What stands for thoughts that are not shown, as long as nobody wants other words.
const THINKING: &str = "Thinking...";

/// The place of the screen. Cloning gives another handle to the same place.
#[derive(Clone, Default)]
pub struct OpenScreen(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    open: Option<Open>,
    work: Work,
    detail: Detail,
}

struct Open {
    screen: Screen,
    /// Hears what happens at the screen.
    chat: UnboundedSender<Happening>,
}

/// How much of a run is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detail {
    /// Whether the model's thoughts are shown, and not only that there are some.
    pub has_thoughts: bool,
    /// Other words than the usual ones where thoughts are not shown.
    pub thinking: Option<String>,
    /// Whether the whole output of tools is.
    pub has_outputs: bool,
}

impl Detail {
    /// What stands for thoughts that are not shown.
    pub fn thinking(&self) -> &str {
        self.thinking.as_deref().unwrap_or(THINKING)
    }
}

/// What is shown while something is at work.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Work {
    /// Whether something is.
    pub is_busy: bool,
    /// Other words than the usual ones.
    pub message: Option<String>,
    /// Whether nothing is to be shown.
    pub is_hidden: bool,
    /// What moves, if that is something else.
    pub frames: Option<Vec<String>>,
    /// How long each of it is seen.
    pub interval: Option<Duration>,
}

impl Work {
    fn shown(&self) -> Option<Working> {
        let usual = Working::new(self.message.as_deref().unwrap_or(WORKING));
        (self.is_busy && !self.is_hidden).then(|| Working {
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

    /// From now on there is one. Whatever happens there is told to the chat.
    pub fn set(&self, screen: Screen, chat: UnboundedSender<Happening>) {
        self.held().open = Some(Open { screen, chat });
    }

    /// Tells the chat of something, as if it had happened at the screen.
    pub fn tell(&self, happening: Happening) {
        if let Some(open) = &self.held().open {
            // A chat that is over hears nothing.
            let _ = open.chat.send(happening);
        }
    }

    /// Changes what is shown while something is at work.
    pub fn set_work(&self, change: impl FnOnce(&mut Work)) {
        let mut state = self.held();
        change(&mut state.work);
        let working = state.work.shown();
        if let Some(open) = &state.open {
            open.screen.set_working(working);
        }
    }

    /// How much is shown.
    pub fn detail(&self) -> Detail {
        self.held().detail.clone()
    }

    /// Changes how much is shown from now on, and says how much.
    pub fn set_detail(&self, change: impl FnOnce(&mut Detail)) -> Detail {
        let mut state = self.held();
        change(&mut state.detail);
        state.detail.clone()
    }

    /// Gives the terminal back. What is said from now on goes to the standard streams again.
    pub fn close(&self) {
        let open = self.held().open.take();
        if let Some(open) = open {
            open.screen.close();
        }
    }

    fn held(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no panic happens while the screen is held")
    }
}

impl fmt::Debug for OpenScreen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_open = self.held().open.is_some();
        formatter.debug_tuple("OpenScreen").field(&is_open).finish()
    }
}
