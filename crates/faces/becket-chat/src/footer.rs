//! The footer of a chat: the model, how full its window is, what the session has cost, and the hooks. What does not fit
//! is left out, the last first.

use std::sync::Arc;

use becket_agent::session_handle::SessionHandle;
use becket_events::Usage;
use becket_face_kit::{Conversation, HookCounts, dollars, spent_on, window};
use becket_front::{Output, Style};
use becket_providers::Prices;
use becket_screen::{Area, Component, Screen, Slot, clip, width};
use becket_system::harmless_name;

/// What stands between two parts.
const BETWEEN: &str = " · ";

/// The footer, which is shown anew when something in it has changed.
pub struct Footer {
    screen: Screen,
    handle: SessionHandle,
    output: Arc<Output>,
    style: Style,
    prices: Prices,
    hooks: HookCounts,
    /// What the session has used besides the answers that were seen: by sub-agents and for summaries.
    rest: Usage,
    shown: Vec<String>,
}

impl Footer {
    pub fn new(screen: &Screen, handle: &SessionHandle, conversation: &Conversation, style: Style) -> Self {
        Self {
            screen: screen.clone(),
            handle: handle.clone(),
            output: conversation.output(),
            style,
            prices: conversation.models().prices(),
            hooks: HookCounts::default(),
            rest: Usage::default(),
            shown: Vec::new(),
        }
    }

    /// Takes over what only the conversation knows, while nothing runs.
    pub fn learn(&mut self, conversation: &Conversation) {
        self.hooks = HookCounts::of(&conversation.assembled().agent.engine);
        let seen = self.output.activity().spent().into_values();
        let seen = seen.fold(Usage::default(), Usage::plus);
        self.rest = conversation.usage().without(&seen);
        self.show();
    }

    /// Shows the footer if something in it has changed.
    pub fn show(&mut self) {
        let parts = self.parts();
        if parts != self.shown {
            let line = Line {
                parts: parts.clone(),
                style: self.style,
            };
            self.shown = parts;
            self.screen.set_lasting(Slot::OwnFooter, Box::new(line));
        }
    }

    fn parts(&self) -> Vec<String> {
        let model = self.handle.config().model().ok();
        let model = model.map(|model| harmless_name(&format!("{}/{}", model.name(), model.model())));
        let seen = self.output.activity().spent();
        let cost = spent_on(&seen, self.rest, &self.handle, &self.prices).map(dollars);
        let parts = [model, window(&self.handle), cost, Some(self.hooks.in_words())];
        parts.into_iter().flatten().collect()
    }
}

struct Line {
    parts: Vec<String>,
    style: Style,
}

impl Component for Line {
    fn render(&mut self, area: Area) -> Vec<String> {
        vec![self.style.dim(&fitting(&self.parts, area.width))]
    }
}

/// As many of the parts as fit; the first one is cut if it alone is too wide.
fn fitting(parts: &[String], columns: usize) -> String {
    for count in (1..=parts.len()).rev() {
        let line = parts[..count].join(BETWEEN);
        if width(&line) <= columns {
            return line;
        }
    }
    parts
        .first()
        .map_or_else(String::new, |first| clip(first, columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_left_out_the_last_first() {
        let parts = ["openai/模型", "3 tokens", "1 hook"].map(String::from);
        assert_eq!(fitting(&parts, 40), "openai/模型 · 3 tokens · 1 hook");
        assert_eq!(fitting(&parts, 30), "openai/模型 · 3 tokens");
        assert_eq!(fitting(&parts, 20), "openai/模型");
        assert_eq!(fitting(&parts, 8), "openai/");
        assert_eq!(fitting(&[], 8), "");
    }
}
