//! Reads shell scripts: text in, a tree of commands out. Nothing is run, looked up or opened.
//!
//! All code that asks what a script does walks over this tree, so that no check sees a command that another one does
//! not. The reader follows bash, with the constructs of dash, ksh and zsh where they do not contradict it. It is
//! tolerant, because half a script still says something: what cannot be read is left out of the tree and reported in
//! [`Script::unreadable`], and a guard must assume that such a script may do anything. Reading is one pass over the
//! text, and nesting is bounded.
//!
//! Two parsers were tried instead, on 139 public hook scripts, the 270 texts of its users' tests and 80 odd scripts.
//! `brush-parser` 0.4 (MIT) overflows the stack on a text of 5,000 `if a; then`, which ends the process. It reads all
//! or nothing, rejects `$(case a in a) b;; esac)` and `select`, leaves words as texts that must be parsed again, and
//! adds 0.6 MB and two minutes of build. `tree-sitter-bash` 0.25 (MIT) loses commands without an error node: in `` `a
//! \`b\`` ``, in the body of `<<-`, in backticks of a here-document, behind `coproc`. It rejects `for x do`, two
//! here-documents in a line, `<>` and `{fd}>`, and adds 1.5 MB and a minute. Neither reads constructs of zsh alone.

mod files;
mod programs;
mod reader;
mod runners;
mod texts;
mod wrappers;

use std::ops::Range;

pub use files::{NamedFile, NamedFiles, Purpose};
pub use programs::{NamedPrograms, named_files, programs};
pub use reader::read;
pub use runners::is_runner;
pub use texts::{CommandTexts, command_texts};
pub use wrappers::{command_start, is_wrapper};

/// A script, as far as it can be read.
#[derive(Debug, Default)]
pub struct Script {
    pub commands: Vec<Command>,
    /// The bodies of here-documents; redirections refer to them by their index in this list.
    pub documents: Vec<Document>,
    /// The first place that cannot be read, if there is one.
    pub unreadable: Option<Unreadable>,
}

/// A place that cannot be read, or that shells read differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable {
    pub at: usize,
    pub why: &'static str,
}

/// The body of a here-document. A single literal if the delimiter was quoted.
#[derive(Debug, Default)]
pub struct Document {
    pub span: Range<usize>,
    pub parts: Vec<Part>,
}

/// A command with its parts. Which fields are filled depends on its kind.
#[derive(Debug, Default)]
pub struct Command {
    pub kind: Kind,
    pub span: Range<usize>,
    /// The assignments `NAME=value` before a simple command.
    pub assignments: Vec<Word>,
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
    /// The nested commands, conditions included, in the order of the text.
    pub body: Vec<Command>,
    /// The separator after the command.
    pub end: End,
}

/// The kind of a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kind {
    /// A program, a builtin or a function with its arguments.
    #[default]
    Simple,
    /// `{ …; }`, `if`, `while`, `until`.
    Group,
    /// `( … )`.
    Subshell,
    /// `for` and `select`: the words are the variable and the values of the loop.
    Loop,
    /// `case`: the words are the subject and all patterns.
    Case,
    /// The definition of a function: the word is its name.
    Function,
    /// `[[ … ]]`, whose operators are words.
    Test,
    /// `(( … ))`.
    Arithmetic,
}

/// The separator after a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum End {
    /// `|` or `|&`.
    Pipe,
    /// `&&` or `||`.
    Condition,
    /// `;`, `&`, a new line, or the end of the enclosing construct.
    #[default]
    Other,
}

/// Where a command reads from or writes to.
#[derive(Debug)]
pub struct Redirect {
    pub kind: RedirectKind,
    /// The number or `{name}` before the operator.
    pub descriptor: Option<String>,
    /// The file, the text or the delimiter after the operator.
    pub target: Word,
}

/// The kind of a redirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectKind {
    /// `<` and `<>`.
    Input,
    /// `<&`.
    InputDuplicate,
    /// `<<<`.
    Text,
    /// `<<`, with the index of its body among the documents of the script.
    Document(usize),
    /// `>`, `>>`, `>|`, `&>` and `&>>`.
    Output,
    /// `>&`.
    OutputDuplicate,
}

/// A word, of which a shell makes one or more arguments.
#[derive(Debug, Default)]
pub struct Word {
    pub span: Range<usize>,
    pub parts: Vec<Part>,
}

/// A part of a word.
#[derive(Debug)]
pub enum Part {
    /// Literal text, without its quotes.
    Literal(String),
    /// A character of a pattern or of a brace expansion, which stands for files or words.
    Pattern(char),
    /// `$name` or `${…}`: the name, or the text between the braces as written, and the parts of that.
    Variable { name: String, parts: Vec<Part> },
    /// `$(…)`, `` `…` ``, `<(…)`, `>(…)` and `${ …; }`; the span is the text inside.
    Commands {
        span: Range<usize>,
        commands: Vec<Command>,
    },
    /// The text of commands in backticks that is written with escapes, without them: a script of its own.
    Script(String),
    /// Another expansion at run time, such as `$((…))`, with the parts inside of it.
    Opaque(Vec<Part>),
}

/// The rest of a word: a text, and the parts after it.
#[derive(Debug, Clone, Copy)]
pub struct Tail<'a> {
    pub text: &'a str,
    pub parts: &'a [Part],
}

/// The assignment in a word that reads `NAME=value`.
#[derive(Debug, Clone, Copy)]
pub struct Assignment<'a> {
    pub name: &'a str,
    /// Whether only a part of the variable is set: by `+=`, or an element of an array.
    pub is_partial: bool,
    pub value: Tail<'a>,
}

impl Command {
    fn of(kind: Kind) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    /// Whether the command's standard output goes to a file or to standard error.
    pub fn prints_elsewhere(&self) -> bool {
        self.redirects.iter().any(|redirect| {
            let is_output = matches!(redirect.descriptor.as_deref(), None | Some("1"));
            match (redirect.kind, redirect.target.literal()) {
                (RedirectKind::Output, target) => is_output && target != Some("/dev/stdout"),
                (RedirectKind::OutputDuplicate, target) => is_output && target != Some("1"),
                _ => false,
            }
        })
    }
}

impl Word {
    /// The text of the word, if nothing of it is expanded at run time.
    pub fn literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// The variable that the word sets before a command, or after `export`, `env` and the like.
    pub fn assignment(&self) -> Option<Assignment<'_>> {
        let Some(Part::Literal(first)) = self.parts.first() else {
            return None;
        };
        let (name, behind) = first.split_at(name_length(first));
        let (is_partial, start) = match behind.as_bytes() {
            _ if name.is_empty() => return None,
            [b'=', ..] => (false, name.len() + 1),
            [b'+', b'=', ..] => (true, name.len() + 2),
            [] => return self.element(name),
            _ => return None,
        };
        Some(Assignment {
            name,
            is_partial,
            value: self.from_byte(start),
        })
    }

    /// Reads `name[index]=value`.
    fn element<'a>(&'a self, name: &'a str) -> Option<Assignment<'a>> {
        matches!(self.parts.get(1)?, Part::Pattern('[')).then_some(())?;
        let value = self.parts.iter().enumerate().find_map(|(at, part)| match part {
            Part::Literal(text) => {
                let behind = &text[text
                    .find("]=")
                    .map(|at| at + 2)
                    .or(text.find("]+=").map(|at| at + 3))?..];
                Some(Tail {
                    text: behind,
                    parts: &self.parts[at + 1..],
                })
            }
            _ => None,
        })?;
        Some(Assignment {
            name,
            is_partial: true,
            value,
        })
    }

    /// The word without the first bytes of its text. Nothing is left out if these are not literal.
    pub fn from_byte(&self, start: usize) -> Tail<'_> {
        match self.parts.split_first() {
            Some((Part::Literal(text), parts)) if text.is_char_boundary(start) => Tail {
                text: &text[start..],
                parts,
            },
            _ => Tail {
                text: "",
                parts: &self.parts,
            },
        }
    }
}

/// The length in bytes of the variable name at the beginning of a text.
fn name_length(text: &str) -> usize {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    match text.as_bytes().first() {
        Some(first) if first.is_ascii_digit() => 0,
        _ => text.bytes().take_while(is_name).count(),
    }
}
