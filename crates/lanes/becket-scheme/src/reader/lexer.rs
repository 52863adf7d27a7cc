//! Turns text into tokens.

use crate::fault::{ErrorKind, Fault, Trouble};
use crate::number::{Number, parse_number};
use crate::place::SourcePlace;
use crate::text::Text;

/// A token.
#[derive(Debug, PartialEq)]
pub enum Token {
    Open,
    OpenVector,
    OpenBytes,
    Close,
    Dot,
    /// A prefix such as `'`, by the name of the form that it abbreviates.
    Prefix(&'static str),
    /// `#;`, which discards the next datum.
    Discard,
    /// `#0=`, which labels the next datum.
    Labelled(u64),
    /// `#0#`, which refers to a label.
    Label(u64),
    Atom(Atom),
    End,
}

/// A datum without parts.
#[derive(Debug, PartialEq)]
pub enum Atom {
    Bool(bool),
    Number(Number),
    Char(char),
    String(String),
    Symbol(String),
}

/// Characters that have a name.
pub const CHARACTER_NAMES: &[(&str, char)] = &[
    ("alarm", '\u{7}'),
    ("backspace", '\u{8}'),
    ("delete", '\u{7f}'),
    ("escape", '\u{1b}'),
    ("newline", '\n'),
    ("null", '\0'),
    ("return", '\r'),
    ("space", ' '),
    ("tab", '\t'),
];

/// Reads tokens from a text.
#[derive(Debug)]
pub struct Lexer<'a> {
    text: &'a Text,
    pub at: usize,
    place: SourcePlace,
    fold_case: bool,
    number_bits: u64,
}

impl<'a> Lexer<'a> {
    /// Starts at a character of a text.
    pub fn new(text: &'a Text, at: usize, place: SourcePlace, number_bits: u64) -> Self {
        Self {
            text,
            at,
            place,
            fold_case: false,
            number_bits,
        }
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at)
    }

    fn peek_at(&self, offset: usize) -> Option<char> {
        self.text.get(self.at + offset)
    }

    fn advance(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        if next == '\n' {
            self.place.line += 1;
            self.place.column = 1;
        } else {
            self.place.column = self.place.column.saturating_add(1);
        }
        Some(next)
    }

    fn wrong<T>(&self, message: impl Into<String>, place: SourcePlace) -> Result<T, Fault> {
        Err(Fault::read(message, Some(place)))
    }

    /// The error of a text that ends in the middle of something, perhaps because more is to come.
    pub fn unfinished<T>(&self, what: &str, place: SourcePlace) -> Result<T, Fault> {
        let message = format!("{what} is not closed");
        let trouble = Trouble {
            kind: ErrorKind::Unfinished,
            message,
            irritants: Vec::new(),
            place: Some(place),
        };
        Err(Fault::Error(Box::new(trouble)))
    }

    /// The next token and where it begins.
    pub fn next(&mut self) -> Result<(Token, SourcePlace), Fault> {
        self.skip_blanks()?;
        let place = self.place;
        let Some(next) = self.peek() else {
            return Ok((Token::End, place));
        };
        let single = match next {
            '(' => Some(Token::Open),
            ')' => Some(Token::Close),
            '\'' => Some(Token::Prefix("quote")),
            '`' => Some(Token::Prefix("quasiquote")),
            _ => None,
        };
        if let Some(token) = single {
            self.advance();
            return Ok((token, place));
        }
        let token = match next {
            ',' => {
                self.advance();
                if self.peek() == Some('@') {
                    self.advance();
                    Token::Prefix("unquote-splicing")
                } else {
                    Token::Prefix("unquote")
                }
            }
            '"' => Token::Atom(Atom::String(self.quoted('"', "a string")?)),
            '|' => Token::Atom(Atom::Symbol(self.quoted('|', "a symbol")?)),
            '#' => self.hash(place)?,
            '[' | ']' | '{' | '}' => return self.wrong(format!("`{next}` means nothing here"), place),
            _ => self.word(place)?,
        };
        Ok((token, place))
    }

    fn skip_blanks(&mut self) -> Result<(), Fault> {
        while let Some(next) = self.peek() {
            match (next, self.peek_at(1)) {
                (';', _) => self.skip_line(),
                ('#', Some('|')) => self.skip_block()?,
                ('#', Some('!')) => self.directive()?,
                _ if next.is_whitespace() => {
                    self.advance();
                }
                _ => break,
            }
        }
        Ok(())
    }

    fn skip_line(&mut self) {
        while self.advance().is_some_and(|next| next != '\n') {}
    }

    fn skip_block(&mut self) -> Result<(), Fault> {
        let start = self.place;
        let mut depth = 0;
        loop {
            match (self.peek(), self.peek_at(1)) {
                (Some('#'), Some('|')) => depth += 1,
                (Some('|'), Some('#')) => depth -= 1,
                (Some(_), _) => {
                    self.advance();
                    continue;
                }
                (None, _) => return self.unfinished("a comment", start),
            }
            self.advance();
            self.advance();
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Skips `#!fold-case` and the like, and the first line of a script.
    fn directive(&mut self) -> Result<(), Fault> {
        let start = self.place;
        if self.at == 0 && matches!(self.peek_at(2), Some('/' | ' ')) {
            self.skip_line();
            return Ok(());
        }
        match self.until_delimiter().as_str() {
            "#!fold-case" => self.fold_case = true,
            "#!no-fold-case" => self.fold_case = false,
            other => return self.wrong(format!("`{other}` is no directive"), start),
        }
        Ok(())
    }

    /// The characters up to the end of a word.
    fn until_delimiter(&mut self) -> String {
        let mut word = String::new();
        while let Some(next) = self.peek() {
            if next.is_whitespace() || matches!(next, '(' | ')' | '"' | ';' | '|') {
                break;
            }
            word.push(next);
            self.advance();
        }
        word
    }

    fn word(&mut self, place: SourcePlace) -> Result<Token, Fault> {
        let word = self.until_delimiter();
        if word == "." {
            return Ok(Token::Dot);
        }
        Ok(Token::Atom(match self.number(&word, place)? {
            Some(number) => Atom::Number(number),
            None if self.fold_case => Atom::Symbol(word.to_lowercase()),
            None => Atom::Symbol(word),
        }))
    }

    fn number(&self, word: &str, place: SourcePlace) -> Result<Option<Number>, Fault> {
        let begins = |first: &u8| first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.' | b'#');
        if !word.as_bytes().first().is_some_and(begins) {
            return Ok(None);
        }
        match parse_number(word, 10, self.number_bits) {
            Ok(number) => Ok(number),
            Err(limit) => self.wrong(limit.to_string(), place),
        }
    }

    /// Reads a token that begins with `#`.
    fn hash(&mut self, place: SourcePlace) -> Result<Token, Fault> {
        match self.peek_at(1) {
            Some('(') => {
                self.at += 2;
                self.place.column = self.place.column.saturating_add(2);
                return Ok(Token::OpenVector);
            }
            Some(';') => {
                self.advance();
                self.advance();
                return Ok(Token::Discard);
            }
            Some('\\') => return self.character(place).map(|value| Token::Atom(Atom::Char(value))),
            Some(digit) if digit.is_ascii_digit() => return self.label(place),
            _ => {}
        }
        let word = self.until_delimiter();
        match word.to_lowercase().as_str() {
            "#t" | "#true" => return Ok(Token::Atom(Atom::Bool(true))),
            "#f" | "#false" => return Ok(Token::Atom(Atom::Bool(false))),
            "#u8" if self.peek() == Some('(') => {
                self.advance();
                return Ok(Token::OpenBytes);
            }
            _ => {}
        }
        match self.number(&word, place)? {
            Some(number) => Ok(Token::Atom(Atom::Number(number))),
            None => self.wrong(format!("`{word}` is no datum"), place),
        }
    }

    fn label(&mut self, place: SourcePlace) -> Result<Token, Fault> {
        self.advance();
        let mut number: u64 = 0;
        while let Some(digit) = self.peek().and_then(|next| next.to_digit(10)) {
            number = number.saturating_mul(10).saturating_add(u64::from(digit));
            self.advance();
        }
        match self.advance() {
            Some('=') => Ok(Token::Labelled(number)),
            Some('#') => Ok(Token::Label(number)),
            _ => self.wrong(format!("`#{number}` must be followed by `=` or `#`"), place),
        }
    }

    fn character(&mut self, place: SourcePlace) -> Result<char, Fault> {
        self.advance();
        self.advance();
        let Some(first) = self.advance() else {
            return self.unfinished("a character", place);
        };
        let mut name = String::from(first);
        if first.is_alphanumeric() {
            name.push_str(&self.until_delimiter());
        }
        if name.chars().count() == 1 {
            return Ok(first);
        }
        let folded = if self.fold_case {
            name.to_lowercase()
        } else {
            name.clone()
        };
        if let Some((_, value)) = CHARACTER_NAMES.iter().find(|(known, _)| *known == folded) {
            return Ok(*value);
        }
        let code = name
            .strip_prefix(['x', 'X'])
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match code.and_then(char::from_u32) {
            Some(value) => Ok(value),
            None => self.wrong(format!("`#\\{name}` is no character"), place),
        }
    }

    /// Reads the text between two quotation marks or bars.
    fn quoted(&mut self, end: char, what: &str) -> Result<String, Fault> {
        let start = self.place;
        self.advance();
        let mut text = String::new();
        loop {
            match self.advance() {
                None => return self.unfinished(what, start),
                Some(next) if next == end => return Ok(text),
                Some('\\') => {
                    if let Some(escaped) = self.escape(start, what)? {
                        text.push(escaped);
                    }
                }
                // However a file ends its lines, strings have newlines.
                Some('\r') if end == '"' && self.peek() == Some('\n') => {}
                Some(next) => text.push(next),
            }
        }
    }

    fn escape(&mut self, start: SourcePlace, what: &str) -> Result<Option<char>, Fault> {
        let place = self.place;
        let Some(next) = self.advance() else {
            return self.unfinished(what, start);
        };
        Ok(Some(match next {
            'a' => '\u{7}',
            'b' => '\u{8}',
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            '"' | '\\' | '|' => next,
            'x' | 'X' => return self.hex_escape(place).map(Some),
            _ if next.is_whitespace() => return self.line_end(next, place),
            _ => return self.wrong(format!("`\\{next}` means nothing in {what}"), place),
        }))
    }

    fn hex_escape(&mut self, place: SourcePlace) -> Result<char, Fault> {
        let mut digits = String::new();
        while let Some(next) = self.advance() {
            if next == ';' {
                break;
            }
            digits.push(next);
            if digits.len() > 8 {
                break;
            }
        }
        let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
        match code {
            Some(code) => Ok(code),
            None => self.wrong(format!("`\\x{digits};` is no character"), place),
        }
    }

    /// Reads a backslash at the end of a line: the text continues on the next line.
    fn line_end(&mut self, first: char, place: SourcePlace) -> Result<Option<char>, Fault> {
        let blank = |next: char| next.is_whitespace() && next != '\n';
        let mut next = first;
        while next != '\n' {
            next = match self.advance() {
                Some(next) if next.is_whitespace() => next,
                _ => return self.wrong("a backslash before a blank must end the line", place),
            };
        }
        while self.peek().is_some_and(blank) {
            self.advance();
        }
        Ok(None)
    }
}
