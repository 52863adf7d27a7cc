//! A web page as readable text: headings, paragraphs, lists, links and code in the manner of Markdown, without
//! scripts and styles. Whatever the page looks like, this ends after one pass over it.

use url::Url;

use crate::charset::windows_1252;

/// Whether the structure of a page is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Headings, links, quotations and code have their marks.
    Markdown,
    /// Only the text is there.
    Plain,
}

/// The text of a page. `base` is its address, against which links are resolved.
pub(crate) fn to_text(html: &str, base: &Url, style: Style) -> String {
    let mut writer = Writer::new(base, style);
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        writer.text(&rest[..open]);
        rest = markup(&rest[open..], &mut writer);
    }
    writer.text(rest);
    writer.finish()
}

/// The deepest indentation of lists and quotations.
const MAX_INDENT: usize = 8;

/// Elements whose content is not for readers.
const UNREAD: &[&str] = &[
    "script", "style", "noscript", "template", "svg", "iframe", "object", "textarea", "select",
];

/// Handles what begins with `<` and returns what follows it.
fn markup<'a>(rest: &'a str, writer: &mut Writer) -> &'a str {
    if let Some(comment) = rest.strip_prefix("<!--") {
        return after(comment, "-->");
    }
    if rest.starts_with("<!") || rest.starts_with("<?") {
        return after(rest, ">");
    }
    let is_tag = |byte: u8| byte.is_ascii_alphabetic() || byte == b'/';
    if !rest.as_bytes().get(1).copied().is_some_and(is_tag) {
        writer.text("<");
        return &rest[1..];
    }
    let end = tag_end(rest);
    let tag = Tag::read(&rest[1..end]);
    let following = rest.get(end + 1..).unwrap_or_default();
    if UNREAD.contains(&tag.name.as_str()) && !tag.closing {
        return after_closing(following, &tag.name);
    }
    writer.tag(&tag);
    following
}

/// The text after the first occurrence of the mark, or nothing.
fn after<'a>(text: &'a str, mark: &str) -> &'a str {
    text.find(mark).map_or("", |start| &text[start + mark.len()..])
}

/// The text after the closing tag of an element whose content is not read.
fn after_closing<'a>(text: &'a str, name: &str) -> &'a str {
    let mut rest = text;
    while let Some(start) = rest.find("</") {
        rest = &rest[start + 2..];
        let same = rest
            .get(..name.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(name));
        if same {
            return after(rest, ">");
        }
    }
    ""
}

/// The offset at which a tag ends; a `>` inside quotes does not end it.
fn tag_end(text: &str) -> usize {
    let mut quote = None;
    for (index, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return index,
            (None, b'"' | b'\'') if text.as_bytes()[..index].trim_ascii_end().ends_with(b"=") => {
                quote = Some(byte)
            }
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    // A quote that never closes: the tag ends at the first `>` after all.
    text.find('>').unwrap_or(text.len())
}

/// A tag with the attributes that matter here.
struct Tag {
    name: String,
    closing: bool,
    inside: String,
}

impl Tag {
    fn read(inside: &str) -> Self {
        let closing = inside.starts_with('/');
        let inside = inside.trim_start_matches('/');
        let end = inside
            .find(|character: char| !character.is_ascii_alphanumeric())
            .unwrap_or(inside.len());
        Self {
            name: inside[..end].to_ascii_lowercase(),
            closing,
            inside: inside[end..].to_owned(),
        }
    }

    fn attribute(&self, wanted: &str) -> Option<String> {
        let mut rest = self.inside.as_str();
        loop {
            rest = rest.trim_start_matches(|character: char| character.is_whitespace() || character == '/');
            let end = rest.find(|character: char| character.is_whitespace() || "=/".contains(character));
            let (name, following) = rest.split_at(end.unwrap_or(rest.len()));
            if name.is_empty() && !following.starts_with('=') {
                return None;
            }
            let following = following.trim_start();
            let Some(value) = following.strip_prefix('=') else {
                rest = following;
                continue;
            };
            let (value, following) = attribute_value(value.trim_start());
            if name.eq_ignore_ascii_case(wanted) {
                return Some(decoded(value));
            }
            rest = following;
        }
    }
}

fn attribute_value(text: &str) -> (&str, &str) {
    for quote in ['"', '\''] {
        if let Some(quoted) = text.strip_prefix(quote) {
            return quoted.split_once(quote).unwrap_or((quoted, ""));
        }
    }
    text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))
}

/// Collects the readable text.
struct Writer<'a> {
    base: &'a Url,
    style: Style,
    text: String,
    /// The number of line ends that are due before the next word.
    breaks: usize,
    /// Whether a space is due before the next word.
    space: bool,
    /// How many preformatted elements are open.
    preformatted: usize,
    /// Whether the line end right after `<pre>`, which is not part of the text, may still come.
    fresh_block: bool,
    /// The lists that are open; a numbered one with its next number.
    lists: Vec<Option<usize>>,
    /// Whether an item has begun and has no text yet: its text goes on the same line.
    fresh_item: bool,
    /// How many quotations are open.
    quotes: usize,
    /// The target of the open link, and whether the link has text.
    link: Option<(String, bool)>,
}

impl<'a> Writer<'a> {
    fn new(base: &'a Url, style: Style) -> Self {
        Self {
            base,
            style,
            text: String::new(),
            breaks: 0,
            space: false,
            preformatted: 0,
            fresh_block: false,
            lists: Vec::new(),
            fresh_item: false,
            quotes: 0,
            link: None,
        }
    }

    fn text(&mut self, raw: &str) {
        let text = decoded(raw);
        if self.preformatted > 0 {
            let text = match std::mem::take(&mut self.fresh_block) {
                true => text
                    .strip_prefix("\r\n")
                    .or(text.strip_prefix('\n'))
                    .unwrap_or(&text),
                false => &text,
            };
            if !text.is_empty() {
                self.begin();
                self.text.push_str(text);
            }
            return;
        }
        self.space |= text.starts_with(char::is_whitespace);
        for word in text.split_whitespace() {
            self.word(word);
            self.space = true;
        }
        self.space = self.space && (text.is_empty() || text.ends_with(char::is_whitespace));
    }

    /// Writes everything that is due before a word.
    fn begin(&mut self) {
        self.begin_line();
        if let Some((_, has_words @ false)) = &mut self.link {
            self.text.push('[');
            *has_words = true;
        }
    }

    /// Writes the line ends or the space that are due, and the indentation of a line.
    fn begin_line(&mut self) {
        if self.text.is_empty() || self.breaks > 0 {
            let breaks = if self.text.is_empty() { 0 } else { self.breaks };
            self.text.extend(std::iter::repeat_n('\n', breaks));
            if self.style == Style::Markdown {
                self.text.push_str(&"> ".repeat(self.quotes));
            }
        } else if self.space && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
        self.breaks = 0;
        self.space = false;
        self.fresh_item = false;
    }

    fn need_breaks(&mut self, count: usize) {
        if !self.fresh_item {
            self.breaks = self.breaks.max(count);
        }
    }

    fn mark(&mut self, mark: &str) {
        self.begin_line();
        self.text.push_str(mark);
    }

    fn word(&mut self, word: &str) {
        self.begin();
        self.text.push_str(word);
    }

    fn tag(&mut self, tag: &Tag) {
        let is_plain = self.style == Style::Plain;
        match (tag.name.as_str(), tag.closing) {
            ("br", _) => self.need_breaks(1),
            ("a" | "code" | "tt" | "kbd" | "samp", _) if is_plain => {}
            ("hr", _) if is_plain => self.need_breaks(2),
            ("hr", false) => {
                self.need_breaks(2);
                self.mark("---");
                self.need_breaks(2);
            }
            ("ul" | "ol" | "menu", closing) => self.list(tag, closing),
            ("li", false) => self.item(),
            ("blockquote", closing) => self.quotation(closing),
            ("code" | "tt" | "kbd" | "samp", false) if self.preformatted == 0 => self.word("`"),
            ("code" | "tt" | "kbd" | "samp", true) if self.preformatted == 0 => self.text.push('`'),
            ("td" | "th", false) => {
                if self.breaks == 0 && !self.text.is_empty() {
                    self.text.push_str(" |");
                }
                self.space = true;
            }
            ("pre", closing) => self.preformatted_block(closing),
            ("a", false) => self.open_link(tag),
            ("a", true) => self.close_link(),
            ("img", false) => self.picture(tag),
            (name, closing) => self.block(name, closing),
        }
    }

    fn block(&mut self, name: &str, closing: bool) {
        let level = match name.as_bytes() {
            [b'h', digit @ b'1'..=b'6'] => Some((digit - b'0') as usize),
            _ => None,
        };
        match (level, closing) {
            (Some(level), false) => {
                self.need_breaks(2);
                if self.style == Style::Markdown {
                    self.mark(&"#".repeat(level));
                    self.space = true;
                }
            }
            (Some(_), true) => self.need_breaks(2),
            (None, _) => match name {
                "p" | "table" | "article" | "section" | "dl" | "title" => {
                    self.need_breaks(2);
                }
                "div" | "tr" | "header" | "footer" | "main" | "nav" | "aside" | "form" | "figure"
                | "figcaption" | "dt" | "dd" | "option" | "body" | "head" | "li" => self.need_breaks(1),
                _ => {}
            },
        }
    }

    /// Begins or ends a list. One inside of an item follows it at once; others stand by themselves.
    fn list(&mut self, tag: &Tag, closing: bool) {
        if closing {
            self.fresh_item = false;
            self.lists.pop();
        }
        let inside = !self.lists.is_empty();
        if !closing {
            let first = tag.attribute("start").and_then(|start| start.parse().ok());
            self.fresh_item = false;
            self.lists.push((tag.name == "ol").then(|| first.unwrap_or(1)));
        }
        self.need_breaks(if inside { 1 } else { 2 });
    }

    fn item(&mut self) {
        self.fresh_item = false;
        self.need_breaks(1);
        let indent = "  ".repeat(self.lists.len().saturating_sub(1).min(MAX_INDENT));
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{indent}{}. ", number.saturating_sub(1))
            }
            _ => format!("{indent}- "),
        };
        self.mark(&mark);
        self.fresh_item = true;
    }

    fn quotation(&mut self, closing: bool) {
        self.need_breaks(2);
        self.quotes = match closing {
            true => self.quotes.saturating_sub(1),
            false => (self.quotes + 1).min(MAX_INDENT),
        };
    }

    fn preformatted_block(&mut self, closing: bool) {
        if closing && self.preformatted > 0 {
            self.preformatted -= 1;
            let end = if self.text.ends_with('\n') { "```" } else { "\n```" };
            if self.style == Style::Markdown {
                self.text.push_str(end);
            }
        } else if !closing {
            self.need_breaks(2);
            if self.style == Style::Markdown {
                self.mark("```\n");
            }
            self.preformatted += 1;
            self.fresh_block = true;
        }
        self.need_breaks(if closing { 2 } else { 0 });
    }

    fn open_link(&mut self, tag: &Tag) {
        self.close_link();
        let Some(address) = tag.attribute("href").filter(|address| !address.starts_with('#')) else {
            return;
        };
        let Ok(address) = self.base.join(address.trim()) else {
            return;
        };
        if matches!(address.scheme(), "http" | "https" | "mailto") {
            // The bracket of a link comes with its first word: a link without text is left out.
            self.link = Some((address.to_string(), false));
        }
    }

    fn close_link(&mut self) {
        if let Some((address, true)) = self.link.take() {
            self.text.push_str(&format!("]({address})"));
        }
    }

    fn picture(&mut self, tag: &Tag) {
        if let Some(description) = tag
            .attribute("alt")
            .filter(|description| !description.trim().is_empty())
        {
            self.word(&format!("[picture: {}]", description.trim()));
        }
    }

    fn finish(mut self) -> String {
        self.close_link();
        if self.preformatted > 0 {
            self.preformatted = 1;
            self.preformatted_block(true);
        }
        self.text.trim().to_owned()
    }
}

/// Decodes entities. What is no entity stays as it is.
fn decoded(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        result.push_str(&rest[..start]);
        rest = &rest[start..];
        // No name of an entity is longer than this, so an `&` in plain text costs nothing.
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        match end.and_then(|end| Some((entity(&rest[1..end])?, end))) {
            Some((character, end)) => {
                result.push(character);
                rest = &rest[end + 1..];
            }
            None => {
                result.push('&');
                rest = &rest[1..];
            }
        }
    }
    result.push_str(rest);
    result
}

/// The named entities that real pages use.
const NAMED: &[(&str, char)] = &[
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("ensp", ' '),
    ("emsp", ' '),
    ("thinsp", ' '),
    ("shy", '\u{AD}'),
    ("copy", '©'),
    ("reg", '®'),
    ("trade", '™'),
    ("hellip", '…'),
    ("mdash", '—'),
    ("ndash", '–'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("laquo", '«'),
    ("raquo", '»'),
    ("bull", '•'),
    ("middot", '·'),
    ("times", '×'),
    ("deg", '°'),
    ("euro", '€'),
    ("pound", '£'),
    ("sect", '§'),
    ("para", '¶'),
    ("larr", '←'),
    ("rarr", '→'),
    ("uarr", '↑'),
    ("darr", '↓'),
    ("auml", 'ä'),
    ("ouml", 'ö'),
    ("uuml", 'ü'),
    ("Auml", 'Ä'),
    ("Ouml", 'Ö'),
    ("Uuml", 'Ü'),
    ("szlig", 'ß'),
    ("eacute", 'é'),
    ("egrave", 'è'),
    ("agrave", 'à'),
    ("ccedil", 'ç'),
    ("ntilde", 'ñ'),
];

fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return match code {
            // The numbers of control characters mean Windows-1252 characters, as in browsers.
            0x80..0xA0 => windows_1252(code as u8),
            code => char::from_u32(code).filter(|character| *character != '\0'),
        };
    }
    NAMED
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, character)| *character)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(html: &str) -> String {
        to_text(
            html,
            &Url::parse("https://example.org/docs/page").unwrap(),
            Style::Markdown,
        )
    }

    #[test]
    fn plain_text_has_no_marks() {
        let page = "<h1>Title</h1><p>See <a href='/x'>this</a> and <code>that</code>.</p><pre>a\n b</pre>\
                    <blockquote>Words</blockquote>";
        let base = Url::parse("https://example.org/").unwrap();
        assert_eq!(
            to_text(page, &base, Style::Plain),
            "Title\n\nSee this and that.\n\na\n b\n\nWords"
        );
    }

    #[test]
    fn a_page_becomes_readable() {
        let page = "<!DOCTYPE html><html><head><title>A &amp; B</title><style>p{}</style></head><body>\
                    <h1>Big\n <em>news</em></h1><p>One <b>two</b>,\n   three.<br>Four</p><script>if (a<b) {}</script>\
                    <ul><li>first</li><li>second <a href='../x?a=1&amp;b=2'>link</a>.</li></ul>\
                    <!-- <p>hidden</p> --><hr><p>end</p></body></html>";
        let expected = "A & B\n\n# Big news\n\nOne two, three.\nFour\n\n- first\n- second \
                        [link](https://example.org/x?a=1&b=2).\n\n---\n\nend";
        assert_eq!(text(page), expected);
    }

    #[test]
    fn preformatted_text_keeps_its_shape() {
        assert_eq!(
            text("<p>x<pre>\n  a &lt; b\n    c</pre>y"),
            "x\n\n```\n  a < b\n    c\n```\n\ny"
        );
        assert_eq!(text("<pre>never closed"), "```\nnever closed\n```");
    }

    #[test]
    fn lists_keep_their_numbers_and_their_depth() {
        let table = [
            ("<ol><li>one<li>two</ol>", "1. one\n2. two"),
            ("<ol start=7><li>one</li></ol>", "7. one"),
            (
                "a<ul><li>one<ol><li>in<li>side</ol></li><li>two</ul>b",
                "a\n\n- one\n  1. in\n  2. side\n- two\n\nb",
            ),
            (
                "<ul><li><p>words</p></li><li><p>more</p></li></ul>",
                "- words\n- more",
            ),
            ("<ul><li></li><li>x</li></ul></ul>", "- \n- x"),
        ];
        for (page, expected) in table {
            let lines: Vec<String> = text(page)
                .lines()
                .filter(|line| !line.is_empty())
                .map(str::to_owned)
                .collect();
            let wanted: Vec<&str> = expected.lines().filter(|line| !line.is_empty()).collect();
            assert_eq!(lines, wanted, "{page}");
        }
    }

    #[test]
    fn code_and_quotations_are_marked() {
        assert_eq!(
            text("run <code>ls -l</code>, then <kbd>q</kbd>"),
            "run `ls -l`, then `q`"
        );
        assert_eq!(text("<pre><code>a\n  b</code></pre>"), "```\na\n  b\n```");
        assert_eq!(
            text("x<blockquote><p>wise</p><p>words</p></blockquote>y"),
            "x\n\n> wise\n\n> words\n\ny"
        );
        assert_eq!(
            text("<a href='/x'><h2>News</h2></a>"),
            "## [News](https://example.org/x)"
        );
        assert_eq!(text("&#150; &#x80;"), "– €");
    }

    #[test]
    fn tables_are_lines_with_bars() {
        assert_eq!(
            text("<table><tr><th>a<th>b</tr><tr><td>1</td><td>2</td></tr></table>"),
            "a | b\n1 | 2"
        );
    }

    #[test]
    fn links_that_lead_nowhere_are_words() {
        assert_eq!(
            text("<a href='#top'>top</a> <a href='javascript:x()'>run</a> <a>bare</a>"),
            "top run bare"
        );
        assert_eq!(text("a <a href='/x'><img src=y></a> b"), "a b");
        assert_eq!(
            text("<a href='/x'><img alt='A cat'></a>"),
            "[[picture: A cat]](https://example.org/x)"
        );
    }

    #[test]
    fn entities_are_decoded_once() {
        assert_eq!(
            text("&amp;lt; &#65;&#x1F980; &unknown; &; & &#0; &#xD800;"),
            "&lt; A\u{1F980} &unknown; &; & &#0; &#xD800;"
        );
    }

    #[test]
    fn broken_markup_does_not_stop_the_reading() {
        assert_eq!(text("a < b and c > d"), "a < b and c > d");
        assert_eq!(text("x <p title=\"never closed>y"), "x\n\ny");
        assert_eq!(text("x <script>never closed"), "x");
        assert_eq!(text("x <SCRIPT>no</Script >y"), "x y");
        assert_eq!(text("x <!-- never closed"), "x");
        assert_eq!(text("<p title='a > b'>y"), "y");
        assert_eq!(text("tail <"), "tail <");
        assert_eq!(text("tail <a"), "tail");
    }

    #[test]
    fn a_large_page_takes_no_long_time() {
        let begun = std::time::Instant::now();
        let page =
            "<a href='/x' title=\"<p>&amp".repeat(40_000) + &"<".repeat(100_000) + &"</script".repeat(50_000);
        text(&page);
        assert!(begun.elapsed() < std::time::Duration::from_secs(120));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(page in "(<|>|/|!|-|&|;|=|\"|'|a|pre|script|li|h1|td|href|#| |\n|ä){0,80}") {
            text(&page);
        }
    }
}
