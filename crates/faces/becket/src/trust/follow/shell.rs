//! The shell: which files a line or a script sources, starts, or gives to an interpreter.
//!
//! A scanner that knows words, quotes, substitutions and here-documents, and follows a path through plain variables,
//! `$BECKET_HOOK_DIR`, the usual spellings of "the folder of this script", and `cd`.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::table::{FileAt, Holds, Meaning, holds, meaning, reads};
use super::{Base, Followed, Language, Use, javascript, line_of, python, shown};
use crate::shell_grammar::BEFORE_COMMANDS;

/// Options of some wrapper that have a value behind them.
const WITH_VALUES: &[&str] = &[
    "-C", "-D", "-I", "-L", "-P", "-R", "-T", "-U", "-a", "-c", "-d", "-g", "-h", "-k", "-n", "-p", "-r",
    "-s", "-t", "-u",
];

/// Options of interpreters that have a file behind them, and those with something else.
const WITH_FILES: &[&str] = &[
    "-f",
    "--from-file",
    "-r",
    "--require",
    "--import",
    "--loader",
    "--rcfile",
    "--init-file",
];
const WITH_OTHERS: &[&str] = &["-W", "-X", "-O", "-o", "-I", "-L", "--arg", "--argjson"];

/// Words by which a line in a language that is not followed may run or load something.
const MAY_RUN: &[&str] = &[
    "require", "load", "dofile", "system", "exec", "popen", "spawn", "include", "import", "eval", "qx", "`",
];

/// The same in awk.
const AWK_MAY_RUN: &[&str] = &["system(", "getline", "| \"", "|\""];

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
    /// What it has to do with standard input.
    input: Option<Input>,
}

/// From what standard input is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    /// The file of that name.
    File,
    /// The very text.
    Text,
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
    /// The directories outside of the brackets that are open.
    outside: Vec<Option<(Base, PathBuf)>>,
    /// Where the here-documents end whose bodies begin with the next line.
    documents_end: Option<usize>,
    /// What is piped into the command of the moment.
    before: Option<Vec<Word>>,
    /// From where the command of the moment reads.
    inputs: Vec<Word>,
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
            outside: Vec::new(),
            documents_end: None,
            before: None,
            inputs: Vec::new(),
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
                '\n' | ';' | '&' | '|' | '(' | ')' => self.end_command(std::mem::take(&mut words)),
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
        self.command(&words);
    }

    /// A command ends with the sign of the moment.
    fn end_command(&mut self, words: Vec<Word>) {
        let rest = self.rest();
        let ends_case = self.cases > 0 && rest.starts_with(";;");
        let is_long = ["||", "|&"].iter().any(|sign| rest.starts_with(sign));
        let is_pipe = rest.starts_with('|') && !rest.starts_with("||");
        let sign = self.next();
        if is_long {
            self.next();
        }
        self.command(&words);
        match sign {
            Some('\n') => self.at = self.at.max(self.documents_end.take().unwrap_or_default()),
            // What happens to the directory in brackets stays there.
            Some('(') => self.outside.push(self.directory.clone()),
            Some(')') => self.directory = self.outside.pop().unwrap_or_else(|| self.directory.clone()),
            _ => {}
        }
        // A pipe may go on in the next line.
        if is_pipe {
            self.before = Some(words);
        } else if !words.is_empty() || sign != Some('\n') {
            self.before = None;
        }
        if ends_case {
            self.skip_pattern();
        }
    }

    /// The pattern of a case is text, up to its bracket.
    fn skip_pattern(&mut self) {
        let rest = self.rest().trim_start_matches([' ', '\t', '\n', ';', '&', '(']);
        self.at = self.end - rest.len();
        if !rest.starts_with("esac") {
            self.at = (closing(self.text, self.at, self.end, b')', 0) + 1).min(self.end);
        }
    }

    /// What standard input is read from, if it is, or a command in the place of a file.
    fn redirection(&mut self) -> Option<Word> {
        let (start, rest) = (self.at, self.rest());
        let input = match rest {
            _ if rest.starts_with("<(") || rest.starts_with(">(") => {
                self.next();
                self.dollar();
                return Some(Word {
                    span: start..self.at,
                    sets: None,
                    value: Value::open(),
                    input: None,
                });
            }
            _ if rest.starts_with("<<<") => Some(Input::Text),
            _ if rest.starts_with("<<") => return Some(self.document()),
            _ if rest.starts_with('<') => Some(Input::File),
            _ => None,
        };
        self.at = self.end - rest.trim_start_matches(['<', '>', '&', '-', '|']).len();
        self.at = self.end - self.rest().trim_start_matches([' ', '\t']).len();
        let word = self.word();
        input.map(|input| Word {
            input: Some(input),
            sets: None,
            ..word
        })
    }

    /// A here-document, whose body begins with the next line.
    fn document(&mut self) -> Word {
        let has_tabs = self.rest().starts_with("<<-");
        self.at = self.end - self.rest().trim_start_matches(['<', '-', ' ', '\t']).len();
        let mark = self.word();
        let is_plain = self.text[mark.span.clone()].contains(['"', '\'', '\\']);
        let next_line = self
            .rest()
            .find('\n')
            .map_or(self.end, |found| self.at + found + 1);
        let start = self.documents_end.unwrap_or(next_line);
        let (mut body, mut end) = (start..start, start);
        while end < self.end {
            let line = self.text[end..self.end].split('\n').next().unwrap_or_default();
            body.end = end;
            end = (end + line.len() + 1).min(self.end);
            let line = if has_tabs {
                line.trim_start_matches('\t')
            } else {
                line
            };
            if line == mark.value.text {
                break;
            }
            body.end = end;
        }
        self.documents_end = Some(end);
        let value = match is_plain {
            true => Value {
                text: self.text[body.clone()].to_owned(),
                ..Value::default()
            },
            false => self.expanded(body.clone()),
        };
        Word {
            span: body,
            sets: None,
            value,
            input: Some(Input::Text),
        }
    }

    /// What a text stands for in which only substitutions are special.
    fn expanded(&mut self, span: Range<usize>) -> Value {
        let place = (self.at, self.end);
        (self.at, self.end) = (span.start, span.end);
        let mut value = Value::default();
        while self.at < self.end {
            self.part(&mut value);
        }
        (self.at, self.end) = place;
        value
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
            input: None,
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
    fn command(&mut self, words: &[Word]) {
        let is_input = |word: &&Word| word.input.is_some();
        self.inputs = words.iter().filter(is_input).cloned().collect();
        let words: Vec<Word> = words.iter().filter(|word| !is_input(word)).cloned().collect();
        let is_before = |word: &Word| BEFORE_COMMANDS.contains(&word.value.text.as_str());
        let first = words
            .iter()
            .position(|word| word.sets.is_none() && !is_before(word));
        let (before, words) = words.split_at(first.unwrap_or(words.len()));
        before.iter().for_each(|word| self.sets(word));
        self.program(words);
    }

    /// A program, a builtin or a function, with its arguments.
    fn program(&mut self, words: &[Word]) {
        let Some((word, arguments)) = words.split_first() else {
            return;
        };
        let name = base_name(&word.value).to_owned();
        if word.value.is_open || word.value.base.is_some() || word.value.text.contains('/') {
            self.runs(word, None);
        }
        let has_program = self.option_files(&name, arguments);
        match meaning(&name) {
            Some(Meaning::Sets) => arguments.iter().for_each(|word| self.sets(word)),
            Some(Meaning::Goes) => {
                let target = arguments.iter().find(|word| !word.value.text.starts_with('-'));
                self.directory = target.and_then(|word| self.place(&word.value));
            }
            Some(Meaning::Returns) => self.directory = None,
            Some(Meaning::Sources) => {
                let file = arguments.first();
                file.into_iter()
                    .for_each(|file| self.runs(file, Some(Language::Shell)));
            }
            Some(Meaning::Line) => self.line(arguments),
            Some(Meaning::FirstIsLine) => {
                let line = arguments.iter().find(|word| word.value.text != "--");
                self.line(
                    line.filter(|word| word.value.text != "-")
                        .map(std::slice::from_ref)
                        .unwrap_or_default(),
                );
            }
            Some(Meaning::LineBehindOption) => self.line_behind_option(arguments),
            Some(Meaning::Wraps) => self.wrapped(arguments, None),
            Some(Meaning::Feeds) => self.wrapped(arguments, Some(word)),
            Some(Meaning::WrapsBehind(options)) => self.wrapped_behind(arguments, options),
            Some(Meaning::RunsFolder) => {
                let folder = arguments.iter().find(|word| !word.value.text.starts_with('-'));
                folder.into_iter().for_each(|folder| self.runs(folder, None));
            }
            Some(Meaning::FindsOrders) => self.open(
                word.span.start,
                &format!("`{name}` takes its orders from files that it finds by itself"),
            ),
            Some(Meaning::Grammar) if name == "esac" => self.cases = self.cases.saturating_sub(1),
            Some(Meaning::Looks | Meaning::Grammar) => {}
            Some(Meaning::Interprets(language)) => self.interpreter(word, arguments, language),
            Some(Meaning::InterpretsArgument) if has_program => {}
            Some(Meaning::InterpretsArgument) => self.interprets_argument(arguments),
            None => self.handed_over(arguments),
        }
    }

    /// A variable is set.
    fn sets(&mut self, word: &Word) {
        let Some(name) = &word.sets else { return };
        match holds(name) {
            Some(Holds::Paths) => self.list_of_paths(word, name),
            Some(Holds::Home) if !word.value.text.starts_with('/') => self.decides(word),
            Some(Holds::Orders) if word.value.is_open || word.value.text.contains('/') => self.decides(word),
            _ => {}
        }
        self.variables.insert(name.clone(), word.value.clone());
    }

    /// Says that a variable decides which code is found, and nobody knows how.
    fn decides(&mut self, word: &Word) {
        let what = format!(
            "`{}` decides which code is found",
            shown(&self.text[word.span.clone()])
        );
        self.open(word.span.start, &what);
    }

    /// Files and folders that a variable names count. Those of the directory of the moment are taken as they lie there.
    fn list_of_paths(&mut self, word: &Word, name: &str) {
        let text = &self.text[word.span.clone()];
        let list = text
            .split_once('=')
            .map_or("", |(_, list)| list)
            .replace(['"', '\''], "");
        if list.is_empty() {
            return;
        }
        let mut is_open = false;
        for piece in pieces(&list) {
            let rest = without_itself(piece, name);
            let is_persons = ["~", "$HOME", "${HOME"].iter().any(|home| rest.starts_with(home));
            if is_persons || (rest.is_empty() && rest != piece) {
                continue;
            }
            let value = self.evaluated(rest);
            match self.place(&value).filter(|_| !rest.is_empty()) {
                Some((base, path)) => {
                    is_open |= base == Base::Directory && !path.is_absolute();
                    self.followed.guess(base, path, None);
                }
                None => is_open = true,
            }
        }
        if is_open {
            self.decides(word);
        }
    }

    /// What a word of its own stands for.
    fn evaluated(&self, text: &str) -> Value {
        let mut scanner = Scanner {
            depth: self.depth + 1,
            variables: self.variables.clone(),
            directory: self.directory.clone(),
            ..Scanner::new(text)
        };
        scanner.word().value
    }

    /// Words that are a line for this shell.
    fn line(&mut self, words: &[Word]) {
        let Some((first, last)) = words.first().zip(words.last()) else {
            return;
        };
        let texts: Vec<&str> = words.iter().map(|word| word.value.text.as_str()).collect();
        let code = Word {
            span: first.span.start..last.span.end,
            sets: None,
            value: Value {
                base: None,
                text: texts.join(" "),
                is_open: words
                    .iter()
                    .any(|word| word.value.is_open || word.value.base.is_some()),
            },
            input: None,
        };
        self.inline(&code, Language::Shell);
    }

    /// A line behind `-c`, or a command behind the first argument.
    fn line_behind_option(&mut self, arguments: &[Word]) {
        let is_option = |word: &Word| word.value.text.starts_with('-');
        let takes_line = |word: &Word| {
            let text = &word.value.text;
            is_option(word) && (text == "--command" || (!text.starts_with("--") && text.ends_with('c')))
        };
        match arguments.iter().position(takes_line) {
            Some(at) => self.line(arguments.get(at + 1..at + 2).unwrap_or_default()),
            None => {
                let first = arguments.iter().position(|word| !is_option(word));
                let command = first.and_then(|first| arguments.get(first + 1..));
                self.program(command.unwrap_or_default());
            }
        }
    }

    /// The command behind the options of a wrapper. One that feeds it adds words that nobody knows.
    fn wrapped(&mut self, arguments: &[Word], feeder: Option<&Word>) {
        let mut at = 0;
        // Options with their values, settings of `env`, and numbers.
        while let Some(word) = arguments.get(at) {
            let text = word.value.text.as_str();
            let is_line = ["-S", "--split-string"].contains(&text);
            if let Some(line) = arguments
                .get(at + 1)
                .filter(|line| is_line && line.value.text.contains(' '))
            {
                return self.line(std::slice::from_ref(line));
            }
            self.sets(word);
            let is_passed =
                word.sets.is_some() || text.starts_with('-') || text.starts_with(char::is_numeric);
            at += match WITH_VALUES.contains(&text) {
                true => 2,
                false if is_passed => 1,
                false => break,
            };
        }
        let mut command = placeholders_open(arguments.get(at..).unwrap_or_default(), feeder.is_some());
        if let Some(feeder) = feeder.filter(|_| !command.is_empty()) {
            command.push(Word {
                value: Value::open(),
                ..feeder.clone()
            });
        }
        self.program(&command);
    }

    /// The commands behind some options.
    fn wrapped_behind(&mut self, arguments: &[Word], options: &[&str]) {
        for (at, word) in arguments.iter().enumerate() {
            if options.contains(&word.value.text.as_str()) {
                let command = &arguments[at + 1..];
                let is_end = |word: &Word| [";", "+"].contains(&word.value.text.as_str());
                let end = command.iter().position(is_end).unwrap_or(command.len());
                self.program(&placeholders_open(&command[..end], true));
            }
        }
    }

    /// Scripts that some program is given, which may run them. They stay where they are, because it may as well do
    /// something to them.
    fn handed_over(&mut self, arguments: &[Word]) {
        for word in arguments {
            if Language::of_file(Path::new(&word.value.text), "").is_none() {
                continue;
            }
            match self.place(&word.value) {
                Some((base, path)) => self.followed.guess(base, path, None),
                None => self.unknown(word),
            }
        }
    }

    /// Files that a command reads because of an option: patterns, values, names, or its program. Says whether a program
    /// is among them.
    fn option_files(&mut self, name: &str, arguments: &[Word]) -> bool {
        let Some(reader) = reads(name) else { return false };
        let mut has_program = false;
        for (at, word) in arguments.iter().enumerate() {
            let Some((option, place)) = reader.option(&word.value.text) else {
                continue;
            };
            if option.is_open {
                self.decides(word);
                continue;
            }
            has_program |= option.is_program;
            let file = match place {
                FileAt::Behind => arguments.get(at + 1 + option.words_before).cloned(),
                FileAt::Here(start) => self.rest_of(word, start),
            };
            let language = option.is_program.then_some(Language::Other);
            match file {
                Some(file) if ["-", "/dev/stdin"].contains(&file.value.text.as_str()) => {}
                Some(file) => self.runs(&file, language),
                None => self.unknown(word),
            }
        }
        has_program
    }

    /// A word from a byte on, if what stands before it is written without quotes.
    fn rest_of(&self, word: &Word, start: usize) -> Option<Word> {
        let text = &self.text[word.span.clone()];
        let is_plain = text.get(..start) == word.value.text.get(..start);
        let rest = text.get(start..).filter(|_| is_plain)?;
        Some(Word {
            span: word.span.start + start..word.span.end,
            value: self.evaluated(rest),
            ..word.clone()
        })
    }

    /// An interpreter whose first argument is the program.
    fn interprets_argument(&mut self, arguments: &[Word]) {
        let may_run = |word: &&Word| AWK_MAY_RUN.iter().any(|sign| word.value.text.contains(sign));
        if let Some(code) = arguments.iter().find(may_run) {
            self.unknown(code);
        }
    }

    /// The file or the code that an interpreter is given.
    fn interpreter(&mut self, name: &Word, arguments: &[Word], language: Language) {
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            let text = word.value.text.as_str();
            match text {
                "run" | "exec" => {}
                "-" | "/dev/stdin" => break,
                "-s" if language == Language::Shell => break,
                "--version" | "-V" | "--help" => return,
                "-v" if language == Language::JavaScript => return,
                _ if takes_code(language, text) => {
                    let code =
                        rest.find(|word| language != Language::Shell || !word.value.text.starts_with('-'));
                    return code.into_iter().for_each(|code| self.inline(code, language));
                }
                _ if takes_module(language, text) => {
                    return rest.next().into_iter().for_each(|module| self.module(module));
                }
                _ if WITH_FILES.contains(&text) => {
                    rest.next()
                        .into_iter()
                        .for_each(|file| self.runs(file, Some(language)));
                }
                _ if takes_other(language, text) => drop(rest.next()),
                _ if text.starts_with("--") && text.contains('=') => self.option(word, language),
                _ if text.starts_with('-') && !word.value.is_open => {}
                _ => return self.runs(word, Some(language)),
            }
        }
        self.read_from_input(name, language);
    }

    /// A long option with its value, which may be a file.
    fn option(&mut self, word: &Word, language: Language) {
        let (option, value) = word.value.text.split_once('=').unwrap_or_default();
        if WITH_FILES.contains(&option) {
            let value = Value {
                text: value.to_owned(),
                ..word.value.clone()
            };
            match self.place(&value) {
                Some((base, path)) => self.followed.guess(base, path, Some(language)),
                None => self.unknown(word),
            }
        }
    }

    fn module(&mut self, module: &Word) {
        self.followed.seeks_modules = true;
        match module.value.is_open {
            true => self.unknown(module),
            false => {
                let import = format!("import {0}.__main__, {0}", module.value.text);
                self.contains(python::follow(&import, Base::Modules), module.span.start);
            }
        }
    }

    /// An interpreter without a file reads its code.
    fn read_from_input(&mut self, name: &Word, language: Language) {
        self.followed.seeks_modules |= language == Language::Python;
        if let Some(input) = self.inputs.last().cloned() {
            return match input.input {
                Some(Input::Text) => self.inline(&input, language),
                _ => self.runs(&input, Some(language)),
            };
        }
        let before = self.before.take().unwrap_or_default();
        let texts: Vec<&str> = before.iter().map(|word| word.value.text.as_str()).collect();
        match (texts.as_slice(), before.as_slice()) {
            (["cat", _], [_, file]) => self.runs(file, Some(language)),
            (["echo" | "printf", _], [_, code]) => self.inline(code, language),
            _ => {
                let shown = shown(&self.text[name.span.clone()]);
                self.open(
                    name.span.start,
                    &format!("`{shown}` runs what it reads, which cannot be followed"),
                );
            }
        }
    }

    /// Code in the place of a file. What it names lies in the directory of the moment, and stays there.
    fn inline(&mut self, code: &Word, language: Language) {
        self.followed.seeks_modules |= language == Language::Python;
        if code.value.is_open || self.depth >= DEPTH {
            return self.unknown(code);
        }
        let text = &code.value.text;
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let found = match language {
            Language::Shell => {
                let mut scanner = Scanner {
                    depth: self.depth + 1,
                    variables: self.variables.clone(),
                    directory: self.directory.clone(),
                    ..Scanner::new(text)
                };
                scanner.commands();
                scanner.followed
            }
            Language::Python => python::follow(text, Base::Modules),
            Language::JavaScript if has(&["require", "import"]) => {
                return self.open(
                    code.span.start,
                    "an import in the command line cannot be followed",
                );
            }
            Language::JavaScript => javascript::starts(text),
            Language::Other if has(MAY_RUN) => return self.unknown(code),
            _ => return,
        };
        self.contains(found, code.span.start);
    }

    /// Takes what a text says that stands in this one.
    fn contains(&mut self, found: Followed, at: usize) {
        self.followed.contain(found, line_of(self.text, at));
    }

    /// Says that nobody knows what something is.
    fn unknown(&mut self, word: &Word) {
        self.open(
            word.span.start,
            &format!("`{}` cannot be followed", shown(&self.text[word.span.clone()])),
        );
    }

    /// A file is run.
    fn runs(&mut self, word: &Word, language: Option<Language>) {
        match self.place(&word.value) {
            Some((base, path)) => self.followed.uses.push(Use {
                span: Some(word.span.clone()),
                base,
                path,
                language,
                is_guess: false,
            }),
            None => self.unknown(word),
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
        self.followed.open(line, what);
    }
}

/// Whether the next word is code.
fn takes_code(language: Language, option: &str) -> bool {
    let letters = option
        .strip_prefix('-')
        .filter(|rest| rest.chars().all(char::is_alphabetic));
    let ends = |all: &[char]| letters.is_some_and(|letters| letters.ends_with(all));
    match language {
        Language::Shell => letters.is_some_and(|letters| letters.contains('c')),
        Language::Python => ends(&['c']),
        Language::JavaScript => ["--eval", "--print", "eval"].contains(&option) || ends(&['e', 'p']),
        Language::Scheme => ends(&['c', 'e', 'p']),
        Language::Other => ends(&['e', 'E']),
    }
}

/// Whether the next word is neither code nor a file.
fn takes_other(language: Language, option: &str) -> bool {
    let is_short = option.starts_with('-') && !option.starts_with("--");
    WITH_OTHERS.contains(&option) || (language == Language::Shell && is_short && option.ends_with('o'))
}

/// Whether the next word is a module.
fn takes_module(language: Language, option: &str) -> bool {
    let letters = option.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    language == Language::Python && letters.is_some_and(|letters| letters.ends_with('m'))
}

/// Words in which other programs put what they find are known to nobody.
fn placeholders_open(words: &[Word], has_placeholders: bool) -> Vec<Word> {
    let mut words = words.to_vec();
    for word in words
        .iter_mut()
        .filter(|word| has_placeholders && word.value.text.contains("{}"))
    {
        word.value.is_open = true;
    }
    words
}

/// The pieces of a list with colons, without those inside of a substitution.
fn pieces(list: &str) -> Vec<&str> {
    let (mut all, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, character) in list.char_indices() {
        match character {
            '{' | '(' => depth += 1,
            '}' | ')' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => {
                all.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    all.push(&list[start..]);
    all
}

/// A piece of a list without the list as it was before.
fn without_itself<'a>(piece: &'a str, name: &str) -> &'a str {
    let Some(rest) = piece.strip_prefix('$') else {
        return piece;
    };
    if let Some(inner) = rest.strip_prefix('{').filter(|inner| inner.starts_with(name)) {
        return inner.split_once('}').map_or("", |(_, rest)| rest);
    }
    rest.strip_prefix(name).unwrap_or(piece)
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
    // tidy: a table
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
            ("gawk --file=./x.awk", "Directory:./x.awk"),
            ("sed -nf x.sed", "Directory:x.sed"),
            ("sed -nfx.sed", "Directory:x.sed"),
            ("grep -f rules.txt", "Directory:rules.txt"),
            ("grep -qFf 'my rules.txt'", "Directory:my rules.txt"),
            ("grep -qrfrules.txt", "Directory:rules.txt"),
            ("egrep -q --file=rules.txt x", "Directory:rules.txt"),
            (
                "grep -q --file=\"$BECKET_HOOK_DIR/rules.txt\"",
                "HookFolder:rules.txt",
            ),
            ("busybox grep -q -f rules.txt", "Directory:rules.txt"),
            ("rg -qf rules.txt", "Directory:rules.txt"),
            ("jq --slurpfile rules rules.json '.x'", "Directory:rules.json"),
            ("jq -e --rawfile list list.txt .", "Directory:list.txt"),
            ("jq -rf rules.jq", "Directory:rules.jq"),
            ("jq --from-file=rules.jq", "Directory:rules.jq"),
            ("jq -L lib .", "Directory:lib"),
            ("xargs -a names.txt echo", "Directory:names.txt"),
            ("xargs --arg-file=names.txt echo", "Directory:names.txt"),
            ("parallel echo :::: names.txt", "Directory:names.txt"),
            ("find -files0-from names.txt -print", "Directory:names.txt"),
            ("wc -l --files0-from=names.txt", "Directory:names.txt"),
            ("tar -cf x.tar -T names.txt", "Directory:names.txt"),
            ("curl -sK x.curl", "Directory:x.curl"),
            ("cat ./x.sh | bash", "Directory:./x.sh"),
            ("bash -euo pipefail x.sh", "Directory:x.sh"),
            ("sh <<'EOF'\n./x.sh\nEOF\n", "Directory:./x.sh"),
            ("bash <<< ./x.sh", "Directory:./x.sh"),
            ("cat <<EOF\n$(./x.sh)\nEOF\n", "Directory:./x.sh"),
            ("eval './x.sh --now'", "Directory:./x.sh"),
            ("trap './x.sh' EXIT", "Directory:./x.sh"),
            ("flock lock ./x.sh", "Directory:./x.sh"),
            ("flock -n lock -c './x.sh a'", "Directory:./x.sh"),
            ("script -qc './x.sh' /dev/null", "Directory:./x.sh"),
            ("env -S 'bash x.sh'", "Directory:x.sh"),
            ("env -S bash -x x.sh", "Directory:x.sh"),
            ("busybox sh x.sh", "Directory:x.sh"),
            ("run-parts hooks.d", "Directory:hooks.d"),
            ("(cd sub; ls); ./x.sh", "Directory:./x.sh"),
            ("cd sub && bash -c ./x.sh", "Directory:sub/./x.sh"),
            ("PATH=\"$(dirname \"$0\")/bin:$PATH\" guard", "Script:bin"),
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
            "python3 --version",
            "echo x | grep -q y || exit 2",
            "PYTHONPATH= LD_PRELOAD='' true",
            "NODE_OPTIONS=--no-warnings true",
            "trap - EXIT",
            "exec 9> /tmp/lock; flock -n 9 || exit 0",
            "find . -name '*.sh' -exec grep -l rm {} +",
            "xargs rm -f",
            "grep -e foo -A3 -B 3",
            "grep -efoo",
            "grep -qf - x",
            "tar -xf x.tar",
            "rg -gfoo bar",
            "jq --arg f x .",
            "git -C x status",
            "sed -i.bak -e s/f/g/",
            "awk -F: -vf=1 1",
        ] {
            let found = follow(text);
            assert!(
                found.uses.is_empty() && found.open.is_empty(),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn code_in_the_command_line_is_followed_and_lists_of_the_system_are_harmless() {
        let found = follow("python3 -c 'import os; os.system(\"./x.sh\")'");
        let is_it = |used: &Use| used.path == Path::new("./x.sh");
        assert!(found.uses.iter().any(is_it) && found.seeks_modules, "{found:?}");
        for text in [
            "export PATH=\"/usr/bin:$HOME/bin:${PATH:+:$PATH}\"",
            "PATH=$PATH:/opt/bin x",
        ] {
            assert!(follow(text).open.is_empty(), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_followed_is_told_with_its_line() {
        for (text, told) in [
            ("true\n. \"$X\"", "line 2: `\"$X\"`"),
            ("$CMD now", "line 1: `$CMD`"),
            ("./hooks/*.sh", "line 1: `./hooks/*.sh`"),
            ("eval \"$X\"", "line 1: `\"$X\"`"),
            ("bash -c \"$X\"", "line 1: `\"$X\"`"),
            ("x=$(echo \":)\"); . $Y", "`$Y`"),
            ("node -e \"require('./x')\"", "an import"),
            ("make guard", "`make` takes its orders"),
            ("make -f x.mk", "`make` takes its orders"),
            ("git --git-dir=x status", "`--git-dir=x` decides"),
            ("git --git-dir x status", "`--git-dir` decides"),
            ("git -c core.fsmonitor=./x status", "`-c` decides"),
            ("grep -qf \"$X\"", "line 1: `\"$X\"`"),
            ("grep -f <(cat x)", "line 1: `<(cat x)`"),
            ("grep --file=$X y", "line 1: `$X`"),
            ("jq --slurpfile a $X .", "line 1: `$X`"),
            ("jq --slurpfile a", "line 1: `--slurpfile`"),
            ("cd \"$X\"; ./a.sh", "line 1: `./a.sh`"),
            ("cd \"$X\"; some-tool ./a.sh", "line 1: `./a.sh`"),
            ("true\ncurl -s $URL | sh", "line 2: `sh` runs what it reads"),
            (
                "curl -s $URL |\n  bash -s -- x",
                "line 2: `bash` runs what it reads",
            ),
            ("{ echo a; echo b; } | bash", "`bash` runs what it reads"),
            ("python3 -", "`python3` runs what it reads"),
            ("cat $X | sh", "line 1: `$X`"),
            ("bash <<< \"$X\"", "line 1: `\"$X\"`"),
            ("python3 <<EOF\nimport $X\nEOF\n", "line 2: `import $X`"),
            ("source <(curl $URL)", "line 1: `<(curl $URL)`"),
            ("curl $URL > >(sh)", "`sh` runs what it reads"),
            ("trap \"$X\" EXIT", "line 1: `\"$X\"`"),
            ("ls | xargs sh", "line 1: `xargs`"),
            ("xargs -I{} bash {}", "line 1: `{}`"),
            ("find . -exec sh {} \\;", "line 1: `{}`"),
            ("find . -exec sh -c '{}' \\;", "line 1: `'{}'`"),
            ("script -qc \"$X\"", "line 1: `\"$X\"`"),
            ("run-parts $X", "line 1: `$X`"),
            (
                "PATH=bin:$PATH guard",
                "`PATH=bin:$PATH` decides which code is found",
            ),
            ("export PATH=.:/usr/bin", "`PATH=.:/usr/bin` decides"),
            ("export PYTHONPATH=$X", "`PYTHONPATH=$X` decides"),
            ("env BASH_ENV=rc bash -c true", "`BASH_ENV=rc` decides"),
            ("ENV=rc sh -c true", "`ENV=rc` decides"),
            ("LD_PRELOAD=./x.so true", "`LD_PRELOAD=./x.so` decides"),
            (
                "NODE_OPTIONS='--require ./x.js' node -v",
                "decides which code is found",
            ),
            ("HOME=. python3 x.py", "`HOME=.` decides"),
            ("node --require=$X y.js", "`--require=$X`"),
            ("perl -e 'require \"./x.pl\"'", "line 1: `'require"),
            ("awk 'BEGIN { system(\"./x.sh\") }'", "line 1: `'BEGIN"),
            ("python3 -c 'exec(x)'", "`exec(x)`"),
            ("node -e 'eval(x)'", "`eval(x)`"),
        ] {
            let open: Vec<String> = follow(text).open.iter().map(ToString::to_string).collect();
            let open = open.join("; ");
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
