//! Renders Markdown on a terminal, block by block while it arrives.

use becket_system::harmless;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::style::Style;

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
    pub fn push(&mut self, text: &str, style: Style) -> String {
        self.pending.push_str(text);
        match end_of_complete_blocks(&self.pending) {
            0 => String::new(),
            end => {
                let complete: String = self.pending.drain(..end).collect();
                render(&complete, style)
            }
        }
    }

    /// Adds text that is not shown before it is complete, because an extension changes how it looks.
    pub fn hold(&mut self, text: &str) {
        self.pending.push_str(text);
    }

    /// The incomplete rest, changed by `look`. It may still change.
    pub fn preview(&self, style: Style, look: impl FnOnce(String) -> String) -> String {
        match self.pending.len() {
            _ if self.pending.trim().is_empty() => String::new(),
            0..=LONG_BLOCK => render(&look(self.pending.clone()), style),
            // It comes piece by piece, and is shown with each of them.
            _ => {
                let last: Vec<&str> = self.pending.lines().rev().take(LAST_LINES).collect();
                harmless(&last.into_iter().rev().collect::<Vec<_>>().join("\n"))
            }
        }
    }

    /// Ends the answer; returns the rest, changed by `look`.
    pub fn finish(&mut self, style: Style, look: impl FnOnce(String) -> String) -> String {
        let rest = std::mem::take(&mut self.pending);
        if rest.trim().is_empty() {
            String::new()
        } else {
            render(&look(rest), style)
        }
    }
}

/// Where the last blank line outside of a code block ends.
fn end_of_complete_blocks(text: &str) -> usize {
    let (mut end, mut offset, mut fenced) = (0, 0, false);
    for line in text.split_inclusive('\n') {
        offset += line.len();
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            fenced = !fenced;
        }
        if !fenced && line.trim().is_empty() && line.ends_with('\n') {
            end = offset;
        }
    }
    end
}

/// Renders complete Markdown for a terminal.
pub fn render(markdown: &str, style: Style) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut screen = Screen::new(style);
    for event in Parser::new_ext(markdown, options) {
        screen.take(event);
    }
    screen.out
}

/// The state of the renderer.
struct Screen {
    out: String,
    style: Style,
    strong: bool,
    emphasis: bool,
    heading: bool,
    code_block: bool,
    quote_depth: usize,
    /// For each open list the next number, or `None` for bullets.
    lists: Vec<Option<u64>>,
    link: Option<String>,
    cells: Vec<String>,
    in_table: bool,
}

impl Screen {
    fn new(style: Style) -> Self {
        Self {
            out: String::new(),
            style,
            strong: false,
            emphasis: false,
            heading: false,
            code_block: false,
            quote_depth: 0,
            lists: Vec::new(),
            link: None,
            cells: Vec::new(),
            in_table: false,
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.open(tag),
            Event::End(tag) => self.close(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(code) => self.styled(&self.style.cyan(&harmless(&code))),
            Event::Html(html) | Event::InlineHtml(html) => self.text(&html),
            Event::SoftBreak | Event::HardBreak => self.new_line(),
            Event::Rule => {
                let rule = self.style.dim(&"─".repeat(40));
                self.out.push_str(&format!("{rule}\n\n"));
            }
            Event::TaskListMarker(done) => self.out.push_str(if done { "[x] " } else { "[ ] " }),
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
            Tag::Strong => self.strong = true,
            Tag::Emphasis => self.emphasis = true,
            Tag::BlockQuote(_) => {
                self.quote_depth += 1;
                self.out.push_str("│ ");
            }
            Tag::CodeBlock(kind) => {
                self.code_block = true;
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    let label = self.style.dim(&harmless(&language));
                    self.out.push_str(&format!("{label}\n"));
                }
            }
            Tag::List(first) => {
                if !self.lists.is_empty() && !self.out.ends_with('\n') {
                    self.out.push('\n');
                }
                self.lists.push(first);
            }
            Tag::Item => self.bullet(),
            Tag::Link { dest_url, .. } => self.link = Some(dest_url.to_string()),
            Tag::Table(_) => self.in_table = true,
            Tag::TableCell => self.cells.push(String::new()),
            _ => {}
        }
    }

    fn close(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.heading = false;
                self.out.push_str("\n\n");
            }
            TagEnd::Strong => self.strong = false,
            TagEnd::Emphasis => self.emphasis = false,
            TagEnd::BlockQuote(_) => self.quote_depth -= 1,
            TagEnd::Paragraph => self
                .out
                .push_str(if self.lists.is_empty() { "\n\n" } else { "\n" }),
            TagEnd::CodeBlock => {
                self.code_block = false;
                self.out.push('\n');
            }
            TagEnd::List(_) => {
                self.lists.pop();
                if self.lists.is_empty() {
                    self.out.push('\n');
                }
            }
            TagEnd::Item if !self.out.ends_with('\n') => self.out.push('\n'),
            TagEnd::Link => {
                if let Some(target) = self.link.take() {
                    let shown = self.style.dim(&format!(" ({})", harmless(&target)));
                    self.styled(&shown);
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                let cells = std::mem::take(&mut self.cells);
                self.out.push_str(&format!("{}\n", cells.join("  │  ")));
            }
            TagEnd::Table => {
                self.in_table = false;
                self.out.push('\n');
            }
            _ => {}
        }
    }

    fn bullet(&mut self) {
        let indent = "  ".repeat(self.lists.len().saturating_sub(1));
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}.", *number - 1)
            }
            _ => "•".into(),
        };
        self.out.push_str(&format!("{indent}{mark} "));
    }

    fn text(&mut self, text: &str) {
        let text = harmless(text);
        let styled = match () {
            () if self.code_block => {
                let lines = text.lines().map(|line| format!("  {}", self.style.cyan(line)));
                lines.collect::<Vec<_>>().join("\n") + if text.ends_with('\n') { "\n" } else { "" }
            }
            () if self.heading || self.strong => self.style.bold(&text),
            () if self.emphasis => self.style.italic(&text),
            () => text,
        };
        self.styled(&styled);
    }

    fn styled(&mut self, text: &str) {
        match self.cells.last_mut() {
            Some(cell) if self.in_table => cell.push_str(text),
            _ => self.out.push_str(text),
        }
    }

    fn new_line(&mut self) {
        self.out.push('\n');
        self.out.push_str(&"│ ".repeat(self.quote_depth));
        self.out.push_str(&"  ".repeat(self.lists.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plainly(markdown: &str) -> String {
        render(markdown, Style::plain())
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
            "a  │  b\n1  │  2\n\n"
        );
        assert_eq!(plainly("[text](http://x)"), "text (http://x)\n\n");
    }

    #[test]
    fn blocks_are_shown_once_complete_and_code_is_never_torn_apart() {
        let style = Style::plain();
        let mut stream = MarkdownStream::default();
        assert_eq!(stream.push("Hello ", style), "");
        assert_eq!(stream.push("world.\n\n```\na\n", style), "Hello world.\n\n");
        assert_eq!(stream.push("\nb\n", style), "");
        assert_eq!(stream.push("```\n\nend", style), "  a\n  \n  b\n\n");
        assert_eq!(stream.finish(style, |text| text), "end\n\n");
    }
}
