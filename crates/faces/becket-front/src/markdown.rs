//! Renders Markdown on a terminal, block by block while it arrives. Words are broken into lines here, because terminals
//! break in the middle of words; code is left to the terminal, so that it can be copied as it is.

use becket_screen::{Colours, TextRow, width as width_of};
use becket_system::harmless;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::highlight::highlighted;
use super::style::Style;
use super::table::Table;

/// Longer blocks are not rendered again each time they grow.
const LONG_BLOCK: usize = 10_000;

/// How many lines of a long block are shown.
const LAST_LINES: usize = 40;

/// Collects an answer and renders each block once it is complete.
#[derive(Debug, Default)]
pub struct MarkdownStream {
    pending: String,
}

impl MarkdownStream {
    /// Adds text; returns what can be shown now.
    pub fn push(&mut self, text: &str, style: Style, width: Option<usize>) -> String {
        self.pending.push_str(text);
        match end_of_complete_blocks(&self.pending) {
            0 => String::new(),
            end => {
                let complete: String = self.pending.drain(..end).collect();
                render(&complete, style, width)
            }
        }
    }

    /// Adds text that is not shown before it is complete, because an extension changes how it looks.
    pub fn hold(&mut self, text: &str) {
        self.pending.push_str(text);
    }

    /// The incomplete rest, changed by `look`. It may still change.
    pub fn preview(&self, style: Style, width: Option<usize>, look: impl FnOnce(String) -> String) -> String {
        match self.pending.len() {
            _ if self.pending.trim().is_empty() => String::new(),
            0..=LONG_BLOCK => render(&look(self.pending.clone()), style, width),
            // It comes piece by piece, and is shown with each of them.
            _ => {
                let last: Vec<&str> = self.pending.lines().rev().take(LAST_LINES).collect();
                harmless(&last.into_iter().rev().collect::<Vec<_>>().join("\n"))
            }
        }
    }

    /// Ends the answer; returns the rest, changed by `look`.
    pub fn finish(
        &mut self,
        style: Style,
        width: Option<usize>,
        look: impl FnOnce(String) -> String,
    ) -> String {
        let rest = std::mem::take(&mut self.pending);
        if rest.trim().is_empty() {
            String::new()
        } else {
            render(&look(rest), style, width)
        }
    }
}

/// Where the last blank line outside of a code block ends, as far as it is known that no indented line follows, which
/// would belong to what stands before.
fn end_of_complete_blocks(text: &str) -> usize {
    let (mut end, mut offset, mut fenced) = (0, 0, false);
    for line in text.split_inclusive('\n') {
        offset += line.len();
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            fenced = !fenced;
        }
        let is_blank = line.trim().is_empty() && line.ends_with('\n');
        let goes_on = text[offset..].starts_with([' ', '\t']);
        if !fenced && is_blank && !goes_on {
            end = offset;
        }
    }
    end
}

/// Narrower than this, lines are left to the terminal.
const NARROWEST: usize = 8;

/// Renders complete Markdown for a terminal of that width.
pub fn render(markdown: &str, style: Style, width: Option<usize>) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut renderer = Renderer::new(style, width);
    for event in Parser::new_ext(markdown, options) {
        renderer.take(event);
    }
    renderer.end_lines();
    renderer.out
}

/// The state of the renderer.
#[derive(Default)]
struct Renderer {
    out: String,
    style: Style,
    width: Option<usize>,
    /// The text of the current block, which is not broken into lines yet.
    words: String,
    /// How many of each are open.
    strong: usize,
    emphasis: usize,
    struck: usize,
    heading: bool,
    /// The language and the text of the current code block.
    code: Option<(String, String)>,
    quote_depth: usize,
    /// For each open list the next number, or `None` for bullets.
    lists: Vec<Option<u64>>,
    /// For each open list how far the lines of its item stand behind the mark.
    indents: Vec<usize>,
    /// The mark of the item whose first line has not been written.
    mark: Option<String>,
    /// The link's address, and where its text begins.
    link: Option<(String, usize)>,
    table: Option<Table>,
}

impl Renderer {
    fn new(style: Style, width: Option<usize>) -> Self {
        Self {
            style,
            width,
            ..Self::default()
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.open(tag),
            Event::End(tag) => self.close(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(code) => {
                let code = self.style.cyan(&harmless(&code));
                self.words.push_str(&code);
            }
            Event::SoftBreak | Event::HardBreak => self.words.push('\n'),
            Event::Rule => {
                let columns = self.width.unwrap_or(40).min(40);
                let rule = self.style.dim(&"─".repeat(columns));
                self.out.push_str(&format!("{rule}\n\n"));
            }
            Event::TaskListMarker(done) => self.words.push_str(if done { "[x] " } else { "[ ] " }),
            _ => {}
        }
    }

    fn open(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.heading = true;
                if level == HeadingLevel::H1 && !self.out.is_empty() {
                    self.out.push('\n');
                }
            }
            Tag::Strong => self.strong += 1,
            Tag::Emphasis => self.emphasis += 1,
            Tag::Strikethrough => self.struck += 1,
            Tag::BlockQuote(_) => {
                self.end_lines();
                self.quote_depth += 1;
            }
            Tag::CodeBlock(kind) => {
                self.end_lines();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => harmless(&language),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                self.end_lines();
                self.lists.push(first);
                self.indents.push(2);
            }
            Tag::Item => {
                let mark = self.next_mark();
                if let Some(indent) = self.indents.last_mut() {
                    *indent = mark.chars().count();
                }
                self.mark = Some(mark);
            }
            Tag::Link { dest_url, .. } => self.link = Some((harmless(&dest_url), self.words.len())),
            Tag::Table(alignments) => {
                self.end_lines();
                self.table = Some(Table::new(alignments));
            }
            _ => {}
        }
    }

    fn close(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.heading = false;
                self.end_lines();
                self.out.push('\n');
            }
            TagEnd::Strong => self.strong -= 1,
            TagEnd::Emphasis => self.emphasis -= 1,
            TagEnd::Strikethrough => self.struck -= 1,
            TagEnd::BlockQuote(_) => {
                self.end_lines();
                self.quote_depth -= 1;
                if self.quote_depth == 0 && self.lists.is_empty() && !self.out.ends_with("\n\n") {
                    self.out.push('\n');
                }
            }
            TagEnd::Paragraph => {
                self.end_lines();
                if self.lists.is_empty() && self.quote_depth == 0 {
                    self.out.push('\n');
                }
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.end_lines();
                self.lists.pop();
                self.indents.pop();
                if self.lists.is_empty() {
                    self.out.push('\n');
                }
            }
            TagEnd::Item => {
                self.end_lines();
                // An empty item is one, too.
                if let Some(mark) = self.mark.take() {
                    let line = format!("{}{}\n", self.margin(), mark.trim_end());
                    self.out.push_str(&line);
                }
            }
            TagEnd::Link => self.end_link(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.words);
                self.table.iter_mut().for_each(|table| table.add_cell(&cell));
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                self.table.iter_mut().for_each(Table::end_row);
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let margin = self.margin();
                    let room = self.width.map(|width| width.saturating_sub(width_of(&margin)));
                    for line in table.lines(room, self.style) {
                        self.out.push_str(&format!("{margin}{line}\n"));
                    }
                    self.out.push('\n');
                }
            }
            _ => {}
        }
    }

    /// The mark of the next item: a bullet or a number.
    fn next_mark(&mut self) -> String {
        match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "• ".into(),
        }
    }

    /// What stands before each line, without the mark of an item.
    fn margin(&self) -> String {
        let outer = self.lists.len().saturating_sub(1);
        format!("{}{}", "│ ".repeat(self.quote_depth), "  ".repeat(outer))
    }

    /// Writes the words so far, broken into lines.
    fn end_lines(&mut self) {
        let words = std::mem::take(&mut self.words);
        if words.trim().is_empty() {
            return;
        }
        let margin = self.margin();
        let indent = self.indents.last().copied().unwrap_or(0);
        let mut first = self.mark.take();
        let room = self.width.filter(|width| *width >= NARROWEST);
        let room = room.map(|width| width.saturating_sub(width_of(&margin) + indent).max(NARROWEST));
        for line in words.trim_end().split('\n') {
            for row in broken(line, room) {
                let before = first.take().unwrap_or_else(|| " ".repeat(indent));
                self.out.push_str(&format!("{margin}{before}{row}\n"));
            }
        }
    }

    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else {
            return;
        };
        let margin = match self.lists.is_empty() {
            true => self.margin(),
            false => format!("{}  ", self.margin()),
        };
        if let Some(mark) = self.mark.take() {
            self.out
                .push_str(&format!("{}{}\n", self.margin(), mark.trim_end()));
        }
        if !language.is_empty() {
            self.out
                .push_str(&format!("{margin}{}\n", self.style.dim(&language)));
        }
        for line in highlighted(&code, &language, self.style) {
            self.out.push_str(&format!("{margin}  {line}\n"));
        }
        self.out.push('\n');
    }

    /// Writes the address behind the text of a link, unless the text is the address.
    fn end_link(&mut self) {
        let Some((address, start)) = self.link.take() else {
            return;
        };
        let text = TextRow::read(self.words.get(start..).unwrap_or_default()).text();
        if !address.is_empty() && address != text && address.strip_prefix("mailto:") != Some(&text) {
            let shown = self.style.dim(&format!(" ({address})"));
            self.words.push_str(&shown);
        }
    }

    fn text(&mut self, text: &str) {
        let text = harmless(text);
        if let Some((_, code)) = &mut self.code {
            return code.push_str(&text);
        }
        let mut styled = text;
        if self.heading || self.strong > 0 {
            styled = self.style.bold(&styled);
        }
        if self.emphasis > 0 {
            styled = self.style.italic(&styled);
        }
        if self.struck > 0 {
            styled = match self.style.is_coloured() {
                true => self.style.struck(&styled),
                false => format!("~~{styled}~~"),
            };
        }
        self.words.push_str(&styled);
    }
}

/// A line broken between its words, if it is known how wide it may be.
pub fn broken(line: &str, room: Option<usize>) -> Vec<String> {
    let Some(room) = room else {
        return vec![line.to_owned()];
    };
    let rows = TextRow::read(line).wrapped_at_words(room).into_iter();
    rows.map(|row| row.encode(Colours::All)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plainly(markdown: &str) -> String {
        render(markdown, Style::plain(), None)
    }

    #[test]
    fn blocks_look_like_what_they_are() {
        assert_eq!(
            plainly("# Title\n\nSome *fine* **words** and `code`.\n"),
            "Title\n\nSome fine words and code.\n\n"
        );
        assert_eq!(
            plainly("1. one\n2. two\n   - deep\n"),
            "1. one\n2. two\n  • deep\n\n"
        );
        assert_eq!(plainly("```rust\nfn x() {}\n```\n"), "rust\n  fn x() {}\n\n");
        assert_eq!(plainly("> said\n> twice\n"), "│ said\n│ twice\n\n");
        assert_eq!(
            plainly("| a | b |\n|---|---|\n| 1 | 2 |\n"),
            "a │ b\n──┼──\n1 │ 2\n\n"
        );
        assert_eq!(plainly("[text](http://x)"), "text (http://x)\n\n");
    }

    #[test]
    fn blocks_are_shown_once_complete_and_code_is_never_torn_apart() {
        let style = Style::plain();
        let mut stream = MarkdownStream::default();
        assert_eq!(stream.push("Hello ", style, None), "");
        assert_eq!(stream.push("world.\n\n```\na\n", style, None), "Hello world.\n\n");
        assert_eq!(stream.push("\nb\n", style, None), "");
        assert_eq!(stream.push("```\n\nend", style, None), "  a\n  \n  b\n\n");
        assert_eq!(stream.finish(style, None, |text| text), "end\n\n");
    }

    #[test]
    fn words_are_broken_between_words_and_code_is_not() {
        let narrow = |markdown: &str| render(markdown, Style::plain(), Some(12));
        assert_eq!(narrow("Some words that wrap.\n"), "Some words\nthat wrap.\n\n");
        assert_eq!(
            narrow("- a point of some words\n  - deeper words\n"),
            "• a point of\n  some words\n  • deeper\n    words\n\n"
        );
        assert_eq!(narrow("10. ten words here\n"), "10. ten\n    words\n    here\n\n");
        assert_eq!(narrow("> quoted words here\n"), "│ quoted\n│ words here\n\n");
        assert_eq!(
            narrow("```\na long line of code\n```\n"),
            "  a long line of code\n\n"
        );
        assert_eq!(narrow("模型說了很多很多話\n"), "模型說了很多\n很多話\n\n");
        assert_eq!(render("wide words", Style::plain(), Some(3)), "wide words\n\n");
    }

    #[test]
    fn marks_links_and_strikes_are_kept() {
        assert_eq!(plainly("~~gone~~ here"), "~~gone~~ here\n\n");
        assert_eq!(
            render("~~gone~~", Style::coloured(), None),
            "\x1b[9mgone\x1b[0m\n\n"
        );
        assert_eq!(plainly("<http://x.org>"), "http://x.org\n\n");
        assert_eq!(plainly("- [x] done\n- [ ] open\n"), "• [x] done\n• [ ] open\n\n");
        assert_eq!(
            plainly("- a\n\n  ```\n  code\n  ```\n- b\n"),
            "• a\n    code\n\n• b\n\n"
        );
    }

    #[test]
    fn an_item_of_a_list_waits_for_what_is_indented_below_it() {
        let style = Style::plain();
        let mut stream = MarkdownStream::default();
        assert_eq!(stream.push("1. one\n\n   more\n", style, None), "");
        assert_eq!(stream.push("\nend", style, None), "1. one\n   more\n\n");
    }
}
