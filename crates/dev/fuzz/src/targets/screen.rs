//! Readers of a terminal's input, and writers of its output.

use arbtest::arbitrary::{Result, Unstructured};
use becket_host::{TerminalSignal, terminal_signals};
use becket_screen::{Colours, Key, Splitter, TextRow, clip, normalised, width};

use super::agent::reader;
use crate::text::{either, text};

const ESCAPES: &[&str] = &[
    "\x1b",
    "\x1b[",
    "\x1bO",
    "\x1b]",
    "\x07",
    "\x1b\\",
    "\x1bP",
    "\x1b_",
    "m",
    "A",
    "~",
    ";",
    ":",
    "?",
    "u",
    "0",
    "1",
    "31",
    "200~",
    "\x1b[200~",
    "\x1b[201~",
    "\x1b[13;2u",
    "\x1b[?1u",
    "\x1b[<0;1;1M",
    "\x1b[38;2;1;2;3m",
    "\x1b[38:5:1m",
    "99999999999",
    "a",
    "é",
    "👩‍👩‍👧",
    "\u{200d}",
    "\u{301}",
    "\u{202e}",
    "字",
    "\0",
    "\x7f",
    "\r",
    "\n",
    "\t",
    "\u{9b}",
    "\x1b]8;;http://a\x07",
    "\x1b]0;",
    "\x1b]777;",
    "ctrl+",
    "shift+",
];

pub fn input(u: &mut Unstructured<'_>) -> Result<()> {
    let mut bytes = text(u, ESCAPES)?.into_bytes();
    bytes.extend_from_slice(u.bytes(u.len().min(64))?);
    let mut splitter = Splitter::default();
    let mut pieces = 0;
    while !bytes.is_empty() && pieces < 200 {
        let rest = bytes.split_off(u.int_in_range(1..=bytes.len())?);
        drop(splitter.push(&bytes));
        bytes = rest;
        pieces += 1;
        if u.ratio(1, 8)? {
            drop(splitter.pause());
        }
    }
    drop(splitter.push(&bytes));
    drop(splitter.pause());
    let name = text(u, ESCAPES)?;
    drop((Key::read(&name), normalised(&name)));
    Ok(())
}

pub fn rows(u: &mut Unstructured<'_>) -> Result<()> {
    let line = text(u, ESCAPES)?;
    let columns = u.int_in_range(0..=200)?;
    let clipped = clip(&line, columns);
    assert!(width(&clipped) <= columns, "{clipped:?} is wider than {columns}");
    let row = TextRow::read(&line);
    let over = TextRow::read(&text(u, ESCAPES)?);
    drop(row.covered(&over, columns / 2, columns).encode(Colours::All));
    drop(row.wrapped(columns));
    Ok(())
}

pub fn markdown(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "# ", "* ", "1. ", "> ", "```", "`", "**", "_", "[", "](", ")", "|", "---", "\n", "\n\n", "    ",
        "<b>", "&amp;", "\\", "![", "a", "~~", "- [ ] ", "http://a", "\x1b[31m", "é",
    ];
    reader("markdown")(&either(
        u,
        &["# a\n\n* b\n  * c\n\n```sh\nd\n```\n\n| a | b |\n|---|---|\n| c | d |\n"],
        WORDS,
    )?);
    Ok(())
}

pub fn harmless(u: &mut Unstructured<'_>) -> Result<()> {
    reader("harmless")(&text(u, ESCAPES)?);
    Ok(())
}

pub fn signals(u: &mut Unstructured<'_>) -> Result<()> {
    let read = terminal_signals(&text(u, ESCAPES)?);
    for signal in read.into_iter().flatten() {
        if let TerminalSignal::Title(text) | TerminalSignal::Command(_, text) = signal {
            assert!(!text.contains(char::is_control), "{text:?} controls the terminal");
        }
    }
    Ok(())
}
