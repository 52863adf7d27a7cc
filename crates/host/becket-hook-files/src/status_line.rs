//! What the user sees while a hook runs, if its file says so.

use std::sync::Arc;

use becket_host::{Shown, Ui};

/// A line that is shown until it is dropped.
pub struct StatusLine {
    ui: Arc<dyn Ui>,
    hook: String,
}

impl StatusLine {
    /// Shows a line of a hook.
    pub fn new(ui: &Arc<dyn Ui>, hook: &str, text: &str) -> Self {
        let line = Self {
            ui: Arc::clone(ui),
            hook: hook.to_owned(),
        };
        line.show(Some(text.to_owned()));
        line
    }

    fn show(&self, text: Option<String>) {
        let key = self.hook.clone();
        self.ui.show(&self.hook, Shown::Status { key, text });
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.show(None);
    }
}
