//! The shell: which files a line or a script sources, starts, or gives to an interpreter.
//!
//! A scanner that knows words, quotes, substitutions and here-documents, and follows a path through plain variables,
//! `$BECKET_HOOK_DIR`, the usual spellings of "the folder of this script", and `cd`.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::{Base, Followed, Language, Use, line_of, python};
use crate::shell_grammar::{BEFORE_COMMANDS, WRAPPERS};

/// Programs that run a file that they are given, by their names without a version.
pub const INTERPRETERS: &[(&[&str], Language)] = &[
    (
        &["sh", "bash", "dash", "ash", "zsh", "ksh", "busybox"],
        Language::Shell,
    ),
    (&["python", "pypy", "uv"], Language::Python),
    (
        &["node", "nodejs", "bun", "deno", "tsx", "ts-node"],
        Language::JavaScript,
    ),
    (
        &["chibi-scheme", "guile", "csi", "gosh", "scheme", "chez", "racket"],
        Language::Scheme,
    ),
    (
        &[
            "ruby", "perl", "php", "lua", "luajit", "awk", "gawk", "mawk", "jq", "sed", "fish", "tclsh",
            "Rscript", "julia",
        ],
        Language::Other,
    ),
];

/// Programs that take their orders from files of the project which they find by themselves.
const RUNNERS: &[&str] = &[
    "make",
    "gmake",
    "just",
    "task",
    "rake",
    "npm",
    "npx",
    "pnpm",
    "pnpx",
    "yarn",
    "cargo",
    "go",
    "gradle",
    "mvn",
    "tox",
    "nox",
    "poetry",
    "hatch",
    "pipenv",
    "docker",
    "nix",
    "bazel",
    "composer",
    "bundle",
    "pre-commit",
    "mise",
];

/// Options of some wrapper that have a value behind them.
const WITH_VALUES: &[&str] = &[
    "-C", "-D", "-I", "-L", "-P", "-R", "-S", "-T", "-U", "-a", "-c", "-d", "-g", "-h", "-k", "-n", "-p",
    "-r", "-s", "-t", "-u",
];

/// Interpreters whose first argument is the program itself.
const ONE_LINERS: &[&str] = &["awk", "gawk", "mawk", "jq", "sed"];

/// Programs and builtins that run nothing that they are given.
const LOOKERS: &[&str] = &[
    "[",
    "[[",
    "basename",
    "cat",
    "chmod",
    "cmp",
    "cp",
    "cut",
    "diff",
    "dirname",
    "echo",
    "git",
    "grep",
    "head",
    "ln",
    "ls",
    "mkdir",
    "mv",
    "printf",
    "readlink",
    "realpath",
    "rm",
    "sha256sum",
    "sort",
    "stat",
    "tail",
    "tee",
    "test",
    "touch",
    "tr",
    "wc",
];

/// Words of the grammar whose arguments are no commands.
const GRAMMAR: &[&str] = &[
    "for", "case", "select", "function", "in", "fi", "done", "esac", "}",
];

/// The usual spellings of the folder of a script, without quotes.
const OWN_FOLDER: &[&str] = &[
    "dirname $0",
    "dirname -- $0",
    "dirname ${0}",
    "dirname ${BASH_SOURCE[0]}",
    "dirname -- ${BASH_SOURCE[0]}",
    "dirname $BASH_SOURCE",
    "dirname ${BASH_SOURCE}",
    "0%/*",
    "BASH_SOURCE[0]%/*",
    "BASH_SOURCE%/*",
];

/// The variable with the folder of the hook file.
const FOLDER_VARIABLE: &str = "BECKET_HOOK_DIR";

/// How deep substitutions may stand in one another. What is deeper is open.
const DEPTH: usize = 30;

/// What the text of a script or a line says.
pub fn follow(text: &str) -> Followed {
    let mut scanner = Scanner::new(text);
    scanner.commands();
    let mut followed = scanner.followed;
    followed.whole_folder |= ["$0", "${0", "BASH_SOURCE"]
        .iter()
        .any(|name| text.contains(name));
    followed
}

/// What a word says, as far as it is known before it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Value {
    base: Option<Base>,
    text: String,
    /// Whether a part of it is only known when it runs.
    is_open: bool,
}

impl Value {
    /// Adds what a substitution stands for.
    fn push(&mut self, value: &Self) {
        match value.base {
            Some(_) if !self.text.is_empty() || self.base.is_some() => self.is_open = true,
            Some(base) => self.base = Some(base),
            None => {}
        }
        self.text.push_str(&value.text);
        self.is_open |= value.is_open;
    }

    fn open() -> Self {
        Self {
            is_open: true,
            ..Self::default()
        }
    }

    fn at(base: Base) -> Self {
        Self {
            base: Some(base),
            ..Self::default()
        }
    }
}

/// A word of a command.
#[derive(Debug, Clone)]
struct Word {
    span: Range<usize>,
    /// The variable that it sets, if it stands before a command.
    sets: Option<String>,
    value: Value,
    /// Whether standard input is read from it.
    is_input: bool,
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Where the text ends that is looked at.
    end: usize,
    depth: usize,
    /// How many `case` are open.
    cases: usize,
    variables: HashMap<String, Value>,
    /// The directory of the moment; `None` if nobody knows.
    directory: Option<(Base, PathBuf)>,
    /// The here-documents whose bodies begin with the next line.
    documents: Vec<String>,
    followed: Followed,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            end: text.len(),
            depth: 0,
            cases: 0,
            variables: HashMap::new(),
            directory: Some((Base::Directory, PathBuf::new())),
            documents: Vec::new(),
            followed: Followed::default(),
        }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..self.end].chars().next()
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..self.end]
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += character.len_utf8();
        Some(character)
    }

    /// Everything up to the end.
    fn commands(&mut self) {
        let mut words: Vec<Word> = Vec::new();
        while let Some(character) = self.peek() {
            match character {
                ' ' | '\t' | '\r' => drop(self.next()),
                '\\' if self.rest().starts_with("\\\n") => self.at += 2,
                '#' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                '\n' | ';' | '&' | '|' | '(' | ')' => {
                    let ends_case = self.cases > 0 && self.rest().starts_with(";;");
                    self.next();
                    self.command(std::mem::take(&mut words));
                    if character == '\n' {
                        self.skip_documents();
                    }
                    if ends_case {
                        self.skip_pattern();
                    }
                }
                '<' | '>' => words.extend(self.redirection()),
                _ => words.push(self.word()),
            }
            let is = |word: Option<&Word>, text: &str| word.is_some_and(|word| word.value.text == text);
            if words.len() > 2 && is(words.first(), "case") && is(words.last(), "in") {
                words.clear();
                self.cases += 1;
                self.skip_pattern();
            }
        }
        self.command(words);
    }

    /// The pattern of a case is text, up to its bracket.
    fn skip_pattern(&mut self) {
        let rest = self.rest().trim_start_matches([' ', '\t', '\n', ';', '&', '(']);
        self.at = self.end - rest.len();
        if !rest.starts_with("esac") {
            self.at = (closing(self.text, self.at, self.end, b')', 0) + 1).min(self.end);
        }
    }

    /// What standard input is read from, if it is.
    fn redirection(&mut self) -> Option<Word> {
        let is_document = self.rest().starts_with("<<") && !self.rest().starts_with("<<<");
        let is_substitution = self.rest().starts_with("<(") || self.rest().starts_with(">(");
        let is_input = self.peek() == Some('<') && !self.rest().starts_with("<<");
        let signs = self.rest().trim_start_matches(['<', '>', '&', '-', '|']);
        self.at = self.end - signs.len();
        if is_substitution {
            return None;
        }
        self.at = self.end - self.rest().trim_start_matches([' ', '\t']).len();
        let word = self.word();
        if is_document {
            self.documents.push(word.value.text);
            return None;
        }
        is_input.then_some(Word {
            is_input: true,
            ..word
        })
    }

    /// Bodies of here-documents are text.
    fn skip_documents(&mut self) {
        for end in std::mem::take(&mut self.documents) {
            while self.at < self.end {
                let line = self.rest().split('\n').next().unwrap_or_default();
                self.at = (self.at + line.len() + 1).min(self.end);
                if line.trim_start_matches('\t') == end {
                    break;
                }
            }
        }
    }

    fn word(&mut self) -> Word {
        let (start, mut value, mut sets) = (self.at, Value::default(), None);
        while let Some(character) = self.peek() {
            match character {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '=' if sets.is_none() && value.base.is_none() && is_name(&value.text) => {
                    self.next();
                    sets = Some(std::mem::take(&mut value.text));
                }
                '\'' => {
                    self.next();
                    let inner = self.rest().split('\'').next().unwrap_or_default();
                    value.text.push_str(inner);
                    self.at = (self.at + inner.len() + 1).min(self.end);
                }
                '"' => {
                    self.next();
                    self.quoted(&mut value);
                }
                '*' | '?' | '[' => {
                    self.next();
                    // `[` and `[[` are commands.
                    value.is_open |= character != '[' || value.text.chars().any(|before| before != '[');
                    value.text.push(character);
                }
                _ => self.part(&mut value),
            }
        }
        if self.at == start {
            // Nothing is a word that has no characters; this one belongs to nobody.
            self.next();
        }
        Word {
            span: start..self.at,
            sets,
            value,
            is_input: false,
        }
    }

    fn quoted(&mut self, value: &mut Value) {
        while let Some(character) = self.peek() {
            if character == '"' {
                self.next();
                return;
            }
            self.part(value);
        }
    }

    /// One character or substitution.
    fn part(&mut self, value: &mut Value) {
        match self.next() {
            Some('\\') => {
                if let Some(next) = self.next().filter(|next| *next != '\n') {
                    value.text.push(next);
                }
            }
            Some('$') => {
                let stands_for = self.dollar();
                value.push(&stands_for);
            }
            Some('`') => {
                let inner = self.rest().split('`').next().unwrap_or_default().len();
                let stands_for = self.substitution(self.at..self.at + inner);
                self.at = (self.at + inner + 1).min(self.end);
                value.push(&stands_for);
            }
            Some(other) => value.text.push(other),
            None => {}
        }
    }

    /// What stands behind a `$`.
    fn dollar(&mut self) -> Value {
        match self.peek() {
            Some('(') => {
                let is_number = self.rest().starts_with("((");
                self.next();
                let start = self.at;
                self.at = closing(self.text, start, self.end, b')', 0);
                let inner = start..self.at;
                self.at = (self.at + 1).min(self.end);
                if is_number {
                    Value::open()
                } else {
                    self.substitution(inner)
                }
            }
            Some('{') => {
                self.next();
                let start = self.at;
                self.at = closing(self.text, start, self.end, b'}', 0);
                let name = &self.text[start..self.at];
                self.at = (self.at + 1).min(self.end);
                if OWN_FOLDER.contains(&name) {
                    Value::at(Base::Script)
                } else {
                    self.variable(name)
                }
            }
            Some(character) if character.is_alphanumeric() || character == '_' => {
                let rest = self.rest();
                let length = rest.find(|other: char| !other.is_alphanumeric() && other != '_');
                let name = &rest[..length.unwrap_or(rest.len())];
                self.at += name.len();
                self.variable(name)
            }
            Some('\'' | '"') | None => Value::default(),
            Some(_) => {
                self.next();
                Value::open()
            }
        }
    }

    fn variable(&self, name: &str) -> Value {
        match name {
            FOLDER_VARIABLE => Value::at(Base::HookFolder),
            "PWD" => match &self.directory {
                Some((base, path)) => Value {
                    base: Some(*base),
                    text: format!("/{}", path.display()).trim_end_matches('/').into(),
                    is_open: false,
                },
                None => Value::open(),
            },
            _ => self.variables.get(name).cloned().unwrap_or_else(Value::open),
        }
    }

    /// What a command in the place of a word stands for. It may run files itself.
    fn substitution(&mut self, span: Range<usize>) -> Value {
        let text = self.text[span.clone()].trim();
        let plain = text.replace(['"', '\''], "");
        if OWN_FOLDER.contains(&plain.as_str()) {
            return Value::at(Base::Script);
        }
        if self.depth >= DEPTH {
            self.open(span.start, "commands stand too deep in one another");
            return Value::open();
        }
        let mut inner = Scanner {
            at: span.start,
            end: span.end,
            depth: self.depth + 1,
            variables: self.variables.clone(),
            directory: self.directory.clone(),
            followed: std::mem::take(&mut self.followed),
            ..Scanner::new(self.text)
        };
        inner.commands();
        self.followed = inner.followed;
        // `$(cd FOLDER && pwd)` is that folder.
        let ends_in_place = plain.trim_end_matches([' ', '-', 'P', 'L']).ends_with("pwd");
        match inner.directory {
            Some((base, path)) if plain.starts_with("cd ") && ends_in_place => Value {
                base: Some(base),
                text: format!("/{}", path.display()).trim_end_matches('/').into(),
                is_open: false,
            },
            _ => Value::open(),
        }
    }

    /// A command that is complete.
    fn command(&mut self, words: Vec<Word>) {
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.peek() {
            match &word.sets {
                Some(name) if !word.is_input => self.variables.insert(name.clone(), word.value.clone()),
                _ if BEFORE_COMMANDS.contains(&word.value.text.as_str()) => None,
                _ => break,
            };
            words.next();
        }
        let words: Vec<Word> = words.collect();
        let Some(first) = words.iter().position(|word| !word.is_input) else {
            return;
        };
        let name = &words[first];
        match name.value.text.as_str() {
            "export" | "readonly" | "local" | "declare" | "typeset" => {
                for word in &words {
                    if let Some(name) = &word.sets {
                        self.variables.insert(name.clone(), word.value.clone());
                    }
                }
            }
            "cd" | "pushd" => {
                let target = words[first + 1..]
                    .iter()
                    .find(|word| !word.value.text.starts_with('-'));
                self.directory = target.and_then(|word| self.place(&word.value));
            }
            "popd" => self.directory = None,
            "." | "source" => {
                if let Some(file) = words.get(first + 1) {
                    self.runs(file, Some(Language::Shell));
                }
            }
            "eval" if words.iter().any(|word| word.value.is_open) => {
                let end = words.last().map_or(name.span.end, |word| word.span.end);
                let shown = self.text[name.span.start..end].trim();
                self.open(name.span.start, &format!("`{shown}`"));
            }
            "eval" => {}
            "esac" => self.cases = self.cases.saturating_sub(1),
            text if GRAMMAR.contains(&text) && name.value.base.is_none() => {}
            _ => self.program(&words),
        }
    }

    /// A program, or a function, with its arguments.
    fn program(&mut self, words: &[Word]) {
        let mut at = words.iter().position(|word| !word.is_input).unwrap_or_default();
        loop {
            let Some(word) = words.get(at) else { return };
            let name = base_name(&word.value);
            if !WRAPPERS.contains(&name) {
                break;
            }
            at += 1;
            // Options with their values, settings of `env`, and numbers.
            while let Some(word) = words.get(at) {
                let text = &word.value.text;
                let is_passed =
                    word.sets.is_some() || text.starts_with('-') || text.starts_with(char::is_numeric);
                at += match WITH_VALUES.contains(&text.as_str()) {
                    true => 2,
                    false if is_passed => 1,
                    false => break,
                };
            }
        }
        if at >= words.len() {
            return;
        }
        let word = &words[at];
        let name = base_name(&word.value);
        if word.value.is_open || word.value.base.is_some() || word.value.text.contains('/') {
            self.runs(word, None);
        }
        if RUNNERS.contains(&name) {
            self.open(
                word.span.start,
                &format!("`{name}` takes its orders from files that it finds by itself"),
            );
        }
        let arguments = &words[at + 1..];
        match Language::of_program(name) {
            Some(language) => self.interpreter(name, arguments, words, language),
            None if [".", "source"].contains(&name) => {
                arguments
                    .first()
                    .into_iter()
                    .for_each(|file| self.runs(file, Some(Language::Shell)));
            }
            None if LOOKERS.contains(&name) => {}
            None => self.handed_over(arguments),
        }
    }

    /// Scripts that some program is given, which may run them. They stay where they are, because it may as well do
    /// something to them.
    fn handed_over(&mut self, arguments: &[Word]) {
        for word in arguments.iter().filter(|word| !word.is_input) {
            let is_script = Language::of_file(Path::new(&word.value.text), "").is_some();
            if let Some((base, path)) = self.place(&word.value).filter(|_| is_script) {
                self.followed.guess(base, path, None);
            }
        }
    }

    /// The file that an interpreter is given.
    fn interpreter(&mut self, name: &str, arguments: &[Word], all: &[Word], language: Language) {
        let mut arguments = arguments.iter().filter(|word| !word.is_input);
        if ONE_LINERS.contains(&name) {
            let mut rest =
                arguments.skip_while(|word| !["-f", "--from-file"].contains(&word.value.text.as_str()));
            if let Some(file) = rest.nth(1) {
                self.runs(file, Some(language));
            }
            return;
        }
        while let Some(word) = arguments.next() {
            let text = word.value.text.as_str();
            match text {
                "run" | "exec" => {}
                "-c" | "-e" | "--eval" | "-p" | "-lc" | "-ec" | "-cu" | "-E" => {
                    if let Some(code) = arguments.next() {
                        self.inline(code, language);
                    }
                    return;
                }
                "-m" if language == Language::Python => {
                    if let Some(module) = arguments.next() {
                        let import = format!("import {0}.__main__, {0}", module.value.text);
                        self.followed
                            .uses
                            .extend(python::follow(&import, Base::Directory).uses);
                    }
                    return;
                }
                "-f" | "--from-file" | "-r" | "--require" | "--import" | "--rcfile" | "--init-file" => {
                    if let Some(file) = arguments.next() {
                        self.runs(file, Some(language));
                    }
                }
                "-W" | "-X" | "-O" | "-o" | "-I" | "-L" | "--arg" | "--argjson" => drop(arguments.next()),
                _ if text.starts_with('-') => {}
                _ => return self.runs(word, Some(language)),
            }
        }
        if let Some(input) = all.iter().find(|word| word.is_input) {
            self.runs(input, Some(language));
        }
    }

    /// Code in the place of a file. What it names lies in the directory of the moment, and stays there.
    fn inline(&mut self, code: &Word, language: Language) {
        if code.value.is_open {
            return self.open(
                code.span.start,
                &format!("`{}`", self.text[code.span.clone()].trim()),
            );
        }
        let found = match language {
            Language::Shell => follow(&code.value.text),
            Language::Python => python::follow(&code.value.text, Base::Directory),
            Language::JavaScript
                if ["require", "import"]
                    .iter()
                    .any(|word| code.value.text.contains(word)) =>
            {
                return self.open(code.span.start, "an import in the command line");
            }
            _ => return,
        };
        let uses = found.uses.into_iter().map(|used| Use { span: None, ..used });
        self.followed.uses.extend(uses);
        self.followed.open.extend(found.open);
    }

    /// A file is run.
    fn runs(&mut self, word: &Word, language: Option<Language>) {
        let shown = self.text[word.span.clone()].trim();
        match self.place(&word.value) {
            Some((base, path)) => self.followed.uses.push(Use {
                span: Some(word.span.clone()),
                base,
                path,
                language,
                is_guess: false,
            }),
            None => {
                self.followed.whole_folder = true;
                self.open(word.span.start, &format!("`{shown}`"));
            }
        }
    }

    /// Where a word leads, seen from the directory of the moment.
    fn place(&self, value: &Value) -> Option<(Base, PathBuf)> {
        if value.is_open {
            return None;
        }
        if let Some(base) = value.base {
            return Some((base, PathBuf::from(value.text.trim_start_matches('/'))));
        }
        let path = Path::new(&value.text);
        if path.is_absolute() || value.text.starts_with('~') {
            return Some((Base::Directory, path.to_path_buf()));
        }
        let (base, directory) = self.directory.as_ref()?;
        Some((*base, directory.join(path)))
    }

    fn open(&mut self, at: usize, what: &str) {
        let line = line_of(self.text, at);
        self.followed
            .open
            .push(format!("line {line}: {what} cannot be followed"));
    }
}

/// Where the bracket is that closes what was opened before `at`; the end if it is missing.
fn closing(text: &str, mut at: usize, end: usize, closes: u8, depth: usize) -> usize {
    let bytes = text.as_bytes();
    while at < end && depth < DEPTH {
        at = match bytes[at] {
            byte if byte == closes => return at,
            b'\\' => at + 2,
            b'\'' => after(text, at + 1, end, '\''),
            b'`' => after(text, at + 1, end, '`'),
            b'"' => quote_end(text, at + 1, end, depth + 1),
            b'$' if text[at..end].starts_with("$(") => closing(text, at + 2, end, b')', depth + 1) + 1,
            b'$' if text[at..end].starts_with("${") => closing(text, at + 2, end, b'}', depth + 1) + 1,
            b'(' if closes == b')' => closing(text, at + 1, end, b')', depth + 1) + 1,
            _ => at + 1,
        };
    }
    end
}

/// The place behind the end of a text in double quotes.
fn quote_end(text: &str, mut at: usize, end: usize, depth: usize) -> usize {
    let bytes = text.as_bytes();
    while at < end && depth < DEPTH {
        at = match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at + 2,
            b'`' => after(text, at + 1, end, '`'),
            b'$' if text[at..end].starts_with("$(") => closing(text, at + 2, end, b')', depth + 1) + 1,
            b'$' if text[at..end].starts_with("${") => closing(text, at + 2, end, b'}', depth + 1) + 1,
            _ => at + 1,
        };
    }
    end
}

/// The place behind the next such sign.
fn after(text: &str, at: usize, end: usize, sign: char) -> usize {
    let rest = text.get(at..end).unwrap_or_default();
    rest.find(sign).map_or(end, |found| at + found + 1)
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|character: char| character.is_ascii_digit())
        && text
            .chars()
            .all(|character| character.is_alphanumeric() || character == '_')
}

fn base_name(value: &Value) -> &str {
    match value.is_open {
        true => "",
        false => value.text.rsplit('/').next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files of a text, each as `base:path`.
    fn files(text: &str) -> Vec<String> {
        let uses = follow(text).uses.into_iter();
        uses.map(|used| format!("{:?}:{}", used.base, used.path.display()))
            .collect()
    }

    #[test]
    fn files_are_found_where_they_are_run() {
        for (text, expected) in [
            ("./guard.sh --now", "Directory:./guard.sh"),
            ("hooks/guard.sh", "Directory:hooks/guard.sh"),
            ("bash hooks/guard.sh x", "Directory:hooks/guard.sh"),
            ("python3 -u 'hooks/my guard.py'", "Directory:hooks/my guard.py"),
            ("\"$BECKET_HOOK_DIR\"/guard.sh", "HookFolder:guard.sh"),
            ("\"${BECKET_HOOK_DIR}/a b.sh\" x", "HookFolder:a b.sh"),
            ("cat | env A=1 nice -n 5 ./guard.sh", "Directory:./guard.sh"),
            ("timeout 5 node guard.mjs", "Directory:guard.mjs"),
            (". \"$(dirname \"$0\")/lib.sh\"", "Script:lib.sh"),
            ("source ${BASH_SOURCE%/*}/lib.sh", "Script:lib.sh"),
            (
                "DIR=$(cd \"$(dirname \"$0\")\" && pwd)\n. \"$DIR/lib.sh\"",
                "Script:lib.sh",
            ),
            ("HERE=`dirname $0`; . $HERE/lib.sh", "Script:lib.sh"),
            (
                "cd \"$(dirname \"$0\")\" || exit 1; . ./lib.sh",
                "Script:./lib.sh",
            ),
            ("cd sub && ./x.sh", "Directory:sub/./x.sh"),
            ("if ./check.sh; then :; fi", "Directory:./check.sh"),
            ("x=$(./inner.sh \"a b\")", "Directory:./inner.sh"),
            ("echo \"$(bash ./inner.sh)\"", "Directory:./inner.sh"),
            ("sh < ./piped.sh", "Directory:./piped.sh"),
            ("cat <<EOF | ./after.sh\n./not.sh\nEOF\n", "Directory:./after.sh"),
            ("jq -r -f rules.jq", "Directory:rules.jq"),
            ("find . -exec ./x.sh {} +", "Directory:./x.sh"),
            ("command . ./lib.sh", "Directory:./lib.sh"),
            ("sudo -u root xargs -I {} ./x.sh {}", "Directory:./x.sh"),
            ("awk -f ./x.awk", "Directory:./x.awk"),
        ] {
            assert_eq!(files(text), [expected], "{text}");
        }
    }

    #[test]
    fn what_is_no_program_is_not_taken_for_one() {
        for text in [
            "cat rules/list.txt",
            "echo ./guard.sh",
            "grep -q rm",
            "jq -r .tool_input.command",
            "awk '{print $1}'",
            "# ./guard.sh",
            "cat <<EOF\n./guard.sh\nEOF",
            "for x in ./a ./b; do echo $x; done",
            "[ -x ./guard.sh ]",
            "test \"$x\" = ./a",
            "[[ $x == ./a* ]]",
            "case $x in a) echo b;; esac",
            "case \"$x\" in *'rm -rf'*|*sudo*) exit 2;;\n(*.sh) ;;\n *) : ;; esac",
            "x=$(echo ':)' \")\")",
        ] {
            let found = follow(text);
            assert!(
                found.uses.is_empty() && found.open.is_empty(),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn what_cannot_be_followed_is_told_with_its_line() {
        for (text, told) in [
            ("true\n. \"$X\"", "line 2: `\"$X\"`"),
            ("$CMD now", "line 1: `$CMD`"),
            ("./hooks/*.sh", "line 1: `./hooks/*.sh`"),
            ("eval \"$X\"", "line 1: `eval \"$X\"`"),
            ("bash -c \"$X\"", "line 1: `\"$X\"`"),
            ("x=$(echo \":)\"); . $Y", "`$Y`"),
            ("node -e \"require('./x')\"", "an import"),
            ("make guard", "`make` takes its orders"),
            ("cd \"$X\"; ./a.sh", "line 1: `./a.sh`"),
        ] {
            let open = follow(text).open.join("; ");
            assert!(open.contains(told), "{text}: {open}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_strange(text in "[-a-z./$(){}\"'`\\\\;&|<> \n=#*]{0,80}") {
            let found = follow(&text);
            for used in &found.uses {
                let span = used.span.clone().unwrap_or_default();
                proptest::prop_assert!(text.get(span).is_some());
            }
        }
    }
}
