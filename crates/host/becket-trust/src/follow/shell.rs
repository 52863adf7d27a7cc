//! The shell: which files a line or a script sources, starts, or gives to an interpreter.
//!
//! A walk over the commands that `becket_shell` reads. It follows a path through plain variables, `$BECKET_HOOK_DIR`,
//! the usual spellings of "the folder of this script", and `cd`. What cannot be read, or is known only at run time, is
//! open. `hooks check` asks the same walk which programs a script uses, so that both see the same commands.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};

use becket_shell::{
    Assignment, Command, End, Kind, Part, RedirectKind, Script, Tail, Word, command_start, read,
};

use super::followed::{Base, Followed, Use, shown};
use super::language::Language;
use super::table::{FileAt, Holds, Meaning, holds, meaning, reads};
use super::{javascript, python};

/// Options of interpreters that take a file.
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
/// Options of interpreters that take a value other than a file.
const WITH_OTHERS: &[&str] = &["-W", "-X", "-O", "-o", "-I", "-L", "--arg", "--argjson"];

/// Words by which a line in a language that is not followed may run or load something.
const MAY_RUN: &[&str] = &[
    "require", "load", "dofile", "system", "exec", "popen", "spawn", "include", "import", "eval", "qx", "`",
];

/// Words by which a line of awk may run or load something.
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

/// How deep commands may be nested. Deeper ones are open.
const DEPTH: usize = 64;

/// How many bytes are copied out of variables and followed as code in all. Without a limit, a short script could double
/// a text with each line.
const BUDGET: usize = 4 << 20;

/// What a script does, as far as its text shows it.
#[derive(Debug, Default)]
pub struct Seen {
    pub followed: Followed,
    /// The commands whose names are literal.
    pub programs: BTreeSet<String>,
    /// Functions of the script, and programs that it looks for itself.
    pub known: BTreeSet<String>,
    /// The files that the script sources, as written.
    pub sourced: Vec<String>,
    /// Whether the script sets `PATH` itself.
    pub sets_path: bool,
}

/// What the text of a script or a line says about other files.
pub fn follow(text: &str) -> Followed {
    look(text).followed
}

/// What the text of a script or a line says about other files, given variables that are set when it runs.
pub fn follow_with(text: &str, variables: &BTreeMap<String, String>) -> Followed {
    look_with(text, variables).followed
}

/// What the text of a script or a line does.
pub fn look(text: &str) -> Seen {
    look_with(text, &BTreeMap::new())
}

fn look_with(text: &str, variables: &BTreeMap<String, String>) -> Seen {
    let script = read(text);
    let known = variables.iter();
    let state = ShellState {
        variables: known
            .map(|(name, value)| (name.clone(), Value::literal(value)))
            .collect(),
        ..ShellState::default()
    };
    let mut walker = Walker::new(text, &script, state);
    walker.walk();
    let mut seen = walker.seen;
    seen.followed.whole_folder |= ["$0", "${0", "BASH_SOURCE"]
        .iter()
        .any(|name| text.contains(name));
    seen
}

/// The value of a word, as far as it is known before it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Value {
    base: Option<Base>,
    text: String,
    /// Whether a part of the value is known only at run time.
    is_open: bool,
}

impl Value {
    /// Appends the value of a part of a word.
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

    fn literal(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    fn joined(text: &str, values: &[Self]) -> Self {
        let mut whole = Self::literal(text);
        values.iter().for_each(|value| whole.push(value));
        whole
    }

    /// The value of a word that is a folder.
    fn folder(place: Option<&(Base, PathBuf)>) -> Self {
        match place {
            Some((base, path)) => Self {
                base: Some(*base),
                text: format!("/{}", path.display()).trim_end_matches('/').into(),
                is_open: false,
            },
            None => Self::open(),
        }
    }
}

/// A word of a command with its value.
#[derive(Debug, Clone)]
struct Argument<'a> {
    span: Range<usize>,
    value: Value,
    /// The value of each part.
    values: Vec<Value>,
    word: Option<&'a Word>,
    /// Whether nothing of the word is made at run time.
    is_literal: bool,
}

impl Argument<'_> {
    fn text(&self) -> &str {
        &self.value.text
    }

    fn is_option(&self) -> bool {
        self.text().starts_with('-')
    }

    /// The value of a rest of the word.
    fn tail(&self, tail: Tail<'_>) -> Value {
        let start = self.values.len() - tail.parts.len();
        Value::joined(tail.text, &self.values[start..])
    }
}

/// Where standard input comes from.
#[derive(Debug, Clone)]
enum Input<'a> {
    File(Argument<'a>),
    /// A text that is written in the script.
    Text(Argument<'a>),
}

/// What a shell knows at a place of a script.
#[derive(Debug)]
struct ShellState {
    variables: HashMap<String, Value>,
    /// Earlier values of variables, in the order in which they were set.
    before: Vec<(String, Option<Value>)>,
    /// The current directory; `None` if unknown.
    directory: Option<(Base, PathBuf)>,
    depth: usize,
    /// How many constructs around the place may not be run.
    conditions: usize,
    budget: usize,
}

impl Default for ShellState {
    fn default() -> Self {
        Self {
            variables: HashMap::new(),
            before: Vec::new(),
            directory: Some((Base::Directory, PathBuf::new())),
            depth: 0,
            conditions: 0,
            budget: BUDGET,
        }
    }
}

struct Walker<'a> {
    text: &'a str,
    script: &'a Script,
    /// The offsets at which lines begin.
    lines: Vec<usize>,
    state: ShellState,
    /// The words that are piped into the current command.
    piped: Option<Vec<Argument<'a>>>,
    /// Where the current command reads from.
    input: Option<Input<'a>>,
    seen: Seen,
}

// Commands and words.
impl<'a> Walker<'a> {
    fn new(text: &'a str, script: &'a Script, state: ShellState) -> Self {
        Self {
            text,
            script,
            lines: text.match_indices('\n').map(|(at, _)| at + 1).collect(),
            state,
            piped: None,
            input: None,
            seen: Seen::default(),
        }
    }

    fn walk(&mut self) {
        let script = self.script;
        self.list(&script.commands);
        if let Some(unreadable) = script.unreadable {
            self.open(unreadable.at, &format!("it cannot be read: {}", unreadable.why));
        }
    }

    fn list(&mut self, commands: &'a [Command]) {
        let mut is_condition = false;
        for command in commands {
            self.state.conditions += usize::from(is_condition);
            let words = self.command(command);
            self.state.conditions -= usize::from(is_condition);
            self.piped = (command.end == End::Pipe).then_some(words);
            is_condition = command.end == End::Condition;
        }
    }

    /// Follows a command with everything in it. Returns the words of a simple command.
    fn command(&mut self, command: &'a Command) -> Vec<Argument<'a>> {
        if self.state.depth >= DEPTH {
            self.open(command.span.start, "commands are nested too deeply");
            return Vec::new();
        }
        self.state.depth += 1;
        let words: Vec<Argument<'a>> = command.words.iter().map(|word| self.argument(word)).collect();
        let assignments: Vec<Argument<'a>> = command
            .assignments
            .iter()
            .map(|word| self.argument(word))
            .collect();
        let input = self.redirected(command);
        match command.kind {
            Kind::Simple => {
                self.input = input;
                assignments.iter().for_each(|word| self.sets(word));
                self.program(&words);
            }
            Kind::Subshell => self.scoped(|walker| walker.list(&command.body)),
            Kind::Test => self.test(&words),
            kind => {
                let name = words.first().map(|word| word.text().to_owned());
                match (kind, name) {
                    (Kind::Loop, Some(name)) => self.forget(&name),
                    (Kind::Function, Some(name)) => self.seen.known.extend([name]),
                    _ => {}
                }
                self.state.conditions += 1;
                self.list(&command.body);
                self.state.conditions -= 1;
            }
        }
        self.state.depth -= 1;
        match command.kind {
            Kind::Simple => words,
            _ => Vec::new(),
        }
    }

    /// Follows the redirections of a command, and returns where it reads from.
    fn redirected(&mut self, command: &'a Command) -> Option<Input<'a>> {
        let mut input = None;
        for redirect in &command.redirects {
            let target = self.argument(&redirect.target);
            let found = match redirect.kind {
                RedirectKind::Input => Input::File(target),
                RedirectKind::InputDuplicate => Input::File(Argument {
                    value: Value::open(),
                    ..target
                }),
                RedirectKind::Text => Input::Text(target),
                RedirectKind::Document(at) => {
                    let script = self.script;
                    let document = &script.documents[at];
                    Input::Text(self.evaluated(document.span.clone(), &document.parts, None))
                }
                RedirectKind::Output | RedirectKind::OutputDuplicate => continue,
            };
            if matches!(redirect.descriptor.as_deref(), None | Some("0")) {
                input = Some(found);
            }
        }
        input
    }

    /// Checks the words of `[[ … ]]`: another shell may run what follows an operator.
    fn test(&mut self, words: &[Argument<'a>]) {
        let is_operator = |word: &Argument<'_>| ["&&", "||"].contains(&word.text());
        for behind in words.split(is_operator).skip(1) {
            if behind
                .first()
                .is_some_and(|word| word.is_literal && word.text().contains('/'))
            {
                self.program(behind);
            }
        }
    }

    /// Runs something that changes neither the variables nor the directory outside of it.
    fn scoped<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let (mark, directory) = (self.state.before.len(), self.state.directory.clone());
        let piped = self.piped.take();
        let result = run(self);
        for (name, value) in self.state.before.drain(mark..).rev() {
            match value {
                Some(value) => self.state.variables.insert(name, value),
                None => self.state.variables.remove(&name),
            };
        }
        (self.state.directory, self.piped) = (directory, piped);
        result
    }

    fn argument(&mut self, word: &'a Word) -> Argument<'a> {
        self.evaluated(word.span.clone(), &word.parts, Some(word))
    }

    fn evaluated(&mut self, span: Range<usize>, parts: &'a [Part], word: Option<&'a Word>) -> Argument<'a> {
        let values: Vec<Value> = parts.iter().map(|part| self.part(part, span.start)).collect();
        let is_path = word
            .and_then(Word::assignment)
            .is_some_and(|set| set.name == "PATH");
        self.seen.sets_path |= is_path;
        Argument {
            span,
            value: Value::joined("", &values),
            values,
            word,
            is_literal: parts.iter().all(|part| matches!(part, Part::Literal(_))),
        }
    }

    /// The value of a part of a word. The commands in it are followed.
    fn part(&mut self, part: &'a Part, at: usize) -> Value {
        match part {
            Part::Literal(text) => Value::literal(text),
            Part::Pattern(sign) => Value {
                text: sign.to_string(),
                ..Value::open()
            },
            Part::Variable { name, parts } => {
                parts.iter().for_each(|part| drop(self.part(part, at)));
                self.variable(name)
            }
            Part::Commands { span, commands } => self.substitution(span, commands),
            Part::Script(text) => {
                self.inner(text, at, true);
                Value::open()
            }
            Part::Opaque(parts) => {
                parts.iter().for_each(|part| drop(self.part(part, at)));
                Value::open()
            }
        }
    }

    fn variable(&mut self, name: &str) -> Value {
        let value = match name {
            FOLDER_VARIABLE => return Value::at(Base::HookFolder),
            "PWD" => return Value::folder(self.state.directory.as_ref()),
            _ if OWN_FOLDER.contains(&name) => return Value::at(Base::Script),
            _ => self.state.variables.get(name),
        };
        match value {
            Some(value) if value.text.len() <= self.state.budget => {
                self.state.budget -= value.text.len();
                value.clone()
            }
            _ => Value::open(),
        }
    }

    /// The value of a command substitution. The command may run files itself.
    fn substitution(&mut self, span: &Range<usize>, commands: &'a [Command]) -> Value {
        let plain = self.text[span.clone()].trim().replace(['"', '\''], "");
        if OWN_FOLDER.contains(&plain.as_str()) {
            self.seen.programs.insert("dirname".into());
            return Value::at(Base::Script);
        }
        // `$(cd FOLDER && pwd)` is that folder.
        let ends_in_place = plain.trim_end_matches([' ', '-', 'P', 'L']).ends_with("pwd");
        let is_folder = plain.starts_with("cd ") && ends_in_place;
        let (directory, input) = self.scoped(|walker| {
            let input = walker.input.take();
            walker.list(commands);
            (walker.state.directory.clone(), input)
        });
        self.input = input;
        Value::folder(directory.as_ref().filter(|_| is_folder))
    }
}

// The meaning of commands.
impl<'a> Walker<'a> {
    /// Follows a program, a builtin or a function, with its arguments.
    fn program(&mut self, words: &[Argument<'a>]) {
        let Some((word, arguments)) = words.split_first() else {
            return;
        };
        if self.state.depth >= DEPTH {
            return self.unknown(word);
        }
        self.state.depth += 1;
        if word.is_literal {
            self.seen.programs.insert(word.text().to_owned());
        }
        if word.value.is_open || word.value.base.is_some() || word.text().contains('/') {
            self.runs(word, None);
        }
        let name = base_name(&word.value).to_owned();
        let has_program = self.option_files(&name, arguments);
        match meaning(&name) {
            Some(Meaning::InterpretsArgument) if has_program => {}
            Some(meaning) => self.means(meaning, &name, word, arguments),
            None => self.handed_over(arguments),
        }
        self.state.depth -= 1;
    }

    fn means(&mut self, meaning: Meaning, name: &str, word: &Argument<'a>, arguments: &[Argument<'a>]) {
        let operand = || arguments.iter().find(|word| !word.is_option());
        match meaning {
            Meaning::Sets => arguments.iter().for_each(|word| self.sets(word)),
            Meaning::Unsets => arguments.iter().for_each(|word| self.forget(word.text())),
            Meaning::Goes => self.state.directory = operand().and_then(|word| self.place(&word.value)),
            Meaning::Returns => self.state.directory = None,
            Meaning::Sources => {
                if let Some(file) = arguments.first() {
                    self.seen.sourced.push(self.text[file.span.clone()].to_owned());
                    self.runs(file, Some(Language::Shell));
                }
            }
            Meaning::Line => self.line(arguments),
            Meaning::FirstIsLine => {
                let line = arguments.iter().find(|word| word.text() != "--");
                let line = line.filter(|word| word.text() != "-");
                self.line(line.map(std::slice::from_ref).unwrap_or_default());
            }
            Meaning::ValuesAreLines => arguments.iter().for_each(|word| self.alias(word)),
            Meaning::LineBehindOption => self.line_behind_option(arguments),
            Meaning::Wraps => self.wrapped(name, arguments, None),
            Meaning::Feeds => self.wrapped(name, arguments, Some(word)),
            Meaning::WrapsBehind(options) => self.wrapped_behind(arguments, options),
            Meaning::RunsFolder => operand().into_iter().for_each(|folder| self.runs(folder, None)),
            Meaning::FindsOrders => self.open(
                word.span.start,
                &format!("`{name}` reads instructions from files of its own"),
            ),
            Meaning::Looks => {}
            Meaning::Probes => {
                let names = arguments.iter().map(|word| word.text().to_owned());
                self.seen.known.extend(names);
            }
            Meaning::Interprets(language) => self.interpreter(word, arguments, language),
            Meaning::InterpretsArgument => self.interprets_argument(arguments),
        }
    }

    /// Notes the variable that a word sets.
    fn sets(&mut self, word: &Argument<'a>) {
        let Some(set) = word.word.and_then(Word::assignment) else {
            return;
        };
        let value = word.tail(set.value);
        match holds(set.name) {
            Some(Holds::Paths) => self.list_of_paths(word, set),
            Some(Holds::Home) if !value.text.starts_with('/') => self.decides(word),
            Some(Holds::Orders) if value.is_open || value.text.contains('/') => self.decides(word),
            _ => {}
        }
        let before = self.state.variables.get(set.name);
        let is_other = self.state.conditions > 0 && before.is_some_and(|before| *before != value);
        let is_open = value.is_open || set.is_partial || is_other;
        self.remember(set.name, Value { is_open, ..value });
    }

    fn remember(&mut self, name: &str, value: Value) {
        let before = self.state.variables.insert(name.to_owned(), value);
        self.state.before.push((name.to_owned(), before));
    }

    /// Marks the value of a variable as unknown from here on.
    fn forget(&mut self, name: &str) {
        self.remember(name, Value::open());
    }

    /// Reports that a variable decides which code is found, in an unknown way.
    fn decides(&mut self, word: &Argument<'a>) {
        let shown = shown(&self.text[word.span.clone()]);
        self.open(word.span.start, &format!("`{shown}` decides which code is found"));
    }

    /// Adds the files and folders that a variable names. Those of the current directory are taken as they lie there.
    fn list_of_paths(&mut self, word: &Argument<'a>, set: Assignment<'_>) {
        let start = word.values.len() - set.value.parts.len();
        let pieces = pieces(set, &word.values[start..]);
        let is_empty = |piece: &Piece| piece.value == Value::default();
        if pieces.len() == 1 && is_empty(&pieces[0]) {
            return;
        }
        let mut is_open = false;
        for piece in pieces {
            if piece.is_persons || (piece.is_itself && is_empty(&piece)) {
                continue;
            }
            match self.place(&piece.value).filter(|_| !is_empty(&piece)) {
                Some((base, path)) => {
                    is_open |= base == Base::Directory && !path.is_absolute();
                    self.seen.followed.guess(base, path, None);
                }
                None => is_open = true,
            }
        }
        if is_open {
            self.decides(word);
        }
    }

    /// Follows words that are a line for this shell.
    fn line(&mut self, words: &[Argument<'a>]) {
        let Some((first, last)) = words.first().zip(words.last()) else {
            return;
        };
        let texts: Vec<&str> = words.iter().map(Argument::text).collect();
        let is_open = |word: &Argument<'_>| word.value.is_open || word.value.base.is_some();
        let code = Argument {
            // Words that a feeder adds may come before those of the command.
            span: first.span.start..last.span.end.max(first.span.end),
            value: Value {
                is_open: words.iter().any(is_open),
                ..Value::literal(&texts.join(" "))
            },
            values: Vec::new(),
            word: None,
            is_literal: words.iter().all(|word| word.is_literal),
        };
        self.inline(&code, Language::Shell);
    }

    /// Follows the value of an alias, which is a shell line.
    fn alias(&mut self, word: &Argument<'a>) {
        let equals = word.text().find('=');
        if let Some((equals, written)) = equals.zip(word.word) {
            let code = Argument {
                value: word.tail(written.from_byte(equals + 1)),
                ..word.clone()
            };
            self.inline(&code, Language::Shell);
        }
    }

    /// Follows a line after `-c`, or a command after the first argument.
    fn line_behind_option(&mut self, arguments: &[Argument<'a>]) {
        let takes_line = |word: &Argument<'_>| {
            let text = word.text();
            word.is_option() && (text == "--command" || (!text.starts_with("--") && text.ends_with('c')))
        };
        match arguments.iter().position(takes_line) {
            Some(at) => self.line(arguments.get(at + 1..at + 2).unwrap_or_default()),
            None => {
                let first = arguments.iter().position(|word| !word.is_option());
                let command = first.and_then(|first| arguments.get(first + 1..));
                self.program(command.unwrap_or_default());
            }
        }
    }

    /// Follows the command after the options of a wrapper. A wrapper that feeds it adds unknown words.
    fn wrapped(&mut self, name: &str, arguments: &[Argument<'a>], feeder: Option<&Argument<'a>>) {
        let texts: Vec<&str> = arguments.iter().map(Argument::text).collect();
        let start = command_start(name, &texts).unwrap_or_default();
        let (options, command) = arguments.split_at(start);
        if name == "command" && options.iter().any(|word| ["-v", "-V"].contains(&word.text())) {
            return self.means(Meaning::Probes, name, &arguments[0], command);
        }
        if name == "env" {
            let splits = |word: &&Argument<'_>| {
                let text = word.text();
                (text.starts_with("-S") && text != "-S") || text.starts_with("--split-string=")
            };
            options.iter().filter(splits).for_each(|word| self.unknown(word));
            let takes_line = options
                .last()
                .is_some_and(|word| ["-S", "--split-string"].contains(&word.text()));
            if let Some(line) = command
                .first()
                .filter(|line| takes_line && line.text().contains(' '))
            {
                return self.line(std::slice::from_ref(line));
            }
        }
        options.iter().for_each(|word| self.sets(word));
        let mut command = placeholders_open(command, feeder.is_some());
        if let Some(feeder) = feeder.filter(|_| !command.is_empty()) {
            command.push(Argument {
                value: Value::open(),
                ..feeder.clone()
            });
        }
        self.program(&command);
    }

    /// Follows the commands after some options, each up to a `;` or a `+`.
    fn wrapped_behind(&mut self, arguments: &[Argument<'a>], options: &[&str]) {
        let mut rest = arguments;
        while let Some(at) = rest.iter().position(|word| options.contains(&word.text())) {
            let command = &rest[at + 1..];
            let end = command.iter().position(|word| [";", "+"].contains(&word.text()));
            let (command, behind) = command.split_at(end.unwrap_or(command.len()));
            self.program(&placeholders_open(command, true));
            rest = behind;
        }
    }

    /// Adds scripts that are passed to an unknown program, which may run them. Their paths stay, because the program
    /// may as well modify them.
    fn handed_over(&mut self, arguments: &[Argument<'a>]) {
        for word in arguments {
            if Language::of_file(Path::new(word.text()), "").is_none() {
                continue;
            }
            match self.place(&word.value) {
                Some((base, path)) => self.seen.followed.guess(base, path, None),
                None => self.unknown(word),
            }
        }
    }

    /// Adds files that a command reads because of an option: patterns, values, names, or its program. Returns whether a
    /// program is among them.
    fn option_files(&mut self, name: &str, arguments: &[Argument<'a>]) -> bool {
        let Some(reader) = reads(name) else { return false };
        let mut has_program = false;
        for (at, word) in arguments.iter().enumerate() {
            let Some((option, place)) = reader.option(word.text()) else {
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
                Some(file) if ["-", "/dev/stdin"].contains(&file.text()) => {}
                Some(file) => self.runs(&file, language),
                None => self.unknown(word),
            }
        }
        has_program
    }

    /// The rest of a word from a byte on, if the part before it is written without quotes.
    fn rest_of(&self, argument: &Argument<'a>, start: usize) -> Option<Argument<'a>> {
        let written = &self.text[argument.span.clone()];
        let is_plain = written.get(..start).is_some() && written.get(..start) == argument.text().get(..start);
        let word = argument.word.filter(|_| is_plain)?;
        Some(Argument {
            span: argument.span.start + start..argument.span.end,
            value: argument.tail(word.from_byte(start)),
            word: None,
            ..argument.clone()
        })
    }

    /// Follows an interpreter whose first argument is the program.
    fn interprets_argument(&mut self, arguments: &[Argument<'a>]) {
        let may_run = |word: &&Argument<'_>| AWK_MAY_RUN.iter().any(|sign| word.text().contains(sign));
        if let Some(code) = arguments.iter().find(may_run) {
            self.unknown(code);
        }
    }

    /// Follows the file or the code that an interpreter is given.
    fn interpreter(&mut self, name: &Argument<'a>, arguments: &[Argument<'a>], language: Language) {
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            match word.text() {
                "run" | "exec" => {}
                "-" | "/dev/stdin" => break,
                "-s" if language == Language::Shell => break,
                "--version" | "-V" | "--help" => return,
                "-v" if language == Language::JavaScript => return,
                text if takes_code(language, text) => {
                    let code = rest.find(|word| language != Language::Shell || !word.is_option());
                    return code.into_iter().for_each(|code| self.inline(code, language));
                }
                text if takes_module(language, text) => {
                    return rest.next().into_iter().for_each(|module| self.module(module));
                }
                text if WITH_FILES.contains(&text) => {
                    let file = rest.next().into_iter();
                    file.for_each(|file| self.runs(file, Some(language)));
                }
                text if takes_other(language, text) => drop(rest.next()),
                text if text.starts_with("--") && text.contains('=') => self.option(word, language),
                _ if word.is_option() && !word.value.is_open => {}
                _ => return self.runs(word, Some(language)),
            }
        }
        self.read_from_input(name, language);
    }

    /// Follows a long option with its value, which may be a file.
    fn option(&mut self, word: &Argument<'a>, language: Language) {
        let (option, value) = word.text().split_once('=').unwrap_or_default();
        if WITH_FILES.contains(&option) {
            let value = Value {
                text: value.to_owned(),
                ..word.value.clone()
            };
            match self.place(&value) {
                Some((base, path)) => self.seen.followed.guess(base, path, Some(language)),
                None => self.unknown(word),
            }
        }
    }

    fn module(&mut self, module: &Argument<'a>) {
        self.seen.followed.seeks_modules = true;
        match module.value.is_open {
            true => self.unknown(module),
            false => {
                let import = format!("import {0}.__main__, {0}", module.text());
                self.contains(python::follow(&import, Base::Modules), module.span.start);
            }
        }
    }

    /// Follows the input of an interpreter without a file, which reads its code from there.
    fn read_from_input(&mut self, name: &Argument<'a>, language: Language) {
        self.seen.followed.seeks_modules |= language == Language::Python;
        match self.input.take() {
            Some(Input::Text(code)) => return self.inline(&code, language),
            Some(Input::File(file)) => return self.runs(&file, Some(language)),
            None => {}
        }
        let piped = self.piped.take().unwrap_or_default();
        let texts: Vec<&str> = piped.iter().map(Argument::text).collect();
        match (texts.as_slice(), piped.as_slice()) {
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

    /// Follows code in place of a file. What it names lies in the current directory, and stays there.
    fn inline(&mut self, code: &Argument<'a>, language: Language) {
        self.seen.followed.seeks_modules |= language == Language::Python;
        if code.value.is_open || code.value.base.is_some() {
            return self.unknown(code);
        }
        let text = code.text();
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let found = match language {
            Language::Shell => return self.inner(text, code.span.start, code.is_literal),
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

    /// Follows a script inside of this one.
    fn inner(&mut self, text: &str, at: usize, is_literal: bool) {
        if self.state.depth >= DEPTH || text.len() > self.state.budget {
            return self.open(at, "commands are nested too deeply");
        }
        self.state.budget -= text.len();
        let script = read(text);
        let seen = self.scoped(|walker| {
            let mut inner = Walker::new(text, &script, std::mem::take(&mut walker.state));
            inner.walk();
            walker.state = inner.state;
            inner.seen
        });
        self.contains(seen.followed, at);
        self.seen.known.extend(seen.known);
        self.seen.sets_path |= seen.sets_path;
        // A text that was put together may differ at run time.
        if is_literal {
            self.seen.programs.extend(seen.programs);
            self.seen.sourced.extend(seen.sourced);
        }
    }

    /// Adds what an embedded text says.
    fn contains(&mut self, found: Followed, at: usize) {
        let line = self.line_of(at);
        self.seen.followed.contain(found, line);
    }

    /// Reports a word whose value is unknown.
    fn unknown(&mut self, word: &Argument<'a>) {
        self.open(
            word.span.start,
            &format!("`{}` cannot be followed", shown(&self.text[word.span.clone()])),
        );
    }

    /// Adds a file that is run.
    fn runs(&mut self, word: &Argument<'a>, language: Option<Language>) {
        match self.place(&word.value) {
            Some((base, path)) => self.seen.followed.uses.push(Use {
                span: Some(word.span.clone()),
                base,
                path,
                language,
                is_guess: false,
            }),
            None => self.unknown(word),
        }
    }

    /// Where a word leads, relative to the current directory.
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
        let (base, directory) = self.state.directory.as_ref()?;
        Some((*base, directory.join(path)))
    }

    fn open(&mut self, at: usize, what: &str) {
        let line = self.line_of(at);
        self.seen.followed.open(line, what);
    }

    /// The line of a place in the text, counted from 1.
    fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|line| *line <= at) + 1
    }
}

/// An element of a list separated by colons.
#[derive(Debug, Default)]
struct Piece {
    value: Value,
    /// Whether the element begins with the previous list.
    is_itself: bool,
    /// Whether the element lies in the home folder.
    is_persons: bool,
}

fn pieces(set: Assignment<'_>, values: &[Value]) -> Vec<Piece> {
    let Assignment {
        name, value: list, ..
    } = set;
    let mut all = Vec::new();
    let mut last = Piece {
        is_itself: set.is_partial,
        ..Piece::default()
    };
    let mut split = |last: &mut Piece, text: &str| {
        for (at, text) in text.split(':').enumerate() {
            if at > 0 {
                all.push(std::mem::take(last));
            }
            last.is_persons |= last.value == Value::default() && text.starts_with('~');
            last.value.text.push_str(text);
        }
    };
    split(&mut last, list.text);
    for (part, value) in list.parts.iter().zip(values) {
        let is_first = last.value == Value::default();
        match part {
            Part::Literal(text) => split(&mut last, text),
            Part::Variable { name: other, .. } if is_first && is_about(other, name) => last.is_itself = true,
            Part::Variable { name: other, .. } if is_first && is_about(other, "HOME") => {
                last.is_persons = true
            }
            _ => last.value.push(value),
        }
    }
    all.push(last);
    all
}

/// Whether the text between braces is about this variable.
fn is_about(written: &str, name: &str) -> bool {
    let behind = written.strip_prefix(name);
    behind.is_some_and(|behind| !behind.starts_with(|sign: char| sign.is_alphanumeric() || sign == '_'))
}

/// Marks words as unknown in which other programs put what they find.
fn placeholders_open<'a>(words: &[Argument<'a>], has_placeholders: bool) -> Vec<Argument<'a>> {
    let mut words = words.to_vec();
    for word in words
        .iter_mut()
        .filter(|word| has_placeholders && word.value.text.contains("{}"))
    {
        word.value.is_open = true;
    }
    words
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

/// The name of a program, even if its folder is unknown.
fn base_name(value: &Value) -> &str {
    value.text.rsplit('/').next().unwrap_or_default()
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
    fn variables_of_the_hook_are_known_until_the_script_sets_them() {
        let variables = BTreeMap::from([("ROOT".to_owned(), "/project".to_owned())]);
        let files = |text: &str| -> Vec<PathBuf> {
            let uses = follow_with(text, &variables).uses.into_iter();
            uses.map(|used| used.path).collect()
        };
        for text in [
            "\"$ROOT\"/guard.sh",
            "\"${ROOT}/guard.sh\" now",
            "bash $ROOT/guard.sh",
        ] {
            assert_eq!(files(text), [Path::new("/project/guard.sh")], "{text}");
        }
        assert_eq!(
            files("ROOT=/other; $ROOT/guard.sh"),
            [Path::new("/other/guard.sh")]
        );
        assert!(!follow_with("$OTHER/guard.sh", &variables).open.is_empty());
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
            // Constructs in which a command was once overlooked.
            ("echo $(( $(./x) + 1 ))", "Directory:./x"),
            ("echo ${a:-$(./x)}", "Directory:./x"),
            ("echo \"${a:-it's $(./x)}\"", "Directory:./x"),
            ("echo `a \\`./x\\``", "Directory:./x"),
            ("x=${ ./x; }", "Directory:./x"),
            ("case $a in $(./x)) ;; esac", "Directory:./x"),
            ("function f { ./x; }", "Directory:./x"),
            ("for x do ./x; done", "Directory:./x"),
            ("coproc ./x", "Directory:./x"),
            ("time -p ./x", "Directory:./x"),
            ("time -o log ./x", "Directory:./x"),
            ("2>/dev/null ./x", "Directory:./x"),
            ("{fd}>y ./x", "Directory:./x"),
            ("bash 2>/dev/null x", "Directory:x"),
            ("x=$(cat <<'E'\n)'\nE\n)\n./x #'", "Directory:./x"),
            ("x=$(echo # )'\n)\n./x #'", "Directory:./x"),
            ("cat <<A\nfoo\\\nA\n'\nA\n./x #'", "Directory:./x"),
            ("sudo -n ./x", "Directory:./x"),
            ("command -p ./x", "Directory:./x"),
            ("exec -c ./x", "Directory:./x"),
            ("setsid -c ./x", "Directory:./x"),
            ("unshare -r ./x", "Directory:./x"),
            ("stdbuf -o L ./x", "Directory:./x"),
            ("xargs -r ./x", "Directory:./x"),
            ("timeout \"$T\" ./x", "Directory:./x"),
            ("alias l=./x", "Directory:./x"),
            ("alias l='bash x'", "Directory:x"),
            ("enable -f ./x.so l", "Directory:./x.so"),
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
            "PATH+=:/opt/bin",
        ] {
            assert!(follow(text).open.is_empty(), "{text}");
        }
    }

    #[test]
    // tidy: a table
    fn what_cannot_be_followed_is_told_with_its_line() {
        for (text, told) in [
            ("true\n. \"$X\"", "line 2: `\"$X\"`"),
            ("$CMD now", "line 1: `$CMD`"),
            ("./hooks/*.sh", "line 1: `./hooks/*.sh`"),
            ("eval \"$X\"", "line 1: `\"$X\"`"),
            ("bash -c \"$X\"", "line 1: `\"$X\"`"),
            ("x=$(echo \":)\"); . $Y", "`$Y`"),
            ("node -e \"require('./x')\"", "an import"),
            ("make guard", "`make` reads instructions"),
            ("make -f x.mk", "`make` reads instructions"),
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
            ("ls | xargs eval a", "line 1: `a`"),
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
            // Constructs about which nothing was once reported.
            (
                "true\necho \"a",
                "line 2: it cannot be read: something is not closed",
            ),
            ("if a; then b", "it cannot be read: something is not closed"),
            ("a\0b", "it cannot be read: there is a NUL"),
            ("echo $'\\'' ; ./x #'", "it cannot be read: shells read"),
            ("x==(./x)", "it cannot be read: `=(`"),
            ("((./x))", "it cannot be read: `((`"),
            ("((bash x))", "it cannot be read: `((`"),
            ("./x\\", "it cannot be read: shells read a last backslash"),
            ("echo $((./x); ./y)", "it cannot be read: `((`"),
            ("for f (a b) ./x", "it cannot be read"),
            ("PATH+=:./bin guard", "`PATH+=:./bin` decides"),
            ("export \"PATH=bin\"", "`\"PATH=bin\"` decides"),
            ("bash {x,y}.sh", "line 1: `{x,y}.sh`"),
            ("bash [x].sh", "line 1: `[x].sh`"),
            ("bash @(x).sh", "line 1: `@(x).sh`"),
            ("./x$'\\x2e'sh", "line 1: `./x$'\\x2e'sh`"),
            ("$X/bin/bash -c 'x=$Y; . $Y'", "line 1: `$Y`"),
            ("hash -p ./x ls", "`-p` decides"),
            ("mapfile -C ./x a", "`-C` decides"),
            ("env -S'bash x.sh'", "line 1: `-S'bash x.sh'`"),
            ("x=./a.sh; read x; bash $x", "line 1: `$x`"),
            ("x=a; test y && x=b; bash $x", "line 1: `$x`"),
        ] {
            let open: Vec<String> = follow(text).open.iter().map(ToString::to_string).collect();
            let open = open.join("; ");
            assert!(open.contains(told), "{text}: {open}");
        }
    }

    #[test]
    fn no_script_takes_more_than_its_length() {
        let doubling = format!("x=aaaaaaaa\n{}. $x", "x=$x$x\n".repeat(60));
        let again = "x='eval \"$x\"; eval \"$x\"'; eval \"$x\"".to_owned();
        let wrapped = format!("{}./x", "sudo ".repeat(100_000));
        let nested = format!("{}./x", "bash -c ".repeat(100_000));
        for text in [doubling, again, wrapped, nested] {
            assert!(!follow(&text).open.is_empty(), "{text:.80}");
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
