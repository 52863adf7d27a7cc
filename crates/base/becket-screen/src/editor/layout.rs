//! The text as rows of a certain width.

use std::ops::Range;

use super::buffer::Buffer;
use crate::text::{self, CURSOR_MARKER};

/// How a tab looks in the editor.
const TAB: &str = "    ";

/// The rows of a text, broken between words if possible.
pub(super) struct Layout<'a> {
    buffer: &'a Buffer,
    rows: Vec<Range<usize>>,
}

impl<'a> Layout<'a> {
    pub(super) fn of(buffer: &'a Buffer, most: usize) -> Self {
        let mut rows = Vec::new();
        let mut start = 0;
        for line in buffer.text().split('\n') {
            let end = start + line.len();
            let (mut row, mut column, mut space) = (start, 0, None);
            for unit in buffer.units(start..end) {
                let shown = &buffer.text()[unit.clone()];
                let width = text::width(unit_shown(shown));
                if column + width > most && unit.start > row {
                    let cut = space.unwrap_or(unit.start);
                    rows.push(row..cut);
                    (row, space) = (cut, None);
                    column = text::width(&line_shown(buffer, cut..unit.start, None));
                }
                column += width;
                if shown.chars().all(char::is_whitespace) {
                    space = Some(unit.end);
                }
            }
            rows.push(row..end);
            start = end + 1;
        }
        Self { buffer, rows }
    }

    pub(super) fn count(&self) -> usize {
        self.rows.len()
    }

    /// Row and column of the cursor.
    pub(super) fn cursor(&self) -> (usize, usize) {
        let at = self.buffer.cursor();
        let row = self.rows.iter().rposition(|row| row.start <= at).unwrap_or(0);
        let Range { start, end } = self.rows[row];
        (
            row,
            text::width(&line_shown(self.buffer, start..at.min(end), None)),
        )
    }

    /// The position in a row that is nearest to a column, not behind it.
    pub(super) fn position(&self, row: usize, column: usize) -> usize {
        let Range { start, end } = self.rows[row];
        let mut at = start;
        let mut columns = 0;
        for unit in self.buffer.units(start..end) {
            columns += text::width(unit_shown(&self.buffer.text()[unit.clone()]));
            if columns > column {
                break;
            }
            at = unit.end;
        }
        // The end of a broken row is the beginning of the next one.
        let broken = self.rows.get(row + 1).is_some_and(|next| next.start == at);
        if broken && at > start {
            at = self.buffer.before(at);
        }
        at
    }

    /// A row as it is shown, with the mark of the cursor if that is to be in it.
    pub(super) fn shown(&self, row: usize, cursor: Option<usize>) -> String {
        line_shown(self.buffer, self.rows[row].clone(), cursor)
    }
}

fn unit_shown(unit: &str) -> &str {
    match unit {
        "\t" => TAB,
        "\n" => "",
        _ => unit,
    }
}

fn line_shown(buffer: &Buffer, range: Range<usize>, cursor: Option<usize>) -> String {
    let mut line = String::new();
    for unit in buffer.units(range.clone()) {
        if cursor == Some(unit.start) {
            line.push_str(CURSOR_MARKER);
        }
        let unit = &buffer.text()[unit];
        let shown = unit_shown(unit);
        if buffer.pasted(unit).is_some() {
            line.push_str(&format!("\x1b[2m{shown}\x1b[22m"));
        } else {
            line.push_str(shown);
        }
    }
    if cursor.is_some_and(|cursor| cursor >= range.end) {
        line.push_str(CURSOR_MARKER);
    }
    line
}
