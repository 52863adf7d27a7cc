//! The painter: committed text goes into the scrollback, and the live area below it is redrawn by difference.
//!
//! The painter is told what to show and returns the bytes for it. All moves are relative to the live area's first row,
//! so it never needs to know where on the screen that is, and never touches what is above it. Committed lines are
//! written whole and broken by the terminal, so that copying and the terminal's own reflow keep working. Overlays need
//! the whole screen: they are painted on the alternate one (the *sheet*), over a picture of the ordinary one, which
//! stays untouched.

use std::collections::VecDeque;

use crate::keys::Protocol;
use crate::text::{Colours, Style, TextRow};

/// How many committed lines are remembered, for the picture under an overlay.
const REMEMBERED_LINES: usize = 400;

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

/// What a terminal does with rows that are longer than its new width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Narrowing {
    /// The terminal wraps them, as nearly all do.
    Reflows,
    /// The terminal cuts them off, as xterm and the Linux console do.
    Cuts,
}

/// Rows to show, and where the cursor is in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    pub rows: Vec<TextRow>,
}

impl Frame {
    /// The position of the cursor: row and column. The last mark counts.
    pub fn cursor(&self) -> Option<(usize, usize)> {
        let marked = |(place, row): (usize, &TextRow)| row.cursor.map(|column| (place, column));
        self.rows.iter().enumerate().rev().find_map(marked)
    }

    /// At most this many rows: the last ones, or those from the cursor on if it would be left out.
    pub fn window(mut self, height: usize) -> Self {
        let height = height.max(1);
        let mut start = self.rows.len().saturating_sub(height);
        if let Some((row, _)) = self.cursor() {
            start = start.min(row);
        }
        self.rows.drain(..start);
        self.rows.truncate(height);
        self
    }
}

/// A row as it is on the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Painted {
    text: String,
    width: usize,
}

/// Knows what is on the terminal, and how to change it.
pub struct Painter {
    size: Size,
    colours: Colours,
    narrowing: Narrowing,
    /// The keyboard protocol; it must be switched on again for the alternate screen.
    pub protocol: Protocol,
    /// Complete lines that are not on the terminal yet.
    waiting: Vec<String>,
    remembered: VecDeque<String>,
    /// The last line of the stream, which has no end yet; `style` is the style in which it began.
    unfinished: String,
    style: Style,
    /// The rows of the live area on the terminal, as painted for `painted_size` with the cursor at `at`.
    painted: Vec<Painted>,
    painted_size: Size,
    at: (usize, usize),
    shows_cursor: bool,
    /// The alternate screen, if it is shown.
    sheet: Option<Vec<Painted>>,
    sheet_size: Size,
}

impl Painter {
    /// A painter for a terminal of this size, whose cursor is at the beginning of a row.
    pub fn new(size: Size, colours: Colours, narrowing: Narrowing) -> Self {
        Self {
            size,
            colours,
            narrowing,
            protocol: Protocol::Legacy,
            waiting: Vec::new(),
            remembered: VecDeque::new(),
            unfinished: String::new(),
            style: Style::default(),
            painted: Vec::new(),
            painted_size: size,
            at: (0, 0),
            shows_cursor: true,
            sheet: None,
            sheet_size: size,
        }
    }

    pub fn size(&self) -> Size {
        self.size
    }

    /// Notes that the terminal has another size now.
    pub fn resize(&mut self, size: Size) {
        self.size = size;
    }

    /// Puts whole lines into the scrollback, above the unfinished line of the stream.
    pub fn print(&mut self, text: &str) {
        let mut style = Style::default();
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            let row = TextRow::read_on(line, &mut style);
            self.commit(&row);
        }
    }

    /// Adds to the stream. A line goes into the scrollback when it ends.
    pub fn stream(&mut self, text: &str) {
        self.unfinished.push_str(text);
        while let Some(end) = self.unfinished.find('\n') {
            let line: String = self.unfinished.drain(..=end).collect();
            let row = TextRow::read_on(line.trim_end_matches('\n'), &mut self.style);
            self.commit(&row);
        }
    }

    /// Ends the stream: the unfinished line ends, and its style does not continue.
    pub fn finish(&mut self) {
        if !self.unfinished.is_empty() {
            self.stream("\n");
        }
        self.style = Style::default();
    }

    fn commit(&mut self, row: &TextRow) {
        let line = row.encode(self.colours);
        if self.remembered.len() == REMEMBERED_LINES {
            self.remembered.pop_front();
        }
        self.remembered.push_back(line.clone());
        self.waiting.push(line);
    }

    /// The unfinished line of the stream, in rows.
    pub fn unfinished(&self) -> Vec<TextRow> {
        if self.unfinished.is_empty() {
            return Vec::new();
        }
        TextRow::read_on(&self.unfinished, &mut self.style.clone()).wrapped(self.size.columns)
    }

    /// How many rows are below the cursor on the ordinary screen.
    pub fn rows_below(&self) -> usize {
        self.painted.len().saturating_sub(self.at.0 + 1)
    }

    /// The bytes that make the terminal show the live area. Empty if it shows it already.
    pub fn paint(&mut self, frame: Frame) -> String {
        let frame = frame.window(self.size.rows);
        let cursor = frame.cursor();
        let rows: Vec<Painted> = frame.rows.iter().map(|row| self.encode(row)).collect();
        let mut out = String::new();
        self.leave_sheet(&mut out);
        let resized = self.size != self.painted_size;
        if resized || !self.waiting.is_empty() {
            self.go_to_top(resized, &mut out);
            for line in self.waiting.drain(..) {
                out.push_str(&line);
                out.push_str("\r\n");
            }
            self.painted.clear();
        }
        let changed = rows != self.painted;
        if changed {
            self.paint_rows(rows, &mut out);
        }
        let moved = cursor.is_some_and(|cursor| cursor != self.at);
        if moved || !out.is_empty() || cursor.is_some() != self.shows_cursor {
            self.place_cursor(cursor, &mut out);
        }
        self.painted_size = self.size;
        synchronised(out)
    }

    fn encode(&self, row: &TextRow) -> Painted {
        let row = row.clone().clipped(self.size.columns);
        Painted {
            text: row.encode(self.colours),
            width: row.width(),
        }
    }

    /// Moves to the first row of the live area and clears it.
    fn go_to_top(&mut self, resized: bool, out: &mut String) {
        let columns = self.size.columns.max(1);
        let above = if resized && self.narrowing == Narrowing::Reflows {
            // Each row may have become several.
            let broken = |row: &Painted| row.width.div_ceil(columns).max(1);
            self.painted[..self.at.0.min(self.painted.len())]
                .iter()
                .map(broken)
                .sum::<usize>()
                + self.at.1 / columns
        } else {
            self.at.0
        };
        up(above, out);
        out.push('\r');
        if resized {
            // It is unknown what is left of the live area. Rows are cleared one by one, because clearing the whole
            // screen at once puts it into the scrollback of some terminals.
            out.push_str("\x1b7");
            for _ in 0..self.size.rows {
                out.push_str("\x1b[2K\x1b[1B");
            }
            out.push_str("\x1b8");
        } else {
            for row in 0..self.painted.len() {
                out.push_str(if row == 0 { "\x1b[2K" } else { "\x1b[1B\x1b[2K" });
            }
            up(self.painted.len().saturating_sub(1), out);
        }
        self.at = (0, 0);
    }

    /// Writes the rows that differ.
    fn paint_rows(&mut self, rows: Vec<Painted>, out: &mut String) {
        // The terminal must not wrap a row that is wider than it is, or the next rows would be misplaced.
        out.push_str("\x1b[?7l");
        let mut at = self.at.0;
        for (place, row) in rows.iter().enumerate() {
            let old = self.painted.get(place);
            if old == Some(row) {
                continue;
            }
            if old.is_none() && place > 0 {
                go(at, place - 1, out);
                out.push_str("\r\n");
            } else {
                go(at, place, out);
                out.push('\r');
            }
            at = place;
            out.push_str(&row.text);
            if row.width < self.size.columns {
                out.push_str("\x1b[K");
            }
        }
        for place in rows.len().max(1)..self.painted.len() {
            go(at, place, out);
            out.push_str("\r\x1b[2K");
            at = place;
        }
        if rows.is_empty() && !self.painted.is_empty() {
            go(at, 0, out);
            out.push_str("\r\x1b[2K");
            at = 0;
        }
        out.push_str("\x1b[?7h");
        self.painted = rows;
        self.at = (at, 0);
    }

    fn place_cursor(&mut self, cursor: Option<(usize, usize)>, out: &mut String) {
        // Without a cursor mark it stays in the last row.
        let target = cursor.unwrap_or((self.painted.len().saturating_sub(1), 0));
        go(self.at.0, target.0, out);
        out.push_str(&format!("\x1b[{}G", target.1 + 1));
        self.at = target;
        self.shows_cursor = cursor.is_some();
        if self.shows_cursor {
            out.push_str("\x1b[?25h");
        }
    }

    /// The bytes that show a full-screen frame on the alternate screen. The live area stays as it is below it.
    pub fn paint_sheet(&mut self, frame: Frame) -> String {
        let cursor = frame.cursor();
        let mut rows: Vec<Painted> = frame.rows.iter().map(|row| self.encode(row)).collect();
        rows.resize(
            self.size.rows,
            Painted {
                text: String::new(),
                width: 0,
            },
        );
        let mut out = String::new();
        if self.sheet.is_none() {
            out.push_str("\x1b[?1049h");
            if self.protocol == Protocol::Kitty {
                out.push_str(KITTY_ON);
            }
        }
        let old = self.sheet.take().filter(|_| self.sheet_size == self.size);
        let mut body = String::new();
        for (place, row) in rows.iter().enumerate() {
            if old.as_ref().and_then(|old| old.get(place)) == Some(row) {
                continue;
            }
            body.push_str(&format!("\x1b[{};1H\x1b[2K{}", place + 1, row.text));
        }
        if !body.is_empty() {
            out.push_str(&format!("\x1b[?7l{body}\x1b[?7h"));
        }
        if let Some((row, column)) = cursor {
            out.push_str(&format!("\x1b[{};{}H\x1b[?25h", row + 1, column + 1));
        }
        self.shows_cursor = cursor.is_some();
        self.sheet = Some(rows);
        self.sheet_size = self.size;
        synchronised(out)
    }

    fn leave_sheet(&mut self, out: &mut String) {
        if self.sheet.take().is_some() {
            if self.protocol == Protocol::Kitty {
                out.push_str(KITTY_OFF);
            }
            out.push_str("\x1b[?1049l");
        }
    }

    /// The latest text of the ordinary screen, and below it the live area: at most one screen.
    pub fn picture(&self, live: Frame) -> Frame {
        let room = self.size.rows.saturating_sub(live.rows.len());
        let mut above: Vec<TextRow> = Vec::new();
        for line in self.remembered.iter().rev() {
            if above.len() >= room {
                break;
            }
            let mut rows = TextRow::read(line).wrapped(self.size.columns);
            rows.append(&mut above);
            above = rows;
        }
        above.drain(..above.len().saturating_sub(room));
        let mut rows = above;
        rows.extend(live.rows);
        Frame { rows }.window(self.size.rows)
    }

    /// The bytes that remove the live area and leave the cursor where it began, with all lines in the scrollback.
    pub fn clear(&mut self) -> String {
        let bytes = self.paint(Frame::default());
        self.shows_cursor = true;
        bytes + "\x1b[?25h"
    }

    /// Forgets the live area, because something else has written on the terminal.
    pub fn forget(&mut self) {
        self.painted.clear();
        self.at = (0, 0);
        self.sheet = None;
        self.painted_size = self.size;
    }
}

/// Asks the terminal for the kitty protocol: unambiguous keys, their repeats and releases, their positions.
pub const KITTY_ON: &str = "\x1b[>7u";
/// Restores the previous keyboard protocol.
pub const KITTY_OFF: &str = "\x1b[<u";

/// Makes the terminal show the whole update at once.
fn synchronised(out: String) -> String {
    if out.is_empty() {
        return out;
    }
    format!("\x1b[?2026h\x1b[?25l{out}\x1b[?2026l")
}

fn go(from: usize, to: usize, out: &mut String) {
    if to > from {
        out.push_str(&format!("\x1b[{}B", to - from));
    } else {
        up(from - to, out);
    }
}

fn up(rows: usize, out: &mut String) {
    if rows > 0 {
        out.push_str(&format!("\x1b[{rows}A"));
    }
}
