//! Findings: what is wrong with a hook, or not what it seems.

use std::path::PathBuf;

use serde::Serialize;

/// Something that is wrong with a hook, or not what it seems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file, or the flag of the command line.
    pub file: PathBuf,
    /// The line, counted from 1, if the finding has one.
    pub line: Option<usize>,
    /// The kind of the finding.
    pub kind: Kind,
    /// How much the finding matters.
    pub severity: Severity,
    /// What is wrong with the hook.
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
    /// A program that the hook uses does not exist.
    MissingProgram,
    /// The folder in which the hook should run does not exist.
    MissingFolder,
    /// The hook's program is not executable.
    NotExecutable,
    /// The first line of the hook's script does not lead to an interpreter.
    BadInterpreter,
    /// The hook's script has the line ends of another system.
    LineEnds,
    /// An unquoted path is split at a space.
    UnquotedPath,
    /// The hook's script has a syntax error.
    BadScript,
    /// The hook passes on a text by an `echo` that may change it.
    ChangedByEcho,
    /// The hook wants an event that its format does not know.
    UnknownEvent,
    /// The hook may take longer than is good for its event.
    LongTimeout,
    /// The hook has too little time to do anything.
    ShortTimeout,
    /// The hook names a file by a path that leads to it from one directory only.
    RelativePath,
    /// Another hook rewrites the same field.
    SameRewrite,
    /// The hook is in the file twice.
    Twice,
    /// A field of the hook's answer means nothing at its event.
    MeaninglessField,
    /// The tool that the hook matches does not exist.
    UnknownTool,
    /// The hook matches only a whole text, where probably a part of it was meant.
    WholeText,
    /// The hook is a guard, and wants to fail open but cannot.
    FixedGuard,
    /// The hook is a guard, and fails open.
    LoosenedGuard,
    /// The hook says that it rewrites nothing, and its text shows that it does.
    RewritesAfterAll,
    /// The hook waits for its neighbours, and probably need not.
    Waits,
    /// The hook is found in the working directory, and not trusted.
    Untrusted,
    /// The hook is not as the project's lock says.
    UnlikeLock,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The finding should be fixed.
    Wrong,
    /// The finding is worth knowing, and may be intended.
    Remark,
}
