//! The text that is being written, and the cursor in it.
//!
//! Positions are bytes of the text and always lie between units: characters as a reader sees them, or the marker of a
//! large paste.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// A paste with more lines or characters than this becomes a marker.
const LARGE_PASTE: (usize, usize) = (10, 1000);

/// A text with its cursor, as it was at some moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Snapshot {
    pub(super) text: String,
    pub(super) cursor: usize,
}

/// A text with its cursor and the pastes that its markers stand for.
#[derive(Default)]
pub(super) struct Buffer {
    text: String,
    cursor: usize,
    /// Paste markers with their texts.
    pastes: Vec<(String, String)>,
}

impl Buffer {
    /// The text as it is shown, with markers for large pastes.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// The text with its pastes.
    pub(super) fn expanded(&self) -> String {
        let mut whole = String::new();
        for unit in self.units(0..self.text.len()) {
            let shown = &self.text[unit];
            whole.push_str(self.pasted(shown).unwrap_or(shown));
        }
        whole
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot {
            text: self.text.clone(),
            cursor: self.cursor,
        }
    }

    /// Goes back to an earlier text, and returns the one that it replaces.
    pub(super) fn restore(&mut self, Snapshot { text, cursor }: Snapshot) -> Snapshot {
        Snapshot {
            text: std::mem::replace(&mut self.text, text),
            cursor: std::mem::replace(&mut self.cursor, cursor),
        }
    }

    /// Replaces the whole text; the cursor is at its end.
    pub(super) fn replace(&mut self, text: String) {
        self.text = text;
        self.cursor = self.text.len();
    }

    /// Inserts a text at the cursor.
    pub(super) fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        // The inserted text may combine with the characters around it.
        let end = self.cursor + text.len();
        self.cursor = self.boundary(end);
    }

    /// Inserts a text at the cursor, a large one as a marker.
    pub(super) fn insert_paste(&mut self, text: String) {
        let (lines, characters) = (text.split('\n').count(), text.chars().count());
        let number = self.pastes.len() + 1;
        let marker = if lines > LARGE_PASTE.0 {
            format!("[paste #{number} +{lines} lines]")
        } else if characters > LARGE_PASTE.1 {
            format!("[paste #{number} {characters} chars]")
        } else {
            return self.insert(&text);
        };
        self.insert(&marker);
        self.pastes.push((marker, text));
    }

    /// Removes and returns a part of the text; the cursor is where it was.
    pub(super) fn remove(&mut self, range: Range<usize>) -> String {
        let removed: String = self.text.drain(range.clone()).collect();
        self.cursor = self.boundary(range.start);
        removed
    }

    /// Replaces as many bytes before the cursor by a text. They must be there.
    pub(super) fn replace_before(&mut self, length: usize, text: &str) {
        let start = self.cursor - length;
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
        self.insert(text);
    }

    /// The units that `transpose` swaps: those around the cursor, or before it at the end of a line.
    pub(super) fn pair(&self) -> Option<(Range<usize>, Range<usize>)> {
        let middle = if self.cursor == self.line_end() {
            self.before(self.cursor)
        } else {
            self.cursor
        };
        let (start, end) = (self.before(middle), self.after(middle));
        let is_pair = start >= self.line_start() && start < middle && middle < end;
        is_pair.then_some((start..middle, middle..end))
    }

    /// Swaps two neighbouring units; the cursor is behind them.
    pub(super) fn transpose(&mut self, (first, second): (Range<usize>, Range<usize>)) {
        let swapped = format!("{}{}", &self.text[second.clone()], &self.text[first.clone()]);
        self.text.replace_range(first.start..second.end, &swapped);
        self.cursor = self.boundary(second.end);
    }

    /// Moves the cursor to a position between two units.
    pub(super) fn go(&mut self, to: usize) {
        self.cursor = to;
    }

    /// The next occurrence of a text behind the unit at the cursor.
    pub(super) fn find_after(&self, text: &str) -> Option<usize> {
        let start = self.after(self.cursor);
        let place = self.text[start..].find(text)?;
        Some(self.boundary(start + place))
    }

    /// The last occurrence of a text before the cursor.
    pub(super) fn find_before(&self, text: &str) -> Option<usize> {
        let place = self.text[..self.cursor].rfind(text)?;
        Some(self.boundary(place))
    }

    pub(super) fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |place| place + 1)
    }

    pub(super) fn line_end(&self) -> usize {
        let rest = &self.text[self.cursor..];
        rest.find('\n')
            .map_or(self.text.len(), |place| self.cursor + place)
    }

    pub(super) fn before(&self, at: usize) -> usize {
        self.units(0..at).last().map_or(0, |unit| unit.start)
    }

    pub(super) fn after(&self, at: usize) -> usize {
        self.units(at..self.text.len()).next().map_or(at, |unit| unit.end)
    }

    pub(super) fn word_before(&self) -> usize {
        let mut units: Vec<Range<usize>> = self.units(0..self.cursor).collect();
        units.reverse();
        self.word(&units).map_or(self.cursor, |unit| unit.start)
    }

    pub(super) fn word_after(&self) -> usize {
        let units: Vec<Range<usize>> = self.units(self.cursor..self.text.len()).collect();
        self.word(&units).map_or(self.cursor, |unit| unit.end)
    }

    /// The last unit of the first word, or of the blanks if nothing else follows.
    fn word<'a>(&self, units: &'a [Range<usize>]) -> Option<&'a Range<usize>> {
        let mut kind = None;
        let word = units.iter().take_while(|unit| {
            let this = Kind::of(&self.text[(*unit).clone()]);
            let goes_on = kind.is_none_or(|kind| kind == this);
            kind = kind.or((this != Kind::Blank).then_some(this));
            goes_on
        });
        word.last()
    }

    /// The paste behind a marker.
    pub(super) fn pasted(&self, unit: &str) -> Option<&str> {
        let is = |(marker, _): &&(String, String)| marker == unit;
        self.pastes.iter().find(is).map(|(_, paste)| paste.as_str())
    }

    /// The units of a part of the text, which begins between two of them.
    pub(super) fn units(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
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

    /// The nearest position between two units, not before `at`.
    fn boundary(&self, at: usize) -> usize {
        self.units(0..self.text.len())
            .map(|unit| unit.end)
            .find(|end| *end >= at)
            .filter(|_| at > 0)
            .unwrap_or(at.min(self.text.len()))
    }
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

/// The text without control characters, except for line ends and tabs.
pub(super) fn harmless(text: &str) -> String {
    text.replace("\r\n", "\n")
        .replace('\r', "\n")
        .chars()
        .filter(|character| !character.is_control() || matches!(character, '\n' | '\t'))
        .collect()
}
