//! Which other files a script runs, imports or sources, as far as its text says so. Nothing is run.
//!
//! One file for each family of languages. What a text does not say, such as `. "$X"`, is told as open. A follower may
//! name too many files, which only makes more bytes count. It may also name too few: a file that it has missed is not
//! in the copy that runs, so the script fails there and nothing strange runs in its place.

mod python;
mod scheme;
mod shell;

use std::ops::Range;
use std::path::{Path, PathBuf};

pub use shell::INTERPRETERS;

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
        let name = name.rsplit('/').next().unwrap_or(name);
        let name = name.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
        let found = INTERPRETERS.iter().find(|(names, _)| names.contains(&name))?;
        Some(found.1)
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
    /// What cannot be followed, in words with the line.
    pub open: Vec<String>,
}

impl Followed {
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
        Language::Other => Followed {
            whole_folder: true,
            open: vec!["it is in a language whose imports are not followed".into()],
            ..Followed::default()
        },
    }
}

/// The line of a place in a text, counted from 1.
fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}
