//! A list to choose from: the selected entry, and the rows around it.

use crate::text::{self, clip};

/// How many entries are shown at once.
const SHOWN: usize = 10;

/// A line of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    pub label: String,
    pub description: String,
    /// The letter that selects the entry directly. A list with such letters has no filter.
    pub letter: Option<char>,
}

/// The selection in a list of some length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    pub at: usize,
}

impl Choice {
    /// Handles a key: arrows wrap around, pages stop at the ends. Returns whether the key was one of them.
    pub fn follow(&mut self, name: &str, length: usize) -> bool {
        let last = length.saturating_sub(1);
        self.at = match name {
            "up" | "ctrl+p" if self.at == 0 => last,
            "up" | "ctrl+p" => self.at - 1,
            "down" | "ctrl+n" if self.at >= last => 0,
            "down" | "ctrl+n" => self.at + 1,
            "pageUp" => self.at.saturating_sub(SHOWN),
            "pageDown" => (self.at + SHOWN).min(last),
            "home" => 0,
            "end" => last,
            _ => return false,
        };
        true
    }

    /// The rows around the selected entry.
    pub fn rows(&self, entries: &[Entry], width: usize) -> Vec<String> {
        let start = self
            .at
            .saturating_sub(SHOWN / 2)
            .min(entries.len().saturating_sub(SHOWN));
        let shown = &entries[start..(start + SHOWN).min(entries.len())];
        let widest = shown
            .iter()
            .map(|entry| text::width(&entry.label))
            .max()
            .unwrap_or(0);
        let column = widest.min(width / 2);
        let mut rows: Vec<String> = shown
            .iter()
            .enumerate()
            .map(|(place, entry)| row(entry, start + place == self.at, column, width))
            .collect();
        if entries.len() > SHOWN {
            rows.push(clip(
                &format!("  \x1b[2m({}/{})\x1b[0m", self.at + 1, entries.len()),
                width,
            ));
        }
        rows
    }
}

fn row(entry: &Entry, chosen: bool, column: usize, width: usize) -> String {
    let one_line = |text: &str| text.replace('\n', " ");
    let label = one_line(&entry.label);
    let mut line = if chosen {
        format!("→ \x1b[1m{label}\x1b[0m")
    } else {
        format!("  {label}")
    };
    if !entry.description.is_empty() {
        let gap = column.saturating_sub(text::width(&label)) + 2;
        let description = one_line(&entry.description);
        line.push_str(&format!("{}\x1b[2m{description}\x1b[0m", " ".repeat(gap)));
    }
    clip(&line, width)
}
