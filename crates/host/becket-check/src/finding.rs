//! What is wrong with a hook, or not what it seems.

use std::path::PathBuf;

use serde::Serialize;

/// Something that is wrong with a hook, or not what it seems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file, or the flag of the command line.
    pub file: PathBuf,
    /// The line, counted from 1, where it stands in one.
    pub line: Option<usize>,
    /// What kind of thing it is.
    pub kind: Kind,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to try.
    pub hint: Option<String>,
}

/// The kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A run would end with this error.
    Configuration,
    /// Something in the file has no effect.
    NoEffect,
    /// A program that the hook uses is not there.
    MissingProgram,
    /// The folder in which it shall run is not there.
    MissingFolder,
    /// Its program may not be executed.
    NotExecutable,
    /// The first line of its script does not lead to an interpreter.
    BadInterpreter,
    /// Its script has the line ends of another system.
    LineEnds,
    /// A path with a space in it is taken apart.
    UnquotedPath,
    /// Its script cannot be read as what it is.
    BadScript,
    /// It hands on a text by an `echo` that may change it.
    ChangedByEcho,
    /// It wants an event that its format does not know.
    UnknownEvent,
    /// It may take longer than its event allows.
    LongTimeout,
    /// Another hook rewrites the same field.
    SameRewrite,
    /// It stands there twice.
    Twice,
    /// A field of its answer means nothing at its event.
    MeaninglessField,
    /// There is no tool for which it is asked.
    UnknownTool,
    /// It is asked only where a text is what probably was meant as a part of it.
    WholeText,
    /// It is a guard, and wants to fail open but cannot.
    FixedGuard,
    /// It is a guard, and fails open.
    LoosenedGuard,
    /// It is found in the working directory, and not trusted.
    Untrusted,
    /// It is not as the project's lock says.
    UnlikeLock,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It should be mended.
    Wrong,
    /// It is worth knowing, and may be meant so.
    Remark,
}
