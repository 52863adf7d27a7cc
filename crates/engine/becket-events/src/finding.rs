//! Findings: the result of an operation, as data.
//!
//! An operation reports its result in becket's own wording. A face whose system words results differently, so that
//! programs there can parse them, makes its text from the finding instead.
//!
//! Whoever judges or changes an output sees the text that the model would see, whichever words it is in.

/// The result of an operation.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// A command has ended. Its two outputs are apart, if the face wants them so.
    Shell {
        /// The command's standard output, or both outputs in one.
        stdout: String,
        /// The command's standard error; empty if both outputs are in `stdout`.
        stderr: String,
        /// The command's exit code; `None` after a signal or a timeout.
        exit_code: Option<i32>,
        /// Whether the command timed out.
        timed_out: bool,
    },
    /// Some lines of a file.
    Read {
        /// The lines.
        text: String,
        /// A note on what is missing of the requested lines.
        notice: Option<String>,
        /// Which lines of the file these are.
        lines: ReadLines,
    },
    /// A directory.
    List {
        /// The directory, absolute.
        root: String,
        /// The entries of the directory, by name.
        entries: Vec<Entry>,
        /// A note on what is missing of the requested entries.
        notice: Option<String>,
    },
    /// Files that match a pattern.
    Find {
        /// The paths of the files below the searched directory.
        files: Vec<String>,
        /// A note on what is missing of the matching files.
        notice: Option<String>,
    },
    /// Lines that match a pattern.
    Grep {
        /// The matches, with adjacent lines grouped together.
        passages: Vec<Passage>,
        /// A note on what is missing of the matches.
        notice: Option<String>,
    },
    /// What an address holds, as it was sent.
    Fetch {
        /// The text that was fetched.
        text: String,
        /// A note on what is missing of the text.
        notice: Option<String>,
    },
    /// The operation is done and has nothing else to report; in becket's own wording.
    Done(String),
    /// The operation failed.
    Failure {
        /// Why the operation failed, in becket's own wording.
        words: String,
        /// Why the operation failed, as data for a face that words it differently.
        why: Why,
    },
}

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Only becket's own wording of the failure is known.
    Other,
    /// The operating system returned an error.
    System {
        /// The system's name for the error, such as `ENOENT`.
        code: &'static str,
        /// The file, absolute.
        path: String,
    },
    /// The first requested line is past the end of a file with this many lines.
    PastEnd(u64),
    /// An edit cannot be made.
    Edit {
        /// The edit that failed, counted from 0.
        index: usize,
        /// How many edits there are.
        of: usize,
        /// What is wrong with the edit.
        fault: EditFault,
    },
}

/// What is wrong with an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditFault {
    /// The edit's old text is empty.
    Empty,
    /// The edit's old and new text are the same.
    Same,
    /// The edit's old text is not in the file.
    Absent,
    /// The edit's old text is in the file this many times.
    Several(usize),
    /// Another edit, counted from 0, changes the same place.
    Overlaps(usize),
}

/// Which lines of a file were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadLines {
    /// The first line that was read, counted from 1; `None` if unknown.
    pub first: Option<u64>,
    /// How many lines were read.
    pub count: u64,
    /// How many lines the file has; `None` if unknown.
    pub total: Option<u64>,
    /// Whether the last line of the file has an end; `None` if unknown.
    pub is_last_ended: Option<bool>,
    /// Why reading stopped, if the file has more lines.
    pub stopped: Option<ReadStop>,
}

/// Why reading stopped before the end of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadStop {
    /// The requested number of lines was reached.
    Asked,
    /// The limit of lines was reached.
    Lines,
    /// The limit of bytes was reached.
    Bytes,
    /// The line alone is longer than the limit of bytes.
    LongLine,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The entry's name.
    pub name: String,
    /// What the entry is.
    pub kind: EntryKind,
    /// The entries of a directory that was looked into.
    pub entries: Vec<Entry>,
}

/// What an entry of a directory is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A file with its size in bytes.
    File(u64),
    /// A link with its target, if that is known.
    Link(Option<String>),
    /// A pipe, a device, a socket.
    Special,
    /// An entry that disappeared while the directory was read.
    Gone,
}

/// Lines of one file that stand together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The file as the caller would write it.
    pub file: String,
    /// The file's path below the searched directory.
    pub below: String,
    /// The lines.
    pub lines: Vec<PassageLine>,
}

/// One line of a passage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassageLine {
    /// The line's number, counted from 1.
    pub number: u64,
    /// Whether the line matches, or only stands beside a match.
    pub matches: bool,
    /// The line's text.
    pub text: String,
}
