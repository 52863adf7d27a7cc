//! The editor: text of several lines, with the keys that people know from their shell.
//!
//! Positions are bytes of the text and always lie between units: characters as a reader sees them, or the marker that
//! stands for a large paste.

use std::collections::HashMap;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::component::Area;
use crate::history::History;
use crate::keys::{Key, normalised};
use crate::list::{Choice, Entry};
use crate::text::{self, CURSOR_MARKER};

/// A paste with more lines or characters than this becomes a marker.
const LARGE_PASTE: (usize, usize) = (10, 1000);
/// How a tab looks in the editor.
const TAB: &str = "    ";
/// How many steps can be taken back.
const MOST_STEPS: usize = 500;
/// How many killed texts are kept.
const MOST_KILLS: usize = 60;

/// What a key does in the editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    Up,
    Down,
    PageUp,
    PageDown,
    DeleteBack,
    DeleteForward,
    DeleteWordBack,
    DeleteWordForward,
    KillToStart,
    KillToEnd,
    Yank,
    YankPop,
    Transpose,
    Undo,
    Redo,
    NewLine,
    /// Hands the text over, with the name of the key.
    Submit,
    /// Empties it. Where nothing stands, the key is somebody else's.
    Clear,
    Complete,
    /// Looks for an earlier entry.
    Search,
    /// Goes to the next place of the character that is typed then.
    JumpForward,
    JumpBack,
}

/// The keys of the editor as long as nobody binds them otherwise.
const BINDINGS: &[(Action, &[&str])] = &[
    (Action::Left, &["left", "ctrl+b"]),
    (Action::Right, &["right", "ctrl+f"]),
    (Action::WordLeft, &["alt+left", "ctrl+left", "alt+b"]),
    (Action::WordRight, &["alt+right", "ctrl+right", "alt+f"]),
    (Action::LineStart, &["home", "ctrl+a"]),
    (Action::LineEnd, &["end", "ctrl+e"]),
    (Action::Up, &["up", "ctrl+p"]),
    (Action::Down, &["down", "ctrl+n"]),
    (Action::PageUp, &["pageUp"]),
    (Action::PageDown, &["pageDown"]),
    (Action::DeleteBack, &["backspace", "ctrl+h", "shift+backspace"]),
    (Action::DeleteForward, &["delete", "ctrl+d"]),
    (
        Action::DeleteWordBack,
        &["ctrl+w", "alt+backspace", "ctrl+backspace"],
    ),
    (Action::DeleteWordForward, &["alt+d", "alt+delete", "ctrl+delete"]),
    (Action::KillToStart, &["ctrl+u"]),
    (Action::KillToEnd, &["ctrl+k"]),
    (Action::Yank, &["ctrl+y"]),
    (Action::YankPop, &["alt+y"]),
    (Action::Transpose, &["ctrl+t"]),
    (Action::Undo, &["ctrl+-", "ctrl+_"]),
    (Action::Redo, &["ctrl+alt+-", "ctrl+alt+_"]),
    (
        Action::NewLine,
        &["shift+enter", "alt+enter", "ctrl+enter", "ctrl+j"],
    ),
    (Action::Submit, &["enter"]),
    (Action::Complete, &["tab"]),
    (Action::Search, &["ctrl+r"]),
    (Action::JumpForward, &["ctrl+]"]),
    (Action::JumpBack, &["ctrl+alt+]"]),
];

/// What became of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It means nothing to the editor.
    Ignored,
    Taken,
    /// The text, with its pastes, was handed over.
    Submitted(String),
}

/// How the editor looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// What stands before the first line, and before all others.
    pub prompt: String,
    pub continuation: String,
    /// What is shown as long as nothing was typed.
    pub placeholder: String,
}

/// The editor asks what could be meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionRequest {
    /// For the answer; an answer to an older request is ignored.
    pub id: u64,
    pub text: String,
    /// In bytes.
    pub cursor: usize,
    /// Whether the person asked for it, or only typed.
    pub forced: bool,
}

/// Something that could be meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidate {
    /// What takes the place of the prefix.
    pub value: String,
    pub label: String,
    pub description: String,
}

/// The answer to a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completions {
    /// The end of the text before the cursor that a candidate replaces.
    pub prefix: String,
    pub candidates: Vec<Candidate>,
    /// Whether Enter hands the text over as soon as a candidate is taken, as commands want it.
    pub submits: bool,
}

struct Offer {
    completions: Completions,
    choice: Choice,
    /// Whether the text has changed since. It is shown until the next one comes, but nothing is taken from it.
    stale: bool,
}

struct Search {
    term: String,
    found: Option<usize>,
    before: (String, usize),
}

/// What was done last; the same again may belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Other,
    Typed,
    Killed,
    /// Which of the killed texts stands there, counted from the last one.
    Yanked(usize),
    /// The column in which an upward or downward move began.
    Vertical(usize),
}

/// A text that is being written.
pub struct Editor {
    text: String,
    cursor: usize,
    undo: Vec<(String, usize)>,
    redo: Vec<(String, usize)>,
    kills: Vec<String>,
    last: Last,
    /// Markers and what they stand for.
    pastes: Vec<(String, String)>,
    pub history: History,
    /// The entry of the history that is shown, and what was written before.
    browsing: Option<(usize, String)>,
    search: Option<Search>,
    jump: Option<Action>,
    offer: Option<Offer>,
    requests: u64,
    request: Option<CompletionRequest>,
    forced: bool,
    /// Words that begin with one of these are completed while they are typed.
    pub triggers: Vec<char>,
    bindings: HashMap<String, Action>,
    pub look: Look,
    width: usize,
    page: usize,
    top: usize,
}

impl Default for Editor {
    fn default() -> Self {
        let mut editor = Self {
            text: String::new(),
            cursor: 0,
            undo: Vec::new(),
            redo: Vec::new(),
            kills: Vec::new(),
            last: Last::Other,
            pastes: Vec::new(),
            history: History::default(),
            browsing: None,
            search: None,
            jump: None,
            offer: None,
            requests: 0,
            request: None,
            forced: false,
            triggers: Vec::new(),
            bindings: HashMap::new(),
            look: Look::default(),
            width: 80,
            page: 5,
            top: 0,
        };
        for (action, names) in BINDINGS {
            for name in *names {
                editor.bind(name, Some(*action));
            }
        }
        editor
    }
}

impl Editor {
    /// Makes a key do something, or nothing any more.
    pub fn bind(&mut self, name: &str, action: Option<Action>) {
        match action {
            Some(action) => self.bindings.insert(normalised(name), action),
            None => self.bindings.remove(&normalised(name)),
        };
    }

    /// The text as it is shown, with markers for large pastes.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text with its pastes.
    pub fn expanded(&self) -> String {
        let mut whole = String::new();
        for unit in self.units(0..self.text.len()) {
            let shown = &self.text[unit];
            whole.push_str(self.pasted(shown).unwrap_or(shown));
        }
        whole
    }

    /// In bytes of [`Editor::text`].
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Puts another text in place of all; it can be undone.
    pub fn set_text(&mut self, text: &str) {
        self.step(Last::Other);
        self.text = harmless(text);
        self.cursor = self.text.len();
        self.browsing = None;
        self.search = None;
        self.offer = None;
    }

    /// Puts a text where the cursor is. A large one becomes a marker.
    pub fn paste(&mut self, text: &str) {
        let text = harmless(text);
        let (lines, characters) = (text.split('\n').count(), text.chars().count());
        self.step(Last::Other);
        if lines <= LARGE_PASTE.0 && characters <= LARGE_PASTE.1 {
            self.insert(&text);
        } else {
            let number = self.pastes.len() + 1;
            let marker = if lines > LARGE_PASTE.0 {
                format!("[paste #{number} +{lines} lines]")
            } else {
                format!("[paste #{number} {characters} chars]")
            };
            self.insert(&marker);
            self.pastes.push((marker, text));
        }
        self.changed();
    }

    /// A key.
    pub fn key(&mut self, key: &Key) -> Outcome {
        if let Some(paste) = &key.paste {
            self.leave_search();
            self.paste(paste);
            return Outcome::Taken;
        }
        if let Some(direction) = self.jump.take()
            && let Some(text) = &key.text
        {
            self.jump_to(text, direction);
            return Outcome::Taken;
        }
        if self.search.is_some() && self.search_key(key) {
            return Outcome::Taken;
        }
        if let Some(outcome) = self.offer_key(key) {
            return outcome;
        }
        match (self.bindings.get(&key.name).copied(), &key.text) {
            (Some(action), _) => self.act(action, &key.name),
            (None, Some(text)) => {
                self.type_in(text);
                Outcome::Taken
            }
            (None, None) => Outcome::Ignored,
        }
    }

    /// The request that waits for an answer, once.
    pub fn take_request(&mut self) -> Option<CompletionRequest> {
        self.request.take()
    }

    /// Answers a request. Only the newest one counts, and only as long as its text stands.
    pub fn offer(&mut self, id: u64, completions: Completions) {
        let stands = self.text[..self.cursor].ends_with(&completions.prefix);
        if id != self.requests || !stands {
            return;
        }
        self.offer = None;
        if completions.candidates.len() == 1 && self.forced {
            self.take_candidate(&completions.prefix, &completions.candidates[0].value);
        } else if !completions.candidates.is_empty() {
            self.offer = Some(Offer {
                completions,
                choice: Choice::default(),
                stale: false,
            });
        }
    }

    /// The lines of the editor.
    pub fn render(&mut self, area: Area) -> Vec<String> {
        let prompt = match &self.search {
            Some(search) if search.found.is_none() && !search.term.is_empty() => {
                format!("(not found: {}) ", search.term)
            }
            Some(search) => format!("(search: {}) ", search.term),
            None => self.look.prompt.clone(),
        };
        let margin = text::width(&prompt).max(text::width(&self.look.continuation));
        // One column is left for the cursor behind the last character.
        self.width = area.width.saturating_sub(margin + 1).max(1);
        self.page = (area.height * 3 / 10).max(5);
        let rows = self.layout();
        let (row, _) = self.place(&rows, self.cursor);
        self.top = self.top.clamp((row + 1).saturating_sub(self.page), row);
        self.top = self.top.min(rows.len().saturating_sub(self.page));
        let shown = rows.iter().enumerate().skip(self.top).take(self.page);
        let line = |(place, range): (usize, &Range<usize>)| {
            let start = if place == 0 {
                &prompt
            } else {
                &self.look.continuation
            };
            let cursor = (place == row && area.focused).then_some(self.cursor);
            format!("{start}{}", self.shown(range.clone(), cursor))
        };
        let mut lines: Vec<String> = shown.map(line).collect();
        if self.text.is_empty() && !self.look.placeholder.is_empty() {
            lines[0].push_str(&format!("\x1b[2m{}\x1b[0m", self.look.placeholder));
        }
        lines
    }

    /// The list of what could be meant, if there is one.
    pub fn render_offer(&self, area: Area) -> Vec<String> {
        let Some(offer) = &self.offer else {
            return Vec::new();
        };
        let entry = |candidate: &Candidate| Entry {
            label: match candidate.label.as_str() {
                "" => candidate.value.clone(),
                label => label.to_string(),
            },
            description: candidate.description.clone(),
            letter: None,
        };
        let entries: Vec<Entry> = offer.completions.candidates.iter().map(entry).collect();
        offer.choice.rows(&entries, area.width)
    }

    fn act(&mut self, action: Action, name: &str) -> Outcome {
        match action {
            Action::Left => self.go(self.before(self.cursor)),
            Action::Right => self.go(self.after(self.cursor)),
            Action::WordLeft => self.go(self.word_before()),
            Action::WordRight => self.go(self.word_after()),
            Action::LineStart => self.go(self.line_start()),
            Action::LineEnd => self.go(self.line_end()),
            Action::Up => self.vertical(-1),
            Action::Down => self.vertical(1),
            Action::PageUp => self.vertical(-(self.page as isize)),
            Action::PageDown => self.vertical(self.page as isize),
            Action::DeleteBack => self.delete(self.before(self.cursor)..self.cursor),
            // So that Ctrl-D can mean the end.
            Action::DeleteForward if self.text.is_empty() => return Outcome::Ignored,
            Action::Clear if self.text.is_empty() => return Outcome::Ignored,
            Action::Clear => self.clear(),
            Action::DeleteForward => self.delete(self.cursor..self.after(self.cursor)),
            Action::DeleteWordBack => self.kill(self.word_before()..self.cursor, Side::Before),
            Action::DeleteWordForward => self.kill(self.cursor..self.word_after(), Side::After),
            Action::KillToStart => self.kill_line(self.line_start(), Side::Before),
            Action::KillToEnd => self.kill_line(self.line_end(), Side::After),
            Action::Yank => self.yank(0),
            Action::YankPop => self.yank_pop(),
            Action::Transpose => self.transpose(),
            Action::Undo => self.take_back(),
            Action::Redo => self.take_back_again(),
            Action::NewLine => self.type_in("\n"),
            Action::Submit => return self.submit(name),
            Action::Complete => self.ask(true),
            Action::Search => self.begin_search(),
            Action::JumpForward | Action::JumpBack => self.jump = Some(action),
        }
        Outcome::Taken
    }

    fn submit(&mut self, name: &str) -> Outcome {
        if name == "enter" && self.text[..self.cursor].ends_with('\\') {
            self.step(Last::Other);
            self.text.replace_range(self.cursor - 1..self.cursor, "\n");
            self.changed();
            return Outcome::Taken;
        }
        let text = self.expanded();
        self.clear();
        Outcome::Submitted(text)
    }

    /// Empties the editor, as after handing its text over.
    pub fn clear(&mut self) {
        self.text.clear();
        self.cursor = 0;
        self.undo.clear();
        self.redo.clear();
        self.pastes.clear();
        self.last = Last::Other;
        self.browsing = None;
        self.search = None;
        self.offer = None;
        // An answer that comes now is too late.
        self.requests += 1;
        self.top = 0;
    }

    // Changes.

    /// Remembers how the text was, unless the last change goes on.
    fn step(&mut self, kind: Last) {
        let goes_on = kind == Last::Typed && self.last == Last::Typed;
        if !goes_on {
            self.undo.push((self.text.clone(), self.cursor));
            if self.undo.len() > MOST_STEPS {
                self.undo.remove(0);
            }
        }
        self.redo.clear();
        self.last = kind;
    }

    fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        // What was inserted may combine with what stands before and behind it.
        let end = self.cursor + text.len();
        self.cursor = self.boundary(end);
    }

    fn type_in(&mut self, text: &str) {
        let text = harmless(text);
        // A word is one step.
        if text.chars().all(char::is_whitespace) {
            self.last = Last::Other;
        }
        self.step(Last::Typed);
        self.insert(&text);
        self.changed();
    }

    fn delete(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.step(Last::Other);
            self.remove(range);
        }
    }

    fn remove(&mut self, range: Range<usize>) -> String {
        let removed: String = self.text.drain(range.clone()).collect();
        self.cursor = self.boundary(range.start);
        self.changed();
        removed
    }

    fn kill(&mut self, range: Range<usize>, side: Side) {
        if range.is_empty() {
            return;
        }
        let goes_on = self.last == Last::Killed;
        self.step(Last::Killed);
        let killed = self.remove(range);
        match self.kills.last_mut().filter(|_| goes_on) {
            Some(last) if side == Side::Before => last.insert_str(0, &killed),
            Some(last) => last.push_str(&killed),
            None => self.kills.push(killed),
        }
        if self.kills.len() > MOST_KILLS {
            self.kills.remove(0);
        }
        self.last = Last::Killed;
    }

    /// To the start or end of the line; there, the line end itself.
    fn kill_line(&mut self, to: usize, side: Side) {
        let range = match side {
            Side::Before if to == self.cursor => self.before(self.cursor)..self.cursor,
            Side::Before => to..self.cursor,
            Side::After if to == self.cursor => self.cursor..self.after(self.cursor),
            Side::After => self.cursor..to,
        };
        self.kill(range, side);
    }

    fn yank(&mut self, back: usize) {
        let Some(text) = self.kills.iter().rev().nth(back).cloned() else {
            return;
        };
        self.step(Last::Other);
        self.insert(&text);
        self.changed();
        self.last = Last::Yanked(back);
    }

    fn yank_pop(&mut self) {
        let Last::Yanked(back) = self.last else { return };
        self.take_back();
        self.redo.clear();
        self.yank((back + 1) % self.kills.len().max(1));
    }

    /// Swaps the two units around the cursor, or before it at the end of a line.
    fn transpose(&mut self) {
        let middle = if self.cursor == self.line_end() {
            self.before(self.cursor)
        } else {
            self.cursor
        };
        let (start, end) = (self.before(middle), self.after(middle));
        if start < self.line_start() || start == middle || middle == end {
            return;
        }
        self.step(Last::Other);
        let swapped = format!("{}{}", &self.text[middle..end], &self.text[start..middle]);
        self.text.replace_range(start..end, &swapped);
        self.cursor = self.boundary(end);
        self.changed();
    }

    fn take_back(&mut self) {
        if let Some(before) = self.undo.pop() {
            self.redo.push((std::mem::take(&mut self.text), self.cursor));
            (self.text, self.cursor) = before;
        }
        self.last = Last::Other;
        self.offer = None;
    }

    fn take_back_again(&mut self) {
        if let Some(after) = self.redo.pop() {
            self.undo.push((std::mem::take(&mut self.text), self.cursor));
            (self.text, self.cursor) = after;
        }
        self.last = Last::Other;
        self.offer = None;
    }

    /// The text has changed: it is no longer an entry of the history, and something else could be meant.
    fn changed(&mut self) {
        self.browsing = None;
        let line = &self.text[self.line_start()..self.cursor];
        let word = line.rsplit(char::is_whitespace).next().unwrap_or_default();
        let starts = |text: &str| text.starts_with(|first| self.triggers.contains(&first));
        // The arguments of what begins a text belong to it.
        let wanted = starts(word) || (self.line_start() == 0 && line.starts_with('/') && starts(line));
        if wanted || self.offer.is_some() {
            if let Some(offer) = &mut self.offer {
                offer.stale = true;
            }
            self.ask(false);
        } else {
            self.requests += 1;
            self.request = None;
        }
    }

    fn ask(&mut self, forced: bool) {
        self.requests += 1;
        self.forced = forced;
        self.request = Some(CompletionRequest {
            id: self.requests,
            text: self.text.clone(),
            cursor: self.cursor,
            forced,
        });
    }

    // Completion.

    fn offer_key(&mut self, key: &Key) -> Option<Outcome> {
        let offer = self.offer.as_mut()?;
        let name = key.name.as_str();
        if name != "home" && name != "end" && offer.choice.follow(name, offer.completions.candidates.len()) {
            return Some(Outcome::Taken);
        }
        match name {
            "escape" => {
                self.offer = None;
                Some(Outcome::Taken)
            }
            "tab" | "enter" => {
                let offer = self.offer.take().filter(|offer| !offer.stale)?;
                let candidate = offer.completions.candidates.get(offer.choice.at)?;
                self.take_candidate(&offer.completions.prefix, &candidate.value);
                if name == "enter" && offer.completions.submits {
                    return Some(self.submit("enter"));
                }
                Some(Outcome::Taken)
            }
            _ => None,
        }
    }

    fn take_candidate(&mut self, prefix: &str, value: &str) {
        self.step(Last::Other);
        let start = self.cursor - prefix.len();
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
        self.insert(&harmless(value));
        self.browsing = None;
        self.offer = None;
        self.requests += 1;
        self.request = None;
    }

    // History.

    fn browse(&mut self, older: bool) -> bool {
        let count = self.history.entries().len();
        let (at, draft) = match self.browsing.take() {
            Some((at, draft)) => (at, draft),
            None => (count, self.text.clone()),
        };
        let next = if older { at.checked_sub(1) } else { Some(at + 1) };
        let Some(next) = next.filter(|next| *next <= count) else {
            self.browsing = (at < count).then_some((at, draft));
            return false;
        };
        self.step(Last::Other);
        match self.history.entries().get(next) {
            Some(entry) => {
                self.text.clone_from(entry);
                self.browsing = Some((next, draft));
            }
            None => self.text = draft,
        }
        self.cursor = self.text.len();
        true
    }

    fn begin_search(&mut self) {
        self.search = Some(Search {
            term: String::new(),
            found: None,
            before: (self.text.clone(), self.cursor),
        });
    }

    /// Keys of the search. Others end it, and the text that was found stays.
    fn search_key(&mut self, key: &Key) -> bool {
        let count = self.history.entries().len();
        let Some(search) = &mut self.search else {
            return false;
        };
        let end = match (key.name.as_str(), &key.text) {
            ("ctrl+r", _) => search.found.unwrap_or(count),
            ("backspace", _) => {
                search.term.pop();
                count
            }
            ("escape" | "ctrl+c" | "ctrl+g", _) => {
                let before = search.before.clone();
                (self.text, self.cursor) = before;
                self.search = None;
                return true;
            }
            ("enter", _) => {
                self.leave_search();
                return true;
            }
            (_, Some(text)) => {
                search.term.push_str(text);
                search.found.map_or(count, |found| found + 1)
            }
            _ => {
                self.leave_search();
                return false;
            }
        };
        let found = self
            .history
            .find(&search.term, end)
            .filter(|_| !search.term.is_empty());
        if found.is_some() || key.name != "ctrl+r" {
            search.found = found;
        }
        if let Some(entry) = found.and_then(|found| self.history.entries().get(found)) {
            self.text.clone_from(entry);
            self.cursor = self.text.len();
        }
        true
    }

    fn leave_search(&mut self) {
        if let Some(search) = self.search.take() {
            if self.text != search.before.0 {
                self.undo.push(search.before);
            }
            self.last = Last::Other;
        }
    }

    // Moves.

    fn go(&mut self, to: usize) {
        self.cursor = to;
        self.last = Last::Other;
        self.offer = None;
        self.requests += 1;
    }

    /// Up or down by rows as they are shown; from the first and the last one into the history.
    fn vertical(&mut self, by: isize) {
        let rows = self.layout();
        let (row, column) = self.place(&rows, self.cursor);
        let wanted = match self.last {
            Last::Vertical(column) => column,
            _ => column,
        };
        let target = row.saturating_add_signed(by).min(rows.len() - 1);
        if target == row {
            // Pages stay in the text.
            if by.abs() > 1 || !self.browse(by < 0) {
                let edge = if by < 0 { 0 } else { self.text.len() };
                self.go(edge);
            }
            return;
        }
        let mut at = rows[target].start;
        let mut columns = 0;
        for unit in self.units(rows[target].clone()) {
            columns += text::width(&self.unit_shown(&self.text[unit.clone()]));
            if columns > wanted {
                break;
            }
            at = unit.end;
        }
        // The end of a row that was broken is the beginning of the next one.
        let broken = rows.get(target + 1).is_some_and(|next| next.start == at);
        if broken && at > rows[target].start {
            at = self.before(at);
        }
        self.go(at);
        self.last = Last::Vertical(wanted);
    }

    fn jump_to(&mut self, text: &str, direction: Action) {
        let found = if direction == Action::JumpForward {
            let start = self.after(self.cursor);
            self.text[start..].find(text).map(|place| start + place)
        } else {
            self.text[..self.cursor].rfind(text)
        };
        if let Some(place) = found {
            self.go(self.boundary(place));
        }
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |place| place + 1)
    }

    fn line_end(&self) -> usize {
        let rest = &self.text[self.cursor..];
        rest.find('\n')
            .map_or(self.text.len(), |place| self.cursor + place)
    }

    fn before(&self, at: usize) -> usize {
        self.units(0..at).last().map_or(0, |unit| unit.start)
    }

    fn after(&self, at: usize) -> usize {
        self.units(at..self.text.len()).next().map_or(at, |unit| unit.end)
    }

    fn word_before(&self) -> usize {
        let mut at = self.cursor;
        let mut kind = None;
        for unit in self.units(0..self.cursor).collect::<Vec<_>>().into_iter().rev() {
            let this = Kind::of(&self.text[unit.clone()]);
            if kind.is_some_and(|kind| kind != this) {
                break;
            }
            kind = kind.or((this != Kind::Blank).then_some(this));
            at = unit.start;
        }
        at
    }

    fn word_after(&self) -> usize {
        let mut at = self.cursor;
        let mut kind = None;
        for unit in self.units(self.cursor..self.text.len()) {
            let this = Kind::of(&self.text[unit.clone()]);
            if kind.is_some_and(|kind| kind != this) {
                break;
            }
            kind = kind.or((this != Kind::Blank).then_some(this));
            at = unit.end;
        }
        at
    }

    // Units and rows.

    /// The paste for which a marker stands.
    fn pasted(&self, unit: &str) -> Option<&str> {
        let is = |(marker, _): &&(String, String)| marker == unit;
        self.pastes.iter().find(is).map(|(_, paste)| paste.as_str())
    }

    /// The units of a part of the text, which begins between two of them.
    fn units(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let mut at = range.start;
        std::iter::from_fn(move || {
            let rest = self.text[..range.end].get(at..).filter(|rest| !rest.is_empty())?;
            let is = |(marker, _): &&(String, String)| rest.starts_with(marker.as_str());
            let length = match self.pastes.iter().find(is).filter(|_| rest.starts_with('[')) {
                Some((marker, _)) => marker.len(),
                None => rest.graphemes(true).next()?.len(),
            };
            let unit = at..at + length;
            at = unit.end;
            Some(unit)
        })
    }

    /// The nearest place between two units, not before `at`.
    fn boundary(&self, at: usize) -> usize {
        self.units(0..self.text.len())
            .map(|unit| unit.end)
            .find(|end| *end >= at)
            .filter(|_| at > 0)
            .unwrap_or(at.min(self.text.len()))
    }

    fn unit_shown(&self, unit: &str) -> String {
        match unit {
            "\t" => TAB.to_string(),
            "\n" => String::new(),
            _ => unit.to_string(),
        }
    }

    fn shown(&self, range: Range<usize>, cursor: Option<usize>) -> String {
        let mut line = String::new();
        for unit in self.units(range.clone()) {
            if cursor == Some(unit.start) {
                line.push_str(CURSOR_MARKER);
            }
            let shown = self.unit_shown(&self.text[unit.clone()]);
            if self.pasted(&self.text[unit]).is_some() {
                line.push_str(&format!("\x1b[2m{shown}\x1b[22m"));
            } else {
                line.push_str(&shown);
            }
        }
        if cursor.is_some_and(|cursor| cursor >= range.end) {
            line.push_str(CURSOR_MARKER);
        }
        line
    }

    /// The rows of the text at the present width, broken between words where that is possible.
    fn layout(&self) -> Vec<Range<usize>> {
        let mut rows = Vec::new();
        let mut start = 0;
        for line in self.text.split('\n') {
            let end = start + line.len();
            let (mut row, mut column, mut space) = (start, 0, None);
            for unit in self.units(start..end) {
                let width = text::width(&self.unit_shown(&self.text[unit.clone()]));
                if column + width > self.width && unit.start > row {
                    let cut = space.unwrap_or(unit.start);
                    rows.push(row..cut);
                    (row, space) = (cut, None);
                    column = text::width(&self.shown(cut..unit.start, None));
                }
                column += width;
                if self.text[unit.clone()].chars().all(char::is_whitespace) {
                    space = Some(unit.end);
                }
            }
            rows.push(row..end);
            start = end + 1;
        }
        rows
    }

    /// Row and column of a place in the text.
    fn place(&self, rows: &[Range<usize>], at: usize) -> (usize, usize) {
        let row = rows.iter().rposition(|row| row.start <= at).unwrap_or(0);
        (
            row,
            text::width(&self.shown(rows[row].start..at.min(rows[row].end), None)),
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    Word,
    Sign,
}

impl Kind {
    fn of(unit: &str) -> Self {
        match unit.chars().next() {
            Some(first) if first.is_whitespace() => Self::Blank,
            Some(first) if first.is_alphanumeric() || first == '_' => Self::Word,
            _ => Self::Sign,
        }
    }
}

/// What may stand in the editor: no control characters but line ends and tabs.
fn harmless(text: &str) -> String {
    text.replace("\r\n", "\n")
        .replace('\r', "\n")
        .chars()
        .filter(|character| !character.is_control() || matches!(character, '\n' | '\t'))
        .collect()
}
