//! Which other files a script runs, imports or sources, as far as its text says so. Nothing is run.
//!
//! One file for each family of languages. What a text does not say, such as `. "$X"`, is told as open. A follower may
//! name too many files, which only makes more bytes count. It may also name too few: a file that it has missed is not
//! in the copy that runs, so the script fails there and nothing strange runs in its place.

mod calls;
mod javascript;
mod python;
mod scheme;
mod shell;
mod table;

use std::ops::Range;
use std::path::{Path, PathBuf};

pub use javascript::starts;
pub use shell::look;
pub use table::{Holds, holds};
use table::{Meaning, meaning};

/// So much of a text is shown at most.
const LONGEST_SHOWN: usize = 60;

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Shell,
    Python,
    JavaScript,
    Scheme,
    /// A language of which nobody here knows how it loads other files.
    Other,
}

impl Language {
    /// By the name of the program that runs it.
    pub fn of_program(name: &str) -> Option<Self> {
        match meaning(name.rsplit('/').next().unwrap_or(name))? {
            Meaning::Interprets(language) => Some(language),
            Meaning::InterpretsArgument => Some(Self::Other),
            _ => None,
        }
    }

    /// By the first line and the name of a file. `None` for what is no script.
    pub fn of_file(file: &Path, text: &str) -> Option<Self> {
        if let Some(first) = text.strip_prefix("#!") {
            let words = first.lines().next().unwrap_or_default().split_whitespace();
            let mut programs = words.filter(|word| !word.starts_with('-') && !word.contains('='));
            let program = programs.find(|word| word.rsplit('/').next() != Some("env"));
            return Some(program.and_then(Self::of_program).unwrap_or(Self::Other));
        }
        let ending = file.extension().and_then(|ending| ending.to_str());
        Some(match ending? {
            "sh" | "bash" | "zsh" | "ksh" => Self::Shell,
            "py" => Self::Python,
            "js" | "cjs" | "mjs" | "jsx" | "ts" | "cts" | "mts" | "tsx" => Self::JavaScript,
            "scm" | "ss" | "sld" | "sls" => Self::Scheme,
            "rb" | "pl" | "pm" | "lua" | "php" | "awk" | "fish" | "tcl" | "mk" => Self::Other,
            _ => return None,
        })
    }
}

/// From where a path is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// The directory in which the hook runs.
    Directory,
    /// The same, where Python looks for modules. It finds them in the copy.
    Modules,
    /// The folder of the script that names it.
    Script,
    /// The folder of the file in which the hook stands.
    HookFolder,
}

/// A file that a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// Where it stands in the text, if another path can be put there.
    pub span: Option<Range<usize>>,
    pub base: Base,
    /// The path from there; an absolute one is seen from nowhere.
    pub path: PathBuf,
    /// How it is read, where that is known without looking at it.
    pub language: Option<Language>,
    /// Whether it is only one of several names that the file may have.
    pub is_guess: bool,
}

/// What a text says about other files.
#[derive(Debug, Default)]
pub struct Followed {
    pub uses: Vec<Use>,
    /// Whether the script may use anything in its own folder.
    pub whole_folder: bool,
    /// What cannot be followed.
    pub open: Vec<Open>,
    /// Whether Python runs that looks for modules in the directory of the moment first.
    pub seeks_modules: bool,
}

/// Something that cannot be followed.
#[derive(Debug, PartialEq, Eq)]
pub struct Open {
    /// Counted from 1.
    line: usize,
    what: String,
}

impl std::fmt::Display for Open {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.what)
    }
}

impl Followed {
    /// Tells what cannot be followed; then anything beside the script may be meant.
    fn open(&mut self, line: usize, what: impl Into<String>) {
        self.whole_folder = true;
        self.open.push(Open {
            line,
            what: what.into(),
        });
    }

    /// Takes what a text says that stands in this one, from that line on. Paths in it stay as they are.
    fn contain(&mut self, other: Self, line: usize) {
        let uses = other.uses.into_iter();
        self.uses.extend(uses.map(|used| Use { span: None, ..used }));
        let open = other.open.into_iter();
        self.open.extend(open.map(|open| Open {
            line: open.line + line - 1,
            ..open
        }));
        self.whole_folder |= other.whole_folder;
        self.seeks_modules |= other.seeks_modules;
    }

    fn guess(&mut self, base: Base, path: impl Into<PathBuf>, language: Option<Language>) {
        self.uses.push(Use {
            span: None,
            base,
            path: path.into(),
            language,
            is_guess: true,
        });
    }
}

/// What the text of a script says. JavaScript is followed by its own resolver, which knows packages.
pub fn follow(text: &str, language: Language) -> Followed {
    match language {
        Language::Shell => shell::follow(text),
        Language::Python => python::follow(text, Base::Script),
        Language::Scheme => scheme::follow(text),
        Language::JavaScript => Followed::default(),
        Language::Other => {
            let mut followed = Followed::default();
            followed.open(1, "it is in a language whose imports are not followed");
            followed
        }
    }
}

/// A text for a message: its first line, and not too much of it.
fn shown(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let short: String = line.chars().take(LONGEST_SHOWN).collect();
    match short.len() < text.trim().len() {
        true => format!("{short}…"),
        false => short,
    }
}

/// The line of a place in a text, counted from 1.
fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}
