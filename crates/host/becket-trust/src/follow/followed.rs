//! What is known about a script: the files that it uses, and what cannot be followed.

use std::ops::Range;
use std::path::PathBuf;

use super::language::Language;

/// How many characters of a text are shown.
const LONGEST_SHOWN: usize = 60;

/// What a path is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// The directory in which the hook runs.
    Directory,
    /// The directory in which the hook runs, where Python looks for modules. It finds them in the copy.
    Modules,
    /// The folder of the script that names the path.
    Script,
    /// The folder of the hook's file.
    HookFolder,
}

/// A file that a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// Where the path stands in the text, if another path can be put there.
    pub span: Option<Range<usize>>,
    pub base: Base,
    /// The path relative to the base; an absolute one has none.
    pub path: PathBuf,
    /// The language of the file, if it is known without looking at it.
    pub language: Option<Language>,
    /// Whether this is only one of several names that the file may have.
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
    /// Whether Python runs that searches the current directory for modules first.
    pub seeks_modules: bool,
}

/// Something that cannot be followed.
#[derive(Debug, PartialEq, Eq)]
pub struct Open {
    /// The line, counted from 1.
    line: usize,
    what: String,
}

impl std::fmt::Display for Open {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.what)
    }
}

impl Followed {
    /// Reports something that cannot be followed; then anything beside the script may be meant.
    pub fn open(&mut self, line: usize, what: impl Into<String>) {
        self.whole_folder = true;
        self.open.push(Open {
            line,
            what: what.into(),
        });
    }

    /// Adds what an embedded text says, which begins at this line. Paths in it stay as they are.
    pub fn contain(&mut self, other: Self, line: usize) {
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

    pub fn guess(&mut self, base: Base, path: impl Into<PathBuf>, language: Option<Language>) {
        self.uses.push(Use {
            span: None,
            base,
            path: path.into(),
            language,
            is_guess: true,
        });
    }
}

/// A text for a message: its first line, shortened.
pub fn shown(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let short: String = line.chars().take(LONGEST_SHOWN).collect();
    match short.len() < text.trim().len() {
        true => format!("{short}…"),
        false => short,
    }
}

/// The line of a place in a text, counted from 1.
pub fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}
