//! Text as a terminal shows it: cells with a width and a style, and nothing in it that could control the terminal.
//!
//! Lines come from models, tools and components. Styles (SGR) and links (OSC 8) are kept; every other escape sequence
//! and control character is dropped here, and there is no other way to the terminal.

use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Put into a line where the hardware cursor belongs. Any application program command that ends with `:c` counts, so
/// that components of other systems can use their own.
pub const CURSOR_MARKER: &str = "\x1b_screen:c\x07";

/// How many columns lie between tabs.
const TAB: usize = 8;

/// Attributes of a style: the code that switches one on, and the one that switches it off. Concealed text (8) is not
/// among them: all text must be visible.
const ATTRIBUTES: &[(u16, u16)] = &[
    (1, 22),
    (2, 22),
    (3, 23),
    (5, 25),
    (6, 25),
    (7, 27),
    (9, 29),
    (53, 55),
];

/// How text looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Style {
    /// One bit for each of [`ATTRIBUTES`].
    attributes: u16,
    underline: Option<String>,
    foreground: Option<String>,
    background: Option<String>,
    underline_colour: Option<String>,
    link: Option<String>,
}

impl Style {
    /// Applies the parameters of an SGR sequence.
    fn apply(&mut self, parameters: &str) {
        let mut parts = parameters.split(';');
        while let Some(part) = parts.next() {
            let head = part.split(':').next().unwrap_or_default();
            match head.parse::<u16>().unwrap_or(0) {
                0 => {
                    let link = self.link.take();
                    *self = Self {
                        link,
                        ..Self::default()
                    };
                }
                4 => self.underline = (part != "4:0").then(|| part.to_string()),
                21 => self.underline = Some("21".into()),
                24 => self.underline = None,
                30..=37 | 90..=97 => self.foreground = Some(part.to_string()),
                40..=47 | 100..=107 => self.background = Some(part.to_string()),
                38 => self.foreground = colour(part, &mut parts),
                48 => self.background = colour(part, &mut parts),
                58 => self.underline_colour = colour(part, &mut parts),
                39 => self.foreground = None,
                49 => self.background = None,
                59 => self.underline_colour = None,
                code => self.switch(code),
            }
        }
    }

    fn switch(&mut self, code: u16) {
        for (bit, (on, off)) in ATTRIBUTES.iter().enumerate() {
            if code == *on {
                self.attributes |= 1 << bit;
            } else if code == *off {
                self.attributes &= !(1 << bit);
            }
        }
    }

    /// The sequence that makes a terminal write in this style, whatever the style before.
    fn encode(&self, colours: Colours, out: &mut String) {
        out.push_str("\x1b[0");
        for (bit, (on, _)) in ATTRIBUTES.iter().enumerate() {
            if self.attributes & (1 << bit) != 0 {
                out.push_str(&format!(";{on}"));
            }
        }
        let colour = [&self.foreground, &self.background, &self.underline_colour];
        let colour = colour.into_iter().filter(|_| colours == Colours::All);
        for code in colour.chain([&self.underline]).flatten() {
            out.push(';');
            out.push_str(code);
        }
        out.push('m');
    }
}

/// The rest of a colour's parameters: `38:5:1` is complete, `38;5;1` and `38;2;1;2;3` continue.
fn colour<'a>(part: &str, rest: &mut impl Iterator<Item = &'a str>) -> Option<String> {
    if part.contains(':') {
        return Some(part.to_string());
    }
    let kind = rest.next()?;
    let count = match kind {
        "5" => 1,
        "2" => 3,
        _ => return None,
    };
    let values: Vec<&str> = rest.take(count).collect();
    (values.len() == count).then(|| format!("{part};{kind};{}", values.join(";")))
}

/// Whether colours are written. Bold, underline and the like always are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    All,
    None,
}

/// One character of a terminal, as a reader sees it: with everything that combines with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    pub text: String,
    pub width: usize,
    pub style: Arc<Style>,
}

/// A line in cells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextRow {
    pub cells: Vec<Cell>,
    /// The column of the cursor marker, if it is in this line.
    pub cursor: Option<usize>,
}

impl TextRow {
    /// Reads a line that stands for itself.
    pub fn read(line: &str) -> Self {
        Self::read_on(line, &mut Style::default())
    }

    /// Reads a line of a text whose style continues from line to line.
    pub fn read_on(line: &str, style: &mut Style) -> Self {
        let mut row = Self::default();
        let mut column = 0;
        let mut current = Arc::new(style.clone());
        let mut rest = line;
        while !rest.is_empty() {
            let plain = rest.find(|c: char| c.is_control()).unwrap_or(rest.len());
            column += row.append(&rest[..plain], &current);
            rest = &rest[plain..];
            let Some(control) = rest.chars().next() else { break };
            if control == '\t' {
                let blanks = TAB - column % TAB;
                column += row.append(&" ".repeat(blanks), &current);
            }
            if control != '\x1b' {
                rest = &rest[control.len_utf8()..];
                continue;
            }
            let (escape, length) = escape(rest);
            rest = &rest[length..];
            match escape {
                Escape::Style(parameters) => style.apply(parameters),
                Escape::Link(address) => style.link = address.map(ToString::to_string),
                Escape::Cursor => row.cursor = Some(column),
                Escape::Other => {}
            }
            if *current != *style {
                current = Arc::new(style.clone());
            }
        }
        row
    }

    fn append(&mut self, text: &str, style: &Arc<Style>) -> usize {
        let mut columns = 0;
        for text in text.graphemes(true) {
            let width = text.width();
            match self.cells.last_mut() {
                // A character without width belongs to the one before it.
                Some(last) if width == 0 => last.text.push_str(text),
                None if width == 0 => {}
                _ => self.cells.push(Cell {
                    text: text.to_string(),
                    width,
                    style: Arc::clone(style),
                }),
            }
            columns += width;
        }
        columns
    }

    /// The row without its links: words of others must not lead where they do not say.
    pub fn unlinked(mut self) -> Self {
        for cell in self.cells.iter_mut().filter(|cell| cell.style.link.is_some()) {
            cell.style = Arc::new(Style {
                link: None,
                ..(*cell.style).clone()
            });
        }
        self
    }

    /// How many columns the row takes.
    pub fn width(&self) -> usize {
        self.cells.iter().map(|cell| cell.width).sum()
    }

    /// The row broken into rows of at most this width; at least one.
    pub fn wrapped(self, width: usize) -> Vec<Self> {
        let width = width.max(1);
        let mut rows = vec![Self::default()];
        let (mut column, mut passed) = (0, 0);
        for cell in self.cells {
            // A character that is wider than the whole screen cannot be shown.
            if cell.width > width {
                continue;
            }
            if column + cell.width > width {
                rows.push(Self::default());
                column = 0;
            }
            if self.cursor == Some(passed) {
                rows.last_mut().expect("there is a row").cursor = Some(column);
            }
            passed += cell.width;
            column += cell.width;
            rows.last_mut().expect("there is a row").cells.push(cell);
        }
        if self.cursor.is_some_and(|cursor| cursor >= passed) {
            if column >= width {
                rows.push(Self::default());
                column = 0;
            }
            rows.last_mut().expect("there is a row").cursor = Some(column);
        }
        rows
    }

    /// The row broken between its words into rows of at most this width; at least one. A word that is longer than a row
    /// is broken in itself, and so is a text without blanks between its wide characters.
    pub fn wrapped_at_words(self, width: usize) -> Vec<Self> {
        let width = width.max(1);
        let (mut rows, mut row): (Vec<Vec<Cell>>, Vec<Cell>) = (Vec::new(), Vec::new());
        let (mut column, mut break_at) = (0, 0);
        for cell in self.cells.into_iter().filter(|cell| cell.width <= width) {
            let is_blank = cell.text == " ";
            // Blanks at a break are not shown.
            if is_blank && (column >= width || (row.is_empty() && !rows.is_empty())) {
                break_at = row.len();
                continue;
            }
            while column + cell.width > width {
                let has_words = row[..break_at].iter().any(|cell| cell.text != " ");
                let at = if has_words { break_at } else { row.len() };
                let rest = row.split_off(at);
                while row.last().is_some_and(|last| last.text == " ") {
                    row.pop();
                }
                rows.push(std::mem::replace(&mut row, rest));
                column = row.iter().map(|cell| cell.width).sum();
                break_at = 0;
            }
            column += cell.width;
            let breaks = is_blank || cell.width > 1;
            row.push(cell);
            if breaks {
                break_at = row.len();
            }
        }
        rows.push(row);
        let rows = rows.into_iter().map(|cells| Self { cells, cursor: None });
        rows.collect()
    }

    /// The row broken between its words; the further rows are indented like the first one, and below what follows a
    /// mark such as `•` or `+`.
    pub fn wrapped_hanging(mut self, width: usize) -> Vec<Self> {
        let indent = self.indentation();
        let room = width.saturating_sub(indent);
        if self.width() <= width || room < width / 2 {
            return self.wrapped_at_words(width);
        }
        let body = Self {
            cells: self.cells.split_off(indent),
            cursor: None,
        };
        let rows = body.wrapped_at_words(room).into_iter().enumerate();
        let indented = rows.map(|(place, row)| {
            let before = match place {
                0 => std::mem::take(&mut self.cells),
                _ => vec![blank(); indent],
            };
            Self {
                cells: [before, row.cells].concat(),
                cursor: None,
            }
        });
        indented.collect()
    }

    /// How many cells stand before the text: blanks, and a mark of one column with the blanks after it.
    fn indentation(&self) -> usize {
        let blanks = |from: usize| {
            let rest = self.cells[from..].iter();
            rest.take_while(|cell| cell.text == " ").count()
        };
        let start = blanks(0);
        let is_mark = |cell: &Cell| cell.width == 1 && !cell.text.chars().any(char::is_alphanumeric);
        match (self.cells.get(start).is_some_and(is_mark), start + 1) {
            (true, after) if blanks(after) > 0 => after + blanks(after),
            _ => start,
        }
    }

    /// The row cut off at this width.
    pub fn clipped(mut self, width: usize) -> Self {
        let mut columns = 0;
        let fits = self.cells.iter().take_while(|cell| {
            columns += cell.width;
            columns <= width
        });
        let fits = fits.count();
        self.cells.truncate(fits);
        self.cursor = self.cursor.map(|cursor| cursor.min(width.saturating_sub(1)));
        self
    }

    /// Cells from one column to another. A wide character that is cut in two becomes blanks.
    fn columns(&self, from: usize, to: usize) -> Vec<Cell> {
        let mut column = 0;
        let mut cells = Vec::new();
        for cell in &self.cells {
            let (start, end) = (column, column + cell.width);
            column = end;
            if start >= from && end <= to {
                cells.push(cell.clone());
            } else if end > from && start < to {
                cells.extend((start.max(from)..end.min(to)).map(|_| blank()));
            }
        }
        let reached = column.clamp(from, to);
        cells.extend((reached..to).map(|_| blank()));
        cells
    }

    /// Another row put on top of this one, from `column` on, `width` columns wide.
    pub fn covered(&self, over: &Self, column: usize, width: usize) -> Self {
        let own = self.width();
        let mut cells = self.columns(0, column);
        cells.extend(over.columns(0, width));
        if own > column + width {
            cells.extend(self.columns(column + width, own));
        }
        Self {
            cells,
            cursor: over.cursor.map(|cursor| cursor + column),
        }
    }

    /// The bytes that a terminal is sent for the row. They end in no style, as they began.
    pub fn encode(&self, colours: Colours) -> String {
        let plain = Style::default();
        let mut out = String::new();
        let mut style: &Style = &plain;
        for cell in &self.cells {
            if *cell.style != *style {
                if cell.style.link != style.link {
                    let address = cell.style.link.as_deref().unwrap_or_default();
                    out.push_str(&format!("\x1b]8;;{address}\x1b\\"));
                }
                cell.style.encode(colours, &mut out);
                style = &cell.style;
            }
            out.push_str(&cell.text);
        }
        if style.link.is_some() {
            out.push_str("\x1b]8;;\x1b\\");
        }
        if *style != plain {
            out.push_str("\x1b[0m");
        }
        out
    }

    /// The characters of the row.
    pub fn text(&self) -> String {
        self.cells.iter().map(|cell| cell.text.as_str()).collect()
    }
}

fn blank() -> Cell {
    Cell {
        text: " ".into(),
        width: 1,
        style: Arc::default(),
    }
}

/// A text whose lines are broken between their words where they are wider than `width`. A line with a word for which
/// there is no room stays whole: a terminal that breaks it itself lets it be copied.
pub fn wrapped(text: &str, width: usize) -> String {
    let mut style = Style::default();
    let lines = text.split('\n').map(|line| {
        let is_plain = style == Style::default();
        let row = TextRow::read_on(line, &mut style);
        let room = width.saturating_sub(row.indentation());
        let stays = row.width() <= width || row.text().split_whitespace().any(|word| word.width() > room);
        if stays {
            return if is_plain {
                line.to_owned()
            } else {
                row.encode(Colours::All)
            };
        }
        let rows = row.wrapped_hanging(width).into_iter();
        let rows: Vec<String> = rows.map(|row| row.encode(Colours::All)).collect();
        rows.join("\n")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// How many columns a line takes, without its escape sequences.
pub fn width(line: &str) -> usize {
    TextRow::read(line).width()
}

/// A line cut off at a width, with its styles.
pub fn clip(line: &str, width: usize) -> String {
    TextRow::read(line).clipped(width).encode(Colours::All)
}

/// What an escape sequence means here.
enum Escape<'a> {
    Style(&'a str),
    Link(Option<&'a str>),
    Cursor,
    Other,
}

/// Reads the escape sequence at the beginning of a text, and returns its length.
fn escape(text: &str) -> (Escape<'_>, usize) {
    let bytes = text.as_bytes();
    match bytes.get(1) {
        Some(b'[') => control_sequence(text),
        Some(kind @ (b']' | b'P' | b'X' | b'^' | b'_')) => string_sequence(text, *kind),
        Some(0x20..=0x2f) => {
            let inner = bytes[1..].iter().take_while(|byte| (0x20..=0x2f).contains(*byte));
            let end = 1 + inner.count();
            let last = usize::from(bytes.get(end).is_some_and(u8::is_ascii_graphic));
            (Escape::Other, end + last)
        }
        Some(0x30..=0x7e) => (Escape::Other, 2),
        _ => (Escape::Other, 1),
    }
}

fn control_sequence(text: &str) -> (Escape<'_>, usize) {
    let rest = &text[2..];
    let middle = rest
        .bytes()
        .take_while(|byte| (0x20..=0x3f).contains(byte))
        .count();
    match rest.as_bytes().get(middle) {
        Some(b'm') if is_style(&rest[..middle]) => (Escape::Style(&rest[..middle]), middle + 3),
        Some(0x40..=0x7e) => (Escape::Other, middle + 3),
        _ => (Escape::Other, middle + 2),
    }
}

fn is_style(parameters: &str) -> bool {
    parameters
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b';' || byte == b':')
}

/// A sequence that contains a text and ends with BEL or ST. One without an end hides the rest of its line.
fn string_sequence(text: &str, kind: u8) -> (Escape<'_>, usize) {
    let rest = &text[2..];
    let (inner, length) = match (rest.find('\x07'), rest.find("\x1b\\")) {
        (Some(bell), Some(end)) if end < bell => (&rest[..end], end + 2),
        (Some(bell), _) => (&rest[..bell], bell + 1),
        (None, Some(end)) => (&rest[..end], end + 2),
        (None, None) => (rest, rest.len()),
    };
    let harmless = !inner.chars().any(char::is_control);
    let escape = match kind {
        b']' if harmless => inner
            .strip_prefix("8;")
            .and_then(|link| link.split_once(';'))
            .map_or(Escape::Other, |(_, address)| {
                Escape::Link((!address.is_empty()).then_some(address))
            }),
        b'_' if inner.ends_with(":c") => Escape::Cursor,
        _ => Escape::Other,
    };
    (escape, length + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_broken_between_its_words() {
        let table: [(&str, usize, &[&str]); 10] = [
            ("one two three", 7, &["one two", "three"]),
            ("one two three", 8, &["one two", "three"]),
            ("one two three", 100, &["one two three"]),
            ("unbreakable words", 5, &["unbre", "akabl", "e", "words"]),
            ("a   b", 2, &["a", "b"]),
            ("  indented text", 10, &["  indented", "text"]),
            ("模型說了很多", 5, &["模型", "說了", "很多"]),
            ("see 模型說了", 7, &["see 模", "型說了"]),
            ("  unbreakable", 6, &["  unbr", "eakabl", "e"]),
            ("", 5, &[""]),
        ];
        for (line, width, wanted) in table {
            let rows = TextRow::read(line).wrapped_at_words(width);
            let rows: Vec<String> = rows.iter().map(TextRow::text).collect();
            assert_eq!(rows, wanted, "{line:?} in {width}");
        }
        let rows = TextRow::read("\x1b[1mbold words\x1b[0m").wrapped_at_words(5);
        assert_eq!(rows[1].encode(Colours::All), "\x1b[0;1mwords\x1b[0m");
    }

    #[test]
    fn further_rows_are_indented_like_the_first_one() {
        let table: [(&str, usize, &[&str]); 5] = [
            ("  one two three", 9, &["  one two", "  three"]),
            ("• one two three", 9, &["• one two", "  three"]),
            ("+   one two three", 12, &["+   one two", "    three"]),
            ("! short", 9, &["! short"]),
            ("a one two three", 9, &["a one two", "three"]),
        ];
        for (line, width, wanted) in table {
            let rows = TextRow::read(line).wrapped_hanging(width);
            let rows: Vec<String> = rows.iter().map(TextRow::text).collect();
            assert_eq!(rows, wanted, "{line:?} in {width}");
        }
        assert_eq!(wrapped("a bc def ghi\n", 8), "a bc def\nghi\n");
        assert_eq!(wrapped("see http://a.b/c", 8), "see http://a.b/c");
    }

    #[test]
    fn only_styles_and_links_reach_the_terminal() {
        let table = [
            ("plain", "plain"),
            ("\x1b[1;31mred\x1b[0m!", "\x1b[0;1;31mred\x1b[0m!"),
            ("\x1b[38;5;9ma\x1b[39mb", "\x1b[0;38;5;9ma\x1b[0mb"),
            ("\x1b[48;2;1;2;3ma", "\x1b[0;48;2;1;2;3ma\x1b[0m"),
            ("\x1b[4:3;58:5:1ma\x1b[24;59mb", "\x1b[0;58:5:1;4:3ma\x1b[0mb"),
            (
                "\x1b]8;;http://a\x07x\x1b]8;;\x07y",
                "\x1b]8;;http://a\x1b\\\x1b[0mx\x1b]8;;\x1b\\\x1b[0my",
            ),
            ("a\x1b[2Jb\x1b[3;4Hc\x1b[?1049hd", "abcd"),
            ("a\x1b]0;title\x07b\x1b]52;c;aGk=\x1b\\c", "abc"),
            ("a\x1bPq#0\x1b\\b\x1b^x\x1b\\c\x1bcd\x1b(0e", "abcde"),
            ("a\x1b]8;;never ends", "a"),
            ("a\x1b[>4;2mb\x1b[8mc", "abc"),
            ("a\rb\x08c\x07d\u{9b}2Je", "abcd2Je"),
            ("a\tb", "a       b"),
            ("a\x1b", "a"),
            ("a\x1b[", "a"),
            ("a\x1b[3é", "aé"),
        ];
        for (line, wanted) in table {
            assert_eq!(TextRow::read(line).encode(Colours::All), wanted, "{line:?}");
        }
        assert_eq!(
            TextRow::read("\x1b[1;31mx").encode(Colours::None),
            "\x1b[0;1mx\x1b[0m"
        );
    }

    #[test]
    fn width_is_what_a_reader_sees() {
        for (line, wanted) in [
            ("", 0),
            ("abc", 3),
            ("日本", 4),
            ("e\u{301}x", 2),
            ("👨‍👩‍👧!", 3),
            ("\x1b[31m👍\x1b[0m", 2),
            ("\u{301}", 0),
        ] {
            assert_eq!(width(line), wanted, "{line:?}");
        }
    }

    #[test]
    fn a_style_goes_on_in_the_next_line() {
        let mut style = Style::default();
        TextRow::read_on("\x1b[31ma", &mut style);
        assert_eq!(
            TextRow::read_on("b\x1b[0mc", &mut style).encode(Colours::All),
            "\x1b[0;31mb\x1b[0mc"
        );
    }

    #[test]
    fn rows_break_before_what_does_not_fit() {
        let broken = |line: &str, width| -> Vec<String> {
            TextRow::read(line)
                .wrapped(width)
                .iter()
                .map(TextRow::text)
                .collect()
        };
        assert_eq!(broken("abcde", 2), ["ab", "cd", "e"]);
        assert_eq!(broken("a日本", 3), ["a日", "本"]);
        assert_eq!(broken("日", 1), [""]);
        assert_eq!(broken("", 5), [""]);
        let cursor = |line: String, width| -> Vec<Option<usize>> {
            TextRow::read(&line)
                .wrapped(width)
                .iter()
                .map(|row| row.cursor)
                .collect()
        };
        assert_eq!(cursor(format!("abc{CURSOR_MARKER}d"), 2), [None, Some(1)]);
        assert_eq!(cursor(format!("ab{CURSOR_MARKER}"), 2), [None, Some(0)]);
        assert_eq!(cursor(format!("{CURSOR_MARKER}ab"), 2), [Some(0)]);
    }

    #[test]
    fn a_covered_row_keeps_its_columns() {
        let cover = |base: &str, over: &str, column, width| {
            TextRow::read(base)
                .covered(&TextRow::read(over), column, width)
                .text()
        };
        assert_eq!(cover("abcdef", "XY", 2, 2), "abXYef");
        assert_eq!(cover("abcdef", "X", 2, 3), "abX  f");
        assert_eq!(cover("ab", "X", 4, 1), "ab  X");
        assert_eq!(cover("日本語", "XYZ", 1, 3), " XYZ語");
    }
}
