//! The reader: one pass over the text, a function for each construct.

use std::ops::Range;

use crate::{
    Command, Document, End, Kind, Part, Redirect, RedirectKind, Script, Unreadable, Word, name_length,
};

/// How deep constructs may be nested. Deeper ones are not read.
const DEPTH: usize = 100;

/// Keywords after which a command of the enclosing construct begins.
const BETWEEN: &[&str] = &["then", "elif", "else", "do", "!", "time", "coproc"];

/// Keywords that end a construct.
const ENDS: &[&str] = &["fi", "done", "esac", "}"];

const NO_LINES: &str = "a here-document has no lines where it stands";
const NOT_CLOSED: &str = "something is not closed";

/// Operators of redirections, longer ones before their prefixes.
const REDIRECTS: &[(&str, RedirectKind)] = &[
    ("<<<", RedirectKind::Text),
    ("<<-", RedirectKind::Document(0)),
    ("<<", RedirectKind::Document(0)),
    ("<&", RedirectKind::InputDuplicate),
    ("<>", RedirectKind::Input),
    ("<", RedirectKind::Input),
    ("&>>", RedirectKind::Output),
    ("&>", RedirectKind::Output),
    (">>", RedirectKind::Output),
    (">&", RedirectKind::OutputDuplicate),
    (">|", RedirectKind::Output),
    (">", RedirectKind::Output),
];

/// Reads a script.
pub fn read(text: &str) -> Script {
    let mut reader = Reader {
        text,
        at: 0,
        end: text.len(),
        depth: 0,
        pending: Vec::new(),
        documents: Vec::new(),
        unreadable: None,
    };
    // Shells take a carriage return for a part of a word, and leave out NULs.
    if let Some(at) = text.find(['\0', '\r']) {
        reader.unreadable(at, "there is a NUL or a carriage return in it");
    }
    let commands = reader.commands(Stop::Text);
    Script {
        commands,
        documents: reader.documents,
        unreadable: reader.unreadable,
    }
}

/// What ends a list of commands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// The end of the text that is read.
    Text,
    Parenthesis,
    /// A keyword.
    Word(&'static str),
    /// The end of a clause of a `case`.
    Clause,
}

/// The meaning of quotes in a text with parts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    /// Quotes are quotes.
    Count,
    /// Quotes are ordinary characters, as in double quotes.
    AreText,
}

/// A here-document whose body begins with the next line.
struct Pending {
    document: usize,
    mark: String,
    has_tabs: bool,
    is_literal: bool,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// The end of the text that is being read.
    end: usize,
    depth: usize,
    pending: Vec<Pending>,
    documents: Vec<Document>,
    unreadable: Option<Unreadable>,
}

// Characters, blanks and keywords.
impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..self.end]
    }

    fn peek(&self) -> Option<u8> {
        self.rest().bytes().next()
    }

    fn takes(&mut self, text: &str) -> bool {
        let is_there = self.rest().starts_with(text);
        self.at += if is_there { text.len() } else { 0 };
        is_there
    }

    /// Takes the next character, whatever it is.
    fn next(&mut self) -> Option<char> {
        let character = self.rest().chars().next()?;
        self.at += character.len_utf8();
        Some(character)
    }

    fn unreadable(&mut self, at: usize, why: &'static str) {
        self.unreadable.get_or_insert(Unreadable { at, why });
    }

    /// Reads a nested construct.
    fn deeper<T: Default>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= DEPTH {
            self.unreadable(self.at, "commands are nested too deeply");
            self.at = self.end;
            return T::default();
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads a part of the text by itself, and then returns to the current position.
    fn within<T: Default>(&mut self, span: Range<usize>, read: impl FnOnce(&mut Self) -> T) -> T {
        let place = (self.at, self.end, std::mem::take(&mut self.pending));
        (self.at, self.end) = (span.start, span.end);
        let result = self.deeper(read);
        if !self.pending.is_empty() {
            self.unreadable(span.start, NO_LINES);
        }
        (self.at, self.end, self.pending) = place;
        result
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.rest().as_bytes() {
                [b' ' | b'\t' | b'\r', ..] => self.at += 1,
                [b'\\', b'\n', ..] => self.at += 2,
                _ => return,
            }
        }
    }

    /// Skips blanks, comments and new lines.
    fn skip_lines(&mut self) {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(b'\n') => self.new_line(),
                Some(b'#') => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                _ => return,
            }
        }
    }

    /// The whole unquoted word at this position, if it may be a keyword.
    fn grammar_word(&self) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|sign: char| " \t\r\n;&|()<>".contains(sign));
        let word = &rest[..length.unwrap_or(rest.len())];
        match word.contains(['"', '\'', '\\', '$', '`']) {
            true => "",
            false => word,
        }
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let is_there = self.grammar_word() == word;
        self.at += if is_there { word.len() } else { 0 };
        is_there
    }
}

// Commands.
impl Reader<'_> {
    /// Reads commands up to their end, which is consumed, except for the `esac` after a clause.
    fn commands(&mut self, stop: Stop) -> Vec<Command> {
        let (begin, pending) = (self.at, self.pending.len());
        let mut commands: Vec<Command> = Vec::new();
        loop {
            self.skip_lines();
            let Some(sign) = self.peek() else { break };
            match sign {
                b')' => {
                    self.at += 1;
                    if stop == Stop::Parenthesis {
                        if self.pending.len() > pending {
                            self.unreadable(begin, NO_LINES);
                        }
                        return commands;
                    }
                    self.unreadable(self.at - 1, "a `)` closes nothing");
                }
                b';' | b'&' | b'|' if !self.rest().starts_with("&>") => {
                    let end = self.separator();
                    match commands.last_mut() {
                        _ if end.is_none() && stop == Stop::Clause => return commands,
                        Some(command) if command.end == End::Other => command.end = end.unwrap_or(End::Other),
                        _ => {}
                    }
                }
                _ => {
                    if self.ends(stop) {
                        return commands;
                    }
                    commands.extend(self.deeper(Self::command));
                }
            }
        }
        if stop != Stop::Text {
            self.unreadable(begin, NOT_CLOSED);
        }
        commands
    }

    /// Reads the separator of commands; `None` for the end of a clause.
    fn separator(&mut self) -> Option<End> {
        if [";;&", ";;", ";&", ";|"].iter().any(|sign| self.takes(sign)) {
            return None;
        }
        Some(
            match ["&&", "||", "|&", "|"].iter().find(|sign| self.takes(sign)) {
                Some(&"|&" | &"|") => End::Pipe,
                Some(_) => End::Condition,
                None => {
                    self.at += 1;
                    End::Other
                }
            },
        )
    }

    /// Whether the commands end with the keyword at this position.
    fn ends(&mut self, stop: Stop) -> bool {
        let word = self.grammar_word();
        match stop {
            Stop::Word(end) if end == word => self.at += end.len(),
            Stop::Clause if word == "esac" => {}
            _ => return false,
        }
        true
    }

    /// One command with its redirections; `None` for words that only precede one.
    fn command(&mut self) -> Option<Command> {
        let start = self.at;
        let word = self.grammar_word();
        self.at += word.len();
        let mut command = match word {
            _ if ENDS.contains(&word) => {
                self.unreadable(start, "a word of the grammar closes nothing");
                return None;
            }
            _ if BETWEEN.contains(&word) => {
                self.skip_blanks();
                let has_option = word == "time" && !self.takes_word("-p") && self.rest().starts_with('-');
                // Other options exist only for the program of that name.
                self.at = if has_option { start } else { self.at };
                return has_option.then(|| self.simple()).flatten();
            }
            "" if self.rest().starts_with('(') => self.parenthesis(),
            "if" => self.group("fi"),
            "while" | "until" => self.group("done"),
            "{" => self.group("}"),
            "for" | "select" => self.r#loop(),
            "case" => self.case(),
            "[[" => self.test(),
            "function" => self.function(),
            _ => {
                self.at = start;
                return self.simple();
            }
        };
        while let Some(redirect) = self.redirect() {
            command.redirects.push(redirect);
        }
        command.span = start..self.at;
        Some(command)
    }

    fn group(&mut self, end: &'static str) -> Command {
        Command {
            body: self.commands(Stop::Word(end)),
            ..Command::of(Kind::Group)
        }
    }

    /// Reads `( … )` or `(( … ))`.
    fn parenthesis(&mut self) -> Command {
        let start = self.at;
        if self.takes("((") {
            let (parts, body) = self.arithmetic();
            let span = start..self.at;
            return Command {
                words: vec![Word { span, parts }],
                body,
                ..Command::of(Kind::Arithmetic)
            };
        }
        self.at += 1;
        Command {
            body: self.commands(Stop::Parenthesis),
            ..Command::of(Kind::Subshell)
        }
    }

    /// Reads what follows `((`, up to `))`. If a single `)` comes instead, it was not arithmetic but a subshell in
    /// another one; then the rest of the outer one is read.
    fn arithmetic(&mut self) -> (Vec<Part>, Vec<Command>) {
        let start = self.at;
        let parts = self.deeper(|reader| reader.parts_until(b')', Quotes::AreText));
        let is_closed = self.takes(")");
        if !is_closed || !is_arithmetic(&self.text[start..self.at]) {
            self.unreadable(start, "`((` can be read in two ways");
        }
        match is_closed {
            true => (parts, Vec::new()),
            false => (parts, self.commands(Stop::Parenthesis)),
        }
    }

    fn r#loop(&mut self) -> Command {
        self.skip_blanks();
        let mut command = Command::of(Kind::Loop);
        let begin = self.at;
        if self.takes("((") {
            let parts = self.deeper(|reader| reader.parts_until(b')', Quotes::AreText));
            let span = begin..self.at;
            self.takes(")");
            command.words.push(Word { span, parts });
        } else {
            command.words.extend(self.word());
            self.skip_lines();
            if self.takes_word("in") {
                self.skip_blanks();
                while let Some(word) = self.word() {
                    command.words.push(word);
                    self.skip_blanks();
                }
            }
        }
        self.skip_lines();
        self.takes(";");
        self.skip_lines();
        let stop = if self.takes_word("{") { "}" } else { "done" };
        command.body.extend(self.commands(Stop::Word(stop)));
        command
    }

    fn case(&mut self) -> Command {
        let start = self.at;
        self.skip_blanks();
        let mut command = Command::of(Kind::Case);
        command.words.extend(self.word());
        self.skip_lines();
        if !self.takes_word("in") {
            self.unreadable(start, "a `case` has no `in`");
        }
        loop {
            self.skip_lines();
            if self.takes_word("esac") {
                return command;
            }
            if self.peek().is_none() {
                self.unreadable(start, NOT_CLOSED);
                return command;
            }
            self.takes("(");
            self.patterns(&mut command.words);
            command.body.extend(self.commands(Stop::Clause));
        }
    }

    /// Reads the patterns of a clause and the parenthesis after them.
    fn patterns(&mut self, patterns: &mut Vec<Word>) {
        loop {
            self.skip_lines();
            match self.word() {
                Some(word) => patterns.push(word),
                None if self.takes("|") => {}
                None if self.takes(")") => return,
                None => {
                    self.unreadable(self.at, NOT_CLOSED);
                    self.next();
                    return;
                }
            }
        }
    }

    fn test(&mut self) -> Command {
        let start = self.at;
        let mut command = Command::of(Kind::Test);
        loop {
            self.skip_lines();
            let begin = self.at;
            if self.takes_word("]]") {
                return command;
            }
            let word = self.word().or_else(|| {
                let _ = self.takes("&&") || self.takes("||") || self.next().is_some();
                let span = begin..self.at;
                let parts = vec![Part::Literal(self.text[span.clone()].to_owned())];
                (!span.is_empty()).then_some(Word { span, parts })
            });
            match word {
                Some(word) => command.words.push(word),
                None => {
                    self.unreadable(start, NOT_CLOSED);
                    return command;
                }
            }
        }
    }

    /// Reads `function name [()] body`.
    fn function(&mut self) -> Command {
        self.skip_blanks();
        let name = match self.grammar_word() {
            "{" => None,
            _ => self.word(),
        };
        self.takes_empty_parentheses();
        self.body_of(name)
    }

    fn body_of(&mut self, name: Option<Word>) -> Command {
        self.skip_lines();
        Command {
            words: name.into_iter().collect(),
            body: self.deeper(Self::command).into_iter().collect(),
            ..Command::of(Kind::Function)
        }
    }

    fn takes_empty_parentheses(&mut self) -> bool {
        let place = self.at;
        self.skip_blanks();
        if self.takes("(") {
            self.skip_blanks();
            if self.takes(")") {
                return true;
            }
        }
        self.at = place;
        false
    }

    /// A simple command, or the definition of a function that begins like one.
    fn simple(&mut self) -> Option<Command> {
        let start = self.at;
        let mut command = Command::of(Kind::Simple);
        loop {
            let end = self.at;
            self.skip_blanks();
            if let Some(redirect) = self.redirect() {
                command.redirects.push(redirect);
                continue;
            }
            let begin = self.at;
            let is_comment = self.peek() == Some(b'#');
            let Some(word) = (!is_comment).then(|| self.word()).flatten() else {
                command.span = start..end;
                break;
            };
            if command.words.is_empty() && is_assignment(&self.text[begin..self.at], &word) {
                command.assignments.push(word);
                continue;
            }
            let is_first = command.words.is_empty() && command.assignments.is_empty();
            if is_first && self.takes_empty_parentheses() {
                let function = self.body_of(Some(word));
                return Some(Command {
                    span: start..self.at,
                    ..function
                });
            }
            command.words.push(word);
        }
        if self.peek() == Some(b'(') || self.at == start {
            self.unreadable(self.at, "a sign stands where none can stand");
            // A parenthesis is read as a subshell; anything else is skipped, so that the reader always advances.
            if self.peek() != Some(b'(') {
                self.next();
            }
        }
        Some(command)
    }

    fn redirect(&mut self) -> Option<Redirect> {
        let start = self.at;
        self.skip_blanks();
        let descriptor = self.descriptor();
        let operator = REDIRECTS.iter().find(|(sign, _)| self.rest().starts_with(sign));
        let is_substitution = ["<(", ">("].iter().any(|sign| self.rest().starts_with(sign));
        let Some((sign, kind)) = operator.filter(|_| !is_substitution) else {
            self.at = start;
            return None;
        };
        self.at += sign.len();
        self.skip_blanks();
        let target = self.word().unwrap_or_else(|| {
            self.unreadable(start, "a redirection leads nowhere");
            Word::default()
        });
        let kind = match kind {
            RedirectKind::Document(_) => self.begin_document(&target, *sign == "<<-"),
            other => *other,
        };
        Some(Redirect {
            kind,
            descriptor,
            target,
        })
    }

    /// Reads `2` or `{name}` directly before a redirection.
    fn descriptor(&mut self) -> Option<String> {
        let rest = self.rest();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let braces = rest.strip_prefix('{').map(name_length);
        let named = braces.filter(|length| *length > 0 && rest[length + 1..].starts_with('}'));
        let length = named.map_or(digits, |length| length + 2);
        let is_before = rest[length..].starts_with(['<', '>']);
        (length > 0 && is_before).then(|| {
            self.at += length;
            rest[..length].to_owned()
        })
    }
}

// Here-documents.
impl Reader<'_> {
    fn begin_document(&mut self, mark: &Word, has_tabs: bool) -> RedirectKind {
        let written = &self.text[mark.span.clone()];
        let document = self.documents.len();
        self.documents.push(Document::default());
        self.pending.push(Pending {
            document,
            mark: mark.literal().unwrap_or(written).to_owned(),
            has_tabs,
            is_literal: written.contains(['"', '\'', '\\']),
        });
        RedirectKind::Document(document)
    }

    /// Consumes the end of a line, and the bodies of the here-documents that the line began.
    fn new_line(&mut self) {
        self.at += 1;
        for pending in std::mem::take(&mut self.pending) {
            let span = self.body(&pending);
            let parts = match pending.is_literal {
                true => vec![Part::Literal(self.text[span.clone()].to_owned())],
                false => self.within(span.clone(), |reader| reader.parts_until(0, Quotes::AreText)),
            };
            self.documents[pending.document] = Document { span, parts };
        }
    }

    /// Consumes the lines of a here-document and its delimiter. A line after a backslash is not the delimiter.
    fn body(&mut self, pending: &Pending) -> Range<usize> {
        let (start, mut is_continued) = (self.at, false);
        while self.at < self.end {
            let begin = self.at;
            let line = self.rest().split('\n').next().unwrap_or_default();
            self.at = (self.at + line.len() + 1).min(self.end);
            let tabs = line.len() - line.trim_start_matches('\t').len();
            let plain = &line[if pending.has_tabs { tabs } else { 0 }..];
            if plain.trim_end_matches('\r') == pending.mark && !is_continued {
                return start..begin;
            }
            let backslashes = line.len() - line.trim_end_matches('\\').len();
            is_continued = !pending.is_literal && backslashes % 2 == 1;
        }
        start..self.end
    }
}

// Words.
impl Reader<'_> {
    /// A word; `None` if none begins here.
    fn word(&mut self) -> Option<Word> {
        let (start, mut parts, mut braces) = (self.at, Vec::new(), 0_usize);
        while let Some(sign) = self.peek() {
            match sign {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b')' => break,
                b'<' | b'>' if self.rest()[1..].starts_with('(') => {
                    self.at += 2;
                    parts.push(self.substitution());
                }
                b'<' | b'>' => break,
                b'(' => match self.glued(start) {
                    Some(part) => parts.push(part),
                    None => break,
                },
                b'\'' => self.single_quotes(&mut parts),
                b'"' => self.double_quotes(&mut parts),
                b'[' if self.is_bracket_command(start) => self.literal(&mut parts),
                b'*' | b'?' | b'[' => self.pattern(&mut parts),
                b',' if braces > 0 => self.pattern(&mut parts),
                b'.' if braces > 0 && self.rest().starts_with("..") => self.pattern(&mut parts),
                b'{' => {
                    braces += 1;
                    self.literal(&mut parts);
                }
                _ => self.part(&mut parts, Quotes::Count),
            }
        }
        let span = start..self.at;
        (!span.is_empty()).then_some(Word { span, parts })
    }

    /// Whether the word is `[` or `[[`, which are commands and not patterns.
    fn is_bracket_command(&self, start: usize) -> bool {
        match &self.text[start..self.at] {
            "" => ["[", "[["].contains(&self.grammar_word()),
            "[" => self.grammar_word() == "[",
            _ => false,
        }
    }

    fn literal(&mut self, parts: &mut Vec<Part>) {
        let start = self.at;
        self.next();
        push(parts, &self.text[start..self.at]);
    }

    fn pattern(&mut self, parts: &mut Vec<Part>) {
        parts.extend(self.next().map(Part::Pattern));
    }

    /// A parenthesis directly after other characters: the values of an array, or a pattern. `None` at a word's end.
    fn glued(&mut self, start: usize) -> Option<Part> {
        let before = &self.text[start..self.at];
        let is_empty = self.rest()[1..].trim_start_matches([' ', '\t']).starts_with(')');
        if before.is_empty() || (is_empty && !before.ends_with('=')) {
            return None;
        }
        self.at += 1;
        let name = before
            .strip_suffix('=')
            .map(|name| name.strip_suffix('+').unwrap_or(name));
        if !name.is_some_and(|name| name_length(name) == name.len() || name.ends_with(']')) {
            if name.is_some() {
                self.unreadable(start, "`=(` means something else in every shell");
            }
            return Some(self.opaque(b')', Quotes::Count));
        }
        let mut values = Vec::new();
        loop {
            self.skip_lines();
            match self.deeper(Self::word) {
                Some(word) => append(&mut values, word.parts),
                None if self.takes(")") => return Some(Part::Opaque(values)),
                None => {
                    self.unreadable(start, NOT_CLOSED);
                    self.next()?;
                }
            }
        }
    }

    fn single_quotes(&mut self, parts: &mut Vec<Part>) {
        let inner = self.rest()[1..].split('\'').next().unwrap_or_default();
        push(parts, inner);
        self.at += inner.len() + 1;
        if !self.takes("'") {
            self.unreadable(self.at - inner.len() - 1, NOT_CLOSED);
        }
    }

    fn double_quotes(&mut self, parts: &mut Vec<Part>) {
        self.at += 1;
        let inner = self.deeper(|reader| reader.parts_until(b'"', Quotes::AreText));
        append(parts, inner);
    }

    /// An expansion of which only the parts inside are known.
    fn opaque(&mut self, close: u8, quotes: Quotes) -> Part {
        Part::Opaque(self.deeper(|reader| reader.parts_until(close, quotes)))
    }

    /// Parts up to a character, which is consumed; up to the end of the text for 0.
    fn parts_until(&mut self, close: u8, quotes: Quotes) -> Vec<Part> {
        let (start, mut parts, mut open) = (self.at, Vec::new(), 0_usize);
        while let Some(sign) = self.peek() {
            match sign {
                _ if sign == close && open == 0 => {
                    self.at += 1;
                    return parts;
                }
                b'\'' if quotes == Quotes::Count => self.single_quotes(&mut parts),
                // In braces double quotes count even within double quotes.
                b'"' if quotes == Quotes::Count || close == b'}' => self.double_quotes(&mut parts),
                b'(' | b')' if close == b')' => {
                    open = if sign == b'(' { open + 1 } else { open - 1 };
                    self.literal(&mut parts);
                }
                _ => self.part(&mut parts, quotes),
            }
        }
        if close != 0 {
            self.unreadable(start, NOT_CLOSED);
        }
        parts
    }

    /// Reads one character or substitution.
    fn part(&mut self, parts: &mut Vec<Part>, quotes: Quotes) {
        match self.rest().as_bytes() {
            [b'\\', b'\n', ..] => self.at += 2,
            [b'\\'] => {
                self.unreadable(self.at, "shells read a last backslash differently");
                self.at += 1;
            }
            [b'\\', next, ..] => {
                // In double quotes a backslash stays if there is nothing to escape.
                let escapes = quotes == Quotes::Count || b"$`\"\\".contains(next);
                self.at += usize::from(escapes);
                self.literal(parts);
            }
            [b'$', ..] => self.dollar(parts, quotes),
            [b'`', ..] => parts.push(self.backticks(quotes)),
            _ => self.literal(parts),
        }
    }
}

// Substitutions.
impl Reader<'_> {
    /// Reads `$` with what belongs to it.
    fn dollar(&mut self, parts: &mut Vec<Part>, quotes: Quotes) {
        let start = self.at;
        if self.takes("$((") {
            let (mut inner, commands) = self.arithmetic();
            if !commands.is_empty() {
                inner.push(Part::Commands {
                    span: start..self.at,
                    commands,
                });
            }
            return parts.push(Part::Opaque(inner));
        }
        if self.takes("$(") {
            return parts.push(self.substitution());
        }
        if self.takes("${") {
            return parts.push(self.braces(quotes));
        }
        if self.takes("$[") {
            self.unreadable(start, "shells read `$[` differently");
            return parts.push(self.opaque(b']', Quotes::AreText));
        }
        self.at += 1;
        match self.peek() {
            Some(b'\'') if quotes == Quotes::Count => self.encoded(parts),
            // `$"…"` is translated and otherwise like `"…"`.
            Some(b'"') if quotes == Quotes::Count => {}
            _ => {
                let special = self
                    .rest()
                    .starts_with(|sign: char| "0123456789@*#?$!-".contains(sign));
                let name = &self.rest()[..name_length(self.rest()).max(usize::from(special))];
                self.at += name.len();
                match name {
                    "" => push(parts, "$"),
                    _ => parts.push(Part::Variable {
                        name: name.to_owned(),
                        parts: Vec::new(),
                    }),
                }
            }
        }
    }

    /// Reads `$'…'`, with escapes that shells do not agree about.
    fn encoded(&mut self, parts: &mut Vec<Part>) {
        let start = self.at;
        self.at += 1;
        let (mut has_escapes, begin) = (false, self.at);
        while let Some(sign) = self.next() {
            match sign {
                '\\' => {
                    has_escapes = true;
                    if self.next() == Some('\'') {
                        self.unreadable(start, "shells read `$'\\''` differently");
                    }
                }
                '\'' if has_escapes => return parts.push(Part::Opaque(Vec::new())),
                '\'' => return push(parts, &self.text[begin..self.at - 1]),
                _ => {}
            }
        }
        self.unreadable(start, NOT_CLOSED);
    }

    /// Reads what follows `$(` and the like.
    fn substitution(&mut self) -> Part {
        let start = self.at;
        let commands = self.deeper(|reader| reader.commands(Stop::Parenthesis));
        let inner = &self.text[start..self.at];
        let span = start..start + inner.strip_suffix(')').unwrap_or(inner).len();
        Part::Commands { span, commands }
    }

    /// Reads what follows `${`.
    fn braces(&mut self, quotes: Quotes) -> Part {
        let start = self.at;
        if self.rest().starts_with([' ', '\t', '\n', '|']) {
            self.takes("|");
            let commands = self.deeper(|reader| reader.commands(Stop::Word("}")));
            return Part::Commands {
                span: start..self.at,
                commands,
            };
        }
        // Within double quotes, single ones count only after the operators that take patterns.
        let behind = self.rest().trim_start_matches(['!', '#']);
        let behind = behind.trim_start_matches(|sign: char| sign.is_alphanumeric() || "_@*[]".contains(sign));
        let takes_pattern = behind.starts_with(['#', '%', '/', '^']);
        let quotes = if takes_pattern { Quotes::Count } else { quotes };
        let parts = self.deeper(|reader| reader.parts_until(b'}', quotes));
        let inner = &self.text[start..self.at];
        Part::Variable {
            name: inner.strip_suffix('}').unwrap_or(inner).to_owned(),
            parts,
        }
    }

    /// Reads commands in backticks, where a backslash may escape a character once more.
    fn backticks(&mut self, quotes: Quotes) -> Part {
        let start = self.at + 1;
        self.at = start;
        let is_escape = |sign: char| "`\\$".contains(sign) || (sign == '"' && quotes == Quotes::AreText);
        let (mut script, mut has_escapes) = (String::new(), false);
        loop {
            match self.next() {
                Some('`') => break,
                Some('\\') if self.rest().starts_with(is_escape) => {
                    has_escapes = true;
                    script.extend(self.next());
                }
                Some(other) => script.push(other),
                None => {
                    self.unreadable(start - 1, NOT_CLOSED);
                    break;
                }
            }
        }
        if has_escapes {
            return Part::Script(script);
        }
        let span = start..start + script.len();
        let commands = self.within(span.clone(), |reader| reader.commands(Stop::Text));
        Part::Commands { span, commands }
    }
}

/// Whether a word before a command is an assignment: its name contains no quote.
fn is_assignment(written: &str, word: &Word) -> bool {
    let length = name_length(written);
    length > 0 && written[length..].starts_with(['=', '+', '[']) && word.assignment().is_some()
}

/// Whether a text can be arithmetic, and not the commands that some shells see in `((…))`.
fn is_arithmetic(text: &str) -> bool {
    let words: Vec<&str> = text
        .split([' ', '\t', '\n', '(', ')'])
        .filter(|word| !word.is_empty())
        .collect();
    let begins =
        |word: &str| word.starts_with(|sign: char| sign.is_alphanumeric() || "_$/.~\"'".contains(sign));
    let ends = |word: &str| word.ends_with(|sign: char| sign.is_alphanumeric() || "_}\"'".contains(sign));
    let is_path = words
        .first()
        .is_some_and(|word| word.starts_with(['/', '.', '~', '\\']));
    !is_path && !text.contains(';') && !words.windows(2).any(|pair| ends(pair[0]) && begins(pair[1]))
}

fn push(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Literal(before)) => before.push_str(text),
        _ => parts.push(Part::Literal(text.to_owned())),
    }
}

fn append(parts: &mut Vec<Part>, more: Vec<Part>) {
    for part in more {
        match part {
            Part::Literal(text) => push(parts, &text),
            other => parts.push(other),
        }
    }
}
