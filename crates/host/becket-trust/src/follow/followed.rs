//! What is found out about a script: the files that it uses, and what cannot be followed.

use std::ops::Range;
use std::path::PathBuf;

use super::language::Language;

/// So much of a text is shown at most.
const LONGEST_SHOWN: usize = 60;

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
    pub fn open(&mut self, line: usize, what: impl Into<String>) {
        self.whole_folder = true;
        self.open.push(Open {
            line,
            what: what.into(),
        });
    }

    /// Takes what a text says that stands in this one, from that line on. Paths in it stay as they are.
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

/// A text for a message: its first line, and not too much of it.
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
