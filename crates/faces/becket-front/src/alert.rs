//! Tells a user who may be looking elsewhere that becket is done, or waits for them: by the terminal's bell, and by a
//! notification of the desktop where the terminal has one.

use std::time::Duration;

use becket_screen::{Notifier, Screen};

/// When and how the user is alerted.
#[derive(Debug, Clone, Copy)]
pub struct Alert {
    /// After how long without the user.
    pub after: Duration,
    /// How the desktop is notified, if it is.
    pub notifier: Option<Notifier>,
}

impl Alert {
    /// Rings the bell, and notifies the desktop.
    pub fn give(self, screen: &Screen, words: &str) {
        screen.ring();
        if let Some(notifier) = self.notifier {
            screen.notify(notifier, "becket", words);
        }
    }
}
