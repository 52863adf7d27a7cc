//! A table of an answer: columns as wide as they need, and cells that are broken where the terminal is too narrow.

use becket_screen::{Colours, TextRow, width as width_of};
use pulldown_cmark::Alignment;

use super::style::Style;

/// What stands between two columns.
const BETWEEN: &str = " │ ";

/// No column gets narrower than this.
const NARROWEST: usize = 4;

/// A table while it is read.
pub struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<String>>,
    row: Vec<String>,
}

impl Table {
    pub fn new(alignments: Vec<Alignment>) -> Self {
        Self {
            alignments,
            rows: Vec::new(),
            row: Vec::new(),
        }
    }

    pub fn add_cell(&mut self, cell: &str) {
        self.row.push(cell.replace('\n', " "));
    }

    pub fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    /// The lines of the table; the first row is its head.
    pub fn lines(&self, room: Option<usize>, style: Style) -> Vec<String> {
        let widths = self.widths(room);
        let mut lines = Vec::new();
        for (place, row) in self.rows.iter().enumerate() {
            let cells: Vec<Vec<String>> = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, width))| {
                    let cell = if place == 0 {
                        style.bold(cell)
                    } else {
                        cell.clone()
                    };
                    self.cell_lines(&cell, column, *width)
                })
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            for line in 0..height {
                let parts = cells
                    .iter()
                    .zip(&widths)
                    .map(|(cell, width)| cell.get(line).cloned().unwrap_or_else(|| " ".repeat(*width)));
                let line = parts.collect::<Vec<_>>().join(&style.dim(BETWEEN));
                lines.push(line.trim_end().to_owned());
            }
            if place == 0 {
                let rules = widths.iter().map(|width| "─".repeat(*width));
                lines.push(style.dim(&rules.collect::<Vec<_>>().join("─┼─")));
            }
        }
        lines
    }

    /// How wide each column is: as wide as its widest cell, or what room there is, shared out from the widest on.
    fn widths(&self, room: Option<usize>) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| width_of(cell)).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..columns).map(widest).collect();
        let between = columns.saturating_sub(1) * width_of(BETWEEN);
        let Some(room) = room.map(|room| room.saturating_sub(between)) else {
            return widths;
        };
        while widths.iter().sum::<usize>() > room {
            let Some(widest) = widths.iter_mut().max().filter(|width| **width > NARROWEST) else {
                break;
            };
            *widest -= 1;
        }
        widths
    }

    /// A cell in lines of that width.
    fn cell_lines(&self, cell: &str, column: usize, width: usize) -> Vec<String> {
        let rows = TextRow::read(cell).wrapped_at_words(width).into_iter();
        let aligned = rows.map(|row| {
            let blank = width.saturating_sub(row.width());
            let text = row.encode(Colours::All);
            let before = match self.alignments.get(column) {
                Some(Alignment::Right) => blank,
                Some(Alignment::Center) => blank / 2,
                _ => 0,
            };
            format!("{}{text}{}", " ".repeat(before), " ".repeat(blank - before))
        });
        aligned.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::render;

    #[test]
    fn columns_stand_below_each_other_also_with_wide_characters() {
        let table = "| name | count |\n|:--|--:|\n| 模型 | 5 |\n| b | 1234567 |\n";
        assert_eq!(
            render(table, Style::plain(), Some(80)),
            "name │   count\n─────┼────────\n模型 │       5\nb    │ 1234567\n\n"
        );
    }

    #[test]
    fn a_table_that_is_too_wide_breaks_its_cells() {
        let table = "| a | words |\n|---|---|\n| b | some more words |\n";
        assert_eq!(
            render(table, Style::plain(), Some(14)),
            "a │ words\n──┼───────────\nb │ some more\n  │ words\n\n"
        );
    }
}
