//! A line that a tool has written, as it may be shown: its colours stay, and nothing else that steers a terminal. Lines
//! of a diff get colours.

use becket_screen::{Colours, TextRow};
use becket_system::harmless;

use super::style::Style;

/// How many columns of a line are shown.
const LONGEST_LINE: usize = 200;

/// What an output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Usual,
    Failure,
    Diff,
}

impl Kind {
    /// What an output is, by whether its call failed and by its lines.
    pub fn of(output: &str, is_error: bool) -> Self {
        let begins_diff = |line: &str| line.starts_with("diff --git ") || is_hunk(line);
        match () {
            () if is_error => Self::Failure,
            () if output.lines().any(begins_diff) => Self::Diff,
            () => Self::Usual,
        }
    }
}

/// Whether a line begins a hunk of a unified diff.
fn is_hunk(line: &str) -> bool {
    line.starts_with("@@ -") && line[4..].contains(" @@")
}

/// A line of a diff in its colours.
pub fn diff_line(line: &str, style: Style) -> String {
    match line.as_bytes() {
        [b'@', b'@', ..] => style.cyan(line),
        [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => style.bold(line),
        [b'+', ..] => style.green(line),
        [b'-', ..] => style.red(line),
        _ => style.dim(line),
    }
}

/// A line of a tool's result, cut if it is very long.
pub fn result_line(line: &str, kind: Kind, style: Style) -> String {
    tool_line(line, style, |line| {
        let line = &shortened(line);
        match kind {
            Kind::Failure => style.red(line),
            Kind::Diff => diff_line(line, style),
            Kind::Usual => style.dim(line),
        }
    })
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// A line of a tool's output. One without colours of its own looks as `plain` makes it.
pub fn tool_line(line: &str, style: Style, plain: impl FnOnce(&str) -> String) -> String {
    // What a line overwrites with a carriage return is not seen on a terminal either.
    let line = line.trim_end_matches('\r');
    let line = line.rsplit('\r').next().unwrap_or_default();
    if !line.contains('\x1b') {
        return plain(&harmless(line));
    }
    let mut row = TextRow::read(line).unlinked().clipped(LONGEST_LINE);
    if !style.is_coloured() {
        return harmless(&row.text());
    }
    for cell in &mut row.cells {
        cell.text = harmless(&cell.text);
    }
    row.encode(Colours::All)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        tool_line(line, Style::coloured(), |line| format!("<{line}>"))
    }

    #[test]
    fn only_colours_of_a_tool_pass() {
        let table = [
            ("plain", "<plain>"),
            ("\x1b[31mred\x1b[0m", "\x1b[0;31mred\x1b[0m"),
            ("a\x1b[2Jb\x1b[8mc\x1b]0;title\x07d", "abcd"),
            ("\x1b]8;;http://evil\x07good\x1b]8;;\x07", "good"),
            ("10 %\r20 %\r", "<20 %>"),
            ("\u{202e}x", "<\u{fffd}x>"),
            ("\x1b[1ma\u{202e}x", "\x1b[0;1ma\u{fffd}x\x1b[0m"),
        ];
        for (line, wanted) in table {
            assert_eq!(shown(line), wanted, "{line:?}");
        }
        assert_eq!(
            shown(&format!("\x1b[1m{}", "x".repeat(500))).matches('x').count(),
            LONGEST_LINE
        );
        assert_eq!(tool_line("\x1b[31mred", Style::plain(), ToOwned::to_owned), "red");
    }

    #[test]
    fn a_diff_is_told_from_other_output() {
        assert_eq!(
            Kind::of("Edited x.\n@@ -1,3 +1,3 @@\n a\n-b\n+c", false),
            Kind::Diff
        );
        assert_eq!(Kind::of("- a point\n+ another", false), Kind::Usual);
        assert_eq!(Kind::of("@@ -1 +1 @@", true), Kind::Failure);
        let style = Style::coloured();
        assert_eq!(result_line("+new", Kind::Diff, style), "\x1b[32m+new\x1b[0m");
        assert_eq!(result_line("-old", Kind::Diff, style), "\x1b[31m-old\x1b[0m");
        assert_eq!(result_line("-old", Kind::Usual, style), "\x1b[2m-old\x1b[0m");
    }
}
