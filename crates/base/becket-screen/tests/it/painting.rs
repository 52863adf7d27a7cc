//! The painter on a virtual terminal: the visible and the scrolled rows equal a simple model.

use std::num::NonZeroU16;

use becket_screen::{CURSOR_MARKER, Colours, Frame, Narrowing, Painter, Size, TextRow};
use proptest::prelude::*;

/// A terminal and a painter that draws on it.
struct Bench {
    terminal: vt100::Parser,
    painter: Painter,
}

fn cells(number: usize) -> NonZeroU16 {
    NonZeroU16::new(u16::try_from(number).expect("a small number")).expect("more than nothing")
}

fn frame(lines: &[String]) -> Frame {
    Frame {
        rows: lines.iter().map(|line| TextRow::read(line)).collect(),
    }
}

impl Bench {
    fn new(columns: usize, rows: usize) -> Self {
        let size = Size { columns, rows };
        Self {
            terminal: vt100::Parser::new(cells(rows), cells(columns), 10_000),
            painter: Painter::new(size, Colours::All, Narrowing::Cuts),
        }
    }

    fn resize(&mut self, columns: usize, rows: usize) {
        self.terminal.screen_mut().set_size(cells(rows), cells(columns));
        self.painter.resize(Size { columns, rows });
    }

    /// Paints the live area below what the stream has not finished.
    fn paint(&mut self, lines: &[String]) -> String {
        let mut rows = self.painter.unfinished();
        rows.extend(frame(lines).rows);
        let bytes = self.painter.paint(Frame { rows });
        self.terminal.process(bytes.as_bytes());
        bytes
    }

    fn paint_sheet(&mut self, lines: &[String]) {
        let bytes = self.painter.paint_sheet(frame(lines));
        self.terminal.process(bytes.as_bytes());
    }

    fn screen(&self) -> Vec<String> {
        let columns = self.painter.size().columns as u16;
        self.terminal
            .screen()
            .rows(0, columns)
            .map(|row| row.trim_end().to_string())
            .collect()
    }

    /// The scrolled and the visible rows, without blank rows at the end.
    fn all(&mut self) -> Vec<String> {
        let screen = self.terminal.screen_mut();
        let mut rows = Vec::new();
        for back in (1..=screen.scrollback_len()).rev() {
            screen.set_scrollback(back);
            rows.extend(screen.rows(0, 1000).next().map(|row| row.trim_end().to_string()));
        }
        screen.set_scrollback(0);
        rows.extend(self.screen());
        trimmed(rows)
    }
}

fn trimmed(mut rows: Vec<String>) -> Vec<String> {
    while rows.last().is_some_and(String::is_empty) {
        rows.pop();
    }
    rows
}

/// How wide a character of the tests is.
fn wide(character: char) -> usize {
    match character {
        '日' | '🙂' => 2,
        '\u{301}' => 0,
        _ => 1,
    }
}

/// A text in rows, as a terminal breaks it.
fn broken(text: &str, columns: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    let mut column = 0;
    for character in text.chars() {
        if column + wide(character) > columns {
            rows.push(String::new());
            column = 0;
        }
        column += wide(character);
        rows.last_mut().expect("there is a row").push(character);
    }
    rows.iter().map(|row| row.trim_end().to_string()).collect()
}

fn strings(lines: &[&str]) -> Vec<String> {
    lines.iter().map(ToString::to_string).collect()
}

#[test]
fn text_goes_above_the_live_area() {
    let mut bench = Bench::new(20, 6);
    bench.paint(&strings(&["---", "> "]));
    bench.painter.print("one\ntwo");
    bench.paint(&strings(&["---", "> "]));
    assert_eq!(bench.all(), ["one", "two", "---", ">"]);
    bench.painter.print("three\nfour\nfive\nsix");
    bench.paint(&strings(&["---", "> "]));
    assert_eq!(
        bench.all(),
        ["one", "two", "three", "four", "five", "six", "---", ">"]
    );
    assert_eq!(bench.screen().len(), 6);
}

#[test]
fn a_line_streams_in_the_live_area_until_it_ends() {
    let mut bench = Bench::new(10, 6);
    bench.painter.stream("Hello wor");
    bench.paint(&strings(&["> x"]));
    assert_eq!(bench.all(), ["Hello wor", "> x"]);
    // A line that is printed meanwhile does not break the word.
    bench.painter.print("note");
    bench.painter.stream("ld and more");
    bench.paint(&strings(&["> x"]));
    assert_eq!(bench.all(), ["note", "Hello worl", "d and more", "> x"]);
    bench.painter.stream("\nnext");
    bench.painter.finish();
    bench.paint(&strings(&["> x"]));
    assert_eq!(bench.all(), ["note", "Hello worl", "d and more", "next", "> x"]);
}

#[test]
fn only_what_differs_is_written() {
    let mut bench = Bench::new(20, 6);
    bench.paint(&strings(&["first", "second", "third"]));
    let bytes = bench.paint(&strings(&["first", "SECOND", "third"]));
    assert!(
        bytes.contains("SECOND") && !bytes.contains("first") && !bytes.contains("third"),
        "{bytes:?}"
    );
    assert_eq!(bench.paint(&strings(&["first", "SECOND", "third"])), "");
    assert!(bytes.starts_with("\x1b[?2026h") && bytes.ends_with("\x1b[?2026l"));
}

#[test]
fn the_cursor_stands_at_its_mark() {
    let mut bench = Bench::new(20, 6);
    bench.paint(&[format!("> ab{CURSOR_MARKER}c"), "footer".into()]);
    assert_eq!(bench.terminal.screen().cursor_position(), (0, 4));
    assert!(!bench.terminal.screen().hide_cursor());
    bench.paint(&[format!("> 日{CURSOR_MARKER}"), "footer".into()]);
    assert_eq!(bench.terminal.screen().cursor_position(), (0, 4));
    bench.paint(&strings(&["> ", "footer"]));
    assert!(bench.terminal.screen().hide_cursor());
}

#[test]
fn a_live_area_that_is_too_high_shows_its_end_or_its_cursor() {
    let mut bench = Bench::new(20, 3);
    let lines: Vec<String> = (0..8).map(|number| format!("line {number}")).collect();
    bench.paint(&lines);
    assert_eq!(bench.all(), ["line 5", "line 6", "line 7"]);
    let mut marked = lines.clone();
    marked[2].push_str(CURSOR_MARKER);
    bench.paint(&marked);
    assert_eq!(bench.all(), ["line 2", "line 3", "line 4"]);
    bench.painter.print("above");
    bench.paint(&lines);
    assert_eq!(bench.all(), ["above", "line 5", "line 6", "line 7"]);
}

#[test]
fn nothing_of_a_line_steers_the_terminal() {
    let mut bench = Bench::new(20, 4);
    bench.painter.print("safe\x1b[2J\x1b[1;1Hstill\x1b[?1049h\x1bc!");
    bench.paint(&strings(&["\x1b[5Ax\x1b[31my\x1b[K"]));
    assert_eq!(bench.all(), ["safestill!", "xy"]);
    assert!(!bench.terminal.screen().alternate_screen());
    let cell = bench.terminal.screen().cell(1, 1).expect("there is a cell");
    assert_eq!(cell.fgcolor(), vt100::Color::Idx(1));
}

#[test]
fn a_sheet_leaves_the_ordinary_screen_as_it_was() {
    let mut bench = Bench::new(20, 4);
    bench.painter.print("one\ntwo");
    bench.paint(&strings(&["> "]));
    bench.paint_sheet(&strings(&["over", "all"]));
    assert_eq!(trimmed(bench.screen()), ["over", "all"]);
    bench.painter.print("three");
    bench.paint_sheet(&strings(&["over"]));
    assert_eq!(trimmed(bench.screen()), ["over"]);
    bench.paint(&strings(&["> "]));
    assert_eq!(bench.all(), ["one", "two", "three", ">"]);
    assert!(!bench.terminal.screen().alternate_screen());
}

#[test]
fn a_picture_shows_what_stood_there_last() {
    let mut bench = Bench::new(6, 4);
    bench.painter.print("one\na long line\nlast");
    let picture = bench.painter.picture(frame(&strings(&["> "])));
    let rows: Vec<String> = picture.rows.iter().map(TextRow::text).collect();
    assert_eq!(rows, ["a long", " line", "last", "> "]);
}

#[test]
fn the_end_leaves_the_text_and_a_cursor() {
    let mut bench = Bench::new(20, 5);
    bench.painter.print("one");
    bench.paint(&strings(&["---", "> ", "footer"]));
    let bytes = bench.painter.clear();
    bench.terminal.process(bytes.as_bytes());
    assert_eq!(bench.all(), ["one"]);
    assert_eq!(bench.terminal.screen().cursor_position(), (1, 0));
    assert!(!bench.terminal.screen().hide_cursor());
}

#[derive(Debug, Clone)]
enum Step {
    Print(String),
    Stream(String),
    Finish,
    Live(Vec<String>, Option<usize>),
    Sheet,
}

fn line() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop::sample::select(vec!["a", "bc", " ", "日", "e\u{301}", "🙂", "xyz"]),
        0..18,
    )
    .prop_map(|parts| parts.concat())
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => prop::collection::vec(line(), 1..4).prop_map(|lines| Step::Print(lines.join("\n"))),
        3 => prop::collection::vec(line(), 1..4).prop_map(|lines| Step::Stream(lines.join("\n"))),
        1 => Just(Step::Finish),
        4 => (prop::collection::vec(line(), 0..7), prop::option::of(0..7usize))
            .prop_map(|(lines, cursor)| Step::Live(lines, cursor)),
        1 => Just(Step::Sheet),
    ]
}

/// The expected content: the text so far, the streaming line, the live area.
#[derive(Default)]
struct Model {
    lines: Vec<String>,
    unfinished: String,
    live: Vec<String>,
}

impl Model {
    fn stream(&mut self, text: &str) {
        let mut lines = text.split('\n');
        self.unfinished.push_str(lines.next().unwrap_or_default());
        for line in lines {
            self.lines
                .push(std::mem::replace(&mut self.unfinished, line.to_string()));
        }
    }

    fn rows(&self, columns: usize, height: usize, cursor: Option<usize>) -> Vec<String> {
        let mut live: Vec<String> = Vec::new();
        if !self.unfinished.is_empty() {
            live.extend(broken(&self.unfinished, columns));
        }
        let streamed = live.len();
        live.extend(self.live.iter().map(|line| broken(line, columns)[0].clone()));
        let mut start = live.len().saturating_sub(height);
        if let Some(row) = cursor.filter(|row| *row < self.live.len()) {
            start = start.min(row + streamed);
        }
        let live = live.into_iter().skip(start).take(height);
        let text = self.lines.iter().flat_map(|line| broken(line, columns));
        trimmed(text.chain(live).collect())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever happens, the terminal shows the text in order and the live area below it, and nothing else.
    #[test]
    fn the_terminal_equals_the_model(
        columns in 4..24usize,
        height in 1..9usize,
        steps in prop::collection::vec(step(), 1..25),
    ) {
        let mut bench = Bench::new(columns, height);
        let mut model = Model::default();
        let mut cursor = None;
        for step in steps {
            match step {
                Step::Print(text) => {
                    bench.painter.print(&text);
                    let lines = text.strip_suffix('\n').unwrap_or(&text);
                    model.lines.extend(lines.split('\n').map(String::from));
                }
                Step::Stream(text) => {
                    bench.painter.stream(&text);
                    model.stream(&text);
                }
                Step::Finish => {
                    bench.painter.finish();
                    if !model.unfinished.is_empty() {
                        model.stream("\n");
                    }
                }
                Step::Live(lines, row) => {
                    model.live = lines;
                    cursor = row;
                }
                Step::Sheet => {
                    bench.paint_sheet(&strings(&["a sheet"]));
                    prop_assert!(bench.terminal.screen().alternate_screen());
                }
            }
            let mut live = model.live.clone();
            if let Some(line) = cursor.and_then(|row: usize| live.get_mut(row)) {
                line.insert_str(0, CURSOR_MARKER);
            }
            bench.paint(&live);
            prop_assert_eq!(bench.all(), model.rows(columns, height, cursor));
        }
    }

    /// A terminal that changes its size loses no line, and shows the live area at the end of the text.
    #[test]
    fn no_line_is_lost_when_the_size_changes(
        sizes in prop::collection::vec((12..30usize, 2..10usize), 1..12),
        live in 0..5usize,
        cursor in 0..5usize,
    ) {
        let mut bench = Bench::new(20, 8);
        for (at, (columns, height)) in sizes.into_iter().enumerate() {
            bench.painter.print(&format!("line {at}\nmore {at}"));
            let lines: Vec<String> = (0..live)
                .map(|row| if row == cursor { format!("{CURSOR_MARKER}live {row}") } else { format!("live {row}") })
                .collect();
            bench.paint(&lines);
            bench.resize(columns, height);
            bench.paint(&lines);
            let all = bench.all();
            let text: Vec<&String> = all.iter().filter(|row| !row.starts_with("live")).collect();
            let wanted: Vec<String> = (0..=at).flat_map(|n| [format!("line {n}"), format!("more {n}")]).collect();
            prop_assert!(text.iter().filter(|row| !row.is_empty()).copied().eq(&wanted), "{:?}", all);
            let shown = live.min(height);
            let start = live.saturating_sub(height).min(if cursor < live { cursor } else { live });
            let end: Vec<String> = (start..start + shown).map(|row| format!("live {row}")).collect();
            prop_assert!(all.ends_with(&end), "{:?} {:?}", all, end);
        }
    }
}
