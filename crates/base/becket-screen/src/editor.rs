//! The editor: text of several lines, with the key bindings of a shell.
//!
//! Its parts know nothing of each other's keys: `buffer.rs` is the text with its cursor, `layout.rs` shows it in rows,
//! `undo.rs` keeps what can be undone and what was killed, `completion.rs` is the list of completions, `recall.rs` goes
//! through the history, and `bindings.rs` says which key does what.

mod bindings;
mod buffer;
mod completion;
mod layout;
mod recall;
mod undo;

use std::ops::Range;

pub use self::bindings::Action;
pub use self::completion::{Candidate, CompletionRequest, Completions};

use self::bindings::Bindings;
use self::buffer::{Buffer, harmless};
use self::completion::{Chosen, Completion, ListKey};
use self::layout::Layout;
use self::recall::{Direction, Recall, SearchKey};
use self::undo::{KillRing, Side, Undo};
use crate::component::Area;
use crate::history::History;
use crate::keys::Key;
use crate::text;

/// What happened to a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyEffect {
    /// The key means nothing to the editor.
    Ignored,
    Taken,
    /// The text, with its pastes, was submitted.
    Submitted(String),
}

/// How the editor looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// The prompt before the first line; `continuation` is for all others.
    pub prompt: String,
    pub continuation: String,
    /// The text that is shown as long as nothing was typed.
    pub placeholder: String,
}

/// The last action; repeating it may continue it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Other,
    Typed,
    Killed,
    /// Which of the killed texts was inserted, counted from the last one.
    Yanked(usize),
    /// The column in which an upward or downward move began.
    Vertical(usize),
}

/// The part of the text that is shown.
struct View {
    width: usize,
    /// How many rows are shown at once.
    page: usize,
    /// The first row that is shown.
    top: usize,
}

impl Default for View {
    fn default() -> Self {
        Self {
            width: 80,
            page: 5,
            top: 0,
        }
    }
}

/// A text that is being written.
#[derive(Default)]
pub struct Editor {
    buffer: Buffer,
    undo: Undo,
    kills: KillRing,
    last: Last,
    pub history: History,
    recall: Recall,
    jump: Option<Action>,
    completion: Completion,
    /// Words that begin with one of these are completed while they are typed.
    pub triggers: Vec<char>,
    bindings: Bindings,
    pub look: Look,
    view: View,
}

impl Editor {
    /// Binds a key to an action, or removes its binding.
    pub fn bind(&mut self, name: &str, action: Option<Action>) {
        self.bindings.bind(name, action);
    }

    /// The text as it is shown, with markers for large pastes.
    pub fn text(&self) -> &str {
        self.buffer.text()
    }

    /// The text with its pastes.
    pub fn expanded(&self) -> String {
        self.buffer.expanded()
    }

    /// The cursor's position in bytes of [`Editor::text`].
    pub fn cursor(&self) -> usize {
        self.buffer.cursor()
    }

    /// Replaces the whole text; can be undone.
    pub fn set_text(&mut self, text: &str) {
        self.step(Last::Other);
        self.buffer.replace(harmless(text));
        self.recall = Recall::default();
        self.completion.close();
    }

    /// Inserts a text at the cursor. A large one becomes a marker.
    pub fn paste(&mut self, text: &str) {
        self.step(Last::Other);
        self.buffer.insert_paste(harmless(text));
        self.changed();
    }

    /// Clears the editor, as after submitting its text.
    pub fn clear(&mut self) {
        self.buffer = Buffer::default();
        self.undo = Undo::default();
        self.last = Last::Other;
        self.recall = Recall::default();
        self.completion.expire();
        self.view.top = 0;
    }

    /// Handles a key.
    pub fn key(&mut self, key: &Key) -> KeyEffect {
        if let Some(paste) = &key.paste {
            self.leave_search();
            self.paste(paste);
            return KeyEffect::Taken;
        }
        if let Some(direction) = self.jump.take()
            && let Some(text) = &key.text
        {
            self.jump_to(text, direction);
            return KeyEffect::Taken;
        }
        if self.search_key(key) {
            return KeyEffect::Taken;
        }
        match self.completion.key(&key.name) {
            ListKey::Ignored => {}
            ListKey::Taken => return KeyEffect::Taken,
            ListKey::Chosen(chosen) => return self.take_candidate(&chosen),
        }
        match (self.bindings.get(&key.name), &key.text) {
            (Some(action), _) => self.act(action, &key.name),
            (None, Some(text)) => {
                self.type_in(text);
                KeyEffect::Taken
            }
            (None, None) => KeyEffect::Ignored,
        }
    }

    /// The request that waits for an answer, returned once.
    pub fn take_request(&mut self) -> Option<CompletionRequest> {
        self.completion.take_request()
    }

    /// Answers a request. Only the newest one counts, and only while its text is unchanged.
    pub fn offer(&mut self, id: u64, completions: Completions) {
        if let Some(chosen) = self.completion.answer(id, completions, &self.buffer) {
            self.take_candidate(&chosen);
        }
    }

    /// The lines of the editor.
    pub fn render(&mut self, area: Area) -> Vec<String> {
        let prompt = self.recall.search_prompt();
        let prompt = prompt.unwrap_or_else(|| self.look.prompt.clone());
        let margin = text::width(&prompt).max(text::width(&self.look.continuation));
        let View { width, page, top } = &mut self.view;
        // One column is left for the cursor behind the last character.
        *width = area.width.saturating_sub(margin + 1).max(1);
        *page = (area.height * 3 / 10).max(5);
        let rows = Layout::of(&self.buffer, *width);
        let (cursor_row, _) = rows.cursor();
        *top = (*top).clamp((cursor_row + 1).saturating_sub(*page), cursor_row);
        *top = (*top).min(rows.count().saturating_sub(*page));
        let line = |row: usize| {
            let start = if row == 0 {
                &prompt
            } else {
                &self.look.continuation
            };
            let cursor = (row == cursor_row && area.focused).then_some(self.buffer.cursor());
            format!("{start}{}", rows.shown(row, cursor))
        };
        let mut lines: Vec<String> = (0..rows.count()).skip(*top).take(*page).map(line).collect();
        if self.buffer.text().is_empty() && !self.look.placeholder.is_empty() {
            lines[0].push_str(&format!("\x1b[2m{}\x1b[0m", self.look.placeholder));
        }
        lines
    }

    /// The list of completions, if there is one.
    pub fn render_offer(&self, area: Area) -> Vec<String> {
        self.completion.render(area)
    }

    fn act(&mut self, action: Action, name: &str) -> KeyEffect {
        let buffer = &self.buffer;
        let (cursor, page) = (buffer.cursor(), self.view.page as isize);
        match action {
            Action::Left => self.go(buffer.before(cursor)),
            Action::Right => self.go(buffer.after(cursor)),
            Action::WordLeft => self.go(buffer.word_before()),
            Action::WordRight => self.go(buffer.word_after()),
            Action::LineStart => self.go(buffer.line_start()),
            Action::LineEnd => self.go(buffer.line_end()),
            Action::Up => self.vertical(-1),
            Action::Down => self.vertical(1),
            Action::PageUp => self.vertical(-page),
            Action::PageDown => self.vertical(page),
            Action::DeleteBack => self.delete(buffer.before(cursor)..cursor),
            // So that Ctrl-D can mean the end.
            Action::DeleteForward | Action::Clear if buffer.text().is_empty() => return KeyEffect::Ignored,
            Action::Clear => self.clear(),
            Action::DeleteForward => self.delete(cursor..buffer.after(cursor)),
            Action::DeleteWordBack => self.kill(buffer.word_before()..cursor, Side::Before),
            Action::DeleteWordForward => self.kill(cursor..buffer.word_after(), Side::After),
            Action::KillToStart => self.kill_line(buffer.line_start(), Side::Before),
            Action::KillToEnd => self.kill_line(buffer.line_end(), Side::After),
            Action::Yank => self.yank(0),
            Action::YankPop => self.yank_pop(),
            Action::Transpose => self.transpose(),
            Action::Undo => self.take_back(),
            Action::Redo => self.take_back_again(),
            Action::NewLine => self.type_in("\n"),
            Action::Submit => return self.submit(name),
            Action::Complete => self.completion.ask(buffer, true),
            Action::Search => self.recall.begin_search(buffer.snapshot()),
            Action::JumpForward | Action::JumpBack => self.jump = Some(action),
        }
        KeyEffect::Taken
    }

    fn submit(&mut self, name: &str) -> KeyEffect {
        if name == "enter" && self.buffer.text()[..self.buffer.cursor()].ends_with('\\') {
            self.step(Last::Other);
            self.buffer.replace_before("\\".len(), "\n");
            self.changed();
            return KeyEffect::Taken;
        }
        let text = self.expanded();
        self.clear();
        KeyEffect::Submitted(text)
    }

    // Changes.

    /// Remembers the text for undo, unless this continues the last change.
    fn step(&mut self, kind: Last) {
        let goes_on = kind == Last::Typed && self.last == Last::Typed;
        if !goes_on {
            self.undo.remember(self.buffer.snapshot());
        }
        self.undo.forget_undone();
        self.last = kind;
    }

    /// Notes a change: the text is no longer a history entry, and its completions may differ.
    fn changed(&mut self) {
        self.recall.stop_browsing();
        self.completion.follow(&self.buffer, &self.triggers);
    }

    fn type_in(&mut self, text: &str) {
        let text = harmless(text);
        // A word is one step.
        if text.chars().all(char::is_whitespace) {
            self.last = Last::Other;
        }
        self.step(Last::Typed);
        self.buffer.insert(&text);
        self.changed();
    }

    fn delete(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.step(Last::Other);
            self.buffer.remove(range);
            self.changed();
        }
    }

    fn kill(&mut self, range: Range<usize>, side: Side) {
        if range.is_empty() {
            return;
        }
        let goes_on = self.last == Last::Killed;
        self.step(Last::Killed);
        let killed = self.buffer.remove(range);
        self.changed();
        if goes_on {
            self.kills.extend(killed, side);
        } else {
            self.kills.add(killed);
        }
    }

    /// Kills to the start or end of the line; there, the line end itself.
    fn kill_line(&mut self, to: usize, side: Side) {
        let cursor = self.buffer.cursor();
        let range = match side {
            Side::Before if to == cursor => self.buffer.before(cursor)..cursor,
            Side::Before => to..cursor,
            Side::After if to == cursor => cursor..self.buffer.after(cursor),
            Side::After => cursor..to,
        };
        self.kill(range, side);
    }

    fn yank(&mut self, back: usize) {
        let Some(text) = self.kills.get(back) else {
            return;
        };
        self.step(Last::Yanked(back));
        self.buffer.insert(&text);
        self.changed();
    }

    fn yank_pop(&mut self) {
        let Last::Yanked(back) = self.last else { return };
        self.take_back();
        self.yank(back + 1);
    }

    /// Swaps the two units around the cursor, or before it at the end of a line.
    fn transpose(&mut self) {
        if let Some(pair) = self.buffer.pair() {
            self.step(Last::Other);
            self.buffer.transpose(pair);
            self.changed();
        }
    }

    fn take_back(&mut self) {
        self.undo.undo(&mut self.buffer);
        self.last = Last::Other;
        self.completion.close();
    }

    fn take_back_again(&mut self) {
        self.undo.redo(&mut self.buffer);
        self.last = Last::Other;
        self.completion.close();
    }

    fn take_candidate(&mut self, chosen: &Chosen) -> KeyEffect {
        self.step(Last::Other);
        self.buffer
            .replace_before(chosen.prefix.len(), &harmless(&chosen.value));
        self.recall.stop_browsing();
        if chosen.submits {
            return self.submit("enter");
        }
        KeyEffect::Taken
    }

    // History.

    fn browse(&mut self, direction: Direction) -> bool {
        let entry = self.recall.browse(&self.history, self.buffer.text(), direction);
        let Some(entry) = entry else { return false };
        self.step(Last::Other);
        self.buffer.replace(entry);
        true
    }

    /// Handles keys of the search. Other keys end it, and the found text stays.
    fn search_key(&mut self, key: &Key) -> bool {
        match self.recall.search_key(&self.history, key) {
            SearchKey::Ignored => {
                self.leave_search();
                return false;
            }
            SearchKey::Shown(None) => {}
            SearchKey::Shown(Some(entry)) => self.buffer.replace(entry),
            SearchKey::Accepted => self.leave_search(),
            SearchKey::Cancelled(before) => drop(self.buffer.restore(before)),
        }
        true
    }

    fn leave_search(&mut self) {
        if let Some(before) = self.recall.end_search() {
            if self.buffer.text() != before.text {
                self.undo.remember(before);
            }
            self.last = Last::Other;
        }
    }

    // Moves.

    fn go(&mut self, to: usize) {
        self.buffer.go(to);
        self.last = Last::Other;
        self.completion.expire();
    }

    /// Moves up or down by rows as shown; from the first and the last one into the history.
    fn vertical(&mut self, by: isize) {
        let rows = Layout::of(&self.buffer, self.view.width);
        let (row, column) = rows.cursor();
        let column = match self.last {
            Last::Vertical(column) => column,
            _ => column,
        };
        let target = row.saturating_add_signed(by).min(rows.count() - 1);
        if target != row {
            let to = rows.position(target, column);
            self.go(to);
            self.last = Last::Vertical(column);
            return;
        }
        let (direction, edge) = if by < 0 {
            (Direction::Older, 0)
        } else {
            (Direction::Newer, self.buffer.text().len())
        };
        // Page moves stay in the text.
        if by.abs() > 1 || !self.browse(direction) {
            self.go(edge);
        }
    }

    fn jump_to(&mut self, text: &str, direction: Action) {
        let found = if direction == Action::JumpForward {
            self.buffer.find_after(text)
        } else {
            self.buffer.find_before(text)
        };
        if let Some(place) = found {
            self.go(place);
        }
    }
}
